//! Statements that are stopped at random moments: how long it takes from the request to the answer, whether a request was
//! lost, and whether all memory comes back.

mod phases;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use base::{Error, Random, Result, SqlState};
use engine::{Call, Database, Session};
use tpch::QUERIES;

use crate::DataOptions;
use crate::plot::{Chart, PlotOption};
use crate::tpch::{millis, open, prepare, source};
use phases::{Files, PHASES};

/// Statements with phases that are hard to stop, over TPC-H's tables.
const HARD: &[(&str, &str)] = &[
    ("sort of strings", "select l_comment from lineitem order by l_comment"),
    ("cross product", "select count(*) from lineitem a, lineitem b where a.l_orderkey + b.l_orderkey = -1"),
    ("non-equi join", "select count(*) from orders a, orders b where a.o_totalprice < b.o_totalprice - 1"),
    ("groups of strings", "select l_comment, count(*) from lineitem group by l_comment order by 2 desc limit 3"),
    (
        "window over partitions",
        "select max(s) from (select sum(l_quantity) over (partition by l_suppkey order by l_shipdate) s from lineitem) w",
    ),
    (
        "window over one partition",
        "select max(s) from (select median(l_quantity) over (order by l_orderkey rows 100 preceding) s from lineitem) w",
    ),
    ("long patterns", "select count(*) from lineitem where l_comment like '%a%e%i%o%u%a%e%i%'"),
    ("set operation", "select l_comment from lineitem except select o_comment from orders"),
    ("new table", "create table copied as select * from lineitem where l_quantity > 10"),
];

/// How the experiment is run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CancelOptions {
    #[command(flatten)]
    data: DataOptions,
    /// Requests at random moments of TPC-H's queries.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Requests at random moments of each hard statement.
    #[arg(long, default_value_t = 50)]
    hard: usize,
    /// Requests at random moments of each statement that takes long outside of morsels.
    #[arg(long, default_value_t = 20)]
    phases: usize,
    /// The longest that a statement is let run.
    #[arg(long, default_value_t = 500)]
    most_ms: u64,
    #[command(flatten)]
    plot: PlotOption,
}

/// From requests to answers, and requests that came when the statement had ended.
#[derive(Default)]
struct Times {
    stopped: Vec<Duration>,
    late: usize,
    /// Requests to the ends of statements that ended as if there had been none.
    ignored: Duration,
}

/// So many rounds of all statements that leave memory as it was are enough, and so many at most.
const SAME_ROUNDS: usize = 5;
const MOST_ROUNDS: usize = 50;

pub(crate) fn run(options: &CancelOptions) -> Result<bool> {
    let folder = prepare(&options.data)?;
    let mut session = open(&options.data)?;
    tpch::load(&mut session, &folder, source(&options.data), |_| {})?;
    let longest = Duration::from_millis(options.most_ms);
    // Until code and samples that are kept are there, and texts that are read often have left their symbols.
    let all = || QUERIES.iter().map(|q| q.sql).chain(HARD.iter().map(|(_, sql)| *sql));
    let mut once = || -> Result<(Vec<Duration>, usize)> {
        let lengths = all().map(|sql| stopped_after(&mut session, sql, longest)).collect::<Result<_>>()?;
        Ok((lengths, settled(session.database())))
    };
    let (mut lengths, mut before) = once()?;
    let mut same = 0;
    for _ in 0..MOST_ROUNDS {
        let now;
        (lengths, now) = once()?;
        same = if std::mem::replace(&mut before, now) == now { same + 1 } else { 0 };
        if same == SAME_ROUNDS {
            break;
        }
    }
    println!("{} threads, {} MiB of tables", session.database().threads(), before >> 20);
    println!("{:26} {:>8} {:>6} {:>9} {:>9} {:>9}", "stopped", "requests", "late", "p50 ms", "p99 ms", "worst ms");
    let mut random = Random(7);
    let mut times = Times::default();
    for number in 0..options.requests {
        let query = number % QUERIES.len();
        stop(&mut session, QUERIES[query].sql, lengths[query].mul_f64(random.fraction()), &mut times)?;
    }
    let mut charts = Vec::new();
    let mut right = times.report("TPC-H", &mut charts);
    for ((name, sql), length) in HARD.iter().zip(&lengths[QUERIES.len()..]) {
        let mut times = Times::default();
        for _ in 0..options.hard {
            stop(&mut session, sql, length.mul_f64(random.fraction()), &mut times)?;
        }
        right &= times.report(name, &mut charts);
    }
    let after = settled(session.database());
    println!("memory: {before} bytes before, {after} after");
    // Those that end all the same leave plans and code behind.
    right &= stop_phases(&mut session, options, longest, &mut random, &mut charts)?;
    options.plot.write("From requests to answers", &["requests that were answered"], &charts, false)?;
    Ok(right && after == before)
}

