//! The figures of the thesis's chapter 4 that need many cores, by replay (decision 34): real morsels of TPC-H or of other
//! queries, run once, on machines that are described.

mod machine;
mod played;
mod recording;
mod simulate;
#[cfg(test)]
mod tests;
mod thesis;

use std::collections::BTreeMap;

use base::{Random, Result};
use engine::{Config, Database, Session};
use scheduler::{Seats, Topology};

use crate::plot::{Chart, PlotOption};
use crate::tpch::{prepare, source};
use crate::workload::WorkloadOptions;
use machine::Machine;
use recording::Query;
use simulate::{Memory, Outcome, Policy, Run, simulate};

/// How the figures are made.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ReplayOptions {
    #[command(flatten)]
    workload: WorkloadOptions,
    /// Rows of a recorded morsel: small ones, so that little data has as many as much data would.
    #[arg(long, default_value_t = 2048)]
    morsel_rows: u64,
    /// How often each morsel of a phase with several is run: much data of little.
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Recordings of each query, of which the quickest counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,48,64")]
    workers: Vec<usize>,
    /// A further machine, as `8x16` or `8x16:ring`, of nodes and links like the thesis's.
    #[arg(long)]
    topology: Option<String>,
    #[command(flatten)]
    plot: PlotOption,
}

const AWARE: Policy = Policy { memory: Memory::Aware, is_static: false };
const SYSTEM: Policy = Policy { memory: Memory::OneNode, is_static: false };
const INTERLEAVED: Policy = Policy { memory: Memory::Interleaved, is_static: false };

/// The four variants of figure 4.12. The last one's tables lie on all nodes, as Vectorwise's did.
const VARIANTS: [(&str, Policy); 4] = [
    ("aware", AWARE),
    ("not NUMA-aware", SYSTEM),
    ("not adaptive", Policy { is_static: true, ..SYSTEM }),
    ("Volcano-like", Policy { is_static: true, ..INTERLEAVED }),
];

/// Streams of figure 4.13.
const STREAMS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Recordings of all queries, by the number of workers that were played.
type Recorded = BTreeMap<usize, Vec<Query>>;

pub(crate) fn run(options: &ReplayOptions) -> Result<bool> {
    let mut session = open(options)?;
    let queries = options.workload.queries()?;
    let mut recorded = Recorded::new();
    for &workers in &options.workers {
        let record = |(name, sql): &(String, String)| best(&mut session, options, name, sql, workers);
        recorded.insert(workers, queries.iter().map(record).collect::<Result<_>>()?);
    }
    drop(session);
    let is_tpch = options.workload.is_tpch();
    println!("recorded: morsels of {} rows, each {} times", options.morsel_rows, options.repeat);
    let mut machines = vec![Machine::nehalem(), Machine::sandy_bridge()];
    machines.extend(options.topology.as_deref().map(Machine::described).transpose()?);
    for machine in &machines {
        speed_ups(machine, &recorded, is_tpch);
        placements(machine, &recorded);
    }
    remote_shares((&machines[0], &machines[1]), &recorded, is_tpch);
    if let Some(machine) = machines.get(2) {
        remote_shares((machine, machine), &recorded, is_tpch);
    }
    if is_tpch {
        let most = options.workers.iter().copied().max().unwrap_or(1);
        played::print(&prepare(&options.workload.data)?, source(&options.workload.data), most)?;
    }
    interference(&machines[0], &recorded);
    streams(&machines[0], &recorded);
    let of = |variant: &Policy| curves(&machines[0], &recorded, *variant);
    let variants: Vec<_> = VARIANTS.iter().map(|(_, policy)| of(policy)).collect();
    let queries = recorded.values().next().into_iter().flatten().enumerate();
    let points = |curve: &Vec<f64>| recorded.keys().map(|&x| x as f64).zip(curve.iter().copied()).collect();
    let charts: Vec<_> = queries
        .map(|(at, query)| Chart {
            name: query.name.clone(),
            lines: variants.iter().map(|curves| points(&curves[at])).collect(),
        })
        .collect();
    options.plot.write("Speed-ups", &VARIANTS.map(|(name, _)| name), &charts, true)?;
    Ok(true)
}

