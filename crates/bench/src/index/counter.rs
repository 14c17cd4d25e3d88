//! Figure 2.12: one counter that all workers increment, by what keeps them apart.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use base::Result;

use super::IndexOptions;
use crate::plot::Chart;

/// Increments of all workers together.
const INCREMENTS: u64 = 20_000_000;

/// The counter, in a cache line of its own each time.
#[derive(Default)]
#[repr(align(128))]
struct Counter {
    value: AtomicU64,
    is_locked: AtomicBool,
    behind_mutex: Mutex<u64>,
}

/// A way to increment.
type Increment = fn(&Counter);

const WAYS: [(&str, Increment); 4] = [
    ("atomic addition", |counter| _ = counter.value.fetch_add(1, Relaxed)),
    ("compare and swap", |counter| {
        let mut value = counter.value.load(Relaxed);
        while let Err(other) = counter.value.compare_exchange_weak(value, value + 1, Relaxed, Relaxed) {
            value = other;
        }
    }),
    ("mutex", |counter| *counter.behind_mutex.lock().unwrap_or_else(PoisonError::into_inner) += 1),
    ("spin lock", |counter| {
        let mut tries = 0;
        while counter.is_locked.load(Relaxed) || counter.is_locked.swap(true, Acquire) {
            tries += 1;
            // Whoever has the lock may be waiting for this processor.
            if tries % 64 == 0 { std::thread::yield_now() } else { spin_loop() }
        }
        counter.value.store(counter.value.load(Relaxed) + 1, Relaxed);
        counter.is_locked.store(false, Release);
    }),
];

/// Prints millions of increments a second by number of workers.
pub(super) fn run(options: &IndexOptions) -> Result<()> {
    let mut chart = Chart { name: "increments, M/s".into(), lines: vec![Vec::new(); WAYS.len()] };
    for ((name, increment), line) in WAYS.iter().zip(&mut chart.lines) {
        for &workers in &options.workers {
            let rates = (0..options.rounds.max(1)).map(|_| rate(*increment, workers));
            let best = rates.fold(0.0, f64::max);
            println!("{name:16} {workers:2} workers {best:9.2} M/s");
            line.push((workers as f64, best));
        }
    }
    options.draw("One counter", &WAYS.map(|(name, _)| name), &[chart])
}

fn rate(increment: Increment, workers: usize) -> f64 {
    let counter = Counter::default();
    let each = INCREMENTS / workers.max(1) as u64;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| (0..each).for_each(|_| increment(&counter)));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let counted = counter.value.load(Relaxed) + *counter.behind_mutex.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(counted, each * workers as u64, "an increment was lost");
    counted as f64 / seconds / 1e6
}
