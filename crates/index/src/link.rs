//! What a slot of a node holds: nothing, a row, or another node, in one word.
//!
//! Nodes are aligned to 8 bytes. The lowest bit marks a row, and the two above it say what kind of node it is: the branch on
//! the kind does not wait for the node to come from memory.

use std::ptr;

use crate::sync::{Acquire, AtomicPtr, Relaxed, Release};

/// The greatest row that fits beside the mark.
pub(crate) const LAST_ROW: u64 = u64::MAX >> 1;

const ROW: usize = 1;
const KIND: usize = 0b110;

/// The sizes of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    N4 = 0,
    N16 = 1,
    N48 = 2,
    N256 = 3,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::N4, Self::N16, Self::N48, Self::N256];

    #[inline(always)]
    pub(crate) fn of_bits(bits: usize) -> Self {
        Self::ALL[bits & 3]
    }
}

/// Nothing, a row or a node, which begins with an `N`.
pub(crate) struct Link<N>(*mut N);

impl<N> Clone for Link<N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<N> Copy for Link<N> {}
impl<N> PartialEq for Link<N> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl<N> Link<N> {
    pub(crate) const NULL: Self = Self(ptr::null_mut());

    pub(crate) fn of_row(row: u64) -> Self {
        debug_assert!(row <= LAST_ROW);
        Self(ptr::without_provenance_mut((row as usize) << 1 | ROW))
    }

    /// A node that is ready to be read by others.
    pub(crate) fn of_node(node: *mut N, kind: Kind) -> Self {
        Self(node.map_addr(|at| at | (kind as usize) << 1))
    }

    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
    #[inline(always)]
    pub(crate) fn is_row(self) -> bool {
        self.0.addr() & ROW != 0
    }
    #[inline(always)]
    pub(crate) fn row(self) -> u64 {
        (self.0.addr() >> 1) as u64
    }
    #[inline(always)]
    pub(crate) fn is_node(self) -> bool {
        !self.is_row() && !self.is_null()
    }
    /// Whether a link that is not null is to a node of the smallest kind.
    #[inline(always)]
    pub(crate) fn is_node_of_4(self) -> bool {
        self.0.addr() & (KIND | ROW) == 0
    }
    /// The kind of the node.
    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        Kind::of_bits(self.0.addr() >> 1 & 3)
    }
    /// The node.
    #[inline(always)]
    pub(crate) fn node(self) -> *mut N {
        self.0.map_addr(|at| at & !(KIND | ROW))
    }
}

/// The place of a link, which others may change at any time. What is behind a link is seen as it was when it was stored.
#[repr(transparent)]
pub(crate) struct Slot<N>(AtomicPtr<N>);

impl<N> Slot<N> {
    pub(crate) fn empty() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
    #[inline(always)]
    pub(crate) fn load(&self) -> Link<N> {
        Link(self.0.load(Acquire))
    }
    pub(crate) fn store(&self, link: Link<N>) {
        self.0.store(link.0, Release);
    }
    /// For whoever is alone with the tree.
    pub(crate) fn take(&mut self) -> Link<N> {
        let link = Link(self.0.load(Relaxed));
        self.0.store(ptr::null_mut(), Relaxed);
        link
    }
}
