//! What has changed in the rows of a window, behind its latch.

use std::sync::Arc;

use types::SqlType;

use super::memory::Share;
use super::patch::Patch;
use super::version::Version;
use crate::bits::Bits;
use crate::clock::{Conflict, View};
use crate::row_set::RowSet;

/// What has changed in a window.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) dead: Bits,
    pub(super) patches: Vec<Patch>,
    /// The oldest first; those of a row are in the order of their commits.
    pub(super) versions: Vec<Version>,
    /// How many there were, at least two times, when none could be spared.
    pub(super) needed: usize,
    /// Changes so far.
    pub(super) changes: u64,
    /// Rows that were changed since the sidecar was told.
    pub(super) untold: usize,
    pub(super) share: Share,
}

impl Window {
    pub(super) fn bytes(&self) -> usize {
        self.patches.iter().map(Patch::bytes).sum::<usize>() + self.version_bytes()
    }

    pub(super) fn version_bytes(&self) -> usize {
        self.versions.iter().map(Version::bytes).sum()
    }

    pub(super) fn patch(&self, attribute: usize) -> Option<&Patch> {
        self.patches.iter().find(|patch| patch.attribute == attribute)
    }

    pub(super) fn patch_mut(&mut self, attribute: usize, sql_type: SqlType) -> &mut Patch {
        let at = self.patches.iter().position(|patch| patch.attribute == attribute);
        let at = at.unwrap_or_else(|| {
            self.patches.push(Patch::new(attribute, sql_type));
            self.patches.len() - 1
        });
        &mut self.patches[at]
    }

    /// Whether the rows are as the view sees them, but for what its own transaction has done.
    pub(super) fn check(&self, rows: &RowSet, view: &View) -> Result<(), Conflict> {
        let (own, _) = view.own().expect("only transactions change rows");
        // A long transaction has many of its own: these are told by their stamps, before their rows are looked at.
        let of_others = self.versions.iter().filter(|version| !Arc::ptr_eq(&version.stamp, own));
        for version in of_others.filter(|version| version.touches(rows)) {
            match version.stamp.committed() {
                Some(timestamp) if timestamp <= view.timestamp() => {}
                Some(_) => return Err(Conflict::Newer),
                None => return Err(Conflict::Running(version.stamp.clone())),
            }
        }
        let is_dead = match rows.single() {
            Some(row) => self.dead.has(row),
            None => self.dead.touches(&rows.bits()),
        };
        if is_dead { Err(Conflict::Newer) } else { Ok(()) }
    }

    /// Whether a row is as the view sees it; if only its keys count, whether it is there.
    pub(super) fn check_row(&self, row: usize, keys_only: bool, view: &View) -> Result<(), Conflict> {
        if !keys_only {
            return self.check(&RowSet::one(row), view);
        }
        let deleted = self.versions.iter().rev().find(|version| version.deleted.has(row));
        match deleted {
            _ if !self.dead.has(row) => Ok(()),
            Some(version) if !version.stamp.has_ended() => Err(Conflict::Running(version.stamp.clone())),
            _ => Err(Conflict::Newer),
        }
    }

    /// Makes one of versions that differ for no view; `moments` are those that somebody sees, in order.
    pub(super) fn prune(&mut self, moments: &[u64]) {
        let mut pruned: Vec<Version> = Vec::with_capacity(self.versions.len());
        for version in self.versions.drain(..) {
            match pruned.last_mut() {
                Some(last) if last.is_as(&version, moments) => last.absorb(version),
                _ => pruned.push(version),
            }
        }
        self.versions = pruned;
    }
}
