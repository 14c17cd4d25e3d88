//! Stages, phases, dependencies and morsels: everything once, and in order.

mod common;

use base::ids::Id;
use common::{Custom, Droppable, Gate, eventually, rows, scheduler};
use scheduler::*;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A random job: every stage and phase checks that what it depends on is complete.
fn random_job(seed: u64) -> (JobSpec, Arc<Vec<Vec<AtomicU8>>>) {
    let mut random = base::Random(seed);
    let mut next = move |n: u64| random.below(n);
    let count = 1 + next(6) as usize;
    // Runs of each row by stage; the phases of a stage follow each other in its rows.
    let sizes: Vec<Vec<u64>> = (0..count).map(|_| (0..1 + next(3)).map(|_| next(40)).collect()).collect();
    let runs: Vec<Vec<AtomicU8>> =
        sizes.iter().map(|phases| (0..phases.iter().sum()).map(|_| AtomicU8::new(0)).collect()).collect();
    let runs = Arc::new(runs);
    let mut spec = JobSpec::new();
    for stage in 0..count {
        let deps: Vec<usize> = (0..stage).filter(|_| next(3) == 0).collect();
        let phases = sizes[stage].clone();
        let (marks, before) = (runs.clone(), deps.clone());
        let phase = move |number: usize| -> Option<Box<dyn TaskSet>> {
            let size = *phases.get(number)?;
            let offset: u64 = phases[..number].iter().sum();
            for &dep in &before {
                assert!(marks[dep].iter().all(|run| run.load(SeqCst) == 1), "a dependency is incomplete");
            }
            assert!(marks[stage][..offset as usize].iter().all(|run| run.load(SeqCst) == 1), "a phase is incomplete");
            let marks = marks.clone();
            Some(rows(size, move |_, row| {
                marks[stage][(offset + row) as usize].fetch_add(1, SeqCst);
                Ok(())
            }))
        };
        let phase = Arc::new(phase);
        let later = phase.clone();
        let custom = Custom::new(move || Ok(phase(0).expect("the first phase"))).finish(move |n| Ok(later(n + 1)));
        spec.add(custom, &deps);
    }
    (spec, runs)
}

fn check_once(runs: &[Vec<AtomicU8>]) {
    assert!(runs.iter().flatten().all(|run| run.load(SeqCst) == 1));
}

#[test]
fn random_jobs_run_everything_once_and_in_order() {
    let scheduler = scheduler(4);
    let mut pending = Vec::new();
    for seed in 0..400 {
        let (spec, runs) = random_job(seed);
        pending.push((scheduler.submit(spec, JobOptions::default()), runs));
        if pending.len() > 7 {
            for (job, runs) in pending.drain(..) {
                job.wait().unwrap();
                check_once(&runs);
                assert!(job.report().iter().all(|stage| stage.finished));
                let progress = job.progress();
                assert_eq!((progress.rows, progress.fraction()), (progress.total_rows, 1.0));
            }
        }
    }
    eventually("no job is listed", || scheduler.active_jobs() == 0);
}

#[test]
fn random_jobs_run_the_same_on_one_thread() {
    for seed in 0..200 {
        let (spec, runs) = random_job(seed);
        SingleThreaded { cut: Cutting::new(1 + seed as usize % 5), seed: seed / 2, ..SingleThreaded::default() }
            .run(spec, &CancelToken::new())
            .unwrap();
        check_once(&runs);
    }
}

#[test]
fn the_twin_is_deterministic_and_plays_all_workers() {
    let order = |seed| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let mut spec = JobSpec::new();
        let stage = move |_: &Cutting| {
            let log = log.clone();
            Ok(rows(50, move |worker, row| {
                log.lock().unwrap().push((worker.index(), row));
                Ok(())
            }))
        };
        spec.add(Pipeline::new("log", stage), &[]);
        SingleThreaded { cut: Cutting::new(3), seed, ..SingleThreaded::default() }
            .run(spec, &CancelToken::new())
            .unwrap();
        Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(8));
    assert!((0..3).all(|worker| order(7).iter().any(|&(w, _)| w == worker)));
}

