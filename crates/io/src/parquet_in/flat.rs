//! Columns of flat types from pages to columns in one go: codes are looked up in a dictionary that was converted before.
//!
//! The decoder of the `parquet` crate makes Arrow arrays of pages, which are converted then; here every value is written once,
//! where it stays. What is rare it does better: encodings other than plain and by dictionary, nested columns, odd types.

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
use super::origin::Origin;
use kind::{Kind, heap};
use page::{DataPage, Encoded};

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
    pages: SerializedPageReader<Origin>,
    kind: Kind,
    sql_type: SqlType,
    nullable: bool,
    dictionary: Option<Column>,
    page: Option<Current>,
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
}

/// Rows on their way into a column.
struct Batch {
    values: Buffer,
    nulls: Option<Buffer>,
    heaps: Vec<Arc<Buffer>>,
    rows: usize,
}

impl FlatColumn {
    /// The column of a file; none if it is not read here.
    pub fn open(file: &ParquetFile, row_group: usize, root: usize) -> Result<Option<Self>, ParquetError> {
        let schema = file.metadata.parquet_schema();
        if !schema.root_schema().get_fields()[root].is_primitive() {
            return Ok(None);
        }
        let metadata = file.metadata.metadata().row_group(row_group);
        let Some(leaf) = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root) else {
            return Ok(None);
        };
        let (column, chunk) = (schema.column(leaf), metadata.column(leaf));
        let kind = Kind::of(&column, file.metadata.schema().field(root).data_type());
        let Some(kind) = kind.filter(|_| column.max_rep_level() == 0 && column.max_def_level() <= 1) else {
            return Ok(None);
        };
        let rows = usize::try_from(file.rows(row_group)).unwrap_or(usize::MAX);
        let origin = Arc::new(file.origin.clone());
        let pages = SerializedPageReader::new(origin, chunk, rows, None)?;
        let (sql_type, nullable) = (file.fields[root].sql_type, column.max_def_level() == 1);
        let (levels, codes) = (Vec::new(), Vec::new());
        Ok(Some(Self { pages, kind, sql_type, nullable, dictionary: None, page: None, rows, levels, codes }))
    }

    /// The next rows, at most `most`; none at the end. After an error that something is not implemented, nothing more can be
    /// read here.
    pub fn read(&mut self, most: usize) -> Result<Option<Column>, Failure> {
        let most = most.min(self.rows);
        let size = self.sql_type.physical().size();
        let mut batch = Batch { values: Buffer::with_capacity(most * size), nulls: None, heaps: Vec::new(), rows: 0 };
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
        let Batch { values, nulls, heaps, rows } = batch;
        // SAFETY: texts were checked to be UTF-8, and the pages that they lie in are among the heaps.
        Ok(Some(unsafe { Column::new(self.sql_type, rows, Arc::new(values), nulls.map(Arc::new), heaps) }))
    }

    fn next_page(&mut self) -> Result<bool, Failure> {
        match self.pages.get_next_page()? {
            None => return Ok(false),
            Some(Page::DictionaryPage { buf, num_values, .. }) if self.dictionary.is_none() && self.page.is_none() => {
                self.dictionary = Some(self.kind.entries(buf, num_values as usize, self.sql_type)?);
            }
            Some(page) => {
                let page = DataPage::of(page, self.nullable)?;
                let heap = match (&self.kind, &page.values) {
                    (Kind::Text, Encoded::Plain(bytes)) => heap(bytes),
                    _ => None,
                };
                self.page = Some(Current { page, heap });
            }
        }
        Ok(true)
    }

    /// Appends rows of the page, so that there are at most `most`.
    fn append(&mut self, most: usize, to: &mut Batch) -> Result<(), Failure> {
        let Some(Current { page, heap }) = &mut self.page else { return Ok(()) };
        let rows = page.rows.min(most - to.rows);
        page.rows -= rows;
        let mut valid = rows;
        let mut some_null = false;
        if let Some(levels) = &mut page.levels {
            match levels.read_repeated(rows)? {
                Some(1) => {}
                Some(_) => {
                    (valid, some_null) = (0, true);
                    self.levels.clear();
                    self.levels.resize(rows, 0);
                }
                None => {
                    self.levels.resize(rows, 0);
                    levels.read(&mut self.levels)?;
                    valid = self.levels.iter().map(|&level| usize::from(level)).sum();
                    some_null = valid < rows;
                }
            }
        }
        match &mut page.values {
            Encoded::Plain(bytes) => {
                if self.kind.append(bytes, valid, &mut to.values)? {
                    to.keep(heap.iter());
                }
            }
            Encoded::Codes(_) if valid == 0 => {}
            Encoded::Codes(codes) => {
                let Some(dictionary) = &self.dictionary else {
                    return Err(ParquetError::General("codes without a dictionary".into()).into());
                };
                self.codes.resize(valid, 0);
                codes.read(&mut self.codes)?;
                look_up(dictionary, &self.codes, &mut to.values)?;
                to.keep(dictionary.heaps());
            }
        }
        if some_null {
            to.spread(&self.levels, self.sql_type.physical().size());
        } else if let Some(nulls) = &mut to.nulls {
            nulls.extend_with(rows, |_| 0u8);
        }
        to.rows += rows;
        Ok(())
    }
}

impl Batch {
    /// Keeps what texts lie in.
    fn keep<'a>(&mut self, heaps: impl IntoIterator<Item = &'a Arc<Buffer>>) {
        for heap in heaps {
            if !self.heaps.iter().any(|kept| Arc::ptr_eq(kept, heap)) {
                self.heaps.push(heap.clone());
            }
        }
    }

    /// Moves the last values to the rows that have one; the others are NULL.
    fn spread(&mut self, levels: &[u8], size: usize) {
        let rows = self.rows;
        let nulls = self.nulls.get_or_insert_with(|| Buffer::zeroed(rows));
        nulls.extend_with(levels.len(), |row| levels[row] ^ 1);
        let (begin, valid) = (rows * size, (self.values.len() - rows * size) / size);
        self.values.extend_with((levels.len() - valid) * size, |_| 0u8);
        let values = &mut self.values.as_mut_slice()[begin..];
        match size {
            4 => spread::<4>(values, levels, valid),
            8 => spread::<8>(values, levels, valid),
            _ => spread::<16>(values, levels, valid),
        }
    }
}

fn spread<const SIZE: usize>(values: &mut [u8], levels: &[u8], mut valid: usize) {
    let (values, rest) = values.as_chunks_mut::<SIZE>();
    assert!(rest.is_empty() && values.len() == levels.len());
    for (row, level) in levels.iter().enumerate().rev() {
        values[row] = if *level == 0 {
            [0; SIZE]
        } else {
            valid -= 1;
            values[valid]
        };
    }
}

/// Appends the entries of codes.
fn look_up(dictionary: &Column, codes: &[u32], to: &mut Buffer) -> Result<(), ParquetError> {
    if codes.iter().fold(0, |most, &code| most.max(code)) as usize >= dictionary.rows() {
        return Err(ParquetError::General("a code is of no entry".into()));
    }
    macro_rules! gather {
        ($t:ty) => {{
            let entries = dictionary.data().cast::<$t>();
            // SAFETY: codes are of entries, which are of this size and aligned to 64.
            to.extend_with(codes.len(), |row| unsafe { *entries.add(codes[row] as usize) });
        }};
    }
    match dictionary.physical().size() {
        4 => gather!(u32),
        8 => gather!(i64),
        _ => gather!(i128),
    }
    Ok(())
}
