//! Parquet out.

use std::io::Write;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use types::{Chunk, SqlType};

use crate::arrow_out;
use crate::input::write_error;
use crate::new_file::NewFile;
use crate::source::Field;

/// Rows in a row group: as DuckDB writes them, and few enough to be a morsel.
const ROW_GROUP: usize = 122_880;

/// The name by which memory is charged.
const OPERATOR: &str = "COPY TO";

/// What a writer is started with: checked options.
pub struct Prepared {
    schema: SchemaRef,
    properties: WriterPropertiesPtr,
}

/// Writes chunks to a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    schema: SchemaRef,
    writer: ArrowWriter<W>,
    /// For the row group that is being collected.
    charged: Option<Reservation>,
}

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
    /// Checks the fields and options: compression `zstd` (default), `snappy`, `lz4`, `gzip` or `none`, rows in a row
    /// group.
    pub fn prepare(fields: &[Field], compression: Option<&str>, row_group_size: Option<&str>) -> Result<Prepared> {
        let bad = |name: &str, value: &str| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for option \"{name}\": \"{value}\""))
        };
        let compression = match compression.unwrap_or("zstd").to_ascii_lowercase().as_str() {
            "zstd" => Compression::ZSTD(ZstdLevel::default()),
            "snappy" => Compression::SNAPPY,
            "lz4" | "lz4_raw" => Compression::LZ4_RAW,
            "gzip" => Compression::GZIP(parquet::basic::GzipLevel::default()),
            "none" | "uncompressed" => Compression::UNCOMPRESSED,
            other => return Err(bad("compression", other).hint("zstd, snappy, lz4, gzip or none")),
        };
        let rows = match row_group_size {
            None => ROW_GROUP,
            Some(text) => text.parse().ok().filter(|r| *r > 0).ok_or_else(|| bad("row_group_size", text))?,
        };
        // Parquet has no intervals of months, days and microseconds, and no type for bare NULLs that all readers know.
        let fields: Vec<Field> = fields
            .iter()
            .map(|f| match f.sql_type {
                SqlType::Interval => {
                    Err(Error::unsupported(format!("writing column \"{}\" of type interval to Parquet", f.name))
                        .hint("cast it to text"))
                }
                SqlType::Null => Ok(Field { sql_type: SqlType::Text, ..f.clone() }),
                _ => Ok(f.clone()),
            })
            .collect::<Result<_>>()?;
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(rows))
            .set_created_by("MorselDB".to_owned())
            .build();
        Ok(Prepared { schema: arrow_out::schema_of(&fields), properties: Arc::new(properties) })
    }
}

impl Prepared {
    /// Starts a file.
    pub fn start<W: Write + Send>(self, sink: W, budget: Option<&Budget>) -> Result<ParquetWriter<W>> {
        let properties = (*self.properties).clone();
        let writer = ArrowWriter::try_new(sink, self.schema.clone(), Some(properties)).map_err(error)?;
        let charged = budget.map(|b| b.reserve(0, OPERATOR)).transpose()?;
        Ok(ParquetWriter { schema: self.schema, writer, charged })
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
        for batch in arrow_out::batches_of(&chunk, &self.schema)? {
            self.writer.write(&batch).map_err(error)?;
            self.charge()?;
        }
        Ok(())
    }

    /// Charges what is collected; where memory is short, row groups are smaller.
    fn charge(&mut self) -> Result<()> {
        let Some(charged) = &mut self.charged else { return Ok(()) };
        if charged.resize(self.writer.memory_size(), OPERATOR).is_ok() {
            return Ok(());
        }
        self.writer.flush().map_err(error)?;
        charged.resize(self.writer.memory_size(), OPERATOR)
    }

    /// Writes the footer and gives the sink back.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(error)
    }
}
