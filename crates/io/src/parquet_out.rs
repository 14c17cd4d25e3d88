//! Parquet out. The columns of a row group are encoded by many workers at once; what comes of a file depends on none of them.

mod dictionaries;
mod intervals;

use std::io::Write;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use types::{Chunk, SqlType};

use crate::arrow_out;
use crate::input::write_error;
use crate::new_file::NewFile;
use crate::option::{bad, pairs};
use crate::source::Field;
use base::helpers::Helpers;

/// Rows in a row group: as DuckDB writes them, and few enough to be a morsel.
const ROW_GROUP: usize = 122_880;

/// Rows that are collected before the workers are asked to encode them.
const AT_ONCE: usize = 16_384;

/// The name by which memory is charged.
const OPERATOR: &str = "COPY TO";

/// What a writer is started with: checked options.
pub struct Prepared {
    /// Of rows as they come, and as they are written.
    given: SchemaRef,
    schema: SchemaRef,
    properties: WriterPropertiesPtr,
}

/// Writes chunks to a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    given: SchemaRef,
    schema: SchemaRef,
    /// What is to be opened, once it is seen how it begins.
    closed: Option<(W, WriterPropertiesPtr)>,
    opened: Option<Opened<W>>,
    /// Most rows of a row group.
    most: usize,
    /// Rows of the row group that are being encoded, or are.
    rows: usize,
    columns: Columns,
    /// Rows that are to be encoded next.
    pending: Vec<RecordBatch>,
    helpers: Option<Arc<dyn Helpers>>,
    /// For the row group that is being collected.
    charged: Option<Reservation>,
}

struct Opened<W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
}

/// Where the values of Parquet's columns are: the field, and the number among what it is made of.
fn places((number, field): (usize, &arrow_schema::FieldRef)) -> impl Iterator<Item = (usize, usize)> + use<> {
    (0..leaves(field.data_type())).map(move |place| (number, place))
}

/// How many columns a type is in Parquet.
fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item) | DataType::Map(item, _) => leaves(item.data_type()),
        _ => 1,
    }
}

/// The columns of a row group, by number: whoever encodes one has it for himself.
type Columns = Arc<[Mutex<Option<ArrowColumnWriter>>]>;

#[cold]
fn error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => write_error(&e),
            Err(e) => Error::new(SqlState::IO_ERROR, format!("could not write Parquet: {e}")),
        },
        e => Error::new(SqlState::IO_ERROR, format!("could not write Parquet: {e}")),
    }
}

impl ParquetWriter<NewFile> {
    /// Checks the fields and options: compression `zstd` (default), `snappy`, `lz4`, `gzip` or `none`, and its level, rows in a
    /// row group, keys and values for the footer.
    pub fn prepare(fields: &[Field], options: &[(String, String)]) -> Result<Prepared> {
        let value = |name: &str| options.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let compression = compression(value("compression"), value("compression_level"))?;
        let rows = match value("row_group_size") {
            None => ROW_GROUP,
            Some(text) => text.parse().ok().filter(|r| *r > 0).ok_or_else(|| bad("row_group_size", text))?,
        };
        let version = match value("parquet_version").map(str::to_ascii_lowercase).as_deref() {
            None | Some("v1") => WriterVersion::PARQUET_1_0,
            Some("v2") => WriterVersion::PARQUET_2_0,
            Some(other) => return Err(bad("parquet_version", other).hint("it is v1 or v2")),
        };
        let pairs = value("kv_metadata").map(|text| pairs("kv_metadata", text)).transpose()?;
        let pairs = pairs.map(|all| all.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect());
        // Parquet has no type for bare NULLs that all readers know.
        let fields: Vec<Field> = fields
            .iter()
            .map(|f| match f.sql_type {
                SqlType::Null => Ok(Field { sql_type: SqlType::Text, ..f.clone() }),
                SqlType::Interval => Ok(f.clone()),
                of if intervals::are_within(of) => {
                    Err(Error::unsupported(format!("writing column \"{}\" of type {of} to Parquet", f.name))
                        .hint("cast it to text"))
                }
                _ => Ok(f.clone()),
            })
            .collect::<Result<_>>()?;
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(rows))
            .set_writer_version(version)
            .set_key_value_metadata(pairs)
            .set_created_by("MorselDB".to_owned())
            .build();
        let given = arrow_out::schema_of(&fields);
        Ok(Prepared { schema: intervals::as_bytes(&given), given, properties: Arc::new(properties) })
    }
}

