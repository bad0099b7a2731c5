//! Translates the parameters of a search into Tantivy's queries.
use crate::collect::Everything;
use crate::index::{normal, words, Peer};
use crate::Failure;
use serde_json::{json, Value as Json};
use std::cmp::Reverse;
use std::ops::Bound;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, FuzzyTermQuery, Occur, Query, RangeQuery,
    TermQuery,
};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{TantivyDocument, Term};

pub struct Answer {
    pub found: usize,
    pub ids: Vec<String>,
    pub facets: Json,
}

fn text_query(peer: &Peer, words: &[String], query_by: &[&str], with_typos: bool) -> Box<dyn Query> {
    if words.is_empty() {
        return Box::new(AllQuery);
    }
    let all = words.iter().enumerate().map(|(i, word)| {
        let mut ways: Vec<Box<dyn Query>> = Vec::new();
        for (f, name) in query_by.iter().enumerate() {
            let weight = (query_by.len() - f) as f32;
            let term = Term::from_field_text(peer.columns[*name].field, word);
            let exact = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
            ways.push(Box::new(BoostQuery::new(Box::new(exact), 4.0 * weight)));
            if i == words.len() - 1 {
                let begun = FuzzyTermQuery::new_prefix(term.clone(), 0, true);
                ways.push(Box::new(ConstScoreQuery::new(Box::new(begun), 2.0 * weight)));
            }
            let edits = match word.chars().count() {
                0..=3 => 0,
                4..=6 => 1,
                _ => 2,
            };
            if with_typos && edits > 0 {
                let near = FuzzyTermQuery::new(term, edits, true);
                ways.push(Box::new(ConstScoreQuery::new(Box::new(near), weight)));
            }
        }
        (Occur::Must, Box::new(DisjunctionMaxQuery::new(ways)) as Box<dyn Query>)
    });
    Box::new(BooleanQuery::new(all.collect()))
}

/// The items of a list: the text between commas that are not quoted.
fn listed(inner: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut is_quoted = false;
    for character in inner.chars() {
        match character {
            '`' => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(String::new()),
            other => all.last_mut().expect("there is one").push(other),
        }
    }
    all
}
fn clause_query(peer: &Peer, clause: &str) -> Result<Box<dyn Query>, Failure> {
    let (name, rest) = clause.split_once(':').ok_or("a clause without a field")?;
    let column = &peer.columns[name.trim()];
    let operator: String = rest.chars().take_while(|each| "=<>!".contains(*each)).collect();
    let value = rest[operator.len()..].trim();
    if let Some(exact) = column.exact {
        let inner = value.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let any = listed(inner.unwrap_or(value)).into_iter().map(|text| {
            let bare = if column.kind == "bool" { text.trim().to_string() } else { normal(&text) };
            let term = TermQuery::new(Term::from_field_text(exact, &bare), IndexRecordOption::Basic);
            (Occur::Should, Box::new(term) as Box<dyn Query>)
        });
        return Ok(Box::new(BooleanQuery::new(any.collect())));
    }
    let term = |text: &str| -> Result<Term, Failure> { Ok(Term::from_field_f64(column.field, text.trim().parse()?)) };
    if let Some(inner) = value.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let (low, high) = inner.split_once("..").ok_or("a range without two ends")?;
        return Ok(Box::new(RangeQuery::new(Bound::Included(term(low)?), Bound::Included(term(high)?))));
    }
    let bound = term(value)?;
    let (low, high) = match operator.as_str() {
        ">=" => (Bound::Included(bound), Bound::Unbounded),
        ">" => (Bound::Excluded(bound), Bound::Unbounded),
        "<=" => (Bound::Unbounded, Bound::Included(bound)),
        "<" => (Bound::Unbounded, Bound::Excluded(bound)),
        _ => (Bound::Included(bound.clone()), Bound::Included(bound)),
    };
    Ok(Box::new(RangeQuery::new(low, high)))
}

fn run(peer: &Peer, text: Box<dyn Query>, request: &Json) -> Result<Answer, Failure> {
    let mut parts = vec![(Occur::Must, text)];
    if let Some(filter) = request["filter_by"].as_str() {
        for clause in filter.split("&&") {
            let quiet = ConstScoreQuery::new(clause_query(peer, clause.trim())?, 0.0);
            parts.push((Occur::Must, Box::new(quiet) as Box<dyn Query>));
        }
    }
    let facets = request["facet_by"].as_str().unwrap_or("").split(',').filter(|name| !name.is_empty());
    let collector = Everything {
        most: request["per_page"].as_u64().unwrap_or(10) as usize,
        facets: facets.map(|name| name.trim().to_string()).collect(),
        sorting_field: peer.sorting_field.clone(),
    };
    let fruit = peer.searcher.search(&BooleanQuery::new(parts), &collector)?;
    let mut ids = Vec::new();
    for ranked in &fruit.best {
        let document: TantivyDocument = peer.searcher.doc(ranked.address)?;
        let source = document.get_first(peer.source).and_then(|value| value.as_bytes()).ok_or("no source")?;
        let json: Json = serde_json::from_slice(source)?;
        ids.push(json["id"].as_str().unwrap_or_default().to_string());
    }
    let mut shown = serde_json::Map::new();
    for (name, counts) in collector.facets.iter().zip(&fruit.counts) {
        let mut pairs: Vec<_> = counts.iter().collect();
        pairs.sort_by_key(|(value, count)| (Reverse(**count), value.to_string()));
        shown.insert(name.clone(), json!(pairs));
    }
    Ok(Answer { found: fruit.found, ids, facets: Json::Object(shown) })
}

pub fn search(peer: &Peer, request: &Json) -> Result<Answer, Failure> {
    let words = words(request["q"].as_str().unwrap_or("*"));
    let query_by: Vec<&str> = request["query_by"].as_str().unwrap_or("").split(',').collect();
    let answer = run(peer, text_query(peer, &words, &query_by, false), request)?;
    if answer.found > 0 || words.is_empty() {
        return Ok(answer);
    }
    run(peer, text_query(peer, &words, &query_by, true), request)
}
