//! Figure 2.8: the unsynchronised tree with one latch around each operation, and with the cheapest write to one place that
//! there is, an atomic addition before each lookup, which keeps nobody away.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock};

use index::{RowKeys, Tree, Unsynchronised};

use super::Contender;
use super::art::{Alone, empty, has, insert, remove, scan};

type Plain = Tree<Unsynchronised>;

/// A latch around a tree.
pub(super) trait Latch: Sync {
    fn read<T>(&self, work: impl FnOnce(&Plain) -> T) -> T;
    fn write<T>(&self, work: impl FnOnce(&mut Plain) -> T) -> T;
}

impl Latch for RwLock<Plain> {
    fn read<T>(&self, work: impl FnOnce(&Plain) -> T) -> T {
        work(&RwLock::read(self).unwrap_or_else(PoisonError::into_inner))
    }
    fn write<T>(&self, work: impl FnOnce(&mut Plain) -> T) -> T {
        work(&mut RwLock::write(self).unwrap_or_else(PoisonError::into_inner))
    }
}

impl Latch for Mutex<Plain> {
    fn read<T>(&self, work: impl FnOnce(&Plain) -> T) -> T {
        work(&self.lock().unwrap_or_else(PoisonError::into_inner))
    }
    fn write<T>(&self, work: impl FnOnce(&mut Plain) -> T) -> T {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The tree behind a latch that each operation takes.
pub(super) struct Latched<L, R: 'static> {
    latch: L,
    rows: &'static R,
}

impl<R> Latched<RwLock<Plain>, R> {
    pub(super) fn shared(rows: &'static R) -> Self {
        Self { latch: RwLock::new(empty()), rows }
    }
}

impl<R> Latched<Mutex<Plain>, R> {
    pub(super) fn exclusive(rows: &'static R) -> Self {
        Self { latch: Mutex::new(empty()), rows }
    }
}

impl<L: Latch, R: RowKeys + Sync> Contender for Latched<L, R> {
    fn insert(&self, items: &[u64]) {
        let one = |item| self.latch.write(|tree| insert(&mut tree.writer_mut(self.rows), self.rows, item));
        items.iter().for_each(|&item| one(item));
    }
    fn get(&self, items: &[u64]) -> usize {
        let one = |item| self.latch.read(|tree| has(&tree.reader(self.rows), self.rows, item));
        items.iter().filter(|&&item| one(item)).count()
    }
    fn remove(&self, items: &[u64]) {
        let one = |item| self.latch.write(|tree| remove(&mut tree.writer_mut(self.rows), self.rows, item));
        items.iter().for_each(|&item| one(item));
    }
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let one = |from| self.latch.read(|tree| scan(&tree.reader(self.rows), self.rows, from, rows));
        Some(from.iter().map(|&from| one(from)).sum())
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.latch.read(Tree::bytes))
    }
}

/// The tree without synchronisation whose lookups are counted in one place.
pub(super) struct Counted<R: 'static> {
    tree: Alone<R>,
    lookups: AtomicU64,
}

impl<R> Counted<R> {
    pub(super) fn new(rows: &'static R) -> Self {
        Self { tree: Alone::new(rows), lookups: AtomicU64::new(0) }
    }
}

impl<R: RowKeys + Sync> Contender for Counted<R> {
    fn insert(&self, items: &[u64]) {
        self.tree.insert(items);
    }
    fn get(&self, items: &[u64]) -> usize {
        self.tree.get_after(items, || _ = self.lookups.fetch_add(1, Relaxed))
    }
    fn remove(&self, items: &[u64]) {
        self.tree.remove(items);
    }
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        self.lookups.fetch_add(from.len() as u64, Relaxed);
        self.tree.scan(from, rows)
    }
    fn has_one_writer(&self) -> bool {
        true
    }
    fn bytes(&self) -> Option<usize> {
        self.tree.bytes()
    }
}
