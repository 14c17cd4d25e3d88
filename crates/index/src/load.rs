//! A tree of sorted keys, made from the bottom up: each node once, in its final size. O(bytes of the keys).
//!
//! Two neighbours share so many bytes; a node stands at each level at which neighbours part. Nodes that are still open lie on
//! a stack, the one at the deepest level on top, as when suffix trees are made of sorted suffixes.
//!
//! Several threads make a tree together, each of the keys of a range. Nodes that have keys of another range, too, are on the ways to the
//! first and the last key, as far as these share bytes with their neighbours: what hangs on such nodes is a *piece*. Pieces of all
//! ranges are the few sorted keys of which the rest of the tree is made.

use std::sync::{Mutex, PoisonError};

use base::{Budget, Error, Result, SqlState};

use crate::link::LAST_ROW;
use crate::memory::{Fresh, Memory, Subtree};
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
        let load = Load::new(budget, 1);
        load.range(0, entries, Neighbours::default(), out_of_order)?;
        load.finish()
    }
}

/// A tree that several threads make of sorted keys, each of some ranges of them. Dropped, its memory is given back.
#[derive(Debug)]
pub struct Load<P: Protocol> {
    tree: Tree<P>,
    /// By range, what was made of it.
    ranges: Vec<Mutex<Vec<Piece<P::Word>>>>,
}

/// The keys before and behind a range, of other ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighbours<'k> {
    /// The greatest of those before, if there is one.
    pub before: Option<&'k [u8]>,
    /// The smallest of those behind.
    pub behind: Option<&'k [u8]>,
}

/// What hangs on a node that has keys of several ranges.
struct Piece<W> {
    /// With what its keys begin, as far as it takes to tell them from all others.
    key: Box<[u8]>,
    link: Link<W>,
}

// SAFETY: a piece owns what hangs on its link, as a tree does.
unsafe impl<W: Send> Send for Piece<W> {}

impl<W> std::fmt::Debug for Piece<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Piece({:?})", self.key)
    }
}

impl<P: Protocol> Load<P> {
    /// Of so many ranges.
    pub fn new(budget: &Budget, ranges: usize) -> Self {
        Self { tree: Tree::new(budget), ranges: (0..ranges).map(|_| Mutex::default()).collect() }
    }

    /// The keys of a range and their rows, once, each key greater than the one before: see [`from_sorted`](Tree::from_sorted). Error
    /// `XX000` if they are not between their neighbours.
    pub fn range<K: AsRef<[u8]>>(
        &self,
        number: usize,
        entries: impl IntoIterator<Item = (K, u64)>,
        neighbours: Neighbours<'_>,
        out_of_order: impl FnOnce(u64, u64) -> Error,
    ) -> Result<()> {
        let mut loader = Loader::new(&self.tree.memory);
        let mut before: Option<K> = None;
        for (number, (key, row)) in entries.into_iter().enumerate() {
            if number % CHECKED == 0 {
                base::statement::check()?;
            }
            let bytes = key.as_ref();
            if row > LAST_ROW || u32::try_from(bytes.len()).is_err() {
                return Err(Error::new(SqlState::PROGRAM_LIMIT, "the key of an index is too long"));
            }
            match &before {
                Some(before) if bytes <= before.as_ref() => return Err(out_of_order(loader.pending.row(), row)),
                Some(before) => loader.part(before.as_ref(), shared(before.as_ref(), bytes))?,
                None => loader.begin(neighbours.before, bytes)?,
            }
            loader.pending = Link::of_row(row);
            before = Some(key);
        }
        if let Some(last) = &before {
            loader.end(last.as_ref(), neighbours.behind)?;
        }
        let pieces = std::mem::take(&mut loader.pieces);
        *self.ranges[number].lock().unwrap_or_else(PoisonError::into_inner) = pieces;
        Ok(())
    }

    /// The tree of all ranges.
    pub fn finish(mut self) -> Result<Tree<P>> {
        let mut loader = Loader::new(&self.tree.memory);
        let mut before: Option<Box<[u8]>> = None;
        for range in &mut self.ranges {
            let range = range.get_mut().unwrap_or_else(PoisonError::into_inner);
            // What is left of them when something fails is the load's.
            range.reverse();
            while let Some(key) = range.last().map(|piece| piece.key.clone()) {
                if let Some(before) = &before {
                    loader.part(before, shared(before, &key))?;
                }
                loader.pending = range.pop().map_or(Link::NULL, |piece| piece.link);
                before = Some(key);
            }
        }
        if let Some(last) = &before {
            loader.end(last, None)?;
        }
        if let Some(root) = loader.pieces.pop() {
            self.tree.root.slot.store(root.link);
        }
        drop(loader);
        Ok(std::mem::replace(&mut self.tree, Tree::new(&Budget::new(0))))
    }
}

impl<P: Protocol> Drop for Load<P> {
    fn drop(&mut self) {
        let ranges = self.ranges.iter_mut().map(|range| range.get_mut().unwrap_or_else(PoisonError::into_inner));
        ranges.flat_map(|range| range.drain(..)).for_each(|piece| drop(Subtree(piece.link, &self.tree.memory)));
    }
}

