//! Intervals: text, arithmetic and justification.
//!
//! Months, days and microseconds stay apart; multiplication cascades fractions of a month into days (30) and of a day
//! into time (24 hours), as in PostgreSQL's `interval_mul`.

use base::Result;

use super::parse::{fraction_micros, seconds};
use super::{DAY, HOUR, MINUTE, SECOND};
use crate::Interval;
use crate::ops::Bad;
use crate::ops::cast::float_to_i64;
use crate::ops::error::{datetime_out_of_range, division_by_zero};
use crate::ops::number::trim;

fn build(months: Option<i32>, days: Option<i32>, micros: Option<i64>) -> Result<Interval> {
    match (months, days, micros) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(datetime_out_of_range("interval")),
    }
}

/// `a + b`
pub fn add(a: Interval, b: Interval) -> Result<Interval> {
    build(a.months.checked_add(b.months), a.days.checked_add(b.days), a.micros.checked_add(b.micros))
}
/// `a - b`
pub fn sub(a: Interval, b: Interval) -> Result<Interval> {
    build(a.months.checked_sub(b.months), a.days.checked_sub(b.days), a.micros.checked_sub(b.micros))
}
/// `- a`
pub fn neg(a: Interval) -> Result<Interval> {
    build(a.months.checked_neg(), a.days.checked_neg(), a.micros.checked_neg())
}

/// Rounds away noise below a microsecond.
fn settle(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}
fn to_i32(value: f64) -> Option<i32> {
    (value > -2_147_483_649.0 && value < 2_147_483_648.0).then_some(value as i32)
}

fn scaled(a: Interval, scale: impl Fn(f64) -> f64) -> Result<Interval> {
    let day_seconds = 86_400.0;
    let (months, days) = (scale(a.months.into()), scale(a.days.into()));
    let (Some(whole_months), Some(whole_days)) = (to_i32(months), to_i32(days)) else {
        return Err(datetime_out_of_range("interval"));
    };
    let month_days = settle((months - f64::from(whole_months)) * 30.0);
    let mut rest = settle((days - f64::from(whole_days) + month_days - month_days.trunc()) * day_seconds);
    let mut whole_days = Some(whole_days);
    if rest.abs() >= day_seconds {
        let carried = (rest / day_seconds).trunc();
        whole_days = whole_days.and_then(|d| d.checked_add(carried as i32));
        rest -= carried * day_seconds;
    }
    let whole_days = whole_days.and_then(|d| d.checked_add(month_days as i32));
    let micros = (scale(a.micros as f64) + rest * 1e6).round_ties_even();
    build(Some(whole_months), whole_days, float_to_i64(micros))
}

/// `a * factor`
pub fn mul(a: Interval, factor: f64) -> Result<Interval> {
    scaled(a, |part| part * factor)
}
/// `a / divisor`
pub fn div(a: Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(division_by_zero());
    }
    scaled(a, |part| part / divisor)
}

/// Carries from `low` to `high` so that `|low| < unit` and both have one sign.
fn carry(high: i32, low: i64, unit: i64) -> Option<(i32, i64)> {
    let total = i128::from(high) * i128::from(unit) + i128::from(low);
    let high = i32::try_from(total / i128::from(unit)).ok()?;
    Some((high, (total % i128::from(unit)) as i64))
}

/// `justify_hours(a)`: every 24 hours become a day.
pub fn justify_hours(a: Interval) -> Result<Interval> {
    let (days, micros) = carry(a.days, a.micros, DAY).ok_or_else(|| datetime_out_of_range("interval"))?;
    Ok(Interval { months: a.months, days, micros })
}

/// `justify_days(a)`: every 30 days become a month.
pub fn justify_days(a: Interval) -> Result<Interval> {
    let (months, days) = carry(a.months, a.days.into(), 30).ok_or_else(|| datetime_out_of_range("interval"))?;
    Ok(Interval { months, days: days as i32, micros: a.micros })
}

