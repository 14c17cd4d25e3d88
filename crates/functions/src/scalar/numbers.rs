//! Functions of numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use types::ops::number::{float, integer, many};
use types::ops::{decimal, string};
use types::{SqlType, Value};

use super::call::in_width;
use super::{FloatFunction, Scalar, Typed, arithmetic, first, over, random, rule, text};
use crate::Parameter::{BigInt, Decimal, Double, Integer, Numeric, Real, SmallInt};
use crate::resolve::{Overload, Parameter};

/// A function of one double. Its operation may fail, or not (`total`); it may have a loop of its own (`many`).
macro_rules! double_function {
    ($name:literal, $names:expr, total $operation:path, $documentation:literal, $example:expr) => {
        double_function!(@ $name, $names, |x| Ok($operation(x)), $documentation, $example)
    };
    ($name:literal, $names:expr, $operation:path, $documentation:literal, $example:expr) => {
        double_function!(@ $name, $names, $operation, $documentation, $example)
    };
    ($name:literal, $names:expr, $operation:path, many $many:path, $documentation:literal, $example:expr) => {
        double_function!(@@ $name, $names, $operation, $many, $documentation, $example)
    };
    (@ $name:literal, $names:expr, $operation:expr, $documentation:literal, $example:expr) => {
        double_function!(
            @@ $name,
            $names,
            $operation,
            |x, only_if, out| many::one_by_one(x, only_if, out, $operation),
            $documentation,
            $example
        )
    };
    (@@ $name:literal, $names:expr, $operation:expr, $many:expr, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            $names,
            &[over(&[Double], SqlType::Double)],
            |c| {
                let operation: fn(f64) -> base::Result<f64> = $operation;
                c.floating(operation(c.float(0)?)?)
            },
            $documentation,
            $example,
        )
        .typed(Typed::Double($operation, $many))
    };
}

pub(super) use double_function;

/// Of numbers of any length.
const fn long(parameters: &'static [Parameter]) -> Overload {
    over(parameters, SqlType::NUMERIC)
}

/// A function of a double, or of a number of any length. Both may fail.
macro_rules! long_function {
    ($name:literal, $names:expr, $operation:path, $many:path, $long:ident, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            $names,
            &[over(&[Double], SqlType::Double), long(&[Numeric])],
            |c| match c.is_numeric() {
                true => c.long(c.numeric(0)?.$long()?),
                false => c.floating($operation(c.float(0)?)?),
            },
            $documentation,
            $example,
        )
        .typed(Typed::Double($operation, $many))
    };
}

