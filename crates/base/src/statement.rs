//! The statement that a thread works for, for functions deep below that may take long or make much: they ask here whether to
//! go on and whether there is room, so that nobody has to hand a budget and a token down to them.
//!
//! A thread that works for no statement may do what it likes.

use std::cell::RefCell;
use std::marker::PhantomData;

use crate::memory::Reservation;
use crate::{Budget, CancelToken, Result};

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

struct Current {
    cancel: CancelToken,
    budget: Budget,
    /// The memory of what was made last.
    made: Option<Reservation>,
}

/// This thread works for a statement until this is dropped. What it worked for before comes back then.
pub struct Working {
    before: Option<Current>,
    /// It belongs to its thread.
    here: PhantomData<*const ()>,
}

impl std::fmt::Debug for Working {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Working")
    }
}

/// From here on, this thread works for a statement.
pub fn work_for(budget: &Budget, cancel: &CancelToken) -> Working {
    let current = Current { cancel: cancel.clone(), budget: budget.clone(), made: None };
    Working { before: CURRENT.replace(Some(current)), here: PhantomData }
}

impl Drop for Working {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// Fails once the statement is cancelled. Ask after some ten thousand steps.
pub fn check() -> Result<()> {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |c| c.cancel.check()))
}

/// Asks for room before something large is made on the way to a result. It counts until the thread makes the next such thing
/// or no longer works for the statement: what is kept of it is charged by who keeps it.
pub fn make_room(bytes: usize, operator: &'static str) -> Result<()> {
    CURRENT.with_borrow_mut(|current| {
        let Some(current) = current else { return Ok(()) };
        current.cancel.check()?;
        // Before the new is made the old is gone.
        current.made = None;
        current.made = Some(current.budget.reserve(bytes, operator)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_counts_as_long_as_it_is_worked_for() {
        assert!(make_room(usize::MAX, "nobody").is_ok() && check().is_ok());
        let (budget, cancel) = (Budget::new(100), CancelToken::new());
        let outer = work_for(&budget, &cancel);
        make_room(60, "text").unwrap();
        assert_eq!(budget.used(), 60);
        // The next takes the place of the last.
        make_room(70, "text").unwrap();
        assert_eq!(make_room(101, "text").unwrap_err().state(), crate::SqlState::OUT_OF_MEMORY);
        assert_eq!(budget.used(), 0);
        make_room(50, "text").unwrap();
        {
            let other = Budget::new(10);
            let _inner = work_for(&other, &CancelToken::new());
            assert!(make_room(11, "text").is_err());
            cancel.cancel();
            assert!(check().is_ok());
        }
        assert!(check().is_err());
        assert_eq!(budget.used(), 50);
        drop(outer);
        assert_eq!(budget.used(), 0);
    }
}
