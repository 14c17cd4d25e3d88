//! What whoever writes single rows remembers of a column's bounds: whether a value is within them, in a few instructions.
//!
//! A value is a number here that orders like it, or like its beginning. A value whose number is between those of two others is
//! itself between them.

use types::Physical;

use super::{Bounds, ValueRange};

/// Texts of so many bytes, or fewer, have numbers of their own.
const WHOLE: usize = 7;

/// Values whose numbers are from `low` to `high` are within the bounds. Others may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    low: i64,
    high: i64,
}

impl Default for Known {
    /// Nothing is known to be within the bounds.
    fn default() -> Self {
        Self { low: i64::MAX, high: i64::MIN }
    }
}

impl Known {
    /// What these bounds of a column of values of that layout say. They only widen.
    pub(crate) fn of(bounds: &Bounds, physical: Physical) -> Self {
        let number = |key: i128| i64::try_from(key).ok();
        let known = match (&bounds.range, physical) {
            (ValueRange::Keys { min, max }, Physical::I32 | Physical::I64) => number(*min).zip(number(*max)),
            (ValueRange::Text { min, max, cut }, Physical::Str) => {
                // Where a bound has no number of its own, texts with that may be on either side of it.
                let low = beginning(min).checked_add(i64::from(min.len() > WHOLE));
                low.zip(beginning(max).checked_sub(i64::from(max.len() > WHOLE || *cut)))
            }
            _ => None,
        };
        known.map_or_else(Self::default, |(low, high)| Self { low, high })
    }

    /// Whether a value that lies in memory as this number is within the bounds.
    #[inline]
    pub(crate) fn has_number(self, number: i64) -> bool {
        self.low <= number && number <= self.high
    }

    /// Whether a text is known to be within them.
    #[inline]
    pub(crate) fn has_text(self, text: &[u8]) -> bool {
        self.has_number(beginning(text))
    }
}

/// A text as a number: its first bytes, zeros behind its end, and then how many it has, if these are all.
#[inline]
fn beginning(text: &[u8]) -> i64 {
    let bytes = match text.first_chunk() {
        Some(bytes) => *bytes,
        None => {
            let mut bytes = [0; 8];
            bytes[..text.len()].copy_from_slice(text);
            bytes
        }
    };
    let length = text.len().min(WHOLE + 1) as i64;
    (i64::from_be_bytes(bytes) ^ i64::MIN) & !0xff | length
}

#[cfg(test)]
mod tests {
    use types::{Datum, SqlType, Value};

    use super::*;
    use crate::values::Values;

    #[test]
    fn what_is_known_to_be_within_bounds_is() {
        let random = &mut base::Random(3);
        for round in 0..2000 {
            let sql_type = [SqlType::Text, SqlType::Integer, SqlType::BigInt][round % 3];
            let value = |random: &mut base::Random| match sql_type {
                SqlType::Text => {
                    let letters = (0..random.index(11)).map(|_| ["\0", "b", "\u{e9}"][random.index(3)]);
                    Value::str(letters.collect::<String>())
                }
                _ => Value::Int(random.below(100) as i64 - 50),
            };
            let mut bounds = Bounds::default();
            for _ in 0..random.index(4) {
                let value = value(random);
                bounds.add(Values::from(&Datum::new(&value, sql_type)), 0);
            }
            let known = Known::of(&bounds, sql_type.physical());
            for _ in 0..20 {
                let value = value(random);
                let datum = Datum::new(&value, sql_type);
                let is_within = bounds.has(Values::from(&datum), 0);
                match &value {
                    Value::Int(number) => assert_eq!(known.has_number(*number), is_within, "{value:?} in {bounds:?}"),
                    Value::Str(text) => {
                        assert!(!known.has_text(text.as_bytes()) || is_within, "{value:?} in {bounds:?}");
                    }
                    _ => unreachable!("no other values"),
                }
            }
        }
    }
}
