//! The probe kernels: batches of words in, pairs (build row, tuple) out.
//!
//! All chains of a batch advance in step, one row a round, and each round fits the output: so stopping when the output
//! is full and going on later needs no other memory than the list of the chains that go on. A round is free of
//! unpredictable branches; rows are prefetched a round ahead.

mod select;

use std::sync::atomic::Ordering;

use super::layout::Places;
use super::nodes::SAMPLE;
use super::{BATCH, JoinTable, ProbeScratch};
use crate::generator::PAUSED;
use crate::limit::LimitLocal;
use base::prefetch::prefetch;
use pipeline::ir::JOIN_HEADER;

/// Index in [`ProbeScratch::cursor`] of the number of chains that go on.
const PENDING: usize = 0;

/// What [`ProbeScratch::first_only`] says.
const FIRST: u64 = 1;
const UNTIL_MATCHED: u64 = 2;
const EXISTS: u64 = 3;

/// Starts a batch.
///
/// # Safety
/// `table` must be finished, and `scratch` filled as [`ProbeScratch`] says.
pub unsafe extern "C" fn probe_begin(table: *const JoinTable, scratch: *mut ProbeScratch) {
    // SAFETY: as the caller promises.
    let (table, scratch) = unsafe { (&*table, &mut *scratch) };
    let count = scratch.count as usize;
    assert!(count <= BATCH);
    scratch.matched[..count].fill(0);
    scratch.finishing = 0;
    // SAFETY: the directory is the table's, and finished.
    let pending = unsafe { select::select(table.directory, table.places, scratch) };
    let pending = if scratch.has_active == 1 { keep_active(scratch, pending) } else { pending };
    let (is_array, has_payloads) = (matches!(table.places, Places::Array { .. }), table.has_payloads());
    if !(scratch.first_only == EXISTS && (is_array || has_payloads)) {
        let behind = if has_payloads { JOIN_HEADER as usize } else { 0 };
        for &chain in &scratch.chains[..pending] {
            prefetch(chain.wrapping_add(behind));
        }
    }
    scratch.cursor[PENDING] = pending as u64;
    if !has_payloads {
        let slots = scratch.hashes[..count].iter().step_by(SAMPLE).map(|&word| table.places.slot(word));
        table.inner.note_slots(count, slots);
    }
}

/// Drops tuples that do not take part.
fn keep_active(scratch: &mut ProbeScratch, pending: usize) -> usize {
    let mut kept = 0;
    for i in 0..pending {
        let tuple = scratch.pending[i];
        scratch.chains[kept] = scratch.chains[i];
        scratch.pending[kept] = tuple;
        kept += usize::from(scratch.active[tuple as usize] == 1);
    }
    kept
}

/// The next pairs; 0 at the end, or [`PAUSED`]. Takes a step off `*steps` for each candidate that it looks at, delivered or
/// not, and pauses when they are used up.
///
/// # Safety
/// As [`probe_begin`], after it; `steps` is the calling thread's.
pub unsafe extern "C" fn probe_next(table: *const JoinTable, scratch: *mut ProbeScratch, steps: *mut u64) -> u64 {
    // SAFETY: as the caller promises.
    let (table, scratch, steps) = unsafe { (&*table, &mut *scratch, &mut *steps) };
    let mut pending = scratch.cursor[PENDING] as usize;
    // Without keys, all of a table is one chain. What is left out now does not matter: the query ends with an error, or
    // nobody asks for more rows.
    // SAFETY: the caller has set the limit, which lives as long as the query.
    let enough = unsafe { scratch.limit.as_ref() }.is_some_and(LimitLocal::is_exhausted);
    if enough || table.inner.cancel.is_cancelled() {
        pending = 0;
    }
    let (mut found, mut looked_at) = (0, 0);
    let sample = table.inner.blocks.as_ref().map(|blocks| {
        let tuples = scratch.pending[..pending].iter().step_by(SAMPLE);
        blocks.of(tuples.map(|&tuple| table.places.slot(scratch.hashes[tuple as usize])))
    });
    if scratch.first_only == UNTIL_MATCHED {
        pending = drop_matched(scratch, pending);
    }
    // A round delivers at most one pair for each chain.
    while pending > 0 && found + pending <= BATCH && *steps > 0 {
        *steps = steps.saturating_sub(pending as u64);
        looked_at += pending;
        let first_only = matches!(scratch.first_only, FIRST | EXISTS);
        // SAFETY: `pending` chains are in the lists, and the output has room for as many pairs.
        (found, pending) = unsafe {
            match table.places {
                Places::Payloads { .. } => deliver(scratch, found, pending),
                Places::Array { .. } if first_only || !table.inner.has_chains.load(Ordering::Relaxed) => {
                    deliver(scratch, found, pending)
                }
                Places::Array { .. } | Places::Sorted { until: None, .. } => {
                    round::<false, true>(scratch, found, pending)
                }
                Places::Sorted { until: Some(until), .. } => round_of_ranges(scratch, found, pending, until as usize),
                Places::Hashed { .. } if first_only => round::<true, false>(scratch, found, pending),
                Places::Hashed { .. } => round::<false, false>(scratch, found, pending),
            }
        };
    }
    scratch.cursor[PENDING] = pending as u64;
    table.inner.note_rows(looked_at, found, sample.as_ref());
    if found == 0 && pending > 0 { PAUSED } else { found as u64 }
}

