//! From the workers to the consumer.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::memory::Reservation;
use base::{Budget, Error, Result};
use types::Chunk;

use super::OPERATOR;

/// Bytes that may wait for the consumer before producers are told to pause.
const LIMIT: usize = 32 << 20;
/// As many when memory is scarce: results that nobody reads on must not take it from others.
const LEAST: usize = 2 << 20;
/// The part of a limit from which on it is.
const SCARCE: f64 = 0.75;

/// Batches on their way to the consumer, in the order of the source's rows if the result is ordered.
#[derive(Debug)]
pub struct ResultQueue {
    inner: Mutex<Inner>,
    arrived: Condvar,
    /// Bytes that the consumer may take now: `is_full` is asked with locks held.
    ready_bytes: AtomicUsize,
    budget: Budget,
    ordered: bool,
}

#[derive(Debug, Default)]
struct Inner {
    /// What the consumer may take now.
    ready: VecDeque<Waiting>,
    /// Ordered only: morsels that are not next, by their first row.
    later: BTreeMap<u64, Later>,
    /// Ordered only: the first row whose morsel has not ended.
    next: u64,
    /// The end, once it is known.
    end: Option<Result<()>>,
    /// Whether nobody will take anything any more.
    closed: bool,
}

#[derive(Debug)]
struct Waiting {
    chunk: Chunk,
    bytes: usize,
    _charged: Reservation,
}

#[derive(Debug, Default)]
struct Later {
    waiting: Vec<Waiting>,
    /// End of the morsel, once it has ended.
    end: Option<u64>,
}

/// What a consumer may find.
#[derive(Debug)]
pub enum Next {
    /// A batch.
    Chunk(Chunk),
    /// Nothing yet.
    Pending,
    /// The end of the result.
    End,
}

impl ResultQueue {
    pub(crate) fn new(budget: Budget, ordered: bool) -> Self {
        Self { inner: Mutex::default(), arrived: Condvar::new(), ready_bytes: AtomicUsize::new(0), budget, ordered }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether batches come in the order of the source's rows. Its morsels are then best claimed in that order, too, or
    /// all of the result may have to wait here.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether producers should claim no further morsel until the consumer has taken something.
    pub fn is_full(&self) -> bool {
        let ready = self.ready_bytes.load(Ordering::Relaxed);
        ready >= LIMIT || ready >= LEAST && self.budget.used_share() >= SCARCE
    }

    /// Whether the consumer is gone, so that the query may as well stop.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Whether all that there will ever be is there.
    pub fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// Makes room for a batch that has yet to be made.
    pub(super) fn room(&self, bytes: usize) -> Result<Reservation> {
        self.budget.reserve(bytes, OPERATOR)
    }

    /// Adds a batch of the morsel `rows`, for which there is about that much room.
    pub(super) fn push(&self, rows: Range<u64>, chunk: Chunk, mut room: Reservation) -> Result<()> {
        let bytes = chunk.bytes();
        room.resize(bytes)?;
        let waiting = Waiting { chunk, bytes, _charged: room };
        let mut inner = self.lock();
        if inner.closed {
            return Ok(());
        }
        if self.ordered && rows.start != inner.next {
            inner.later.entry(rows.start).or_default().waiting.push(waiting);
        } else {
            self.ready_bytes.fetch_add(bytes, Ordering::Relaxed);
            inner.ready.push_back(waiting);
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// All batches of the morsel `rows` have been pushed.
    pub(super) fn end_morsel(&self, rows: Range<u64>) {
        if !self.ordered || rows.is_empty() {
            return;
        }
        let mut inner = self.lock();
        if rows.start != inner.next {
            inner.later.entry(rows.start).or_default().end = Some(rows.end);
            return;
        }
        inner.next = rows.end;
        // The morsels that follow, as far as they are known.
        loop {
            let next = inner.next;
            let Some(later) = inner.later.get_mut(&next) else { break };
            let (end, waiting) = (later.end, std::mem::take(&mut later.waiting));
            for waiting in waiting {
                self.ready_bytes.fetch_add(waiting.bytes, Ordering::Relaxed);
                inner.ready.push_back(waiting);
            }
            let Some(end) = end else { break };
            inner.later.remove(&next);
            inner.next = end;
        }
        self.arrived.notify_one();
    }

    /// Says that nothing follows, or why. The first end stays.
    pub fn finish(&self, end: Result<()>) {
        let mut inner = self.lock();
        if inner.end.is_none() {
            // Morsels before these were never claimed: a limit was reached.
            for later in std::mem::take(&mut inner.later).into_values() {
                for waiting in later.waiting {
                    self.ready_bytes.fetch_add(waiting.bytes, Ordering::Relaxed);
                    inner.ready.push_back(waiting);
                }
            }
            inner.end = Some(end);
        }
        self.arrived.notify_all();
    }

    /// Takes everything away and refuses what comes: the consumer is gone.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.ready.clear();
        inner.later.clear();
        self.ready_bytes.store(0, Ordering::Relaxed);
    }

    /// The next batch, if there is one now. An error comes before what is left in the queue.
    pub fn try_next(&self) -> Result<Next> {
        self.take(&mut self.lock())
    }

    fn take(&self, inner: &mut Inner) -> Result<Next> {
        if let Some(Err(error)) = &inner.end {
            return Err(Error::clone(error));
        }
        match inner.ready.pop_front() {
            Some(waiting) => {
                self.ready_bytes.fetch_sub(waiting.bytes, Ordering::Relaxed);
                Ok(Next::Chunk(waiting.chunk))
            }
            None if inner.end.is_some() || inner.closed => Ok(Next::End),
            None => Ok(Next::Pending),
        }
    }

    /// The next batch; waits for it, at most as long as said.
    pub fn next(&self, timeout: Duration) -> Result<Next> {
        let deadline = Instant::now() + timeout;
        let mut inner = self.lock();
        loop {
            match self.take(&mut inner)? {
                Next::Pending => {}
                next => return Ok(next),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Next::Pending);
            }
            inner = self.arrived.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
