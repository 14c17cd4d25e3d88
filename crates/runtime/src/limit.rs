//! LIMIT without ORDER BY: tokens for the rows to leave out and for those to admit, dealt to all workers.
//!
//! A worker takes tokens from its own lane, which nobody else writes as a rule; when that is empty, it takes single tokens
//! from others. A token is in some lane until it is taken for good, so that a worker that finds no token in any lane, when
//! it has looked at all of them after its own was empty, may say that none is left: lanes only shrink.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use base::ids::Id;
use pipeline::ir::StateId;

use crate::rows::PerWorker;
use crate::state::State;
use crate::worker::Worker;

/// Lanes of tokens.
const LANES: usize = 16;

/// Admits rows number `offset` to `offset + limit` of those that ask, whichever they are.
#[derive(Debug)]
pub(crate) struct Limit {
    tokens: Arc<[Tokens; 2]>,
    locals: PerWorker<LimitLocal>,
}

/// One worker's part of a limit.
#[derive(Debug)]
pub struct LimitLocal {
    worker: usize,
    /// Those to leave out, then those to admit.
    tokens: Arc<[Tokens; 2]>,
}

impl LimitLocal {
    /// Whether one more row is admitted.
    pub fn take(&self) -> bool {
        let [left_out, admitted] = &*self.tokens;
        !left_out.take(self.worker) && admitted.take(self.worker)
    }

    /// Whether no further row is admitted.
    pub fn is_exhausted(&self) -> bool {
        self.tokens[1].are_gone()
    }
}

impl Limit {
    /// Leaves `offset` rows out, then admits `limit`.
    pub(crate) fn new(offset: u64, limit: u64) -> Self {
        let tokens = Arc::new([Tokens::new(offset), Tokens::new(limit)]);
        Self { locals: PerWorker::default(), tokens }
    }
}

impl State for Limit {
    fn local(&self, worker: usize) -> *mut u8 {
        self.locals.get_or(worker, || LimitLocal { worker, tokens: self.tokens.clone() }).cast()
    }
    fn is_exhausted(&self) -> bool {
        self.tokens[1].are_gone()
    }
}

impl Worker {
    /// Whether a limit admits no further row.
    pub fn is_exhausted(&self, limit: StateId) -> bool {
        // SAFETY: the verifier has seen that the state is a limit, so this worker's part of it is of this type.
        unsafe { (*(*self.locals.add(limit.index())).cast::<LimitLocal>()).is_exhausted() }
    }
}

/// A number of tokens, in lanes; more workers than lanes share them.
#[derive(Debug)]
struct Tokens {
    lanes: [Lane; LANES],
    gone: AtomicBool,
}

#[derive(Debug)]
#[repr(align(128))]
struct Lane(AtomicU64);

impl Tokens {
    fn new(tokens: u64) -> Self {
        let (each, more) = (tokens / LANES as u64, tokens % LANES as u64);
        let lane = |i| Lane(AtomicU64::new(each + u64::from((i as u64) < more)));
        Self { lanes: std::array::from_fn(lane), gone: AtomicBool::new(tokens == 0) }
    }

    fn are_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Takes a token, if one is left.
    fn take(&self, worker: usize) -> bool {
        if self.are_gone() {
            return false;
        }
        let (before, from) = self.lanes.split_at(worker % LANES);
        let left = from.iter().chain(before).find_map(Lane::take);
        if left.is_none_or(|left| left == 0 && self.lanes.iter().all(|lane| lane.0.load(Relaxed) == 0)) {
            self.gone.store(true, Relaxed);
        }
        left.is_some()
    }
}

impl Lane {
    /// Takes a token and says how many are left, if there is one.
    fn take(&self) -> Option<u64> {
        // A look first: an empty lane's line stays shared.
        let mut left = self.0.load(Relaxed);
        while left > 0 {
            match self.0.compare_exchange_weak(left, left - 1, Relaxed, Relaxed) {
                Ok(_) => return Some(left - 1),
                Err(found) => left = found,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_get_exactly_the_limit() {
        for (offset, limit, rows, expected) in
            [(0, 0, 10, 0), (3, 5, 4000, 5), (10, u64::MAX, 4000, 3990), (99, 5, 40, 0), (500, 1001, 4000, 1001)]
        {
            let limit = Limit::new(offset, limit);
            let taken = std::thread::scope(|s| {
                let take = |worker| {
                    let local = limit.local(worker).cast::<LimitLocal>();
                    // SAFETY: this worker's part.
                    (0..rows / 4).filter(|_| unsafe { (*local).take() }).count()
                };
                let threads: Vec<_> = (0..4).map(|worker| s.spawn(move || take(worker))).collect();
                threads.into_iter().map(|t| t.join().unwrap()).sum::<usize>()
            });
            assert_eq!(taken, expected);
        }
    }
}
