//! DECLARE, FETCH, MOVE, CLOSE.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use sql::CursorStatement;
use types::Chunk;

use super::result_columns;
use crate::cursor::Cursor;
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};

const DUPLICATE_CURSOR: SqlState = SqlState("42P03");
const INVALID_CURSOR_NAME: SqlState = SqlState("34000");

pub(super) fn cursor(environment: &mut Environment, statement: CursorStatement) -> Result<QueryResult> {
    let block = environment.block.clone();
    environment.cursors.retain(|_, cursor| cursor.is_of(block.as_ref()));
    match statement {
        CursorStatement::Declare { name, position, scrolls, holds, plan } => {
            if block.is_none() && !holds {
                let message = "DECLARE CURSOR can only be used in transaction blocks";
                return Err(Error::new(SqlState("25P01"), message).hint("BEGIN begins one").at(position));
            }
            if environment.cursors.contains_key(&name) {
                let message = format!("cursor \"{name}\" already exists");
                return Err(Error::new(DUPLICATE_CURSOR, message).at(position));
            }
            let plan = execute::optimize(environment, plan)?;
            let columns = result_columns(&plan);
            let running = execute::start(environment, &plan, false, environment.call.token())?;
            let chunks = QueryResult::running(columns.clone(), running).collect()?;
            // It stays when the statement has ended.
            let bytes = chunks.iter().map(Chunk::bytes).sum();
            let chunks = Arc::new((chunks, environment.database.0.budget.reserve(bytes, "cursor")?));
            let block = block.map(|block| (Arc::downgrade(&block), block.transaction.statement()));
            let cursor = Cursor { columns, chunks, scrolls, holds, block, place: 0 };
            environment.cursors.insert(name, cursor);
            Ok(QueryResult::done(Tag::Done("DECLARE CURSOR")))
        }
        CursorStatement::Fetch { name, position, direction, moves } => {
            let cursor = environment.cursors.get_mut(&name).ok_or_else(|| missing(&name).at(position))?;
            let (rows, reversed) = cursor.go(direction)?;
            if moves {
                return Ok(super::rows_tag("MOVE", (rows.end - rows.start) as usize));
            }
            Ok(QueryResult::ready(cursor.columns.clone(), cursor.chunks_of(&rows, reversed)))
        }
        CursorStatement::Close { name: None, .. } => {
            environment.cursors.clear();
            Ok(QueryResult::done(Tag::Done("CLOSE CURSOR ALL")))
        }
        CursorStatement::Close { name: Some(name), position } => {
            environment.cursors.remove(&name).ok_or_else(|| missing(&name).at(position))?;
            Ok(QueryResult::done(Tag::Done("CLOSE CURSOR")))
        }
    }
}

fn missing(name: &str) -> Error {
    Error::new(INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
