//! Where a scan is in a node: children are listed in blocks, one ahead of the one that is looked at.

use std::mem::MaybeUninit;

use base::prefetch::prefetch;

use super::{LAST, On};
use crate::node::{Kind, LINE, Link};
use crate::protocol::{Coupling, Protocol};

/// A node on the way.
pub(super) struct Frame<W> {
    pub(super) link: Link<W>,
    /// The next symbol to list, and the last, as numbers.
    pub(super) from: i16,
    pub(super) until: i16,
    /// What the child of the first symbol is on, as long as it is not listed, and that of the last.
    pub(super) first: On,
    pub(super) last: On,
    /// What the children are on that are looked at.
    pub(super) now: On,
    /// How many are listed below its children.
    pub(super) below: usize,
    /// So many above those are of the next block.
    pub(super) ahead: usize,
    /// So many symbols are listed next.
    pub(super) block: i16,
}

/// So many symbols of a large node are listed first, and then: who wants one row pays for few of them.
pub(super) const FIRST_BLOCK: i16 = 8;
pub(super) const BLOCK: i16 = 16;

impl<W> Frame<W> {
    /// Lists more children, of which some come next; whether there may be any. Those of an edge are alone.
    pub(super) fn refill<P: Protocol<Word = W>>(&mut self, up: bool, listed: &mut Vec<Link<W>>) -> bool {
        let next = std::mem::take(&mut self.ahead);
        let mut left = if up { self.until - self.from } else { self.from - self.until } + 1;
        let on_last = left > 0 && self.last != On::NONE;
        self.now = On::NONE;
        if next == 0 {
            let is_last = left == 1 && on_last;
            if left <= 0 {
                return false;
            }
            if self.first != On::NONE || is_last {
                let first = std::mem::replace(&mut self.first, On::NONE);
                let last = if is_last { self.last } else { On::NONE };
                self.now = On { lower: first.lower | last.lower, upper: first.upper | last.upper };
                self.list::<P>(1, up, listed);
                left -= 1 + i16::from(on_last && !is_last);
                // Who comes back after that wants more than one row.
                if left > 0 && listed.last().is_some_and(|link| !link.is_node() || link.kind() <= Kind::N16) {
                    self.list_beneath::<P>(left, up, listed);
                }
                return true;
            }
        }
        left -= i16::from(on_last);
        if next == 0 {
            let is_first = self.block == FIRST_BLOCK;
            left -= self.list::<P>(left, up, listed);
            if is_first {
                return true;
            }
        }
        if left > 0 {
            self.list_beneath::<P>(left, up, listed);
        }
        expand::<P>(up, self.below + self.ahead, listed);
        true
    }

    /// Lists a block that comes after all that is listed.
    fn list_beneath<P: Protocol<Word = W>>(&mut self, left: i16, up: bool, listed: &mut Vec<Link<W>>) {
        let next = listed.len() - self.below;
        self.list::<P>(left, up, listed);
        self.ahead = listed.len() - self.below - next;
        listed[self.below..].rotate_left(next);
    }

    /// Lists the children of a block, or of as many symbols as are left, which is returned, and fetches the nodes among them, and the
    /// slots of the next block.
    fn list<P: Protocol<Word = W>>(&mut self, left: i16, up: bool, listed: &mut Vec<Link<W>>) -> i16 {
        // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
        let node = unsafe { self.link.follow::<'_>() };
        let symbols = if node.is_small() { left } else { left.min(self.block) };
        let range = |from: i16, symbols: i16| {
            if up {
                from as u16..=(from + symbols - 1) as u16
            } else {
                (from - symbols + 1).max(0) as u16..=from as u16
            }
        };
        let before = listed.len();
        P::Lookup::snapshot(&node.head().word, || {
            listed.truncate(before);
            node.list(range(self.from, symbols), up, listed);
        });
        self.block = BLOCK;
        self.from += if up { symbols } else { -symbols };
        if left > symbols {
            node.fetch(range(self.from, BLOCK.min(left - symbols)));
        }
        fetch(&listed[before..]);
        symbols
    }
}

/// Puts the children of nodes of four into their places in a block, and fetches the nodes among them. Nothing is branched by which of
/// the links are nodes, nor by how many children these have, so that the processor works on several at once.
fn expand<P: Protocol>(up: bool, below: usize, listed: &mut Vec<Link<P::Word>>) {
    const MOST: usize = BLOCK as usize;
    let count = listed.len() - below;
    let (mut nodes, mut number) = ([0_u8; MOST + 1], 0);
    for (at, link) in listed[below..].iter().enumerate() {
        nodes[number] = at as u8;
        number += usize::from(link.is_node_of_4());
    }
    if number == 0 {
        return;
    }
    let mut links = [Link::NULL; MOST + 3];
    links[..count].copy_from_slice(&listed[below..]);
    let mut children = [MaybeUninit::uninit(); MOST + 1];
    // What is looked at behind the last of them.
    children[number].write(([Link::NULL; 4], 0));
    for (at, children) in nodes[..number].iter().zip(&mut children) {
        // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
        let node = unsafe { links[usize::from(*at)].follow::<'_>() };
        children.write(P::Lookup::snapshot(&node.head().word, || node.list_of_4(0..=LAST as u16, up)));
    }
    listed.truncate(below);
    listed.reserve(4 * MOST + 4);
    // SAFETY: as many as there are.
    let mut end = unsafe { listed.as_mut_ptr().add(below) };
    let (mut next, mut are_rows) = (0, true);
    for at in 0..count {
        let is_node = links[at].is_node_of_4();
        // SAFETY: as many as nodes have been written, and one more. Both have four links, of which at most all count; there is room
        // for four times as many as there were.
        unsafe {
            let (of_node, count) = children[next].assume_init_ref();
            let from = if is_node { of_node.as_ptr() } else { links[at..].as_ptr() };
            are_rows &= of_node.iter().all(|link| !link.is_node());
            end.copy_from_nonoverlapping(from, 4);
            end = end.add(if is_node { *count } else { 1 });
        }
        next += usize::from(is_node);
    }
    // SAFETY: all up to the end has been written, in one allocation.
    unsafe {
        let len = end.offset_from(listed.as_ptr()) as usize;
        listed.set_len(len);
    }
    if !are_rows {
        fetch(&listed[below..]);
    }
}

/// Lists all children of a small node: they take its place, as none of them is on an edge, whatever its symbol.
#[inline(always)]
pub(super) fn list_all<P: Protocol>(link: Link<P::Word>, up: bool, listed: &mut Vec<Link<P::Word>>) {
    // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
    let node = unsafe { link.follow::<'_>() };
    let below = listed.len();
    P::Lookup::snapshot(&node.head().word, || {
        listed.truncate(below);
        node.list(0..=LAST as u16, up, listed);
    });
    fetch(&listed[below..]);
}

/// Fetches the nodes among children: small ones, and the beginnings of large ones. What is fetched for nothing does no harm.
#[inline(always)]
fn fetch<W>(children: &[Link<W>]) {
    for link in children {
        // Nothing is branched by what it is, which nobody can foresee: for a row, the list itself is fetched, which is here.
        let at = if link.is_node() { link.node().cast::<u8>().cast_const() } else { children.as_ptr().cast() };
        prefetch(at);
        if !Kind::N4.bytes::<W>().is_multiple_of(LINE) {
            prefetch(at.wrapping_add(Kind::N4.bytes::<W>() - 1));
        }
        if link.is_node() && link.kind() == Kind::N16 {
            (LINE..Kind::N16.bytes::<W>()).step_by(LINE).for_each(|more| prefetch(at.wrapping_add(more)));
        }
    }
}
