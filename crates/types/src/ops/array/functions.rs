//! What the functions of arrays compute. An element that may be NULL is passed as the array of it alone, whose form is that
//! of the element: equal elements have the same bytes. Positions count from 1.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use base::{Error, Result, SqlState, statement};

use super::code::{finish, is_null, must_not_be_null};
use super::{Elements, encode, push, push_str};
use crate::ops::cast::write_value;
use crate::ops::string::{MAX_LENGTH, check_length};
use crate::{SqlType, Value};

/// The bytes of the elements, each the array of it alone.
pub(super) fn raw(array: &str, element: SqlType) -> impl Iterator<Item = &[u8]> {
    let mut elements = Elements::new(array, element);
    std::iter::from_fn(move || Some(elements.raw()).filter(|raw| !raw.is_empty()))
}

/// The element of that number; NULL if there is none.
pub fn subscript(array: &str, element: SqlType, at: i64) -> Value {
    let before = at.checked_sub(1).and_then(|before| usize::try_from(before).ok());
    before.and_then(|before| Elements::new(array, element).skip_elements(before).next()).unwrap_or(Value::Null)
}

/// The elements of these numbers, both included; what is outside of the array is not there.
pub fn slice(array: &str, element: SqlType, from: Option<i64>, to: Option<i64>) -> &str {
    let from = from.unwrap_or(1).max(1);
    let count = to.unwrap_or(i64::MAX).saturating_sub(from).saturating_add(1).max(0);
    let place = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
    let begin = Elements::new(array, element).skip_elements(place(from - 1));
    let end = begin.clone().skip_elements(place(count));
    let at = |elements: Elements<'_>| array.len() - elements.bytes();
    array.get(at(begin)..at(end)).unwrap_or_default()
}

/// The same in each dimension of an array of arrays: the first bounds are the outermost's. Nothing is left where one has nothing.
pub fn slice_each(array: &str, element: SqlType, bounds: &[(i64, i64)]) -> Result<Value> {
    let Some((&(from, to), rest)) = bounds.split_first() else { return Ok(Value::str(array)) };
    let kept = slice(array, element, Some(from), Some(to));
    let (Some(inner), false) = (element.element(), rest.is_empty()) else { return Ok(Value::str(kept)) };
    let mut left = Vec::new();
    for part in Elements::new(kept, element) {
        let Value::Str(part) = part else { continue };
        match slice_each(&part, inner, rest)? {
            Value::Str(part) if !part.is_empty() => left.push(Value::Str(part)),
            _ => return finish(Vec::new()),
        }
    }
    encode(&left, element)
}

/// Elements from one number to another, of which those below zero count from the end; in steps if there is one.
pub fn list_slice(array: &str, element: SqlType, from: Option<i64>, to: Option<i64>) -> &str {
    let length = super::length(array, element) as i64;
    let absolute = |at: i64| if at < 0 { at.saturating_add(length).saturating_add(1) } else { at };
    slice(array, element, from.map(absolute), to.map(absolute))
}

/// The same, of every so many elements one; from the end to the beginning if that is below zero.
pub fn list_slice_by(array: &str, element: SqlType, (from, to): (i64, i64), step: i64) -> Result<Value> {
    if step == 0 {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "the step of a slice cannot be zero"));
    }
    let (first, last) = if step > 0 { (from, to) } else { (to, from) };
    let part = list_slice(array, element, Some(first), Some(last));
    let mut parts: Vec<&[u8]> = raw(part, element).collect();
    if step < 0 {
        parts.reverse();
    }
    let step = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    finish(parts.into_iter().step_by(step).flatten().copied().collect())
}

/// The place of the first element that is the same as `wanted`, from a place on.
pub fn position(array: &str, element: SqlType, wanted: &str, from: i64) -> Option<i64> {
    let skipped = usize::try_from(from.max(1) - 1).unwrap_or(usize::MAX);
    let found = raw(array, element).skip(skipped).position(|raw| raw == wanted.as_bytes())?;
    Some((skipped + found) as i64 + 1)
}

