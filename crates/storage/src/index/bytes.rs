//! Keys of ordered indexes: values as bytes in the order that scans compare them by, and what predicates leave of such keys.

use std::ops::Bound;

use index::{Absent, Key, Part};
use types::{Physical, Str};

use crate::scan::lane::{Lane, with_lane};
use crate::scan::{End, Point, ScanPredicate, Stretch};
use crate::values::Values;

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// The attribute.
    pub attribute: usize,
    /// Greater values come first.
    pub descending: bool,
    /// NULL comes before all values.
    pub nulls_first: bool,
}

impl IndexPart {
    /// The usual order: NULL behind all values.
    pub fn ascending(attribute: usize) -> Self {
        Self { attribute, descending: false, nulls_first: false }
    }

    /// Attributes may lose their NOT NULL, so that there is always a place for NULL.
    fn part(self) -> Part {
        let absent = Some(if self.nulls_first { Absent::First } else { Absent::Last });
        Part { descending: self.descending, absent }
    }

    /// Writes one value behind `key`.
    pub(crate) fn push(self, values: Values<'_>, row: usize, key: &mut Vec<u8>) {
        if values.is_null(row) {
            Key(key).absent(self.part());
            return;
        }
        match values.physical() {
            Physical::I32 => _ = Key(key).i32(self.part(), values.get::<i32>(row)),
            Physical::I64 => _ = Key(key).i64(self.part(), values.get::<i64>(row)),
            physical => {
                with_lane!(physical, T => self.push_number(physical, T::widen(values.get::<T>(row).key()), key), {
                    let text = values.get::<Str>(row);
                    // SAFETY: the payload lives as long as the values.
                    self.push_text(unsafe { text.bytes() }, key);
                });
            }
        }
    }

    /// Writes the key that scans have of a value; one that no value of the type has becomes the nearest that one has.
    fn push_number(self, physical: Physical, number: i128, key: &mut Vec<u8>) {
        let (mut key, part) = (Key(key), self.part());
        match physical {
            Physical::Bool => key.bool(part, number > 0),
            Physical::I16 => key.i16(part, number.clamp(i16::MIN.into(), i16::MAX.into()) as i16),
            Physical::I32 | Physical::F32 => key.i32(part, number.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
            Physical::I64 | Physical::F64 => key.i64(part, number.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
            Physical::I128 | Physical::Interval | Physical::Str => key.i128(part, number),
        };
    }

    fn push_text(self, text: &[u8], key: &mut Vec<u8>) {
        Key(key).bytes(self.part(), text);
    }

    fn push_point(self, physical: Physical, point: Point<'_>, key: &mut Vec<u8>) {
        match point {
            Point::Number(number) => self.push_number(physical, number, key),
            Point::Text(text) => self.push_text(text, key),
        }
    }

    /// None stands for NULL.
    fn push_optional(self, physical: Physical, point: Option<Point<'_>>, key: &mut Vec<u8>) {
        match point {
            Some(point) => self.push_point(physical, point, key),
            None => drop(Key(key).absent(self.part())),
        }
    }

    /// The keys that begin with `before` and have a value here that is between the ends.
    fn between(self, physical: Physical, before: &[u8], low: End<'_>, high: End<'_>) -> KeyRange {
        let end = |end: End<'_>| {
            let (point, inclusive) = end?;
            let mut key = before.to_vec();
            self.push_point(physical, point, &mut key);
            Some((key, inclusive))
        };
        let (low, high) = if self.descending { (end(high), end(low)) } else { (end(low), end(high)) };
        // What is there has a one before it.
        let present = [before, &[1]].concat();
        KeyRange {
            lower: match low {
                Some((key, true)) => key,
                Some((key, false)) => successor(key).unwrap_or_default(),
                None => present.clone(),
            },
            upper: match high {
                Some((key, true)) => successor(key),
                Some((key, false)) => Some(key),
                None => successor(present),
            },
        }
    }

    /// The keys that begin with `before` and a text that begins with `prefix`.
    fn prefix(self, before: &[u8], prefix: &[u8]) -> KeyRange {
        let mut key = before.to_vec();
        self.push_text(prefix, &mut key);
        // Without the two bytes that say where a text ends.
        key.truncate(key.len() - 2);
        KeyRange { upper: successor(key.clone()), lower: key }
    }
}

/// Keys from `lower` on, and below `upper` if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(super) lower: Vec<u8>,
    pub(super) upper: Option<Vec<u8>>,
}

impl KeyRange {
    /// All keys that begin so.
    pub(super) fn beginning_with(lower: Vec<u8>) -> Self {
        Self { upper: successor(lower.clone()), lower }
    }

