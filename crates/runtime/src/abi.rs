//! The contract between generated code and Rust: memory layouts and callable functions.
//!
//! Generated code and the reference interpreter run a pipeline's body over a [`Batch`] of tuples, with one [`Worker`]
//! each. Everything that generated code reads or writes inline is `#[repr(C)]` here, with constants for the offsets; all
//! else happens in functions of [`AbiFn`]'s type or of the kernels named below.
//!
//! # How a body is run in batches
//! Code processes the tuples of a batch stage by stage. A stage ends at a `Match`: it has put the hashes of its n live
//! tuples (and `active` flags, where the match has them) into that match's [`ProbeScratch`], and what later stages need of
//! each tuple into batch buffers of its own in [`Worker::scratch`]. Then it calls `probe_begin`, and `probe_next` until
//! that returns 0; each call delivers at most [`BATCH`] pairs (build row, number of the tuple within the stage), for which
//! the next stage runs. Conditions are tested by generated code, which sets `matched[tuple]`; for `Left`, `Anti`, `Mark`
//! and `Single` the unmatched tuples follow at the end.

mod layout;

pub use layout::{
    AbiFn, BATCH, Batch, ColumnRef, GROUP_PROBES, GroupLocal, JoinTable, PairFn, PipelineFn, ProbeScratch, ResultColumn,
    ResultLocal, RowsLocal, Slot, Worker,
};
