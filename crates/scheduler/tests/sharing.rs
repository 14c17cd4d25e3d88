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
    let source = move || {
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
    let source = move || {
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
        let source = move || {
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
