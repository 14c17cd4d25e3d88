//! Combining the rows of all workers, partition by partition.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use base::Result;
use base::memory::Reservation;
use pipeline::ir::StateId;
use scheduler::{Cutting, EachWorker, Offsets, TaskSet, Tasks, WorkerId};

use super::overflow::BITS;
use super::{Entry, Groups, OPERATOR, Partition};
use crate::abi::Worker;
use crate::query::{PairFns, QueryContext, StateData};
use crate::rows::{Segment, area_segments, offsets};

/// Up to so many rows are combined by one worker, without partitions.
const FEW: usize = 4 << 10;
/// Rows that a partition should have: table and rows fit the second-level cache.
const PARTITION_ROWS: usize = 8 << 10;
const MOST_PARTITION_BITS: u32 = 10;
/// How many rows ahead rows are fetched.
const AHEAD: usize = 8;

/// The rows' hashes and addresses by partition, between the phases.
#[derive(Debug)]
pub(super) struct Exchange {
    /// By worker that scattered, by partition; locked once a morsel.
    scattered: EachWorker<Mutex<Vec<Vec<Entry>>>>,
    bits: u32,
    /// Rows that were scattered.
    rows: u64,
    _charged: Reservation,
}

impl Exchange {
    fn partitions(&self) -> usize {
        1 << self.bits
    }
    fn partition(&self, hash: u64) -> usize {
        // A shift by 64 is not defined, and one partition needs none.
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    /// Deals rows of a segment out.
    fn scatter(&self, worker: WorkerId, segment: &Segment, rows: Range<usize>) {
        let lists = self.scattered.get_or(worker.0 as usize, Mutex::default);
        let mut partitions = lists.lock().expect("no panic while it is locked");
        partitions.resize_with(self.partitions(), Vec::new);
        for at in rows {
            // SAFETY: the row exists and starts with its hash.
            let entry = unsafe {
                let row = segment.row(at);
                Entry { hash: row.cast::<u64>().read(), row }
            };
            partitions[self.partition(entry.hash)].push(entry);
        }
    }

    /// The scattered rows of a partition, by worker.
    fn gather(&self, partition: usize) -> Vec<Vec<Entry>> {
        let take = |lists: &Mutex<Vec<Vec<Entry>>>| {
            let mut lists = lists.lock().expect("no panic while it is locked");
            lists.get_mut(partition).map(std::mem::take).unwrap_or_default()
        };
        self.scattered.iter().map(|(_, lists)| take(lists)).collect()
    }
}

/// Phase 0 scatters, phase 1 combines; few rows are combined at once in phase 0, and rows that are groups already are
/// left alone.
pub(super) fn phase(
    groups: &Groups,
    context: &Arc<QueryContext>,
    state: StateId,
    phase: usize,
    cut: &Cutting,
) -> Result<Option<Box<dyn TaskSet>>> {
    match phase {
        0 => start(groups, context, cut),
        1 => Ok(groups.exchange.lock().expect("no panic while it is locked").take().map(|exchange| {
            let partitions = exchange.partitions();
            let mut finished = groups.finished.lock().expect("no panic while it is locked");
            *finished = Some((0..partitions).map(|_| Partition::default()).collect());
            combine_all(context, state, groups, exchange, cut)
        })),
        _ => Ok(None),
    }
}

fn start(groups: &Groups, context: &Arc<QueryContext>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    // SAFETY: the pipelines that write have ended.
    let (filled, evicted) = unsafe { groups.locals.iter() }.fold((0, 0), |(filled, evicted), local| {
        let any = local.inner.area.blocks().any(|(_, used)| used > 0);
        (filled + usize::from(any), evicted + local.inner.evicted)
    });
    if filled <= 1 && evicted == 0 {
        return Ok(None);
    }
    // SAFETY: as above.
    let (areas, overflows) =
        unsafe { (groups.locals.iter(), groups.locals.iter().any(|l| l.inner.overflow.is_some())) };
    let segments: Vec<Segment> = areas.flat_map(|local| area_segments(&local.inner.area, groups.stride)).collect();
    let offsets = offsets(&segments);
    let rows = offsets.rows() as usize;
    let bits = if overflows {
        BITS
    } else if rows <= FEW {
        0
    } else {
        (rows / PARTITION_ROWS).max(1).next_power_of_two().trailing_zeros()
    };
    // Enough partitions for every worker, too.
    let least = if bits == 0 || overflows { 0 } else { (cut.threads * 4).next_power_of_two().trailing_zeros() };
    let exchange = Arc::new(Exchange {
        scattered: EachWorker::default(),
        bits: bits.max(least).min(MOST_PARTITION_BITS),
        rows: rows as u64,
        _charged: groups.budget.reserve(rows * (size_of::<Entry>() + size_of::<*mut u8>()), OPERATOR)?,
    });
    *groups.exchange.lock().expect("no panic while it is locked") = Some(exchange.clone());
    // Few rows need no morsels of their own for so little work as scattering.
    let ranges = if bits == 0 { cut.pieces(&Offsets::new([rows as u64])) } else { cut.rows(rows as u64) };
    let context = context.clone();
    Ok(Some(Tasks::boxed(ranges, move |worker, morsel| {
        let _alive = &context;
        offsets.within(morsel).for_each(|(number, rows)| exchange.scatter(worker, &segments[number], rows));
        Ok(())
    })))
}

fn combine_all(
    context: &Arc<QueryContext>,
    state: StateId,
    groups: &Groups,
    exchange: Arc<Exchange>,
    cut: &Cutting,
) -> Box<dyn TaskSet> {
    let context = context.clone();
    let sizes = (0..exchange.partitions()).map(|number| {
        let overflow: usize = overflow(groups, number).iter().map(Segment::rows).sum();
        // Hashes deal rows out evenly.
        (overflow as u64 + exchange.rows / exchange.partitions() as u64).max(1)
    });
    let offsets = Offsets::new(sizes);
    Tasks::boxed(cut.pieces(&offsets), move |worker, morsel| {
        let StateData::Group(groups) = context.shared().state(state) else { unreachable!("{state} is a group state") };
        let mut worker = context.worker(worker.0 as usize);
        let number = offsets.piece(morsel.begin);
        let lists = exchange.gather(number);
        let rows = combine(&mut worker, groups, &lists, &overflow(groups, number))?;
        let mut finished = groups.finished.lock().expect("no panic while it is locked");
        finished.as_mut().expect("made before this phase")[number].rows = rows;
        Ok(())
    })
}

/// The rows that workers put into overflow partition `number`, which is a partition of the exchange if there are any.
fn overflow(groups: &Groups, number: usize) -> Vec<Segment> {
    // SAFETY: the pipelines that write have ended, and this phase changes rows only.
    let overflows = unsafe { groups.locals.iter() }.filter_map(|local| local.inner.overflow.as_ref());
    overflows.flat_map(|overflow| overflow.segments(number)).collect()
}

/// Combines the rows of one partition; returns one row for each group.
fn combine(worker: &mut Worker, groups: &Groups, lists: &[Vec<Entry>], segments: &[Segment]) -> Result<Vec<*mut u8>> {
    let scattered: usize = lists.iter().map(Vec::len).sum();
    let rows = scattered + segments.iter().map(Segment::rows).sum::<usize>();
    let _charged = groups.budget.reserve(Table::bytes(rows), OPERATOR)?;
    let mut table = Table::new(rows);
    for list in lists {
        for (i, &entry) in list.iter().enumerate() {
            if let Some(next) = list.get(i + AHEAD) {
                crate::join::prefetch(next.row);
            }
            table.add(worker, &groups.pairs, entry)?;
        }
    }
    for segment in segments {
        for at in 0..segment.rows() {
            // SAFETY: the row exists and starts with its hash.
            let entry = unsafe {
                let row = segment.row(at);
                Entry { hash: row.cast::<u64>().read(), row }
            };
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
    groups: Vec<*mut u8>,
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
                self.groups.push(row);
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
