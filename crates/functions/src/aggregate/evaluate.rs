//! Reference evaluation of aggregates: all values at hand, one formula each.

use std::cmp::Ordering;

use base::{Error, Result};
use types::ops::sum::LongSum;
use types::ops::{date, decimal, number};
use types::{Interval, SqlType, Value};

use super::Input;

pub(super) fn count_rows(input: Input<'_>) -> Result<Value> {
    Ok(Value::Int(input.values.len() as i64))
}

pub(super) fn count(input: Input<'_>) -> Result<Value> {
    count_rows(input)
}

pub(super) fn first(input: Input<'_>) -> Result<Value> {
    Ok(input.values[0].clone())
}

pub(super) fn least(input: Input<'_>) -> Result<Value> {
    Ok(input.values.iter().min_by(|a, b| a.total_cmp(b)).cloned().unwrap_or(Value::Null))
}

pub(super) fn greatest(input: Input<'_>) -> Result<Value> {
    Ok(input.values.iter().max_by(|a, b| a.total_cmp(b)).cloned().unwrap_or(Value::Null))
}

/// The first argument where the second is at that end of the order.
pub(super) fn value_at(input: Input<'_>, end: Ordering) -> Result<Value> {
    let better = |(a, a_key): &(&Value, &Value), (b, b_key): &(&Value, &Value)| {
        let by_key = a_key.total_cmp(b_key);
        let by_key = if end == Ordering::Less { by_key } else { by_key.reverse() };
        by_key.then_with(|| a.total_cmp(b))
    };
    let best = input.values.iter().zip(input.second()).min_by(better);
    Ok(best.map_or(Value::Null, |(value, _)| value.clone()))
}

pub(super) fn count_distinct(input: Input<'_>) -> Result<Value> {
    let mut values: Vec<&Value> = input.values.iter().collect();
    values.sort_by(|a, b| a.total_cmp(b));
    values.dedup_by(|a, b| a.total_cmp(b).is_eq());
    Ok(Value::Int(values.len() as i64))
}

/// Integers, bit by bit.
pub(super) fn bits(input: Input<'_>, both: fn(i64, i64) -> i64) -> Result<Value> {
    let integers = input.values.iter().map(|v| if let Value::Int(n) = v { Ok(*n) } else { wrong(v) });
    let all = integers.reduce(|a, b| Ok(both(a?, b?)));
    Ok(all.transpose()?.map_or(Value::Null, Value::Int))
}

pub(super) fn conjunction(input: Input<'_>) -> Result<Value> {
    Ok(Value::Bool(!input.values.contains(&Value::Bool(false))))
}

pub(super) fn disjunction(input: Input<'_>) -> Result<Value> {
    Ok(Value::Bool(input.values.contains(&Value::Bool(true))))
}

pub(super) fn sum(input: Input<'_>) -> Result<Value> {
    Ok(match input.result {
        SqlType::Interval => Value::Interval(intervals(input.values)?),
        SqlType::Real => Value::Float(number::float::to_f32(total(input)?.round()?)?.into()),
        SqlType::Double => Value::Float(total(input)?.round()?),
        SqlType::Decimal { precision, scale } => Value::Decimal(decimal::check_field(exact(input)?, precision, scale)?),
        _ => Value::Int(number::integer::narrow(exact(input)?)?),
    })
}

pub(super) fn average(input: Input<'_>) -> Result<Value> {
    let count = input.values.len();
    Ok(match input.result {
        SqlType::Interval => Value::Interval(date::div_interval(intervals(input.values)?, count as f64)?),
        SqlType::Double => Value::Float(total(input)?.round()? / count as f64),
        result => {
            let scale = input.argument.scale();
            Value::Decimal(decimal::avg(exact(input)?, scale, count as i64, result.scale())?)
        }
    })
}

/// The mean square of the distances from the mean; `lost` degrees of freedom.
pub(super) fn variance(input: Input<'_>, lost: usize) -> Result<f64> {
    let (mut sum, mut squares) = (LongSum::default(), LongSum::default());
    for value in input.values {
        let parts = match value {
            Value::Float(x) => {
                sum.add(*x);
                squares.add_square(*x);
                continue;
            }
            Value::Int(n) => types::ops::sum::terms((*n).into()),
            Value::Decimal(d) => types::ops::sum::terms(*d),
            other => return wrong(other),
        };
        parts.iter().for_each(|&part| sum.add(part));
        squares.add_square_of_sum(parts);
    }
    types::ops::sum::variance(input.values.len() as u64, &sum, &squares, lost > 0, input.argument.scale())
}

/// The exact sum of floats.
fn total(input: Input<'_>) -> Result<LongSum> {
    let mut sum = LongSum::default();
    floats(input)?.iter().for_each(|&x| sum.add(x));
    Ok(sum)
}

pub(super) fn deviation(input: Input<'_>, lost: usize) -> Result<Value> {
    Ok(Value::Float(variance(input, lost)?.sqrt()))
}

fn wrong<T>(value: &Value) -> Result<T> {
    Err(Error::internal(format!("an aggregate was given {value:?}")))
}

fn floats(input: Input<'_>) -> Result<Vec<f64>> {
    input.values.iter().map(|v| if let Value::Float(f) = v { Ok(*f) } else { wrong(v) }).collect()
}

/// The sum of integers or of decimals of one scale.
fn exact(input: Input<'_>) -> Result<i128> {
    input.values.iter().try_fold(0, |sum, value| match value {
        Value::Int(n) => decimal::add(sum, i128::from(*n)),
        Value::Decimal(d) => decimal::add(sum, *d),
        other => wrong(other),
    })
}

fn intervals(values: &[Value]) -> Result<Interval> {
    values.iter().try_fold(Interval::default(), |sum, value| match value {
        Value::Interval(i) => date::add_intervals(sum, *i),
        other => wrong(other),
    })
}
