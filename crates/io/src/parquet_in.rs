//! Parquet in: a morsel is a row group.
//!
//! The needed column chunks of a row group are read with one positioned read each and decoded to Arrow arrays, strings
//! as views, so that what a dictionary page holds once is kept once. Row groups that statistics exclude are not read.

mod chunks;
mod errors;
mod footer;
mod statistics;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef, TimeUnit};
use base::memory::Reservation;
use base::{Budget, CancelToken, Error, Result, SqlState};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::file::reader::Length;
use parquet::schema::types::SchemaDescriptor;
use types::Chunk;

use crate::arrow_in;
use crate::input::{Compression, Input, OPERATOR};
use crate::source::{CHUNK_ROWS, ColumnStatistics, Field, FileSource, PrunePredicate, Sink};
use chunks::{Origin, RowGroupBytes};
use errors::guarded;

/// A Parquet file, its footer read.
struct ParquetFile {
    name: String,
    origin: Origin,
    metadata: ArrowReaderMetadata,
    fields: Vec<Field>,
    /// The file's column for each column of the source.
    columns: Vec<usize>,
    statistics: statistics::Cache,
    /// What the bytes of a row group are charged to while it is read.
    budget: Option<Budget>,
    cancel: CancelToken,
}

/// Parquet files as one source.
struct ParquetSource {
    schema: Vec<Field>,
    files: Vec<ParquetFile>,
    /// File and row group of each morsel.
    morsels: Vec<(usize, usize)>,
}

/// Opens Parquet files. Columns are matched by name: every file must have those of the first, of the same types.
pub fn open_parquet(paths: &[PathBuf], budget: Option<&Budget>, cancel: &CancelToken) -> Result<Arc<dyn FileSource>> {
    let open = |path: &PathBuf| {
        cancel.check()?;
        let input = Input::open(path, Compression::None, usize::MAX, budget, cancel)?;
        let file = ParquetFile::open(path.display().to_string(), Origin(input))?;
        Ok(ParquetFile { budget: budget.cloned(), cancel: cancel.clone(), ..file })
    };
    Ok(Arc::new(ParquetSource::new(paths.iter().map(open).collect::<Result<_>>()?)?))
}

/// Opens a Parquet file in memory.
pub fn open_parquet_bytes(name: &str, bytes: Bytes) -> Result<Arc<dyn FileSource>> {
    Ok(Arc::new(ParquetSource::new(vec![ParquetFile::open(name.to_owned(), Origin(Input::memory(bytes)))?])?))
}

impl ParquetFile {
    fn open(name: String, origin: Origin) -> Result<Self> {
        let metadata = guarded(&name, || {
            let plain = ArrowReaderMetadata::load(&origin, ArrowReaderOptions::new())?;
            footer::check_rows(plain.metadata())?;
            // Strings as views: headers into the decoded pages, without a copy of the text.
            let wanted = as_read(plain.schema(), plain.metadata().file_metadata().schema_descr());
            let options = ArrowReaderOptions::new().with_schema(wanted);
            ArrowReaderMetadata::try_new(plain.metadata().clone(), options).or(Ok(plain))
        })?;
        let fields = arrow_in::fields_of(metadata.schema());
        let columns = (0..fields.len()).collect();
        let statistics = statistics::Cache::new(fields.len());
        Ok(Self { name, origin, metadata, fields, columns, statistics, budget: None, cancel: CancelToken::new() })
    }

    fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn rows(&self, row_group: usize) -> u64 {
        u64::try_from(self.metadata.metadata().row_group(row_group).num_rows()).unwrap_or(0)
    }

    /// Checks that the file has the columns of `schema`, and notes where.
    fn conform(&mut self, schema: &[Field], first: &str) -> Result<()> {
        self.columns.clear();
        for field in schema {
            let at = self.fields.iter().position(|f| f.name == field.name).ok_or_else(|| {
                let message = format!("file \"{}\" has no column \"{}\", which \"{first}\" has", self.name, field.name);
                Error::new(SqlState::DATATYPE_MISMATCH, message)
            })?;
            if self.fields[at].sql_type != field.sql_type {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "column \"{}\" is of type {} in \"{}\", but of type {} in \"{first}\"",
                        field.name, self.fields[at].sql_type, self.name, field.sql_type
                    ),
                ));
            }
            self.columns.push(at);
        }
        Ok(())
    }

    /// Charges the bytes that a read holds: the chosen column chunks.
    fn charge(&self, row_group: usize, mask: &ProjectionMask) -> Result<Option<Reservation>> {
        let chunks = self.metadata.metadata().row_group(row_group).columns().iter().enumerate();
        let bytes = chunks
            .filter(|(leaf, _)| mask.leaf_included(*leaf))
            .fold(0usize, |sum, (_, chunk)| sum.saturating_add(usize::try_from(chunk.compressed_size()).unwrap_or(0)));
        // A corrupt size is found by the read.
        let bytes = bytes.min(usize::try_from(Length::len(&self.origin)).unwrap_or(usize::MAX));
        self.budget.as_ref().map(|b| b.reserve(bytes, OPERATOR)).transpose()
    }

    fn read(&self, row_group: usize, columns: &[usize], sink: &mut Sink<'_>) -> Result<()> {
        // Decoded columns come once each and in the file's order.
        let mut order: Vec<usize> = columns.iter().map(|&c| self.columns[c]).collect();
        order.sort_unstable();
        order.dedup();
        let positions: Vec<usize> =
            columns.iter().map(|&c| order.binary_search(&self.columns[c]).expect("among the columns")).collect();
        let expected = self.rows(row_group);
        if order.is_empty() {
            return empty_chunks(expected, &self.cancel, sink);
        }
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), order.iter().copied());
        footer::check_compression(&self.name, self.metadata.metadata().row_group(row_group), &mask)?;
        let _charged = self.charge(row_group, &mask)?;
        let mut reader = guarded(&self.name, || {
            let bytes = RowGroupBytes::load(&self.origin, self.metadata.metadata().row_group(row_group), &mask)?;
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, self.metadata.clone())
                .with_row_groups(vec![row_group])
                .with_projection(mask)
                .with_batch_size(CHUNK_ROWS)
                .build()
        })?;
        let mut rows = 0;
        while let Some(batch) = guarded(&self.name, || reader.next().transpose().map_err(Into::into))? {
            self.cancel.check()?;
            rows += batch.num_rows() as u64;
            let convert = |&at: &usize| {
                arrow_in::column_of(batch.column(at)).map_err(|e| {
                    let field = &self.fields[order[at]].name;
                    Error::new(e.state(), format!("{} in column \"{field}\" of \"{}\"", e.message(), self.name))
                })
            };
            let distinct: Vec<usize> = (0..order.len()).collect();
            let decoded = distinct.iter().map(convert).collect::<Result<Vec<_>>>()?;
            sink(Chunk::new(batch.num_rows(), positions.iter().map(|&p| decoded[p].clone()).collect()))?;
        }
        if rows != expected {
            let detail = format!("row group {row_group} has {rows} rows, but should have {expected}");
            return Err(errors::corrupt(&self.name, &detail));
        }
        Ok(())
    }
}

