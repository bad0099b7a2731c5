//! The same work as the engine's bench, in Tantivy 0.25 on one thread: all words must match in some field, the last
//! may be a prefix, typos are tried only when nothing was found, a filter, the ten best by score and default sorting
//! field with their stored source, the exact total, and counts of every facet over all matches. Filters are not
//! cached. Arguments: docs schema queries warm out indexFolder.
mod collect;
mod index;
mod query;

use serde_json::{json, Value as Json};
use std::io::{BufRead, BufReader};
use std::time::Instant;

pub type Failure = Box<dyn std::error::Error>;

fn lines(file: &str) -> Result<Vec<Json>, Failure> {
    let reader = BufReader::new(std::fs::File::open(file)?);
    let mut all = Vec::new();
    for line in reader.lines() {
        let line = line?;
        if !line.is_empty() {
            all.push(serde_json::from_str(&line)?);
        }
    }
    Ok(all)
}

/// Processor time of the whole process so far, as Linux counts it (100 ticks a second).
fn processor_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit_once(") ").ok_or("no name in stat")?.1;
    let mut ticks = 0.0;
    for field in behind.split(' ').skip(11).take(2) {
        ticks += field.parse::<f64>()?;
    }
    Ok(ticks / 100.0)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let schema: Json = serde_json::from_str(&std::fs::read_to_string(&arguments[1])?)?;
    let started = Instant::now();
    let peer = index::Peer::build(&schema, &arguments[0], &arguments[5])?;
    let import_seconds = started.elapsed().as_secs_f64();
    let warm = lines(&arguments[3])?;
    let queries = lines(&arguments[2])?;
    for _ in 0..3 {
        for query in &warm {
            query::search(&peer, query)?;
        }
    }
    let mut times = Vec::with_capacity(queries.len());
    let mut answers = Vec::with_capacity(queries.len());
    let (started, used) = (Instant::now(), processor_seconds()?);
    for query in &queries {
        let before = Instant::now();
        answers.push(query::search(&peer, query)?);
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    let seconds = started.elapsed().as_secs_f64();
    let used = processor_seconds()? - used;
    let mut sorted = times.clone();
    sorted.sort_by(|a, b| a.total_cmp(b));
    let at = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1];
    let out = json!({
        "import_docs_per_s": (peer.documents as f64 / import_seconds).round(),
        "index_bytes_per_doc": peer.index_bytes / peer.documents.max(1),
        "qps": times.len() as f64 / seconds,
        "queries_per_processor_s": (times.len() as f64 / used).round(),
        "p50_ms": at(0.5),
        "p95_ms": at(0.95),
        "p99_ms": at(0.99),
        "queries": answers.iter().zip(&times).map(|(answer, ms)| {
            json!({ "ms": ms, "found": answer.found, "ids": answer.ids, "facets": answer.facets })
        }).collect::<Vec<_>>(),
    });
    std::fs::write(&arguments[4], serde_json::to_string(&out)?)?;
    Ok(())
}
