//! `to_timestamp(text, pattern)` and `to_date(text, pattern)`: reading dates and times by PostgreSQL's template patterns.
//!
//! Blanks before fields do not matter. A separator or blank of the pattern stands for one of the text, or for nothing; other
//! characters of the pattern stand for one character, whichever. A number takes as many digits as its field has, or all there
//! are if no digit can follow. With `FX` the text must have the pattern's blanks.

use base::{Error, Result, SqlState};

use super::to_char::{DAYS, MONTHS};
use super::{Civil, DAY, HOUR, MINUTE, SECOND, days_from_civil, days_in_month};

/// A number of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Year(usize),
    /// `Y,YYY`
    YearWithComma,
    IsoYear(usize),
    Century,
    Month,
    Day,
    DayOfYear,
    DayOfWeek,
    IsoDayOfYear,
    IsoDayOfWeek,
    Week,
    WeekOfMonth,
    IsoWeek,
    Julian,
    /// Which is read, and means nothing.
    Quarter,
    Hour12,
    Hour24,
    Minute,
    Second,
    SecondOfDay,
    Milliseconds,
    /// Digits behind the point of a second, other than milliseconds.
    Fraction(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Number(Number),
    /// Names, and how many of their letters stand in the text.
    Month(usize),
    Day(usize),
    RomanMonth,
    Meridiem(bool),
    Era(bool),
    /// `FX`: blanks count.
    Exact,
    Blank,
    Separator,
    Other,
    /// A time zone, which cannot be read.
    Zone,
}

/// A part of a pattern, and how it is written.
#[derive(Clone, Copy, Debug)]
struct Part<'p> {
    item: Item,
    word: &'p str,
    /// `FM` before it, `TH` behind it.
    fill: bool,
    ordinal: bool,
}

/// Words in upper case; longer ones stand before their beginnings.
const WORDS: [(&str, Item); 53] = {
    use Item::{Day, Era, Exact, Meridiem, Month, Number as N, RomanMonth, Zone};
    use Number::*;
    [
        ("A.D.", Era(true)),
        ("A.M.", Meridiem(true)),
        ("AD", Era(false)),
        ("AM", Meridiem(false)),
        ("B.C.", Era(true)),
        ("BC", Era(false)),
        ("CC", N(Century)),
        ("DAY", Day(usize::MAX)),
        ("DDD", N(DayOfYear)),
        ("DD", N(Number::Day)),
        ("DY", Day(3)),
        ("D", N(DayOfWeek)),
        ("FF1", N(Fraction(1))),
        ("FF2", N(Fraction(2))),
        ("FF3", N(Fraction(3))),
        ("FF4", N(Fraction(4))),
        ("FF5", N(Fraction(5))),
        ("FF6", N(Fraction(6))),
        ("FX", Exact),
        ("HH24", N(Hour24)),
        ("HH12", N(Hour12)),
        ("HH", N(Hour12)),
        ("IDDD", N(IsoDayOfYear)),
        ("ID", N(IsoDayOfWeek)),
        ("IW", N(IsoWeek)),
        ("IYYY", N(IsoYear(4))),
        ("IYY", N(IsoYear(3))),
        ("IY", N(IsoYear(2))),
        ("I", N(IsoYear(1))),
        ("J", N(Julian)),
        ("MI", N(Minute)),
        ("MM", N(Number::Month)),
        ("MONTH", Month(usize::MAX)),
        ("MON", Month(3)),
        ("MS", N(Milliseconds)),
        ("OF", Zone),
        ("P.M.", Meridiem(true)),
        ("PM", Meridiem(false)),
        ("Q", N(Quarter)),
        ("RM", RomanMonth),
        ("SSSSS", N(SecondOfDay)),
        ("SSSS", N(SecondOfDay)),
        ("SS", N(Second)),
        ("TZH", Zone),
        ("TZM", Zone),
        ("TZ", Zone),
        ("US", N(Fraction(6))),
        ("WW", N(Week)),
        ("W", N(WeekOfMonth)),
        ("Y,YYY", N(YearWithComma)),
        ("YYYY", N(Year(4))),
        ("YYY", N(Year(3))),
        ("YY", N(Year(2))),
    ]
};

