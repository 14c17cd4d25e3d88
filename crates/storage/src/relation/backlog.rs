//! The backlog of a relation: columns of complete chunks that have yet to be frozen and sketched, and of many new rows of a
//! chunk that grows, which are to be sketched. A commit leaves them as they were delivered, so that rows can be queried before
//! they are compressed; workers come for them when they have nothing better to do, and whoever needs the statistics of a
//! column works off its share first.
//!
//! What is frozen as text gets symbols after that, a step at a time, and loses them if it is read often. Chunks of which much
//! has changed get new bodies.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use base::memory::on_node;
use base::statement;

use super::Relation;
use crate::body::{Body, Frozen, Packing, Stored, Symbols};
use crate::lock::lock;
use crate::statistics::{Bounds, Summary};
use crate::values::Values;

/// See the module.
#[derive(Debug)]
pub(super) struct Backlog {
    columns: Mutex<Box<[Share]>>,
    /// Somebody has done with a column of a chunk.
    done: Condvar,
}

/// What there is to do for one attribute.
#[derive(Debug, Default)]
struct Share {
    /// The next one last.
    left: Vec<Left>,
    /// How many somebody is at.
    busy: usize,
    /// What there is to do after that, the next one last.
    later: Vec<Later>,
    /// As `busy`, of these.
    busy_later: usize,
    /// The symbols that texts got last, as long as there is something to do later.
    symbols: Option<Arc<Symbols>>,
}

impl Share {
    /// Whether there is something that nobody is at.
    fn is_left(&self) -> bool {
        !self.left.is_empty() || !self.later.is_empty()
    }
}

/// Rows of a chunk that have been left.
#[derive(Clone, Debug)]
struct Left {
    chunk: u32,
    /// Of a chunk that grows, those that are to be sketched; none: all of a complete one, which is to be frozen.
    grown: Option<Range<usize>>,
}

/// What is done with the texts of a chunk, of which all is known that somebody might wait for.
#[derive(Debug)]
enum Later {
    /// They get symbols: what there is of it, once it has begun.
    Pack(u32, Option<(Arc<Frozen>, Box<Packing>)>),
    /// They lose them.
    Unpack(u32),
    /// What has changed in the chunk comes into a new body.
    Fold(u32),
}

/// A column of a chunk that somebody freezes or sketches: returned however that ends.
struct Claim<'a> {
    backlog: &'a Backlog,
    attribute: usize,
    left: Left,
}

/// As [`Claim`], of what is done later.
struct LaterClaim<'a> {
    backlog: &'a Backlog,
    attribute: usize,
}

impl Backlog {
    pub(super) fn new(attributes: usize) -> Self {
        let columns = std::iter::repeat_with(Share::default).take(attributes).collect();
        Self { columns: Mutex::new(columns), done: Condvar::new() }
    }

    /// Adds all columns of a complete chunk: to be frozen, unless they are already.
    pub(super) fn push(&self, chunk: usize, is_frozen: bool) {
        let chunk = chunk as u32;
        lock(&self.columns).iter_mut().for_each(|share| {
            if is_frozen {
                share.later.push(Later::Pack(chunk, None));
            } else {
                share.left.push(Left { chunk, grown: None });
            }
        });
    }

    /// Adds all columns of new rows of a chunk that grows.
    pub(super) fn push_grown(&self, chunk: usize, rows: &Range<usize>) {
        let left = || Left { chunk: chunk as u32, grown: Some(rows.clone()) };
        lock(&self.columns).iter_mut().for_each(|share| share.left.push(left()));
    }