/// How pages are compressed.
fn compression(name: Option<&str>, level: Option<&str>) -> Result<Compression> {
    let said = level.map(|text| text.parse::<i32>().map_err(|_| bad("compression_level", text))).transpose()?;
    let wrong = |_: ParquetError| bad("compression_level", level.unwrap_or_default());
    Ok(match name.unwrap_or("zstd").to_ascii_lowercase().as_str() {
        "zstd" => Compression::ZSTD(said.map_or(Ok(ZstdLevel::default()), ZstdLevel::try_new).map_err(wrong)?),
        "gzip" => {
            let of = |level| u32::try_from(level).map_or(GzipLevel::try_new(u32::MAX), GzipLevel::try_new);
            Compression::GZIP(said.map_or(Ok(GzipLevel::default()), of).map_err(wrong)?)
        }
        _ if level.is_some() => {
            return Err(bad("compression_level", level.unwrap_or_default()).hint("zstd and gzip have levels"));
        }
        "snappy" => Compression::SNAPPY,
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "none" | "uncompressed" => Compression::UNCOMPRESSED,
        other => return Err(bad("compression", other).hint("zstd, snappy, lz4, gzip or none")),
    })
}

impl Prepared {
    /// Starts a file, which `helpers` help to encode.
    pub fn start<W: Write + Send>(
        self,
        sink: W,
        budget: Option<&Budget>,
        helpers: Option<Arc<dyn Helpers>>,
    ) -> Result<ParquetWriter<W>> {
        let most = self.properties.max_row_group_row_count().unwrap_or(ROW_GROUP);
        let charged = budget.map(|b| b.reserve(0, OPERATOR)).transpose()?;
        let (given, schema) = (self.given, self.schema);
        let (closed, opened) = (Some((sink, self.properties)), None);
        let (columns, pending) = (Arc::new([]), Vec::new());
        Ok(ParquetWriter { given, schema, closed, opened, most, rows: 0, columns, pending, helpers, charged })
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes the rows of a chunk.
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let typed = chunk.columns().iter().map(|c| match c.sql_type() {
            SqlType::Null => crate::arrow_in::all_null(SqlType::Text, c.rows()),
            _ => c.clone(),
        });
        let chunk = Chunk::new(chunk.rows(), typed.collect());
        for batch in arrow_out::batches_of(&chunk, &self.given)? {
            let batch = intervals::batch(batch, &self.schema)?;
            let mut from = 0;
            while from < batch.num_rows() {
                let now = (batch.num_rows() - from).min(self.most - self.rows);
                self.pending.push(batch.slice(from, now));
                (from, self.rows) = (from + now, self.rows + now);
                if self.rows == self.most {
                    self.end_row_group()?;
                } else if self.pending.iter().map(RecordBatch::num_rows).sum::<usize>() >= AT_ONCE {
                    self.encode()?;
                    self.charge()?;
                }
            }
        }
        Ok(())
    }

    /// The file, which begins with the rows that are pending.
    fn opened(&mut self) -> Result<&mut Opened<W>> {
        if let Some((sink, properties)) = self.closed.take() {
            let properties = dictionaries::chosen(&properties, &self.pending, self.most);
            let options = intervals::options(&self.given, &self.schema, properties).map_err(error)?;
            let writer = ArrowWriter::try_new_with_options(sink, self.schema.clone(), options).map_err(error)?;
            let (file, factory) = writer.into_serialized_writer().map_err(error)?;
            self.opened = Some(Opened { file, factory });
        }
        self.opened.as_mut().ok_or_else(|| Error::internal("a file that could not be begun is written to"))
    }

    /// Runs a step for each of the columns.
    fn each_column(&self, step: impl Fn(usize) -> Result<()> + Send + Sync + 'static) -> Result<()> {
        match &self.helpers {
            Some(helpers) => helpers.each(self.columns.len(), Arc::new(move |column| step(column).map(|()| true))),
            None => (0..self.columns.len()).try_for_each(step),
        }
    }

