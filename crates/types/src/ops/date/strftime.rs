//! `strftime` and `strptime`: C's patterns for dates and times, as DuckDB has them.

use std::fmt::Write;

use base::{Error, Result, SqlState};

use super::civil::timestamp;
use super::digits::{pair, push_word};
use super::to_char::{DAYS, MONTHS};
use super::{DAY, Field, HOUR, MINUTE, Moment, SECOND, Zone, days_from_civil, extract_date, make_date};
use crate::ops::error::datetime_out_of_range;
use crate::ops::string::check_length;

/// A part of a pattern.
enum Part<'p> {
    Text(&'p str),
    /// What a letter stands for, and whether without leading zeros.
    Item(char, bool),
}

/// The next part of a pattern, which is not empty.
fn next_part<'p>(pattern: &mut &'p str) -> Result<Part<'p>> {
    // Texts between are short.
    let percent = pattern.bytes().position(|byte| byte == b'%');
    let (text, rest) = pattern.split_at(percent.unwrap_or(pattern.len()));
    if !text.is_empty() {
        *pattern = rest;
        return Ok(Part::Text(text));
    }
    let rest = &rest[1..];
    let short = rest.strip_prefix('-');
    let letters = short.unwrap_or(rest);
    let Some(letter) = letters.chars().next() else { return Err(bad("a trailing % in a date format".into())) };
    *pattern = &letters[letter.len_utf8()..];
    if letter == '%' && short.is_none() { Ok(Part::Text("%")) } else { Ok(Part::Item(letter, short.is_some())) }
}

fn bad(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
fn unknown(letter: char, short: bool) -> Error {
    let dash = if short { "-" } else { "" };
    bad(format!("unrecognized format %{dash}{letter} for dates"))
        .hint("formats are %Y %m %d %H %M %S %f %y %j %b %B %a %A %I %p and some more; %% is a percent sign")
}

/// `strftime(timestamp, pattern)`
pub fn strftime(value: i64, pattern: &str) -> Result<String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    strftime_to(&mut out, value, pattern).map(|()| out)
}

/// The same, written behind what is in the string.
pub fn strftime_to(out: &mut String, value: i64, pattern: &str) -> Result<()> {
    show(out, value, pattern, ("+00", ""))
}

/// `strftime` of a moment, in a zone of that name.
pub fn strftime_moment(moment: i64, pattern: &str, zone: &str) -> Result<String> {
    if super::is_infinite(moment) {
        return Ok(super::format_timestamp(moment));
    }
    let local = Zone::find(zone)?.local(moment)?;
    let minutes = (local - moment).div_euclid(MINUTE);
    let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
    let offset = match minutes % 60 {
        0 => format!("{sign}{:02}", minutes / 60),
        rest => format!("{sign}{:02}:{rest:02}", minutes / 60),
    };
    let mut out = String::new();
    show(&mut out, local, pattern, (&offset, zone)).map(|()| out)
}

/// Writes a local time in the form of a pattern.
fn show(out: &mut String, value: i64, pattern: &str, (offset, zone): (&str, &str)) -> Result<()> {
    if super::is_infinite(value) {
        out.push_str(&super::format_timestamp(value));
        return Ok(());
    }
    let moment = Moment::from_micros(value);
    let mut rest = pattern;
    while !rest.is_empty() {
        match next_part(&mut rest)? {
            Part::Text(text) => out.push_str(text),
            Part::Item('z', false) => out.push_str(offset),
            Part::Item('Z', false) => out.push_str(zone),
            Part::Item(letter, short) => write_item(out, &moment, letter, short)?,
        }
        check_length(out.len())?;
    }
    Ok(())
}

