//! What is computed of lists where they lie: of numbers, many at once, and of elements as bytes.

use base::simd::vectorised;
use base::{Error, Result, SqlState};

use super::code::{is_null, must_not_be_null};
use super::functions::{self, raw};
use super::words::{self, Raw, decode, gather, is_read_as_words};
use super::{Elements, stride_of};
use crate::ops::decimal;
use crate::ops::error::out_of_range;
use crate::{Physical, SqlType, Value};

/// What a function of lists gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'a> {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number as it is stored.
    Integer(i128),
    /// A double.
    Double(f64),
    /// A text, or a list that is part of another.
    Text(&'a str),
    /// An element, as the list of it alone.
    Element(&'a str),
}

impl Found<'_> {
    /// As a value of the type, of lists with elements of another.
    pub fn value(self, element: SqlType, result: SqlType) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is_true) => Value::Bool(is_true),
            Self::Integer(number) => Value::of_integer(result, number).unwrap_or(Value::Null),
            Self::Double(number) => Value::Float(number),
            Self::Text(text) => Value::str(text),
            Self::Element(alone) => Elements::new(alone, element).next().unwrap_or(Value::Null),
        }
    }
}

/// So many elements are read at once, but for lists of few.
const BLOCK: usize = 64;
const FEW: usize = 8;

/// How the elements of a list of numbers are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Integers, or decimals of that scale.
    Exact(u8),
    Doubles,
}

impl Numbers {
    fn of(element: SqlType) -> Result<Self> {
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
fn each_word(list: &[u8], element: Physical, mut with: impl FnMut(u64, bool)) {
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
struct Block {
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
    fn read(&mut self, list: &[u8], element: Physical) -> (&[u64], &[u8]) {
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
fn each_exact(list: &str, element: SqlType, mut with: impl FnMut(i128)) {
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
fn each_double(list: &str, element: SqlType, mut with: impl FnMut(f64)) -> Result<()> {
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

/// The sum of the elements that are not NULL; NULL if there is none. Of integers it is one, of decimals a decimal of their scale.
pub fn sum(list: &str, element: SqlType) -> Result<Found<'_>> {
    let mut any = false;
    let Numbers::Exact(scale) = Numbers::of(element)? else {
        let mut sum = -0.0;
        each_double(list, element, |value| (sum, any) = (sum + value, true))?;
        return Ok(if any { Found::Double(sum) } else { Found::Null });
    };
    let (mut sum, mut fits) = (0i128, true);
    each_exact(list, element, |value| {
        let (next, overflows) = sum.overflowing_add(value);
        (sum, fits, any) = (next, fits && !overflows, true);
    });
    if !any {
        return Ok(Found::Null);
    }
    if !fits {
        return Err(out_of_range("numeric"));
    }
    if matches!(element, SqlType::SmallInt | SqlType::Integer) {
        return i64::try_from(sum).map(|sum| Found::Integer(sum.into())).map_err(|_| out_of_range("bigint"));
    }
    match element.physical() {
        // So many do not fit into memory that their sum has too many digits.
        Physical::I64 => Ok(Found::Integer(sum)),
        _ => decimal::rescale_to(sum, scale, SqlType::MAX_PRECISION, scale).map(Found::Integer),
    }
}

/// Their mean, as a double.
pub fn average(list: &str, element: SqlType) -> Result<Found<'_>> {
    let (mut sum, mut count) = (0.0, 0u64);
    each_double(list, element, |value| (sum, count) = (sum + value, count + 1))?;
    Ok(if count == 0 { Found::Null } else { Found::Double(sum / count as f64) })
}

/// Their product, as a double.
pub fn product(list: &str, element: SqlType) -> Result<Found<'_>> {
    let (mut product, mut any) = (1.0, false);
    each_double(list, element, |value| (product, any) = (product * value, true))?;
    Ok(if any { Found::Double(product) } else { Found::Null })
}

/// How many elements are not NULL.
pub fn count(list: &str, element: SqlType) -> Result<Found<'_>> {
    let count = raw(list, element).filter(|raw| !is_null(raw)).count();
    Ok(Found::Integer(count as i128))
}

/// The least element.
pub fn least(list: &str, element: SqlType) -> Result<Found<'_>> {
    Ok(extreme::<false>(list, element))
}

/// The greatest element.
pub fn greatest(list: &str, element: SqlType) -> Result<Found<'_>> {
    Ok(extreme::<true>(list, element))
}

#[inline(always)]
fn extreme<const GREATEST: bool>(list: &str, element: SqlType) -> Found<'_> {
    let words @ (Physical::I32 | Physical::I64) = element.physical() else {
        return functions::extreme(list, element, GREATEST).map_or(Found::Null, Found::Element);
    };
    let mut found = None;
    each_word(list.as_bytes(), words, |word, is_null| {
        let word = word as i64;
        if !is_null && found.is_none_or(|found| if GREATEST { word > found } else { word < found }) {
            found = Some(word);
        }
    });
    found.map_or(Found::Null, |word| Found::Integer(word.into()))
}

