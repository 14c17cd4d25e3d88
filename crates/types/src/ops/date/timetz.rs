//! Times of day with an offset from UTC (`timetz`). In memory they are integers in PostgreSQL's order: by when they are in UTC,
//! then from east to west.

use std::time::{SystemTime, UNIX_EPOCH};

use base::Result;

use super::zone::write_offset;
use super::{
    DAY, Field, HOUR, SECOND, Zone, extract_time, format_date, parse_time, parse_timestamp, parse_timestamptz,
    time_of_timestamp, timestamp_to_date, write_time,
};
use crate::Interval;
use crate::ops::Bad;

/// Bits of an offset.
const BITS: u32 = 17;
/// The most seconds of an offset, and one more.
const BEYOND: i64 = 16 * 3600;

/// The integer of a time of day so many seconds east of UTC, which are less than sixteen hours.
#[inline]
pub fn pack(time: i64, east: i32) -> i64 {
    let east = i64::from(east);
    (time - east * SECOND + BEYOND * SECOND) << BITS | (BEYOND - east)
}

/// Time of day and seconds east of UTC.
#[inline]
pub fn unpack(timetz: i64) -> (i64, i32) {
    let east = BEYOND - (timetz & ((1 << BITS) - 1));
    ((timetz >> BITS) - (BEYOND - east) * SECOND, east as i32)
}

/// Microseconds since midnight in UTC: of another day, perhaps.
fn in_utc(timetz: i64) -> i64 {
    let (time, east) = unpack(timetz);
    time - i64::from(east) * SECOND
}

/// The moment at which a clock in the offset shows the time, of a date's midnight.
pub fn at_date(midnight: i64, timetz: i64) -> Result<i64> {
    super::add_micros(midnight, in_utc(timetz))
}

/// A time so much later, by the same offset: the clock goes round.
pub fn add(timetz: i64, interval: Interval) -> i64 {
    let (time, east) = unpack(timetz);
    pack(super::add_to_time(time, interval), east)
}

/// A time so much earlier.
pub fn subtract(timetz: i64, interval: Interval) -> i64 {
    let (time, east) = unpack(timetz);
    pack(super::subtract_from_time(time, interval), east)
}

/// Now: what day it is says which offset a zone has.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// A time of day as the zone has it today.
pub fn of_time(time: i64, zone: &Zone) -> i64 {
    pack(time, zone.offset_at(now()))
}

/// The time of day at a moment as the zone has it.
pub fn of_moment(moment: i64, zone: &Zone) -> Result<i64> {
    Ok(pack(time_of_timestamp(zone.local(moment)?), zone.offset_at(moment)))
}

/// The same moment by the clock that a zone has today.
pub fn in_zone(timetz: i64, zone: &Zone) -> i64 {
    let east = zone.offset_at(now());
    pack((in_utc(timetz) + i64::from(east) * SECOND).rem_euclid(DAY), east)
}

/// Reads a time with an offset or a zone behind it, and perhaps a date before it; without an offset, that of the session's zone.
pub fn parse_timetz(text: &[u8], session: &Zone) -> Result<i64, Bad> {
    // A date alone, or an offset alone, is no time.
    parse_time(text)?;
    let today = session.local(now()).map_or(0, timestamp_to_date);
    let dated = format!("{} {}", format_date(today), String::from_utf8_lossy(text).trim());
    let (dated, midnight) = match parse_timestamp(dated.as_bytes()) {
        Ok(_) => (dated, Some(i64::from(today) * DAY)),
        Err(_) => (String::from_utf8_lossy(text).into_owned(), None),
    };
    let local = parse_timestamp(dated.as_bytes())?;
    let moment = parse_timestamptz(dated.as_bytes(), session)?;
    // 24:00 is a time of its own.
    let time = midnight.map_or(time_of_timestamp(local), |midnight| local - midnight);
    if !(0..=DAY).contains(&time) {
        return Err(Bad::Range);
    }
    Ok(pack(time, ((local - moment) / SECOND) as i32))
}

/// Appends the time and its offset: `12:30:00+02`.
pub fn write_timetz(out: &mut String, timetz: i64) {
    let (time, east) = unpack(timetz);
    write_time(out, time);
    write_offset(out, east);
}

/// A field of a time, scaled by [`Field::scale`]; the epoch is that in UTC.
pub fn extract_timetz(field: Field, timetz: i64) -> Result<i64> {
    match field {
        Field::Epoch => Ok(in_utc(timetz)),
        _ => extract_time(field, unpack(timetz).0),
    }
}

const _: () = assert!(BEYOND * 2 < 1 << BITS && (DAY + 32 * HOUR) < 1 << 46);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_their_order() {
        let utc = Zone::utc();
        let read = |text: &str| parse_timetz(text.as_bytes(), &utc).unwrap();
        let written = |text: &str| {
            let mut out = String::new();
            write_timetz(&mut out, read(text));
            out
        };
        for (text, expected) in [
            ("12:30:00+02", "12:30:00+02"),
            ("12:30-03:30", "12:30:00-03:30"),
            ("00:00:00.5+15:59:59", "00:00:00.5+15:59:59"),
            ("24:00:00-15:59", "24:00:00-15:59"),
            ("23:59:59.999999", "23:59:59.999999+00"),
            ("5:30 PM +01", "17:30:00+01"),
            ("04:05:06 PST", "04:05:06-08"),
            ("2024-07-01 12:00 Europe/Berlin", "12:00:00+02"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
        for wrong in ["", "+02", "x", "25:00", "12:00+16", "12:00 nowhere"] {
            assert!(parse_timetz(wrong.as_bytes(), &utc).is_err(), "{wrong}");
        }
        // By the time in UTC, and equal ones from east to west.
        let ascending =
            ["01:00+02", "00:30+01", "00:00+00:30", "00:00+00", "13:00+12", "12:00+11", "01:00+00", "00:00-01"];
        let order: Vec<i64> = ascending.map(read).to_vec();
        assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
        assert!(order.iter().all(|&packed| {
            let (time, east) = unpack(packed);
            pack(time, east) == packed
        }));
    }
}
