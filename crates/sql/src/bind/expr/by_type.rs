//! Calls that mean another function where their first argument is a list, a map, a text or a time.

use base::{Error, Result, SqlState};
use functions::Composed;
use plan::Expr;
use sqlparser::ast;
use types::SqlType;

use super::named::call;
use crate::bind::Binder;
use crate::bind::coerce::is_untyped;

/// What a function of numbers is of times, and one of times of numbers.
pub(super) fn instead(name: &str, arguments: usize) -> Option<&'static Composed> {
    let other = match name {
        "epoch_ms" => "make_timestamp_ms",
        "isinf" => "is_time_without_end",
        _ => return None,
    };
    Composed::find(other, arguments)
}

/// Whether an error says that arguments have other types than these.
pub(super) fn is_about_types(error: &Error) -> bool {
    matches!(error.state(), SqlState::UNDEFINED_FUNCTION | SqlState::CANNOT_COERCE)
}

impl Binder<'_> {
    /// The value of such a call; none if it is what it is called.
    pub(super) fn by_first_type(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        bound: &[Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        let Some(first) = bound.first() else { return Ok(None) };
        let is_text = first.sql_type.is_string() || is_untyped(first);
        let is_time = matches!(first.sql_type, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
        let bounds = |at: usize| arguments.get(at).map(|&bound| bound.clone());
        Ok(Some(match (name, bound.len()) {
            ("contains", 2) if first.sql_type.is_array() => call("list_contains", bound.to_vec(), position)?,
            ("contains", 2) if matches!(first.sql_type, SqlType::Map(_)) => {
                self.call_by_name("map_contains", arguments, position)?
            }
            ("list_extract" | "list_element" | "array_extract", 2) if is_text => {
                let subscript = ast::Subscript::Index { index: arguments[1].clone() };
                self.part_of_text(first.clone(), &subscript, position)?
            }
            ("array_slice", 3) if is_text => {
                let (lower_bound, upper_bound) = (bounds(1), bounds(2));
                let subscript = ast::Subscript::Slice { lower_bound, upper_bound, stride: None };
                self.part_of_text(first.clone(), &subscript, position)?
            }
            ("range", 3) if is_time || bound[2].sql_type == SqlType::Interval => {
                self.times_in_list(name, bound.to_vec(), position)?
            }
            _ => return Ok(None),
        }))
    }
}
