//! What a finished state says of its rows' keys to sources that may leave others out.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// The keys of a finished join's rows, or more.
#[derive(Clone, Debug)]
pub struct KeySet {
    /// They are in this range.
    pub range: RangeInclusive<i64>,
    /// If given, word i / 64 has bit i % 64 exactly if the i-th number of the range is a key.
    pub bits: Option<Arc<[u64]>>,
    /// If there are few and no bits, all of them, in order.
    pub list: Option<Arc<[i64]>>,
}
