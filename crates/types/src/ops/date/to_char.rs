//! `to_char(timestamp, pattern)`.

use std::convert::Infallible;
use std::fmt::Write;

use base::Result;

use super::{Field, Moment, Zone, extract_date};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// How the letters of a name come out.
#[derive(Clone, Copy)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

/// What a pattern's word stands for.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// A number of a fixed width.
    Number(fn(&Moment) -> i64, usize),
    /// The last digits of the year.
    Year(u32),
    /// The year with a comma after its thousands.
    Thousands,
    Month(Case),
    ShortMonth(Case),
    Day(Case),
    ShortDay(Case),
    RomanMonth(Case),
    Meridiem(&'static str, &'static str),
    Era(&'static str, &'static str),
    /// A fraction of a second with this many digits.
    Fraction(usize),
    FillMode,
    /// The zone's abbreviation.
    Zone(Case),
    /// Hours and minutes east of UTC.
    Offset,
    /// Hours east of UTC.
    OffsetHour,
    /// Minutes east of UTC.
    OffsetMinute,
}

fn of_date(field: Field, moment: &Moment) -> i64 {
    extract_date(field, moment.days).expect("a field of dates")
}

/// Longer words stand before their prefixes.
const ITEMS: &[(&str, Item)] = &[
    ("FM", Item::FillMode),
    ("fm", Item::FillMode),
    ("TM", Item::FillMode),
    ("tm", Item::FillMode),
    ("TZH", Item::OffsetHour),
    ("tzh", Item::OffsetHour),
    ("TZM", Item::OffsetMinute),
    ("tzm", Item::OffsetMinute),
    ("TZ", Item::Zone(Case::Upper)),
    ("tz", Item::Zone(Case::Lower)),
    ("OF", Item::Offset),
    ("of", Item::Offset),
    ("Y,YYY", Item::Thousands),
    ("y,yyy", Item::Thousands),
    ("YYYY", Item::Year(4)),
    ("yyyy", Item::Year(4)),
    ("YYY", Item::Year(3)),
    ("yyy", Item::Year(3)),
    ("YY", Item::Year(2)),
    ("yy", Item::Year(2)),
    ("Y", Item::Year(1)),
    ("y", Item::Year(1)),
    ("IYYY", Item::Number(|m| of_date(Field::IsoYear, m), 4)),
    ("iyyy", Item::Number(|m| of_date(Field::IsoYear, m), 4)),
    ("IYY", Item::Number(|m| of_date(Field::IsoYear, m) % 1000, 3)),
    ("iyy", Item::Number(|m| of_date(Field::IsoYear, m) % 1000, 3)),
    ("IY", Item::Number(|m| of_date(Field::IsoYear, m) % 100, 2)),
    ("iy", Item::Number(|m| of_date(Field::IsoYear, m) % 100, 2)),
    ("IW", Item::Number(|m| of_date(Field::Week, m), 2)),
    ("iw", Item::Number(|m| of_date(Field::Week, m), 2)),
    ("IDDD", Item::Number(|m| (of_date(Field::Week, m) - 1) * 7 + of_date(Field::IsoDayOfWeek, m), 3)),
    ("iddd", Item::Number(|m| (of_date(Field::Week, m) - 1) * 7 + of_date(Field::IsoDayOfWeek, m), 3)),
    ("ID", Item::Number(|m| of_date(Field::IsoDayOfWeek, m), 1)),
    ("id", Item::Number(|m| of_date(Field::IsoDayOfWeek, m), 1)),
    ("I", Item::Number(|m| of_date(Field::IsoYear, m) % 10, 1)),
    ("i", Item::Number(|m| of_date(Field::IsoYear, m) % 10, 1)),
    ("WW", Item::Number(|m| (of_date(Field::DayOfYear, m) - 1) / 7 + 1, 2)),
    ("ww", Item::Number(|m| (of_date(Field::DayOfYear, m) - 1) / 7 + 1, 2)),
    ("W", Item::Number(|m| i64::from(m.date.day - 1) / 7 + 1, 1)),
    ("w", Item::Number(|m| i64::from(m.date.day - 1) / 7 + 1, 1)),
    ("CC", Item::Number(|m| of_date(Field::Century, m), 2)),
    ("cc", Item::Number(|m| of_date(Field::Century, m), 2)),
    ("Q", Item::Number(|m| of_date(Field::Quarter, m), 1)),
    ("q", Item::Number(|m| of_date(Field::Quarter, m), 1)),
    ("J", Item::Number(|m| of_date(Field::Julian, m), 1)),
    ("j", Item::Number(|m| of_date(Field::Julian, m), 1)),
    ("MONTH", Item::Month(Case::Upper)),
    ("Month", Item::Month(Case::Title)),
    ("month", Item::Month(Case::Lower)),
    ("MON", Item::ShortMonth(Case::Upper)),
    ("Mon", Item::ShortMonth(Case::Title)),
    ("mon", Item::ShortMonth(Case::Lower)),
    ("RM", Item::RomanMonth(Case::Upper)),
    ("rm", Item::RomanMonth(Case::Lower)),
    ("MM", Item::Number(|m| m.date.month.into(), 2)),
    ("mm", Item::Number(|m| m.date.month.into(), 2)),
    ("MI", Item::Number(|m| m.minute.into(), 2)),
    ("mi", Item::Number(|m| m.minute.into(), 2)),
    ("MS", Item::Fraction(3)),
    ("ms", Item::Fraction(3)),
    ("US", Item::Fraction(6)),
    ("us", Item::Fraction(6)),
    ("FF1", Item::Fraction(1)),
    ("ff1", Item::Fraction(1)),
    ("FF2", Item::Fraction(2)),
    ("ff2", Item::Fraction(2)),
    ("FF3", Item::Fraction(3)),
    ("ff3", Item::Fraction(3)),
    ("FF4", Item::Fraction(4)),
    ("ff4", Item::Fraction(4)),
    ("FF5", Item::Fraction(5)),
    ("ff5", Item::Fraction(5)),
    ("FF6", Item::Fraction(6)),
    ("ff6", Item::Fraction(6)),
    ("SSSSS", Item::Number(second_of_day, 1)),
    ("sssss", Item::Number(second_of_day, 1)),
    ("ssss", Item::Number(second_of_day, 1)),
    ("SSSS", Item::Number(second_of_day, 1)),
    ("SS", Item::Number(|m| m.second.into(), 2)),
    ("ss", Item::Number(|m| m.second.into(), 2)),
    ("HH24", Item::Number(|m| m.hour.into(), 2)),
    ("hh24", Item::Number(|m| m.hour.into(), 2)),
    ("HH12", Item::Number(hour_of_half_day, 2)),
    ("hh12", Item::Number(hour_of_half_day, 2)),
    ("HH", Item::Number(hour_of_half_day, 2)),
    ("hh", Item::Number(hour_of_half_day, 2)),
    ("DAY", Item::Day(Case::Upper)),
    ("Day", Item::Day(Case::Title)),
    ("day", Item::Day(Case::Lower)),
    ("DY", Item::ShortDay(Case::Upper)),
    ("Dy", Item::ShortDay(Case::Title)),
    ("dy", Item::ShortDay(Case::Lower)),
    ("DDD", Item::Number(|m| of_date(Field::DayOfYear, m), 3)),
    ("ddd", Item::Number(|m| of_date(Field::DayOfYear, m), 3)),
    ("DD", Item::Number(|m| m.date.day.into(), 2)),
    ("dd", Item::Number(|m| m.date.day.into(), 2)),
    ("D", Item::Number(|m| of_date(Field::DayOfWeek, m) + 1, 1)),
    ("d", Item::Number(|m| of_date(Field::DayOfWeek, m) + 1, 1)),
    ("A.M.", Item::Meridiem("A.M.", "P.M.")),
    ("P.M.", Item::Meridiem("A.M.", "P.M.")),
    ("a.m.", Item::Meridiem("a.m.", "p.m.")),
    ("p.m.", Item::Meridiem("a.m.", "p.m.")),
    ("AM", Item::Meridiem("AM", "PM")),
    ("PM", Item::Meridiem("AM", "PM")),
    ("am", Item::Meridiem("am", "pm")),
    ("pm", Item::Meridiem("am", "pm")),
    ("AD", Item::Era("AD", "BC")),
    ("BC", Item::Era("AD", "BC")),
    ("ad", Item::Era("ad", "bc")),
    ("bc", Item::Era("ad", "bc")),
];

