//! Pages cut into what they hold.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

use super::delta;
use super::hybrid::Hybrid;

/// A data page of a flat column, as far as it has been read.
pub struct DataPage {
    /// Rows that are left.
    pub rows: usize,
    /// For each row whether it has a value, 0 or 1; none if all have one.
    pub levels: Option<Hybrid>,
    /// Of the rows that have one.
    pub values: Encoded,
}

/// Values in the encodings that are read here.
pub enum Encoded {
    /// Numbers of a dictionary's entries.
    Codes(Hybrid),
    /// Behind one another, as they were or once they have been added up.
    Plain(Bytes),
}

impl DataPage {
    /// Cuts a page, of a column of integers of so many bytes or of something else. What is not read here is an error that says it is not implemented.
    pub fn of(page: Page, nullable: bool, integer: Option<usize>) -> Result<Self> {
        let rows = page.num_values() as usize;
        let (levels, values, encoding) = match page {
            Page::DataPage { buf, encoding, def_level_encoding, .. } if nullable => {
                if def_level_encoding != Encoding::RLE {
                    return Err(ParquetError::NYI(format!("levels in the encoding {def_level_encoding}")));
                }
                let length = buf.first_chunk().map_or(usize::MAX, |length| u32::from_le_bytes(*length) as usize);
                let (levels, values) = split(&buf, 4, length)?;
                (Some(Hybrid::new(levels, 1)?), values, encoding)
            }
            Page::DataPage { buf, encoding, .. } => (None, buf, encoding),
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, num_nulls, .. } => {
                let (levels, values) = split(&buf, rep_levels_byte_len as usize, def_levels_byte_len as usize)?;
                let levels = if nullable && num_nulls > 0 { Some(Hybrid::new(levels, 1)?) } else { None };
                (levels, values, encoding)
            }
            Page::DictionaryPage { .. } => return Err(ParquetError::General("a second dictionary".into())),
        };
        let values = match (encoding, integer) {
            (Encoding::PLAIN, _) => Encoded::Plain(values),
            (Encoding::DELTA_BINARY_PACKED, Some(size)) => Encoded::Plain(delta::plain(&values, size, rows)?),
            (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, _) => {
                // A page of NULLs has no codes, and need not say how wide they would be.
                let width = values.first().copied().unwrap_or(0);
                Encoded::Codes(Hybrid::new(values.slice(usize::from(!values.is_empty())..), width.into())?)
            }
            (other, _) => return Err(ParquetError::NYI(format!("values in the encoding {other}"))),
        };
        Ok(Self { rows, levels, values })
    }
}

/// The `length` bytes from `begin` on, and those behind them.
fn split(page: &Bytes, begin: usize, length: usize) -> Result<(Bytes, Bytes)> {
    match begin.checked_add(length).filter(|&end| end <= page.len()) {
        Some(end) => Ok((page.slice(begin..end), page.slice(end..))),
        None => Err(ParquetError::General("a page's levels are longer than the page".into())),
    }
}
