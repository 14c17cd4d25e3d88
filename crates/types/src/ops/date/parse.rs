//! Dates and timestamps from text: ISO forms fast, PostgreSQL's other common forms by tokens.

use super::civil::{Civil, checked_days, timestamp};
use super::zone::Zone;
use super::{DAY, HOUR, MIN_TIMESTAMP, MINUTE, SECOND, timestamp_to_date};
use crate::ops::Bad;
use crate::ops::number::trim;

/// Reads a date. Forms: `1998-12-01`, `19981201`, `981201`, `1998 12 1`, `1998/12/1`, `12/1/1998` (month first), `1-Dec-1998`,
/// `December 1, 1998`, `1998.335` (the day of the year), `J2451149` (the Julian day), `epoch`; `BC` may follow; a time may follow and is
/// checked and dropped.
#[inline]
pub fn parse_date(text: &[u8]) -> Result<i32, Bad> {
    if let Some(days) = iso_date(text) {
        return days;
    }
    if let Some(infinite) = infinity(trim(text)) {
        return Ok(timestamp_to_date(infinite));
    }
    general(trim(text)).map(|read| read.days)
}

/// Reads a timestamp: a date and perhaps a time (`10:00`, `10:00:00.123`, `5:30 PM`) after a space or `T`. A zone that
/// follows is checked and dropped, as in PostgreSQL.
#[inline]
pub fn parse_timestamp(text: &[u8]) -> Result<i64, Bad> {
    if text.len() >= 19
        && matches!(text[10], b' ' | b'T')
        && let Some(days) = iso_date(&text[..10])
        && let Some(time) = iso_time(&text[11..])
    {
        return timestamp(days?.into(), time).ok_or(Bad::Range);
    }
    if let Some(infinite) = infinity(trim(text)) {
        return Ok(infinite);
    }
    let read = general(trim(text))?;
    timestamp(read.days.into(), read.time).ok_or(Bad::Range)
}

/// Reads a moment: as a timestamp, in the zone that follows (`Z`, `+02`, `CET`, `Europe/Berlin`), else in `session`.
pub fn parse_timestamptz(text: &[u8], session: &Zone) -> Result<i64, Bad> {
    let text = trim(text);
    if let Some(infinite) = infinity(text) {
        return Ok(infinite);
    }
    let (local, zone) = match iso_moment(text) {
        Some((local, offset)) => (local?, Some(Shift::Fixed(offset?))),
        None => {
            let read = general(text)?;
            (timestamp(read.days.into(), read.time).ok_or(Bad::Range)?, read.zone)
        }
    };
    let moment = match zone {
        None => session.moment(local).map_err(|_| Bad::Range)?,
        Some(Shift::Named(zone)) => zone.moment(local).map_err(|_| Bad::Range)?,
        Some(Shift::Fixed(east)) => local.checked_sub(east).ok_or(Bad::Range)?,
    };
    if moment < MIN_TIMESTAMP { Err(Bad::Range) } else { Ok(moment) }
}

/// The timestamp that `infinity` or `-infinity` is; none of other texts.
fn infinity(text: &[u8]) -> Option<i64> {
    let (infinite, word) = text.strip_prefix(b"-").map_or((i64::MAX, text), |word| (i64::MIN, word));
    word.eq_ignore_ascii_case(b"infinity").then_some(infinite)
}

/// Whether a text that is a timestamp names a zone.
pub fn names_zone(text: &[u8]) -> bool {
    let text = trim(text);
    iso_moment(text).is_some() || general(text).is_ok_and(|read| read.zone.is_some())
}

