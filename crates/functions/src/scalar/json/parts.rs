//! The parts of a value as arrays, which may become rows.

use base::Result;
use types::ops::{array, json, structure};
use types::{SqlType, StructField, Value};

use crate::Parameter::{Bool, Json, Jsonb, Text};
use crate::scalar::{Scalar, rule};

const TEXTS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::Text);
const JSONS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |types, _| SqlType::array_of(types[0]);

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    Scalar::new(
        "json_elements",
        &["json_elements"],
        &[rule(&[Json], JSONS), rule(&[Jsonb], JSONS)],
        |c| json::elements(c.text(0)?, &format!("{}_array_elements", c.type_of(0))),
        "The elements as an array.",
        ("json_elements('[1, [2]]')::text", "{1,[2]}"),
    ),
    Scalar::new(
        "json_elements_text",
        &["json_elements_text"],
        &[rule(&[Json], TEXTS), rule(&[Jsonb], TEXTS)],
        |c| json::elements_text(c.text(0)?, &format!("{}_array_elements_text", c.type_of(0))),
        "The elements as an array of texts.",
        ("json_elements_text('[1, \"a\", null]')", "{1,a,NULL}"),
    ),
    Scalar::new(
        "json_keys",
        &["json_keys"],
        &[rule(&[Json], TEXTS), rule(&[Jsonb], TEXTS)],
        |c| json::keys(c.text(0)?, &format!("{}_object_keys", c.type_of(0))),
        "The keys as an array of texts.",
        ("json_keys('{\"a\": 1, \"b\": 2}')", "{a,b}"),
    ),
    Scalar::new(
        "json_values",
        &["json_values"],
        &[rule(&[Json], JSONS), rule(&[Jsonb], JSONS)],
        |c| json::members(c.text(0)?, &format!("{}_each", c.type_of(0)), false),
        "The values of all keys as an array.",
        ("json_values('{\"a\": 1, \"b\": 2}')::text", "{1,2}"),
    ),
    Scalar::new(
        "json_values_text",
        &["json_values_text"],
        &[rule(&[Json], TEXTS), rule(&[Jsonb], TEXTS)],
        |c| json::members(c.text(0)?, &format!("{}_each", c.type_of(0)), true),
        "The values of all keys as an array of texts.",
        ("json_values_text('{\"a\": 1, \"b\": null}')", "{1,NULL}"),
    ),
    Scalar::new(
        "json_entry_keys",
        &["json_entry_keys"],
        &[rule(&[Json], TEXTS)],
        |c| json::entry_keys(c.text(0)?),
        "The keys of an object, or the numbers of an array's elements.",
        ("json_entry_keys('[true]')", "{0}"),
    ),
    Scalar::new(
        "json_entry_values",
        &["json_entry_values"],
        &[rule(&[Json], JSONS)],
        |c| json::entry_values(c.text(0)?),
        "The values of an object, or the elements of an array.",
        ("json_entry_values('{\"a\": true}')", "{true}"),
    ),
    Scalar::new(
        "json_extract_all",
        &["json_extract_all"],
        &[rule(&[Json, Text], |_, _| SqlType::array_of(SqlType::Json))],
        |c| {
            let found: Vec<Value> = json::extract_all(c.text(0)?, c.text(1)?)?.into_iter().map(Value::str).collect();
            array::encode(&found, SqlType::Json)
        },
        "All that lies at a path with wildcards.",
        ("json_extract('{\"a\": [{\"b\": 1}, {\"b\": 2}]}', '$.a[*].b')", "{1,2}"),
    ),
    Scalar::new(
        "json_extract_all_text",
        &["json_extract_all_text"],
        &[rule(&[Json, Text], TEXTS)],
        |c| {
            let mut made = String::new();
            let mut text = |found: &str| {
                made.clear();
                Ok(json::path_text(found, "", &mut made)?.value(&made))
            };
            let found = json::extract_all(c.text(0)?, c.text(1)?)?;
            array::encode(&found.into_iter().map(&mut text).collect::<Result<Vec<_>>>()?, SqlType::Text)
        },
        "All that lies at a path with wildcards, as texts.",
        ("json_extract_string('{\"a\": [{\"b\": 1}, {\"b\": \"x\"}]}', '$.a[*].b')", "{1,x}"),
    ),
    Scalar::new(
        "json_within",
        &["json_within"],
        &[rule(&[Json, Text, Bool], |_, _| SqlType::array_of(within_type()))],
        |c| {
            let SqlType::Struct(of) = within_type() else { return Ok(Value::Null) };
            let found = json::within(c.text(0)?, c.text(1)?, matches!(c.value(2)?, Value::Bool(true)))?;
            let rows = found.iter().map(|one| structure::encode(&one.values(), of)).collect::<Result<Vec<_>>>()?;
            array::encode(&rows, within_type())
        },
        "The values within what lies at a path, with paths to them.",
        ("(SELECT string_agg(fullkey, ' ') FROM json_tree('{\"a\": [1]}'))", "$ $.a $.a[0]"),
    ),
];

/// A row of `json_tree` and `json_each`.
fn within_type() -> SqlType {
    use SqlType::{BigInt, Json, Text};
    let fields: [(&str, SqlType); 8] = [
        ("key", Text),
        ("value", Json),
        ("type", Text),
        ("atom", Json),
        ("id", BigInt),
        ("parent", BigInt),
        ("fullkey", Text),
        ("path", Text),
    ];
    SqlType::struct_of(fields.map(|(name, sql_type)| StructField { name: name.to_owned(), sql_type }).to_vec())
}
