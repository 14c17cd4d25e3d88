//! Threads that wait for servers: as many as there is something to do for, up to a number, and gone when there has been nothing for
//! a while.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::panics::catch;

/// Most threads.
const MOST: usize = 16;
/// How long one waits for something to do.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something to do.
type Task = Box<dyn FnOnce() + Send>;

/// See the module. When this goes, what has not begun is not done.
#[derive(Default)]
pub(crate) struct Threads(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Threads {
    /// Has this done soon, by somebody else; if the system grants no thread at all, here.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        state.tasks.push_back(Box::new(task));
        if state.idle >= state.tasks.len() || state.threads == MOST {
            drop(state);
            self.0.more.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let queue = self.0.clone();
        let thread = std::thread::Builder::new().name("remote files".into());
        if thread.spawn(move || queue.work()).is_err() {
            let mut state = self.0.lock();
            state.threads -= 1;
            let alone = if state.threads == 0 { state.tasks.pop_back() } else { None };
            drop(state);
            alone.into_iter().for_each(|task| task());
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.tasks.clear();
        self.0.more.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                drop(state);
                // A task that panics leaves its blocks to be told by those who drop them.
                drop(catch(task));
                state = self.lock();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let (guard, waited) = self.more.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if waited.timed_out() && state.tasks.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_done_also_when_much_is_given_at_once() {
        let threads = Threads::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        for number in 0..1000 {
            let sender = sender.clone();
            threads.run(move || sender.send(number).unwrap());
        }
        let mut done: Vec<i32> = receiver.iter().take(1000).collect();
        done.sort_unstable();
        assert!(done.into_iter().eq(0..1000));
        assert!(threads.0.lock().threads <= MOST);
    }

    #[test]
    fn a_panic_takes_no_thread_away() {
        let threads = Threads::default();
        (0..MOST * 2).for_each(|_| threads.run(|| panic!("for a test")));
        let (sender, receiver) = std::sync::mpsc::channel();
        threads.run(move || sender.send(()).unwrap());
        receiver.recv().unwrap();
    }
}
