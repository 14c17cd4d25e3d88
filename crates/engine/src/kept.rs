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
mod point;
mod read;

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{IdMap, Result};
use plan::TableId;
use runtime::query::Arguments;
use storage::Relation;
use types::Chunk;

use crate::QueryResult;
use crate::environment::Environment;
use crate::source::Source;
use plans::{Kept, KeptPlans, Text};

/// A plan that holds for a statement, with what it takes for this run.
pub(crate) struct Fit {
    pub kept: Arc<Kept>,
    sources: IdMap<TableId, Source>,
    arguments: Arguments,
}

impl KeptPlans {
    /// A plan that holds for the statement, if one was kept.
    pub fn find(&self, environment: &Environment, text: Text<'_>) -> Option<Fit> {
        let plans = self.lock().get(&text.template.key)?.clone();
        plans.iter().find_map(|kept| kept.fits(environment, text))
    }
}

impl Kept {
    /// What it takes to run the statement by this plan; none if it does not hold for it.
    pub fn fits(self: &Arc<Self>, environment: &Environment, text: Text<'_>) -> Option<Fit> {
        if environment.block.as_ref().is_some_and(|block| block.definitions().is_some()) {
            return None;
        }
        let catalog = environment.database.0.catalog.snapshot();
        // Of an older catalog, nothing is known to be the same, nor beside what only this session sees.
        if self.catalog.as_ptr() != Arc::as_ptr(&catalog) || !environment.temporary.snapshot().is_empty() {
            return None;
        }
        let view = OnceCell::new();
        let snapshot = |relation: &Arc<Relation>| match &environment.block {
            Some(block) => block.snapshot(relation),
            None => relation.snapshot_of(view.get_or_init(|| environment.database.0.clock.view()).clone()),
        };
        Some(Fit { kept: self.clone(), sources: self.sources(&snapshot)?, arguments: self.arguments(text)? })
    }
}

impl Kept {
    /// What a point lookup finds. Whoever watches sees a pipeline, and a transaction notes what it reads: they are run as others.
    fn find(
        &self,
        environment: &Environment,
        sources: &IdMap<TableId, Source>,
        arguments: &Arguments,
    ) -> Result<Option<Vec<Chunk>>> {
        let is_watched = environment.trace.is_some() || environment.block.is_some();
        let (Some(point), Some(Source::Stored(snapshot, _)), false) =
            (&self.point, sources.values().next(), is_watched)
        else {
            return Ok(None);
        };
        environment.call.token().check()?;
        environment.statement.compiled();
        let found = point.find(snapshot, arguments);
        environment.statement.ran_here();
        Ok(found)
    }
}

impl Fit {
    /// Runs the statement.
    pub fn run(self, environment: &Environment) -> Result<QueryResult> {
        let Self { kept, sources, arguments } = self;
        environment.database.0.kept.runs.fetch_add(1, Ordering::Relaxed);
        if let Some(found) = kept.find(environment, &sources, &arguments)? {
            return Ok(QueryResult::ready(kept.columns.clone(), found));
        }
        let running = kept.prepared.start(environment, sources, Some(arguments), false, environment.call.token())?;
        Ok(QueryResult::running(kept.columns.clone(), running))
    }
}
