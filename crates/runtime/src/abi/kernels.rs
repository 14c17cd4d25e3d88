//! The kernels: their list, and all of them but for those of the probe.

use base::{Error, Result, SqlState};
use types::Str;
use types::ops::cast::ShortForm;
use types::ops::date::{self, Field};
use types::ops::{cast, hash, string};

use super::{ExactSum, ExactVariance, GroupLocal, JoinTable, ProbeScratch, RowsLocal, Worker};
use crate::generator::{ElementsScratch, RepeatScratch, repeat_begin, repeat_elements, repeat_next};
use crate::join::{probe_begin, probe_next, probe_unmatched};
use crate::recursion::{RecursionLocal, first_seen};
use crate::result::ResultLocal;
use crate::slot::{interval, wide};
use crate::sum::{sum_add, sum_add_all, variance_add};
use crate::worker::guarded;

/// How generated code passes an argument or gets a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer or an address.
    I64,
    /// A double.
    F64,
}

/// A type of Rust that a kernel takes or returns.
trait Passed {
    const AS: Machine;
}
impl Passed for u32 {
    const AS: Machine = Machine::I32;
}
impl Passed for i32 {
    const AS: Machine = Machine::I32;
}
impl Passed for u64 {
    const AS: Machine = Machine::I64;
}
impl Passed for i64 {
    const AS: Machine = Machine::I64;
}
impl Passed for f64 {
    const AS: Machine = Machine::F64;
}
impl<T> Passed for *const T {
    const AS: Machine = Machine::I64;
}
impl<T> Passed for *mut T {
    const AS: Machine = Machine::I64;
}

