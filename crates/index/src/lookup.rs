//! Lookups: Figure 3.3. O(length of the key), and as many nodes as bytes that tell keys apart.

use crate::node::{Link, Meets, Node, Symbol, symbol};
use crate::protocol::{Coupling, Held, Protocol, Restart, until_done};
use crate::rows::RowKeys;
use crate::tree::Reader;

impl<P: Protocol, R: RowKeys> Reader<'_, P, R> {
    /// The row that has a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<u64> {
        let attempt = |locking| if locking { self.lookup::<true>(key) } else { self.lookup::<false>(key) };
        P::operate(&self.tree.latch, || until_done(attempt))
    }

    #[inline(always)]
    fn lookup<const X: bool>(&self, key: &[u8]) -> Result<Option<u64>, Restart> {
        let mut parent = Held::<P::Lookup, X>::read(&self.tree.root.word)?;
        let mut link = self.tree.root.slot.load();
        // So many bytes of the key are behind us; whether all of them were compared.
        let (mut depth, mut known) = (0, true);
        loop {
            if !link.is_node() {
                // Read before the row's key is asked for, which is not part of the tree.
                parent.release()?;
                return Ok(self.found(link, key, R::PREFIX_FREE && known && depth == key.len()));
            }
            parent.check()?;
            // SAFETY: the parent was in the tree with this link when it was checked, and the guard is older.
            let node = unsafe { link.follow::<'_>() };
            let held = Held::<P::Lookup, X>::read(&node.head().word)?;
            // Figure 3.3 looks at the parent's version once more, as the node's prefix may have changed with the parent. Here a
            // node that is in the tree is in its place.
            drop(parent);
            // Read before the node's level is known: mostly it is this byte, and the processor goes on to the child while the
            // level is on its way from memory.
            let guess = symbol(key, depth);
            let symbol = if node.level() == depth {
                guess
            } else {
                match skip(node, key, depth, &mut known) {
                    Some((symbol, level)) => {
                        depth = level;
                        symbol
                    }
                    None => {
                        held.release()?;
                        return Ok(None);
                    }
                }
            };
            link = node.slot(symbol).map_or(Link::NULL, |slot| slot.load());
            depth += usize::from(!node.is_end());
            parent = held;
        }
    }

    /// A row at the end of a lookup, if it has the key.
    #[inline(always)]
    fn found(&self, link: Link<P::Word>, key: &[u8], sure: bool) -> Option<u64> {
        (link.is_row() && (sure || self.rows.has(link.row(), key))).then(|| link.row())
    }

    /// Some row below a link; there is one, as each node has at least two children.
    pub(crate) fn some_row(&self, link: Link<P::Word>) -> Option<u64> {
        let mut link = link;
        while link.is_node() {
            // SAFETY: it was in the tree when it was loaded, and the guard is older.
            let node = unsafe { link.follow::<'_>() };
            link = P::Lookup::snapshot(&node.head().word, || node.any());
        }
        link.is_row().then(|| link.row())
    }
}

/// Goes along a compressed path: by what the key branches behind it, and at which level, if it agrees as far as is known.
#[inline(always)]
pub(crate) fn skip<W>(node: Node<'_, W>, key: &[u8], depth: usize, known: &mut bool) -> Option<(Symbol, usize)> {
    let level = node.level();
    if level > key.len() {
        return None;
    }
    match node.meets(key, depth) {
        Meets::Differs => return None,
        Meets::Agrees { known: all } => *known &= all,
    }
    Some((symbol(key, level), level))
}
