//! Percentiles, as PostgreSQL finds them: where among sorted values the one at a fraction is.

use base::{Error, Result, SqlState};
use types::ops::date;
use types::{Interval, Physical, SqlType, Value};

use super::Input;

/// Whether groups collect values of a type: those that are a word. Others are window functions over the groups.
pub fn is_collected(sql_type: SqlType) -> bool {
    use Physical::{F32, F64, I16, I32, I64};
    matches!(sql_type.physical(), I16 | I32 | I64 | F32 | F64)
}

/// A fraction, if it is one; else 22003.
pub fn fraction(fraction: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    let message = format!("percentile value {fraction} is not between 0 and 1");
    Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message))
}

/// The place of the first of so many values at or behind the fraction.
pub fn place(fraction: f64, values: usize) -> usize {
    ((fraction * values as f64).ceil() as usize).saturating_sub(1)
}

/// The place at or before the fraction among so many values, one or more, and how far it is to the next from there.
pub fn places(fraction: f64, values: usize) -> (usize, f64) {
    let place = fraction * (values - 1) as f64;
    (place.floor() as usize, place - place.floor())
}

/// A value between two others.
pub trait Between: Sized {
    /// The value at the fraction of the way from `low` to `high`.
    fn between(low: Self, high: Self, fraction: f64) -> Result<Self>;
}

impl Between for f64 {
    fn between(low: f64, high: f64, fraction: f64) -> Result<f64> {
        Ok(low + fraction * (high - low))
    }
}

impl Between for Interval {
    fn between(low: Self, high: Self, fraction: f64) -> Result<Self> {
        date::add_intervals(low, date::mul_interval(date::sub_intervals(high, low)?, fraction)?)
    }
}

/// The values in their order, and the fraction.
fn sorted(input: Input<'_>) -> Result<(Vec<&Value>, f64)> {
    let mut values: Vec<&Value> = input.values.iter().collect();
    values.sort_by(|a, b| a.total_cmp(b));
    match input.others.first().and_then(|fractions| fractions.first()) {
        Some(Value::Float(at)) => Ok((values, fraction(*at)?)),
        other => Err(Error::internal(format!("a percentile at {other:?}"))),
    }
}

pub(super) fn discrete(input: Input<'_>) -> Result<Value> {
    let (values, fraction) = sorted(input)?;
    Ok(values[place(fraction, values.len())].clone())
}

/// The value that most are equal to, the least of several.
pub(super) fn most_frequent(input: Input<'_>) -> Result<Value> {
    let mut values: Vec<&Value> = input.values.iter().collect();
    values.sort_by(|a, b| a.total_cmp(b));
    let runs = values.chunk_by(|a, b| a.total_cmp(b).is_eq()).rev();
    Ok(runs.max_by_key(|run| run.len()).map_or(Value::Null, |run| run[0].clone()))
}

pub(super) fn continuous(input: Input<'_>) -> Result<Value> {
    let (values, fraction) = sorted(input)?;
    let (at, way) = places(fraction, values.len());
    if way == 0.0 {
        return Ok(values[at].clone());
    }
    Ok(match (values[at], values[at + 1]) {
        (Value::Float(low), Value::Float(high)) => Value::Float(f64::between(*low, *high, way)?),
        (Value::Interval(low), Value::Interval(high)) => Value::Interval(Interval::between(*low, *high, way)?),
        other => return Err(Error::internal(format!("nothing is between {other:?}"))),
    })
}
