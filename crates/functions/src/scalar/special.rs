//! Functions of numbers that few queries call.

use base::Result;
use types::ops::number::{bucket, float, integer};
use types::ops::{decimal, error};
use types::{SqlType, Value};

use super::{Call, Scalar, over};
use crate::Parameter::{BigInt, Decimal, Double, Integer};

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
        &[over(&[BigInt], SqlType::decimal(38, 0))],
        |c| Ok(Value::Decimal(integer::factorial(c.int(0)?)?)),
        "The product of all integers from 1 to the argument.",
        ("factorial(20)", "2432902008176640000"),
    ),
    Scalar::new(
        "div",
        &["div"],
        &[over(&[Decimal, Decimal], SqlType::decimal(38, 0))],
        div,
        "The quotient without its fraction.",
        ("div(-7.5, 2)", "-3"),
    ),
    Scalar::new(
        "scale",
        &["scale"],
        &[over(&[Decimal], SqlType::Integer)],
        |c| Ok(Value::Int(c.type_of(0).scale().into())),
        "How many digits behind the point a decimal has.",
        ("scale(8.4100)", "4"),
    ),
    Scalar::new(
        "min_scale",
        &["min_scale"],
        &[over(&[Decimal], SqlType::Integer)],
        min_scale,
        "How many digits behind the point a decimal needs.",
        ("min_scale(8.4100)", "2"),
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
        "asinh",
        &["asinh"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::asinh(c.float(0)?))),
        "Inverse hyperbolic sine.",
        ("asinh(0)", "0"),
    ),
    Scalar::new(
        "acosh",
        &["acosh"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::acosh(c.float(0)?)?)),
        "Inverse hyperbolic cosine.",
        ("acosh(1)", "0"),
    ),
    Scalar::new(
        "atanh",
        &["atanh"],
        &[over(&[Double], SqlType::Double)],
        |c| Ok(Value::Float(float::atanh(c.float(0)?)?)),
        "Inverse hyperbolic tangent.",
        ("atanh(0)", "0"),
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
    let scale = greatest_scale(call);
    let (value, divisor) = (common(call, scale, 0)?, common(call, scale, 1)?);
    if divisor == 0 {
        return Err(error::division_by_zero());
    }
    call.decimal(value / divisor, 0)
}

fn min_scale(call: &Call<'_>) -> Result<Value> {
    let Some((mut value, mut scale)) = call.exact(0) else { return call.wrong() };
    while scale > 0 && value % 10 == 0 {
        (value, scale) = (value / 10, scale - 1);
    }
    Ok(Value::Int(scale.into()))
}
