//! Calls of SQL functions through boxed values, and casts that need none.

use base::ids::Id;
use base::{Error, Result};
use functions::{Call, ScalarFunction};
use pipeline::ir::{Site, SiteId, SiteKind};
use types::ops::{cast, date, json, like};
use types::{Physical, SqlType, Str, Value};

use crate::again::{Known, MOST_TEXTS, Made};
use crate::params::check_type;
use crate::remembered::is_worth_it;
use crate::slot::{Slot, slot_of, value_of};
use crate::worker::{Shared, Worker};

/// Most bytes of a text that is taken for a plain number.
const PLAIN: usize = 18;
/// Most bytes of a text that is remembered.
const MOST_REMEMBERED: usize = 256;
/// Numbers of sites, where others are those of functions.
const OF_SITES: u32 = 1 << 31;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Runs a call at a site: its value, and whether that is NULL.
///
/// # Safety
/// There must be an argument of each of the site's types, strings alive.
pub(crate) unsafe fn run(worker: &mut Worker, id: SiteId, args: *const Slot) -> Result<(Slot, bool)> {
    let shared: *const Shared = &raw const *worker.inner.shared;
    // SAFETY: the worker has it as long as it lives, and nothing changes it.
    let site = unsafe { &(&(*shared).sites)[id] };
    if let (SiteKind::Cast(_), [from]) = (&site.kind, site.arguments.as_slice()) {
        // SAFETY: as the caller promises.
        if let Some(slot) = unsafe { plain_cast(worker, *args, (*from, site.result)) } {
            return Ok((slot?, false));
        }
    }
    if let (SiteKind::Scalar(ScalarFunction::STRFTIME), [of, SqlType::Text]) = (&site.kind, site.arguments.as_slice()) {
        // SAFETY: as the caller promises.
        let (time, pattern) = unsafe { ((*args).as_i64(), (*args.add(1)).as_str()) };
        // SAFETY: likewise.
        if let Some(text) = plain_strftime(worker, (time, *of), unsafe { pattern.as_str() }) {
            return text.map(|text| (Slot::str(text), false));
        }
    }
    if let (SiteKind::Like { syntax: like::Syntax::Like { escape, fold: false } }, [a, b]) =
        (&site.kind, site.arguments.as_slice())
        && [a, b].iter().all(|of| of.physical() == Physical::Str)
    {
        // SAFETY: as the caller promises.
        let (text, pattern) = unsafe { ((*args).as_str(), (*args.add(1)).as_str()) };
        // SAFETY: likewise.
        let is_like = unsafe { like::matches_plain(text.as_str(), pattern.as_str(), *escape) };
        if let Some(is_like) = is_like {
            return Ok((Slot::bool(is_like), false));
        }
    }
    if !is_of_texts(site) {
        // SAFETY: as the caller promises.
        return unsafe { run_anew(worker, (site, id), args) };
    }
    // SAFETY: as the caller promises. An inline text lies in the argument's slot, not in a copy.
    let text = |at: usize| unsafe { (*args.add(at).cast::<Str>()).as_str() };
    let all: [&str; MOST_TEXTS] = std::array::from_fn(|at| if at < site.arguments.len() { text(at) } else { "" });
    let texts = &all[..site.arguments.len()];
    match worker.inner.again.look_up(OF_SITES | id.index() as u32, texts) {
        Known::Result(Made::Value(slot, null)) => Ok((slot, null)),
        Known::Place(place) => {
            // SAFETY: as the caller promises.
            let (slot, null) = unsafe { run_anew(worker, (site, id), args) }?;
            let is_text = site.result.physical() == Physical::Str && !null;
            let result = if is_text { kept(worker, Some(slot.as_str()))? } else { Some(Made::Value(slot, null)) };
            if let Some(result) = result {
                worker.inner.again.keep(place, texts, result);
            }
            Ok((slot, null))
        }
        // SAFETY: as the caller promises.
        Known::Nothing | Known::Result(Made::Argument) => unsafe { run_anew(worker, (site, id), args) },
    }
}

/// Runs a call whose result is not remembered by its texts.
///
/// # Safety
/// As of [`run`].
unsafe fn run_anew(worker: &mut Worker, (site, id): (&Site, SiteId), args: *const Slot) -> Result<(Slot, bool)> {
    if !is_worth_it(site) {
        // SAFETY: as the caller promises.
        let argument = |at: usize| unsafe { value_of(*args.add(at), site.arguments[at]) };
        let value = match site.arguments.len() {
            // Few arguments need no memory of their own.
            1 => call(site, &[argument(0)]),
            2 => call(site, &[argument(0), argument(1)]),
            many => call(site, &(0..many).map(argument).collect::<Vec<_>>()),
        }?;
        check_type(&value, site.result)?;
        return Ok((slot_of(&value, site.result, |text| worker.text(text))?, value.is_null()));
    }
    let mut memory = worker.inner.memory_of(id);
    // SAFETY: as the caller promises.
    let key = unsafe { memory.refresh(site, args) };
    let found = match key.and_then(|key| memory.known(key)) {
        Some(found) => found,
        None => {
            // SAFETY: as the caller promises.
            unsafe { memory.refresh_varying(site, args) };
            let value = call(site, memory.values())?;
            check_type(&value, site.result)?;
            let found = (slot_of(&value, site.result, |text| worker.text(text))?, value.is_null());
            if let Some(key) = key.filter(|_| site.result.physical() != Physical::Str || found.0.as_str().is_inline()) {
                memory.keep(key, found);
            }
            found
        }
    };
    worker.inner.put_memory(id, memory);
    Ok(found)
}

