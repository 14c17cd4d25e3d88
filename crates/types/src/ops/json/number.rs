//! Numbers of `jsonb`: written out as PostgreSQL's numeric is, with as many digits behind the point as were written. Their order
//! and their equality are those of numbers: 1.0 is 1.

use base::{Error, Result, SqlState};

/// Most digits before and behind the point.
const MOST_BEFORE: i64 = 131_072;
const MOST_BEHIND: i64 = 16_383;

#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

/// Appends a number as it is printed.
pub(super) fn write(out: &mut String, number: &str) -> Result<()> {
    if number.bytes().all(|b| b.is_ascii_digit()) {
        out.push_str(number);
        return Ok(());
    }
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.trim_start_matches('+').parse().map_err(|_| overflow())?),
        None => (number, 0i64),
    };
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [before, behind].concat();
    if exponent.abs() > MOST_BEFORE + MOST_BEHIND {
        return Err(overflow());
    }
    // How many digits are before the point, and how many are printed behind it.
    let point = before.len() as i64 + exponent;
    let scale = (behind.len() as i64 - exponent).max(0);
    let zeroes = all.bytes().take_while(|b| *b == b'0').count();
    let is_zero = zeroes == all.len();
    if scale > MOST_BEHIND || !is_zero && point - zeroes as i64 > MOST_BEFORE {
        return Err(overflow());
    }
    let digit =
        |at: i64| usize::try_from(at).ok().and_then(|at| all.as_bytes().get(at)).map_or('0', |b| char::from(*b));
    if !is_zero {
        out.push_str(sign);
    }
    let first = if is_zero { point } else { (zeroes as i64).min(point) };
    match first < point {
        true => out.extend((first..point).map(digit)),
        false => out.push('0'),
    }
    if scale > 0 {
        out.push('.');
        out.extend((point..point + scale).map(|at| if is_zero { '0' } else { digit(at) }));
    }
    Ok(())
}

/// A number as it is printed, without what its value does not need.
pub(super) fn value(number: &str) -> &str {
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    if number == "-0" { "0" } else { number }
}

/// Appends bytes whose order is that of numbers as they are printed: the number of digits before the point, and the digits; of
/// those below zero, turned.
pub(super) fn write_key(out: &mut String, number: &str) {
    let number = value(number);
    let (sign, digits) = number.strip_prefix('-').map_or(('1', number), |digits| ('0', digits));
    let length = digits.find('.').unwrap_or(digits.len());
    let key = format!("{length:06}{digits}");
    out.push(sign);
    match sign {
        '1' => out.push_str(&key),
        _ => {
            // A digit is the further down the larger it is, and what has digits behind the point is below what has none.
            out.extend(key.bytes().map(|b| if b.is_ascii_digit() { char::from(b'9' - (b - b'0')) } else { ':' }));
            out.push('~');
        }
    }
}
