//! The index beside others: ns and millions of operations a second of lookups, inserts and removals by protocol, with one
//! worker and with two, and memory (Figure 3.7); texts (Figure 3.8); a reader beside a writer by skew (Figure 3.9).
//!
//! Each measurement has a process of its own, so that none works in the memory that another left, and they take turns.

mod contenders;
mod keys;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use base::{Error, Random, Result, SqlState};
use clap::Args;

use contenders::{CONTENDERS, Contender, make};
use keys::{Keys, Kind};

/// One guard, or one locking of what has a lock, for so many operations.
const BATCH: usize = 1024;

/// Options of `bench index`.
#[derive(Args, Clone, Debug)]
pub(crate) struct IndexOptions {
    /// Keys of the integer sets.
    #[arg(long, default_value_t = 10_000_000)]
    keys: usize,
    /// Kinds of keys: dense, sparse, genome, titles, urls.
    #[arg(long, value_delimiter = ',', default_value = "dense,sparse")]
    kind: Vec<Kind>,
    /// Contenders; by default all.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Rounds, of which the best counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A reader beside a writer instead, by skew.
    #[arg(long)]
    contention: bool,
    /// Run one measurement in this process.
    #[arg(long, hide = true)]
    inside: bool,
}

pub(crate) fn run(options: &IndexOptions) -> Result<bool> {
    if options.inside {
        return inside(options);
    }
    let names = CONTENDERS.iter().filter(|name| options.only.is_empty() || options.only.iter().any(|o| o == *name));
    let names: Vec<&str> = names.copied().collect();
    if options.contention {
        println!("{:16} {:>6} {:>14} {:>14}", "", "skew", "lookups, M/s", "updates, M/s");
    } else {
        println!(
            "{:8} {:>2} {:16} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "keys", "", "", "insert", "lookup", "remove", "M/s", "bytes"
        );
    }
    for kind in &options.kind {
        for &workers in &options.workers {
            let mut best = vec![Figures::default(); names.len()];
            for _ in 0..options.rounds {
                for (name, best) in names.iter().zip(&mut best) {
                    if let Some(figures) = outside(options, *kind, workers, name)? {
                        best.improve(&figures);
                    }
                }
            }
            for (name, figures) in names.iter().zip(&best).filter(|(_, figures)| !figures.0.is_empty()) {
                figures.print(options.contention, *kind, workers, name);
            }
            if options.contention {
                return Ok(true);
            }
        }
    }
    Ok(true)
}

/// Nanoseconds of an insertion, a lookup and a removal, and bytes a key; or lookups and updates a second by skew.
#[derive(Clone, Default)]
struct Figures(Vec<f64>);

impl Figures {
    fn improve(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, other)| *mine = mine.min(*other));
    }

    fn print(&self, contention: bool, kind: Kind, workers: usize, name: &str) {
        if contention {
            for (skew, pair) in SKEWS.iter().zip(self.0.chunks(2)) {
                println!("{name:16} {skew:6.2} {:14.2} {:14.2}", 1e3 / pair[0], 1e3 / pair[1]);
            }
            return;
        }
        let [insert, lookup, remove, bytes] = self.0[..] else { return };
        let rate = 1e3 * workers as f64 / lookup;
        let kind = format!("{kind:?}").to_lowercase();
        println!("{kind:8} {workers:2} {name:16} {insert:9.1} {lookup:9.1} {remove:9.1} {rate:9.2} {bytes:9.1}");
    }
}

/// One measurement, in another process.
fn outside(options: &IndexOptions, kind: Kind, workers: usize, name: &str) -> Result<Option<Figures>> {
    let failed = |what: String| Error::new(SqlState::IO_ERROR, format!("bench index: {what}"));
    let mut command = Command::new(std::env::current_exe().map_err(|error| failed(error.to_string()))?);
    let kind = format!("{kind:?}").to_lowercase();
    command.args(["index", "--inside", "--only", name, "--kind", &kind]);
    command.args(["--workers", &workers.to_string(), "--keys", &options.keys.to_string()]);
    if options.contention {
        command.arg("--contention");
    }
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Ok((!figures.is_empty()).then_some(Figures(figures)))
}

