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
//! Statements that need a few rows by keys of indexes run by short plans ([`short`]), which rest on definitions alone.
//!
//! Invariant: a statement has the same rows, errors and positions with and without kept plans.

pub(crate) mod calls;
pub(crate) mod change;
pub(crate) mod direct;
pub(crate) mod known;
pub(crate) mod plans;
mod ran;
mod read;
pub(crate) mod short;

use std::cell::OnceCell;
use std::sync::Arc;

use base::IdMap;
use base::{Budget, Result};
use catalog::Field;
use plan::TableId;
use runtime::query::Arguments;
use smallvec::SmallVec;

use storage::transaction::View;
use storage::{Relation, Snapshot, Transaction};
use types::{SqlType, Value};

use crate::QueryResult;
use crate::control::{ConcurrencyControl, Needs};
use crate::environment::Environment;
use crate::freezing::freeze_behind;
use crate::source::Source;
use crate::statement::{apply_few, tag_of};
use crate::transaction::Block;
use change::{Done, Returning, ShortChange};
use direct::{One, Spare};
use known::KnownText;
use plans::{Kept, KeptPlans, Text, Way};
pub(crate) use ran::Ran;
use short::{Given, Row, Short};

/// A plan that holds for a statement, with what it takes for this run.
pub(crate) struct Fit {
    pub kept: Arc<Kept>,
    /// Of its rows.
    columns: Arc<[Field]>,
    arguments: Arguments,
    /// By its short plan, or not at all.
    only_short: bool,
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
        // Of an older catalog, nothing is known to be the same, nor beside what only this session sees.
        if !environment.database.0.catalog.is_as(&self.catalog) || !environment.temporary.snapshot().is_empty() {
            return None;
        }
        Fit::new(self, text)
    }
}

impl KnownText {
    /// What it takes to run it by a plan that was kept, if one holds for these parameters.
    pub fn fit(&self, environment: &Environment, parameters: &[(Value, SqlType)]) -> Option<Fit> {
        let text = self.text(parameters)?;
        self.recent().and_then(|kept| kept.fits(environment, text)).or_else(|| {
            let fit = environment.database.0.kept.find(environment, text)?;
            self.runs_by(&fit.kept);
            Some(fit)
        })
    }
}

/// The rows of a short plan; none if it has to be run in another way. Whoever watches sees a pipeline: it is run as others.
fn short_rows(environment: &Environment, short: &Short, arguments: Given<'_>) -> Result<Option<Ran>> {
    if environment.trace.is_some() || !short.is_promising() {
        return Ok(None);
    }
    environment.call.token().check()?;
    environment.statement.needs_no_code();
    let block = environment.block.as_ref();
    block.iter().for_each(|block| block.is_queried());
    let point = block.and_then(|block| short.point(&block.transaction));
    let one = block
        .zip(point.as_ref())
        .and_then(|(block, point)| short.one(arguments, (&block.transaction, point.as_ref()), &mut Vec::new()));
    let found = match one {
        Some(mut run) => short.find_one(&mut run).map(|is_there| {
            let row = is_there.then(|| short.row_of(&mut run));
            Ran::Row(row, short.types().clone())
        }),
        None => {
            let reads = block.and_then(|block| block.transaction.reads());
            let view = OnceCell::new();
            let rows = short.rows(arguments, &|relation| snapshot(environment, &view, relation), reads.as_deref());
            rows.map(|rows| Ran::Rows(rows, short.types().clone()))
        }
    };
    environment.statement.ran_here();
    Ok(found)
}

impl Fit {
    /// A plan that was just made for a statement.
    pub fn new(kept: &Arc<Kept>, text: Text<'_>) -> Option<Self> {
        let (columns, arguments) = (kept.columns.clone(), kept.arguments(text)?);
        Some(Self { kept: kept.clone(), columns, arguments, only_short: false })
    }

    /// The same by its short plan alone, if it has one: microseconds.
    pub fn only_short(self) -> Option<Self> {
        let is_short = match &self.kept.way {
            Way::Change(_) => true,
            Way::Query { short, .. } => short.as_ref().is_some_and(Short::is_promising),
        };
        is_short.then_some(Self { only_short: true, ..self })
    }

    /// Runs the statement. None: nothing has happened, and it has to be run the long way. Foreign keys are `looked_after` by
    /// whoever calls this, or not.
    pub fn run(self, environment: &Environment, looked_after: bool) -> Option<Result<QueryResult>> {
        let Self { kept, columns, arguments, only_short } = self;
        let given: SmallVec<[&Value; direct::USUAL]> = arguments.values.iter().collect();
        if let Err(error) = kept.needs(environment, &given)? {
            return Some(Err(error));
        }
        let prepared = match &kept.way {
            Way::Query { prepared, short } if !only_short => {
                // Pipelines would want the values, too.
                if short.is_some()
                    && let Some(found) = kept.short_way(environment, &columns, &given, looked_after)
                {
                    return Some(found);
                }
                prepared
            }
            _ => return kept.short_way(environment, &columns, &given, looked_after),
        };
        drop(given);
        let view = OnceCell::new();
        let sources: IdMap<TableId, Source> = kept.sources(&|relation| snapshot(environment, &view, relation))?;
        let running = prepared.as_ref()?.start(environment, sources, Some(arguments), false, environment.call.token());
        Some(running.map(|running| QueryResult::running(columns, running)))
    }
}

/// The rows of a table that a query sees, in its session's transaction or at a moment of its own.
fn snapshot(environment: &Environment, view: &OnceCell<View>, relation: &Arc<Relation>) -> Snapshot {
    match &environment.block {
        Some(block) => block.snapshot(relation),
        None => relation.snapshot_of(view.get_or_init(|| environment.database.0.clock.view()).clone()),
    }
}

