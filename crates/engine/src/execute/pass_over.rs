//! A scan below what leaves out its first rows (OFFSET). Below a sort, chunks all of whose rows are among these, as bounds and numbers of
//! rows tell, are not read; below a LIMIT, no rows that are.

use pipeline::ir::{FirstKey, PipelineId, SortField, Source as IrSource, State};
use storage::Snapshot;
use types::Value;

use super::Query;
use super::narrow::is_row_id;

/// What may come first in a chunk.
struct Chunk {
    number: usize,
    rows: u64,
    first: Value,
    /// What may come last, if it is certain how many rows there are, and that none is NULL.
    last: Option<Value>,
}

/// Of the chunks of a table those that have to be read; the sort is told of the others' rows.
pub(super) fn pass_over(query: &Query, pipeline: PipelineId, snapshot: &Snapshot, chunks: Vec<usize>) -> Vec<usize> {
    let Some(key) = FirstKey::of(&query.program, pipeline).filter(|key| key.of_all_rows && key.of_no_others) else {
        return chunks;
    };
    let (State::Sort(sort), IrSource::Table { columns, .. }) =
        (&query.program.states[key.state], &query.program.pipelines[pipeline].source)
    else {
        return chunks;
    };
    let (column, &SortField { descending, nulls_first, .. }) = (&columns[key.column], &sort.keys[0]);
    if is_row_id(query, pipeline, column) {
        return chunks;
    }
    let order = |a: &Value, b: &Value| if descending { b.total_cmp(a) } else { a.total_cmp(b) };
    // Rows of which nothing is known may come before all others.
    let (mut known, mut before) = (Vec::new(), 0);
    for &number in chunks.iter().filter(|_| sort.offset > 0) {
        let chunk = snapshot.chunk(number);
        let (rows, bounds) = (chunk.rows() as u64, chunk.bounds(column.attribute));
        let ends = bounds.values(column.sql_type);
        let (first, last) = if descending { (ends.1, ends.0) } else { ends };
        match first {
            Some(first) if !chunk.is_changed() => {
                before += if nulls_first { bounds.nulls } else { 0 };
                known.push(Chunk { number, rows, first, last: last.filter(|_| bounds.nulls == 0) });
            }
            _ => before += rows,
        }
    }
    known.sort_by(|a, b| order(&a.first, &b.first));
    // The first chunk with rows that may be wanted: what comes before all of these is not.
    let wanted = known.iter().position(|chunk| {
        before += chunk.rows;
        before > sort.offset
    });
    let Some(wanted) = wanted.map(|at| &known[at].first) else { return chunks };
    let is_before = |chunk: &&Chunk| chunk.last.as_ref().is_some_and(|last| order(last, wanted).is_lt());
    let passed: Vec<&Chunk> = known.iter().filter(is_before).collect();
    if !query.context.pass_over(key.state, passed.iter().map(|chunk| chunk.rows).sum()) {
        return chunks;
    }
    let mut is_passed = vec![false; snapshot.chunk_count()];
    passed.iter().for_each(|chunk| is_passed[chunk.number] = true);
    chunks.into_iter().filter(|&number| !is_passed[number]).collect()
}

/// How many of a table's rows a LIMIT leaves out that none of them has to be read for, as all come to it, and none is dead: it is told of
/// them.
pub(super) fn left_out(query: &Query, pipeline: PipelineId, snapshot: &Snapshot) -> u64 {
    let Some(limit) = query.program.pipelines[pipeline].limit_of_all() else { return 0 };
    let State::Limit { offset, .. } = query.program.states[limit] else { return 0 };
    let takers = query.program.pipelines.values().filter(|other| query.limits_of(&other.body).contains(&limit));
    if offset == 0 || takers.count() > 1 {
        return 0;
    }
    let whole = snapshot.chunks().take_while(|chunk| !chunk.is_changed()).map(|chunk| chunk.rows() as u64);
    let rows = offset.min(whole.sum());
    if query.context.pass_over(limit, rows) { rows } else { 0 }
}
