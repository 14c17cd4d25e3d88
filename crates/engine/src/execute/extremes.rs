//! A scan below `min` and `max` alone: chunks whose bounds say that they hold no better value are not read.

use pipeline::ir::{FoldKind, Inst, Pipeline, Source};
use storage::statistics::ValueRange;
use storage::{ChunkView, Snapshot};
use types::Physical;

/// The end of a column that is looked for.
pub(super) struct End {
    pub attribute: usize,
    pub greatest: bool,
    /// Whether it is of whole numbers. Of doubles, bounds do not tell which of the equal ones comes first.
    pub is_whole: bool,
}

impl End {
    /// A chunk's bound at this end, as a number that is the smaller the better; none if all of its rows are NULL.
    fn of(&self, range: &ValueRange) -> Option<i128> {
        match range {
            ValueRange::Keys { max, .. } if self.greatest => Some(!*max),
            ValueRange::Keys { min, .. } => Some(*min),
            ValueRange::Empty | ValueRange::Text { .. } => None,
        }
    }
}

/// Of the chunks of a table that are scanned without predicates, those that are enough.
pub(super) fn enough(snapshot: &Snapshot, pipeline: &Pipeline, chunks: Vec<usize>) -> Vec<usize> {
    let Some(ends) = ends(pipeline).filter(|ends| ends.iter().all(|end| end.is_whole)) else { return chunks };
    let mut needed = vec![false; snapshot.chunk_count()];
    for end in &ends {
        let bound = |chunk: ChunkView<'_>| end.of(&chunk.bounds(end.attribute).range);
        let reached = chunks.iter().filter(|&&number| snapshot.chunk(number).has_exact_bounds());
        let best = reached.filter_map(|&number| Some((bound(snapshot.chunk(number))?, number))).min();
        best.into_iter().for_each(|(_, number)| needed[number] = true);
        // Where bounds may be too wide, a better one promises nothing, but might be true.
        for &number in &chunks {
            let chunk = snapshot.chunk(number);
            needed[number] |= !chunk.has_exact_bounds()
                && bound(chunk).is_some_and(|bound| best.is_none_or(|(best, _)| bound < best));
        }
    }
    chunks.into_iter().filter(|&number| needed[number]).collect()
}

/// What the pipeline looks for, if it is nothing but ends of columns of numbers.
pub(super) fn ends(pipeline: &Pipeline) -> Option<Vec<End>> {
    let Source::Table { columns, .. } = &pipeline.source else { return None };
    if !pipeline.only_finds_extremes() {
        return None;
    }
    let folds = pipeline.body.iter().filter_map(|inst| match inst {
        Inst::Fold(fold) => Some(fold),
        _ => None,
    });
    let end = |fold: &pipeline::ir::Fold| {
        let column = &columns[fold.column?.index as usize];
        let is_whole =
            matches!(column.sql_type.physical(), Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128);
        Some(End { attribute: column.attribute, greatest: fold.kind == FoldKind::Max, is_whole })
    };
    let ends: Option<Vec<End>> = folds.map(end).collect();
    ends.filter(|ends| !ends.is_empty())
}
