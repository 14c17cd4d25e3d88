//! The kernels that the table in [`abi`](super) lists, but for those of the probe.

use base::ids::Id;
use base::{Error, Result, SqlState};
use pipeline::ir::StateId;
use types::Str;
use types::ops::hash;

use super::functions::guarded;
use super::{GroupLocal, RowsLocal, Worker};
use crate::query::{StateData, interval, wide};

/// Names and addresses of all kernels.
pub fn kernels() -> [(&'static str, *const u8); 19] {
    use crate::join::{probe_begin, probe_next, probe_unmatched};
    use crate::sum::{sum_add, sum_add_all};
    [
        ("rows_grow", rows_grow as *const u8),
        ("group_new", group_new as *const u8),
        ("group_prefetch", group_prefetch as *const u8),
        ("probe_begin", probe_begin as *const u8),
        ("probe_next", probe_next as *const u8),
        ("probe_unmatched", probe_unmatched as *const u8),
        ("result_flush", result_flush as *const u8),
        ("sum_add", sum_add as *const u8),
        ("sum_add_all", sum_add_all as *const u8),
        ("raise", raise as *const u8),
        ("hash_str", hash_str as *const u8),
        ("hash_i128", hash_i128 as *const u8),
        ("hash_interval", hash_interval as *const u8),
        ("hash_f64", hash_f64 as *const u8),
        ("str_equal", str_equal as *const u8),
        ("str_compare", str_compare as *const u8),
        ("interval_compare", interval_compare as *const u8),
        ("i128_to_f64", i128_to_f64 as *const u8),
        ("f64_to_i128", f64_to_i128 as *const u8),
    ]
}

/// The row, or null after the error was stored.
fn row_or_fail(worker: &mut Worker, row: Result<*mut u8>) -> *mut u8 {
    row.unwrap_or_else(|error| {
        worker.fail(error);
        std::ptr::null_mut()
    })
}

/// A new row of a join, sort or rows state whose block is full.
///
/// # Safety
/// `worker` must be the calling thread's, `state` one of its states of such a kind.
pub unsafe extern "C" fn rows_grow(worker: *mut Worker, state: u64) -> *mut u8 {
    // SAFETY: as the caller promises; the local part is this worker's alone.
    let (worker, local) = unsafe { (&mut *worker, &mut *(*(*worker).locals.add(state as usize)).cast::<RowsLocal>()) };
    let row = guarded(|| {
        if let StateData::Sort(sort) = worker.inner.shared.state(StateId::from_index(state as usize)) {
            sort.prune(local)?;
        }
        local.area.allocate(local.stride).map(|row| row.as_ptr())
    });
    row_or_fail(worker, row)
}

/// A new group's row.
///
/// # Safety
/// `worker` must be the calling thread's, `state` a group state with keys.
pub unsafe extern "C" fn group_new(worker: *mut Worker, state: u64, hash: u64) -> *mut u8 {
    // SAFETY: as the caller promises; the local part is this worker's alone.
    let (worker, local) = unsafe { (&mut *worker, &mut *(*(*worker).locals.add(state as usize)).cast::<GroupLocal>()) };
    let row = guarded(|| crate::group::new_group(local, hash));
    row_or_fail(worker, row)
}

/// Fetches what the lookups of these groups will read.
///
/// # Safety
/// `local` must be the calling thread's part of a group state with keys, and there must be `count` hashes.
pub unsafe extern "C" fn group_prefetch(local: *const GroupLocal, hashes: *const u64, count: u64) {
    // SAFETY: as the caller promises.
    let (local, hashes) = unsafe { (&*local, std::slice::from_raw_parts(hashes, count as usize)) };
    crate::group::prefetch(local, hashes);
}

/// Hands the rows of a result on.
///
/// # Safety
/// `worker` must be the calling thread's, `state` a result state, whose rows up to `count` are written.
pub unsafe extern "C" fn result_flush(worker: *mut Worker, state: u64) -> u32 {
    // SAFETY: as the caller promises.
    let worker = unsafe { &mut *worker };
    let flushed = guarded(|| match worker.inner.shared.state(StateId::from_index(state as usize)) {
        StateData::Result(results) => results.flush(worker.inner.index, worker.inner.morsel.clone()),
        _ => Err(Error::internal("flush of a state that is no result")),
    });
    match flushed {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

/// Stores an error and returns 1.
///
/// # Safety
/// `worker` must be the calling thread's, `state` 5 bytes and `message` `length` bytes of static ASCII and UTF-8.
pub unsafe extern "C" fn raise(worker: *mut Worker, state: *const u8, message: *const u8, length: u64) -> u32 {
    // SAFETY: as the caller promises.
    let (worker, state, message) = unsafe {
        let text = |start, length| std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, length));
        (&mut *worker, text(state, 5), text(message, length as usize))
    };
    worker.fail(Error::new(SqlState(state), message))
}

/// The hash of a string.
///
/// # Safety
/// The words must be a header whose payload is alive.
pub unsafe extern "C" fn hash_str(lo: u64, hi: u64) -> u64 {
    let text = Str::from_words([lo, hi]);
    // SAFETY: as the caller promises.
    hash::hash_bytes(unsafe { text.bytes() })
}

/// The hash of a 128-bit integer.
pub extern "C" fn hash_i128(lo: u64, hi: u64) -> u64 {
    hash::hash_i128(wide(lo, hi))
}

/// The hash of an interval.
pub extern "C" fn hash_interval(lo: u64, hi: u64) -> u64 {
    hash::hash_interval(interval(lo, hi))
}

/// The hash of a double.
pub extern "C" fn hash_f64(bits: u64) -> u64 {
    hash::hash_f64(f64::from_bits(bits))
}

/// Whether two strings are equal.
///
/// # Safety
/// The words must be headers whose payloads are alive.
pub unsafe extern "C" fn str_equal(alo: u64, ahi: u64, blo: u64, bhi: u64) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { Str::from_words([alo, ahi]).equals(&Str::from_words([blo, bhi])) }.into()
}

/// The byte-wise order of two strings: -1, 0 or 1.
///
/// # Safety
/// The words must be headers whose payloads are alive.
pub unsafe extern "C" fn str_compare(alo: u64, ahi: u64, blo: u64, bhi: u64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { Str::from_words([alo, ahi]).compare(&Str::from_words([blo, bhi])) as i32 }
}

/// The order of two intervals: -1, 0 or 1.
pub extern "C" fn interval_compare(alo: u64, ahi: u64, blo: u64, bhi: u64) -> i32 {
    interval(alo, ahi).approximate_micros().cmp(&interval(blo, bhi).approximate_micros()) as i32
}

/// The nearest double of a 128-bit integer.
pub extern "C" fn i128_to_f64(lo: u64, hi: u64) -> f64 {
    wide(lo, hi) as f64
}

/// A double as a 128-bit integer, rounded half to even, in two words; 1 if it does not fit.
///
/// # Safety
/// `result` must point to two words.
pub unsafe extern "C" fn f64_to_i128(value: f64, result: *mut u64) -> u32 {
    const BOUND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0; // 2^127
    let rounded = value.round_ties_even();
    if !(-BOUND..BOUND).contains(&rounded) {
        return 1;
    }
    let value = rounded as i128;
    // SAFETY: as the caller promises.
    unsafe {
        result.write(value as u64);
        result.add(1).write((value >> 64) as u64);
    }
    0
}
