//! Dates, timestamps and intervals as text: ISO dates, PostgreSQL's verbose intervals.

use std::fmt::Write;

use super::digits::{DATE, of_clock, of_date, of_moment, pair, push_word};
use super::zone::{Zone, write_offset};
use super::{Civil, HOUR, MINUTE, Moment, SECOND, is_infinite, is_infinite_date};
use crate::Interval;

fn write_civil(out: &mut String, date: Civil) {
    let year = if date.year > 0 { date.year } else { 1 - date.year };
    if year <= 9999 {
        let [first, day] = of_date(year as u32, date);
        push_word(out, first, 8);
        return push_word(out, day, DATE - 8);
    }
    let _ = write!(out, "{year}");
    out.push('-');
    push_word(out, pair(date.month), 2);
    out.push('-');
    push_word(out, pair(date.day), 2);
}

fn write_infinity(out: &mut String, is_positive: bool) {
    out.push_str(if is_positive { "infinity" } else { "-infinity" });
}

/// Appends a date: `1998-12-01`, `0044-03-15 BC`.
pub fn write_date(out: &mut String, days: i32) {
    if is_infinite_date(days) {
        return write_infinity(out, days > 0);
    }
    let date = Civil::from_days(days);
    write_civil(out, date);
    if date.year <= 0 {
        out.push_str(" BC");
    }
}

/// Appends `.` and the digits of a fraction of a second without trailing zeros; nothing for 0.
fn write_fraction(out: &mut String, micros: u32) {
    if micros != 0 {
        let digits = pair(micros / 10_000) | pair(micros / 100 % 100) << 16 | pair(micros % 100) << 32;
        let zeros = u64::from_le_bytes([b'0', b'0', b'0', b'0', b'0', b'0', 0, 0]);
        // Up to the last digit that is no zero.
        let count = (u64::BITS - (digits ^ zeros).leading_zeros()).div_ceil(8) as usize;
        push_word(out, u64::from(b'.') | digits << 8, 1 + count);
    }
}

/// Appends a timestamp: `1998-12-01 10:00:00.123`.
pub fn write_timestamp(out: &mut String, timestamp: i64) {
    if is_infinite(timestamp) {
        return write_infinity(out, timestamp > 0);
    }
    let moment = Moment::from_micros(timestamp);
    write_moment(out, &moment);
    if moment.date.year <= 0 {
        out.push_str(" BC");
    }
}

/// Appends a moment as a zone has it: `1998-12-01 10:00:00.123+01`.
pub fn write_timestamptz(out: &mut String, moment: i64, zone: &Zone) {
    if is_infinite(moment) {
        return write_infinity(out, moment > 0);
    }
    let offset = zone.offset_at(moment);
    // At the very ends of the range local time may be out of it.
    let local = Moment::from_micros(moment.saturating_add(i64::from(offset) * SECOND));
    write_moment(out, &local);
    write_offset(out, offset);
    if local.date.year <= 0 {
        out.push_str(" BC");
    }
}

fn write_moment(out: &mut String, moment: &Moment) {
    if (1..=9999).contains(&moment.date.year) {
        let [first, second, rest] = of_moment(moment);
        push_word(out, first, 8);
        push_word(out, second, 8);
        push_word(out, rest, 3);
        return write_fraction(out, moment.micros);
    }
    write_civil(out, moment.date);
    out.push(' ');
    write_clock(out, moment.hour, moment.minute, moment.second, moment.micros);
}

fn write_clock(out: &mut String, hour: u32, minute: u32, second: u32, micros: u32) {
    push_word(out, of_clock(hour, minute, second), 8);
    write_fraction(out, micros);
}

/// Appends a time of day: `10:00:00.123`.
pub fn write_time(out: &mut String, time: i64) {
    let part = |unit: i64, size: i64| (time / unit % size) as u32;
    write_clock(out, (time / HOUR) as u32, part(MINUTE, 60), part(SECOND, 60), part(1, SECOND));
}

/// Appends an interval: `1 year 2 mons 3 days 04:05:06`. A positive part after a negative one has a `+`.
pub fn write_interval(out: &mut String, interval: Interval) {
    let mut first = true;
    let mut after_negative = false;
    let parts = [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (value, unit) in parts.into_iter().filter(|p| p.0 != 0) {
        let space = if first { "" } else { " " };
        let plus = if after_negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, "{space}{plus}{value} {unit}{plural}");
        (first, after_negative) = (false, value < 0);
    }
    if first || interval.micros != 0 {
        let space = if first { "" } else { " " };
        let sign = match interval.micros {
            ..0 => "-",
            _ if after_negative => "+",
            _ => "",
        };
        let time = interval.micros.unsigned_abs();
        let (hour, minute, second) = (HOUR as u64, MINUTE as u64, SECOND as u64);
        let (h, m, s) = (time / hour, time / minute % 60, time / second % 60);
        let _ = write!(out, "{space}{sign}{h:02}:{m:02}:{s:02}");
        write_fraction(out, (time % second) as u32);
    }
}

/// A date as text.
pub fn format_date(days: i32) -> String {
    let mut out = String::new();
    write_date(&mut out, days);
    out
}

/// A timestamp as text.
pub fn format_timestamp(timestamp: i64) -> String {
    let mut out = String::new();
    write_timestamp(&mut out, timestamp);
    out
}

/// A moment as text in a zone.
pub fn format_timestamptz(moment: i64, zone: &Zone) -> String {
    let mut out = String::new();
    write_timestamptz(&mut out, moment, zone);
    out
}

/// A time of day as text.
pub fn format_time(time: i64) -> String {
    let mut out = String::new();
    write_time(&mut out, time);
    out
}

/// An interval as text.
///
/// ```
/// use types::{Interval, ops::date::format_interval};
/// let interval = Interval { months: -14, days: 3, micros: -1_500_000 };
/// assert_eq!(format_interval(interval), "-1 years -2 mons +3 days -00:00:01.5");
/// ```
pub fn format_interval(interval: Interval) -> String {
    let mut out = String::new();
    write_interval(&mut out, interval);
    out
}