    /// Encodes the rows that are pending.
    fn encode(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            let Opened { file, factory } = self.opened()?;
            let writers = factory.create_column_writers(file.flushed_row_groups().len()).map_err(error)?;
            self.columns = writers.into_iter().map(|writer| Mutex::new(Some(writer))).collect();
        }
        let places: Vec<(usize, usize)> = self.schema.fields().iter().enumerate().flat_map(places).collect();
        let (batches, columns, schema) = (mem::take(&mut self.pending), self.columns.clone(), self.schema.clone());
        self.each_column(move |number| {
            let mut column = columns[number].lock().unwrap_or_else(PoisonError::into_inner);
            let Some(column) = &mut *column else { return Ok(()) };
            for batch in &batches {
                let (field, place) = places[number];
                let leaves = compute_leaves(schema.field(field), batch.column(field)).map_err(error)?;
                if let Some(leaf) = leaves.get(place) {
                    column.write(leaf).map_err(error)?;
                }
            }
            Ok(())
        })
    }

    /// Encodes what is pending and writes the row group, if it has any row.
    fn end_row_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.encode()?;
        let chunks: Arc<[Mutex<Option<ArrowColumnChunk>>]> = self.columns.iter().map(|_| Mutex::default()).collect();
        let (columns, closed) = (self.columns.clone(), chunks.clone());
        self.each_column(move |number| {
            let column = columns[number].lock().unwrap_or_else(PoisonError::into_inner).take();
            let chunk = column.map(ArrowColumnWriter::close).transpose().map_err(error)?;
            *closed[number].lock().unwrap_or_else(PoisonError::into_inner) = chunk;
            Ok(())
        })?;
        let mut row_group = self.opened()?.file.next_row_group().map_err(error)?;
        for chunk in chunks.iter() {
            let chunk = chunk.lock().unwrap_or_else(PoisonError::into_inner).take();
            chunk.expect("each column was closed").append_to_row_group(&mut row_group).map_err(error)?;
        }
        row_group.close().map_err(error)?;
        (self.rows, self.columns) = (0, Arc::new([]));
        self.charge()
    }

    /// Charges what is collected; where memory is short, row groups are smaller.
    fn charge(&mut self) -> Result<()> {
        let size = |column: &Mutex<Option<ArrowColumnWriter>>| {
            column.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, ArrowColumnWriter::memory_size)
        };
        let bytes = self.columns.iter().map(size).sum();
        let Some(charged) = &mut self.charged else { return Ok(()) };
        match charged.resize(bytes) {
            Ok(()) => Ok(()),
            Err(error) if self.rows == 0 => Err(error),
            Err(_) => self.end_row_group(),
        }
    }

    /// Writes the footer and gives the sink back.
    pub fn finish(mut self) -> Result<W> {
        self.end_row_group()?;
        self.opened()?;
        let opened = self.opened.take().expect("opened just now");
        opened.file.into_inner().map_err(error)
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;
    use crate::parquet_in::open_parquet_bytes;
    use crate::source::read_all;
    use crate::tests::{fields, random_chunk};
    use base::helpers::PieceStep;

    /// A thread for each piece.
    struct Threads;

    impl Helpers for Threads {
        fn each(&self, count: usize, step: PieceStep) -> Result<()> {
            std::thread::scope(|scope| {
                let step = &step;
                let to_its_end = move |piece: usize| -> Result<()> {
                    while !step(piece)? {}
                    Ok(())
                };
                let run = |piece: usize| scope.spawn(move || to_its_end(piece));
                let all: Vec<_> = (0..count).map(run).collect();
                all.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
            })
        }
    }

    #[test]
    fn a_file_does_not_depend_on_who_helps() {
        let mut random = Random(12);
        let fields: Vec<Field> = fields().into_iter().filter(|f| f.sql_type != SqlType::Interval).collect();
        let chunks: Vec<Chunk> = [300, 40_000, 2, 60_000, 70]
            .into_iter()
            .map(|rows| {
                let mut columns = random_chunk(&mut random, rows).into_columns();
                columns.pop();
                Chunk::new(columns[0].rows(), columns)
            })
            .collect();
        for row_group_size in ["17", "16384", "50000"] {
            let most: u64 = row_group_size.parse().unwrap();
            let chunks = if most == 17 { &chunks[..1] } else { &chunks };
            let file = |helpers: Option<Arc<dyn Helpers>>| {
                let prepared =
                    ParquetWriter::prepare(&fields, &[("row_group_size".to_owned(), row_group_size.to_owned())])
                        .unwrap();
                let mut writer = prepared.start(Vec::new(), None, helpers).unwrap();
                chunks.iter().for_each(|chunk| writer.write(chunk).unwrap());
                writer.finish().unwrap()
            };
            let (alone, helped) = (file(None), file(Some(Arc::new(Threads))));
            assert!(alone == helped);
            let source = open_parquet_bytes("t", alone.into()).unwrap();
            assert!((0..source.morsels() - 1).all(|row_group| source.rows_of(row_group) == most));
            let rows = read_all(&source, &[0]).unwrap().iter().map(Chunk::rows).sum::<usize>();
            assert_eq!(rows, chunks.iter().map(Chunk::rows).sum::<usize>());
        }
    }
}