    /// Something of one attribute, or of any.
    fn claim(&self, attribute: Option<usize>) -> Option<Claim<'_>> {
        let mut columns = lock(&self.columns);
        let attribute = attribute.or_else(|| columns.iter().position(|share| !share.left.is_empty()))?;
        let share = &mut columns[attribute];
        let left = share.left.pop()?;
        share.busy += 1;
        Some(Claim { backlog: self, attribute, left })
    }

    /// What is done later, for any attribute.
    fn claim_later(&self) -> Option<(LaterClaim<'_>, Later)> {
        let mut columns = lock(&self.columns);
        let attribute = columns.iter().position(|share| !share.later.is_empty())?;
        let share = &mut columns[attribute];
        let later = share.later.pop()?;
        share.busy_later += 1;
        Some((LaterClaim { backlog: self, attribute }, later))
    }

    /// Adds a chunk whose changed rows are to come into a new body.
    pub(super) fn push_changed(&self, chunk: usize) {
        if let Some(share) = lock(&self.columns).first_mut() {
            share.later.push(Later::Fold(chunk as u32));
        }
    }

    fn push_later(&self, attribute: usize, later: Later) {
        lock(&self.columns)[attribute].later.push(later);
    }

    /// Waits until nobody freezes an attribute.
    fn wait_for(&self, attribute: usize) {
        let is_busy = |columns: &mut Box<[Share]>| columns[attribute].busy > 0;
        drop(self.done.wait_while(lock(&self.columns), is_busy).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until nobody is at anything. Whether something is left then: who was at it may have left the rest of it.
    fn is_left(&self) -> bool {
        let is_busy = |columns: &mut Box<[Share]>| columns.iter().any(|share| share.busy + share.busy_later > 0);
        // Looked at before anybody can take it again.
        let columns = self.done.wait_while(lock(&self.columns), is_busy).unwrap_or_else(PoisonError::into_inner);
        columns.iter().any(Share::is_left)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.backlog.columns)[self.attribute].busy -= 1;
        self.backlog.done.notify_all();
    }
}

impl Drop for LaterClaim<'_> {
    fn drop(&mut self) {
        let mut columns = lock(&self.backlog.columns);
        let share = &mut columns[self.attribute];
        share.busy_later -= 1;
        if share.busy_later == 0 && share.later.is_empty() {
            share.symbols = None;
        }
        drop(columns);
        self.backlog.done.notify_all();
    }
}

impl Relation {
    /// Somebody begins to work off the backlog; false if somebody does already.
    pub fn begin_freezing(&self) -> bool {
        !self.is_freezing.swap(true, Ordering::SeqCst)
    }

    /// Nobody works off the backlog any more. Whoever says so looks at it once more.
    pub fn end_freezing(&self) {
        self.is_freezing.store(false, Ordering::SeqCst);
    }
}

impl Relation {
    /// Whether something is left to freeze that nobody is at.
    pub fn has_backlog(&self) -> bool {
        lock(&self.backlog.columns).iter().any(Share::is_left)
    }

    /// Freezes a column of a chunk, or has a step of what is done later: about a millisecond's work. Returns whether there was
    /// any.
    pub fn freeze_next(&self) -> bool {
        if let Some(claim) = self.backlog.claim(None) {
            self.work_off(&claim);
        } else if let Some((claim, later)) = self.backlog.claim_later() {
            let attribute = claim.attribute;
            let more = match later {
                Later::Pack(chunk, begun) => {
                    self.pack(attribute, chunk as usize, begun).map(|b| Later::Pack(chunk, Some(b)))
                }
                Later::Unpack(chunk) => {
                    self.unpack(attribute, chunk as usize);
                    None
                }
                Later::Fold(chunk) => {
                    self.fold(chunk as usize);
                    None
                }
            };
            more.into_iter().for_each(|more| self.backlog.push_later(attribute, more));
        } else {
            return false;
        }
        true
    }

    /// Freezes all that is left, and waits for those who are at it. Ends early if the statement is cancelled that asks for it.
    pub fn freeze_rest(&self) {
        loop {
            while statement::check().is_ok() && self.freeze_next() {}
            if !self.backlog.is_left() || statement::check().is_err() {
                return;
            }
        }
    }

    /// As [`freeze_rest`](Self::freeze_rest), of one attribute: its range and distinct values are known then.
    pub(super) fn freeze_attribute(&self, attribute: usize) {
        while statement::check().is_ok()
            && let Some(claim) = self.backlog.claim(Some(attribute))
        {
            self.work_off(&claim);
        }
        self.backlog.wait_for(attribute);
    }

    /// Forgets what is left, as the relation is dropped, and waits for those who are at it: the memory is free then as soon
    /// as nobody reads the relation any more.
    pub fn forget_backlog(&self) {
        loop {
            lock(&self.backlog.columns).iter_mut().for_each(|share| {
                share.left.clear();
                share.later.clear();
            });
            if !self.backlog.is_left() {
                return;
            }
        }
    }

