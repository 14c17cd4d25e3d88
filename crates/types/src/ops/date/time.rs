//! Times of day, and what depends on a zone: truncation and arithmetic of moments, as in PostgreSQL's `timestamp.c`.

use base::{Error, Result, SqlState};

use super::{DAY, Field, HOUR, MINUTE, SECOND, Zone, add_interval, is_infinite, trunc_timestamp};
use crate::Interval;
use crate::ops::error::datetime_out_of_range;

/// `time + interval`: the clock goes round.
#[inline]
pub fn add_to_time(time: i64, interval: Interval) -> i64 {
    (time + interval.micros % DAY).rem_euclid(DAY)
}

/// `time - interval`
#[inline]
pub fn subtract_from_time(time: i64, interval: Interval) -> i64 {
    (time - interval.micros % DAY).rem_euclid(DAY)
}

/// A timestamp so much later.
pub fn add_micros(timestamp: i64, micros: i64) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    timestamp.checked_add(micros).ok_or_else(|| datetime_out_of_range("timestamp"))
}

/// A timestamp with so many digits of a second, at most 6: rounded away from 2000, as in PostgreSQL.
pub fn round_seconds(timestamp: i64, digits: i64) -> Result<i64> {
    const FROM: i64 = 10_957 * DAY;
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let unit = unit_of(digits);
    let since = i128::from(timestamp) - i128::from(FROM);
    let rounded = (since.abs() + i128::from(unit / 2)) / i128::from(unit) * i128::from(unit);
    let rounded = if since < 0 { -rounded } else { rounded } + i128::from(FROM);
    i64::try_from(rounded).ok().filter(|t| !is_infinite(*t)).ok_or_else(|| datetime_out_of_range("timestamp"))
}

/// A time with so many digits of a second.
pub fn round_time(time: i64, digits: i64) -> i64 {
    let unit = unit_of(digits);
    (time + unit / 2) / unit * unit
}

/// Microseconds of a second's last digit, of so many.
fn unit_of(digits: i64) -> i64 {
    10i64.pow(6 - digits.clamp(0, 6) as u32)
}

/// An interval's part that is less than a day, as a time.
#[inline]
pub fn interval_to_time(interval: Interval) -> i64 {
    interval.micros.rem_euclid(DAY)
}

/// A time as the interval since midnight.
#[inline]
pub fn time_to_interval(time: i64) -> Interval {
    Interval { months: 0, days: 0, micros: time }
}

/// The time of day of a timestamp, which is finite.
#[inline]
pub fn time_of_timestamp(timestamp: i64) -> i64 {
    timestamp.rem_euclid(DAY)
}

/// `make_time(hour, minute, second)`.
pub fn make_time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let bad = || {
        let text = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        Error::new(SqlState::DATETIME_OVERFLOW, text)
    };
    if !(0..=24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..=60.0).contains(&second) {
        return Err(bad());
    }
    let time = i64::from(hour) * HOUR + i64::from(minute) * MINUTE + (second * 1e6).round_ties_even() as i64;
    if time > DAY { Err(bad()) } else { Ok(time) }
}

/// A field of a time, scaled by [`Field::scale`].
pub fn extract_time(field: Field, time: i64) -> Result<i64> {
    Ok(match field {
        Field::Hour => time / HOUR,
        Field::Minute => time / MINUTE % 60,
        Field::Second | Field::Millisecond | Field::Microsecond => time % MINUTE,
        Field::Epoch => time,
        _ => return Err(field.unsupported("time without time zone")),
    })
}

/// `date_trunc(field, timestamptz, zone)`: hours and what is below keep the moment's own offset, days and more begin
/// when the zone says that they do.
pub fn trunc_timestamp_in(field: Field, moment: i64, zone: &Zone) -> Result<i64> {
    if is_infinite(moment) {
        return trunc_timestamp(field, moment);
    }
    let local = zone.local(moment)?;
    let begin = trunc_timestamp(field, local)?;
    match field {
        Field::Hour | Field::Minute | Field::Second | Field::Millisecond | Field::Microsecond => begin
            .checked_sub(i64::from(zone.offset_at(moment)) * SECOND)
            .ok_or_else(|| datetime_out_of_range("timestamp")),
        _ => zone.moment(begin),
    }
}

/// `timestamptz + interval`: months and days move local time, the rest the moment.
pub fn add_interval_in(moment: i64, interval: Interval, zone: &Zone) -> Result<i64> {
    if is_infinite(moment) {
        return Ok(moment);
    }
    let mut value = moment;
    for part in [Interval { days: 0, micros: 0, ..interval }, Interval { months: 0, micros: 0, ..interval }] {
        if part.months != 0 || part.days != 0 {
            value = zone.moment(add_interval(zone.local(value)?, part)?)?;
        }
    }
    add_interval(value, Interval { months: 0, days: 0, ..interval })
}

#[cfg(test)]
mod tests;