/// The places of all such elements.
pub fn positions(array: &str, element: SqlType, wanted: &str) -> Result<Value> {
    let mut out = Vec::new();
    for (at, raw) in raw(array, element).enumerate() {
        if raw == wanted.as_bytes() {
            push(&mut out, &Value::Int(at as i64 + 1), SqlType::Integer)?;
        }
    }
    finish(out)
}

/// Without the elements that are the same as `unwanted`.
pub fn remove(array: &str, element: SqlType, unwanted: &str) -> Result<Value> {
    let kept = raw(array, element).filter(|raw| *raw != unwanted.as_bytes());
    finish(kept.flatten().copied().collect())
}

/// With `new` in place of the elements that are the same as `old`.
pub fn replace(array: &str, element: SqlType, old: &str, new: &str) -> Result<Value> {
    let mut out = Vec::with_capacity(array.len());
    for raw in raw(array, element) {
        out.extend_from_slice(if raw == old.as_bytes() { new.as_bytes() } else { raw });
        check_length(out.len())?;
    }
    finish(out)
}

/// Whether every element of `part` is one of the array's. NULLs equal nothing.
pub fn contains(array: &str, part: &str, element: SqlType) -> bool {
    if raw(part, element).nth(1).is_none() {
        return raw(part, element).all(|wanted| !is_null(wanted) && raw(array, element).any(|raw| raw == wanted));
    }
    let known: HashSet<&[u8]> = raw(array, element).filter(|raw| !is_null(raw)).collect();
    raw(part, element).all(|wanted| known.contains(wanted))
}

/// Whether both have an element in common. NULLs equal nothing.
pub fn overlaps(a: &str, b: &str, element: SqlType) -> bool {
    let known: HashSet<&[u8]> = raw(a, element).filter(|raw| !is_null(raw)).collect();
    raw(b, element).any(|raw| known.contains(raw))
}

/// Whether an element equals the wanted one, as `= ANY` says: NULL where none does, but either is NULL. In an empty array
/// there is nothing that could be.
pub fn any_equal(array: &str, element: SqlType, wanted: &str) -> Value {
    if is_null(wanted.as_bytes()) {
        return if array.is_empty() { Value::Bool(false) } else { Value::Null };
    }
    let mut nulls = false;
    for raw in raw(array, element) {
        if raw == wanted.as_bytes() {
            return Value::Bool(true);
        }
        nulls |= is_null(raw);
    }
    if nulls { Value::Null } else { Value::Bool(false) }
}

/// The elements in order: NULLs last, unless the order is turned or `nulls_first` says otherwise.
pub fn sort(array: &str, element: SqlType, descending: bool, nulls_first: bool) -> Result<Value> {
    let (mut nulls, mut values): (Vec<&[u8]>, Vec<&[u8]>) = raw(array, element).partition(|raw| is_null(raw));
    if descending {
        values.sort_unstable_by_key(|raw| Reverse(*raw));
    } else {
        values.sort_unstable();
    }
    let ordered = if nulls_first {
        nulls.append(&mut values);
        nulls
    } else {
        values.append(&mut nulls);
        values
    };
    finish(ordered.concat())
}

/// The numbers of the elements, from 0, in their order; of equal ones the first comes first.
pub fn places_in_order(array: &str, element: SqlType, descending: bool, nulls_first: bool) -> Vec<usize> {
    let all: Vec<&[u8]> = raw(array, element).collect();
    let (nulls, mut values): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&at| is_null(all[at]));
    if descending {
        values.sort_by_key(|&at| Reverse(all[at]));
    } else {
        values.sort_by_key(|&at| all[at]);
    }
    if nulls_first { [nulls, values].concat() } else { [values, nulls].concat() }
}

/// The elements the other way round.
pub fn reverse(array: &str, element: SqlType) -> Result<Value> {
    let all: Vec<&[u8]> = raw(array, element).collect();
    finish(all.into_iter().rev().flatten().copied().collect())
}

/// Each element that is not NULL once, where it is first.
pub fn distinct(array: &str, element: SqlType) -> Result<Value> {
    let mut known = HashSet::new();
    let kept = raw(array, element).filter(|raw| !is_null(raw) && known.insert(*raw));
    finish(kept.flatten().copied().collect())
}

