use std::str::FromStr;

use super::*;
use crate::Interval;
use crate::ops::Bad;
use base::Random;

fn date(text: &str) -> i32 {
    parse_date(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}
fn stamp(text: &str) -> i64 {
    parse_timestamp(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}
fn interval(text: &str) -> Interval {
    parse_interval(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

#[test]
fn days_count_through_the_calendar() {
    let (mut year, mut month, mut day) = (1599i64, 12u32, 31u32);
    let mut days = days_from_civil(year, month, day) as i32;
    while year < 2420 {
        assert_eq!(Civil::from_days(days), Civil { year: year as i32, month, day });
        assert_eq!(days_from_civil(year, month, day), i64::from(days));
        days += 1;
        day += 1;
        if day > days_in_month(year, month) {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    let mut random = Random(31);
    for days in (0..100_000).map(|_| random.bits() as i32).chain([i32::MIN, i32::MAX, MIN_DATE, MAX_DATE, -719_468, 0])
    {
        let civil = Civil::from_days(days);
        assert_eq!(civil.days(), i64::from(days), "{civil:?}");
        assert!((1..=12).contains(&civil.month) && civil.day >= 1, "{days}: {civil:?}");
        assert!(civil.day <= days_in_month(civil.year.into(), civil.month), "{days}: {civil:?}");
    }
    assert_eq!(days_from_civil(1970, 1, 1), 0);
    assert_eq!(make_date(5_874_897, 12, 31), Ok(MAX_DATE));
    assert_eq!(make_date(-4714, 11, 24), Ok(MIN_DATE));
    assert!(make_date(-4714, 11, 23).is_err() && make_date(0, 1, 1).is_err() && make_date(2023, 2, 29).is_err());
    assert_eq!(make_date(2023, 13, 1).unwrap_err().to_string(), "22008: date field value out of range: 2023-13-01");
}

#[test]
fn dates_read_in_many_forms() {
    let day = date("1998-12-01");
    for text in [
        "19981201",
        "1998/12/01",
        "12/1/1998",
        "12/01/98",
        "1-Dec-1998",
        "Dec-01-1998",
        "December 1, 1998",
        "1 december 1998",
        "1998-Dec-01",
        " 1998-12-1 ",
        "Tue Dec 1 1998",
        "1998-12-01 10:00",
        "1998-12-01T10:00:00Z",
        "981201",
        "1998 12 01",
        "12 01 1998",
        "12 01 98",
        "1 Dec 98",
        "1998.335",
        "J2451149",
        "1998-12-01 allballs",
    ] {
        assert_eq!(date(text), day, "{text}");
    }
    assert_eq!(format_date(date("0044-03-15 BC")), "0044-03-15 BC");
    assert_eq!(format_date(date("5874897-12-31")), "5874897-12-31");
    assert_eq!(date("epoch"), 0);
    assert_eq!((date("infinity"), date(" -Infinity ")), (i32::MAX, i32::MIN));
    assert_eq!((format_date(i32::MAX), format_timestamp(i64::MIN)), ("infinity".into(), "-infinity".into()));
    for text in ["", "abc", "1998", "1998-12", "infinite", "1998-12-01x", "1998--12", "12:00", "1998-12-01 1998-12-02"]
    {
        assert_eq!(parse_date(text.as_bytes()), Err(Bad::Syntax), "{text}");
    }
    for text in ["1998-13-01", "1998-02-30", "0000-01-01", "5874898-01-01", "2023-02-29", "1998-12-01 25:00"] {
        assert_eq!(parse_date(text.as_bytes()), Err(Bad::Range), "{text}");
    }
}

#[test]
fn moments_read_in_many_forms() {
    let utc = Zone::utc();
    let moment = |text: &str| {
        let read = parse_timestamptz(text.as_bytes(), &utc);
        format_timestamp(read.unwrap_or_else(|e| panic!("{text}: {e:?}")))
    };
    for (text, expected) in [
        ("20011227 040506+08", "2001-12-26 20:05:06"),
        ("20011227T040506.789-08", "2001-12-27 12:05:06.789"),
        ("2001-12-27 0405-08", "2001-12-27 12:05:00"),
        ("J2452271.5-08", "2001-12-27 20:00:00"),
        ("J2452271T040506.789+08", "2001-12-26 20:05:06.789"),
        ("19970710 173201 America/New_York", "1997-07-10 21:32:01"),
        ("2000-03-15 02:14:05 MST+7:00", "2000-03-15 09:14:05"),
        ("Wed Jul 11 10:51:14 PST-03:00 2001", "2001-07-11 07:51:14"),
        ("2011-03-27 00:00:00 MSK", "2011-03-26 21:00:00"),
        ("2014-10-26 01:00:00 MSK", "2014-10-25 22:00:00"),
    ] {
        assert_eq!(moment(text), expected, "{text}");
    }
}

#[test]
fn timestamps_read_in_many_forms() {
    let base = stamp("1998-12-01 10:00:00");
    assert_eq!(base, i64::from(date("1998-12-01")) * DAY + 10 * HOUR);
    assert_eq!(stamp("1998-12-01"), base - 10 * HOUR);
    assert_eq!(stamp("1998-12-01T10:00:00.123"), base + 123_000);
    for text in [
        "1998-12-01T10:00:00Z",
        "1998-12-01 10:00",
        "1998-12-01 10:00 AM",
        // The zone of a timestamp without one is dropped, as in PostgreSQL.
        "1998-12-01 10:00:00+02",
        "1998-12-01 10:00:00-0530",
        "1998-12-01 10:00:00.000 +05:30",
        "Dec 1 1998 10:00",
        "19981201T10:00:00",
    ] {
        assert_eq!(stamp(text), base, "{text}");
    }
    assert_eq!(stamp("1998-12-01 12:30 AM"), base - 10 * HOUR + 30 * MINUTE);
    assert_eq!(stamp("1998-12-01 12:30 pm"), base + 2 * HOUR + 30 * MINUTE);
    assert_eq!(stamp("1998-12-01 24:00:00"), base + 14 * HOUR);
    assert_eq!(stamp("1998-12-01 10:00:00.1234567"), base + 123_457);
    assert_eq!(format_timestamp(base + 120), "1998-12-01 10:00:00.00012");
    for (text, bad) in [
        ("1998-12-01 10:60", Bad::Range),
        ("1998-12-01 10:00:00 XYZ", Bad::Syntax),
        ("1998-12-01 10", Bad::Syntax),
        ("294248-01-01", Bad::Range),
        ("10:00", Bad::Syntax),
    ] {
        assert_eq!(parse_timestamp(text.as_bytes()), Err(bad), "{text}");
    }
}

#[test]
fn texts_round_trip() {
    let mut random = Random(6);
    for _ in 0..20_000 {
        let days =
            (random.below((i64::from(MAX_DATE) - i64::from(MIN_DATE)) as u64) as i64 + i64::from(MIN_DATE)) as i32;
        assert_eq!(date(&format_date(days)), days, "{}", format_date(days));
        let value = (random.bits() as i64 >> random.below(20)).max(MIN_TIMESTAMP);
        assert_eq!(stamp(&format_timestamp(value)), value, "{}", format_timestamp(value));
        let (months, days) = (random.wide() as i32, random.wide() as i32);
        let value = Interval { months, days, micros: random.wide() as i64 };
        if value.micros != i64::MIN {
            assert_eq!(interval(&format_interval(value)), value, "{}", format_interval(value));
        }
    }
}

#[test]
fn no_text_panics() {
    let mut random = Random(7);
    let alphabet = b"0123456789-/.: +TZPYMWDHSadegoyr@,\xff";
    for _ in 0..100_000 {
        let length = random.below(16) as usize;
        let text: Vec<u8> = (0..length).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect();
        let _ = (parse_date(&text), parse_timestamp(&text), parse_interval(&text));
    }
}

#[test]
fn intervals_read_and_print_as_in_postgres() {
    let table = [
        ("90 days", "90 days"),
        ("3 month", "3 mons"),
        ("1 year 2 mons", "1 year 2 mons"),
        ("1-2", "1 year 2 mons"),
        ("-1-2", "-1 years -2 mons"),
        ("04:05:06", "04:05:06"),
        ("1 day 02:03:04", "1 day 02:03:04"),
        ("1 02:03:04", "1 day 02:03:04"),
        ("-1 day +02:03:04", "-1 days +02:03:04"),
        ("P1Y2M", "1 year 2 mons"),
        ("P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
        ("PT36H", "36:00:00"),
        ("P-1D", "-1 days"),
        ("1 day ago", "-1 days"),
        ("1 year 2 days ago", "-1 years -2 days"),
        ("1.5 years", "1 year 6 mons"),
        ("1.5 months", "1 mon 15 days"),
        ("1.5 weeks", "10 days 12:00:00"),
        ("-1.5 hours", "-01:30:00"),
        ("0.1 second", "00:00:00.1"),
        ("5", "00:00:05"),
        ("2 weeks", "14 days"),
        ("1 decade 1 century", "110 years"),
        ("@ 1 hour", "01:00:00"),
        ("1h30m", "01:30:00"),
        ("0", "00:00:00"),
        ("12:34", "12:34:00"),
        ("12:34.5", "00:12:34.5"),
        ("-00:00:01", "-00:00:01"),
        ("1 ms", "00:00:00.001"),
    ];
    for (text, expected) in table {
        assert_eq!(format_interval(interval(text)), expected, "{text}");
    }
    for text in ["", "x", "1 foo", "day", "1 day x", "P", "PX", "ago", "1 day ago 2", "1 2 days", "1:2:3:4", ".", "-"] {
        assert_eq!(parse_interval(text.as_bytes()), Err(Bad::Syntax), "{text}");
    }
    assert_eq!(parse_interval(b"9999999999 days"), Err(Bad::Range));
}

#[test]
fn interval_arithmetic() {
    let third = |text: &str, factor: f64| format_interval(mul_interval(interval(text), factor).unwrap());
    assert_eq!(third("1 month", 0.5), "15 days");
    assert_eq!(third("1 day", 1.5), "1 day 12:00:00");
    assert_eq!(third("1 hour", -2.0), "-02:00:00");
    assert_eq!(third("1 year 3 days", 2.5), "2 years 6 mons 7 days 12:00:00");
    assert_eq!(format_interval(div_interval(interval("1 year"), 7.0).unwrap()), "1 mon 21 days 10:17:08.5344");
    assert_eq!(div_interval(interval("1 day"), 0.0).unwrap_err().state().0, "22012");
    assert!(mul_interval(interval("1 day"), 1e300).is_err() && mul_interval(interval("1 day"), f64::NAN).is_err());
    assert!(add_intervals(Interval { months: i32::MAX, ..Interval::default() }, interval("1 mon")).is_err());
    assert_eq!(format_interval(justify_hours(interval("27:00:00")).unwrap()), "1 day 03:00:00");
    assert_eq!(format_interval(justify_days(interval("35 days")).unwrap()), "1 mon 5 days");
    assert_eq!(format_interval(justify(interval("1 mon -1 hour")).unwrap()), "29 days 23:00:00");
}

#[test]
fn timestamps_and_intervals() {
    let plus = |t: &str, i: &str| format_timestamp(add_interval(stamp(t), interval(i)).unwrap());
    assert_eq!(plus("2024-01-31", "1 month"), "2024-02-29 00:00:00");
    assert_eq!(plus("2024-03-31 10:00", "-1 month -1 day"), "2024-02-28 10:00:00");
    assert_eq!(plus("2024-02-29", "1 year"), "2025-02-28 00:00:00");
    assert_eq!(plus("1998-12-01", "-90 days"), "1998-09-02 00:00:00");
    let late = add_interval(stamp("294246-12-31"), interval("2 years"));
    assert_eq!(late.unwrap_err().to_string(), "22008: timestamp out of range");
    assert!(sub_interval(0, Interval { months: 0, days: i32::MIN, micros: 0 }).is_err());
    assert!(add_days(MAX_DATE, 1).is_err() && add_days(0, i64::MAX).is_err());
    assert!(date_to_timestamp(MAX_DATE).is_err());
    let diff = timestamp_diff(stamp("2024-03-01 12:00"), stamp("2024-02-28 13:00")).unwrap();
    assert_eq!(format_interval(diff), "1 day 23:00:00");
    let age = |a: &str, b: &str| format_interval(age(stamp(a), stamp(b)).unwrap());
    assert_eq!(age("2001-04-10", "1957-06-13"), "43 years 9 mons 27 days");
    assert_eq!(age("1957-06-13", "2001-04-10"), "-43 years -9 mons -27 days");
    assert_eq!(age("2024-03-01", "2024-01-31"), "1 mon 1 day");
    assert_eq!(age("2024-01-01 01:00", "2023-12-31 23:00"), "02:00:00");
}

#[test]
fn fields_of_timestamps() {
    let at = stamp("2001-02-16 20:38:40.12");
    let table = [
        ("millennium", 3),
        ("century", 21),
        ("decade", 200),
        ("year", 2001),
        ("quarter", 1),
        ("month", 2),
        ("week", 7),
        ("day", 16),
        ("doy", 47),
        ("dow", 5),
        ("isodow", 5),
        ("isoyear", 2001),
        ("hour", 20),
        ("minute", 38),
        ("second", 40_120_000),
        ("milliseconds", 40_120_000),
        ("microseconds", 40_120_000),
        ("epoch", 982_355_920_120_000),
        ("julian", 2_451_957),
    ];
    for (name, expected) in table {
        assert_eq!(extract_timestamp(Field::from_str(name).unwrap(), at), Ok(expected), "{name}");
    }
    assert_eq!(extract_date(Field::Week, date("2005-01-01")), Ok(53));
    assert_eq!(extract_date(Field::IsoYear, date("2005-01-01")), Ok(2004));
    assert_eq!(extract_date(Field::IsoYear, date("2012-12-31")), Ok(2013));
    assert_eq!(extract_date(Field::DayOfWeek, date("2024-06-02")), Ok(0));
    assert_eq!(extract_date(Field::Century, date("2000-12-31")), Ok(20));
    assert_eq!(extract_date(Field::Century, date("0001-01-01 BC")), Ok(-1));
    assert_eq!(extract_date(Field::Year, date("0001-01-01 BC")), Ok(-1));
    let error = extract_date(Field::Hour, 0).unwrap_err();
    assert_eq!(error.to_string(), "0A000: unit \"hour\" not supported for type date");
    assert_eq!(Field::from_str("foo").unwrap_err().state().0, "22023");
    assert_eq!(extract_interval(Field::Epoch, interval("1 year 1 mon 1 day 00:00:01")), Ok(34_236_001_000_000));
    assert_eq!(extract_interval(Field::Hour, interval("-26:30:00")), Ok(-26));
    assert_eq!(extract_interval(Field::Quarter, interval("7 mons")), Ok(3));
}

#[test]
fn truncation() {
    let at = stamp("2001-02-16 20:38:40.123456");
    let table = [
        ("hour", "2001-02-16 20:00:00"),
        ("day", "2001-02-16 00:00:00"),
        ("week", "2001-02-12 00:00:00"),
        ("month", "2001-02-01 00:00:00"),
        ("quarter", "2001-01-01 00:00:00"),
        ("decade", "2000-01-01 00:00:00"),
        ("century", "2001-01-01 00:00:00"),
        ("second", "2001-02-16 20:38:40"),
        ("ms", "2001-02-16 20:38:40.123"),
    ];
    for (field, expected) in table {
        assert_eq!(format_timestamp(trunc_timestamp(field.parse().unwrap(), at).unwrap()), expected);
    }
    assert_eq!(trunc_date(Field::Month, date("1969-12-31")), Ok(date("1969-12-01")));
    assert_eq!(trunc_timestamp(Field::Second, -1), Ok(-SECOND));
    assert!(trunc_date(Field::Millennium, MIN_DATE).is_err() && trunc_timestamp(Field::Epoch, 0).is_err());
    assert_eq!(trunc_interval(Field::Quarter, interval("8 mons 3 days")), Ok(interval("6 mons")));
}

#[test]
fn to_char_patterns() {
    let at = stamp("2024-06-02 15:04:05.067");
    let table = [
        ("YYYY-MM-DD HH24:MI:SS", "2024-06-02 15:04:05"),
        ("FMMonth FMDD, YYYY", "June 2, 2024"),
        ("Mon DD HH12:MI AM", "Jun 02 03:04 PM"),
        ("Day|Dy|D|DDD", "Sunday   |Sun|1|154"),
        ("YY Q IYYY-IW MS US", "24 2 2024-22 067 067000"),
        ("\"YYYY\" DDth MMTH", "YYYY 02nd 06TH"),
        ("ü J", "ü 2460464"),
    ];
    for (pattern, expected) in table {
        assert_eq!(to_char(at, pattern), expected);
    }
}

/// Files may hold any bits: nothing here may panic, whatever the integers are.
#[test]
fn no_value_panics() {
    let mut random = Random(12);
    let names = [
        "millennium",
        "century",
        "decade",
        "year",
        "isoyear",
        "quarter",
        "month",
        "week",
        "day",
        "doy",
        "dow",
        "isodow",
        "hour",
        "minute",
        "second",
        "ms",
        "us",
        "epoch",
        "julian",
    ];
    let edges = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX];
    for round in 0..3000 {
        let mut any = || if random.below(3) == 0 { edges[random.below(6) as usize] } else { random.wide() as i64 };
        let (a, b) = (any(), any());
        let narrow =
            |v: i64| if edges.contains(&v) { v.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { v as i32 };
        let (x, y) = (narrow(a), narrow(b));
        let (i, j) = (Interval { months: x, days: y, micros: b }, Interval { months: y, days: x, micros: a });
        let field: Field = names[round % names.len()].parse().unwrap();
        let _ = (extract_date(field, x), extract_timestamp(field, a), extract_interval(field, i));
        let _ = (trunc_date(field, x), trunc_timestamp(field, a), trunc_interval(field, i));
        let _ = (format_date(x), format_timestamp(a), format_interval(i), to_char(a, "YYYY Y IYYY J Q WW Day DDD MS"));
        let _ = (add_interval(a, i), sub_interval(a, i), age(a, b), timestamp_diff(a, b), months_between_dates(x, y));
        let _ = (add_days(x, b), date_diff(x, y), date_plus_interval(x, i), timestamp_to_date(a));
        let _ =
            (add_intervals(i, j), sub_intervals(i, j), neg_interval(i), justify(i), justify_days(i), justify_hours(i));
        let _ = (mul_interval(i, f64::from_bits(a as u64)), div_interval(i, f64::from_bits(b as u64)));
        let _ = (make_date(x, y, 1), make_timestamp(x, 1, 1, y, 0, 0.0), make_interval(x, y, x, y, x, y, 1e300));
    }
}
