//! What functions find in lists where they lie.

use base::Result;

use super::code::is_null;
use super::{Elements, functions};
use crate::{SqlType, Value};

/// What a function of lists gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'a> {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number as it is stored.
    Integer(i128),
    /// A double.
    Double(f64),
    /// A text, or a list that is part of another.
    Text(&'a str),
    /// An element, as the list of it alone.
    Element(&'a str),
}

impl Found<'_> {
    /// As a value of the type, of lists with elements of another.
    pub fn value(self, element: SqlType, result: SqlType) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is_true) => Value::Bool(is_true),
            Self::Integer(number) => Value::of_integer(result, number).unwrap_or(Value::Null),
            Self::Double(number) => Value::Float(number),
            Self::Text(text) => Value::str(text),
            Self::Element(alone) => Elements::new(alone, element).next().unwrap_or(Value::Null),
        }
    }
}

/// Whether an element equals the wanted one, which is given as the list of it alone; NULL if that is NULL.
pub fn has<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    if wanted.is_empty() || is_null(wanted.as_bytes()) {
        return Ok(Found::Null);
    }
    Ok(Found::Bool(functions::position(list, element, wanted, 1).is_some()))
}

/// As `= ANY` has it: NULL where none is, but some is NULL.
pub fn has_any<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    Ok(match functions::any_equal(list, element, wanted) {
        Value::Bool(is_there) => Found::Bool(is_there),
        _ => Found::Null,
    })
}

/// The number of the first element that is the same as the wanted one, NULL too; NULL if there is none.
pub fn place<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    Ok(functions::position(list, element, wanted, 1).map_or(Found::Null, |at| Found::Integer(at.into())))
}
