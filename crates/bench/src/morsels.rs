//! Sizes of morsels: what small ones cost and large ones hold up (thesis figure 4.6), how nearly workers finish together, and
//! what a claim costs that is stolen.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::{Error, Result};
use engine::{Config, Database, Session};
use scheduler::{Claim, Cutting, Wanted, WorkerId};

use crate::numbers;
use crate::plot::{Chart, PlotOption};
use crate::tpch::millis;
use crate::traces::{self, Span};

/// Rows of the table, as a power of ten.
const DIGITS: usize = 7;
const SIZES: [u64; 11] = [100, 300, 1000, 3000, 10_000, 16_384, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];
/// Runs of which the best counts.
const RUNS: usize = 15;
/// The figure's query, but for the sum: of a column alone, bounds of chunks are enough.
const QUERY: &str = "select min(x + 1) from r";
/// A query whose morsels differ.
const UNEVEN: &str = "select count(*), min(sqrt(x)) from r where x > 5000000 or x % 64 = 1";
/// Runs that are traced, of morsels of so many rows at least: smaller ones make large files.
const FINISHES: usize = 9;
const TRACED: u64 = 1000;
const CLAIMS: u64 = 1 << 20;

pub(crate) fn run(plot: &PlotOption) -> Result<bool> {
    for (adapts, sizes) in [(false, "one size"), (true, "adapted")] {
        let [own, two, most] = [1, 2, 64].map(|lanes| claim(lanes, adapts));
        println!(
            "a claim, {sizes}: {own:.1} ns of one's own, {two:.1} ns of two lanes, {most:.1} ns of 64, most stolen"
        );
    }
    let file = std::env::temp_dir().join(format!("morsel-sizes-{}.json", std::process::id()));
    let mut lines = Vec::new();
    for threads in [1, 2] {
        println!("\n{QUERY}, 10^{DIGITS} rows, {threads} workers");
        println!("{:>10} {:>10} {:>8} {:>12} {:>12}", "morsel", "ms", "lost", "spread us", "longest us");
        let mut times = Vec::new();
        for size in SIZES {
            let mut session = open(threads, Some(size))?;
            let time = best(&mut session, QUERY)?;
            let finish = if size >= TRACED { photo_finish(&mut session, &file)? } else { (f64::NAN, f64::NAN) };
            times.push((size.to_string(), time, finish));
        }
        let power = |size: &u64| (*size as f64).log10();
        lines.push(SIZES.iter().map(power).zip(times.iter().map(|(_, time, _)| millis(*time))).collect());
        let mut session = open(threads, None)?;
        times.push(("adapted".into(), best(&mut session, QUERY)?, photo_finish(&mut session, &file)?));
        let mut session = open(threads, Some(SIZES[5]))?;
        session.execute("set work_division = static", &[])?;
        times.push(("static".into(), best(&mut session, QUERY)?, photo_finish(&mut session, &file)?));
        let least = times.iter().map(|(_, time, _)| *time).min().unwrap_or_default();
        for (size, time, (spread, longest)) in &times {
            let lost = 100.0 * (1.0 - least.as_secs_f64() / time.as_secs_f64());
            println!("{size:>10} {:>10.2} {lost:>7.1}% {spread:>12.0} {longest:>12.0}", millis(*time));
        }
    }
    let _ = std::fs::remove_file(&file);
    let chart = Chart { name: "ms by the logarithm of a morsel's rows".into(), lines };
    plot.write("Sizes of morsels", &["one worker", "two workers"], &[chart], false)?;
    Ok(true)
}

fn open(threads: usize, morsel_rows: Option<u64>) -> Result<Session> {
    let config = Config { threads: Some(threads), morsel_rows, ..Config::default() };
    let mut session = Database::new(config)?.connect();
    session.execute(&format!("create table r as select id x from {}", numbers::ids(DIGITS)), &[])?.collect()?;
    // Freezing ends before anything is measured.
    session.execute("select count(*) from storage_info('r')", &[])?.collect()?;
    Ok(session)
}

fn best(session: &mut Session, sql: &str) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let begin = Instant::now();
        session.execute(sql, &[])?.collect()?;
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

/// Microseconds between the first and the last worker's last morsel of an uneven scan, and the longest run of one: medians.
fn photo_finish(session: &mut Session, file: &Path) -> Result<(f64, f64)> {
    let path: PathBuf = file.into();
    session.execute(&format!("set trace = '{}'", path.display()), &[])?;
    for _ in 0..FINISHES {
        session.execute(UNEVEN, &[])?.collect()?;
    }
    session.execute("set trace = ''", &[])?;
    let spans = traces::morsels(&path)?;
    let mut found: Vec<(f64, f64)> = Vec::new();
    for query in traces::queries(&spans) {
        let scan: Vec<&Span> = spans.iter().filter(|span| span.query == query && span.pipeline == 0).collect();
        let last = |worker: u64| scan.iter().filter(|s| s.worker == worker).map(|s| s.end).fold(f64::NAN, f64::max);
        let ends: Vec<f64> = traces::workers(&scan).into_iter().map(last).collect();
        let (first, last) = (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
        found.push((last - first, scan.iter().map(|span| span.end - span.begin).fold(0.0, f64::max)));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.get(found.len() / 2).copied().ok_or_else(|| Error::internal("nothing was traced"))
}

/// Nanoseconds of a claim of a worker who is alone with so many lanes, each of a row.
fn claim(lanes: usize, adapts: bool) -> f64 {
    let cut = Cutting { morsel_rows: 1, adapts, ..Cutting::new(lanes) };
    let ranges = cut.rows(CLAIMS);
    let wanted = Wanted { rows: 1, least: 1, workers: lanes as u32 };
    let begin = Instant::now();
    while let Claim::Morsel { morsel, .. } = ranges.claim(WorkerId(0), wanted) {
        black_box(morsel);
    }
    begin.elapsed().as_nanos() as f64 / CLAIMS as f64
}
