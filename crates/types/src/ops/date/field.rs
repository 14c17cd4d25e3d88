//! `extract`, `date_part` and `date_trunc`.

use base::{Error, Result, SqlState};

use super::civil::{days_from_civil, timestamp};
use super::{Civil, DAY, HOUR, MINUTE, SECOND, is_infinite, is_infinite_date};
use crate::ops::error::datetime_out_of_range;
use crate::{Interval, SqlType};

/// A part of a date, timestamp or interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// Thousands of years, the third begins in 2001.
    Millennium,
    /// Hundreds of years, the 21st begins in 2001.
    Century,
    /// The year divided by 10.
    Decade,
    /// The year; negative before Christ.
    Year,
    /// The year that the ISO week belongs to.
    IsoYear,
    /// 1 to 4.
    Quarter,
    /// 1 to 12 (of intervals 0 to 11).
    Month,
    /// ISO week, 1 to 53.
    Week,
    /// Day of the month (of intervals: days).
    Day,
    /// Day of the year, from 1.
    DayOfYear,
    /// Day of the week, Sunday is 0.
    DayOfWeek,
    /// Day of the week, Monday is 1, Sunday 7.
    IsoDayOfWeek,
    /// Hour.
    Hour,
    /// Minute.
    Minute,
    /// Second with its fraction.
    Second,
    /// Second with its fraction, in milliseconds.
    Millisecond,
    /// Second with its fraction, in microseconds.
    Microsecond,
    /// Seconds since 1970-01-01 00:00; of intervals, their length.
    Epoch,
    /// Julian day.
    Julian,
}

impl std::str::FromStr for Field {
    type Err = Error;
    /// The field of a name in any case, as in `extract(name from ...)` and `date_part('name', ...)`.
    fn from_str(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "millennium" | "millennia" | "mil" | "mils" => Self::Millennium,
            "century" | "centuries" | "cent" | "c" => Self::Century,
            "decade" | "decades" | "dec" | "decs" => Self::Decade,
            "year" | "years" | "y" | "yr" | "yrs" => Self::Year,
            "isoyear" => Self::IsoYear,
            "quarter" | "qtr" => Self::Quarter,
            "month" | "months" | "mon" | "mons" => Self::Month,
            "week" | "weeks" | "w" | "yearweek" => Self::Week,
            "day" | "days" | "d" => Self::Day,
            "doy" | "dayofyear" => Self::DayOfYear,
            "dow" | "dayofweek" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "hour" | "hours" | "h" | "hr" | "hrs" => Self::Hour,
            "minute" | "minutes" | "m" | "min" | "mins" => Self::Minute,
            "second" | "seconds" | "s" | "sec" | "secs" => Self::Second,
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Self::Millisecond,
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Self::Microsecond,
            "epoch" => Self::Epoch,
            "julian" | "jd" | "j" => Self::Julian,
            _ => {
                let text = format!("unit \"{name}\" not recognized for type timestamp without time zone");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, text));
            }
        })
    }
}

impl Field {
    /// All fields, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::Millennium,
        Self::Century,
        Self::Decade,
        Self::Year,
        Self::IsoYear,
        Self::Quarter,
        Self::Month,
        Self::Week,
        Self::Day,
        Self::DayOfYear,
        Self::DayOfWeek,
        Self::IsoDayOfWeek,
        Self::Hour,
        Self::Minute,
        Self::Second,
        Self::Millisecond,
        Self::Microsecond,
        Self::Epoch,
        Self::Julian,
    ];

    /// The field's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Millennium => "millennium",
            Self::Century => "century",
            Self::Decade => "decade",
            Self::Year => "year",
            Self::IsoYear => "isoyear",
            Self::Quarter => "quarter",
            Self::Month => "month",
            Self::Week => "week",
            Self::Day => "day",
            Self::DayOfYear => "doy",
            Self::DayOfWeek => "dow",
            Self::IsoDayOfWeek => "isodow",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
            Self::Millisecond => "millisecond",
            Self::Microsecond => "microsecond",
            Self::Epoch => "epoch",
            Self::Julian => "julian",
        }
    }

    /// Digits after the point of what `extract` returns as a scaled `i64`: 6 for seconds and the epoch, 3 for
    /// milliseconds, else 0.
    pub const fn scale(self) -> u8 {
        match self {
            Self::Second | Self::Epoch => 6,
            Self::Millisecond => 3,
            _ => 0,
        }
    }

    /// The type of what `extract` returns: `bigint`, or a decimal of 18 digits with [`scale`](Self::scale).
    pub const fn sql_type(self) -> SqlType {
        match self.scale() {
            0 => SqlType::BigInt,
            scale => SqlType::decimal(18, scale),
        }
    }

    /// Whether a date has it: no part of the day, nor a number of seconds.
    pub const fn is_of_days(self) -> bool {
        !matches!(self, Self::Hour | Self::Minute | Self::Second | Self::Millisecond | Self::Microsecond | Self::Epoch)
    }

    /// No period that values could be cut to.
    fn not_recognized(self, kind: &str) -> Error {
        let text = format!("unit \"{}\" not recognized for type {kind}", self.name());
        Error::new(SqlState::INVALID_PARAMETER_VALUE, text)
    }

    pub(super) fn unsupported(self, kind: &str) -> Error {
        let text = format!("unit \"{}\" not supported for type {kind}", self.name());
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, text)
    }
}

