//! Functions and procedures as they run (decision 51).
//!
//! ```text
//! body ──sql::procedure──▶ tree ──compile──▶ Program, its SQL still text ──run──▶ each piece of SQL prepared once
//! ```
//!
//! A program is compiled once for a session. What is SQL in it is bound when it runs for the first time, and again when the
//! catalog has changed: an expression over variables is evaluated as it stands, anything else is a prepared statement whose
//! parameters are the variables, and so runs by a kept plan (decision 19).

mod assign;
mod block;
mod calls;
mod chunks;
mod compile;
mod computing;
mod convert;
mod cursors;
mod embedded;
mod foreach;
mod joins;
mod loops;
mod materialise;
mod names;
mod narrow;
mod program;
mod queries;
mod raise;
mod recursion;
mod results;
mod returns;
mod rows;
mod run;
mod scope;
mod steps;
mod trigger;

use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use catalog::{Field, Language, Returns, Routine};
use sql::procedure::Block as Body;
use types::{Chunk, ColumnBuilder, Value};

use crate::environment::Environment;
use crate::references::look_after_deferred;
use crate::result::{QueryResult, Tag};
use crate::transaction::Block;
use program::Program;
use results::Outcome;
use run::Runner;
use trigger::before_row;

pub(crate) use materialise::compute_calls;
pub(crate) use rows::calls_routines;
pub(crate) use trigger::{Columns, Fired, call_trigger};

/// Deepest nesting of calls.
const MAX_CALLS: usize = 1000;
/// Levels of the stack that a call takes.
const LEVELS: usize = 24;
/// Most programs that a session remembers.
const MOST_PROGRAMS: usize = 1000;

/// CALL.
pub(crate) fn call(
    environment: &mut Environment,
    routine: &Arc<Routine>,
    arguments: Vec<Value>,
) -> Result<QueryResult> {
    let outcome = as_transaction(environment, |environment, may_end| {
        run_routine(environment, routine, arguments.clone(), may_end)
    })?;
    Ok(called(routine, &outcome))
}

/// What a statement gives that has called a procedure.
fn called(routine: &Routine, outcome: &Outcome) -> QueryResult {
    let columns = if routine.returns == Returns::Nothing { Vec::new() } else { results_of(routine) };
    if columns.is_empty() {
        return QueryResult::done(Tag::Done("CALL"));
    }
    let chunk = row_of(&columns, &outcome.row);
    QueryResult::ready(columns, vec![chunk])
}

/// DO.
pub(crate) fn run_anonymous(environment: &mut Environment, body: &Body) -> Result<QueryResult> {
    let program = Arc::new(compile::anonymous(environment, body)?);
    as_transaction(environment, |environment, may_end| {
        environment.calls += 1;
        let outcome = Runner::new(environment, program.clone(), Vec::new(), may_end).and_then(|runner| runner.run());
        environment.calls -= 1;
        outcome
    })?;
    Ok(QueryResult::done(Tag::Done("DO")))
}

/// What comes out of a procedure.
fn results_of(routine: &Routine) -> Vec<Field> {
    let named = routine.results().enumerate();
    named
        .map(|(at, p)| Field {
            name: p.name.clone().unwrap_or_else(|| format!("column{}", at + 1)),
            sql_type: p.sql_type,
            nullable: true,
        })
        .collect()
}

fn row_of(columns: &[Field], row: &[Value]) -> Chunk {
    let column = |(field, value): (&Field, &Value)| {
        let mut column = ColumnBuilder::new(field.sql_type, 1);
        column.push_value(value);
        column.finish()
    };
    Chunk::new(1, columns.iter().zip(row).map(column).collect())
}

/// Runs something that may end transactions: in the one that the session is in, where it must not, or in one of its own, again
/// if others were faster and none has been committed yet.
fn as_transaction(
    environment: &mut Environment,
    mut run: impl FnMut(&mut Environment, bool) -> Result<Outcome>,
) -> Result<Outcome> {
    if environment.block.is_some() {
        return run(environment, false);
    }
    let notices = environment.notices.count();
    for tries in 0.. {
        let first = begin_block(environment, tries)?;
        let mut result = run(environment, true);
        if let (Ok(_), Some(block)) = (&result, environment.block.clone())
            && let Err(error) = look_after_deferred(environment, &block, crate::text::run)
        {
            result = Err(error);
        }
        let Some(block) = environment.block.take() else {
            return Err(Error::internal("a procedure has lost its transaction"));
        };
        environment.unset_local(&block)?;
        let result = result.and_then(|outcome| crate::statement::commit(environment, &block).map(|()| outcome));
        match result {
            Ok(outcome) => return Ok(outcome),
            Err(error) if !Arc::ptr_eq(&first, &block) => {
                crate::statement::roll_back(environment, &block);
                return Err(error);
            }
            Err(error) => {
                block.settings_then().into_iter().for_each(|settings| environment.restore_settings(settings));
                block.retry_all(error, tries, &environment.call)?;
            }
        }
        environment.notices.truncate(notices);
    }
    Err(Error::internal("tries without an end"))
}

