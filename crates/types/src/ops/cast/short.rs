//! Texts of numbers and dates that are as short as a string's header.

use crate::ops::date::{date_text, pair};
use crate::{SqlType, Str};

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

/// The same of a text, up to eight bytes of which are looked at in a register.
///
/// # Safety
/// Its payload must be alive.
#[inline]
pub unsafe fn plain_integer_of(text: Str) -> i64 {
    const WORD: usize = size_of::<u64>();
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; WORD]);
    let (bytes, Some(word)) = (text.len(), text.first_word()) else {
        // SAFETY: as the caller promises.
        return plain_integer(unsafe { text.bytes() });
    };
    let is_negative = word as u8 == b'-';
    let (word, count) = if is_negative { (word >> 8, bytes - 1) } else { (word, bytes) };
    if count == 0 {
        return NOT_PLAIN;
    }
    // The last digit in the highest byte, behind noughts.
    let digits = (word ^ ZEROS) << (8 * (WORD - count));
    let is_above_nine = digits | (digits & !HIGH).wrapping_add(u64::from_ne_bytes([0x7f - 9; WORD]));
    if is_above_nine & HIGH != 0 {
        return NOT_PLAIN;
    }
    // Neighbours become numbers of two digits, of four, of eight.
    let twos = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    let number = ((fours * 10_000 + (fours >> 32)) & 0xffff_ffff) as i64;
    if is_negative { -number } else { number }
}

/// The highest bit of each byte.
const HIGH: u64 = u64::from_ne_bytes([0x80; size_of::<u64>()]);

/// Values whose texts are mostly as short as a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShortForm {
    /// Numbers with so many digits behind the point.
    Number(u8),
    /// Days since 1970-01-01.
    Date,
}

impl ShortForm {
    /// The texts of values of a type, if they are of such a kind.
    pub fn of(sql_type: SqlType) -> Option<Self> {
        match sql_type {
            SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Some(Self::Number(0)),
            SqlType::Decimal { precision: ..=18, scale: scale @ ..=MOST_BEHIND } => Some(Self::Number(scale)),
            SqlType::Date => Some(Self::Date),
            _ => None,
        }
    }

    /// A number that stands for it.
    pub fn number(self) -> u8 {
        match self {
            Self::Number(scale) => scale,
            Self::Date => u8::MAX,
        }
    }

    /// The reverse.
    pub fn numbered(number: u8) -> Self {
        if number == u8::MAX { Self::Date } else { Self::Number(number) }
    }

    /// Whether no number of at most this magnitude has a longer text.
    pub fn is_short_up_to(self, magnitude: u128) -> bool {
        // A minus, and a point.
        matches!(self, Self::Number(0) if magnitude < u128::from(TOO_LONG) / 10)
            || matches!(self, Self::Number(1..=8) if magnitude < u128::from(TOO_LONG) / 100)
    }

    /// The text of an integer, of a decimal's units, or of a date's days, as [`write_value`](super::write_value) has it; none if it
    /// is longer than a header.
    #[inline]
    pub fn text(self, number: i64) -> Option<Str> {
        match self {
            Self::Number(scale) => of_number(number, scale),
            Self::Date => i32::try_from(number).ok().and_then(date_text),
        }
    }
}

/// Bytes of a text, which is written from its end.
#[derive(Clone, Copy)]
struct Backwards {
    bytes: u128,
    length: u32,
}

impl Backwards {
    #[inline]
    fn put(&mut self, byte: u8) {
        self.bytes = self.bytes << 8 | u128::from(byte);
        self.length += 1;
    }

    /// Two digits.
    #[inline]
    fn pair(&mut self, number: u64) {
        self.bytes = self.bytes << 16 | u128::from(pair(number as u32));
        self.length += 2;
    }
}

#[inline]
fn of_number(number: i64, scale: u8) -> Option<Str> {
    let mut left = number.unsigned_abs();
    if left >= TOO_LONG || scale > MOST_BEHIND {
        return None;
    }
    // At most the digits, as many zeros, a point and a minus: of those that are lost, the length is too large.
    let mut text = Backwards { bytes: 0, length: 0 };
    for _ in 0..scale {
        text.put(b'0' + (left % 10) as u8);
        left /= 10;
    }
    if scale > 0 {
        text.put(b'.');
    }
    while left >= 100 {
        text.pair(left % 100);
        left /= 100;
    }
    if left >= 10 {
        text.pair(left);
    } else {
        text.put(b'0' + left as u8);
    }
    if number < 0 {
        text.put(b'-');
    }
    let Backwards { bytes, length } = text;
    let words = [u64::from(length) | (bytes as u64) << 32, (bytes >> 32) as u64];
    (length as usize <= Str::INLINE).then(|| Str::from_words(words))
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
        let mut random = Random(3);
        let short = |random: &mut Random| -> String {
            (0..random.below(11))
                .map(|_| random.pick(&['0', '1', '9', '5', '-', '7', '3', '8', ':', '/', 'é']))
                .collect()
        };
        let digits = |random: &mut Random| (random.bits() as i64 >> random.below(64)).to_string();
        for _ in 0..50_000 {
            for text in [short(&mut random), digits(&mut random)] {
                // SAFETY: the text is alive.
                let found = unsafe { plain_integer_of(Str::new(text.as_bytes())) };
                assert_eq!(found, plain_integer(text.as_bytes()), "{text}");
            }
        }
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
                match ShortForm::of(sql_type).and_then(|form| form.text(number)) {
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