fn second_of_day(moment: &Moment) -> i64 {
    i64::from(moment.hour * 3600 + moment.minute * 60 + moment.second)
}
fn hour_of_half_day(moment: &Moment) -> i64 {
    i64::from((moment.hour + 11) % 12 + 1)
}

fn write_name(out: &mut String, name: &str, case: Case, width: usize) {
    let start = out.len();
    match case {
        Case::Upper => out.push_str(&name.to_ascii_uppercase()),
        Case::Title => out.push_str(name),
        Case::Lower => out.push_str(&name.to_ascii_lowercase()),
    }
    let written = out.len() - start;
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(written)));
}

fn write_item(out: &mut String, item: Item, fill: bool, moment: &Moment, zone: (i32, &str)) {
    let (seconds, abbreviation) = zone;
    let month = moment.date.month as usize - 1;
    let day = of_date(Field::IsoDayOfWeek, moment) as usize - 1;
    let padded = |width: usize| if fill { 0 } else { width };
    let year = i64::from(if moment.date.year > 0 { moment.date.year } else { 1 - moment.date.year });
    match item {
        Item::FillMode => {}
        Item::Zone(Case::Lower) => out.push_str(&abbreviation.to_lowercase()),
        Item::Zone(_) => out.push_str(abbreviation),
        Item::Offset => {
            let (sign, size) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
            let _ = write!(out, "{sign}{:0width$}", size / 3600, width = padded(2));
            if size % 3600 != 0 {
                let _ = write!(out, ":{:02}", size / 60 % 60);
            }
        }
        Item::OffsetHour => {
            let _ = write!(out, "{}{:02}", if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 3600);
        }
        Item::OffsetMinute => {
            let _ = write!(out, "{:02}", seconds.unsigned_abs() / 60 % 60);
        }
        Item::Number(get, width) => {
            let _ = write!(out, "{:0width$}", get(moment), width = padded(width));
        }
        Item::Thousands => {
            let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
        }
        Item::Year(digits) => {
            let year = if digits == 4 { year } else { year % 10i64.pow(digits) };
            let _ = write!(out, "{year:0width$}", width = padded(digits as usize));
        }
        Item::Month(case) => write_name(out, MONTHS[month], case, padded(9)),
        Item::ShortMonth(case) => write_name(out, &MONTHS[month][..3], case, 0),
        Item::Day(case) => write_name(out, DAYS[day], case, padded(9)),
        Item::ShortDay(case) => write_name(out, &DAYS[day][..3], case, 0),
        Item::RomanMonth(case) => {
            let roman = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
            write_name(out, roman[month], case, padded(4));
        }
        Item::Meridiem(am, pm) => out.push_str(if moment.hour < 12 { am } else { pm }),
        Item::Era(ad, bc) => out.push_str(if moment.date.year > 0 { ad } else { bc }),
        Item::Fraction(digits) => out.push_str(&format!("{:06}", moment.micros)[..digits]),
    }
}

