//! Ranges as texts (decision 59): the bounds one behind the other in a form whose bytes compare as PostgreSQL compares ranges, and
//! are equal exactly if the ranges are.
//!
//! - The empty range is one byte, [`EMPTY`], which is below all others.
//! - Another one begins with [`HELD`]. A bound is a byte that says whether there is one, its value in the form of an element of
//!   an array, and a byte that says on which side of the value it is: before it, as a lower bound that includes it and an upper
//!   one that does not, or behind it. A missing lower bound is below all others, a missing upper one above them.
//!
//! Ranges of integers and dates have one form: the lower bound is included and the upper one is not.

mod functions;
mod text;

use std::cmp::Ordering;

use base::{Error, Result, SqlState};

use super::array::{self, Elements};
use super::date;
use super::error::out_of_range;
use crate::{SqlType, Value};

pub use functions::*;
pub use text::{parse, write};

const EMPTY: u8 = b'0';
const HELD: u8 = b'1';
const NO_LOWER: u8 = b'0';
const BOUND: u8 = b'1';
const NO_UPPER: u8 = b'2';
const BEFORE: u8 = b'0';
const BEHIND: u8 = b'1';

/// Where a range begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// None: nowhere.
    pub value: Option<Value>,
    /// Whether the value is in the range.
    pub inclusive: bool,
}

/// A range.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Nothing is in it.
    Empty,
    /// From one bound to another.
    Held(Bound, Bound),
}

impl Bound {
    /// No bound.
    pub const NONE: Self = Self { value: None, inclusive: false };

    /// Where it is among others: of the lower ones, or of the upper ones.
    fn place(&self, is_lower: bool) -> (Option<&Value>, bool) {
        (self.value.as_ref(), self.value.is_some() && self.inclusive != is_lower)
    }
}

/// The order of two bounds, each of which is a lower one or an upper one.
fn compare((a, a_is_lower): (&Bound, bool), (b, b_is_lower): (&Bound, bool)) -> Ordering {
    let side = |is_lower: bool| if is_lower { Ordering::Less } else { Ordering::Greater };
    match (a.place(a_is_lower), b.place(b_is_lower)) {
        ((None, _), (None, _)) => a_is_lower.cmp(&b_is_lower).reverse(),
        ((None, _), _) => side(a_is_lower),
        (_, (None, _)) => side(b_is_lower).reverse(),
        ((Some(x), x_is_behind), (Some(y), y_is_behind)) => x.total_cmp(y).then(x_is_behind.cmp(&y_is_behind)),
    }
}

/// Whether there is a next value of the type.
fn is_discrete(element: SqlType) -> bool {
    matches!(element, SqlType::Integer | SqlType::BigInt | SqlType::Date)
}

/// The value behind one of a discrete type.
fn next(value: &Value, element: SqlType) -> Result<Value> {
    Ok(match value {
        Value::Int(i) if element == SqlType::Integer => {
            let next = i32::try_from(*i).ok().and_then(|i| i.checked_add(1)).ok_or_else(|| out_of_range("integer"))?;
            Value::Int(next.into())
        }
        Value::Int(i) => Value::Int(i.checked_add(1).ok_or_else(|| out_of_range("bigint"))?),
        Value::Date(d) => Value::Date(
            d.checked_add(1)
                .filter(|d| *d <= date::MAX_DATE)
                .ok_or_else(|| Error::new(SqlState::DATETIME_OVERFLOW, "date out of range"))?,
        ),
        other => other.clone(),
    })
}

/// A range between two bounds in its one form: 22000 if they are in the wrong order.
pub fn of_bounds(mut lower: Bound, mut upper: Bound, element: SqlType) -> Result<Range> {
    if let (Some(a), Some(b)) = (&lower.value, &upper.value) {
        match a.total_cmp(b) {
            Ordering::Greater => {
                let message = "range lower bound must be less than or equal to range upper bound";
                return Err(Error::new(SqlState("22000"), message));
            }
            Ordering::Equal if !lower.inclusive || !upper.inclusive => return Ok(Range::Empty),
            _ => {}
        }
    }
    if is_discrete(element) {
        // Nothing comes next to what is infinite.
        let is_finite = |value: &Value| !matches!(value, Value::Date(d) if date::is_infinite_date(*d));
        if let (Some(value), false) = (&lower.value, lower.inclusive)
            && is_finite(value)
        {
            lower = Bound { value: Some(next(value, element)?), inclusive: true };
        }
        if let (Some(value), true) = (&upper.value, upper.inclusive)
            && is_finite(value)
        {
            upper = Bound { value: Some(next(value, element)?), inclusive: false };
        }
    }
    Ok(or_empty(lower, upper))
}

/// The range between bounds in their one form, or the empty one.
fn or_empty(mut lower: Bound, mut upper: Bound) -> Range {
    lower.inclusive &= lower.value.is_some();
    upper.inclusive &= upper.value.is_some();
    match compare((&lower, true), (&upper, false)) {
        Ordering::Less => Range::Held(lower, upper),
        _ => Range::Empty,
    }
}

/// The form of a range.
pub fn encode(range: &Range, element: SqlType) -> Result<Value> {
    let Range::Held(lower, upper) = range else { return array::finish(vec![EMPTY]) };
    let mut out = vec![HELD];
    for (bound, is_lower) in [(lower, true), (upper, false)] {
        match bound.place(is_lower) {
            (None, _) => out.push(if is_lower { NO_LOWER } else { NO_UPPER }),
            (Some(value), is_behind) => {
                out.push(BOUND);
                array::push(&mut out, value, element)?;
                out.push(if is_behind { BEHIND } else { BEFORE });
            }
        }
    }
    array::finish(out)
}

/// The range of a form.
pub fn decode(form: &str, element: SqlType) -> Range {
    if form.as_bytes().first() != Some(&HELD) {
        return Range::Empty;
    }
    let (lower, at) = bound(form, 1, true, element);
    Range::Held(lower, bound(form, at, false, element).0)
}

/// The bound that begins at a byte, and where it ends.
fn bound(form: &str, at: usize, is_lower: bool, element: SqlType) -> (Bound, usize) {
    if form.as_bytes().get(at) != Some(&BOUND) {
        return (Bound::NONE, at + 1);
    }
    let mut elements = Elements::from_byte(form, element, at + 1);
    let value = elements.clone().next();
    let end = at + 1 + elements.raw().len();
    let is_behind = form.as_bytes().get(end) == Some(&BEHIND);
    (Bound { value, inclusive: is_behind != is_lower }, end + 1)
}

#[cfg(test)]
mod tests;
