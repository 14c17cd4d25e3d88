//! Arrow files out.

use std::io::Write;

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, SchemaRef};
use base::{Error, Result, SqlState};
use types::{Chunk, SqlType};

use crate::arrow_in::all_null;
use crate::arrow_out::{batches_of, schema_of};
use crate::input::write_error;
use crate::option::{bad, unknown};
use crate::source::Field;

/// Checked options of COPY TO.
pub struct ArrowTarget {
    schema: SchemaRef,
    compression: Option<CompressionType>,
}

impl ArrowTarget {
    /// Reads the options, for rows of these fields.
    pub fn of(fields: &[Field], options: &[(String, String)]) -> Result<Self> {
        let mut compression = None;
        for (name, value) in options {
            match name.as_str() {
                "format" => {}
                "compression" => {
                    compression = match value.to_ascii_lowercase().as_str() {
                        "none" | "uncompressed" => None,
                        "lz4" => Some(CompressionType::LZ4_FRAME),
                        "zstd" => Some(CompressionType::ZSTD),
                        _ => return Err(bad(name, value).hint("compressions are none, lz4 and zstd")),
                    }
                }
                _ => return Err(unknown(name, &["format", "compression"])),
            }
        }
        // Readers know no type of bare NULLs.
        let typed = |field: &Field| match field.sql_type {
            SqlType::Null => Field { sql_type: SqlType::Text, ..field.clone() },
            _ => field.clone(),
        };
        let fields: Vec<Field> = fields.iter().map(typed).collect();
        Ok(Self { schema: schema_of(&fields), compression })
    }
}

#[cold]
fn error(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => write_error(&error),
        other => Error::new(SqlState::IO_ERROR, format!("could not write Arrow: {other}")),
    }
}

/// Writes chunks as record batches.
pub struct ArrowFileWriter<W: Write> {
    schema: SchemaRef,
    file: FileWriter<W>,
}

impl<W: Write> ArrowFileWriter<W> {
    /// Starts a file.
    pub fn new(sink: W, target: ArrowTarget) -> Result<Self> {
        let options = IpcWriteOptions::default().try_with_compression(target.compression).map_err(error)?;
        let file = FileWriter::try_new_with_options(sink, &target.schema, options).map_err(error)?;
        Ok(Self { schema: target.schema, file })
    }

    /// Writes the rows of a chunk.
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let typed = chunk.columns().iter().map(|column| match column.sql_type() {
            SqlType::Null => all_null(SqlType::Text, column.rows()),
            _ => column.clone(),
        });
        let chunk = Chunk::new(chunk.rows(), typed.collect());
        batches_of(&chunk, &self.schema)?.iter().try_for_each(|batch| self.file.write(batch).map_err(error))
    }

    /// Writes the footer and gives the sink back.
    pub fn finish(mut self) -> Result<W> {
        self.file.finish().map_err(error)?;
        self.file.into_inner().map_err(error)
    }
}
