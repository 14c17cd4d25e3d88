//! The tree by protocol, whose operations synchronise themselves.

use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use base::{Budget, Result};
use index::{Concurrent, Inserted, Protocol, Reader, RowKeys, Tree, Unsynchronised, Writer};

use super::{Contender, seen};

fn unlimited() -> Budget {
    Budget::new(usize::MAX)
}

fn entered(inserted: Result<Inserted>) {
    assert!(matches!(inserted, Ok(Inserted::Fresh | Inserted::Taken(_))), "memory is not limited");
}

pub(super) fn empty<P: Protocol>() -> Tree<P> {
    Tree::new(&unlimited())
}

pub(super) fn insert<P: Protocol, R: RowKeys>(writer: &mut Writer<'_, P, R>, rows: &R, item: u64) {
    entered(writer.insert(rows.key(item).as_ref(), item));
}

pub(super) fn has<P: Protocol, R: RowKeys>(reader: &Reader<'_, P, R>, rows: &R, item: u64) -> bool {
    reader.get(rows.key(item).as_ref()) == Some(item)
}

pub(super) fn remove<P: Protocol, R: RowKeys>(writer: &mut Writer<'_, P, R>, rows: &R, item: u64) {
    writer.remove(rows.key(item).as_ref(), item);
}

pub(super) fn scan<P: Protocol, R: RowKeys>(reader: &Reader<'_, P, R>, keys: &R, from: u64, rows: usize) -> usize {
    let key = keys.key(from);
    seen(reader.range(Bound::Included(key.as_ref()), Bound::Unbounded).take(rows))
}

/// The tree, by a protocol.
pub(super) struct Art<P: Concurrent, R: 'static> {
    tree: Tree<P>,
    rows: &'static R,
}

impl<P: Concurrent, R> Art<P, R> {
    pub(super) fn new(rows: &'static R) -> Self {
        Self { tree: empty(), rows }
    }
}

impl<P: Concurrent, R: RowKeys + Sync> Contender for Art<P, R> {
    fn insert(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        items.iter().for_each(|&item| insert(&mut writer, self.rows, item));
    }
    fn get(&self, items: &[u64]) -> usize {
        let reader = self.tree.reader(self.rows);
        items.iter().filter(|&&item| has(&reader, self.rows, item)).count()
    }
    fn remove(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        items.iter().for_each(|&item| remove(&mut writer, self.rows, item));
    }
    fn update(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        for &item in items {
            remove(&mut writer, self.rows, item);
            insert(&mut writer, self.rows, item);
        }
    }
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let reader = self.tree.reader(self.rows);
        Some(from.iter().map(|&from| scan(&reader, self.rows, from, rows)).sum())
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.tree.bytes())
    }
}

/// The tree without synchronisation, for one writer or many readers.
pub(super) struct Alone<R: 'static> {
    tree: RwLock<Tree<Unsynchronised>>,
    rows: &'static R,
}

impl<R> Alone<R> {
    pub(super) fn new(rows: &'static R) -> Self {
        Self { tree: RwLock::new(empty()), rows }
    }
}

impl<R: RowKeys> Alone<R> {
    /// Looks items up, each after something else.
    #[inline(always)]
    pub(super) fn get_after(&self, items: &[u64], before: impl Fn()) -> usize {
        let tree = self.tree.read().unwrap_or_else(PoisonError::into_inner);
        let reader = tree.reader(self.rows);
        let one = |item| {
            before();
            has(&reader, self.rows, item)
        };
        items.iter().filter(|&&item| one(item)).count()
    }
}

impl<R: RowKeys + Sync> Contender for Alone<R> {
    fn insert(&self, items: &[u64]) {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        let mut writer = tree.writer_mut(self.rows);
        items.iter().for_each(|&item| insert(&mut writer, self.rows, item));
    }
    fn get(&self, items: &[u64]) -> usize {
        self.get_after(items, || {})
    }
    fn remove(&self, items: &[u64]) {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        let mut writer = tree.writer_mut(self.rows);
        items.iter().for_each(|&item| remove(&mut writer, self.rows, item));
    }
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let tree = self.tree.read().unwrap_or_else(PoisonError::into_inner);
        let reader = tree.reader(self.rows);
        Some(from.iter().map(|&from| scan(&reader, self.rows, from, rows)).sum())
    }
    fn has_one_writer(&self) -> bool {
        true
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.tree.read().unwrap_or_else(PoisonError::into_inner).bytes())
    }
}
