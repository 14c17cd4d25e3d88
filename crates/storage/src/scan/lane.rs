//! Every fixed-width type as integers that order like its values, so that one range kernel serves all types.

use types::Interval;

/// A fixed-width value with an order-preserving integer key.
pub(crate) trait Lane: types::column::Plain {
    /// The key's type, as narrow as the value, so that vectors hold as many.
    type Key: Copy + Ord + 'static;
    /// The least and the greatest key.
    const LIMITS: (i128, i128);
    /// The key: `a < b` in PostgreSQL's order exactly if the keys are.
    fn key(self) -> Self::Key;
    /// A number within [`LIMITS`](Self::LIMITS) as a key.
    fn narrow(key: i128) -> Self::Key;
    /// A key as a number.
    fn widen(key: Self::Key) -> i128;
}

macro_rules! integer_lane {
    ($($t:ty),*) => { $(
        impl Lane for $t {
            type Key = $t;
            const LIMITS: (i128, i128) = (<$t>::MIN as i128, <$t>::MAX as i128);
            #[inline(always)]
            fn key(self) -> $t { self }
            #[inline(always)]
            fn narrow(key: i128) -> $t { key as $t }
            #[inline(always)]
            fn widen(key: $t) -> i128 { key as i128 }
        }
    )* };
}
integer_lane!(u8, u16, u32, i16, i32, i64, i128);

macro_rules! float_lane {
    ($t:ty, $bits:ty, $unsigned:ty) => {
        impl Lane for $t {
            type Key = $bits;
            const LIMITS: (i128, i128) = (<$bits>::MIN as i128, <$bits>::MAX as i128);
            /// -0 becomes 0 and every NaN the same one, above infinity; negative numbers turn their order around.
            #[inline(always)]
            fn key(self) -> $bits {
                let x = if self.is_nan() { <$t>::NAN.abs() } else { self + 0.0 };
                let bits = x.to_bits() as $bits;
                bits ^ (((bits >> (<$bits>::BITS - 1)) as $unsigned) >> 1) as $bits
            }
            #[inline(always)]
            fn narrow(key: i128) -> $bits {
                key as $bits
            }
            #[inline(always)]
            fn widen(key: $bits) -> i128 {
                key as i128
            }
        }
    };
}
float_lane!(f32, i32, u32);
float_lane!(f64, i64, u64);

impl Lane for Interval {
    type Key = i128;
    const LIMITS: (i128, i128) = (i128::MIN, i128::MAX);
    #[inline(always)]
    fn key(self) -> i128 {
        self.approximate_micros()
    }
    #[inline(always)]
    fn narrow(key: i128) -> i128 {
        key
    }
    #[inline(always)]
    fn widen(key: i128) -> i128 {
        key
    }
}

/// Runs `$body` with `$t` as the Rust type of a fixed-width physical type, `$string` for strings.
macro_rules! with_lane {
    ($physical:expr, $t:ident => $body:expr, $string:expr) => {
        match $physical {
            types::Physical::Bool => {
                type $t = u8;
                $body
            }
            types::Physical::I16 => {
                type $t = i16;
                $body
            }
            types::Physical::I32 => {
                type $t = i32;
                $body
            }
            types::Physical::I64 => {
                type $t = i64;
                $body
            }
            types::Physical::I128 => {
                type $t = i128;
                $body
            }
            types::Physical::F32 => {
                type $t = f32;
                $body
            }
            types::Physical::F64 => {
                type $t = f64;
                $body
            }
            types::Physical::Interval => {
                type $t = types::Interval;
                $body
            }
            types::Physical::Str => $string,
        }
    };
}
pub(crate) use with_lane;

/// What lies in the array that a predicate is asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cells {
    /// Values, or codes of one byte, which are as booleans are.
    Of(types::Physical),
    /// Codes of two bytes.
    U16,
    /// Codes of four bytes.
    U32,
}

/// [`with_lane`] for [`Cells`].
macro_rules! with_cells {
    ($cells:expr, $t:ident => $body:expr, $string:expr) => {
        match $cells {
            $crate::scan::lane::Cells::U16 => {
                type $t = u16;
                $body
            }
            $crate::scan::lane::Cells::U32 => {
                type $t = u32;
                $body
            }
            $crate::scan::lane::Cells::Of(physical) => $crate::scan::lane::with_lane!(physical, $t => $body, $string),
        }
    };
}
pub(crate) use with_cells;

/// The key of a value of a fixed-width column, none for NULL and strings.
pub(crate) fn value_key(physical: types::Physical, value: &types::Value) -> Option<i128> {
    use types::Value;
    Some(match value {
        Value::Null | Value::Str(_) => return None,
        Value::Bool(b) => (*b).into(),
        Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i) => (*i).into(),
        Value::Decimal(d) => *d,
        Value::Float(f) if physical == types::Physical::F32 => (*f as f32).key().into(),
        Value::Float(f) => f.key().into(),
        Value::Date(d) | Value::Enum(d) => (*d).into(),
        Value::Interval(i) => i.key(),
        Value::Uuid(u) => types::ops::uuid::stored(*u),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::value::compare_floats;

    #[test]
    fn float_keys_order_like_postgresql() {
        let all = [
            f64::NEG_INFINITY,
            -1e300,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-300,
            2.0,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ];
        for a in all {
            for b in all {
                assert_eq!(a.key().cmp(&b.key()), compare_floats(a, b), "{a} {b}");
                let (a, b) = (a as f32, b as f32);
                assert_eq!(a.key().cmp(&b.key()), compare_floats(a.into(), b.into()), "{a} {b}");
            }
        }
    }
}
