//! Ranks of rows among those of their frames, by the call's own order. A row that its frame leaves out is ranked as if it
//! had been added, as hypothetical sets are.

use std::ops::Range;

use base::Result;

use super::{Ordered, Seen};
use crate::window::Operand;
use crate::window::column::Sink;
use crate::window::numbering::bucket;

/// Which number.
#[derive(Debug)]
pub(super) enum Kind {
    RowNumber,
    Rank,
    PercentRank,
    CumeDist,
    /// Into so many buckets.
    Ntile(Operand),
}

impl Seen<'_> {
    /// How many rows come before all that are equal to the row.
    fn before_ties(&self) -> usize {
        let permutation = &self.all.permutation;
        self.below(permutation.tied(permutation.place(self.row)).start)
    }

    /// How many rows there are, this one among them.
    fn with_itself(&self) -> usize {
        self.rows() + usize::from(!self.includes)
    }
}

pub(super) fn integers(ordered: &Ordered, kind: &Kind, rows: Range<usize>, mut out: Sink<'_, i64>) -> Result<()> {
    ordered.each(rows, |at, seen| {
        let number = match kind {
            Kind::Rank => Some(seen.before_ties() as i64 + 1),
            Kind::Ntile(buckets) => {
                let buckets = buckets.cells::<i64>().get(seen.row);
                buckets.map(|n| bucket(n, seen.before(), seen.with_itself())).transpose()?
            }
            _ => Some(seen.before() as i64 + 1),
        };
        out.set(at, number);
        Ok(())
    })
}

pub(super) fn shares(ordered: &Ordered, kind: &Kind, rows: Range<usize>, mut out: Sink<'_, f64>) -> Result<()> {
    ordered.each(rows, |at, seen| {
        let size = seen.with_itself();
        let share = match kind {
            Kind::PercentRank if size == 1 => 0.0,
            Kind::PercentRank => seen.before_ties() as f64 / (size - 1) as f64,
            _ => {
                let permutation = &ordered.permutation;
                let through = seen.below(permutation.tied(permutation.place(seen.row)).end);
                (through + usize::from(!seen.includes)) as f64 / size as f64
            }
        };
        out.set(at, Some(share));
        Ok(())
    })
}
