//! Checked arithmetic of `smallint`, `integer` and `bigint`.

use base::Result;

use crate::ops::error::{division_by_zero, out_of_range};

/// An SQL integer: `i16`, `i32` or `i64`.
pub trait Integer: Copy + Ord + Into<i64> + TryFrom<i64> {
    /// The type's SQL name.
    const NAME: &'static str;
    /// Sum, or none if it overflows.
    fn checked_add(self, other: Self) -> Option<Self>;
    /// Difference, or none if it overflows.
    fn checked_sub(self, other: Self) -> Option<Self>;
    /// Product, or none if it overflows.
    fn checked_mul(self, other: Self) -> Option<Self>;
    /// Quotient rounded towards zero, or none if it overflows; `other` is not 0.
    fn checked_div(self, other: Self) -> Option<Self>;
    /// Remainder with the sign of the dividend; `other` is not 0.
    fn wrapping_rem(self, other: Self) -> Self;
}

macro_rules! integer {
    ($t:ty, $name:literal) => {
        impl Integer for $t {
            const NAME: &'static str = $name;
            #[inline]
            fn checked_add(self, other: Self) -> Option<Self> {
                <$t>::checked_add(self, other)
            }
            #[inline]
            fn checked_sub(self, other: Self) -> Option<Self> {
                <$t>::checked_sub(self, other)
            }
            #[inline]
            fn checked_mul(self, other: Self) -> Option<Self> {
                <$t>::checked_mul(self, other)
            }
            #[inline]
            fn checked_div(self, other: Self) -> Option<Self> {
                <$t>::checked_div(self, other)
            }
            #[inline]
            fn wrapping_rem(self, other: Self) -> Self {
                <$t>::wrapping_rem(self, other)
            }
        }
    };
}
integer!(i16, "smallint");
integer!(i32, "integer");
integer!(i64, "bigint");

#[inline]
fn check<T: Integer>(result: Option<T>) -> Result<T> {
    result.ok_or_else(|| out_of_range(T::NAME))
}

/// `a + b`
#[inline]
pub fn add<T: Integer>(a: T, b: T) -> Result<T> {
    check(a.checked_add(b))
}
/// `a - b`
#[inline]
pub fn sub<T: Integer>(a: T, b: T) -> Result<T> {
    check(a.checked_sub(b))
}
/// `a * b`
#[inline]
pub fn mul<T: Integer>(a: T, b: T) -> Result<T> {
    check(a.checked_mul(b))
}
/// `a / b`, rounded towards zero.
#[inline]
pub fn div<T: Integer>(a: T, b: T) -> Result<T> {
    if b.into() == 0 {
        return Err(division_by_zero());
    }
    check(a.checked_div(b))
}
/// `a % b`, with the sign of `a`; the smallest integer modulo -1 is 0.
#[inline]
pub fn rem<T: Integer>(a: T, b: T) -> Result<T> {
    if b.into() == 0 {
        return Err(division_by_zero());
    }
    Ok(a.wrapping_rem(b))
}
/// `- a`
#[inline]
pub fn neg<T: Integer>(a: T) -> Result<T> {
    narrow(-i128::from(a.into()))
}
/// `abs(a)`
#[inline]
pub fn abs<T: Integer>(a: T) -> Result<T> {
    narrow(i128::from(a.into()).abs())
}
/// `sign(a)`: -1, 0 or 1.
#[inline]
pub fn sign<T: Integer>(a: T) -> i64 {
    a.into().signum()
}

/// Any integer as a narrower type: 22003 if it does not fit.
#[inline]
pub fn narrow<T: Integer>(a: i128) -> Result<T> {
    check(i64::try_from(a).ok().and_then(|a| T::try_from(a).ok()))
}

fn euclid(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `gcd(a, b)`, not negative; 0 if both are 0.
pub fn gcd<T: Integer>(a: T, b: T) -> Result<T> {
    narrow(euclid(a.into().unsigned_abs(), b.into().unsigned_abs()).into())
}

/// `lcm(a, b)`, not negative; 0 if either is 0.
pub fn lcm<T: Integer>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into().unsigned_abs(), b.into().unsigned_abs());
    if a == 0 || b == 0 {
        return narrow(0);
    }
    let product = u128::from(a / euclid(a, b)) * u128::from(b);
    narrow(i128::try_from(product).unwrap_or(i128::MAX))
}

/// `a << n`: like PostgreSQL on x86, the count is taken modulo the width of `bigint`.
pub fn shift_left(a: i64, n: i64) -> i64 {
    a.wrapping_shl(n as u32)
}
/// `a >> n`, keeping the sign.
pub fn shift_right(a: i64, n: i64) -> i64 {
    a.wrapping_shr(n as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_and_zero_are_errors_in_postgres_words() {
        assert_eq!(add(i32::MAX, 1).unwrap_err().to_string(), "22003: integer out of range");
        assert_eq!(mul(i64::MAX, 2).unwrap_err().to_string(), "22003: bigint out of range");
        assert_eq!(div(i16::MIN, -1).unwrap_err().to_string(), "22003: smallint out of range");
        assert_eq!(div(1, 0).unwrap_err().to_string(), "22012: division by zero");
        assert_eq!(rem(1i64, 0).unwrap_err().to_string(), "22012: division by zero");
        assert_eq!(rem(i64::MIN, -1), Ok(0));
        assert_eq!((div(-7, 2), rem(-7, 2)), (Ok(-3), Ok(-1)));
        assert!(neg(i64::MIN).is_err() && abs(i32::MIN).is_err());
        assert_eq!(abs(-5i16), Ok(5));
    }

    #[test]
    fn gcd_and_lcm() {
        assert_eq!(gcd(1071, 462), Ok(21));
        assert_eq!(gcd(-4, 0), Ok(4));
        assert_eq!(lcm(1071, 462), Ok(23562));
        assert_eq!(lcm(i32::MIN, 0), Ok(0));
        assert!(gcd(i64::MIN, 0).is_err() && lcm(i64::MAX, i64::MAX - 1).is_err());
    }
}
