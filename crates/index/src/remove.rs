//! Removal: takes a child out of a node, or replaces a node that has too few left, which changes a slot of its parent.
//!
//! Of two children one is left, and takes the node's place in the parent: a node, whose path says what it said before, or a
//! row. So no more than two nodes are locked (where paths are kept since the parent, the child is a third).

use crate::node::{Kind, Link, Node, Slot, symbol};
use crate::protocol::{Held, Protocol, Restart, until_done};
use crate::tree::{Reader, Writer};

impl<P: Protocol, R> Writer<'_, P, R> {
    /// Removes a key if it is there with this row; whether it was.
    pub fn remove(&mut self, key: &[u8], row: u64) -> bool {
        let reader = &self.0;
        let attempt = |locking| if locking { reader.leave::<true>(key, row) } else { reader.leave::<false>(key, row) };
        P::operate(&reader.tree.latch, || until_done(attempt))
    }
}

impl<P: Protocol, R> Reader<'_, P, R> {
    #[inline(always)]
    fn leave<const X: bool>(&self, key: &[u8], row: u64) -> Result<bool, Restart> {
        let mut parent = Held::<P::Change, X>::read(&self.tree.root.word)?;
        let mut slot = &self.tree.root.slot;
        loop {
            let link = slot.load();
            parent.check()?;
            if !link.is_node() {
                // Only the root's slot can have a row here.
                if !link.is_row() || link.row() != row {
                    return parent.release().map(|()| false);
                }
                let locked = parent.upgrade()?;
                slot.store(Link::NULL);
                drop(locked);
                return Ok(true);
            }
            // SAFETY: the parent was in the tree with this link when it was checked, and the guard is older.
            let node = unsafe { link.follow::<'_>() };
            let held = Held::<P::Change, X>::read(&node.head().word)?;
            // The path needs no look: the row says whether this is the key.
            let child = (node.level() <= key.len()).then(|| node.slot(symbol(key, node.level()))).flatten();
            let Some((next, below)) = child.map(|slot| (slot, slot.load())) else {
                return held.release().map(|()| false);
            };
            if below.is_node() {
                held.check()?;
                parent.release()?;
                (parent, slot) = (held, next);
                continue;
            }
            held.check()?;
            if !below.is_row() || below.row() != row {
                return Ok(false);
            }
            return self.take_out(node, key[node.level()..].first().copied(), next, slot, parent, held);
        }
    }

    /// Takes a row out of a node.
    fn take_out<const X: bool>(
        &self,
        node: Node<'_, P::Word>,
        byte: Option<u8>,
        child: &Slot<P::Word>,
        slot: &Slot<P::Word>,
        parent: Held<'_, P::Change, X>,
        held: Held<'_, P::Change, X>,
    ) -> Result<bool, Restart> {
        let left = node.live() - 1;
        if left <= node.kind().too_few() {
            if left == 1 {
                return self.replace(node, slot, parent, held, || node.other_than(child.load()));
            }
            // Without memory for a smaller node, the larger one stays.
            if let Ok(fresh) = self.tree.memory.node(Kind::of(left), node.path()) {
                return self.replace(node, slot, parent, held, || {
                    fresh.node().fill(node, Some(child.load()));
                    Some(fresh.publish())
                });
            }
        }
        let locked = held.upgrade()?;
        parent.release()?;
        match byte {
            Some(byte) if !P::KEEPS_SLOTS => node.close(byte, child),
            _ => node.vacate(child),
        }
        drop(locked);
        Ok(true)
    }

    /// Puts something else into a node's place.
    fn replace<const X: bool>(
        &self,
        node: Node<'_, P::Word>,
        slot: &Slot<P::Word>,
        parent: Held<'_, P::Change, X>,
        held: Held<'_, P::Change, X>,
        by: impl FnOnce() -> Option<Link<P::Word>>,
    ) -> Result<bool, Restart> {
        // The parent before the child, as all do.
        let above = parent.upgrade()?;
        let locked = held.upgrade()?;
        slot.store(by().unwrap_or(Link::NULL));
        locked.obsolete();
        drop(above);
        self.retire(node.link());
        Ok(true)
    }
}
