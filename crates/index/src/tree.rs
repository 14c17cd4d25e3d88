//! The tree, and who reads and changes it.

use std::fmt;
use std::ops::Deref;

use base::Budget;

use crate::memory::{Memory, Subtree, free};
use crate::node::{Kind, Link, Slot};
use crate::protocol::{Concurrent, Protocol};
use crate::rows::RowKeys;

/// An Adaptive Radix Tree whose nodes are synchronised by `P`.
pub struct Tree<P: Protocol> {
    pub(crate) root: Root<P::Word>,
    pub(crate) latch: P::Latch,
    pub(crate) memory: Memory,
}

/// What the topmost node hangs on. With a word as nodes have it, so that the topmost node has a parent like any other: Figure
/// 3.4 leaves this case out.
pub(crate) struct Root<W> {
    pub(crate) word: W,
    pub(crate) slot: Slot<W>,
}

// SAFETY: links are to nodes that the tree owns; words are `Sync`, and what else changes in nodes is atomic. Changes through a
// shared tree are for protocols only that keep writers apart (`Concurrent`).
unsafe impl<P: Protocol> Send for Tree<P> {}
// SAFETY: as above.
unsafe impl<P: Protocol> Sync for Tree<P> {}

impl<P: Protocol> fmt::Debug for Tree<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tree({}, {:?})", P::NAME, self.memory)
    }
}

impl<P: Protocol> Tree<P> {
    /// An empty tree, whose nodes are charged to `budget`.
    pub fn new(budget: &Budget) -> Self {
        let root = Root { word: P::Word::default(), slot: Slot::empty() };
        Self { root, latch: P::Latch::default(), memory: Memory::new(budget) }
    }

    /// Looks into the tree. What is retired meanwhile stays in memory until the reader goes: one for a morsel, not for a query.
    pub fn reader<'a, R: RowKeys>(&'a self, rows: &'a R) -> Reader<'a, P, R> {
        Reader { tree: self, rows, guard: P::pin() }
    }

    /// Changes a tree that nobody else looks at.
    pub fn writer_mut<'a, R: RowKeys>(&'a mut self, rows: &'a R) -> Writer<'a, P, R> {
        Writer(self.reader(rows))
    }

    /// Changes the tree while others read and change it. As with [`reader`](Self::reader), one for a morsel.
    pub fn writer<'a, R: RowKeys>(&'a self, rows: &'a R) -> Writer<'a, P, R>
    where
        P: Concurrent,
    {
        Writer(self.reader(rows))
    }

    /// Bytes of nodes.
    pub fn bytes(&self) -> usize {
        self.memory.used()
    }

    /// Counts nodes, of a tree that nobody changes meanwhile.
    pub fn shape(&mut self) -> Shape {
        let mut shape = Shape::default();
        let mut left = vec![(self.root.slot.load(), 1)];
        while let Some((link, depth)) = left.pop() {
            if link.is_row() {
                shape.rows += 1;
                shape.deepest = shape.deepest.max(depth);
            } else if link.is_node() {
                // SAFETY: the tree is borrowed mutably: nobody frees.
                let node = unsafe { link.follow() };
                shape.nodes[node.kind() as usize] += 1;
                left.extend(node.children().map(|(_, child)| (child, depth + 1)));
            }
        }
        shape
    }
}

impl<P: Protocol> Drop for Tree<P> {
    fn drop(&mut self) {
        drop(Subtree(self.root.slot.take(), &self.memory));
    }
}

/// What a tree is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Entries.
    pub rows: usize,
    /// Nodes of up to 4, 16, 48 and 256 children.
    pub nodes: [usize; 4],
    /// Links from the root to the row that is farthest.
    pub deepest: usize,
}

impl Shape {
    /// Bytes of so many nodes, with a protocol's word or without.
    pub fn bytes<P: Protocol>(&self) -> usize {
        Kind::ALL.iter().zip(self.nodes).map(|(kind, nodes)| kind.bytes::<P::Word>() * nodes).sum()
    }
}

/// Lookups and scans, over a tree that others may change meanwhile if its protocol allows that.
pub struct Reader<'a, P: Protocol, R> {
    pub(crate) tree: &'a Tree<P>,
    pub(crate) rows: &'a R,
    pub(crate) guard: P::Guard,
}

impl<P: Protocol, R> fmt::Debug for Reader<'_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({:?})", self.tree)
    }
}

impl<P: Protocol, R> Reader<'_, P, R> {
    /// Frees a node that has left the tree once nobody can be looking at it.
    pub(crate) fn retire(&self, link: Link<P::Word>) {
        self.tree.memory.release(link.kind().bytes::<P::Word>());
        // SAFETY: no slot has the link any more, and it is freed when the last guard has gone that was there before.
        unsafe { P::retire(&self.guard, move || free(link)) };
    }
}

/// A reader that may also insert and remove.
#[derive(Debug)]
pub struct Writer<'a, P: Protocol, R>(pub(crate) Reader<'a, P, R>);

impl<'a, P: Protocol, R> Deref for Writer<'a, P, R> {
    type Target = Reader<'a, P, R>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
