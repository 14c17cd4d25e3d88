//! Others' indexes: `congee` (an Adaptive Radix Tree with Optimistic Lock Coupling), a skip list, and a `BTreeMap`.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use congee::Congee;
use crossbeam_skiplist::SkipMap;

use super::{Contender, seen};
use crate::index::keys::Texts;

pub(super) fn of_numbers(name: &str) -> Option<Box<dyn Contender>> {
    match name {
        "congee" => Some(Box::new(Congee::<usize, usize>::default())),
        "skiplist" => Some(Box::new(Skips { map: SkipMap::new(), key: |item| item })),
        "btreemap" => Some(Box::new(Locked { map: RwLock::default(), key: |item| item })),
        _ => None,
    }
}

pub(super) fn of_texts(name: &str, texts: &'static Texts) -> Option<Box<dyn Contender>> {
    let key = |item| Box::<[u8]>::from(texts.get(item));
    match name {
        "skiplist" => Some(Box::new(Skips { map: SkipMap::new(), key })),
        "btreemap" => Some(Box::new(Locked { map: RwLock::default(), key })),
        _ => None,
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
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let (guard, mut found) = (self.pin(), vec![(0, 0); rows]);
        Some(from.iter().map(|&from| self.range(&(from as usize), &usize::MAX, &mut found, &guard)).sum())
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
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let one = |&from| seen(self.map.range((self.key)(from)..).take(rows).map(|entry| *entry.value()));
        Some(from.iter().map(one).sum())
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
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let one = |&from| seen(map.range((self.key)(from)..).take(rows));
        Some(from.iter().map(one).sum())
    }
}
