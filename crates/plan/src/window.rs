//! Window functions over partitions and frames (thesis 5.2).

use functions::WindowFunction;
use types::SqlType;

use crate::{Expr, SortKey};

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// Its arguments. `lead` and `lag` have an offset always, a default if there is one.
    pub arguments: Vec<Expr>,
    /// Over distinct values only; of aggregates.
    pub distinct: bool,
    /// FILTER (WHERE ...); of aggregates.
    pub filter: Option<Expr>,
    /// IGNORE NULLS.
    pub ignore_nulls: bool,
    /// The call's own order: what an ordered-set function ranks, `rank(ORDER BY x)`, `first_value(v ORDER BY x)`.
    pub order: Vec<SortKey>,
    /// So many leading keys of the operator partition its input...
    pub partition: usize,
    /// ...and so many, those included, order it: rows that agree in these are peers.
    pub peers: usize,
    /// What it looks at, if that is not the whole partition by nature.
    pub frame: Frame<Expr>,
    /// The result's type.
    pub sql_type: SqlType,
    /// Byte offset in the SQL text.
    pub position: Option<u32>,
}

/// The rows of its partition that a function looks at, for a current row; `E` says how far bounds are away.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<E> {
    /// What distances count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub start: FrameBound<E>,
    /// Where it ends, inclusive.
    pub end: FrameBound<E>,
    /// What is left out.
    pub exclude: FrameExclusion,
}

/// What the distance of a bound counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// The only ordering key: its type, or an interval for dates and timestamps.
    Range,
    /// Groups of peers.
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound<E> {
    /// The partition's first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(E),
    /// The current row; but for ROWS, the first or last of its peers.
    CurrentRow,
    /// So far behind the current row.
    Following(E),
    /// The partition's last row.
    UnboundedFollowing,
}

/// What a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FrameExclusion {
    /// Nothing.
    #[default]
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The current row's peers, but not itself.
    Ties,
}

impl WindowCall {
    /// All that it computes of a row: arguments, filter, its own order, distances of bounds.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let bounds = [self.frame.start.offset(), self.frame.end.offset()].into_iter().flatten();
        self.arguments.iter().chain(&self.filter).chain(self.order.iter().map(|key| &key.expr)).chain(bounds)
    }
}

impl<E> Frame<E> {
    /// The whole partition.
    pub const fn whole() -> Self {
        Self {
            unit: FrameUnit::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::UnboundedFollowing,
            exclude: FrameExclusion::NoOthers,
        }
    }

    /// The same frame with other distances.
    pub fn map<'a, F>(&'a self, mut map: impl FnMut(&'a E) -> F) -> Frame<F> {
        let Self { unit, ref start, ref end, exclude } = *self;
        Frame { unit, start: start.map(&mut map), end: end.map(&mut map), exclude }
    }
}

impl<E> FrameBound<E> {
    /// How far it is away, if that is said.
    pub fn offset(&self) -> Option<&E> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            _ => None,
        }
    }

    /// As [`offset`](Self::offset), to be changed.
    pub fn offset_mut(&mut self) -> Option<&mut E> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            _ => None,
        }
    }

    fn map<'a, F>(&'a self, map: impl FnOnce(&'a E) -> F) -> FrameBound<F> {
        match self {
            Self::UnboundedPreceding => FrameBound::UnboundedPreceding,
            Self::Preceding(offset) => FrameBound::Preceding(map(offset)),
            Self::CurrentRow => FrameBound::CurrentRow,
            Self::Following(offset) => FrameBound::Following(map(offset)),
            Self::UnboundedFollowing => FrameBound::UnboundedFollowing,
        }
    }
}