/// `YYYY-MM-DD HH:MM:SS`, perhaps a fraction, and an offset: local time and offset; none if the text has another form.
#[inline]
fn iso_moment(text: &[u8]) -> Option<(Result<i64, Bad>, Result<i64, Bad>)> {
    if text.len() < 20 || !matches!(text[10], b' ' | b'T') {
        return None;
    }
    let end = 19 + text[19..].iter().position(|b| !b.is_ascii_digit() && *b != b'.')?;
    let east = match &text[end..] {
        b"Z" | b"z" => Ok(0),
        zone => offset(zone),
    };
    let days = iso_date(&text[..10])?;
    let time = iso_time(&text[11..end])?;
    // Other zones, and blanks before them, take the long way.
    let east = if east == Err(Bad::Syntax) { return None } else { east };
    Some((days.and_then(|days| timestamp(days.into(), time).ok_or(Bad::Range)), east))
}

/// Reads a time of day: `10:00`, `10:00:00.123`, `5:30 PM`, `040506`; a date before it and a zone behind it are dropped.
pub fn parse_time(text: &[u8]) -> Result<i64, Bad> {
    let text = trim(text);
    if let Some(time) = iso_time(text) {
        return Ok(time);
    }
    if text.eq_ignore_ascii_case(b"allballs") {
        return Ok(0);
    }
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if text.get(digits) == Some(&b':') {
        return tokens(text, Draft::default())?.time_of_day();
    }
    let is_compact = matches!(digits, 4 | 6) && !matches!(text.get(digits), Some(b'-' | b'/'));
    if is_compact || matches!(text, [b'T' | b't', b'0'..=b'9', ..]) {
        return tokens(text, Draft { expects_time: true, ..Draft::default() })?.time_of_day();
    }
    let draft = tokens(text, Draft::default())?;
    if draft.time.is_none() {
        return Err(Bad::Syntax);
    }
    draft.finish().map(|read| read.time)
}

#[inline]
fn digits2(text: &[u8]) -> Option<u32> {
    let (a, b) = (text[0].wrapping_sub(b'0'), text[1].wrapping_sub(b'0'));
    (a <= 9 && b <= 9).then(|| u32::from(a) * 10 + u32::from(b))
}

/// Exactly `YYYY-MM-DD`; none if the text has another form.
#[inline]
fn iso_date(text: &[u8]) -> Option<Result<i32, Bad>> {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let year = digits2(text)? * 100 + digits2(&text[2..])?;
    let (month, day) = (digits2(&text[5..])?, digits2(&text[8..])?);
    Some(if year == 0 { None } else { checked_days(year.into(), month, day) }.ok_or(Bad::Range))
}

/// Exactly `HH:MM:SS` with up to six more digits after a point, each in its range.
#[inline]
fn iso_time(text: &[u8]) -> Option<i64> {
    if text.len() < 8 || text[2] != b':' || text[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits2(text)?, digits2(&text[3..])?, digits2(&text[6..])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    if text.len() > 8 {
        let fraction = &text[9..];
        if text[8] != b'.' || fraction.len() > 6 || fraction.is_empty() {
            return None;
        }
        for i in 0..6 {
            let digit = fraction.get(i).map_or(0, |b| b.wrapping_sub(b'0'));
            if digit > 9 {
                return None;
            }
            micros = micros * 10 + i64::from(digit);
        }
    }
    Some(i64::from(hour) * HOUR + i64::from(minute) * MINUTE + i64::from(second) * SECOND + micros)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The index of the name that `word` is an abbreviation of, with at least three letters.
fn named(names: &[&str], word: &str) -> Option<usize> {
    let short = |name: &str| word == &name[..3] || word == name || (word == "sept" && name == "september");
    names.iter().position(|name| short(name))
}

fn unsigned(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0u32, |value, b| b.is_ascii_digit().then(|| value * 10 + u32::from(b - b'0')))
}

/// `HH:MM[:SS[.fraction]]` in microseconds; 24:00:00 and second 60 are allowed, as in PostgreSQL.
pub(super) fn time_of_day(text: &[u8]) -> Result<i64, Bad> {
    let mut parts = text.split(|b| *b == b':');
    let number = |part: Option<&[u8]>| part.and_then(unsigned).ok_or(Bad::Syntax);
    let hour = number(parts.next())?;
    let minute = number(parts.next())?;
    let (second, micros) = match parts.next() {
        Some(part) => seconds(part)?,
        None => (0, 0),
    };
    if parts.next().is_some() {
        return Err(Bad::Syntax);
    }
    let time = i64::from(hour) * HOUR + i64::from(minute) * MINUTE + i64::from(second) * SECOND + micros;
    if minute > 59 || second > 60 || hour > 24 || time > DAY { Err(Bad::Range) } else { Ok(time) }
}

/// `SS[.fraction]` as whole seconds and microseconds, rounded.
pub(super) fn seconds(text: &[u8]) -> Result<(u32, i64), Bad> {
    let (whole, fraction) = match text.iter().position(|b| *b == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    Ok((unsigned(whole).ok_or(Bad::Syntax)?, fraction_micros(fraction)?))
}

/// The digits after a point as microseconds, rounded half up.
pub(super) fn fraction_micros(digits: &[u8]) -> Result<i64, Bad> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Bad::Syntax);
    }
    let digit = |i: usize| digits.get(i).map_or(0, |b| i64::from(b - b'0'));
    let micros = (0..6).fold(0, |value, i| value * 10 + digit(i));
    Ok(micros + i64::from(digit(6) >= 5))
}