/// With how many same bytes two keys begin.
fn shared(before: &[u8], key: &[u8]) -> usize {
    before.iter().zip(key).take_while(|(a, b)| a == b).count()
}

/// A node that may get more children.
struct Open<W> {
    level: usize,
    children: Vec<(Symbol, Link<W>)>,
    /// Whether the range's first key is below it.
    has_first: bool,
}

struct Loader<'m, W> {
    memory: &'m Memory,
    open: Vec<Open<W>>,
    /// Lists to be used again.
    spare: Vec<Vec<(Symbol, Link<W>)>>,
    /// What has the last key, and hangs on nothing yet; nothing if that is among the pieces.
    pending: Link<W>,
    /// Whether the range's first key is below what is pending.
    has_first: bool,
    /// So many bytes the first key shares with the one before the range.
    left: Option<usize>,
    pieces: Vec<Piece<W>>,
}

impl<'m, W: Default> Loader<'m, W> {
    fn new(memory: &'m Memory) -> Self {
        let (open, spare, pieces) = Default::default();
        Self { memory, open, spare, pending: Link::NULL, has_first: true, left: None, pieces }
    }

    /// The first key is behind that of another range.
    fn begin(&mut self, before: Option<&[u8]>, first: &[u8]) -> Result<()> {
        if before.is_some_and(|before| before >= first) {
            return Err(Error::internal("ranges of keys that are not in order"));
        }
        self.left = before.map(|before| shared(before, first));
        Ok(())
    }

    /// The key after `before` shares `level` bytes with it.
    fn part(&mut self, before: &[u8], level: usize) -> Result<()> {
        while self.open.last().is_some_and(|open| open.level > level) {
            self.close(before)?;
        }
        if self.open.last().is_none_or(|open| open.level < level) {
            let children = self.spare.pop().unwrap_or_default();
            self.open.push(Open { level, children, has_first: false });
        }
        self.hang(before);
        Ok(())
    }

    /// Whether a node at a level has keys of the range before, if it has the first key.
    fn is_shared(&self, level: usize) -> bool {
        self.left.is_some_and(|left| level <= left)
    }

    /// Hangs what is pending on the topmost open node.
    fn hang(&mut self, key: &[u8]) {
        let Some(level) = self.open.last().map(|open| open.level) else { return };
        if self.has_first
            && let Some(left) = self.left.filter(|left| level <= *left)
        {
            // It hangs where the two ranges part.
            self.piece(key, left);
        }
        let Some(open) = self.open.last_mut() else { return };
        open.has_first |= std::mem::take(&mut self.has_first);
        if !self.pending.is_null() {
            open.children.push((symbol(key, open.level), self.pending));
        }
        self.pending = Link::NULL;
    }

    /// What is pending hangs on a node of several ranges at that level.
    fn piece(&mut self, key: &[u8], level: usize) {
        if !self.pending.is_null() {
            let link = std::mem::replace(&mut self.pending, Link::NULL);
            self.pieces.push(Piece { key: key[..key.len().min(level + 1)].into(), link });
        }
    }

    /// What hangs on the open node at that place of the stack, as pieces.
    fn scatter(&mut self, place: usize, key: &[u8]) {
        let Open { level, children, .. } = &mut self.open[place];
        for (symbol, link) in children.drain(..) {
            self.pieces.push(Piece { key: key[..*level].iter().copied().chain(symbol).collect(), link });
        }
    }

    /// Makes a node of the topmost open one; it is pending then.
    fn close(&mut self, key: &[u8]) -> Result<()> {
        self.hang(key);
        let Some(Open { level, children, has_first }) = self.open.last() else { return Ok(()) };
        let has_first = *has_first;
        if has_first && self.is_shared(*level) {
            self.scatter(self.open.len() - 1, key);
        } else {
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
        }
        self.has_first = has_first;
        self.spare.extend(self.open.pop().map(|mut open| {
            open.children.clear();
            open.children
        }));
        Ok(())
    }

    fn node(&self, path: Path, children: &[(Symbol, Link<W>)]) -> Result<Fresh<'m, W>> {
        let node = self.memory.node(Kind::of(children.len()), path)?;
        for (symbol, link) in children {
            if let Some(byte) = symbol {
                node.node().add(*byte, *link);
            }
        }
        Ok(node)
    }

    /// The last key was this one; what is left goes to the pieces.
    fn end(&mut self, last: &[u8], behind: Option<&[u8]>) -> Result<()> {
        if behind.is_some_and(|behind| behind <= last) {
            return Err(Error::internal("ranges of keys that are not in order"));
        }
        let right = behind.map(|behind| shared(last, behind));
        while self.open.last().is_some_and(|open| right.is_none_or(|right| open.level > right)) {
            self.close(last)?;
        }
        (0..self.open.len()).for_each(|place| self.scatter(place, last));
        let left = self.left.filter(|_| self.has_first);
        self.piece(last, right.max(left).unwrap_or(0));
        Ok(())
    }
}

impl<W> Drop for Loader<'_, W> {
    fn drop(&mut self) {
        let open = self.open.drain(..).flat_map(|open| open.children).map(|(_, link)| link);
        let pieces = self.pieces.drain(..).map(|piece| piece.link);
        open.chain(pieces).chain([self.pending]).for_each(|link| drop(Subtree(link, self.memory)));
    }
}
