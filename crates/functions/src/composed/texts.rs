//! Functions of texts, maps and JSON that are made of others.

use super::{Composed, scalar};

pub(super) const TEXTS: &[Composed] = &[
    scalar(
        &["nfc_normalize"],
        &["t"],
        "normalize(t)",
        "A text with letters and their marks in one.",
        ("nfc_normalize(U&'a\\0308') = 'ä'", "true"),
    ),
    scalar(
        &["like_escape"],
        &["t", "pattern", "escape"],
        "t LIKE like_escape(pattern, escape)",
        "Whether a text is like a pattern with an escape character.",
        ("like_escape('a%c', 'a$%c', '$')", "true"),
    ),
    scalar(
        &["not_like_escape"],
        &["t", "pattern", "escape"],
        "t NOT LIKE like_escape(pattern, escape)",
        "Whether a text is not like a pattern with an escape character.",
        ("not_like_escape('a%c', 'a$%c', '$')", "false"),
    ),
    scalar(
        &["ilike_escape"],
        &["t", "pattern", "escape"],
        "t ILIKE like_escape(pattern, escape)",
        "Whether a text is like a pattern, in upper or lower case.",
        ("ilike_escape('A%c', 'a$%C', '$')", "true"),
    ),
    scalar(
        &["not_ilike_escape"],
        &["t", "pattern", "escape"],
        "t NOT ILIKE like_escape(pattern, escape)",
        "Whether a text is not like a pattern, in upper or lower case.",
        ("not_ilike_escape('A%c', 'a$%C', '$')", "false"),
    ),
    scalar(
        &["path_join"],
        &["a", "b"],
        "CASE WHEN starts_with(b, '/') THEN b ELSE regexp_replace(a, '/+$', '') || '/' || b END",
        "A path and another one behind it.",
        ("path_join('a/', 'b')", "a/b"),
    ),
    scalar(
        &["path_join"],
        &["a", "b", "c"],
        "path_join(path_join(a, b), c)",
        "Three paths, one behind the other.",
        ("path_join('a', 'b', 'c')", "a/b/c"),
    ),
    scalar(
        &["array_to_string_comma_default"],
        &["l"],
        "array_to_string(l, ',')",
        "The elements as texts with commas between them.",
        ("array_to_string_comma_default([1, 2])", "1,2"),
    ),
    scalar(
        &["map_extract_value"],
        &["m", "k"],
        "list_extract(map_extract(m, k), 1)",
        "The value of a key; NULL if the map has no such key.",
        ("map_extract_value(MAP {'a': 1}, 'a')", "1"),
    ),
    scalar(
        &["map_contains_entry"],
        &["m", "k", "v"],
        "coalesce(list_extract(map_extract(m, k), 1) = v, false)",
        "Whether a map has that value for a key.",
        ("map_contains_entry(MAP {'a': 1}, 'a', 1)", "true"),
    ),
    scalar(
        &["json_type"],
        &["j", "path"],
        "json_type(json_extract(j, path))",
        "What lies at a path, in DuckDB's names.",
        ("json_type('{\"a\": [1]}', '$.a')", "ARRAY"),
    ),
    scalar(
        &["json_value"],
        &["j", "path"],
        "CASE WHEN json_typeof(json_extract(j, path)) NOT IN ('array', 'object') THEN CAST(json_extract(j, path) AS text) END",
        "What lies at a path, as its JSON; NULL if it is an object or an array.",
        ("json_value('{\"a\": 1}', '$.a')", "1"),
    ),
    scalar(
        &["jsonb_set_lax"],
        &["j", "path", "value"],
        "jsonb_set_lax(j, path, value, true, 'use_json_null')",
        "With a value at a path, NULL as null.",
        ("jsonb_set_lax('{\"a\": 1}', '{a}', NULL)", "{\"a\": null}"),
    ),
    scalar(
        &["jsonb_set_lax"],
        &["j", "path", "value", "create"],
        "jsonb_set_lax(j, path, value, create, 'use_json_null')",
        "With a value at a path, NULL as null.",
        ("jsonb_set_lax('{}', '{a}', '1', false)", "{}"),
    ),
    scalar(
        &["jsonb_set_lax"],
        &["j", "path", "value", "create", "treatment"],
        "CASE WHEN CAST(value AS jsonb) IS NOT NULL THEN jsonb_set(j, path, value, create) \
         WHEN treatment = 'use_json_null' THEN jsonb_set(j, path, CAST('null' AS jsonb), create) \
         WHEN treatment = 'delete_key' THEN jsonb_delete_path(j, path) \
         WHEN treatment = 'return_target' THEN CAST(j AS jsonb) \
         WHEN treatment = 'raise_exception' THEN CAST(error('JSON value must not be null', '22004') AS jsonb) \
         ELSE CAST(error('null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"', '22023') AS jsonb) END",
        "With a value at a path; of NULL, what the last argument says.",
        ("jsonb_set_lax('{\"a\": 1, \"b\": 2}', '{a}', NULL, true, 'delete_key')", "{\"b\": 2}"),
    ),
    scalar(
        &["assert_true"],
        &["x"],
        "CASE WHEN x THEN NULL ELSE error('Assertion failed') END",
        "NULL, or an error if the argument is not true.",
        ("assert_true(true)", "NULL"),
    ),
    scalar(
        &["assert_true"],
        &["x", "message"],
        "CASE WHEN x THEN NULL ELSE error(message) END",
        "NULL, or an error of that message if the first argument is not true.",
        ("assert_true(true, 'no')", "NULL"),
    ),
];
