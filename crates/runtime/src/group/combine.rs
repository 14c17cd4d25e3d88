//! Combining the rows of a partition, when it is read: so many at a time, so that others get their turn.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use base::Result;
use base::memory::Reservation;
use base::traffic::{self, Access};

use super::exchange::Exchange;
use super::{Entry, Groups, OPERATOR};
use crate::pairs::PairFns;
use crate::rows::Segment;
use crate::source::{Address, Partitions};
use crate::worker::Worker;
use base::prefetch::prefetch;

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
    partitions: Box<[Mutex<Partition>]>,
    /// Rows of each partition before they are combined.
    sizes: OnceLock<Vec<usize>>,
}

impl Combining {
    pub(super) fn new(groups: &Arc<Groups>, exchange: Arc<Exchange>) -> Self {
        let partitions = (0..exchange.partitions()).map(|_| Mutex::default()).collect();
        Self { groups: Arc::downgrade(groups), exchange, partitions, sizes: OnceLock::new() }
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
            (0..self.partitions.len()).map(|partition| self.exchange.rows(partition) + overflow(partition)).collect()
        };
        self.sizes.get_or_init(count).clone()
    }

    fn open(&self, partition: usize, worker: &mut Worker, steps: u64) -> Result<Option<Combined>> {
        let mut state = self.partitions[partition].lock().unwrap_or_else(PoisonError::into_inner);
        let groups = self.groups();
        if let Partition::Untouched = *state {
            let (lists, segments) = (self.exchange.gather(partition), groups.overflow(partition));
            *state = Partition::Begun(Combination::new(&groups, lists, segments)?);
        }
        if let Partition::Begun(combination) = &mut *state
            && combination.go_on(worker, &groups.pairs, steps)?
        {
            *state = Partition::Combined(std::mem::take(&mut combination.table.groups).into());
        }
        match &*state {
            Partition::Combined(rows) => Ok(Some(rows.clone())),
            _ => Ok(None),
        }
    }
}

/// How far a partition is.
#[derive(Debug, Default)]
enum Partition {
    #[default]
    Untouched,
    Begun(Combination),
    Combined(Combined),
}

/// A partition that is being combined, by one worker after the other.
#[derive(Debug)]
struct Combination {
    lists: Vec<Vec<Entry>>,
    segments: Vec<Segment>,
    /// Bytes of a row.
    stride: usize,
    /// Rows of all of them that are done, one list or segment after the other.
    next: (usize, usize),
    table: Table,
    _charged: Reservation,
}

impl Combination {
    fn new(groups: &Groups, lists: Vec<Vec<Entry>>, segments: Vec<Segment>) -> Result<Self> {
        let scattered: usize = lists.iter().map(Vec::len).sum();
        let rows = scattered + segments.iter().map(Segment::rows).sum::<usize>();
        let charged = groups.budget.reserve(Table::bytes(rows), OPERATOR)?;
        let stride = groups.stride;
        Ok(Self { lists, segments, stride, next: (0, 0), table: Table::new(rows), _charged: charged })
    }

    /// So many rows of a list or segment were read.
    fn note_read(&self, part: usize, rows: usize) {
        match part.checked_sub(self.lists.len()) {
            Some(segment) => self.segments[segment].note_read(rows),
            // Workers of all nodes have written them.
            None => traffic::note_spread(Access::Area, (rows * self.stride) as u64),
        }
    }

    /// Adds so many rows to their groups; true if these were the last ones.
    fn go_on(&mut self, worker: &mut Worker, pairs: &PairFns, steps: u64) -> Result<bool> {
        let mut left = usize::try_from(steps).unwrap_or(usize::MAX);
        loop {
            let (part, from) = self.next;
            let segment = || self.segments.get(part - self.lists.len());
            let Some(rows) = self.lists.get(part).map(Vec::len).or_else(|| segment().map(Segment::rows)) else {
                return Ok(true);
            };
            let to = rows.min(from.saturating_add(left));
            for at in from..to {
                let entry = match self.lists.get(part) {
                    Some(list) => {
                        if let Some(next) = list.get(at + AHEAD) {
                            prefetch(next.row);
                        }
                        list[at]
                    }
                    // SAFETY: the row exists and starts with its hash.
                    None => unsafe { Entry::of(self.segments[part - self.lists.len()].row(at)) },
                };
                self.table.add(worker, pairs, entry)?;
            }
            self.note_read(part, to - from);
            if to < rows {
                self.next = (part, to);
                return Ok(false);
            }
            left -= to - from;
            self.next = (part + 1, 0);
        }
    }
}

/// The groups of one partition: linear probing, at most half full; slots hold the low 16 bits of the hash above the
/// row's address.
#[derive(Debug)]
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
