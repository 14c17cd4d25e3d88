//! Frames and functions as the standard tells them: each row of the partition is asked whether it belongs, and a function
//! sees the values of those that do. Quadratic, and obviously right.

use std::cmp::Ordering;
use std::ops::Range;

use base::{Error, Result, SqlState};
use functions::aggregate::Input;
use functions::{AggregateFunction as A, WindowFunction as F};
use plan::{Frame, FrameBound, FrameExclusion, FrameUnit};
use types::ops::date;
use types::{SqlType, Value};

use super::testing::{Table, order};

/// What a frame's distances are, by row.
pub(crate) type Offsets = Vec<Value>;

/// The rows of a row's frame, in order.
pub(crate) fn frame(table: &Table, frame: &Frame<Offsets>, row: usize) -> Result<Vec<usize>> {
    let mut rows = Vec::new();
    for other in table.partition_of(row) {
        let inside = !is_outside(table, frame.unit, &frame.start, true, row, other)?
            && !is_outside(table, frame.unit, &frame.end, false, row, other)?;
        let peer = table.key[row] == table.key[other];
        let excluded = match frame.exclude {
            FrameExclusion::NoOthers => false,
            FrameExclusion::CurrentRow => row == other,
            FrameExclusion::Group => peer,
            FrameExclusion::Ties => peer && row != other,
        };
        if inside && !excluded {
            rows.push(other);
        }
    }
    Ok(rows)
}

/// Whether `other` lies before the start (or behind the end) of the row's frame.
fn is_outside(
    table: &Table,
    unit: FrameUnit,
    bound: &FrameBound<Offsets>,
    start: bool,
    row: usize,
    other: usize,
) -> Result<bool> {
    // Which way, and how far, the bound lies.
    let (sign, offset) = match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => return Ok(false),
        FrameBound::CurrentRow => (0, &Value::Int(0)),
        FrameBound::Preceding(offsets) => (-1, &offsets[row]),
        FrameBound::Following(offsets) => (1, &offsets[row]),
    };
    let place = |row: usize| match unit {
        FrameUnit::Rows => row as i128,
        _ => (0..=row).filter(|&row| table.begins_peers(row)).count() as i128,
    };
    if unit != FrameUnit::Range || sign == 0 {
        let Value::Int(offset) = offset else { panic!("{offset:?}") };
        let bound = place(row) + sign * i128::from(*offset);
        return Ok(if start { place(other) < bound } else { place(other) > bound });
    }
    let (base, value) = (&table.key[row], &table.key[other]);
    if base.is_null() || value.is_null() {
        // A row with NULL sees those with NULL alone, the others none of them: where the frame has another end without a
        // distance, such rows lie within, unless they are on this end's side.
        return Ok(base.is_null() != value.is_null() && (other < row) == start);
    }
    let less = start == table.descending;
    Ok(!in_range(value, base, offset, (sign < 0) != table.descending, less)?)
}

/// PostgreSQL's support function of RANGE.
fn in_range(value: &Value, base: &Value, offset: &Value, subtract: bool, less: bool) -> Result<bool> {
    let sum = match (base, offset) {
        (Value::Int(a), Value::Int(b)) => {
            let sum = i128::from(*a) + if subtract { -i128::from(*b) } else { i128::from(*b) };
            let Value::Int(value) = value else { panic!("{value:?}") };
            let value = i128::from(*value);
            return Ok(if less { value <= sum } else { value >= sum });
        }
        (Value::Decimal(a), Value::Decimal(b)) => Value::Decimal(if subtract { a - b } else { a + b }),
        (Value::Float(a), Value::Float(b)) => {
            let Value::Float(value) = value else { panic!("{value:?}") };
            if value.is_nan() {
                return Ok(a.is_nan() || !less);
            } else if a.is_nan() {
                return Ok(less);
            } else if b.is_infinite() && a.is_infinite() && (if subtract { *a > 0.0 } else { *a < 0.0 }) {
                return Ok(true);
            }
            let sum = if subtract { a - b } else { a + b };
            return Ok(if less { *value <= sum } else { *value >= sum });
        }
        (Value::Date(a), Value::Interval(b)) => {
            let Value::Date(value) = value else { panic!("{value:?}") };
            let base = Value::Timestamp(date::date_to_timestamp(*a)?);
            let value = Value::Timestamp(date::date_to_timestamp(*value)?);
            return in_range(&value, &base, &Value::Interval(*b), subtract, less);
        }
        (Value::Time(a), Value::Interval(b)) => {
            let Value::Time(value) = value else { panic!("{value:?}") };
            let sum = if subtract { a - b.micros } else { a + b.micros };
            return Ok(if less { *value <= sum } else { *value >= sum });
        }
        (Value::Timestamp(a), Value::Interval(b)) => {
            Value::Timestamp(if subtract { date::sub_interval(*a, *b)? } else { date::add_interval(*a, *b)? })
        }
        (Value::Interval(a), Value::Interval(b)) => {
            Value::Interval(if subtract { date::sub_intervals(*a, *b)? } else { date::add_intervals(*a, *b)? })
        }
        other => panic!("{other:?}"),
    };
    let order = value.total_cmp(&sum);
    Ok(if less { order.is_le() } else { order.is_ge() })
}

