//! From a statement's text to its result: by a plan that was kept, or the long way.

use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use catalog::CatalogSnapshot;
use sql::{ChangeKind, Statement};
use types::{SqlType, Value};

use crate::environment::Environment;
use crate::kept::Fit;
use crate::kept::plans::{Kept, Text};
use crate::kept::row_change::RowChange;
use crate::references::look_after;
use crate::rejects::Rejects;
use crate::resolver::Resolver;
use crate::source::Source;
use crate::transaction::Block;
use crate::{PreparedStatement, QueryResult, execute, statement};

/// Runs one statement.
pub(crate) fn run(environment: &mut Environment, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
    let template = environment.settings.plans_as_usual().then(|| sql::Template::of(sql)).flatten();
    let text = template.as_ref().map(|template| Text { sql, template, parameters });
    if let Some(text) = text
        && let Some(result) = by_kept_plan(environment, || environment.database.0.kept.find(environment, text))
    {
        return result;
    }
    let _working = environment.work_on(sql)?;
    stack::with_room(sql::parse_depth(sql), || {
        let parsed = sql::parse(sql)?;
        match text {
            Some(text) if parsed.may_be_kept() => run_and_keep(environment, &parsed, text),
            _ => run_parsed(environment, &parsed, parameters),
        }
    })?
}

/// Runs a statement by a plan that was kept, if one holds for it, in the transaction that the session is in.
fn by_kept_plan(environment: &Environment, find: impl FnOnce() -> Option<Fit>) -> Option<Result<QueryResult>> {
    let Some(block) = &environment.block else { return find()?.run(environment) };
    if block.begin_statement(false).is_err() {
        return None;
    }
    Some(find()?.run(environment)?.inspect_err(|_| block.fail()))
}

