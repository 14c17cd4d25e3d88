//! Calls: what a client asks of a session at once, a statement or a script, and how others stop it.
//!
//! Invariant: an interrupt that comes after [`Interrupt::begin`] stops the call, whether its first statement has begun to
//! run or not, and however many statements it has.

use std::fmt;
use std::sync::{Arc, Weak};

use base::{CancelToken, Latch, LatchGuard, Result};
use scheduler::JobHandle;

use crate::progress::Progress;
use crate::timeouts::Deadline;

/// A call of a session by a client. Lives as long as somebody may want to stop what it began.
#[derive(Clone, Default)]
pub struct Call(Arc<Latch<State>>);

#[derive(Default)]
struct State {
    /// Of the statement that runs, or has run last.
    token: CancelToken,
    /// What it has given to the scheduler, and whether the rows of that are rows of a table, not pieces of a file.
    job: Option<(JobHandle, bool)>,
    /// When time stops it.
    deadline: Option<Deadline>,
    /// Whether a statement of the call has begun.
    has_begun: bool,
    /// By an interrupt: the token alone does not tell, as a result that is dropped cancels it too.
    interrupted: bool,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

impl Call {
    /// Stops it: what runs ends with error 57014, and no further statement begins.
    pub fn interrupt(&self) {
        let mut state = self.lock();
        state.interrupted = true;
        state.token.cancel();
        let job = state.job.clone();
        drop(state);
        settle(job);
    }

    /// How far its statement is; none before that has begun to run. Of a file that is loaded as it is, rows are not
    /// counted.
    pub fn progress(&self) -> Option<Progress> {
        let state = self.lock();
        let (job, counts_rows) = state.job.as_ref()?;
        let progress = Progress::of(job);
        Some(Progress { rows: if *counts_rows { progress.rows } else { 0 }, ..progress })
    }

    /// A statement of the call begins, with a token of its own, unless the call has been interrupted.
    pub(crate) fn next_statement(&self) -> Result<()> {
        let mut state = self.lock();
        if state.interrupted {
            return Err(base::cancel::canceled());
        }
        if std::mem::replace(&mut state.has_begun, true) {
            *state = State { has_begun: true, ..State::default() };
        }
        Ok(())
    }

    /// The statement that begins has this deadline.
    pub(crate) fn ends_at(&self, deadline: Deadline) {
        self.lock().deadline = Some(deadline);
    }

    /// The call as those know it who do not keep it alive.
    pub(crate) fn downgrade(&self) -> WeakCall {
        WeakCall(Arc::downgrade(&self.0))
    }

    /// The token of the statement.
    pub(crate) fn token(&self) -> CancelToken {
        self.lock().token.clone()
    }

    /// The statement has given a job to the scheduler.
    pub(crate) fn runs(&self, job: &JobHandle, counts_rows: bool) {
        self.lock().job = Some((job.clone(), counts_rows));
    }

    fn lock(&self) -> LatchGuard<'_, State> {
        self.0.lock()
    }
}

/// A call as its deadline knows it.
pub(crate) struct WeakCall(Weak<Latch<State>>);

impl WeakCall {
    /// The time of the statement with that token is over.
    pub fn time_out(&self, token: &CancelToken) {
        token.time_out();
        let job = self.0.upgrade().and_then(|state| {
            let state = state.lock();
            state.job.clone().filter(|_| state.token.is(token))
        });
        settle(job);
    }
}

/// A stopped job with no worker inside, because others are ahead of it, ends at once.
fn settle(job: Option<(JobHandle, bool)>) {
    if let Some((job, _)) = job {
        job.cancel();
    }
}

/// Another thread's handle on what clients have asked of a session.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Latch<Vec<Weak<Latch<State>>>>>);

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

impl Interrupt {
    /// A call begins: interrupts that come from now on are for it, too.
    pub fn begin(&self) -> Call {
        let call = Call::default();
        let mut calls = self.lock();
        calls.retain(|c| c.strong_count() > 0);
        calls.push(Arc::downgrade(&call.0));
        call
    }

    /// Stops all calls that have begun and whose results are still there.
    pub fn interrupt(&self) {
        self.lock().iter().filter_map(Weak::upgrade).for_each(|call| Call(call).interrupt());
    }

    fn lock(&self) -> LatchGuard<'_, Vec<Weak<Latch<State>>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_before_the_first_statement_and_between_two_count() {
        let handle = Interrupt::default();
        let call = handle.begin();
        handle.interrupt();
        assert_eq!(call.next_statement().unwrap_err().state(), base::SqlState::QUERY_CANCELED);
        let call = handle.begin();
        call.next_statement().unwrap();
        let token = call.token();
        // A result that was dropped.
        token.cancel();
        call.next_statement().unwrap();
        assert!(!call.token().is_cancelled());
        let other = handle.begin();
        handle.interrupt();
        assert!(call.next_statement().is_err() && other.next_statement().is_err());
        assert!(call.token().is_cancelled());
    }
}
