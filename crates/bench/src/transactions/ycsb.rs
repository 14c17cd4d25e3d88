//! YCSB: the six workloads, one after the other on the same records.

use std::sync::Arc;
use std::time::Instant;

use base::Result;
use testkit::workload::drive;
use testkit::workload::ycsb::{Reader, WORKLOADS, load};

use super::{Options, report, timed};

/// How it is run.
#[derive(clap::Args)]
pub(crate) struct YcsbOptions {
    #[command(flatten)]
    options: Options,
    /// Records, of a kilobyte each.
    #[arg(long, default_value_t = 200_000)]
    records: u64,
    /// Only these workloads.
    #[arg(long, value_delimiter = ',')]
    only: Vec<char>,
}

pub(crate) fn run(YcsbOptions { options, records, only }: &YcsbOptions) -> Result<bool> {
    let database = options.database()?;
    timed(&format!("loaded {records} records"), || load(&mut database.connect(), *records))?;
    let records = Arc::new((*records).into());
    for (letter, what, mix) in WORKLOADS {
        if !only.is_empty() && !only.iter().any(|wanted| wanted.eq_ignore_ascii_case(&letter)) {
            continue;
        }
        println!("workload {letter}: {what}");
        let mut clients = Reader::clients(&database, letter, options.workers, &records)?;
        let begin = Instant::now();
        let tally = drive(&mut clients, &mix, options.time(), u64::MAX)?;
        report(&mix, &tally, begin.elapsed().as_secs_f64());
    }
    Ok(true)
}
