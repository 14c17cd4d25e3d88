//! Many threads on one tree: every history must be one that a single thread could have had, with each operation somewhere
//! between its beginning and its end (linearisability). As keys are independent of each other, each key's history is checked alone.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use base::Random;

use super::{KINDS, Keys, beside_a_map, keys, refused_memory_leaves_the_tree_as_it_was, unlimited};
use crate::protocol::{Simulated, Versions};
use crate::{Concurrent, ElidedLatch, Inserted, LockCoupling, OptimisticLockCoupling, RowKeys, Rowex, Tree};

pub(super) type Elided = ElidedLatch<Simulated>;

/// What a thread did with a key, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    Got(Option<u64>),
    Inserted(u64, Inserted),
    Removed(u64, bool),
}

/// What a thread does with a row's key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Get,
    Remove,
    Replace,
    Insert,
}

impl Operation {
    pub(super) fn any(random: &mut Random) -> Self {
        random.pick(&[Self::Get, Self::Remove, Self::Replace, Self::Insert])
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    thread: usize,
    begun: usize,
    ended: usize,
    did: Did,
}

/// What an operation makes of a key's row, if it could have had this outcome.
fn after(before: Option<u64>, did: Did) -> Option<Option<u64>> {
    match (did, before) {
        (Did::Got(row), _) => (row == before).then_some(before),
        (Did::Inserted(row, Inserted::Fresh), None) => Some(Some(row)),
        (Did::Inserted(_, Inserted::Taken(other)), Some(row)) => (other == row).then_some(before),
        (Did::Inserted(new, Inserted::Replaced(other)), Some(row)) => (other == row).then_some(Some(new)),
        (Did::Removed(row, true), _) => (before == Some(row)).then_some(None),
        (Did::Removed(row, false), _) => (before != Some(row)).then_some(before),
        _ => None,
    }
}

/// Whether some order of the events explains them all (Wing and Gong 1993, remembering what was tried).
fn is_linearisable(events: &[Event], threads: usize) -> bool {
    let mut of_thread = vec![Vec::new(); threads];
    events.iter().for_each(|event| of_thread[event.thread].push(*event));
    let mut seen = HashSet::new();
    let mut left = vec![(vec![0; threads], None)];
    while let Some((at, row)) = left.pop() {
        if !seen.insert((at.clone(), row)) {
            continue;
        }
        let next = |thread: usize| of_thread[thread].get(at[thread]);
        let Some(first_end) = (0..threads).filter_map(next).map(|event: &Event| event.ended).min() else { return true };
        for event in (0..threads).filter_map(next).filter(|event| event.begun <= first_end) {
            if let Some(row) = after(row, event.did) {
                let mut at = at.clone();
                at[event.thread] += 1;
                left.push((at, row));
            }
        }
    }
    false
}

pub(super) struct Shared<P: Concurrent, const FREE: bool> {
    pub(super) tree: Tree<P>,
    pub(super) rows: Keys<FREE>,
    clock: AtomicUsize,
    history: Mutex<HashMap<Vec<u8>, Vec<Event>>>,
}

impl<P: Concurrent, const FREE: bool> Shared<P, FREE> {
    pub(super) fn new(keys: Vec<Vec<u8>>) -> Arc<Self> {
        let (clock, history) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { tree: Tree::new(&unlimited()), rows: Keys(keys), clock, history })
    }

    fn now(&self) -> usize {
        self.clock.fetch_add(1, SeqCst)
    }

    /// Random operations of one thread.
    pub(super) fn work(&self, thread: usize, seed: u64, operations: usize) {
        let mut random = Random(seed);
        for batch in 0..operations.div_ceil(50) {
            let operation = |_| (random.below(self.rows.0.len() as u64), Operation::any(&mut random));
            self.run(thread, &(0..50.min(operations - batch * 50)).map(operation).collect::<Vec<_>>());
        }
    }

    /// Operations of one thread, each with its row's key.
    pub(super) fn run(&self, thread: usize, operations: &[(u64, Operation)]) {
        let mut writer = self.tree.writer(&self.rows);
        let mut events = Vec::new();
        for &(row, operation) in operations {
            let key = self.rows.key(row);
            let begun = self.now();
            let did = match operation {
                Operation::Get => Did::Got(writer.get(key)),
                Operation::Remove => Did::Removed(row, writer.remove(key, row)),
                Operation::Replace => Did::Inserted(row, writer.insert_or_replace(key, row, |_| true).unwrap()),
                Operation::Insert => Did::Inserted(row, writer.insert(key, row).unwrap()),
            };
            events.push((row, Event { thread, begun, ended: self.now(), did }));
        }
        self.remember(events);
    }