/// `+05`, `-05:30`, `+0530`, `+05:30:15` as microseconds east of UTC.
pub fn offset(text: &[u8]) -> Result<i64, Bad> {
    let (sign, rest) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => return Err(Bad::Syntax),
    };
    let (hour, minute, second) = if rest.contains(&b':') {
        let mut parts = rest.split(|b| *b == b':').map(|part| unsigned(part).ok_or(Bad::Syntax));
        let result = (parts.next().unwrap_or(Ok(0))?, parts.next().unwrap_or(Ok(0))?, parts.next().unwrap_or(Ok(0))?);
        if parts.next().is_some() {
            return Err(Bad::Syntax);
        }
        result
    } else {
        let number = unsigned(rest).ok_or(Bad::Syntax)?;
        if rest.len() <= 2 { (number, 0, 0) } else { (number / 100, number % 100, 0) }
    };
    if hour > 15 || minute > 59 || second > 59 {
        return Err(Bad::Range);
    }
    Ok(sign * (i64::from(hour) * HOUR + i64::from(minute) * MINUTE + i64::from(second) * SECOND))
}

/// How far a local time is from UTC.
enum Shift {
    /// Microseconds east.
    Fixed(i64),
    /// As the zone has it at that time.
    Named(Zone),
}

/// What a text says.
struct Read {
    days: i32,
    /// Microseconds of the day.
    time: i64,
    zone: Option<Shift>,
}

/// What the tokens of a date have said so far.
#[derive(Default)]
struct Draft {
    year: Option<i64>,
    month: Option<u32>,
    day: Option<u32>,
    time: Option<i64>,
    zone: Option<Shift>,
    /// Whether the month has been named, not numbered.
    is_named: bool,
    /// Whether the next number is a time.
    expects_time: bool,
    bc: bool,
    /// Whether the year has at most two digits: these are such a year's before Christ, too.
    is_short: bool,
    pm: Option<bool>,
}

