//! Sets of a region's leaves.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

/// A set of at most [`Relations::MOST`] leaves, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Relations(u128);

impl Relations {
    /// Most leaves of a region.
    pub const MOST: usize = 128;
    /// No leaf.
    pub const EMPTY: Self = Self(0);

    pub fn single(leaf: usize) -> Self {
        Self(1 << leaf)
    }
    /// Leaves `0..n`.
    pub fn first(n: usize) -> Self {
        Self(if n >= Self::MOST { u128::MAX } else { (1 << n) - 1 })
    }
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    pub fn contains(self, leaf: usize) -> bool {
        self.0 >> leaf & 1 != 0
    }
    pub fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// The smallest leaf. The set must not be empty.
    pub fn lowest(self) -> usize {
        debug_assert!(!self.is_empty());
        self.0.trailing_zeros() as usize
    }
    /// Leaves in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let lowest = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                lowest
            })
        })
    }
    /// Leaves in descending order.
    pub fn descending(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let highest = 127 - rest.leading_zeros() as usize;
                rest &= !(1 << highest);
                highest
            })
        })
    }
    /// Every subset but the empty one, smaller numbers first, so that subsets of a set come before it.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        let mut current = 0u128;
        std::iter::from_fn(move || {
            current = current.wrapping_sub(self.0) & self.0;
            (current != 0).then_some(Self(current))
        })
    }
}

impl BitOr for Relations {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
impl BitAnd for Relations {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
impl Sub for Relations {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
impl FromIterator<usize> for Relations {
    fn from_iter<I: IntoIterator<Item = usize>>(leaves: I) -> Self {
        leaves.into_iter().fold(Self::EMPTY, |set, leaf| set | Self::single(leaf))
    }
}
impl fmt::Debug for Relations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
