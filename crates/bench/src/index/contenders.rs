//! What `bench index` compares: the tree by protocol, and others' indexes, behind one interface.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use base::{Budget, Result};
use congee::Congee;
use crossbeam_skiplist::SkipMap;
use index::{
    Concurrent, ElidedLatch, Inserted, LockCoupling, OptimisticLockCoupling, RowKeys, Rowex, Tree, Unsynchronised,
};

use super::keys::{Keys, Texts};

/// The contenders' names.
pub(crate) const CONTENDERS: [&str; 8] =
    ["unsynchronised", "lock-coupling", "olc", "rowex", "elided-latch", "congee", "skiplist", "btreemap"];

/// An index of items: numbers that are their own rows, or rows of texts. Each call is for a batch.
pub(crate) trait Contender: Sync {
    fn insert(&self, items: &[u64]);
    /// How many there are.
    fn get(&self, items: &[u64]) -> usize;
    fn remove(&self, items: &[u64]);
    /// Removes each and inserts it again.
    fn update(&self, items: &[u64]) {
        for item in items.chunks(1) {
            self.remove(item);
            self.insert(item);
        }
    }
    /// Whether changes need it alone.
    fn has_one_writer(&self) -> bool {
        false
    }
    /// Bytes of its nodes, if it says so.
    fn bytes(&self) -> Option<usize> {
        None
    }
}

/// A contender over keys that live as long as the process; none, if it cannot have such keys.
pub(crate) fn make(name: &str, keys: &'static Keys) -> Option<Box<dyn Contender>> {
    match keys {
        Keys::Numbers(_) => art(name, &Numbers).or_else(|| match name {
            "congee" => Some(Box::new(Congee::<usize, usize>::default())),
            "skiplist" => Some(Box::new(Skips { map: SkipMap::new(), key: |item| item })),
            "btreemap" => Some(Box::new(Locked { map: RwLock::default(), key: |item| item })),
            _ => None,
        }),
        Keys::Texts(texts) => art(name, texts).or_else(|| match name {
            "skiplist" => Some(Box::new(Skips { map: SkipMap::new(), key: |item| Box::<[u8]>::from(texts.get(item)) })),
            "btreemap" => {
                Some(Box::new(Locked { map: RwLock::default(), key: |item| Box::<[u8]>::from(texts.get(item)) }))
            }
            _ => None,
        }),
    }
}

/// Numbers of 8 bytes that are their rows.
struct Numbers;

impl RowKeys for Numbers {
    type Key<'a> = [u8; 8];
    const PREFIX_FREE: bool = true;

    #[inline(always)]
    fn key(&self, row: u64) -> [u8; 8] {
        row.to_be_bytes()
    }
}

impl RowKeys for Texts {
    type Key<'a> = &'a [u8];
    const PREFIX_FREE: bool = true;

    #[inline(always)]
    fn key(&self, row: u64) -> &[u8] {
        self.get(row)
    }
}

fn art<R: RowKeys + Sync>(name: &str, rows: &'static R) -> Option<Box<dyn Contender>> {
    fn of<P: Concurrent, R: RowKeys + Sync>(rows: &'static R) -> Option<Box<dyn Contender>> {
        Some(Box::new(Art { tree: Tree::<P>::new(&unlimited()), rows }))
    }
    match name {
        "unsynchronised" => Some(Box::new(Alone { tree: RwLock::new(Tree::new(&unlimited())), rows })),
        "lock-coupling" => of::<LockCoupling, R>(rows),
        "olc" => of::<OptimisticLockCoupling, R>(rows),
        "rowex" => of::<Rowex, R>(rows),
        "elided-latch" => of::<ElidedLatch, R>(rows),
        _ => None,
    }
}

fn unlimited() -> Budget {
    Budget::new(usize::MAX)
}

/// The tree, by a protocol.
struct Art<P: Concurrent, R: 'static> {
    tree: Tree<P>,
    rows: &'static R,
}

fn entered(inserted: Result<Inserted>) {
    assert!(matches!(inserted, Ok(Inserted::Fresh | Inserted::Taken(_))), "memory is not limited");
}

