//! What finds a part of a value; generated code calls these as they are.

use base::Result;
use types::ops::json;
use types::{SqlType, Value};

use crate::Overload;
use crate::Parameter::{BigInt, Json, Jsonb, Text};
use crate::scalar::{Call, Scalar, Typed, first, over, text};

/// A function of a value and what leads to a part of it.
const fn finding(
    name: &'static str,
    names: &'static [&'static str],
    overloads: &'static [Overload],
    evaluate: fn(&Call<'_>) -> Result<Value>,
    typed: Typed,
    documentation: &'static str,
    example: (&'static str, &'static str),
) -> Scalar {
    Scalar::new(name, names, overloads, evaluate, documentation, example).or_null().typed(typed)
}

/// The evaluation of what finds something by a text.
macro_rules! by_text {
    ($find:path) => {
        |c| {
            let mut made = String::new();
            Ok($find(c.text(0)?, c.text(1)?, &mut made)?.value(&made))
        }
    };
}

/// The evaluation of what finds something by a number.
macro_rules! by_number {
    ($find:path) => {
        |c| {
            let mut made = String::new();
            Ok($find(c.text(0)?, c.int(1)?, &mut made)?.value(&made))
        }
    };
}

const AT: &[Overload] = &[over(&[Json, Text], SqlType::Json), over(&[Jsonb, Text], SqlType::Json)];
const TEXT_AT: &[Overload] = &[text(&[Json, Text]), text(&[Jsonb, Text])];

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    finding(
        "json_field",
        &["json_object_field"],
        &[first(&[Json, Text])],
        by_text!(json::field),
        Typed::FoundByText(json::field),
        "The value of a key.",
        ("'{\"a\": [1, 2]}'::json -> 'a'", "[1, 2]"),
    ),
    finding(
        "json_field_text",
        &["json_object_field_text"],
        &[text(&[Json, Text])],
        by_text!(json::field_text),
        Typed::FoundByText(json::field_text),
        "The value of a key as text.",
        ("'{\"a\": \"b\"}'::json ->> 'a'", "b"),
    ),
    // Of texts that are casts' arguments.
    finding(
        "json_field_of_text",
        &[],
        &[],
        by_text!(json::field_of_text),
        Typed::FoundByText(json::field_of_text),
        "The value of a key in a text that is JSON.",
        ("'{\"a\": [1, 2]}' -> 'a'", "[1, 2]"),
    ),
    finding(
        "json_field_text_of_text",
        &[],
        &[],
        by_text!(json::field_text_of_text),
        Typed::FoundByText(json::field_text_of_text),
        "The value of a key in a text that is JSON, as text.",
        ("'{\"a\": \"b\"}' ->> 'a'", "b"),
    ),
    finding(
        "jsonb_field",
        &["jsonb_object_field"],
        &[first(&[Jsonb, Text])],
        by_text!(json::member),
        Typed::FoundByText(json::member),
        "The value of a key.",
        ("'{\"a\": [1,2]}'::jsonb -> 'a'", "[1, 2]"),
    ),
    finding(
        "jsonb_field_text",
        &["jsonb_object_field_text"],
        &[text(&[Jsonb, Text])],
        by_text!(json::member_text),
        Typed::FoundByText(json::member_text),
        "The value of a key as text.",
        ("'{\"a\": \"b\"}'::jsonb ->> 'a'", "b"),
    ),
    finding(
        "json_item",
        &["json_array_element", "jsonb_array_element"],
        &[first(&[Json, BigInt]), first(&[Jsonb, BigInt])],
        by_number!(json::item),
        Typed::FoundByNumber(json::item),
        "The element of a number, counted from 0, or from the end if it is below zero.",
        ("'[5, 6, 7]'::json -> -1", "7"),
    ),
    finding(
        "json_item_text",
        &["json_array_element_text", "jsonb_array_element_text"],
        &[text(&[Json, BigInt]), text(&[Jsonb, BigInt])],
        by_number!(json::item_text),
        Typed::FoundByNumber(json::item_text),
        "The element of a number as text.",
        ("'[5, \"six\"]'::json ->> 1", "six"),
    ),
    finding(
        "json_path",
        &[],
        &[],
        by_text!(json::path),
        Typed::FoundByText(json::path),
        "What lies at a path of keys and numbers.",
        ("'{\"a\": {\"b\": [1, 2]}}'::json #> '{a,b,1}'", "2"),
    ),
    finding(
        "json_path_text",
        &[],
        &[],
        by_text!(json::path_text),
        Typed::FoundByText(json::path_text),
        "What lies at a path of keys and numbers, as text.",
        ("'{\"a\": {\"b\": [1, \"x\"]}}'::json #>> '{a,b,1}'", "x"),
    ),
    finding(
        "json_extract",
        &["json_extract"],
        AT,
        by_text!(json::extract),
        Typed::FoundByText(json::extract),
        "What lies at a path such as $.a.b[0] or /a/b/0, or the value of a key.",
        ("json_extract('{\"a\": [1, 2]}', '$.a[1]')", "2"),
    ),
    finding(
        "json_extract_string",
        &["json_extract_string", "json_extract_text"],
        TEXT_AT,
        by_text!(json::extract_text),
        Typed::FoundByText(json::extract_text),
        "What lies at a path such as $.a.b[0] or /a/b/0, or the value of a key, as text.",
        ("json_extract_string('{\"a\": {\"b\": \"x\"}}', '$.a.b')", "x"),
    ),
];
