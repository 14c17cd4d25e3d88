//! `width_bucket`: in which of so many equal parts of a range a number is.

use base::{Error, Result, SqlState};

use crate::ops::error::out_of_range;

fn bad(message: &'static str) -> Error {
    Error::new(SqlState("2201G"), message)
}

/// The count, if it is one, and the number behind the last bucket.
fn checked(count: i64) -> Result<i64> {
    if count <= 0 { Err(bad("count must be greater than zero")) } else { Ok(count) }
}

/// Below the range 0, above it the number behind the last one, which must be an integer.
fn outside(count: i64) -> Result<i64> {
    if count < i64::from(i32::MAX) { Ok(count + 1) } else { Err(out_of_range("integer")) }
}

/// `width_bucket(value, low, high, count)` of doubles; `low` may be above `high`.
pub fn floats(value: f64, low: f64, high: f64, count: i64) -> Result<i64> {
    let count = checked(count)?;
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bad("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(bad("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(bad("lower bound cannot equal upper bound"));
    }
    if low > high {
        return floats(-value, -low, -high, count);
    }
    if value < low {
        return Ok(0);
    }
    if value >= high {
        return outside(count);
    }
    // Halves, where the range itself is infinite.
    let part = match high - low {
        width if width.is_finite() => (value - low) / width,
        _ => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
    };
    // The quotient may round to 1.
    Ok(((count as f64 * part) as i64).min(count - 1) + 1)
}

/// [`floats`], of exact numbers with equal scales, none of which has more than 38 digits.
pub fn decimals(value: i128, low: i128, high: i128, count: i64) -> Result<i64> {
    let count = checked(count)?;
    if low == high {
        return Err(bad("lower bound cannot equal upper bound"));
    }
    if low > high {
        return decimals(-value, -low, -high, count);
    }
    if value < low {
        return Ok(0);
    }
    if value >= high {
        return outside(count);
    }
    // count * distance / width, bit by bit of the count: no product needs more than 128 bits.
    let (width, distance) = (high.abs_diff(low), value.abs_diff(low));
    let (mut quotient, mut rest) = (0, 0u128);
    for bit in (0..i64::BITS).rev() {
        quotient *= 2;
        let added = [rest, if count >> bit & 1 == 1 { distance } else { 0 }];
        for more in added {
            // `rest + more`, less the width if that is reached.
            if rest >= width - more {
                rest -= width - more;
                quotient += 1;
            } else {
                rest += more;
            }
        }
    }
    Ok(quotient + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_same_bucket() {
        for value in -30..30 {
            for (low, high) in [(-20, 20), (20, -20), (0, 7)] {
                let expected = floats(value.into(), low.into(), high.into(), 40);
                assert_eq!(decimals(value.into(), low.into(), high.into(), 40), expected, "{value} {low} {high}");
            }
        }
    }

    #[test]
    fn wide_ranges() {
        let most = 10i128.pow(38) - 1;
        assert_eq!(decimals(most - 1, -most, most, i32::MAX.into()), Ok(i32::MAX.into()));
        assert_eq!(decimals(0, -most, most, 2), Ok(2));
        assert_eq!(floats(f64::MAX / 2.0, f64::MIN, f64::MAX, 4), Ok(4));
        assert!(floats(2.0, 0.0, 1.0, i32::MAX.into()).is_err());
    }
}
