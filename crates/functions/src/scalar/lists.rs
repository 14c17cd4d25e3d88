//! DuckDB's functions of lists, which are arrays. Positions below zero count from the end.

use base::{Error, Result, SqlState};
use types::ops::array::{self, Elements, Found, found, no_numbers, numbers, pairs};
use types::ops::numeric::{self, Numeric, Summary};
use types::{SqlType, Value};

use super::{Call, Scalar, Typed, first, over, rule};
use crate::Parameter::{Array, BigInt, Element, Text};

/// The type of the elements of the first argument.
const ELEMENT: fn(&[SqlType], &[Option<i64>]) -> SqlType = |types, _| types[0].element().unwrap_or(SqlType::Null);
const BIGINTS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::BigInt);

/// A statistic of a list that is a number of any length.
macro_rules! exact {
    ($name:literal, $least:literal, $of:expr, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Array], SqlType::NUMERIC)],
            |c| statistic(c, $least, $of),
            $documentation,
            $example,
        )
        .or_null()
    };
}

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "list_length",
        &["list_length"],
        &[over(&[Array], SqlType::BigInt)],
        |c| {
            let (array, element) = c.array(0)?;
            Ok(Value::Int(array::length(array, element) as i64))
        },
        "The number of elements.",
        ("list_length([1, 2, NULL])", "3"),
    ),
    Scalar::new(
        "list_extract",
        &["list_extract", "list_element", "array_extract"],
        &[rule(&[Array, BigInt], ELEMENT)],
        |c| {
            let ((array, element), at) = (c.array(0)?, c.int(1)?);
            let at = if at < 0 { at.saturating_add(array::length(array, element) as i64 + 1) } else { at };
            Ok(array::subscript(array, element, at))
        },
        "The element of a number, counted from 1, or from the end if it is below zero.",
        ("list_extract([4, 5, 6], -1)", "6"),
    )
    .or_null(),
    Scalar::new(
        "list_slice",
        &["list_slice", "array_slice"],
        &[first(&[Array, BigInt, BigInt]), first(&[Array, BigInt, BigInt, BigInt])],
        |c| {
            let (array, element) = c.array(0)?;
            if c.len() == 4 {
                return array::list_slice_by(array, element, (c.int(1)?, c.int(2)?), c.int(3)?);
            }
            Ok(Value::str(array::list_slice(array, element, Some(c.int(1)?), Some(c.int(2)?))))
        },
        "The elements from one number to another, counted from 1, or from the end if below zero; of every so many one, from the end to the beginning if that is below zero.",
        ("list_slice([1, 2, 3, 4], -2, -1)", "{3,4}"),
    )
    .typed(Typed::Part(array::list_slice)),
    Scalar::new(
        "list_contains",
        &["list_contains", "list_has", "array_has", "array_contains"],
        &[over(&[Array, Element], SqlType::Bool)],
        |c| of_two(c, found::has),
        "Whether an element equals the value.",
        ("list_contains([1, 2, NULL], 1)", "true"),
    )
    .or_null()
    .typed(Typed::OfLists(found::has)),
    Scalar::new(
        "list_has_all",
        &["list_has_all", "array_has_all"],
        &[over(&[Array, Array], SqlType::Bool)],
        |c| Ok(Value::Bool(array::contains(c.text(0)?, c.text(1)?, c.array(0)?.1))),
        "Whether each element of the second list is one of the first.",
        ("list_has_all([4, 6], [4])", "true"),
    ),
    Scalar::new(
        "list_has_any",
        &["list_has_any", "array_has_any"],
        &[over(&[Array, Array], SqlType::Bool)],
        |c| Ok(Value::Bool(array::overlaps(c.text(0)?, c.text(1)?, c.array(0)?.1))),
        "Whether the lists have an element in common.",
        ("list_has_any([1, 2], [2, 3])", "true"),
    ),
    Scalar::new(
        "list_sort",
        &["list_sort", "array_sort"],
        &[first(&[Array]), first(&[Array, Text]), first(&[Array, Text, Text])],
        |c| sorted(c, false),
        "The elements in order, NULLs last: 'ASC' or 'DESC', then 'NULLS FIRST' or 'NULLS LAST'.",
        ("list_sort([3, 1, NULL, 2], 'DESC')", "{3,2,1,NULL}"),
    ),
    Scalar::new(
        "list_reverse_sort",
        &["list_reverse_sort", "array_reverse_sort"],
        &[first(&[Array]), first(&[Array, Text])],
        |c| sorted(c, true),
        "The elements in reverse order, NULLs last.",
        ("list_reverse_sort([3, 1, NULL, 2])", "{3,2,1,NULL}"),
    ),
    Scalar::new(
        "list_reverse",
        &["list_reverse", "array_reverse"],
        &[first(&[Array])],
        |c| {
            let (array, element) = c.array(0)?;
            array::reverse(array, element)
        },
        "The elements from last to first.",
        ("list_reverse([1, 2, 3])", "{3,2,1}"),
    ),
    Scalar::new(
        "list_distinct",
        &["list_distinct", "array_distinct"],
        &[first(&[Array])],
        |c| {
            let (array, element) = c.array(0)?;
            array::distinct(array, element)
        },
        "Each element that is not NULL once, where it is first.",
        ("list_distinct([3, 1, 1, NULL])", "{3,1}"),
    ),
    Scalar::new(
        "list_unique",
        &["list_unique", "array_unique"],
        &[over(&[Array], SqlType::BigInt)],
        |c| {
            let (array, element) = c.array(0)?;
            let Value::Str(once) = array::distinct(array, element)? else { return c.wrong() };
            Ok(Value::Int(array::length(&once, element) as i64))
        },
        "The number of different elements that are not NULL.",
        ("list_unique([3, 1, 1, NULL])", "2"),
    ),
    Scalar::new(
        "list_count",
        &["list_count"],
        &[over(&[Array], SqlType::BigInt)],
        |c| of_one(c, numbers::count),
        "The number of elements that are not NULL.",
        ("list_count([1, NULL, 2])", "2"),
    )
    .typed(Typed::OfList(numbers::count)),
    Scalar::new(
        "list_min",
        &["list_min"],
        &[rule(&[Array], ELEMENT)],
        |c| of_one(c, numbers::least),
        "The least element.",
        ("list_min([3, 1, 2])", "1"),
    )
    .or_null()
    .typed(Typed::OfList(numbers::least)),
    Scalar::new(
        "list_max",
        &["list_max"],
        &[rule(&[Array], ELEMENT)],
        |c| of_one(c, numbers::greatest),
        "The greatest element.",
        ("list_max([3, 1, 2])", "3"),
    )
    .or_null()
    .typed(Typed::OfList(numbers::greatest)),
    Scalar::new(
        "list_sum",
        &["list_sum"],
        &[rule(&[Array], |types, _| match types[0].element() {
            Some(SqlType::SmallInt | SqlType::Integer) => SqlType::BigInt,
            Some(SqlType::Numeric { scale, .. }) => SqlType::numeric_showing(scale),
            Some(exact) if exact.as_decimal().is_some() => SqlType::decimal(SqlType::MAX_PRECISION, exact.scale()),
            _ => SqlType::Double,
        })],
        |c| if c.is_numeric() { statistic(c, 1, Summary::sum) } else { of_one(c, numbers::sum) },
        "The sum of the elements that are not NULL.",
        ("list_sum([1, 2, NULL])", "3"),
    )
    .or_null()
    .typed(Typed::OfList(numbers::sum)),
    Scalar::new(
        "list_avg",
        &["list_avg"],
        &[rule(&[Array], |types, _| match types[0].element() {
            Some(SqlType::Numeric { .. }) => SqlType::NUMERIC,
            _ => SqlType::Double,
        })],
        |c| if c.is_numeric() { statistic(c, 1, Summary::average) } else { of_one(c, numbers::average) },
        "The mean of the elements that are not NULL.",
        ("list_avg([1, 2, NULL])", "1.5"),
    )
    .or_null()
    .typed(Typed::OfList(numbers::average)),
    exact!(
        "list_numeric_var_samp",
        2,
        |s| s.variance(1),
        "The variance of the numbers of a sample, exactly.",
        ("list_numeric_var_samp([1, 2, 4])", "2.3333333333333333")
    ),
    exact!(
        "list_numeric_var_pop",
        1,
        |s| s.variance(0),
        "The variance of the numbers, exactly.",
        ("list_numeric_var_pop([1, 2, 4])", "1.5555555555555556")
    ),
    exact!(
        "list_numeric_stddev_samp",
        2,
        |s| s.deviation(1),
        "The standard deviation of the numbers of a sample, exactly.",
        ("list_numeric_stddev_samp([1, 2, 4])", "1.5275252316519467")
    ),
    exact!(
        "list_numeric_stddev_pop",
        1,
        |s| s.deviation(0),
        "The standard deviation of the numbers, exactly.",
        ("list_numeric_stddev_pop([1, 2, 4])", "1.2472191289246471")
    ),
    Scalar::new(
        "list_product",
        &["list_product"],
        &[over(&[Array], SqlType::Double)],
        product,
        "The product of the elements that are not NULL.",
        ("list_product([2, 3, NULL])", "6"),
    )
    .or_null()
    .typed(Typed::OfList(numbers::product)),
    Scalar::new(
        "list_inner_product",
        &["list_inner_product", "list_dot_product", "array_inner_product", "array_dot_product"],
        &[over(&[Array, Array], SqlType::Double)],
        |c| of_two(c, pairs::inner_product),
        "The sum of the products of elements.",
        ("list_dot_product([1, 2, 3], [1, 2, 5])", "20"),
    )
    .typed(Typed::OfLists(pairs::inner_product)),
    Scalar::new(
        "list_distance",
        &["list_distance", "array_distance"],
        &[over(&[Array, Array], SqlType::Double)],
        |c| of_two(c, pairs::distance),
        "The Euclidean distance of two lists.",
        ("list_distance([1, 2, 3], [1, 2, 5])", "2"),
    )
    .typed(Typed::OfLists(pairs::distance)),
    Scalar::new(
        "list_cosine_similarity",
        &["list_cosine_similarity", "array_cosine_similarity"],
        &[over(&[Array, Array], SqlType::Double)],
        |c| of_two(c, pairs::cosine_similarity),
        "The cosine of the angle between two lists; NaN if one of them has no length.",
        ("list_cosine_similarity([1, 0], [2, 0])", "1"),
    )
    .or_null()
    .typed(Typed::OfLists(pairs::cosine_similarity)),
    Scalar::new(
        "flatten",
        &["flatten"],
        &[rule(&[Array], ELEMENT)],
        |c| {
            let (array, element) = c.array(0)?;
            if !element.is_array() {
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, "flatten needs a list of lists"));
            }
            array::flatten(array, element)
        },
        "The elements of all lists of a list.",
        ("flatten([[1, 2], [3]])", "{1,2,3}"),
    ),
    Scalar::new(
        "range",
        &["range"],
        &[rule(&[BigInt], BIGINTS), rule(&[BigInt, BigInt], BIGINTS), rule(&[BigInt, BigInt, BigInt], BIGINTS)],
        |c| match c.len() {
            1 => array::range(0, c.int(0)?, 1, false),
            2 => array::range(c.int(0)?, c.int(1)?, 1, false),
            _ => array::range(c.int(0)?, c.int(1)?, c.int(2)?, false),
        },
        "The numbers from the first to before the second in steps.",
        ("range(2, 8, 3)", "{2,5}"),
    ),
    Scalar::operator(
        "array_series",
        None,
        |c| array::range(c.int(0)?, c.int(1)?, c.int(2)?, true),
        "The numbers from the first to the second in steps, as an array whose elements become rows.",
        ("array_length(range(1, 4), 1)", "3"),
    ),
];

