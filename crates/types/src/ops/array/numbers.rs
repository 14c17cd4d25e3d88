//! Sums and extremes of lists of numbers, where they lie.

use base::Result;

use super::code::is_null;
use super::found::Found;
use super::functions::{self, raw};
use super::reading::{Numbers, each_double, each_exact, each_word};
use crate::ops::decimal;
use crate::ops::error::out_of_range;
use crate::{Physical, SqlType};

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
