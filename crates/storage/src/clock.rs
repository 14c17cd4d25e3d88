//! Time in a database: which commits a reader sees, and how long what it reads must be kept.
//!
//! Every commit has a number, its *timestamp*. A [`View`] sees all commits up to its own, and what its own transaction has
//! done in earlier statements. What changes rows carries the [`Stamp`] of its transaction, in which the timestamp is entered
//! once, so that a commit is one store however much it has changed (Neumann, Mühlbauer and Kemper, *Fast Serializable
//! Multi-Version Concurrency Control for Main-Memory Database Systems*, SIGMOD 2015, 2.1).

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use base::{Error, Latch, SqlState};
use smallvec::SmallVec;

use crate::bits::Bits;
use crate::lock::{lock, lock_soon};

/// A stamp's number while its transaction has not ended.
const RUNNING: u64 = 0;
/// And when it was rolled back.
const ABORTED: u64 = u64::MAX;

/// With what a change collided.
#[derive(Clone, Debug)]
pub enum Conflict {
    /// A transaction that has committed since the moment that this one sees.
    Newer,
    /// One that has not ended.
    Running(Arc<Stamp>),
}

impl Conflict {
    /// Error 40001.
    pub(crate) fn error(&self) -> Error {
        let detail = match self {
            Self::Newer => "A row was changed by a transaction that has committed since this one began.",
            Self::Running(_) => "A row is being changed by another transaction.",
        };
        Error::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
            .detail(detail)
            .hint("the transaction might succeed if it is tried again")
    }
}

/// Rows that a commit has written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The relation's number.
    pub relation: u64,
    pub chunk: usize,
    pub what: What,
}

/// How they were written.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Inserted(Range<usize>),
    /// Rows of a window that were deleted, or got new values of attributes.
    Changed {
        window: usize,
        rows: Bits,
        deleted: bool,
        attributes: Vec<usize>,
    },
    /// Nobody was there who would have asked.
    Anything,
}

/// What nobody needs once no view is older than the commit that has left it.
pub(crate) trait Garbage: Debug + Send + Sync {
    /// Frees it.
    fn collect(&self, clock: &Clock);
}

/// What a commit leaves behind: of most, something in one relation.
pub(crate) type Left = SmallVec<[Box<dyn Garbage>; 1]>;

/// How those who validate want to know what a commit has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nobody does.
    Not,
    /// Nobody did when it was published: that something was written is enough.
    Late,
    InDetail,
}

/// What the changes of a transaction carry: the timestamp of its commit, once there is one.
#[derive(Debug, Default)]
pub struct Stamp {
    commit: AtomicU64,
    /// How many wait for the end: to wake nobody takes no lock.
    waiting: AtomicUsize,
    asleep: Mutex<()>,
    end: Condvar,
    /// The transaction that this one waits for.
    waits_for: Mutex<Option<Arc<Stamp>>>,
}

impl Stamp {
    /// The timestamp; none as long as it is not committed.
    pub fn committed(&self) -> Option<u64> {
        match self.commit.load(Ordering::Acquire) {
            RUNNING | ABORTED => None,
            timestamp => Some(timestamp),
        }
    }

    /// Whether the transaction has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.commit.load(Ordering::Acquire) != RUNNING
    }

    /// The transaction has ended without a commit.
    pub(crate) fn abort(&self) {
        self.end(ABORTED);
    }

    /// It has ended, and there is nothing that anybody might not see.
    pub(crate) fn end_without_changes(&self, clock: &Clock) {
        self.end(clock.last.load(Ordering::Acquire).max(1));
    }

    fn end(&self, number: u64) {
        self.commit.store(number, Ordering::SeqCst);
        // Either somebody who waits sees the end, or is seen.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.asleep));
            self.end.notify_all();
        }
    }

    /// Waits at most so long until the transaction has ended; true if it has.
    pub fn wait(&self, most: Duration) -> bool {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let has_ended = || self.commit.load(Ordering::SeqCst) != RUNNING;
        let asleep = lock(&self.asleep);
        let woken = self.end.wait_timeout_while(asleep, most, |()| !has_ended());
        drop(woken.unwrap_or_else(PoisonError::into_inner));
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        has_ended()
    }

    /// `this` waits for `other` from now on, unless that waits, directly or not, for `this`: then false.
    pub fn may_wait(this: &Arc<Self>, other: &Arc<Self>) -> bool {
        // One at a time, so that two do not find each other free.
        static ORDER: Mutex<()> = Mutex::new(());
        let _order = lock(&ORDER);
        let mut next = Some(other.clone());
        while let Some(stamp) = next {
            if Arc::ptr_eq(&stamp, this) {
                return false;
            }
            next = lock(&stamp.waits_for).clone();
        }
        *lock(&this.waits_for) = Some(other.clone());
        true
    }

    /// Waits no more.
    pub fn goes_on(&self) {
        *lock(&self.waits_for) = None;
    }
}

