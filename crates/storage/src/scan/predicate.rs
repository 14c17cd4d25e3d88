//! The predicates that scan kernels know, with their constants in physical form.

use std::sync::Arc;

use types::ops::like::LikePattern;
use types::{Physical, SqlType, Value};

use super::lane::{self, Cells, Lane, with_lane};
use super::select;
use crate::values::Values;

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A predicate of texts that takes long to compute.
pub trait Computed: std::fmt::Debug + Send + Sync {
    /// Whether it may be true of a text: false is certain.
    fn may_hold(&self, text: &str) -> bool;
}

/// What is asked of an attribute. Constants are of the attribute's type (decimals at its scale). As in SQL, nothing but
/// `IsNull` is true of NULL, and nothing is true of a NULL constant.
#[derive(Clone, Debug)]
pub enum ScanOp {
    /// Compared with a constant.
    Compare(Comparison, Value),
    /// Between two bounds, each with whether it is inclusive; a missing bound is no bound.
    Between {
        /// The lower bound.
        low: Option<(Value, bool)>,
        /// The upper bound.
        high: Option<(Value, bool)>,
    },
    /// Equal to one of the constants; NULLs among them match nothing.
    In(Vec<Value>),
    /// One of the numbers from `least` to `greatest`: if there are bits, word i / 64 has bit i % 64 for the i-th of them.
    Keys {
        /// The least.
        least: i64,
        /// The greatest.
        greatest: i64,
        /// Which of those between.
        bits: Option<Arc<[u64]>>,
    },
    /// One of these numbers.
    Listed(Arc<[i64]>),
    /// A string that starts with this one.
    Prefix(String),
    /// A string that matches a pattern which [never fails](LikePattern::never_fails), or that does not match it.
    Like {
        /// The pattern.
        pattern: Arc<LikePattern>,
        /// Whether it must not match.
        negated: bool,
    },
    /// A string of which this may be true, where a chunk has a dictionary of few strings: it is computed once for each of
    /// these. Elsewhere all rows satisfy it; whoever asks it asks the rows that come again.
    Computed(Arc<dyn Computed>),
    /// NULL.
    IsNull,
    /// Not NULL.
    IsNotNull,
}

/// One predicate on one attribute, ready to be evaluated. Cheap to build: made per execution, with its parameters.
#[derive(Clone, Debug)]
pub struct ScanPredicate {
    /// The attribute's number in the relation.
    pub attribute: usize,
    pub(crate) cells: Cells,
    pub(crate) test: Test,
}

/// The physical form. Ranges are inclusive, over the keys of [`lane`].
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// True of no row.
    Never,
    /// True of rows that are NULL (or that are not).
    Null(bool),
    /// A range of keys within the type's limits, or all keys but these.
    Range { low: i128, high: i128, negate: bool },
    /// At most a few keys.
    Few(Vec<i128>),
    /// Keys `base + i` for which bit `i` is set.
    Bitmap { base: i128, bits: Arc<[u64]> },
    /// Many keys, sorted, behind a filter that lets few others pass.
    Sorted { keys: Vec<i128>, filter: Box<KeyFilter> },
    /// A string test.
    Text(TextTest),
}

/// One bit for each hash of the keys of a long list.
#[derive(Clone, Debug)]
pub(crate) struct KeyFilter([u64; 1 << (FILTER_BITS - 6)]);

const FILTER_BITS: u32 = 13;

