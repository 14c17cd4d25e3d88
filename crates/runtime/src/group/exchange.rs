//! Scattering the rows of all workers by hash.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use base::memory::Reservation;
use scheduler::{Cutting, EachWorker, Offsets, TaskSet, Tasks, WorkerId};

use super::combine::Combining;
use super::overflow::BITS;
use super::{Entry, Groups, OPERATOR};
use crate::rows::{Segment, area_segments, offsets};

/// Up to so many rows are combined by one worker, without partitions.
const FEW: usize = 4 << 10;
/// The same of groups that are much work each.
const FEW_THAT_COLLECT: usize = 16;
/// Rows that a partition should have: table and rows fit the second-level cache.
const PARTITION_ROWS: usize = 8 << 10;
const MOST_PARTITION_BITS: u32 = 10;

/// The rows' hashes and addresses by partition.
#[derive(Debug)]
pub(super) struct Exchange {
    /// By worker that scattered, by partition; locked once a morsel.
    scattered: EachWorker<Mutex<Vec<Vec<Entry>>>>,
    bits: u32,
    _charged: Reservation,
}

impl Exchange {
    pub(super) fn partitions(&self) -> usize {
        1 << self.bits
    }
    fn partition(&self, hash: u64) -> usize {
        // A shift by 64 is not defined, and one partition needs none.
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    /// Deals rows of a segment out.
    fn scatter(&self, worker: WorkerId, segment: &Segment, rows: Range<usize>) {
        let lists = self.scattered.get_or(worker.0 as usize, Mutex::default);
        let mut partitions = lists.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.resize_with(self.partitions(), Vec::new);
        for at in rows {
            // SAFETY: the row exists and starts with its hash.
            let entry = unsafe { Entry::of(segment.row(at)) };
            partitions[self.partition(entry.hash)].push(entry);
        }
    }

    /// Rows that were scattered into a partition.
    pub(super) fn rows(&self, partition: usize) -> usize {
        let count = |lists: &Mutex<Vec<Vec<Entry>>>| {
            lists.lock().unwrap_or_else(PoisonError::into_inner).get(partition).map_or(0, Vec::len)
        };
        self.scattered.iter().map(|(_, lists)| count(lists)).sum()
    }

    /// The scattered rows of a partition, by worker: once.
    pub(super) fn gather(&self, partition: usize) -> Vec<Vec<Entry>> {
        let take = |lists: &Mutex<Vec<Vec<Entry>>>| {
            let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
            lists.get_mut(partition).map(std::mem::take).unwrap_or_default()
        };
        self.scattered.iter().map(|(_, lists)| take(lists)).collect()
    }
}

impl Entry {
    /// # Safety
    /// The row must start with its hash.
    pub(super) unsafe fn of(row: *mut u8) -> Self {
        // SAFETY: as the caller promises.
        Self { hash: unsafe { row.cast::<u64>().read() }, row }
    }
}

/// Scatters what lies outside of overflow partitions, unless no group has two rows.
pub(super) fn start(groups: Arc<Groups>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    // SAFETY: the pipelines that write have ended.
    let (filled, evicted) = unsafe { groups.locals.iter() }.fold((0, 0), |(filled, evicted), local| {
        let any = local.inner.area.blocks().any(|(_, used)| used > 0);
        (filled + usize::from(any), evicted + local.inner.evicted)
    });
    if filled <= 1 && evicted == 0 {
        return Ok(None);
    }
    // SAFETY: likewise.
    let (areas, overflows) =
        unsafe { (groups.locals.iter(), groups.locals.iter().any(|l| l.inner.overflow.is_some())) };
    let segments: Vec<Segment> = areas.flat_map(|local| area_segments(&local.inner.area, groups.stride)).collect();
    let offsets = offsets(&segments);
    let rows = offsets.rows() as usize;
    let few = if groups.collects { FEW_THAT_COLLECT } else { FEW };
    let bits = if overflows {
        BITS
    } else if rows <= few {
        0
    } else {
        (rows / PARTITION_ROWS).max(1).next_power_of_two().trailing_zeros()
    };
    // Enough partitions for every worker, too.
    let least = if rows <= few || overflows { 0 } else { (cut.threads * 4).next_power_of_two().trailing_zeros() };
    let exchange = Arc::new(Exchange {
        scattered: EachWorker::default(),
        bits: bits.max(least).min(MOST_PARTITION_BITS),
        _charged: groups.budget.reserve(rows * (size_of::<Entry>() + size_of::<*mut u8>()), OPERATOR)?,
    });
    let combining = Combining::new(&groups, exchange.clone());
    groups.combining.set(Arc::new(combining)).expect("a state is finalised once");
    // Few rows need no morsels of their own for so little work as scattering.
    let ranges = if exchange.bits == 0 { cut.pieces(&Offsets::new([rows as u64])) } else { cut.rows(rows as u64) };
    Ok(Some(Tasks::boxed(ranges, move |worker, morsel| {
        let _alive = &groups;
        offsets.within(morsel).for_each(|(number, rows)| exchange.scatter(worker, &segments[number], rows));
        Ok(())
    })))
}
