//! Many lookups at once: the nodes on the ways of a group of keys are fetched into the cache in step, so that the misses of one key
//! pass while the others' are waited for.
//!
//! Nothing is found here: who looks the keys up afterwards, one by one and as the protocol has it, finds what it needs in the
//! cache. So it does no harm that nodes are read here without a look at their words: they are in memory as long as the reader, and
//! whatever a slot holds is nothing, a row or a node.

use base::prefetch::prefetch;

use crate::link::Kind;
use crate::node::{Link, symbol};
use crate::protocol::Protocol;
use crate::rows::RowKeys;
use crate::tree::Reader;

/// Keys whose ways are gone in step: about as many misses as a core waits for at a time.
pub const GROUP: usize = 16;

/// Where a node of 48 or 256 has what is asked for a byte, beside its head: the first bytes of both.
const HEAD: usize = 24;

impl<P: Protocol, R: RowKeys> Reader<'_, P, R> {
    /// Fetches what lookups of these keys will read of the tree; [`GROUP`] keys are a good number.
    pub fn fetch<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        let mut ways: [(&[u8], Link<P::Word>); GROUP] = [(&[], Link::NULL); GROUP];
        let root = self.tree.root.slot.load();
        let mut count = 0;
        for (way, key) in ways.iter_mut().zip(keys) {
            *way = (key, root);
            count += 1;
        }
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for (key, link) in &mut ways[..count] {
                if !link.is_node() {
                    continue;
                }
                // SAFETY: it was in the tree when it was loaded, and the reader's guard is older.
                let node = unsafe { link.follow::<'_>() };
                let level = node.level();
                *link = match level > key.len() {
                    true => Link::NULL,
                    false => node.slot(symbol(key, level)).map_or(Link::NULL, |slot| slot.load()),
                };
                if link.is_node() {
                    goes_on = true;
                    fetch_node(*link, key.get(level + 1).copied().unwrap_or(0));
                }
            }
        }
    }
}

/// Fetches the lines of a node that a lookup reads if it branches by that byte.
#[inline(always)]
fn fetch_node<W>(link: Link<W>, byte: u8) {
    let at = link.node().cast::<u8>().cast_const();
    prefetch(at);
    match link.kind() {
        Kind::N4 => {}
        Kind::N16 => {
            prefetch(at.wrapping_add(64));
            prefetch(at.wrapping_add(128));
        }
        Kind::N48 => prefetch(at.wrapping_add(HEAD + usize::from(byte))),
        Kind::N256 => prefetch(at.wrapping_add(HEAD + 8 * usize::from(byte))),
    }
}
