//! Columns of flat types from pages to columns in one go: codes are looked up in a dictionary that was converted before.
//!
//! The decoder of the `parquet` crate makes Arrow arrays of pages, which are converted then; here every value is written once,
//! where it stays. What is rare it does better: encodings other than plain, by dictionary and by differences, nested columns, odd
//! types.

mod delta;
mod hybrid;
mod kind;
mod page;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::serialized_reader::SerializedPageReader;
use types::{Buffer, Column, SqlType};

use super::ParquetFile;
use super::room::{PageBytes, Room};
use hybrid::Hybrid;
use kind::{Kind, heap, settled};
use page::{DataPage, Encoded};

/// Entries of a dictionary whose codes are kept.
const MOST_CODES: usize = 1 << 16;

/// Why reading failed.
pub enum Failure {
    /// The file is not as it should be, or holds what is not read here.
    File(ParquetError),
    /// A value cannot be a value of its column.
    Value(base::Error),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::File(error)
    }
}

impl From<base::Error> for Failure {
    fn from(error: base::Error) -> Self {
        Self::Value(error)
    }
}

/// The reading of a flat column of a row group.
pub struct FlatColumn {
    pages: SerializedPageReader<PageBytes>,
    bytes: PageBytes,
    kind: Kind,
    /// Bytes of an integer, if the column has integers.
    integer: Option<usize>,
    sql_type: SqlType,
    nullable: bool,
    dictionary: Option<Column>,
    page: Option<Current>,
    /// Pages of values have been read.
    has_begun: bool,
    /// Rows that are left.
    rows: usize,
    /// Of the rows of a page.
    levels: Vec<u8>,
    codes: Vec<u32>,
}

/// The page that is being read.
struct Current {
    page: DataPage,
    /// Its bytes, if there are texts in it.
    heap: Option<Arc<Buffer>>,
    _room: Option<Arc<Room>>,
}

/// Rows on their way into a column.
struct Batch {
    sql_type: SqlType,
    /// As long as all are of texts of the dictionary: their codes.
    codes: Option<Vec<u16>>,
    /// Where they are not.
    values: Buffer,
    nulls: Option<Buffer>,
    heaps: Vec<Arc<Buffer>>,
    rows: usize,
}

