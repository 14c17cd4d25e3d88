//! Submission, exhaustion, advancing, back-pressure, cancellation, changes of the number of workers and shutdown, with the
//! real pool, dispatcher and jobs, in orders that the model checker chooses: `make shuttle`.
//!
//! A wake-up that is lost is a deadlock, which the checker reports; so is whoever waits for ever for the consumer.

use crate::*;
use base::{Result, SqlState};
use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// Orders that are tried by chance, and those that change threads at a few chosen steps.
fn check(scenario: fn()) {
    shuttle::check_random(scenario, 1_500);
    shuttle::check_pct(scenario, 500, 3);
}

fn pool(threads: usize) -> Scheduler {
    let topology = Topology::parse("1x4").ok();
    let options =
        SchedulerOptions { threads: Some(threads), max_threads: 4, topology, pin: false, ..Default::default() };
    Scheduler::new(&options).unwrap()
}

/// Marks rows, each of which must be run once; yields after the first row of each morsel. Rests can be divided.
struct Rows {
    ranges: MorselRanges,
    marks: Arc<Vec<AtomicU8>>,
    /// Rows that the consumer has no room for; none: it has room for all.
    taken: Option<Arc<AtomicU64>>,
    done: AtomicU64,
}

impl Rows {
    fn is_full(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| self.done.load(SeqCst) > taken.load(SeqCst))
    }
}

impl TaskSet for Rows {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        if self.is_full() { Claim::NotNow } else { self.ranges.claim(worker, wanted) }
    }
    fn run(&self, _: WorkerId, morsel: Morsel) -> Result<Progress> {
        if self.is_full() {
            return Ok(Progress::NotNow(morsel));
        }
        self.marks[morsel.begin as usize].fetch_add(1, SeqCst);
        self.done.fetch_add(1, SeqCst);
        let rest = Morsel { begin: morsel.begin + 1, end: morsel.end };
        Ok(if rest.is_empty() { Progress::Done } else { Progress::Yielded(rest) })
    }
    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        let middle = rest.begin + 1;
        (middle < rest.end).then_some([Morsel { end: middle, ..rest }, Morsel { begin: middle, ..rest }])
    }
    fn total(&self) -> u64 {
        self.ranges.rows()
    }
}

/// Two phases of so many rows each, in morsels of two.
struct Marks {
    marks: Arc<Vec<AtomicU8>>,
    phases: AtomicU64,
    taken: Option<Arc<AtomicU64>>,
    /// What must be complete before it starts.
    before: Option<Arc<Vec<AtomicU8>>>,
}

impl Marks {
    fn new(rows: usize) -> Self {
        let marks = Arc::new((0..2 * rows).map(|_| AtomicU8::new(0)).collect());
        Self { marks, phases: AtomicU64::new(0), taken: None, before: None }
    }

    fn phase(&self, cut: &Cutting) -> Box<dyn TaskSet> {
        let rows = self.marks.len() as u64 / 2;
        let first = self.phases.fetch_add(1, SeqCst) * rows;
        let cut = Cutting { morsel_rows: 2, adapts: false, ..cut.clone() };
        let ranges = cut.placed(&[(NodeId(0), first..first + rows)]);
        let (marks, taken) = (self.marks.clone(), self.taken.clone());
        Box::new(Rows { ranges, marks, taken, done: AtomicU64::new(0) })
    }
}

fn complete(marks: &[AtomicU8]) -> bool {
    marks.iter().all(|mark| mark.load(SeqCst) == 1)
}

impl Stage for Marks {
    fn name(&self) -> &str {
        "marks"
    }
    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        assert!(self.before.as_ref().is_none_or(|before| complete(before)), "a dependency is incomplete");
        Ok(self.phase(cut))
    }
    fn finish(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        let (phases, rows) = (self.phases.load(SeqCst) as usize, self.marks.len() / 2);
        assert!(complete(&self.marks[..phases * rows]), "a phase ended with rows left");
        Ok((phases < 2).then(|| self.phase(cut)))
    }
}

/// Two stages, of which one waits for the other, and what they mark.
fn job(rows: usize) -> (JobSpec, [Arc<Vec<AtomicU8>>; 2]) {
    let first = Marks::new(rows);
    let second = Marks { before: Some(first.marks.clone()), ..Marks::new(rows) };
    let marks = [first.marks.clone(), second.marks.clone()];
    let mut spec = JobSpec::new();
    let number = spec.add(first, &[]);
    spec.add(second, &[number]);
    (spec, marks)
}

