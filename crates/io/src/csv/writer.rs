//! CSV and COPY's text format out.

use std::io::Write;

use base::Result;
use types::ops::cast::{format_value_in, pad_char, write_value};
use types::ops::date::Zone;
use types::ops::{date, decimal};
use types::{Chunk, Column, Physical, SqlType};

use super::dialect::Dialect;
use super::forms::Forms;
use super::options::{CsvFormat, CsvOptions, Header};
use super::sniff;
use crate::input::write_error;
use crate::source::Field;

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// Writes chunks as text.
pub struct CsvWriter<W: Write> {
    sink: W,
    out: String,
    dialect: Dialect,
    null: String,
    force_quote: Vec<bool>,
    /// Bytes that make a field need quotes.
    special: [bool; 256],
    zone: Zone,
    forms: Forms,
}

impl<W: Write> CsvWriter<W> {
    /// A writer of rows of these fields. As in PostgreSQL, a header is written if options say so.
    pub fn new(sink: W, fields: &[Field], options: &CsvOptions) -> Result<Self> {
        options.check()?;
        for pattern in options.forms.date.iter().chain(&options.forms.timestamp) {
            date::strftime(0, pattern)?;
        }
        let text_format = options.format == CsvFormat::Text;
        let quote = if text_format { None } else { options.quote.unwrap_or(Some(b'"')) };
        let dialect = Dialect {
            delimiter: options.delimiter.unwrap_or(if text_format { b'\t' } else { b',' }),
            quote,
            escape: if text_format { b'\\' } else { options.escape.or(quote).unwrap_or(b'"') },
            eol: b'\n',
            text_format,
            comment: None,
        };
        let mut special = [false; 256];
        for byte in [dialect.delimiter, b'\n', b'\r'].into_iter().chain(quote) {
            special[usize::from(byte)] = true;
        }
        if text_format {
            [b'\\', 8, 9, 11, 12].iter().for_each(|&b| special[usize::from(b)] = true);
        }
        let default_null = if text_format { "\\N" } else { "" };
        let null = options.null.as_ref().and_then(|n| n.first().cloned()).unwrap_or_else(|| default_null.to_owned());
        let force_quote = fields.iter().map(|f| options.force_quote.contains(&f.name)).collect();
        let mut writer = Self {
            sink,
            out: String::with_capacity(BUFFER),
            dialect,
            null,
            force_quote,
            special,
            zone: options.zone.clone(),
            forms: options.forms.clone(),
        };
        let header = options.header.is_some_and(|h| h != Header::No);
        if header {
            for (i, field) in fields.iter().enumerate() {
                writer.delimit(i);
                writer.text(&field.name, false);
            }
            writer.out.push('\n');
        }
        Ok(writer)
    }

    /// Writes the rows of a chunk.
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        for row in 0..chunk.rows() {
            for (i, column) in chunk.columns().iter().enumerate() {
                self.delimit(i);
                self.value(column, row, self.force_quote.get(i).copied().unwrap_or(false));
            }
            self.out.push('\n');
            if self.out.len() > BUFFER - BUFFER / 8 {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what was collected and gives the sink back.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.sink)
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write_all(self.out.as_bytes()).map_err(|e| write_error(&e))?;
        self.out.clear();
        Ok(())
    }

    fn delimit(&mut self, column: usize) {
        if column > 0 {
            self.out.push(char::from(self.dialect.delimiter));
        }
    }

