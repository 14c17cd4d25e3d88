//! What the engine scans: [`FileSource`].

use std::sync::Arc;

use base::{CancelToken, Error, Result};
use remote::Wanted;
use types::{Chunk, Column, SqlType, Value};

use crate::identity::Identity;

/// Most rows in a chunk that a source hands out.
pub const CHUNK_ROWS: usize = 1 << 16;
/// Rows of a chunk where few are likely to be wanted.
pub const FIRST_ROWS: usize = 1 << 12;

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, as the file has it.
    pub name: String,
    /// The SQL type that its values are read as.
    pub sql_type: SqlType,
    /// Whether it may hold NULLs.
    pub nullable: bool,
    /// Why the column cannot be read, if its type has no counterpart in SQL: using it is an error, having it is not.
    pub unsupported: Option<String>,
}

impl Field {
    /// A nullable field.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Self {
        Self { name: name.into(), sql_type, nullable: true, unsupported: None }
    }

    /// An error (0A000) if the column cannot be read.
    pub fn check_supported(&self) -> Result<()> {
        match &self.unsupported {
            None => Ok(()),
            Some(what) => Err(Error::unsupported(format!("column \"{}\" of type {what}", self.name))
                .hint("select the other columns by name")),
        }
    }
}

/// A comparison that statistics can decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `IS NULL`; the constant does not matter.
    IsNull,
    /// `IS NOT NULL`; the constant does not matter.
    IsNotNull,
}

/// `column op constant`. A source may leave out rows for which this is not true, and is free to leave out none.
#[derive(Clone, Debug, PartialEq)]
pub struct PrunePredicate {
    /// Index into [`FileSource::schema`].
    pub column: usize,
    /// The comparison.
    pub op: CompareOp,
    /// A value of the column's SQL type (decimals: at the column's scale).
    pub constant: Value,
}

/// Smallest and largest value and the number of NULLs of a column, as far as a file's own statistics tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// No value is smaller.
    pub min: Option<Value>,
    /// No value is greater (of floating-point columns: none but NaN).
    pub max: Option<Value>,
    /// Whether both are values of rows, and of all values the least and the greatest.
    pub are_exact: bool,
    /// Rows that are NULL.
    pub nulls: Option<u64>,
}

impl ColumnStatistics {
    /// Of both: the rows of either.
    pub fn and(self, other: Self) -> Self {
        Self {
            min: self.min.zip(other.min).map(|(a, b)| if a.total_cmp(&b).is_le() { a } else { b }),
            max: self.max.zip(other.max).map(|(a, b)| if a.total_cmp(&b).is_ge() { a } else { b }),
            are_exact: self.are_exact && other.are_exact,
            nulls: self.nulls.zip(other.nulls).map(|(a, b)| a + b),
        }
    }

    /// Whether some row might satisfy the predicate. `rows` is the number of rows that the statistics cover.
    pub fn admits(&self, predicate: &PrunePredicate, rows: u64) -> bool {
        let all_null = self.nulls == Some(rows);
        let constant = &predicate.constant;
        match predicate.op {
            CompareOp::IsNull => return self.nulls != Some(0),
            CompareOp::IsNotNull => return !all_null,
            _ => {}
        }
        if all_null || constant.is_null() {
            return false;
        }
        // NaN is above all numbers in SQL, but no part of a file's statistics.
        let float = matches!(constant, Value::Float(_));
        let below_max = || float || self.max.as_ref().is_none_or(|m| constant.total_cmp(m).is_le());
        let strictly_below_max = || float || self.max.as_ref().is_none_or(|m| constant.total_cmp(m).is_lt());
        let above_min = || self.min.as_ref().is_none_or(|m| constant.total_cmp(m).is_ge());
        let strictly_above_min = || self.min.as_ref().is_none_or(|m| constant.total_cmp(m).is_gt());
        match predicate.op {
            CompareOp::Eq => below_max() && above_min(),
            CompareOp::Lt => strictly_above_min(),
            CompareOp::Le => above_min(),
            CompareOp::Gt => strictly_below_max(),
            CompareOp::Ge => below_max(),
            CompareOp::IsNull | CompareOp::IsNotNull => true,
        }
    }
}

