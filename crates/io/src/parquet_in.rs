//! Parquet in: a morsel is a row group.
//!
//! The needed columns of a row group are read page by page: flat ones become columns at once ([`flat`]), others by way of Arrow
//! arrays. Texts are headers into the pages, so that what a dictionary page holds once is kept once. Row groups that
//! statistics exclude are not read.

mod ahead;
mod describe;
mod errors;
mod flat;
mod footer;
pub(crate) mod footers;
mod origin;
mod room;
mod row_group;
mod statistics;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef, TimeUnit};
use base::{Budget, CancelToken, Error, Result, SqlState};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::schema::types::SchemaDescriptor;
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::arriving::Arriving;
use crate::arrow_in;
use crate::context::OpenContext;
use crate::identity::Identity;
use crate::input::{Compression, Input};
use crate::source::{CHUNK_ROWS, ColumnStatistics, Field, FileSource, NoRows, PieceReader, PrunePredicate};
use ahead::Ahead;
pub use describe::describe;
use errors::guarded;
use footers::Footer;
pub use footers::Footers;
use origin::Origin;
use row_group::RowGroupReader;

/// Bytes that footers have at most, most of the time.
const FOOTER: u64 = 64 << 10;

/// A Parquet file, its footer read.
struct ParquetFile {
    name: String,
    origin: Origin,
    footer: Arc<Footer>,
    /// The file's column for each column of the source.
    columns: Vec<usize>,
    /// What pages are charged to.
    budget: Option<Budget>,
    cancel: CancelToken,
}

/// Parquet files as one source.
struct ParquetSource {
    schema: Vec<Field>,
    files: Vec<Arc<ParquetFile>>,
    /// File and row group of each morsel.
    morsels: Vec<(usize, usize)>,
    identity: Option<Identity>,
    ahead: Ahead,
}

/// Opens Parquet files. Columns are matched by name: every file must have those of the first, of the same types.
pub fn open_parquet(paths: &[PathBuf], context: &OpenContext) -> Result<Arc<dyn FileSource>> {
    let identity = |path: &PathBuf| Identity::of(std::slice::from_ref(path));
    let known: Vec<Option<Identity>> = paths.iter().map(identity).collect();
    let open = |path: &PathBuf| Input::open(path, Compression::None, context.means());
    let inputs = paths.iter().map(open).collect::<Result<Vec<_>>>()?;
    // Of files on servers, all footers at once.
    let footer = |input: &Input| input.want(std::iter::once(input.len().saturating_sub(FOOTER)..input.len()), true);
    let _coming = inputs.iter().map(footer).collect::<Result<Vec<_>>>()?;
    let file = |((path, input), known): ((&PathBuf, Input), Option<Identity>)| {
        context.cancel.check()?;
        let name = path.display().to_string();
        // The file that was opened is the one that was there before and is there now.
        let same = known.filter(|before| identity(path).as_ref() == Some(before));
        let kept = context.footers.as_ref().zip(same);
        let file = match kept.as_ref().and_then(|(footers, of)| footers.get(of)) {
            Some(footer) => ParquetFile::with(name, Origin::new(input), footer),
            None => {
                let file = ParquetFile::open(name, Origin::new(input))?;
                kept.into_iter().for_each(|(footers, of)| footers.keep(of, &file.footer));
                file
            }
        };
        Ok(ParquetFile { budget: context.budget.clone(), cancel: context.cancel.clone(), ..file })
    };
    let identity = Identity::of(paths);
    let source = ParquetSource::new(paths.iter().zip(inputs).zip(known).map(file).collect::<Result<_>>()?)?;
    Ok(Arc::new(ParquetSource { identity, ..source }))
}

/// Opens a Parquet file in memory.
pub fn open_parquet_bytes(name: &str, bytes: Bytes) -> Result<Arc<dyn FileSource>> {
    Ok(Arc::new(ParquetSource::new(vec![ParquetFile::open(name.to_owned(), Origin::new(Input::memory(bytes)))?])?))
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
        let mut fields = arrow_in::fields_of(metadata.schema());
        let columns = metadata.metadata().file_metadata().schema_descr().root_schema().get_fields();
        for (field, column) in fields.iter_mut().zip(columns) {
            if column.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid) {
                *field = Field { nullable: field.nullable, ..Field::new(&field.name, SqlType::Uuid) };
            }
        }
        Ok(Self::with(name, origin, Arc::new(Footer::new(metadata, fields))))
    }

    /// A file with this footer.
    fn with(name: String, origin: Origin, footer: Arc<Footer>) -> Self {
        let columns = (0..footer.fields.len()).collect();
        Self { name, origin, footer, columns, budget: None, cancel: CancelToken::new() }
    }

    fn row_groups(&self) -> usize {
        self.footer.metadata.metadata().num_row_groups()
    }

    fn rows(&self, row_group: usize) -> u64 {
        u64::try_from(self.footer.metadata.metadata().row_group(row_group).num_rows()).unwrap_or(0)
    }

    /// Checks that the file has the columns of `schema`, and notes where.
    fn conform(&mut self, schema: &[Field], first: &str) -> Result<()> {
        self.columns.clear();
        for field in schema {
            let at = self.footer.fields.iter().position(|f| f.name == field.name).ok_or_else(|| {
                let message = format!("file \"{}\" has no column \"{}\", which \"{first}\" has", self.name, field.name);
                Error::new(SqlState::DATATYPE_MISMATCH, message)
            })?;
            if self.footer.fields[at].sql_type != field.sql_type {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "column \"{}\" is of type {} in \"{}\", but of type {} in \"{first}\"",
                        field.name, self.footer.fields[at].sql_type, self.name, field.sql_type
                    ),
                )
                .hint("union_by_name = true reads both as a type that has the values of both"));
            }
            self.columns.push(at);
        }
        Ok(())
    }
}

