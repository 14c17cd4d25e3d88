//! LIMIT without ORDER BY: a counter that all workers share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Admits rows number `offset` to `offset + limit` of those that ask, whichever they are.
#[derive(Debug)]
pub struct Limit {
    asked: AtomicU64,
    offset: u64,
    end: u64,
}

impl Limit {
    /// Leaves `offset` rows out, then admits `limit`.
    pub fn new(offset: u64, limit: u64) -> Self {
        Self { asked: AtomicU64::new(0), offset, end: offset.saturating_add(limit) }
    }

    /// Whether one more row is admitted.
    pub fn take(&self) -> bool {
        // The load keeps the counter from running over, and the line shared, once the limit is reached.
        if self.is_exhausted() {
            return false;
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.offset <= number && number < self.end
    }

    /// Whether no row will be admitted any more.
    pub fn is_exhausted(&self) -> bool {
        self.asked.load(Ordering::Relaxed) >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_get_exactly_the_limit() {
        for (offset, limit, rows, expected) in
            [(0, 0, 10, 0), (3, 5, 4000, 5), (10, u64::MAX, 4000, 3990), (99, 5, 40, 0)]
        {
            let counter = Limit::new(offset, limit);
            let taken = std::thread::scope(|s| {
                let threads: Vec<_> =
                    (0..4).map(|_| s.spawn(|| (0..rows / 4).filter(|_| counter.take()).count())).collect();
                threads.into_iter().map(|t| t.join().unwrap()).sum::<usize>()
            });
            assert_eq!(taken, expected);
        }
    }
}
