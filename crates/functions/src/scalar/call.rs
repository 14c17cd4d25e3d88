//! A call with its values, and how rows unpack them.

use base::{Error, Result};
use types::ops::date;
use types::ops::decimal;
use types::ops::number::{float, integer};
use types::ops::numeric::{self, Numeric};
use types::{SqlType, Value};

/// A call: the values of the arguments, their types, and the type of the result.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Of the arguments.
    pub values: &'a [Value],
    /// Of the arguments; exactly those that the overload asks for.
    pub types: &'a [SqlType],
    /// What the result must be.
    pub result: SqlType,
}

impl<'a> Call<'a> {
    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no argument.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// An argument of another kind than the overload asks for: the plan is wrong, not the user.
    pub(super) fn wrong<T>(&self) -> Result<T> {
        Err(Error::internal(format!("a function of {:?} was called with {:?}", self.types, self.values)))
    }

    pub(super) fn value(&self, i: usize) -> Result<&'a Value> {
        self.values.get(i).map_or_else(|| self.wrong(), Ok)
    }

    /// The type of an argument.
    pub(super) fn type_of(&self, i: usize) -> SqlType {
        self.types.get(i).copied().unwrap_or(SqlType::Null)
    }

    pub(super) fn text(&self, i: usize) -> Result<&'a str> {
        if let Value::Str(text) = self.value(i)? { Ok(text) } else { self.wrong() }
    }

    /// A text argument that may be left out.
    pub(super) fn text_or(&self, i: usize, default: &'a str) -> Result<&'a str> {
        if i < self.len() { self.text(i) } else { Ok(default) }
    }

    /// An array in its form, and the type of its elements.
    pub(super) fn array(&self, i: usize) -> Result<(&'a str, SqlType)> {
        match self.type_of(i).element() {
            Some(element) => Ok((self.text(i)?, element)),
            None => self.wrong(),
        }
    }

    pub(super) fn int(&self, i: usize) -> Result<i64> {
        if let Value::Int(n) = self.value(i)? { Ok(*n) } else { self.wrong() }
    }

    /// Any number as a double.
    pub(super) fn float(&self, i: usize) -> Result<f64> {
        match self.value(i)? {
            Value::Float(f) => Ok(*f),
            Value::Int(n) => Ok(*n as f64),
            Value::Decimal(d) => Ok(decimal::to_f64(*d, self.type_of(i).scale())),
            _ => self.wrong(),
        }
    }

    /// An exact number and its scale.
    pub(super) fn exact(&self, i: usize) -> Option<(i128, u8)> {
        match self.values.get(i)? {
            Value::Decimal(d) => Some((*d, self.type_of(i).scale())),
            Value::Int(n) => Some((i128::from(*n), 0)),
            _ => None,
        }
    }

    /// A number of any length, of an argument of such a type or any other number.
    pub(super) fn numeric(&self, i: usize) -> Result<Numeric> {
        numeric::of_value(self.value(i)?, self.type_of(i)).map_or_else(|| self.wrong(), Ok)
    }

    /// Whether the result is a `numeric` that is no decimal.
    pub(super) fn is_numeric(&self) -> bool {
        self.result.is_long_numeric()
    }

    /// A number as a value of such a type.
    pub(super) fn long(&self, value: Numeric) -> Result<Value> {
        let SqlType::Numeric { precision, scale } = self.result else { return self.wrong() };
        numeric::fit(value, precision, scale).map(Value::str)
    }

    /// A timestamp, or a date's midnight.
    pub(super) fn timestamp(&self, i: usize) -> Result<i64> {
        match self.value(i)? {
            Value::Timestamp(t) => Ok(*t),
            Value::Date(d) => date::date_to_timestamp(*d),
            _ => self.wrong(),
        }
    }

    /// A double as a value of the result's type.
    pub(super) fn floating(&self, value: f64) -> Result<Value> {
        Ok(Value::Float(if self.result == SqlType::Real { float::to_f32(value)?.into() } else { value }))
    }

    /// An exact number of that scale as a value of the result's decimal type.
    pub(super) fn decimal(&self, value: i128, scale: u8) -> Result<Value> {
        let SqlType::Decimal { precision, scale: to } = self.result else { return self.wrong() };
        Ok(Value::Decimal(decimal::rescale_to(value, scale, precision, to)?))
    }
}

/// Calls a generic function of integers with the integer type that the result has.
macro_rules! in_width {
    ($call:expr, $function:path, $($argument:expr),+) => {{
        use types::ops::number::integer::narrow;
        match $call.result {
            types::SqlType::SmallInt => i64::from($function($(narrow::<i16>(i128::from($argument))?),+)?),
            types::SqlType::Integer => i64::from($function($(narrow::<i32>(i128::from($argument))?),+)?),
            _ => $function($($argument),+)?,
        }
    }};
}
pub(super) use in_width;

/// An exact number of that scale as an integer.
pub(super) fn whole(value: i128, scale: u8) -> Result<i64> {
    integer::narrow(decimal::rescale(value, scale, 0)?)
}
