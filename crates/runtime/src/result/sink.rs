//! Where the rows of a change go.

use std::fmt::Debug;
use std::ops::Range;

use base::Result;
use types::Chunk;

/// Takes the rows of a [`State::Table`](pipeline::ir::State::Table), from all workers at once. They take effect together
/// when [`finish`](Self::finish) succeeds, in the order of their morsels; if it is never called, none does.
pub trait Sink: Debug + Send + Sync {
    /// Rows of the morsel that began at row `morsel` of the source, behind those of it that came before.
    fn append(&self, worker: usize, morsel: u64, chunk: Chunk) -> Result<()>;

    /// All rows of these rows of the source have come. `broken`: and some of the row behind them; the others come later,
    /// maybe from another worker, as of a morsel that begins there.
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool);

    /// All rows have come. Called once, unless an error or the client has ended the query.
    fn finish(&self) -> Result<()>;
}
