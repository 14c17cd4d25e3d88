//! TPC-C, and whether its conditions hold afterwards.

use std::time::Instant;

use base::Result;
use engine::Session;
use testkit::workload::drive;
use testkit::workload::tpcc::{MIX, PROCEDURES, Scale, Terminal, load, violations};

use super::{Options, report, timed};

/// How it is run.
#[derive(clap::Args)]
pub(crate) struct TpccOptions {
    #[command(flatten)]
    options: Options,
    /// Warehouses: about 80 MB each.
    #[arg(long, default_value_t = 1)]
    warehouses: i64,
}

pub(crate) fn run(TpccOptions { options, warehouses }: &TpccOptions) -> Result<bool> {
    let database = options.database()?;
    let (mut session, scale) = (database.connect(), Scale::of(*warehouses));
    timed(&format!("loaded {warehouses} warehouses"), || {
        load(&mut session, &scale)?;
        session.run_script(PROCEDURES, |_, result| result.collect().map(drop))
    })?;
    let mut terminals: Vec<_> = (0..options.workers).map(|number| Terminal::new(&database, scale, number)).collect();
    let begin = Instant::now();
    let tally = drive(&mut terminals, &MIX, options.time(), u64::MAX)?;
    report(&MIX, &tally, begin.elapsed().as_secs_f64());
    conditions(&mut session, &scale)
}

/// Whether all conditions hold; those that do not are printed.
pub(super) fn conditions(session: &mut Session, scale: &Scale) -> Result<bool> {
    let broken = violations(session, scale)?;
    broken.iter().for_each(|(number, count)| println!("condition {number} does not hold: {count}"));
    Ok(broken.is_empty())
}