/// Runs a statement in the transaction that the session is in, or in one of its own if it changes rows, or what tables are.
fn in_transaction(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    mut run: impl FnMut(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let block = match &environment.block {
        Some(block) => block.clone(),
        None if parsed.changes_rows() || parsed.alters_tables() => return alone(environment, run),
        None => return run(environment),
    };
    for tries in 0.. {
        block.begin_statement(parsed.ends_transaction())?;
        let first = block.transaction.statement();
        block.transaction.take_effects();
        let run = run(environment).and_then(|result| look_after(environment, &block, self::run).map(|()| result));
        let error = match run {
            Ok(result) => return Ok(result),
            // A COMMIT that has failed is over.
            Err(error) if parsed.controls_transactions() => {
                block.fail();
                return Err(error);
            }
            Err(error) => error,
        };
        if let Err(error) = block.retry(error, tries, first, &environment.call) {
            block.fail();
            return Err(error);
        }
    }
    Err(Error::internal("tries without an end"))
}

/// Runs a statement as a transaction: again, if another one was faster.
fn alone(
    environment: &mut Environment,
    mut run: impl FnMut(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    for tries in 0.. {
        let block = Arc::new(Block::implicit(&environment.database.0.clock));
        block.begin_statement(false)?;
        environment.block = Some(block.clone());
        let result = run(environment).and_then(|result| look_after(environment, &block, self::run).map(|()| result));
        environment.block = None;
        let result = result.and_then(|result| statement::commit(environment, &block).map(|()| result));
        match result {
            Ok(result) => return Ok(result),
            Err(error) => block.retry_all(error, tries, &environment.call)?,
        }
    }
    Err(Error::internal("tries without an end"))
}

/// Runs a statement that reads what cannot be read again as a transaction: once.
fn once(
    environment: &mut Environment,
    run: impl FnOnce(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let block = Arc::new(Block::implicit(&environment.database.0.clock));
    block.begin_statement(false)?;
    environment.block = Some(block.clone());
    let result = run(environment).and_then(|result| look_after(environment, &block, self::run).map(|()| result));
    environment.block = None;
    let result = result?;
    statement::commit(environment, &block)?;
    Ok(result)
}

/// Runs a statement whose plan is not kept.
pub(crate) fn run_parsed(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    in_transaction(environment, parsed, |environment| bind_and_run(environment, parsed, parameters))
}

/// Binds and runs a statement.
fn bind_and_run(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    if parsed.alters_tables() {
        // What it is bound against is what it changes.
        environment.catalog_of(None);
    }
    let resolver = Resolver::new(environment);
    let bound = match sql::bind(parsed, &resolver, parameters)? {
        Statement::Execute { name, parameters, .. } => {
            let prepared = prepared_of(environment, &name)?;
            drop(resolver);
            // Its text is not what the client has sent now.
            let result = run_prepared(environment, &prepared, &parameters);
            return result.map(QueryResult::without_positions).map_err(Error::nowhere);
        }
        Statement::Explain { analyze, stage, statement } => {
            let statement = Box::new(explained(environment, &resolver, *statement)?);
            Statement::Explain { analyze, stage, statement }
        }
        other => other,
    };
    let rejects = resolver.into_rejects();
    let levels = bound.plan().map_or(0, plan::Plan::depth);
    let alone = environment.block.is_none() && statement::needs_transaction(&bound);
    stack::with_room(levels, || match alone {
        true => once(environment, |environment| statement::run(environment, bound, rejects)),
        false => statement::run(environment, bound, rejects),
    })?
}

/// The prepared statement of that name.
fn prepared_of(environment: &Environment, name: &str) -> Result<Arc<PreparedStatement>> {
    let prepared = environment.prepared.get(name).cloned();
    prepared.ok_or_else(|| Error::internal("a prepared statement that was there is gone"))
}

/// What EXPLAIN explains: EXECUTE is the statement as it would run with these parameters.
fn explained(environment: &Environment, resolver: &Resolver<'_>, statement: Statement) -> Result<Statement> {
    let Statement::Execute { name, parameters, .. } = statement else { return Ok(statement) };
    let prepared = prepared_of(environment, &name)?;
    sql::bind(prepared.parsed(), resolver, &parameters).map_err(Error::nowhere)
}

/// Runs a prepared statement with parameters of its types. Positions of errors are of its own text.
pub(crate) fn run_prepared(
    environment: &mut Environment,
    prepared: &PreparedStatement,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    let result = start_prepared(environment, prepared, parameters)?;
    if prepared.gives(result.columns()) {
        return Ok(result);
    }
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
        .hint("a table has other columns than when the statement was prepared"))
}

fn start_prepared(
    environment: &mut Environment,
    prepared: &PreparedStatement,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    let text = prepared.text(parameters).filter(|_| environment.settings.plans_as_usual());
    let find = |text| {
        let recent = prepared.recent().and_then(|kept| kept.fits(environment, text));
        recent.or_else(|| {
            let fit = environment.database.0.kept.find(environment, text)?;
            prepared.runs_by(&fit.kept);
            Some(fit)
        })
    };
    if let Some(text) = text
        && let Some(result) = by_kept_plan(environment, || find(text))
    {
        return result;
    }
    let _working = environment.work_on(prepared.sql())?;
    stack::with_room(sql::parse_depth(prepared.sql()), || match text {
        Some(text) => run_and_keep(environment, prepared.parsed(), text),
        None => run_parsed(environment, prepared.parsed(), parameters),
    })?
}

/// Runs a statement whose plan may be kept for others of its kind.
fn run_and_keep(environment: &mut Environment, parsed: &sql::Parsed, text: Text<'_>) -> Result<QueryResult> {
    in_transaction(environment, parsed, |environment| plan_and_keep(environment, parsed, text))
}

fn plan_and_keep(environment: &mut Environment, parsed: &sql::Parsed, text: Text<'_>) -> Result<QueryResult> {
    let resolver = Resolver::new(environment);
    let (mut plan, mut uses) = match sql::bind_open(parsed, &resolver, text.parameters) {
        Ok((Statement::Query(plan), uses)) => (plan, uses),
        Ok((statement @ (Statement::Insert(_) | Statement::Change(_)), uses)) => {
            let (catalog, rejects) = (resolver.lasting().cloned(), resolver.into_rejects());
            return change_and_keep(environment, statement, (text, uses), catalog, rejects);
        }
        _ => {
            drop(resolver);
            return bind_and_run(environment, parsed, text.parameters);
        }
    };
    if plan.tables.len() > 1 || resolver.lasting().is_none() {
        plan.close_arguments();
        uses.clear();
    }
    let environment = &*environment;
    stack::with_room(plan.depth(), || {
        let plan = execute::optimize(environment, plan)?;
        let columns = statement::result_columns(&plan);
        let prepared = execute::prepare(environment, &plan, false)?;
        if let Some(catalog) = resolver.lasting()
            && let Some(kept) = Kept::of_query(text, &plan, prepared.clone(), columns.clone(), uses, catalog)
        {
            environment.database.0.kept.keep(kept);
        }
        let running = prepared.start(environment, execute::sources(&plan)?, None, false, environment.call.token())?;
        QueryResult::running(columns, running).and_reject(resolver.into_rejects())
    })?
}

/// Runs a change, and keeps its plan if it is of one row.
fn change_and_keep(
    environment: &mut Environment,
    mut statement: Statement,
    (text, uses): (Text<'_>, Vec<sql::ArgumentUse>),
    catalog: Option<Arc<CatalogSnapshot>>,
    rejects: Vec<Rejects>,
) -> Result<QueryResult> {
    let levels = statement.plan().map_or(0, plan::Plan::depth);
    stack::with_room(levels, || {
        if let Some(catalog) = &catalog
            && let Some(change) = row_change(environment, &statement, uses.len())?
            && let Some(kept) = Kept::of_change(text, change, uses, catalog)
        {
            environment.database.0.kept.keep(kept);
        }
        if let Some(plan) = statement.plan_of_change() {
            plan.close_arguments();
        }
        statement::run(environment, statement, rejects)
    })?
}

/// A statement as a change of one row, if it is one.
fn row_change(environment: &Environment, statement: &Statement, arguments: usize) -> Result<Option<RowChange>> {
    let (table, kind, attributes, source) = match statement {
        Statement::Insert(insert) => (&insert.table, &ChangeKind::Insert, None, &insert.source),
        Statement::Change(change) if change.returning.is_none() => {
            (&change.table, &change.kind, Some(&change.attributes), &change.source)
        }
        _ => return Ok(None),
    };
    if !RowChange::may_be(source) {
        return Ok(None);
    }
    let Ok(relation) = Source::relation(table) else { return Ok(None) };
    if relation.effects_are_noted() {
        return Ok(None);
    }
    let plan = execute::optimize(environment, source.clone())?;
    let all: Vec<usize> = (0..relation.schema().attributes().len()).collect();
    Ok(RowChange::of(&plan, &relation, kind, attributes.unwrap_or(&all), arguments))
}
