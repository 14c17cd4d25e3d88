//! SmallBank, and whether the money is all there afterwards.

use std::time::Instant;

use base::Result;
use testkit::workload::drive;
use testkit::workload::smallbank::{MIX, Teller, load, money};

use super::{Options, report, timed};

/// How it is run.
#[derive(clap::Args)]
pub(crate) struct SmallbankOptions {
    #[command(flatten)]
    options: Options,
    /// Customers, of whom the first hundred are in nine of ten transactions.
    #[arg(long, default_value_t = 100_000)]
    customers: i64,
}

pub(crate) fn run(SmallbankOptions { options, customers }: &SmallbankOptions) -> Result<bool> {
    let database = options.database()?;
    let mut session = database.connect();
    timed(&format!("loaded {customers} customers"), || load(&mut session, *customers))?;
    let before = money(&mut session)?;
    let mut tellers: Vec<_> = (0..options.workers).map(|number| Teller::new(&database, *customers, number)).collect();
    let begin = Instant::now();
    let tally = drive(&mut tellers, &MIX, options.time(), u64::MAX)?;
    report(&MIX, &tally, begin.elapsed().as_secs_f64());
    let (changed, after) = (tellers.iter().map(|teller| teller.changed).sum::<i128>(), money(&mut session)?);
    if after != before + changed {
        println!("{} cents are missing", before + changed - after);
    }
    Ok(after == before + changed)
}
