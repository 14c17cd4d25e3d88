//! Admission: a query that is expected to need more memory than is free waits for those that run, instead of failing in the
//! middle or making them fail.
//!
//! What is free is the limit less what is used and what the queries that run are expected to need yet: at first what their
//! estimates say, and after a second not more than as much again as they have, since estimates are wrong by factors and
//! nobody should wait for memory that nobody takes. Those who wait are admitted by priority, then in the order in which they came; who needs little passes them. Nobody waits longer than
//! `admission_timeout`, after which the query runs all the same: an estimate is no reason to refuse.
//!
//! Invariant: who waits, waits for a query that goes on by itself. One that has ended or whose client takes no rows is not
//! waited for, and neither does a session wait that holds a result open.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::{Budget, CancelToken, Result};
/// What a query is counted with at least. Who needs no more does not queue behind others.
pub(crate) const LEAST: usize = 4 << 20;
/// How long estimates are believed.
const BELIEVED: Duration = Duration::from_secs(1);
/// How often those who wait look at their token, and whether memory was freed that no query had.
const LOOK: Duration = Duration::from_millis(2);

/// The queries of a database that run or wait.
pub(crate) struct Admission {
    state: Mutex<State>,
    left: Condvar,
    /// How long estimates are believed.
    believed: Duration,
}

impl Default for Admission {
    fn default() -> Self {
        Self { state: Mutex::default(), left: Condvar::new(), believed: BELIEVED }
    }
}

#[derive(Default)]
struct State {
    running: Vec<Admitted>,
    /// The next to be admitted first: priority and number.
    waiting: BTreeSet<(Reverse<u32>, u64)>,
    last: u64,
}

/// A query that runs.
struct Admitted {
    number: u64,
    need: usize,
    since: Instant,
    budget: Budget,
    goes_on: GoesOn,
}

impl Admitted {
    /// Bytes that it is expected to need beside those that it has.
    fn promised(&self, believed: Duration) -> usize {
        let used = self.budget.used();
        let need = if self.since.elapsed() < believed { self.need } else { self.need.min(2 * used.max(LEAST)) };
        need.saturating_sub(used)
    }
}

/// Whether a query will end without anybody's help.
pub(crate) type GoesOn = Box<dyn Fn() -> bool + Send>;

/// How a query asks.
pub(crate) struct Request<'a> {
    /// Bytes that it is expected to need.
    pub need: usize,
    pub budget: &'a Budget,
    pub goes_on: GoesOn,
    pub priority: u32,
    /// How long it waits; none: not at all.
    pub patience: Option<Duration>,
    pub cancel: &'a CancelToken,
    /// Results that its session holds open.
    pub open: &'a Arc<AtomicUsize>,
}

/// A query's place among those that run, until it is dropped.
pub(crate) struct Ticket {
    admission: Arc<Admission>,
    number: u64,
    open: Arc<AtomicUsize>,
}

