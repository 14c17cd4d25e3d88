//! Combining the rows of all workers, partition by partition.

use std::sync::{Arc, Mutex};

use base::Result;
use base::memory::Reservation;
use pipeline::ir::StateId;
use scheduler::{MorselRanges, TaskSet, Tasks, WorkerId};

use super::{Entry, Groups, OPERATOR, Partition};
use crate::abi::Worker;
use crate::query::{PairFns, QueryContext, StateData};
use crate::rows::Segment;

/// Up to so many rows are combined by one worker, without partitions.
const FEW: usize = 4 << 10;
/// Rows of a scattering morsel.
const MORSEL: usize = 16 << 10;
/// Rows that a partition should have: table and rows fit the second-level cache.
const PARTITION_ROWS: usize = 8 << 10;
const MOST_PARTITION_BITS: u32 = 10;
/// How many rows ahead rows are fetched.
const AHEAD: usize = 8;

/// The rows' hashes and addresses by partition, between the phases.
#[derive(Debug)]
pub(super) struct Exchange {
    /// By worker that scattered, by partition; locked once a morsel.
    scattered: Vec<Mutex<Vec<Vec<Entry>>>>,
    bits: u32,
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

    /// Deals a segment's rows out.
    fn scatter(&self, worker: WorkerId, segment: &Segment) {
        let mut partitions = self.scattered[worker.0 as usize].lock().expect("no panic while it is locked");
        partitions.resize_with(self.partitions(), Vec::new);
        for at in 0..segment.rows() {
            // SAFETY: the row exists and starts with its hash.
            let entry = unsafe {
                let row = segment.row(at);
                Entry { hash: row.cast::<u64>().read(), row }
            };
            partitions[self.partition(entry.hash)].push(entry);
        }
    }

    /// All rows of a partition, worker by worker.
    fn gather(&self, partition: usize) -> Vec<Entry> {
        let take = |lists: &Mutex<Vec<Vec<Entry>>>| {
            let mut lists = lists.lock().expect("no panic while it is locked");
            lists.get_mut(partition).map(std::mem::take).unwrap_or_default()
        };
        let mut lists = self.scattered.iter().map(take);
        let mut all = lists.next().unwrap_or_default();
        lists.for_each(|list| all.extend(list));
        all
    }
}

/// Phase 0 scatters, phase 1 combines; few rows are combined at once in phase 0, and rows that are groups already are
/// left alone.
pub(super) fn phase(
    groups: &Groups,
    context: &Arc<QueryContext>,
    state: StateId,
    phase: usize,
) -> Result<Option<Box<dyn TaskSet>>> {
    match phase {
        0 => start(groups, context),
        1 => Ok(groups.exchange.lock().expect("no panic while it is locked").take().map(|exchange| {
            let partitions = exchange.partitions();
            let mut finished = groups.finished.lock().expect("no panic while it is locked");
            *finished = Some((0..partitions).map(|_| Partition::default()).collect());
            combine_all(context, state, exchange)
        })),
        _ => Ok(None),
    }
}

fn start(groups: &Groups, context: &Arc<QueryContext>) -> Result<Option<Box<dyn TaskSet>>> {
    // SAFETY: the pipelines that write have ended.
    let (filled, evicted) = unsafe { groups.locals.iter() }.fold((0, 0), |(filled, evicted), local| {
        let any = local.inner.area.blocks().any(|(_, used)| used > 0);
        (filled + usize::from(any), evicted + local.inner.evicted)
    });
    if filled <= 1 && evicted == 0 {
        return Ok(None);
    }
    let segments: Vec<Segment> = groups.local_segments().into_iter().flat_map(|s| s.cut(MORSEL)).collect();
    let rows: usize = segments.iter().map(Segment::rows).sum();
    let bits = if rows <= FEW { 0 } else { (rows / PARTITION_ROWS).max(1).next_power_of_two().trailing_zeros() };
    let workers = context.worker_count();
    // Enough partitions for every worker, too.
    let least = if bits == 0 { 0 } else { (workers * 4).next_power_of_two().trailing_zeros() };
    let exchange = Arc::new(Exchange {
        scattered: (0..workers).map(|_| Mutex::default()).collect(),
        bits: bits.max(least).min(MOST_PARTITION_BITS),
        _charged: groups.budget.reserve(rows * (size_of::<Entry>() + size_of::<*mut u8>()), OPERATOR)?,
    });
    *groups.exchange.lock().expect("no panic while it is locked") = Some(exchange.clone());
    // Few rows need no morsels of their own for so little work as scattering.
    let unit = if bits == 0 { segments.len() as u64 } else { 1 };
    let (ranges, context) = (MorselRanges::new(segments.len() as u64, workers, unit), context.clone());
    Ok(Some(Tasks::boxed(ranges, move |worker, morsel| {
        let _alive = &context;
        morsel.rows().for_each(|number| exchange.scatter(worker, &segments[number as usize]));
        Ok(())
    })))
}

fn combine_all(context: &Arc<QueryContext>, state: StateId, exchange: Arc<Exchange>) -> Box<dyn TaskSet> {
    let context = context.clone();
    Tasks::boxed(MorselRanges::new(exchange.partitions() as u64, context.worker_count(), 1), move |worker, morsel| {
        let StateData::Group(groups) = context.shared().state(state) else { unreachable!("{state} is a group state") };
        let mut worker = context.worker(worker.0 as usize);
        for number in morsel.rows() {
            let entries = exchange.gather(number as usize);
            let rows = combine(&mut worker, &groups.pairs, entries)?;
            let mut finished = groups.finished.lock().expect("no panic while it is locked");
            finished.as_mut().expect("made before this phase")[number as usize].rows = rows;
        }
        Ok(())
    })
}

/// Combines the rows of one partition; returns one row for each group. The table has linear probing, is at most half
/// full, and holds the low 16 bits of the hash above the address.
fn combine(worker: &mut Worker, pairs: &PairFns, entries: Vec<Entry>) -> Result<Vec<*mut u8>> {
    const ADDRESS: u64 = (1 << 48) - 1;
    let mask = (entries.len() * 2).next_power_of_two() - 1;
    let mut table = vec![0u64; mask + 1];
    let mut groups = Vec::with_capacity(entries.len());
    for (i, &Entry { hash, row }) in entries.iter().enumerate() {
        if let Some(next) = entries.get(i + AHEAD) {
            crate::join::prefetch(next.row);
        }
        let mut at = (hash >> 16) as usize & mask;
        let tag = hash << 48;
        loop {
            let slot = table[at];
            if slot == 0 {
                table[at] = tag | row as u64;
                groups.push(row);
                break;
            }
            let group = (slot & ADDRESS) as *mut u8;
            // SAFETY: rows of this state start with their hash; the partition is this worker's alone.
            let same = unsafe {
                slot & !ADDRESS == tag
                    && group.cast::<u64>().read() == hash
                    && match &pairs.equal {
                        Some(equal) => equal.call(worker, group, row)?,
                        None => true,
                    }
            };
            if same {
                // SAFETY: likewise.
                unsafe { pairs.combine.call(worker, group, row)? };
                break;
            }
            at = (at + 1) & mask;
        }
    }
    Ok(groups)
}
