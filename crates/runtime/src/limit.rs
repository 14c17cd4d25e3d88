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
    fn pass_over(&self, rows: u64) -> bool {
        self.tokens[0].give_up(rows)
    }
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
        let lanes = std::array::from_fn(|lane| Lane(AtomicU64::new(dealt(tokens, lane))));
        Self { lanes, gone: AtomicBool::new(tokens == 0) }
    }

    /// So many of them, if there are as many, are no more; before anybody takes one.
    fn give_up(&self, tokens: u64) -> bool {
        let all: u64 = self.lanes.iter().map(|lane| lane.0.load(Relaxed)).sum();
        let Some(left) = all.checked_sub(tokens) else { return false };
        self.lanes.iter().enumerate().for_each(|(number, lane)| lane.0.store(dealt(left, number), Relaxed));
        self.gone.store(left == 0, Relaxed);
        true
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

/// How many of some tokens a lane has in the beginning.
fn dealt(tokens: u64, lane: usize) -> u64 {
    tokens / LANES as u64 + u64::from((lane as u64) < tokens % LANES as u64)
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

    #[test]
    fn rows_that_do_not_come_are_left_out_of_those_that_are_left_out() {
        let limit = Limit::new(1_000, 10);
        assert!(!limit.pass_over(1_001) && limit.pass_over(0) && limit.pass_over(983));
        let local = limit.local(0).cast::<LimitLocal>();
        // SAFETY: this worker's part.
        let taken: Vec<bool> = (0..40).map(|_| unsafe { (*local).take() }).collect();
        assert_eq!(taken.iter().position(|taken| *taken), Some(17));
        assert_eq!(taken.iter().filter(|taken| **taken).count(), 10);
    }
}
