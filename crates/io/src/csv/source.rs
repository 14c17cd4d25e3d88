//! Text files as a source.

mod morsel;
mod open;
mod problems;

pub use open::{Sniffed, open_csv, open_csv_bytes, sniff_csv};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::{Budget, CancelToken, Error, Result, SqlState};
use remote::Wanted;

use super::convert::Reader;
use super::dialect::Dialect;
use super::options::RejectSink;
use super::records::MAX_TEXT;
use super::split::{self, Split};
use crate::arriving::Arriving;
use crate::input::Input;
use crate::lines::Lines;
use crate::source::{Field, FileSource, PieceReader, PrunePredicate};
use morsel::MorselReader;

/// Bytes that a sample is made of.
const FIRST: u64 = 256 << 10;

/// One file.
struct TextFile {
    name: String,
    input: Arc<Input>,
    /// Where the records begin, past the header.
    start: u64,
    /// Its morsels.
    split: Split,
    lines: Lines,
}

impl TextFile {
    fn text<'a>(&'a self, dialect: &'a Dialect) -> split::Text<'a> {
        split::Text { input: &self.input, name: &self.name, dialect }
    }
}

/// Text files as one source.
struct CsvSource {
    schema: Vec<Field>,
    readers: Vec<Reader>,
    dialect: Dialect,
    /// Empty lines are left out (`read_csv`) and not records (COPY).
    skip_blank: bool,
    /// Records with too few fields have NULLs in the others.
    null_padding: bool,
    /// Records may end with a delimiter, as those of TPC-H's generator do.
    trailing_delimiter: bool,
    ignore_errors: bool,
    rejects: Option<RejectSink>,
    /// What the text of a morsel is charged to while it is read.
    budget: Option<Budget>,
    cancel: CancelToken,
    /// What to advise when a value is not of its column's type.
    hint: Option<&'static str>,
    files: Vec<TextFile>,
    rows: u64,
    /// Ranges of files on servers that are walked.
    arriving: Mutex<HashMap<usize, Arc<Wanted>>>,
}

impl CsvSource {
    /// The number of a morsel's file, and its own there.
    fn place(&self, morsel: usize) -> (usize, usize) {
        let (mut at, mut file) = (morsel, 0);
        while at >= self.files[file].split.ranges() {
            at -= self.files[file].split.ranges();
            file += 1;
        }
        (file, at)
    }

    /// Begins to read a morsel.
    fn begin(self: Arc<Self>, morsel: usize, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        let (number, range) = self.place(morsel);
        let file = &self.files[number];
        let (start, end) = file.split.range(file.text(&self.dialect), range)?;
        if end - start > MAX_TEXT as u64 {
            let message = format!("a record of file \"{}\" is longer than {MAX_TEXT} bytes", file.name);
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message).hint("a closing quote may be missing"));
        }
        MorselReader::boxed(self, number, start..end, false, columns)
    }

    /// Whether the bytes of a range are there, of a file on a server: they are waited for in short steps.
    fn has_arrived(&self, piece: usize, file: &TextFile, range: usize) -> Result<bool> {
        if !matches!(&*file.input, Input::Remote(..)) {
            return Ok(true);
        }
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = match arriving.remove(&piece) {
            Some(wanted) => wanted,
            None => match file.input.want(std::iter::once(file.split.about(file.text(&self.dialect), range)), true)? {
                Some(wanted) => Arc::new(wanted),
                None => return Ok(true),
            },
        };
        arriving.insert(piece, wanted.clone());
        drop(arriving);
        let is_there = wanted.wait_a_little()?;
        if is_there {
            // From here on they stay as long as there is room.
            self.arriving.lock().unwrap_or_else(PoisonError::into_inner).remove(&piece);
        }
        Ok(is_there)
    }
}

impl FileSource for CsvSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }

    fn estimated_rows(&self) -> u64 {
        self.rows
    }

    fn file_of(&self, morsel: usize) -> usize {
        self.place(morsel).0
    }

    fn morsels(&self) -> usize {
        self.files.iter().map(|f| f.split.ranges()).sum()
    }

    fn preparations(&self) -> usize {
        if self.files.iter().any(|file| file.split.needs_walks(&self.dialect)) { self.morsels() } else { 0 }
    }

    fn prepare(&self, piece: usize) -> Result<bool> {
        self.cancel.check()?;
        let (file, range) = self.place(piece);
        let file = &self.files[file];
        if !self.has_arrived(piece, file, range)? {
            return Ok(false);
        }
        file.split.walk(file.text(&self.dialect), range)
    }

    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        _prune: &[PrunePredicate],
        _chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let (number, range) = self.place(morsel);
        let file = &self.files[number];
        let about = file.split.about(file.text(&self.dialect), range);
        match file.input.want(std::iter::once(about), true)? {
            None => self.begin(morsel, columns),
            Some(wanted) => {
                let (source, columns) = (self.clone(), columns.to_vec());
                Ok(Arriving::boxed(Arc::new(wanted), move || source.begin(morsel, &columns)))
            }
        }
    }

    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        let file = &self.files[0];
        let (start, length) = (file.start, file.input.len());
        let end = length.min(start + FIRST);
        MorselReader::boxed(self, 0, start..end, end < length, columns)
    }
}