impl FlatColumn {
    /// The column of a file; none if it is not read here.
    pub fn open(file: &ParquetFile, row_group: usize, root: usize) -> Result<Option<Self>, ParquetError> {
        let schema = file.footer.metadata.parquet_schema();
        if !schema.root_schema().get_fields()[root].is_primitive() {
            return Ok(None);
        }
        let metadata = file.footer.metadata.metadata().row_group(row_group);
        let Some(leaf) = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root) else {
            return Ok(None);
        };
        let (column, chunk) = (schema.column(leaf), metadata.column(leaf));
        let kind = Kind::of(&column, file.footer.metadata.schema().field(root).data_type());
        let Some(kind) = kind.filter(|_| column.max_rep_level() == 0 && column.max_def_level() <= 1) else {
            return Ok(None);
        };
        let rows = usize::try_from(file.rows(row_group)).unwrap_or(usize::MAX);
        let bytes = PageBytes::new(file.origin.clone(), file.budget.clone(), 1);
        let pages = SerializedPageReader::new(Arc::new(bytes.clone()), chunk, rows, None)?;
        let (sql_type, nullable) = (file.footer.fields[root].sql_type, column.max_def_level() == 1);
        let integer = kind::integer(column.physical_type());
        let (levels, codes) = (Vec::new(), Vec::new());
        let (dictionary, page, has_begun) = (None, None, false);
        let read =
            Self { pages, bytes, kind, integer, sql_type, nullable, dictionary, page, has_begun, rows, levels, codes };
        Ok(Some(read))
    }

    /// The next rows, at most `most`; none at the end. After an error that something is not implemented, nothing more can be
    /// read here.
    pub fn read(&mut self, most: usize) -> Result<Option<Column>, Failure> {
        let most = most.min(self.rows);
        let mut batch = Batch::new(self.sql_type);
        while batch.rows < most {
            if self.page.as_ref().is_some_and(|current| current.page.rows > 0) {
                self.append(most, &mut batch)?;
            } else if !self.next_page()? {
                break;
            }
        }
        self.rows -= batch.rows;
        if batch.rows == 0 {
            return Ok(None);
        }
        Ok(Some(batch.finish(self.dictionary.as_ref())))
    }

    /// Passes over rows. Pages of nothing else are not even unpacked.
    pub fn skip(&mut self, rows: usize) -> Result<(), Failure> {
        let mut left = rows.min(self.rows);
        self.rows -= left;
        while left > 0 {
            if let Some(current) = self.page.as_ref().filter(|current| current.page.rows > 0) {
                // What is in between has to be read to come to what is behind it.
                let some = left.min(current.page.rows);
                self.append(some, &mut Batch::new(self.sql_type))?;
                left -= some;
                continue;
            }
            // Each row has a level, or is a value.
            let next = self.pages.peek_next_page()?;
            match next.filter(|page| !page.is_dict).and_then(|page| page.num_rows.or(page.num_levels)) {
                Some(rows) if (1..=left).contains(&rows) => {
                    self.pages.skip_next_page()?;
                    self.has_begun = true;
                    self.page = None;
                    left -= rows;
                }
                _ if !self.next_page()? => break,
                _ => {}
            }
        }
        Ok(())
    }

    fn next_page(&mut self) -> Result<bool, Failure> {
        if self.page.as_ref().is_some_and(|current| current.page.rows == 0) {
            self.page = None;
        }
        let page = self.pages.get_next_page()?;
        let room = self.bytes.take_room();
        match page {
            None => return Ok(false),
            Some(Page::DictionaryPage { buf, num_values, .. }) if self.dictionary.is_none() && !self.has_begun => {
                self.dictionary = Some(self.kind.entries(buf, num_values as usize, self.sql_type, room)?);
            }
            Some(page) => {
                self.has_begun = true;
                let bytes = page.buffer().len();
                let room = settled(room, bytes, delta::room(&page, self.integer))?;
                let page = DataPage::of(page, self.nullable, self.integer)?;
                let heap = match (&self.kind, &page.values) {
                    (Kind::Text, Encoded::Plain(bytes)) => heap(bytes, room.clone()),
                    _ => None,
                };
                self.page = Some(Current { page, heap, _room: room });
            }
        }
        Ok(true)
    }

    /// Appends rows of the page, so that there are at most `most`.
    fn append(&mut self, most: usize, to: &mut Batch) -> Result<(), Failure> {
        let Some(Current { page, heap, .. }) = &mut self.page else { return Ok(()) };
        let rows = page.rows.min(most - to.rows);
        page.rows -= rows;
        let valid = match &mut page.levels {
            Some(levels) => read_levels(levels, rows, &mut self.levels)?,
            None => rows,
        };
        let dictionary = self.dictionary.as_ref();
        match &mut page.values {
            Encoded::Plain(bytes) => {
                to.write_out(dictionary, most);
                if self.kind.append(bytes, valid, &mut to.values)? {
                    to.keep(heap.iter());
                }
            }
            Encoded::Codes(_) if valid == 0 => {}
            Encoded::Codes(codes) => {
                let Some(dictionary) = dictionary else {
                    return Err(ParquetError::General("codes without a dictionary".into()).into());
                };
                self.codes.resize(valid, 0);
                codes.read(&mut self.codes)?;
                if self.codes.iter().fold(0, |most, &code| most.max(code)) as usize >= dictionary.rows() {
                    return Err(ParquetError::General("a code is of no entry".into()).into());
                }
                let stay = matches!(self.kind, Kind::Text) && dictionary.rows() <= MOST_CODES;
                if to.rows == 0 && stay {
                    to.codes = Some(Vec::with_capacity(most));
                }
                match &mut to.codes {
                    Some(kept) => kept.extend(self.codes.iter().map(|&code| code as u16)),
                    None => {
                        to.write_out(Some(dictionary), most);
                        look_up(dictionary, &self.codes, &mut to.values);
                        to.keep(dictionary.heaps());
                    }
                }
            }
        }
        to.add(rows, if valid < rows { Some(&self.levels) } else { None });
        Ok(())
    }
}

/// Reads which of some rows have a value, and returns how many: `to` says which, unless it is all.
fn read_levels(levels: &mut Hybrid, rows: usize, to: &mut Vec<u8>) -> Result<usize, ParquetError> {
    to.clear();
    match levels.read_repeated(rows)? {
        Some(1) => Ok(rows),
        Some(_) => {
            to.resize(rows, 0);
            Ok(0)
        }
        None => {
            to.resize(rows, 0);
            levels.read(to)?;
            Ok(to.iter().map(|&level| usize::from(level)).sum())
        }
    }
}