/// Writes a number with so many digits at least.
fn write_number(out: &mut String, number: i64, width: usize) {
    const MOST: usize = 10;
    match (width, number) {
        (2, 0..100) => return push_word(out, pair(number as u32), 2),
        (4, 0..10_000) => return push_word(out, pair(number as u32 / 100) | pair(number as u32 % 100) << 16, 4),
        _ => {}
    }
    if !(0..10i64.pow(MOST as u32 - 1)).contains(&number) {
        let _ = write!(out, "{number:0width$}");
        return;
    }
    let (mut digits, mut at, mut left) = ([b'0'; MOST], MOST, number as u32);
    while left > 0 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let first = at.min(MOST - width.max(1));
    out.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
}

fn write_item(out: &mut String, moment: &Moment, letter: char, short: bool) -> Result<()> {
    let field = |field| extract_date(field, moment.days);
    let (month, year) = (moment.date.month as usize - 1, i64::from(moment.date.year));
    let weekday = || field(Field::IsoDayOfWeek).map(|day| day as usize - 1);
    let (number, width) = match letter {
        'd' => (moment.date.day.into(), 2),
        'm' => (moment.date.month.into(), 2),
        'y' => ((year % 100).abs(), 2),
        'H' => (moment.hour.into(), 2),
        'I' => (i64::from((moment.hour + 11) % 12 + 1), 2),
        'M' => (moment.minute.into(), 2),
        'S' => (moment.second.into(), 2),
        'j' => (field(Field::DayOfYear)?, 3),
        _ if short => return Err(unknown(letter, short)),
        'Y' => (year, 4),
        'g' => (i64::from(moment.micros / 1000), 3),
        'f' => (moment.micros.into(), 6),
        'n' => (i64::from(moment.micros) * 1000, 9),
        'w' => (field(Field::DayOfWeek)?, 1),
        'u' => (field(Field::IsoDayOfWeek)?, 1),
        // Weeks from the first Sunday, or Monday, of the year on.
        'U' => ((field(Field::DayOfYear)? + 6 - field(Field::DayOfWeek)?) / 7, 2),
        'W' => ((field(Field::DayOfYear)? + 6 - weekday()? as i64) / 7, 2),
        'V' => (field(Field::Week)?, 2),
        'G' => (field(Field::IsoYear)?, 4),
        _ => {
            let text = match letter {
                'a' => &DAYS[weekday()?][..3],
                'A' => DAYS[weekday()?],
                'b' | 'h' => &MONTHS[month][..3],
                'B' => MONTHS[month],
                'p' if moment.hour < 12 => "AM",
                'p' => "PM",
                'x' => return write_all(out, moment, "Y-m-d"),
                'X' => return write_all(out, moment, "H:M:S"),
                'c' => return write_all(out, moment, "Y-m-d H:M:S"),
                _ => return Err(unknown(letter, short)),
            };
            out.push_str(text);
            return Ok(());
        }
    };
    let width = if short { 0 } else { width };
    write_number(out, number, width);
    Ok(())
}

/// Letters that stand for items, and signs between them.
fn write_all(out: &mut String, moment: &Moment, items: &str) -> Result<()> {
    for c in items.chars() {
        if c.is_ascii_alphabetic() { write_item(out, moment, c, false)? } else { out.push(c) }
    }
    Ok(())
}

