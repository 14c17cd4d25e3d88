//! Where the rows of a change go.

use std::fmt::Debug;
use std::ops::Range;

use base::Result;
use types::{Chunk, FreeRows, SqlType};

/// Takes the rows of a [`State::Table`](pipeline::ir::State::Table), from all workers at once. They take effect together
/// when [`finish`](Self::finish) succeeds, in the order of their morsels; if it is never called, none does.
pub trait Sink: Debug + Send + Sync {
    /// Rows of the morsel that began at row `morsel` of the source, behind those of it that came before.
    fn append(&self, worker: usize, morsel: u64, chunk: Chunk) -> Result<()>;

    /// Where code may write the values of rows that come next, so that they need not be copied: at most `most` rows of
    /// `types`; none if they are to come by [`append`](Self::append). Valid until the sink is called again for this worker.
    fn free_rows(&self, worker: usize, types: &[SqlType], most: usize) -> Result<Option<FreeRows>>;

    /// As [`append`](Self::append), of `rows` rows that were written to the [`free_rows`](Self::free_rows). `nulls` has the
    /// flags of columns with NULLs among them.
    ///
    /// # Safety
    /// The values are written, zeros where a row is NULL; headers are of UTF-8 text, whose payload lives until this returns.
    unsafe fn advance(&self, worker: usize, morsel: u64, rows: usize, nulls: &[Option<&[u8]>]) -> Result<()>;

    /// All rows of these rows of the source have come. `broken`: and some of the row behind them; the others come later,
    /// maybe from another worker, as of a morsel that begins there.
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool);

    /// All rows have come. Called once, unless an error or the client has ended the query.
    fn finish(&self) -> Result<()>;
}
