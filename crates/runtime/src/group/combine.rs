//! Combining the rows of a partition, when it is read.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use base::Result;

use super::exchange::Exchange;
use super::{Entry, Groups, OPERATOR};
use crate::pairs::PairFns;
use crate::prefetch::prefetch;
use crate::rows::Segment;
use crate::source::{Address, Partitions};
use crate::worker::Worker;

/// How many rows ahead rows are fetched.
const AHEAD: usize = 8;

/// The rows of a partition, once they are combined.
type Combined = Arc<[Address]>;

/// Partitions of rows that are combined by whoever reads them first; others get the same rows.
#[derive(Debug)]
pub(super) struct Combining {
    /// Whoever reads keeps the state.
    groups: Weak<Groups>,
    exchange: Arc<Exchange>,
    combined: Box<[Mutex<Option<Combined>>]>,
    /// Rows of each partition before they are combined.
    sizes: OnceLock<Vec<usize>>,
}

impl Combining {
    pub(super) fn new(groups: &Arc<Groups>, exchange: Arc<Exchange>) -> Self {
        let combined = (0..exchange.partitions()).map(|_| Mutex::default()).collect();
        Self { groups: Arc::downgrade(groups), exchange, combined, sizes: OnceLock::new() }
    }

    fn groups(&self) -> Arc<Groups> {
        self.groups.upgrade().expect("a reader keeps the state")
    }
}

impl Partitions for Combining {
    fn sizes(&self) -> Vec<usize> {
        // The first reader asks before a partition is opened; what later ones see is numbered alike.
        let count = || {
            let groups = self.groups();
            let overflow = |partition| groups.overflow(partition).iter().map(Segment::rows).sum::<usize>();
            (0..self.combined.len()).map(|partition| self.exchange.rows(partition) + overflow(partition)).collect()
        };
        self.sizes.get_or_init(count).clone()
    }

    fn open(&self, partition: usize, worker: &mut Worker) -> Result<Arc<[Address]>> {
        let mut combined = self.combined[partition].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = &*combined {
            return Ok(rows.clone());
        }
        let groups = self.groups();
        let rows = combine(worker, &groups, &self.exchange.gather(partition), &groups.overflow(partition))?;
        Ok(combined.insert(rows.into()).clone())
    }
}

/// Combines the rows of one partition; returns one row for each group.
fn combine(worker: &mut Worker, groups: &Groups, lists: &[Vec<Entry>], segments: &[Segment]) -> Result<Vec<Address>> {
    let scattered: usize = lists.iter().map(Vec::len).sum();
    let rows = scattered + segments.iter().map(Segment::rows).sum::<usize>();
    let _charged = groups.budget.reserve(Table::bytes(rows), OPERATOR)?;
    let mut table = Table::new(rows);
    for list in lists {
        for (i, &entry) in list.iter().enumerate() {
            if let Some(next) = list.get(i + AHEAD) {
                prefetch(next.row);
            }
            table.add(worker, &groups.pairs, entry)?;
        }
    }
    for segment in segments {
        for at in 0..segment.rows() {
            // SAFETY: the row exists and starts with its hash.
            let entry = unsafe { Entry::of(segment.row(at)) };
            table.add(worker, &groups.pairs, entry)?;
        }
    }
    Ok(table.groups)
}

/// The groups of one partition: linear probing, at most half full; slots hold the low 16 bits of the hash above the
/// row's address.
struct Table {
    slots: Vec<u64>,
    mask: usize,
    groups: Vec<Address>,
}

impl Table {
    const ADDRESS: u64 = (1 << 48) - 1;

    fn slots(rows: usize) -> usize {
        (rows * 2).next_power_of_two()
    }
    fn bytes(rows: usize) -> usize {
        Self::slots(rows) * 8
    }
    fn new(rows: usize) -> Self {
        let slots = Self::slots(rows);
        Self { slots: vec![0; slots], mask: slots - 1, groups: Vec::new() }
    }

    /// Adds a row to its group's, or makes it the group's.
    #[inline]
    fn add(&mut self, worker: &mut Worker, pairs: &PairFns, Entry { hash, row }: Entry) -> Result<()> {
        let tag = hash << 48;
        let mut at = (hash >> 16) as usize & self.mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                self.slots[at] = tag | row as u64;
                self.groups.push(Address(row));
                return Ok(());
            }
            let group = (slot & Self::ADDRESS) as *mut u8;
            // SAFETY: rows of this state start with their hash; the partition is this worker's alone.
            let same = unsafe {
                slot & !Self::ADDRESS == tag
                    && group.cast::<u64>().read() == hash
                    && match &pairs.equal {
                        Some(equal) => equal.call(worker, group, row)?,
                        None => true,
                    }
            };
            if same {
                // SAFETY: likewise.
                unsafe { pairs.combine.call(worker, group, row)? };
                return Ok(());
            }
            at = (at + 1) & self.mask;
        }
    }
}