/// The session is in a new transaction.
fn begin_block(environment: &mut Environment, tries: usize) -> Result<Arc<Block>> {
    let isolation = environment.settings.isolation();
    let settings = Some(environment.settings_now());
    let block = Block::new(environment.database.0.keeping_apart(), isolation, false, settings);
    let block = Arc::new(block.after(tries));
    block.begin_statement(false, &environment.call)?;
    environment.block = Some(block.clone());
    Ok(block)
}

/// Runs a routine with what it is given.
fn run_routine(
    environment: &mut Environment,
    routine: &Arc<Routine>,
    arguments: Vec<Value>,
    may_end: bool,
) -> Result<Outcome> {
    run_for(environment, routine, arguments, may_end, None)
}

/// As [`run_routine`], for rows of these columns.
fn run_for(
    environment: &mut Environment,
    routine: &Arc<Routine>,
    arguments: Vec<Value>,
    may_end: bool,
    columns: Option<&[Field]>,
) -> Result<Outcome> {
    if routine.is_strict && arguments.iter().any(Value::is_null) {
        return Ok(Outcome::null(routine));
    }
    if environment.calls >= MAX_CALLS {
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .detail(format!("functions call each other more than {MAX_CALLS} deep at {}", routine.signature()))
            .hint("a recursion needs a condition under which it ends"));
    }
    environment.call.token().check()?;
    let run = |environment: &mut Environment| {
        let program = program_of(environment, routine)?;
        environment.calls += 1;
        let outcome = stack::with_room(LEVELS, || {
            let runner = Runner::new(environment, program, arguments, may_end)?;
            columns.into_iter().fold(runner, Runner::with_columns).run()
        });
        environment.calls -= 1;
        outcome?
    };
    with_settings(environment, &routine.settings, run)
}

/// Does something while settings of the session are others.
fn with_settings<T>(
    environment: &mut Environment,
    settings: &[(String, String)],
    run: impl FnOnce(&mut Environment) -> Result<T>,
) -> Result<T> {
    if settings.is_empty() {
        return run(environment);
    }
    let before = environment.settings_now();
    let set = settings.iter().try_for_each(|(name, value)| environment.set_named(name, value));
    let result = set.and_then(|()| run(environment));
    environment.restore_settings(before);
    result
}

/// Looks for mistakes in the body of a routine that is to be made.
pub(crate) fn check(environment: &Environment, routine: &Routine) -> Result<()> {
    match routine.language {
        Language::Procedural => compile::procedural(environment, &Arc::new(routine.clone())).map(drop),
        Language::Sql | Language::Macro | Language::Aggregate => Ok(()),
    }
}

/// The program of a routine, compiled once for a catalog.
fn program_of(environment: &mut Environment, routine: &Arc<Routine>) -> Result<Arc<Program>> {
    let known = environment.programs.get(&routine.number).cloned();
    if let Some(known) = known.and_then(|known| known.downcast::<Program>().ok())
        && environment.has_catalogs(&known.catalogs)
    {
        return Ok(known);
    }
    let program = match routine.language {
        Language::Procedural => compile::procedural(environment, routine)?,
        Language::Sql => compile::statements(environment, routine)?,
        Language::Macro | Language::Aggregate => return Err(Error::internal("a macro that is called")),
    };
    let program = Arc::new(program);
    if environment.programs.len() >= MOST_PROGRAMS {
        environment.programs.clear();
    }
    environment.programs.insert(routine.number, program.clone());
    Ok(program)
}

/// How errors name a routine.
fn place_of(routine: &Routine) -> String {
    let language = match routine.language {
        Language::Procedural => "PL/pgSQL function",
        Language::Sql => "SQL function",
        Language::Macro => "macro",
        Language::Aggregate => "aggregate",
    };
    format!("{language} {}", routine.signature())
}
