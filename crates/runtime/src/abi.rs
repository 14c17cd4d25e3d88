//! The contract between generated code and Rust: memory layouts and callable functions.
//!
//! Generated code and the reference interpreter run a pipeline's body over a [`Batch`] of tuples, with one [`Worker`]
//! each. Everything that generated code reads or writes inline is `#[repr(C)]` here, with constants for the offsets; all
//! else happens in functions of [`AbiFn`]'s type ([`function`] finds them) or in the kernels named below.
//!
//! # How a body is run in batches
//! Code processes the tuples of a batch stage by stage. A stage ends at a `Match`: it has put the hashes of its n live
//! tuples (and `active` flags, where the match has them) into that match's [`ProbeScratch`], and what later stages need of
//! each tuple into batch buffers of its own in [`Worker::scratch`]. Then it calls `probe_begin`, and `probe_next` until
//! that returns 0; each call delivers at most [`BATCH`] pairs (build row, number of the tuple within the stage), for which
//! the next stage runs. Pairs come in no particular order. Conditions are tested by generated code, which sets
//! `matched[tuple]`; for `Left`, `Anti` and `Single` the unmatched tuples follow at the end (`probe_unmatched`), for
//! `Mark` all tuples do, as `matched` says.
//!
//! # Kernels
//! All are `extern "C"`; `str` and other 16-byte values are passed as two 64-bit words, low word (length and prefix of a
//! string) first. [`kernels`] lists names and addresses. Those that return u32 return 0, or 1 after an error was stored in
//! the worker; those that return a row return null then. Code that sees a failure writes `error_position` and returns 1.
//!
//! | kernel | signature | what |
//! |---|---|---|
//! | `rows_grow` | `(worker: *mut Worker, state: u64) -> *mut u8` | the inline allocation from a [`RowsLocal`] found no room: opens a block and returns the new row (`stride` zero bytes, already taken from the area). Rows of a sort state with a limit may move then: their fields must all have been stored. |
//! | `group_new` | `(worker: *mut Worker, state: u64, hash: u64) -> *mut u8` | a new zeroed row with its hash stored, entered into the directory (in place of an older one if its slots are taken). May replace directory and mask. |
//! | `group_prefetch` | `(local: *const GroupLocal, hashes: *const u64, count: u64)` | fetches the directory slots of these hashes, and the rows that they lead to, into the cache. |
//! | `probe_begin` | `(table: *const JoinTable, scratch: *mut ProbeScratch)` | starts a batch: clears `matched`, tests tags, prefetches. |
//! | `probe_next` | `(table: *const JoinTable, scratch: *mut ProbeScratch) -> u64` | next pairs in `entries`, `tuples`: their number, 0 at the end. |
//! | `probe_unmatched` | `(scratch: *mut ProbeScratch) -> u64` | all tuples with `matched != 1` into `tuples`, null into `entries`: their number. |
//! | `result_flush` | `(worker: *mut Worker, state: u64) -> u32` | hands the rows of a [`ResultLocal`] on; `count` is 0 then, and `columns` may point elsewhere. |
//! | `sum_add` | `(worker: *mut Worker, sum: *mut ExactSum, x: f64) -> u32` | adds to an exact sum whose pair cannot take the value (see `types::ops::sum::Pair`) |
//! | `sum_add_all` | `(worker: *mut Worker, sum: *mut ExactSum, values: *const f64, count: u64) -> u32` | adds all the values |
//! | `raise` | `(worker: *mut Worker, state: *const u8, message: *const u8, length: u64) -> u32` | stores an error; SQLSTATE (5 bytes) and message are static strings. Returns 1. |
//! | `hash_str` | `(lo: u64, hi: u64) -> u64` | as `types::ops::hash` |
//! | `hash_i128` | `(lo: u64, hi: u64) -> u64` | likewise |
//! | `hash_interval` | `(lo: u64, hi: u64) -> u64` | likewise |
//! | `hash_f64` | `(bits: u64) -> u64` | likewise (-0 as 0, all NaNs alike) |
//! | `str_equal` | `(alo: u64, ahi: u64, blo: u64, bhi: u64) -> u32` | 1 if equal; complete, so inline tests before it are optional |
//! | `str_compare` | `(alo: u64, ahi: u64, blo: u64, bhi: u64) -> i32` | -1, 0, 1 |
//! | `interval_compare` | `(alo: u64, ahi: u64, blo: u64, bhi: u64) -> i32` | -1, 0, 1 |
//! | `i128_to_f64` | `(lo: u64, hi: u64) -> f64` | conversion |
//! | `f64_to_i128` | `(value: f64, result: *mut u64) -> u32` | rounds half to even into two words; 1 (and no error stored) if out of range |

mod functions;
mod kernels;
mod layout;
#[cfg(test)]
mod tests;

pub use crate::join::{probe_begin, probe_next, probe_unmatched};
pub use crate::sum::{ExactSum, ExactVariance, sum_add, sum_add_all};
pub(crate) use functions::guarded;
pub use functions::{call_site, function};
pub use kernels::{
    f64_to_i128, group_new, group_prefetch, hash_f64, hash_i128, hash_interval, hash_str, i128_to_f64,
    interval_compare, kernels, raise, result_flush, rows_grow, str_compare, str_equal,
};
pub use layout::{
    AbiFn, BATCH, Batch, ColumnRef, GROUP_PROBES, GroupLocal, JoinTable, PairFn, PipelineFn, ProbeScratch,
    ResultColumn, ResultLocal, RowsLocal, Slot, Worker,
};
