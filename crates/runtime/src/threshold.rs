//! The first key of the last row that a top-k needs, as far as is known: what comes behind it may be left out before it
//! becomes a row.
//!
//! Each worker knows as many rows as are needed and so a value that the first key of no better row exceeds; the threshold
//! is the best of these values, so it only gets stricter. Rows whose first key equals it are decided by what else they
//! hold, and are not left out.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use types::Value;

/// What is known of the rows that a top-k still needs.
#[derive(Debug)]
pub struct Threshold {
    rows: u64,
    descending: bool,
    nulls_first: bool,
    value: Mutex<Option<Value>>,
    /// How often it has become stricter.
    version: AtomicU64,
}

/// Which values of the first key a row must have to be needed.
#[derive(Clone, Debug, PartialEq)]
pub enum Needed {
    /// None but NULL.
    Null,
    /// At most this one; whatever is stored as an integer stands here as a decimal.
    AtMost {
        /// The greatest.
        value: Value,
        /// Or NULL.
        or_null: bool,
    },
    /// Likewise at least this one.
    AtLeast {
        /// The least.
        value: Value,
        /// Or NULL.
        or_null: bool,
    },
}

impl Threshold {
    pub(crate) fn new(rows: u64, descending: bool, nulls_first: bool) -> Self {
        Self { rows, descending, nulls_first, value: Mutex::default(), version: AtomicU64::new(0) }
    }

    /// How many rows are needed.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the greatest values come first.
    pub fn is_descending(&self) -> bool {
        self.descending
    }

    /// Whether NULL comes before all values.
    pub fn is_nulls_first(&self) -> bool {
        self.nulls_first
    }

    /// How often it has become stricter: 0 if nothing is known yet.
    pub fn version(&self) -> u64 {
        self.version.load(Relaxed)
    }

    /// What is needed, if not everything.
    pub fn needed(&self) -> Option<Needed> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let or_null = self.nulls_first;
        match value {
            Value::Null => or_null.then_some(Needed::Null),
            value if self.descending => Some(Needed::AtLeast { value, or_null }),
            value => Some(Needed::AtMost { value, or_null }),
        }
    }

    /// Whether rows may be needed whose first keys lie between these values, where they are known, or may be NULL. Of floats, the
    /// greatest value leaves NaN out.
    pub fn may_need(&self, (least, greatest): (Option<&Value>, Option<&Value>), may_be_null: bool) -> bool {
        let order = |known: &Value, value: &Value| by_number(known.clone()).total_cmp(value);
        match self.needed() {
            None => true,
            Some(Needed::Null) => may_be_null,
            Some(Needed::AtMost { or_null: true, .. } | Needed::AtLeast { or_null: true, .. }) if may_be_null => true,
            Some(Needed::AtMost { value, .. }) => least.is_none_or(|least| order(least, &value).is_le()),
            Some(Needed::AtLeast { value: Value::Float(_), .. }) => true,
            Some(Needed::AtLeast { value, .. }) => greatest.is_none_or(|greatest| order(greatest, &value).is_ge()),
        }
    }

    /// As many rows as are needed have this value for their first key, or one before it.
    pub fn tighten(&self, value: Value) {
        let value = by_number(value);
        let mut known = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| self.order(&value, known).is_lt()) {
            *known = Some(value);
            self.version.fetch_add(1, Relaxed);
        }
    }

    /// The order of values of the key.
    fn order(&self, a: &Value, b: &Value) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (false, false) if self.descending => b.total_cmp(a),
            (false, false) => a.total_cmp(b),
            (a, b) if self.nulls_first => b.cmp(&a),
            (a, b) => a.cmp(&b),
        }
    }
}

/// Whatever is stored as an integer, by it: rows don't know whether theirs are dates.
fn by_number(value: Value) -> Value {
    match value {
        Value::Bool(b) => Value::Decimal(b.into()),
        Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i) => Value::Decimal(i.into()),
        Value::Date(number) | Value::Enum(number) => Value::Decimal(number.into()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_who_may_have_what_is_needed() {
        let number = |n: i64| Value::Int(n);
        let (low, high) = (number(3), number(7));
        let between = (Some(&low), Some(&high));
        let threshold = Threshold::new(1, true, true);
        assert!(threshold.may_need(between, false));
        threshold.tighten(number(7));
        assert!(threshold.may_need(between, false) && threshold.may_need((None, None), false));
        threshold.tighten(number(8));
        assert!(!threshold.may_need(between, false) && threshold.may_need(between, true));
        assert!(threshold.may_need((Some(&low), None), false));
        let threshold = Threshold::new(1, false, false);
        threshold.tighten(number(2));
        assert!(!threshold.may_need(between, true) && threshold.may_need((None, Some(&high)), false));
        // NaN comes first.
        let threshold = Threshold::new(1, true, false);
        threshold.tighten(Value::Float(9.0));
        assert!(threshold.may_need((Some(&Value::Float(1.0)), Some(&Value::Float(2.0))), false));
    }

    #[test]
    fn it_only_gets_stricter() {
        let at_most = |value, or_null| Some(Needed::AtMost { value, or_null });
        let threshold = Threshold::new(1, false, false);
        assert_eq!((threshold.version(), threshold.needed()), (0, None));
        // NULLs are the last ones: everything is needed.
        threshold.tighten(Value::Null);
        assert_eq!(threshold.needed(), None);
        threshold.tighten(Value::Date(7));
        threshold.tighten(Value::Int(9));
        assert_eq!((threshold.version(), threshold.needed()), (2, at_most(Value::Decimal(7), false)));

        let threshold = Threshold::new(1, false, true);
        threshold.tighten(Value::Float(f64::NAN));
        threshold.tighten(Value::Float(-0.0));
        threshold.tighten(Value::Float(0.0));
        assert_eq!((threshold.version(), threshold.needed()), (2, at_most(Value::Float(-0.0), true)));
        threshold.tighten(Value::Null);
        assert_eq!(threshold.needed(), Some(Needed::Null));

        let threshold = Threshold::new(1, true, true);
        threshold.tighten(Value::str("b"));
        threshold.tighten(Value::str("a"));
        assert_eq!(threshold.needed(), Some(Needed::AtLeast { value: Value::str("b"), or_null: true }));
    }
}
