//! How jobs end early: errors, panics, cancellation; and waiting for a slow consumer.

mod common;

use base::{Error, SqlState};
use common::{Custom, Droppable, Gate, eventually, rows, scheduler};
use scheduler::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

fn one(stage: impl Stage + 'static) -> JobSpec {
    let mut spec = JobSpec::new();
    spec.add(stage, &[]);
    spec.add(Pipeline::new("after", |_| panic!("the job has ended")), &[0]);
    spec
}

fn fine() -> JobSpec {
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("fine", |_| Ok(rows(100, |_, _| Ok(())))), &[]);
    spec
}

/// Jobs that fail in each place where they can, and what the error says.
fn failures() -> Vec<(JobSpec, SqlState, &'static str)> {
    let zero = || Error::new(SqlState::DIVISION_BY_ZERO, "division by zero");
    let fails_at_30 =
        |row: u64| if row == 30 { Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")) } else { Ok(()) };
    struct BadClaim;
    impl TaskSet for BadClaim {
        fn claim(&self, _: WorkerId, _: Wanted) -> Claim {
            panic!("claim {}", 1)
        }
        fn run(&self, _: WorkerId, _: Morsel) -> base::Result<Progress> {
            Ok(Progress::Done)
        }
    }
    let quick = || Custom::new(|| Ok(rows(3, |_, _| Ok(()))));
    vec![
        (one(Custom::new(move || Ok(rows(1000, move |_, row| fails_at_30(row))))), SqlState::DIVISION_BY_ZERO, "zero"),
        (one(Custom::new(move || Err(zero()))), SqlState::DIVISION_BY_ZERO, "zero"),
        (one(quick().finish(move |_| Err(zero()))), SqlState::DIVISION_BY_ZERO, "zero"),
        (
            one(quick().finish(|_| Ok(Some(rows(9, |_, row| if row == 4 { panic!("row") } else { Ok(()) }))))),
            SqlState::INTERNAL,
            "panic in custom: row",
        ),
        (one(Custom::new(|| panic!("start"))), SqlState::INTERNAL, "panic in custom: start"),
        (one(quick().finish(|_| panic!("finish"))), SqlState::INTERNAL, "panic in custom: finish"),
        (one(Custom::new(|| Ok(Box::new(BadClaim)))), SqlState::INTERNAL, "claim 1"),
    ]
}

#[test]
fn errors_and_panics_end_their_job_and_nothing_else() {
    let scheduler = scheduler(3);
    let beside = scheduler.submit(fine(), JobOptions::default());
    for (spec, state, text) in failures() {
        let error = scheduler.run(spec, JobOptions::default()).expect_err(text);
        assert_eq!(error.state(), state);
        assert!(error.message().contains(text), "{error}");
        scheduler.run(fine(), JobOptions::default()).unwrap();
    }
    beside.wait().unwrap();
    for (spec, state, text) in failures() {
        let error = SingleThreaded::default().run(spec, &CancelToken::new()).expect_err(text);
        assert_eq!(error.state(), state);
        assert!(error.message().contains(text), "{error}");
    }
}

#[test]
fn a_panic_while_dropping_is_an_error() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let scheduler = scheduler(2);
    let bomb = Arc::new(std::sync::Mutex::new(Some(Bomb)));
    let source = move |_: &Cutting| {
        let bomb = bomb.lock().unwrap().take().unwrap();
        Ok(rows(5, move |_, _| {
            let _ = &bomb;
            Ok(())
        }))
    };
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("bomb", source), &[]);
    let error = scheduler.run(spec, JobOptions::default()).unwrap_err();
    assert!(error.message().contains("boom"));
    scheduler.run(fine(), JobOptions::default()).unwrap();
}

