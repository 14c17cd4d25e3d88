//! TPC-C, and whether its conditions hold afterwards.

use std::time::Instant;

use base::Result;
use engine::{Database, Session};
use testkit::workload::drive;
use testkit::workload::tpcc::{MIX, PROCEDURES, Scale, Terminal, load, violations};

use super::{Options, report, timed};

/// How it is run.
#[derive(clap::Args)]
pub(crate) struct TpccOptions {
    #[command(flatten)]
    pub(super) options: Options,
    /// Warehouses: about 80 MB each.
    #[arg(long, default_value_t = 1)]
    warehouses: i64,
}

impl TpccOptions {
    /// A database with the warehouses and the procedures, and terminals.
    pub(super) fn loaded(&self) -> Result<(Database, Scale, Vec<Terminal>)> {
        let (database, scale) = (self.options.database()?, Scale::of(self.warehouses));
        timed(&format!("loaded {} warehouses", self.warehouses), || {
            let mut session = database.connect();
            load(&mut session, &scale)?;
            session.run_script(PROCEDURES, |_, result| result.collect().map(drop))
        })?;
        let terminals = (0..self.options.workers).map(|number| Terminal::new(&database, scale, number)).collect();
        Ok((database, scale, terminals))
    }
}

pub(crate) fn run(options: &TpccOptions) -> Result<bool> {
    let (database, scale, mut terminals) = options.loaded()?;
    let begin = Instant::now();
    let tally = drive(&mut terminals, &MIX, options.options.time(), u64::MAX)?;
    report(&MIX, &tally, begin.elapsed().as_secs_f64());
    conditions(&mut database.connect(), &scale)
}

/// Whether all conditions hold; those that do not are printed.
pub(super) fn conditions(session: &mut Session, scale: &Scale) -> Result<bool> {
    let broken = violations(session, scale)?;
    broken.iter().for_each(|(number, count)| println!("condition {number} does not hold: {count}"));
    Ok(broken.is_empty())
}
