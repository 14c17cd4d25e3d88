mod model;
mod threads;

use std::collections::BTreeMap;
use std::ops::Bound;

use base::{Budget, Error, Random, SqlState};

use crate::{Inserted, Protocol, RowKeys, Tree, Unsynchronised, WithRow, Writer};

/// Keys by row; with `FREE` none begins with another.
pub(crate) struct Keys<const FREE: bool = false>(pub(crate) Vec<Vec<u8>>);

impl<const FREE: bool> RowKeys for Keys<FREE> {
    type Key<'a> = &'a [u8];
    const PREFIX_FREE: bool = FREE;
    fn key(&self, row: u64) -> &[u8] {
        &self.0[row as usize]
    }
}

pub(crate) fn unlimited() -> Budget {
    Budget::new(usize::MAX)
}

/// Kinds of keys that are hard in one way or another.
pub(crate) fn keys(random: &mut Random, kind: u64) -> Vec<u8> {
    let letters = |random: &mut Random, most: usize, of: u64| {
        let length = random.index(most);
        (0..length).map(|_| random.below(of) as u8).collect::<Vec<_>>()
    };
    match kind {
        // Few bytes, of many lengths: all are prefixes of others, some empty.
        0 => letters(random, 6, 3),
        1 => letters(random, 4, 256),
        // Long common beginnings, beyond what nodes have of their paths.
        2 => [&[7; 20][..random.index(20)], &letters(random, 3, 4), &[9; 30], &letters(random, 3, 4)].concat(),
        3 => random.below(1 << 20).to_be_bytes().to_vec(),
        4 => random.bits().to_be_bytes().to_vec(),
        // One byte different somewhere in a long row of zeros.
        5 => {
            let mut key = vec![0; 40];
            key[random.index(40)] = random.below(3) as u8;
            key
        }
        _ => [vec![0; random.index(4)], letters(random, 3, 2), vec![0; random.index(4)]].concat(),
    }
}

pub(crate) const KINDS: u64 = 7;

fn same<P: Protocol>(writer: &Writer<'_, P, Keys>, map: &BTreeMap<Vec<u8>, u64>, random: &mut Random, kind: u64) {
    assert!(map.iter().all(|(key, row)| writer.get(key) == Some(*row)));
    let all: Vec<u64> = writer.range(Bound::Unbounded, Bound::Unbounded).collect();
    assert!(all.iter().eq(map.values()), "{all:?}");
    for _ in 0..if cfg!(miri) { 3 } else { 20 } {
        let (mut a, mut b) = (keys(random, kind), keys(random, kind));
        assert_eq!(writer.get(&a), map.get(&a).copied());
        let rows: Vec<u64> = writer.starting_with(&a).collect();
        let expected: Vec<u64> = map.iter().filter(|(key, _)| key.starts_with(&a)).map(|(_, row)| *row).collect();
        assert_eq!(rows, expected, "{a:?}");
        assert!(writer.starting_with(&a).descending().eq(expected.iter().rev().copied()), "{a:?}, down");
        writer.fetch([&a[..], &b[..]].into_iter());
        let mut collected = Vec::new();
        writer.each_starting_with(&a, |row| collected.push(row));
        collected.sort_unstable_by_key(|row| &writer.rows.0[*row as usize]);
        assert_eq!(collected, expected, "{a:?}, in no order");
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        let bound = |random: &mut Random, key| match random.below(4) {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        };
        let (lower, upper) = (bound(random, &a[..]), bound(random, &b[..]));
        if a == b && matches!((lower, upper), (Bound::Excluded(_), Bound::Excluded(_))) {
            continue;
        }
        let expected: Vec<u64> = map.range::<[u8], _>((lower, upper)).map(|(_, row)| *row).collect();
        let found: Vec<u64> = writer.range(lower, upper).collect();
        assert_eq!(found, expected, "{lower:?} to {upper:?}");
        let mut found: Vec<u64> = writer.range(lower, upper).descending().collect();
        found.reverse();
        assert_eq!(found, expected, "{lower:?} to {upper:?}, down");
        let behind = map.range::<[u8], _>((Bound::Excluded(&a[..]), Bound::Unbounded)).next();
        assert_eq!(writer.upper_bound(&a), behind.map(|(_, row)| *row));
        assert_eq!(writer.lower_bound(&a), map.range(a..).next().map(|(_, row)| *row));
    }
}

