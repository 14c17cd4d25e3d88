//! Ranges (decision 59): what makes them, and what is asked of them. The operators between them call these.

use base::Result;
use types::ops::array::Elements;
use types::ops::range;
use types::{SqlType, Value};

use super::{Call, Scalar, first, over};
use crate::Parameter::{BigInt, Bound, Date, Integer, Numeric, OrNull, Range, Text, Timestamp, Timestamptz};

/// A range in its form, and the type of what is in it.
fn range_of<'a>(c: &Call<'a>, i: usize) -> Result<(&'a str, SqlType)> {
    match c.type_of(i).subtype() {
        Some(element) => Ok((c.text(i)?, element)),
        None => c.wrong(),
    }
}

/// A bound that may be NULL, which travels as the array of it.
fn bound(c: &Call<'_>, i: usize) -> Result<Value> {
    let (alone, element) = c.array(i)?;
    Ok(Elements::new(alone, element).next().unwrap_or(Value::Null))
}

fn made(c: &Call<'_>) -> Result<Value> {
    let Some(element) = c.result.subtype() else { return c.wrong() };
    let bounds = if c.len() > 2 { c.text(2)? } else { "[)" };
    range::make(&bound(c, 0)?, &bound(c, 1)?, bounds, element)
}

/// What makes ranges of a type: NULL is no bound.
macro_rules! maker {
    ($name:literal, $parameter:expr, $number:literal, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[
                over(&[OrNull(&$parameter), OrNull(&$parameter)], SqlType::RANGES[$number].1),
                over(&[OrNull(&$parameter), OrNull(&$parameter), Text], SqlType::RANGES[$number].1),
            ],
            made,
            $documentation,
            $example,
        )
    };
}

/// Something that two ranges are to one another.
macro_rules! relation {
    ($name:literal, $of:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Range, Range], SqlType::Bool)],
            |c| {
                let ((a, element), (b, _)) = (range_of(c, 0)?, range_of(c, 1)?);
                Ok(Value::Bool($of(a, b, element)))
            },
            $documentation,
            $example,
        )
    };
}

/// A range made of two.
macro_rules! combination {
    ($name:literal, $of:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[first(&[Range, Range])],
            |c| {
                let ((a, element), (b, _)) = (range_of(c, 0)?, range_of(c, 1)?);
                $of(a, b, element)
            },
            $documentation,
            $example,
        )
    };
}

/// Whether a range has something at a bound.
macro_rules! question {
    ($name:literal, $of:expr, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Range], SqlType::Bool)],
            |c| {
                let (form, element) = range_of(c, 0)?;
                let of: fn(&str, SqlType) -> bool = $of;
                Ok(Value::Bool(of(form, element)))
            },
            $documentation,
            $example,
        )
    };
}

fn has_no(form: &str, is_lower: bool, element: SqlType) -> bool {
    range::bound_of(form, is_lower, element).is_some_and(|bound| bound.value.is_none())
}

fn includes(form: &str, is_lower: bool, element: SqlType) -> bool {
    range::bound_of(form, is_lower, element).is_some_and(|bound| bound.inclusive)
}

