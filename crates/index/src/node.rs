//! Nodes: four sizes (Figure 3.2), one head.
//!
//! A node stands at a **level**: all keys below it agree in that many bytes, their *path*, and branch by the byte behind. A
//! node one level below another would branch by the next byte; what lies between is a compressed path, of which the node has
//! the last [`PATH`] bytes. Neither level nor path ever change, as both say something about the keys and nothing about the
//! nodes above: splitting a compressed path, or joining two, changes the parent's slot alone. (The papers keep the path since
//! the parent, which then has to be shortened and lengthened.) What of a path a node does not have is not compared on the
//! way (Figure 3.6's missing prefix is nothing special here), and the row's key is looked at instead.
//!
//! A key that ends at the level of a node, where others go on, stands in an *end node* above it: a node of four of which two
//! slots are used, the first for the key that ends, the second for all that go on. It takes no byte of the key.
//!
//! | kind | children | bytes without a protocol's word | at least so many children | bytes a child, less one | bytes with a word | a child, less one |
//! |---|---|---|---|---|---|---|
//! | `N4` | 4 | 48 | 2 | 48 | 64 | 64 |
//! | `N16` | 16 | 160 | 5 | 40 | 192 | 48 |
//! | `N48` | 48 | 656 | 14 | 50.5 | 704 | 54.2 |
//! | `N256` | 256 | 2064 | 41 | 51.6 | 2112 | 52.8 |
//!
//! A tree of n keys has children of nodes, less one for each node that is itself a child, in the number of n: so the bytes
//! a child, less one, are an upper bound of those a key: 52, or 64 with a word, which the papers count as 52 and up to 12.

mod change;
mod search;

pub(crate) use change::{Path, fork};
pub(crate) use search::{LAST, Meets};

use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::NonNull;

pub(crate) use crate::link::Kind;
use crate::sync::{AtomicU8, AtomicU32, AtomicU64};

/// Bytes of a line of the cache.
pub(crate) const LINE: usize = 64;

/// So many bytes of its path a node has.
pub(crate) const PATH: usize = 6;

impl Kind {
    /// The smallest kind with room for so many children.
    pub(crate) fn of(children: usize) -> Self {
        match children {
            0..=4 => Self::N4,
            5..=16 => Self::N16,
            17..=48 => Self::N48,
            _ => Self::N256,
        }
    }

    pub(crate) fn room(self) -> usize {
        [4, 16, 48, 256][self as usize]
    }

    /// With so many children left, or fewer, a node is made anew in a smaller size: somewhat fewer than would fit there where
    /// 52 bytes a key allow it, so that it does not grow again at once.
    pub(crate) fn too_few(self) -> usize {
        [1, 4, 13, 40][self as usize]
    }

    /// What a node takes. One with a word takes whole lines of the cache: a scan of 10 million sparse keys is a tenth faster for
    /// it.
    pub(crate) fn bytes<W>(self) -> usize {
        let bytes = match self {
            Self::N4 => size_of::<Node4<W>>(),
            Self::N16 => size_of::<Node16<W>>(),
            Self::N48 => size_of::<Node48<W>>(),
            Self::N256 => size_of::<Node256<W>>(),
        };
        bytes.next_multiple_of(if size_of::<W>() == 0 { 16 } else { LINE })
    }
}

/// A link between nodes that have a protocol's word.
pub(crate) type Link<W> = crate::link::Link<Head<W>>;
/// The place of such a link.
pub(crate) type Slot<W> = crate::link::Slot<Head<W>>;

/// What all nodes begin with.
#[repr(C)]
pub(crate) struct Head<W> {
    /// The protocol's.
    pub(crate) word: W,
    level: u32,
    path: [u8; PATH],
    /// Whether the slots are for a key that ends and for those that go on.
    is_end: bool,
    /// Slots that were ever used (4, 16, 48), or children less one (256).
    count: AtomicU8,
    /// The bytes of a node of four.
    bytes: AtomicU32,
}

#[repr(C)]
struct Node4<W> {
    head: Head<W>,
    children: [Slot<W>; 4],
}

#[repr(C)]
struct Node16<W> {
    head: Head<W>,
    bytes: [AtomicU64; 2],
    children: [Slot<W>; 16],
}

#[repr(C)]
struct Node48<W> {
    head: Head<W>,
    /// For each byte the number of its slot, from one.
    places: [AtomicU8; 256],
    children: [Slot<W>; 48],
}

#[repr(C)]
struct Node256<W> {
    head: Head<W>,
    children: [Slot<W>; 256],
}

/// A node that stays in memory for `'g`.
pub(crate) struct Node<'g, W> {
    head: NonNull<Head<W>>,
    kind: Kind,
    _memory: PhantomData<&'g Head<W>>,
}

impl<W> Clone for Node<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Node<'_, W> {}

impl<W> Link<W> {
    /// The node behind the link.
    ///
    /// # Safety
    /// It is a node, which is not freed during `'g`.
    #[inline(always)]
    pub(crate) unsafe fn follow<'g>(self) -> Node<'g, W> {
        // SAFETY: links to nodes are not null.
        let head = unsafe { NonNull::new_unchecked(self.node()) };
        Node { head, kind: self.kind(), _memory: PhantomData }
    }
}

/// What stands behind a path: the end of the key, which comes first, or a byte.
pub(crate) type Symbol = Option<u8>;

/// The symbol of a key at a level.
#[inline(always)]
pub(crate) fn symbol(key: &[u8], level: usize) -> Symbol {
    key.get(level).copied()
}

impl<'g, W> Node<'g, W> {
    #[inline(always)]
    pub(crate) fn head(self) -> &'g Head<W> {
        // SAFETY: the node is in memory for `'g`; what changes in it are atomics.
        unsafe { self.head.as_ref() }
    }
    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        self.kind
    }
    pub(crate) fn link(self) -> Link<W> {
        Link::of_node(self.head.as_ptr(), self.kind)
    }
    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        self.head().level as usize
    }
    #[inline(always)]
    pub(crate) fn is_end(self) -> bool {
        self.kind == Kind::N4 && self.head().is_end
    }

    // SAFETY of all four: the kind says what the allocation is, which the pointer has been made of.
    #[inline(always)]
    fn n4(self) -> &'g Node4<W> {
        debug_assert_eq!(self.kind, Kind::N4);
        // SAFETY: as above.
        unsafe { self.head.cast().as_ref() }
    }
    #[inline(always)]
    fn n16(self) -> &'g Node16<W> {
        debug_assert_eq!(self.kind, Kind::N16);
        // SAFETY: as above.
        unsafe { self.head.cast().as_ref() }
    }
    #[inline(always)]
    fn n48(self) -> &'g Node48<W> {
        debug_assert_eq!(self.kind, Kind::N48);
        // SAFETY: as above.
        unsafe { self.head.cast().as_ref() }
    }
    #[inline(always)]
    fn n256(self) -> &'g Node256<W> {
        debug_assert_eq!(self.kind, Kind::N256);
        // SAFETY: as above.
        unsafe { self.head.cast().as_ref() }
    }

    /// The slots of nodes whose slots have no place by their byte.
    fn slots(self) -> &'g [Slot<W>] {
        match self.kind {
            Kind::N4 => &self.n4().children,
            Kind::N16 => &self.n16().children,
            Kind::N48 => &self.n48().children,
            Kind::N256 => &self.n256().children,
        }
    }
}
