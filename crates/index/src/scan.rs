//! Scans: rows in the order of their keys, or against it, between two bounds.
//!
//! A scan keeps the nodes on its way and where it is in each. It lists the children of a small node once, as they are then, and
//! reads a large one anew for each child; so it never begins anew, whatever changes. A node stands for the same part of all keys
//! for as long as anybody has it; one that has left the tree is as it was then. So a row that is in the tree from the scan's
//! first step to its last is seen once, others once or not at all, and all in order.
//!
//! What comes next is fetched while the rows before it are read.

use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::fmt;
use std::ops::Bound;

use base::prefetch::prefetch;

use crate::node::{Kind, Link, Node, PATH, symbol};
use crate::protocol::{Coupling, Protocol};
use crate::rows::RowKeys;
use crate::tree::Reader;

/// The rows of a range of keys.
pub struct Scan<'r, 'k, P: Protocol, R> {
    reader: &'r Reader<'r, P, R>,
    lower: Edge<'k>,
    upper: Edge<'k>,
    up: bool,
    begun: bool,
    frames: Vec<Frame<P::Word>>,
    /// Children of small nodes that are still to be looked at, the next one of the last frame at the end.
    listed: Vec<(u16, Link<P::Word>)>,
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
#[derive(Clone, Copy)]
struct On {
    lower: bool,
    upper: bool,
}

/// A node on the way.
struct Frame<W> {
    link: Link<W>,
    /// The next symbol to look at, and the last, as numbers.
    from: i16,
    until: i16,
    on: On,
    /// The symbols of the edges that the node is on.
    lower: i16,
    upper: i16,
    /// Of a small node: how many are listed below its children.
    listed: Option<usize>,
}

impl<W> Frame<W> {
    /// The next child of a large node.
    fn next<P: Protocol<Word = W>>(&mut self, node: Node<'_, W>, up: bool) -> Option<(u16, Link<W>)> {
        let is_inside = |symbol: i16| if up { symbol <= self.until } else { symbol >= self.until };
        if !is_inside(self.from) {
            return None;
        }
        let next = P::Lookup::snapshot(&node.head().word, || node.next(self.from as u16, up));
        let (symbol, link) = next.filter(|(symbol, _)| is_inside(*symbol as i16))?;
        self.from = if up { symbol as i16 + 1 } else { symbol as i16 - 1 };
        if link.is_node() && is_inside(self.from) {
            node.next(self.from as u16, up).inspect(|(_, ahead)| fetch(*ahead));
        }
        Some((symbol, link))
    }
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
        let first = Frame { link: Link::NULL, from: 0, until: 0, on, lower: 0, upper: 0, listed: None };
        Scan { reader: self, lower, upper, up: true, begun: false, frames: vec![first], listed: Vec::new() }
    }
}

/// Fetches a node, but of the largest, which is read from one end to the other, its beginning. What is fetched for nothing does
/// no harm.
fn fetch<W>(link: Link<W>) {
    if link.is_node() {
        let bytes = if link.kind() == Kind::N256 { 1 } else { link.kind().bytes::<W>() };
        (0..bytes).step_by(64).for_each(|at| prefetch(link.node().cast::<u8>().wrapping_add(at)));
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

    fn advance(&mut self) -> Option<u64> {
        if !self.begun {
            self.begun = true;
            let on = self.frames.pop()?.on;
            let root = &self.reader.tree.root;
            let link = P::Lookup::snapshot(&root.word, || root.slot.load());
            if let Some(row) = self.visit(link, 0, on) {
                return Some(row);
            }
        }
        while let Some(frame) = self.frames.last_mut() {
            // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
            let node = unsafe { frame.link.follow::<'_>() };
            let next = match frame.listed {
                Some(below) if self.listed.len() > below => {
                    let next = self.listed.pop();
                    // The next two, as far as there are so many: one is on its way already.
                    self.listed[below..].iter().rev().take(2).for_each(|(_, ahead)| fetch(*ahead));
                    next
                }
                Some(_) => None,
                None => frame.next::<P>(node, self.up),
            };
            let Some((symbol, link)) = next else {
                self.frames.pop();
                continue;
            };
            let symbol = symbol as i16;
            let on =
                On { lower: frame.on.lower && symbol == frame.lower, upper: frame.on.upper && symbol == frame.upper };
            if let Some(row) = self.visit(link, node.level() + usize::from(!node.is_end()), on) {
                return Some(row);
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

    fn has(&self, row: u64, on: On) -> bool {
        if !on.lower && !on.upper {
            return true;
        }
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
        fetch(link);
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
        let (from, until) = if self.up { (lower, upper) } else { (upper, lower) };
        let listed = node.is_small().then_some(self.listed.len());
        if let Some(below) = listed {
            P::Lookup::snapshot(&node.head().word, || {
                self.listed.truncate(below);
                node.list(lower as u16..=upper as u16, &mut self.listed);
            });
            let order = |a: &(u16, Link<P::Word>), b: &(u16, Link<P::Word>)| a.0.cmp(&b.0);
            self.listed[below..].sort_unstable_by(|a, b| if self.up { order(b, a) } else { order(a, b) });
        }
        self.frames.push(Frame { link, from, until, on, lower, upper, listed });
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

    fn next(&mut self) -> Option<u64> {
        P::operate(&self.reader.tree.latch, || self.advance())
    }
}