/// Random operations beside a `BTreeMap`; in the end everything is removed, and no byte is left.
pub(crate) fn beside_a_map<P: Protocol>(seed: u64, kind: u64, operations: usize) {
    let mut random = Random(seed);
    let rows = Keys::<false>((0..operations.min(900)).map(|_| keys(&mut random, kind)).collect());
    let budget = unlimited();
    let mut tree = Tree::<P>::new(&budget);
    let mut writer = tree.writer_mut(&rows);
    let mut map = BTreeMap::<Vec<u8>, u64>::new();
    for step in 0..operations {
        let row = random.below(rows.0.len() as u64);
        let key = rows.key(row);
        // Growing and shrinking in turn.
        if random.chance(if step / 1000 % 2 == 0 { 80 } else { 20 }) {
            let expected = map.get(key).copied();
            let replaces = random.one_in(4);
            let (above, below) = (map.range(key.to_vec()..).next(), map.range(..key.to_vec()).next_back());
            let near = if random.one_in(2) { above } else { below }.map_or(&[][..], |(near, _)| near);
            let done = match replaces {
                true => writer.insert_or_replace(key, row, |_| true).unwrap(),
                false => writer.insert_near(key, row, near).unwrap(),
            };
            match expected {
                None => assert_eq!(done, Inserted::Fresh),
                Some(other) if replaces => assert_eq!(done, Inserted::Replaced(other)),
                Some(other) => assert_eq!(done, Inserted::Taken(other)),
            }
            if !matches!(done, Inserted::Taken(_)) {
                map.insert(key.to_vec(), row);
            }
        } else {
            let there = map.get(key) == Some(&row);
            assert_eq!(writer.remove(key, row), there);
            if there {
                map.remove(key);
            }
        }
        if step % (operations / 4) == 0 {
            same(&writer, &map, &mut random, kind);
        }
    }
    same(&writer, &map, &mut random, kind);
    let left: Vec<(Vec<u8>, u64)> = map.into_iter().collect();
    let word = if size_of::<P::Word>() == 0 { 0 } else { 12 };
    assert!(tree.bytes() <= left.len() * (52 + word), "{} for {}", tree.bytes(), left.len());
    let shape = tree.shape();
    assert_eq!((shape.rows, shape.bytes::<P>()), (left.len(), tree.bytes()));
    let mut writer = tree.writer_mut(&rows);
    assert!(left.iter().all(|(key, row)| writer.remove(key, *row)));
    assert_eq!((tree.bytes(), tree.shape().rows), (0, 0));
    drop(tree);
    assert_eq!(budget.used(), 0);
}

#[test]
fn it_does_what_a_map_does() {
    for kind in 0..KINDS {
        let operations = if cfg!(miri) { 48 } else { 6000 };
        (0..if cfg!(miri) { 1 } else { 6 }).for_each(|seed| beside_a_map::<Unsynchronised>(seed, kind, operations));
    }
}

#[test]
fn sorted_keys_make_the_tree_that_insertions_make() {
    let mut random = Random(3);
    for kind in 0..KINDS {
        let mut rows: Vec<Vec<u8>> = (0..if cfg!(miri) { 24 } else { 3000 }).map(|_| keys(&mut random, kind)).collect();
        rows.sort();
        rows.dedup();
        let rows = Keys::<false>(rows);
        let mut inserted = Tree::<Unsynchronised>::new(&unlimited());
        let mut writer = inserted.writer_mut(&rows);
        let mut order: Vec<u64> = (0..rows.0.len() as u64).collect();
        (1..order.len()).for_each(|i| order.swap(i, random.index(i + 1)));
        order.iter().for_each(|&row| assert_eq!(writer.insert(rows.key(row), row).unwrap(), Inserted::Fresh));
        let entries = rows.0.iter().zip(0..);
        let mut loaded = Tree::<Unsynchronised>::from_sorted(&unlimited(), entries, |_, _| unreachable!()).unwrap();
        assert_eq!((loaded.shape(), loaded.bytes()), (inserted.shape(), inserted.bytes()));
        let map = rows.0.iter().cloned().zip(0..).collect();
        same(&loaded.writer_mut(&rows), &map, &mut random, kind);
    }
}