/// `to_char(timestamptz, pattern)`: as [`to_char`] of the zone's local time, with its name and offset.
pub fn to_char_in(moment: i64, pattern: &str, zone: &Zone) -> Result<String> {
    Ok(write(zone.local(moment)?, pattern, (zone.offset_at(moment), &zone.abbreviation_at(moment))))
}

/// `to_char(timestamp, pattern)` with PostgreSQL's template patterns for dates and times (no localised names): text in double quotes is copied, as is what is no pattern; `FM` and `TM` drop the padding of the next item; `TH`
/// and `th` after a number append its ordinal ending.
pub fn to_char(timestamp: i64, pattern: &str) -> String {
    write(timestamp, pattern, (0, ""))
}

fn write(timestamp: i64, pattern: &str, zone: (i32, &str)) -> String {
    let moment = Moment::from_micros(timestamp);
    let Ok(text) = write_items::<Infallible>(pattern, |out, _, item, fill| {
        write_item(out, item, fill, &moment, zone);
        Ok(())
    });
    text
}

/// A pattern with what is written for each of its words.
pub(super) fn write_items<E>(
    pattern: &str,
    mut write_one: impl FnMut(&mut String, &'static str, Item, bool) -> std::result::Result<(), E>,
) -> std::result::Result<String, E> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut fill = false;
    while let Some(first) = rest.chars().next() {
        if let Some((word, item)) = ITEMS.iter().find(|(word, _)| rest.starts_with(word)) {
            rest = &rest[word.len()..];
            let start = out.len();
            write_one(&mut out, word, *item, fill)?;
            fill = matches!(item, Item::FillMode);
            if let Item::Number(..) | Item::Year(_) = item
                && let Some(ending) = rest.get(..2).filter(|t| t.eq_ignore_ascii_case("th"))
            {
                let ordinal = ordinal(&out[start..]);
                out.push_str(&if ending == "TH" { ordinal.to_ascii_uppercase() } else { ordinal.to_owned() });
                rest = &rest[2..];
            }
        } else if first == '"' {
            rest = &rest[1..];
            while let Some(c) = rest.chars().next() {
                rest = &rest[c.len_utf8()..];
                match c {
                    '"' => break,
                    '\\' => {
                        if let Some(next) = rest.chars().next() {
                            out.push(next);
                            rest = &rest[next.len_utf8()..];
                        }
                    }
                    _ => out.push(c),
                }
            }
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(out)
}

fn ordinal(digits: &str) -> &'static str {
    let bytes = digits.as_bytes();
    if bytes.len() > 1 && bytes[bytes.len() - 2] == b'1' {
        return "th";
    }
    match bytes.last() {
        Some(b'1') => "st",
        Some(b'2') => "nd",
        Some(b'3') => "rd",
        _ => "th",
    }
}
