//! Dates, timestamps and intervals: days and microseconds since 1970-01-01 in the proleptic Gregorian calendar.
//!
//! Ranges: dates from 4714-11-24 BC to 5874897-12-31 as in PostgreSQL; timestamps from there to 294247-01-10, the last
//! that 64 bits of microseconds reach. Years count astronomically inside (year 0 is 1 BC).

mod arithmetic;
mod bucket;
mod civil;
mod digits;
mod field;
mod format;
mod from_char;
mod interval;
mod interval_to_char;
mod order;
mod parse;
mod strftime;
mod time;
pub mod timetz;
mod to_char;
pub mod zone;

pub use arithmetic::{
    add_days, add_interval, age, date_diff, date_plus_interval, date_to_timestamp, from_epoch, months_between_dates,
    sub_interval, timestamp_diff, timestamp_to_date,
};
pub use bucket::{BUCKET_ORIGIN, date_bin, diff, time_bucket, time_bucket_shifted};
pub use civil::{Civil, Moment, days_from_civil, days_in_month, is_leap_year, make_date, make_timestamp, plain_date};
pub(crate) use digits::pair;
pub use digits::{date_text, timestamp_text};
pub use field::{
    Field, NO_FIELD, extract_date, extract_interval, extract_timestamp, trunc_date, trunc_interval, trunc_timestamp,
};
pub use format::{
    format_date, format_interval, format_time, format_timestamp, format_timestamptz, write_date, write_interval,
    write_time, write_timestamp, write_timestamptz,
};
pub use from_char::from_char;
pub use interval::{
    add as add_intervals, div as div_interval, justify, justify_days, justify_hours, limit as limit_interval,
    make_interval, mul as mul_interval, neg as neg_interval, parse as parse_interval, parse_as as parse_interval_as,
    sub as sub_intervals,
};
pub use interval_to_char::interval_to_char;
pub use order::DateOrder;
pub use parse::{names_zone, offset, parse_date, parse_time, parse_timestamp, parse_timestamptz};
pub use strftime::{says_zone, strftime, strftime_moment, strftime_to, strptime, strptime_moment};
pub use time::{
    add_interval_in, add_micros, add_to_time, extract_time, interval_to_time, make_time, round_seconds, round_time,
    subtract_from_time, time_of_timestamp, time_to_interval, trunc_timestamp_in,
};
pub use timetz::{parse_timetz, write_timetz};
pub use to_char::{to_char, to_char_in};
pub use zone::Zone;

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub const DAY: i64 = 24 * HOUR;

/// Whether a date is `infinity` or `-infinity`: later and earlier than all others, which arithmetic leaves as they are.
#[inline]
pub fn is_infinite_date(date: i32) -> bool {
    date == i32::MAX || date == i32::MIN
}

/// Whether a timestamp or moment is.
#[inline]
pub fn is_infinite(timestamp: i64) -> bool {
    timestamp == i64::MAX || timestamp == i64::MIN
}

/// First date: 4714-11-24 BC, Julian day 0.
pub const MIN_DATE: i32 = -2_440_588;
/// Last date: 5874897-12-31.
pub const MAX_DATE: i32 = 2_145_042_905;
/// First timestamp: 4714-11-24 00:00:00 BC.
pub const MIN_TIMESTAMP: i64 = MIN_DATE as i64 * DAY;

#[cfg(test)]
mod tests;
