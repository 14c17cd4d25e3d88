//! Results as text: one renderer for each output mode.

mod json;
mod lines;

use std::io::{self, Write};

use ::io::pretty::{Lines, Look, Table};
use clap::ValueEnum;
use types::ops::date::Zone;
use types::{Chunk, Column, SqlType};

/// How results look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Tables with lines of Unicode
    Box,
    /// Tables with lines of ASCII
    Table,
    /// Tables for Markdown
    Markdown,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// Values separated by `|`
    List,
    /// One value a line, as `name = value`
    Line,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    Jsonlines,
}

impl Mode {
    /// Whether all rows must be known before the first is printed, so that columns align.
    pub fn is_table(self) -> bool {
        matches!(self, Self::Box | Self::Table | Self::Markdown)
    }
}

/// What can be set about the look of results.
#[derive(Clone, Debug)]
pub struct Style {
    /// The mode.
    pub mode: Mode,
    /// Names of columns.
    pub headers: bool,
    /// Types of columns below the names, in box mode.
    pub types: bool,
    /// How NULL looks; none: `NULL`, but nothing in CSV and TSV.
    pub null: Option<String>,
    /// Most rows of a table; 0: all.
    pub max_rows: usize,
    /// Most columns of the terminal that a table takes; none: as many as it needs.
    pub width: Option<usize>,
    /// Whether results go to a terminal, which data must not command.
    pub terminal: bool,
    /// In which moments are shown.
    pub zone: Zone,
}

impl Style {
    fn look(&self, lines: Lines) -> Look {
        let (headers, types, null) = (self.headers, self.types, self.null().to_string());
        Look { lines, headers, types, null, max_rows: self.max_rows, width: self.width, zone: self.zone.clone() }
    }

    fn null(&self) -> &str {
        match (&self.null, self.mode) {
            (Some(text), _) => text,
            (None, Mode::Csv | Mode::Tsv) => "",
            (None, _) => "NULL",
        }
    }
}

/// A column's name and type.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

/// Prints the rows of one result.
pub trait Renderer {
    /// Takes rows.
    fn chunk(&mut self, out: &mut dyn Write, chunk: &Chunk) -> io::Result<()>;
    /// After the last rows.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// The renderer for a result of these columns.
pub fn renderer(style: &Style, headings: Vec<Heading>) -> Box<dyn Renderer> {
    let table = |lines, headings: Vec<Heading>| {
        Box::new(Table::new(style.look(lines), headings.into_iter().map(|h| (h.name, h.sql_type)).collect()))
    };
    match style.mode {
        Mode::Box => table(Lines::Box, headings),
        Mode::Table => table(Lines::Ascii, headings),
        Mode::Markdown => table(Lines::Markdown, headings),
        Mode::Csv | Mode::Tsv | Mode::List => Box::new(lines::Separated::new(style.clone(), headings)),
        Mode::Line => Box::new(lines::Lines::new(style.clone(), headings)),
        Mode::Json | Mode::Jsonlines => Box::new(json::Json::new(style, headings)),
    }
}

impl Renderer for Table {
    fn chunk(&mut self, _out: &mut dyn Write, chunk: &Chunk) -> io::Result<()> {
        self.add(chunk);
        Ok(())
    }
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write(out)
    }
}

