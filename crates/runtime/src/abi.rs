//! The contract between generated code and Rust: memory layouts and callable functions.
//!
//! Generated code and the reference interpreter run a pipeline's body over a [`Batch`] of tuples, with one [`Worker`]
//! each. Everything that generated code reads or writes inline is `#[repr(C)]` here, with constants for the offsets; all
//! else happens in functions of [`AbiFn`]'s type ([`function`] finds them) or in kernels.
//!
//! # How a body is run in batches
//! Code processes the tuples of a batch stage by stage. A stage ends at a `Match`: it has put the hashes of its n live
//! tuples (and `active` flags, where the match has them) into that match's [`ProbeScratch`], and what later stages need of
//! each tuple into batch buffers of its own in [`Worker::scratch`]. Then it calls `probe_begin`, and `probe_next` until
//! that returns 0; each call delivers at most [`BATCH`] pairs (build row, number of the tuple within the stage), for which
//! the next stage runs. A `Repeat` works alike ([`RepeatScratch`], `repeat_begin`, `repeat_next`; for each list whose elements it delivers, [`ElementsScratch`] and `repeat_elements`). Pairs come in no particular order. Conditions are tested by generated code, which sets
//! `matched[tuple]`; for `Left`, `Anti` and `Single` the unmatched tuples follow at the end (`probe_unmatched`), for
//! `Mark` all tuples do, as `matched` says.
//!
//! # How a batch pauses
//! [`Worker::steps`] says how many candidates and deliveries may be looked at; when they are used up, `probe_next` and
//! `repeat_next` return [`PAUSED`]. Code then writes the number of the stage plus one to [`Worker::resume`] and returns 2:
//! all else that it knows lies in the scratch memory. Called again with an equal batch, by any worker that was given the
//! memory ([`Worker::suspend`], [`Worker::go_on`]), it leaves out the loops of the stages up to that one, and asks the
//! generator for its next delivery. Nothing is allocated in a state and finished after a delivery, so each row is whole.
//!
//! # Kernels
//! All are `extern "C"`; `str` and other 16-byte values are passed as two 64-bit words, low word (length and prefix of a
//! string) first. [`Kernel`] lists them, once, with signatures and addresses. Those that return u32 return 0, or 1 after an
//! error was stored in the worker; those that return a row return null then. Code that sees a failure writes
//! `error_position` and returns 1.

mod functions;
mod kernels;
mod layout;
mod lists;
#[cfg(test)]
mod tests;

pub use crate::fold::{FoldFn, fold_function};
pub use crate::generator::{DELIVERED, ElementsScratch, PAUSED, RepeatScratch};
pub use crate::group::{GROUP_PROBES, GroupLocal};
pub use crate::join::{BATCH, JoinTable, ProbeScratch, probe_begin, probe_next, probe_unmatched};
pub use crate::limit::LimitLocal;
pub use crate::pairs::PairFn;
pub use crate::result::{ResultColumn, ResultLocal};
pub use crate::rows::RowsLocal;
pub use crate::slot::Slot;
pub use crate::sum::{ExactSum, ExactVariance, sum_add, sum_add_all, variance_add};
pub use crate::values::Values;
pub use crate::worker::Worker;
pub use functions::function;
pub use kernels::{
    Kernel, Machine, f64_to_i128, group_new, group_prefetch, hash_i128, hash_interval, hash_str, i128_to_f64,
    interval_compare, raise, result_flush, rows_grow, str_compare, str_equal,
};
pub use layout::{AbiFn, Batch, ColumnRef, PipelineFn};