impl Number {
    /// How many digits the text has, unless more can be taken.
    fn digits(self) -> usize {
        match self {
            Self::Year(digits) | Self::IsoYear(digits) | Self::Fraction(digits) => digits,
            Self::YearWithComma => 5,
            Self::DayOfYear | Self::IsoDayOfYear | Self::Milliseconds => 3,
            Self::DayOfWeek | Self::IsoDayOfWeek | Self::WeekOfMonth | Self::Quarter | Self::Julian => 1,
            Self::SecondOfDay => 4,
            _ => 2,
        }
    }
}

fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

fn parts(pattern: &str) -> Vec<Part<'_>> {
    let (mut all, mut rest, mut fill) = (Vec::new(), pattern, false);
    while let Some(first) = rest.chars().next() {
        let starts = |word: &str| rest.get(..word.len()).is_some_and(|p| p.eq_ignore_ascii_case(word));
        if starts("FM") || starts("TM") {
            (fill, rest) = (starts("FM"), &rest[2..]);
            continue;
        }
        let known = WORDS.iter().find(|(word, _)| starts(word)).copied();
        let known = known.or_else(|| starts("Y").then_some(("Y", Item::Number(Number::Year(1)))));
        if let Some((word, item)) = known {
            let (word, behind) = rest.split_at(word.len());
            let ordinal = behind.get(..2).is_some_and(|end| end.eq_ignore_ascii_case("TH"));
            all.push(Part { item, word, fill, ordinal });
            rest = &behind[if ordinal { 2 } else { 0 }..];
            fill = false;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        fill = false;
        let mut other = |item| all.push(Part { item, word: "", fill: false, ordinal: false });
        match first {
            '"' => {
                let mut characters = rest.char_indices();
                rest = loop {
                    match characters.next() {
                        None => break "",
                        Some((at, '"')) => break &rest[at + 1..],
                        Some((_, '\\')) => {
                            if characters.next().is_some() {
                                other(Item::Other);
                            }
                        }
                        Some(_) => other(Item::Other),
                    }
                };
            }
            c if is_separator(c) => other(Item::Separator),
            c if c.is_whitespace() => other(Item::Blank),
            _ => other(Item::Other),
        }
    }
    all
}

/// What was read.
#[derive(Clone, Debug, Default)]
struct Read {
    year: Option<i64>,
    /// How many digits the year has.
    digits: usize,
    century: Option<i64>,
    before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    day_of_week: Option<i64>,
    week: Option<i64>,
    week_of_month: Option<i64>,
    julian: Option<i64>,
    /// Whether fields are of the ISO year, once that is known.
    iso: Option<bool>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    second_of_day: Option<i64>,
    millis: Option<i64>,
    micros: Option<i64>,
    afternoon: Option<bool>,
    half_day: bool,
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_DATETIME, message)
}

/// The timestamp that a text in the form of a pattern is; a field that the pattern does not have is its first value.
pub fn from_char(text: &str, pattern: &str) -> Result<i64> {
    let parts = parts(pattern);
    let mut read = Read::default();
    read.text(text, &parts)?;
    let out_of_range =
        || Error::new(SqlState::DATETIME_OVERFLOW, format!("date/time field value out of range: \"{text}\""));
    let days = read.days()?.ok_or_else(out_of_range)?;
    let time = read.time()?.ok_or_else(out_of_range)?;
    let timestamp = days.checked_mul(DAY).and_then(|t| t.checked_add(time));
    timestamp
        .filter(|t| *t >= super::MIN_TIMESTAMP)
        .ok_or_else(|| Error::new(SqlState::DATETIME_OVERFLOW, format!("timestamp out of range: \"{text}\"")))
}