#[test]
fn every_worker_helps_one_job() {
    let scheduler = scheduler(4);
    // The rows wait for each other: four workers must be inside at once.
    let met = Arc::new(std::sync::Barrier::new(4));
    let workers = Arc::new(Mutex::new(Vec::new()));
    let list = workers.clone();
    let mut spec = JobSpec::new();
    let stage = move |_: &Cutting| {
        let (met, list) = (met.clone(), list.clone());
        Ok(rows(4, move |worker, _| {
            met.wait();
            list.lock().unwrap().push(worker.index());
            Ok(())
        }))
    };
    spec.add(Pipeline::new("meet", stage), &[]);
    scheduler.run(spec, JobOptions::default()).unwrap();
    let mut workers = workers.lock().unwrap().clone();
    workers.sort_unstable();
    assert_eq!(workers, [0, 1, 2, 3]);
}

#[test]
fn a_later_stage_begins_only_when_workers_are_idle() {
    // One worker: strictly one after the other, in order.
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut spec = JobSpec::new();
    for stage in 0..3 {
        let log = log.clone();
        let source = move |_: &Cutting| {
            let log = log.clone();
            Ok(rows(5, move |_, _| {
                log.lock().unwrap().push(stage);
                Ok(())
            }))
        };
        spec.add(Pipeline::new("log", source), &[]);
    }
    scheduler(1).run(spec, JobOptions::default()).unwrap();
    assert!(log.lock().unwrap().is_sorted());

    // Two workers: while one is held in the only morsel of the first stage, the other does the second.
    let gate = Gate::new();
    let mut spec = JobSpec::new();
    let held = gate.clone();
    let source = move |_: &Cutting| {
        let held = held.clone();
        Ok(rows(1, move |_, _| {
            held.pass();
            Ok(())
        }))
    };
    spec.add(Pipeline::new("held", source), &[]);
    let opener = gate.clone();
    let source = move |_: &Cutting| {
        let opener = opener.clone();
        Ok(rows(3, move |_, _| {
            opener.open();
            Ok(())
        }))
    };
    spec.add(Pipeline::new("opens", source), &[]);
    scheduler(2).run(spec, JobOptions::default()).unwrap();
}

#[test]
fn independent_stages_run_side_by_side_if_they_are_to() {
    // Each stage waits for a worker in the other one, though it has morsels for all workers itself.
    let (first, second) = (Gate::new(), Gate::new());
    let stage = |opens: &Arc<Gate>, waits: &Arc<Gate>| {
        let (opens, waits) = (opens.clone(), waits.clone());
        Pipeline::new("stage", move |_| {
            let (opens, waits) = (opens.clone(), waits.clone());
            Ok(rows(10, move |_, _| {
                opens.open();
                waits.pass();
                Ok(())
            }))
        })
    };
    let mut spec = JobSpec::new();
    spec.add(stage(&first, &second), &[]);
    spec.add(stage(&second, &first), &[]);
    scheduler(2).run(spec, JobOptions { bushy: true, ..Default::default() }).unwrap();
}

#[test]
fn task_sets_are_dropped_before_their_stage_goes_on() {
    let gone = Arc::new(AtomicBool::new(false));
    let sum = Arc::new(AtomicU64::new(0));
    let phase = {
        let (gone, sum) = (gone.clone(), sum.clone());
        move || {
            let (sum, mark) = (sum.clone(), Droppable(gone.clone()));
            rows(10, move |_, _| {
                let _ = &mark;
                sum.fetch_add(1, SeqCst);
                Ok(())
            })
        }
    };
    let first = phase.clone();
    let stage = Custom::new(move || Ok(first())).finish(move |calls| {
        assert!(gone.swap(false, SeqCst));
        Ok((calls < 2).then(&phase))
    });
    let mut spec = JobSpec::new();
    spec.add(stage, &[]);
    scheduler(3).run(spec, JobOptions::default()).unwrap();
    assert_eq!(sum.load(SeqCst), 30);
}

