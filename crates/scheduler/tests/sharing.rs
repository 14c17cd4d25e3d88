//! Workers shared between jobs, and their number changed at run time.

mod common;

use base::ids::Id;
use common::{eventually, rows, scheduler};
use scheduler::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A job of `count` morsels that each keep a worker busy for a while, and counts them.
fn busy(count: u64, done: &Arc<AtomicU64>) -> JobSpec {
    let done = done.clone();
    let mut spec = JobSpec::new();
    let source = move |_: &Cutting| {
        let done = done.clone();
        Ok(rows(count, move |_, _| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(50) {
                std::hint::spin_loop();
            }
            done.fetch_add(1, SeqCst);
            Ok(())
        }))
    };
    spec.add(Pipeline::new("busy", source), &[]);
    spec
}

#[test]
fn equal_jobs_progress_together() {
    for threads in [1, 2, 4] {
        let scheduler = scheduler(threads);
        let done: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let jobs: Vec<_> = done.iter().map(|done| scheduler.submit(busy(2_000, done), JobOptions::default())).collect();
        jobs[0].wait().unwrap();
        // The others were submitted a little later, and other load disturbs the measure of time: be generous, but
        // far from the 0 that a queue would give.
        assert!(done.iter().all(|done| done.load(SeqCst) > 400), "{threads} threads: {done:?}");
        jobs.iter().for_each(|job| job.wait().unwrap());
    }
}

#[test]
fn a_short_job_overtakes_a_long_one() {
    let scheduler = scheduler(1);
    let (long, short) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let behind = scheduler.submit(busy(100_000, &long), JobOptions::default());
    eventually("the long job runs", || long.load(SeqCst) > 50);
    scheduler.run(busy(20, &short), JobOptions::default()).unwrap();
    assert!(!behind.is_finished());
    behind.cancel();
    assert!(behind.wait().is_err());
}

#[test]
fn weight_counts() {
    let scheduler = scheduler(2);
    let (light, heavy) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let first = scheduler.submit(busy(100_000, &light), JobOptions { weight: 10, ..Default::default() });
    let second = scheduler.submit(busy(4_000, &heavy), JobOptions { weight: 1000, ..Default::default() });
    let before = light.load(SeqCst);
    second.wait().unwrap();
    let during = light.load(SeqCst) - before;
    assert!(during < 2_000, "{during} morsels of the light job beside 4000");
    first.cancel();
    assert!(first.wait().is_err());
}

#[test]
fn the_number_of_threads_changes_between_morsels() {
    let scheduler = scheduler(4);
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let rows_done = Arc::new(AtomicUsize::new(0));
    let (log, count) = (seen.clone(), rows_done.clone());
    let source = move |_: &Cutting| {
        let (log, count) = (log.clone(), count.clone());
        Ok(rows(1_000_000, move |worker, _| {
            std::thread::sleep(Duration::from_micros(100));
            log.lock().unwrap().insert(worker.index());
            count.fetch_add(1, SeqCst);
            Ok(())
        }))
    };
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("elastic", source), &[]);
    let job = scheduler.submit(spec, JobOptions::default());
    for threads in [4, 1, 6, 2, 16, 3] {
        scheduler.set_threads(threads).unwrap();
        assert_eq!(scheduler.threads(), threads);
        // Those that were in a morsel may finish it.
        let settled = rows_done.load(SeqCst) + 16;
        eventually("old morsels are done", || rows_done.load(SeqCst) > settled);
        eventually("exactly these workers run", || {
            seen.lock().unwrap().clear();
            std::thread::sleep(Duration::from_millis(20));
            *seen.lock().unwrap() == (0..threads).collect::<HashSet<_>>()
        });
    }
    job.cancel();
    assert!(job.wait().is_err());
    for threads in [0, 17] {
        assert_eq!(scheduler.set_threads(threads).unwrap_err().state(), base::SqlState::INVALID_PARAMETER_VALUE);
    }
}

#[test]
fn shrinking_while_idle_or_full_loses_no_work() {
    let scheduler = scheduler(8);
    for round in 0..200 {
        let done = Arc::new(AtomicU64::new(0));
        let count = done.clone();
        let mut spec = JobSpec::new();
        let source = move |_: &Cutting| {
            let count = count.clone();
            Ok(rows(20, move |_, _| {
                count.fetch_add(1, SeqCst);
                Ok(())
            }))
        };
        let first = spec.add(Pipeline::new("a", source.clone()), &[]);
        spec.add(Pipeline::new("b", source), &[first]);
        let job = scheduler.submit(spec, JobOptions::default());
        scheduler.set_threads(1 + round % 8).unwrap();
        job.wait().unwrap();
        assert_eq!(done.load(SeqCst), 40);
    }
}

