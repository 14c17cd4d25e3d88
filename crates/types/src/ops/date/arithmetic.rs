//! Arithmetic of dates, timestamps and intervals, as in PostgreSQL's `date.c` and `timestamp.c`.

use base::Result;

use super::civil::{checked_days, days_in_month, timestamp};
use super::{Civil, DAY, MAX_DATE, MIN_DATE, MIN_TIMESTAMP, Moment, SECOND, is_infinite, is_infinite_date};
use crate::Interval;
use crate::ops::error::datetime_out_of_range;

/// `date + integer`
#[inline]
pub fn add_days(date: i32, days: i64) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    i64::from(date)
        .checked_add(days)
        .filter(|d| (i64::from(MIN_DATE)..=i64::from(MAX_DATE)).contains(d))
        .map(|d| d as i32)
        .ok_or_else(|| datetime_out_of_range("date"))
}

/// `date - date`, in days.
#[inline]
pub fn date_diff(a: i32, b: i32) -> Result<i32> {
    if is_infinite_date(a) || is_infinite_date(b) {
        return Err(base::Error::new(base::SqlState::DATETIME_OVERFLOW, "cannot subtract infinite dates"));
    }
    crate::ops::number::integer::sub(a, b)
}

/// A date as the timestamp of its midnight.
#[inline]
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        i32::MAX => return Ok(i64::MAX),
        i32::MIN => return Ok(i64::MIN),
        _ => {}
    }
    timestamp(date.into(), 0)
        .ok_or_else(|| base::Error::new(base::SqlState::DATETIME_OVERFLOW, "date out of range for timestamp"))
}

/// The date of a timestamp.
#[inline]
pub fn timestamp_to_date(timestamp: i64) -> i32 {
    match timestamp {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        _ => timestamp.div_euclid(DAY) as i32,
    }
}

/// `to_timestamp(seconds)`, of seconds since 1970-01-01.
pub fn from_epoch(seconds: f64) -> Result<i64> {
    let error = |message: String| base::Error::new(base::SqlState::DATETIME_OVERFLOW, message);
    if seconds.is_nan() {
        return Err(error("timestamp cannot be NaN".to_owned()));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { i64::MAX } else { i64::MIN });
    }
    // Rounded as PostgreSQL does it, who counts from 2000.
    const SECONDS_TO_2000: i64 = 946_684_800;
    let since_2000 = ((seconds - SECONDS_TO_2000 as f64) * 1e6).round_ties_even() as i128;
    match i64::try_from(since_2000.saturating_add((SECONDS_TO_2000 * SECOND).into())) {
        Ok(micros) if (MIN_TIMESTAMP..i64::MAX).contains(&micros) => Ok(micros),
        _ => Err(error(format!("timestamp out of range: \"{seconds:e}\""))),
    }
}

/// `timestamp + interval`: months first (the day is clamped to the month's last), then days, then microseconds.
pub fn add_interval(value: i64, interval: Interval) -> Result<i64> {
    if is_infinite(value) {
        return Ok(value);
    }
    let moved = || {
        let mut value = value;
        if interval.months != 0 {
            let days = value.div_euclid(DAY) as i32;
            let date = Civil::from_days(days);
            let months = i64::from(date.year) * 12 + i64::from(date.month) - 1 + i64::from(interval.months);
            let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
            let day = date.day.min(days_in_month(year, month));
            value = timestamp(checked_days(year, month, day)?.into(), value.rem_euclid(DAY))?;
        }
        let value = value.checked_add(i64::from(interval.days).checked_mul(DAY)?)?.checked_add(interval.micros)?;
        (MIN_TIMESTAMP..i64::MAX).contains(&value).then_some(value)
    };
    moved().ok_or_else(|| datetime_out_of_range("timestamp"))
}

/// `timestamp - interval`
pub fn sub_interval(value: i64, interval: Interval) -> Result<i64> {
    add_interval(value, super::neg_interval(interval)?)
}

/// `date + interval`, a timestamp.
pub fn date_plus_interval(date: i32, interval: Interval) -> Result<i64> {
    add_interval(date_to_timestamp(date)?, interval)
}

/// Error 22008 where a difference is asked for that is infinite.
pub(super) fn check_finite(a: i64, b: i64) -> Result<()> {
    if !is_infinite(a) && !is_infinite(b) {
        return Ok(());
    }
    Err(base::Error::new(base::SqlState::DATETIME_OVERFLOW, "cannot subtract infinite timestamps"))
}

/// `timestamp - timestamp`: whole days and the rest, both of one sign.
pub fn timestamp_diff(a: i64, b: i64) -> Result<Interval> {
    check_finite(a, b)?;
    let micros = a.checked_sub(b).ok_or_else(|| datetime_out_of_range("interval"))?;
    Ok(Interval { months: 0, days: (micros / DAY) as i32, micros: micros % DAY })
}

/// `age(a, b)`: the difference in years and months, days, and time, such that adding it to `b` gives `a`.
pub fn age(a: i64, b: i64) -> Result<Interval> {
    check_finite(a, b)?;
    let (late, early) = if a >= b { (a, b) } else { (b, a) };
    let (x, y) = (Moment::from_micros(late), Moment::from_micros(early));
    let mut micros = late.rem_euclid(DAY) - early.rem_euclid(DAY);
    let mut days = x.date.day as i32 - y.date.day as i32;
    let mut months = (x.date.year - y.date.year) * 12 + x.date.month as i32 - y.date.month as i32;
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    while days < 0 {
        // The borrowed month is the one in which the earlier time lies.
        days += days_in_month(y.date.year.into(), y.date.month) as i32;
        months -= 1;
    }
    let age = Interval { months, days, micros };
    if a >= b { Ok(age) } else { super::neg_interval(age) }
}

/// Whole months from date `b` to date `a`, towards zero.
pub fn months_between_dates(a: i32, b: i32) -> Result<i64> {
    Ok(age(date_to_timestamp(a)?, date_to_timestamp(b)?)?.months.into())
}
