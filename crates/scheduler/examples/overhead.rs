//! What the scheduler costs: a job's latency, a morsel's overhead, and the speed-up of two workers.
//!
//! `cargo run --release -p scheduler --example overhead`

use scheduler::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

fn job(stages: usize, morsels: u64, work: u64) -> JobSpec {
    let mut spec = JobSpec::new();
    for stage in 0..stages {
        let source = move |cut: &Cutting| {
            let cut = Cutting { morsel_rows: 1, adapts: false, ..cut.clone() };
            Ok(Tasks::boxed(cut.rows(morsels), move |_, morsel| {
                black_box((0..work).fold(morsel.begin, |a, b| black_box(a ^ b)));
                Ok(())
            }))
        };
        let deps: Vec<usize> = (0..stage).collect();
        spec.add(Pipeline::new("stage", source), &deps);
    }
    spec
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..301)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn main() -> base::Result<()> {
    let start = Instant::now();
    let pool = Scheduler::new(&SchedulerOptions { threads: Some(2), ..Default::default() })?;
    println!("start of 2 workers        {:?}", start.elapsed());
    println!("topology\n{}", pool.placement().topology());
    let cancel = CancelToken::new();
    for stages in [1, 5] {
        let inline = median(|| SingleThreaded::default().run(job(stages, 1, 1), &cancel).expect("no error"));
        let pooled = median(|| pool.run(job(stages, 1, 1), JobOptions::default()).expect("no error"));
        println!("{stages} stages of one morsel    inline {inline:?}, pool {pooled:?}");
    }
    let morsels = 20_000;
    for threads in [1, 2] {
        pool.set_threads(threads)?;
        let time = best_of_few(|| pool.run(job(1, morsels, 0), JobOptions::default()).expect("no error"));
        println!("empty morsel, {threads} workers    {:?}", time * threads as u32 / morsels as u32);
    }
    let mut times = Vec::new();
    for threads in [1, 2] {
        pool.set_threads(threads)?;
        times.push(best_of_few(|| pool.run(job(5, 60, 100_000), JobOptions::default()).expect("no error")));
    }
    println!("5 stages of 60 morsels    {times:?}, speed-up {:.2}", times[0].as_secs_f64() / times[1].as_secs_f64());
    Ok(())
}

fn best_of_few(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..7 {
        let begin = Instant::now();
        run();
        best = best.min(begin.elapsed());
    }
    best
}
