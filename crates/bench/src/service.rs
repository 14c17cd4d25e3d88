//! Short queries that come at random times beside endless long ones: what they wait for, and what is left for the long ones.
//!
//! Arrivals are open-loop: they come when they come, whether earlier ones have been answered or not, at intervals that are
//! exponentially distributed. A time is from the arrival to the last row. A load of 50% is one at which the short queries
//! alone need half of the workers' time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use base::{Error, Random, Result, SqlState};
use engine::{Config, Database, Session};

use crate::numbers;
use crate::plot::{Chart, PlotOption};
use crate::tpch::millis;

/// Long queries at once.
const LONG: usize = 8;
/// Clients of the short queries; who comes when all are busy waits for one, which counts.
const CLIENTS: usize = 32;
/// How often a long query's client looks up.
const LOOK: Duration = Duration::from_millis(20);
/// What runs before anything is measured.
const WARM: Duration = Duration::from_secs(1);

/// Rows of the tables that long queries read, as a power of ten.
const DIGITS: usize = 6;

/// Long queries, by name. Those that end begin again.
const BESIDE: &[(&str, &str)] = &[
    ("nothing", ""),
    ("groups", "select a.x % 1000, count(*), sum(a.y * b.x) from t a, t b group by 1"),
    ("cross products", "select count(*) from t a, t b where a.x + b.x = -7"),
    ("non-equi joins", "select count(*) from t a, t b where a.x < b.y and a.y * 2 > b.x + 3"),
    ("sorts of strings", "select label from t order by label offset 999999"),
    ("windows", "select max(s) from (select sum(y) over (partition by x % 100 order by y) s from t) w"),
];

/// How the experiment is run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ServiceOptions {
    /// Threads; by default all that the process may use.
    #[arg(long)]
    threads: Option<usize>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Loads of short queries, in percent.
    #[arg(long, value_delimiter = ',', default_value = "20,50,80")]
    load: Vec<u32>,
    /// Only beside those long queries whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Thousands of rows that a short query reads.
    #[arg(long, default_value_t = 1000)]
    rows: u32,
    /// The priority of the short queries.
    #[arg(long, default_value_t = 100)]
    priority: u32,
    #[command(flatten)]
    plot: PlotOption,
}

/// What a measurement has found.
struct Found {
    /// Sorted.
    times: Vec<Duration>,
    /// The part of the workers' time that the long queries had.
    long: f64,
}

pub(crate) fn run(options: &ServiceOptions) -> Result<bool> {
    let database = Database::new(Config { threads: options.threads, ..Config::default() })?;
    let mut session = database.connect();
    let spread = "id * 2654435761::bigint % 4294967296::bigint";
    let make = format!(
        "create table t as select id x, ({spread}) % 1000000 y, 'a label of ' || lpad(({spread})::text, 13, '0') label from {}",
        numbers::ids(DIGITS)
    );
    session.execute(&make, &[])?.collect()?;
    session.execute(&format!("create table s as select x, y from t where x < {} * 1000", options.rows), &[])?;
    let alone = length(&mut session)?;
    println!(
        "{} threads; a short query takes {:.2} ms alone; {LONG} long queries; {} s each",
        database.threads(),
        millis(alone),
        options.seconds
    );
    println!(
        "{:18} {:>5} {:>7} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7}",
        "beside", "load", "queries", "p50 ms", "p99 ms", "worst ms", "p50 x", "p99 x", "long"
    );
    let mut bases = Vec::new();
    let (mut names, mut lines) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (name, long) in BESIDE.iter().filter(|(name, _)| wanted(options, name)) {
        names.push(*name);
        lines.iter_mut().for_each(|lines| lines.push(Vec::new()));
        for (at, &load) in options.load.iter().enumerate() {
            let found = measure(&database, options, long, alone.as_secs_f64() * 100.0 / f64::from(load))?;
            let (p50, p99) = (found.at(0.5), found.at(0.99));
            if long.is_empty() {
                bases.push((p50, p99));
            }
            let (base50, base99) = bases[at];
            println!(
                "{name:18} {load:>4}% {:>7} {p50:>9.2} {p99:>9.2} {:>9.2} {:>7.2} {:>7.2} {:>6.1}%",
                found.times.len(),
                found.at(1.0),
                p50 / base50,
                p99 / base99,
                found.long * 100.0
            );
            let of_name = lines.iter_mut().filter_map(|lines| lines.last_mut());
            of_name.zip([p50, p99]).for_each(|(line, time)| line.push((f64::from(load), time)));
        }
    }
    let charts = ["p50", "p99"].map(|part| format!("{part} of short queries, ms, by load in percent"));
    let charts: Vec<_> = charts.into_iter().zip(lines).map(|(name, lines)| Chart { name, lines }).collect();
    options.plot.write("Short queries beside long ones", &names, &charts, false)?;
    Ok(true)
}