#[test]
fn progress_is_seen_while_waiting() {
    let scheduler = scheduler(1);
    let gate = Gate::new();
    let held = gate.clone();
    let mut spec = JobSpec::new();
    let source = move |_: &Cutting| {
        let held = held.clone();
        let cut = Cutting { morsel_rows: 1, ..Cutting::new(1) };
        Ok(Tasks::boxed(cut.rows(10), move |_, morsel| {
            if morsel.begin == 5 {
                held.pass();
            }
            Ok(())
        }))
    };
    spec.add(Pipeline::new("half", source), &[]);
    spec.add(Pipeline::new("rest", |_| Ok(rows(30, |_, _| Ok(())))).estimate(30), &[0]);
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("half is done", || job.progress().rows == 5);
    assert_eq!(job.progress().total_rows, 40);
    assert!(!job.is_finished());
    job.wait_with(Duration::from_millis(1), |progress| {
        assert_eq!(progress.stages.max(1), 1);
        gate.open();
    })
    .unwrap();
    assert_eq!((job.progress().rows, job.progress().stages), (40, 2));
}

#[test]
fn a_job_without_stages_or_rows_ends() {
    let scheduler = scheduler(2);
    scheduler.run(JobSpec::new(), JobOptions::default()).unwrap();
    let mut spec = JobSpec::new();
    spec.add(Pipeline::new("empty", |_| Ok(rows(0, |_, _| unreachable!()))), &[]);
    let job = scheduler.submit(spec, JobOptions::default());
    assert_eq!(job.wait_timeout(Duration::MAX), Some(Ok(())));
    assert_eq!(job.result(), Some(Ok(())));
}

#[test]
fn four_described_sockets_on_one_machine() {
    let options = SchedulerOptions {
        threads: Some(8),
        max_threads: 8,
        topology: Some(Topology::parse("4x2").unwrap()),
        ..Default::default()
    };
    let scheduler = Scheduler::new(&options).unwrap();
    let placement = scheduler.placement().clone();
    // All data is on node 2: its two workers find their own, the others steal.
    #[derive(Default)]
    struct Log(Mutex<Vec<Run>>);
    impl Observer for Log {
        fn ran(&self, run: &Run) {
            self.0.lock().unwrap().push(*run);
        }
    }
    let mut spec = JobSpec::new();
    let source = |cut: &Cutting| {
        let cut = Cutting { morsel_rows: 7, adapts: false, ..cut.clone() };
        let ranges = cut.placed(&[(NodeId(2), 0..500), (NodeId(2), 1000..1500)]);
        Ok(Tasks::boxed(ranges, |_, _| {
            std::thread::sleep(Duration::from_micros(100));
            Ok(())
        }))
    };
    spec.add(Pipeline::new("placed", source), &[]);
    let log = Arc::new(Log::default());
    let options = JobOptions { observer: Some(log.clone()), ..Default::default() };
    let job = scheduler.submit(spec, options);
    job.wait().unwrap();
    let runs = log.0.lock().unwrap();
    assert_eq!(runs.iter().map(|run| run.morsel.len()).sum::<u64>(), 1000);
    assert_eq!(job.progress(), JobProgress { morsels: 144, rows: 1000, total_rows: 1000, stages: 1, total_stages: 1 });
    for run in runs.iter() {
        let at_home = placement.node(run.worker) == NodeId(2);
        assert_eq!((run.stage, run.node, run.remote, run.resumed), (0, Some(NodeId(2)), !at_home, false));
        assert!(run.stolen || at_home, "{} has no lane of its own", run.worker);
    }
    let report = &job.report()[0];
    assert_eq!(report.remote_rows, runs.iter().filter(|run| run.remote).map(|run| run.morsel.len()).sum::<u64>());
    assert_eq!(report.stolen, runs.iter().filter(|run| run.stolen).count() as u64);
}