#[test]
fn cancellation_stops_at_the_next_morsel_and_frees_everything() {
    let scheduler = scheduler(2);
    for by_token in [false, true] {
        let (gate, gone, ran) = (Gate::new(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (held, count, mark) = (gate.clone(), ran.clone(), Arc::new(Droppable(gone.clone())));
        let source = move |_: &Cutting| {
            let (held, count, mark) = (held.clone(), count.clone(), mark.clone());
            Ok(rows(1_000_000, move |_, _| {
                let _ = &mark;
                count.fetch_add(1, SeqCst);
                held.pass();
                Ok(())
            }))
        };
        let options = JobOptions::default();
        let token = options.cancel.clone();
        let job = scheduler.submit(one(Pipeline::new("long", source)), options);
        eventually("both workers are inside", || gate.arrived.load(SeqCst) == 2);
        if by_token {
            token.cancel();
        } else {
            job.cancel();
        }
        assert!(!job.is_finished(), "workers are still inside");
        gate.open();
        let error = job.wait().unwrap_err();
        assert_eq!(error.state(), SqlState::QUERY_CANCELED);
        assert!(gone.load(SeqCst), "the job's state is dropped before its end is announced");
        assert_eq!(ran.load(SeqCst), 2);
        assert!(token.check().is_err());
        job.cancel();
    }
}

#[test]
fn a_job_cancelled_before_it_begins_ends() {
    let scheduler = scheduler(1);
    let options = JobOptions::default();
    options.cancel.cancel();
    let job = scheduler.submit(fine(), options.clone());
    assert_eq!(job.wait().unwrap_err().state(), SqlState::QUERY_CANCELED);
    assert_eq!(SingleThreaded::default().run(fine(), &options.cancel).unwrap_err().state(), SqlState::QUERY_CANCELED);
}

/// A result of which two rows may be ahead of the consumer.
struct Sink {
    produced: AtomicU64,
    consumed: AtomicU64,
    rows: MorselRanges,
}

impl TaskSet for Sink {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        if self.is_full() { Claim::NotNow } else { self.rows.claim(worker, wanted) }
    }
    /// Stops after each row, and cannot go on while it is full.
    fn run(&self, _: WorkerId, morsel: Morsel) -> base::Result<Progress> {
        if self.is_full() {
            return Ok(Progress::NotNow(morsel));
        }
        self.produced.fetch_add(1, SeqCst);
        let rest = Morsel { begin: morsel.begin + 1, end: morsel.end };
        Ok(match (rest.is_empty(), self.is_full()) {
            (true, _) => Progress::Done,
            (false, true) => Progress::NotNow(rest),
            (false, false) => Progress::Yielded(rest),
        })
    }
}

impl Sink {
    fn is_full(&self) -> bool {
        self.produced.load(SeqCst) >= self.consumed.load(SeqCst) + 2
    }
}

fn sink() -> (JobSpec, Arc<Sink>) {
    let rows = Cutting { morsel_rows: 4, ..Cutting::new(2) }.rows(500);
    let sink = Arc::new(Sink { produced: AtomicU64::new(0), consumed: AtomicU64::new(0), rows });
    let tasks = sink.clone();
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("sink", move |_| Ok(Box::new(tasks.clone()))), &[]);
    (spec, sink)
}

#[test]
fn a_slow_consumer_holds_its_job_and_no_other() {
    let scheduler = scheduler(2);
    let (spec, sink) = sink();
    let job = scheduler.submit(spec, JobOptions::default());
    for consumed in 0..500 {
        // Each worker may be one morsel ahead of the limit.
        eventually("a row", || sink.produced.load(SeqCst) > consumed);
        assert!(sink.produced.load(SeqCst) <= consumed + 2 + 2);
        if consumed == 100 {
            scheduler.run(fine(), JobOptions::default()).unwrap();
            assert!(!job.is_finished());
        }
        sink.consumed.store(consumed + 1, SeqCst);
        job.wake();
    }
    job.wait().unwrap();
}

/// One worker is told that there is nothing left, and then the other one, which leaves last, that it has to wait.
#[derive(Default)]
struct EndsInAPause {
    begun: AtomicBool,
    told: Gate,
}

