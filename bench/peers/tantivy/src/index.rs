//! Indexes documents into one segment: text fields by words, facets as fast columns, and filtered values unchanged.
use crate::Failure;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions, STORED, STRING,
};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer, TokenStream};
use tantivy::{Index, Searcher, TantivyDocument};

pub struct Column {
    pub kind: String,
    pub field: Field,
    /// The complete value of a text or boolean, for filters.
    pub exact: Option<Field>,
}

pub struct Peer {
    pub columns: HashMap<String, Column>,
    pub sorting_field: Option<String>,
    pub source: Field,
    pub searcher: Searcher,
    pub documents: usize,
    pub index_bytes: usize,
}

/// The words of a text, as they are indexed.
pub fn words(text: &str) -> Vec<String> {
    let mut analyzer = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser).build();
    let mut stream = analyzer.token_stream(text);
    let mut all = Vec::new();
    while stream.advance() {
        all.push(stream.token().text.clone());
    }
    all
}
pub fn normal(text: &str) -> String {
    words(text).join(" ")
}
fn texts(value: &Json) -> Vec<&str> {
    match value {
        Json::Array(all) => all.iter().filter_map(Json::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    }
}

fn columns_of(schema: &Json) -> (Schema, HashMap<String, Column>, Field) {
    let mut builder = Schema::builder();
    let mut columns = HashMap::new();
    for field in schema["fields"].as_array().unwrap_or(&Vec::new()) {
        let name = field["name"].as_str().unwrap_or_default();
        let kind = field["type"].as_str().unwrap_or_default();
        let column = if kind.starts_with("string") {
            let indexing = TextFieldIndexing::default().set_tokenizer("words").set_index_option(IndexRecordOption::WithFreqs);
            let mut options = TextOptions::default().set_indexing_options(indexing);
            let is_facet = field["facet"].as_bool().unwrap_or(false);
            if is_facet {
                options = options.set_fast(Some("raw"));
            }
            Column {
                kind: kind.into(),
                field: builder.add_text_field(name, options),
                exact: is_facet.then(|| builder.add_text_field(&format!("{name}__exact"), STRING)),
            }
        } else if kind == "bool" {
            let exact = builder.add_text_field(&format!("{name}__exact"), STRING);
            Column { kind: kind.into(), field: exact, exact: Some(exact) }
        } else {
            let options = NumericOptions::default().set_indexed().set_fast();
            Column { kind: kind.into(), field: builder.add_f64_field(name, options), exact: None }
        };
        columns.insert(name.to_string(), column);
    }
    let source = builder.add_bytes_field("_source", STORED);
    (builder.build(), columns, source)
}

fn document_of(columns: &HashMap<String, Column>, source: Field, line: &str) -> Result<TantivyDocument, Failure> {
    let json: Json = serde_json::from_str(line)?;
    let mut document = TantivyDocument::default();
    document.add_bytes(source, line.as_bytes());
    for (name, column) in columns {
        let value = &json[name.as_str()];
        if value.is_null() {
            continue;
        }
        if column.kind.starts_with("string") {
            for text in texts(value) {
                document.add_text(column.field, text);
                if let Some(exact) = column.exact {
                    document.add_text(exact, normal(text));
                }
            }
        } else if column.kind == "bool" {
            document.add_text(column.field, value.to_string());
        } else if let Some(number) = value.as_f64() {
            document.add_f64(column.field, number);
        }
    }
    Ok(document)
}

impl Peer {
    pub fn build(schema: &Json, docs: &str, folder: &str) -> Result<Peer, Failure> {
        let (built, columns, source) = columns_of(schema);
        let index = Index::create_in_dir(folder, built)?;
        index.tokenizers().register("words", TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser).build());
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 256_000_000)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut documents = 0;
        for line in BufReader::new(std::fs::File::open(docs)?).lines() {
            let line = line?;
            if !line.is_empty() {
                writer.add_document(document_of(&columns, source, &line)?)?;
                documents += 1;
            }
        }
        writer.commit()?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        let searcher = index.reader()?.searcher();
        let mut index_bytes = 0;
        for file in std::fs::read_dir(folder)? {
            let file = file?;
            // Stored sources are the documents, not the index.
            if file.path().extension().is_none_or(|ending| ending != "store") {
                index_bytes += file.metadata()?.len() as usize;
            }
        }
        let sorting_field = schema["default_sorting_field"].as_str().filter(|name| !name.is_empty()).map(str::to_string);
        Ok(Peer { columns, sorting_field, source, searcher, documents, index_bytes })
    }
}
