//! Blocks, and what is done about errors in them.

use base::{Error, Result, SqlState};
use sql::procedure::Condition;
use types::Value;

use super::program::{BlockCode, Guard, Place};
use super::raise::ASSERT_FAILURE;
use super::run::{Flow, Runner};
use super::scope::Slot;

/// What a guarded block's savepoint is called: SQL has no such name.
const SAVEPOINT: &str = "\u{1}block";

impl Runner<'_> {
    pub(super) fn block(&mut self, block: &BlockCode) -> Result<Flow> {
        let flow = match &block.guard {
            None => self.unguarded(block)?,
            Some(guard) => self.guarded(block, guard)?,
        };
        match flow {
            Flow::Leave { number, goes_on: false } if number == block.number => Ok(Flow::On),
            other => Ok(other),
        }
    }

    pub(super) fn unguarded(&mut self, block: &BlockCode) -> Result<Flow> {
        for (slot, default, line) in &block.begins {
            self.frame[*slot] = self.empty(*slot);
            if let Some(default) = default {
                self.at = (*line, "");
                let (value, from) = self.value(default)?;
                let shown = self.program.variables[*slot].name.clone();
                let place = Place { slot: *slot, field: None, subscript: None, shown };
                self.assign(&place, value, from)?;
            } else if self.program.domains.contains_key(slot) {
                self.at = (*line, "");
                self.check_domain(*slot)?;
            }
        }
        self.steps(&block.body)
    }

    /// A block that has not happened if an error leaves it, which then is handled.
    pub(super) fn guarded(&mut self, block: &BlockCode, guard: &Guard) -> Result<Flow> {
        let Some(transaction) = self.environment.block.clone() else {
            return Err(Error::internal("a block with EXCEPTION outside of a transaction"));
        };
        transaction.begin_statement(false, &self.environment.call)?;
        transaction.mark(SAVEPOINT.to_owned(), self.environment.settings_now());
        self.guards += 1;
        let result = self.unguarded(block);
        self.guards -= 1;
        let error = match result {
            Ok(flow) => {
                transaction.release(SAVEPOINT)?;
                return Ok(flow);
            }
            Err(error) => self.environment.named(error),
        };
        let handler =
            guard.handlers.iter().find(|(conditions, _)| conditions.iter().any(|c| catches(c, error.state())));
        let Some((_, code)) = handler else { return Err(error) };
        let (first, settings) = transaction.roll_back_to(SAVEPOINT)?;
        self.environment.restore_settings(settings);
        self.environment.cursors.retain(|_, cursor| cursor.is_from_before(first));
        transaction.release(SAVEPOINT)?;
        // What it has changed is seen as it was from here on.
        transaction.begin_statement(false, &self.environment.call)?;
        self.frame[guard.state] = Slot::Scalar(Value::str(error.state().0));
        self.frame[guard.message] = Slot::Scalar(Value::str(error.message()));
        let located = self.located(error);
        let around = self.handled.replace(located);
        let flow = self.steps(code);
        self.handled = around;
        flow
    }
}

/// Whether a handler is for that state.
fn catches(condition: &Condition, state: SqlState) -> bool {
    match condition {
        Condition::Others => state != SqlState::QUERY_CANCELED && state != ASSERT_FAILURE,
        Condition::State(wanted, _) => {
            wanted == state.0 || wanted.ends_with("000") && wanted.get(..2) == state.0.get(..2)
        }
    }
}
