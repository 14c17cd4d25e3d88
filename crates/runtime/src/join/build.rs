//! Building the directory in parallel.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use base::memory::{Pages, Spread};
use scheduler::{Cutting, TaskSet, Tasks};
use types::ops::hash::hash_u64;

use super::insert::insert;
use super::keys::{Bitmap, fit_an_array};
use super::layout::Places;
use super::nodes::{self, Blocks, SAMPLE};
use super::payloads::Payloads;
use super::table::Keyed;
use super::tags::tag;
use super::{Join, JoinTable, OPERATOR, lock};
use crate::rows::{Segment, cut_rows, offsets};
use base::prefetch::prefetch_write;

/// How many rows ahead slots are prefetched.
const AHEAD: usize = 64;

/// Logarithm of the number of slots for so many rows: one to two slots a row.
fn slot_bits(rows: u64) -> u32 {
    rows.next_power_of_two().trailing_zeros().max(4)
}

/// An array for keys of this range, with a slot behind them in which there is never a row; without keys, that alone.
fn array(keys: &RangeInclusive<i64>) -> Places {
    let slots = if keys.is_empty() { 0 } else { keys.end().abs_diff(*keys.start()) + 1 };
    Places::Array { least: *keys.start(), slots }
}

/// The next phase of making the table: payloads by key where they fit; slots where they do not, or two had the same key.
pub(super) fn next(join: Arc<Join>, phase: usize, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let rows = join.segments().iter().map(Segment::rows).sum::<usize>() as u64;
    if phase == 0 {
        let keys = join.keys.range(rows).filter(|_| cut.placement.node_count() == 1);
        let payloads = keys.zip(join.payload).and_then(|(keys, size)| Payloads::new(&keys, rows, size, &join.budget));
        let Some(payloads) = payloads.map(Arc::new) else { return start(join, cut) };
        *lock(&join.payloads) = Some(payloads.clone());
        return Ok(Some(payloads.fill(join, cut)));
    }
    let Some(payloads) = lock(&join.payloads).take() else { return Ok(None) };
    match payloads.finished(rows) {
        Some((places, keyed)) => {
            let bits = keyed.bitmap.as_ref().expect("of payloads").as_ptr();
            join.publish(bits, places, Some(keyed), None, join.budget.reserve(0, OPERATOR)?);
            Ok(None)
        }
        None => start(join, cut),
    }
}

/// Makes the empty table and the morsels that fill it.
fn start(join: Arc<Join>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let segments = join.segments();
    let offsets = offsets(&segments);
    let rows = offsets.rows();
    let keys = join.keys.range(rows);
    let nodes = cut.placement.node_count();
    let places = match &keys {
        // What is not found by its hash does not lie where the hash's partition does.
        Some(keys) if fit_an_array(keys, rows) && !(cut.spread == Spread::Blocks && nodes > 1) => array(keys),
        _ => Places::Hashed { shift: u64::from(64 - slot_bits(rows)), keys: join.keys.are_words() },
    };
    let bits =
        keys.as_ref().filter(|_| join.filters).and_then(|keys| Some((*keys.start(), Bitmap::bytes(keys, rows)?)));
    // Before their words are hashes.
    let list = if join.filters && bits.is_none() { join.keys.list(&segments) } else { None };
    let bytes = 8 * places.slots();
    let charged = join.budget.reserve(bytes + bits.map_or(0, |(_, bytes)| bytes), OPERATOR)?;
    let directory = Pages::shared(bytes, cut.spread);
    let bitmap = bits.map(|(least, bytes)| Bitmap::new(least, bytes));
    let slots = directory.as_ptr().cast_const().cast();
    let blocks = Blocks::new(nodes, places.slots(), cut.spread);
    let table = join.publish(
        slots,
        places,
        Some(Keyed { range: keys, bitmap, list, memory: Arc::new(directory) }),
        blocks,
        charged,
    );
    if segments.is_empty() {
        return Ok(None);
    }
    Ok(Some(Tasks::boxed(cut_rows(&segments, &offsets, cut), move |_, morsel| {
        // SAFETY: the table lives as long as its state, which `join` keeps alive; it is shared from here on.
        let table = unsafe { &*(table as *const JoinTable) };
        for (number, rows) in offsets.within(morsel) {
            segments[number].note_read(rows.len());
            // SAFETY: only this function touches the directory, on atomics, until the last of these morsels has ended,
            // and each row is in one morsel.
            unsafe { insert_segment(&join, table, &segments[number], rows) };
        }
        Ok(())
    })))
}

