//! What a transaction has done to one relation: rows that it has inserted, and which rows it has changed. Rows that are changed one by
//! one are noted one behind the other; when they are many, by windows, as others are.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::bits::Bits;
use crate::clock::{Asked, What, Written};
use crate::relation::{Commit, Relation, WindowRows};
use crate::{RowId, WINDOW};

/// So many rows that were changed one by one are noted by windows.
const MANY_ROWS: usize = 256;

/// Chunks and windows of rows that were changed: of most transactions, few.
pub(super) type Windows = SmallVec<[(usize, usize); 4]>;

/// See the module. What most transactions do takes no memory of its own.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) relation: Arc<Relation>,
    pub(super) inserted: Option<Commit>,
    /// By chunk and window.
    changed: BTreeMap<(usize, usize), Box<Changed>>,
    /// Rows that were changed one by one: the number of the list of attributes that were updated; none: they were deleted.
    rows: SmallVec<[(RowId, Option<u32>); 2]>,
    /// Lists of attributes.
    lists: SmallVec<[SmallVec<[usize; 4]>; 1]>,
}

#[derive(Debug, Default)]
struct Changed {
    updated: Bits,
    deleted: Bits,
    /// Of those that were updated.
    attributes: Vec<usize>,
}

impl Changed {
    fn add_attributes(&mut self, attributes: impl Iterator<Item = usize>) {
        for attribute in attributes {
            if !self.attributes.contains(&attribute) {
                self.attributes.push(attribute);
            }
        }
    }
}

impl Done {
    /// Nothing.
    pub(super) fn new(relation: Arc<Relation>) -> Self {
        let (changed, rows, lists) = (BTreeMap::new(), SmallVec::new(), SmallVec::new());
        Self { relation, inserted: None, changed, rows, lists }
    }

    /// Rows of a window are changed in these attributes, or deleted.
    pub(super) fn note(&mut self, window: &WindowRows, attributes: Option<impl Iterator<Item = usize>>) {
        let changed = self.changed.entry((window.chunk, window.number)).or_default();
        match attributes {
            None => changed.deleted.add(&window.rows),
            Some(attributes) => {
                changed.updated.add(&window.rows);
                changed.add_attributes(attributes);
            }
        }
    }

    /// A row is changed in these attributes, or deleted.
    pub(super) fn note_row(&mut self, row: RowId, attributes: Option<impl Iterator<Item = usize> + Clone>) {
        if self.rows.len() == MANY_ROWS {
            self.note_windows();
        }
        let list = attributes.map(|attributes| {
            // The last one first: statements are often alike.
            let known = self.lists.iter().rposition(|list| list.iter().copied().eq(attributes.clone()));
            known.unwrap_or_else(|| {
                self.lists.push(attributes.collect());
                self.lists.len() - 1
            }) as u32
        });
        self.rows.push((row, list));
    }

    /// Whether any rows were changed.
    pub(super) fn has_changed(&self) -> bool {
        !self.rows.is_empty() || !self.changed.is_empty()
    }

    /// The chunks and windows of rows that were changed, in order, each once.
    pub(super) fn windows(&self) -> Windows {
        let of_rows = self.rows.iter().map(|(row, _)| window_of(*row));
        let mut windows: Windows = self.changed.keys().copied().chain(of_rows).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// Notes by windows what was noted by rows.
    fn note_windows(&mut self) {
        for (row, list) in self.rows.drain(..) {
            let changed = self.changed.entry(window_of(row)).or_default();
            let at = row.offset() % WINDOW;
            match list {
                None => changed.deleted.insert(at),
                Some(list) => {
                    changed.updated.insert(at);
                    changed.add_attributes(self.lists[list as usize].iter().copied());
                }
            }
        }
        self.lists.clear();
    }

    /// Says what was written, to those who validate.
    pub(super) fn write(&mut self, asked: Asked, to: &mut Vec<Written>) {
        if asked == Asked::Not {
            return;
        }
        to.extend(self.inserted.iter().flat_map(Commit::written));
        let relation = self.relation.number();
        if asked == Asked::Late {
            if self.has_changed() {
                to.push(Written { relation, chunk: 0, what: What::Anything });
            }
            return;
        }
        self.note_windows();
        for (&(chunk, window), changed) in &self.changed {
            let Changed { updated, deleted, attributes } = &**changed;
            let updated = (*updated, false, attributes.clone());
            for (rows, deleted, attributes) in [updated, (*deleted, true, Vec::new())] {
                if !rows.is_empty() {
                    let what = What::Changed { window, rows, deleted, attributes };
                    to.push(Written { relation, chunk, what });
                }
            }
        }
    }
}

fn window_of(row: RowId) -> (usize, usize) {
    (row.chunk(), row.offset() / WINDOW)
}