/// How far a step of reading came.
#[derive(Debug)]
pub enum Step {
    /// To the next rows, at most [`CHUNK_ROWS`].
    Chunk(Chunk),
    /// Nowhere yet.
    More,
    /// Nowhere, before these bytes are there.
    Wait(Arc<Wanted>),
    /// To the end.
    End,
}

/// The reading of one piece: any worker may take the next step.
pub trait PieceReader: Send {
    /// Goes on for about half a millisecond, whatever the piece holds: the text of a single record or the values of a
    /// page are the least. Not called again after the end or an error.
    fn step(&mut self) -> Result<Step>;

    /// Chunks are only wanted if rows of these columns, given by their places among those that are read, pass the test of
    /// [`step_if`](Self::step_if). Said before the first step; a reader may read them before the others, and is free not to.
    fn ask_first(&mut self, _columns: &[usize]) {}

    /// As [`step`](Self::step). If the reader has read the columns that it is to ask first of some rows, `admits` is shown them,
    /// and says whether any of the rows may be wanted: if not, nothing else is read of them.
    fn step_if(&mut self, _admits: &mut dyn FnMut(&Chunk) -> Result<bool>) -> Result<Step> {
        self.step()
    }
}

/// A piece of which no row is wanted.
pub struct NoRows;

impl PieceReader for NoRows {
    fn step(&mut self) -> Result<Step> {
        Ok(Step::End)
    }
}

/// A readable file, or several as one, with its schema; opened and sniffed once.
pub trait FileSource: Send + Sync {
    /// The columns.
    fn schema(&self) -> &[Field];
    /// Number of rows: exact if [`exact_rows`](Self::exact_rows) says so.
    fn estimated_rows(&self) -> u64;
    /// Number of rows if it is known without reading.
    fn exact_rows(&self) -> Option<u64> {
        None
    }
    /// Number of pieces that are read independently; it never changes.
    fn morsels(&self) -> usize;
    /// The number of the file that a morsel is of.
    fn file_of(&self, _morsel: usize) -> usize {
        0
    }
    /// Number of pieces of work that are best done, by many workers at once, before the first read; 0 if there are none.
    fn preparations(&self) -> usize {
        0
    }
    /// Does a step of one of them, and says whether it was the last. A read does what was left out.
    fn prepare(&self, _piece: usize) -> Result<bool> {
        Ok(true)
    }
    /// Rows of one morsel: exact where the file says so, else an estimate.
    fn rows_of(&self, _morsel: usize) -> u64 {
        self.estimated_rows().div_ceil(self.morsels().max(1) as u64)
    }
    /// Begins to read one morsel: chunks of the given columns (indexes into the schema, in that order, repetitions
    /// allowed), in the order of the file, without rows that `prune` excludes for certain. Many may be read at once.
    /// Chunks have at most `chunk_rows` rows where that spares work if the reading ends early.
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>>;
    /// Begins to read some of the first rows, for a sample: without work that only reading all is worth.
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        self.read(0, columns, &[], CHUNK_ROWS / 4)
    }
    /// Rows that have the same least and greatest values in the given columns as those of a morsel, where that is known
    /// without reading it.
    fn extremes(&self, _morsel: usize, _columns: &[usize]) -> Option<Chunk> {
        None
    }
    /// What tells these files from others, and from themselves after a change.
    fn identity(&self) -> Option<Identity> {
        None
    }
    /// What the files' own statistics say about a column of one morsel.
    fn statistics_of(&self, _morsel: usize, _column: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
    /// What the files' own statistics say about a column.
    fn statistics(&self, _column: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}

/// Chunks in memory as a source: a morsel is a chunk. Data frames of the host language arrive this way.
pub struct MemorySource {
    schema: Vec<Field>,
    chunks: Vec<Chunk>,
}

impl MemorySource {
    /// A source of `chunks`, whose columns have the types of `schema`.
    pub fn new(schema: Vec<Field>, chunks: Vec<Chunk>) -> Self {
        for chunk in &chunks {
            assert!(chunk.columns().iter().map(Column::sql_type).eq(schema.iter().map(|f| f.sql_type)));
        }
        Self { schema, chunks }
    }
}

impl FileSource for MemorySource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    fn estimated_rows(&self) -> u64 {
        self.chunks.iter().map(|c| c.rows() as u64).sum()
    }
    fn exact_rows(&self) -> Option<u64> {
        Some(self.estimated_rows())
    }
    fn morsels(&self) -> usize {
        self.chunks.len()
    }
    fn rows_of(&self, morsel: usize) -> u64 {
        self.chunks[morsel].rows() as u64
    }
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        _prune: &[PrunePredicate],
        _chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let chunk = &self.chunks[morsel];
        columns.iter().try_for_each(|&c| self.schema[c].check_supported())?;
        Ok(Box::new(Once::new(Chunk::new(chunk.rows(), columns.iter().map(|&c| chunk.column(c).clone()).collect()))))
    }
}

