//! Collects everything in one pass over the matches: the exact total, facet counts by ordinal, and the best hits by
//! score, then by the default sorting field.
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

#[derive(PartialEq)]
pub struct Ranked {
    score: Score,
    order: f64,
    pub address: DocAddress,
}
impl Eq for Ranked {}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| self.order.total_cmp(&other.order))
            .then_with(|| other.address.cmp(&self.address))
    }
}

pub struct Everything {
    pub most: usize,
    pub facets: Vec<String>,
    pub sorting_field: Option<String>,
}
#[derive(Default)]
pub struct Fruit {
    pub found: usize,
    pub best: Vec<Ranked>,
    pub counts: Vec<HashMap<String, u64>>,
}
pub struct Segment {
    most: usize,
    ordinal: SegmentOrdinal,
    order: Option<Column<f64>>,
    facets: Vec<(Option<StrColumn>, Vec<u32>)>,
    found: usize,
    best: BinaryHeap<Reverse<Ranked>>,
}

impl Collector for Everything {
    type Fruit = Fruit;
    type Child = Segment;

    fn for_segment(&self, ordinal: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<Segment> {
        let order = match &self.sorting_field {
            Some(field) => Some(reader.fast_fields().f64(field)?),
            None => None,
        };
        let mut facets = Vec::new();
        for field in &self.facets {
            let column = reader.fast_fields().str(field)?;
            let size = column.as_ref().map_or(0, |column| column.num_terms());
            facets.push((column, vec![0; size]));
        }
        Ok(Segment { most: self.most, ordinal, order, facets, found: 0, best: BinaryHeap::with_capacity(self.most + 1) })
    }
    fn requires_scoring(&self) -> bool {
        true
    }
    fn merge_fruits(&self, fruits: Vec<Fruit>) -> tantivy::Result<Fruit> {
        let mut all = Fruit { counts: self.facets.iter().map(|_| HashMap::new()).collect(), ..Fruit::default() };
        for fruit in fruits {
            all.found += fruit.found;
            all.best.extend(fruit.best);
            for (into, from) in all.counts.iter_mut().zip(fruit.counts) {
                for (value, count) in from {
                    *into.entry(value).or_default() += count;
                }
            }
        }
        all.best.sort_by(|a, b| b.cmp(a));
        all.best.truncate(self.most);
        Ok(all)
    }
}
impl SegmentCollector for Segment {
    type Fruit = Fruit;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.found += 1;
        for (column, counts) in &mut self.facets {
            if let Some(column) = column {
                for ordinal in column.term_ords(doc) {
                    counts[ordinal as usize] += 1;
                }
            }
        }
        let is_full = self.best.len() == self.most;
        if is_full && self.best.peek().is_some_and(|Reverse(worst)| score < worst.score) {
            return;
        }
        let order = self.order.as_ref().and_then(|column| column.first(doc)).unwrap_or(f64::NEG_INFINITY);
        let ranked = Ranked { score, order, address: DocAddress::new(self.ordinal, doc) };
        if is_full {
            if self.best.peek().is_some_and(|Reverse(worst)| ranked < *worst) {
                return;
            }
            self.best.pop();
        }
        self.best.push(Reverse(ranked));
    }
    fn harvest(self) -> Fruit {
        let counts = self
            .facets
            .into_iter()
            .map(|(column, counts)| {
                let mut seen: Vec<usize> = (0..counts.len()).filter(|&at| counts[at] > 0).collect();
                seen.sort_by_key(|&at| (Reverse(counts[at]), at));
                // Ten values are shown. There is only one segment.
                seen.truncate(10);
                let mut values = HashMap::new();
                for at in seen {
                    let mut text = String::new();
                    if let Some(column) = &column {
                        if column.ord_to_str(at as u64, &mut text).is_ok() {
                            values.insert(text, u64::from(counts[at]));
                        }
                    }
                }
                values
            })
            .collect();
        Fruit { found: self.found, best: self.best.into_iter().map(|Reverse(ranked)| ranked).collect(), counts }
    }
}