impl Draft {
    fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), Bad> {
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(Bad::Syntax),
        }
    }

    /// A number that stands alone, perhaps with a fraction: a time in digits behind a date, `YYYYMMDD` or `YYMMDD`, else what is next
    /// of month, day and year, as PostgreSQL's `DecodeNumber` has it.
    fn number(&mut self, digits: &[u8], fraction: &[u8]) -> Result<(), Bad> {
        if self.expects_time || self.year.is_some() && self.month.is_some() && self.day.is_some() {
            return self.compact_time(digits, fraction);
        }
        if !fraction.is_empty() {
            return Err(Bad::Syntax);
        }
        if let (None, None, None, 6 | 8..=12) = (self.year, self.month, self.day, digits.len()) {
            let (year, rest) = digits.split_at(digits.len() - 4);
            let rest = unsigned(rest).ok_or(Bad::Syntax)?;
            self.year_of(year)?;
            (self.month, self.day) = (Some(rest / 100), Some(rest % 100));
            return Ok(());
        }
        let value = unsigned(digits).ok_or(Bad::Syntax)?;
        let is_long = digits.len() > 2;
        match (self.year, self.month, self.day) {
            (None, None, None) if is_long => self.year_of(digits)?,
            (_, None, _) => self.month = Some(value),
            (None, Some(_), None) if self.is_named && is_long => self.year_of(digits)?,
            // `99 Jan 1999`: the first was the day.
            (Some(year), Some(_), None) if self.is_named && is_long && self.is_short => {
                self.day = Some((year % 100) as u32);
                self.year = None;
                self.year_of(digits)?;
            }
            (_, Some(_), None) => self.day = Some(value),
            _ => self.year_of(digits)?,
        }
        Ok(())
    }

    fn year_of(&mut self, digits: &[u8]) -> Result<(), Bad> {
        self.is_short = digits.len() <= 2;
        Self::set(&mut self.year, century(digits.len(), unsigned(digits).ok_or(Bad::Syntax)?))
    }

    /// `HHMMSS`, perhaps with a fraction, or `HHMM`.
    fn compact_time(&mut self, digits: &[u8], fraction: &[u8]) -> Result<(), Bad> {
        if !matches!((digits.len(), fraction), (6, _) | (4, [])) {
            return Err(Bad::Syntax);
        }
        let mut colons = Vec::with_capacity(16);
        for pair in digits.chunks(2) {
            colons.extend_from_slice(if colons.is_empty() { b"" } else { b":" });
            colons.extend_from_slice(pair);
        }
        colons.extend_from_slice(fraction);
        self.expects_time = false;
        // Four digits of another kind are no time.
        let time = time_of_day(&colons).map_err(|bad| if digits.len() == 4 { Bad::Syntax } else { bad })?;
        Self::set(&mut self.time, time)
    }

    /// The day with a number of those that begin at midnight of November 24, 4714 before Christ, and a part of it.
    fn julian(&mut self, digits: &[u8], fraction: &[u8]) -> Result<(), Bad> {
        const EPOCH: i32 = 2_440_588;
        let civil = Civil::from_days(unsigned(digits).ok_or(Bad::Syntax)? as i32 - EPOCH);
        self.bc = civil.year <= 0;
        Self::set(&mut self.year, i64::from(if self.bc { 1 - civil.year } else { civil.year }))?;
        Self::set(&mut self.month, civil.month)?;
        Self::set(&mut self.day, civil.day)?;
        if fraction.is_empty() {
            return Ok(());
        }
        let part: f64 = std::str::from_utf8(fraction).ok().and_then(|text| text.parse().ok()).ok_or(Bad::Syntax)?;
        Self::set(&mut self.time, (part * DAY as f64) as i64)
    }

    /// The day of a year with a number.
    fn day_of_year(&mut self, year: &[u8], day: &[u8]) -> Result<(), Bad> {
        let day = unsigned(day).ok_or(Bad::Syntax)?;
        self.year_of(year)?;
        let first = checked_days(self.year.unwrap_or(0), 1, 1).ok_or(Bad::Range)?;
        let civil = Civil::from_days(first + day as i32 - 1);
        if !(1..=366).contains(&day) || i64::from(civil.year) != self.year.unwrap_or(0) {
            return Err(Bad::Range);
        }
        (self.month, self.day) = (Some(civil.month), Some(civil.day));
        Ok(())
    }

    /// Fields joined by `-`, `/` or `.`: year first if it has three or more digits, else month first (or, around the
    /// name of a month, day first).
    fn joined(&mut self, token: &[u8], separator: u8) -> Result<(), Bad> {
        let mut parts = token.split(|b| *b == separator);
        let (Some(a), Some(b), c) = (parts.next(), parts.next(), parts.next()) else { return Err(Bad::Syntax) };
        if parts.next().is_some() {
            return Err(Bad::Syntax);
        }
        let name = |part: &[u8]| {
            let word = std::str::from_utf8(part).ok()?.to_ascii_lowercase();
            named(&MONTHS, &word).map(|m| m as u32 + 1)
        };
        let number = |part: &[u8]| unsigned(part).ok_or(Bad::Syntax);
        if separator == b'.' && c.is_none() && a.len() > 3 && b.len() == 3 {
            return self.day_of_year(a, b);
        }
        let c = c.ok_or(Bad::Syntax)?;
        let (year, month, day) = if let Some(month) = name(b) {
            if a.len() > 2 { (a, month, number(c)?) } else { (c, month, number(a)?) }
        } else if let Some(month) = name(a) {
            (c, month, number(b)?)
        } else if a.len() > 2 {
            (a, number(b)?, number(c)?)
        } else {
            (c, number(a)?, number(b)?)
        };
        self.is_short = year.len() <= 2;
        Self::set(&mut self.year, century(year.len(), number(year)?))?;
        Self::set(&mut self.month, month)?;
        Self::set(&mut self.day, day)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Bad> {
        let word = std::str::from_utf8(word).map_err(|_| Bad::Syntax)?.to_ascii_lowercase();
        match word.as_str() {
            "bc" => self.bc = true,
            "ad" | "at" | "on" => {}
            "t" => self.expects_time = true,
            "allballs" => Self::set(&mut self.time, 0)?,
            "am" => Self::set(&mut self.pm, false)?,
            "pm" => Self::set(&mut self.pm, true)?,
            _ => match named(&MONTHS, &word) {
                Some(month) => {
                    // What was taken for it is the day.
                    if !self.is_named && self.day.is_none() {
                        self.day = self.month.take();
                    }
                    self.is_named = true;
                    Self::set(&mut self.month, month as u32 + 1)?;
                }
                None if named(&WEEKDAYS, &word).is_some() => {}
                None => return Err(Bad::Syntax),
            },
        }
        Ok(())
    }

    /// The name of a zone.
    fn zone(&mut self, name: &[u8]) -> Result<(), Bad> {
        let name = std::str::from_utf8(name).map_err(|_| Bad::Syntax)?;
        let zone = match Zone::find_abbreviated(name) {
            Ok(zone) => Shift::Named(zone),
            // A zone of one's own, as POSIX has it: `PST+8` is west of UTC.
            Err(_) => {
                let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
                if letters < 3 {
                    return Err(Bad::Syntax);
                }
                Shift::Fixed(-offset(&name.as_bytes()[letters..])?)
            }
        };
        Self::set(&mut self.zone, zone)
    }

    /// The time, if there is nothing else.
    fn time_of_day(self) -> Result<i64, Bad> {
        if self.year.is_some() || self.month.is_some() || self.day.is_some() {
            return self.finish().map(|read| read.time);
        }
        self.half_day()
    }

    /// The time with AM or PM; midnight if there is none.
    fn half_day(&self) -> Result<i64, Bad> {
        let time = self.time.unwrap_or(0);
        let Some(pm) = self.pm else { return Ok(time) };
        if self.time.is_none() || !(0..13 * HOUR).contains(&time) {
            return Err(Bad::Range);
        }
        Ok(time % (12 * HOUR) + if pm { 12 * HOUR } else { 0 })
    }

    fn finish(self) -> Result<Read, Bad> {
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else { return Err(Bad::Syntax) };
        let year = if self.bc && self.is_short { year % 100 } else { year };
        if year == 0 {
            return Err(Bad::Range);
        }
        let days = checked_days(if self.bc { 1 - year } else { year }, month, day).ok_or(Bad::Range)?;
        let time = self.half_day()?;
        Ok(Read { days, time, zone: self.zone })
    }
}

