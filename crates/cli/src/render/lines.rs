//! Modes that print rows as they come: CSV, TSV, list, and one value a line.

use std::io::{self, Write};

use ::io::pretty::text::{harmless, printable, width};
use types::Chunk;

use super::{Heading, Mode, Renderer, Style, text_of};

/// Values with a separator between.
pub struct Separated {
    style: Style,
    headings: Vec<Heading>,
    begun: bool,
}

impl Separated {
    pub fn new(style: Style, headings: Vec<Heading>) -> Self {
        Self { style, headings, begun: false }
    }

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.begun || !self.style.headers {
            return Ok(());
        }
        self.begun = true;
        let mut line = String::new();
        for (i, heading) in self.headings.iter().enumerate() {
            self.push(&mut line, i, Some(heading.name.clone()));
        }
        writeln!(out, "{line}")
    }

    fn push(&self, line: &mut String, index: usize, text: Option<String>) {
        let separator = match self.style.mode {
            Mode::Csv => ',',
            Mode::Tsv => '\t',
            _ => '|',
        };
        if index > 0 {
            line.push(separator);
        }
        let Some(text) = text else { return line.push_str(self.style.null()) };
        let text = if self.style.terminal { harmless(text) } else { text };
        match self.style.mode {
            // As RFC 4180; what NULL looks like is quoted when it is a text.
            Mode::Csv if text.contains([',', '"', '\n', '\r']) || text == self.style.null() => {
                line.push('"');
                line.push_str(&text.replace('"', "\"\""));
                line.push('"');
            }
            Mode::Tsv => {
                let escaped = text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
                line.push_str(&escaped);
            }
            _ => line.push_str(&text),
        }
    }
}

impl Renderer for Separated {
    fn chunk(&mut self, out: &mut dyn Write, chunk: &Chunk) -> io::Result<()> {
        self.begin(out)?;
        let mut line = String::new();
        for row in 0..chunk.rows() {
            line.clear();
            for (i, column) in chunk.columns().iter().enumerate() {
                self.push(&mut line, i, text_of(column, row, &self.style.zone));
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.begin(out)
    }
}

/// One value a line: `name = value`, an empty line between rows.
pub struct Lines {
    style: Style,
    names: Vec<String>,
    rows: u64,
}

impl Lines {
    pub fn new(style: Style, headings: Vec<Heading>) -> Self {
        let names: Vec<String> = headings.into_iter().map(|h| printable(h.name)).collect();
        let widest = names.iter().map(|n| width(n)).max().unwrap_or(0);
        let padded = |name: String| format!("{}{name}", " ".repeat(widest - width(&name)));
        Self { style, names: names.into_iter().map(padded).collect(), rows: 0 }
    }
}

impl Renderer for Lines {
    fn chunk(&mut self, out: &mut dyn Write, chunk: &Chunk) -> io::Result<()> {
        for row in 0..chunk.rows() {
            if self.rows > 0 {
                writeln!(out)?;
            }
            self.rows += 1;
            for (name, column) in self.names.iter().zip(chunk.columns()) {
                let text = text_of(column, row, &self.style.zone).unwrap_or_else(|| self.style.null().to_string());
                let text = if self.style.terminal { harmless(text) } else { text };
                if self.style.headers { writeln!(out, "{name} = {text}")? } else { writeln!(out, "{text}")? }
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
