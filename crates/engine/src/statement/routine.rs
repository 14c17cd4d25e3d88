//! CREATE, DROP and ALTER of functions and procedures, CALL and DO.

use std::sync::Arc;

use base::{Error, Result};
use catalog::{Routine, RoutineKind, TEMPORARY_SCHEMA};
use plan::{Expr, eval};
use sql::{Resolver as _, RoutineChange};
use types::Value;

use super::callers::refuse_called_by_tables;
use crate::environment::Environment;
use crate::resolver::Resolver;
use crate::result::{QueryResult, Tag};
use crate::routine;

pub(super) fn change(environment: &Environment, change: RoutineChange) -> Result<QueryResult> {
    let catalog = environment.catalog_of(None);
    let what = |word: &str, kind: Option<RoutineKind>| match (word, kind) {
        ("CREATE", Some(RoutineKind::Function)) => "CREATE FUNCTION",
        ("CREATE", Some(RoutineKind::Aggregate)) => "CREATE AGGREGATE",
        ("CREATE", _) => "CREATE PROCEDURE",
        ("DROP", Some(RoutineKind::Function)) => "DROP FUNCTION",
        ("DROP", Some(RoutineKind::Procedure)) => "DROP PROCEDURE",
        ("DROP", Some(RoutineKind::Aggregate)) => "DROP AGGREGATE",
        ("DROP", None) => "DROP ROUTINE",
        (_, Some(RoutineKind::Function)) => "ALTER FUNCTION",
        (_, Some(RoutineKind::Procedure)) => "ALTER PROCEDURE",
        (_, Some(RoutineKind::Aggregate)) => "ALTER AGGREGATE",
        (_, None) => "ALTER ROUTINE",
    };
    let (done, changed, position) = match change {
        RoutineChange::CreateMacro { name, routines, or_replace, if_not_exists, tag } => {
            let catalog = environment.catalog_of(name.schema.as_deref());
            let full = (name.schema.as_deref(), name.name.as_str());
            (tag, catalog.create_macro(full, routines, or_replace, if_not_exists), name.position)
        }
        RoutineChange::DropMacro { name, if_exists, tag } => {
            let known = environment.catalog();
            let is_own = name.schema.is_none() && !known.routines_named(Some(TEMPORARY_SCHEMA), &name.name).is_empty();
            let schema = if is_own { Some(TEMPORARY_SCHEMA) } else { name.schema.as_deref() };
            (tag, environment.catalog_of(schema).drop_macro(schema, &name.name, if_exists), name.position)
        }
        RoutineChange::Create { routine, or_replace, position } => {
            if Resolver::new(environment).setting("check_function_bodies").as_deref() != Some("off") {
                routine::check(environment, &routine).map_err(|e| e.at(position))?;
            }
            (what("CREATE", Some(routine.kind)), catalog.create_routine(*routine, or_replace), position)
        }
        RoutineChange::Drop { kind, names, if_exists, cascade, position } => {
            let known = environment.catalog();
            let called = |name: &catalog::RoutineName| {
                refuse_called_by_tables(&known, name.schema.as_deref(), &name.name).map_err(|e| e.at(position))
            };
            names.iter().try_for_each(called)?;
            (what("DROP", kind), catalog.drop_routines(kind, &names, if_exists, cascade), position)
        }
        RoutineChange::Alter { kind, name, change, position } => {
            (what("ALTER", kind), catalog.alter_routine(kind, &name, &change), position)
        }
        RoutineChange::Rename { kind, name, to, position } => {
            (what("ALTER", kind), catalog.rename_routine(kind, &name, &to), position)
        }
    };
    changed.map_err(|e| e.at(position))?;
    Ok(QueryResult::done(Tag::Done(done)))
}

pub(super) fn call(environment: &mut Environment, procedure: &Arc<Routine>, arguments: &[Expr]) -> Result<QueryResult> {
    let values = arguments.iter().map(eval::constant).collect::<Result<_>>()?;
    call_with(environment, procedure, values)
}

/// CALL with these arguments.
pub(crate) fn call_with(
    environment: &mut Environment,
    procedure: &Arc<Routine>,
    arguments: Vec<Value>,
) -> Result<QueryResult> {
    routine::call(environment, procedure, arguments).map_err(Error::nowhere)
}
