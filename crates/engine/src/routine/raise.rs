//! RAISE and ASSERT.

use base::{Error, Result, SqlState};
use sql::procedure::{Condition, Level, state_of, static_state};
use types::Value;
use types::ops::cast::format_value_in;

use super::embedded::Embedded;
use super::program::Raise;
use super::run::Runner;
use crate::notices::Notice;

/// P0004.
pub(super) const ASSERT_FAILURE: SqlState = SqlState("P0004");
/// P0001.
const RAISE_EXCEPTION: SqlState = SqlState("P0001");

impl Runner<'_> {
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        if raise.again {
            return Err(match &self.handled {
                Some(error) => error.clone(),
                None => Error::new(
                    SqlState("0Z002"),
                    "RAISE without parameters cannot be used outside an exception handler",
                ),
            });
        }
        let mut state = match (&raise.condition, raise.level) {
            (Some(Condition::State(state, _)), _) => SqlState(static_state(state)),
            (_, Level::Exception) => RAISE_EXCEPTION,
            (_, Level::Warning) => SqlState("01000"),
            _ => SqlState("00000"),
        };
        let format = raise.format.as_ref();
        let mut message = format.map(|format| self.formatted(format, &raise.arguments)).transpose()?;
        let (mut detail, mut hint, mut about) = (None, None, Vec::new());
        for (option, value) in &raise.options {
            let (value, sql_type) = self.value(value)?;
            if value.is_null() {
                return Err(Error::new(SqlState("22004"), "RAISE statement option cannot be null"));
            }
            let text = format_value_in(&value, sql_type, &self.zone);
            match option.as_str() {
                "message" if message.is_some() => {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "RAISE option already specified: MESSAGE"));
                }
                "message" => message = Some(text),
                "detail" => detail = Some(text),
                "hint" => hint = Some(text),
                "errcode" => state = state_written(&text)?,
                other => about.extend(item_of(other).map(|item| (item, text))),
            }
        }
        let named = match &raise.condition {
            Some(Condition::State(state, name)) => Some(name.clone().unwrap_or_else(|| state.clone())),
            _ => None,
        };
        let message = message.or(named).unwrap_or_else(|| state.0.to_owned());
        if raise.level == Level::Exception {
            let mut error = Error::new(state, message);
            if let Some(detail) = detail {
                error = error.detail(detail);
            }
            error = about.into_iter().fold(error, |error, (item, name)| error.about(item, name));
            return Err(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        self.environment.notify(Notice { level: raise.level.name(), state, message, detail, hint });
        Ok(())
    }

    /// The message with the values of the arguments in the places of `%`.
    fn formatted(&mut self, format: &str, arguments: &[Embedded]) -> Result<String> {
        let mut message = String::with_capacity(format.len());
        let (mut arguments, mut chars) = (arguments.iter(), format.chars().peekable());
        while let Some(c) = chars.next() {
            if c != '%' {
                message.push(c);
            } else if chars.next_if_eq(&'%').is_some() {
                message.push('%');
            } else if let Some(argument) = arguments.next() {
                match self.value(argument)? {
                    (Value::Null, _) => message.push_str("<NULL>"),
                    (Value::Bool(value), _) => message.push(if value { 't' } else { 'f' }),
                    (value, sql_type) => message.push_str(&format_value_in(&value, sql_type, &self.zone)),
                }
            }
        }
        Ok(message)
    }

    pub(super) fn assert(&mut self, condition: &Embedded, message: Option<&Embedded>) -> Result<()> {
        if self.is_true(condition)? {
            return Ok(());
        }
        let told = match message {
            None => None,
            Some(message) => match self.value(message)? {
                (Value::Null, _) => None,
                (value, sql_type) => Some(format_value_in(&value, sql_type, &self.zone)),
            },
        };
        Err(Error::new(ASSERT_FAILURE, told.unwrap_or_else(|| "assertion failed".to_owned())))
    }
}

/// The item of diagnostics that an option of RAISE says.
fn item_of(option: &str) -> Option<&'static str> {
    Some(match option {
        "constraint" => "constraint_name",
        "table" => "table_name",
        "schema" => "schema_name",
        "column" => "column_name",
        "datatype" => "pg_datatype_name",
        _ => return None,
    })
}

/// A state as USING ERRCODE has it: five characters, or the name of a condition.
fn state_written(text: &str) -> Result<SqlState> {
    let is_state = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    if is_state {
        return Ok(SqlState(static_state(text)));
    }
    state_of(&text.to_lowercase())
        .map(SqlState)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{text}\"")))
}
