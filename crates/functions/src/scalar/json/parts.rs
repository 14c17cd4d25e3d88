//! The parts of a value as arrays, which may become rows.

use types::SqlType;
use types::ops::json;

use crate::Parameter::{Json, Jsonb};
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
];
