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

mod key;
pub(crate) mod plans;
mod point;
mod read;
pub(crate) mod row_change;

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{IdMap, Result};
use plan::TableId;
use runtime::query::Arguments;
use storage::{Relation, Transaction};
use types::Chunk;

use crate::QueryResult;
use crate::environment::Environment;
use crate::freezing::freeze_behind;
use crate::source::Source;
use crate::statement::rows_tag;
use plans::{Kept, KeptPlans, Text, Way};
use point::Point;
use row_change::RowChange;

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

/// What a point lookup finds. Whoever watches sees a pipeline: it is run as others.
fn find(
    environment: &Environment,
    point: &Point,
    sources: &IdMap<TableId, Source>,
    arguments: &Arguments,
) -> Result<Option<Vec<Chunk>>> {
    let (Some(Source::Stored(snapshot, _)), None) = (sources.values().next(), &environment.trace) else {
        return Ok(None);
    };
    environment.call.token().check()?;
    environment.statement.compiled();
    let block = environment.block.as_ref();
    block.iter().for_each(|block| block.is_queried());
    let reads = block.and_then(|block| block.transaction.reads());
    let found = point.find(snapshot, arguments, reads.as_deref());
    environment.statement.ran_here();
    Ok(found)
}

/// Changes a row; returns how many there were. None: nothing has happened, and it has to be done in another way.
fn change_row(environment: &Environment, change: &RowChange, arguments: Arguments) -> Option<usize> {
    environment.call.token().check().ok()?;
    if environment.trace.is_some() {
        return None;
    }
    let (relation, budget) = (change.relation()?, || environment.statement_budget());
    // Somebody looks after what is done to it.
    if relation.effects_are_noted() {
        return None;
    }
    environment.statement.compiled();
    let rows = match &environment.block {
        None => {
            // It reads the row that it writes, so that a snapshot is serializable.
            let transaction = Transaction::begin(&environment.database.0.clock, false);
            let rows = change.apply(&transaction, &relation, arguments, &budget)?;
            let changed = transaction.commit().ok()?;
            changed.iter().for_each(|relation| freeze_behind(&environment.database.0, relation));
            rows
        }
        Some(block) => {
            block.check_writable("").ok()?;
            block.is_queried();
            let rows = change.apply(&block.transaction, &relation, arguments, &budget);
            if rows.is_none() {
                block.transaction.roll_back_to(block.transaction.statement()).ok()?;
            }
            rows?
        }
    };
    environment.statement.ran_here();
    Some(rows)
}

impl Fit {
    /// Runs the statement. None: nothing has happened, and it has to be run the long way.
    pub fn run(self, environment: &Environment) -> Option<Result<QueryResult>> {
        let Self { kept, sources, arguments } = self;
        let result = match &kept.way {
            Way::Change(change) => Ok(rows_tag(change.tag(), change_row(environment, change, arguments)?)),
            Way::Query { prepared, point } => {
                let columns = kept.columns.clone();
                let found = point.as_ref().map(|point| find(environment, point, &sources, &arguments));
                match found.transpose() {
                    Ok(Some(Some(found))) => Ok(QueryResult::ready(columns, found)),
                    Ok(_) => prepared
                        .start(environment, sources, Some(arguments), false, environment.call.token())
                        .map(|running| QueryResult::running(columns, running)),
                    Err(error) => Err(error),
                }
            }
        };
        environment.database.0.kept.runs.fetch_add(1, Ordering::Relaxed);
        Some(result)
    }
}