    fn remember(&self, events: Vec<(u64, Event)>) {
        let mut history = self.history.lock().unwrap();
        events.into_iter().for_each(|(row, e)| history.entry(self.rows.key(row).to_vec()).or_default().push(e));
    }

    /// A scan from one row's key on, or down to it, of keys that all differ: a lookup of each key at some time of its own.
    pub(super) fn scan(&self, thread: usize, from: u64, up: bool) {
        let reader = self.tree.reader(&self.rows);
        let from = self.rows.key(from);
        let begun = self.now();
        let scan = reader.range(Bound::Included(from), Bound::Unbounded);
        let mut found: Vec<u64> = if up { scan.collect() } else { scan.descending().collect() };
        let ended = self.now();
        if !up {
            found.reverse();
        }
        assert!(found.is_sorted_by(|&a, &b| self.rows.key(a) < self.rows.key(b)), "{}: {found:?}", P::NAME);
        let inside = (0..self.rows.0.len() as u64).filter(|row| self.rows.key(*row) >= from);
        let got = |row: &u64| Did::Got(found.contains(row).then_some(*row));
        assert!(found.iter().all(|row| self.rows.key(*row) >= from));
        self.remember(inside.map(|row| (row, Event { thread, begun, ended, did: got(&row) })).collect());
    }

    pub(super) fn check(&self, threads: usize) {
        let mut history = std::mem::take(&mut *self.history.lock().unwrap());
        for (key, events) in &mut history {
            let row = self.tree.reader(&self.rows).get(key);
            let (begun, ended) = (self.now(), self.now());
            events.push(Event { thread: threads, begun, ended, did: Did::Got(row) });
            events.sort_by_key(|event| event.begun);
            assert!(is_linearisable(events, threads + 1), "{}: {key:?} {events:#?}", P::NAME);
        }
        let there = self.tree.reader(&self.rows).range(Bound::Unbounded, Bound::Unbounded).count();
        let held = history.keys().filter(|key| self.tree.reader(&self.rows).get(key).is_some()).count();
        assert_eq!(there, held);
    }
}

#[test]
fn the_check_of_histories_sees_what_is_wrong() {
    let event = |thread, begun, ended, did| Event { thread, begun, ended, did };
    let put = event(0, 0, 3, Did::Inserted(7, Inserted::Fresh));
    assert!(is_linearisable(&[put, event(1, 1, 2, Did::Got(None)), event(1, 4, 5, Did::Got(Some(7)))], 2));
    assert!(is_linearisable(&[put, event(1, 1, 2, Did::Got(Some(7)))], 2));
    assert!(!is_linearisable(&[put, event(1, 4, 5, Did::Got(None))], 2));
    let late = Event { ended: 5, ..put };
    assert!(!is_linearisable(&[late, event(1, 1, 2, Did::Got(Some(7))), event(2, 3, 4, Did::Removed(7, false))], 3));
}

fn threads_agree<P: Concurrent>() {
    let mut random = Random(1);
    for kind in 0..KINDS {
        let count = [8, 40, 300][kind as usize % 3];
        let shared = Shared::<P, false>::new((0..count).map(|_| keys(&mut random, kind)).collect());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let shared = &shared;
                scope.spawn(move || shared.work(thread, kind * 10 + thread as u64, if cfg!(miri) { 12 } else { 4000 }));
            }
        });
        shared.check(4);
        let mut tree = Arc::into_inner(shared).unwrap().tree;
        assert_eq!(tree.shape().bytes::<P>(), tree.bytes());
    }
}

