//! Rows as an aligned table for people: with lines of Unicode or ASCII, or for Markdown.
//!
//! A table that is too wide loses columns in its middle and then shortens the widest of the others; a single column
//! stays whole, as there is nothing else to look at. A long table shows its first and last rows, with a count of what is
//! between.

pub mod text;

use std::collections::VecDeque;
use std::io::{self, Write};

use types::ops::cast::format_value_in;
use types::ops::date::Zone;
use types::{Chunk, SqlType};

use text::{fit, printable, width};

/// No column is made narrower than this to fit; rather, others are left out.
const NARROWEST: usize = 16;

/// What lines are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Unicode's box characters.
    Box,
    /// ASCII characters.
    Ascii,
    /// As Markdown asks for.
    Markdown,
}

/// How a table looks.
#[derive(Clone, Debug)]
pub struct Look {
    /// Its lines.
    pub lines: Lines,
    /// Whether it has the names of the columns.
    pub headers: bool,
    /// Whether it has their types, in a box with names.
    pub types: bool,
    /// How NULL looks.
    pub null: String,
    /// Most rows; 0: all.
    pub max_rows: usize,
    /// Most columns of the terminal that it takes; none: as many as it needs.
    pub width: Option<usize>,
    /// In which moments are shown.
    pub zone: Zone,
}

/// A table that is being collected.
#[derive(Debug)]
pub struct Table {
    look: Look,
    headings: Vec<(String, SqlType)>,
    /// Cells of the first rows.
    first: Vec<Vec<String>>,
    /// Chunks that have the last rows.
    last: VecDeque<Chunk>,
    rows: u64,
}

/// Characters of the lines: left, between, right, filling.
struct Rule(&'static str, &'static str, &'static str, &'static str);

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
    Center,
}

/// A column that is shown, or the place where some are not.
#[derive(Clone, Copy)]
enum Shown {
    Column(usize, usize),
    Gap,
}

impl Table {
    /// A table of columns with these names and types.
    pub fn new(look: Look, headings: Vec<(String, SqlType)>) -> Self {
        Self { look, headings, first: Vec::new(), last: VecDeque::new(), rows: 0 }
    }

    /// Most rows that are shown from the end.
    fn tail(&self) -> usize {
        self.look.max_rows / 2
    }

    /// Takes more rows.
    pub fn add(&mut self, chunk: &Chunk) {
        self.add_rows(chunk, 0, chunk.rows());
        if self.tail() == 0 {
            return;
        }
        self.last.push_back(chunk.clone());
        let mut kept: usize = self.last.iter().map(Chunk::rows).sum();
        while let Some(front) = self.last.front()
            && kept - front.rows() >= self.tail()
        {
            kept -= front.rows();
            self.last.pop_front();
        }
    }

    /// Takes rows `from..to` of a chunk, as far as they are among the first.
    pub fn add_rows(&mut self, chunk: &Chunk, from: usize, to: usize) {
        self.rows += (to - from) as u64;
        let room = if self.look.max_rows == 0 { usize::MAX } else { self.look.max_rows - self.first.len() };
        let cells = (from..to).take(room).map(|row| self.cells(chunk, row));
        self.first.extend(cells.collect::<Vec<_>>());
    }

    fn cells(&self, chunk: &Chunk, row: usize) -> Vec<String> {
        let cell = |c: &types::Column| match c.value(row) {
            value if value.is_null() => self.cell(self.look.null.clone()),
            value => self.cell(format_value_in(&value, c.sql_type(), &self.look.zone)),
        };
        chunk.columns().iter().map(cell).collect()
    }

    fn cell(&self, text: String) -> String {
        let text = printable(text);
        if self.look.lines == Lines::Markdown { text.replace('|', "\\|") } else { text }
    }

    /// The rows that are shown from the start and from the end.
    fn body(&self) -> (&[Vec<String>], Vec<Vec<String>>) {
        if self.rows <= self.first.len() as u64 {
            return (&self.first, Vec::new());
        }
        let all = self.last.iter().flat_map(|chunk| (0..chunk.rows()).map(move |row| (chunk, row)));
        let skipped = self.last.iter().map(Chunk::rows).sum::<usize>().saturating_sub(self.tail());
        let last = all.skip(skipped).map(|(chunk, row)| self.cells(chunk, row)).collect();
        (&self.first[..self.first.len() - self.tail()], last)
    }

