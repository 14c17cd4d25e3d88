//! The types, with values of each.

use types::enumeration::Labels;
use types::{EnumType, SqlType, StructField};

/// A type, and texts of values that differ, in their order.
pub struct Case {
    pub sql_type: SqlType,
    pub values: &'static [&'static str],
}

/// The labels of the type `mood`, which are not in the order of texts.
pub const LABELS: [&str; 4] = ["sad", "ok", "a, \"b\"", "happy"];

/// The types with values: each variant once, or as often as it has forms in memory.
pub fn cases() -> Vec<Case> {
    let labels = LABELS.map(str::to_owned);
    let mood = SqlType::Enum(EnumType::new(Labels::new("mood", &labels).unwrap()));
    let case = |sql_type, values| Case { sql_type, values };
    vec![
        case(SqlType::Bool, &["false", "true"]),
        case(SqlType::SmallInt, &["-32768", "-1", "0", "7", "32767"]),
        case(SqlType::Integer, &["-2147483648", "-1", "0", "7", "2147483647"]),
        case(SqlType::BigInt, &["-9223372036854775808", "-1", "0", "7", "9223372036854775807"]),
        case(SqlType::decimal(10, 2), &["-99999999.99", "-0.01", "0.00", "1.50", "99999999.99"]),
        case(
            SqlType::decimal(38, 3),
            &["-99999999999999999999999999999999999.999", "0.000", "12345678901234567890.125"],
        ),
        case(SqlType::Real, &["-Infinity", "-1.5", "0", "0.1", "3e+30", "Infinity", "NaN"]),
        case(SqlType::Double, &["-Infinity", "-1.5", "0", "0.1", "1e+300", "Infinity", "NaN"]),
        case(SqlType::Text, &["A longer text than twelve bytes", "a", "b c", "ä", "漢字"]),
        case(SqlType::Varchar(40), &["A longer text than twelve bytes", "a", "b c", "ä", "漢字"]),
        case(SqlType::Char(4), &["a   ", "ab  ", "ä   ", "漢字  "]),
        case(SqlType::Date, &["4714-11-24 BC", "1970-01-01", "2024-02-29", "5874897-12-31"]),
        case(SqlType::Time, &["00:00:00", "09:30:00.000001", "23:59:59.999999", "24:00:00"]),
        case(SqlType::Timestamp, &["0044-03-15 12:00:00 BC", "1969-12-31 23:59:59.999999", "2024-02-29 10:00:00"]),
        case(
            SqlType::Timestamptz,
            &["0044-03-15 12:00:00+00 BC", "1970-01-01 00:00:00+00", "2024-07-01 10:00:00.5+00"],
        ),
        case(
            SqlType::Interval,
            &["-1 years -2 mons +3 days -04:05:06", "00:00:00", "1 day", "1 mon", "1 year 00:00:01"],
        ),
        case(
            SqlType::Uuid,
            &[
                "00000000-0000-0000-0000-000000000000",
                "7fffffff-ffff-ffff-ffff-ffffffffffff",
                "80000000-0000-0000-0000-000000000000",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
        ),
        case(
            SqlType::struct_of(vec![field("a", SqlType::Integer), field("B c", SqlType::array_of(SqlType::Text))]),
            &[
                "{'a': -1, 'B c': {x,NULL}}",
                "{'a': 7, 'B c': {}}",
                "{'a': 7, 'B c': {\"a longer text, in quotes\"}}",
                "{'a': 7, 'B c': NULL}",
                "{'a': NULL, 'B c': {}}",
            ],
        ),
        case(
            SqlType::struct_of(vec![
                field("s", SqlType::struct_of(vec![field("x", SqlType::Double), field("t", SqlType::Text)])),
                field("d", SqlType::Date),
            ]),
            &[
                "{'s': {'x': -1.5, 't': ''}, 'd': 2024-02-29}",
                "{'s': {'x': 0, 't': 'it\\'s, {so}'}, 'd': NULL}",
                "{'s': {'x': 0, 't': 'null'}, 'd': NULL}",
                "{'s': {'x': NULL, 't': NULL}, 'd': 1970-01-01}",
                "{'s': NULL, 'd': 1970-01-01}",
            ],
        ),
        case(
            SqlType::map_of(SqlType::Text, SqlType::struct_of(vec![field("x", SqlType::Integer)])),
            &["{}", "{a={'x': 1}, b=NULL}", "{'a=b'={'x': NULL}}", "{b={'x': 7}}"],
        ),
        case(mood, &LABELS),
        case(SqlType::Bytea, &["\\x", "\\x00", "\\x007f80ff", "\\x61626364656667686970", "\\xff"]),
        case(
            SqlType::NUMERIC,
            &[
                "-Infinity",
                "-123456789012345678901234567890123456789012345678901234567890.125",
                "-0.5",
                "0",
                "1.5",
                "1000000000000000000000000000000000000000000000000000000000000",
                "NaN",
            ],
        ),
        case(
            SqlType::Numeric { precision: 50, scale: 3 },
            &["-1.500", "0.000", "0.001", "12345678901234567890123456789012345678901.250"],
        ),
        case(
            SqlType::Timetz,
            &["02:00:00+15:59:59", "12:30:00+02", "12:30:00.5-03:30", "23:59:59.999999-15", "24:00:00-15:59"],
        ),
        case(SqlType::RANGES[0].1, &["empty", "(,5)", "(,)", "[-2147483648,-1)", "[1,10)", "[1,)"]),
        case(SqlType::RANGES[1].1, &["empty", "(,-9223372036854775808)", "[1,9223372036854775807)"]),
        case(
            SqlType::RANGES[2].1,
            &[
                "empty",
                "(,NaN]",
                "[-1.5,1)",
                "[-1.5,2)",
                "[-1.5,2]",
                "(-1.5,2]",
                "[10000000000000000000000000000000000000000,)",
            ],
        ),
        case(SqlType::RANGES[3].1, &["empty", "(,\"2024-01-01 00:00:00\")", "[\"2024-01-01 00:00:00.5\",)"]),
        case(SqlType::RANGES[4].1, &["empty", "[\"2024-01-01 12:00:00+00\",\"2024-01-02 00:00:00+00\"]"]),
        case(SqlType::RANGES[5].1, &["empty", "[2024-02-28,2024-03-01)", "[2024-02-29,2024-03-01)"]),
        case(SqlType::Json, &["\"a text of more than twelve bytes\"", "12", "[1,  2]", "{\"b\":1, \"a\": null}"]),
        case(SqlType::Jsonb, &["\"a text of more than twelve bytes\"", "12", "[1, 2]", "{\"a\": null, \"b\": 1}"]),
    ]
}

fn field(name: &str, sql_type: SqlType) -> StructField {
    StructField { name: name.to_owned(), sql_type }
}

/// A type without a case is an error here, where the compiler says so.
pub fn has_case(sql_type: SqlType) -> bool {
    match sql_type {
        // Arrays are of these types, and have files of their own.
        SqlType::Null | SqlType::Array(_) => false,
        SqlType::Struct(_) | SqlType::Map(_) => true,
        SqlType::Uuid | SqlType::Enum(_) | SqlType::Bytea | SqlType::Json | SqlType::Jsonb => true,
        SqlType::Bool | SqlType::SmallInt | SqlType::Integer | SqlType::BigInt | SqlType::Decimal { .. } => true,
        SqlType::Numeric { .. } | SqlType::Range(_) => true,
        SqlType::Real | SqlType::Double | SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => true,
        SqlType::Date
        | SqlType::Time
        | SqlType::Timetz
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval => true,
    }
}
