//! From the parser's lines and columns to byte offsets.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Location, Span};

/// Where the lines of a text start. Lookups take constant time, also in one long line beyond ASCII.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// Byte offset of the text in the script that positions refer to.
    base: u32,
    /// Per line: number of characters before it.
    lines: Vec<u32>,
    /// Byte offset of each character; empty if all are ASCII.
    characters: Vec<u32>,
    length: u32,
}

impl Positions {
    /// `text` is shorter than 2^32 bytes, and so is the script around it, in which it starts at `base`.
    pub fn new(text: &str, base: u32) -> Self {
        let mut lines = vec![0];
        let mut characters = Vec::new();
        if text.is_ascii() {
            lines.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        } else {
            for (count, (offset, c)) in text.char_indices().enumerate() {
                characters.push(offset as u32);
                if c == '\n' {
                    lines.push(count as u32 + 1);
                }
            }
        }
        Self { base, lines, characters, length: text.len() as u32 }
    }

    /// The byte offset of a location; none for the empty location of made-up tokens.
    pub fn offset(&self, location: Location) -> Option<u32> {
        let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
        let column = u32::try_from(location.column).ok()?.checked_sub(1)?;
        let character = self.lines.get(line)?.saturating_add(column);
        let byte = if self.characters.is_empty() {
            character
        } else {
            self.characters.get(character as usize).copied().unwrap_or(self.length)
        };
        Some(self.base + byte.min(self.length))
    }

    /// The byte offset at which a span starts.
    pub fn start(&self, span: Span) -> Option<u32> {
        self.offset(span.start)
    }

    /// The byte offset of an identifier.
    pub fn ident(&self, ident: &Ident) -> Option<u32> {
        self.start(ident.span)
    }

    /// Where the text starts.
    pub fn begin(&self) -> u32 {
        self.base
    }

    /// The end of the text.
    pub fn end(&self) -> u32 {
        self.base + self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = "select 'ä', x\n  , y";
        for (base, text) in [(0, text), (7, text)] {
            let positions = Positions::new(text, base);
            let at = |line, column| positions.offset(Location { line, column });
            assert_eq!(at(1, 1), Some(base));
            assert_eq!(at(1, 13), Some(base + text.find('x').unwrap() as u32));
            assert_eq!(at(2, 5), Some(base + text.find('y').unwrap() as u32));
            assert_eq!(at(2, 99), Some(base + text.len() as u32));
            assert_eq!(at(0, 0), None);
            assert_eq!(at(9, 1), None);
        }
    }
}
