//! From other numbers, and to them.

use base::Result;
use num_bigint::BigInt;

use super::Numeric::{Finite as Number, Infinity, NaN, NegativeInfinity};
use super::{Finite, Numeric, decode, text};
use crate::ops::decimal::POWERS;
use crate::{SqlType, Value};

/// An integer.
pub fn of_i128(value: i128) -> Numeric {
    Numeric::integer(value)
}

/// A decimal of that scale, with all of its digits.
pub fn of_decimal(value: i128, scale: u8) -> Numeric {
    Number(Finite { digits: BigInt::from(value), scale: scale.into() })
}

/// A double, with the 15 digits that it surely has.
pub fn of_f64(value: f64) -> Numeric {
    of_float(value, 15)
}

/// A real, with the 6 digits that it surely has.
pub fn of_f32(value: f32) -> Numeric {
    of_float(value.into(), 6)
}

fn of_float(value: f64, digits: usize) -> Numeric {
    if value.is_nan() {
        return NaN;
    }
    if value.is_infinite() {
        return if value > 0.0 { Infinity } else { NegativeInfinity };
    }
    let written = format!("{value:.*e}", digits - 1);
    // Zeros that only fill up the digits are none of the number's.
    let number = text::parse(written.as_bytes()).unwrap_or(NaN);
    number.trimmed()
}

/// A value of a type of numbers.
pub fn of_value(value: &Value, sql_type: SqlType) -> Option<Numeric> {
    Some(match value {
        Value::Int(i) => of_i128((*i).into()),
        Value::Decimal(d) => of_decimal(*d, sql_type.scale()),
        Value::Float(f) if sql_type == SqlType::Real => of_f32(*f as f32),
        Value::Float(f) => of_f64(*f),
        Value::Str(form) if sql_type.is_long_numeric() => decode(form),
        _ => return None,
    })
}

/// The nearest double; infinite if it is too large, with no error.
pub fn to_f64(value: &Numeric) -> f64 {
    match value {
        NaN => f64::NAN,
        Infinity => f64::INFINITY,
        NegativeInfinity => f64::NEG_INFINITY,
        Number(_) => {
            let mut written = String::new();
            text::write(&mut written, value);
            written.parse().unwrap_or(f64::NAN)
        }
    }
}

impl Numeric {
    /// The nearest integer, halves away from zero; none if it is no number or needs more than 128 bits.
    pub fn to_i128(&self) -> Option<i128> {
        i128::try_from(&self.finite()?.rescaled(0).digits).ok()
    }

    /// As a decimal of that scale; 22003 if it needs more digits than `precision`, or is no number.
    pub fn to_decimal(&self, precision: u8, scale: u8) -> Result<i128> {
        let beyond = || crate::ops::decimal::field_overflow(precision, scale);
        let digits = self.finite().map(|n| n.rescaled(scale.into()).digits);
        let value = digits.and_then(|digits| i128::try_from(&digits).ok());
        let fits = |v: &i128| v.unsigned_abs() < POWERS[usize::from(precision)].unsigned_abs();
        value.filter(fits).ok_or_else(beyond)
    }
}