/// Nobody holds on to what an ended job owned.
fn released(marks: &[Arc<Vec<AtomicU8>>]) -> bool {
    marks.iter().all(|marks| Arc::strong_count(marks) == 1)
}

fn is_cancelled(result: &Result<()>) -> bool {
    result.as_ref().is_err_and(|error| error.state() == SqlState::QUERY_CANCELED)
}

#[test]
fn jobs_are_run_to_their_end_and_their_memory_is_free_then() {
    check(|| {
        let pool = pool(2);
        let (first, marks) = job(3);
        let (second, others) = job(1);
        let second = pool.submit(second, JobOptions { worker_limit: Some(1), ..Default::default() });
        let first = pool.submit(first, JobOptions::default());
        for (job, marks) in [(first, marks), (second, others)] {
            job.wait().unwrap();
            assert!(released(&marks) && marks.iter().all(|marks| complete(marks)));
        }
    });
}

#[test]
fn cancellation_comes_at_any_time() {
    check(|| {
        let pool = pool(2);
        let (spec, marks) = job(2);
        let job = pool.submit(spec, JobOptions::default());
        let other = job.clone();
        let canceller = thread::spawn(move || other.cancel());
        let result = job.wait();
        assert!(released(&marks));
        assert!(if result.is_ok() { marks.iter().all(|marks| complete(marks)) } else { is_cancelled(&result) });
        canceller.join().unwrap();
    });
}

#[test]
fn the_scheduler_may_go_at_any_time() {
    check(|| {
        let pool = pool(2);
        let (spec, marks) = job(2);
        let job = pool.submit(spec, JobOptions::default());
        let waiter = thread::spawn(move || job.wait());
        drop(pool);
        let result = waiter.join().unwrap();
        assert!(released(&marks));
        assert!(if result.is_ok() { marks.iter().all(|marks| complete(marks)) } else { is_cancelled(&result) });
    });
}

#[test]
fn the_number_of_workers_changes_at_any_time() {
    check(|| {
        let pool = Arc::new(pool(1));
        let (spec, marks) = job(3);
        let job = pool.submit(spec, JobOptions::default());
        let other = pool.clone();
        let changer =
            thread::spawn(move || [2, 1, 3].into_iter().for_each(|threads| other.set_threads(threads).unwrap()));
        job.wait().unwrap();
        assert!(released(&marks) && marks.iter().all(|marks| complete(marks)));
        changer.join().unwrap();
    });
}

#[test]
fn no_call_of_the_consumer_is_lost() {
    check(|| {
        let pool = pool(2);
        // At most a row for each worker more than the consumer has taken.
        let taken = Arc::new(AtomicU64::new(0));
        let marks = Marks { taken: Some(taken.clone()), ..Marks::new(3) };
        let marked = [marks.marks.clone()];
        let mut spec = JobSpec::new();
        spec.add(marks, &[]);
        let job = pool.submit(spec, JobOptions::default());
        let waker = job.waker();
        let consumer = thread::spawn(move || {
            for _ in 0..3 {
                taken.fetch_add(1, SeqCst);
                waker.wake();
            }
        });
        job.wait().unwrap();
        assert!(released(&marked) && complete(&marked[0]));
        assert!(!job.times().is_held_up);
        consumer.join().unwrap();
    });
}

#[test]
fn errors_end_a_job_once() {
    struct Ends(Arc<Mutex<Vec<bool>>>);
    impl Observer for Ends {
        fn ended(&self, result: &Result<()>) {
            self.0.lock().unwrap().push(result.is_ok());
        }
    }
    check(|| {
        let pool = pool(2);
        let failed = Arc::new(AtomicBool::new(false));
        let mut spec = JobSpec::new();
        for _ in 0..2 {
            let failed = failed.clone();
            let source = move |_: &Cutting| {
                let failed = failed.clone();
                let cut = Cutting { morsel_rows: 1, ..Cutting::new(2) };
                Ok(Tasks::boxed(cut.rows(2), move |_, _| -> Result<()> {
                    failed.store(true, SeqCst);
                    Err(base::Error::internal("row"))
                }))
            };
            spec.add(Pipeline::new("fails", source), &[]);
        }
        let ends = Arc::new(Mutex::new(Vec::new()));
        let options = JobOptions { observer: Some(Arc::new(Ends(ends.clone()))), ..Default::default() };
        assert_eq!(pool.submit(spec, options).wait().unwrap_err().message(), "row");
        drop(pool);
        assert_eq!((Arc::strong_count(&failed), &**ends.lock().unwrap()), (1, &[false][..]));
    });
}