/// A piece that is a chunk.
pub struct Once(Option<Chunk>);

impl Once {
    /// The reading of `chunk`.
    pub fn new(chunk: Chunk) -> Self {
        Self(Some(chunk))
    }
}

impl PieceReader for Once {
    fn step(&mut self) -> Result<Step> {
        Ok(self.0.take().map_or(Step::End, Step::Chunk))
    }
}

/// Reads everything on this thread.
pub fn read_all(source: &Arc<dyn FileSource>, columns: &[usize]) -> Result<Vec<Chunk>> {
    let mut chunks = Vec::new();
    for morsel in 0..source.morsels() {
        read_to_end(&mut *source.clone().read(morsel, columns, &[], CHUNK_ROWS)?, |chunk| chunks.push(chunk))?;
    }
    Ok(chunks)
}

/// Takes all steps of a reading.
pub fn read_to_end(reader: &mut dyn PieceReader, mut take: impl FnMut(Chunk)) -> Result<()> {
    loop {
        match reader.step()? {
            Step::Chunk(chunk) => take(chunk),
            Step::More => {}
            Step::Wait(wanted) => wanted.wait(&CancelToken::new())?,
            Step::End => return Ok(()),
        }
    }
}

/// Some columns of a source, in another order.
struct Selected {
    source: Arc<dyn FileSource>,
    schema: Vec<Field>,
    columns: Vec<usize>,
}

/// The columns of `source` that have the expected names, in that order. Types are the source's own.
pub(crate) fn select_columns(
    source: Arc<dyn FileSource>,
    expected: &[(String, SqlType)],
    file: &str,
) -> Result<Arc<dyn FileSource>> {
    let find = |name: &String| {
        source.schema().iter().position(|f| f.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::new(base::SqlState::UNDEFINED_COLUMN, format!("file \"{file}\" has no column \"{name}\""))
        })
    };
    let columns = expected.iter().map(|(name, _)| find(name)).collect::<Result<Vec<_>>>()?;
    let schema = columns.iter().map(|&c| source.schema()[c].clone()).collect();
    Ok(Arc::new(Selected { source, schema, columns }))
}

impl Selected {
    fn of_source(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().map(|&c| self.columns[c]).collect()
    }
}

/// What a source with other columns, over the field `source`, has of that: its rows and how they are cut.
macro_rules! morsels_of_source {
    () => {
        fn estimated_rows(&self) -> u64 {
            self.source.estimated_rows()
        }
        fn exact_rows(&self) -> Option<u64> {
            self.source.exact_rows()
        }
        fn morsels(&self) -> usize {
            self.source.morsels()
        }
        fn file_of(&self, morsel: usize) -> usize {
            self.source.file_of(morsel)
        }
        fn preparations(&self) -> usize {
            self.source.preparations()
        }
        fn prepare(&self, piece: usize) -> base::Result<bool> {
            self.source.prepare(piece)
        }
        fn rows_of(&self, morsel: usize) -> u64 {
            self.source.rows_of(morsel)
        }
    };
}
pub(crate) use morsels_of_source;

impl FileSource for Selected {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    morsels_of_source!();
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let prune: Vec<PrunePredicate> =
            prune.iter().map(|p| PrunePredicate { column: self.columns[p.column], ..p.clone() }).collect();
        self.source.clone().read(morsel, &self.of_source(columns), &prune, chunk_rows)
    }
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        self.source.clone().read_first(&self.of_source(columns))
    }
    fn extremes(&self, morsel: usize, columns: &[usize]) -> Option<Chunk> {
        self.source.extremes(morsel, &self.of_source(columns))
    }
    fn statistics_of(&self, morsel: usize, column: usize) -> ColumnStatistics {
        self.source.statistics_of(morsel, self.columns[column])
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        self.source.statistics(self.columns[column])
    }
}