    fn value(&mut self, column: &Column, row: usize, force: bool) {
        if column.is_null(row) || column.sql_type() == SqlType::Null {
            self.out.push_str(&self.null);
            return;
        }
        let start = self.out.len();
        match (column.sql_type(), column.physical()) {
            (SqlType::Char(limit), _) => return self.text(&pad_char(column.str(row), limit), force),
            (encoded, Physical::Str) if encoded.is_encoded() => {
                return self.text(&format_value_in(&column.value(row), encoded, &self.zone), force);
            }
            (_, Physical::Str) => return self.text(column.str(row), force),
            (t @ SqlType::Enum(_), _) => {
                let label = format_value_in(&column.value(row), t, &self.zone);
                return self.text(&label, force);
            }
            (SqlType::Date, _) if let Some(pattern) = &self.forms.date => {
                let shown =
                    date::date_to_timestamp(column.values::<i32>()[row]).and_then(|t| date::strftime(t, pattern));
                self.out.push_str(
                    &shown.unwrap_or_else(|_| format_value_in(&column.value(row), SqlType::Date, &self.zone)),
                );
            }
            (t @ (SqlType::Timestamp | SqlType::Timestamptz), _) if let Some(pattern) = &self.forms.timestamp => {
                let stored = column.values::<i64>()[row];
                let local = if t == SqlType::Timestamptz { self.zone.local(stored) } else { Ok(stored) };
                let shown = local.and_then(|t| date::strftime(t, pattern));
                self.out.push_str(&shown.unwrap_or_else(|_| format_value_in(&column.value(row), t, &self.zone)));
            }
            (SqlType::Bool, _) if self.dialect.text_format => {
                self.out.push(if column.values::<u8>()[row] != 0 { 't' } else { 'f' });
            }
            (SqlType::Date, _) => date::write_date(&mut self.out, column.values::<i32>()[row]),
            (SqlType::Timetz, _) => date::write_timetz(&mut self.out, column.values::<i64>()[row]),
            (SqlType::Time, _) => date::write_time(&mut self.out, column.values::<i64>()[row]),
            (SqlType::Timestamptz, _) => {
                date::write_timestamptz(&mut self.out, column.values::<i64>()[row], &self.zone)
            }
            (SqlType::Timestamp, _) => date::write_timestamp(&mut self.out, column.values::<i64>()[row]),
            (t, Physical::I16) => decimal::write(&mut self.out, column.values::<i16>()[row].into(), t.scale()),
            (t, Physical::I32) => decimal::write(&mut self.out, column.values::<i32>()[row].into(), t.scale()),
            (t, Physical::I64) => decimal::write(&mut self.out, column.values::<i64>()[row].into(), t.scale()),
            (t, _) => write_value(&mut self.out, &column.value(row), t),
        }
        // Printed numbers and dates hold special characters only in odd dialects.
        let odd = self.out.as_bytes()[start..].iter().any(|b| self.special[usize::from(*b)]);
        if odd || force || self.out[start..] == self.null {
            let text = self.out.split_off(start);
            self.text(&text, force);
        }
    }

    fn text(&mut self, text: &str, force: bool) {
        let special = text.bytes().any(|b| self.special[usize::from(b)]);
        if self.dialect.text_format {
            return if special { self.escaped(text) } else { self.out.push_str(text) };
        }
        let Some(quote) = self.dialect.quote else { return self.out.push_str(text) };
        // Also what a reader could take for NULL or for the end of the data.
        let misleading = text == self.null || text == "\\." || sniff::TEXT_NULLS.contains(&text);
        if !special && !misleading && !force {
            return self.out.push_str(text);
        }
        let (quote, escape) = (char::from(quote), char::from(self.dialect.escape));
        self.out.push(quote);
        for c in text.chars() {
            if c == quote || c == escape {
                self.out.push(escape);
            }
            self.out.push(c);
        }
        self.out.push(quote);
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            let letter = match c {
                '\u{8}' => 'b',
                '\t' => 't',
                '\n' => 'n',
                '\u{b}' => 'v',
                '\u{c}' => 'f',
                '\r' => 'r',
                c if c == '\\' || c == char::from(self.dialect.delimiter) => c,
                c => {
                    self.out.push(c);
                    continue;
                }
            };
            self.out.push('\\');
            self.out.push(letter);
        }
    }
}