pub(super) const ROWS: &[Scalar] = &[
    maker!(
        "int4range",
        Integer,
        0,
        "The integers from one to another: with the first and without the second, unless a third argument says which bounds are in it.",
        ("int4range(1, 5, '[]')", "[1,6)")
    ),
    maker!("int8range", BigInt, 1, "The same of bigint.", ("int8range(NULL, 5)", "(,5)")),
    maker!("numrange", Numeric, 2, "The same of numeric.", ("numrange(1.5, 2, '(]')", "(1.5,2]")),
    maker!(
        "tsrange",
        Timestamp,
        3,
        "The same of timestamps.",
        ("tsrange('2024-01-01', '2024-01-02 12:00')", "[\"2024-01-01 00:00:00\",\"2024-01-02 12:00:00\")")
    ),
    maker!(
        "tstzrange",
        Timestamptz,
        4,
        "The same of moments.",
        ("tstzrange('2024-01-01 12:00+00', NULL)", "[\"2024-01-01 12:00:00+00\",)")
    ),
    maker!(
        "daterange",
        Date,
        5,
        "The same of dates.",
        ("daterange('2024-01-01', '2024-01-31', '[]')", "[2024-01-01,2024-02-01)")
    ),
    Scalar::operator(
        "range_lower",
        None,
        |c| range_of(c, 0).map(|(form, element)| range::bound_value(form, true, element)),
        "The lower bound; NULL of the empty range and where there is none. SQL calls it lower.",
        ("lower(int4range(3, 5))", "3"),
    )
    .or_null(),
    Scalar::operator(
        "range_upper",
        None,
        |c| range_of(c, 0).map(|(form, element)| range::bound_value(form, false, element)),
        "The upper bound; NULL of the empty range and where there is none. SQL calls it upper.",
        ("upper(int4range(3, 5))", "5"),
    )
    .or_null(),
    question!(
        "isempty",
        |form, _| range::is_empty(form),
        "Whether nothing is in the range.",
        ("isempty(int4range(5, 5))", "true")
    ),
    question!(
        "lower_inc",
        |form, element| includes(form, true, element),
        "Whether the lower bound is in the range.",
        ("lower_inc(int4range(1, 5))", "true")
    ),
    question!(
        "upper_inc",
        |form, element| includes(form, false, element),
        "Whether the upper bound is in the range.",
        ("upper_inc(int4range(1, 5))", "false")
    ),
    question!(
        "lower_inf",
        |form, element| has_no(form, true, element),
        "Whether there is no lower bound.",
        ("lower_inf('(,5)'::int4range)", "true")
    ),
    question!(
        "upper_inf",
        |form, element| has_no(form, false, element),
        "Whether there is no upper bound.",
        ("upper_inf('[5,)'::int4range)", "true")
    ),
    Scalar::new(
        "range_contains_elem",
        &["range_contains_elem"],
        &[over(&[Range, Bound], SqlType::Bool)],
        |c| {
            let (form, element) = range_of(c, 0)?;
            Ok(Value::Bool(range::contains_value(form, c.value(1)?, element)))
        },
        "Whether a value is in the range: range @> value.",
        ("range_contains_elem(int4range(1, 5), 4)", "true"),
    ),
    relation!(
        "range_contains",
        range::contains,
        "Whether all of the second range is in the first: a @> b.",
        ("range_contains(int4range(1, 5), int4range(2, 3))", "true")
    ),
    relation!(
        "range_overlaps",
        range::overlaps,
        "Whether something is in both ranges: a && b.",
        ("range_overlaps(int4range(1, 5), int4range(5, 9))", "false")
    ),
    relation!(
        "range_before",
        range::is_before,
        "Whether the first range ends before the second begins: a << b.",
        ("range_before(int4range(1, 5), int4range(5, 9))", "true")
    ),
    relation!(
        "range_overleft",
        range::ends_within,
        "Whether the first range ends no later than the second: a &< b.",
        ("range_overleft(int4range(1, 5), int4range(2, 5))", "true")
    ),
    relation!(
        "range_overright",
        range::begins_within,
        "Whether the first range begins no earlier than the second: a &> b.",
        ("range_overright(int4range(1, 5), int4range(2, 5))", "false")
    ),
    relation!(
        "range_adjacent",
        range::is_adjacent,
        "Whether one range begins where the other ends: a -|- b.",
        ("range_adjacent(int4range(1, 5), int4range(5, 9))", "true")
    ),
    combination!(
        "range_union",
        range::union,
        "What is in either range, which must be one range: a + b.",
        ("range_union(int4range(1, 5), int4range(5, 9))", "[1,9)")
    ),
    combination!(
        "range_intersect",
        range::intersection,
        "What is in both ranges: a * b.",
        ("range_intersect(int4range(1, 5), int4range(3, 9))", "[3,5)")
    ),
    combination!(
        "range_minus",
        range::difference,
        "What is in the first range and not in the second, which must be one range: a - b.",
        ("range_minus(int4range(1, 5), int4range(3, 9))", "[1,3)")
    ),
    combination!(
        "range_merge",
        range::merge,
        "The smallest range that has all of both.",
        ("range_merge(int4range(1, 2), int4range(8, 9))", "[1,9)")
    ),
];