/// A call with its operands by row.
#[derive(Clone, Debug)]
pub(crate) struct Slow {
    pub(crate) function: F,
    pub(crate) arguments: Vec<Vec<Value>>,
    /// The first argument's type.
    pub(crate) argument: SqlType,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Vec<Value>>,
    pub(crate) ignore_nulls: bool,
    pub(crate) order: Vec<SlowKey>,
    pub(crate) frame: Frame<Offsets>,
    pub(crate) result: SqlType,
}

/// A key of a call's own order.
#[derive(Clone, Debug)]
pub(crate) struct SlowKey {
    pub(crate) values: Vec<Value>,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// The result for a row.
pub(crate) fn evaluate(table: &Table, call: &Slow, row: usize) -> Result<Value> {
    let frame = frame(table, &call.frame, row)?;
    if !call.order.is_empty() {
        return ordered(call, frame, row);
    }
    let value = |argument: usize, row: usize| call.arguments[argument][row].clone();
    let counts = |row: &usize| !(call.ignore_nulls && value(0, *row).is_null());
    let partition = table.partition_of(row);
    let place = row - partition.start;
    let peers: Vec<usize> = partition.clone().filter(|&other| table.key[other] == table.key[row]).collect();
    let (rank, size) = (peers[0] - partition.start, partition.len());
    let integer = |n: usize| Ok(Value::Int(n as i64));
    match call.function {
        F::RowNumber => integer(place + 1),
        F::Rank => integer(rank + 1),
        F::DenseRank => integer((partition.start..=row).filter(|&row| table.begins_peers(row)).count()),
        F::PercentRank if size == 1 => Ok(Value::Float(0.0)),
        F::PercentRank => Ok(Value::Float(rank as f64 / (size - 1) as f64)),
        F::CumeDist => Ok(Value::Float((rank + peers.len()) as f64 / size as f64)),
        F::Ntile => match value(0, row) {
            Value::Int(..1) => Err(Error::new(SqlState("22014"), "argument of ntile must be greater than zero")),
            Value::Int(buckets) => {
                // Deal the rows out.
                let mut sizes = vec![0; buckets.min(1000) as usize];
                (0..size).for_each(|row| {
                    let bucket = row % sizes.len();
                    sizes[bucket] += 1;
                });
                let mut end = 0;
                integer(
                    1 + sizes
                        .iter()
                        .take_while(|&&size| {
                            end += size;
                            end <= place
                        })
                        .count(),
                )
            }
            _ => Ok(Value::Null),
        },
        F::Lead | F::Lag => {
            let Value::Int(offset) = value(1, row) else { return Ok(Value::Null) };
            let forward = (offset > 0) == (call.function == F::Lead);
            let others: Vec<usize> = if offset == 0 {
                return Ok(value(0, row));
            } else if forward {
                (row + 1..partition.end).filter(counts).collect()
            } else {
                (partition.start..row).rev().filter(counts).collect()
            };
            let found = others.get(offset.unsigned_abs() as usize - 1);
            Ok(found.map_or_else(|| call.arguments.get(2).map_or(Value::Null, |d| d[row].clone()), |&r| value(0, r)))
        }
        F::FirstValue => Ok(frame.into_iter().find(counts).map_or(Value::Null, |row| value(0, row))),
        F::LastValue => Ok(frame.into_iter().rev().find(counts).map_or(Value::Null, |row| value(0, row))),
        F::NthValue => match value(1, row) {
            Value::Int(..1) => Err(Error::new(SqlState("22016"), "argument of nth_value must be greater than zero")),
            Value::Int(n) => {
                let row = frame.into_iter().filter(counts).nth(n as usize - 1);
                Ok(row.map_or(Value::Null, |row| value(0, row)))
            }
            _ => Ok(Value::Null),
        },
        F::StringAgg | F::ArrayAgg => Ok(joined(call, frame)),
        F::Aggregate(function) => aggregate(function, call, frame, partition),
        F::Mode | F::PercentileDisc | F::PercentileCont => panic!("they have an order of their own"),
    }
}

/// The texts of the frame's rows, each behind its separator but for the first; equal neighbours once, of DISTINCT.
fn joined(call: &Slow, frame: Vec<usize>) -> Value {
    let passes = |row: &usize| call.filter.as_ref().is_none_or(|filter| filter[*row] == Value::Bool(true));
    let mut rows: Vec<[&Value; 2]> =
        frame.into_iter().filter(passes).map(|row| [0, 1].map(|n| &call.arguments[n][row])).collect();
    rows.retain(|[value, _]| !value.is_null());
    if call.distinct {
        rows.dedup();
    }
    let text = |value: &Value| if let Value::Str(text) = value { text.to_string() } else { String::new() };
    let joined = rows.iter().enumerate().map(|(at, [value, separator])| match at {
        0 => text(value),
        _ => text(separator) + &text(value),
    });
    if rows.is_empty() { Value::Null } else { Value::str(joined.collect::<String>()) }
}

fn aggregate(function: A, call: &Slow, frame: Vec<usize>, partition: Range<usize>) -> Result<Value> {
    let passes = |row: &usize| call.filter.as_ref().is_none_or(|filter| filter[*row] == Value::Bool(true));
    let rows = frame.into_iter().filter(passes);
    let of_row = |row: usize| -> Vec<&Value> { call.arguments.iter().map(|argument| &argument[row]).collect() };
    let is_there = |row: &usize| !of_row(*row).iter().any(|value| value.is_null());
    let mut rows: Vec<usize> = rows.filter(is_there).collect();
    if call.distinct && !function.ignores_duplicates() {
        let mut distinct: Vec<usize> = Vec::new();
        for row in rows {
            // Equal values may differ: the partition's first one stands for all.
            let first = partition.clone().filter(passes).find(|&other| of_row(other) == of_row(row)).unwrap();
            if !distinct.contains(&first) {
                distinct.push(first);
            }
        }
        rows = distinct;
    }
    let of = |number: usize| -> Vec<Value> {
        let argument = call.arguments.get(number);
        rows.iter().map(|&row| argument.map_or(Value::Int(0), |argument| argument[row].clone())).collect()
    };
    let (values, others) = (of(0), [of(1)]);
    function.evaluate(Input { values: &values, others: &others, argument: call.argument, result: call.result })
}

/// A function with an order of its own: the frame's rows in that order are a partition.
fn ordered(call: &Slow, frame: Vec<usize>, row: usize) -> Result<Value> {
    let value = |argument: usize, row: usize| call.arguments[argument][row].clone();
    let sets = matches!(call.function, F::Mode | F::PercentileDisc | F::PercentileCont);
    let of = |row: usize| if sets { call.order[0].values[row].clone() } else { value(0, row) };
    let keys = |a: usize, b: usize| {
        let order = |key: &SlowKey| order(&key.values[a], &key.values[b], key.descending, key.nulls_first);
        call.order.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let passes = |row: &usize| call.filter.as_ref().is_none_or(|filter| filter[*row] == Value::Bool(true));
    let counts = |row: &usize| passes(row) && !((sets || call.ignore_nulls) && of(*row).is_null());
    let mut rows: Vec<usize> = frame.into_iter().filter(counts).collect();
    rows.sort_by(|&a, &b| keys(a, b).then(a.cmp(&b)));
    let before = rows.iter().filter(|&&other| keys(other, row).then(other.cmp(&row)).is_lt()).count();
    let before_ties = rows.iter().filter(|&&other| keys(other, row).is_lt()).count();
    let mut with_itself = rows.clone();
    if !rows.contains(&row) {
        with_itself.insert(before, row);
    }
    let (n, integer) = (with_itself.len(), |n: usize| Ok(Value::Int(n as i64)));
    let at = |place: Option<usize>| place.and_then(|place| rows.get(place)).map_or(Value::Null, |&row| of(row));
    match call.function {
        F::RowNumber => integer(before + 1),
        F::Rank => integer(before_ties + 1),
        F::DenseRank => {
            let mut less: Vec<usize> = rows[..before_ties].to_vec();
            less.dedup_by(|a, b| keys(*a, *b).is_eq());
            integer(less.len() + 1)
        }
        F::PercentRank if n == 1 => Ok(Value::Float(0.0)),
        F::PercentRank => Ok(Value::Float(before_ties as f64 / (n - 1) as f64)),
        F::CumeDist => {
            let through = with_itself.iter().filter(|&&other| keys(other, row).is_le()).count();
            Ok(Value::Float(through as f64 / n as f64))
        }
        F::Ntile => match value(0, row) {
            Value::Int(buckets) => Ok(Value::Int(super::numbering::bucket(buckets, before, n)?)),
            _ => Ok(Value::Null),
        },
        F::FirstValue => Ok(at(Some(0))),
        F::LastValue => Ok(at(rows.len().checked_sub(1))),
        F::NthValue => match value(1, row) {
            Value::Int(..1) => Err(Error::new(SqlState("22016"), "argument of nth_value must be greater than zero")),
            Value::Int(nth) => Ok(at(Some(nth as usize - 1))),
            _ => Ok(Value::Null),
        },
        F::Lead | F::Lag => {
            let Value::Int(offset) = value(1, row) else { return Ok(Value::Null) };
            let steps = if call.function == F::Lag { -i128::from(offset) } else { i128::from(offset) };
            let place = usize::try_from(before as i128 + steps).ok();
            let found = place.and_then(|place| with_itself.get(place));
            let default = || call.arguments.get(2).map_or(Value::Null, |default| default[row].clone());
            Ok(found.map_or_else(default, |&row| of(row)))
        }
        F::Mode => {
            let count = |row: usize| rows.iter().filter(|&&other| keys(other, row).is_eq()).count();
            let most = rows.iter().map(|&row| count(row)).max().unwrap_or(0);
            Ok(at(rows.iter().position(|&row| count(row) == most)))
        }
        F::PercentileDisc | F::PercentileCont => {
            let Value::Float(fraction) = value(0, row) else { return Ok(Value::Null) };
            if rows.is_empty() {
                return Ok(Value::Null);
            }
            if call.function == F::PercentileDisc {
                return Ok(at(Some((fraction * rows.len() as f64).ceil().max(1.0) as usize - 1)));
            }
            let place = fraction * (rows.len() - 1) as f64;
            let (low, high) = (at(Some(place.floor() as usize)), at(Some(place.ceil() as usize)));
            Ok(match (low, high) {
                (low, _) if place.floor() == place.ceil() => low,
                (Value::Float(low), Value::Float(high)) => Value::Float(low + (place - place.floor()) * (high - low)),
                (Value::Interval(low), Value::Interval(high)) => {
                    let between = date::mul_interval(date::sub_intervals(high, low)?, place - place.floor())?;
                    Value::Interval(date::add_intervals(low, between)?)
                }
                other => panic!("{other:?}"),
            })
        }
        F::Aggregate(_) | F::StringAgg | F::ArrayAgg => panic!("an aggregate knows no order"),
    }
}
