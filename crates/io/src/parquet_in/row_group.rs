//! Reading a row group: one reader a column, so that a step is the values of one column of a chunk.

use std::sync::Arc;

use base::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use types::{Chunk, Column};

use super::errors::guarded;
use super::flat::{Failure, FlatColumn};
use super::room::PageBytes;
use super::{ParquetFile, errors, footer};
use crate::arrow_in;
use crate::source::{CHUNK_ROWS, PieceReader, Step};

/// Bytes that the values of one column in a chunk should have at most.
const STEP_BYTES: u64 = 2 << 20;

/// The reading of a row group.
pub struct RowGroupReader {
    file: Arc<ParquetFile>,
    row_group: usize,
    /// The needed columns of the file, once each and in its order.
    order: Vec<usize>,
    /// Where each wanted column is among them.
    positions: Vec<usize>,
    /// By column, as far as they have been opened.
    readers: Vec<ColumnReader>,
    chunk_rows: usize,
    /// Columns of the chunk that is being read.
    decoded: Vec<Column>,
    /// Rows of the chunks that have been handed out.
    rows: u64,
    expected: u64,
}

/// The reading of a column of a row group.
enum ColumnReader {
    Flat(Box<FlatColumn>),
    /// Whatever the column is.
    Any(ParquetRecordBatchReader),
}

/// What a step of reading a flat column comes to.
enum Read {
    Column(Result<Option<Column>>),
    /// It is not flat enough.
    Other,
}

impl RowGroupReader {
    /// Chunks of at most `chunk_rows` rows.
    pub fn new(file: Arc<ParquetFile>, row_group: usize, columns: &[usize], chunk_rows: usize) -> Result<Self> {
        let mut order: Vec<usize> = columns.iter().map(|&c| file.columns[c]).collect();
        order.sort_unstable();
        order.dedup();
        let positions =
            columns.iter().map(|&c| order.binary_search(&file.columns[c]).expect("among the columns")).collect();
        let metadata = file.metadata.metadata().row_group(row_group);
        let mask = ProjectionMask::roots(file.metadata.parquet_schema(), order.iter().copied());
        footer::check_compression(&file.name, metadata, &mask)?;
        let chosen =
            || metadata.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|c| c.1);
        let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let (expected, longest) = (file.rows(row_group), chosen().map(|c| size(c.uncompressed_size())).max());
        let fitting = u128::from(expected) * u128::from(STEP_BYTES) / u128::from(longest.unwrap_or(0).max(1));
        let chunk_rows = usize::try_from(fitting).unwrap_or(CHUNK_ROWS).clamp(1, chunk_rows.max(1));
        let (readers, decoded) = (Vec::new(), Vec::new());
        Ok(Self { file, row_group, order, positions, readers, chunk_rows, decoded, rows: 0, expected })
    }

    /// Opens the next column.
    fn open(&mut self) -> Result<()> {
        let root = self.order[self.readers.len()];
        let flat = guarded(&self.file.name, || FlatColumn::open(&self.file, self.row_group, root))?;
        let reader = match flat {
            Some(flat) => ColumnReader::Flat(Box::new(flat)),
            None => self.open_any(root)?,
        };
        self.readers.push(reader);
        Ok(())
    }

    /// Opens a column of any type, behind the rows that have been handed out.
    fn open_any(&self, root: usize) -> Result<ColumnReader> {
        let file = &self.file;
        let schema = file.metadata.parquet_schema();
        let leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root).count();
        // Of each leaf there may be a dictionary and a page.
        let bytes = PageBytes::new(file.origin.clone(), file.budget.clone(), 2 * leaves);
        let reader = guarded(&file.name, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, file.metadata.clone())
                .with_row_groups(vec![self.row_group])
                .with_projection(ProjectionMask::roots(schema, [root]))
                .with_batch_size(self.chunk_rows)
                .with_offset(usize::try_from(self.rows).unwrap_or(usize::MAX))
                .build()
        })?;
        Ok(ColumnReader::Any(reader))
    }

    /// The next column of a chunk; none at the end.
    fn decode(&mut self) -> Result<Option<Column>> {
        let (file, at) = (&self.file, self.decoded.len());
        let read = match &mut self.readers[at] {
            ColumnReader::Flat(flat) => {
                let read = guarded(&file.name, || match flat.read(self.chunk_rows) {
                    Ok(column) => Ok(Read::Column(Ok(column))),
                    Err(Failure::Value(error)) => Ok(Read::Column(Err(error))),
                    Err(Failure::File(ParquetError::NYI(_))) => Ok(Read::Other),
                    Err(Failure::File(error)) => Err(error),
                })?;
                match read {
                    Read::Column(column) => column,
                    Read::Other => {
                        self.readers[at] = self.open_any(self.order[at])?;
                        return self.decode();
                    }
                }
            }
            ColumnReader::Any(reader) => {
                let batch = guarded(&file.name, || reader.next().transpose().map_err(Into::into))?;
                batch.map(|batch| arrow_in::column_of(batch.column(0))).transpose()
            }
        };
        read.map_err(|e| {
            let field = &file.fields[self.order[at]].name;
            Error::new(e.state(), format!("{} in column \"{field}\" of \"{}\"", e.message(), file.name))
        })
    }

    /// Hands out a chunk of so many rows.
    fn chunk(&mut self, rows: usize, columns: Vec<Column>) -> Step {
        self.rows += rows as u64;
        Step::Chunk(Chunk::new(rows, columns))
    }

    fn end(&self) -> Result<Step> {
        if self.rows == self.expected && self.decoded.is_empty() {
            return Ok(Step::End);
        }
        let (number, rows, expected) = (self.row_group, self.rows, self.expected);
        let detail = format!("row group {number} has {rows} rows, but should have {expected}");
        Err(errors::corrupt(&self.file.name, &detail))
    }
}

impl PieceReader for RowGroupReader {
    fn step(&mut self) -> Result<Step> {
        self.file.cancel.check()?;
        if self.order.is_empty() {
            let left = (self.expected - self.rows).min(CHUNK_ROWS as u64) as usize;
            return if left == 0 { self.end() } else { Ok(self.chunk(left, Vec::new())) };
        }
        if self.readers.len() < self.order.len() {
            self.open()?;
            return Ok(Step::More);
        }
        let Some(column) = self.decode()? else { return self.end() };
        if self.decoded.first().is_some_and(|first| first.rows() != column.rows()) {
            return Err(errors::corrupt(&self.file.name, "its columns have different numbers of rows"));
        }
        self.decoded.push(column);
        if self.decoded.len() < self.order.len() {
            return Ok(Step::More);
        }
        let decoded = std::mem::take(&mut self.decoded);
        let columns = self.positions.iter().map(|&p| decoded[p].clone()).collect();
        Ok(self.chunk(decoded[0].rows(), columns))
    }
}