impl<P: Concurrent, R: RowKeys + Sync> Contender for Art<P, R> {
    fn insert(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        items.iter().for_each(|&item| entered(writer.insert(self.rows.key(item).as_ref(), item)));
    }
    fn get(&self, items: &[u64]) -> usize {
        let reader = self.tree.reader(self.rows);
        items.iter().filter(|&&item| reader.get(self.rows.key(item).as_ref()) == Some(item)).count()
    }
    fn remove(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        items.iter().for_each(|&item| _ = writer.remove(self.rows.key(item).as_ref(), item));
    }
    fn update(&self, items: &[u64]) {
        let mut writer = self.tree.writer(self.rows);
        for &item in items {
            let key = self.rows.key(item);
            writer.remove(key.as_ref(), item);
            entered(writer.insert(key.as_ref(), item));
        }
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.tree.bytes())
    }
}

/// The tree without synchronisation, for one writer or many readers.
struct Alone<R: 'static> {
    tree: RwLock<Tree<Unsynchronised>>,
    rows: &'static R,
}

impl<R: RowKeys + Sync> Contender for Alone<R> {
    fn insert(&self, items: &[u64]) {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        let mut writer = tree.writer_mut(self.rows);
        items.iter().for_each(|&item| entered(writer.insert(self.rows.key(item).as_ref(), item)));
    }
    fn get(&self, items: &[u64]) -> usize {
        let tree = self.tree.read().unwrap_or_else(PoisonError::into_inner);
        let reader = tree.reader(self.rows);
        items.iter().filter(|&&item| reader.get(self.rows.key(item).as_ref()) == Some(item)).count()
    }
    fn remove(&self, items: &[u64]) {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        let mut writer = tree.writer_mut(self.rows);
        items.iter().for_each(|&item| _ = writer.remove(self.rows.key(item).as_ref(), item));
    }
    fn has_one_writer(&self) -> bool {
        true
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.tree.read().unwrap_or_else(PoisonError::into_inner).bytes())
    }
}

impl Contender for Congee<usize, usize> {
    fn insert(&self, items: &[u64]) {
        let guard = self.pin();
        for &item in items {
            assert!(self.insert(item as usize, item as usize, &guard).is_ok(), "memory is not limited");
        }
    }
    fn get(&self, items: &[u64]) -> usize {
        let guard = self.pin();
        items.iter().filter(|&&item| self.get(&(item as usize), &guard) == Some(item as usize)).count()
    }
    fn remove(&self, items: &[u64]) {
        let guard = self.pin();
        items.iter().for_each(|&item| _ = self.remove(&(item as usize), &guard));
    }
}

/// A skip list, which pins for each operation.
struct Skips<K, F> {
    map: SkipMap<K, u64>,
    key: F,
}

impl<K: Ord + Send + Sync + 'static, F: Fn(u64) -> K + Sync> Contender for Skips<K, F> {
    fn insert(&self, items: &[u64]) {
        items.iter().for_each(|&item| _ = self.map.insert((self.key)(item), item));
    }
    fn get(&self, items: &[u64]) -> usize {
        items
            .iter()
            .filter(|&&item| self.map.get(&(self.key)(item)).is_some_and(|entry| *entry.value() == item))
            .count()
    }
    fn remove(&self, items: &[u64]) {
        items.iter().for_each(|&item| _ = self.map.remove(&(self.key)(item)));
    }
}

/// A `BTreeMap` behind a lock, which is taken once for a batch: the best that can be said for it.
struct Locked<K, F> {
    map: RwLock<BTreeMap<K, u64>>,
    key: F,
}

impl<K: Ord + Send + Sync, F: Fn(u64) -> K + Sync> Contender for Locked<K, F> {
    fn insert(&self, items: &[u64]) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        items.iter().for_each(|&item| _ = map.insert((self.key)(item), item));
    }
    fn get(&self, items: &[u64]) -> usize {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        items.iter().filter(|&&item| map.get(&(self.key)(item)) == Some(&item)).count()
    }
    fn remove(&self, items: &[u64]) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        items.iter().for_each(|&item| _ = map.remove(&(self.key)(item)));
    }
}
