//! DECLARE, FETCH, MOVE, CLOSE.

use base::{Error, Result, SqlState};
use sql::CursorStatement;

use super::result_columns;
use crate::cursor::{Cursor, missing};
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};

const DUPLICATE_CURSOR: SqlState = SqlState("42P03");

pub(super) fn cursor(environment: &mut Environment, statement: CursorStatement) -> Result<QueryResult> {
    let block = environment.block.clone();
    environment.live_cursors();
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
            let budget = &environment.database.0.budget;
            let cursor = Cursor::new((columns, chunks), (scrolls, holds), block.as_ref(), budget)?;
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
