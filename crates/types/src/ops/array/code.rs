//! Elements written and read.

use std::borrow::Cow;

use base::{Error, Result, SqlState};

use super::{END, NULL, VALUE};
use crate::ops::string::check_length;
use crate::structs::StructField;
use crate::{Interval, Physical, SqlType, Value};

/// Bits of a byte that are used.
const BITS: u32 = 7;
/// Stands before what could be taken for the end.
const ESCAPE: u8 = 1;
/// What is added to an interval's length, so that none is below zero.
const LENGTH_OFFSET: i128 = 1 << 79;
/// Bytes of an interval's length, with the marker; its months and days follow.
const LENGTH_BYTES: usize = 12;

/// Whether the bytes of an element are those of NULL.
pub fn is_null(raw: &[u8]) -> bool {
    raw.first().is_some_and(|marker| marker & NULL != 0)
}

/// Bytes of each element, if all of the type have as many.
pub const fn stride(element: SqlType) -> Option<usize> {
    stride_of(element.physical())
}

/// The same of the layout of an element.
pub const fn stride_of(element: Physical) -> Option<usize> {
    Some(match element {
        Physical::Bool => 1,
        Physical::I16 => 3,
        Physical::I32 | Physical::F32 => 5,
        Physical::I64 | Physical::F64 => 10,
        Physical::I128 => 19,
        Physical::Interval => LENGTH_BYTES + 10,
        Physical::Str => return None,
    })
}

/// The array of those elements.
pub fn encode<'v>(values: impl IntoIterator<Item = &'v Value>, element: SqlType) -> Result<Value> {
    let mut out = Vec::new();
    for value in values {
        push(&mut out, value, element)?;
    }
    finish(out)
}

/// The array of the elements that were appended.
pub fn finish(out: Vec<u8>) -> Result<Value> {
    check_length(out.len())?;
    let text = String::from_utf8(out).map_err(|_| Error::internal("an array whose form is no text"))?;
    Ok(Value::str(text))
}

/// Appends an element.
pub fn push(out: &mut Vec<u8>, value: &Value, element: SqlType) -> Result<()> {
    let wrong = || Error::internal(format!("{value:?} is not an element of type {element}"));
    let Some(stride) = stride(element) else {
        return match value {
            Value::Null => {
                out.push(NULL);
                Ok(())
            }
            Value::Str(text) => push_str(out, text, element),
            _ => Err(wrong()),
        };
    };
    if value.is_null() {
        out.push(NULL);
        out.resize(out.len() + stride - 1, 0);
        return Ok(());
    }
    if let (Physical::Interval, Value::Interval(i)) = (element.physical(), value) {
        push_bits(out, VALUE, (i.approximate_micros() + LENGTH_OFFSET) as u128, LENGTH_BYTES);
        let parts = (u64::from(flip(i.months)) << 32) | u64::from(flip(i.days));
        push_bits(out, 0, parts.into(), stride - LENGTH_BYTES);
        return Ok(());
    }
    push_bits(out, VALUE, ordered(value, element.physical()).ok_or_else(wrong)?, stride);
    Ok(())
}

/// Appends a text or an array, which is not NULL.
pub fn push_str(out: &mut Vec<u8>, text: &str, element: SqlType) -> Result<()> {
    out.push(VALUE);
    match element.is_nested() {
        true => out.extend_from_slice(text.as_bytes()),
        false => push_text(out, text),
    }
    out.push(END);
    check_length(out.len())
}

fn flip(value: i32) -> u32 {
    value as u32 ^ (1 << 31)
}

fn push_bits(out: &mut Vec<u8>, marker: u8, bits: u128, bytes: usize) {
    if bytes <= SPREAD {
        let at = out.len();
        out.extend_from_slice(&spread(bits as u64)[SPREAD - bytes..]);
        out[at] |= marker;
        return;
    }
    let at = |place: usize| (bits >> (BITS as usize * place)) as u8 & 0x7f;
    out.push(marker | at(bytes - 1));
    out.extend((0..bytes - 1).rev().map(at));
}

/// Bytes that 64 bits take.
const SPREAD: usize = 10;

/// The bits, seven a byte, the highest first: all bytes at once, by halves, quarters and eighths of what moves.
#[inline]
fn spread(bits: u64) -> [u8; SPREAD] {
    let low = (bits & 0x0fff_ffff) | (bits & 0x00ff_ffff_f000_0000) << 4;
    let low = (low & 0x0000_3fff_0000_3fff) | (low & 0x0fff_c000_0fff_c000) << 2;
    let low = (low & 0x007f_007f_007f_007f) | (low & 0x3f80_3f80_3f80_3f80) << 1;
    let mut out = [0; SPREAD];
    out[0] = (bits >> 63) as u8;
    out[1] = (bits >> 56) as u8 & 0x7f;
    out[2..].copy_from_slice(&low.to_be_bytes());
    out
}

