//! Reading a row group: one reader a column, so that a step is the values of one column of a chunk. Where somebody asks some columns
//! first, the others are only read of chunks of which rows are wanted: whole pages of them are passed over.

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
    /// By column, where they have been opened.
    readers: Vec<Option<ColumnReader>>,
    /// So many columns at the beginning are asked first, or none.
    asked: usize,
    /// Where those who ask find them, among these.
    asked_places: Vec<usize>,
    /// By column: rows that nobody wants and it has not passed over yet.
    behind: Vec<usize>,
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
        let metadata = file.footer.metadata.metadata().row_group(row_group);
        let mask = ProjectionMask::roots(file.footer.metadata.parquet_schema(), order.iter().copied());
        footer::check_compression(&file.name, metadata, &mask)?;
        let chosen =
            || metadata.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|c| c.1);
        let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let (expected, longest) = (file.rows(row_group), chosen().map(|c| size(c.uncompressed_size())).max());
        let fitting = u128::from(expected) * u128::from(STEP_BYTES) / u128::from(longest.unwrap_or(0).max(1));
        let chunk_rows = usize::try_from(fitting).unwrap_or(CHUNK_ROWS).clamp(1, chunk_rows.max(1));
        let (readers, behind, decoded) = (order.iter().map(|_| None).collect(), vec![0; order.len()], Vec::new());
        let (asked, asked_places) = (0, Vec::new());
        Ok(Self {
            file,
            row_group,
            order,
            positions,
            readers,
            asked,
            asked_places,
            behind,
            chunk_rows,
            decoded,
            rows: 0,
            expected,
        })
    }

    /// Opens a column.
    fn open(&mut self, at: usize) -> Result<()> {
        let root = self.order[at];
        let flat = guarded(&self.file.name, || FlatColumn::open(&self.file, self.row_group, root))?;
        let reader = match flat {
            Some(flat) => ColumnReader::Flat(Box::new(flat)),
            None => {
                // It begins behind the rows that have been handed out.
                self.behind[at] = 0;
                self.open_any(root)?
            }
        };
        self.readers[at] = Some(reader);
        Ok(())
    }

    /// Passes over rows of a column that nobody wants.
    fn catch_up(&mut self, at: usize) -> Result<()> {
        let behind = std::mem::take(&mut self.behind[at]);
        match &mut self.readers[at] {
            _ if behind == 0 => {}
            Some(ColumnReader::Flat(flat)) => {
                let skipped = guarded(&self.file.name, || match flat.skip(behind) {
                    Ok(()) => Ok(true),
                    Err(Failure::File(ParquetError::NYI(_))) => Ok(false),
                    Err(Failure::File(error)) => Err(error),
                    // Nobody wants the value.
                    Err(Failure::Value(_)) => Ok(false),
                })?;
                if !skipped {
                    self.readers[at] = Some(self.open_any(self.order[at])?);
                }
            }
            _ => self.readers[at] = Some(self.open_any(self.order[at])?),
        }
        Ok(())
    }

    /// Opens a column of any type, behind the rows that have been handed out.
    fn open_any(&self, root: usize) -> Result<ColumnReader> {
        let file = &self.file;
        let schema = file.footer.metadata.parquet_schema();
        let leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root).count();
        // Of each leaf there may be a dictionary and a page.
        let bytes = PageBytes::new(file.origin.clone(), file.budget.clone(), 2 * leaves);
        let reader = guarded(&file.name, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, file.footer.metadata.clone())
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
        let at = self.decoded.len();
        self.catch_up(at)?;
        let file = &self.file;
        let read = match &mut self.readers[at] {
            None => return Err(Error::internal("a column that has not been opened")),
            Some(ColumnReader::Flat(flat)) => {
                let read = guarded(&file.name, || match flat.read(self.chunk_rows) {
                    Ok(column) => Ok(Read::Column(Ok(column))),
                    Err(Failure::Value(error)) => Ok(Read::Column(Err(error))),
                    Err(Failure::File(ParquetError::NYI(_))) => Ok(Read::Other),
                    Err(Failure::File(error)) => Err(error),
                })?;
                match read {
                    Read::Column(column) => column,
                    Read::Other => {
                        self.readers[at] = Some(self.open_any(self.order[at])?);
                        return self.decode();
                    }
                }
            }
            Some(ColumnReader::Any(reader)) => {
                let batch = guarded(&file.name, || reader.next().transpose().map_err(Into::into))?;
                batch.map(|batch| arrow_in::column_of(batch.column(0))).transpose()
            }
        };
        read.map_err(|e| {
            let field = &file.footer.fields[self.order[at]].name;
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
        self.step_if(&mut |_| Ok(true))
    }

    fn ask_first(&mut self, columns: &[usize]) {
        if self.asked > 0 || self.readers.iter().any(Option::is_some) {
            return;
        }
        let asked: Vec<usize> = columns.iter().map(|&column| self.order[self.positions[column]]).collect();
        let mut order = asked.clone();
        order.sort_unstable();
        order.dedup();
        self.asked = order.len();
        let others = self.order.iter().filter(|root| !asked.contains(root));
        order.extend(others);
        let place = |root: usize| order.iter().position(|&of| of == root).expect("among the columns");
        self.positions = self.positions.iter().map(|&position| place(self.order[position])).collect();
        self.asked_places = asked.into_iter().map(place).collect();
        self.order = order;
    }

    fn step_if(&mut self, admits: &mut dyn FnMut(&Chunk) -> Result<bool>) -> Result<Step> {
        self.file.cancel.check()?;
        if self.order.is_empty() {
            let left = (self.expected - self.rows).min(CHUNK_ROWS as u64) as usize;
            return if left == 0 { self.end() } else { Ok(self.chunk(left, Vec::new())) };
        }
        let at = self.decoded.len();
        if self.readers[at].is_none() {
            self.open(at)?;
            return Ok(Step::More);
        }
        let Some(column) = self.decode()? else { return self.end() };
        let rows = column.rows();
        if self.decoded.first().is_some_and(|first| first.rows() != rows) {
            return Err(errors::corrupt(&self.file.name, "its columns have different numbers of rows"));
        }
        self.decoded.push(column);
        if self.decoded.len() < self.order.len() {
            if self.decoded.len() == self.asked {
                let asked = self.asked_places.iter().map(|&place| self.decoded[place].clone()).collect();
                if !admits(&Chunk::new(rows, asked))? {
                    self.rows += rows as u64;
                    self.decoded.clear();
                    self.behind[self.asked..].iter_mut().for_each(|behind| *behind += rows);
                }
            }
            return Ok(Step::More);
        }
        let decoded = std::mem::take(&mut self.decoded);
        let columns = self.positions.iter().map(|&p| decoded[p].clone()).collect();
        Ok(self.chunk(rows, columns))
    }
}

#[cfg(test)]
mod tests;
