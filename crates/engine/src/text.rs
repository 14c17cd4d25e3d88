//! From a statement's text to its result: by a plan that was kept, or the long way.

use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use catalog::{CatalogSnapshot, TEMPORARY_SCHEMA, TableEntry};
use sql::{ChangeKind, Open, Statement};
use types::{SqlType, Value};

use crate::activity::cut;
use crate::aftermath::look_after;
use crate::control::Needs;
use crate::definitions::quoted;
use crate::environment::Environment;
use crate::kept::Fit;
use crate::kept::calls::KnownCall;
use crate::kept::change::ShortChange;
use crate::kept::known::KnownText;
use crate::kept::plans::{Kept, Text};
use crate::kept::short::Short;
use crate::references::look_after_deferred;
use crate::rejects::Rejects;
use crate::resolver::Resolver;
use crate::result::Tag;
use crate::routine::calls_routines;
use crate::source::Source;
use crate::transaction::Block;
use crate::{PreparedStatement, QueryResult, execute, export, statement};

/// Runs one statement.
pub(crate) fn run(environment: &mut Environment, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
    if let Some(call) = environment.known_calls.get(sql).cloned().and_then(|call| call.downcast::<KnownCall>().ok()) {
        return run_call(environment, &call, parameters);
    }
    if let (statement, Some(data)) = sql::given_data(sql) {
        let parsed = sql::parse(sql)?;
        let _working = environment.work_on(statement)?;
        return run_with_data(environment, &parsed, Some(data));
    }
    let known = known(environment, sql, parameters);
    let template = if known.is_none() { template(environment, sql) } else { None };
    let text = match &known {
        Some(known) => known.text(parameters),
        None => template.as_ref().map(|template| Text { sql, template, parameters }),
    };
    let find = |text| match &known {
        Some(known) => known.fit(environment, parameters),
        None => environment.database.0.kept.find(environment, text),
    };
    if let Some(text) = text
        && let Some(result) = by_kept_plan(environment, || find(text)?.run(environment, false))
    {
        return result;
    }
    let _working = environment.work_on(sql)?;
    stack::with_room(sql::parse_depth(sql), || {
        let parsed = sql::parse(sql)?;
        if parsed.is_call() && !parameters.is_empty() {
            return run_and_remember(environment, sql, parsed, parameters);
        }
        match text {
            Some(text) if parsed.may_be_kept() => run_and_keep(environment, &parsed, text),
            _ => run_parsed(environment, &parsed, parameters),
        }
    })?
}

/// Whether plans that were kept hold for the session.
pub(crate) fn plans_as_usual(environment: &Environment) -> bool {
    environment.settings.plans_as_usual() && !environment.told.escapes_strings()
}

/// A text that comes again, as it may with parameters: literals are mostly others each time.
fn known(environment: &Environment, sql: &str, parameters: &[(Value, SqlType)]) -> Option<Arc<KnownText>> {
    if parameters.is_empty() || !plans_as_usual(environment) { None } else { environment.texts.of(sql) }
}

fn template(environment: &Environment, sql: &str) -> Option<sql::Template> {
    if plans_as_usual(environment) { sql::Template::of(sql) } else { None }
}

/// What it takes to run a statement in microseconds, if a plan was kept for that, and its text as all see it.
pub(crate) fn short(environment: &Environment, sql: &str, parameters: &[(Value, SqlType)]) -> Option<(Fit, Arc<str>)> {
    // Where it may have to wait for others, it is not.
    if environment.database.0.control.may_wait() {
        return None;
    }
    if let Some(known) = known(environment, sql, parameters) {
        return Some((known.fit(environment, parameters)?.only_short()?, known.shown()));
    }
    let template = template(environment, sql)?;
    let fit = environment.database.0.kept.find(environment, Text { sql, template: &template, parameters })?;
    Some((fit.only_short()?, cut(sql)))
}

/// Most CALLs that a session remembers.
const MOST_CALLS: usize = 100;

/// Runs a CALL, which is not parsed again when it comes with other parameters, nor bound if these have the same types.
fn run_and_remember(
    environment: &mut Environment,
    sql: &str,
    parsed: sql::Parsed,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    if environment.known_calls.len() >= MOST_CALLS {
        environment.known_calls.clear();
    }
    let call = Arc::new(KnownCall::new(parsed));
    environment.known_calls.insert(sql.to_owned(), call.clone());
    run_call(environment, &call, parameters)
}