/// `justify_interval(a)`: both, and all parts of one sign.
pub fn justify(a: Interval) -> Result<Interval> {
    let month = 30 * i128::from(DAY);
    let total = a.approximate_micros();
    let months = i32::try_from(total / month).ok();
    let rest = total % month;
    build(months, Some((rest / i128::from(DAY)) as i32), Some((rest % i128::from(DAY)) as i64))
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`.
pub fn make_interval(
    years: i32,
    months: i32,
    weeks: i32,
    days: i32,
    hours: i32,
    minutes: i32,
    seconds: f64,
) -> Result<Interval> {
    let time = i64::from(hours) * HOUR + i64::from(minutes) * MINUTE;
    build(
        years.checked_mul(12).and_then(|y| y.checked_add(months)),
        weeks.checked_mul(7).and_then(|w| w.checked_add(days)),
        float_to_i64(seconds * 1e6).and_then(|s| time.checked_add(s)),
    )
}

/// A number with a sign and a fraction, kept exact as far as the units need.
#[derive(Clone, Copy)]
struct Amount {
    negative: bool,
    whole: i64,
    /// Fraction in [0, 1).
    fraction: f64,
    /// The same in millionths, rounded.
    micros: i64,
}

fn amount(negative: bool, text: &[u8]) -> Result<Amount, Bad> {
    let (whole, digits) = match text.iter().position(|b| *b == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    if whole.is_empty() && digits.is_empty() {
        return Err(Bad::Syntax);
    }
    let whole = if whole.is_empty() { 0 } else { crate::ops::number::parse_i64(whole)? };
    let micros = fraction_micros(digits)?;
    let fraction = digits.iter().rev().fold(0.0, |value, b| (value + f64::from(b - b'0')) / 10.0);
    Ok(Amount { negative, whole, fraction, micros })
}

/// The interval while its parts come in, wide enough that parts cannot overflow before the end.
#[derive(Default)]
struct Draft {
    months: i128,
    days: i128,
    micros: i128,
    parts: u32,
}

impl Draft {
    fn finish(self, negate: bool) -> Result<Interval, Bad> {
        if self.parts == 0 {
            return Err(Bad::Syntax);
        }
        let sign = if negate { -1 } else { 1 };
        Ok(Interval {
            months: i32::try_from(sign * self.months).map_err(|_| Bad::Range)?,
            days: i32::try_from(sign * self.days).map_err(|_| Bad::Range)?,
            micros: i64::try_from(sign * self.micros).map_err(|_| Bad::Range)?,
        })
    }

    fn add(&mut self, months: i128, days: i128, micros: i128, negative: bool) {
        let sign = if negative { -1 } else { 1 };
        self.months += sign * months;
        self.days += sign * days;
        self.micros += sign * micros;
        self.parts += 1;
    }

    /// Fractions go to the next smaller units: of years to months, of months and weeks to days, of days to time.
    fn unit(&mut self, amount: Amount, unit: &str) -> Result<(), Bad> {
        let Amount { negative, whole, fraction, micros } = amount;
        let whole = i128::from(whole);
        let mut months = |count: i128| {
            let extra = (fraction * count as f64).round_ties_even() as i128;
            self.add(whole * count + extra, 0, 0, negative);
        };
        let day = |days: f64| ((days.trunc()) as i128, ((days - days.trunc()) * DAY as f64).round_ties_even() as i128);
        match unit {
            "millennium" | "millennia" | "mil" | "mils" | "millenniums" => months(12_000),
            "century" | "centuries" | "cent" | "c" => months(1200),
            "decade" | "decades" | "dec" | "decs" => months(120),
            "year" | "years" | "y" | "yr" | "yrs" => months(12),
            "quarter" | "quarters" => months(3),
            "month" | "months" | "mon" | "mons" => {
                let (days, micros) = day(settle(fraction * 30.0));
                self.add(whole, days, micros, negative);
            }
            "week" | "weeks" | "w" => {
                let (days, micros) = day(settle(fraction * 7.0));
                self.add(0, whole * 7 + days, micros, negative);
            }
            "day" | "days" | "d" => self.add(0, whole, day(fraction).1, negative),
            "hour" | "hours" | "h" | "hr" | "hrs" => self.time(amount, HOUR),
            "minute" | "minutes" | "m" | "min" | "mins" => self.time(amount, MINUTE),
            "second" | "seconds" | "s" | "sec" | "secs" => {
                self.add(0, 0, whole * i128::from(SECOND) + i128::from(micros), negative);
            }
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" => {
                self.time(amount, 1000);
            }
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" => {
                self.time(amount, 1);
            }
            _ => return Err(Bad::Syntax),
        }
        Ok(())
    }

    fn time(&mut self, amount: Amount, unit: i64) {
        let fraction = (amount.fraction * unit as f64).round_ties_even() as i128;
        self.add(0, 0, i128::from(amount.whole) * i128::from(unit) + fraction, amount.negative);
    }
}

/// Reads an interval: `1 year 2 mons 3 days 04:05:06`, `90 days`, `1-2` (years-months), `-1.5 hours`, `1 day ago`,
/// `P1Y2M3DT4H5M6S`. A bare number counts seconds, or days before a time.
pub fn parse(text: &[u8]) -> Result<Interval, Bad> {
    parse_as(text, "second", false)
}

/// As [`parse`] where other fields were announced: a bare number counts `unit`s, and `2:03` are minutes and seconds if
/// `minutes` (`interval '2:03' minute to second`).
pub fn parse_as(text: &[u8], unit: &str, minutes: bool) -> Result<Interval, Bad> {
    let text = trim(text);
    let (negative, unsigned) = sign(text);
    if let [b'P' | b'p', rest @ ..] = unsigned
        && !rest.is_empty()
    {
        return iso8601(rest, negative);
    }
    let mut draft = Draft::default();
    let mut ago = false;
    let mut pending: Option<Amount> = None;
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if is_separator(first) {
            rest = &rest[1..];
            continue;
        }
        if first.is_ascii_alphabetic() {
            let end = rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(rest.len());
            let word = rest[..end].to_ascii_lowercase();
            let word = std::str::from_utf8(&word).map_err(|_| Bad::Syntax)?;
            match (pending.take(), word) {
                (Some(amount), _) if !ago => draft.unit(amount, word)?,
                (None, "ago") if !ago && draft.parts > 0 => ago = true,
                _ => return Err(Bad::Syntax),
            }
            rest = after_word(&rest[end..], word)?;
            continue;
        }
        let (negative, number) = sign(rest);
        let number = trim(number);
        let end = number.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.' | b':')).unwrap_or(number.len());
        let (token, after) = number.split_at(end);
        if ago {
            return Err(Bad::Syntax);
        }
        if token.contains(&b':') {
            if let Some(days) = pending.take() {
                draft.unit(days, "day")?;
            }
            clock(&mut draft, negative, token, minutes)?;
            rest = after;
        } else if let [b'-', tail @ ..] = after
            && tail.first().is_some_and(u8::is_ascii_digit)
            && pending.is_none()
        {
            let end = tail.iter().position(|b| !b.is_ascii_digit()).unwrap_or(tail.len());
            let (years, months) = (amount(negative, token)?, amount(negative, &tail[..end])?);
            if months.whole > 11 {
                return Err(Bad::Range);
            }
            draft.unit(years, "year")?;
            draft.unit(months, "month")?;
            rest = no_hyphen(&tail[end..])?;
        } else {
            if let Some(days) = pending.take() {
                // `interval '1 2' day to hour`
                if unit != "hour" {
                    return Err(Bad::Syntax);
                }
                draft.unit(days, "day")?;
            }
            pending = Some(amount(negative, token)?);
            rest = after;
        }
    }
    if let Some(bare) = pending {
        draft.unit(bare, unit)?;
    }
    draft.finish(ago)
}

/// What `interval ... unit` keeps of a value: nothing smaller than the unit, and `digits` behind the point of seconds,
/// rounded half away from zero.
pub fn limit(value: Interval, unit: &str, digits: Option<u32>) -> Interval {
    let Interval { months, days, micros } = value;
    match unit {
        "year" => Interval { months: months / 12 * 12, days: 0, micros: 0 },
        "month" => Interval { months, days: 0, micros: 0 },
        "day" => Interval { months, days, micros: 0 },
        "hour" => Interval { months, days, micros: micros / HOUR * HOUR },
        "minute" => Interval { months, days, micros: micros / MINUTE * MINUTE },
        _ => {
            let step = 10i64.pow(6 - digits.unwrap_or(6).min(6));
            let half = if micros < 0 { -(step / 2) } else { step / 2 };
            Interval { months, days, micros: micros.saturating_add(half) / step * step }
        }
    }
}

/// Blanks and most punctuation stand between parts and mean nothing, as in PostgreSQL.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r') || byte.is_ascii_punctuation() && !matches!(byte, b'+' | b'-' | b'.')
}

/// What follows `years-months`: a hyphen at once makes it a date, not a negative number.
fn no_hyphen(rest: &[u8]) -> Result<&[u8], Bad> {
    if rest.first() == Some(&b'-') { Err(Bad::Syntax) } else { Ok(rest) }
}

/// What follows a word. What looks like a date or a time zone is none of an interval's parts; the words that PostgreSQL
/// knows as parts of dates may be followed by a number.
fn after_word<'a>(rest: &'a [u8], word: &str) -> Result<&'a [u8], Bad> {
    let of_dates = matches!(word, "d" | "dec" | "h" | "m" | "mon" | "s" | "y");
    match rest.first() {
        Some(b'-' | b'/' | b'.') => Err(Bad::Syntax),
        Some(b'0'..=b'9' | b'+') if !of_dates => Err(Bad::Syntax),
        _ => Ok(rest),
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// `hours:minutes[:seconds[.fraction]]` of any number of hours; `minutes:seconds` if there is a point or `minutes` says so.
fn clock(draft: &mut Draft, negative: bool, token: &[u8], minutes: bool) -> Result<(), Bad> {
    let parts: Vec<&[u8]> = token.split(|b| *b == b':').collect();
    let integer =
        |part: &[u8]| amount(false, part).and_then(|a| if a.micros == 0 { Ok(a.whole) } else { Err(Bad::Syntax) });
    let (hours, minutes, tail) = match parts.as_slice() {
        [first, tail] if minutes || tail.contains(&b'.') => (0, integer(first)?, *tail),
        [hours, minutes] => (integer(hours)?, integer(minutes)?, &b"0"[..]),
        [hours, minutes, tail] => (integer(hours)?, integer(minutes)?, *tail),
        _ => return Err(Bad::Syntax),
    };
    let (second, micros) = seconds(tail)?;
    if minutes > 59 || second > 59 {
        return Err(Bad::Range);
    }
    let time = i128::from(hours) * i128::from(HOUR) + i128::from(minutes) * i128::from(MINUTE);
    draft.add(0, 0, time + i128::from(second) * i128::from(SECOND) + i128::from(micros), negative);
    Ok(())
}

/// What follows the `P` of an ISO 8601 duration with designators.
fn iso8601(mut rest: &[u8], negate: bool) -> Result<Interval, Bad> {
    let mut draft = Draft::default();
    let (mut in_time, mut is_first) = (false, true);
    while let Some(&first) = rest.first() {
        if matches!(first, b'T' | b't') && !in_time {
            (in_time, is_first) = (true, true);
            rest = &rest[1..];
            continue;
        }
        let (negative, number) = sign(rest);
        let end = number.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.')).unwrap_or(number.len());
        let is_alternative = matches!(number.get(end), None | Some(b'-' | b':' | b'T' | b't'));
        if is_alternative && !std::mem::take(&mut is_first) {
            return Err(Bad::Syntax);
        }
        if is_alternative {
            rest = if in_time { alternative_time(rest, &mut draft)? } else { alternative_date(rest, &mut draft)? };
            // A time begins anew.
            is_first = matches!(rest.first(), Some(b'T' | b't'));
            continue;
        }
        is_first = false;
        let amount = amount(negative, &number[..end])?;
        let unit = match (in_time, number[end].to_ascii_uppercase()) {
            (false, b'Y') => "year",
            (false, b'M') => "month",
            (false, b'W') => "week",
            (false, b'D') => "day",
            (true, b'H') => "hour",
            (true, b'M') => "minute",
            (true, b'S') => "second",
            _ => return Err(Bad::Syntax),
        };
        draft.unit(amount, unit)?;
        rest = &number[end + 1..];
    }
    draft.finish(negate)
}

/// The next number of the alternative form, with its sign, and what follows it.
fn next_number(text: &[u8]) -> Result<(Amount, usize, &[u8]), Bad> {
    let (negative, number) = sign(text);
    let end = number.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.')).unwrap_or(number.len());
    let digits = if number[..end].contains(&b'.') { 0 } else { end };
    Ok((amount(negative, &number[..end])?, digits, &number[end..]))
}

/// The parts of a number in which they stand side by side, as in `20240131`.
fn side_by_side(all: &Amount) -> [Amount; 3] {
    let part = |whole: i64| Amount { whole, fraction: 0.0, micros: 0, negative: all.negative };
    [part(all.whole / 10_000), part(all.whole / 100 % 100), part(all.whole % 100)]
}

/// `0001-02-03` or `00010203` behind the `P`: years, months and days.
fn alternative_date<'t>(text: &'t [u8], draft: &mut Draft) -> Result<&'t [u8], Bad> {
    let (first, digits, mut rest) = next_number(text)?;
    if digits == 8 && rest.first() != Some(&b'-') {
        for (part, unit) in side_by_side(&first).into_iter().zip(["year", "month", "day"]) {
            draft.unit(part, unit)?;
        }
        return Ok(rest);
    }
    draft.unit(first, "year")?;
    for unit in ["month", "day"] {
        let [b'-', behind @ ..] = rest else { break };
        let (part, _, behind) = next_number(behind)?;
        draft.unit(part, unit)?;
        rest = behind;
    }
    if matches!(rest.first(), None | Some(b'T' | b't')) { Ok(rest) } else { Err(Bad::Syntax) }
}

/// `04:05:06` or `040506` behind the `T`: hours, minutes and seconds.
fn alternative_time<'t>(text: &'t [u8], draft: &mut Draft) -> Result<&'t [u8], Bad> {
    let (first, digits, mut rest) = next_number(text)?;
    if digits == 6 && rest.is_empty() {
        for (part, unit) in side_by_side(&first).into_iter().zip(["hour", "minute", "second"]) {
            draft.unit(part, unit)?;
        }
        return Ok(rest);
    }
    draft.unit(first, "hour")?;
    for unit in ["minute", "second"] {
        let [b':', behind @ ..] = rest else { break };
        let (part, _, behind) = next_number(behind)?;
        draft.unit(part, unit)?;
        rest = behind;
    }
    if rest.is_empty() { Ok(rest) } else { Err(Bad::Syntax) }
}