/// Monday is 0.
fn weekday(days: i32) -> i64 {
    (i64::from(days) + 3).rem_euclid(7)
}

/// The Monday of the first ISO week of a year: the week with January 4.
fn iso_year_start(year: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (fourth + 3).rem_euclid(7)
}

pub(super) fn iso_year(days: i32, year: i32) -> i64 {
    let (days, year) = (i64::from(days), i64::from(year));
    if days >= iso_year_start(year + 1) {
        year + 1
    } else if days >= iso_year_start(year) {
        year
    } else {
        year - 1
    }
}

/// A year as shown: there is no year 0.
fn shown(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// Which period of `length` years (from the year 1) an astronomical year belongs to; negative before Christ.
fn period(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
}

#[inline]
fn date_field(field: Field, days: i32) -> Option<i64> {
    let date = Civil::from_days(days);
    let year = i64::from(date.year);
    Some(match field {
        Field::Year => shown(year),
        Field::Month => date.month.into(),
        Field::Day => date.day.into(),
        Field::Quarter => i64::from(date.month - 1) / 3 + 1,
        Field::Decade => year.div_euclid(10),
        Field::Century => period(year, 100),
        Field::Millennium => period(year, 1000),
        Field::DayOfWeek => (weekday(days) + 1) % 7,
        Field::IsoDayOfWeek => weekday(days) + 1,
        Field::DayOfYear => i64::from(days) - days_from_civil(year, 1, 1) + 1,
        Field::IsoYear => shown(iso_year(days, date.year)),
        Field::Week => (i64::from(days) - iso_year_start(iso_year(days, date.year))) / 7 + 1,
        Field::Julian => i64::from(days) - i64::from(super::MIN_DATE),
        _ => return None,
    })
}

/// Error 22008: a field is an integer, or a decimal, and none of these is infinite.
#[cold]
fn no_field() -> Error {
    Error::new(SqlState::DATETIME_OVERFLOW, NO_FIELD).hint("isfinite() tells which times have fields")
}

/// What is wrong with a field of `infinity`.
pub const NO_FIELD: &str = "infinite times have no fields";

/// `extract(field from date)`, an integer scaled by [`Field::scale`].
#[inline]
pub fn extract_date(field: Field, days: i32) -> Result<i64> {
    if is_infinite_date(days) {
        return Err(no_field());
    }
    if field == Field::Epoch {
        return i64::from(days).checked_mul(DAY).ok_or_else(|| datetime_out_of_range("timestamp"));
    }
    date_field(field, days).ok_or_else(|| field.unsupported("date"))
}

/// `extract(field from timestamp)`, an integer scaled by [`Field::scale`].
#[inline]
pub fn extract_timestamp(field: Field, value: i64) -> Result<i64> {
    if is_infinite(value) {
        return Err(no_field());
    }
    let time = value.rem_euclid(DAY);
    Ok(match field {
        Field::Hour => time / HOUR,
        Field::Minute => time / MINUTE % 60,
        // One number at three scales.
        Field::Second | Field::Millisecond | Field::Microsecond => time % MINUTE,
        Field::Epoch => value,
        _ => date_field(field, value.div_euclid(DAY) as i32)
            .ok_or_else(|| field.unsupported("timestamp without time zone"))?,
    })
}

/// `extract(field from interval)`, an integer scaled by [`Field::scale`].
pub fn extract_interval(field: Field, value: Interval) -> Result<i64> {
    let (years, months) = (i64::from(value.months / 12), i64::from(value.months % 12));
    Ok(match field {
        Field::Millennium => years / 1000,
        Field::Century => years / 100,
        Field::Decade => years / 10,
        Field::Year => years,
        Field::Quarter => months / 3 + 1,
        Field::Month => months,
        Field::Day => value.days.into(),
        Field::Hour => value.micros / HOUR,
        Field::Minute => value.micros / MINUTE % 60,
        Field::Second | Field::Millisecond | Field::Microsecond => value.micros % MINUTE,
        Field::Epoch => {
            // A year counts 365.25 days here, a month 30.
            let quarter_days = i128::from(years) * 1461 + i128::from(months) * 120 + i128::from(value.days) * 4;
            i64::try_from(quarter_days * i128::from(DAY / 4) + i128::from(value.micros))
                .map_err(|_| datetime_out_of_range("interval"))?
        }
        _ => return Err(field.unsupported("interval")),
    })
}

/// The first day of the period of a day; none if the field is shorter than a day or no period.
fn first_day(field: Field, days: i32) -> Option<i64> {
    let date = Civil::from_days(days);
    let year = i64::from(date.year);
    // Centuries and millennia begin with a year 1.
    let january = |year: i64| days_from_civil(year, 1, 1);
    Some(match field {
        Field::Millennium => january((year - 1).div_euclid(1000) * 1000 + 1),
        Field::Century => january((year - 1).div_euclid(100) * 100 + 1),
        Field::Decade => january(year.div_euclid(10) * 10),
        Field::Year => january(year),
        Field::IsoYear => iso_year_start(iso_year(days, date.year)),
        Field::Quarter => days_from_civil(year, (date.month - 1) / 3 * 3 + 1, 1),
        Field::Month => i64::from(days) - i64::from(date.day - 1),
        Field::Week => i64::from(days) - weekday(days),
        Field::Day => days.into(),
        _ => return None,
    })
}

/// `date_trunc(field, timestamp)`
pub fn trunc_timestamp(field: Field, value: i64) -> Result<i64> {
    if is_infinite(value) {
        // Whether there is such a field.
        return trunc_timestamp(field, 0).map(|_| value);
    }
    let unit = match field {
        Field::Hour => HOUR,
        Field::Minute => MINUTE,
        Field::Second => SECOND,
        Field::Millisecond => 1000,
        Field::Microsecond => 1,
        _ => {
            let days = first_day(field, value.div_euclid(DAY) as i32)
                .ok_or_else(|| field.not_recognized("timestamp without time zone"))?;
            return timestamp(days, 0).ok_or_else(|| datetime_out_of_range("timestamp"));
        }
    };
    value.checked_sub(value.rem_euclid(unit)).ok_or_else(|| datetime_out_of_range("timestamp"))
}

/// `date_trunc(field, date)` as a date: fields shorter than a day leave it as it is.
pub fn trunc_date(field: Field, days: i32) -> Result<i32> {
    if matches!(field, Field::Hour | Field::Minute | Field::Second | Field::Millisecond | Field::Microsecond) {
        return Ok(days);
    }
    if is_infinite_date(days) {
        return trunc_date(field, 0).map(|_| days);
    }
    let first = first_day(field, days).ok_or_else(|| field.not_recognized("date"))?;
    i32::try_from(first).ok().filter(|d| *d >= super::MIN_DATE).ok_or_else(|| datetime_out_of_range("date"))
}

/// `date_trunc(field, interval)`
pub fn trunc_interval(field: Field, value: Interval) -> Result<Interval> {
    let months = |unit: i32| Interval { months: value.months / unit * unit, days: 0, micros: 0 };
    let micros = |unit: i64| Interval { micros: value.micros / unit * unit, ..value };
    Ok(match field {
        Field::Millennium => months(12_000),
        Field::Century => months(1200),
        Field::Decade => months(120),
        Field::Year => months(12),
        Field::Quarter => months(3),
        Field::Month => months(1),
        Field::Day => Interval { micros: 0, ..value },
        Field::Hour => micros(HOUR),
        Field::Minute => micros(MINUTE),
        Field::Second => micros(SECOND),
        Field::Millisecond => micros(1000),
        Field::Microsecond => value,
        // Months have fractions of weeks.
        Field::Week => return Err(field.unsupported("interval")),
        _ => return Err(field.not_recognized("interval")),
    })
}
