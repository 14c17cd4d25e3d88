//! Zones beside their inverses and PostgreSQL's cases.

use super::*;
use crate::ops::date::{format_timestamp, parse_timestamp};

fn at(text: &str) -> i64 {
    parse_timestamp(text.as_bytes()).unwrap()
}

#[test]
fn skipped_times_take_the_offset_before_and_repeated_ones_that_after() {
    let berlin = Zone::find("europe/berlin").unwrap();
    assert_eq!(berlin.name(), "Europe/Berlin");
    let moment = |text: &str| format_timestamp(berlin.moment(at(text)).unwrap());
    assert_eq!(moment("2024-03-31 02:30"), "2024-03-31 01:30:00");
    assert_eq!(moment("2024-10-27 02:30"), "2024-10-27 01:30:00");
    assert_eq!(moment("2024-07-01 12:00"), "2024-07-01 10:00:00");
    assert_eq!(moment("1800-01-01 00:00"), "1799-12-31 23:06:32");
    assert_eq!(moment("12024-07-01 12:00"), "12024-07-01 10:00:00");
}

#[test]
fn local_times_and_moments_are_inverse() {
    let zones = ["UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC+3", "-5", "<+02>-02"];
    for name in zones {
        let zone = Zone::find(name).unwrap();
        for day in (-800_000..2_000_000).step_by(977) {
            let moment = day * crate::ops::date::DAY + 43 * MINUTE;
            let local = zone.local(moment).unwrap();
            let back = zone.moment(local).unwrap();
            assert!(back == moment || (back - moment).abs() <= 2 * HOUR, "{name} {moment}");
            assert_eq!(zone.local(back).unwrap(), local, "{name}");
        }
    }
}

#[test]
fn names_are_found_as_in_postgresql() {
    assert!(Zone::find("Mars/Olympus").is_err());
    assert!(Zone::find("").is_err());
    assert_eq!(Zone::find("2").unwrap().name(), "<+02>-02");
    assert_eq!(Zone::find("UTC+3").unwrap().offset_at(0), -3 * 3600);
    assert_eq!(Zone::find("CET").unwrap().offset_at(at("2024-07-01")), 7200);
    assert_eq!(Zone::find_abbreviated("CET").unwrap().offset_at(at("2024-07-01")), 3600);
    assert_eq!(Zone::find("Europe/Berlin").unwrap().abbreviation_at(at("2024-07-01")), "CEST");
    assert!(ABBREVIATIONS.is_sorted());
    assert_eq!(Zone::find_abbreviated("+02").unwrap().offset_at(0), -7200);
}
