//! The backlog of a relation: columns of complete chunks that have yet to be frozen and sketched. A commit leaves them as
//! they were delivered, so that rows can be queried before they are compressed; workers come for them when they have
//! nothing better to do, and whoever needs the distinct values of a column works off its share first.

use std::sync::{Condvar, Mutex, PoisonError};

use base::statement;

use super::{Relation, lock};
use crate::body::{Body, Stored};
use crate::statistics::Summary;

/// See the module.
#[derive(Debug)]
pub(super) struct Backlog {
    columns: Mutex<Box<[Share]>>,
    /// Somebody has done with a column of a chunk.
    done: Condvar,
}

/// What there is to do for one attribute.
#[derive(Clone, Debug, Default)]
struct Share {
    /// Numbers of chunks, the next one last.
    chunks: Vec<u32>,
    /// Chunks that somebody is at.
    busy: usize,
}

/// A column of a chunk that somebody freezes: returned however that ends.
struct Claim<'a> {
    backlog: &'a Backlog,
    attribute: usize,
    chunk: usize,
}

impl Backlog {
    pub(super) fn new(attributes: usize) -> Self {
        Self { columns: Mutex::new(vec![Share::default(); attributes].into()), done: Condvar::new() }
    }

    /// Adds all columns of a chunk.
    pub(super) fn push(&self, chunk: usize) {
        lock(&self.columns).iter_mut().for_each(|share| share.chunks.push(chunk as u32));
    }

    /// Something of one attribute, or of any.
    fn claim(&self, attribute: Option<usize>) -> Option<Claim<'_>> {
        let mut columns = lock(&self.columns);
        let attribute = attribute.or_else(|| columns.iter().position(|share| !share.chunks.is_empty()))?;
        let share = &mut columns[attribute];
        let chunk = share.chunks.pop()? as usize;
        share.busy += 1;
        Some(Claim { backlog: self, attribute, chunk })
    }

    /// Waits until nobody is at one attribute, or at any.
    fn wait(&self, attribute: Option<usize>) {
        let is_busy = |columns: &mut Box<[Share]>| match attribute {
            Some(attribute) => columns[attribute].busy > 0,
            None => columns.iter().any(|share| share.busy > 0),
        };
        drop(self.done.wait_while(lock(&self.columns), is_busy).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.backlog.columns)[self.attribute].busy -= 1;
        self.backlog.done.notify_all();
    }
}

impl Relation {
    /// Whether something is left to freeze that nobody is at.
    pub fn has_backlog(&self) -> bool {
        lock(&self.backlog.columns).iter().any(|share| !share.chunks.is_empty())
    }

    /// Freezes a column of a chunk, about a millisecond's work. Returns whether there was one.
    pub fn freeze_next(&self) -> bool {
        self.backlog.claim(None).map(|claim| self.freeze_column(&claim)).is_some()
    }

    /// Freezes all that is left, and waits for those who are at it. Ends early if the statement is cancelled that asks for it.
    pub fn freeze_rest(&self) {
        while statement::check().is_ok() && self.freeze_next() {}
        self.backlog.wait(None);
    }

    /// As [`freeze_rest`](Self::freeze_rest), of one attribute: its distinct values are known then.
    pub(super) fn freeze_attribute(&self, attribute: usize) {
        while statement::check().is_ok()
            && let Some(claim) = self.backlog.claim(Some(attribute))
        {
            self.freeze_column(&claim);
        }
        self.backlog.wait(Some(attribute));
    }

    /// Forgets what is left, as the relation is dropped, and waits for those who are at it: the memory is free then as soon
    /// as nobody reads the relation any more.
    pub fn forget_backlog(&self) {
        lock(&self.backlog.columns).iter_mut().for_each(|share| share.chunks.clear());
        self.backlog.wait(None);
    }

    fn freeze_column(&self, claim: &Claim<'_>) {
        let &Claim { attribute, chunk, .. } = claim;
        let chunk = self.directory.get(chunk);
        let (body, bounds) = (chunk.pin(), &chunk.bounds()[attribute]);
        // What is in another form was delivered as codes.
        let Some(values) = body.values(attribute, chunk.closed_rows()) else { return };
        // Without the room it stays as it is.
        let room = self.budget.reserve(Body::room_to_freeze(std::iter::once(values)), "insert");
        let frozen = room.ok().and_then(|_room| Stored::freeze(values, bounds));
        let mut summary = Summary::new(self.schema.attributes().len());
        summary.add_distinct(attribute, frozen.as_ref().and_then(Stored::distinct).unwrap_or(values), 0, bounds);
        if let Some(frozen) = frozen {
            chunk.exchange_column(attribute, frozen);
        }
        lock(&self.live).summary.merge(&summary);
    }
}
