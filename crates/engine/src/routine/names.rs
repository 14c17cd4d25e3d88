//! Names of steps, for the context of errors.

use super::program::{Action, Query, Range};

/// What PostgreSQL calls a step in the context of errors.
pub(super) fn what(action: &Action) -> &'static str {
    match action {
        Action::Block(_) => "statement block",
        Action::Assign(..) => "assignment",
        Action::Sql(..) => "SQL statement",
        Action::Perform(_) => "PERFORM",
        Action::Execute(..) => "EXECUTE",
        Action::If(..) => "IF",
        Action::Case(..) => "CASE",
        Action::Loop(_, None, _) => "LOOP",
        Action::Loop(..) => "WHILE",
        Action::For(_, _, Range::Integers { .. }, _) => "FOR with integer loop variable",
        Action::For(_, _, Range::Rows(Query::Written(_)), _) => "FOR over SELECT rows",
        Action::For(_, _, Range::Rows(Query::Made(..)), _) => "FOR over EXECUTE statement",
        Action::For(_, _, Range::Cursor(..), _) => "FOR over cursor",
        Action::For(..) => "FOREACH over array",
        Action::Leave { goes_on: false, .. } => "EXIT",
        Action::Leave { .. } => "CONTINUE",
        Action::Return(_) => "RETURN",
        Action::ReturnNext(_) => "RETURN NEXT",
        Action::ReturnQuery(_) => "RETURN QUERY",
        Action::Raise(_) => "RAISE",
        Action::Assert(..) => "ASSERT",
        Action::Diagnostics(..) => "GET DIAGNOSTICS",
        Action::Call(..) => "CALL",
        Action::Open(..) => "OPEN",
        Action::Fetch(_, _, None) => "MOVE",
        Action::Fetch(..) => "FETCH",
        Action::Close(_) => "CLOSE",
        Action::Nothing => "NULL",
        Action::End { commits: true } => "COMMIT",
        Action::End { .. } => "ROLLBACK",
    }
}
