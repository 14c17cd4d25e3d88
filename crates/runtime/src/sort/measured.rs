//! The bounds of all fields, taken of rows that have just come in, while they are in the cache: for rows of few numbers, so
//! that a sort never looks for bounds in vain. Other rows are measured when a sample has said which fields it takes.

use pipeline::ir::Ty;

use super::bounds::Bounds;
use super::exchange::{BATCH, rows_of};
use super::order::{Field, Order};
use crate::rows::{Mark, PerWorker, RowLists, Segment};

/// Rows of more fields are not measured as they come.
const FEW_FIELDS: usize = 4;

/// What workers have seen of their rows.
#[derive(Debug, Default)]
pub(super) struct Measured(PerWorker<Seen>);

#[derive(Debug, Default)]
struct Seen {
    rows: Mark,
    bounds: Vec<Bounds>,
}

impl Measured {
    /// Whether rows are worth it.
    pub(super) fn suits(order: &Order) -> bool {
        order.fields.len() <= FEW_FIELDS && order.fields.iter().all(|field| field.ty != Ty::Str)
    }

    /// Looks at the rows that are new. Called by the worker itself.
    pub(super) fn look(&self, worker: usize, rows: &RowLists, order: &Order) {
        // SAFETY: the worker's own.
        let seen = unsafe { &mut *self.0.get_or(worker, Seen::default) };
        let (segments, end) = rows.since(worker, seen.rows);
        // SAFETY: rows of the order's layout, without strings.
        let new = segments.iter().map(|rows| unsafe { of(&order.fields, rows) });
        seen.bounds = new.fold(std::mem::take(&mut seen.bounds), join);
        seen.rows = end;
    }

    /// The bounds of all fields. Called when no worker looks any more.
    pub(super) fn bounds(&self) -> Vec<Bounds> {
        // SAFETY: nobody writes any more.
        unsafe { self.0.iter() }.fold(Vec::new(), |all, seen| join(all, seen.bounds.clone()))
    }
}

/// The bounds of fields in a piece of the rows, so far.
#[derive(Debug, Default)]
pub(super) struct OfPiece {
    bounds: Vec<Bounds>,
    looked_at: usize,
}

impl OfPiece {
    /// Goes on until all rows are looked at, which is told, or steps are used up.
    ///
    /// # Safety
    /// They must be rows of the fields' layout, with all strings alive.
    pub(super) unsafe fn go_on(&mut self, fields: &[Field], rows: &Segment, steps: &mut u64) -> bool {
        while self.looked_at < rows.rows() && *steps > 0 {
            let batch = rows.slice(self.looked_at..rows.rows().min(self.looked_at + BATCH));
            // SAFETY: as the caller promises.
            self.bounds = join(self.take(), unsafe { of(fields, &batch) });
            self.looked_at += batch.rows();
            *steps = steps.saturating_sub(batch.rows() as u64);
        }
        self.looked_at == rows.rows()
    }

    /// Takes what is known.
    pub(super) fn take(&mut self) -> Vec<Bounds> {
        std::mem::take(&mut self.bounds)
    }
}

/// The bounds of fields in some rows.
///
/// # Safety
/// They must be rows of the fields' layout, with all strings alive.
pub(super) unsafe fn of(fields: &[Field], rows: &Segment) -> Vec<Bounds> {
    let mut all = vec![Bounds::default(); fields.len()];
    for rows in rows.cut(BATCH).map(|rows| rows_of(&rows)) {
        for (bounds, field) in all.iter_mut().zip(fields) {
            // SAFETY: as the caller promises.
            *bounds = bounds.join(unsafe { Bounds::of(field, &rows) });
        }
    }
    all
}

/// What is known of both sets of rows together, by field; nothing is known of no rows.
pub(super) fn join(one: Vec<Bounds>, other: Vec<Bounds>) -> Vec<Bounds> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.into_iter().zip(other).map(|(one, other)| one.join(other)).collect(),
    }
}
