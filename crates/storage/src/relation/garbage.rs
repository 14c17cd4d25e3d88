//! What changes of rows leave behind: versions that nobody needs once no view is older.

use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::Relation;
use crate::WINDOW;
use crate::clock::{Clock, Garbage};
use crate::lock::try_lock;

type Windows = SmallVec<[(u32, u8); 4]>;

/// Windows with such versions.
#[derive(Debug)]
struct Versions {
    relation: Weak<Relation>,
    /// Chunks and windows of them.
    windows: Windows,
}

impl Garbage for Versions {
    fn collect(&self, clock: &Clock) {
        let Some(relation) = self.relation.upgrade() else { return };
        let oldest = clock.oldest();
        let (mut left, mut newest) = (Windows::new(), 0);
        for of_chunk in self.windows.chunk_by(|a, b| a.0 == b.0) {
            let chunk = of_chunk[0].0 as usize;
            let Some(sidecar) = relation.sidecar_of(chunk) else { continue };
            // Whoever commits does not wait for a fold.
            let Some(folding) = try_lock(&relation.folding) else {
                left.extend_from_slice(of_chunk);
                newest = newest.max(oldest);
                continue;
            };
            for &(_, window) in of_chunk {
                let number = usize::from(window);
                let (dead, later) = sidecar.collect(number, oldest);
                if !dead.is_empty() {
                    relation.forget_keys(chunk, number * WINDOW, &dead);
                }
                if let Some(later) = later
                    && sidecar.leave(number)
                {
                    left.push((chunk as u32, window));
                    newest = newest.max(later);
                }
            }
            drop(folding);
            relation.consider_folding(chunk, &sidecar);
        }
        if !left.is_empty() {
            let left = Self { relation: self.relation.clone(), windows: left };
            clock.leave(newest, Box::new(left));
        }
    }
}

impl Relation {
    /// What a commit leaves behind that has changed rows of windows, in order, unless all of these are left already.
    pub(crate) fn garbage(self: &Arc<Self>, windows: impl Iterator<Item = (usize, usize)>) -> Option<Box<dyn Garbage>> {
        let mut of = None;
        let is_new = |&(chunk, window): &(usize, usize)| {
            if of.as_ref().is_none_or(|(number, _)| *number != chunk) {
                of = Some((chunk, self.sidecar_of(chunk)));
            }
            of.as_ref().is_some_and(|(_, sidecar)| sidecar.as_ref().is_some_and(|sidecar| sidecar.leave(window)))
        };
        let windows: Windows = windows.filter(is_new).map(|(chunk, window)| (chunk as u32, window as u8)).collect();
        (!windows.is_empty())
            .then(|| Box::new(Versions { relation: Arc::downgrade(self), windows }) as Box<dyn Garbage>)
    }
}
