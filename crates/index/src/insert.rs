//! Insertion: Figure 3.4. Changes one slot of one node, or replaces a node, which changes a slot of its parent.

use base::{Error, Result, SqlState};

use crate::link::LAST_ROW;
use crate::memory::Fresh;
use crate::node::{Kind, Link, Node, PATH, Path, Slot, symbol};
use crate::protocol::{Held, Protocol, Restart, until_done};
use crate::rows::RowKeys;
use crate::tree::{Reader, Writer};

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key is new.
    Fresh,
    /// The key is there, with this row, and stays so.
    Taken(u64),
    /// The key was there, with this row, which has been replaced.
    Replaced(u64),
}

/// An attempt that nobody disturbed.
type Done = Result<Inserted>;

impl<P: Protocol, R: RowKeys> Writer<'_, P, R> {
    /// Enters a key with its row, if the key is not there. If memory is refused, the tree is as before.
    pub fn insert(&mut self, key: &[u8], row: u64) -> Result<Inserted> {
        self.insert_or_replace(key, row, |_| false)
    }

    /// As [`insert`](Self::insert), by whoever knows a key `near` it that is in the tree and stays there meanwhile: as far as
    /// both begin alike, no row is asked for a path that a node does not have.
    pub fn insert_near(&mut self, key: &[u8], row: u64, near: &[u8]) -> Result<Inserted> {
        self.insert_entry(key, row, near, &mut |_| false)
    }

    /// Enters a key with its row, if the key is not there, or if its row `may_go`: asking and entering are one step.
    pub fn insert_or_replace(&mut self, key: &[u8], row: u64, mut may_go: impl FnMut(u64) -> bool) -> Result<Inserted> {
        self.insert_entry(key, row, &[], &mut may_go)
    }

    fn insert_entry(
        &mut self,
        key: &[u8],
        row: u64,
        near: &[u8],
        may_go: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Inserted> {
        if u32::try_from(key.len()).is_err() || row > LAST_ROW {
            return Err(Error::new(SqlState::PROGRAM_LIMIT, "the key of an index is too long"));
        }
        let known = shared(key, near, 0);
        let mut entry = Entry { key, row, known, may_go };
        let reader = &self.0;
        P::operate(&reader.tree.latch, || {
            until_done(
                |locking| {
                    if locking { reader.enter::<true>(&mut entry) } else { reader.enter::<false>(&mut entry) }
                },
            )
        })
    }
}

/// What is to be inserted.
struct Entry<'e> {
    key: &'e [u8],
    row: u64,
    /// So many bytes of it some key in the tree begins with.
    known: usize,
    may_go: &'e mut dyn FnMut(u64) -> bool,
}

