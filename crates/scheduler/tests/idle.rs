//! Sleep: the only test of its process, as it measures what all threads of the process use.

mod common;

use common::{Gate, eventually, rows, scheduler};
use scheduler::*;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

#[test]
fn idle_workers_do_not_burn_the_processor() {
    let scheduler = scheduler(4);
    let gate = Gate::new();
    let held = gate.clone();
    let mut spec = JobSpec::new();
    // One morsel holds one worker; the other three have nothing to do though a job is alive.
    let source = move |_: &Cutting| {
        let held = held.clone();
        Ok(rows(1, move |_, _| {
            held.pass();
            Ok(())
        }))
    };
    spec.add(Pipeline::new("held", source), &[]);
    let job = scheduler.submit(spec, JobOptions::default());
    eventually("the worker is held", || gate.arrived.load(SeqCst) == 1);
    std::thread::sleep(Duration::from_millis(20));
    let ticks = worker_ticks();
    std::thread::sleep(Duration::from_millis(300));
    let used = worker_ticks().saturating_sub(ticks);
    gate.open();
    job.wait().unwrap();
    // Of 10 ms each, in 300 ms; other systems tell nothing here.
    assert!(used <= 1, "{used} ticks");
}

/// Processor time of all threads named like workers, in ticks.
fn worker_ticks() -> u64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
        .filter(|stat| stat.contains("(morsel-"))
        .filter_map(|stat| {
            let fields: Vec<u64> = stat.rsplit_once(')')?.1.split(' ').map(|f| f.parse().unwrap_or(0)).collect();
            // After the name: the state is field 1 here, user and system time are 12 and 13.
            Some(fields.get(12)? + fields.get(13)?)
        })
        .sum()
}
