//! `strftime` and `strptime`: C's patterns for dates and times, as DuckDB has them.

use std::fmt::Write;

use base::{Error, Result, SqlState};

use super::civil::timestamp;
use super::to_char::{DAYS, MONTHS};
use super::{DAY, Field, HOUR, MINUTE, Moment, SECOND, days_from_civil, extract_date, make_date};
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
    let (text, rest) = pattern.split_at(pattern.find('%').unwrap_or(pattern.len()));
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
    if super::is_infinite(value) {
        return Ok(super::format_timestamp(value));
    }
    let moment = Moment::from_micros(value);
    let (mut out, mut rest) = (String::with_capacity(pattern.len() + 16), pattern);
    while !rest.is_empty() {
        match next_part(&mut rest)? {
            Part::Text(text) => out.push_str(text),
            Part::Item(letter, short) => write_item(&mut out, &moment, letter, short)?,
        }
        check_length(out.len())?;
    }
    Ok(out)
}

fn write_item(out: &mut String, moment: &Moment, letter: char, short: bool) -> Result<()> {
    let field = |field| extract_date(field, moment.days);
    let (month, year) = (moment.date.month as usize - 1, i64::from(moment.date.year));
    let weekday = field(Field::IsoDayOfWeek)? as usize - 1;
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
        'W' => ((field(Field::DayOfYear)? + 6 - weekday as i64) / 7, 2),
        'V' => (field(Field::Week)?, 2),
        'G' => (field(Field::IsoYear)?, 4),
        _ => {
            let text = match letter {
                'a' => &DAYS[weekday][..3],
                'A' => DAYS[weekday],
                'b' | 'h' => &MONTHS[month][..3],
                'B' => MONTHS[month],
                'p' if moment.hour < 12 => "AM",
                'p' => "PM",
                'z' => "+00",
                'Z' => "",
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
    let _ = write!(out, "{number:0width$}");
    Ok(())
}

/// Letters that stand for items, and signs between them.
fn write_all(out: &mut String, moment: &Moment, items: &str) -> Result<()> {
    for c in items.chars() {
        if c.is_ascii_alphabetic() { write_item(out, moment, c, false)? } else { out.push(c) }
    }
    Ok(())
}

/// What `strptime` has read: 1900-01-01 00:00:00 where the pattern says nothing.
struct Read {
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
    let error = |what: &str| {
        Error::new(SqlState::INVALID_DATETIME, format!("cannot read \"{text}\" by the format \"{pattern}\": {what}"))
    };
    let mut read = Read {
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
    read.timestamp(&error)
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
            'a' => drop(name(rest, &DAYS, 3).ok_or_else(|| error("no weekday"))?),
            'A' => drop(name(rest, &DAYS, usize::MAX).ok_or_else(|| error("no weekday"))?),
            'b' | 'h' => self.month = 1 + name(rest, &MONTHS, 3).ok_or_else(|| error("no month"))? as i32,
            'B' => self.month = 1 + name(rest, &MONTHS, usize::MAX).ok_or_else(|| error("no month"))? as i32,
            'p' => {
                self.afternoon = Some(name(rest, &["AM", "PM"], 2).ok_or_else(|| error("neither AM nor PM"))? == 1);
            }
            _ => return Err(unknown(letter, short)),
        }
        Ok(())
    }

    fn timestamp(&self, error: &dyn Fn(&str) -> Error) -> Result<i64> {
        let days = match self.day_of_year {
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
