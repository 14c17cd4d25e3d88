//! PREPARE and DEALLOCATE; EXECUTE is the text's that it runs.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use sql::Prepare;

use crate::PreparedStatement;
use crate::environment::Environment;
use crate::result::{QueryResult, Tag};

const DUPLICATE_PREPARED_STATEMENT: SqlState = SqlState("42P05");
const UNDEFINED_PREPARED_STATEMENT: SqlState = SqlState("26000");

pub(super) fn prepare(environment: &mut Environment, prepare: Prepare) -> Result<QueryResult> {
    let (name, position) = (prepare.name.clone(), prepare.position);
    if environment.prepared.contains_key(&name) {
        let message = format!("prepared statement \"{name}\" already exists");
        return Err(Error::new(DUPLICATE_PREPARED_STATEMENT, message).at(position).hint("DEALLOCATE forgets it"));
    }
    let told = environment.statement.text.to_string();
    environment.prepared.insert(name, Arc::new(PreparedStatement::new(prepare, told)?));
    Ok(QueryResult::done(Tag::Done("PREPARE")))
}

/// A name that means nothing is error 26000.
pub(super) fn deallocate(environment: &mut Environment, name: Option<&str>) -> Result<QueryResult> {
    match name {
        Some(name) => {
            if environment.prepared.remove(name).is_none() {
                return Err(missing(name));
            }
            Ok(QueryResult::done(Tag::Done("DEALLOCATE")))
        }
        None => {
            environment.prepared.clear();
            Ok(QueryResult::done(Tag::Done("DEALLOCATE ALL")))
        }
    }
}

fn missing(name: &str) -> Error {
    Error::new(UNDEFINED_PREPARED_STATEMENT, format!("prepared statement \"{name}\" does not exist"))
}
