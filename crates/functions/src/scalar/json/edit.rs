//! DuckDB's changes of JSON, and what says of which types it is.

use types::SqlType;
use types::Value;
use types::ops::json::{self, Edit};

use crate::Parameter::{Json, Text};
use crate::scalar::{Scalar, over, text};

/// A change of a value at a path.
macro_rules! edit {
    ($name:literal, $edit:ident, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Json, Text, Json], SqlType::Json)],
            |c| json::edit(c.text(0)?, c.text(1)?, c.text(2)?, Edit::$edit).map(Value::str),
            $documentation,
            $example,
        )
    };
}

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    edit!(
        "json_set",
        Set,
        "With a value at a path, whether something was there or not.",
        ("json_set('{\"a\": 1}', '$.b', '2')", "{\"a\":1,\"b\":2}")
    ),
    edit!(
        "json_insert",
        Insert,
        "With a value at a path if nothing was there.",
        ("json_insert('{\"a\": 1}', '$.a', '2')", "{\"a\":1}")
    ),
    edit!(
        "json_replace",
        Replace,
        "With a value at a path if something was there.",
        ("json_replace('{\"a\": 1}', '$.a', '2')", "{\"a\":2}")
    ),
    Scalar::new(
        "json_remove",
        &["json_remove"],
        &[over(&[Json, Text], SqlType::Json)],
        |c| json::edit(c.text(0)?, c.text(1)?, "null", Edit::Remove).map(Value::str),
        "Without what lies at a path.",
        ("json_remove('{\"a\": 1, \"b\": 2}', '$.a')", "{\"b\":2}"),
    ),
    Scalar::new(
        "json_merge_patch",
        &["json_merge_patch"],
        &[over(&[Json, Json], SqlType::Json)],
        |c| json::merge_patch(c.text(0)?, c.text(1)?, false).map(Value::str),
        "With the members of another value, member by member; those that are null go.",
        ("json_merge_patch('{\"a\": 1, \"b\": 2}', '{\"a\": null, \"c\": 3}')", "{\"b\":2,\"c\":3}"),
    ),
    Scalar::new(
        "json_deep_merge",
        &["json_deep_merge"],
        &[over(&[Json, Json], SqlType::Json)],
        |c| json::merge_patch(c.text(0)?, c.text(1)?, true).map(Value::str),
        "With the members of another value, member by member; those that are null say nothing.",
        ("json_deep_merge('{\"a\": {\"b\": 1}}', '{\"a\": {\"c\": 2}}')", "{\"a\":{\"b\":1,\"c\":2}}"),
    ),
    Scalar::new(
        "json_minify",
        &["json"],
        &[over(&[Json], SqlType::Json)],
        |c| json::minified(c.text(0)?).map(Value::str),
        "Without blanks.",
        ("json('{\"b\" : 1}')", "{\"b\":1}"),
    ),
    Scalar::new(
        "json_normalize",
        &["json_normalize"],
        &[over(&[Json], SqlType::Json)],
        |c| json::sorted(c.text(0)?).map(Value::str),
        "Without blanks, and with the members of objects in the order of their keys.",
        ("json_normalize('{\"b\": 1, \"a\": 2}')", "{\"a\":2,\"b\":1}"),
    ),
    Scalar::new(
        "json_type",
        &["json_type"],
        &[text(&[Json])],
        |c| Ok(Value::str(json::type_name(c.text(0)?))),
        "What a value is, in DuckDB's names.",
        ("json_type('[1]')", "ARRAY"),
    ),
    Scalar::new(
        "json_structure",
        &["json_structure"],
        &[over(&[Json], SqlType::Json)],
        |c| json::structure(c.text(0)?).map(Value::str),
        "Of which types a value and its parts are.",
        ("json_structure('{\"a\": [1, 2.5]}')", "{\"a\":[\"DOUBLE\"]}"),
    ),
];
