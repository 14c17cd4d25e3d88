//! Operators. Their operands' and results' types are the binder's matter, with [`crate::arithmetic`] for the first five.

use types::ops::number::integer;
use types::ops::string;
use types::{SqlType, Value};

use super::arithmetic::{Sign, arithmetic, negate};
use super::{Scalar, first};
use crate::Parameter::{BigInt, Integer, SmallInt};

pub(super) const ROWS: &[Scalar] = &[
    // Integers: both operands of the result's type. Decimals: any precision and scale, the result's type says the scale.
    // Floats: both of the result's type. Also date + integer, date - integer, date - date (integer), date or timestamp
    // +- interval (timestamp), timestamp - timestamp (interval), interval +- interval, interval * or / double.
    Scalar::operator("add", Some(("+", 5)), |c| arithmetic(Sign::Plus, c), "Sum.", ("7 + 2", "9")),
    Scalar::operator("subtract", Some(("-", 5)), |c| arithmetic(Sign::Minus, c), "Difference.", ("7 - 2", "5")),
    Scalar::operator("multiply", Some(("*", 6)), |c| arithmetic(Sign::Times, c), "Product.", ("7 * 2", "14")),
    Scalar::operator(
        "divide",
        Some(("/", 6)),
        |c| arithmetic(Sign::Over, c),
        "Quotient; of integers, towards zero.",
        ("7 / 2", "3"),
    ),
    Scalar {
        infix: Some(("%", 6)),
        ..Scalar::new(
            "modulo",
            &["mod"],
            &[first(&[SmallInt, SmallInt]), first(&[Integer, Integer]), first(&[BigInt, BigInt])],
            |c| arithmetic(Sign::Modulo, c),
            "Remainder of a division, with the sign of the dividend.",
            ("mod(9, 4)", "1"),
        )
    },
    Scalar::operator("negate", None, negate, "The number or interval with the other sign.", ("- (7 + 2)", "-9")),
    Scalar::operator("bit_and", None, |c| Ok(Value::Int(c.int(0)? & c.int(1)?)), "Bitwise and.", ("91 & 15", "11")),
    Scalar::operator("bit_or", None, |c| Ok(Value::Int(c.int(0)? | c.int(1)?)), "Bitwise or.", ("32 | 3", "35")),
    Scalar::operator(
        "bit_xor",
        None,
        |c| Ok(Value::Int(c.int(0)? ^ c.int(1)?)),
        "Bitwise exclusive or.",
        ("17 # 5", "20"),
    ),
    Scalar::operator("bit_not", None, |c| Ok(Value::Int(!c.int(0)?)), "Bitwise not.", ("~1", "-2")),
    Scalar::operator(
        "shift_left",
        None,
        |c| Ok(Value::Int(cut(integer::shift_left(c.int(0)?, amount(c.int(1)?, c.result)), c.result))),
        "Shifted to the left by so many bits.",
        ("1 << 4", "16"),
    ),
    Scalar::operator(
        "shift_right",
        None,
        |c| Ok(Value::Int(integer::shift_right(c.int(0)?, amount(c.int(1)?, c.result)))),
        "Shifted to the right by so many bits.",
        ("8 >> 2", "2"),
    ),
    Scalar::operator(
        "concat",
        Some(("||", 5)),
        |c| Ok(Value::str(string::concat(&[c.text(0)?, c.text(1)?])?)),
        "One text after the other.",
        ("'Morsel' || 'DB'", "MorselDB"),
    ),
];

/// Shifts wrap at the width of the type, as in PostgreSQL.
fn amount(n: i64, result: SqlType) -> i64 {
    match result {
        SqlType::SmallInt | SqlType::Integer => n & 31,
        _ => n & 63,
    }
}

fn cut(value: i64, result: SqlType) -> i64 {
    match result {
        SqlType::SmallInt => i64::from(value as i16),
        SqlType::Integer => i64::from(value as i32),
        _ => value,
    }
}