impl<P: Protocol, R: RowKeys> Reader<'_, P, R> {
    #[inline(always)]
    fn enter<const X: bool>(&self, entry: &mut Entry<'_>) -> Result<Done, Restart> {
        let key = entry.key;
        let mut parent = Held::<P::Change, X>::read(&self.tree.root.word)?;
        let mut slot = &self.tree.root.slot;
        let mut depth = 0;
        loop {
            let link = slot.load();
            parent.check()?;
            if !link.is_node() {
                return self.enter_in_slot(entry, depth, slot, link, parent);
            }
            // SAFETY: the parent was in the tree with this link when it was checked, and the guard is older.
            let node = unsafe { link.follow::<'_>() };
            let held = Held::<P::Change, X>::read(&node.head().word)?;
            if let Some(at) = self.parts(node, entry, depth, &held)? {
                drop(held);
                return self.split(entry, at, node, slot, parent);
            }
            let level = node.level();
            let child = node.slot(symbol(key, level));
            let Some(next) = child.filter(|slot| !slot.load().is_null()) else {
                held.check()?;
                // Only a byte is absent: a key that ends where no end node is has parted above.
                let byte = key[level];
                return if node.has_room(byte) {
                    let locked = held.upgrade()?;
                    parent.release()?;
                    node.add(byte, Link::of_row(entry.row));
                    drop(locked);
                    Ok(Ok(Inserted::Fresh))
                } else {
                    self.grow(node, byte, entry.row, slot, parent, held)
                };
            };
            parent.release()?;
            depth = level + usize::from(!node.is_end());
            (parent, slot) = (held, next);
        }
    }

    /// Enters a key where the tree has nothing, or one row: lazy expansion ends.
    fn enter_in_slot<const X: bool>(
        &self,
        entry: &mut Entry<'_>,
        depth: usize,
        slot: &Slot<P::Word>,
        link: Link<P::Word>,
        parent: Held<'_, P::Change, X>,
    ) -> Result<Done, Restart> {
        let leaf = Link::of_row(entry.row);
        if link.is_null() {
            let locked = parent.upgrade()?;
            slot.store(leaf);
            drop(locked);
            return Ok(Ok(Inserted::Fresh));
        }
        let (key, other) = (entry.key, link.row());
        let of_other = self.rows.key(other);
        let of_other = of_other.as_ref();
        let at = shared(key, of_other, depth);
        if at < depth {
            return Ok(Err(Error::internal("a row in an index has changed its key")));
        }
        if at == key.len() && at == of_other.len() {
            if !(entry.may_go)(other) {
                parent.release()?;
                return Ok(Ok(Inserted::Taken(other)));
            }
            let locked = parent.upgrade()?;
            slot.store(leaf);
            drop(locked);
            return Ok(Ok(Inserted::Replaced(other)));
        }
        let two = [(symbol(key, at), leaf), (symbol(of_other, at), link)];
        self.put(self.tree.memory.fork(Path::of(key, at), two), slot, parent)
    }

    /// Enters a key that leaves a node's path, or ends, before the node branches: a node above it, which has both. The node
    /// itself stays as it is.
    fn split<const X: bool>(
        &self,
        entry: &Entry<'_>,
        at: Parting,
        node: Node<'_, P::Word>,
        slot: &Slot<P::Word>,
        parent: Held<'_, P::Change, X>,
    ) -> Result<Done, Restart> {
        let two = [(symbol(entry.key, at.level), Link::of_row(entry.row)), (Some(at.byte), node.link())];
        self.put(self.tree.memory.fork(Path::of(entry.key, at.level), two), slot, parent)
    }

    /// Puts a new node into a slot of the parent.
    fn put<const X: bool>(
        &self,
        fresh: Result<Fresh<'_, P::Word>>,
        slot: &Slot<P::Word>,
        parent: Held<'_, P::Change, X>,
    ) -> Result<Done, Restart> {
        let fresh = match fresh {
            Ok(fresh) => fresh,
            Err(error) => return Ok(Err(error)),
        };
        let locked = parent.upgrade()?;
        slot.store(fresh.publish());
        drop(locked);
        Ok(Ok(Inserted::Fresh))
    }

    /// Enters a byte in a node that has no slot for it: a new node takes its place, mostly a larger one.
    #[inline(never)]
    fn grow<const X: bool>(
        &self,
        node: Node<'_, P::Word>,
        byte: u8,
        row: u64,
        slot: &Slot<P::Word>,
        parent: Held<'_, P::Change, X>,
        held: Held<'_, P::Change, X>,
    ) -> Result<Done, Restart> {
        let fresh = match self.tree.memory.node(Kind::of(node.live() + 1), node.path()) {
            Ok(fresh) => fresh,
            Err(error) => return Ok(Err(error)),
        };
        // The parent before the child, as all do.
        let above = parent.upgrade()?;
        let locked = held.upgrade()?;
        fresh.node().fill(node, None);
        fresh.node().add(byte, Link::of_row(row));
        slot.store(fresh.publish());
        locked.obsolete();
        drop(above);
        self.retire(node.link());
        Ok(Ok(Inserted::Fresh))
    }

    /// Where a key leaves a node's path, or ends where the node branches.
    #[inline(always)]
    fn parts<const X: bool>(
        &self,
        node: Node<'_, P::Word>,
        entry: &Entry<'_>,
        depth: usize,
        held: &Held<'_, P::Change, X>,
    ) -> Result<Option<Parting>, Restart> {
        let (key, level) = (entry.key, node.level());
        // The key that begins alike is below the node, as this one has met every byte by which its way branches.
        if level == depth || level <= entry.known {
            return Ok((level == key.len() && !node.is_end()).then_some(Parting { level, byte: 0 }));
        }
        if level - depth > PATH {
            return self.parts_far(node, key, depth, held);
        }
        Ok(parting(node, key, node.known(depth), level))
    }

    /// As [`parts`](Self::parts), where the node does not have its whole path: a row below has it.
    #[cold]
    fn parts_far<const X: bool>(
        &self,
        node: Node<'_, P::Word>,
        key: &[u8],
        depth: usize,
        held: &Held<'_, P::Change, X>,
    ) -> Result<Option<Parting>, Restart> {
        let level = node.level();
        let child = node.any();
        held.check()?;
        let some = self.some_row(child).map(|row| self.rows.key(row));
        // If there is none, or rows have changed their keys, what the node knows has to do.
        let path = some.as_ref().map(AsRef::as_ref).and_then(|key| key.get(depth..level));
        Ok(parting(node, key, path.unwrap_or(node.known(depth)), level))
    }
}

/// Where a key and a path part, and how the path goes on there.
#[derive(Clone, Copy)]
struct Parting {
    level: usize,
    byte: u8,
}

/// Compares a key with the end of a node's path.
#[inline(always)]
fn parting<W>(node: Node<'_, W>, key: &[u8], path: &[u8], level: usize) -> Option<Parting> {
    let start = level - path.len();
    let rest = key.get(start..).unwrap_or_default();
    let same = path.iter().zip(rest).take_while(|(a, b)| a == b).count();
    if same < path.len() {
        return Some(Parting { level: key.len().min(start + same), byte: path[same] });
    }
    (level == key.len() && !node.is_end()).then_some(Parting { level, byte: 0 })
}

/// The length of what two keys begin with, at least `from`, as far as they are so long.
fn shared(a: &[u8], b: &[u8], from: usize) -> usize {
    let mut from = from.min(a.len()).min(b.len());
    while let (Some(a), Some(b)) = (a[from..].first_chunk(), b[from..].first_chunk()) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return from + differ.trailing_zeros() as usize / 8;
        }
        from += size_of::<u64>();
    }
    from + a[from..].iter().zip(&b[from..]).take_while(|(a, b)| a == b).count()
}
