//! The numbers of lists, read many at once.

use base::{Error, Result, SqlState};

use super::words::{self, Raw, decode, gather};
use super::{Elements, stride_of};
use crate::ops::decimal;
use crate::{Physical, SqlType};

/// So many elements are read at once, but for lists of few.
pub(super) const BLOCK: usize = 64;
pub(super) const FEW: usize = 8;

/// How the elements of a list of numbers are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Integers, or decimals of that scale.
    Exact(u8),
    Doubles,
}

impl Numbers {
    pub(super) fn of(element: SqlType) -> Result<Self> {
        match element {
            SqlType::Real | SqlType::Double => Ok(Self::Doubles),
            exact if exact.is_integer() => Ok(Self::Exact(0)),
            exact if exact.as_decimal().is_some() && exact.is_decimal() => Ok(Self::Exact(exact.scale())),
            other => Err(no_numbers(other)),
        }
    }
}

/// 42804: the elements of a list are to be numbers, and are not.
#[cold]
pub fn no_numbers(element: SqlType) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, format!("the elements are no numbers, but of type {element}"))
}

/// Calls `with` with elements as words, as [`decode`] makes them, and whether they are NULL.
#[inline(always)]
pub(super) fn each_word(list: &[u8], element: Physical, mut with: impl FnMut(u64, bool)) {
    let bytes = stride_of(element).unwrap_or(1);
    if list.len() <= FEW * bytes {
        return words::each_word(list, element, with);
    }
    let mut read = Block::default();
    for block in list.chunks(BLOCK * bytes) {
        let (words, nulls) = read.read(block, element);
        words.iter().zip(nulls).for_each(|(word, null)| with(*word, *null != 0));
    }
}

/// Elements that were read at once.
pub(super) struct Block {
    words: [u64; BLOCK],
    heads: [u16; BLOCK],
    nulls: [u8; BLOCK],
}

impl Default for Block {
    fn default() -> Self {
        Self { words: [0; BLOCK], heads: [0; BLOCK], nulls: [0; BLOCK] }
    }
}

impl Block {
    pub(super) fn read(&mut self, list: &[u8], element: Physical) -> (&[u64], &[u8]) {
        let count = list.len() / stride_of(element).unwrap_or(1);
        let Self { words, heads, nulls } = self;
        let words = &mut words[..count];
        gather(list, 0, element, Raw { words, heads });
        decode(element, Raw { words, heads }, nulls);
        (words, &nulls[..count])
    }
}

/// Calls `with` with each integer that is not NULL.
#[inline(always)]
pub(super) fn each_exact(list: &str, element: SqlType, mut with: impl FnMut(i128)) {
    match element.physical() {
        words @ (Physical::I32 | Physical::I64) => each_word(list.as_bytes(), words, |word, is_null| {
            if !is_null {
                with((word as i64).into());
            }
        }),
        _ => Elements::new(list, element).filter_map(|value| value.as_integer()).for_each(with),
    }
}

/// Calls `with` with each number that is not NULL.
#[inline(always)]
pub(super) fn each_double(list: &str, element: SqlType, mut with: impl FnMut(f64)) -> Result<()> {
    match Numbers::of(element)? {
        Numbers::Doubles => each_word(list.as_bytes(), element.physical(), |word, is_null| {
            if !is_null {
                with(f64::from_bits(word));
            }
        }),
        Numbers::Exact(scale) => each_exact(list, element, |value| with(decimal::to_f64(value, scale))),
    }
    Ok(())
}