impl TaskSet for EndsInAPause {
    fn claim(&self, worker: WorkerId, _: Wanted) -> Claim {
        let morsel = Morsel { begin: u64::from(worker.0), end: u64::from(worker.0) + 1 };
        if !self.begun.swap(true, SeqCst) {
            Claim::Morsel { morsel, node: None, stolen: false }
        } else if !self.told.is_open() {
            self.told.open();
            Claim::Done
        } else {
            Claim::NotNow
        }
    }
    fn run(&self, _: WorkerId, _: Morsel) -> base::Result<Progress> {
        self.told.pass();
        // The other one leaves meanwhile.
        std::thread::sleep(std::time::Duration::from_millis(30));
        Ok(Progress::Done)
    }
}

#[test]
fn what_has_ended_does_not_wait_for_the_consumer() {
    let (gate, scheduler) = (Gate::new(), scheduler(2));
    let held = gate.clone();
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("ends", |_| Ok(Box::new(EndsInAPause::default()))), &[]);
    let source = move |_: &Cutting| {
        let held = held.clone();
        Ok(rows(1, move |_, _| {
            held.pass();
            Ok(())
        }))
    };
    spec.add(Pipeline::new("goes on", source), &[0]);
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("the next stage runs", || gate.arrived.load(SeqCst) > 0);
    assert!(!job.times().is_held_up);
    gate.open();
    job.wait().unwrap();
}

#[test]
fn a_panic_of_an_observer_fails_its_job_and_nothing_else() {
    struct Bad(bool);
    impl Observer for Bad {
        fn ran(&self, _: &Run) {
            assert!(self.0, "seen");
        }
        fn ended(&self, _: &base::Result<()>) {
            panic!("told");
        }
    }
    let scheduler = scheduler(2);
    for (at_the_end, error) in [(false, Some("panic in fine: seen")), (true, None)] {
        let options = JobOptions { observer: Some(Arc::new(Bad(at_the_end))), ..Default::default() };
        let result = scheduler.run(fine(), options);
        assert_eq!(result.err().map(|error| error.message().to_owned()).as_deref(), error);
        scheduler.run(fine(), JobOptions::default()).unwrap();
    }
    eventually("no job is listed", || scheduler.active_jobs() == 0);
}

#[test]
fn a_job_that_waits_for_its_consumer_can_be_cancelled() {
    let scheduler = scheduler(2);
    let (spec, held) = sink();
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("the sink is full", || held.produced.load(SeqCst) >= 2);
    job.cancel();
    assert_eq!(job.wait().unwrap_err().state(), SqlState::QUERY_CANCELED);

    let (spec, held) = sink();
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("the sink is full", || held.produced.load(SeqCst) >= 2);
    job.token().cancel();
    assert_eq!(job.wait().unwrap_err().state(), SqlState::QUERY_CANCELED);
}

#[test]
fn a_worker_that_waits_for_a_job_gets_an_error() {
    let scheduler = Arc::new(scheduler(1));
    let inner = scheduler.clone();
    let mut spec = JobSpec::new();
    let source = move |_: &Cutting| {
        inner.run(fine(), JobOptions::default())?;
        Ok(rows(1, |_, _| Ok(())))
    };
    spec.add(Pipeline::new("nested", source), &[]);
    let error = scheduler.run(spec, JobOptions::default()).unwrap_err();
    assert!(error.message().contains("must not wait"), "{error}");
}

#[test]
fn dropping_the_scheduler_cancels_its_jobs() {
    let pool = scheduler(2);
    let gate = Gate::new();
    let held = gate.clone();
    let source = move |_: &Cutting| {
        let held = held.clone();
        Ok(rows(1_000_000, move |_, _| {
            held.pass();
            Ok(())
        }))
    };
    let running = pool.submit(one(Pipeline::new("long", source)), JobOptions::default());
    let (spec, held) = sink();
    let waiting = pool.submit(spec, JobOptions::default());
    // The sink may wait for a worker as long as both are held.
    eventually("both workers are busy", || gate.arrived.load(SeqCst) + held.produced.load(SeqCst) as usize >= 2);
    let opener = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        gate.open();
    });
    drop(pool);
    opener.join().unwrap();
    for job in [running, waiting] {
        assert_eq!(job.result().unwrap().unwrap_err().state(), SqlState::QUERY_CANCELED);
    }
}
