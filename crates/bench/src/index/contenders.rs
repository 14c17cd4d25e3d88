//! What `bench index` compares: the tree by protocol, the tree behind one latch, and others' indexes, behind one interface.

mod art;
mod hashed;
mod latched;
mod others;

use index::{ElidedLatch, LockCoupling, OptimisticLockCoupling, RowKeys, Rowex};

use super::keys::{Keys, Texts};
use art::{Alone, Art};
use hashed::Hashed;
use latched::{Counted, Latched};

/// The contenders' names.
pub(crate) const CONTENDERS: [&str; 12] = [
    "unsynchronised",
    "lock-coupling",
    "olc",
    "rowex",
    "elided-latch",
    "rw-latch",
    "mutex",
    "counted",
    "hash",
    "congee",
    "skiplist",
    "btreemap",
];

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
    /// Scans `rows` rows from each item on, the item first; how many there were. None, if it has no such scans.
    fn scan(&self, from: &[u64], rows: usize) -> Option<usize>;
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
        Keys::Numbers(_) => art(name, &Numbers).or_else(|| others::of_numbers(name)),
        Keys::Texts(texts) => art(name, texts).or_else(|| others::of_texts(name, texts)),
    }
}

fn art<R: RowKeys + Sync>(name: &str, rows: &'static R) -> Option<Box<dyn Contender>> {
    Some(match name {
        "unsynchronised" => Box::new(Alone::new(rows)),
        "lock-coupling" => Box::new(Art::<LockCoupling, R>::new(rows)),
        "olc" => Box::new(Art::<OptimisticLockCoupling, R>::new(rows)),
        "rowex" => Box::new(Art::<Rowex, R>::new(rows)),
        "elided-latch" => Box::new(Art::<ElidedLatch, R>::new(rows)),
        "rw-latch" => Box::new(Latched::shared(rows)),
        "mutex" => Box::new(Latched::exclusive(rows)),
        "counted" => Box::new(Counted::new(rows)),
        "hash" => Box::new(Hashed::new(rows)?),
        _ => return None,
    })
}

/// Counts what a scan finds. The compiler may not leave out to find it, as whoever scans wants to know.
fn seen<T>(found: impl Iterator<Item = T>) -> usize {
    found.fold(0, |count, row| {
        std::hint::black_box(row);
        count + 1
    })
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
