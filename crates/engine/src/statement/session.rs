//! SET VARIABLE, DISCARD, and what is only told.

use base::{Result, SqlState};
use catalog::{Kind, TEMPORARY_SCHEMA};
use plan::Plan;
use types::Value;

use super::{prepared, result_columns, show};
use crate::environment::Environment;
use crate::execute;
use crate::notices::Notice;
use crate::result::{QueryResult, Tag};

/// SET VARIABLE, or RESET VARIABLE without a plan: the value is that of the first row.
pub(super) fn set_variable(environment: &mut Environment, name: String, plan: Option<Plan>) -> Result<QueryResult> {
    let Some(plan) = plan else {
        environment.variables.remove(&name);
        return Ok(QueryResult::done(Tag::Done("RESET VARIABLE")));
    };
    let plan = execute::optimize(environment, plan)?;
    let columns = result_columns(&plan);
    let sql_type = columns[0].sql_type;
    let running = execute::start(environment, &plan, false, environment.call.token())?;
    let chunks = QueryResult::running(columns, running).collect()?;
    let first = chunks.iter().find(|chunk| chunk.rows() > 0).map(|chunk| chunk.row(0));
    let value = first.and_then(|row| row.first().cloned()).unwrap_or(Value::Null);
    environment.variables.insert(name, (value, sql_type));
    Ok(QueryResult::done(Tag::Done("SET VARIABLE")))
}

/// DISCARD, as PostgreSQL has it: ALL is as if the session began anew.
pub(super) fn discard(environment: &mut Environment, tag: &'static str) -> Result<QueryResult> {
    if tag == "DISCARD ALL" {
        if environment.block.is_some() {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(base::Error::new(SqlState("25001"), message));
        }
        environment.cursors.clear();
        environment.variables.clear();
        prepared::deallocate(environment, None)?;
        show::reset(environment, None, None)?;
    }
    if matches!(tag, "DISCARD ALL" | "DISCARD TEMP") {
        let catalog = environment.catalog();
        for kind in [Kind::View, Kind::Table] {
            let own =
                catalog.entries().filter(|(schema, _, entry)| *schema == TEMPORARY_SCHEMA && entry.kind() == kind);
            let names: Vec<_> = own.map(|(schema, name, _)| (Some(schema), name)).collect();
            environment.catalog_of(Some(TEMPORARY_SCHEMA)).drop(kind, &names, true, true)?;
        }
    }
    Ok(QueryResult::done(Tag::Done(tag)))
}

/// What is done already.
pub(super) fn told(environment: &Environment, tag: &'static str, message: String) -> QueryResult {
    let state = SqlState("00000");
    environment.notify(Notice { level: "NOTICE", state, message, detail: None, hint: None });
    QueryResult::done(Tag::Done(tag))
}