/// Whether an element equals the wanted one, which is given as the list of it alone; NULL if that is NULL.
pub fn has<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    if wanted.is_empty() || is_null(wanted.as_bytes()) {
        return Ok(Found::Null);
    }
    Ok(Found::Bool(functions::position(list, element, wanted, 1).is_some()))
}

/// As `= ANY` has it: NULL where none is, but some is NULL.
pub fn has_any<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    Ok(match functions::any_equal(list, element, wanted) {
        Value::Bool(is_there) => Found::Bool(is_there),
        _ => Found::Null,
    })
}

/// The number of the first element that is the same as the wanted one, NULL too; NULL if there is none.
pub fn place<'a>(list: &'a str, wanted: &'a str, element: SqlType) -> Result<Found<'a>> {
    Ok(functions::position(list, element, wanted, 1).map_or(Found::Null, |at| Found::Integer(at.into())))
}

/// Sums in lanes: one result, whatever the processor adds at once.
const LANES: usize = 8;
const _: () = assert!(FEW <= LANES);

/// Sums of what is computed of pairs of elements, at the same places of two lists that are as long.
fn sums_of_pairs<const SUMS: usize>(
    [a, b]: [&str; 2],
    element: SqlType,
    of: impl Fn(f64, f64) -> [f64; SUMS] + Copy,
) -> Result<[f64; SUMS]> {
    let (length, other) = (super::length(a, element), super::length(b, element));
    if length != other {
        let message = format!("lists of one length are needed, not of {length} and {other} elements");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let numbers = Numbers::of(element)?;
    let stride = stride_of(element.physical()).unwrap_or(1);
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut lanes = [[0.0; LANES]; SUMS];
    if length <= FEW {
        for (at, (a, b)) in a.chunks(stride).zip(b.chunks(stride)).enumerate() {
            let [mut value, mut other] = [[0.0]; 2];
            doubles(a, (element, numbers), &mut value)?;
            doubles(b, (element, numbers), &mut other)?;
            lanes.iter_mut().zip(of(value[0], other[0])).for_each(|(lanes, of)| lanes[at] = of);
        }
    } else {
        let mut read = Block::default();
        let [mut values, mut others] = [[0.0; BLOCK]; 2];
        for (a, b) in a.chunks(BLOCK * stride).zip(b.chunks(BLOCK * stride)) {
            let count = a.len() / stride;
            let (values, others) = (&mut values[..count], &mut others[..count]);
            for (list, to) in [(a, &mut *values), (b, &mut *others)] {
                match numbers {
                    Numbers::Doubles => {
                        let (words, nulls) = read.read(list, element.physical());
                        to.iter_mut().zip(words).for_each(|(to, word)| *to = f64::from_bits(*word));
                        if nulls.iter().fold(0, |any, null| any | null) != 0 {
                            return Err(null_in_pair());
                        }
                    }
                    Numbers::Exact(_) => doubles(list, (element, numbers), to)?,
                }
            }
            vectorised(
                #[inline(always)]
                || add_pairs(&mut lanes, (values, others), of),
            );
        }
    }
    Ok(lanes.map(|lanes| lanes.iter().sum()))
}

#[inline(always)]
fn add_pairs<const SUMS: usize>(
    lanes: &mut [[f64; LANES]; SUMS],
    (values, others): (&[f64], &[f64]),
    of: impl Fn(f64, f64) -> [f64; SUMS],
) {
    let (whole, rest) = values.as_chunks::<LANES>();
    let (whole_others, rest_others) = others.as_chunks::<LANES>();
    for (a, b) in whole.iter().zip(whole_others) {
        for at in 0..LANES {
            let of = of(a[at], b[at]);
            for sum in 0..SUMS {
                lanes[sum][at] += of[sum];
            }
        }
    }
    for (at, (a, b)) in rest.iter().zip(rest_others).enumerate() {
        let of = of(*a, *b);
        for sum in 0..SUMS {
            lanes[sum][at] += of[sum];
        }
    }
}

#[cold]
fn null_in_pair() -> Error {
    must_not_be_null("a list whose elements are multiplied must not have a NULL")
}

/// Reads elements, none of which may be NULL.
#[inline(always)]
fn doubles(list: &[u8], (element, numbers): (SqlType, Numbers), to: &mut [f64]) -> Result<()> {
    let physical = element.physical();
    let mut to = to.iter_mut();
    let mut any_null = false;
    if is_read_as_words(physical) {
        each_word(list, physical, |word, is_null| {
            any_null |= is_null;
            let value = match numbers {
                Numbers::Doubles => f64::from_bits(word),
                Numbers::Exact(0) => word as i64 as f64,
                Numbers::Exact(scale) => decimal::to_f64((word as i64).into(), scale),
            };
            if let Some(to) = to.next() {
                *to = value;
            }
        });
        return if any_null { Err(null_in_pair()) } else { Ok(()) };
    }
    let list = std::str::from_utf8(list).map_err(|_| Error::internal("a list whose form is no text"))?;
    for (to, value) in to.zip(Elements::new(list, element)) {
        *to = decimal::to_f64(value.as_integer().ok_or_else(null_in_pair)?, element.scale());
    }
    Ok(())
}

/// A double that a sum of pairs has become; 22003 where it is infinite and no element was.
fn finite(sum: f64, lists: [&str; 2], element: SqlType) -> Result<f64> {
    if sum.is_finite() {
        return Ok(sum);
    }
    let mut all_finite = true;
    for list in lists {
        each_double(list, element, |value| all_finite &= value.is_finite())?;
    }
    if all_finite { Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow")) } else { Ok(sum) }
}

/// The sum of the products of elements.
pub fn inner_product<'a>(a: &'a str, b: &'a str, element: SqlType) -> Result<Found<'a>> {
    let [sum] = sums_of_pairs(
        [a, b],
        element,
        #[inline(always)]
        |a, b| [a * b],
    )?;
    finite(sum, [a, b], element).map(Found::Double)
}

/// The Euclidean distance.
pub fn distance<'a>(a: &'a str, b: &'a str, element: SqlType) -> Result<Found<'a>> {
    let [sum] = sums_of_pairs(
        [a, b],
        element,
        #[inline(always)]
        |a, b| [(a - b) * (a - b)],
    )?;
    finite(sum, [a, b], element).map(|sum| Found::Double(sum.sqrt()))
}

/// The cosine of the angle between both; NULL of lists without elements, and NaN where one has no length.
pub fn cosine_similarity<'a>(a: &'a str, b: &'a str, element: SqlType) -> Result<Found<'a>> {
    let [products, of_a, of_b] = sums_of_pairs(
        [a, b],
        element,
        #[inline(always)]
        |a, b| [a * b, a * a, b * b],
    )?;
    if a.is_empty() {
        return Ok(Found::Null);
    }
    let (of_a, of_b) = (finite(of_a, [a, b], element)?, finite(of_b, [a, b], element)?);
    // Once rounded, unless that is outside of what doubles reach.
    let lengths = if (of_a * of_b).is_normal() { (of_a * of_b).sqrt() } else { of_a.sqrt() * of_b.sqrt() };
    let cosine = finite(products, [a, b], element)? / lengths;
    // Rounding must not make it one of no angle.
    Ok(Found::Double(cosine.clamp(-1.0, 1.0)))
}
