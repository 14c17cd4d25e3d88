//! Lists of numbers as vectors: products and distances.

use base::simd::vectorised;
use base::{Error, Result, SqlState};

use super::code::must_not_be_null;
use super::found::Found;
use super::reading::{BLOCK, Block, FEW, Numbers, each_double, each_word};
use super::{Elements, is_read_as_words, length, stride_of};
use crate::SqlType;
use crate::ops::decimal;

/// Sums in lanes: one result, whatever the processor adds at once.
const LANES: usize = 8;
const _: () = assert!(FEW <= LANES);

/// Sums of what is computed of pairs of elements, at the same places of two lists that are as long.
fn sums_of_pairs<const SUMS: usize>(
    [a, b]: [&str; 2],
    element: SqlType,
    of: impl Fn(f64, f64) -> [f64; SUMS] + Copy,
) -> Result<[f64; SUMS]> {
    let (count, other) = (length(a, element), length(b, element));
    if count != other {
        let message = format!("lists of one length are needed, not of {count} and {other} elements");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let numbers = Numbers::of(element)?;
    let stride = stride_of(element.physical()).unwrap_or(1);
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut lanes = [[0.0; LANES]; SUMS];
    if count <= FEW {
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
            let block = a.len() / stride;
            let (values, others) = (&mut values[..block], &mut others[..block]);
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
