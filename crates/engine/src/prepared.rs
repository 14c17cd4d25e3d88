//! Plans as they run.

use std::sync::Arc;

use codegen::Executable;
use pipeline::ir::Program;

use crate::computed::OfTexts;

/// A plan as it runs, as often as one likes: its program and its code.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub program: Arc<Program>,
    pub code: Executable,
    /// Whether no operator is expected to make many rows.
    pub few_rows: bool,
    /// Whether its rows are to be made in their order, by one thread.
    pub in_order: bool,
    /// What its scans compute once a text of a dictionary.
    pub computed: Arc<[OfTexts]>,
    /// Bytes that it is expected to need.
    pub need: usize,
}
