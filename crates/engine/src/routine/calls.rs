//! CALL, and the ends of transactions.

use base::{Error, Result, SqlState};
use types::Value;

use super::begin_block;
use super::embedded::Embedded;
use super::program::Place;
use super::run::Runner;
use crate::references::look_after_deferred;
use crate::{statement, text};

/// 2D000.
const INVALID_TERMINATION: SqlState = SqlState("2D000");

impl Runner<'_> {
    /// CALL: what comes out goes to the variables that were given for it.
    pub(super) fn call(&mut self, sql: &Embedded, places: &[Option<Place>]) -> Result<()> {
        let (routine, arguments) = sql.procedure(self.environment, &self.program.variables, &self.frame)?;
        let may_end = self.may_end && self.guards == 0;
        let outcome = super::run_routine(self.environment, &routine, arguments, may_end)?;
        let mut results = outcome.row.into_iter();
        for (parameter, place) in routine.parameters.iter().zip(places) {
            if !parameter.mode.is_result() {
                continue;
            }
            let value = results.next().unwrap_or(Value::Null);
            match place {
                Some(place) => self.assign(place, value, parameter.sql_type)?,
                None => {
                    let name = parameter.name.as_deref().unwrap_or("of the procedure");
                    let message = format!(
                        "procedure parameter \"{name}\" is an output parameter but corresponding argument is not writable"
                    );
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
            }
        }
        Ok(())
    }

    /// COMMIT or ROLLBACK, and the next transaction.
    pub(super) fn end(&mut self, commits: bool) -> Result<()> {
        if !self.may_end {
            return Err(Error::new(INVALID_TERMINATION, "invalid transaction termination"));
        }
        if self.guards > 0 {
            let what = if commits { "commit" } else { "roll back" };
            let message = format!("cannot {what} while a subtransaction is active");
            return Err(Error::new(INVALID_TERMINATION, message));
        }
        let Some(block) = self.environment.block.clone() else {
            return Err(Error::internal("a procedure outside of a transaction"));
        };
        let ended = match commits {
            true => look_after_deferred(self.environment, &block, text::run)
                .and_then(|()| statement::commit(self.environment, &block)),
            false => Ok(()),
        };
        self.environment.unset_local(&block)?;
        if !commits || ended.is_err() {
            statement::roll_back(self.environment, &block);
        }
        begin_block(self.environment, 0)?;
        ended
    }
}
