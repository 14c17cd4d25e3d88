//! JSON: an array of objects, or one object a line.

use std::fmt::Write as _;
use std::io::{self, Write};

use types::ops::date::Zone;
use types::{Chunk, Column, SqlType};

use super::{Heading, Mode, Renderer, Style, text_of};

/// Numbers and booleans are JSON's own, everything else strings; so are NaN and the infinities, which JSON lacks.
pub struct Json {
    /// Whether the objects are elements of one array.
    array: bool,
    /// `"name":` of each column.
    keys: Vec<String>,
    rows: u64,
    zone: Zone,
}

impl Json {
    pub fn new(style: &Style, headings: Vec<Heading>) -> Self {
        let keys = headings.iter().map(|h| {
            let mut key = String::new();
            write_string(&mut key, &h.name);
            key + ":"
        });
        Self { array: style.mode == Mode::Json, keys: keys.collect(), rows: 0, zone: style.zone.clone() }
    }
}

impl Renderer for Json {
    fn chunk(&mut self, out: &mut dyn Write, chunk: &Chunk) -> io::Result<()> {
        let mut line = String::new();
        for row in 0..chunk.rows() {
            line.clear();
            line.push_str(match (self.array, self.rows) {
                (false, _) => "{",
                (true, 0) => "[{",
                (true, _) => ",\n{",
            });
            self.rows += 1;
            for (i, (key, column)) in self.keys.iter().zip(chunk.columns()).enumerate() {
                if i > 0 {
                    line.push(',');
                }
                line.push_str(key);
                write_value(&mut line, column, row, &self.zone);
            }
            line.push_str(if self.array { "}" } else { "}\n" });
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match (self.array, self.rows) {
            (false, _) => Ok(()),
            (true, 0) => out.write_all(b"[]\n"),
            (true, _) => out.write_all(b"]\n"),
        }
    }
}

fn write_value(out: &mut String, column: &Column, row: usize, zone: &Zone) {
    let Some(text) = text_of(column, row, zone) else { return out.push_str("null") };
    let plain = match column.sql_type() {
        SqlType::Bool => true,
        t => t.is_numeric() && text.ends_with(|c: char| c.is_ascii_digit()),
    };
    if plain { out.push_str(&text) } else { write_string(out, &text) }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