    fn work_off(&self, claim: &Claim<'_>) {
        let (attribute, number) = (claim.attribute, claim.left.chunk);
        let chunk = self.directory.get(number as usize);
        let _node = on_node(chunk.node());
        let body = chunk.pin();
        let rows = claim.left.grown.clone().unwrap_or(0..chunk.closed_rows());
        // Complete chunks were delivered in other forms than arrays as codes; who has frozen one that grew has sketched it.
        let Some(values) = body.values(attribute, rows.end) else { return };
        let mut summary = Summary::new(self.schema.attributes().len());
        match &claim.left.grown {
            Some(rows) => summary.add_distinct(attribute, values, rows.start, &chunk.bounds(attribute)),
            None => self.freeze((number, attribute), values, body.stored(attribute), &mut summary),
        }
        lock(&self.live).summary.merge(&summary);
    }

    /// Freezes a column of a complete chunk, and adds what that tells of its values to the summary.
    fn freeze(&self, (number, attribute): (u32, usize), values: Values<'_>, before: &Stored, summary: &mut Summary) {
        let chunk = self.directory.get(number as usize);
        let bounds = chunk.bounds(attribute);
        // Without the room it stays as it is.
        let room = self.budget.reserve(Body::room_to_freeze(std::iter::once(values)), "insert");
        let frozen = room.ok().and_then(|_room| Stored::freeze(values, &bounds).or_else(|| before.to_lasting()));
        let found = frozen.as_ref().and_then(Stored::distinct).unwrap_or(values);
        if bounds.is_range_left() {
            let range = Bounds::of(found, 0, found.rows()).range;
            summary.add_range(attribute, &range);
            chunk.find_range(attribute, range);
        }
        summary.add_distinct(attribute, found, 0, &bounds);
        if let Some(frozen) = frozen {
            let is_text = frozen.is_text();
            chunk.exchange_column(attribute, before, frozen);
            if is_text {
                self.backlog.push_later(attribute, Later::Pack(number, None));
            }
        }
    }

    /// Puts symbols into texts of a chunk, as far as a step goes. Returns what there is if that was not all.
    fn pack(
        &self,
        attribute: usize,
        number: usize,
        begun: Option<(Arc<Frozen>, Box<Packing>)>,
    ) -> Option<(Arc<Frozen>, Box<Packing>)> {
        let chunk = self.directory.get(number);
        let _node = on_node(chunk.node());
        let (column, mut packing) = match begun {
            Some(begun) => begun,
            None => {
                let known = lock(&self.backlog.columns)[attribute].symbols.clone();
                let begun = chunk.pin().stored(attribute).pack(known)?;
                lock(&self.backlog.columns)[attribute].symbols = Some(begun.1.symbols());
                begun
            }
        };
        if packing.step(&column) {
            return Some((column, packing));
        }
        let _room = self.budget.reserve(column.bytes(), "insert").ok()?;
        if let Some(packed) = packing.finish(&column, &self.is_warm) {
            let before = Stored::Frozen(column.clone());
            chunk.exchange_column(attribute, &before, Stored::Frozen(Arc::new(packed)));
        }
        None
    }

    /// Whether there are texts with symbols that are read so often that they had better have none: they are in the backlog
    /// from here on.
    pub fn has_warmed(&self) -> bool {
        if !self.is_warm.load(Ordering::Relaxed) || !self.is_warm.swap(false, Ordering::Relaxed) {
            return false;
        }
        for number in 0..self.directory.len() {
            let body = self.directory.get(number).pin();
            let warm = (0..self.schema.attributes().len()).filter(|&a| body.stored(a).has_warmed());
            warm.for_each(|attribute| self.backlog.push_later(attribute, Later::Unpack(number as u32)));
        }
        true
    }

    /// Takes the symbols out of texts of a chunk, if there is memory for that.
    fn unpack(&self, attribute: usize, number: usize) {
        let chunk = self.directory.get(number);
        let _node = on_node(chunk.node());
        let body = chunk.pin();
        let before = body.stored(attribute);
        if let Some(unpacked) = before.unpack() {
            chunk.exchange_column(attribute, before, unpacked);
        }
    }
}
