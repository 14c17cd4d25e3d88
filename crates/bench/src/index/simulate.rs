//! Figures 2.8, 3.7 and 3.9 in shape, on the thesis's machine of ten cores with two threads each, which is not at hand: a
//! deterministic model in which nothing but transfers of cache lines makes threads wait for each other.
//!
//! Assumptions, all of them in [`machine`] and [`mod@steps`]:
//! - an operation is the lines of nodes that it reads and writes, in the order of the code, with a fixed time for the work
//!   between; lines are those of the tree of 50 million random keys (four nodes on a way, the last of a few keys: one line), and
//!   of 10 million dense keys for contention;
//! - lines are shared or owned as in the protocol MESI: who writes takes the line from all others, one after the other;
//! - caches are one of 256 KiB a core and one of 25 MB for all, both direct-mapped; the two threads of a core share all of its
//!   cache and slow each other's work down;
//! - removals are as insertions; one in three makes or frees a node, which adds to the tree's count of bytes;
//! - a transaction is begun anew if a line that it read was written meanwhile, 20 times, and then takes the latch.
//!
//! It has no bandwidth, no bus, no prefetching, no reordering. What it shows is which protocol scales, not how fast.

mod machine;
mod steps;
#[cfg(test)]
mod tests;

use base::{Random, Result};

use super::IndexOptions;
use super::keys::zipf;
use super::measure::SKEWS;
use crate::plot::Chart;
use machine::{Machine, THREADS};
use steps::{Does, PROTOCOLS, Protocol, Steps, Tree, steps};

/// Operations that count, of all threads together, and those before them that warm the caches.
const OPERATIONS: usize = 10_000;
const WARM_UP: usize = 20_000;
/// Numbers of threads that are drawn; of those in [`PRINTED`] there are lines.
const COUNTS: [usize; 11] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, THREADS];
const PRINTED: [usize; 4] = [1, 2, 10, THREADS];

pub(super) fn run(options: &IndexOptions) -> Result<()> {
    let names = PROTOCOLS.map(|(name, _)| name);
    let mut charts = Vec::new();
    for (does, name) in [(Does::Lookup, "lookup"), (Does::Change, "insert")] {
        let mut chart = Chart { name: format!("{name}, M/s by threads"), lines: vec![Vec::new(); names.len()] };
        for ((of, protocol), line) in PROTOCOLS.iter().zip(&mut chart.lines) {
            for threads in COUNTS.into_iter().filter(|_| protocol.can(does)) {
                let outcome = alike(*protocol, does, threads);
                let (rate, transfers) = (outcome.rates.iter().sum::<f64>(), outcome.transfers);
                line.push((threads as f64, rate));
                if PRINTED.contains(&threads) {
                    println!(
                        "{name:8} {of:16} {threads:2} threads {rate:8.2} M/s {transfers:6.2} transfers an operation"
                    );
                }
            }
        }
        charts.push(chart);
    }
    let chart = |name: &str| Chart { name: format!("{name}, M/s by skew"), lines: vec![Vec::new(); names.len()] };
    let (mut lookups, mut updates) = (chart("lookups beside updates"), chart("updates beside lookups"));
    for skew in SKEWS {
        let drawn = zipf(10_000_000, skew, 1 << 16);
        for (at, (of, protocol)) in PROTOCOLS.iter().enumerate().filter(|(_, (_, protocol))| protocol.can(Does::Update))
        {
            let [lookup, update] = contended(*protocol, &drawn).rates[..] else { continue };
            println!("skew {skew:3.1} {of:16} {lookup:8.2} M lookups/s {update:8.2} M updates/s");
            lookups.lines[at].push((skew, lookup));
            updates.lines[at].push((skew, update));
        }
    }
    charts.extend([lookups, updates]);
    options.draw("Ten cores, twenty threads, simulated", &names, &charts)
}

/// What a run comes to.
struct Outcome {
    /// Millions of operations a second, by thread.
    rates: Vec<f64>,
    /// Lines that came from another core, an operation.
    transfers: f64,
}

/// All threads do the same with random keys of the sparse tree.
fn alike(protocol: Protocol, does: Does, threads: usize) -> Outcome {
    let mut random = Random(1);
    simulate(threads, |_| steps(protocol, does, Tree::Sparse, random.bits()))
}

/// One thread looks keys up that another one removes and inserts.
fn contended(protocol: Protocol, drawn: &[u64]) -> Outcome {
    let mut at = [0, drawn.len() / 2];
    simulate(2, |thread| {
        at[thread] += 1;
        let does = if thread == 0 { Does::Lookup } else { Does::Update };
        steps(protocol, does, Tree::Dense, drawn[at[thread] % drawn.len()])
    })
}

/// Runs operations: the thread whose clock is least takes the next step.
fn simulate(threads: usize, mut operation: impl FnMut(usize) -> Steps) -> Outcome {
    let mut machine = Machine::new(threads);
    let mut running: Vec<_> = (0..threads).map(&mut operation).collect();
    let mut until = |operations: usize| {
        let mut done = vec![0; threads];
        while done.iter().sum::<usize>() < operations {
            let thread = machine.earliest();
            if machine.step(thread, &mut running[thread]) {
                done[thread] += 1;
                running[thread] = operation(thread);
            }
        }
        (machine.now(machine.earliest()), machine.transfers, done)
    };
    let (start, before, _) = until(WARM_UP);
    let (end, transfers, done) = until(OPERATIONS);
    Outcome {
        rates: done.iter().map(|&done| done as f64 * 1e3 / (end - start)).collect(),
        transfers: (transfers - before) as f64 / OPERATIONS as f64,
    }
}
