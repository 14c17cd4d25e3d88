//! What each kind of statement does.

mod alter;
mod ask;
mod callers;
mod change;
mod copy;
mod cursor;
mod definition;
mod explain;
mod index;
mod joined;
mod load;
mod locking;
mod prepared;
mod readers;
mod routine;
mod session;
mod show;
mod transact;
mod trigger;
mod user_type;
mod with;

pub(crate) use change::{apply_few, some_rows, tag_of};
pub(crate) use routine::call_with;
pub(crate) use transact::{commit, roll_back};
pub(crate) use user_type::removal;

use base::{Error, Result};
use catalog::Field;
use plan::Plan;
use sql::Statement;

use crate::environment::Environment;
use crate::execute;
use crate::rejects::Rejects;
use crate::result::{QueryResult, Tag};
use crate::routine::{compute_calls, run_anonymous};
use crate::triggers;

/// Runs a bound statement. Rejected records of its files are stored when it has succeeded, if it reads them for more
/// than to show a plan.
pub(crate) fn run(
    environment: &mut Environment,
    mut statement: Statement,
    rejects: Vec<Rejects>,
) -> Result<QueryResult> {
    if let Some(block) = &environment.block
        && let Some(what) = written(&statement)
    {
        block.check_writable(what)?;
    }
    let reads = matches!(
        statement,
        Statement::Query(_) | Statement::Insert(_) | Statement::Copy(_) | Statement::Change(_) | Statement::With(_)
    ) || matches!(statement, Statement::CreateTableAs { with_data: true, .. });
    let fires = statement.fires().cloned();
    if let Some(fires) = &fires {
        triggers::before_statement(environment, fires)?;
    }
    if let Some(plan) = statement.plan_to_run() {
        compute_calls(environment, plan)?;
    }
    let result = dispatch(environment, statement)?;
    if let (Some(fires), Some(block)) = (fires, &environment.block) {
        block.fires(fires);
    }
    if reads { result.and_reject(rejects) } else { Ok(result) }
}

/// Whether it changes rows that have to be looked after, though it is none of those that always do.
pub(crate) fn needs_transaction(statement: &Statement) -> bool {
    matches!(statement, Statement::Copy(copy) if copy::needs_transaction(copy))
}

/// What a statement is called that a read-only transaction must not have.
fn written(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Change(change) => Some(tag_of(&change.kind)),
        Statement::Explain { analyze: true, statement, .. } => written(statement),
        Statement::Truncate(_) => Some("TRUNCATE TABLE"),
        Statement::Instead(instead) => Some(instead.event.name()),
        Statement::Locking(locking) => locking.tables.iter().map(|table| table.strength).max().map(|most| match most {
            sql::LockStrength::KeyShare => "SELECT FOR KEY SHARE",
            sql::LockStrength::Share => "SELECT FOR SHARE",
            sql::LockStrength::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
            sql::LockStrength::Update => "SELECT FOR UPDATE",
        }),
        Statement::Insert(_) => Some("INSERT"),
        Statement::Copy(sql::Copy::From { .. }) => Some("COPY FROM"),
        Statement::CreateTable(_) => Some("CREATE TABLE"),
        Statement::AlterTable(_) | Statement::Rename { .. } | Statement::SetSchema { .. } => Some("ALTER TABLE"),
        Statement::CreateTableAs { .. } => Some("CREATE TABLE AS"),
        Statement::Refresh { .. } => Some("REFRESH MATERIALIZED VIEW"),
        Statement::CreateView(_) => Some("CREATE VIEW"),
        Statement::CreateIndex(_) => Some("CREATE INDEX"),
        Statement::Maintenance(sql::Maintenance::Reindex { .. }) => Some("REINDEX"),
        Statement::Type(_) => Some("CREATE TYPE"),
        Statement::Domain(_) => Some("CREATE DOMAIN"),
        Statement::CreateCollation { .. } => Some("CREATE COLLATION"),
        Statement::Comment { .. } => Some("COMMENT"),
        Statement::CreateSchema { .. } => Some("CREATE SCHEMA"),
        Statement::Drop { .. } => Some("DROP"),
        Statement::Routine(sql::RoutineChange::Create { .. }) => Some("CREATE FUNCTION"),
        Statement::Routine(_) => Some("DROP FUNCTION"),
        Statement::Trigger(_) => Some("CREATE TRIGGER"),
        _ => None,
    }
}

