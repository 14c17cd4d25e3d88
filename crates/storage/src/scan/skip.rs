//! Block skipping: whether any row of a chunk can match, by its bounds alone.

use super::predicate::{ScanPredicate, Test, TextTest};
use crate::statistics::{Bounds, ValueRange};

/// Whether the predicates may all be true of some row of a chunk with these bounds (indexed by attribute). False is
/// certain, true is not.
pub fn may_match(predicates: &[ScanPredicate], bounds: &[Bounds]) -> bool {
    predicates.iter().all(|p| bounds.get(p.attribute).is_none_or(|b| one_may_match(&p.test, b)))
}

fn one_may_match(test: &Test, bounds: &Bounds) -> bool {
    match (test, &bounds.range) {
        (Test::Never, _) => false,
        (Test::Null(true), _) => bounds.nulls > 0,
        (Test::Null(false), range) => !matches!(range, ValueRange::Empty),
        (_, ValueRange::Empty) => false,
        (Test::Range { low, high, negate: false }, ValueRange::Keys { min, max }) => low <= max && high >= min,
        (Test::Range { low, high, negate: true }, ValueRange::Keys { min, max }) => min < low || max > high,
        (Test::Few(keys) | Test::Sorted { keys, .. }, ValueRange::Keys { min, max }) => {
            keys.iter().any(|k| (min..=max).contains(&k))
        }
        (Test::Bitmap { base, bits }, ValueRange::Keys { min, max }) => {
            *base <= *max && base.saturating_add(bits.len() as i128 * 64 - 1) >= *min
        }
        (Test::Text(test), ValueRange::Text { min, max, cut }) => {
            // A cut maximum stands for all strings that start with it.
            let reaches = |text: &[u8]| text <= &**max || (*cut && text.starts_with(max));
            // The least string with a prefix is the prefix; the greatest has `min` at or below its own prefix.
            let starts = |prefix: &[u8]| reaches(prefix) && *prefix >= min[..min.len().min(prefix.len())];
            match test {
                TextTest::Equal { text, negate: false } => **text >= **min && reaches(text),
                TextTest::Equal { text, negate: true } => *cut || min != max || **text != **min,
                TextTest::Range { low, high } => {
                    low.as_ref().is_none_or(|(text, _)| reaches(text))
                        && high.as_ref().is_none_or(|(text, _)| **text >= **min)
                }
                TextTest::In(texts) => texts.iter().any(|t| **t >= **min && reaches(t)),
                TextTest::Like { negated: true, .. } | TextTest::Computed(_) => true,
                TextTest::Like { pattern, .. } => starts(pattern.prefix().as_bytes()),
                TextTest::Prefix(prefix) => starts(prefix),
            }
        }
        _ => true,
    }
}
