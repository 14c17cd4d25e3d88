//! Which rows of a scan are enough for its pipeline: the first in the order of a top-k, or the ends that `min` and `max` look
//! for. An index that has the rows in that order then finds them.

use pipeline::ir::{FirstKey, PipelineId, Source as IrSource};
use storage::index::RowOrder;
use storage::relation::FirstRows;

use super::narrow::is_row_id;
use super::{Query, extremes};

/// The rows that are enough of those that satisfy the predicates of the pipeline's scan; none if all of them count.
pub(super) fn enough(query: &Query, pipeline: PipelineId) -> Vec<FirstRows> {
    if let Some(first) = first_of_top_k(query, pipeline) {
        return vec![first];
    }
    let ends = extremes::ends(&query.program.pipelines[pipeline]).unwrap_or_default();
    let first = |end: extremes::End| {
        let order = RowOrder { attribute: end.attribute, descending: end.greatest, nulls_first: None };
        // Of doubles, the first one of those that are equal is the end.
        FirstRows { order, rows: 1, ties: !end.is_whole }
    };
    ends.into_iter().map(first).collect()
}

fn first_of_top_k(query: &Query, pipeline: PipelineId) -> Option<FirstRows> {
    let key = FirstKey::of(&query.program, pipeline).filter(|key| key.of_all_found)?;
    let IrSource::Table { columns, .. } = &query.program.pipelines[pipeline].source else { return None };
    let threshold = query.context.threshold(key.state)?;
    let column = &columns[key.column];
    if is_row_id(query, pipeline, column) {
        return None;
    }
    // Rows that have nothing but the key are the same if that is.
    let has_more = query.program.pipelines[pipeline].columns_read().iter().any(|read| *read as usize != key.column);
    let order = RowOrder {
        attribute: column.attribute,
        descending: threshold.is_descending(),
        nulls_first: Some(threshold.is_nulls_first()),
    };
    let ties = has_more || !column.sql_type.equality_is_identity();
    Some(FirstRows { order, rows: usize::try_from(threshold.rows()).ok()?, ties })
}