/// Gives up the chains of tuples that have their match.
fn drop_matched(scratch: &mut ProbeScratch, pending: usize) -> usize {
    let mut kept = 0;
    for i in 0..pending {
        let tuple = scratch.pending[i];
        scratch.chains[kept] = scratch.chains[i];
        scratch.pending[kept] = tuple;
        kept += usize::from(scratch.matched[tuple as usize] != 1);
    }
    kept
}

/// Delivers the first row of every chain, which is its only one or suffices, without looking at it. Returns what [`round`]
/// does.
fn deliver(scratch: &mut ProbeScratch, found: usize, pending: usize) -> (usize, usize) {
    scratch.entries[found..found + pending].copy_from_slice(&scratch.chains[..pending]);
    scratch.tuples[found..found + pending].copy_from_slice(&scratch.pending[..pending]);
    (found + pending, 0)
}

/// Advances every chain by one row; if they are `EQUAL`, all rows of a chain match. Returns (pairs found, chains that go on).
///
/// # Safety
/// The first `pending` entries of `chains` and `pending` must be valid, and `found + pending <= BATCH`.
#[inline(always)]
unsafe fn round<const FIRST_ONLY: bool, const EQUAL: bool>(
    scratch: &mut ProbeScratch,
    found: usize,
    pending: usize,
) -> (usize, usize) {
    let (mut found, mut on) = (found, 0);
    let hashes = scratch.hashes.as_ptr();
    let (entries, tuples) = (scratch.entries.as_mut_ptr(), scratch.tuples.as_mut_ptr());
    let (chains, numbers) = (scratch.chains.as_mut_ptr(), scratch.pending.as_mut_ptr());
    debug_assert!(pending <= BATCH && found + pending <= BATCH);
    // SAFETY: all indices are below BATCH: `on <= i < pending`, `found` grows by at most one for each i, and tuples are
    // numbers of the batch. Rows of a chain start with the chain and the word.
    unsafe {
        for i in 0..pending {
            let (row, tuple) = (*chains.add(i), *numbers.add(i));
            let next = row.cast::<*mut u8>().read();
            let equal = EQUAL || row.cast::<u64>().add(1).read() == *hashes.add(tuple as usize);
            *entries.add(found) = row;
            *tuples.add(found) = tuple;
            found += usize::from(equal);
            *chains.add(on) = next;
            *numbers.add(on) = tuple;
            on += usize::from(!next.is_null() & !(FIRST_ONLY & equal));
        }
        for i in 0..on {
            prefetch(*chains.add(i));
        }
    }
    (found, on)
}

/// Goes one range down in every chain, as [`round`] does, unless nothing from there on reaches the tuple's number.
///
/// # Safety
/// As [`round`]; rows have their ends at the offset `until`.
#[inline(always)]
unsafe fn round_of_ranges(scratch: &mut ProbeScratch, found: usize, pending: usize, until: usize) -> (usize, usize) {
    let (mut found, mut on) = (found, 0);
    debug_assert!(pending <= BATCH && found + pending <= BATCH);
    for i in 0..pending {
        let (row, tuple) = (scratch.chains[i], scratch.pending[i]);
        let reached = scratch.until[tuple as usize];
        // SAFETY: a row of a finished table, which starts with its chain and its reach.
        let (next, reach, end) = unsafe {
            (row.cast::<*mut u8>().read(), row.cast::<i64>().add(1).read(), row.add(until).cast::<i64>().read())
        };
        // Overwritten by the next one if it does not count: `found < BATCH`, and `on <= i`.
        (scratch.entries[found], scratch.tuples[found]) = (row, tuple);
        found += usize::from(end >= reached);
        (scratch.chains[on], scratch.pending[on]) = (next, tuple);
        on += usize::from(!next.is_null() & (reach >= reached));
    }
    scratch.chains[..on].iter().for_each(|&row| prefetch(row));
    (found, on)
}

/// All tuples with `matched != 1`, with null entries.
///
/// # Safety
/// As [`probe_begin`], after it.
pub unsafe extern "C" fn probe_unmatched(scratch: *mut ProbeScratch) -> u64 {
    // SAFETY: as the caller promises.
    let scratch = unsafe { &mut *scratch };
    let count = scratch.count as usize;
    let mut found = 0;
    for tuple in 0..count {
        scratch.tuples[found] = tuple as u32;
        found += usize::from(scratch.matched[tuple] != 1);
    }
    scratch.entries[..found].fill(std::ptr::null_mut());
    found as u64
}
