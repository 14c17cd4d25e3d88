//! Whether an index tells all that is asked: then nobody reads the rows that it finds to ask the predicates again (decision 47).
//!
//! Keys are the numbers and bytes that scans compare, and those of a row that a view sees never change, so a range of keys is
//! what a predicate is true of, whatever equal values look like in the rows.

use super::definition::IndexDefinition;
use crate::scan::ScanPredicate;

/// Whether all rows of an index satisfy the predicates that are in the ranges that these leave of it: so many leading parts are
/// equal to something, and perhaps the next is within a range.
pub(super) fn is_exact(
    definition: &IndexDefinition,
    (equal, is_within): (usize, bool),
    predicates: &[ScanPredicate],
) -> bool {
    let is_told = |predicate: &ScanPredicate| {
        let of_attribute = || predicates.iter().filter(|other| other.attribute == predicate.attribute);
        let is_only = of_attribute().count() == 1;
        match definition.parts.iter().position(|part| part.attribute == predicate.attribute) {
            _ if definition.only == Some(predicate.attribute) && predicate.is_only_true() => true,
            // Of several, one was looked up, and the others were not asked.
            Some(part) if part < equal => is_only && predicate.lists_values(),
            Some(part) if part == equal && is_within => {
                of_attribute().all(ScanPredicate::has_ends) || is_only && predicate.is_prefix()
            }
            _ => false,
        }
    };
    predicates.iter().all(is_told)
}