impl Batch {
    fn new(sql_type: SqlType) -> Self {
        let (values, nulls, heaps) = (Buffer::with_capacity(0), None, Vec::new());
        Self { sql_type, codes: None, values, nulls, heaps, rows: 0 }
    }

    /// Makes room for `most` rows' values, and writes those there that were codes.
    fn write_out(&mut self, dictionary: Option<&Column>, most: usize) {
        let size = self.sql_type.physical().size();
        if self.values.capacity() == 0 {
            // What is read may stay, and has huge pages then.
            self.values = Buffer::lasting(most * size);
        }
        self.values.reserve((most * size).saturating_sub(self.values.len()));
        if let Some(column) = self.codes.take().zip(dictionary).map(|(codes, of)| self.coded(of, codes)) {
            // SAFETY: so many bytes are the column's values.
            self.values.extend(unsafe { std::slice::from_raw_parts(column.data(), self.rows * size) });
            self.keep(column.heaps());
        }
    }

    fn coded(&self, dictionary: &Column, codes: Vec<u16>) -> Column {
        let mut nulls = None;
        if let Some(flags) = &self.nulls {
            let mut copy = Buffer::with_capacity(flags.len());
            copy.extend(flags.as_slice());
            nulls = Some(Arc::new(copy));
        }
        Column::coded(dictionary.clone(), codes, nulls)
    }

    fn finish(mut self, dictionary: Option<&Column>) -> Column {
        if let Some((codes, dictionary)) = self.codes.take().zip(dictionary) {
            return Column::coded(dictionary.clone(), codes, self.nulls.map(Arc::new));
        }
        // SAFETY: texts were checked to be UTF-8, and the pages that they lie in are among the heaps.
        unsafe { Column::new(self.sql_type, self.rows, Arc::new(self.values), self.nulls.map(Arc::new), self.heaps) }
    }

    /// Keeps what texts lie in.
    fn keep<'a>(&mut self, heaps: impl IntoIterator<Item = &'a Arc<Buffer>>) {
        for heap in heaps {
            if !self.heaps.iter().any(|kept| Arc::ptr_eq(kept, heap)) {
                self.heaps.push(heap.clone());
            }
        }
    }

    /// Counts rows whose values have been appended: if not all have one, these are moved to those that do; the others are NULL.
    fn add(&mut self, rows: usize, levels: Option<&[u8]>) {
        match (levels, &mut self.nulls) {
            (None, None) => {}
            (None, Some(nulls)) => nulls.extend_with(rows, |_| 0u8),
            (Some(levels), _) => self.spread(levels),
        }
        self.rows += rows;
    }

    fn spread(&mut self, levels: &[u8]) {
        let begin = self.rows;
        let nulls = self.nulls.get_or_insert_with(|| Buffer::zeroed(begin));
        nulls.extend_with(levels.len(), |row| levels[row] ^ 1);
        if let Some(codes) = &mut self.codes {
            let valid = codes.len() - begin;
            codes.resize(begin + levels.len(), 0);
            return spread(&mut codes[begin..], levels, valid, 0);
        }
        let size = self.sql_type.physical().size();
        let valid = self.values.len() / size - begin;
        self.values.extend_with((levels.len() - valid) * size, |_| 0u8);
        let values = &mut self.values.as_mut_slice()[begin * size..];
        match size {
            4 => spread(values.as_chunks_mut::<4>().0, levels, valid, [0; 4]),
            8 => spread(values.as_chunks_mut::<8>().0, levels, valid, [0; 8]),
            _ => spread(values.as_chunks_mut::<16>().0, levels, valid, [0; 16]),
        }
    }
}

/// Moves the first values to the rows that have one.
fn spread<T: Copy>(values: &mut [T], levels: &[u8], mut valid: usize, null: T) {
    assert!(values.len() == levels.len());
    for (row, level) in levels.iter().enumerate().rev() {
        values[row] = if *level == 0 {
            null
        } else {
            valid -= 1;
            values[valid]
        };
    }
}

/// Appends the entries of codes, all of which have one.
fn look_up(dictionary: &Column, codes: &[u32], to: &mut Buffer) {
    macro_rules! gather {
        ($t:ty) => {{
            // SAFETY: so many entries of this size lie there, aligned to 64, of types that admit all bits.
            let entries = unsafe { std::slice::from_raw_parts(dictionary.data().cast::<$t>(), dictionary.rows()) };
            to.extend_with(codes.len(), |row| entries[codes[row] as usize]);
        }};
    }
    match dictionary.physical().size() {
        4 => gather!(u32),
        8 => gather!(i64),
        _ => gather!(i128),
    }
}