    pub(super) fn upper(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map_or(Bound::Unbounded, |upper| Bound::Excluded(&upper[..]))
    }
}

/// The least key behind all that begin with this one, if there is one.
fn successor(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
}

/// What predicates leave of an index.
#[derive(Debug)]
pub(crate) struct Left {
    /// How many leading parts have to be equal to something, and whether the next is within a range.
    pub score: (usize, bool),
    /// Ranges of keys, none of which overlap.
    pub ranges: Vec<KeyRange>,
    /// Whether all keys in them satisfy all predicates.
    pub is_exact: bool,
}

impl Left {
    /// All keys.
    pub fn all() -> Self {
        whole(0, vec![Vec::new()])
    }
}

/// What the predicates leave of an index with these parts, if they say anything of the first one; at most so many ranges. Whether
/// that is exact is not said.
pub(super) fn left(parts: &[(IndexPart, Physical)], predicates: &[ScanPredicate], most: usize) -> Option<Left> {
    let mut starts: Vec<Vec<u8>> = vec![Vec::new()];
    for (equal, &(part, physical)) in parts.iter().enumerate() {
        let of_part = || predicates.iter().filter(|p| p.attribute == part.attribute);
        let points = of_part().filter_map(ScanPredicate::points).min_by_key(Vec::len);
        if let Some(points) = points.filter(|points| points.len().saturating_mul(starts.len()) <= most) {
            let with = |start: &Vec<u8>, point: Option<Point<'_>>| {
                let mut key = start.clone();
                part.push_optional(physical, point, &mut key);
                key
            };
            let of = |start: &Vec<u8>| points.iter().map(|&point| with(start, point)).collect::<Vec<_>>();
            starts = starts.iter().flat_map(of).collect();
            continue;
        }
        return match of_part().filter_map(ScanPredicate::stretch).reduce(Stretch::and) {
            Some(stretch) => {
                let of = |start: &Vec<u8>| match stretch {
                    Stretch::Between { low, high } => part.between(physical, start, low, high),
                    Stretch::Prefix(prefix) => part.prefix(start, prefix),
                };
                Some(Left { score: (equal, true), ranges: starts.iter().map(of).collect(), is_exact: false })
            }
            None => (equal > 0).then(|| whole(equal, starts)),
        };
    }
    Some(whole(parts.len(), starts))
}

/// An order of rows by an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The attribute.
    pub attribute: usize,
    /// Greater values come first.
    pub descending: bool,
    /// Where rows with NULL come, first or not; none if they are not wanted.
    pub nulls_first: Option<bool>,
}

/// The keys of an index, in whose order rows come in another one's.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// How many leading parts are equal to something.
    pub equal: usize,
    /// The part by which rows are ordered, as one that has its values behind those.
    pub part: (IndexPart, Physical),
    /// The keys.
    pub range: KeyRange,
    /// Whether the last key comes first.
    pub backwards: bool,
}

/// The keys of an index with these parts that predicates leave, if their order is the one that is asked for: the predicates say
/// what all parts before the attribute are equal to.
pub(super) fn ordered(
    parts: &[(IndexPart, Physical)],
    predicates: &[ScanPredicate],
    order: RowOrder,
) -> Option<Ordered> {
    let mut start = Vec::new();
    for (equal, &(part, physical)) in parts.iter().enumerate() {
        let of_part = || predicates.iter().filter(|p| p.attribute == part.attribute);
        if part.attribute == order.attribute {
            let backwards = part.descending != order.descending;
            let range = match (of_part().filter_map(ScanPredicate::stretch).reduce(Stretch::and), order.nulls_first) {
                (Some(Stretch::Between { low, high }), _) => part.between(physical, &start, low, high),
                (Some(Stretch::Prefix(prefix)), _) => part.prefix(&start, prefix),
                (None, None) => part.between(physical, &start, None, None),
                (None, Some(first)) if first == (part.nulls_first != backwards) => KeyRange::beginning_with(start),
                (None, Some(_)) => return None,
            };
            return Some(Ordered { equal, part: (part, physical), range, backwards });
        }
        let mut points = of_part().filter_map(ScanPredicate::points).filter(|points| points.len() == 1);
        part.push_optional(physical, points.next()?[0], &mut start);
    }
    None
}

/// All keys that begin so.
fn whole(equal: usize, starts: Vec<Vec<u8>>) -> Left {
    Left { score: (equal, false), ranges: starts.into_iter().map(KeyRange::beginning_with).collect(), is_exact: false }
}
