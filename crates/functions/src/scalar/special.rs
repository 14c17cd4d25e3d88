//! Functions of numbers that few queries call.

use base::Result;
use types::ops::date::{is_infinite, is_infinite_date};
use types::ops::number::{bucket, float, many};
use types::ops::{bytes, decimal, error};
use types::{SqlType, Value};

use super::{Call, Scalar, Typed, first, over};
use crate::Parameter::{BigInt, Bytea, Date, Decimal, Double, Integer, Interval, Numeric, SmallInt, Timestamp};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "width_bucket",
        &["width_bucket"],
        &[
            over(&[Decimal, Decimal, Decimal, Integer], SqlType::Integer),
            over(&[Double, Double, Double, Integer], SqlType::Integer),
        ],
        width_bucket,
        "The number of the bucket, of so many equal ones from the second argument to the third, in which the first is.",
        ("width_bucket(5.35, 0.024, 10.06, 5)", "3"),
    ),
    Scalar::new(
        "factorial",
        &["factorial"],
        &[over(&[BigInt], SqlType::NUMERIC)],
        |c| c.long(types::ops::numeric::Numeric::factorial(c.int(0)?)?),
        "The product of all integers from 1 to the argument.",
        ("factorial(20)", "2432902008176640000"),
    ),
    Scalar::new(
        "div",
        &["div"],
        &[over(&[Decimal, Decimal], SqlType::decimal(38, 0)), over(&[Numeric, Numeric], SqlType::NUMERIC)],
        div,
        "The quotient without its fraction.",
        ("div(-7.5, 2)", "-3"),
    ),
    Scalar::new(
        "scale",
        &["scale"],
        &[over(&[Decimal], SqlType::Integer), over(&[Numeric], SqlType::Integer)],
        scale,
        "How many digits behind the point a number has.",
        ("scale(8.4100)", "4"),
    )
    .or_null(),
    Scalar::new(
        "min_scale",
        &["min_scale"],
        &[over(&[Decimal], SqlType::Integer), over(&[Numeric], SqlType::Integer)],
        min_scale,
        "How many digits behind the point a number needs.",
        ("min_scale(8.4100)", "2"),
    )
    .or_null(),
    // Values of a column have one scale; the binder makes that of a constant as small as it can be.
    Scalar::new(
        "trim_scale",
        &["trim_scale"],
        &[first(&[Decimal]), over(&[Numeric], SqlType::NUMERIC)],
        |c| Ok(c.value(0)?.clone()),
        "The number without zeros at its end, but for a decimal that is no constant.",
        ("trim_scale(8.4100)", "8.41"),
    ),
    Scalar::new(
        "erf",
        &["erf"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::erf(c.float(0)?))),
        "The error function.",
        ("erf(1)", "0.8427007929497149"),
    ),
    Scalar::new(
        "erfc",
        &["erfc"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::erfc(c.float(0)?))),
        "1 less the error function, without its loss of digits.",
        ("erfc(10)", "2.088487583762545e-45"),
    ),
    Scalar::new(
        "gamma",
        &["gamma"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::gamma(c.float(0)?)?)),
        "The factorial of 1 less, between integers, too.",
        ("gamma(5)", "24"),
    ),
    Scalar::new(
        "lgamma",
        &["lgamma"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::lgamma(c.float(0)?)?)),
        "The logarithm of the gamma function.",
        ("lgamma(2)", "0"),
    ),
    Scalar::new(
        "log2",
        &["log2"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::log2(c.float(0)?)?)),
        "Logarithm to base 2.",
        ("log2(8)", "3"),
    )
    .typed(Typed::Double(float::log2, many::log2_of_many)),
    Scalar::new(
        "signbit",
        &["signbit"],
        &[over(&[Double], SqlType::Bool)],
        |c| Ok(Value::Bool(c.float(0)?.is_sign_negative())),
        "Whether a number has a minus, as -0 has.",
        ("signbit('-0')", "true"),
    ),
    Scalar::new(
        "nextafter",
        &["nextafter"],
        &[over(&[Double, Double], SqlType::Double)],
        |c| Ok(Value::Float(float::next_after(c.float(0)?, c.float(1)?))),
        "The next double from the first argument on the way to the second.",
        ("nextafter(1, 2)", "1.0000000000000002"),
    ),
    Scalar::new(
        "bit_count",
        &["bit_count"],
        &[
            over(&[SmallInt], SqlType::BigInt),
            over(&[Integer], SqlType::BigInt),
            over(&[BigInt], SqlType::BigInt),
            over(&[Bytea], SqlType::BigInt),
        ],
        |c| {
            if c.type_of(0) == SqlType::Bytea {
                return Ok(Value::Int(bytes::bytes(c.text(0)?).iter().map(|byte| i64::from(byte.count_ones())).sum()));
            }
            let bits = 8 * c.type_of(0).physical().size() as u32;
            Ok(Value::Int((c.int(0)? as u64 & u64::MAX >> (64 - bits)).count_ones().into()))
        },
        "How many bits of an integer, or of bytes, are 1.",
        ("bit_count(31)", "5"),
    ),
    Scalar::new(
        "xor",
        &["xor"],
        &[first(&[SmallInt, SmallInt]), first(&[Integer, Integer]), first(&[BigInt, BigInt])],
        |c| Ok(Value::Int(c.int(0)? ^ c.int(1)?)),
        "The bits in which two integers differ.",
        ("xor(17, 5)", "20"),
    ),
    Scalar::new(
        "isfinite",
        &["isfinite"],
        &[
            over(&[Date], SqlType::Bool),
            over(&[Timestamp], SqlType::Bool),
            over(&[Interval], SqlType::Bool),
            over(&[Double], SqlType::Bool),
        ],
        |c| {
            Ok(Value::Bool(match c.value(0)? {
                Value::Float(f) => f.is_finite(),
                Value::Date(d) => !is_infinite_date(*d),
                Value::Timestamp(t) => !is_infinite(*t),
                _ => true,
            }))
        },
        "Whether a value is neither infinite nor NaN.",
        ("isfinite(date '2001-02-16')", "true"),
    ),
];

