//! Functions of SQL/JSON paths.

use base::Result;
use types::ops::json::PathCall;
use types::{SqlType, Value};

use crate::Overload;
use crate::Parameter::{Bool, Jsonb, Text};
use crate::scalar::{Call, Scalar, over, rule};

/// Of a `jsonb` and a path, of an object of variables, and of whether errors are silent.
macro_rules! path_function {
    ($name:literal, $names:expr, $result:expr, $method:ident, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            $names,
            &[
                over(&[Jsonb, Text], $result),
                over(&[Jsonb, Text, Jsonb], $result),
                over(&[Jsonb, Text, Jsonb, Bool], $result),
            ],
            |c| call(c)?.$method(),
            $documentation,
            $example,
        )
        .or_null()
    };
}

const JSONBS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::Jsonb);
const ITEMS: &[Overload] =
    &[rule(&[Jsonb, Text], JSONBS), rule(&[Jsonb, Text, Jsonb], JSONBS), rule(&[Jsonb, Text, Jsonb, Bool], JSONBS)];

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    Scalar::new(
        "jsonb_path_items",
        &["jsonb_path_items"],
        ITEMS,
        |c| call(c)?.items(),
        "All that a path leads to, as an array.",
        ("jsonb_path_items('[1, 2, 3]', '$[*] ? (@ > 1)')::text", "{2,3}"),
    ),
    path_function!(
        "jsonb_path_query_array",
        &["jsonb_path_query_array", "jsonb_path_query_array_tz"],
        SqlType::Jsonb,
        array,
        "All that a path leads to, as a JSON array.",
        ("jsonb_path_query_array('{\"a\": [1, 2, 3]}', '$.a[*] ? (@ >= $least)', '{\"least\": 2}')", "[2, 3]")
    ),
    path_function!(
        "jsonb_path_query_first",
        &["jsonb_path_query_first", "jsonb_path_query_first_tz"],
        SqlType::Jsonb,
        first,
        "The first value that a path leads to; NULL if there is none.",
        ("jsonb_path_query_first('{\"a\": [1, 2, 3]}', '$.a[last]')", "3")
    ),
    path_function!(
        "jsonb_path_exists",
        &["jsonb_path_exists", "jsonb_path_exists_tz"],
        SqlType::Bool,
        exists,
        "Whether a path leads to something.",
        ("jsonb_path_exists('{\"a\": 1}', '$.b')", "false")
    ),
    path_function!(
        "jsonb_path_match",
        &["jsonb_path_match", "jsonb_path_match_tz"],
        SqlType::Bool,
        matches,
        "Whether the condition that a path is holds.",
        ("jsonb_path_match('{\"a\": [1, 2]}', 'exists($.a[*] ? (@ > 1))')", "true")
    ),
];

fn call<'a>(c: &Call<'a>) -> Result<PathCall<'a>> {
    Ok(PathCall {
        json: c.text(0)?,
        path: c.text(1)?,
        variables: c.text_or(2, "{}")?,
        silent: matches!(c.values.get(3), Some(Value::Bool(true))),
    })
}
