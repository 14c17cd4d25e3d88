//! How many workers a job may have at once. A job without a limit does not count them.

use crate::event_count::EventCount;
use crate::sync::{AtomicUsize, Ordering::*};

/// The seats of a job.
pub(crate) struct Seats {
    most: usize,
    taken: AtomicUsize,
}

/// A worker's seat at a job, until it is dropped.
pub(crate) struct Seat<'a>(Option<(&'a Seats, &'a EventCount)>);

impl Seats {
    pub(crate) fn new(limit: Option<usize>) -> Self {
        Self { most: limit.map_or(usize::MAX, |limit| limit.max(1)), taken: AtomicUsize::new(0) }
    }

    /// How many there are.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Whether one more worker may come.
    pub(crate) fn are_free(&self) -> bool {
        self.most == usize::MAX || self.taken.load(SeqCst) < self.most
    }

    /// A seat, if one is free. When it is given up, whoever had found none hears of it.
    pub(crate) fn take<'a>(&'a self, events: &'a EventCount) -> Option<Seat<'a>> {
        if self.most == usize::MAX {
            return Some(Seat(None));
        }
        let one_more = |taken| (taken < self.most).then_some(taken + 1);
        // A seat that is made is one that is given up.
        self.taken.fetch_update(SeqCst, SeqCst, one_more).ok().map(|_| Seat(Some((self, events))))
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some((seats, events)) = self.0 {
            seats.taken.fetch_sub(1, SeqCst);
            events.announce(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are_and_those_given_up_are_free() {
        let events = EventCount::default();
        let seats = Seats::new(Some(2));
        let (first, second) = (seats.take(&events), seats.take(&events));
        assert!(first.is_some() && second.is_some() && !seats.are_free() && seats.take(&events).is_none());
        assert_eq!(seats.taken.load(SeqCst), 2);
        let before = events.epoch();
        drop(first);
        assert!(seats.are_free() && seats.take(&events).is_some() && events.epoch() > before);
        let endless = Seats::new(None);
        let _all: Vec<_> = (0..100).map(|_| endless.take(&events)).collect();
        assert!(endless.are_free());
    }
}
