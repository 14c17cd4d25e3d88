//! The texts of dates and moments of usual length, made in registers: bytes that are written one by one have to be waited for by
//! whoever reads several of them at once.

use super::{Civil, Moment, is_infinite, is_infinite_date};
use crate::Str;

/// Two digits of each number below 100, the first one in the low byte.
static PAIRS: [u16; 100] = {
    let (mut pairs, mut n) = ([0; 100], 0);
    while n < 100 {
        pairs[n] = u16::from_le_bytes([b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
        n += 1;
    }
    pairs
};

/// Bytes of the text of a date, and of that of a moment at a whole second.
pub(super) const DATE: usize = 10;
const MOMENT: usize = 19;

/// Two digits as bytes of a word, the first one lowest.
#[inline]
pub(crate) fn pair(number: u32) -> u64 {
    PAIRS[number as usize].into()
}

/// Appends the first bytes of a word, from the lowest one on: ASCII.
#[inline]
pub(super) fn push_word(out: &mut String, word: u64, bytes: usize) {
    let bytes = &word.to_le_bytes()[..bytes];
    debug_assert!(bytes.is_ascii());
    // SAFETY: digits and punctuation.
    out.push_str(unsafe { std::str::from_utf8_unchecked(bytes) });
}

/// `1998-12-` and `01`: the year has four digits.
#[inline]
pub(super) fn of_date(year: u32, date: Civil) -> [u64; 2] {
    const DASHES: u64 = (b'-' as u64) << 32 | (b'-' as u64) << 56;
    [pair(year / 100) | pair(year % 100) << 16 | DASHES | pair(date.month) << 40, pair(date.day)]
}

/// `10:20:30`
#[inline]
pub(super) fn of_clock(hour: u32, minute: u32, second: u32) -> u64 {
    const COLONS: u64 = (b':' as u64) << 16 | (b':' as u64) << 40;
    pair(hour) | COLONS | pair(minute) << 24 | pair(second) << 48
}

/// The text of a date whose year has four digits; none of others.
#[inline]
pub fn date_text(days: i32) -> Option<Str> {
    let date = Civil::from_days(days);
    if is_infinite_date(days) || !(1..10_000).contains(&date.year) {
        return None;
    }
    let [first, day] = of_date(date.year as u32, date);
    Some(Str::from_words([DATE as u64 | first << 32, first >> 32 | day << 32]))
}

/// The bytes of a moment's text, the first one lowest, and zeros behind them: `1998-12-01 10:20:30`, with a year of four digits.
#[inline]
pub(super) fn of_moment(moment: &Moment) -> [u64; 3] {
    let [first, day] = of_date(moment.date.year as u32, moment.date);
    let clock = of_clock(moment.hour, moment.minute, moment.second);
    [first, day | u64::from(b' ') << 16 | clock << 24, clock >> 40]
}

/// Writes the text of a timestamp at a whole second of a year of four digits, and says how long it is; none of others.
#[inline]
pub fn timestamp_text(timestamp: i64) -> Option<(usize, impl Fn(&mut [u8]))> {
    if is_infinite(timestamp) {
        return None;
    }
    let moment = Moment::from_micros(timestamp);
    let is_plain = moment.micros == 0 && (1..10_000).contains(&moment.date.year);
    let write = move |to: &mut [u8]| {
        let [first, second, rest] = of_moment(&moment).map(u64::to_le_bytes);
        to[..8].copy_from_slice(&first);
        to[8..16].copy_from_slice(&second);
        to[16..MOMENT].copy_from_slice(&rest[..MOMENT - 16]);
    };
    is_plain.then_some((MOMENT, write))
}
