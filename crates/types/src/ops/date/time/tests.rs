//! Times, and days of zones.

use super::*;
use crate::ops::date::{format_timestamptz, parse_time, parse_timestamptz};

#[test]
fn days_are_days_of_the_zone() {
    let berlin = Zone::find("Europe/Berlin").unwrap();
    let at = |text: &str| parse_timestamptz(text.as_bytes(), &berlin).unwrap();
    let text = |moment: Result<i64>| format_timestamptz(moment.unwrap(), &berlin);
    let day = Interval { days: 1, ..Interval::default() };
    let hours = Interval { micros: DAY, ..Interval::default() };
    let before = at("2024-03-30 12:00");
    assert_eq!(text(add_interval_in(before, day, &berlin)), "2024-03-31 12:00:00+02");
    assert_eq!(text(add_interval_in(before, hours, &berlin)), "2024-03-31 13:00:00+02");
    assert_eq!(text(trunc_timestamp_in(Field::Day, at("2024-03-31 12:00"), &berlin)), "2024-03-31 00:00:00+01");
    let second = at("2024-10-27 01:30+00");
    assert_eq!(text(trunc_timestamp_in(Field::Hour, second, &berlin)), "2024-10-27 02:00:00+01");
}

#[test]
fn zones_in_texts() {
    let berlin = Zone::find("Europe/Berlin").unwrap();
    let cases = [
        ("2020-01-15 10:00", "2020-01-15 10:00:00+01"),
        ("2020-01-15 10:00:00Z", "2020-01-15 11:00:00+01"),
        ("2020-01-15T10:00:00.5-03:30", "2020-01-15 14:30:00.5+01"),
        ("2020-01-15 10:00 America/New_York", "2020-01-15 16:00:00+01"),
        ("2020-07-15 10:00:00 CET", "2020-07-15 11:00:00+02"),
        ("Jul 15 2020 10:00 PM PST", "2020-07-16 08:00:00+02"),
        ("2020-01-15 Europe/London", "2020-01-15 01:00:00+01"),
        ("0044-03-15 10:00 BC", "0044-03-15 10:00:00+00:53:28 BC"),
        ("epoch", "1970-01-01 01:00:00+01"),
    ];
    for (text, expected) in cases {
        let moment = parse_timestamptz(text.as_bytes(), &berlin);
        assert_eq!(moment.map(|m| format_timestamptz(m, &berlin)).as_deref(), Ok(expected), "{text}");
    }
    for text in ["", "2020-01-15 10:00 foo", "10:00", "2020-01-15 10:00+25", "2020-01-15 10:00+02+02"] {
        assert!(parse_timestamptz(text.as_bytes(), &berlin).is_err(), "{text}");
    }
}

#[test]
fn times() {
    let cases = [
        ("10:15", Some(36_900_000_000)),
        ("10:15 PM", Some(80_100_000_000)),
        ("101520", Some(36_920_000_000)),
        ("1015", Some(36_900_000_000)),
        ("10:15:00+02", Some(36_900_000_000)),
        ("2020-01-01 10:15", Some(36_900_000_000)),
        ("24:00:00", Some(DAY)),
        ("24:00:01", None),
        ("25:00", None),
        ("", None),
        ("foo", None),
        ("2020-01-01", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_time(text.as_bytes()).ok(), expected, "{text}");
    }
}
