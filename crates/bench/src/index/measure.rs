//! One measurement, in a process of its own: a contender is filled, asked and emptied, or scanned, or contended for.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use base::{Random, Result};
use rustix::time::{ClockId, clock_gettime};

use super::IndexOptions;
use super::contenders::{Contender, make};
use super::keys::{self, Keys, Kind};

/// One guard, or one locking of what has a lock, for so many operations.
const BATCH: usize = 1024;
/// Rows of a scan.
const SCANNED: usize = 100;

/// What workers do with a part of the items.
type Work<'w> = dyn Fn(&dyn Contender, &[u64]) + Sync + 'w;

pub(super) fn inside(options: &IndexOptions) -> Result<()> {
    let ([kind, ..], [workers, ..], [name, ..]) = (&options.kind[..], &options.workers[..], &options.only[..]) else {
        return Ok(());
    };
    if options.contention {
        contention(options.keys, name);
        return Ok(());
    }
    let keys: &'static Keys = Box::leak(Box::new(Keys::new(*kind, options.keys)));
    let before = resident();
    let mut items = keys.items();
    let Some(contender) = make(name, keys) else { return Ok(()) };
    // A contender that only one may change is filled and emptied by one.
    let writers = if contender.has_one_writer() { 1 } else { *workers };
    let insert = phase(&mut items, writers, 1, &*contender, &|contender, items| contender.insert(items));
    let bytes = contender.bytes().unwrap_or_else(|| resident().saturating_sub(before)) as f64 / items.len() as f64;
    if options.ranges {
        if let Some([own, clock]) = scans(&mut items, *workers, &*contender) {
            println!("{own} {clock} {bytes}");
        }
    } else {
        let lookup = phase(&mut items, *workers, 2, &*contender, &|contender, items| {
            assert_eq!(contender.get(items), items.len());
        });
        let remove = phase(&mut items, writers, 3, &*contender, &|contender, items| contender.remove(items));
        [insert, lookup, remove].iter().for_each(|[own, clock]| print!("{own} {clock} "));
        println!("{bytes}");
    }
    // What is left is freed faster by the system.
    std::mem::forget(contender);
    Ok(())
}

/// Nanoseconds of processor time an operation, and nanoseconds between two of them by the clock, of so many workers, which
/// share all items in a random order.
fn phase(items: &mut [u64], workers: usize, seed: u64, contender: &dyn Contender, work: &Work<'_>) -> [f64; 2] {
    let number = items.len();
    let mut random = Random(seed);
    (1..number).for_each(|at| items.swap(at, random.index(at + 1)));
    let start = Instant::now();
    let own: f64 = std::thread::scope(|scope| {
        let of_workers: Vec<_> = items
            .chunks(number.div_ceil(workers))
            .map(|part| {
                scope.spawn(move || {
                    let start = running();
                    measured(part, contender, work);
                    running() - start
                })
            })
            .collect();
        of_workers.into_iter().map(|worker| worker.join().unwrap_or(f64::NAN)).sum()
    });
    [own, start.elapsed().as_nanos() as f64].map(|time| time / number as f64)
}

/// What is measured. Valgrind's simulator is told to begin to count here ([`BEGIN`](super::instructions::BEGIN)).
#[inline(never)]
fn measured(part: &[u64], contender: &dyn Contender, work: &Work<'_>) {
    part.chunks(BATCH).for_each(|items| work(contender, items));
    behind_measured();
}

/// And to write here what it has counted ([`END`](super::instructions::END)).
#[inline(never)]
fn behind_measured() {
    std::hint::black_box(());
}

/// Times of a row in scans from a hundredth of the items on; none if the contender has no such scans.
fn scans(items: &mut [u64], workers: usize, contender: &dyn Contender) -> Option<[f64; 2]> {
    contender.scan(&items[..1], 1)?;
    let starts = (items.len() / SCANNED).max(1);
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let times = phase(&mut items[..starts], workers, 2, contender, &|contender, items| {
        seen.fetch_add(contender.scan(items, SCANNED).unwrap_or(0), Relaxed);
    });
    Some(times.map(|time| time * starts as f64 / seen.load(Relaxed).max(1) as f64))
}

/// Nanoseconds for which this thread has had a processor: what else the machine does disturbs less than by the clock.
fn running() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Exponents of Zipf's law; at 3 the first key has 83% of all.
pub(super) const SKEWS: [f64; 7] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];

/// One worker looks keys up while another removes them and inserts them again.
fn contention(number: usize, name: &str) {
    let keys: &'static Keys = Box::leak(Box::new(Keys::new(Kind::Dense, number)));
    let Some(contender) = make(name, keys).filter(|contender| !contender.has_one_writer()) else { return };
    phase(&mut keys.items(), 2, 1, &*contender, &|contender, items| contender.insert(items));
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
}

/// Bytes of the process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