/// The schema with top-level strings as views, decimals that lie in 4 or 8 bytes as they lie, and old 96-bit timestamps in
/// microseconds: in nanoseconds only the years from 1677 to 2262 fit.
fn as_read(schema: &SchemaRef, parquet: &SchemaDescriptor) -> SchemaRef {
    let columns = parquet.root_schema().get_fields();
    let physical = |at: usize| columns.get(at).filter(|c| c.is_primitive()).map(|c| c.get_physical_type());
    let is_int96 = |at: usize| physical(at) == Some(PhysicalType::INT96);
    let fields = schema.fields().iter().enumerate().map(|(at, field)| match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_int96(at) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(micros))
        }
        DataType::Decimal128(precision, scale) => {
            let as_stored = match physical(at) {
                Some(PhysicalType::INT32) if *precision <= 9 => DataType::Decimal32(*precision, *scale),
                Some(PhysicalType::INT64) if *precision <= 18 => DataType::Decimal64(*precision, *scale),
                _ => return field.clone(),
            };
            Arc::new(field.as_ref().clone().with_data_type(as_stored))
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
        let mut schema = first.footer.fields.clone();
        for file in others.iter_mut() {
            file.conform(&schema, &first.name)?;
            for (field, &at) in schema.iter_mut().zip(&file.columns) {
                field.nullable |= file.footer.fields[at].nullable;
            }
        }
        let morsels =
            files.iter().enumerate().flat_map(|(f, file)| (0..file.row_groups()).map(move |g| (f, g))).collect();
        Ok(Self {
            schema,
            files: files.into_iter().map(Arc::new).collect(),
            morsels,
            identity: None,
            ahead: Ahead::default(),
        })
    }

    /// Whether no row of a morsel can satisfy all of these.
    fn is_pruned(&self, morsel: usize, prune: &[PrunePredicate]) -> bool {
        let ((file, row_group), rows) = (self.morsels[morsel], self.rows_of(morsel));
        prune.iter().any(|p| !self.row_group_statistics(file, row_group, p.column).admits(p, rows))
    }

    fn row_group_statistics(&self, file: usize, row_group: usize, column: usize) -> ColumnStatistics {
        let file = &self.files[file];
        file.footer.statistics(file.columns[column], row_group)
    }
}

impl FileSource for ParquetSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
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

    fn file_of(&self, morsel: usize) -> usize {
        self.morsels[morsel].0
    }

    fn rows_of(&self, morsel: usize) -> u64 {
        let (file, row_group) = self.morsels[morsel];
        self.files[file].rows(row_group)
    }

    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        columns.iter().try_for_each(|&c| self.schema[c].check_supported())?;
        let (file, row_group) = self.morsels[morsel];
        if self.is_pruned(morsel, prune) {
            return Ok(Box::new(NoRows));
        }
        let reader = RowGroupReader::new(self.files[file].clone(), row_group, columns, chunk_rows)?;
        Ok(match self.want_ahead(morsel, columns, prune)? {
            Some(wanted) => Arriving::boxed(wanted, move || Ok(Box::new(reader))),
            None => Box::new(reader),
        })
    }

    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        // A sample is not worth whole columns that come from far away.
        if self.files.first().is_some_and(|file| file.origin.is_remote()) {
            return Ok(Box::new(NoRows));
        }
        self.read(0, columns, &[], CHUNK_ROWS / 4)
    }

    fn extremes(&self, morsel: usize, columns: &[usize]) -> Option<Chunk> {
        let (file, row_group) = self.morsels[morsel];
        let rows = self.rows_of(morsel);
        let ends = columns.iter().map(|&column| {
            let known = self.row_group_statistics(file, row_group, column);
            let ends = match (known.min, known.max) {
                (Some(min), Some(max)) if known.are_exact => [min, max],
                _ if known.nulls == Some(rows) => [Value::Null, Value::Null],
                _ => return None,
            };
            let mut builder = ColumnBuilder::new(self.schema[column].sql_type, ends.len());
            ends.iter().for_each(|end| builder.push_value(end));
            Some(builder.finish())
        });
        ends.collect::<Option<Vec<_>>>().map(|columns| Chunk::new(2, columns))
    }
    fn statistics_of(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let (file, row_group) = self.morsels[morsel];
        self.row_group_statistics(file, row_group, column)
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        let mut pieces = self.morsels.iter().map(|&(file, group)| self.row_group_statistics(file, group, column));
        let Some(first) = pieces.next() else { return ColumnStatistics::default() };
        pieces.fold(first, ColumnStatistics::and)
    }
}

#[cfg(test)]
mod tests;