fn dispatch(environment: &mut Environment, statement: Statement) -> Result<QueryResult> {
    match statement {
        Statement::Query(plan) => query(environment, plan),
        Statement::Prepare(prepare) => prepared::prepare(environment, prepare),
        // Whoever runs texts has put the statement in its place.
        Statement::Execute { .. } => Err(Error::internal("EXECUTE of a statement that was not looked up")),
        Statement::Deallocate { name, position } => {
            prepared::deallocate(environment, name.as_deref()).map_err(|e| e.at(position))
        }
        Statement::Explain { analyze, stage, statement } => explain::explain(environment, analyze, stage, *statement),
        Statement::CreateTable(create) => definition::create_table(environment, create),
        Statement::CreateTableAs { name, plan, with_data, if_not_exists, or_replace, view } => {
            let mode = definition::mode(if_not_exists, or_replace);
            definition::create_table_as(environment, &name, plan, with_data, mode, view)
        }
        Statement::Refresh { name, table, plan } => load::refresh(environment, &name, &table, plan),
        Statement::CreateView(create) => definition::create_view(environment, create),
        Statement::CreateIndex(create) => index::create_index(environment, create),
        Statement::Maintenance(maintenance) => index::maintain(environment, maintenance),
        Statement::CreateSchema { name, if_not_exists, position } => {
            definition::create_schema(environment, &name, if_not_exists).map_err(|e| e.at(position))
        }
        Statement::CreateSequence { name, shape, owner, if_not_exists, or_replace } => {
            definition::create_sequence(environment, &name, shape, owner, (if_not_exists, or_replace))
        }
        Statement::Rename { name, to, column: Some(from), if_exists, .. } => {
            definition::rename_column_of_view(environment, &name, (&from, &to), if_exists)
        }
        Statement::Rename { kind, name, to, if_exists, .. } => {
            definition::rename(environment, kind, &name, &to, if_exists)
        }
        Statement::SetSchema { kind, name, to, if_exists } => {
            definition::set_schema(environment, kind, &name, &to, if_exists)
        }
        Statement::AlterTable(alter) => alter::alter(environment, *alter),
        Statement::Together(statements) => together(environment, statements),
        // Whoever runs texts has run them.
        Statement::Script { .. } => Err(Error::internal("a script that was not run")),
        Statement::Relate(relate) => definition::relate(environment, relate),
        Statement::SetPartitionKey { table, column } => definition::set_partition_key(&table, column),
        Statement::Nothing(what) => Ok(QueryResult::done(Tag::Done(what))),
        Statement::Told(what, message) => Ok(session::told(environment, what, message)),
        Statement::SetVariable { name, plan } => session::set_variable(environment, name, plan),
        Statement::LockTables { tables, refuses_writers, waits } => {
            locking::lock_tables(environment, if refuses_writers { &tables } else { &[] }, waits)
        }
        Statement::Discard(what) => session::discard(environment, what),
        Statement::AlterSequence { name, sequence, change } => {
            definition::alter_sequence(environment, &name, sequence, change)
        }
        Statement::Drop { kind, names, if_exists, cascade } => {
            definition::drop(environment, kind, &names, if_exists, cascade)
        }
        Statement::Type(statement) => user_type::run(environment, statement),
        Statement::Domain(statement) => user_type::run_domain(environment, statement),
        Statement::CreateCollation { collation, if_not_exists, position } => {
            let catalog = environment.catalog_of(collation.schema.as_deref());
            catalog.create_collation(collation, if_not_exists).map_err(|e| e.at(position))?;
            Ok(QueryResult::done(Tag::Done("CREATE COLLATION")))
        }
        Statement::SetConfig(calls) => show::set_config(environment, calls),
        Statement::Comment { on, text, position } => {
            definition::comment(environment, &on, text).map_err(|e| e.at(position))
        }
        Statement::Insert(insert) => load::insert(environment, insert),
        Statement::Copy(copy) => copy::copy(environment, copy),
        Statement::Set { name, value, local, position } => show::set(environment, &name, value, local, position),
        Statement::Reset { name, position } => show::reset(environment, name.as_deref(), position),
        Statement::Show { name, position, described } => {
            let shown = show::show(environment, name.as_deref(), position);
            shown.or_else(|error| described.map_or(Err(error), |columns| show::describe(&columns)))
        }
        Statement::ShowTables => show::tables(environment),
        Statement::Describe { columns } => show::describe(&columns),
        Statement::Change(change) => change::change(environment, *change),
        Statement::Instead(instead) => change::instead(environment, instead),
        Statement::Truncate(changes) => change::truncate(environment, changes),
        Statement::SetConstraints { names, deferred } => transact::set_constraints(environment, names, deferred),
        Statement::Cursor(statement) => cursor::cursor(environment, statement),
        Statement::Locking(locking) => locking::lock(environment, *locking),
        Statement::With(parts) => with::with(environment, *parts),
        Statement::Transaction(kind) => transact::transact(environment, kind),
        Statement::Routine(change) => routine::change(environment, change),
        Statement::Trigger(statement) => trigger::change(environment, statement),
        Statement::Call { routine, arguments } => routine::call(environment, &routine, &arguments),
        Statement::Do(body) => run_anonymous(environment, &body),
    }
}

/// Statements that are one: it is called as the first of them.
fn together(environment: &mut Environment, statements: Vec<Statement>) -> Result<QueryResult> {
    let mut first = Tag::Done("ALTER TABLE");
    for (at, statement) in statements.into_iter().enumerate() {
        let done = run(environment, statement, Vec::new())?;
        if at == 0 {
            first = done.tag().clone();
        }
        done.collect()?;
    }
    Ok(QueryResult::done(first))
}

/// The life of a query: the bound plan is optimised, lowered to pipelines, compiled, and run while its rows are read.
fn query(environment: &Environment, plan: Plan) -> Result<QueryResult> {
    let cancel = environment.call.token();
    let plan = execute::optimize(environment, plan)?;
    let columns = result_columns(&plan);
    let running = execute::start(environment, &plan, false, cancel)?;
    Ok(QueryResult::running(columns, running))
}

/// Names and types of a plan's output.
pub(crate) fn result_columns(plan: &Plan) -> Vec<Field> {
    let padded: std::collections::HashSet<_> = plan.root.nullable_columns().into_iter().collect();
    plan.output
        .iter()
        .map(|(name, column)| {
            let info = &plan.columns[*column];
            Field { name: name.clone(), sql_type: info.sql_type, nullable: info.nullable || padded.contains(column) }
        })
        .collect()
}

pub(crate) fn rows_tag(what: &'static str, rows: usize) -> QueryResult {
    QueryResult::done(Tag::Rows(what, rows as u64))
}