impl KeyFilter {
    fn new(keys: &[i128]) -> Self {
        let mut filter = Self([0; 1 << (FILTER_BITS - 6)]);
        for &key in keys {
            let bit = Self::bit(key as u64);
            filter.0[bit / 64] |= 1 << (bit % 64);
        }
        filter
    }
    #[inline(always)]
    fn bit(low_word: u64) -> usize {
        (low_word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS)) as usize
    }
    /// Whether the key whose low 64 bits these are may be in the list.
    #[inline(always)]
    pub(super) fn may_contain(&self, low_word: u64) -> bool {
        let bit = Self::bit(low_word);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// What is asked of a string. Order is bytewise (the C collation).
#[derive(Clone, Debug)]
pub(crate) enum TextTest {
    Equal {
        text: Box<[u8]>,
        negate: bool,
    },
    /// Bounds with whether each is inclusive.
    Range {
        low: Option<(Box<[u8]>, bool)>,
        high: Option<(Box<[u8]>, bool)>,
    },
    /// Sorted.
    In(Vec<Box<[u8]>>),
    Prefix(Box<[u8]>),
    Like {
        pattern: Arc<LikePattern>,
        negated: bool,
    },
    Computed(Arc<dyn Computed>),
}

impl TextTest {
    /// Whether it is true of a text.
    #[inline(always)]
    pub(crate) fn holds(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let above = |(bound, inclusive): &(Box<[u8]>, bool)| if *inclusive { bytes >= bound } else { bytes > bound };
        let below = |(bound, inclusive): &(Box<[u8]>, bool)| if *inclusive { bytes <= bound } else { bytes < bound };
        match self {
            Self::Equal { text, negate } => (bytes == &**text) != *negate,
            Self::Range { low, high } => low.as_ref().is_none_or(above) && high.as_ref().is_none_or(below),
            Self::In(texts) => texts.binary_search_by(|t| (**t).cmp(bytes)).is_ok(),
            Self::Prefix(prefix) => bytes.starts_with(prefix),
            // It never fails.
            Self::Like { pattern, negated } => pattern.matches(text).is_ok_and(|found| found != *negated),
            Self::Computed(computed) => computed.may_hold(text),
        }
    }
}

/// Lists up to this long compare with each constant.
pub(super) const FEW: usize = 6;
/// Lists that span at most this many keys become a bitmap.
const BITMAP_SPAN: i128 = 1 << 16;

impl ScanPredicate {
    /// A predicate on an attribute of this type.
    pub fn new(attribute: usize, sql_type: SqlType, op: ScanOp) -> Self {
        let physical = sql_type.physical();
        let test = match op {
            ScanOp::IsNull => Test::Null(true),
            ScanOp::IsNotNull => Test::Null(false),
            op if physical == Physical::Str => text_test(op).map_or(Test::Never, Test::Text),
            op => key_test(physical, op).unwrap_or(Test::Never),
        };
        Self { attribute, cells: Cells::Of(physical), test }
    }

    /// Whether it is true of the only one of these values.
    pub(crate) fn holds(&self, value: Values<'_>) -> bool {
        assert!(value.rows() == 1 && Cells::Of(value.physical()) == self.cells);
        let alone = Self { attribute: 0, ..self.clone() };
        // SAFETY: one value of the predicate's type, alive as long as `value`.
        unsafe { select(&[alone], &[value.address()], 0, 1, &mut [0]) == 1 }
    }

    /// Whether the predicate can be evaluated on all rows by a mask.
    pub(super) fn is_dense(&self) -> bool {
        matches!(self.test, Test::Never | Test::Null(_) | Test::Range { .. } | Test::Few(_))
            || match &self.test {
                Test::Text(TextTest::In(texts)) => texts.len() <= FEW,
                // Asked of as few rows as may be.
                Test::Text(TextTest::Like { .. } | TextTest::Computed(_)) => false,
                test => matches!(test, Test::Text(_)),
            }
    }

    /// Whether it is asked of dictionaries alone.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(self.test, Test::Text(TextTest::Computed(_)))
    }

    /// Puts predicates that masks evaluate first, keeping the order otherwise (most selective first, as planned).
    pub fn arrange(predicates: &mut [Self]) {
        predicates.sort_by_key(|p| !p.is_dense());
    }
}

