//! How often lists have which elements, and lists side by side.

use base::{Error, Result, SqlState};
use types::ops::array::{self, Elements};
use types::ops::{date, decimal, map, numeric, structure};
use types::{SqlType, StructField, Value};

use super::{Call, Scalar, first, over, rule};
use crate::Parameter::{Any, Array, BigInt, Bool, Text};

/// Structs with a field for each list.
const ZIPPED: fn(&[SqlType], &[Option<i64>]) -> SqlType = |types, _| {
    let lists = types.iter().filter_map(|list| list.element()).enumerate();
    let field = |(at, sql_type)| StructField { name: format!("f{}", at + 1), sql_type };
    SqlType::array_of(SqlType::struct_of(lists.map(field).collect()))
};

/// The last day of the year 9999, counted from 1970.
const LAST_DAY: i32 = 2_932_896;

const PLACES: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::BigInt);

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "list_histogram",
        &["list_histogram", "array_histogram"],
        &[rule(&[Array], |types, _| SqlType::map_of(types[0].element().unwrap_or(SqlType::Null), SqlType::BigInt))],
        |c| {
            let SqlType::Map(of) = c.result else { return c.wrong() };
            let counts: Vec<(Value, Value)> =
                counts(c)?.into_iter().map(|(value, count)| (value, Value::Int(count))).collect();
            map::encode(&counts, of)
        },
        "A map of each element to how often the list has it, in their order.",
        ("list_histogram([3, 1, 3, NULL])", "{1=1, 3=2}"),
    ),
    Scalar::new(
        "list_histogram_of_bins",
        &["list_histogram_of_bins"],
        &[rule(&[Array, Array, Bool], |types, _| {
            let of = types[0].element().unwrap_or(SqlType::Null);
            SqlType::map_of(if of.is_decimal() { SqlType::Double } else { of }, SqlType::BigInt)
        })],
        binned,
        "A map of each bound to how many elements lie behind the one before it and not behind it, or are equal to it, and how many do not.",
        ("list_histogram_of_bins([1, 2, 3, 9], [1, 3], false)", "{1=1, 3=2, 2147483647=1}"),
    )
    .or_null(),
    Scalar::new(
        "list_grade_up",
        &["list_grade_up", "array_grade_up", "grade_up"],
        &[rule(&[Array], PLACES), rule(&[Array, Text], PLACES), rule(&[Array, Text, Text], PLACES)],
        |c| {
            let (descending, nulls_first) = (super::lists::order_of(c, 1)?, super::lists::nulls_of(c, 2)?);
            let (list, element) = c.array(0)?;
            let places = array::places_in_order(list, element, descending, nulls_first);
            array::encode(&places.into_iter().map(|at| Value::Int(at as i64 + 1)).collect::<Vec<_>>(), SqlType::BigInt)
        },
        "The places of the elements in the order of their values.",
        ("list_grade_up([30, 10, 20])", "{2,3,1}"),
    ),
    Scalar::new(
        "list_top",
        &["list_approx_top_k", "array_approx_top_k"],
        &[first(&[Array, BigInt])],
        |c| {
            let mut counts = counts(c)?;
            // Among equally frequent ones the least comes first.
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let values: Vec<Value> = counts.into_iter().take(number(c)?).map(|(value, _)| value).collect();
            array::encode(&values, c.array(0)?.1)
        },
        "The most frequent elements, so many; exact here.",
        ("list_approx_top_k([3, 1, 3, 2], 2)", "{3,1}"),
    ),
    Scalar::new(
        "list_entropy",
        &["list_entropy", "array_entropy"],
        &[over(&[Array], SqlType::Double)],
        |c| {
            let counts = counts(c)?;
            let all: i64 = counts.iter().map(|(_, count)| count).sum();
            let share = |(_, count): &(Value, i64)| *count as f64 / all as f64;
            Ok(Value::Float(counts.iter().map(share).fold(0.0, |sum, p| sum + p * (1.0 / p).log2())))
        },
        "The entropy of the elements in bits.",
        ("list_entropy([1, 2])", "1"),
    ),
    Scalar::new(
        "list_mad",
        &["list_mad", "array_mad"],
        &[over(&[Array], SqlType::Double)],
        |c| {
            let (list, element) = c.array(0)?;
            let mut numbers = Vec::new();
            for value in Elements::new(list, element).filter(|value| !value.is_null()) {
                numbers.push(match value {
                    Value::Float(x) => x,
                    Value::Int(n) => n as f64,
                    Value::Decimal(d) => decimal::to_f64(d, element.scale()),
                    Value::Str(form) if element.is_long_numeric() => numeric::to_f64(&numeric::decode(&form)),
                    _ => return Err(Error::new(SqlState::DATATYPE_MISMATCH, "list_mad takes numbers")),
                });
            }
            let Some(middle) = median(&mut numbers) else { return Ok(Value::Null) };
            let mut distances: Vec<f64> = numbers.iter().map(|x| (x - middle).abs()).collect();
            Ok(median(&mut distances).map_or(Value::Null, Value::Float))
        },
        "The median of the distances from the median.",
        ("list_mad([1, 2, 6])", "1"),
    )
    .or_null(),
    // What aggregates that keep several values are made of.
    Scalar::new(
        "list_take",
        &["list_take"],
        &[first(&[Array, BigInt])],
        |c| {
            let (list, element) = c.array(0)?;
            Ok(Value::str(array::slice(list, element, Some(1), Some(number(c)? as i64))))
        },
        "The first elements, so many: from 1 to a million.",
        ("list_take([3, 1, 2], 2)", "{3,1}"),
    ),
    Scalar::new(
        "list_zip",
        &["list_zip", "array_zip"],
        &[
            rule(&[Any], ZIPPED),
            rule(&[Any, Any], ZIPPED),
            rule(&[Any, Any, Bool], ZIPPED),
            rule(&[Any, Any, Any], ZIPPED),
            rule(&[Any, Any, Any, Bool], ZIPPED),
            rule(&[Any, Any, Any, Any], ZIPPED),
        ],
        zip,
        "Structs of the elements of lists with one number, as many as the longest has; or the shortest, if the last argument is true.",
        ("list_zip([1, 2], ['a', 'b'])::text", "{\"{'f1': 1, 'f2': a}\",\"{'f1': 2, 'f2': b}\"}"),
    ),
];

