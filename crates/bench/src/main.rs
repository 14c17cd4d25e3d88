//! Benchmarks in one process: TPC-H, the latency of small statements, sorting, what morsels cost, instructions, and the
//! demonstration of `make demo`.
//!
//! Comparisons with other systems are in the folder `bench` at the top, in Python.

mod cancel;
mod claims;
mod counts;
mod demo;
mod groups;
mod index;
mod inserts;
mod interference;
mod joins;
mod latency;
mod limits;
mod memory;
mod morsels;
mod numbers;
mod paired;
mod planning;
mod plot;
mod replay;
mod service;
mod sort;
mod streams;
mod sums;
mod tpch;
mod traces;
mod transactions;
mod variants;
mod windows;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

/// Benchmarks of MorselDB.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Times the 22 queries of TPC-H, hot.
    Tpch(TpchOptions),
    /// Times `select 1` with cold and with cached code.
    Latency,
    /// Times the way from text to machine code: the queries of TPC-H, and statements that are hard to plan.
    Planning,
    /// Times ORDER BY over 10 million rows.
    Sort {
        /// Threads; by default all that the process may use.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Times and weighs groups, of numbers around the size of a worker's directory.
    Groups {
        /// Threads; by default all that the process may use.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Weighs groups, sorts and joins: bytes for each row that they keep.
    Memory {
        /// Threads; by default all that the process may use.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Checks that what is resident obeys `memory_limit`, whatever runs, and is given back.
    Limits(limits::LimitsOptions),
    /// Times window functions over 10 million rows.
    Windows {
        /// Threads; by default all that the process may use.
        #[arg(long)]
        threads: Option<usize>,
        /// Only those whose name contains this.
        #[arg(long)]
        only: Option<String>,
    },
    /// Times exact sums of doubles beside plain ones.
    Sums,
    /// Times claims of morsels and contexts of queries, and counts the claims that were steals.
    Claims,
    /// Counts the instructions of queries by callgrind, and compares them with the accepted counts.
    Counts {
        /// Accept the counts as they are now.
        #[arg(long)]
        accept: bool,
        /// What is run under callgrind, over this data.
        #[arg(long, hide = true)]
        inside: Option<PathBuf>,
    },
    /// Times the index by protocol, beside others' indexes.
    Index(index::IndexOptions),
    /// Times inserts of one row, alone and with a query after each, into tables of 1 to 10,000 chunks.
    Inserts,
    /// Runs TPC-C for some time: transactions a second, and whether its conditions hold afterwards.
    Tpcc(transactions::tpcc::TpccOptions),
    /// Runs the queries of CH-benCHmark and the transactions of TPC-C, each alone and both at once.
    Ch(transactions::tpcc::TpccOptions),
    /// Runs YCSB's six workloads for some time each.
    Ycsb(transactions::ycsb::YcsbOptions),
    /// Runs SmallBank for some time, and counts the money afterwards.
    Smallbank(transactions::smallbank::SmallbankOptions),
    /// Times short queries that come at random times beside endless long ones.
    Service(service::ServiceOptions),
    /// Times scans by the size of their morsels, claims that are stolen, and how nearly workers finish together.
    Morsels(plot::PlotOption),
    /// Times TPC-H while another process hogs one core, with morsels and with equal parts made beforehand.
    Interference(interference::InterferenceOptions),
    /// Times TPC-H with features of the dispatcher turned off one by one.
    Variants(variants::VariantsOptions),
    /// Times TPC-H in two ways, in pairs of runs: what a setting costs, with an interval.
    Paired(paired::PairedOptions),
    /// Counts the rows that build and probe in the joins of TPC-H, or of other data, and times pipelines side by side.
    Joins(workload::WorkloadOptions),
    /// Times TPC-H in 1 to 64 streams, and shows a query that joins another one.
    Streams(streams::StreamsOptions),
    /// Replays recorded queries on machines with many cores: figures of the thesis's chapter 4.
    Replay(replay::ReplayOptions),
    /// Stops TPC-H's queries, and hard ones, at random moments: how soon they end, and what they leave.
    Cancel(cancel::CancelOptions),
    /// Generates, loads, runs and checks TPC-H, and prints a table of times.
    Demo(DataOptions),
}

/// The data of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct DataOptions {
    /// Scale factor; answers are checked at 1.
    #[arg(long, default_value_t = 1.0)]
    pub sf: f64,
    /// Folder with the files, generated if it lacks them; by default `data/tpch-sf{SF}`.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Threads; by default all that the process may use.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Load from CSV rather than from Parquet.
    #[arg(long)]
    pub csv: bool,
}

/// A run of `bench tpch`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TpchOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Only these queries.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=22))]
    pub query: Vec<u8>,
    /// Runs of each query; the best counts.
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Statements to run first, such as `SET compile = off`.
    #[arg(long)]
    pub set: Vec<String>,
    /// Print EXPLAIN ANALYZE of each query too.
    #[arg(long)]
    pub explain: bool,
}

fn main() -> ExitCode {
    allocator::prepare();
    let result = match Arguments::parse().command {
        Command::Tpch(options) => tpch::run(&options),
        Command::Latency => latency::run(),
        Command::Planning => planning::run(),
        Command::Sort { threads } => sort::run(threads),
        Command::Groups { threads } => groups::run(threads),
        Command::Memory { threads } => memory::run(threads),
        Command::Limits(options) => limits::run(&options),
        Command::Windows { threads, only } => windows::run(threads, only.as_deref()),
        Command::Sums => sums::run(),
        Command::Claims => claims::run(),
        Command::Counts { inside: Some(data), .. } => counts::inside(&data),
        Command::Counts { accept, inside: None } => counts::run(accept),
        Command::Index(options) => index::run(&options),
        Command::Inserts => inserts::run(),
        Command::Tpcc(options) => transactions::tpcc::run(&options),
        Command::Ch(options) => transactions::chbenchmark::run(&options),
        Command::Ycsb(options) => transactions::ycsb::run(&options),
        Command::Smallbank(options) => transactions::smallbank::run(&options),
        Command::Service(options) => service::run(&options),
        Command::Morsels(plot) => morsels::run(&plot),
        Command::Interference(options) => interference::run(&options),
        Command::Variants(options) => variants::run(&options),
        Command::Paired(options) => paired::run(&options),
        Command::Joins(options) => joins::run(&options),
        Command::Streams(options) => streams::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Cancel(options) => cancel::run(&options),
        Command::Demo(options) => demo::run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
