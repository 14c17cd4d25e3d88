//! The characters that give a text file its structure, and finding them out.

mod sniff;

pub use sniff::{sniff, sniff_eol};

/// Structural characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: u8,
    /// Around fields; none in the text format.
    pub quote: Option<u8>,
    /// Before a quote inside of quotes (CSV), before anything (text format).
    pub escape: u8,
    /// Ends a record: `\n`, before which a `\r` does not count, or `\r`.
    pub eol: u8,
    /// PostgreSQL's text format: backslash escapes, no quotes.
    pub text_format: bool,
    /// Lines that begin with it are no records.
    pub comment: Option<u8>,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', quote: Some(b'"'), escape: b'"', eol: b'\n', text_format: false, comment: None }
    }
}
