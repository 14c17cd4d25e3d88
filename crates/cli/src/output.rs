//! Where results go: standard output or a file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

/// The place of results.
pub enum Output {
    /// Standard output.
    Standard(BufWriter<Stdout>),
    /// A file of `.output`.
    File(BufWriter<File>),
}

impl Output {
    /// Standard output.
    pub fn standard() -> Self {
        Self::Standard(BufWriter::with_capacity(1 << 16, io::stdout()))
    }

    /// A new file.
    pub fn file(path: &Path) -> io::Result<Self> {
        Ok(Self::File(BufWriter::with_capacity(1 << 16, File::create(path)?)))
    }

    /// Whether it is standard output.
    pub fn is_standard(&self) -> bool {
        matches!(self, Self::Standard(_))
    }

    /// Whether a person looks at it.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Standard(out) if out.get_ref().is_terminal())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}
