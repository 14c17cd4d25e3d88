//! When nodes that have left the tree are freed: once all threads have let go of what they had when these left it.
//!
//! `crossbeam-epoch` is taken as it is. A guard is for a batch of operations, which makes its cost (a fence) small beside them.

pub use crossbeam_epoch::{Guard, pin};