/// Digits before the point may grow by one when a decimal is rounded.
fn rounded(arguments: &[SqlType], constants: &[Option<i64>]) -> SqlType {
    if arguments[0].is_long_numeric() {
        let digits = if arguments.len() == 1 { Some(0) } else { constants.get(1).copied().flatten() };
        return SqlType::numeric_showing(digits.unwrap_or(0).clamp(0, 1_000) as i16);
    }
    let Some((precision, scale)) = arguments[0].as_decimal() else { return arguments[0] };
    // More digits than there are become zeros, as far as there is room.
    let most = (SqlType::MAX_PRECISION - 1).saturating_sub(precision - scale).max(scale);
    let digits = match (arguments.len(), constants.get(1)) {
        (1, _) => 0,
        (_, Some(&Some(digits))) => digits.clamp(0, most.into()) as u8,
        _ => scale,
    };
    SqlType::decimal((precision - scale + digits + 1).min(SqlType::MAX_PRECISION), digits)
}
fn whole(arguments: &[SqlType], _: &[Option<i64>]) -> SqlType {
    rounded(&arguments[..1], &[])
}

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "abs",
        &["abs"],
        &[
            first(&[SmallInt]),
            first(&[Integer]),
            first(&[BigInt]),
            first(&[Decimal]),
            first(&[Numeric]),
            first(&[Real]),
            first(&[Double]),
        ],
        arithmetic::abs,
        "The value without its sign.",
        ("abs(-17.4)", "17.4"),
    ),
    Scalar::new(
        "sign",
        &["sign"],
        &[over(&[Double], SqlType::Double), rule(&[Decimal], |_, _| SqlType::decimal(1, 0)), long(&[Numeric])],
        arithmetic::sign,
        "-1, 0 or 1 as the number is negative, zero or positive.",
        ("sign(-8.4)", "-1"),
    )
    .typed(Typed::Double(
        |x| Ok(float::sign(x)),
        |x, only_if, out| many::one_by_one(x, only_if, out, |x| Ok(float::sign(x))),
    )),
    // Of a decimal: any precision and scale, the result's type says the scale; digits beyond it do not change the value.
    Scalar::new(
        "round",
        &["round"],
        &[
            over(&[Double], SqlType::Double),
            rule(&[Decimal], rounded),
            rule(&[Decimal, Integer], rounded),
            rule(&[Numeric], rounded),
            rule(&[Numeric, Integer], rounded),
            over(&[Double, Integer], SqlType::Double),
        ],
        |c| match c.is_numeric() {
            true => arithmetic::rounded_long(c, types::ops::numeric::Numeric::rounded),
            false => arithmetic::rounded(c, decimal::round, float::round),
        },
        "Rounds to the nearest integer, or to so many digits after the point; halves away from zero for decimals.",
        ("round(42.4382, 2)", "42.44"),
    )
    .typed(Typed::Float(FloatFunction::Nearest)),
    Scalar::new(
        "trunc",
        &["trunc"],
        &[
            over(&[Double], SqlType::Double),
            rule(&[Decimal], whole),
            rule(&[Decimal, Integer], rounded),
            rule(&[Numeric], rounded),
            rule(&[Numeric, Integer], rounded),
            over(&[Double, Integer], SqlType::Double),
        ],
        |c| match c.is_numeric() {
            true => arithmetic::rounded_long(c, types::ops::numeric::Numeric::truncated),
            false => arithmetic::rounded(c, decimal::trunc, float::trunc),
        },
        "Cuts digits off, towards zero.",
        ("trunc(-42.8)", "-42"),
    )
    .typed(Typed::Float(FloatFunction::Trunc)),
    // Of doubles, to so many digits, which are a double here.
    Scalar::new(
        "round_double_to",
        &[],
        &[],
        |c| c.floating(float::round_to(c.float(0)?, c.float(1)?)?),
        "Rounds to so many digits after the point; halves to the even digit.",
        ("round(42.4382::double, 2)", "42.44"),
    )
    .typed(Typed::DoubleOfTwo(float::round_to, many::round_to_of_many)),
    Scalar::new(
        "trunc_double_to",
        &[],
        &[],
        |c| c.floating(float::trunc_to(c.float(0)?, c.float(1)?)?),
        "Cuts digits off behind so many after the point.",
        ("trunc(42.4382::double, 2)", "42.43"),
    )
    .typed(Typed::DoubleOfTwo(float::trunc_to, many::trunc_to_of_many)),
    Scalar::new(
        "ceil",
        &["ceil", "ceiling"],
        &[over(&[Double], SqlType::Double), rule(&[Decimal], whole), long(&[Numeric])],
        |c| match c.is_numeric() {
            true => c.long(c.numeric(0)?.ceil()?),
            false => arithmetic::to_whole(c, decimal::ceil, float::ceil),
        },
        "The least integer that is not below the argument.",
        ("ceil(42.2)", "43"),
    )
    .typed(Typed::Float(FloatFunction::Ceil)),
    Scalar::new(
        "floor",
        &["floor"],
        &[over(&[Double], SqlType::Double), rule(&[Decimal], whole), long(&[Numeric])],
        |c| match c.is_numeric() {
            true => c.long(c.numeric(0)?.floor()?),
            false => arithmetic::to_whole(c, decimal::floor, float::floor),
        },
        "The greatest integer that is not above the argument.",
        ("floor(-42.8)", "-43"),
    )
    .typed(Typed::Float(FloatFunction::Floor)),
    long_function!(
        "sqrt",
        &["sqrt"],
        float::sqrt,
        many::sqrt_of_many,
        sqrt,
        "Square root.",
        ("sqrt(2)", "1.4142135623730951")
    ),
    double_function!("cbrt", &["cbrt"], total float::cbrt, "Cube root.", ("cbrt(27)", "3")),
    long_function!("exp", &["exp"], float::exp, many::exp_of_many, exp, "e raised to the argument.", ("exp(0)", "1")),
    long_function!(
        "ln",
        &["ln"],
        float::ln,
        many::ln_of_many,
        ln,
        "Natural logarithm.",
        ("ln(2)", "0.6931471805599453")
    ),
    double_function!("log10", &["log10"], float::log10, "Logarithm to base 10.", ("log10(1000)", "3")),
    Scalar::new(
        "log",
        &["log"],
        &[
            over(&[Double], SqlType::Double),
            over(&[Double, Double], SqlType::Double),
            long(&[Numeric]),
            long(&[Numeric, Numeric]),
        ],
        |c| {
            if c.is_numeric() {
                let base = if c.len() == 1 { types::ops::numeric::of_i128(10) } else { c.numeric(0)? };
                return c.long(c.numeric(c.len() - 1)?.log(&base)?);
            }
            let x = c.float(c.len() - 1)?;
            c.floating(if c.len() == 1 { float::log10(x)? } else { float::log(c.float(0)?, x)? })
        },
        "Logarithm to base 10, or of the second argument to the base of the first.",
        ("log(2, 64)", "6"),
    )
    .typed(Typed::Double(float::log10, many::log10_of_many)),
    Scalar::new(
        "power",
        &["power", "pow"],
        &[over(&[Double, Double], SqlType::Double), long(&[Numeric, Numeric])],
        |c| match c.is_numeric() {
            true => c.long(c.numeric(0)?.power(&c.numeric(1)?)?),
            false => c.floating(float::power(c.float(0)?, c.float(1)?)?),
        },
        "The first argument raised to the second.",
        ("power(9, 3)", "729"),
    )
    .typed(Typed::DoubleOfTwo(float::power, many::power_of_many)),
    Scalar::new(
        "pi",
        &["pi"],
        &[over(&[], SqlType::Double)],
        |_| Ok(Value::Float(std::f64::consts::PI)),
        "The constant pi.",
        ("pi()", "3.141592653589793"),
    ),
    double_function!("sin", &["sin"], float::sin, many many::sin_of_many, "Sine of an angle in radians.", ("sin(0)", "0")),
    double_function!("cos", &["cos"], float::cos, many many::cos_of_many, "Cosine of an angle in radians.", ("cos(0)", "1")),
    double_function!("tan", &["tan"], float::tan, "Tangent of an angle in radians.", ("tan(0)", "0")),
    double_function!("asin", &["asin"], float::asin, "Inverse sine, in radians.", ("asin(1)", "1.5707963267948966")),
    double_function!("acos", &["acos"], float::acos, "Inverse cosine, in radians.", ("acos(1)", "0")),
    double_function!("atan", &["atan"], total float::atan, "Inverse tangent, in radians.", ("atan(0)", "0")),
    Scalar::new(
        "atan2",
        &["atan2"],
        &[over(&[Double, Double], SqlType::Double)],
        |c| c.floating(float::atan2(c.float(0)?, c.float(1)?)),
        "Inverse tangent of the quotient, in radians.",
        ("atan2(1, 0)", "1.5707963267948966"),
    )
    .typed(Typed::DoubleOfTwo(
        |y, x| Ok(float::atan2(y, x)),
        |y, x, only_if, out| many::pair_by_pair((y, x), only_if, out, |y, x| Ok(float::atan2(y, x))),
    )),
    double_function!("degrees", &["degrees"], float::degrees, "Radians as degrees.", ("degrees(pi())", "180")),
    double_function!(
        "radians",
        &["radians"],
        total float::radians,
        "Degrees as radians.",
        ("radians(180)", "3.141592653589793")
    ),
    Scalar::new(
        "gcd",
        &["gcd"],
        &[first(&[Integer, Integer]), first(&[BigInt, BigInt]), long(&[Numeric, Numeric])],
        |c| match c.is_numeric() {
            true => c.long(c.numeric(0)?.gcd(&c.numeric(1)?)),
            false => Ok(Value::Int(in_width!(c, integer::gcd, c.int(0)?, c.int(1)?))),
        },
        "Greatest common divisor.",
        ("gcd(1071, 462)", "21"),
    ),
    Scalar::new(
        "lcm",
        &["lcm"],
        &[first(&[Integer, Integer]), first(&[BigInt, BigInt]), long(&[Numeric, Numeric])],
        |c| match c.is_numeric() {
            true => c.long(c.numeric(0)?.lcm(&c.numeric(1)?)?),
            false => Ok(Value::Int(in_width!(c, integer::lcm, c.int(0)?, c.int(1)?))),
        },
        "Least common multiple.",
        ("lcm(4, 6)", "12"),
    ),
    Scalar {
        volatile: true,
        ..Scalar::new(
            "random",
            &["random"],
            &[over(&[], SqlType::Double)],
            |_| Ok(Value::Float(random::random())),
            "A random double, at least 0 and below 1.",
            ("random()", "0.7403"),
        )
        .typed(Typed::Drawn(random::random))
    },
    Scalar {
        volatile: true,
        ..Scalar::new(
            "clock_timestamp",
            &["clock_timestamp"],
            &[over(&[], SqlType::Timestamptz)],
            |_| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
                Ok(Value::Timestamp(now))
            },
            "The time at which it is asked for, which goes on while a statement runs.",
            ("clock_timestamp()", "2024-01-01 12:00:00+00"),
        )
    },
    Scalar {
        volatile: true,
        ..Scalar::new(
            "gen_random_uuid",
            &["gen_random_uuid", "uuid"],
            &[over(&[], SqlType::Uuid)],
            |_| Ok(Value::Uuid(random::uuid())),
            "A random UUID (version 4).",
            ("gen_random_uuid()", "5b30857f-0bfa-48b5-ac0b-5c64e28078d1"),
        )
    },
    Scalar::new(
        "to_hex",
        &["to_hex"],
        &[text(&[Integer]), text(&[BigInt])],
        |c| {
            let n = c.int(0)?;
            let wide = c.types == [SqlType::BigInt];
            Ok(Value::str(if wide { string::to_hex(n) } else { string::to_hex_i32(n as i32) }))
        },
        "Hexadecimal digits of an integer.",
        ("to_hex(255)", "ff"),
    ),
];