/// The order of a database's commits.
#[derive(Debug, Default)]
pub struct Clock {
    /// The last commit that readers may see.
    last: AtomicU64,
    /// How many views there are of each moment that has some, in order: few at any time.
    views: Latch<Vec<(u64, usize)>>,
    /// Held while a commit takes effect.
    commits: Mutex<Recent>,
    /// Transactions that will ask what others have written since they began.
    validating: AtomicUsize,
}

/// A commit and what it has written.
pub(crate) type Committed = (u64, Arc<Vec<Written>>);

/// What commits have left behind for those that began before them.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// For validations, in the order of timestamps; nothing of those beside which nobody was who validates.
    pub(crate) written: VecDeque<Committed>,
    /// Versions that nobody needs once no view is older.
    garbage: VecDeque<(u64, Left)>,
}

impl Clock {
    /// A view of all that is committed now.
    pub fn view(self: &Arc<Self>) -> View {
        let mut views = self.views.lock();
        let timestamp = self.last.load(Ordering::Acquire);
        match views.last_mut() {
            Some((at, count)) if *at == timestamp => *count += 1,
            // No moment is later than the last.
            _ => views.push((timestamp, 1)),
        }
        drop(views);
        View { at: Arc::new(Registered { clock: self.clone(), timestamp, keeps: true }), own: None }
    }

    /// No view is older than this moment.
    pub(crate) fn oldest(&self) -> u64 {
        let views = self.views.lock();
        let last = self.last.load(Ordering::Acquire);
        views.first().map_or(last, |(oldest, _)| *oldest).min(last)
    }

    /// The moments that somebody sees, the last one among them.
    pub(crate) fn moments(&self) -> Vec<u64> {
        let views = self.views.lock();
        let last = self.last.load(Ordering::Acquire);
        let seen = views.iter().map(|(moment, _)| *moment);
        seen.chain(views.last().is_none_or(|(moment, _)| *moment != last).then_some(last)).collect()
    }

    /// A transaction begins that will ask, until this is dropped, what others have written since its moment, which it has yet
    /// to take.
    pub(crate) fn validates(self: &Arc<Self>) -> Validates {
        self.validating.fetch_add(1, Ordering::Relaxed);
        // Either it sees a commit, or the commit sees it.
        fence(Ordering::SeqCst);
        Validates(self.clone())
    }

    /// Makes a commit take effect: `publish` is told its timestamp, and nobody sees anything of it before it returns. An
    /// error of `check` ends it before it begins. When it has taken effect, `left` says what was written, as it is told that
    /// others ask (the committer itself is among those who validate if `is_validated`), and what it leaves behind.
    pub(crate) fn commit<T, E>(
        &self,
        (stamp, is_validated): (&Stamp, bool),
        check: impl FnOnce(&Recent) -> Result<(), E>,
        publish: impl FnOnce(u64) -> T,
        left: impl FnOnce(Asked) -> (Vec<Written>, Left),
    ) -> Result<T, E> {
        let others = || self.validating.load(Ordering::Relaxed) > usize::from(is_validated);
        let mut recent = lock_soon(&self.commits);
        check(&recent)?;
        let timestamp = self.last.load(Ordering::Relaxed) + 1;
        let in_detail = others();
        let result = publish(timestamp);
        stamp.end(timestamp);
        self.last.store(timestamp, Ordering::Release);
        // Whoever is not seen here sees the commit.
        fence(Ordering::SeqCst);
        let asked = match in_detail {
            true => Asked::InDetail,
            false if others() => Asked::Late,
            false => Asked::Not,
        };
        let (written, garbage) = left(asked);
        if asked != Asked::Not {
            recent.written.push_back((timestamp, Arc::new(written)));
        }
        if !garbage.is_empty() {
            recent.garbage.push_back((timestamp, garbage));
        }
        let collected = recent.collect(self.oldest());
        drop(recent);
        // Outside of the lock: somebody else's commit does not wait for it.
        collected.iter().flatten().for_each(|garbage| garbage.collect(self));
        Ok(result)
    }

    /// Keeps garbage of a commit that is collected some time later.
    pub(crate) fn leave(&self, timestamp: u64, garbage: Box<dyn Garbage>) {
        let all = &mut lock(&self.commits).garbage;
        let at = all.partition_point(|(before, _)| *before <= timestamp);
        all.insert(at, (timestamp, Left::from([garbage])));
    }

    /// Frees what nobody sees any more.
    pub fn collect(&self) {
        let collected = lock(&self.commits).collect(self.oldest());
        collected.iter().flatten().for_each(|garbage| garbage.collect(self));
    }

