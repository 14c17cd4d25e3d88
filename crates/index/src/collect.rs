//! All rows whose keys begin with a key, in no order: what joins ask for. One way down, then all that hangs there; a scan, which has
//! two ends and keeps an order, does more for each node.

use crate::lookup::skip;
use crate::node::{LAST, Link, Node, symbol};
use crate::protocol::{Coupling, Held, Protocol, Restart, until_done};
use crate::rows::RowKeys;
use crate::tree::Reader;

/// What all keys below begin with; whether all of it was compared.
struct Below<W> {
    link: Link<W>,
    sure: bool,
}

impl<P: Protocol, R: RowKeys> Reader<'_, P, R> {
    /// Shows all rows whose keys begin so, as [`starting_with`](Self::starting_with) finds them, in no order.
    pub fn each_starting_with(&self, key: &[u8], mut show: impl FnMut(u64)) {
        P::operate(&self.tree.latch, || {
            let below = until_done(|locking| if locking { self.below::<true>(key) } else { self.below::<false>(key) });
            let Some(Below { link, sure }) = below else { return };
            let begins = |row: u64| self.rows.key(row).as_ref().starts_with(key);
            if sure || self.some_row(link).is_some_and(begins) {
                self.each_below(link, &mut show);
            }
        });
    }

    /// What hangs where keys that begin so are.
    #[inline(always)]
    fn below<const X: bool>(&self, key: &[u8]) -> Result<Option<Below<P::Word>>, Restart> {
        let mut parent = Held::<P::Lookup, X>::read(&self.tree.root.word)?;
        let mut link = self.tree.root.slot.load();
        let (mut depth, mut known) = (0, true);
        loop {
            if depth >= key.len() || !link.is_node() {
                parent.release()?;
                let sure = known && depth >= key.len();
                return Ok((!link.is_null()).then_some(Below { link, sure }));
            }
            parent.check()?;
            // SAFETY: the parent was in the tree with this link when it was checked, and the guard is older.
            let node = unsafe { link.follow::<'_>() };
            let held = Held::<P::Lookup, X>::read(&node.head().word)?;
            drop(parent);
            if node.level() >= key.len() {
                held.release()?;
                return Ok(ends(node, key, depth).map(|all| Below { link, sure: known && all }));
            }
            let Some((symbol, level)) = skip(node, key, depth, &mut known) else {
                held.release()?;
                return Ok(None);
            };
            depth = level + usize::from(!node.is_end());
            debug_assert_eq!(symbol, self::symbol(key, level));
            link = node.slot(symbol).map_or(Link::NULL, |slot| slot.load());
            parent = held;
        }
    }

    fn each_below(&self, link: Link<P::Word>, show: &mut impl FnMut(u64)) {
        let (mut left, mut listed) = (Vec::new(), Vec::new());
        let mut next = Some(link);
        while let Some(link) = next {
            if link.is_row() {
                show(link.row());
            } else if link.is_node() {
                // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
                let node = unsafe { link.follow::<'_>() };
                let word = &node.head().word;
                // Some of a large node at a time: less to be read anew if it changes meanwhile.
                let step = if node.is_small() { usize::from(LAST) + 1 } else { 64 };
                for first in (0..=LAST).step_by(step) {
                    P::Lookup::snapshot(word, || {
                        listed.clear();
                        node.list(first..=LAST.min(first + (step as u16 - 1)), true, &mut listed);
                    });
                    for child in listed.drain(..) {
                        if child.is_row() { show(child.row()) } else { left.push(child) }
                    }
                }
            }
            next = left.pop();
        }
    }
}

/// Whether a node in whose path a key ends begins with it, as far as is known, and then whether that is all of it.
fn ends<W>(node: Node<'_, W>, key: &[u8], depth: usize) -> Option<bool> {
    let (level, known) = (node.level(), node.known(depth));
    // The known bytes stand right before the level; the key may end among them, or before.
    let from = level - known.len();
    let beside = key.get(from..).unwrap_or_default();
    (known[..beside.len()] == *beside).then_some(from <= depth)
}