/// None if it is true of no row.
fn key_test(physical: Physical, op: ScanOp) -> Option<Test> {
    let limits = with_lane!(physical, T => <T as Lane>::LIMITS, unreachable!("strings have no keys"));
    let key = |v: &Value| lane::value_key(physical, v);
    let range = |low: i128, high: i128, negate: bool| {
        let (low, high) = (low.max(limits.0), high.min(limits.1));
        match (low <= high, negate) {
            (true, _) => Some(Test::Range { low, high, negate }),
            (false, true) => Some(Test::Range { low: limits.0, high: limits.1, negate: false }),
            (false, false) => None,
        }
    };
    match op {
        ScanOp::Compare(comparison, value) => {
            let key = key(&value)?;
            match comparison {
                Comparison::Eq => range(key, key, false),
                Comparison::Ne => range(key, key, true),
                Comparison::Lt => range(limits.0, key.checked_sub(1)?, false),
                Comparison::Le => range(limits.0, key, false),
                Comparison::Gt => range(key.checked_add(1)?, limits.1, false),
                Comparison::Ge => range(key, limits.1, false),
            }
        }
        ScanOp::Between { low, high } => {
            let low = match low {
                Some((value, inclusive)) => key(&value)?.checked_add((!inclusive).into())?,
                None => limits.0,
            };
            let high = match high {
                Some((value, inclusive)) => key(&value)?.checked_sub((!inclusive).into())?,
                None => limits.1,
            };
            range(low, high, false)
        }
        ScanOp::In(values) => {
            let keys = values.iter().filter_map(key).filter(|k| (limits.0..=limits.1).contains(k)).collect();
            one_of(keys, range)
        }
        ScanOp::Listed(numbers) => {
            let keys = numbers.iter().map(|n| i128::from(*n)).filter(|k| (limits.0..=limits.1).contains(k)).collect();
            one_of(keys, range)
        }
        ScanOp::Keys { least, greatest, .. } if least > greatest => None,
        ScanOp::Keys { least, bits: Some(bits), .. } => Some(Test::Bitmap { base: least.into(), bits }),
        ScanOp::Keys { least, greatest, bits: None } => range(least.into(), greatest.into(), false),
        ScanOp::Prefix(_) | ScanOp::Like { .. } | ScanOp::Computed(_) | ScanOp::IsNull | ScanOp::IsNotNull => {
            unreachable!("not a test of keys")
        }
    }
}

/// The test for one of these keys.
fn one_of(mut keys: Vec<i128>, range: impl Fn(i128, i128, bool) -> Option<Test>) -> Option<Test> {
    keys.sort_unstable();
    keys.dedup();
    let (&first, &last) = (keys.first()?, keys.last()?);
    let span = last.checked_sub(first);
    if span == Some(keys.len() as i128 - 1) {
        range(first, last, false)
    } else if keys.len() <= FEW {
        Some(Test::Few(keys))
    } else if let Some(span) = span.filter(|&s| s < BITMAP_SPAN) {
        let mut bits = vec![0u64; span as usize / 64 + 1];
        keys.iter().map(|k| (k - first) as usize).for_each(|i| bits[i / 64] |= 1 << (i % 64));
        Some(Test::Bitmap { base: first, bits: bits.into() })
    } else {
        Some(Test::Sorted { filter: Box::new(KeyFilter::new(&keys)), keys })
    }
}

/// None if it is true of no row.
fn text_test(op: ScanOp) -> Option<TextTest> {
    let bytes = |v: &Value| match v {
        Value::Str(s) => Some(Box::<[u8]>::from(s.as_bytes())),
        _ => None,
    };
    let bound = |b: Option<(Value, bool)>| match b {
        Some((value, inclusive)) => bytes(&value).map(|v| Some((v, inclusive))),
        None => Some(None),
    };
    Some(match op {
        ScanOp::Compare(comparison, value) => {
            let text = bytes(&value)?;
            match comparison {
                Comparison::Eq => TextTest::Equal { text, negate: false },
                Comparison::Ne => TextTest::Equal { text, negate: true },
                Comparison::Lt => TextTest::Range { low: None, high: Some((text, false)) },
                Comparison::Le => TextTest::Range { low: None, high: Some((text, true)) },
                Comparison::Gt => TextTest::Range { low: Some((text, false)), high: None },
                Comparison::Ge => TextTest::Range { low: Some((text, true)), high: None },
            }
        }
        ScanOp::Between { low, high } => TextTest::Range { low: bound(low)?, high: bound(high)? },
        ScanOp::In(values) => {
            let mut texts: Vec<_> = values.iter().filter_map(bytes).collect();
            texts.sort_unstable();
            texts.dedup();
            match texts.len() {
                0 => return None,
                1 => TextTest::Equal { text: texts.pop()?, negate: false },
                _ => TextTest::In(texts),
            }
        }
        ScanOp::Prefix(prefix) => TextTest::Prefix(prefix.into_bytes().into()),
        ScanOp::Like { pattern, negated } => TextTest::Like { pattern, negated },
        ScanOp::Computed(computed) => TextTest::Computed(computed),
        ScanOp::Keys { .. } | ScanOp::Listed(_) | ScanOp::IsNull | ScanOp::IsNotNull => {
            unreachable!("not a test of strings")
        }
    })
}
