//! The hash index of tables (`USING hash`): no order, and no scans.

use base::Budget;
use index::RowKeys;
use storage::RowId;
use storage::index::HashEntries;

use super::Contender;

pub(super) struct Hashed<R: 'static> {
    rows: &'static R,
    entries: HashEntries,
}

impl<R: RowKeys> Hashed<R> {
    pub(super) fn new(rows: &'static R) -> Option<Self> {
        Some(Self { rows, entries: HashEntries::new(&Budget::new(usize::MAX)).ok()? })
    }

    fn write(&self, row: RowId, to: &mut Vec<u8>) {
        self.rows.write(row.to_bits(), to);
    }
}

impl<R: RowKeys + Sync> Contender for Hashed<R> {
    fn insert(&self, items: &[u64]) {
        for &item in items {
            let key = self.rows.key(item);
            let done = self.entries.insert(key.as_ref(), RowId::from_bits(item), &|row, to| self.write(row, to));
            assert!(done.is_ok(), "memory is not limited");
        }
    }
    fn get(&self, items: &[u64]) -> usize {
        let is_there = |item: &&u64| {
            let (key, mut found) = (self.rows.key(**item), false);
            self.entries.each(key.as_ref(), &|row, to| self.write(row, to), &mut |row| {
                found |= row.to_bits() == **item;
                !found
            });
            found
        };
        items.iter().filter(is_there).count()
    }
    fn remove(&self, items: &[u64]) {
        items.iter().for_each(|&item| self.entries.remove(self.rows.key(item).as_ref(), RowId::from_bits(item)));
    }
    fn scan(&self, _: &[u64], _: usize) -> Option<usize> {
        None
    }
    fn has_one_writer(&self) -> bool {
        true
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.entries.bytes())
    }
}
