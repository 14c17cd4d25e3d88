//! A row that its primary key has found: pinned once, for whoever compares its key, asks whether it is there, reads it and changes it.

use std::sync::Arc;

use types::Value;

use super::Relation;
use super::live::View;
use crate::RowId;
use crate::chunk::Held;
use crate::clock;
use crate::index::{KeyPart, OneKey};
use crate::published::Guard;
use crate::sidecar::Sidecar;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FoundRow<'g> {
    id: RowId,
    /// Its chunk, and what had changed in that when it was found.
    held: &'g Held,
}

impl FoundRow<'_> {
    /// Where it lies.
    pub fn id(&self) -> RowId {
        self.id
    }

    pub(super) fn sidecar(&self) -> Option<&Arc<Sidecar>> {
        self.held.sidecar.as_ref()
    }

    /// Fetches what values of attributes are made of, all at once, before somebody waits for one after the other.
    pub fn fetch(&self, attributes: impl Iterator<Item = usize> + Clone) {
        self.held.body.fetch(attributes, self.id.offset());
        if let Some(sidecar) = &self.held.sidecar {
            sidecar.fetch(self.id.offset());
        }
    }

    fn is_alive(&self, view: &clock::View) -> bool {
        self.held.sidecar.as_ref().is_none_or(|sidecar| sidecar.is_alive(self.id.offset(), view))
    }

    /// Calls `show` with the values of attributes as a view sees them, one after the other, as long as that says so. Nobody changes
    /// the row meanwhile.
    pub fn each_value(
        &self,
        view: &clock::View,
        attributes: impl Iterator<Item = usize>,
        mut show: impl FnMut(Value) -> Option<()>,
    ) -> Option<()> {
        let (body, row) = (&self.held.body, self.id.offset());
        let seen = self.held.sidecar.as_ref().and_then(|sidecar| sidecar.seen(row, view));
        let row_id = body.refs().len();
        for attribute in attributes {
            let seen = seen.as_ref().filter(|seen| seen.may_differ(attribute));
            show(match seen.and_then(|seen| seen.find(attribute)) {
                Some((values, at)) => crate::body::value(values, at, body.sql_type(attribute)),
                None if attribute == row_id => Value::Int(self.id.to_bits() as i64),
                None => body.value(attribute, row),
            })?;
        }
        Some(())
    }
}

impl Relation {
    /// The row as it is now.
    pub(crate) fn row_at<'g>(&'g self, id: RowId, guard: &'g Guard) -> FoundRow<'g> {
        FoundRow { id, held: self.directory.get(id.chunk()).held(guard) }
    }

    /// Whether the row is among those that are visible, whatever has become of it since.
    pub(super) fn has_row(&self, id: RowId, visible: &View) -> bool {
        let rows = || visible.visible(id.chunk()).unwrap_or_else(|| self.directory.get(id.chunk()).closed_rows());
        id.chunk() < visible.chunks && id.offset() < rows()
    }

    /// The row with these values of the primary key, in its order, among those that are visible: without any writer's lock. A row that
    /// probably is it is `expected` before it is looked at.
    ///
    /// # Panics
    /// If there is no primary key.
    pub(crate) fn find_row<'g>(
        &'g self,
        key: &[KeyPart<'_>],
        (visible, view): (&View, &clock::View),
        (guard, expected): (&'g Guard, impl Fn(&FoundRow<'g>)),
    ) -> Option<FoundRow<'g>> {
        let index = self.index.as_ref().expect("a relation with a primary key");
        let mut found = None;
        // The index knows all rows, the view not all of them.
        index.find_one(OneKey(key), guard, &mut |id| {
            let row = self.has_row(id, visible).then(|| self.row_at(id, guard));
            row.iter().for_each(&expected);
            let is_it = |row: &FoundRow<'_>| {
                OneKey(key).is_key_of(&row.held.body, self.schema.primary_key(), id.offset()) && row.is_alive(view)
            };
            found = row.filter(is_it);
            found.is_some()
        });
        found
    }
}