/// Whether texts of a pattern say where on earth they are meant.
pub fn says_zone(pattern: &str) -> bool {
    let mut rest = pattern;
    while !rest.is_empty() {
        match next_part(&mut rest) {
            Ok(Part::Item('z' | 'Z', _)) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// What `strptime` has read: 1900-01-01 00:00:00 where the pattern says nothing.
struct Read {
    /// Seconds east of Greenwich.
    offset: i64,
    /// The name of a zone.
    zone: Option<String>,
    /// The week, and of which weeks: those of ISO, from Mondays or from Sundays on.
    week: Option<(char, i64)>,
    iso_year: Option<i64>,
    /// From Monday on.
    weekday: Option<i64>,
    year: i32,
    month: i32,
    day: i32,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    afternoon: Option<bool>,
}

/// `strptime(text, pattern)`: 22007 if the text does not have the pattern's form.
pub fn strptime(text: &str, pattern: &str) -> Result<i64> {
    // What is shown with an offset or in a zone is the time in UTC.
    strptime_moment(text, pattern)
}

/// The moment that a text with an offset or a zone means.
pub fn strptime_moment(text: &str, pattern: &str) -> Result<i64> {
    let (local, offset, zone) = read(text, pattern)?;
    let moment = match zone {
        Some(zone) => zone.moment(local)?,
        None => local,
    };
    moment.checked_sub(offset * SECOND).ok_or_else(|| datetime_out_of_range("timestamp"))
}

/// What a text shows: the local time, the offset in seconds and the zone.
fn read(text: &str, pattern: &str) -> Result<(i64, i64, Option<Zone>)> {
    let error = |what: &str| {
        Error::new(SqlState::INVALID_DATETIME, format!("cannot read \"{text}\" by the format \"{pattern}\": {what}"))
    };
    let mut read = Read {
        offset: 0,
        zone: None,
        week: None,
        iso_year: None,
        weekday: None,
        year: 1900,
        month: 1,
        day: 1,
        day_of_year: None,
        hour: 0,
        minute: 0,
        second: 0,
        micros: 0,
        afternoon: None,
    };
    let (mut rest, mut items) = (text.trim_start(), pattern);
    while !items.is_empty() {
        match next_part(&mut items)? {
            Part::Text(literal) => {
                rest = rest.strip_prefix(literal).ok_or_else(|| error(&format!("no \"{literal}\"")))?;
            }
            Part::Item(letter, short) => read.item(&mut rest, letter, short, &error)?,
        }
    }
    if !rest.trim_end().is_empty() {
        return Err(error("trailing characters"));
    }
    let zone = match &read.zone {
        Some(name) => Some(Zone::find_abbreviated(name)?),
        None => None,
    };
    Ok((read.timestamp(&error)?, read.offset, zone))
}

impl Read {
    fn item(&mut self, rest: &mut &str, letter: char, short: bool, error: &dyn Fn(&str) -> Error) -> Result<()> {
        let mut number = |digits: usize, from: i64, to: i64, what: &str| {
            let count = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
            let (number, behind) = rest.split_at(count);
            *rest = behind;
            let number = number.parse().map_err(|_| error(&format!("no number for the {what}")))?;
            if (from..=to).contains(&number) { Ok(number) } else { Err(error(&format!("{what} out of range"))) }
        };
        match letter {
            'd' => self.day = number(2, 1, 31, "day")? as i32,
            'm' => self.month = number(2, 1, 12, "month")? as i32,
            'y' => {
                let year = number(2, 0, 99, "year")? as i32;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            'j' => self.day_of_year = Some(number(3, 1, 366, "day of the year")?),
            'H' => self.hour = number(2, 0, 23, "hour")?,
            'I' => self.hour = number(2, 1, 12, "hour")?,
            'M' => self.minute = number(2, 0, 59, "minute")?,
            'S' => self.second = number(2, 0, 59, "second")?,
            _ if short => return Err(unknown(letter, short)),
            'Y' => self.year = number(4, 1, 9999, "year")? as i32,
            'g' => self.micros = fraction(rest, 3).ok_or_else(|| error("no number for the milliseconds"))? * 1000,
            'f' => self.micros = fraction(rest, 6).ok_or_else(|| error("no number for the microseconds"))?,
            'a' => self.weekday = Some(name(rest, &DAYS, 3).ok_or_else(|| error("no weekday"))? as i64),
            'A' => self.weekday = Some(name(rest, &DAYS, usize::MAX).ok_or_else(|| error("no weekday"))? as i64),
            'u' => self.weekday = Some(number(1, 1, 7, "weekday")? - 1),
            'w' => self.weekday = Some((number(1, 0, 6, "weekday")? + 6) % 7),
            'U' | 'W' => self.week = Some((letter, number(2, 0, 53, "week")?)),
            'V' => self.week = Some((letter, number(2, 1, 53, "week")?)),
            'G' => self.iso_year = Some(number(4, 1, 9999, "year")?),
            'n' => self.micros = fraction(rest, 9).ok_or_else(|| error("no number for the nanoseconds"))? / 1000,
            'z' => self.offset = offset(rest).ok_or_else(|| error("no offset"))?,
            'Z' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-');
                let (zone, behind) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
                self.zone = Some(zone).filter(|zone| !zone.is_empty()).map(str::to_owned);
                *rest = behind;
            }
            'b' | 'h' => self.month = 1 + name(rest, &MONTHS, 3).ok_or_else(|| error("no month"))? as i32,
            'B' => self.month = 1 + name(rest, &MONTHS, usize::MAX).ok_or_else(|| error("no month"))? as i32,
            'p' => {
                self.afternoon = Some(name(rest, &["AM", "PM"], 2).ok_or_else(|| error("neither AM nor PM"))? == 1);
            }
            _ => return Err(unknown(letter, short)),
        }
        Ok(())
    }

    /// The day that a week of a year and a weekday mean, which is the first of the week if there is none.
    fn day_of_week(&self) -> Option<i64> {
        let (weeks, week) = self.week?;
        if weeks == 'V' {
            // The fourth of January is in the first week.
            let fourth = days_from_civil(self.iso_year.unwrap_or(self.year.into()), 1, 4);
            return Some(fourth - monday_based(fourth) + (week - 1) * 7 + self.weekday.unwrap_or(0));
        }
        let first = days_from_civil(self.year.into(), 1, 1);
        let sunday = i64::from(weeks == 'U');
        let weekday = self.weekday.map_or(0, |weekday| (weekday + sunday) % 7);
        // How far the first day of the first whole week is.
        let ahead = (7 - (monday_based(first) + sunday) % 7) % 7;
        Some(first + ahead + (week - 1) * 7 + weekday)
    }

    fn timestamp(&self, error: &dyn Fn(&str) -> Error) -> Result<i64> {
        let days = match self.day_of_year {
            None if let Some(days) = self.day_of_week() => days,
            None => make_date(self.year, self.month, self.day)?.into(),
            Some(366) if !super::is_leap_year(self.year.into()) => return Err(error("day of the year out of range")),
            Some(day) => days_from_civil(self.year.into(), 1, 1) + day - 1,
        };
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let micros = hour * HOUR + self.minute * MINUTE + self.second * SECOND + self.micros;
        debug_assert!(micros < DAY);
        timestamp(days, micros).ok_or_else(|| datetime_out_of_range("timestamp"))
    }
}

/// The number of a day's weekday, from Monday on. The first of 1970 was a Thursday.
fn monday_based(days: i64) -> i64 {
    (days + 3).rem_euclid(7)
}

/// An offset as `+02`, `+02:30`, `-0230` or `Z`, in seconds.
fn offset(rest: &mut &str) -> Option<i64> {
    if let Some(behind) = rest.strip_prefix('Z') {
        *rest = behind;
        return Some(0);
    }
    let sign = match rest.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two = |text: &str| text.get(..2)?.parse::<i64>().ok().filter(|_| text.as_bytes()[0].is_ascii_digit());
    let hours = two(&rest[1..])?;
    let mut behind = &rest[3..];
    let digits = behind.strip_prefix(':').unwrap_or(behind);
    let mut minutes = 0;
    if let Some(found) = two(digits).filter(|minutes| *minutes < 60) {
        (minutes, behind) = (found, &digits[2..]);
    }
    *rest = behind;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// Digits behind a point, as an integer with so many of them.
fn fraction(rest: &mut &str, digits: usize) -> Option<i64> {
    let count = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    let (number, behind) = rest.split_at(count);
    *rest = behind;
    let number: i64 = number.parse().ok()?;
    Some(number * 10i64.pow((digits - count) as u32))
}

/// Which of the names, or of their first letters, the text begins with, in any case.
fn name(rest: &mut &str, names: &[&str], letters: usize) -> Option<usize> {
    let found = names.iter().position(|name| {
        let name = &name[..name.len().min(letters)];
        rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
    })?;
    *rest = &rest[names[found].len().min(letters)..];
    Some(found)
}