fn wanted(options: &ServiceOptions, name: &str) -> bool {
    name == "nothing" || options.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
}

/// A short query: a literal that no plan was made for, as it would come from an application.
fn short(session: &mut Session, number: usize) -> Result<()> {
    let sql = format!("select count(*), sum(y) from s where x * 7 % 1000 <> {}", number % 1000);
    session.execute(&sql, &[])?.collect().map(drop)
}

/// The median of many, one after the other.
fn length(session: &mut Session) -> Result<Duration> {
    let time = |n| {
        let begin = Instant::now();
        short(session, n).map(|()| begin.elapsed())
    };
    let mut times = (0..300).map(time).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// Short queries every so many seconds on average, beside the long one.
fn measure(database: &Database, options: &ServiceOptions, long: &str, interval: f64) -> Result<Found> {
    let stop = AtomicBool::new(false);
    let busy: Vec<AtomicU64> = (0..LONG).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        let stop = &stop;
        let endless = |busy| scope.spawn(move || run_endlessly(database, long, busy, stop));
        let others: Vec<_> = busy.iter().filter(|_| !long.is_empty()).map(endless).collect();
        std::thread::sleep(WARM);
        let sum = || busy.iter().map(|nanos| nanos.load(Relaxed)).sum::<u64>();
        let (begin, before) = (Instant::now(), sum());
        let times = arrivals(database, options, interval);
        let long = (sum() - before) as f64 / begin.elapsed().as_nanos() as f64 / database.threads() as f64;
        stop.store(true, Relaxed);
        for other in others {
            other.join().map_err(|_| Error::internal("a long query panicked"))??;
        }
        Ok(Found { times: times?, long })
    })
}

/// A long query again and again; how long workers were busy with it is told all the time.
fn run_endlessly(database: &Database, sql: &str, busy: &AtomicU64, stop: &AtomicBool) -> Result<()> {
    let mut session = database.connect();
    let mut before = 0;
    while !stop.load(Relaxed) {
        let mut result = session.execute(sql, &[])?;
        loop {
            let end = matches!(result.poll_chunk(LOOK)?, Some(None));
            let nanos: u128 = result.stages().iter().map(|stage| stage.busy.as_nanos()).sum();
            busy.store(before + nanos as u64, Relaxed);
            if end || stop.load(Relaxed) {
                break;
            }
        }
        before = busy.load(Relaxed);
    }
    Ok(())
}

/// Times of short queries, sorted.
fn arrivals(database: &Database, options: &ServiceOptions, interval: f64) -> Result<Vec<Duration>> {
    let mut random = Random(42);
    let mut at = 0.0;
    let times = std::iter::from_fn(|| {
        at -= interval * (1.0 - random.fraction()).ln();
        Some(Duration::from_secs_f64(at))
    });
    let times: Vec<Duration> = times.take_while(|at| at.as_secs() < options.seconds).collect();
    let (next, begin) = (AtomicUsize::new(0), Instant::now());
    let client = || -> Result<Vec<Duration>> {
        let mut session = database.connect();
        session.execute(&format!("set priority = {}", options.priority), &[])?;
        let mut took = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(&at) = times.get(number) else { return Ok(took) };
            std::thread::sleep(at.saturating_sub(begin.elapsed()));
            short(&mut session, number)?;
            took.push(begin.elapsed() - at);
        }
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        let mut all = Vec::new();
        for client in clients {
            let panicked = |_| Error::new(SqlState::INTERNAL, "a client panicked");
            all.extend(client.join().map_err(panicked)??);
        }
        all.sort_unstable();
        Ok(all)
    })
}

impl Found {
    /// The time in milliseconds that this part of the queries did not exceed.
    fn at(&self, part: f64) -> f64 {
        self.times.get(((self.times.len().max(1) - 1) as f64 * part) as usize).copied().map_or(0.0, millis)
    }
}