/// Inserts rows of a segment, with their slots prefetched for writing. What is hashed is hashed here, and found by its
/// hash from then on.
///
/// # Safety
/// The rows must be the join's, the directory zeroed at first; nobody else may touch the rows, and nobody but this function
/// the directory.
unsafe fn insert_segment(join: &Join, table: &JoinTable, segment: &Segment, rows: Range<usize>) {
    let bitmap = table.inner.keyed.as_ref().and_then(|keyed| keyed.bitmap.as_ref());
    let key = |row: *mut u8| {
        // SAFETY: as the caller promises: complete rows of the join.
        let key = unsafe { join.keys.key(row) };
        if let (Some(bitmap), Some(key)) = (bitmap, key) {
            bitmap.add(key);
        }
        key
    };
    // SAFETY: the word stands behind the chain, 8 bytes each.
    let write_hash = |row: *mut u8, hash: u64| unsafe { row.cast::<u64>().add(1).write(hash) };
    // SAFETY (all blocks here): as the caller promises; slots are below `Places::slots`.
    match table.places {
        Places::Array { least, .. } => {
            let place = |row| key(row).map(|key| (key.wrapping_sub(least) as u64, 0));
            // SAFETY: as above; `least` and the number of slots are of all keys.
            unsafe { insert_rows(table, segment, rows, place) }
        }
        Places::Hashed { shift, keys: true } => {
            let place = |row| {
                key(row).map(|key| {
                    let hash = hash_u64(key as u64);
                    write_hash(row, hash);
                    (hash >> shift, tag(hash) | join.no_tags)
                })
            };
            // SAFETY: as above.
            unsafe { insert_rows(table, segment, rows, place) }
        }
        Places::Payloads { .. } | Places::Sorted { .. } => unreachable!("neither payloads nor ranges are inserted"),
        Places::Hashed { shift, keys: false } => {
            let place = |row| key(row).map(|hash| (hash as u64 >> shift, tag(hash as u64) | join.no_tags));
            // SAFETY: as above.
            unsafe { insert_rows(table, segment, rows, place) }
        }
    }
}

/// Inserts rows where `place` says: slot, and tag.
///
/// # Safety
/// As [`insert_segment`]; the slots must exist.
#[inline(always)]
unsafe fn insert_rows(
    table: &JoinTable,
    segment: &Segment,
    rows: Range<usize>,
    place: impl Fn(*mut u8) -> Option<(u64, u64)>,
) {
    let directory = table.directory.cast::<AtomicU64>();
    let (mut has_chains, mut sample) = (false, nodes::NONE);
    let count = rows.len();
    for from in rows.clone().step_by(AHEAD) {
        let to = (from + AHEAD).min(rows.end);
        let mut placed = [None; AHEAD];
        for (at, placed) in (from..to).zip(&mut placed) {
            // SAFETY: a row of the segment.
            *placed = place(unsafe { segment.row(at) });
            if let Some((slot, _)) = placed {
                prefetch_write(directory.wrapping_add(*slot as usize));
            }
        }
        if let Some(blocks) = &table.inner.blocks {
            blocks.count(&mut sample, placed.iter().step_by(SAMPLE).flatten().map(|(slot, _)| *slot));
        }
        for (at, placed) in (from..to).zip(placed) {
            let Some((slot, tag)) = placed else { continue };
            // SAFETY: a row of the segment, which begins with its chain, and a slot of the directory.
            unsafe {
                let row = segment.row(at);
                has_chains |= insert(&*directory.add(slot as usize), row as u64, tag, |next| {
                    row.cast::<u64>().write(next);
                });
            }
        }
    }
    table.inner.note_inserted(count, segment.node(), &sample);
    if has_chains {
        table.inner.has_chains.store(true, Ordering::Relaxed);
    }
}