/// The elements that are not NULL, in their order, and how often each is there.
pub fn counts(array: &str, element: SqlType) -> Vec<(Value, i64)> {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    raw(array, element).filter(|raw| !is_null(raw)).for_each(|raw| *counts.entry(raw).or_default() += 1);
    let mut counts: Vec<(&[u8], i64)> = counts.into_iter().collect();
    counts.sort_unstable();
    let value = |raw| std::str::from_utf8(raw).ok().and_then(|alone| Elements::new(alone, element).next());
    counts.into_iter().filter_map(|(raw, count)| Some((value(raw)?, count))).collect()
}

/// The least element, or the greatest, as the array of it alone; none if all are NULL.
pub(super) fn extreme(array: &str, element: SqlType, greatest: bool) -> Option<&str> {
    let values = raw(array, element).filter(|raw| !is_null(raw));
    let found = if greatest { values.max() } else { values.min() };
    found.and_then(|raw| std::str::from_utf8(raw).ok())
}

/// An array of arrays as one of their elements.
pub fn flatten(array: &str, element: SqlType) -> Result<Value> {
    let mut out = String::new();
    for value in Elements::new(array, element) {
        if let Value::Str(inner) = value {
            out.push_str(&inner);
        }
    }
    check_length(out.len())?;
    Ok(Value::str(out))
}

/// The elements' text forms, with `delimiter` between them; NULLs as `null`, or left out.
pub fn to_text(array: &str, element: SqlType, delimiter: &str, null: Option<&str>) -> Result<String> {
    let mut out = String::new();
    let mut first = true;
    append_text(&mut out, &mut first, array, element, [delimiter, null.unwrap_or_default()], null.is_some())?;
    Ok(out)
}

fn append_text(
    out: &mut String,
    first: &mut bool,
    array: &str,
    element: SqlType,
    [delimiter, null]: [&str; 2],
    with_nulls: bool,
) -> Result<()> {
    for value in Elements::new(array, element) {
        if let (Value::Str(inner), Some(deeper)) = (&value, element.element()) {
            append_text(out, first, inner, deeper, [delimiter, null], with_nulls)?;
            continue;
        }
        if value.is_null() && !with_nulls {
            continue;
        }
        if !std::mem::take(first) {
            out.push_str(delimiter);
        }
        match value {
            Value::Null => out.push_str(null),
            Value::Bool(b) => out.push(if b { 't' } else { 'f' }),
            value => write_value(out, &value, element),
        }
        check_length(out.len())?;
    }
    Ok(())
}

/// A text cut at each delimiter; into characters if that is NULL. Parts that are the text `null` become NULL.
pub fn of_text(text: &str, delimiter: Option<&str>, null: Option<&str>) -> Result<Value> {
    // An element takes two bytes beside its text.
    let mut out = Vec::with_capacity(text.len() + 32);
    let mut part = |part: &str| match Some(part) == null {
        true => push(&mut out, &Value::Null, SqlType::Text),
        false => push_str(&mut out, part, SqlType::Text),
    };
    match delimiter {
        _ if text.is_empty() => {}
        None => text.char_indices().try_for_each(|(at, c)| part(&text[at..at + c.len_utf8()]))?,
        Some("") => part(text)?,
        Some(delimiter) => {
            // What preparing a search takes is more than most texts are long.
            let mut chars = delimiter.chars();
            match (chars.next(), chars.next()) {
                (Some(one), None) => text.split(one).try_for_each(part)?,
                _ => text.split(delimiter).try_for_each(part)?,
            }
        }
    }
    finish(out)
}

