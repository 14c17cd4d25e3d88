//! TPC-H while another process hogs one core (thesis 4.6.4): with morsels the workers share what is left, with one equal part each, made
//! beforehand, all wait for the one that shares its core.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base::{Error, Result, SqlState};
use clap::Args;
use engine::Session;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tpch::QUERIES;

use crate::DataOptions;
use crate::paired::Interval;
use crate::plot::{Chart, PlotOption};
use crate::tpch::{millis, open, prepare, source};

/// A run.
#[derive(Args, Clone, Debug)]
pub(crate) struct InterferenceOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Rounds of all queries in each way, in turns.
    #[arg(long, default_value_t = 7)]
    pub rounds: usize,
    /// Be the process that hogs a core.
    #[arg(long, hide = true)]
    pub hog: bool,
    #[command(flatten)]
    pub plot: PlotOption,
}

/// Another process that hogs the last core that this one may use, until it is dropped.
struct Hog(Child);

impl Hog {
    fn begin() -> Result<Self> {
        let io = |e: std::io::Error| Error::new(SqlState::IO_ERROR, format!("the hog does not start: {e}"));
        let child = Command::new(std::env::current_exe().map_err(io)?)
            .args(["interference", "--hog"])
            .stdin(Stdio::null())
            .spawn()
            .map_err(io)?;
        // It is busy when the first query comes.
        std::thread::sleep(Duration::from_millis(100));
        Ok(Self(child))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Never ends.
fn hog() -> ! {
    if let Ok(allowed) = sched_getaffinity(None)
        && let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu))
    {
        let mut only = CpuSet::new();
        only.set(last);
        let _ = sched_setaffinity(None, &only);
    }
    loop {
        std::hint::black_box(0);
    }
}

pub(crate) fn run(options: &InterferenceOptions) -> Result<bool> {
    if options.hog {
        hog();
    }
    let folder = prepare(&options.data)?;
    let mut session = open(&options.data)?;
    tpch::load(&mut session, &folder, source(&options.data), |_| {})?;
    let divisions = ["morsels", "static"];
    // By division, without and with the hog.
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for _ in 0..options.rounds.max(1) {
        for (division, times) in divisions.iter().zip(&mut times) {
            session.execute(&format!("set work_division = {division}"), &[])?;
            times[0].push(all(&mut session)?);
            let hog = Hog::begin()?;
            times[1].push(all(&mut session)?);
            drop(hog);
        }
    }
    let cores = sched_getaffinity(None).map_or(1, |allowed| allowed.count()) as f64;
    let left = (cores - 0.5) / cores;
    println!("{cores} cores, of which another process takes half of one: {:.1}% are left", 100.0 * left);
    println!("{:<10} {:>10} {:>10} {:>28} {:>28}", "division", "alone ms", "beside ms", "slower", "beyond its share");
    for (division, [alone, beside]) in divisions.iter().zip(&times) {
        let ratios = beside.iter().zip(alone).map(|(beside, alone)| beside.as_secs_f64() / alone.as_secs_f64());
        let slower = Interval::of(ratios.collect());
        println!(
            "{division:<10} {:>10.1} {:>10.1} {:>28} {:>28}",
            median(alone),
            median(beside),
            slower.percent(),
            slower.times(left).percent()
        );
    }
    let rounds =
        |times: &Vec<Duration>| times.iter().enumerate().map(|(at, time)| (at as f64 + 1.0, millis(*time))).collect();
    let chart = |(division, times): (&&str, &[Vec<Duration>; 2])| Chart {
        name: format!("{division}: ms by round"),
        lines: times.iter().map(rounds).collect(),
    };
    let charts: Vec<_> = divisions.iter().zip(&times).map(chart).collect();
    options.plot.write("Interference", &["alone", "beside another process"], &charts, true)?;
    Ok(true)
}

/// The time of all queries, once each.
fn all(session: &mut Session) -> Result<Duration> {
    let begin = Instant::now();
    for query in QUERIES {
        session.execute(query.sql, &[])?.collect()?;
    }
    Ok(begin.elapsed())
}

/// In milliseconds.
fn median(times: &[Duration]) -> f64 {
    Interval::of(times.iter().copied().map(millis).collect()).median
}