/// Stops statements in their phases outside of morsels.
fn stop_phases(
    session: &mut Session,
    options: &CancelOptions,
    longest: Duration,
    random: &mut Random,
    charts: &mut Vec<Chart>,
) -> Result<bool> {
    let files = Files::new()?;
    let mut right = true;
    for (name, make) in PHASES {
        let mut times = Times::default();
        for number in 0..options.phases {
            stop(session, &make(number, &files.0), longest.mul_f64(random.fraction()), &mut times)?;
        }
        right &= times.report(name, charts);
    }
    Ok(right)
}

/// How long the statement runs, at most so long. What it has made is dropped.
fn stopped_after(session: &mut Session, sql: &str, longest: Duration) -> Result<Duration> {
    let begin = Instant::now();
    stop(session, sql, longest, &mut Times::default())?;
    Ok(begin.elapsed().min(longest))
}

/// Runs a statement and asks for its end after a while.
fn stop(session: &mut Session, sql: &str, after: Duration, times: &mut Times) -> Result<()> {
    let call = session.interrupt_handle().begin();
    let (done, wait) = channel();
    let (outcome, end, request) = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| request(&call, after, wait));
        let outcome = drain(session, &call, sql);
        let end = Instant::now();
        tell(done);
        (outcome, end, stopper.join())
    });
    let request = request.map_err(|_| Error::internal("a request panicked"))?;
    match (outcome, request) {
        (Err(error), Some(at)) if error.state() == SqlState::QUERY_CANCELED => {
            times.stopped.push(end.saturating_duration_since(at));
        }
        (Err(error), _) => return Err(error),
        (Ok(()), at) => {
            times.late += 1;
            let waited = at.map_or(Duration::ZERO, |at| end.saturating_duration_since(at));
            times.ignored = times.ignored.max(waited);
        }
    }
    session.execute("drop table if exists copied", &[]).map(drop)
}

/// Waits for the moment, or for the end of the statement; when the request was made.
fn request(call: &Call, after: Duration, ended: Receiver<()>) -> Option<Instant> {
    if ended.recv_timeout(after).is_ok() {
        return None;
    }
    let at = Instant::now();
    call.interrupt();
    Some(at)
}

/// The one who waits may have gone.
fn tell(done: Sender<()>) {
    let _ = done.send(());
}

fn drain(session: &mut Session, call: &Call, sql: &str) -> Result<()> {
    let mut result = session.execute_in(call, sql, &[])?;
    while result.next_chunk()?.is_some() {}
    Ok(())
}

/// The memory in use when nothing changes any more: workers freeze what was committed, and let go of queries.
fn settled(database: &Database) -> usize {
    let (mut used, mut since) = (database.memory_used(), Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(10));
        let now = database.memory_used();
        if now != used {
            (used, since) = (now, Instant::now());
        }
    }
    used
}

impl Times {
    /// Prints them, and draws how many were answered within which time; whether no request was lost.
    fn report(&mut self, what: &str, charts: &mut Vec<Chart>) -> bool {
        self.stopped.sort_unstable();
        let parts = (1..=self.stopped.len()).map(|number| 100.0 * number as f64 / self.stopped.len() as f64);
        let line = self.stopped.iter().map(|time| millis(*time)).zip(parts).collect();
        charts.push(Chart { name: format!("{what}: % by ms"), lines: vec![line] });
        let at = |part: f64| {
            let number = (self.stopped.len().max(1) - 1) as f64 * part;
            self.stopped.get(number as usize).copied().map_or(0.0, millis)
        };
        let requests = self.stopped.len() + self.late;
        println!("{what:26} {requests:>8} {:>6} {:>9.2} {:>9.2} {:>9.2}", self.late, at(0.5), at(0.99), at(1.0));
        // One that comes while the last row is on its way is too late.
        let lost = self.ignored > Duration::from_millis(50);
        if lost {
            println!(
                "LOST: a statement ended {:.1} ms after the request, as if there had been none",
                millis(self.ignored)
            );
        }
        !lost
    }
}
