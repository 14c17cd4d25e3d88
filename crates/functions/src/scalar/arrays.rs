//! PostgreSQL's functions of arrays; decision 40. Elements that may be NULL come as the array of them alone, and what takes a
//! NULL array for an empty one is the binder's matter.

use base::{Error, Result};
use types::ops::array::{self, Elements, found};
use types::{SqlType, Value};

use super::{Call, Scalar, Typed, first, over, rule, text};
use crate::Parameter::{Array, BigInt, Element, Integer, Integers, Text};
use crate::{Overload, ResultType};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::operator(
        "array_alone",
        None,
        |c| array::encode([c.value(0)?], c.type_of(0)),
        "The array of one element.",
        ("ARRAY[7]", "{7}"),
    ),
    Scalar::operator(
        "sort_word",
        None,
        |c| {
            let word = array::word_of(c.value(0)?).ok_or_else(|| Error::internal("a value that has no word"))?;
            Ok(Value::Int(word))
        },
        "A number in whose order the values of the type are.",
        ("(SELECT array_agg(7))", "{7}"),
    ),
    Scalar::new(
        "array_cat",
        &["array_cat", "list_concat", "list_cat", "array_concat"],
        &[first(&[Array, Array])],
        concat,
        "The elements of two arrays.",
        ("array_cat(ARRAY[1, 2], ARRAY[3])", "{1,2,3}"),
    ),
    Scalar::new(
        "array_append",
        &["array_append", "list_append", "array_push_back"],
        &[first(&[Array, Element])],
        concat,
        "The array and an element behind it.",
        ("array_append(ARRAY[1, 2], 3)", "{1,2,3}"),
    ),
    Scalar::new(
        "array_prepend",
        &["array_prepend", "list_prepend"],
        &[rule(&[Element, Array], |types, _| types[1])],
        concat,
        "An element and the array behind it.",
        ("array_prepend(1, ARRAY[2, 3])", "{1,2,3}"),
    ),
    Scalar::operator(
        "array_subscript",
        None,
        |c| {
            let (array, element) = c.array(0)?;
            Ok(array::subscript(array, element, c.int(1)?))
        },
        "The element of a number, counted from 1.",
        ("(ARRAY[3, 5, 8])[2]", "5"),
    )
    .or_null(),
    // The binder makes a NULL array an empty one, and a NULL number this one.
    Scalar::new(
        "array_set",
        &["array_set", "list_set"],
        &[rule(&[Array, BigInt, Element], |types, _| types[0])],
        |c| {
            let (array, element) = c.array(0)?;
            let value = Elements::new(c.text(2)?, element).next().unwrap_or(Value::Null);
            array::with_element(Some(array), Some(c.int(1)?).filter(|at| *at != i64::MIN), value, element)
        },
        "The array with another element at a number, counted from 1: what `SET a[2] = 7` gives.",
        ("array_set(ARRAY[1, 2], 4, 7)", "{1,2,NULL,7}"),
    ),
    // The binder makes a NULL array an empty one, and a NULL number this one.
    Scalar::new(
        "array_set_slice",
        &["array_set_slice"],
        &[rule(&[Array, BigInt, BigInt, Array], |types, _| types[0])],
        |c| {
            let (array, element) = c.array(0)?;
            let bound = |at: usize| c.int(at).map(|bound| Some(bound).filter(|bound| *bound != i64::MIN + 1));
            array::with_slice(array, (bound(1)?, bound(2)?), c.text(3)?, element)
        },
        "The array with other elements between two numbers: what `SET a[2:3] = ARRAY[7, 8]` gives.",
        ("array_set_slice(ARRAY[1, 2, 3], 2, 3, ARRAY[7, 8])", "{1,7,8}"),
    ),
    Scalar::operator(
        "array_slice",
        None,
        |c| {
            let (array, element) = c.array(0)?;
            let bounds = (1..c.len()).step_by(2).map(|at| Ok((c.int(at)?, c.int(at + 1)?)));
            array::slice_each(array, element, &bounds.collect::<Result<Vec<_>>>()?)
        },
        "The elements from one number to another, in each dimension that is asked for.",
        ("(ARRAY[3, 5, 8, 9])[2:3]", "{5,8}"),
    )
    .typed(Typed::Part(array::slice)),
    Scalar::operator(
        "array_contains",
        None,
        |c| Ok(Value::Bool(array::contains(c.text(0)?, c.text(1)?, c.array(0)?.1))),
        "Whether each element of the second array is one of the first.",
        ("ARRAY[1, 4, 3] @> ARRAY[3, 1]", "true"),
    ),
    Scalar::operator(
        "array_overlaps",
        None,
        |c| Ok(Value::Bool(array::overlaps(c.text(0)?, c.text(1)?, c.array(0)?.1))),
        "Whether the arrays have an element in common.",
        ("ARRAY[1, 4, 3] && ARRAY[2, 1]", "true"),
    ),
    Scalar::operator(
        "array_any",
        None,
        |c| {
            let (array, element) = c.array(0)?;
            Ok(array::any_equal(array, element, c.text(1)?))
        },
        "Whether an element equals the value.",
        ("2 = ANY (ARRAY[1, 2])", "true"),
    )
    .or_null()
    .typed(Typed::OfLists(found::has_any)),
    Scalar::new(
        "array_length",
        &["array_length", "array_upper"],
        &[over(&[Array, Integer], SqlType::Integer)],
        |c| Ok(extent(c)?.map_or(Value::Null, Value::Int)),
        "The length of a dimension; NULL if it is empty or not there.",
        ("array_length(ARRAY[1, 2, 3], 1)", "3"),
    )
    .or_null(),
    Scalar::new(
        "array_lower",
        &["array_lower"],
        &[over(&[Array, Integer], SqlType::Integer)],
        |c| Ok(extent(c)?.map_or(Value::Null, |_| Value::Int(1))),
        "The number of the first element in a dimension: 1; NULL if it is empty or not there.",
        ("array_lower(ARRAY[1, 2, 3], 1)", "1"),
    )
    .or_null(),
    Scalar::new(
        "array_ndims",
        &["array_ndims"],
        &[over(&[Array], SqlType::Integer)],
        |c| Ok(if c.text(0)?.is_empty() { Value::Null } else { Value::Int(c.type_of(0).dimensions() as i64) }),
        "The number of dimensions; NULL of an empty array.",
        ("array_ndims(ARRAY[[1, 2], [3, 4]])", "2"),
    )
    .or_null(),
    Scalar::new(
        "array_dims",
        &["array_dims"],
        &[text(&[Array])],
        dims,
        "The bounds of each dimension as text; NULL of an empty array.",
        ("array_dims(ARRAY[[1, 2, 3], [4, 5, 6]])", "[1:2][1:3]"),
    )
    .or_null(),
    Scalar::new(
        "cardinality",
        &["cardinality"],
        &[over(&[Array], SqlType::Integer)],
        |c| {
            let (array, element) = c.array(0)?;
            Ok(Value::Int(cardinality(array, element)))
        },
        "The number of elements in all dimensions.",
        ("cardinality(ARRAY[[1, 2], [3, 4]])", "4"),
    ),
    Scalar::new(
        "array_position",
        &["array_position", "list_position", "list_indexof", "array_indexof"],
        &[over(&[Array, Element], SqlType::Integer), over(&[Array, Element, Integer], SqlType::Integer)],
        |c| {
            let ((array, element), from) = (c.array(0)?, if c.len() > 2 { c.int(2)? } else { 1 });
            Ok(array::position(array, element, c.text(1)?, from).map_or(Value::Null, Value::Int))
        },
        "The number of the first element that is the same, NULL too; from a number on.",
        ("array_position(ARRAY['sun', 'mon', 'tue'], 'mon')", "2"),
    )
    .or_null()
    .typed(Typed::OfLists(found::place)),
    Scalar::new(
        "array_positions",
        &["array_positions"],
        &[Overload {
            parameters: &[Array, Element],
            defaults: &[],
            result: ResultType::Rule(|_, _| SqlType::array_of(SqlType::Integer)),
        }],
        |c| {
            let (array, element) = c.array(0)?;
            array::positions(array, element, c.text(1)?)
        },
        "The numbers of all elements that are the same, NULL too.",
        ("array_positions(ARRAY['A', 'A', 'B', 'A'], 'A')", "{1,2,4}"),
    ),
    Scalar::new(
        "array_remove",
        &["array_remove"],
        &[first(&[Array, Element])],
        |c| {
            let (array, element) = c.array(0)?;
            array::remove(array, element, c.text(1)?)
        },
        "Without the elements that are the same, NULL too.",
        ("array_remove(ARRAY[1, 2, 3, 2], 2)", "{1,3}"),
    ),
    Scalar::new(
        "array_replace",
        &["array_replace"],
        &[first(&[Array, Element, Element])],
        |c| {
            let (array, element) = c.array(0)?;
            array::replace(array, element, c.text(1)?, c.text(2)?)
        },
        "With the third argument in place of each element that is the same as the second.",
        ("array_replace(ARRAY[1, 2, 5, 4], 5, 3)", "{1,2,3,4}"),
    ),
    Scalar::new(
        "array_fill",
        &["array_fill"],
        &[rule(&[Element, Integers], |types, _| SqlType::array_of(types[0]))],
        |c| {
            let (sizes, integer) = c.array(1)?;
            array::fill(c.text(0)?, &Elements::new(sizes, integer).collect::<Vec<_>>())
        },
        "An array of so many elements, all the same.",
        ("array_fill(11, ARRAY[2])", "{11,11}"),
    ),
    Scalar::new(
        "trim_array",
        &["trim_array"],
        &[first(&[Array, Integer])],
        trim,
        "Without so many elements at the end.",
        ("trim_array(ARRAY[1, 2, 3, 4, 5, 6], 2)", "{1,2,3,4}"),
    ),
    Scalar::new(
        "array_to_string",
        &["array_to_string", "list_to_string"],
        &[text(&[Array, Text]), text(&[Array, Text, Text])],
        |c| {
            let ((array, element), null) = (c.array(0)?, if c.len() > 2 { Some(c.text(2)?) } else { None });
            Ok(Value::str(array::to_text(array, element, c.text(1)?, null)?))
        },
        "The elements as texts with the second argument between them; NULLs as the third, or left out.",
        ("array_to_string(ARRAY[1, 2, NULL, 5], ',', '*')", "1,2,*,5"),
    ),
    Scalar::new(
        "string_to_array",
        &["string_to_array", "string_split", "str_split", "split"],
        &[
            rule(&[Text], |_, _| SqlType::array_of(SqlType::Text)),
            rule(&[Text, Text], |_, _| SqlType::array_of(SqlType::Text)),
            rule(&[Text, Text, Text], |_, _| SqlType::array_of(SqlType::Text)),
        ],
        |c| {
            let part = |i| if c.len() > i { c.text(i).map(Some) } else { Ok(None) };
            array::of_text(c.text(0)?, part(1)?, part(2)?)
        },
        "The parts of a text between delimiters, or its characters; parts that are the third argument become NULL.",
        ("string_to_array('xx~~yy~~zz', '~~', 'yy')", "{xx,NULL,zz}"),
    ),
];

