//! How a number lies in memory: characters below U+0080, whose order is that of the numbers.
//!
//! The first byte says the sign and how many digits to base 100 stand before the point: 64 is 0, 66 to 124 are positive numbers
//! with -29 to 29 such digits, 65 and 125 those with fewer and more, whose count follows in three bytes, 126 is infinity and 127
//! NaN; negative numbers mirror them below 64. Then come the digits, each one more than it is, without zeros at the end, so that
//! equal numbers have equal digits. Those of negative numbers are subtracted from 127, and a 127 ends them, so that -1 comes
//! behind -1.5. How many zeros are printed at the end is not kept: equal numbers have one form.

use num_bigint::{BigInt, BigUint, Sign};

use super::{Finite, Numeric, is_negative, power_of_ten};

const ZERO: u8 = 64;
const TINY: u8 = 65;
const HUGE: u8 = 125;
const INFINITY: u8 = 126;
const NEGATIVE_INFINITY: u8 = MIRROR - INFINITY;
const NAN: u8 = 127;
/// The code of a positive number with no digit before the point whose first one behind it is no zero.
const MIDDLE: i64 = 95;
/// Most that the first byte counts.
const NEAR: i64 = 29;
/// Added to counts of three bytes, so that they are not negative.
const BIAS: i64 = 1 << 20;
const MIRROR: u8 = 127;

/// A number taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits to base 100 before the point.
    whole: i64,
    /// As they lie there.
    pairs: &'a [u8],
}

/// The form of a number.
pub fn encode(value: &Numeric) -> String {
    let mut out = Vec::with_capacity(12);
    match value {
        Numeric::NaN => out.push(NAN),
        Numeric::Infinity => out.push(INFINITY),
        Numeric::NegativeInfinity => out.push(MIRROR + 1 - INFINITY),
        Numeric::Finite(n) => encode_finite(n, &mut out),
    }
    String::from_utf8(out).unwrap_or_default()
}

fn encode_finite(n: &Finite, out: &mut Vec<u8>) {
    if n.is_zero() {
        out.push(ZERO);
        return;
    }
    // The point must stand between two digits to base 100.
    let even = n.scale + n.scale % 2;
    let mut pairs = match i128::try_from(&n.digits) {
        Ok(digits) if digits.unsigned_abs() < u128::MAX / 16 => {
            let mut rest = digits.unsigned_abs() * if even == n.scale { 1 } else { 10 };
            let mut pairs = Vec::with_capacity(20);
            while rest > 0 {
                pairs.push((rest % 100) as u8);
                rest /= 100;
            }
            pairs.reverse();
            pairs
        }
        _ if even == n.scale => n.digits.magnitude().to_radix_be(100),
        _ => (n.digits.magnitude() * 10u32).to_radix_be(100),
    };
    let whole = pairs.len() as i64 - i64::from(even / 2);
    let used = pairs.iter().rposition(|pair| *pair != 0).map_or(0, |last| last + 1);
    pairs.truncate(used);
    let code = match whole {
        w if w < -NEAR => TINY,
        w if w > NEAR => HUGE,
        w => (MIDDLE + w) as u8,
    };
    let negative = is_negative(&n.digits);
    let put = |byte: u8| if negative { MIRROR - byte } else { byte };
    out.push(if negative { MIRROR + 1 - code } else { code });
    if code == TINY || code == HUGE {
        let count = (whole + BIAS) as u32;
        out.extend([(count >> 14) as u8, (count >> 7) as u8 & 127, count as u8 & 127].map(put));
    }
    out.extend(pairs.iter().map(|pair| put(pair + 1)));
    if negative {
        out.push(MIRROR);
    }
}

/// How many digits stand behind the point, without zeros at the end; the digits are plain ones.
fn needed_scale(pairs: &[u8], whole: i64) -> u32 {
    let behind = pairs.len() as i64 - whole;
    let spare = i64::from(pairs.last().is_some_and(|last| last % 10 == 0));
    (behind * 2 - spare).max(0) as u32
}

fn take_apart(form: &[u8]) -> Parts<'_> {
    let negative = form[0] < ZERO;
    let code = if negative { MIRROR + 1 - form[0] } else { form[0] };
    let begin = if code == TINY || code == HUGE { form.len().min(4) } else { 1 };
    let end = if negative { form.len() - 1 } else { form.len() };
    let whole = if begin == 1 {
        i64::from(code) - MIDDLE
    } else {
        let bytes = form[1..begin].iter().map(|b| i64::from(if negative { MIRROR - b } else { *b }));
        bytes.fold(0, |count, byte| count << 7 | byte) - BIAS
    };
    Parts { negative, whole, pairs: form.get(begin..end).unwrap_or_default() }
}

/// The number of a form.
pub fn decode(form: &str) -> Numeric {
    let bytes = form.as_bytes();
    match bytes.first() {
        None | Some(&NAN) => return Numeric::NaN,
        Some(&INFINITY) => return Numeric::Infinity,
        Some(&first) if first == MIRROR + 1 - INFINITY => return Numeric::NegativeInfinity,
        Some(&ZERO) => return Numeric::integer(0),
        Some(_) => {}
    }
    let parts = take_apart(bytes);
    let plain = |byte: &u8| if parts.negative { MIRROR - 1 - byte } else { byte.wrapping_sub(1) }.min(99);
    let mut buffer = [0; 20];
    let many;
    let pairs: &[u8] = match buffer.get_mut(..parts.pairs.len()) {
        Some(few) => {
            few.iter_mut().zip(parts.pairs).for_each(|(to, from)| *to = plain(from));
            few
        }
        None => {
            many = parts.pairs.iter().map(plain).collect::<Vec<_>>();
            &many
        }
    };
    let magnitude = if pairs.len() <= 18 {
        BigUint::from(pairs.iter().fold(0u128, |n, pair| n * 100 + u128::from(*pair)))
    } else {
        BigUint::from_radix_be(pairs, 100).unwrap_or_default()
    };
    let sign = if parts.negative { Sign::Minus } else { Sign::Plus };
    let digits = BigInt::from_biguint(sign, magnitude);
    let scale = needed_scale(pairs, parts.whole);
    // The pairs end so many digits behind the point.
    let behind = (pairs.len() as i64 - parts.whole) * 2;
    let digits = match i64::from(scale) - behind {
        0 => digits,
        more @ 1.. => digits * &*power_of_ten(more as u32),
        less => digits / &*power_of_ten(less.unsigned_abs() as u32),
    };
    Numeric::Finite(Finite { digits, scale })
}

/// Whether a form is that of a number, not of NaN or an infinity.
pub fn is_finite(form: &str) -> bool {
    !matches!(form.as_bytes().first(), Some(&(NAN | INFINITY | NEGATIVE_INFINITY)))
}
