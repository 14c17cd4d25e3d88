//! Scans: rows in the order of their keys, or against it, between two bounds.
//!
//! A scan keeps the nodes on its way and where it is in each. It lists children as they are then, of a small node all of them,
//! of a large one some at a time, and does not look at these again; so it never begins anew, whatever changes. A node stands for
//! the same part of all keys for as long as anybody has it; one that has left the tree is as it was then. So a row that is in the
//! tree from the scan's first step to its last is seen once, others once or not at all, and all in order.
//!
//! Children of a large node are listed a block ahead of those that are looked at, and the nodes among them are fetched then, so
//! that the memory works on many of them while the rows before them are read; its slots are fetched another block before.

mod frame;

use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::fmt;
use std::ops::Bound;

use crate::node::{Kind, Link, Node, PATH, symbol};
use crate::protocol::{Coupling, Protocol};
use crate::rows::RowKeys;
use crate::tree::Reader;
use frame::{BLOCK, FIRST_BLOCK, Frame, list_all};

/// The rows of a range of keys.
pub struct Scan<'r, 'k, P: Protocol, R> {
    reader: &'r Reader<'r, P, R>,
    lower: Edge<'k>,
    upper: Edge<'k>,
    /// Whether there are edges.
    on: On,
    up: bool,
    begun: bool,
    frames: Vec<Frame<P::Word>>,
    /// Children that are still to be looked at, the next one of the last frame at the end.
    listed: Vec<Link<P::Word>>,
    /// Rows that are listed above this are in the range, whatever their keys.
    sure: usize,
}

/// One end of a range.
#[derive(Clone, Copy, Debug)]
struct Edge<'k> {
    key: &'k [u8],
    /// Keys that are equal to it are in the range.
    equal: bool,
    /// Keys that begin with it are in the range.
    longer: bool,
}

/// Whether a path or key is on an edge: compared further below.
#[derive(Clone, Copy, PartialEq)]
struct On {
    lower: bool,
    upper: bool,
}

impl On {
    const NONE: Self = Self { lower: false, upper: false };
}

/// The greatest symbol.
const LAST: i16 = 256;

impl<P: Protocol, R> fmt::Debug for Scan<'_, '_, P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan({:?} to {:?}, {} nodes)", self.lower, self.upper, self.frames.len())
    }
}

impl<P: Protocol, R: RowKeys> Reader<'_, P, R> {
    /// The rows whose keys are between two bounds, ascending.
    pub fn range<'r, 'k>(&'r self, lower: Bound<&'k [u8]>, upper: Bound<&'k [u8]>) -> Scan<'r, 'k, P, R> {
        let (lower, has_lower) = edge(lower);
        let (upper, has_upper) = edge(upper);
        self.scan(lower, upper, On { lower: has_lower, upper: has_upper })
    }

    /// The rows whose keys begin so, ascending.
    pub fn starting_with<'r, 'k>(&'r self, key: &'k [u8]) -> Scan<'r, 'k, P, R> {
        let edge = Edge { key, equal: true, longer: true };
        self.scan(Edge { longer: false, ..edge }, edge, On { lower: true, upper: true })
    }

    /// The first row whose key is this or behind it.
    pub fn lower_bound(&self, key: &[u8]) -> Option<u64> {
        self.range(Bound::Included(key), Bound::Unbounded).next()
    }

    /// The first row whose key is behind this.
    pub fn upper_bound(&self, key: &[u8]) -> Option<u64> {
        self.range(Bound::Excluded(key), Bound::Unbounded).next()
    }

    fn scan<'r, 'k>(&'r self, lower: Edge<'k>, upper: Edge<'k>, on: On) -> Scan<'r, 'k, P, R> {
        let (frames, listed) = (Vec::with_capacity(8), Vec::with_capacity(4 * BLOCK as usize));
        Scan { reader: self, lower, upper, on, up: true, begun: false, frames, listed, sure: 0 }
    }
}

fn edge(bound: Bound<&[u8]>) -> (Edge<'_>, bool) {
    match bound {
        Bound::Included(key) => (Edge { key, equal: true, longer: false }, true),
        Bound::Excluded(key) => (Edge { key, equal: false, longer: false }, true),
        Bound::Unbounded => (Edge { key: &[], equal: true, longer: true }, false),
    }
}

impl<P: Protocol, R: RowKeys> Scan<'_, '_, P, R> {
    /// The same rows, descending; before the first has been taken.
    pub fn descending(mut self) -> Self {
        assert!(!self.begun, "a scan turns before it begins");
        self.up = false;
        self
    }

