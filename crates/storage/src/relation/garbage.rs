//! What changes of rows leave behind: versions that nobody needs once no view is older.

use std::sync::{Arc, Weak};

use super::Relation;
use crate::WINDOW;
use crate::clock::{Clock, Garbage};
use crate::lock::lock;

/// A window with such versions.
#[derive(Debug)]
struct Versions {
    relation: Weak<Relation>,
    chunk: usize,
    window: usize,
}

impl Garbage for Versions {
    fn collect(&self, clock: &Clock) {
        let Some(relation) = self.relation.upgrade() else { return };
        if let Some(sidecar) = relation.sidecar_of(self.chunk) {
            let folding = lock(&relation.folding);
            let dead = sidecar.collect(self.window, clock.oldest());
            if !dead.is_empty() {
                relation.forget_keys(self.chunk, self.window * WINDOW, &dead);
            }
            drop(folding);
            relation.consider_folding(self.chunk, &sidecar);
        }
    }
}

impl Relation {
    /// What a commit leaves behind that has changed rows of a window.
    pub(crate) fn garbage(self: &Arc<Self>, chunk: usize, window: usize) -> Box<dyn Garbage> {
        Box::new(Versions { relation: Arc::downgrade(self), chunk, window })
    }
}