impl Read {
    fn text(&mut self, text: &str, parts: &[Part<'_>]) -> Result<()> {
        let (mut rest, mut exact) = (text, false);
        // Blanks and separators of the text that no part of the pattern stands for.
        let mut skipped = 0i64;
        for (at, part) in parts.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            if !exact && part.item != Item::Other {
                let trimmed = rest.trim_start();
                skipped += (rest.len() - trimmed.len()) as i64;
                rest = trimmed;
            }
            let step = |rest: &mut &str| {
                let length = rest.chars().next().map_or(0, char::len_utf8);
                *rest = &rest[length..];
            };
            match part.item {
                Item::Blank | Item::Separator if exact => step(&mut rest),
                Item::Blank | Item::Separator => {
                    skipped -= 1;
                    if rest.chars().next().is_some_and(|c| c.is_whitespace() || is_separator(c)) {
                        step(&mut rest);
                        skipped += 1;
                    }
                    continue;
                }
                Item::Other if !exact && skipped > 0 => skipped -= 1,
                Item::Other => step(&mut rest),
                Item::Exact => exact = true,
                item => {
                    self.field(&mut rest, *part, item, is_number_ended(&parts[at + 1..]))?;
                    if part.ordinal && matches!(item, Item::Number(_)) {
                        step(&mut rest);
                        step(&mut rest);
                    }
                    skipped = 0;
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, rest: &mut &str, part: Part<'_>, item: Item, ended: bool) -> Result<()> {
        match item {
            Item::Month(letters) => {
                let month = name(rest, &MONTHS, letters, part.word)? as i64 + 1;
                self.convention(false)?;
                self.put(part.word, |r| &mut r.month, month)
            }
            Item::Day(letters) => {
                // Monday is the first of the names, Sunday the first day.
                let day = (name(rest, &DAYS, letters, part.word)? as i64 + 1) % 7 + 1;
                self.convention(false)?;
                self.put(part.word, |r| &mut r.day_of_week, day)
            }
            Item::RomanMonth => {
                const ROMAN: [&str; 12] = ["VIII", "VII", "III", "XII", "VI", "II", "IV", "XI", "IX", "I", "V", "X"];
                const MONTH: [i64; 12] = [8, 7, 3, 12, 6, 2, 4, 11, 9, 1, 5, 10];
                let month = MONTH[name(rest, &ROMAN, usize::MAX, part.word)?];
                self.convention(false)?;
                self.put(part.word, |r| &mut r.month, month)
            }
            Item::Meridiem(points) => {
                let names = if points { ["A.M.", "P.M."] } else { ["AM", "PM"] };
                self.afternoon = Some(name(rest, &names, usize::MAX, part.word)? == 1);
                self.half_day = true;
                Ok(())
            }
            Item::Era(points) => {
                let names = if points { ["A.D.", "B.C."] } else { ["AD", "BC"] };
                self.before_christ = name(rest, &names, usize::MAX, part.word)? == 1;
                Ok(())
            }
            Item::Zone => {
                let message = format!("formatting field \"{}\" is only supported in to_char", part.word);
                Err(Error::unsupported(message))
            }
            Item::Number(number) => self.number(rest, part, number, ended || part.fill || part.ordinal),
            Item::Exact | Item::Blank | Item::Separator | Item::Other => Ok(()),
        }
    }

    fn number(&mut self, rest: &mut &str, part: Part<'_>, number: Number, ended: bool) -> Result<()> {
        use Number as N;
        let word = part.word;
        if number == N::YearWithComma {
            return self.year_with_comma(rest, word);
        }
        let (value, digits) = integer(rest, number.digits(), ended, word)?;
        match number {
            N::IsoYear(_) | N::IsoDayOfYear | N::IsoDayOfWeek | N::IsoWeek => self.convention(true)?,
            N::Year(_) | N::Century | N::Month | N::Day | N::DayOfYear | N::DayOfWeek | N::Week | N::WeekOfMonth => {
                self.convention(false)?;
            }
            _ => {}
        }
        match number {
            N::Year(places) | N::IsoYear(places) => {
                self.digits = places;
                self.put(word, |r| &mut r.year, value)?;
                if places < 4 && digits < 4 {
                    self.year = Some(near_2020(value));
                }
                Ok(())
            }
            N::Century => self.put(word, |r| &mut r.century, value),
            N::Month => self.put(word, |r| &mut r.month, value),
            N::Day => self.put(word, |r| &mut r.day, value),
            N::DayOfYear | N::IsoDayOfYear => self.put(word, |r| &mut r.day_of_year, value),
            N::DayOfWeek => self.put(word, |r| &mut r.day_of_week, value),
            N::IsoDayOfWeek => self.put(word, |r| &mut r.day_of_week, value % 7 + 1),
            N::Week | N::IsoWeek => self.put(word, |r| &mut r.week, value),
            N::WeekOfMonth => self.put(word, |r| &mut r.week_of_month, value),
            N::Julian => self.put(word, |r| &mut r.julian, value),
            N::Quarter => Ok(()),
            N::Hour12 => {
                self.half_day = true;
                self.put(word, |r| &mut r.hour, value)
            }
            N::Hour24 => self.put(word, |r| &mut r.hour, value),
            N::Minute => self.put(word, |r| &mut r.minute, value),
            N::Second => self.put(word, |r| &mut r.second, value),
            N::SecondOfDay => self.put(word, |r| &mut r.second_of_day, value),
            N::Milliseconds => self.put(word, |r| &mut r.millis, value * 10i64.pow(3 - digits.min(3) as u32)),
            N::Fraction(_) => self.put(word, |r| &mut r.micros, value * 10i64.pow(6 - digits.min(6) as u32)),
            N::YearWithComma => Ok(()),
        }
    }

    /// Notes that a field is of the ISO year, or of the Gregorian one: a pattern may not have both.
    fn convention(&mut self, iso: bool) -> Result<()> {
        if *self.iso.get_or_insert(iso) == iso {
            return Ok(());
        }
        Err(invalid("invalid combination of date conventions".to_owned())
            .hint("do not mix Gregorian and ISO week date conventions in a pattern"))
    }

    /// `2,020`
    fn year_with_comma(&mut self, rest: &mut &str, word: &str) -> Result<()> {
        let (thousands, _) = integer(rest, usize::MAX, true, word)?;
        let behind =
            rest.strip_prefix(',').map(str::trim_start).filter(|b| b.starts_with(|c: char| c.is_ascii_digit()));
        let Some(behind) = behind else {
            return Err(invalid(format!("invalid input string for \"{word}\"")));
        };
        let digits = behind.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let year = thousands * 1000 + behind[..digits].parse::<i64>().unwrap_or(0);
        *rest = &behind[digits..];
        self.digits = 4;
        self.convention(false)?;
        self.put(word, |r| &mut r.year, year)
    }

    /// Sets a field, which may be set to the same again.
    fn put(&mut self, word: &str, field: impl Fn(&mut Self) -> &mut Option<i64>, value: i64) -> Result<()> {
        let field = field(self);
        if field.is_some_and(|known| known != 0 && known != value) {
            let message = format!("conflicting values for \"{word}\" field in formatting string");
            return Err(invalid(message).hint("this value contradicts a previous setting for the same field type"));
        }
        *field = Some(value);
        Ok(())
    }

    /// Microseconds of the day; none if a field is out of its range.
    fn time(&self) -> Result<Option<i64>> {
        let of_day = self.second_of_day.unwrap_or(0);
        let mut hour = self.hour.unwrap_or(of_day / 3600);
        let minute = self.minute.unwrap_or(of_day / 60 % 60);
        let second = self.second.unwrap_or(of_day % 60);
        if self.half_day {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(invalid(message).hint("use the 24-hour clock, or give an hour between 1 and 12"));
            }
            hour = hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
        }
        let fraction = self.millis.unwrap_or(0) * 1000 + self.micros.unwrap_or(0);
        let valid = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..SECOND).contains(&fraction);
        let micros = hour * HOUR + minute * MINUTE + second * SECOND + fraction;
        Ok(valid.then_some(micros))
    }

    /// Days since 1970-01-01; none if a field is out of its range. Fields that are 0 are as if they were not there.
    fn days(&self) -> Result<Option<i64>> {
        let set = |field: Option<i64>| field.filter(|&value| value != 0);
        let (mut year, mut month, mut day) = (self.full_year(), 1, 1);
        let iso = self.iso == Some(true);
        if let Some(julian) = set(self.julian) {
            let days = julian + i64::from(super::MIN_DATE);
            let Some(days) = i32::try_from(days).ok().filter(|days| *days <= super::MAX_DATE) else { return Ok(None) };
            let date = Civil::from_days(days);
            (year, month, day) = (Some(date.year.into()), date.month.into(), date.day.into());
        }
        let mut of_year = set(self.day_of_year);
        if let Some(week) = set(self.week) {
            if iso {
                // Sunday, the first day, is the last of an ISO week.
                let of_week = set(self.day_of_week).map_or(0, |d| (d + 5) % 7);
                return Ok(Some(iso_year_start(year.unwrap_or(0)) + (week - 1) * 7 + of_week));
            }
            of_year = Some((week - 1) * 7 + 1);
        }
        day = set(self.day).unwrap_or(day);
        day = set(self.week_of_month).map_or(day, |week| (week - 1) * 7 + 1);
        month = set(self.month).unwrap_or(month);
        let known = year.unwrap_or(0);
        if let Some(of_year) = of_year.filter(|_| month <= 1 || day <= 1) {
            if year.is_none() {
                return Err(invalid("cannot calculate day of year without year information".to_owned()));
            }
            let first = if iso { iso_year_start(known) } else { days_from_civil(known, 1, 1) };
            if iso || !(1..=366).contains(&of_year) {
                return Ok(iso.then_some(first + of_year - 1));
            }
            let mut left = of_year;
            let of_month = (1..12u32).find(|&of_month| {
                let days = i64::from(days_in_month(known, of_month));
                let here = left <= days;
                left -= if here { 0 } else { days };
                here
            });
            month = if month <= 1 { of_month.unwrap_or(12).into() } else { month };
            day = if day <= 1 { left } else { day };
        }
        let valid = (1..=12).contains(&month)
            && (1..=days_in_month(known, month as u32).into()).contains(&day)
            && (-4713..=294_276).contains(&known);
        Ok(valid.then(|| days_from_civil(known, month as u32, day as u32)))
    }

    /// The year, counted astronomically.
    fn full_year(&self) -> Option<i64> {
        let era = if self.before_christ { -1 } else { 1 };
        match (self.year, self.century) {
            (Some(year), Some(century)) if self.digits <= 2 => {
                let (century, year) = (century * era, year % 100);
                Some(match (year, century >= 0) {
                    (0, true) => century * 100,
                    (0, false) => century * 100 + 1,
                    (year, true) => year + (century - 1) * 100,
                    (year, false) => (century + 1) * 100 - year + 1,
                })
            }
            (Some(year), _) => {
                let year = year * era;
                Some(if year < 0 { year + 1 } else { year })
            }
            (None, Some(century)) => {
                let century = century * era;
                Some(if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 })
            }
            (None, None) => None,
        }
    }
}