/// Adds a stage of one morsel that takes `steps` steps of a quarter of a millisecond, and stops when its slice is over.
fn one_long_morsel(spec: &mut JobSpec, steps: u64, done: &Arc<AtomicU64>, longest: &Arc<AtomicU64>) {
    let (done, longest) = (done.clone(), longest.clone());
    let source = move |cut: &Cutting| {
        let (done, longest, cut) = (done.clone(), longest.clone(), cut.clone());
        Ok(Tasks::boxed(cut.pieces(&Offsets::new([steps])), move |_, morsel: Morsel| {
            let slice = cut.begin();
            let mut at = morsel.begin;
            while at < morsel.end && (at == morsel.begin || !slice.is_over()) {
                std::thread::sleep(Duration::from_micros(250));
                at += 1;
            }
            done.fetch_add(at - morsel.begin, SeqCst);
            longest.fetch_max(at - morsel.begin, SeqCst);
            let rest = Morsel { begin: at, end: morsel.end };
            Ok(if rest.is_empty() { Progress::Done } else { Progress::Yielded(rest) })
        }))
    };
    spec.add(Pipeline::new("long", source), &[]);
}

#[test]
fn a_short_job_gets_its_turn_within_a_long_morsel() {
    let scheduler = scheduler(1);
    let (steps, longest, short) = (Arc::default(), Arc::default(), Arc::default());
    let mut spec = JobSpec::new();
    one_long_morsel(&mut spec, 100_000, &steps, &longest);
    let long = scheduler.submit(spec, JobOptions::default());
    eventually("the long job runs", || steps.load(SeqCst) > 0);
    scheduler.run(busy(20, &short), JobOptions::default()).unwrap();
    assert!(!long.is_finished());
    // A slice is a millisecond: four steps, and one that begins just before its end.
    assert!(longest.load(SeqCst) <= 5, "{longest:?}");
    long.cancel();
    assert!(long.wait().is_err());
    let report = &long.report()[0];
    assert_eq!((report.morsels, report.rows), (1, steps.load(SeqCst)));
    assert!(report.yields > 1);
}

#[test]
fn another_worker_goes_on_with_a_rest() {
    #[derive(Default)]
    struct Workers(Mutex<HashSet<usize>>);
    impl Observer for Workers {
        fn ran(&self, run: &Run) {
            self.0.lock().unwrap().insert(run.worker.index());
        }
    }
    let scheduler = scheduler(2);
    let (steps, longest, workers) = (Arc::default(), Arc::default(), Arc::new(Workers::default()));
    let options = JobOptions { observer: Some(workers.clone()), ..Default::default() };
    // Each worker has a morsel; the second one has to leave in the middle of its own.
    let mut spec = JobSpec::new();
    (0..2).for_each(|_| one_long_morsel(&mut spec, 400, &steps, &longest));
    let job = scheduler.submit(spec, options);
    eventually("both work", || workers.0.lock().unwrap().len() == 2);
    scheduler.set_threads(1).unwrap();
    job.wait().unwrap();
    assert_eq!(steps.load(SeqCst), 800);
}

/// One morsel, of steps of a quarter of a millisecond, whose rests can be halved.
struct Halves {
    all: MorselRanges,
    cut: Cutting,
    done: Mutex<Vec<u64>>,
    /// The workers inside `run` at this moment, and the most that ever were.
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl TaskSet for Halves {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.all.claim(worker, wanted)
    }
    fn run(&self, _: WorkerId, morsel: Morsel) -> base::Result<Progress> {
        self.most.fetch_max(self.inside.fetch_add(1, SeqCst) + 1, SeqCst);
        let slice = self.cut.begin();
        let mut at = morsel.begin;
        while at < morsel.end && (at == morsel.begin || !slice.is_over()) {
            std::thread::sleep(Duration::from_micros(250));
            self.done.lock().unwrap().push(at);
            at += 1;
        }
        self.inside.fetch_sub(1, SeqCst);
        let rest = Morsel { begin: at, end: morsel.end };
        Ok(if rest.is_empty() { Progress::Done } else { Progress::Yielded(rest) })
    }
    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        let middle = rest.begin + rest.len().div_ceil(2);
        (middle < rest.end).then_some([Morsel { end: middle, ..rest }, Morsel { begin: middle, ..rest }])
    }
}

