//! How nearly workers end a phase together (thesis 4.4.2: within the time of one morsel), on a virtual clock.

use super::*;
use crate::size::Pace;
use std::time::Duration;

const SLICE: Duration = Duration::from_millis(1);

/// A phase, and who works on it.
struct Race {
    rows: u64,
    lanes: usize,
    sizes: Sizes,
    /// Nanoseconds that each worker takes for a row of cost 1, and when it comes.
    workers: Vec<(f64, f64)>,
    /// What a row costs.
    cost: fn(u64) -> f64,
}

/// What came of it, in nanoseconds.
#[derive(Debug)]
struct Outcome {
    /// From the first worker's last morsel to the last one's.
    spread: f64,
    /// All work divided by all workers' speed, from when they came.
    ideal: f64,
    end: f64,
    morsels: usize,
}

/// A worker in the race.
#[derive(Clone, Copy)]
struct Runner {
    /// When it is free; none if it has found nothing.
    free: Option<f64>,
    pace: Pace,
    rest: Option<Morsel>,
}

/// Always the worker that is free first goes on, as it is with real ones. A run ends after a slice, at the end of a batch; what
/// is left is halved if somebody has found nothing, as `Job::share` does it.
fn run(race: &Race) -> Outcome {
    let ranges = MorselRanges::<AtomicU64>::cut(race.rows, race.lanes, race.sizes);
    let count = race.workers.len();
    let runner = |&(_, comes): &(f64, f64)| Runner { free: Some(comes), pace: Pace::default(), rest: None };
    let mut runners: Vec<Runner> = race.workers.iter().map(runner).collect();
    let (mut told, mut ends, mut morsels) = (Pace::default(), vec![0.0; count], 0);
    let mut offered: Option<Morsel> = None;
    loop {
        let next = runners.iter().enumerate().filter_map(|(worker, runner)| Some((worker, runner.free?)));
        let Some((worker, now)) = next.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let someone_idle = runners.iter().any(|runner| runner.free.is_none());
        let runner = &mut runners[worker];
        if !runner.pace.is_known() {
            runner.pace = told;
        }
        let begun = runner.rest.take().or_else(|| offered.take());
        let claim =
            begun.or_else(|| match ranges.claim(WorkerId::from_index(worker), runner.pace.wanted(SLICE, count)) {
                Claim::Morsel { morsel, .. } => Some(morsel),
                Claim::NotNow | Claim::Done => None,
            });
        let Some(morsel) = claim else {
            runner.free = None;
            ends[worker] = now;
            continue;
        };
        morsels += usize::from(begun.is_none());
        let (mut at, mut time) = (morsel.begin, 0.0);
        while at < morsel.end && time < SLICE.as_nanos() as f64 {
            let batch = at..morsel.end.min(at + 1024);
            at = batch.end;
            time += batch.map(race.cost).sum::<f64>() * race.workers[worker].0;
        }
        runner.pace.ran(at - morsel.begin, Duration::from_nanos(time as u64));
        told = runner.pace;
        runner.free = Some(now + time);
        let mut rest = Morsel { begin: at, end: morsel.end };
        if someone_idle && offered.is_none() && rest.len() >= 2048 {
            let middle = rest.begin + (rest.len() / 2).next_multiple_of(1024);
            offered = Some(Morsel { begin: middle, end: rest.end });
            rest.end = middle;
            let idle = runners.iter_mut().find(|runner| runner.free.is_none());
            idle.expect("somebody is").free = Some(now + time);
        }
        runners[worker].rest = Some(rest).filter(|rest| !rest.is_empty());
    }
    let speed: f64 = race.workers.iter().map(|(nanos, _)| 1.0 / nanos).sum();
    let late: f64 = race.workers.iter().map(|(nanos, comes)| comes / nanos).sum();
    let work: f64 = (0..race.rows).map(race.cost).sum();
    let (first, last) = (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
    Outcome { spread: last - first, ideal: (work + late) / speed, end: last, morsels }
}

fn workers(count: usize) -> Vec<(f64, f64)> {
    // The first one has half a processor.
    (0..count).map(|worker| (if worker == 0 { 20.0 } else { 10.0 }, 0.0)).collect()
}

/// Rows of the last eighth cost ten times as much.
fn dear_at_the_end(row: u64) -> f64 {
    if row >= 7 << 17 { 10.0 } else { 1.0 }
}

#[test]
fn workers_end_together() {
    // A sixteenth of a slice, of the slower worker's pace, and what rows differ.
    let small = SLICE.as_nanos() as f64 / 16.0;
    for count in [2, 3, 8, 64] {
        for cost in [(|_| 1.0) as fn(u64) -> f64, |row| 0.5 + (row % 7) as f64 / 6.0] {
            let (rows, sizes) = ((count as u64) << 18, Sizes::adapted(16_384));
            let race = Race { rows, lanes: count, sizes, workers: workers(count), cost };
            let adapted = run(&race);
            assert!(adapted.spread <= 2.0 * small, "{count} workers: {adapted:?}");
            assert!(adapted.end <= adapted.ideal * 1.01 + 2.0 * small, "{count} workers: {adapted:?}");
            let fixed = run(&Race { sizes: Sizes::fixed(100_000), ..race });
            assert!(adapted.end < fixed.end, "{count} workers: {adapted:?} {fixed:?}");
        }
    }
}

#[test]
fn rows_that_cost_more_than_was_known_hold_nobody_up_for_long() {
    for count in [2, 8] {
        let cost = dear_at_the_end;
        let race = Race { rows: 1 << 20, lanes: count, sizes: Sizes::adapted(16_384), workers: workers(count), cost };
        let adapted = run(&race);
        // A morsel that was cut by the old pace would take ten times as long.
        assert!(adapted.spread <= SLICE.as_nanos() as f64 / 2.0, "{count} workers: {adapted:?}");
    }
}

#[test]
fn who_comes_late_shares_what_is_left() {
    // One lane, and three more workers when a quarter of the time is over.
    let comes = (1 << 18) as f64 * 10.0;
    let workers = vec![(10.0, 0.0), (10.0, comes), (10.0, comes), (10.0, comes)];
    let sizes = Sizes::adapted(16_384);
    let outcome = run(&Race { rows: 1 << 20, lanes: 1, sizes, workers, cost: |_| 1.0 });
    assert!(outcome.spread <= SLICE.as_nanos() as f64 / 8.0, "{outcome:?}");
    assert!(outcome.end <= outcome.ideal * 1.05, "{outcome:?}");
}

#[test]
fn small_morsels_come_only_at_the_end() {
    let outcome = |count| {
        let workers = vec![(10.0, 0.0); count];
        run(&Race { rows: 1 << 24, lanes: count, sizes: Sizes::adapted(16_384), workers, cost: |_| 1.0 })
    };
    // 75,000 rows are a morsel.
    let all = (1 << 24) / 73 / 1024;
    for count in [1, 2, 4, 64] {
        assert!(outcome(count).morsels <= all + 12 * count, "{count} workers: {:?}", outcome(count));
    }
}
