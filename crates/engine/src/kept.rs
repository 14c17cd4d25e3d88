//! Plans that are kept: a statement that differs in literals only from one that ran before is neither parsed nor planned
//! again.
//!
//! ```text
//! text ──literals cut out──▶ template ──▶ kept plan ──this text's literals as its arguments──▶ run
//! ```
//!
//! A plan with arguments ([`sql::bind_open`]) is kept if it reads at most one table: then no choice of the optimizer that
//! matters hangs on the arguments' values. A plan over several tables is made for its values, and kept for the very text
//! that it was made for. What else a plan rests on is compared at each use: the catalog, what its code takes for granted of
//! its tables' values (bounds of numbers, whether there is a NULL), the settings, the literals and parameters that are no
//! arguments. How many rows its tables have is a matter of estimates: it may change by half. A plan that does not hold is
//! passed over, never mended.
//!
//! Invariant: a statement has the same rows, errors and positions with and without kept plans.

pub(crate) mod plans;
mod read;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{IdMap, Result};
use plan::TableId;
use runtime::query::Arguments;

use crate::QueryResult;
use crate::environment::Environment;
use crate::source::Source;
use plans::{Kept, KeptPlans, Text};

impl KeptPlans {
    /// Runs the statement by a plan that was kept, if one holds for it.
    pub fn run(&self, environment: &Environment, text: Text<'_>) -> Option<Result<QueryResult>> {
        let plans = self.lock().get(&text.template.key)?.clone();
        let catalog = environment.database.0.catalog.snapshot();
        plans.iter().find_map(|kept| {
            // Of an older catalog, nothing is known to be the same.
            if kept.catalog.as_ptr() != Arc::as_ptr(&catalog) {
                return None;
            }
            let sources = kept.sources(environment)?;
            let arguments = kept.arguments(text)?;
            self.runs.fetch_add(1, Ordering::Relaxed);
            Some(kept.run(environment, sources, arguments))
        })
    }
}

impl Kept {
    fn run(
        &self,
        environment: &Environment,
        sources: IdMap<TableId, Source>,
        arguments: Arguments,
    ) -> Result<QueryResult> {
        let running = self.prepared.start(environment, sources, Some(arguments), false, environment.call.token())?;
        Ok(QueryResult::running(self.columns.clone(), running))
    }
}