#[test]
fn idle_workers_take_halves_of_what_has_yielded() {
    for (limit, most) in [(None, 4), (Some(2), 2), (Some(1), 1)] {
        let cut = Cutting::new(1);
        let all = cut.pieces(&Offsets::new([800]));
        let (inside, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let halves = Arc::new(Halves { all, cut, done: Mutex::default(), inside, most: peak });
        let (tasks, mut spec) = (halves.clone(), JobSpec::new());
        spec.add(Pipeline::new("halves", move |_| Ok(Box::new(tasks.clone()))), &[]);
        scheduler(4).run(spec, JobOptions { worker_limit: limit, ..Default::default() }).unwrap();
        let mut done = halves.done.lock().unwrap().clone();
        // A limit is one of workers at a time: who leaves may be followed by another.
        let peak = halves.most.load(SeqCst);
        assert!(peak <= most && (peak > 1) == (most > 1), "{peak} of {most}");
        done.sort_unstable();
        assert_eq!(done, (0..800).collect::<Vec<_>>());
    }
}

#[test]
fn no_more_workers_than_a_job_may_have() {
    let (scheduler, beside) = (scheduler(4), Arc::new(AtomicU64::new(0)));
    for limit in [1, 3] {
        let (inside, most, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::default());
        let mut spec = JobSpec::new();
        for stage in 0..3 {
            let (inside, most, done) = (inside.clone(), most.clone(), Arc::<AtomicU64>::clone(&done));
            let source = move |cut: &Cutting| {
                assert_eq!(cut.threads, limit);
                let (inside, most, done) = (inside.clone(), most.clone(), done.clone());
                Ok(rows(400, move |_, _| {
                    most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                    std::thread::sleep(Duration::from_micros(50));
                    inside.fetch_sub(1, SeqCst);
                    done.fetch_add(1, SeqCst);
                    Ok(())
                }))
            };
            // The first two may run at once.
            spec.add(Pipeline::new("limited", source), if stage == 2 { &[0, 1] } else { &[] });
        }
        // Another job takes and gives back its workers all the time.
        let other = scheduler.submit(busy(100_000, &beside), JobOptions::default());
        let options = JobOptions { worker_limit: Some(limit), ..Default::default() };
        scheduler.run(spec, options).unwrap();
        assert_eq!((most.load(SeqCst), done.load(SeqCst)), (limit, 1200));
        other.cancel();
        assert!(other.wait().is_err());
    }
}

#[test]
fn a_worker_that_comes_late_finds_morsels() {
    let scheduler = scheduler(1);
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let log = seen.clone();
    let mut spec = JobSpec::new();
    let source = move |cut: &Cutting| {
        assert_eq!(cut.threads, 1);
        let log = log.clone();
        let cut = Cutting { morsel_rows: 1, adapts: false, ..cut.clone() };
        Ok(Tasks::boxed(cut.rows(1_000_000), move |worker: WorkerId, _| {
            std::thread::sleep(Duration::from_micros(100));
            log.lock().unwrap().insert(worker.index());
            Ok(())
        }))
    };
    spec.add(Pipeline::new("one lane", source), &[]);
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("the first worker is at work", || !seen.lock().unwrap().is_empty());
    scheduler.set_threads(3).unwrap();
    eventually("the others too", || seen.lock().unwrap().len() == 3);
    job.cancel();
    assert!(job.wait().is_err());
}

#[test]
fn a_job_of_few_workers_ends_though_others_look_for_work() {
    let scheduler = scheduler(2);
    for round in 0..1000u64 {
        let mut spec = JobSpec::new();
        for stage in 0..3 {
            let source = move |_: &Cutting| {
                Ok(rows(round % 4, |_, _| {
                    std::thread::sleep(Duration::from_micros(30));
                    Ok(())
                }))
            };
            spec.add(Pipeline::new("limited", source), if stage == 2 { &[0, 1] } else { &[] });
        }
        let options = JobOptions { worker_limit: Some(1), ..Default::default() };
        let job = scheduler.submit(spec, options);
        assert_eq!(job.wait_timeout(Duration::from_secs(5)), Some(Ok(())), "round {round}");
    }
}