fn run_call(environment: &mut Environment, call: &KnownCall, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
    in_transaction(environment, &call.parsed, |environment| match call.bound(environment, parameters) {
        Some((routine, arguments)) => statement::call_with(environment, &routine, arguments),
        None => bind_and_run(environment, &call.parsed, parameters),
    })
}

/// Runs a statement by a plan that was kept, if one holds for it, in the transaction that the session is in.
pub(crate) fn by_kept_plan<T>(environment: &Environment, run: impl FnOnce() -> Option<Result<T>>) -> Option<Result<T>> {
    let run = || {
        let result = run()?;
        environment.database.0.kept.has_run(1);
        Some(result)
    };
    let Some(block) = &environment.block else {
        return if environment.orders_by_stamps() { None } else { run() };
    };
    if block.has_failed() {
        // That is told in another way.
        return None;
    }
    if let Err(error) = block.begin_statement(false, &environment.call) {
        return Some(Err(error));
    }
    Some(run()?.inspect_err(|_| block.fail()))
}

/// Runs a statement in the transaction that the session is in, or in one of its own if it changes rows, or what tables are.
fn in_transaction(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    mut run: impl FnMut(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let block = match &environment.block {
        Some(block) => block.clone(),
        None if parsed.locks_tables() => return Err(no_transaction("LOCK TABLE")),
        None if parsed.changes_rows() || parsed.alters_tables() || parsed.locks_rows() => {
            return alone(environment, run);
        }
        // Commits do not come in the order of stamps.
        None if parsed.is_query() && environment.orders_by_stamps() => return alone(environment, run),
        None => return run(environment),
    };
    if parsed.commits() && !block.has_failed() {
        block.begin_statement(true, &environment.call)?;
        let ended = look_after_deferred(environment, &block, self::run).and_then(|()| delete_for_commit(environment));
        if let Err(error) = ended {
            // It is over.
            environment.block = None;
            environment.unset_local(&block)?;
            statement::roll_back(environment, &block);
            return Err(error);
        }
    }
    // A statement of a function: what the one around it has done so far is looked after when that ends.
    let around = (environment.calls > 0).then(|| block.take_done());
    let result = in_block(environment, &block, parsed, run);
    if let Some(around) = around {
        block.put_done(around);
    }
    result
}

/// Runs a statement in the transaction that the session is in: again, if another transaction was faster and that may be.
fn in_block(
    environment: &mut Environment,
    block: &Arc<Block>,
    parsed: &sql::Parsed,
    mut run: impl FnMut(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    // What a block begins with may be run again, as it has read nothing before; what locks rows waits for that, too.
    let locks = parsed.locks_rows();
    let begins = (locks || parsed.alters_tables()) && !block.has_been_queried();
    for tries in 0.. {
        block.begin_statement(parsed.ends_transaction(), &environment.call)?;
        let start = block.start(begins, locks);
        block.forget_done();
        let run = run(environment).and_then(|result| look_after(environment, block, self::run).map(|()| result));
        let error = match run {
            Ok(result) => return Ok(result),
            // A COMMIT that has failed is over.
            Err(error) if parsed.controls_transactions() => {
                block.fail();
                return Err(error);
            }
            Err(error) => error,
        };
        if let Err(error) = block.retry(error, tries, start, &environment.call) {
            block.fail();
            return Err(error);
        }
    }
    Err(Error::internal("tries without an end"))
}

/// Error 25P01 of a statement that is for blocks.
#[cold]
fn no_transaction(what: &str) -> Error {
    Error::new(SqlState("25P01"), format!("{what} can only be used in transaction blocks")).hint("BEGIN begins one")
}

/// Looks after what a statement that is a transaction has done.
fn look_after_all(environment: &mut Environment, block: &Arc<Block>) -> Result<()> {
    look_after(environment, block, self::run)?;
    look_after_deferred(environment, block, self::run)?;
    delete_for_commit(environment)
}

/// The rows of temporary tables that go when a transaction commits.
fn delete_for_commit(environment: &mut Environment) -> Result<()> {
    let [_, own] = environment.catalogs();
    let tables = own.entries().filter_map(|(_, name, entry)| match entry {
        TableEntry::Table(table) if table.deletes_on_commit => Some(name.to_owned()),
        _ => None,
    });
    for table in tables.collect::<Vec<_>>() {
        run(environment, &format!("TRUNCATE TABLE {TEMPORARY_SCHEMA}.{}", quoted(&table)), &[])?;
    }
    Ok(())
}

/// Runs a statement as a transaction: again, if another one was faster.
fn alone(
    environment: &mut Environment,
    mut run: impl FnMut(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let mut wanted = None;
    for tries in 0.. {
        let block = Arc::new(Block::implicit(environment.database.0.keeping_apart()).after(tries));
        block.begin_statement(false, &environment.call)?;
        if let Some(wanted) = wanted.take() {
            block.transaction.claim_first(wanted);
        }
        environment.block = Some(block.clone());
        let result = run(environment).and_then(|result| look_after_all(environment, &block).map(|()| result));
        environment.block = None;
        let result = result.and_then(|result| statement::commit(environment, &block).map(|()| result));
        match result {
            Ok(result) => return Ok(result),
            Err(error) => {
                wanted = block.transaction.take_wanted();
                block.retry_all(error, tries, &environment.call)?;
            }
        }
    }
    Err(Error::internal("tries without an end"))
}

/// Runs a statement that reads what cannot be read again as a transaction: once.
fn once(
    environment: &mut Environment,
    run: impl FnOnce(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    let block = Arc::new(Block::implicit(environment.database.0.keeping_apart()));
    block.begin_statement(false, &environment.call)?;
    environment.block = Some(block.clone());
    let result = run(environment).and_then(|result| look_after_all(environment, &block).map(|()| result));
    environment.block = None;
    let result = result?;
    statement::commit(environment, &block)?;
    Ok(result)
}

/// Runs a statement without parameters, with the data that come with it, if it is a COPY FROM STDIN.
pub(crate) fn run_with_data(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    data: Option<&str>,
) -> Result<QueryResult> {
    environment.given = data.map(Arc::from);
    let result = run_parsed(environment, parsed, &[]);
    environment.given = None;
    result
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
    let is_new = |name: &String| environment.temporary.snapshot().find(Some(TEMPORARY_SCHEMA), name).is_none();
    let emptied = parsed.makes_for_rows().filter(is_new);
    let result = bind_and_run_once(environment, parsed, parameters)?;
    if let Some(table) = emptied {
        let of = (Some(TEMPORARY_SCHEMA), table.as_str());
        environment.catalog_of(Some(TEMPORARY_SCHEMA)).delete_on_commit(of)?;
    }
    Ok(result)
}

/// Binds a statement, and runs it.
fn bind_and_run_once(
    environment: &mut Environment,
    parsed: &sql::Parsed,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    if parsed.alters_tables() {
        // What it is bound against is what it changes.
        environment.catalog_of(None);
    }
    let made = parsed
        .makes_for_transaction()
        .filter(|name| environment.temporary.snapshot().find(Some(TEMPORARY_SCHEMA), name).is_none());
    if let Some(table) = made {
        let Some(block) = environment.block.clone() else {
            return alone(environment, |environment| bind_and_run_once(environment, parsed, parameters));
        };
        block.drops(table);
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
        Statement::Script { tag, statements } => {
            drop(resolver);
            for sql in statements {
                run(environment, &sql, &[]).and_then(QueryResult::collect).map_err(Error::nowhere)?;
            }
            return Ok(QueryResult::done(Tag::Done(tag)));
        }
        Statement::Maintenance(sql::Maintenance::Export { directory, options }) => {
            drop(resolver);
            let export = |environment: &mut Environment| export::export(environment, &directory, &options, run);
            // All of it as of one moment.
            return if environment.block.is_some() { export(environment) } else { once(environment, export) };
        }
        Statement::Maintenance(sql::Maintenance::Import { directory }) => {
            drop(resolver);
            return export::import(environment, &directory, run);
        }
        Statement::Explain { analyze, stage, statement } => {
            let statement = Box::new(explained(environment, &resolver, *statement)?);
            Statement::Explain { analyze, stage, statement }
        }
        other => other,
    };
    if needs_more(environment, &bound)? {
        drop(resolver);
        return bind_and_run(environment, parsed, parameters);
    }
    let rejects = resolver.into_rejects();
    while let Some(removal) = statement::removal(environment, &bound)? {
        run(environment, &removal, &[])?;
    }
    let levels = bound.plan().map_or(0, plan::Plan::depth);
    let is_alone = environment.block.is_none();
    if is_alone && bound.plan().is_some_and(calls_routines) && !matches!(bound, Statement::Explain { .. }) {
        // What functions do is a transaction.
        return alone(environment, |environment| bind_and_run_once(environment, parsed, parameters));
    }
    let alone = is_alone && statement::needs_transaction(&bound);
    stack::with_room(levels, || match alone {
        true => once(environment, |environment| statement::run(environment, bound, rejects)),
        false => statement::run(environment, bound, rejects),
    })?
}

/// Says what a statement needs, if that is how transactions are kept apart; whether it has to be bound again, to what is there now.
fn needs_more(environment: &Environment, statement: &Statement) -> Result<bool> {
    match &environment.block {
        Some(block) if block.is_told() => {
            block.needs(Needs::of_statement(statement, block.control())?, &environment.call)
        }
        _ => Ok(false),
    }
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

/// Runs a statement of a procedure, whose variables are parameters: its columns keep the names that the variables gave them.
pub(crate) fn run_within(
    environment: &mut Environment,
    prepared: &PreparedStatement,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    let result = start_prepared(environment, prepared, parameters)?;
    let named = result.columns().iter().map(|field| &field.name).eq(prepared.columns().iter().map(|field| &field.name));
    if named || !prepared.parsed().is_query() || result.columns().len() != prepared.columns().len() {
        return gives(prepared, result);
    }
    gives(prepared, result.named_as(prepared.columns()))
}

/// Runs a prepared statement with parameters of its types. Positions of errors are of its own text.
pub(crate) fn run_prepared(
    environment: &mut Environment,
    prepared: &PreparedStatement,
    parameters: &[(Value, SqlType)],
) -> Result<QueryResult> {
    let result = start_prepared(environment, prepared, parameters)?;
    gives(prepared, result)
}

/// The result, if it has the columns that the statement was prepared for.
fn gives(prepared: &PreparedStatement, result: QueryResult) -> Result<QueryResult> {
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
    // Parameters that were declared need not stand in the text.
    let used =
        if parameters.len() <= prepared.parameter_types().len() { prepared.parsed().parameters() } else { usize::MAX };
    let parameters = &parameters[..parameters.len().min(used)];
    let text = prepared.known().text(parameters).filter(|_| plans_as_usual(environment));
    if text.is_some()
        && let Some(result) =
            by_kept_plan(environment, || prepared.known().fit(environment, parameters)?.run(environment, false))
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
    let changes = parsed.changes_rows();
    in_transaction(environment, parsed, |environment| {
        // Some changes need a transaction around them, which is here.
        let is_alone = changes || environment.orders_by_stamps();
        let kept = is_alone.then(|| environment.database.0.kept.find(environment, text)).flatten();
        if let Some(result) = kept.and_then(|kept| kept.run(environment, true)) {
            return result;
        }
        plan_and_keep(environment, parsed, text)
    })
}

fn plan_and_keep(environment: &mut Environment, parsed: &sql::Parsed, text: Text<'_>) -> Result<QueryResult> {
    let resolver = Resolver::new(environment);
    let bound = sql::bind_open(parsed, &resolver, text.parameters, Open::Safe).ok();
    let is_planned = |statement: &Statement| {
        matches!(statement, Statement::Query(_) | Statement::Insert(_) | Statement::Change(_))
            && !statement.plan().is_some_and(calls_routines)
            && statement.fires().is_none()
    };
    let Some((statement, mut uses)) = bound.filter(|(statement, _)| is_planned(statement)) else {
        drop(resolver);
        return bind_and_run(environment, parsed, text.parameters);
    };
    if needs_more(environment, &statement)? {
        drop(resolver);
        return plan_and_keep(environment, parsed, text);
    }
    let levels = statement.plan().map_or(0, plan::Plan::depth);
    let catalog = resolver.lasting().cloned();
    let short = catalog.as_ref().filter(|_| statement.plan().is_some_and(Short::may_be));
    let ran = short.map(|catalog| {
        stack::with_room(levels, || {
            let open = || sql::bind_open(parsed, &resolver, text.parameters, Open::All).ok();
            let opened = text.is_half_open(&uses).then(open).flatten();
            if let Some((opened, uses)) = opened
                && opened.plan().is_some_and(|plan| Short::leaves_open(plan, &uses))
                && let Some(result) = short_and_keep(environment, &opened, (text, uses), catalog)?
            {
                return Ok(Some(result));
            }
            // Of a query a plan is made in any case, but of several tables for these values.
            match &statement {
                Statement::Query(plan) if plan.tables.len() <= 1 || text.parameters.is_empty() => Ok(None),
                _ => short_and_keep(environment, &statement, (text, uses.clone()), catalog),
            }
        })?
    });
    if let Some(result) = ran.transpose()?.flatten() {
        return result;
    }
    let rejects = resolver.into_rejects();
    let mut statement = statement;
    if let Some(plan) = statement.plan_of_change() {
        plan.close_arguments();
    }
    stack::with_room(levels, || {
        let Statement::Query(mut plan) = statement else { return statement::run(environment, statement, rejects) };
        if plan.tables.len() > 1 || catalog.is_none() {
            plan.close_arguments();
            uses.clear();
        }
        query_and_keep(environment, plan, (text, uses), catalog.as_ref(), rejects)
    })?
}

/// Runs a statement by a short plan, which is kept; none if it has none, or more rows than a few.
fn short_and_keep(
    environment: &Environment,
    statement: &Statement,
    (text, uses): (Text<'_>, Vec<sql::ArgumentUse>),
    catalog: &Arc<CatalogSnapshot>,
) -> Result<Option<Result<QueryResult>>> {
    let Some(plan) = statement.plan() else { return Ok(None) };
    let plan = execute::optimize(environment, plan.clone())?;
    let relation = |table| Source::relation(table).ok();
    let kept = match statement {
        Statement::Query(_) => Short::of(&plan, &uses).and_then(|short| {
            let columns = statement::result_columns(&plan);
            Kept::of_query(text, &plan, (Some(short), None), columns, uses, catalog)
        }),
        Statement::Insert(insert) => relation(&insert.table).and_then(|relation| {
            let all: Vec<usize> = (0..relation.schema().attributes().len()).collect();
            let change = ShortChange::of(&plan, &relation, (&ChangeKind::Insert, &all), None, &uses)?;
            Kept::of_change(text, (&plan, change), uses, catalog)
        }),
        Statement::Change(change) => relation(&change.table).and_then(|relation| {
            let returning = change.returning.as_deref().map(Arc::from);
            let does = (&change.kind, change.attributes.as_slice());
            let change = ShortChange::of(&plan, &relation, does, returning, &uses)?;
            Kept::of_change(text, (&plan, change), uses, catalog)
        }),
        _ => None,
    };
    Ok(kept.and_then(|kept| run_short(environment, kept, text)))
}

/// Runs a statement by its short plan, and keeps that; none if it has given up.
fn run_short(environment: &Environment, kept: Kept, text: Text<'_>) -> Option<Result<QueryResult>> {
    let kept = Arc::new(kept);
    environment.statement.planned();
    let result = Fit::new(&kept, text)?.run(environment, true)?;
    environment.database.0.kept.keep(kept);
    Some(result)
}

/// Plans and runs a query, short or by its pipelines, and keeps its plan.
fn query_and_keep(
    environment: &Environment,
    plan: plan::Plan,
    (text, uses): (Text<'_>, Vec<sql::ArgumentUse>),
    catalog: Option<&Arc<CatalogSnapshot>>,
    rejects: Vec<Rejects>,
) -> Result<QueryResult> {
    let plan = execute::optimize(environment, plan)?;
    let columns = statement::result_columns(&plan);
    let short = Short::of(&plan, &uses);
    if let (Some(short), Some(catalog)) = (short, catalog)
        && let Some(kept) = Kept::of_query(text, &plan, (Some(short), None), columns.clone(), uses.clone(), catalog)
        && let Some(result) = run_short(environment, kept, text)
    {
        return result?.and_reject(rejects);
    }
    let prepared = execute::prepare(environment, &plan, false)?;
    if let Some(catalog) = catalog {
        let ways = (Short::of(&plan, &uses), Some(prepared.clone()));
        if let Some(kept) = Kept::of_query(text, &plan, ways, columns.clone(), uses, catalog) {
            environment.database.0.kept.keep(Arc::new(kept));
        }
    }
    let running = prepared.start(environment, execute::sources(&plan)?, None, false, environment.call.token())?;
    QueryResult::running(columns, running).and_reject(rejects)
}