/// An array of so many elements, all the same as `value`, the array of it alone.
pub fn fill(value: &str, dimensions: &[Value]) -> Result<Value> {
    let too_large = || Error::new(SqlState::PROGRAM_LIMIT, "array size exceeds the maximum allowed");
    let size = match dimensions {
        [] => 0,
        [Value::Int(size)] => usize::try_from(*size).map_err(|_| too_large())?,
        [_] => return Err(must_not_be_null("dimension values cannot be null")),
        _ => return Err(Error::unsupported("array_fill in more than one dimension")),
    };
    let length = value.len().checked_mul(size).filter(|l| *l < MAX_LENGTH).ok_or_else(too_large)?;
    check_length(length)?;
    Ok(Value::str(value.repeat(size)))
}

/// From one integer to another in steps; the end itself is one of them if it is `inclusive`.
pub fn range(from: i64, to: i64, step: i64, inclusive: bool) -> Result<Value> {
    if step == 0 {
        return Err(Error::new(SqlState::INVALID_ARGUMENT, "step size cannot equal zero"));
    }
    let mut out = Vec::new();
    let (mut at, mut count) = (Some(from), 0u32);
    while let Some(value) = at.filter(|at| {
        let within = if step > 0 { *at < to } else { *at > to };
        within || (inclusive && *at == to)
    }) {
        push(&mut out, &Value::Int(value), SqlType::BigInt)?;
        count = count.wrapping_add(1);
        if count.is_multiple_of(1 << 12) {
            check_length(out.len())?;
            statement::check()?;
        }
        at = value.checked_add(step);
    }
    finish(out)
}

/// An array, empty if it is NULL, with another element at a number, counted from 1: NULLs fill a gap before it. Error 22004 if the
/// number is NULL, 2202E if there can be no such element.
pub fn with_element(old: Option<&str>, at: Option<i64>, value: Value, element: SqlType) -> Result<Value> {
    /// Most elements of an array that grows so.
    const MOST: usize = 1 << 24;
    let Some(at) = at else {
        return Err(Error::new(SqlState("22004"), "array subscript in assignment must not be null"));
    };
    let mut values: Vec<Value> = old.map_or_else(Vec::new, |old| Elements::new(old, element).collect());
    let index = usize::try_from(at).ok().and_then(|at| at.checked_sub(1)).filter(|index| *index < MOST);
    let Some(index) = index else {
        return Err(Error::new(SqlState("2202E"), format!("array subscript {at} is out of range")));
    };
    if values.len() <= index {
        values.resize(index + 1, Value::Null);
    }
    values[index] = value;
    encode(&values, element)
}

/// An array with other elements from one number to another, counted from 1; NULLs fill a gap before them. What stands for a bound
/// that is not written is [`i64::MIN`] or [`i64::MAX`]. Errors: 22004 if a bound is NULL, 2202E if there can be no such elements, or
/// there are too few new ones.
pub fn with_slice(old: &str, (from, to): (Option<i64>, Option<i64>), new: &str, element: SqlType) -> Result<Value> {
    /// Most elements of an array that grows so.
    const MOST: i64 = 1 << 24;
    let wrong = |message: String| Error::new(SqlState("2202E"), message);
    let (Some(from), Some(to)) = (from, to) else {
        return Err(Error::new(SqlState("22004"), "array subscript in assignment must not be null"));
    };
    let mut values: Vec<Value> = Elements::new(old, element).collect();
    if values.is_empty() && (from == i64::MIN || to == i64::MAX) {
        return Err(wrong("array slice subscript must provide both boundaries".to_owned())
            .detail("When assigning to a slice of an empty array value, slice boundaries must be fully specified."));
    }
    let from = if from == i64::MIN { 1 } else { from };
    let to = if to == i64::MAX { values.len() as i64 } else { to };
    if to < from {
        return Err(wrong("upper bound cannot be less than lower bound".to_owned()));
    }
    if from < 1 || to > MOST {
        let at = if from < 1 { from } else { to };
        return Err(wrong(format!("array subscript {at} is out of range")));
    }
    let (first, count) = (from as usize - 1, (to - from + 1) as usize);
    let new: Vec<Value> = Elements::new(new, element).take(count).collect();
    if new.len() < count {
        return Err(wrong("source array too small".to_owned()));
    }
    if values.len() < first + count {
        values.resize(first + count, Value::Null);
    }
    values.splice(first..first + count, new);
    encode(&values, element)
}
