//! `to_char(interval, pattern)`: an interval has years, months, days and time, and belongs to no date.

use std::fmt::Write;

use base::{Error, Result, SqlState};

use super::to_char::{Item, write_items};
use crate::Interval;

/// An interval taken apart; all parts of the months, and all of the time, have one sign.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

/// An interval in the form of a pattern, which has words for numbers only: 22007 of names of months and days, eras and zones.
pub fn interval_to_char(interval: Interval, pattern: &str) -> Result<String> {
    let time = interval.micros;
    let parts = Parts {
        years: i64::from(interval.months / 12),
        months: i64::from(interval.months % 12),
        days: interval.days.into(),
        hours: time / 3_600_000_000,
        minutes: time / 60_000_000 % 60,
        seconds: time / 1_000_000 % 60,
        micros: time % 1_000_000,
    };
    write_items(pattern, |out, word, item, fill| parts.write(out, word, item, fill))
}

impl Parts {
    fn write(&self, out: &mut String, word: &str, item: Item, fill: bool) -> Result<()> {
        // A minus has a place of its own.
        let mut number = |n: i64, width: usize| {
            let width = if fill { 0 } else { width + usize::from(n < 0) };
            let _ = write!(out, "{n:0width$}");
        };
        let day_of_year = (self.years * 12 + self.months) * 30 + self.days;
        match word.to_ascii_uppercase().as_str() {
            "FM" | "TM" => {}
            "YYYY" => number(self.years, 4),
            "YYY" => number(self.years % 1000, 3),
            "YY" => number(self.years % 100, 2),
            "Y" => number(self.years % 10, 1),
            "CC" => number(self.years / 100, 2),
            "MM" => number(self.months, 2),
            "Q" if self.months == 0 => {}
            "Q" => number((self.months - 1) / 3 + 1, 1),
            "WW" => number((day_of_year - 1) / 7 + 1, 2),
            "W" => number((self.days - 1) / 7 + 1, 1),
            "DDD" => number(day_of_year, 3),
            "DD" => number(self.days, 2),
            "HH24" => number(self.hours, 2),
            "HH12" | "HH" => number(if self.hours % 12 == 0 { 12 } else { self.hours % 12 }, 2),
            "MI" => number(self.minutes, 2),
            "SS" => number(self.seconds, 2),
            "SSSS" | "SSSSS" => number(self.hours * 3600 + self.minutes * 60 + self.seconds, 1),
            "Y,YYY" => {
                let _ = write!(out, "{},{:03}", self.years / 1000, (self.years % 1000).abs());
            }
            _ => match item {
                Item::Fraction(digits) => {
                    let shown = self.micros / 10i64.pow(6 - digits as u32);
                    let _ = write!(out, "{shown:0digits$}");
                }
                Item::Meridiem(am, pm) => out.push_str(if self.hours % 24 >= 12 { pm } else { am }),
                _ => {
                    let message = "invalid format specification for an interval value";
                    return Err(Error::new(SqlState("22007"), message)
                        .hint("Intervals are not tied to specific calendar dates."));
                }
            },
        }
        Ok(())
    }
}