impl Admission {
    /// Admits a query, now or when there is room for it; fails if its statement is stopped meanwhile.
    pub fn admit(self: &Arc<Self>, database: &Budget, request: Request<'_>) -> Result<Ticket> {
        let need = request.need.max(LEAST).min(request.budget.limit()).min(database.limit());
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        let patience = request.patience.filter(|_| request.open.load(Ordering::Relaxed) == 0);
        if let Some(patience) = patience
            && !((state.waiting.is_empty() || need <= LEAST) && self.has_room(&state, database, need))
        {
            let place = (Reverse(request.priority), number);
            state.waiting.insert(place);
            let (waited, mut outcome) = (Instant::now(), Ok(()));
            while !(state.waiting.first() == Some(&place) && self.has_room(&state, database, need)) {
                outcome = request.cancel.check();
                if outcome.is_err() || waited.elapsed() >= patience {
                    break;
                }
                state = self.left.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.waiting.remove(&place);
            // Another one is the first now.
            self.left.notify_all();
            outcome?;
        }
        let (budget, goes_on) = (request.budget.clone(), request.goes_on);
        state.running.push(Admitted { number, need, since: Instant::now(), budget, goes_on });
        drop(state);
        request.open.fetch_add(1, Ordering::Relaxed);
        Ok(Ticket { admission: self.clone(), number, open: request.open.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so much is free, or nothing to wait for.
    fn has_room(&self, state: &State, database: &Budget, need: usize) -> bool {
        let promised = state.running.iter().map(|one| one.promised(self.believed));
        let taken = promised.fold(database.used(), usize::saturating_add);
        taken.saturating_add(need) <= database.limit() || !state.running.iter().any(|one| (one.goes_on)())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admission.lock().running.retain(|one| one.number != self.number);
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.admission.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const MIB: usize = 1 << 20;

    struct Database {
        admission: Arc<Admission>,
        budget: Budget,
        /// Whether its queries go on.
        going: Arc<AtomicBool>,
    }

    impl Database {
        fn new() -> Self {
            let admission = Arc::new(Admission { believed: Duration::from_secs(1_000), ..Admission::default() });
            Self { admission, budget: Budget::new(100 * MIB), going: Arc::new(true.into()) }
        }

        fn ask(&self, need: usize, priority: u32, patience: u64, session: &Session) -> Result<Ticket> {
            let going = self.going.clone();
            let request = Request {
                need,
                budget: &self.budget.child(usize::MAX),
                goes_on: Box::new(move || going.load(Ordering::Relaxed)),
                priority,
                patience: Some(Duration::from_millis(patience)).filter(|p| !p.is_zero()),
                cancel: &session.cancel,
                open: &session.open,
            };
            self.admission.admit(&self.budget, request)
        }

        fn wait_for_waiting(&self, count: usize) {
            while self.admission.lock().waiting.len() != count {
                std::thread::yield_now();
            }
        }
    }

    #[derive(Default)]
    struct Session {
        cancel: CancelToken,
        open: Arc<AtomicUsize>,
    }

    const LONG: u64 = 1_000_000;

    #[test]
    fn by_priority_and_then_in_their_order_as_memory_allows() {
        let (database, order) = (Database::new(), Mutex::new(Vec::new()));
        let first = database.ask(80 * MIB, 100, LONG, &Session::default()).unwrap();
        std::thread::scope(|scope| {
            for (count, (name, priority)) in [("usual", 100), ("later", 100), ("urgent", 200)].into_iter().enumerate() {
                let (database, order) = (&database, &order);
                scope.spawn(move || {
                    let ticket = database.ask(60 * MIB, priority, LONG, &Session::default()).unwrap();
                    order.lock().unwrap().push(name);
                    drop(ticket);
                });
                database.wait_for_waiting(count + 1);
            }
            // Who needs little passes.
            drop(database.ask(MIB, 1, LONG, &Session::default()).unwrap());
            assert!(order.lock().unwrap().is_empty());
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), ["urgent", "usual", "later"]);
        assert!(database.admission.lock().running.is_empty());
    }

    #[test]
    fn what_nobody_takes_is_waited_for_no_longer_than_it_is_believed() {
        let believed = Duration::from_millis(50);
        let admission = Arc::new(Admission { believed, ..Admission::default() });
        let database = Database { admission, ..Database::new() };
        let begin = Instant::now();
        let _first = database.ask(80 * MIB, 100, LONG, &Session::default()).unwrap();
        drop(database.ask(60 * MIB, 100, LONG, &Session::default()).unwrap());
        assert!(begin.elapsed() >= believed);
    }

    #[test]
    fn waiting_ends_with_the_statement_or_with_patience() {
        let database = Database::new();
        let _first = database.ask(80 * MIB, 100, LONG, &Session::default()).unwrap();
        assert!(database.ask(60 * MIB, 100, 20, &Session::default()).is_ok());
        assert!(database.ask(60 * MIB, 100, 0, &Session::default()).is_ok());
        let session = Session::default();
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| database.ask(60 * MIB, 100, LONG, &session).map(drop));
            database.wait_for_waiting(1);
            session.cancel.cancel();
            assert_eq!(stopped.join().unwrap().unwrap_err().state(), base::SqlState::QUERY_CANCELED);
        });
        database.wait_for_waiting(0);
    }

    #[test]
    fn nobody_waits_for_himself_or_for_who_does_not_go_on() {
        let (database, session) = (Database::new(), Session::default());
        let _open = database.ask(80 * MIB, 100, LONG, &session).unwrap();
        let _own = database.ask(80 * MIB, 100, LONG, &session).unwrap();
        database.going.store(false, Ordering::Relaxed);
        let _other = database.ask(80 * MIB, 100, LONG, &Session::default()).unwrap();
        // More than there will ever be runs alone.
        let alone = Database::new();
        alone.ask(usize::MAX, 100, LONG, &Session::default()).map(drop).unwrap();
    }
}