    #[inline(never)]
    fn advance(&mut self) -> Option<u64> {
        if !self.begun {
            self.begun = true;
            let root = &self.reader.tree.root;
            let link = P::Lookup::snapshot(&root.word, || root.slot.load());
            if let Some(row) = self.visit(link, 0, self.on) {
                return Some(row);
            }
        }
        while let Some(frame) = self.frames.last_mut() {
            let on = frame.now;
            let ahead = frame.below + frame.ahead;
            if self.listed.len() == ahead {
                if !frame.refill::<P>(self.up, &mut self.listed) {
                    self.frames.pop();
                }
                continue;
            }
            self.sure = if on == On::NONE { ahead } else { usize::MAX };
            let Some(link) = self.listed.pop() else { break };
            if link.is_node() {
                if on == On::NONE && link.kind() <= Kind::N16 {
                    list_all::<P>(link, self.up, &mut self.listed);
                    continue;
                }
                // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
                let node = unsafe { frame.link.follow::<'_>() };
                self.enter(link, node.level() + usize::from(!node.is_end()), on);
            } else if link.is_row() && self.has(link.row(), on) {
                return Some(link.row());
            }
        }
        None
    }

    /// A row, if it is in the range; a node becomes a frame, if some of it is.
    fn visit(&mut self, link: Link<P::Word>, depth: usize, on: On) -> Option<u64> {
        if link.is_node() {
            self.enter(link, depth, on);
            return None;
        }
        (link.is_row() && self.has(link.row(), on)).then(|| link.row())
    }

    #[inline(always)]
    fn has(&self, row: u64, on: On) -> bool {
        on == On::NONE || self.has_within(row, on)
    }

    fn has_within(&self, row: u64, on: On) -> bool {
        let key = self.reader.rows.key(row);
        let key = key.as_ref();
        let above = || match key.cmp(self.lower.key) {
            Equal => self.lower.equal,
            order => order == Greater,
        };
        let below = || match key.cmp(self.upper.key) {
            Equal => self.upper.equal,
            order => order == Less || self.upper.longer && key.starts_with(self.upper.key),
        };
        (!on.lower || above()) && (!on.upper || below())
    }

    fn enter(&mut self, link: Link<P::Word>, depth: usize, mut on: On) {
        // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
        let node = unsafe { link.follow::<'_>() };
        // Before its level is known, which mostly is this one.
        let (key, is_edge, end) = match self.up {
            true => (self.lower.key, on.lower, 0),
            false => (self.upper.key, on.upper, LAST as u16),
        };
        let begin = symbol(key, depth).filter(|_| is_edge).map_or(end, |byte| u16::from(byte) + 1);
        let block = BLOCK as u16;
        node.fetch(if self.up { begin..=begin + block } else { begin.saturating_sub(block)..=begin });
        let level = node.level();
        if on.lower {
            match self.compare(node, depth, self.lower.key) {
                Some(Less) => return,
                order => on.lower = order == Some(Equal),
            }
        }
        if on.upper {
            let (upper, inside) = (self.upper.key, self.upper.longer);
            match self.compare(node, depth, upper) {
                Some(Greater) => return,
                None if !inside => return,
                order => on.upper = order == Some(Equal) && !(inside && upper.len() == level),
            }
        }
        let most = if node.is_end() { 1 } else { LAST };
        let number = |key: &[u8]| symbol(key, level).map_or(0, |byte| i16::from(byte) + 1).min(most);
        let lower = if on.lower { number(self.lower.key) } else { 0 };
        let upper = if on.upper { number(self.upper.key) } else { most };
        let (lower, upper) = ((lower, On { upper: false, ..on }), (upper, On { lower: false, ..on }));
        let ((from, first), (until, last)) = if self.up { (lower, upper) } else { (upper, lower) };
        let (now, below, ahead, block) = (On::NONE, self.listed.len(), 0, FIRST_BLOCK);
        self.frames.push(Frame { link, from, until, first, last, now, below, ahead, block });
    }

    /// A node's path beside a key; nothing, if it begins with all of the key and goes on.
    fn compare(&self, node: Node<'_, P::Word>, depth: usize, key: &[u8]) -> Option<Ordering> {
        let level = node.level();
        let beside = key.get(depth..).unwrap_or_default();
        let beside = &beside[..beside.len().min(level - depth)];
        let compare = |path: &[u8]| match path[..beside.len().min(path.len())].cmp(beside) {
            Equal if depth + beside.len() < level => None,
            order => Some(order),
        };
        if level - depth <= PATH {
            return compare(node.known(depth));
        }
        let some = self.reader.some_row(node.link()).map(|row| self.reader.rows.key(row));
        compare(some.as_ref().map(AsRef::as_ref).and_then(|key| key.get(depth..level)).unwrap_or_default())
    }
}

impl<P: Protocol, R: RowKeys> Iterator for Scan<'_, '_, P, R> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.listed.len() > self.sure
            && let Some(link) = self.listed.last()
            && link.is_row()
        {
            let row = link.row();
            self.listed.pop();
            return Some(row);
        }
        P::operate(&self.reader.tree.latch, || self.advance())
    }
}