/// Two-digit years are of 1970 to 2069.
fn century(length: usize, value: u32) -> i64 {
    match value {
        0..70 if length <= 2 => i64::from(value) + 2000,
        70..100 if length <= 2 => i64::from(value) + 1900,
        _ => i64::from(value),
    }
}

/// Any form.
fn general(text: &[u8]) -> Result<Read, Bad> {
    if text.eq_ignore_ascii_case(b"epoch") {
        return Ok(Read { days: 0, time: 0, zone: Some(Shift::Fixed(0)) });
    }
    tokens(text, Draft::default())?.finish()
}

/// What the tokens of a text say.
fn tokens(text: &[u8], mut draft: Draft) -> Result<Draft, Bad> {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let run = |from: usize, keep: &dyn Fn(u8) -> bool| {
            rest[from..].iter().position(|b| !keep(*b)).map_or(rest.len(), |i| from + i)
        };
        let used = match first {
            b' ' | b',' | b'\t'..=b'\r' => 1,
            b'+' | b'-' if draft.time.is_some() => {
                let end = run(1, &|b| b.is_ascii_digit() || b == b':');
                Draft::set(&mut draft.zone, Shift::Fixed(offset(&rest[..end])?))?;
                end
            }
            b'0'..=b'9' => {
                let digits = run(0, &|b| b.is_ascii_digit());
                match rest.get(digits) {
                    Some(b':') => {
                        let end = run(0, &|b| b.is_ascii_digit() || b == b':' || b == b'.');
                        Draft::set(&mut draft.time, time_of_day(&rest[..end])?)?;
                        end
                    }
                    Some(&separator @ (b'-' | b'/' | b'.')) if draft.day.is_none() && !draft.expects_time => {
                        // The name of a month may stand between, but no `T` after the last number.
                        let mut end = run(0, &|b| b.is_ascii_digit() || b == separator);
                        if end < rest.len() && rest[end].is_ascii_alphabetic() && rest[end - 1] == separator {
                            end = run(end, &|b| b.is_ascii_alphabetic());
                            end = run(end, &|b| b.is_ascii_digit() || b == separator);
                        }
                        draft.joined(&rest[..end], separator)?;
                        end
                    }
                    _ => {
                        let end = fraction_end(rest, digits);
                        draft.number(&rest[..digits], &rest[digits..end])?;
                        end
                    }
                }
            }
            b'J' | b'j' if rest.get(1).is_some_and(u8::is_ascii_digit) => {
                let digits = run(1, &|b| b.is_ascii_digit());
                let end = fraction_end(rest, digits);
                draft.julian(&rest[1..digits], &rest[digits..end])?;
                end
            }
            b if b.is_ascii_alphabetic() => {
                let mut end = run(0, &|b| b.is_ascii_alphabetic());
                if rest.get(end) == Some(&b'-') && draft.day.is_none() {
                    end = run(end, &|b| b.is_ascii_digit() || b == b'-');
                    draft.joined(&rest[..end], b'-')?;
                } else if is_word(&rest[..end]) {
                    draft.word(&rest[..end])?;
                    // `Dec. 1`
                    end += usize::from(rest.get(end) == Some(&b'.'));
                } else {
                    end = run(0, &|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'+' | b'-' | b':'));
                    draft.zone(&rest[..end])?;
                }
                end
            }
            _ => return Err(Bad::Syntax),
        };
        rest = &rest[used..];
    }
    Ok(draft)
}

/// Where a fraction ends that may begin at `from`.
fn fraction_end(text: &[u8], from: usize) -> usize {
    match text[from..] {
        [b'.', ref digits @ ..] => from + 1 + digits.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => from,
    }
}

/// Whether the letters are a word of dates, and not a zone.
fn is_word(word: &[u8]) -> bool {
    let word = String::from_utf8_lossy(word).to_ascii_lowercase();
    matches!(word.as_str(), "bc" | "ad" | "t" | "at" | "on" | "am" | "pm" | "allballs")
        || word.len() > 2 && (named(&MONTHS, &word).is_some() || named(&WEEKDAYS, &word).is_some())
}