/// Whether values of the type can be had as words ([`word_of`]).
pub fn has_words(sql_type: SqlType) -> bool {
    use Physical::{Bool, F32, F64, I16, I32, I64};
    matches!(sql_type.physical(), Bool | I16 | I32 | I64 | F32 | F64)
}

/// The word of a value that is not NULL, of a type [that has them](has_words).
pub fn word_of(value: &Value) -> Option<i64> {
    match value {
        Value::Float(f) => Some(word_of_float(*f)),
        _ => i64::try_from(value.as_integer()?).ok(),
    }
}

/// The word of a double: words are in the order of the values, -0 is 0, and NaN is above infinity.
pub fn word_of_float(f: f64) -> i64 {
    let f = if f.is_nan() { f64::NAN.copysign(1.0) } else { f + 0.0 };
    (order_float(f.to_bits()) ^ 1 << 63) as i64
}

/// Writes the element of a word, or NULL, where as many bytes are as its type's [`stride`].
#[inline]
pub fn write_word(to: &mut [u8], word: Option<i64>, physical: Physical) {
    let Some(word) = word else {
        to.fill(0);
        to[0] = NULL;
        return;
    };
    let bits = match physical {
        Physical::Bool => word as u64,
        Physical::F64 => word as u64 ^ 1 << 63,
        Physical::F32 => {
            let narrow = f64::from_bits(restore_float(word as u64 ^ 1 << 63)) as f32;
            order_float(u64::from(narrow.to_bits()) << 32) >> 32
        }
        _ => (word as u64).wrapping_add(1 << sign(physical)) & mask(physical) as u64,
    };
    let bytes = spread(bits);
    // Of the usual widths a move or two.
    if let Ok(to) = <&mut [u8; SPREAD]>::try_from(&mut *to) {
        *to = bytes;
    } else if let (Ok(to), Some(last)) = (<&mut [u8; 5]>::try_from(&mut *to), bytes.last_chunk()) {
        *to = *last;
    } else {
        to.copy_from_slice(&bytes[SPREAD - to.len()..]);
    }
    to[0] |= VALUE;
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte > ESCAPE) {
        return out.extend_from_slice(text.as_bytes());
    }
    for &byte in text.as_bytes() {
        if byte <= ESCAPE {
            out.push(ESCAPE);
            out.push(b'0' + byte);
        } else {
            out.push(byte);
        }
    }
}

/// The bits of a value that order it among others of its layout.
fn ordered(value: &Value, physical: Physical) -> Option<u128> {
    if let Value::Float(f) = value {
        // -0 is 0, and there is one NaN, above infinity.
        let f = if f.is_nan() { f64::NAN.copysign(1.0) } else { f + 0.0 };
        return Some(match physical {
            Physical::F32 => (order_float(u64::from((f as f32).to_bits()) << 32) >> 32).into(),
            _ => order_float(f.to_bits()).into(),
        });
    }
    let stored = value.as_integer()?;
    Some(match physical {
        Physical::Bool => stored as u128,
        physical => (stored as u128).wrapping_add(1 << sign(physical)) & mask(physical),
    })
}

/// Which bit is the sign.
fn sign(physical: Physical) -> usize {
    physical.size() * 8 - 1
}

fn mask(physical: Physical) -> u128 {
    u128::MAX >> (128 - physical.size() * 8)
}

/// Negative floats are ordered the other way round.
fn order_float(bits: u64) -> u64 {
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

fn restore_float(bits: u64) -> u64 {
    if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits }
}

/// The bits behind the marker.
fn bits(bytes: &[u8]) -> u128 {
    let rest = |bits: u128, byte: &u8| (bits << BITS) | u128::from(*byte);
    bytes[1..].iter().fold(u128::from(bytes[0] & (VALUE - 1)), rest)
}

/// The value of an element of fixed width, by its bytes.
pub fn fixed(bytes: &[u8], element: SqlType) -> Value {
    if bytes[0] & NULL != 0 {
        return Value::Null;
    }
    let physical = element.physical();
    match physical {
        Physical::F32 => {
            let restored = restore_float((bits(bytes) as u64) << 32) >> 32;
            Value::Float(f32::from_bits(restored as u32).into())
        }
        Physical::F64 => Value::Float(f64::from_bits(restore_float(bits(bytes) as u64))),
        Physical::Interval => {
            let parts = bytes[LENGTH_BYTES..].iter().fold(0u128, |b, byte| (b << BITS) | u128::from(*byte)) as u64;
            let (months, days) = (((parts >> 32) as u32 ^ (1 << 31)) as i32, (parts as u32 ^ (1 << 31)) as i32);
            let whole = Interval { months, days, micros: 0 }.approximate_micros();
            let micros = bits(&bytes[..LENGTH_BYTES]) as i128 - LENGTH_OFFSET - whole;
            Value::Interval(Interval { months, days, micros: micros as i64 })
        }
        Physical::Bool => Value::of_integer(element, bits(bytes) as i128).unwrap_or(Value::Null),
        _ => {
            let shift = 128 - physical.size() * 8;
            let moved = bits(bytes).wrapping_sub(1 << sign(physical));
            Value::of_integer(element, ((moved << shift) as i128) >> shift).unwrap_or(Value::Null)
        }
    }
}