/// Rows that stay are seen by every scan, once and in order, whatever comes and goes between them.
fn scans_see_what_stays<P: Concurrent>() {
    let rounds = if cfg!(miri) { 1 } else { 60 };
    for kind in 0..KINDS {
        let mut random = Random(kind);
        let mut all: Vec<Vec<u8>> = (0..if cfg!(miri) { 20 } else { 400 }).map(|_| keys(&mut random, kind)).collect();
        all.sort();
        all.dedup();
        let rows = Keys::<false>(all);
        let tree = Tree::<P>::new(&unlimited());
        let stays = |row: &u64| row.is_multiple_of(3);
        let number = rows.0.len() as u64;
        (0..number).filter(stays).for_each(|row| drop(tree.writer(&rows).insert(rows.key(row), row)));
        let over = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(kind + 9);
                while over.load(SeqCst) == 0 {
                    let mut writer = tree.writer(&rows);
                    for row in [(); 20].map(|()| random.below(number)).into_iter().filter(|row| !stays(row)) {
                        if random.one_in(2) {
                            writer.insert(rows.key(row), row).unwrap();
                        } else {
                            writer.remove(rows.key(row), row);
                        }
                    }
                }
            });
            for round in 0..rounds {
                let reader = tree.reader(&rows);
                let from = rows.key(round % number);
                let scan = reader.range(Bound::Included(from), Bound::Unbounded);
                let found: Vec<u64> = if round % 2 == 0 { scan.collect() } else { scan.descending().collect() };
                let mut sorted = found.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert!(if round % 2 == 0 { found.iter().eq(&sorted) } else { found.iter().rev().eq(&sorted) });
                let kept: Vec<u64> = sorted.into_iter().filter(stays).collect();
                assert!(kept.into_iter().eq((round % number..number).filter(stays)), "{} {kind}", P::NAME);
            }
            over.store(1, SeqCst);
        });
    }
}

macro_rules! protocols {
    ($($name:ident: $protocol:ty),*) => {$(
        mod $name {
            #[test]
            fn it_does_what_a_map_does() {
                let (seeds, operations) = if cfg!(miri) { (1, 24) } else { (3, 4000) };
                for kind in 0..super::KINDS {
                    (0..seeds).for_each(|seed| super::beside_a_map::<$protocol>(seed, kind, operations));
                }
            }
            #[test]
            fn threads_agree_on_one_history() {
                super::threads_agree::<$protocol>();
            }
            #[test]
            fn scans_see_what_stays() {
                super::scans_see_what_stays::<$protocol>();
            }
            #[test]
            fn memory_that_is_refused_leaves_the_tree_as_it_was() {
                super::refused_memory_leaves_the_tree_as_it_was::<$protocol>();
            }
        }
    )*};
}
protocols!(lock_coupling: super::LockCoupling, optimistic: super::OptimisticLockCoupling, rowex: super::Rowex, elided: super::Elided);

#[test]
fn readers_of_rowex_pass_locks() {
    use crate::protocol::Coupling;
    let rows = Keys::<false>(vec![b"one".to_vec(), b"two".to_vec()]);
    let tree = Tree::<Rowex>::new(&unlimited());
    (0..2).for_each(|row| drop(tree.writer(&rows).insert(rows.key(row), row)));
    Versions::write(&tree.root.word).unwrap();
    // SAFETY: nobody frees.
    let node = unsafe { tree.root.slot.load().follow() };
    Versions::write(&node.head().word).unwrap();
    let reader = tree.reader(&rows);
    assert_eq!((reader.get(b"one"), reader.get(b"two"), reader.lower_bound(b"p")), (Some(0), Some(1), Some(1)));
}

#[test]
fn rows_that_are_asked_for_while_nodes_are_locked_may_panic() {
    struct Panics;
    impl RowKeys for Panics {
        type Key<'a> = Vec<u8>;
        fn key(&self, _: u64) -> Vec<u8> {
            panic!("no key")
        }
    }
    fn nothing_stays_locked<P: Concurrent>() {
        let tree = Tree::<P>::new(&unlimited());
        assert_eq!(tree.writer(&Panics).insert(b"a", 1).unwrap(), Inserted::Fresh);
        let attempt = std::panic::AssertUnwindSafe(|| tree.writer(&Panics).insert(b"b", 2));
        assert!(std::panic::catch_unwind(attempt).is_err());
        assert!(tree.writer(&Panics).remove(b"a", 1));
        assert_eq!(tree.writer(&Panics).insert(b"c", 3).unwrap(), Inserted::Fresh);
    }
    nothing_stays_locked::<LockCoupling>();
    nothing_stays_locked::<OptimisticLockCoupling>();
    nothing_stays_locked::<Rowex>();
    nothing_stays_locked::<Elided>();
}
