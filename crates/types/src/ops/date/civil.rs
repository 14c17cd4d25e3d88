//! Days to year, month, day and back, in constant time without tables.
//!
//! The methods count from March of year 0 in eras of 400 years (Hinnant, "chrono-compatible low-level date
//! algorithms"): a year that begins in March has its leap day last. Days become years by multiplications and shifts (Neri and
//! Schneider, *Euclidean affine functions and their application to calendar algorithms*, Software: Practice and Experience
//! 2023, section 6).

use base::{Error, Result, SqlState};

use super::{DAY, HOUR, MAX_DATE, MIN_DATE, MIN_TIMESTAMP, MINUTE, SECOND};

/// Year (astronomical), month 1..=12, day 1..=31.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// Year; 0 is 1 BC.
    pub year: i32,
    /// Month, from 1.
    pub month: u32,
    /// Day of the month, from 1.
    pub day: u32,
}

/// Eras before year 0 that any number of days reaches.
const ERAS: i64 = 14_704;

impl Civil {
    /// The date that lies `days` after 1970-01-01.
    #[inline]
    pub fn from_days(days: i32) -> Self {
        // Days since March 1 of year 0, with eras of 400 years in front so that no day is negative, in quarters of a day; then
        // the century, the year of it and its day, and the month: each quotient and remainder by one multiplication.
        let quarters = 4 * (i64::from(days) + 719_468 + ERAS * 146_097) as u64 + 3;
        let century = quarters / 146_097;
        let in_century = (quarters % 146_097) | 3;
        let product = 2_939_745 * in_century;
        let year_of_century = product >> 32;
        let day_of_year = (product & 0xffff_ffff) / 2_939_745 / 4;
        let month = 2141 * day_of_year + 197_913;
        // January and February are the end of a year that begins in March.
        let is_next = day_of_year >= 306;
        Self {
            year: (100 * century + year_of_century) as i32 - (400 * ERAS) as i32 + i32::from(is_next),
            month: (month >> 16) as u32 - if is_next { 12 } else { 0 },
            day: ((month & 0xffff) / 2141) as u32 + 1,
        }
    }

    /// Days since 1970-01-01. The date must exist.
    #[inline]
    pub fn days(self) -> i64 {
        days_from_civil(self.year.into(), self.month, self.day)
    }
}

/// Days from 1970-01-01 to a date that exists, of any year.
#[inline]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let day_of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Whether the (astronomical) year has a 29th of February.
#[inline]
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
#[inline]
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days of a date from its parts, or none if there is no such date in range.
#[inline]
pub(super) fn checked_days(year: i64, month: u32, day: u32) -> Option<i32> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    if !(-4713..=5_874_897).contains(&year) {
        return None;
    }
    let days = i32::try_from(days_from_civil(year, month, day)).ok()?;
    (MIN_DATE..=MAX_DATE).contains(&days).then_some(days)
}

/// The days of a date that is written as `2024-02-29`, of the years 1 to 9999; none if there is no such date, or more or other
/// characters.
pub fn plain_date(text: &[u8]) -> Option<i32> {
    let [a, b, c, d, b'-', e, f, b'-', g, h] = *text else { return None };
    let digits = [a, b, c, d, e, f, g, h];
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let [a, b, c, d, e, f, g, h] = digits.map(|digit| u32::from(digit - b'0'));
    let year = i64::from(a * 1000 + b * 100 + c * 10 + d);
    if year > 0 { checked_days(year, e * 10 + f, g * 10 + h) } else { None }
}

/// A timestamp taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Days since 1970-01-01.
    pub days: i32,
    /// The date.
    pub date: Civil,
    /// Hour of the day.
    pub hour: u32,
    /// Minute of the hour.
    pub minute: u32,
    /// Second of the minute.
    pub second: u32,
    /// Microsecond of the second.
    pub micros: u32,
}

impl Moment {
    /// Takes a timestamp apart.
    #[inline]
    pub fn from_micros(timestamp: i64) -> Self {
        let days = timestamp.div_euclid(DAY) as i32;
        let time = timestamp.rem_euclid(DAY);
        Self {
            days,
            date: Civil::from_days(days),
            hour: (time / HOUR) as u32,
            minute: (time / MINUTE % 60) as u32,
            second: (time / SECOND % 60) as u32,
            micros: (time % SECOND) as u32,
        }
    }
}

/// The timestamp of a day and the microseconds in it (which may reach beyond the day), or none out of range.
#[inline]
pub(super) fn timestamp(days: i64, micros: i64) -> Option<i64> {
    let value = days.checked_mul(DAY)?.checked_add(micros)?;
    (MIN_TIMESTAMP..i64::MAX).contains(&value).then_some(value)
}

/// `make_date(year, month, day)`; negative years are BC.
pub fn make_date(year: i32, month: i32, day: i32) -> Result<i32> {
    let bad = || {
        let text = format!("date field value out of range: {year}-{month:02}-{day:02}");
        Error::new(SqlState::DATETIME_OVERFLOW, text)
    };
    let astronomical = match year {
        0 => return Err(bad()),
        1.. => i64::from(year),
        _ => i64::from(year) + 1,
    };
    match (u32::try_from(month), u32::try_from(day)) {
        (Ok(month), Ok(day)) => checked_days(astronomical, month, day).ok_or_else(bad),
        _ => Err(bad()),
    }
}

/// `make_timestamp(year, month, day, hour, minute, second)`.
pub fn make_timestamp(year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64) -> Result<i64> {
    let days = make_date(year, month, day)?;
    let bad = || {
        let text = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        Error::new(SqlState::DATETIME_OVERFLOW, text)
    };
    if !(0..=24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..=60.0).contains(&second) {
        return Err(bad());
    }
    let time = i64::from(hour) * HOUR + i64::from(minute) * MINUTE + (second * 1e6).round_ties_even() as i64;
    if time > DAY {
        return Err(bad());
    }
    timestamp(days.into(), time).ok_or_else(|| crate::ops::error::datetime_out_of_range("timestamp"))
}