/// Two exact numbers as such of one scale.
fn common(call: &Call<'_>, scale: u8, i: usize) -> Result<i128> {
    let Some((value, from)) = call.exact(i) else { return call.wrong() };
    decimal::rescale(value, from, scale)
}

fn greatest_scale(call: &Call<'_>) -> u8 {
    call.types.iter().map(|t| t.scale()).max().unwrap_or(0)
}

fn width_bucket(call: &Call<'_>) -> Result<Value> {
    let count = call.int(3)?;
    let bucket = if call.type_of(0) == SqlType::Double {
        bucket::floats(call.float(0)?, call.float(1)?, call.float(2)?, count)?
    } else {
        let exact = |i| common(call, greatest_scale(call), i);
        bucket::decimals(exact(0)?, exact(1)?, exact(2)?, count)?
    };
    Ok(Value::Int(bucket))
}

fn div(call: &Call<'_>) -> Result<Value> {
    if call.is_numeric() {
        return call.long(call.numeric(0)?.whole_quotient(&call.numeric(1)?)?);
    }
    let scale = greatest_scale(call);
    let (value, divisor) = (common(call, scale, 0)?, common(call, scale, 1)?);
    if divisor == 0 {
        return Err(error::division_by_zero());
    }
    call.decimal(value / divisor, 0)
}

/// Digits behind the point: those that are printed.
fn scale(call: &Call<'_>) -> Result<Value> {
    if !call.type_of(0).is_long_numeric() {
        return Ok(Value::Int(call.type_of(0).scale().into()));
    }
    let shown = i64::from(call.type_of(0).shown_scale());
    Ok(call.numeric(0)?.finite().map_or(Value::Null, |n| Value::Int(i64::from(n.scale).max(shown))))
}

fn min_scale(call: &Call<'_>) -> Result<Value> {
    if call.type_of(0).is_long_numeric() {
        return Ok(call.numeric(0)?.finite().map_or(Value::Null, |n| Value::Int(n.scale.into())));
    }
    let Some((mut value, mut scale)) = call.exact(0) else { return call.wrong() };
    while scale > 0 && value % 10 == 0 {
        (value, scale) = (value / 10, scale - 1);
    }
    Ok(Value::Int(scale.into()))
}