/// How many elements are in which bin; NULL if there are none.
fn binned(c: &Call<'_>) -> Result<Value> {
    let ((list, element), (bounds, _), SqlType::Map(of)) = (c.array(0)?, c.array(1)?, c.result) else {
        return c.wrong();
    };
    let is_exact = *c.value(2)? == Value::Bool(true);
    let mut bins: Vec<(Value, i64)> = Elements::new(bounds, element).filter(|b| !b.is_null()).map(|b| (b, 0)).collect();
    bins.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    bins.dedup_by(|(a, _), (b, _)| a.total_cmp(b).is_eq());
    let (mut others, mut any) = (0, false);
    for value in Elements::new(list, element).filter(|value| !value.is_null()) {
        any = true;
        let at = bins.partition_point(|(bound, _)| bound.total_cmp(&value).is_lt());
        match bins.get_mut(at).filter(|(bound, _)| !is_exact || bound.total_cmp(&value).is_eq()) {
            Some((_, count)) => *count += 1,
            None => others += 1,
        }
    }
    if !any {
        return Ok(Value::Null);
    }
    let key = |value: Value| match value {
        Value::Decimal(digits) if of.key == SqlType::Double => Value::Float(decimal::to_f64(digits, element.scale())),
        value => value,
    };
    let mut entries: Vec<(Value, Value)> = bins.into_iter().map(|(b, count)| (key(b), Value::Int(count))).collect();
    if others > 0 {
        entries.push((beyond(of.key)?, Value::Int(others)));
    }
    map::encode(&entries, of)
}

/// What stands for all values behind the last bound.
fn beyond(sql_type: SqlType) -> Result<Value> {
    Ok(match sql_type {
        SqlType::SmallInt => Value::Int(i16::MAX.into()),
        SqlType::Integer => Value::Int(i32::MAX.into()),
        SqlType::BigInt => Value::Int(i64::MAX),
        SqlType::Real | SqlType::Double => Value::Float(f64::INFINITY),
        SqlType::Date => Value::Date(LAST_DAY),
        SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(date::date_to_timestamp(LAST_DAY + 1)? - 1),
        SqlType::Text => Value::str(""),
        other => {
            let message = format!("the type {other} has no value that stands for those behind the last bound");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

/// The second argument: how many values are wanted.
fn number(c: &Call<'_>) -> Result<usize> {
    match c.int(1)? {
        number @ 1..=1_000_000 => Ok(number as usize),
        _ => {
            let message = "the number of values must be between 1 and 1000000";
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// The number in the middle, or between the two there.
fn median(numbers: &mut [f64]) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    Some(if numbers.len() % 2 == 1 { upper } else { numbers[middle - 1] / 2.0 + upper / 2.0 })
}

/// Elements that are not NULL, in their order, and how often each is there.
fn counts(c: &Call<'_>) -> Result<Vec<(Value, i64)>> {
    let (list, element) = c.array(0)?;
    Ok(array::counts(list, element))
}

fn zip(c: &Call<'_>) -> Result<Value> {
    let is_cut = matches!(c.values.last(), Some(Value::Bool(true)));
    let is_list = |(at, of): (usize, &SqlType)| {
        of.is_array() || *of == SqlType::Null || *of == SqlType::Bool && at > 0 && at + 1 == c.types.len()
    };
    let Some(entry) = c.result.element() else { return c.wrong() };
    let of = entry.structure().filter(|of| !of.fields.is_empty() && c.types.iter().enumerate().all(is_list));
    let Some(of) = of else {
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, "list_zip takes lists"));
    };
    let mut lists = Vec::with_capacity(of.fields.len());
    for at in (0..c.types.len()).filter(|at| c.types[*at].is_array()) {
        let (list, element) = c.array(at)?;
        lists.push(Elements::new(list, element));
    }
    let lengths = lists.iter().map(Elements::remaining);
    let length = if is_cut { lengths.min() } else { lengths.max() }.unwrap_or(0);
    let mut entries = Vec::with_capacity(length);
    for _ in 0..length {
        let values: Vec<Value> = lists.iter_mut().map(|list| list.next().unwrap_or(Value::Null)).collect();
        entries.push(structure::encode(&values, of)?);
    }
    array::encode(&entries, entry)
}