impl Kept {
    /// Tells the concurrency control what a run needs, if it wants to know; none: it cannot be told.
    fn needs(&self, environment: &Environment, arguments: Given<'_>) -> Option<Result<()>> {
        match environment.block.as_ref().filter(|block| block.is_told()) {
            Some(block) => {
                let needs = Needs::of_kept(self, arguments, block.control())?;
                Some(block.needs(needs, &environment.call).map(drop))
            }
            None => Some(Ok(())),
        }
    }

    /// Runs the statement by its short plan, once that is told. None: nothing has happened, and it has to be run in another way.
    fn short_way(
        &self,
        environment: &Environment,
        columns: &Arc<[Field]>,
        arguments: Given<'_>,
        looked_after: bool,
    ) -> Option<Result<QueryResult>> {
        let ran = self.run_short(environment, arguments, looked_after)?;
        Some(ran.map(|ran| ran.result(columns)))
    }

    /// The same, for whoever needs no result.
    fn run_short(&self, environment: &Environment, arguments: Given<'_>, looked_after: bool) -> Option<Result<Ran>> {
        match &self.way {
            Way::Change(change) => run_change(environment, change, arguments, looked_after).map(Ok),
            Way::Query { short, .. } => short_rows(environment, short.as_ref()?, arguments).transpose(),
        }
    }

    /// Runs one of at most one row by its short plan, in a transaction that says nothing of what it needs, and whose statement has begun.
    /// None: nothing has happened, and it has to be run in another way.
    fn run_one(
        &self,
        environment: &Environment,
        block: &Block,
        arguments: Given<'_>,
        spare: &mut Spare,
    ) -> Option<One> {
        block.is_queried();
        match &self.way {
            Way::Query { short, .. } => {
                let short = short.as_ref()?;
                let point = short.point(&block.transaction)?;
                let mut run = short.one(arguments, (&block.transaction, point.as_ref()), &mut spare.frame)?;
                let found = short.find_one(&mut run);
                if found == Some(true) {
                    short.put_row(&mut run, &mut spare.row);
                }
                spare.frame = run.into_spare();
                found.map(One::Row)
            }
            Way::Change(change) => {
                let relation = change.relation.upgrade()?;
                // Somebody has to look after what is done to it.
                if relation.effects_are_noted() {
                    return None;
                }
                block.check_writable("").ok()?;
                let budget = || environment.statement_budget();
                let memory = (&budget as &dyn Fn() -> Budget, &mut spare.frame, &mut spare.row);
                let done = change.run_one(&block.transaction, &relation, arguments, memory).flatten();
                if done.is_none() {
                    block.transaction.roll_back_to(block.transaction.statement()).ok()?;
                    block.transaction.take_effects();
                }
                done.map(|rows| if change.returning.is_some() { One::Row(rows > 0) } else { One::Changed(rows) })
            }
        }
    }
}

impl ShortChange {
    /// What has come of it, for whoever waits for that.
    fn ran(&self, Done { rows, returned }: Done) -> Ran {
        match &self.returning {
            Some(Returning { fields, types }) => {
                Ran::Result(QueryResult::few(fields.clone(), returned.into_iter().collect(), types.clone()))
            }
            None => Ran::Changed(tag_of(&self.kind), rows),
        }
    }
}

/// Runs a change; none: nothing has happened, and it has to be run in another way.
fn run_change(
    environment: &Environment,
    change: &ShortChange,
    arguments: Given<'_>,
    looked_after: bool,
) -> Option<Ran> {
    environment.call.token().check().ok()?;
    if environment.trace.is_some() || !change.source.is_promising() {
        return None;
    }
    let relation = change.relation.upgrade()?;
    // Somebody has to look after what is done to it.
    if relation.effects_are_noted() && !looked_after {
        return None;
    }
    environment.statement.needs_no_code();
    let budget = || environment.statement_budget();
    let result = match &environment.block {
        None => {
            let keeper = &environment.database.0.control;
            let control = keeper.chosen();
            if control.is_told() {
                // Who says what it needs is a transaction.
                return None;
            }
            let _turn = keeper.enter(control, &environment.call.token()).ok()?;
            let validates = control == ConcurrencyControl::Mvcc && !change.is_serializable();
            let transaction = Transaction::begin(&environment.database.0.clock, validates);
            let done = change.run(&transaction, &relation, arguments, &budget)?.ok()?;
            let changed = transaction.commit().ok()?;
            changed.iter().for_each(|relation| freeze_behind(&environment.database.0, relation));
            change.ran(done)
        }
        Some(block) => {
            block.check_writable("").ok()?;
            block.is_queried();
            let done = change.run(&block.transaction, &relation, arguments, &budget);
            let result = done.and_then(|done| changed(environment, block, change, &relation, done));
            if result.is_none() {
                block.transaction.roll_back_to(block.transaction.statement()).ok()?;
                // Nobody looks after what has not happened.
                block.transaction.take_effects();
            }
            result?
        }
    };
    environment.statement.ran_here();
    Some(result)
}

/// What has come of a change, once rows with which something else has to be done are changed, too.
fn changed(
    environment: &Environment,
    block: &Arc<Block>,
    change: &ShortChange,
    relation: &Arc<Relation>,
    done: Result<Done, Vec<Row>>,
) -> Option<Ran> {
    let rows = match done {
        Ok(done) => return Some(change.ran(done)),
        Err(rows) => change.source.chunk(&rows),
    };
    let of = (change.kind.clone(), change.attributes.clone());
    let (changed, returned) = apply_few(environment, block, relation, of, rows).ok()?;
    Some(match &change.returning {
        Some(returning) => Ran::Result(QueryResult::ready(returning.fields.clone(), returned)),
        None => Ran::Changed(tag_of(&change.kind), changed),
    })
}
