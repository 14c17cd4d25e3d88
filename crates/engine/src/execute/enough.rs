//! Which rows of a scan are enough for its pipeline: the first in the order of a top-k, or the ends that `min` and `max` look
//! for. An index that has the rows in that order then finds them.

use pipeline::ir::{FirstKey, PipelineId, Source as IrSource};
use storage::index::RowOrder;
use storage::relation::FirstRows;

use super::{Query, extremes};

/// The rows that are enough of those that satisfy the predicates of the pipeline's scan; none if all of them count.
pub(super) fn enough(query: &Query, pipeline: PipelineId) -> Vec<FirstRows> {
    if let Some(first) = first_of_top_k(query, pipeline) {
        return vec![first];
    }
    let ends = extremes::ends(&query.program.pipelines[pipeline]).unwrap_or_default();
    let first = |end: extremes::End| {
        let order = RowOrder { attribute: end.attribute, descending: end.greatest, nulls_first: None };
        FirstRows { order, rows: 1 }
    };
    ends.into_iter().map(first).collect()
}

fn first_of_top_k(query: &Query, pipeline: PipelineId) -> Option<FirstRows> {
    let key = FirstKey::of(&query.program, pipeline).filter(|key| key.of_all_found)?;
    let IrSource::Table { columns, .. } = &query.program.pipelines[pipeline].source else { return None };
    let threshold = query.context.threshold(key.state)?;
    let order = RowOrder {
        attribute: columns[key.column].attribute,
        descending: threshold.is_descending(),
        nulls_first: Some(threshold.is_nulls_first()),
    };
    Some(FirstRows { order, rows: usize::try_from(threshold.rows()).ok()? })
}