/// A value as text, a moment in the zone; none for NULL.
fn text_of(column: &Column, row: usize, zone: &Zone) -> Option<String> {
    let value = column.value(row);
    (!value.is_null()).then(|| types::ops::cast::format_value_in(&value, column.sql_type(), zone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::io::pretty::text::width;
    use types::{ColumnBuilder, Value};

    fn rendered(style: &Style) -> String {
        let columns = [("n", SqlType::Integer), ("price", SqlType::decimal(10, 2)), ("name", SqlType::Text)];
        let rows = [
            [Value::Int(1), Value::Decimal(150), Value::str("a,\"b\"")],
            [Value::Int(-20), Value::Null, Value::str("two\nlines | and a pipe")],
            [Value::Null, Value::Decimal(-5), Value::str("")],
        ];
        let built = columns.iter().enumerate().map(|(i, &(_, t))| {
            let mut builder = ColumnBuilder::new(t, 3);
            rows.iter().for_each(|row| builder.push_value(&row[i]));
            builder.finish()
        });
        let chunk = Chunk::new(3, built.collect());
        let headings = columns.map(|(name, sql_type)| Heading { name: name.into(), sql_type });
        let (mut out, mut renderer) = (Vec::new(), renderer(style, headings.to_vec()));
        renderer.chunk(&mut out, &chunk).unwrap();
        renderer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn style(mode: Mode) -> Style {
        Style {
            mode,
            headers: true,
            types: true,
            null: None,
            max_rows: 0,
            width: None,
            terminal: false,
            zone: Zone::utc(),
        }
    }

    #[test]
    fn boxes() {
        let expected = "\
┌─────────┬───────────────┬──────────────────────────┐
│    n    │     price     │           name           │
│ integer │ decimal(10,2) │           text           │
├─────────┼───────────────┼──────────────────────────┤
│       1 │          1.50 │ a,\"b\"                    │
│     -20 │          NULL │ two\\nlines | and a pipe  │
│    NULL │         -0.05 │                          │
└─────────┴───────────────┴──────────────────────────┘
";
        let text = rendered(&style(Mode::Box));
        assert_eq!(text.lines().count(), expected.lines().count());
        let squeezed = |t: &str| t.replace(['─', ' '], "");
        assert_eq!(squeezed(&text), squeezed(expected));
        let widths: Vec<usize> = text.lines().map(width).collect();
        assert!(widths.iter().all(|w| *w == widths[0]), "{text}");
    }

    #[test]
    fn narrow_boxes_shorten_the_widest_column() {
        let text = rendered(&Style { width: Some(40), ..style(Mode::Box) });
        assert!(text.lines().all(|l| width(l) <= 40) && text.contains('…'), "{text}");
        let text = rendered(&Style { width: Some(12), max_rows: 1, ..style(Mode::Box) });
        assert!(text.contains("… 2 more rows") && text.contains("… 2 more columns"), "{text}");
    }

    #[test]
    fn ascii_and_markdown() {
        let text = rendered(&style(Mode::Table));
        assert!(text.contains("|  n   | price |") && text.contains("|  -20 |  NULL |"), "{text}");
        let text = rendered(&style(Mode::Markdown));
        assert!(text.contains("|-----:|------:|:------") && text.contains(r"two\nlines \| and"), "{text}");
    }

    #[test]
    fn separated() {
        let text = rendered(&style(Mode::Csv));
        assert_eq!(text, "n,price,name\n1,1.50,\"a,\"\"b\"\"\"\n-20,,\"two\nlines | and a pipe\"\n,-0.05,\"\"\n");
        let text = rendered(&Style { headers: false, null: Some("\\N".into()), ..style(Mode::Tsv) });
        assert_eq!(text, "1\t1.50\ta,\"b\"\n-20\t\\N\ttwo\\nlines | and a pipe\n\\N\t-0.05\t\n");
        assert!(rendered(&style(Mode::List)).starts_with("n|price|name\n1|1.50|a,\"b\"\n"));
    }

    #[test]
    fn data_does_not_command_the_terminal() {
        let mut builder = ColumnBuilder::new(SqlType::Text, 1);
        builder.push_value(&Value::str("\u{1b}[2J\u{9b}x"));
        let chunk = Chunk::new(1, vec![builder.finish()]);
        for mode in [Mode::Csv, Mode::Tsv, Mode::List, Mode::Line, Mode::Json, Mode::Box] {
            let heading = Heading { name: "\u{1b}n".into(), sql_type: SqlType::Text };
            let mut renderer = renderer(&Style { terminal: true, ..style(mode) }, vec![heading]);
            let mut out = Vec::new();
            renderer.chunk(&mut out, &chunk).unwrap();
            renderer.end(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{mode:?}: {text:?}");
        }
    }

    #[test]
    fn lines_and_json() {
        let text = rendered(&style(Mode::Line));
        assert!(text.starts_with("    n = 1\nprice = 1.50\n name = a,\"b\"\n\n    n = -20\n"), "{text}");
        let text = rendered(&style(Mode::Json));
        assert_eq!(text.lines().nth(1), Some(r#"{"n":-20,"price":null,"name":"two\nlines | and a pipe"},"#), "{text}");
        assert!(text.starts_with("[{") && text.ends_with("\"\"}]\n"));
        assert_eq!(rendered(&style(Mode::Jsonlines)).lines().count(), 3);
    }
}
