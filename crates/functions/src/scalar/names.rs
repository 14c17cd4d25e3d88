//! Constants for the functions that code elsewhere names: operators, functions with machine code of their own, functions
//! that the optimizer or the binder treats specially. All others are reached through the table alone.

use super::{FAMILIES, ScalarFunction};

/// The row of that name, found when the constant is compiled.
const fn row(name: &str) -> ScalarFunction {
    let (mut family, mut number) = (0, 0);
    while family < FAMILIES.len() {
        let mut at = 0;
        while at < FAMILIES[family].len() {
            if same(FAMILIES[family][at].name, name) {
                return ScalarFunction(number);
            }
            (at, number) = (at + 1, number + 1);
        }
        family += 1;
    }
    panic!("no row has this name")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[allow(missing_docs)] // the rows document them
impl ScalarFunction {
    pub const ADD: Self = row("add");
    pub const SUBTRACT: Self = row("subtract");
    pub const MULTIPLY: Self = row("multiply");
    pub const DIVIDE: Self = row("divide");
    pub const MODULO: Self = row("modulo");
    pub const NEGATE: Self = row("negate");
    pub const BIT_AND: Self = row("bit_and");
    pub const BIT_OR: Self = row("bit_or");
    pub const BIT_XOR: Self = row("bit_xor");
    pub const BIT_NOT: Self = row("bit_not");
    pub const SHIFT_LEFT: Self = row("shift_left");
    pub const SHIFT_RIGHT: Self = row("shift_right");
    pub const CONCAT: Self = row("concat");
    pub const DATE_DIFF: Self = row("date_diff");
    pub const ABS: Self = row("abs");
    pub const SIGN: Self = row("sign");
    pub const SQRT: Self = row("sqrt");
    pub const CBRT: Self = row("cbrt");
    pub const POWER: Self = row("power");
    pub const PLAIN_INTEGER: Self = row("plain_integer");
    pub const LENGTH: Self = row("length");
    pub const LEFT: Self = row("left");
    pub const SUBSTRING: Self = row("substring");
    pub const TRIM_TRAILING: Self = row("trim_trailing");
    pub const RPAD: Self = row("rpad");
    pub const REGEXP_LIKE: Self = row("regexp_like");
    pub const REGEXP_MATCHES: Self = row("regexp_matches");
    pub const REGEXP_SUBSTRING: Self = row("regexp_substring");
    pub const SIMILAR_TO_ESCAPE: Self = row("similar_to_escape");
    pub const FORMAT: Self = row("format");
    pub const ROUTINE: Self = row("routine");
    /// The triggers that are called before a row is changed: the table's schema and name, the event, their numbers, the row
    /// as it was and as it is to be. Its value is the row to be written, or NULL.
    pub const BEFORE_ROW: Self = row("before_row");
    pub const SEQUENCE_NEXT: Self = row("sequence_next");
    pub const SEQUENCE_CURRENT: Self = row("sequence_current");
    pub const SEQUENCE_LAST: Self = row("sequence_last");
    pub const SEQUENCE_SET: Self = row("sequence_set");
    pub const REFUSE_ROW: Self = row("refuse_row");
    pub const TRANSACTION_NUMBER: Self = row("transaction_number");
    /// The number of an object that is shown as its name, and of which kind it is.
    pub const REGISTERED: Self = row("registered");
    pub const EXTRACT: Self = row("extract");
    pub const DATE_TRUNC: Self = row("date_trunc");
    pub const TO_NUMBER: Self = row("to_number");
    pub const TIMEZONE: Self = row("timezone");
    pub const TEXT_IN_ZONE: Self = row("text_in_zone");
    pub const MOMENT_OF_TEXT: Self = row("moment_of_text");
    pub const ZONE_FIELD: Self = row("zone_field");
    pub const DATE_ADD: Self = row("date_add");
    pub const DATE_SUBTRACT: Self = row("date_subtract");
    pub const GREATEST: Self = row("greatest");
    pub const LEAST: Self = row("least");
    pub const ARRAY_ALONE: Self = row("array_alone");
    pub const LIST_EXTRACT: Self = row("list_extract");
    pub const LIST_TAKE: Self = row("list_take");
    pub const SORT_WORD: Self = row("sort_word");
    pub const LIST_CONTAINS: Self = row("list_contains");
    pub const ARRAY_CAT: Self = row("array_cat");
    pub const ARRAY_APPEND: Self = row("array_append");
    pub const ARRAY_PREPEND: Self = row("array_prepend");
    pub const ARRAY_SET: Self = row("array_set");
    pub const ARRAY_SET_SLICE: Self = row("array_set_slice");
    pub const ARRAY_SUBSCRIPT: Self = row("array_subscript");
    pub const STRUCT_FIELD: Self = row("struct_field");
    pub const ARRAY_SLICE: Self = row("array_slice");
    pub const LIST_SLICE: Self = row("list_slice");
    pub const ARRAY_CONTAINS: Self = row("array_contains");
    pub const ARRAY_OVERLAPS: Self = row("array_overlaps");
    pub const ARRAY_SERIES: Self = row("array_series");
    pub const LIST_RANGE: Self = row("range");
    pub const TIME_SERIES: Self = row("time_series");
    pub const NUMBER_SERIES: Self = row("number_series");
    pub const OCTET_LENGTH: Self = row("octet_length");
    pub const LIKE_ESCAPE: Self = row("like_escape");
    pub const LIST_LENGTH: Self = row("list_length");
    pub const FLATTEN: Self = row("flatten");
    pub const ARRAY_ANY: Self = row("array_any");
    pub const DIGEST: Self = row("digest");
    pub const JSON_ARRAY_LENGTH: Self = row("json_array_length");
    pub const JSON_EXTRACT_ALL: Self = row("json_extract_all");
    pub const JSON_EXTRACT_ALL_TEXT: Self = row("json_extract_all_text");
    pub const JSON_EXTRACT: Self = row("json_extract");
    pub const JSON_EXTRACT_STRING: Self = row("json_extract_string");
    pub const JSON_FIELD: Self = row("json_field");
    pub const JSON_FIELD_TEXT: Self = row("json_field_text");
    pub const JSON_FIELD_OF_TEXT: Self = row("json_field_of_text");
    pub const JSON_FIELD_TEXT_OF_TEXT: Self = row("json_field_text_of_text");
    pub const JSONB_FIELD: Self = row("jsonb_field");
    pub const JSONB_FIELD_TEXT: Self = row("jsonb_field_text");
    pub const JSON_ITEM: Self = row("json_item");
    pub const JSON_ITEM_TEXT: Self = row("json_item_text");
    pub const JSON_PATH: Self = row("json_path");
    pub const JSON_PATH_TEXT: Self = row("json_path_text");
    pub const HASH: Self = row("hash");
    pub const ROUND_DOUBLE_TO: Self = row("round_double_to");
    pub const TRUNC_DOUBLE_TO: Self = row("trunc_double_to");
    pub const ISFINITE: Self = row("isfinite");
    pub const TIME_BUCKET: Self = row("time_bucket");
    pub const DATE_BIN: Self = row("date_bin");
    pub const STRFTIME: Self = row("strftime");
    pub const DATE_IN_ISO: Self = row("date_in_iso");
    pub const ROUND_SECONDS: Self = row("round_seconds");
    pub const TS_MATCH: Self = row("ts_match_vq");
    pub const TSVECTOR_IN: Self = row("tsvector_in");
    pub const TSQUERY_IN: Self = row("tsquery_in");
    pub const COLLATE: Self = row("collate");
    pub const COLLATION_KEY: Self = row("collation_key");
    pub const LOWER: Self = row("lower");
    pub const STRIP_ACCENTS: Self = row("strip_accents");
    pub const JSONB_SORT_KEY: Self = row("jsonb_sort_key");
    pub const JSONB_CONTAINS: Self = row("jsonb_contains");
    pub const JSONB_EXISTS: Self = row("jsonb_exists");
    pub const JSONB_EXISTS_ANY: Self = row("jsonb_exists_any");
    pub const JSONB_EXISTS_ALL: Self = row("jsonb_exists_all");
    pub const JSONB_DELETE_PATH: Self = row("jsonb_delete_path");
    pub const JSONB_CONCAT: Self = row("jsonb_concat");
    pub const JSONB_DELETE: Self = row("jsonb_delete");
    pub const JSON_BUILD_ARRAY: Self = row("json_build_array");
    pub const JSON_BUILD_OBJECT: Self = row("json_build_object");
    pub const JSONB_PATH_EXISTS: Self = row("jsonb_path_exists");
    pub const JSONB_PATH_MATCH: Self = row("jsonb_path_match");
    pub const RANGE_LOWER: Self = row("range_lower");
    pub const RANGE_UPPER: Self = row("range_upper");
    pub const TRIM_SCALE: Self = row("trim_scale");
    pub const JSON_OF_ROW: Self = row("json_of_row");
}
