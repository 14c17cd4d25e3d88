//! Rows by their ids.

use storage::{RowId, Snapshot};
use types::{Chunk, ColumnBuilder};

/// The values of attributes of some rows.
pub(crate) fn gathered(snapshot: &Snapshot, ids: &[RowId], attributes: &[usize]) -> Chunk {
    let types = snapshot.schema().attributes();
    let mut columns: Vec<_> = attributes.iter().map(|&a| ColumnBuilder::new(types[a].sql_type, ids.len())).collect();
    for run in ids.chunk_by(|a, b| a.chunk() == b.chunk()) {
        let reader = snapshot.chunk(run[0].chunk()).read();
        for (&attribute, column) in attributes.iter().zip(&mut columns) {
            reader.gather_into(attribute, run.iter().map(|id| id.offset()), column);
        }
    }
    Chunk::new(ids.len(), columns.into_iter().map(ColumnBuilder::finish).collect())
}
