use super::*;
use crate::{Interval, SqlType, Value};

fn cast(value: Value, from: SqlType, to: SqlType) -> Result<String> {
    cast_value(&value, from, to).map(|v| format_value(&v, to))
}
fn text(value: &str, to: SqlType) -> String {
    match cast(Value::str(value), SqlType::Text, to) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    }
}

#[test]
fn texts_become_values() {
    let decimal = SqlType::decimal(5, 2);
    let table = [
        ("abc", SqlType::Integer, "22P02: invalid input syntax for type integer: \"abc\""),
        ("", SqlType::BigInt, "22P02: invalid input syntax for type bigint: \"\""),
        ("99999999999", SqlType::Integer, "22003: value \"99999999999\" is out of range for type integer"),
        (" 42 ", SqlType::SmallInt, "42"),
        ("x", decimal, "22P02: invalid input syntax for type numeric: \"x\""),
        ("1234.5", decimal, "22003: numeric field overflow"),
        ("-1.005", decimal, "-1.01"),
        ("1e400", SqlType::Double, "22003: \"1e400\" is out of range for type double precision"),
        ("x", SqlType::Double, "22P02: invalid input syntax for type double precision: \"x\""),
        ("0.1", SqlType::Real, "0.1"),
        ("T", SqlType::Bool, "true"),
        ("of", SqlType::Bool, "false"),
        ("o", SqlType::Bool, "22P02: invalid input syntax for type boolean: \"o\""),
        ("x", SqlType::Date, "22007: invalid input syntax for type date: \"x\""),
        ("1998-13-01", SqlType::Date, "22008: date/time field value out of range: \"1998-13-01\""),
        ("1998-12-01 1:02", SqlType::Timestamp, "1998-12-01 01:02:00"),
        ("1 day", SqlType::Interval, "1 day"),
        ("9e9 day", SqlType::Interval, "22007: invalid input syntax for type interval: \"9e9 day\""),
        ("3000000000 days", SqlType::Interval, "22015: interval field value out of range: \"3000000000 days\""),
        ("abcdef", SqlType::Varchar(3), "abc"),
        ("äöü", SqlType::Varchar(2), "äö"),
        ("ab  ", SqlType::Char(3), "ab "),
        ("abcd", SqlType::Char(3), "abc"),
    ];
    for (value, to, expected) in table {
        assert_eq!(text(value, to), expected, "{value} {to}");
    }
}

#[test]
fn numbers_become_numbers() {
    let d = SqlType::decimal;
    let table = [
        (Value::Decimal(250), d(5, 2), SqlType::Integer, "3"),
        (Value::Decimal(-250), d(5, 2), SqlType::Integer, "-3"),
        (Value::Float(2.5), SqlType::Double, SqlType::Integer, "2"),
        (Value::Float(3.5), SqlType::Double, SqlType::Integer, "4"),
        (Value::Int(7), SqlType::Integer, d(5, 2), "7.00"),
        (Value::Int(7), SqlType::Integer, SqlType::Double, "7"),
        (Value::Decimal(12345), d(5, 2), SqlType::Double, "123.45"),
        (Value::Decimal(12345), d(5, 2), d(5, 1), "123.5"),
        (Value::Float(0.1f32.into()), SqlType::Real, SqlType::Double, "0.10000000149011612"),
        (Value::Float(0.1f32.into()), SqlType::Real, d(10, 5), "0.10000"),
        (Value::Bool(true), SqlType::Bool, SqlType::Integer, "1"),
        (Value::Int(2), SqlType::Integer, SqlType::Bool, "true"),
    ];
    for (value, from, to, expected) in table {
        assert_eq!(cast(value.clone(), from, to).unwrap(), expected, "{value:?} {from} {to}");
    }
    for (value, from, to, expected) in [
        (Value::Int(70_000), SqlType::Integer, SqlType::SmallInt, "smallint out of range"),
        (Value::Float(1e30), SqlType::Double, SqlType::BigInt, "bigint out of range"),
        (Value::Float(f64::NAN), SqlType::Double, SqlType::Integer, "integer out of range"),
        (Value::Float(1e300), SqlType::Double, SqlType::Real, "value out of range: overflow"),
        (Value::Decimal(99999), d(5, 0), d(5, 1), "numeric field overflow"),
        (Value::Int(1), SqlType::Integer, SqlType::Date, "cannot cast type integer to date"),
    ] {
        assert_eq!(cast(value, from, to).unwrap_err().message(), expected);
    }
}

#[test]
fn times_become_times_and_texts() {
    let noon = Value::Timestamp(86_400_000_000 + 43_200_000_000);
    assert_eq!(cast_value(&noon, SqlType::Timestamp, SqlType::Date), Ok(Value::Date(1)));
    assert_eq!(cast_value(&Value::Date(1), SqlType::Date, SqlType::Timestamp), Ok(Value::Timestamp(86_400_000_000)));
    assert_eq!(cast(noon, SqlType::Timestamp, SqlType::Text).unwrap(), "1970-01-02 12:00:00");
    let interval = Value::Interval(Interval { months: 1, days: 0, micros: 0 });
    assert_eq!(cast(interval, SqlType::Interval, SqlType::Varchar(3)).unwrap(), "1 m");
    assert_eq!(cast_value(&Value::Null, SqlType::Date, SqlType::Integer), Ok(Value::Null));
}

#[test]
fn assignments_refuse_what_casts_cut() {
    let assign = |text: &str, to| assign_value(&Value::str(text), SqlType::Text, to).map(|v| format_value(&v, to));
    assert_eq!(
        assign("abcd", SqlType::Varchar(3)).unwrap_err().to_string(),
        "22001: value too long for type character varying(3)"
    );
    assert_eq!(
        assign("abcd", SqlType::Char(3)).unwrap_err().to_string(),
        "22001: value too long for type character(3)"
    );
    assert_eq!(assign("abc  ", SqlType::Varchar(3)).unwrap(), "abc");
    assert_eq!(assign("ab  ", SqlType::Char(3)).unwrap(), "ab ");
    assert_eq!(pad_char("ü", 3), "ü  ");
}

#[test]
fn every_pair_answers_as_can_cast_says() {
    let types = [
        (SqlType::Bool, Value::Bool(true)),
        (SqlType::Integer, Value::Int(1)),
        (SqlType::decimal(20, 2), Value::Decimal(100)),
        (SqlType::Real, Value::Float(1.0)),
        (SqlType::Double, Value::Float(1.0)),
        (SqlType::Varchar(5), Value::str("1")),
        (SqlType::Date, Value::Date(1)),
        (SqlType::Timestamp, Value::Timestamp(1)),
        (SqlType::Interval, Value::Interval(Interval::default())),
    ];
    for (from, value) in &types {
        for (to, _) in &types {
            let result = cast_value(value, *from, *to);
            let refused = result.is_err_and(|e| e.message().starts_with("cannot cast"));
            assert_eq!(can_cast(*from, *to), !refused, "{from} to {to}");
        }
    }
}
