//! What is asked of ranges, and what they are made of others.

use std::cmp::Ordering;

use base::{Error, Result, SqlState};

use super::{Bound, EMPTY, Range, compare, decode, encode, of_bounds, or_empty};
use crate::{SqlType, Value};

/// The range between two values, either of which may be NULL for no bound; `bounds` is `[]`, `[)`, `(]` or `()`.
pub fn make(lower: &Value, upper: &Value, bounds: &str, element: SqlType) -> Result<Value> {
    let (lower_inclusive, upper_inclusive) = match bounds {
        "[]" => (true, true),
        "[)" => (true, false),
        "(]" => (false, true),
        "()" => (false, false),
        _ => {
            let error = Error::new(SqlState::SYNTAX_ERROR, "invalid range bound flags");
            return Err(error.hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
        }
    };
    let bound = |value: &Value, inclusive| match value {
        Value::Null => Bound::NONE,
        value => Bound { value: Some(value.clone()), inclusive },
    };
    encode(&of_bounds(bound(lower, lower_inclusive), bound(upper, upper_inclusive), element)?, element)
}

/// Whether nothing is in it.
pub fn is_empty(form: &str) -> bool {
    form.as_bytes() == [EMPTY]
}

/// A bound of a range that is not empty.
pub fn bound_of(form: &str, is_lower: bool, element: SqlType) -> Option<Bound> {
    match decode(form, element) {
        Range::Empty => None,
        Range::Held(lower, upper) => Some(if is_lower { lower } else { upper }),
    }
}

/// The value of a bound; NULL of the empty range, and where there is none.
pub fn bound_value(form: &str, is_lower: bool, element: SqlType) -> Value {
    bound_of(form, is_lower, element).and_then(|bound| bound.value).unwrap_or(Value::Null)
}

/// Whether a value is in a range.
pub fn contains_value(form: &str, value: &Value, element: SqlType) -> bool {
    let at = Bound { value: Some(value.clone()), inclusive: true };
    match decode(form, element) {
        Range::Empty => false,
        Range::Held(lower, upper) => {
            compare((&lower, true), (&at, true)).is_le() && compare((&at, false), (&upper, false)).is_le()
        }
    }
}

/// Both ranges' bounds; none if one of them is empty.
fn held(a: &str, b: &str, element: SqlType) -> Option<[(Bound, Bound); 2]> {
    match (decode(a, element), decode(b, element)) {
        (Range::Held(al, au), Range::Held(bl, bu)) => Some([(al, au), (bl, bu)]),
        _ => None,
    }
}

/// Whether all that is in the second range is in the first one.
pub fn contains(a: &str, b: &str, element: SqlType) -> bool {
    if is_empty(b) {
        return true;
    }
    held(a, b, element).is_some_and(|[(al, au), (bl, bu)]| {
        compare((&al, true), (&bl, true)).is_le() && compare((&bu, false), (&au, false)).is_le()
    })
}

/// Whether something is in both.
pub fn overlaps(a: &str, b: &str, element: SqlType) -> bool {
    held(a, b, element).is_some_and(|[(al, au), (bl, bu)]| {
        compare((&al, true), (&bu, false)).is_lt() && compare((&bl, true), (&au, false)).is_lt()
    })
}

/// Whether the first range ends before the second begins.
pub fn is_before(a: &str, b: &str, element: SqlType) -> bool {
    held(a, b, element).is_some_and(|[(_, au), (bl, _)]| compare((&au, false), (&bl, true)).is_le())
}

/// Whether the first range ends no later than the second.
pub fn ends_within(a: &str, b: &str, element: SqlType) -> bool {
    held(a, b, element).is_some_and(|[(_, au), (_, bu)]| compare((&au, false), (&bu, false)).is_le())
}

/// Whether the first range begins no earlier than the second.
pub fn begins_within(a: &str, b: &str, element: SqlType) -> bool {
    held(a, b, element).is_some_and(|[(al, _), (bl, _)]| compare((&al, true), (&bl, true)).is_ge())
}

/// Whether one range begins where the other ends.
pub fn is_adjacent(a: &str, b: &str, element: SqlType) -> bool {
    let meet = |upper: &Bound, lower: &Bound| {
        upper.value.is_some() && lower.value.is_some() && compare((upper, false), (lower, true)).is_eq()
    };
    held(a, b, element).is_some_and(|[(al, au), (bl, bu)]| meet(&au, &bl) || meet(&bu, &al))
}

fn lesser<'b>(a: &'b Bound, b: &'b Bound, is_lower: bool) -> &'b Bound {
    if compare((a, is_lower), (b, is_lower)).is_le() { a } else { b }
}

fn greater<'b>(a: &'b Bound, b: &'b Bound, is_lower: bool) -> &'b Bound {
    if compare((a, is_lower), (b, is_lower)).is_ge() { a } else { b }
}

/// What is in both.
pub fn intersection(a: &str, b: &str, element: SqlType) -> Result<Value> {
    let range = held(a, b, element).map_or(Range::Empty, |[(al, au), (bl, bu)]| {
        or_empty(greater(&al, &bl, true).clone(), lesser(&au, &bu, false).clone())
    });
    encode(&range, element)
}

/// The smallest range that has all of both.
pub fn merge(a: &str, b: &str, element: SqlType) -> Result<Value> {
    match held(a, b, element) {
        Some([(al, au), (bl, bu)]) => {
            let range = or_empty(lesser(&al, &bl, true).clone(), greater(&au, &bu, false).clone());
            encode(&range, element)
        }
        None => Ok(Value::str(if is_empty(a) { b } else { a })),
    }
}

/// What is in either: 22000 if there is something between them.
pub fn union(a: &str, b: &str, element: SqlType) -> Result<Value> {
    let together = is_empty(a) || is_empty(b) || overlaps(a, b, element) || is_adjacent(a, b, element);
    match together {
        true => merge(a, b, element),
        false => Err(Error::new(SqlState("22000"), "result of range union would not be contiguous")),
    }
}

/// What is in the first and not in the second: 22000 if it is in two parts.
pub fn difference(a: &str, b: &str, element: SqlType) -> Result<Value> {
    let Some([(al, au), (bl, bu)]) = held(a, b, element) else { return Ok(Value::str(a)) };
    if !overlaps(a, b, element) {
        return Ok(Value::str(a));
    }
    let begins = compare((&al, true), (&bl, true));
    let ends = compare((&au, false), (&bu, false));
    let turned = |bound: &Bound| Bound { value: bound.value.clone(), inclusive: !bound.inclusive };
    let range = match (begins, ends) {
        (Ordering::Less, Ordering::Greater) => {
            return Err(Error::new(SqlState("22000"), "result of range difference would not be contiguous"));
        }
        (Ordering::Less, _) => or_empty(al, turned(&bl)),
        (_, Ordering::Greater) => or_empty(turned(&bu), au),
        _ => Range::Empty,
    };
    encode(&range, element)
}