fn empty_chunks(mut rows: u64, cancel: &CancelToken, sink: &mut Sink<'_>) -> Result<()> {
    while rows > 0 {
        cancel.check()?;
        let now = rows.min(CHUNK_ROWS as u64);
        sink(Chunk::new(now as usize, Vec::new()))?;
        rows -= now;
    }
    Ok(())
}

/// The schema with top-level strings as views, and old 96-bit timestamps in microseconds: in nanoseconds only the years
/// from 1677 to 2262 fit.
fn as_read(schema: &SchemaRef, parquet: &SchemaDescriptor) -> SchemaRef {
    let columns = parquet.root_schema().get_fields();
    let is_int96 =
        |at: usize| columns.get(at).is_some_and(|c| c.is_primitive() && c.get_physical_type() == PhysicalType::INT96);
    let fields = schema.fields().iter().enumerate().map(|(at, field)| match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_int96(at) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(micros))
        }
        DataType::Utf8 | DataType::LargeUtf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View))
        }
        _ => field.clone(),
    });
    Arc::new(arrow_schema::Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

impl ParquetSource {
    fn new(mut files: Vec<ParquetFile>) -> Result<Self> {
        let Some((first, others)) = files.split_first_mut() else {
            return Err(Error::new(SqlState::UNDEFINED_FILE, "no file to read"));
        };
        let mut schema = first.fields.clone();
        for file in others.iter_mut() {
            file.conform(&schema, &first.name)?;
            for (field, &at) in schema.iter_mut().zip(&file.columns) {
                field.nullable |= file.fields[at].nullable;
            }
        }
        let morsels =
            files.iter().enumerate().flat_map(|(f, file)| (0..file.row_groups()).map(move |g| (f, g))).collect();
        Ok(Self { schema, files, morsels })
    }

    fn row_group_statistics(&self, file: usize, row_group: usize, column: usize) -> ColumnStatistics {
        let file = &self.files[file];
        file.statistics.get(&file.metadata, file.columns[column], row_group)
    }
}

impl FileSource for ParquetSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }

    fn estimated_rows(&self) -> u64 {
        let rows = self.morsels.iter().map(|&(file, row_group)| self.files[file].rows(row_group));
        rows.fold(0, u64::saturating_add)
    }

    fn exact_rows(&self) -> Option<u64> {
        Some(self.estimated_rows())
    }

    fn morsels(&self) -> usize {
        self.morsels.len()
    }

    fn rows_of(&self, morsel: usize) -> u64 {
        let (file, row_group) = self.morsels[morsel];
        self.files[file].rows(row_group)
    }

    fn read(&self, morsel: usize, columns: &[usize], prune: &[PrunePredicate], sink: &mut Sink<'_>) -> Result<()> {
        columns.iter().try_for_each(|&c| self.schema[c].check_supported())?;
        let (file, row_group) = self.morsels[morsel];
        let rows = self.rows_of(morsel);
        if prune.iter().any(|p| !self.row_group_statistics(file, row_group, p.column).admits(p, rows)) {
            return Ok(());
        }
        self.files[file].read(row_group, columns, sink)
    }

    fn statistics(&self, column: usize) -> ColumnStatistics {
        let mut pieces = self.morsels.iter().map(|&(file, group)| self.row_group_statistics(file, group, column));
        let Some(first) = pieces.next() else { return ColumnStatistics::default() };
        pieces.fold(first, |all, piece| ColumnStatistics {
            min: all.min.zip(piece.min).map(|(a, b)| if a.total_cmp(&b).is_le() { a } else { b }),
            max: all.max.zip(piece.max).map(|(a, b)| if a.total_cmp(&b).is_ge() { a } else { b }),
            nulls: all.nulls.zip(piece.nulls).map(|(a, b)| a + b),
        })
    }
}

#[cfg(test)]
mod tests;
