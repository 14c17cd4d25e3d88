//! Periods: PostgreSQL's `date_bin`, and DuckDB's `time_bucket` and `date_diff`.

use base::{Error, Result, SqlState};

use super::field::iso_year;
use super::{Civil, DAY, Field, HOUR, MINUTE, SECOND, add_interval, date_to_timestamp, is_infinite, sub_interval};
use crate::Interval;
use crate::ops::error::{datetime_out_of_range, out_of_range};

/// 2000-01-03, a Monday, from which buckets count that are no months.
pub const BUCKET_ORIGIN: i64 = 10_959 * DAY;
/// 2000-01, in months since the year 0, from which buckets of months count.
const MONTH_ORIGIN: i64 = 2000 * 12;

fn error(state: SqlState, message: &'static str) -> Error {
    Error::new(state, message)
}

/// The beginning of the period of that length, counted from the origin, in which the time is.
fn floor(value: i64, length: i64, origin: i64) -> Result<i64> {
    let begin =
        || value.checked_sub(value.checked_sub(origin)?.rem_euclid(length)).filter(|t| *t >= super::MIN_TIMESTAMP);
    begin().ok_or_else(|| datetime_out_of_range("timestamp"))
}

fn micros(interval: Interval) -> Result<i64> {
    let days = i64::from(interval.days).checked_mul(DAY);
    days.and_then(|d| d.checked_add(interval.micros)).ok_or_else(|| datetime_out_of_range("interval"))
}

/// `date_bin(stride, source, origin)`
pub fn date_bin(stride: Interval, source: i64, origin: i64) -> Result<i64> {
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(error(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    match micros(stride)? {
        ..=0 => Err(error(SqlState::DATETIME_OVERFLOW, "stride must be greater than zero")),
        _ if is_infinite(source) => Ok(source),
        _ if is_infinite(origin) => Err(error(SqlState::DATETIME_OVERFLOW, "origin out of range")),
        length => floor(source, length, origin),
    }
}

/// `time_bucket(width, time [, origin])`: months count from the origin's month.
pub fn time_bucket(width: Interval, value: i64, origin: Option<i64>) -> Result<i64> {
    let not_positive = || error(SqlState::INVALID_PARAMETER_VALUE, "period must be greater than 0");
    if origin.is_some_and(is_infinite) {
        return Err(error(SqlState::DATETIME_OVERFLOW, "origin out of range"));
    }
    if is_infinite(value) {
        // Whether there is such a period.
        return time_bucket(width, 0, origin).map(|_| value);
    }
    if width.months == 0 {
        return match micros(width)? {
            ..=0 => Err(not_positive()),
            length => floor(value, length, origin.unwrap_or(BUCKET_ORIGIN)),
        };
    }
    if width.days != 0 || width.micros != 0 {
        return Err(error(SqlState::INVALID_PARAMETER_VALUE, "month intervals cannot have day or time component"));
    }
    if width.months < 0 {
        return Err(not_positive());
    }
    let origin = origin.map_or(MONTH_ORIGIN, months);
    let begin = months(value) - (months(value) - origin).rem_euclid(width.months.into());
    let days = super::days_from_civil(begin.div_euclid(12), begin.rem_euclid(12) as u32 + 1, 1);
    i32::try_from(days).map_or_else(|_| Err(datetime_out_of_range("timestamp")), date_to_timestamp)
}

/// `time_bucket(width, time, offset)`: every bucket begins that much later.
pub fn time_bucket_shifted(width: Interval, value: i64, offset: Interval) -> Result<i64> {
    add_interval(time_bucket(width, sub_interval(value, offset)?, None)?, offset)
}

/// Months since the year 0.
fn months(timestamp: i64) -> i64 {
    let date = Civil::from_days(super::timestamp_to_date(timestamp));
    i64::from(date.year) * 12 + i64::from(date.month) - 1
}

/// `date_diff(field, a, b)`: how often the field's value changes on the way from `a` to `b`; whole weeks.
pub fn diff(field: Field, a: i64, b: i64) -> Result<i64> {
    super::arithmetic::check_finite(a, b)?;
    let days = |t: i64| t.div_euclid(DAY);
    let between = |of: &dyn Fn(i64) -> i64| of(b) - of(a);
    // Longer periods than years begin with a 0, whatever the calendar says.
    let years = |length: i64| between(&|t| months(t).div_euclid(12) / length);
    Ok(match field {
        Field::Millennium => years(1000),
        Field::Century => years(100),
        Field::Decade => years(10),
        Field::Year => years(1),
        Field::IsoYear => between(&|t| iso_year(days(t) as i32, Civil::from_days(days(t) as i32).year)),
        Field::Quarter => between(&|t| months(t) / 3),
        Field::Month => between(&months),
        Field::Week => between(&days) / 7,
        Field::Day | Field::DayOfWeek | Field::IsoDayOfWeek | Field::DayOfYear | Field::Julian => between(&days),
        Field::Hour => between(&|t| t.div_euclid(HOUR)),
        Field::Minute => between(&|t| t.div_euclid(MINUTE)),
        Field::Second | Field::Epoch => between(&|t| t.div_euclid(SECOND)),
        Field::Millisecond => between(&|t| t.div_euclid(1000)),
        Field::Microsecond => return b.checked_sub(a).ok_or_else(|| out_of_range("bigint")),
    })
}