/// The elements of an array in their order.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    element: SqlType,
    stride: Option<usize>,
}

impl<'a> Elements<'a> {
    /// Those of an array in its form.
    pub fn new(array: &'a str, element: SqlType) -> Self {
        Self { rest: array.as_bytes(), element, stride: stride(element) }
    }

    /// Those from a byte on at which one begins.
    pub fn from_byte(array: &'a str, element: SqlType, at: usize) -> Self {
        Self { rest: array.as_bytes().get(at..).unwrap_or_default(), element, stride: stride(element) }
    }

    /// Goes on behind so many elements.
    pub fn skip_elements(mut self, count: usize) -> Self {
        match self.stride {
            Some(stride) => self.rest = self.rest.get(count.saturating_mul(stride)..).unwrap_or_default(),
            None => (0..count).take_while(|_| !self.raw().is_empty()).for_each(drop),
        }
        self
    }

    /// How many there are from here on: at once, where they are of fixed width.
    pub fn remaining(&self) -> usize {
        match self.stride {
            Some(stride) => self.rest.len() / stride,
            None => {
                let mut rest = self.clone();
                std::iter::from_fn(|| Some(rest.raw()).filter(|raw| !raw.is_empty())).count()
            }
        }
    }

    /// Bytes from here to the end.
    pub(super) fn bytes(&self) -> usize {
        self.rest.len()
    }

    /// The bytes of the next element, which are an array of this element alone; none at the end.
    pub fn raw(&mut self) -> &'a [u8] {
        let length = match self.stride {
            Some(stride) => stride.min(self.rest.len()),
            None => extent(self.rest, self.element),
        };
        let (raw, rest) = self.rest.split_at(length);
        self.rest = rest;
        raw
    }
}

impl Iterator for Elements<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let raw = self.raw();
        let &marker = raw.first()?;
        Some(match self.stride {
            Some(_) => fixed(raw, self.element),
            None if marker == NULL => Value::Null,
            None => Value::str(inner(raw, self.element)),
        })
    }
}

/// The bytes of the text or array between marker and end, if these are its own.
#[inline]
pub fn part_of(raw: &[u8], element: SqlType) -> Option<&[u8]> {
    let bytes = raw.get(1..raw.len() - 1).unwrap_or_default();
    (element.is_nested() || memchr::memchr(ESCAPE, bytes).is_none()).then_some(bytes)
}

/// The text or array between marker and end.
pub fn inner(raw: &[u8], element: SqlType) -> Cow<'_, str> {
    if let Some(bytes) = part_of(raw, element) {
        return String::from_utf8_lossy(bytes);
    }
    let bytes = raw.get(1..raw.len() - 1).unwrap_or_default();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        out.push(if byte == ESCAPE { rest.next().map_or(0, |digit| digit - b'0') } else { byte });
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Bytes of the first element of an array of texts or arrays; 0 if there is none.
fn extent(bytes: &[u8], element: SqlType) -> usize {
    match bytes.first() {
        None => 0,
        Some(&NULL) => 1,
        Some(_) if let Some(of) = element.structure() => {
            let past = |at: usize, field: &StructField| {
                at + stride(field.sql_type)
                    .unwrap_or_else(|| extent(bytes.get(at..).unwrap_or_default(), field.sql_type))
            };
            (of.fields.iter().fold(1, past) + 1).min(bytes.len())
        }
        Some(_) => match element.items() {
            None => 1 + memchr::memchr(END, &bytes[1..]).map_or(bytes.len() - 1, |at| at + 1),
            Some(inner) => {
                let mut at = 1;
                while at < bytes.len() && bytes[at] != END {
                    at += stride(inner).unwrap_or_else(|| extent(&bytes[at..], inner));
                }
                (at + 1).min(bytes.len())
            }
        },
    }
}

/// How many elements an array has.
pub fn length(array: &str, element: SqlType) -> usize {
    Elements::new(array, element).remaining()
}

/// 22004: NULL where there must be an element.
#[cold]
pub(super) fn must_not_be_null(message: &str) -> Error {
    Error::new(SqlState("22004"), message)
}