/// What several threads make of ranges of sorted keys, the same as one makes of all.
#[test]
fn ranges_of_sorted_keys_make_the_same_tree() {
    let mut random = Random(4);
    for round in 0..if cfg!(miri) { KINDS } else { 40 * KINDS } {
        let kind = round % KINDS;
        let most = if cfg!(miri) { 24 } else { 1 + random.index(500) };
        let mut rows: Vec<Vec<u8>> = (0..most).map(|_| keys(&mut random, kind)).collect();
        rows.sort();
        rows.dedup();
        let rows = Keys::<false>(rows);
        let mut alone =
            Tree::<Unsynchronised>::from_sorted(&unlimited(), rows.0.iter().zip(0..), |_, _| unreachable!()).unwrap();
        // Some are empty, some have one key.
        let mut ends: Vec<usize> = (0..random.index(12)).map(|_| random.index(rows.0.len() + 1)).collect();
        ends.extend([0, rows.0.len()]);
        ends.sort_unstable();
        let budget = unlimited();
        let load = crate::Load::<Unsynchronised>::new(&budget, ends.len() - 1);
        let range = |number: usize| {
            let range = ends[number]..ends[number + 1];
            let before = rows.0[..range.start].last().map(Vec::as_slice);
            let behind = rows.0[range.end..].first().map(Vec::as_slice);
            let entries = rows.0[range.clone()].iter().zip(range.start as u64..);
            load.range(number, entries, crate::Neighbours { before, behind }, |_, _| unreachable!()).unwrap();
        };
        std::thread::scope(|scope| {
            let even = scope.spawn(|| (0..ends.len() - 1).step_by(2).for_each(range));
            (1..ends.len() - 1).step_by(2).for_each(range);
            even.join().unwrap();
        });
        if random.one_in(8) {
            drop(load);
            assert_eq!(budget.used(), 0);
            continue;
        }
        let mut loaded = load.finish().unwrap();
        assert_eq!((loaded.shape(), loaded.bytes()), (alone.shape(), alone.bytes()), "{ends:?} of {:?}", rows.0);
        let map = rows.0.iter().cloned().zip(0..).collect();
        same(&loaded.writer_mut(&rows), &map, &mut random, kind);
    }
}

