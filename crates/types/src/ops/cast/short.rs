//! Texts of numbers and dates that are as short as a string's header.

use crate::ops::date::{Civil, is_infinite_date};
use crate::{SqlType, Str};

/// Two digits of each number below 100.
static PAIRS: [[u8; 2]; 100] = {
    let (mut pairs, mut n) = ([[0; 2]; 100], 0);
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Numbers from here on are too long, and so are more digits behind the point.
const TOO_LONG: u64 = 1_000_000_000_000;
const MOST_BEHIND: u8 = 10;

/// Most digits of a text that is taken for a plain number.
const PLAIN: usize = 18;

/// What no plain integer is.
pub const NOT_PLAIN: i64 = i64::MIN;

/// The number that digits are, perhaps behind a minus; [`NOT_PLAIN`] of other texts, which may be numbers nevertheless.
#[inline]
pub fn plain_integer(text: &[u8]) -> i64 {
    let (digits, is_negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.is_empty() || digits.len() > PLAIN {
        return NOT_PLAIN;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return NOT_PLAIN;
        }
        number = number * 10 + i64::from(digit);
    }
    if is_negative { -number } else { number }
}

/// The text of an integer, of a decimal's units, or of a date's days, as [`write_value`](super::write_value) has it; none if it is
/// longer than a header, or of another type.
pub fn short_text(number: i64, sql_type: SqlType) -> Option<Str> {
    match sql_type {
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => of_number(number, 0),
        SqlType::Decimal { precision: ..=18, scale } => of_number(number, scale),
        SqlType::Date => i32::try_from(number).ok().and_then(of_date),
        _ => None,
    }
}

fn of_number(number: i64, scale: u8) -> Option<Str> {
    let mut left = number.unsigned_abs();
    if left >= TOO_LONG || scale > MOST_BEHIND {
        return None;
    }
    // From its end: at most the digits, as many zeros, a point and a minus.
    let (mut text, mut at) = ([0; 32], 32);
    let mut put = |byte: u8| {
        at -= 1;
        text[at] = byte;
    };
    for _ in 0..scale {
        put(b'0' + (left % 10) as u8);
        left /= 10;
    }
    if scale > 0 {
        put(b'.');
    }
    while left >= 100 {
        let [ten, one] = PAIRS[(left % 100) as usize];
        put(one);
        put(ten);
        left /= 100;
    }
    let [ten, one] = PAIRS[left as usize];
    put(one);
    if left >= 10 {
        put(ten);
    }
    if number < 0 {
        put(b'-');
    }
    let text = &text[at..];
    (text.len() <= Str::INLINE).then(|| Str::new(text))
}

fn of_date(days: i32) -> Option<Str> {
    let Civil { year, month, day } = Civil::from_days(days);
    if is_infinite_date(days) || !(1..10_000).contains(&year) {
        return None;
    }
    let [century, year, month, day] = [year as u32 / 100, year as u32 % 100, month, day].map(|n| PAIRS[n as usize]);
    let [a, b] = century;
    let ([c, d], [e, f], [g, h]) = (year, month, day);
    Some(Str::new(&[a, b, c, d, b'-', e, f, b'-', g, h]))
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;
    use crate::Value;
    use crate::ops::cast::{cast_value, format_value};

    #[test]
    fn plain_integers_are_what_casts_say() {
        let texts =
            ["0", "-0", "7", "-12", "123456789012345678", "1234567890123456789", "", "-", "+1", " 1", "1 ", "1_0"];
        let mut plain = 0;
        for text in texts {
            let number = plain_integer(text.as_bytes());
            if number != NOT_PLAIN {
                let known = cast_value(&Value::str(text), SqlType::Text, SqlType::BigInt);
                assert_eq!(known, Ok(Value::Int(number)), "{text}");
                plain += 1;
            }
        }
        assert_eq!(plain, 5);
    }

    #[test]
    fn short_texts_are_as_others() {
        let mut random = Random(12);
        let mut short = 0;
        for _ in 0..200_000 {
            let digits = 10i64.pow(random.below(19) as u32);
            let number = match random.index(8) {
                0 => {
                    random.pick(&[0, 1, -1, 9, 10, 99, 100, -100, i64::MIN, i64::MAX, 999_999_999_999, -99_999_999_999])
                }
                _ => (random.bits() as i64) % digits,
            };
            let scale = random.below(19) as u8;
            let decimal = SqlType::decimal(18, scale);
            let days = number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            for (value, sql_type, number) in [
                (Value::Int(number), SqlType::BigInt, number),
                (Value::Decimal((number % 10i64.pow(18)).into()), decimal, number % 10i64.pow(18)),
                (Value::Date(days % 4_000_000), SqlType::Date, (days % 4_000_000).into()),
            ] {
                let known = format_value(&value, sql_type);
                match short_text(number, sql_type) {
                    // SAFETY: it is a header.
                    Some(text) => assert_eq!(unsafe { text.as_str() }, known),
                    None => assert!(known.len() > Str::INLINE || sql_type != SqlType::BigInt, "{known}"),
                }
                short += usize::from(known.len() <= Str::INLINE);
            }
        }
        assert!(short > 100_000);
    }
}