/// A database with the data, whose nodes are the described machines'.
fn open(options: &ReplayOptions) -> Result<Session> {
    let config = Config {
        threads: Some(1),
        topology: Some(Topology::uniform(4, 16)),
        morsel_rows: Some(options.morsel_rows),
        ..Config::default()
    };
    let mut session = Database::new(config)?.connect();
    options.workload.load(&mut session)?;
    Ok(session)
}

/// The quickest of some recordings.
fn best(session: &mut Session, options: &ReplayOptions, name: &str, sql: &str, workers: usize) -> Result<Query> {
    let record = |_| Ok(Query::of(name, &session.record(sql, workers, Seats::Own)?));
    let recordings = (0..options.runs.max(1)).map(record).collect::<Result<Vec<_>>>()?;
    let quickest = recordings.into_iter().min_by(|a, b| time(a).total_cmp(&time(b)));
    Ok(quickest.expect("at least one").repeated(options.repeat))
}

/// On one worker.
fn time(query: &Query) -> f64 {
    query.parallel() + query.serial()
}

fn alone(machine: &Machine, query: &Query, workers: usize, policy: Policy) -> Outcome {
    simulate(&Run { machine, policy, streams: vec![vec![query]], workers, hogged: false })
}

/// Speed-ups of each query, by number of workers.
fn curves(machine: &Machine, recorded: &Recorded, policy: Policy) -> Vec<Vec<f64>> {
    let (_, first) = recorded.first_key_value().expect("a number of workers");
    let of = |at: usize| {
        let base = alone(machine, &first[at], 1, AWARE).time;
        let speed_up =
            |(&workers, queries): (&usize, &Vec<Query>)| base / alone(machine, &queries[at], workers, policy).time;
        recorded.iter().map(speed_up).collect()
    };
    (0..first.len()).map(of).collect()
}

fn geometric_mean(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    (numbers.clone().map(f64::ln).sum::<f64>() / numbers.count().max(1) as f64).exp()
}

/// Figure 4.12, and the limits by Amdahl's law.
fn speed_ups(machine: &Machine, recorded: &Recorded, is_tpch: bool) {
    println!("\nspeed-ups on {}, and what no number of workers exceeds", machine.name);
    let counts: Vec<String> = recorded.keys().map(|workers| format!("{workers:>6}")).collect();
    println!(
        "{:8} {} {:>8} {:>7} {:>7} {:>7} {:>7}",
        "",
        counts.join(" "),
        "limit",
        "system",
        "static",
        "Volcano",
        "thesis"
    );
    let all: Vec<Vec<Vec<f64>>> = VARIANTS.iter().map(|(_, policy)| curves(machine, recorded, *policy)).collect();
    let (_, most) = recorded.last_key_value().expect("a number of workers");
    let (_, first) = recorded.first_key_value().expect("a number of workers");
    for (at, query) in most.iter().enumerate() {
        let curve: Vec<String> = all[0][at].iter().map(|speed_up| format!("{speed_up:6.1}")).collect();
        let last = |variant: &Vec<Vec<f64>>| variant[at].last().copied().unwrap_or(0.0);
        let limit = time(&first[at]) / query.critical();
        print!("{:8} {} {limit:8.0}", query.name, curve.join(" "));
        all[1..].iter().for_each(|variant| print!(" {:7.1}", last(variant)));
        println!(" {:>7}", if is_tpch { thesis::speed_up(&machine.name, at) } else { String::new() });
    }
    for ((name, _), variant) in VARIANTS.iter().zip(&all) {
        let mean = |at: usize| geometric_mean(variant.iter().map(move |curve| curve[at]));
        let means: Vec<String> = (0..recorded.len()).map(|at| format!("{:6.1}", mean(at))).collect();
        println!("{} geometric mean, {name}", means.join(" "));
    }
}