#[test]
fn ranges_that_are_not_in_order_are_refused() {
    let budget = unlimited();
    let load = crate::Load::<Unsynchronised>::new(&budget, 1);
    for (before, behind) in [(Some("b"), None), (None, Some("c")), (Some("a"), Some("bb"))] {
        let (before, behind) = (before.map(str::as_bytes), behind.map(str::as_bytes));
        let entries = ["b", "c"].iter().zip(0..);
        let failed = load.range(0, entries, crate::Neighbours { before, behind }, |_, _| unreachable!());
        assert_eq!(failed.unwrap_err().state(), SqlState::INTERNAL);
    }
    drop(load);
    assert_eq!(budget.used(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn loading_ends_when_it_is_cancelled() {
    let (budget, cancel) = (unlimited(), base::CancelToken::new());
    let _working = base::statement::work_for(&budget, &cancel);
    let mut loaded = 0;
    let entries = (0..1_000_000u64).map(|row| {
        loaded = row;
        if row == 50_000 {
            cancel.cancel();
        }
        (row.to_be_bytes(), row)
    });
    let failed = Tree::<Unsynchronised>::from_sorted(&budget, entries, |_, _| unreachable!()).unwrap_err();
    assert_eq!((failed.state(), budget.used()), (SqlState::QUERY_CANCELED, 0));
    assert!(loaded < 60_000);
}

#[test]
fn loading_names_the_rows_that_are_equal() {
    let error = |a, b| Error::new(SqlState::UNIQUE_VIOLATION, format!("{a} and {b}"));
    let budget = unlimited();
    for keys in [&["a", "b", "b", "c"][..], &["ab", "abc", "ac", "aba"]] {
        let entries = keys.iter().zip(0..);
        let failed = Tree::<Unsynchronised>::from_sorted(&budget, entries, error).unwrap_err();
        assert_eq!(failed.message(), if keys.len() == 4 && keys[3] == "c" { "1 and 2" } else { "2 and 3" });
        assert_eq!(budget.used(), 0);
    }
    let none: [(&[u8], u64); 0] = [];
    let mut empty = Tree::<Unsynchronised>::from_sorted(&budget, none, error).unwrap();
    assert_eq!(empty.shape().rows, 0);
}

/// Insertions that are refused memory at any point, of nodes that grow, of paths that part, and of ends.
pub(crate) fn refused_memory_leaves_the_tree_as_it_was<P: Protocol>() {
    let mut random = Random(5);
    for kind in 0..KINDS {
        let rows = Keys::<false>((0..if cfg!(miri) { 16 } else { 400 }).map(|_| keys(&mut random, kind)).collect());
        let budget = Budget::new(0);
        let mut tree = Tree::<P>::new(&budget);
        let mut map = BTreeMap::new();
        for row in 0..rows.0.len() as u64 {
            let (before, bytes) = (tree.shape(), tree.bytes());
            let done = tree.writer_mut(&rows).insert(rows.key(row), row);
            if let Err(error) = done {
                assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
                assert_eq!((tree.shape(), tree.bytes()), (before, bytes));
                // A little more than a node, so that the next ones are refused soon.
                budget.set_limit(budget.used() + random.index(2200));
            } else if done.unwrap() == Inserted::Fresh {
                map.insert(rows.key(row).to_vec(), row);
            }
            assert!(budget.used() <= budget.limit());
        }
        same(&tree.writer_mut(&rows), &map, &mut random, kind);
        // Without memory for smaller nodes, too, everything can be removed.
        budget.set_limit(0);
        let mut writer = tree.writer_mut(&rows);
        assert!(map.iter().all(|(key, row)| writer.remove(key, *row)));
        assert_eq!(tree.bytes(), 0);
    }
}

#[test]
fn memory_that_is_refused_leaves_the_tree_as_it_was() {
    refused_memory_leaves_the_tree_as_it_was::<Unsynchronised>();
}

/// Bytes a key of a tree that is made of sorted keys.
fn bytes_a_key(keys: &[Vec<u8>]) -> f64 {
    let entries = keys.iter().zip(0..);
    let tree = Tree::<Unsynchronised>::from_sorted(&unlimited(), entries, |_, _| unreachable!()).unwrap();
    tree.bytes() as f64 / keys.len() as f64
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic over many keys")]
fn no_keys_take_more_than_52_bytes_each() {
    let count = |n: u64| (0..n).map(|i| i.to_be_bytes().to_vec()).collect::<Vec<_>>();
    assert!(bytes_a_key(&count(1 << 16)) < 8.2);
    // Every node has as few children as its kind may have, and a key as many nodes.
    for children in [2, 5, 17, 49] {
        let mut keys = vec![vec![]];
        while keys.len() * children <= 20_000 {
            keys = keys.iter().flat_map(|key| (0..children).map(move |c| [&key[..], &[c as u8]].concat())).collect();
        }
        let bytes = bytes_a_key(&keys);
        assert!(bytes <= 52.0, "{bytes} with {children}");
    }
    // Each key the beginning of the next.
    let chain: Vec<Vec<u8>> = (0..500).map(|length| vec![b'a'; length]).collect();
    assert!(bytes_a_key(&chain) <= 52.0);
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic over many keys")]
fn nodes_that_have_shrunk_take_no_more_than_52_bytes_a_key() {
    // As few children as a node keeps before it gets smaller, of as many as its kind has.
    for (full, left) in [(4, 2), (16, 5), (48, 14), (256, 41)] {
        let pairs = |children: u16| (0..children).flat_map(move |a| (0..children).map(move |b| [a as u8, b as u8]));
        let rows = Keys::<true>(pairs(full).map(|key| key.to_vec()).collect());
        let mut tree = Tree::<Unsynchronised>::new(&unlimited());
        let mut writer = tree.writer_mut(&rows);
        (0..rows.0.len() as u64).for_each(|row| _ = writer.insert(rows.key(row), row).unwrap());
        let goes = |key: &[u8]| key.iter().any(|byte| u16::from(*byte) >= left);
        (0..).zip(&rows.0).filter(|(_, key)| goes(key)).for_each(|(row, key)| assert!(writer.remove(key, row)));
        let shape = tree.shape();
        assert_eq!(shape.rows, usize::from(left * left));
        assert!(tree.bytes() <= 52 * shape.rows, "{} bytes for {left} by {left}: {shape:?}", tree.bytes());
    }
}

#[test]
fn keys_of_megabytes_and_a_million_bytes_deep() {
    let length = if cfg!(miri) { 300 } else { 1 << 20 };
    let mut rows = Keys::<false>(vec![vec![b'x'; 2 * length], vec![b'x'; 2 * length]]);
    rows.0[1][length] = b'y';
    rows.0.extend([vec![], vec![b'x'; length]]);
    // A node for each byte: nothing may go down by recursion.
    rows.0.extend((0..length / 64).map(|i| vec![b'z'; i]));
    let mut tree = Tree::<Unsynchronised>::new(&unlimited());
    let mut writer = tree.writer_mut(&rows);
    for row in 0..rows.0.len() as u64 {
        let expected = if row == 4 { Inserted::Taken(2) } else { Inserted::Fresh };
        assert_eq!(writer.insert(rows.key(row), row).unwrap(), expected);
    }
    assert_eq!(writer.range(Bound::Unbounded, Bound::Excluded(b"z")).collect::<Vec<_>>(), [2, 3, 0, 1]);
    let last = writer.range(Bound::Unbounded, Bound::Unbounded).descending().next();
    assert_eq!(last, Some(rows.0.len() as u64 - 1));
    assert!((0..4).all(|row| writer.remove(rows.key(row), row)));
}

#[test]
fn many_rows_may_have_equal_keys() {
    let text = |row: u64| [b"aa".as_slice(), b"b", b"c"][row as usize % 3].to_vec();
    let number = if cfg!(miri) { 60 } else { 100_000 };
    // Keys that say where they end.
    let keys = Keys::<false>((0..number).map(|row| [text(row), vec![0]].concat()).collect());
    let rows = WithRow(keys);
    let mut tree = Tree::<Unsynchronised>::new(&unlimited());
    let mut writer = tree.writer_mut(&rows);
    for row in 0..number {
        assert_eq!(writer.insert(&rows.key(row), row).unwrap(), Inserted::Fresh);
    }
    assert!(writer.starting_with(b"b\0").eq((0..number).filter(|row| row % 3 == 1)));
    let mut key = b"b\0".to_vec();
    WithRow::<Keys>::extend(&mut key, 4);
    assert!(writer.get(&key) == Some(4) && writer.remove(&key, 4) && !writer.remove(&key, 4));
    assert_eq!(writer.starting_with(b"b\0").take(2).collect::<Vec<_>>(), [1, 7]);
    let bytes = tree.bytes() as f64 / number as f64;
    assert!(cfg!(miri) || bytes < 30.0, "{bytes}");
}

#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn a_million_rows_may_have_one_key() {
    struct Same;
    impl RowKeys for Same {
        type Key<'a> = &'static [u8];
        const PREFIX_FREE: bool = true;
        fn key(&self, _: u64) -> &'static [u8] {
            b"the same\0"
        }
    }
    const ROWS: u64 = 1_000_000;
    let rows = WithRow(Same);
    let mut tree = Tree::<Unsynchronised>::new(&unlimited());
    let mut writer = tree.writer_mut(&rows);
    (0..ROWS).for_each(|row| assert_eq!(writer.insert(&rows.key(row), row).unwrap(), Inserted::Fresh));
    assert!(writer.starting_with(b"the same\0").eq(0..ROWS));
    assert!((0..ROWS).filter(|row| row % 2 == 1).all(|row| writer.remove(&rows.key(row), row)));
    assert!(writer.starting_with(b"the same\0").descending().eq((0..ROWS).rev().filter(|row| row % 2 == 0)));
    assert_eq!(writer.starting_with(b"the same\0\0").count(), ROWS as usize / 2);
    // Half of the children of each node, which keeps its size.
    assert!(tree.bytes() < 18 * ROWS as usize / 2, "{} bytes", tree.bytes());
}

#[test]
fn rows_that_change_their_keys_do_no_harm() {
    struct Liar(std::cell::RefCell<Random>);
    impl RowKeys for Liar {
        type Key<'a> = Vec<u8>;
        fn key(&self, _: u64) -> Vec<u8> {
            let kind = self.0.borrow_mut().below(KINDS);
            keys(&mut self.0.borrow_mut(), kind)
        }
    }
    let liar = Liar(Random(1).into());
    let mut random = Random(2);
    let mut tree = Tree::<Unsynchronised>::new(&unlimited());
    let mut writer = tree.writer_mut(&liar);
    for _ in 0..if cfg!(miri) { 100 } else { 20_000 } {
        let kind = random.below(KINDS);
        let (key, row) = (keys(&mut random, kind), random.below(50));
        match random.below(4) {
            0 => drop(writer.remove(&key, row)),
            1 => drop(writer.starting_with(&key).count()),
            2 => drop(writer.get(&key)),
            _ => drop(writer.insert(&key, row)),
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn keys_of_one_length_are_found_without_their_rows() {
    struct Unread;
    impl RowKeys for Unread {
        type Key<'a> = [u8; 3];
        const PREFIX_FREE: bool = true;
        fn key(&self, _: u64) -> [u8; 3] {
            unreachable!("every byte was compared")
        }
    }
    let keys = (0..70_000u32).filter(|i| i % 3 > 0).map(|i| i.to_be_bytes());
    let keys: Vec<_> = keys.map(|[_, key @ ..]| key).collect();
    let mut tree =
        Tree::<Unsynchronised>::from_sorted(&unlimited(), keys.iter().zip(0..), |_, _| unreachable!()).unwrap();
    let reader = tree.writer_mut(&Unread);
    assert!(keys.iter().zip(0..).all(|(key, row)| reader.get(key) == Some(row)));
    assert_eq!((reader.get(&[0, 0, 3]), reader.get(&[1, 0, 0]), reader.get(&[2, 0, 1])), (None, Some(43690), None));
}
