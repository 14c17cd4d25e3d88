//! Aligned tables: box, ASCII, Markdown. Wide ones are fitted to the terminal by shortening the widest columns first,
//! then by leaving out columns on the right; long ones end after the row limit, with a count of what is missing.

use std::io::{self, Write};

use types::Chunk;

use super::{Heading, Mode, Renderer, Style, text_of};
use crate::terminal::{fit, printable, width};

/// No column is made narrower than this to fit.
const NARROWEST: usize = 5;

/// Collects the rows that are shown, and counts the others.
pub struct Table {
    style: Style,
    headings: Vec<Heading>,
    /// Cells row by row.
    cells: Vec<Vec<String>>,
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

impl Table {
    pub fn new(style: Style, headings: Vec<Heading>) -> Self {
        Self { style, headings, cells: Vec::new(), rows: 0 }
    }

    fn is_box(&self) -> bool {
        self.style.mode == Mode::Box
    }

    fn cell(&self, text: String) -> String {
        let text = printable(text);
        if self.style.mode == Mode::Markdown { text.replace('|', "\\|") } else { text }
    }

    /// Rows above the line: names, and types.
    fn header(&self) -> Vec<Vec<String>> {
        let mut header = Vec::new();
        if self.style.headers {
            header.push(self.headings.iter().map(|h| self.cell(h.name.clone())).collect());
            if self.style.types && self.is_box() {
                header.push(self.headings.iter().map(|h| h.sql_type.to_string()).collect());
            }
        }
        header
    }

    /// Widths of the columns that are shown: those left out are at the end.
    fn widths(&self, header: &[Vec<String>]) -> Vec<usize> {
        let column = |i: usize| header.iter().chain(&self.cells).map(|row| width(&row[i])).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..self.headings.len()).map(column).collect();
        if self.style.mode == Mode::Markdown {
            widths.iter_mut().for_each(|w| *w = (*w).max(3));
            return widths;
        }
        let Some(limit) = self.style.width else { return widths };
        // Each column has a line and two blanks, and there is one more line.
        let available = |columns: usize| limit.saturating_sub(3 * columns + 1);
        let needed = |widths: &[usize], cap: usize| widths.iter().map(|w| (*w).min(cap)).sum::<usize>();
        while widths.len() > 1 && needed(&widths, NARROWEST) > available(widths.len()) {
            widths.pop();
        }
        let room = available(widths.len());
        if needed(&widths, usize::MAX) > room {
            // The largest cap that fits, and what is left over to the first columns that it cut.
            let cap = (1..=room.max(1)).rev().find(|cap| needed(&widths, *cap) <= room).unwrap_or(1);
            let mut left = room.saturating_sub(needed(&widths, cap));
            for w in widths.iter_mut().filter(|w| **w > cap) {
                let extra = left.min(1);
                left -= extra;
                *w = cap + extra;
            }
        }
        widths
    }

    fn line(
        &self,
        out: &mut dyn Write,
        cells: &[String],
        widths: &[usize],
        align: &dyn Fn(usize) -> Align,
    ) -> io::Result<()> {
        let bar = if self.is_box() { "│" } else { "|" };
        let mut line = String::from(bar);
        for (i, (&w, cell)) in widths.iter().zip(cells).enumerate() {
            let text = fit(cell, w);
            let pad = w.saturating_sub(width(&text));
            let before = match align(i) {
                Align::Left => 0,
                Align::Right => pad,
                Align::Center => pad / 2,
            };
            line.push(' ');
            line.extend(std::iter::repeat_n(' ', before));
            line.push_str(&text);
            line.extend(std::iter::repeat_n(' ', pad - before + 1));
            line.push_str(bar);
        }
        writeln!(out, "{line}")
    }

    fn rule(&self, out: &mut dyn Write, widths: &[usize], rule: &Rule) -> io::Result<()> {
        let parts: Vec<String> = widths.iter().map(|w| rule.3.repeat(w + 2)).collect();
        writeln!(out, "{}{}{}", rule.0, parts.join(rule.1), rule.2)
    }

    fn align(&self, column: usize) -> Align {
        if self.headings[column].sql_type.is_numeric() { Align::Right } else { Align::Left }
    }

    fn markdown_rule(&self, out: &mut dyn Write, widths: &[usize]) -> io::Result<()> {
        let part = |(i, w): (usize, &usize)| match self.align(i) {
            Align::Right => format!("{}:", "-".repeat(w + 1)),
            _ => format!(":{}", "-".repeat(w + 1)),
        };
        let parts: Vec<String> = widths.iter().enumerate().map(part).collect();
        writeln!(out, "|{}|", parts.join("|"))
    }
}

impl Renderer for Table {
    fn chunk(&mut self, _out: &mut dyn Write, chunk: &Chunk) -> io::Result<()> {
        self.rows += chunk.rows() as u64;
        let shown = match self.style.max_rows {
            0 => chunk.rows(),
            limit => chunk.rows().min(limit.saturating_sub(self.cells.len())),
        };
        for row in 0..shown {
            let text = |c| self.cell(text_of(c, row).unwrap_or_else(|| self.style.null().to_string()));
            let cells = chunk.columns().iter().map(text).collect();
            self.cells.push(cells);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let header = self.header();
        let widths = self.widths(&header);
        let (top, middle, bottom) = match self.style.mode {
            Mode::Box => {
                (Some(Rule("┌", "┬", "┐", "─")), Some(Rule("├", "┼", "┤", "─")), Some(Rule("└", "┴", "┘", "─")))
            }
            Mode::Table => {
                let rule = || Some(Rule("+", "+", "+", "-"));
                (rule(), rule(), rule())
            }
            _ => (None, None, None),
        };
        if let Some(rule) = &top {
            self.rule(out, &widths, rule)?;
        }
        for row in &header {
            self.line(out, row, &widths, &|_| Align::Center)?;
        }
        match &middle {
            Some(rule) if !header.is_empty() => self.rule(out, &widths, rule)?,
            None => self.markdown_rule(out, &widths)?,
            _ => {}
        }
        for row in &self.cells {
            self.line(out, row, &widths, &|i| self.align(i))?;
        }
        if let Some(rule) = &bottom {
            self.rule(out, &widths, rule)?;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let missing = self.rows - self.cells.len() as u64;
        if missing > 0 {
            writeln!(out, "… {missing} more row{}", plural(missing))?;
        }
        let hidden = (self.headings.len() - widths.len()) as u64;
        if hidden > 0 {
            writeln!(out, "… {hidden} more column{}", plural(hidden))?;
        }
        Ok(())
    }
}