fn sorted(c: &Call<'_>, reverse: bool) -> Result<Value> {
    let (array, element) = c.array(0)?;
    let descending = reverse || order_of(c, 1)?;
    let nulls_first = nulls_of(c, if reverse { 1 } else { 2 })?;
    array::sort(array, element, descending, nulls_first)
}

/// Whether an argument says that the order is descending.
pub(super) fn order_of(c: &Call<'_>, argument: usize) -> Result<bool> {
    word(c, argument, "DESC", "ASC")
}

/// Whether an argument says that NULLs come first.
pub(super) fn nulls_of(c: &Call<'_>, argument: usize) -> Result<bool> {
    word(c, argument, "NULLS FIRST", "NULLS LAST")
}

/// Whether an argument is the first of two words, not the second, which is what it is if it is not there.
fn word(c: &Call<'_>, argument: usize, first: &str, second: &str) -> Result<bool> {
    match c.text_or(argument, second)?.trim().to_ascii_uppercase() {
        word if word == first => Ok(true),
        word if word == second => Ok(false),
        word => {
            let message = format!("\"{word}\" is neither {first} nor {second}");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// What is found in the list that is the argument.
fn of_one(c: &Call<'_>, find: for<'a> fn(&'a str, SqlType) -> Result<Found<'a>>) -> Result<Value> {
    let (list, element) = c.array(0)?;
    Ok(find(list, element)?.value(element, c.result))
}

/// What is found of the two lists that are the arguments.
fn of_two(c: &Call<'_>, find: for<'a> fn(&'a str, &'a str, SqlType) -> Result<Found<'a>>) -> Result<Value> {
    let (list, element) = c.array(0)?;
    Ok(find(list, c.text(1)?, element)?.value(element, c.result))
}

/// The product of the elements, of any numbers.
fn product(c: &Call<'_>) -> Result<Value> {
    let (list, element) = c.array(0)?;
    if !element.is_long_numeric() {
        return of_one(c, numbers::product);
    }
    let all = Elements::new(list, element).filter_map(|value| match value {
        Value::Str(form) => Some(numeric::to_f64(&numeric::decode(&form))),
        _ => None,
    });
    Ok(all.reduce(|product, value| product * value).map_or(Value::Null, Value::Float))
}

/// Of the numbers in a list; NULL if there are fewer than `least`.
fn statistic(c: &Call<'_>, least: u64, of: fn(&Summary) -> Result<Numeric>) -> Result<Value> {
    let (array, element) = c.array(0)?;
    let mut summary = Summary::new(true);
    for value in Elements::new(array, element).filter(|value| !value.is_null()) {
        summary.add(numeric::of_value(&value, element).ok_or_else(|| no_numbers(element))?);
    }
    if summary.count() < least { Ok(Value::Null) } else { c.long(of(&summary)?) }
}
