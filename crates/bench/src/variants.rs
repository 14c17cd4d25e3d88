//! TPC-H by real workers with features of the dispatcher turned off one by one (thesis, figure 4.12); `replay` has more workers than the
//! machine.

use std::time::Duration;

use base::Result;
use clap::Args;
use engine::{Config, Database, Session};
use scheduler::Topology;
use tpch::QUERIES;

use crate::DataOptions;
use crate::plot::{Chart, PlotOption};
use crate::tpch::{measure, millis, prepare, source};

/// A run.
#[derive(Args, Clone, Debug)]
pub(crate) struct VariantsOptions {
    #[command(flatten)]
    data: DataOptions,
    /// Workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Rounds of all queries in all variants, in turns; the best run of each counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[command(flatten)]
    plot: PlotOption,
}

struct Variant {
    name: &'static str,
    /// Whether the nodes of the machine are known.
    is_aware: bool,
    settings: &'static str,
}

const ALL: &str = "SET work_division = morsels; SET join_tags = on";
const VARIANTS: [Variant; 4] = [
    Variant { name: "all", is_aware: true, settings: ALL },
    Variant { name: "not NUMA-aware", is_aware: false, settings: ALL },
    Variant { name: "not adaptive", is_aware: false, settings: "SET work_division = static; SET join_tags = on" },
    Variant { name: "and no tags", is_aware: false, settings: "SET work_division = static; SET join_tags = off" },
];

pub(crate) fn run(options: &VariantsOptions) -> Result<bool> {
    let folder = prepare(&options.data)?;
    let most = options.workers.iter().copied().max().unwrap_or(1);
    let machine = Topology::detect();
    println!("{} nodes, {} hardware threads", machine.node_count(), machine.cpu_count());
    let session = |topology| -> Result<Session> {
        let config = Config { threads: Some(most), topology: Some(topology), ..Config::default() };
        let mut session = Database::new(config)?.connect();
        tpch::load(&mut session, &folder, source(&options.data), |_| {})?;
        Ok(session)
    };
    let single = Topology::single(machine.cpu_count());
    let mut sessions = [session(machine)?, session(single)?];
    // Times by variant, number of workers and query.
    let mut best = vec![vec![[Duration::MAX; QUERIES.len()]; options.workers.len()]; VARIANTS.len()];
    for _ in 0..options.rounds.max(1) {
        for (variant, best) in VARIANTS.iter().zip(&mut best) {
            let session = &mut sessions[usize::from(!variant.is_aware)];
            for (workers, best) in options.workers.iter().zip(best) {
                set(session, &format!("{}; SET threads = {workers}", variant.settings))?;
                for (query, best) in QUERIES.iter().zip(best) {
                    *best = (*best).min(measure(session, query, 2, false)?.best);
                }
            }
        }
    }
    let base = best[0][0];
    let speed_ups = |variant: usize, workers: usize| {
        base.iter().zip(&best[variant][workers]).map(|(base, time)| base.as_secs_f64() / time.as_secs_f64())
    };
    print!("\n{:6} {:>9}", "", "ms");
    let columns = || (0..VARIANTS.len()).flat_map(|v| (0..options.workers.len()).map(move |w| (v, w)));
    columns().for_each(|(v, w)| print!(" {:>18}", format!("{}, {}", VARIANTS[v].name, options.workers[w])));
    println!();
    for (number, query) in QUERIES.iter().enumerate() {
        print!("Q{:<5} {:9.2}", query.number, millis(base[number]));
        columns().for_each(|(v, w)| print!(" {:18.2}", speed_ups(v, w).nth(number).unwrap_or(f64::NAN)));
        println!();
    }
    print!("{:6} {:9}", "mean", "");
    let mean = |v, w| (speed_ups(v, w).map(f64::ln).sum::<f64>() / QUERIES.len() as f64).exp();
    columns().for_each(|(v, w)| print!(" {:18.2}", mean(v, w)));
    println!();
    let line = |v: usize, number: usize| {
        let of = |(w, workers): (usize, &usize)| (*workers as f64, speed_ups(v, w).nth(number).unwrap_or(f64::NAN));
        options.workers.iter().enumerate().map(of).collect()
    };
    let chart = |(number, query): (usize, &tpch::Query)| Chart {
        name: format!("Q{}", query.number),
        lines: (0..VARIANTS.len()).map(|v| line(v, number)).collect(),
    };
    let charts: Vec<_> = QUERIES.iter().enumerate().map(chart).collect();
    options.plot.write("Speed-ups", &VARIANTS.map(|variant| variant.name), &charts, true)?;
    Ok(true)
}

fn set(session: &mut Session, statements: &str) -> Result<()> {
    statements.split(';').try_for_each(|statement| session.execute(statement, &[])?.collect().map(drop))
}
