//! Series of timestamps and decimals, as arrays whose elements become rows.

use base::{Error, Result, SqlState, statement};
use types::ops::array;
use types::ops::date::{self, Zone};
use types::ops::string::MAX_LENGTH;
use types::{SqlType, Value};

use super::{Call, Scalar};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::operator(
        "time_series",
        None,
        times,
        "The times from the first to the second, or to before it, in steps, as an array whose elements become rows.",
        (
            "(SELECT array_agg(t::date::text) FROM (SELECT generate_series(date '2024-01-31', date '2024-04-01', interval '1 month') AS t) s)",
            "{2024-01-31,2024-02-29,2024-03-29}",
        ),
    ),
    Scalar::operator(
        "number_series",
        None,
        numbers,
        "The decimals from the first to the second, or to before it, in steps, as an array whose elements become rows.",
        ("(SELECT string_agg(n::text, ' ') FROM (SELECT generate_series(1.5, 3, 0.5) AS n) s)", "1.5 2.0 2.5 3.0"),
    ),
];

/// Values between two looks at whether the statement was cancelled, and whether they are too many.
const LOOKED_AT: usize = 1 << 12;

#[cold]
fn no_step() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// The array of values from the first on, as long as one is within.
fn collected(
    c: &Call<'_>,
    first: Value,
    within: impl Fn(&Value) -> bool,
    after: impl Fn(&Value) -> Result<Option<Value>>,
) -> Result<Value> {
    let element = c.result.element().unwrap_or(SqlType::Null);
    let (mut out, mut count, mut at) = (Vec::new(), 0usize, Some(first));
    while let Some(value) = at.filter(&within) {
        array::push(&mut out, &value, element)?;
        count += 1;
        if count.is_multiple_of(LOOKED_AT) {
            statement::check()?;
            if out.len() > MAX_LENGTH {
                break;
            }
        }
        at = after(&value)?;
    }
    // Which refuses what is too long.
    array::finish(out)
}

/// Of the first time, the last, the step, whether the last is one of them, and the zone's name.
fn times(c: &Call<'_>) -> Result<Value> {
    let (from, to, has_last) = (c.timestamp(0)?, c.timestamp(1)?, *c.value(3)? == Value::Bool(true));
    let Value::Interval(step) = *c.value(2)? else { return c.wrong() };
    let forwards = match step.approximate_micros() {
        0 => return Err(no_step()),
        micros => micros > 0,
    };
    if date::is_infinite(from) {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "a series begins with a finite time"));
    }
    let is_moment = c.result.element() == Some(SqlType::Timestamptz);
    let within = |value: &Value| match *value {
        Value::Timestamp(t) => (t == to && has_last) || (t != to && (t < to) == forwards),
        _ => false,
    };
    let after = |zone: Option<&Zone>, value: &Value| match (*value == Value::Timestamp(to), value, zone) {
        (true, ..) => Ok(None),
        (_, Value::Timestamp(t), Some(zone)) => date::add_interval_in(*t, step, zone).map(Value::Timestamp).map(Some),
        (_, Value::Timestamp(t), None) => date::add_interval(*t, step).map(Value::Timestamp).map(Some),
        _ => Ok(None),
    };
    match is_moment {
        true => Zone::with(c.text(4)?, |zone| {
            collected(c, Value::Timestamp(from), within, |value| after(Some(zone), value))
        }),
        false => collected(c, Value::Timestamp(from), within, |value| after(None, value)),
    }
}

/// Of the first decimal, the last, the step, and whether the last is one of them.
fn numbers(c: &Call<'_>) -> Result<Value> {
    let (Value::Decimal(from), Value::Decimal(to), Value::Decimal(step)) = (c.value(0)?, c.value(1)?, c.value(2)?)
    else {
        return c.wrong();
    };
    let has_last = *c.value(3)? == Value::Bool(true);
    if *step == 0 {
        return Err(no_step());
    }
    let within = |value: &Value| match value {
        Value::Decimal(n) => (n == to && has_last) || (n != to && (n < to) == (*step > 0)),
        _ => false,
    };
    collected(c, Value::Decimal(*from), within, |value| {
        Ok(match value {
            Value::Decimal(n) => n.checked_add(*step).map(Value::Decimal),
            _ => None,
        })
    })
}
