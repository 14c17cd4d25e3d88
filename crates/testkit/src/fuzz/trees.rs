//! Random operations on trees of every protocol beside a `BTreeMap`, by keys that are made of each other: with bytes changed, cut,
//! doubled, and put behind others, so that they have much in common and begin with one another.

use std::collections::BTreeMap;
use std::ops::Bound;

use base::{Budget, Random, Result};
use index::{
    ElidedLatch, Inserted, LockCoupling, OptimisticLockCoupling, Protocol, RowKeys, Rowex, Tree, Unsynchronised,
};

use super::mutate;

/// Keys of a run, and operations with them.
const KEYS: usize = 60;
const OPERATIONS: usize = 400;

struct Keys(Vec<Vec<u8>>);

impl RowKeys for Keys {
    type Key<'a> = &'a [u8];
    fn key(&self, row: u64) -> &[u8] {
        &self.0[row as usize]
    }
}

/// One run on a tree of some protocol.
pub(super) fn check(random: &mut Random) -> Result<()> {
    let mut keys = vec![Vec::new(), b"key".to_vec(), vec![0; 20]];
    while keys.len() < KEYS {
        let mut key = mutate(random, &keys);
        // A whole row of neighbours now and then, so that nodes grow.
        if random.one_in(20) {
            key.truncate(100);
            keys.extend((0..random.below(256)).map(|byte| [&key[..], &[byte as u8]].concat()));
        }
        keys.push(key);
    }
    let rows = Keys(keys);
    let run = [
        beside_a_map::<Unsynchronised>,
        beside_a_map::<LockCoupling>,
        beside_a_map::<OptimisticLockCoupling>,
        beside_a_map::<Rowex>,
        beside_a_map::<ElidedLatch>,
    ];
    random.pick(&run)(random, &rows)
}

fn beside_a_map<P: Protocol>(random: &mut Random, rows: &Keys) -> Result<()> {
    let budget = Budget::new(usize::MAX);
    let mut tree = Tree::<P>::new(&budget);
    let mut map = BTreeMap::<&[u8], u64>::new();
    let mut writer = tree.writer_mut(rows);
    for step in 0..OPERATIONS {
        let row = random.below(rows.0.len() as u64);
        let key = rows.key(row);
        // Growing and shrinking in turn.
        match random.below(10) {
            0 => assert_eq!(writer.get(key), map.get(key).copied()),
            1 => scan(&writer, &map, key, random.pick(&rows.0).as_slice(), random.one_in(2)),
            2.. if step / 100 % 2 == 0 => {
                let expected = map.get(key).map_or(Inserted::Fresh, |other| Inserted::Taken(*other));
                assert_eq!(writer.insert(key, row)?, expected);
                map.entry(key).or_insert(row);
            }
            _ => {
                let there = map.get(key) == Some(&row);
                assert_eq!(writer.remove(key, row), there);
                if there {
                    map.remove(key);
                }
            }
        }
    }
    assert!(writer.range(Bound::Unbounded, Bound::Unbounded).eq(map.values().copied()));
    map.iter().for_each(|(key, row)| assert!(writer.remove(key, *row)));
    assert_eq!((tree.bytes(), tree.shape().rows), (0, 0));
    drop(tree);
    assert_eq!(budget.used(), 0);
    Ok(())
}

/// Rows between two keys, and of those that begin so, up or down.
fn scan<P: Protocol>(
    reader: &index::Reader<'_, P, Keys>,
    map: &BTreeMap<&[u8], u64>,
    from: &[u8],
    to: &[u8],
    up: bool,
) {
    let (from, to) = if from <= to { (from, to) } else { (to, from) };
    let between = map.range::<[u8], _>((Bound::Included(from), Bound::Included(to)));
    let mut between: Vec<u64> = between.map(|(_, row)| *row).collect();
    let mut beginning: Vec<u64> = map.iter().filter(|(key, _)| key.starts_with(from)).map(|(_, row)| *row).collect();
    let (range, prefix) = (reader.range(Bound::Included(from), Bound::Included(to)), reader.starting_with(from));
    if up {
        assert!(range.eq(between) && prefix.eq(beginning), "{from:?} to {to:?}");
    } else {
        between.reverse();
        beginning.reverse();
        assert!(range.descending().eq(between) && prefix.descending().eq(beginning), "{from:?} to {to:?}, down");
    }
}