/// Whether it is a call of texts alone that gives the same each time.
fn is_of_texts(site: &Site) -> bool {
    let is_pure = !matches!(&site.kind, SiteKind::Scalar(function) if function.is_volatile());
    let is_text = |of: &SqlType| of.physical() == Physical::Str;
    is_pure && (1..=MOST_TEXTS).contains(&site.arguments.len()) && site.arguments.iter().all(is_text)
}

/// A text that a call has made, where it lives as long as the worker; none if it is too long to be remembered. Without one it is the first
/// argument.
pub(crate) fn kept(worker: &mut Worker, made: Option<Str>) -> Result<Option<Made>> {
    Ok(match made {
        None => Some(Made::Argument),
        Some(text) if text.len() <= MOST_REMEMBERED => Some(Made::Value(Slot::str(worker.keep_text(text)?), false)),
        Some(_) => None,
    })
}

/// The value of a call.
fn call(site: &Site, arguments: &[Value]) -> Result<Value> {
    let text = |i: usize| match arguments.get(i) {
        Some(Value::Str(text)) => Ok(&**text),
        _ => Err(Error::internal("LIKE of something that is not a text")),
    };
    match &site.kind {
        SiteKind::Scalar(function) => {
            function.evaluate(&Call { values: arguments, types: &site.arguments, result: site.result })
        }
        SiteKind::Cast(or_null) => {
            let (value, from, to) = (&arguments[0], site.arguments[0], site.result);
            if *or_null { Ok(cast::try_cast_value(value, from, to)) } else { cast::cast_value(value, from, to) }
        }
        SiteKind::Elements => Err(Error::internal("a site that calls nothing")),
        SiteKind::Like { syntax } => like::matches(text(0)?, text(1)?, *syntax).map(Value::Bool),
    }
}

/// A cast that is common, of a value that is plain: none of others. NULL does not come here.
///
/// # Safety
/// As of [`value_of`].
unsafe fn plain_cast(worker: &mut Worker, slot: Slot, (from, to): (SqlType, SqlType)) -> Option<Result<Slot>> {
    match (from, to) {
        (SqlType::Timestamp, SqlType::Text) if let Some((length, write)) = date::timestamp_text(slot.as_i64()) => {
            let made = worker.written(length, |to| {
                write(to);
                Ok(())
            });
            Some(made.map(Slot::str))
        }
        (_, SqlType::Text) if from.physical() != Physical::Str => {
            // SAFETY: as the caller promises.
            let value = unsafe { value_of(slot, from) };
            let made = worker.make(|text| {
                cast::write_value(text, &value, from);
                Ok(true)
            });
            Some(made.map(|text| text.map_or(slot, Slot::str)))
        }
        (SqlType::Timestamp, SqlType::Date) => {
            let at = Some(slot.as_i64()).filter(|at| !date::is_infinite(*at))?;
            Some(Ok(Slot::integer(at.div_euclid(MICROS_PER_DAY).into())))
        }
        (SqlType::Timestamp, SqlType::Time) => {
            let at = Some(slot.as_i64()).filter(|at| !date::is_infinite(*at))?;
            Some(Ok(Slot::integer(at.rem_euclid(MICROS_PER_DAY).into())))
        }
        (SqlType::Text | SqlType::Varchar(_), SqlType::Json) => {
            let text = slot.as_str();
            // It stays as it was written, and lives as long as the tuple.
            // SAFETY: as the caller promises.
            json::is_plain(unsafe { text.as_str() }).then_some(Ok(slot))
        }
        _ if from.is_string() => {
            let text = slot.as_str();
            // SAFETY: as the caller promises.
            let bytes = unsafe { text.bytes() };
            let number = match to {
                SqlType::Date => date::plain_date(bytes).map(i64::from),
                SqlType::Double => return plain_double(bytes).map(|x| Ok(Slot::f64(x))),
                _ => None,
            };
            number.map(|number| Ok(Slot::integer(number.into())))
        }
        _ => None,
    }
}

/// `strftime` of a date or timestamp without time zone that is finite; none of others.
fn plain_strftime(worker: &mut Worker, (time, sql_type): (i64, SqlType), pattern: &str) -> Option<Result<Str>> {
    let micros = match sql_type {
        SqlType::Date => time.checked_mul(MICROS_PER_DAY).filter(|_| !date::is_infinite_date(time as i32))?,
        SqlType::Timestamp => time,
        _ => return None,
    };
    let made = worker.make(|text| date::strftime_to(text, micros, pattern).map(|()| true));
    Some(made.map(|text| text.unwrap_or(Str::EMPTY)))
}

/// The number that digits with at most one point in them are, perhaps behind a minus.
fn plain_double(text: &[u8]) -> Option<f64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = digits.first().is_some_and(u8::is_ascii_digit)
        && digits.len() <= PLAIN
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if is_plain { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_what_casts_say_and_others_are_left_to_them() {
        for text in ["0", "-0", "1.5", "-2.25", "0.1", "3.", ".5", "1e3", "nan", "inf", "1.2.3", "-", "", "00.10"] {
            let known = cast::cast_value(&Value::str(text), SqlType::Text, SqlType::Double);
            if let Some(number) = plain_double(text.as_bytes()) {
                assert!(matches!(known, Ok(Value::Float(x)) if x.to_bits() == number.to_bits()), "{text}");
            }
        }
        let dates = [
            "2024-02-29",
            "2023-02-29",
            "0001-01-01",
            "0000-01-01",
            "2024-13-01",
            "2024-1-01",
            "24-01-011",
            "2024/01/01",
        ];
        for text in dates {
            let known = cast::cast_value(&Value::str(text), SqlType::Text, SqlType::Date);
            if let Some(days) = date::plain_date(text.as_bytes()) {
                assert_eq!(known, Ok(Value::Date(days)), "{text}");
            }
        }
        assert!(date::plain_date(b"2024-02-29").is_some());
    }
}
