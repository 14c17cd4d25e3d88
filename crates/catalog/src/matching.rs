//! Rows of a table that satisfy predicates, found by its scan kernels: what the optimizer asks where a sample has too few of them.

use std::sync::Arc;

use storage::{ScanOp, ScanPredicate, Scratch, Snapshot, WINDOW};
use types::{Chunk, ColumnBuilder};

use crate::Matching;

/// Tables of more rows are not looked through: a scan takes about 0.2 ns a row and predicate.
const MOST_ROWS: usize = 1 << 17;
/// So many of the rows that are found are copied, at most.
const SAMPLED: usize = 256;

/// See [`Statistics::matching`](crate::Statistics::matching).
pub(crate) fn matching(snapshot: &Snapshot, asked: &[(usize, ScanOp)], attributes: &[usize]) -> Option<Matching> {
    if snapshot.rows_with_dead() > MOST_ROWS {
        return None;
    }
    let schema = snapshot.schema().attributes();
    let predicate = |(attribute, op): &(usize, ScanOp)| {
        let of = schema.get(*attribute)?.sql_type;
        Some(ScanPredicate::new(*attribute, of, op.clone()))
    };
    let mut predicates = asked.iter().map(predicate).collect::<Option<Vec<_>>>()?;
    ScanPredicate::arrange(&mut predicates);
    let predicates: Arc<[ScanPredicate]> = predicates.into();
    let (mut found, mut scratch, mut selected) = (Vec::new(), Scratch::default(), [0; WINDOW]);
    for (number, chunk) in snapshot.chunks().enumerate() {
        if !chunk.may_match(&predicates) {
            continue;
        }
        let reader = chunk.read();
        let Some(applicable) = reader.applicable(&predicates, &mut scratch) else { continue };
        for first in (0..chunk.rows()).step_by(WINDOW) {
            let rows = first..chunk.rows().min(first + WINDOW);
            let count = reader.scan(rows, &applicable, &mut scratch, &mut selected);
            found.extend(selected[..count].iter().map(|&at| (number, first + at as usize)));
        }
    }
    let rows = found.len() as u64;
    let spread: Vec<(usize, usize)> = match found.len() {
        0..=SAMPLED => found,
        all => (0..SAMPLED).map(|i| found[i * all / SAMPLED]).collect(),
    };
    let mut columns = Vec::with_capacity(attributes.len());
    for &attribute in attributes {
        columns.push(ColumnBuilder::new(schema.get(attribute)?.sql_type, spread.len()));
    }
    for run in spread.chunk_by(|a, b| a.0 == b.0) {
        let reader = snapshot.chunk(run[0].0).read();
        for (&attribute, column) in attributes.iter().zip(&mut columns) {
            reader.gather_into(attribute, run.iter().map(|row| row.1), column);
        }
    }
    let sample = Chunk::new(spread.len(), columns.into_iter().map(ColumnBuilder::finish).collect());
    Some(Matching { rows, sample })
}
