//! What predicates leave of the values of an attribute, for those who find values in their order.

use types::Physical;

use super::lane::{Cells, Lane, with_cells};
use super::predicate::{ScanPredicate, Test, TextTest};

/// More values are not listed.
const MOST: usize = 1 << 12;

/// A value that is not NULL, or where values end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point<'p> {
    /// The key of a value of fixed width, see [`lane`](super::lane).
    Number(i128),
    /// A string.
    Text(&'p [u8]),
}

/// One end of some values, and whether it is one of them.
pub(crate) type End<'p> = Option<(Point<'p>, bool)>;

/// Values next to each other; NULL is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'p> {
    /// Those between two ends.
    Between { low: End<'p>, high: End<'p> },
    /// Strings that begin so.
    Prefix(&'p [u8]),
}

impl<'p> Stretch<'p> {
    /// A stretch that has all values of both.
    pub(crate) fn and(self, other: Self) -> Self {
        use Stretch::{Between, Prefix};
        match (self, other) {
            (Between { low: a, high: b }, Between { low: c, high: d }) => {
                Between { low: tighter(a, c, true), high: tighter(b, d, false) }
            }
            // Usually it leaves less than ends do.
            (prefix @ Prefix(_), _) | (_, prefix @ Prefix(_)) => prefix,
        }
    }
}

/// The end that leaves less of what is above it, or below.
fn tighter<'p>(a: End<'p>, b: End<'p>, above: bool) -> End<'p> {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    let takes_first = match x.0.cmp(&y.0) {
        std::cmp::Ordering::Equal => !x.1,
        order => order.is_gt() == above,
    };
    if takes_first { a } else { b }
}

impl ScanPredicate {
    /// Whether it leaves nothing but true.
    pub(crate) fn is_only_true(&self) -> bool {
        match &self.test {
            Test::Range { low, high, negate } => (*low, *high, *negate) == (1, 1, false),
            Test::Few(keys) => keys[..] == [1],
            _ => false,
        }
    }

    /// Whether it is true of all but NULL.
    pub(crate) fn is_not_null(&self) -> bool {
        matches!(self.test, Test::Null(false))
    }

    /// The only values of which it may be true, none standing for NULL; nothing if these are not listed.
    pub(crate) fn points(&self) -> Option<Vec<Option<Point<'_>>>> {
        let number = |key: i128| Some(Point::Number(key));
        Some(match &self.test {
            Test::Never => Vec::new(),
            Test::Null(true) => vec![None],
            Test::Range { low, high, negate: false } if low == high => vec![number(*low)],
            Test::Few(keys) | Test::Sorted { keys, .. } => keys.iter().map(|key| number(*key)).collect(),
            Test::Bitmap { bits, .. } if bits.iter().map(|word| word.count_ones() as usize).sum::<usize>() > MOST => {
                return None;
            }
            Test::Bitmap { base, bits } => {
                let of_word = |(at, word): (usize, &u64)| {
                    let (base, word) = (base + at as i128 * 64, *word);
                    (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| number(base + bit))
                };
                bits.iter().enumerate().flat_map(of_word).collect()
            }
            Test::Text(TextTest::Equal { text, negate: false }) => vec![Some(Point::Text(text))],
            Test::Text(TextTest::In(texts)) => texts.iter().map(|text| Some(Point::Text(text))).collect(),
            _ => return None,
        })
    }

    /// Whether its [`points`](Self::points), if they are listed, are values that the attribute can have.
    pub(crate) fn lists_values(&self) -> bool {
        match &self.test {
            // The bounds of a join's keys are those of its other side.
            Test::Bitmap { base, bits } => {
                let (least, greatest) = self.limits();
                least <= *base && base + bits.len() as i128 * 64 - 1 <= greatest
            }
            _ => true,
        }
    }

    /// Whether it is true of what is between two ends, and of nothing else.
    pub(crate) fn has_ends(&self) -> bool {
        match &self.test {
            Test::Range { low, negate: false, .. } => *low <= self.limits().1,
            Test::Text(TextTest::Range { .. }) => true,
            _ => false,
        }
    }

    /// Whether it is true of all texts that begin so, and of nothing else.
    pub(crate) fn is_prefix(&self) -> bool {
        matches!(self.test, Test::Text(TextTest::Prefix(_)))
    }

    /// The least and the greatest key that values of the attribute have.
    fn limits(&self) -> (i128, i128) {
        match self.cells {
            Cells::Of(Physical::Bool) => (0, 1),
            cells => with_cells!(cells, T => <T as Lane>::LIMITS, (0, 0)),
        }
    }

    /// Values next to each other outside of which it is true of nothing, if that says anything.
    pub(crate) fn stretch(&self) -> Option<Stretch<'_>> {
        fn text(end: &Option<(Box<[u8]>, bool)>) -> End<'_> {
            end.as_ref().map(|(text, inclusive)| (Point::Text(text), *inclusive))
        }
        let between = |low: i128, high: i128| {
            let end = |key| Some((Point::Number(key), true));
            Stretch::Between { low: end(low), high: end(high) }
        };
        Some(match &self.test {
            Test::Range { low, high, negate: false } => between(*low, *high),
            Test::Few(keys) | Test::Sorted { keys, .. } => between(*keys.iter().min()?, *keys.iter().max()?),
            Test::Bitmap { base, bits } => between(*base, base + bits.len() as i128 * 64 - 1),
            Test::Text(TextTest::Range { low, high }) => Stretch::Between { low: text(low), high: text(high) },
            Test::Text(TextTest::Prefix(prefix)) => Stretch::Prefix(prefix),
            _ => return None,
        })
    }
}