/// The table of 4.6.3: how much quicker it is to be aware of nodes.
fn placements(machine: &Machine, recorded: &Recorded) {
    let (&workers, queries) = recorded.last_key_value().expect("a number of workers");
    for (name, policy) in [("OS default", SYSTEM), ("interleaved", INTERLEAVED)] {
        let gains: Vec<f64> = queries
            .iter()
            .map(|query| alone(machine, query, workers, policy).time / alone(machine, query, workers, AWARE).time)
            .collect();
        let most = gains.iter().copied().fold(0.0, f64::max);
        let mean = geometric_mean(gains.iter().copied());
        println!("{}, {workers} workers: aware is {mean:.2}x quicker than {name}, at most {most:.2}x", machine.name);
    }
}

/// Tables 4.1 and 4.3: shares of bytes from other nodes, and on the ring from two hops away.
fn remote_shares((machine, ring): (&Machine, &Machine), recorded: &Recorded, is_tpch: bool) {
    let (&workers, queries) = recorded.last_key_value().expect("a number of workers");
    println!(
        "\nremote bytes in percent, {workers} workers of {}; of them two hops away in {}",
        machine.name, ring.name
    );
    println!(
        "{:8} {:>7} {:>11} {:>7} {:>7} {:>7} {:>9}",
        "", "aware", "interleaved", "system", "thesis", "there", "two hops"
    );
    for (at, query) in queries.iter().enumerate() {
        let remote = |policy| 100.0 * alone(machine, query, workers, policy).remote();
        let on_ring = alone(ring, query, workers, AWARE);
        let known = if is_tpch { thesis::TPCH_REMOTE.get(at) } else { thesis::SSB_REMOTE.get(at) };
        println!(
            "{:8} {:7.1} {:11.1} {:7.1} {:>7} {:7.1} {:9.1}",
            query.name,
            remote(AWARE),
            remote(INTERLEAVED),
            remote(SYSTEM),
            known.map_or(String::new(), u32::to_string),
            100.0 * on_ring.remote(),
            100.0 * on_ring.far()
        );
    }
}

/// Section 4.6.4: something else is busy on one processor.
fn interference(machine: &Machine, recorded: &Recorded) {
    let (&workers, queries) = recorded.last_key_value().expect("a number of workers");
    println!("\nsomething else on one processor, {} with {workers} workers", machine.name);
    for (name, is_static, thesis) in [("by morsels", false, 4.7), ("static", true, 36.8)] {
        let policy = Policy { is_static, ..AWARE };
        let time = |hogged| -> f64 {
            let one = |query| simulate(&Run { machine, policy, streams: vec![vec![query]], workers, hogged }).time;
            queries.iter().map(one).sum()
        };
        println!(
            "{name:12} {:5.1} % slower in all; thesis: throughput falls by {thesis} %",
            100.0 * (time(true) / time(false) - 1.0)
        );
        println!("{:12} {:5.1} % less throughput", "", 100.0 * (1.0 - time(false) / time(true)));
    }
}

/// Figure 4.13: permutations of the queries in streams that share the workers.
fn streams(machine: &Machine, recorded: &Recorded) {
    let most = *recorded.last_key_value().expect("a number of workers").0;
    println!("\nstreams that share {most} workers of {}", machine.name);
    println!("{:>7} {:>12} {:>8}", "streams", "queries/s", "of best");
    let mut found = Vec::new();
    for count in STREAMS.into_iter().filter(|&count| count <= most) {
        let queries = nearest(recorded, most / count);
        let mut random = Random(11);
        let streams: Vec<Vec<&Query>> = (0..count).map(|_| permuted(queries, &mut random)).collect();
        let all = (count * queries.len()) as f64;
        let outcome = simulate(&Run { machine, policy: AWARE, streams, workers: most, hogged: false });
        found.push((count, all / outcome.time * 1e9));
    }
    let best = found.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    found.iter().for_each(|(count, rate)| println!("{count:7} {rate:12.1} {:7.1}%", 100.0 * rate / best));
}

/// The recordings for at least so many workers.
fn nearest(recorded: &Recorded, workers: usize) -> &[Query] {
    let (_, queries) = recorded.range(workers..).next().expect("no more than the most");
    queries
}

fn permuted<'a>(queries: &'a [Query], random: &mut Random) -> Vec<&'a Query> {
    let mut order: Vec<&Query> = queries.iter().collect();
    (1..order.len()).rev().for_each(|at| order.swap(at, random.index(at + 1)));
    order
}
