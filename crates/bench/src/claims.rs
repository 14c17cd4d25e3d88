//! What morsels cost: a claim, the share of claims that workers make in their own lanes, and a query's context.

use std::hint::black_box;
use std::time::Instant;

use base::{Budget, Result};
use engine::{Config, Database};
use runtime::QueryContext;
use scheduler::{Claim, Cutting, JobOptions, JobSpec, Pipeline, Scheduler, SchedulerOptions, Tasks, Wanted, WorkerId};

/// Claims for the time of one.
const CLAIMS: u64 = 4_000_000;
/// Rows of the scanned table.
const ROWS: u64 = 1 << 22;
/// Scans of which the median counts.
const SCANS: usize = 15;

/// A point query's program.
const POINT: &str = "program result s0\nstate s0 result (\"bigint\")\npipeline p0 \"one\" fills s0\n  \
                     from values 0 () {\n%0: I64 = int 1\noutput s0 %0\n}\n";

pub(crate) fn run() -> Result<bool> {
    for threads in [1, 2] {
        println!("a claim, {threads} workers at once          {:8.1} ns", claim(threads));
    }
    for jobs in [1, 2] {
        println!("an empty morsel, {jobs} jobs, one worker    {:8.1} ns", empty_morsel(jobs)?);
    }
    for threads in [1, 2] {
        let (own, morsels, remote) = scan(threads)?;
        println!("a scan, {threads} workers: {own:6.2} % of {morsels} claims in their own lanes, {remote} remote rows");
    }
    println!("context of a point query             {:8.1} ns", context()?);
    println!("a point query, code from the cache   {:8.1} ns", point()?);
    Ok(true)
}

/// Nanoseconds of a claim while as many workers as lanes claim.
fn claim(threads: usize) -> f64 {
    let cut = Cutting { morsel_rows: 1, ..Cutting::new(threads) };
    let ranges = cut.rows(CLAIMS * threads as u64);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (ranges, worker) = (&ranges, WorkerId(worker as u32));
            scope.spawn(move || {
                for _ in 0..CLAIMS {
                    black_box(ranges.claim(worker, Wanted::USUAL));
                }
            });
        }
    });
    let time = begin.elapsed().as_nanos() as f64 / CLAIMS as f64;
    assert_eq!(ranges.claim(WorkerId(0), Wanted::USUAL), Claim::Done);
    time
}

/// Nanoseconds of a morsel that does nothing, while so many jobs take turns.
fn empty_morsel(jobs: u64) -> Result<f64> {
    let morsels = 200_000;
    let pool = Scheduler::new(&SchedulerOptions { threads: Some(1), ..Default::default() })?;
    let begin = Instant::now();
    let submit = |_| {
        let mut spec = JobSpec::new();
        let source = move |cut: &Cutting| {
            let cut = Cutting { morsel_rows: 1, adapts: false, ..cut.clone() };
            Ok(Tasks::boxed(cut.rows(morsels), |_, morsel| {
                black_box(morsel);
                Ok(())
            }))
        };
        spec.add(Pipeline::new("nothing", source), &[]);
        pool.submit(spec, JobOptions::default())
    };
    let jobs: Vec<_> = (0..jobs).map(submit).collect();
    jobs.iter().try_for_each(|job| job.wait())?;
    Ok(begin.elapsed().as_nanos() as f64 / (morsels * jobs.len() as u64) as f64)
}

/// Of the scans' claims: the median percentage that workers made in their own lanes, and how many there were in a scan;
/// and the rows of a scan that lay on other nodes.
fn scan(threads: usize) -> Result<(f64, u64, u64)> {
    let mut session = Database::new(Config { threads: Some(threads), ..Config::default() })?.connect();
    session.execute("create table t (a bigint)", &[])?;
    session.execute("insert into t values (1), (2), (3), (4)", &[])?;
    // Each time as many rows again.
    for _ in 2..ROWS.ilog2() {
        session.execute("insert into t select a + 7 from t", &[])?.collect()?;
    }
    let mut shares = Vec::new();
    let (mut morsels, mut remote) = (0, 0);
    for _ in 0..SCANS {
        let mut result = session.execute("select sum(a * a) from t", &[])?;
        while result.next_chunk()?.is_some() {}
        let scan = result.stages().into_iter().max_by_key(|stage| stage.rows).expect("a query has a stage");
        (morsels, remote) = (scan.morsels, scan.remote_rows);
        shares.push(100.0 * (scan.morsels - scan.stolen) as f64 / scan.morsels as f64);
    }
    shares.sort_by(f64::total_cmp);
    Ok((shares[SCANS / 2], morsels, remote))
}

/// Nanoseconds for a context with its first worker.
fn context() -> Result<f64> {
    let program = pipeline::ir::parse(POINT)?;
    let budget = Budget::new(usize::MAX);
    let mut make = || QueryContext::new(&program, budget.clone(), |_| None).map(|context| drop(black_box(context)));
    median(20_000, &mut make)
}

fn point() -> Result<f64> {
    let mut session = Database::new(Config::default())?.connect();
    session.execute("create table p (k bigint, v bigint)", &[])?;
    session.execute("insert into p values (1, 10), (2, 20), (3, 30)", &[])?;
    median(2_000, &mut || session.execute("select v from p where k = 2", &[])?.collect().map(drop))
}

fn median(runs: usize, run: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let begin = Instant::now();
        run()?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    Ok(times[runs / 2].as_nanos() as f64)
}