/// The Monday of the first ISO week of a year: the one with 4 January.
fn iso_year_start(year: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    // 1970-01-01 was a Thursday.
    fourth - (fourth + 3).rem_euclid(7)
}

/// Years of two and three digits are those next to 2020.
fn near_2020(year: i64) -> i64 {
    year + match year {
        ..70 => 2000,
        70..100 => 1900,
        100..520 => 2000,
        520..1000 => 1000,
        _ => 0,
    }
}

/// Whether no digit of the text can belong to what comes next.
fn is_number_ended(next: &[Part<'_>]) -> bool {
    !matches!(next.first().map(|part| part.item), Some(Item::Number(_)))
}

/// An integer and how many characters it takes: all that are there, or so many.
fn integer(rest: &mut &str, most: usize, all: bool, word: &str) -> Result<(i64, usize)> {
    *rest = rest.trim_start();
    let sign = usize::from(rest.starts_with(['-', '+']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = sign + digits;
    let taken = if all { whole } else { whole.min(most) };
    if !all && rest.chars().count() < most {
        return Err(invalid(format!("source string too short for \"{word}\" formatting field"))
            .hint("if the text has no fixed width, try the FM modifier"));
    }
    if digits == 0 || (!all && taken < most) {
        let shown: String = rest.chars().take(most.min(10)).collect();
        return Err(invalid(format!("invalid value \"{shown}\" for \"{word}\"")).hint("the value must be an integer"));
    }
    let (number, behind) = rest.split_at(taken);
    *rest = behind;
    let value: i32 = number.parse().map_err(|_| {
        let message = format!("value for \"{word}\" in source string is out of range");
        Error::new(SqlState::DATETIME_OVERFLOW, message)
    })?;
    Ok((value.into(), taken))
}

/// Which of the names, or of their first letters, the text begins with, in any case.
fn name(rest: &mut &str, names: &[&str], letters: usize, word: &str) -> Result<usize> {
    let found = names.iter().position(|name| {
        let name = &name[..name.len().min(letters)];
        rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
    });
    let Some(found) = found else {
        let shown: String = rest.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        return Err(invalid(format!("invalid value \"{shown}\" for \"{word}\""))
            .hint("the value did not match any of those that this field can have"));
    };
    *rest = &rest[names[found].len().min(letters)..];
    Ok(found)
}