/// The only list of kernels: an id, the function, and its signature, which the compiler holds against the function's.
macro_rules! kernels {
    ($($(#[$doc:meta])* $kernel:ident = $function:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// What generated code calls by address, with a signature of its own.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Kernel {
            $($(#[$doc])* $kernel),*
        }

        impl Kernel {
            /// Where its code lies.
            pub fn address(self) -> usize {
                match self {
                    $(Self::$kernel => {
                        let function: unsafe extern "C" fn($($argument),*) $(-> $result)? = $function;
                        function as usize
                    })*
                }
            }

            /// Its arguments, and its result if it has one.
            pub fn signature(self) -> (&'static [Machine], Option<Machine>) {
                match self {
                    $(Self::$kernel => {
                        let result: &[Machine] = &[$(<$result as Passed>::AS)?];
                        (&[$(<$argument as Passed>::AS),*], result.first().copied())
                    })*
                }
            }
        }
    };
}

kernels! {
    /// The inline allocation from a [`RowsLocal`] found no room: opens a block and returns the new row (`stride` zero
    /// bytes, already taken from the area). Rows of a sort state with a limit may move then: their fields must all have
    /// been stored. (worker, state)
    RowsGrow = rows_grow(*mut Worker, u64) -> *mut u8;
    /// A new zeroed row with its hash stored, entered into the directory (in place of an older one if its slots are taken).
    /// May replace directory and mask. (worker, state, hash)
    GroupNew = group_new(*mut Worker, u64, u64) -> *mut u8;
    /// Fetches the directory slots of these hashes, and the rows that they lead to, into the cache. (local, hashes, count)
    GroupPrefetch = group_prefetch(*const GroupLocal, *const u64, u64);
    /// Starts a batch: clears `matched`, tests tags, prefetches.
    ProbeBegin = probe_begin(*const JoinTable, *mut ProbeScratch);
    /// Next pairs in `entries`, `tuples`: their number, 0 at the end, or `PAUSED`. (table, scratch, steps)
    ProbeNext = probe_next(*const JoinTable, *mut ProbeScratch, *mut u64) -> u64;
    /// All tuples with `matched != 1` into `tuples`, null into `entries`: their number.
    ProbeUnmatched = probe_unmatched(*mut ProbeScratch) -> u64;
    /// The generator of a stage of a batch that may pause begins. (worker, stage)
    MarkText = mark_text(*mut Worker, u64);
    /// Starts a batch of a repetition.
    RepeatBegin = repeat_begin(*mut RepeatScratch);
    /// Next deliveries in `tuples`: their number, 0 at the end, or `PAUSED`. (scratch, steps)
    RepeatNext = repeat_next(*mut RepeatScratch, *mut u64) -> u64;
    /// The elements of so many deliveries, of a layout's number. (scratch, elements, deliveries, layout)
    RepeatElements = repeat_elements(*const RepeatScratch, *mut ElementsScratch, u64, u64);
    /// Hands the rows of a [`ResultLocal`](super::ResultLocal) on; `count` is 0 then, and `columns` may point elsewhere.
    /// (worker, state)
    ResultFlush = result_flush(*mut Worker, u64) -> u32;
    /// Adds to an exact sum whose pair cannot take the value (see `types::ops::sum::Pair`).
    SumAdd = sum_add(*mut Worker, *mut ExactSum, f64) -> u32;
    /// Adds so many values.
    SumAddAll = sum_add_all(*mut Worker, *mut ExactSum, *const f64, u64) -> u32;
    /// Adds to what a variance is made of.
    VarianceAdd = variance_add(*mut Worker, *mut ExactVariance, f64) -> u32;
    /// Stores an error; SQLSTATE (5 bytes) and message are static strings. Returns 1. (worker, state, message, its length)
    Raise = raise(*mut Worker, *const u8, *const u8, u64) -> u32;
    /// As `types::ops::hash`, of the low and the high word; likewise the next two.
    HashStr = hash_str(u64, u64) -> u64;
    /// Of a 128-bit integer.
    HashI128 = hash_i128(u64, u64) -> u64;
    /// Of an interval.
    HashInterval = hash_interval(u64, u64) -> u64;
    /// 1 if equal; complete, so inline tests before it are optional. (low, high, low, high)
    StrEqual = str_equal(u64, u64, u64, u64) -> u32;
    /// -1, 0, 1.
    StrCompare = str_compare(u64, u64, u64, u64) -> i32;
    /// -1, 0, 1.
    IntervalCompare = interval_compare(u64, u64, u64, u64) -> i32;
    /// The characters of a string. (low, high)
    StrLength = str_length(u64, u64) -> u64;
    /// The integer that plain digits are, `NOT_PLAIN` of other texts. (low, high)
    StrInteger = str_integer(u64, u64) -> u64;
    /// As `Callee::ShortText`: 1 if there is one. (the integer, the form's number, its words)
    ShortText = short_text(i64, u32, *mut Str) -> u32;
    /// A field of a date that every date has, by its number in `Field::ALL`.
    DateField = date_field(u32, i32) -> u64;
    /// A field of a timestamp, likewise.
    TimestampField = timestamp_field(u32, u64) -> u64;
    /// As `Callee::FirstSeen`. (the worker's part of the recursion, the integers)
    FirstSeen = first_seen(*const RecursionLocal, i64, i64) -> u64;
    /// Conversion.
    I128ToF64 = i128_to_f64(u64, u64) -> f64;
    /// Rounds half to even into two words; 1 (and no error stored) if out of range.
    F64ToI128 = f64_to_i128(f64, *mut u64) -> u32;
}

/// The row, or null after the error was stored.
fn row_or_fail(worker: &mut Worker, row: Result<*mut u8>) -> *mut u8 {
    row.unwrap_or_else(|error| {
        worker.fail(error);
        std::ptr::null_mut()
    })
}

/// The worker, and its part of a state.
///
/// # Safety
/// `worker` must be the calling thread's, and its part of the state a `T` that nobody else refers to.
unsafe fn with_local<'a, T>(worker: *mut Worker, state: u64) -> (&'a mut Worker, &'a mut T) {
    // SAFETY: as the caller promises. The list of parts is read before the worker is borrowed: a reading past that borrow
    // would end it.
    unsafe {
        let local = (*(*worker).locals.add(state as usize)).cast::<T>();
        (&mut *worker, &mut *local)
    }
}

/// A new row of a join, sort or rows state whose block is full.
///
/// # Safety
/// `worker` must be the calling thread's, `state` one of its states of such a kind.
pub unsafe extern "C" fn rows_grow(worker: *mut Worker, state: u64) -> *mut u8 {
    // SAFETY: as the caller promises; the local part is this worker's alone.
    let (worker, local) = unsafe { with_local::<RowsLocal>(worker, state) };
    let row = guarded(|| local.grow());
    row_or_fail(worker, row)
}

/// A new group's row.
///
/// # Safety
/// `worker` must be the calling thread's, `state` a group state with keys.
pub unsafe extern "C" fn group_new(worker: *mut Worker, state: u64, hash: u64) -> *mut u8 {
    // SAFETY: as the caller promises; the local part is this worker's alone.
    let (worker, local) = unsafe { with_local::<GroupLocal>(worker, state) };
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
    let (worker, local) = unsafe { with_local::<ResultLocal>(worker, state) };
    let flushed = guarded(|| local.flush(worker.inner.morsel.clone()));
    match flushed {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

/// The generator of a stage begins.
///
/// # Safety
/// `worker` must be the calling thread's.
pub unsafe extern "C" fn mark_text(worker: *mut Worker, stage: u64) {
    // SAFETY: as the caller promises.
    unsafe { &mut *worker }.mark_text(stage as usize);
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

/// The number of characters of a string.
///
/// # Safety
/// The words must be a header whose payload is alive.
pub unsafe extern "C" fn str_length(lo: u64, hi: u64) -> u64 {
    let text = Str::from_words([lo, hi]);
    if text.is_inline_ascii() {
        return text.len() as u64;
    }
    // SAFETY: as the caller promises.
    string::length(unsafe { text.as_str() }) as u64
}

/// The integer that plain digits are.
///
/// # Safety
/// The words must be a header whose payload is alive.
pub unsafe extern "C" fn str_integer(lo: u64, hi: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { cast::plain_integer_of(Str::from_words([lo, hi])) as u64 }
}

/// The text of an integer if it is short.
///
/// # Safety
/// `to` must point to room for a text.
pub unsafe extern "C" fn short_text(number: i64, form: u32, to: *mut Str) -> u32 {
    let text = ShortForm::numbered(form as u8).text(number);
    // Word by word, as whoever reads it does.
    let [first, rest] = text.unwrap_or(Str::EMPTY).words();
    // SAFETY: as the caller promises.
    unsafe {
        to.cast::<u64>().write(first);
        to.cast::<u64>().add(1).write(rest);
    }
    text.is_some().into()
}

/// A field of a date: one of those that all dates have.
pub extern "C" fn date_field(field: u32, days: i32) -> u64 {
    date::extract_date(Field::ALL[field as usize], days).unwrap_or_default() as u64
}

/// A field of a timestamp.
pub extern "C" fn timestamp_field(field: u32, value: u64) -> u64 {
    date::extract_timestamp(Field::ALL[field as usize], value as i64).unwrap_or_default() as u64
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
