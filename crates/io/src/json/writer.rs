//! JSON out: a line for each row, or an array of them.

use std::io::Write;

use base::{Error, Result, SqlState};
use types::Chunk;
use types::ops::date::Zone;
use types::ops::json::{quote, write};

use crate::input::{Compression, write_error};
use crate::option::{compression, flag, unknown};
use crate::source::Field;

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// Options of COPY TO.
#[derive(Default)]
pub struct JsonTarget {
    /// One array instead of lines.
    pub array: bool,
    /// The file's compression, if not as its name says.
    pub compression: Option<Compression>,
}

impl JsonTarget {
    /// Reads the options, for rows of these fields.
    pub fn of(fields: &[Field], options: &[(String, String)]) -> Result<Self> {
        if let Some(twice) = fields.iter().enumerate().find(|(at, f)| fields[..*at].iter().any(|g| g.name == f.name)) {
            let message = format!("two columns have the name \"{}\", but keys of JSON are different", twice.1.name);
            return Err(Error::new(SqlState("42701"), message).hint("give one of them another name"));
        }
        let mut target = Self::default();
        for (name, value) in options {
            match name.as_str() {
                "format" => {}
                "array" => target.array = flag(name, value)?,
                "compression" => target.compression = compression(name, value)?,
                _ => return Err(unknown(name, &["format", "array", "compression"])),
            }
        }
        Ok(target)
    }
}

/// Writes chunks as objects.
pub struct JsonWriter<W: Write> {
    sink: W,
    out: String,
    array: bool,
    rows: u64,
    /// `"name":` of each column.
    keys: Vec<String>,
    zone: Zone,
}

impl<W: Write> JsonWriter<W> {
    /// A writer of rows of these fields, whose names are the keys.
    pub fn new(sink: W, fields: &[Field], array: bool, zone: Zone) -> Self {
        let keys = fields.iter().map(|field| quote(&field.name) + ":").collect();
        Self { sink, out: String::with_capacity(BUFFER), array, rows: 0, keys, zone }
    }

    /// Writes the rows of a chunk.
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        for row in 0..chunk.rows() {
            let start = self.out.len();
            self.out.push_str(match (self.array, self.rows) {
                (false, _) => "{",
                (true, 0) => "[\n\t{",
                (true, _) => ",\n\t{",
            });
            self.rows += 1;
            for (at, (key, column)) in self.keys.iter().zip(chunk.columns()).enumerate() {
                self.out.push_str(if at > 0 { "," } else { "" });
                self.out.push_str(key);
                write(&mut self.out, &column.value(row), column.sql_type(), &self.zone);
            }
            // A `json` may have line ends, between its tokens only: in strings they are escaped.
            if !self.array && memchr::memchr2(b'\n', b'\r', &self.out.as_bytes()[start..]).is_some() {
                let line = self.out.split_off(start).replace(['\n', '\r'], " ");
                self.out.push_str(&line);
            }
            self.out.push_str(if self.array { "}" } else { "}\n" });
            if self.out.len() > BUFFER - BUFFER / 8 {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what was collected and gives the sink back.
    pub fn finish(mut self) -> Result<W> {
        self.out.push_str(match (self.array, self.rows) {
            (false, _) => "",
            (true, 0) => "[]\n",
            (true, _) => "\n]\n",
        });
        self.flush()?;
        Ok(self.sink)
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write_all(self.out.as_bytes()).map_err(|e| write_error(&e))?;
        self.out.clear();
        Ok(())
    }
}