fn inside(options: &IndexOptions) -> Result<bool> {
    let ([kind, ..], [workers, ..], [name, ..]) = (&options.kind[..], &options.workers[..], &options.only[..]) else {
        return Ok(false);
    };
    if options.contention {
        return contention(options.keys, name);
    }
    let keys: &'static Keys = Box::leak(Box::new(Keys::new(*kind, options.keys)));
    let before = resident();
    let mut items = keys.items();
    let Some(contender) = make(name, keys) else { return Ok(true) };
    // A contender that only one may change is filled and emptied by one.
    let writers = if contender.has_one_writer() { 1 } else { *workers };
    let insert = phase(&mut items, writers, 1, &*contender, |contender, items| contender.insert(items));
    let bytes = contender.bytes().unwrap_or_else(|| resident().saturating_sub(before)) as f64 / items.len() as f64;
    let lookup = phase(&mut items, *workers, 2, &*contender, |contender, items| {
        assert_eq!(contender.get(items), items.len());
    });
    let remove = phase(&mut items, writers, 3, &*contender, |contender, items| contender.remove(items));
    println!("{insert} {lookup} {remove} {bytes}");
    // What is left is freed faster by the system.
    std::mem::forget(contender);
    Ok(true)
}

/// Nanoseconds of processor time an operation, of so many workers, which share all items in a random order.
fn phase(
    items: &mut [u64],
    workers: usize,
    seed: u64,
    contender: &dyn Contender,
    work: impl Fn(&dyn Contender, &[u64]) + Sync,
) -> f64 {
    let number = items.len();
    let mut random = Random(seed);
    (1..number).for_each(|at| items.swap(at, random.index(at + 1)));
    std::thread::scope(|scope| {
        let of_workers: Vec<_> = items
            .chunks(number.div_ceil(workers))
            .map(|part| {
                let work = &work;
                scope.spawn(move || {
                    let start = running();
                    part.chunks(BATCH).for_each(|items| work(contender, items));
                    running() - start
                })
            })
            .collect();
        of_workers.into_iter().map(|worker| worker.join().unwrap_or(f64::NAN)).sum::<f64>() / number as f64
    })
}

/// Nanoseconds for which this thread has had a processor, in steps of ten milliseconds: what else the machine does disturbs
/// less than in seconds of the clock.
fn running() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 1e7
}

/// Exponents of Zipf's law; at 3 the first key has 83% of all.
const SKEWS: [f64; 7] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];

/// One worker looks keys up while another removes them and inserts them again.
fn contention(number: usize, name: &str) -> Result<bool> {
    let keys: &'static Keys = Box::leak(Box::new(Keys::new(Kind::Dense, number)));
    let Some(contender) = make(name, keys).filter(|contender| !contender.has_one_writer()) else { return Ok(true) };
    phase(&mut keys.items(), 2, 1, &*contender, |contender, items| contender.insert(items));
    for skew in SKEWS {
        let drawn = keys::zipf(number, skew, 1 << 20);
        let over = AtomicBool::new(false);
        let rate = |seed: usize, work: &dyn Fn(&[u64])| {
            let (start, mut operations) = (Instant::now(), 0);
            for rows in drawn.chunks(BATCH).cycle().skip(seed) {
                work(rows);
                operations += rows.len();
                if start.elapsed() > Duration::from_secs(1) || over.load(Relaxed) {
                    break;
                }
            }
            over.store(true, Relaxed);
            start.elapsed().as_secs_f64() * 1e9 / operations as f64
        };
        let (lookups, updates) = std::thread::scope(|scope| {
            let lookups = scope.spawn(|| rate(0, &|rows| _ = std::hint::black_box(contender.get(rows))));
            let updates = rate(511, &|rows| contender.update(rows));
            (lookups.join().unwrap_or(f64::NAN), updates)
        });
        println!("{lookups} {updates}");
    }
    std::mem::forget(contender);
    Ok(true)
}

/// Bytes of the process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
