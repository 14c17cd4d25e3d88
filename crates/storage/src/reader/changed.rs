//! Reading what was changed: the body's values, over them the newest ones, over them those that the view sees instead.

use std::ops::Range;
use std::sync::Arc;

use types::SqlType;

use super::{Applicable, ChunkReader};
use crate::body::Scratch;
use crate::clock::View;
use crate::sidecar::{SeenRow, Sidecar};
use crate::values::Values;
use crate::{ColumnRef, ScanPredicate, WINDOW};

/// What has changed in a chunk, and who looks at it.
#[derive(Debug)]
pub(super) struct Changes {
    sidecar: Arc<Sidecar>,
    view: View,
}

impl Changes {
    /// A column's values as the view sees them, which lie at `column` as they were appended.
    pub(super) fn over(
        &self,
        attribute: usize,
        (sql_type, column): (SqlType, ColumnRef),
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) -> ColumnRef {
        if rows.is_empty() || !self.sidecar.is_patched(attribute, rows.start) {
            return column;
        }
        assert!(rows.start / WINDOW == (rows.end - 1) / WINDOW, "batches of changed rows stay within windows");
        scratch.overlaid(attribute, sql_type.physical(), (column, rows.len()), |to| {
            self.sidecar.overlay(attribute, rows, &self.view, to);
        })
    }
}

impl ChunkReader {
    /// Calls `with` with the value of a row, if it is not as it was appended; false if it is.
    pub(super) fn with_changed(&self, attribute: usize, row: usize, with: impl FnOnce(Values<'_>, usize)) -> bool {
        let seen = self.seen(row);
        let changed = seen.as_ref().and_then(|seen| seen.find(attribute));
        changed.map(|(values, at)| with(values, at)).is_some()
    }

    /// A row, if it may be other than it was appended.
    pub(super) fn seen(&self, row: usize) -> Option<SeenRow<'_>> {
        self.changes.as_ref().and_then(|changes| changes.sidecar.seen(row, &changes.view))
    }

    /// The reader of the chunk with that number.
    pub(crate) fn numbered(self, number: usize) -> Self {
        Self { number, ..self }
    }

    /// The rows as a view sees them.
    pub(crate) fn with_changes(self, sidecar: Arc<Sidecar>, view: View) -> Self {
        Self { changes: Some(Arc::new(Changes { sidecar, view })), ..self }
    }

    /// Whether any row may be dead, or other than it was appended. Then batches must stay within windows.
    pub fn is_changed(&self) -> bool {
        self.changes.is_some()
    }

    /// Whether any of the rows of a window may be dead, or other than it was appended.
    pub(super) fn is_touched(&self, rows: &Range<usize>) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.sidecar.is_touched(rows.start))
    }

    /// Whether values of an attribute may differ from the body's in the window of the rows.
    pub(super) fn is_patched(&self, attribute: usize, rows: &Range<usize>) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.sidecar.is_patched(attribute, rows.start))
    }

    pub(super) fn is_patched_at_all(&self, attribute: usize) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.sidecar.is_patched_at_all(attribute))
    }

    /// What has to be asked of each row, if this has to be of those in windows where nothing was changed.
    pub(super) fn of_all_windows(
        &self,
        predicates: &Arc<[ScanPredicate]>,
        unchanged: Option<Applicable>,
    ) -> Option<Applicable> {
        if !self.is_changed() {
            return unchanged;
        }
        let own: Arc<[ScanPredicate]> = match predicates.iter().any(ScanPredicate::is_computed) {
            true => predicates.iter().filter(|predicate| !predicate.is_computed()).cloned().collect(),
            false => predicates.clone(),
        };
        let of_changed = Some((own, unchanged.is_none()));
        let none = || Applicable { direct: Vec::new(), columns: None, late: Vec::new(), of_changed: None };
        Some(Applicable { of_changed, ..unchanged.unwrap_or_else(none) })
    }

    /// Writes to `out` which of the rows of a window that was changed are alive and satisfy all predicates.
    pub(super) fn select_changed(
        &self,
        rows: Range<usize>,
        predicates: &[ScanPredicate],
        scratch: &mut Scratch,
        out: &mut [u32],
    ) -> usize {
        let Some(changes) = self.changes.as_ref().filter(|_| !rows.is_empty()) else { return 0 };
        let (window, first) = (rows.start / WINDOW, rows.start % WINDOW);
        assert!(window == (rows.end - 1) / WINDOW, "batches of changed rows stay within windows");
        let mut count = 0;
        match changes.sidecar.alive(window, &changes.view) {
            None => {
                (0..rows.len()).for_each(|at| out[at] = at as u32);
                count = rows.len();
            }
            Some(alive) => {
                for at in (0..rows.len()).filter(|at| alive.has(first + at)) {
                    out[count] = at as u32;
                    count += 1;
                }
            }
        }
        for predicate in predicates {
            if count == 0 {
                break;
            }
            count = self.refine(predicate, &rows, scratch, out, count);
        }
        count
    }
}