    /// Rows above the line: names, and types.
    fn header(&self) -> Vec<Vec<String>> {
        let mut header = Vec::new();
        if self.look.headers {
            header.push(self.headings.iter().map(|(name, _)| self.cell(name.clone())).collect());
            if self.look.types && self.look.lines == Lines::Box {
                header.push(self.headings.iter().map(|(_, t)| t.to_string()).collect());
            }
        }
        header
    }

    /// The columns that are shown, with their widths.
    fn shown<'a>(&self, rows: impl Iterator<Item = &'a Vec<String>> + Clone) -> Vec<Shown> {
        let natural = |i: usize| rows.clone().map(|row| width(&row[i])).max().unwrap_or(0);
        let mut widths: Vec<(usize, usize)> = (0..self.headings.len()).map(|i| (i, natural(i))).collect();
        let whole = |widths: &[(usize, usize)]| widths.iter().map(|&(i, w)| Shown::Column(i, w)).collect();
        if self.look.lines == Lines::Markdown {
            widths.iter_mut().for_each(|(_, w)| *w = (*w).max(3));
            return whole(&widths);
        }
        let Some(limit) = self.look.width.filter(|_| widths.len() > 1) else { return whole(&widths) };
        let needed = |widths: &[(usize, usize)], cap: usize| widths.iter().map(|(_, w)| (*w).min(cap)).sum::<usize>();
        // Each column has a line and two blanks, and there is one more line; a gap is a column of one character.
        let room = |columns: usize, gap: bool| limit.saturating_sub(3 * columns + 1 + if gap { 4 } else { 0 });
        let mut gap = None;
        while widths.len() > 1 && needed(&widths, NARROWEST) > room(widths.len(), gap.is_some()) {
            let middle = widths.len() / 2;
            widths.remove(middle);
            gap = Some(middle);
        }
        let room = room(widths.len(), gap.is_some());
        if needed(&widths, usize::MAX) > room {
            // The largest cap that fits, and what is left over to the first columns that it cut.
            let cap = (1..=room.max(1)).rev().find(|cap| needed(&widths, *cap) <= room).unwrap_or(1);
            let mut left = room.saturating_sub(needed(&widths, cap));
            for (_, w) in widths.iter_mut().filter(|(_, w)| *w > cap) {
                let extra = left.min(1);
                left -= extra;
                *w = cap + extra;
            }
        }
        let mut shown: Vec<Shown> = whole(&widths);
        if let Some(gap) = gap {
            shown.insert(gap, Shown::Gap);
        }
        shown
    }

    fn line(
        &self,
        out: &mut dyn Write,
        cells: &[String],
        shown: &[Shown],
        align: &dyn Fn(usize) -> Align,
    ) -> io::Result<()> {
        let bar = if self.look.lines == Lines::Box { "│" } else { "|" };
        let mut line = String::from(bar);
        for part in shown {
            line.push(' ');
            match *part {
                Shown::Gap => line.push_str("… "),
                Shown::Column(i, w) => {
                    let text = fit(&cells[i], w);
                    let pad = w.saturating_sub(width(&text));
                    let before = match align(i) {
                        Align::Left => 0,
                        Align::Right => pad,
                        Align::Center => pad / 2,
                    };
                    line.extend(std::iter::repeat_n(' ', before));
                    line.push_str(&text);
                    line.extend(std::iter::repeat_n(' ', pad - before + 1));
                }
            }
            line.push_str(bar);
        }
        writeln!(out, "{line}")
    }

    fn rule(&self, out: &mut dyn Write, shown: &[Shown], rule: &Rule) -> io::Result<()> {
        let width = |s: &Shown| match s {
            Shown::Gap => 1,
            Shown::Column(_, w) => *w,
        };
        let parts: Vec<String> = shown.iter().map(|s| rule.3.repeat(width(s) + 2)).collect();
        writeln!(out, "{}{}{}", rule.0, parts.join(rule.1), rule.2)
    }

    fn align(&self, column: usize) -> Align {
        if self.headings[column].1.is_numeric() { Align::Right } else { Align::Left }
    }

    fn markdown_rule(&self, out: &mut dyn Write, shown: &[Shown]) -> io::Result<()> {
        let part = |s: &Shown| match *s {
            Shown::Gap => "---".to_string(),
            Shown::Column(i, w) => match self.align(i) {
                Align::Right => format!("{}:", "-".repeat(w + 1)),
                _ => format!(":{}", "-".repeat(w + 1)),
            },
        };
        let parts: Vec<String> = shown.iter().map(part).collect();
        writeln!(out, "|{}|", parts.join("|"))
    }

    /// Writes the table, and below it how much of it is not shown.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let header = self.header();
        let (first, last) = self.body();
        let shown = self.shown(header.iter().chain(first).chain(&last));
        let (top, middle, bottom) = match self.look.lines {
            Lines::Box => {
                (Some(Rule("┌", "┬", "┐", "─")), Some(Rule("├", "┼", "┤", "─")), Some(Rule("└", "┴", "┘", "─")))
            }
            Lines::Ascii => {
                let rule = || Some(Rule("+", "+", "+", "-"));
                (rule(), rule(), rule())
            }
            Lines::Markdown => (None, None, None),
        };
        if let Some(rule) = &top {
            self.rule(out, &shown, rule)?;
        }
        for row in &header {
            self.line(out, row, &shown, &|_| Align::Center)?;
        }
        match &middle {
            Some(rule) if !header.is_empty() => self.rule(out, &shown, rule)?,
            None => self.markdown_rule(out, &shown)?,
            _ => {}
        }
        for row in first {
            self.line(out, row, &shown, &|i| self.align(i))?;
        }
        if !last.is_empty() {
            let dots = vec!["…".to_string(); self.headings.len()];
            self.line(out, &dots, &shown, &|_| Align::Center)?;
        }
        for row in &last {
            self.line(out, row, &shown, &|i| self.align(i))?;
        }
        if let Some(rule) = &bottom {
            self.rule(out, &shown, rule)?;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let missing = self.rows - (first.len() + last.len()) as u64;
        if missing > 0 {
            writeln!(out, "… {missing} more row{}", plural(missing))?;
        }
        let columns = shown.iter().filter(|s| matches!(s, Shown::Column(..))).count();
        let hidden = (self.headings.len() - columns) as u64;
        if hidden > 0 {
            writeln!(out, "… {hidden} more column{}", plural(hidden))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ColumnBuilder, Value};

    fn numbers(from: i64, to: i64) -> Chunk {
        let mut builder = ColumnBuilder::new(SqlType::BigInt, (to - from) as usize);
        (from..to).for_each(|n| builder.push_value(&Value::Int(n)));
        Chunk::new((to - from) as usize, vec![builder.finish()])
    }

    fn look(max_rows: usize, width: Option<usize>) -> Look {
        Look {
            lines: Lines::Ascii,
            headers: true,
            types: false,
            null: "NULL".into(),
            max_rows,
            width,
            zone: Zone::utc(),
        }
    }

    fn written(table: &Table) -> String {
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn long_tables_show_their_ends() {
        for chunk in [1, 3, 100] {
            let mut table = Table::new(look(4, None), vec![("n".into(), SqlType::BigInt)]);
            (0..100).step_by(chunk).for_each(|n| table.add(&numbers(n, (n + chunk as i64).min(100))));
            let text = written(&table);
            let cells: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("| ")?.strip_suffix(" |")).collect();
            assert_eq!(cells.iter().map(|c| c.trim()).collect::<Vec<_>>(), ["n", "0", "1", "…", "98", "99"], "{text}");
            assert!(text.ends_with("… 96 more rows\n"), "{text}");
        }
        let mut table = Table::new(look(4, None), vec![("n".into(), SqlType::BigInt)]);
        table.add(&numbers(0, 4));
        assert!(!written(&table).contains('…'));
    }

    #[test]
    fn wide_tables_lose_columns_in_the_middle() {
        let headings: Vec<_> = (0..15).map(|i| (format!("a_column_{i}"), SqlType::BigInt)).collect();
        let table = Table::new(look(0, Some(80)), headings);
        let text = written(&table);
        assert!(text.lines().all(|l| width(l) <= 80), "{text}");
        for name in ["a_column_0 ", "a_column_1 ", "a_column_14 ", " … |"] {
            assert!(text.contains(name), "{text}");
        }
        assert!(text.ends_with("… 10 more columns\n"), "{text}");
        let table = Table::new(look(0, Some(10)), vec![("a_single_column".into(), SqlType::BigInt)]);
        assert!(written(&table).contains("a_single_column"));
    }
}
