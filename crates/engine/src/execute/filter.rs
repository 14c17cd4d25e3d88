//! What a finished join tells the scan below its probe: rows whose keys no build row has need not come.
//!
//! Whether that pays is seen from the table itself: a filter that lets most rows of a sample pass is not applied. The sample
//! depends on data alone, and so do the rows that come.

use std::sync::Arc;

use pipeline::ir::KeyFilter;
use storage::{ChunkView, ScanOp, ScanPredicate, Scratch, Snapshot, WINDOW};

use super::Query;

/// Chunks of the sample, and rows of each.
const CHUNKS: usize = 16;
const ROWS: usize = 512;

/// The filter as a predicate of the scan, if it is worth while.
pub(super) fn of_keys(query: &Query, snapshot: &Snapshot, filter: KeyFilter) -> Option<ScanPredicate> {
    let keys = query.context.keys(filter.state)?;
    let (least, greatest) = keys.range.into_inner();
    let sql_type = snapshot.schema().attributes()[filter.attribute].sql_type;
    let op = match keys.list {
        Some(list) => ScanOp::Listed(list),
        None => ScanOp::Keys { least, greatest, bits: keys.bits },
    };
    let predicate = ScanPredicate::new(filter.attribute, sql_type, op);
    let count = snapshot.chunk_count();
    let chunks = (0..count.min(CHUNKS)).map(|i| snapshot.chunk(i * count / count.min(CHUNKS)));
    let (rows, passing) = chunks.fold((0, 0), |(rows, passing), chunk| {
        (rows + chunk.rows().min(ROWS), passing + passing_rows(chunk, &predicate))
    });
    (passing <= rows / 4 * 3).then_some(predicate)
}

/// How many rows in the middle of a chunk pass.
fn passing_rows(chunk: ChunkView<'_>, predicate: &ScanPredicate) -> usize {
    let predicates: Arc<[ScanPredicate]> = Arc::new([predicate.clone()]);
    if !chunk.may_match(&predicates) {
        return 0;
    }
    let reader = chunk.read();
    let from = chunk.rows().saturating_sub(ROWS) / 2;
    // Within a window, as rows of it may have changed.
    let rows = from..chunk.rows().min(from + ROWS).min((from / WINDOW + 1) * WINDOW);
    let mut scratch = Scratch::default();
    let rest = reader.applicable(&predicates, &mut scratch);
    rest.map_or(0, |rest| reader.scan(rows, &rest, &mut scratch, &mut [0; ROWS]))
}
