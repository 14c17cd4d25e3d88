//! Reads the morsels of a trace that `SET trace` has written: an event a line.

use std::collections::BTreeSet;
use std::path::Path;

use base::{Error, Result};

/// A run of a morsel; times in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub worker: u64,
    pub query: u64,
    pub pipeline: u64,
    pub begin: f64,
    pub end: f64,
}

/// All morsels of a trace.
pub(crate) fn morsels(file: &Path) -> Result<Vec<Span>> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::internal(format!("{}: {e}", file.display())))?;
    Ok(text.lines().filter(|line| line.contains("\"cat\":\"morsel\"")).filter_map(span).collect())
}

fn span(line: &str) -> Option<Span> {
    let number = |key: &str| -> Option<f64> {
        let rest = &line[line.find(&format!("\"{key}\":"))? + key.len() + 3..];
        rest[..rest.find([',', '}'])?].parse().ok()
    };
    let begin = number("ts")?;
    let (worker, query, pipeline) = (number("tid")? as u64, number("query")? as u64, number("pipeline")? as u64);
    Some(Span { worker, query, pipeline, begin, end: begin + number("dur")? })
}

/// Their queries.
pub(crate) fn queries(spans: &[Span]) -> BTreeSet<u64> {
    spans.iter().map(|span| span.query).collect()
}

/// Their workers.
pub(crate) fn workers(spans: &[&Span]) -> BTreeSet<u64> {
    spans.iter().map(|span| span.worker).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let line = r#"{"ph":"X","cat":"morsel","name":"a \"b","pid":1,"tid":3,"ts":12.500,"dur":2.250,"args":{"query":7,"pipeline":1,"rows":9}},"#;
        let span = span(line).unwrap();
        assert_eq!((span.worker, span.query, span.pipeline, span.begin, span.end), (3, 7, 1, 12.5, 14.75));
    }
}
