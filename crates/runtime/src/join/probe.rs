//! The probe kernels: batches of hashes in, pairs (build row, tuple) out.
//!
//! All chains of a batch advance in step, one row a round, and each round fits the output: so stopping when the output
//! is full and going on later needs no other memory than the list of the chains that go on. A round is free of
//! unpredictable branches; rows are prefetched a round ahead.

use std::sync::OnceLock;

use super::tags::{ADDRESS, admits};
use super::{BATCH, JoinTable, ProbeScratch};
use crate::generator::PAUSED;
use crate::limit::LimitLocal;
use crate::prefetch::prefetch;

/// Index in [`ProbeScratch::cursor`] of the number of chains that go on.
const PENDING: usize = 0;

/// Selects tuples whose chains may hold their hashes into `chains` and `pending`; returns how many.
type Select = unsafe fn(&JoinTable, &mut ProbeScratch) -> usize;

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
    let pending = if table.inner.rows == 0 {
        0
    } else {
        // SAFETY: the table has slots for every hash.
        unsafe {
            for &hash in &scratch.hashes[..count] {
                prefetch(table.directory.add((hash >> table.shift) as usize));
            }
            select()(table, scratch)
        }
    };
    let pending = if scratch.has_active == 1 { keep_active(scratch, pending) } else { pending };
    for &chain in &scratch.chains[..pending] {
        prefetch(chain);
    }
    scratch.cursor[PENDING] = pending as u64;
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
    let mut found = 0;
    if scratch.first_only == 2 {
        pending = drop_matched(scratch, pending);
    }
    // A round delivers at most one pair for each chain.
    while pending > 0 && found + pending <= BATCH && *steps > 0 {
        *steps = steps.saturating_sub(pending as u64);
        // SAFETY: `pending` chains are in the lists, and the output has room for as many pairs.
        (found, pending) = unsafe {
            match scratch.first_only {
                1 => round::<true>(scratch, found, pending),
                _ => round::<false>(scratch, found, pending),
            }
        };
    }
    scratch.cursor[PENDING] = pending as u64;
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

/// Advances every chain by one row. Returns (pairs found, chains that go on).
///
/// # Safety
/// The first `pending` entries of `chains` and `pending` must be valid, and `found + pending <= BATCH`.
#[inline(always)]
unsafe fn round<const FIRST_ONLY: bool>(scratch: &mut ProbeScratch, found: usize, pending: usize) -> (usize, usize) {
    let (mut found, mut on) = (found, 0);
    let hashes = scratch.hashes.as_ptr();
    let (entries, tuples) = (scratch.entries.as_mut_ptr(), scratch.tuples.as_mut_ptr());
    let (chains, numbers) = (scratch.chains.as_mut_ptr(), scratch.pending.as_mut_ptr());
    debug_assert!(pending <= BATCH && found + pending <= BATCH);
    // SAFETY: all indices are below BATCH: `on <= i < pending`, `found` grows by at most one for each i, and tuples are
    // numbers of the batch. Rows of a chain start with the chain and the hash.
    unsafe {
        for i in 0..pending {
            let (row, tuple) = (*chains.add(i), *numbers.add(i));
            let next = row.cast::<*mut u8>().read();
            let equal = row.cast::<u64>().add(1).read() == *hashes.add(tuple as usize);
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

/// The best tag test that this processor has.
fn select() -> Select {
    static BEST: OnceLock<Select> = OnceLock::new();
    *BEST.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            return simd::select_avx512;
        }
        select_portable
    })
}

/// # Safety
/// `count <= BATCH`, and the table must have slots for every hash.
unsafe fn select_portable(table: &JoinTable, scratch: &mut ProbeScratch) -> usize {
    // SAFETY: as the caller promises.
    unsafe { select_from(table, scratch, 0, 0) }
}

/// The tag test from tuple `from` on, when `selected` are selected already.
#[inline(always)]
unsafe fn select_from(table: &JoinTable, scratch: &mut ProbeScratch, from: usize, selected: usize) -> usize {
    let mut selected = selected;
    for tuple in from..scratch.count as usize {
        let hash = scratch.hashes[tuple];
        // SAFETY: the table has slots for every hash.
        let slot = unsafe { *table.directory.add((hash >> table.shift) as usize) };
        scratch.chains[selected] = (slot & ADDRESS) as *mut u8;
        scratch.pending[selected] = tuple as u32;
        selected += usize::from(admits(slot, hash));
    }
    selected
}

#[cfg(target_arch = "x86_64")]
mod simd {
    use super::*;
    use std::arch::x86_64::*;

    /// The tag test, eight tuples at a time.
    ///
    /// # Safety
    /// As `select_portable`, on a processor with AVX-512 F and VL.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) unsafe fn select_avx512(table: &JoinTable, scratch: &mut ProbeScratch) -> usize {
        let count = scratch.count as usize;
        let shift = _mm_cvtsi64_si128(table.shift as i64);
        let (low, one) = (_mm512_set1_epi64(15), _mm512_set1_epi64(1 << 48));
        let address = _mm512_set1_epi64(ADDRESS as i64);
        let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let (mut tuple, mut selected) = (0, 0);
        while tuple + 8 <= count {
            // SAFETY: `tuple + 8 <= count <= BATCH` and `selected <= tuple`, so that whole vectors may be loaded and
            // stored; the table has slots for every hash.
            unsafe {
                let hash = _mm512_loadu_si512(scratch.hashes.as_ptr().add(tuple).cast());
                let slot = _mm512_i64gather_epi64::<8>(_mm512_srl_epi64(hash, shift), table.directory.cast());
                let bit = |h| _mm512_sllv_epi64(one, _mm512_and_si512(h, low));
                let some = _mm512_or_si512(bit(hash), bit(_mm512_srli_epi64::<4>(hash)));
                let more = _mm512_or_si512(bit(_mm512_srli_epi64::<8>(hash)), bit(_mm512_srli_epi64::<12>(hash)));
                let missing = _mm512_andnot_si512(slot, _mm512_or_si512(some, more));
                let admitted = _mm512_testn_epi64_mask(missing, missing);
                let chains = _mm512_maskz_compress_epi64(admitted, _mm512_and_si512(slot, address));
                _mm512_storeu_si512(scratch.chains.as_mut_ptr().add(selected).cast(), chains);
                let kept = _mm256_maskz_compress_epi32(admitted, numbers);
                _mm256_storeu_si256(scratch.pending.as_mut_ptr().add(selected).cast(), kept);
                selected += admitted.count_ones() as usize;
            }
            numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
            tuple += 8;
        }
        // SAFETY: as the caller promises.
        unsafe { select_from(table, scratch, tuple, selected) }
    }
}
