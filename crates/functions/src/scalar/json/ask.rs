//! What values are, and what they have.

use types::ops::json::scan::{Kind, items, kind, members};
use types::ops::json::{self, Part};
use types::{SqlType, Value};

use super::some_texts;
use crate::Parameter::{Json, Jsonb, Text, Texts};
use crate::scalar::{Scalar, Typed, over, text};

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    Scalar::new(
        "json_exists",
        &["json_exists"],
        &[over(&[Json, Text], SqlType::Bool), over(&[Jsonb, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(json::extract(c.text(0)?, c.text(1)?, &mut String::new())? != Part::Nothing)),
        "Whether something lies at a path such as $.a.b[0] or /a/b/0.",
        ("json_exists('{\"a\": [1, 2]}', '$.a[1]')", "true"),
    ),
    Scalar::new(
        "json_valid",
        &["json_valid"],
        &[over(&[Text], SqlType::Bool), over(&[Json], SqlType::Bool), over(&[Jsonb], SqlType::Bool)],
        |c| Ok(Value::Bool(json::is_valid(c.text(0)?))),
        "Whether a text is JSON.",
        ("json_valid('{\"a\": 1}')", "true"),
    ),
    Scalar::operator(
        "jsonb_sort_key",
        None,
        |c| json::sort_key(c.text(0)?).map(Value::str),
        "A text whose order is that of the values.",
        ("'[1]'::jsonb < '[2]'::jsonb", "true"),
    ),
    Scalar::new(
        "jsonb_contains",
        &["jsonb_contains"],
        &[over(&[Jsonb, Jsonb], SqlType::Bool)],
        |c| Ok(Value::Bool(json::contains(c.text(0)?, c.text(1)?))),
        "Whether the first value has all that the second has.",
        ("'{\"a\": 1, \"b\": 2}'::jsonb @> '{\"b\": 2}'", "true"),
    )
    .typed(Typed::Test(json::contains)),
    Scalar::new(
        "json_contains",
        &["json_contains"],
        &[over(&[Json, Json], SqlType::Bool), over(&[Jsonb, Jsonb], SqlType::Bool)],
        |c| {
            let [whole, part] = [json::normal_form(c.text(0)?)?, json::normal_form(c.text(1)?)?];
            Ok(Value::Bool(is_within(&whole, &part)))
        },
        "Whether the first value, or one within it, has all that the second has.",
        ("json_contains('{\"a\": {\"b\": 2, \"c\": 3}}', '{\"b\": 2}')", "true"),
    ),
    Scalar::new(
        "jsonb_exists",
        &["jsonb_exists"],
        &[over(&[Jsonb, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(json::exists(c.text(0)?, c.text(1)?))),
        "Whether the text is a key, or an element.",
        ("jsonb_exists('{\"a\": 1}', 'a')", "true"),
    )
    .typed(Typed::Test(json::exists)),
    Scalar::new(
        "jsonb_exists_any",
        &["jsonb_exists_any"],
        &[over(&[Jsonb, Texts], SqlType::Bool)],
        |c| Ok(Value::Bool(some_texts(c, 1)?.iter().any(|key| json::exists(c.text(0).unwrap_or_default(), key)))),
        "Whether one of the texts is a key, or an element.",
        ("jsonb_exists_any('{\"a\": 1}', ARRAY['a', 'b'])", "true"),
    ),
    Scalar::new(
        "jsonb_exists_all",
        &["jsonb_exists_all"],
        &[over(&[Jsonb, Texts], SqlType::Bool)],
        |c| Ok(Value::Bool(some_texts(c, 1)?.iter().all(|key| json::exists(c.text(0).unwrap_or_default(), key)))),
        "Whether each of the texts is a key, or an element.",
        ("jsonb_exists_all('{\"a\": 1}', ARRAY['a', 'b'])", "false"),
    ),
    Scalar::new(
        "json_typeof",
        &["json_typeof", "jsonb_typeof"],
        &[text(&[Json]), text(&[Jsonb])],
        |c| Ok(Value::str(json::type_of(c.text(0)?))),
        "What the value is: object, array, string, number, boolean or null.",
        ("json_typeof('-123.4')", "number"),
    ),
    Scalar::new(
        "json_array_length",
        &["json_array_length", "jsonb_array_length"],
        &[
            over(&[Json], SqlType::Integer),
            over(&[Jsonb], SqlType::Integer),
            over(&[Json, Text], SqlType::Integer),
            over(&[Jsonb, Text], SqlType::Integer),
        ],
        |c| {
            let mut made = String::new();
            let found =
                if c.len() > 1 { json::extract(c.text(0)?, c.text(1)?, &mut made)? } else { Part::Of(c.text(0)?) };
            match found {
                Part::Of(array) => json::length(array).map(Value::Int),
                _ => Ok(Value::Null),
            }
        },
        "The number of elements, of the array at a path too.",
        ("json_array_length('[1, 2, {\"a\": 1}]')", "3"),
    )
    .or_null(),
];

/// Whether a value, or one within it, has all that another has.
fn is_within(whole: &str, part: &str) -> bool {
    let mut values = vec![whole];
    while let Some(value) = values.pop() {
        if json::contains(value, part) {
            return true;
        }
        match kind(value) {
            Kind::Object => values.extend(members(value).map(|(_, member)| member)),
            Kind::Array => values.extend(items(value)),
            _ => {}
        }
    }
    false
}