/// Arrays' forms lie one behind the other.
fn concat(c: &Call<'_>) -> Result<Value> {
    Ok(Value::str(types::ops::string::concat(&[c.text(0)?, c.text(1)?])?))
}

/// How long the dimension of the second argument's number is.
fn extent(c: &Call<'_>) -> Result<Option<i64>> {
    let (array, element) = c.array(0)?;
    let wanted = usize::try_from(c.int(1)?).unwrap_or(0);
    Ok(extents(array, element).into_iter().nth(wanted.wrapping_sub(1)))
}

/// The lengths of the dimensions: of the first array in each. None of an empty array.
fn extents(array: &str, element: SqlType) -> Vec<i64> {
    let (mut lengths, mut array, mut element) = (Vec::new(), Value::str(array), element);
    while let Value::Str(form) = &array {
        let length = array::length(form, element);
        if length == 0 {
            break;
        }
        lengths.push(length as i64);
        let Some(inner) = element.element() else { break };
        (array, element) = (array::subscript(form, element, 1), inner);
    }
    lengths
}

fn dims(c: &Call<'_>) -> Result<Value> {
    let (array, element) = c.array(0)?;
    let text: String = extents(array, element).iter().map(|length| format!("[1:{length}]")).collect();
    Ok(if text.is_empty() { Value::Null } else { Value::str(text) })
}

fn cardinality(array: &str, element: SqlType) -> i64 {
    let Some(inner) = element.element() else { return array::length(array, element) as i64 };
    let of_one = |value| if let Value::Str(array) = value { cardinality(&array, inner) } else { 1 };
    Elements::new(array, element).map(of_one).sum()
}

fn trim(c: &Call<'_>) -> Result<Value> {
    let (array, element) = c.array(0)?;
    let (length, cut) = (array::length(array, element) as i64, c.int(1)?);
    if !(0..=length).contains(&cut) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(Error::new(base::SqlState("2202E"), message));
    }
    Ok(Value::str(array::slice(array, element, None, Some(length - cut))))
}