    /// A commit of rows that are in one relation only, and in nobody's transaction.
    pub(crate) fn commit_alone<T, E>(
        &self,
        check: impl FnOnce() -> Result<(), E>,
        publish: impl FnOnce(u64) -> T,
        left: impl FnOnce() -> Vec<Written>,
    ) -> Result<T, E> {
        self.commit((&Stamp::default(), false), |_: &Recent| check(), publish, |_| (left(), Left::new()))
    }

    /// Does something between commits; it is told what these have left behind.
    pub(crate) fn between_commits<T>(&self, work: impl FnOnce(&Recent) -> T) -> T {
        work(&lock_soon(&self.commits))
    }
}

#[cfg(test)]
impl Clock {
    /// How many commits are remembered for validations, and how many have left something.
    pub(crate) fn remembered(&self) -> (usize, usize) {
        let recent = lock(&self.commits);
        (recent.written.len(), recent.garbage.len())
    }
}

/// A transaction that will ask what others have written.
#[derive(Debug)]
pub(crate) struct Validates(Arc<Clock>);

impl Drop for Validates {
    fn drop(&mut self) {
        self.0.validating.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Recent {
    /// What commits have written that a view of that moment does not see.
    pub(crate) fn written_since(&self, moment: &View) -> impl Iterator<Item = &Written> {
        self.since(moment.timestamp()).flat_map(|(_, written)| written.iter())
    }

    /// The commits behind that one.
    pub(crate) fn since(&self, timestamp: u64) -> impl Iterator<Item = &Committed> {
        self.written.range(self.written.partition_point(|(at, _)| *at <= timestamp)..)
    }

    /// Forgets what is older than all views, and returns what can be collected of it.
    fn collect(&mut self, oldest: u64) -> SmallVec<[Left; 2]> {
        while self.written.front().is_some_and(|(timestamp, _)| *timestamp <= oldest) {
            self.written.pop_front();
        }
        let mut collected = SmallVec::new();
        while self.garbage.front().is_some_and(|(timestamp, _)| *timestamp <= oldest) {
            collected.extend(self.garbage.pop_front().map(|(_, garbage)| garbage));
        }
        collected
    }
}

/// A moment that somebody sees, as long as this lives.
#[derive(Debug)]
struct Registered {
    clock: Arc<Clock>,
    timestamp: u64,
    /// Whether it is among those for which versions are kept.
    keeps: bool,
}

impl Registered {
    /// Nothing is kept for it any more.
    fn leave(&mut self) {
        if !std::mem::replace(&mut self.keeps, false) {
            return;
        }
        let mut views = self.clock.views.lock();
        if let Ok(at) = views.binary_search_by_key(&self.timestamp, |(moment, _)| *moment) {
            views[at].1 -= 1;
            if views[at].1 == 0 {
                views.remove(at);
            }
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Which changes a reader sees: those committed up to a moment, and those of its own transaction's earlier statements.
/// Cheap to clone; versions that it may need are kept as long as it lives.
#[derive(Clone, Debug)]
pub struct View {
    at: Arc<Registered>,
    own: Option<(Arc<Stamp>, u32)>,
}

impl View {
    /// The same moment as a transaction's statement sees it.
    pub(crate) fn of_statement(&self, stamp: &Arc<Stamp>, statement: u32) -> Self {
        Self { at: self.at.clone(), own: Some((stamp.clone(), statement)) }
    }

    /// It is for whoever reads nothing any more: nothing is kept for it, unless others have it, too.
    pub(crate) fn give_up(&mut self) {
        match Arc::get_mut(&mut self.at) {
            Some(registered) => registered.leave(),
            None => {
                let (clock, timestamp) = (self.clock().clone(), self.timestamp());
                self.at = Arc::new(Registered { clock, timestamp, keeps: false });
            }
        }
    }

    /// It is what a later statement of the same transaction sees.
    pub(crate) fn goes_to(&mut self, statement: u32) {
        if let Some((_, now)) = &mut self.own {
            *now = statement;
        }
    }

    /// The last commit that is seen.
    pub fn timestamp(&self) -> u64 {
        self.at.timestamp
    }

    /// The clock whose moment it is.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.at.clock
    }

    /// The transaction that sees it, and the number of its statement.
    pub(crate) fn own(&self) -> Option<(&Arc<Stamp>, u32)> {
        self.own.as_ref().map(|(stamp, statement)| (stamp, *statement))
    }

    /// Whether a change is seen that a statement of a transaction has made.
    pub(crate) fn sees(&self, stamp: &Arc<Stamp>, statement: u32) -> bool {
        match &self.own {
            Some((own, now)) if Arc::ptr_eq(own, stamp) => statement < *now,
            _ => stamp.committed().is_some_and(|timestamp| timestamp <= self.at.timestamp),
        }
    }
}
