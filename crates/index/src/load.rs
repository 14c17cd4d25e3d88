//! A tree of sorted keys, made from the bottom up: each node once, in its final size. O(bytes of the keys).
//!
//! Two neighbours share so many bytes; a node stands at each level at which neighbours part. Nodes that are still open lie on
//! a stack, the one at the deepest level on top, as when suffix trees are made of sorted suffixes.

use base::{Budget, Error, Result, SqlState};

use crate::link::LAST_ROW;
use crate::memory::{Memory, Subtree};
use crate::node::{Kind, Link, Path, Symbol, symbol};
use crate::protocol::Protocol;
use crate::tree::Tree;

/// After so many keys a load asks whether it is cancelled.
const CHECKED: usize = 4096;

impl<P: Protocol> Tree<P> {
    /// A tree of keys and their rows, each key greater than the one before. Where one is not, `out_of_order` makes an error
    /// of the two rows: the first and the second have equal keys, or the second comes too late. Ends early if the statement that
    /// the thread works for is cancelled. Whatever fails, the budget is as before.
    pub fn from_sorted<K: AsRef<[u8]>>(
        budget: &Budget,
        entries: impl IntoIterator<Item = (K, u64)>,
        out_of_order: impl FnOnce(u64, u64) -> Error,
    ) -> Result<Self> {
        let tree = Self::new(budget);
        let mut loader = Loader { memory: &tree.memory, open: Vec::new(), spare: Vec::new(), pending: Link::NULL };
        let mut before: Option<K> = None;
        for (number, (key, row)) in entries.into_iter().enumerate() {
            if number % CHECKED == 0 {
                base::statement::check()?;
            }
            let bytes = key.as_ref();
            if row > LAST_ROW || u32::try_from(bytes.len()).is_err() {
                return Err(Error::new(SqlState::PROGRAM_LIMIT, "the key of an index is too long"));
            }
            if let Some(before) = &before {
                let before = before.as_ref();
                if bytes <= before {
                    return Err(out_of_order(loader.pending.row(), row));
                }
                loader.part(before, before.iter().zip(bytes).take_while(|(a, b)| a == b).count())?;
            }
            loader.pending = Link::of_row(row);
            before = Some(key);
        }
        if let Some(before) = &before {
            loader.finish(before.as_ref())?;
        }
        tree.root.slot.store(std::mem::replace(&mut loader.pending, Link::NULL));
        drop(loader);
        Ok(tree)
    }
}

/// A node that may get more children.
struct Open<W> {
    level: usize,
    children: Vec<(Symbol, Link<W>)>,
}

struct Loader<'m, W> {
    memory: &'m Memory,
    open: Vec<Open<W>>,
    /// Lists to be used again.
    spare: Vec<Vec<(Symbol, Link<W>)>>,
    /// What has the last key, and hangs on nothing yet.
    pending: Link<W>,
}

impl<W: Default> Loader<'_, W> {
    /// The key after `before` shares `level` bytes with it.
    fn part(&mut self, before: &[u8], level: usize) -> Result<()> {
        while self.open.last().is_some_and(|open| open.level > level) {
            self.close(before)?;
        }
        if self.open.last().is_none_or(|open| open.level < level) {
            let children = self.spare.pop().unwrap_or_default();
            self.open.push(Open { level, children });
        }
        self.hang(before);
        Ok(())
    }

    /// Hangs what is pending on the topmost open node.
    fn hang(&mut self, key: &[u8]) {
        let Some(open) = self.open.last_mut() else { return };
        open.children.push((symbol(key, open.level), self.pending));
        self.pending = Link::NULL;
    }

    /// Makes a node of the topmost open one; it is pending then.
    fn close(&mut self, key: &[u8]) -> Result<()> {
        self.hang(key);
        let Some(Open { level, children }) = self.open.last() else { return Ok(()) };
        let path = Path::of(key, *level);
        let node = match &children[..] {
            [first, second] => self.memory.fork(path, [*first, *second])?,
            [first @ (None, _), rest @ ..] => {
                let node = self.node(path, rest)?;
                let link = node.node().link();
                let end = self.memory.fork(path, [*first, (Some(0), link)])?;
                node.publish();
                end
            }
            all => self.node(path, all)?,
        };
        self.pending = node.publish();
        self.spare.extend(self.open.pop().map(|mut open| {
            open.children.clear();
            open.children
        }));
        Ok(())
    }

    fn node(&self, path: Path, children: &[(Symbol, Link<W>)]) -> Result<crate::memory::Fresh<'_, W>> {
        let node = self.memory.node(Kind::of(children.len()), path)?;
        for (symbol, link) in children {
            if let Some(byte) = symbol {
                node.node().add(*byte, *link);
            }
        }
        Ok(node)
    }

    fn finish(&mut self, key: &[u8]) -> Result<()> {
        while !self.open.is_empty() {
            self.close(key)?;
        }
        Ok(())
    }
}

impl<W> Drop for Loader<'_, W> {
    fn drop(&mut self) {
        for link in self.open.drain(..).flat_map(|open| open.children).map(|(_, link)| link).chain([self.pending]) {
            drop(Subtree(link, self.memory));
        }
    }
}
