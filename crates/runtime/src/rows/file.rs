//! A partition as bytes, for a file: rows as they lie in memory, with the payload of strings behind them.
//!
//! Format: number of rows (8 bytes); the rows, where the pointer of each long string is its offset in the payload; bytes
//! of the payload (8 bytes); the payload. Numbers are in the machine's order: what is written is read by the same process.

use std::io::{Read, Write};

use base::{Error, Result, SqlState};
use types::Str;

use super::chunks::{ChunkList, Pool};

/// Writes all rows, which own their strings.
pub fn write(list: &ChunkList, pool: &Pool, to: &mut impl Write) -> Result<()> {
    let mut text = Vec::new();
    let mut row = vec![0u64; pool.stride() / 8];
    to.write_all(&(list.rows() as u64).to_ne_bytes()).map_err(failed)?;
    for segment in list.segments(pool) {
        for at in 0..segment.rows() {
            let copy = row.as_mut_ptr().cast::<u8>();
            // SAFETY: the row exists, the copy is as large and aligned to 8; strings are alive, as the list owns them.
            let bytes = unsafe {
                copy.copy_from_nonoverlapping(segment.row(at), pool.stride());
                for header in pool.strings().long(copy) {
                    let offset = text.len() as u64;
                    text.extend_from_slice(header.bytes());
                    *header = Str::from_words([header.words()[0], offset]);
                }
                std::slice::from_raw_parts(copy, pool.stride())
            };
            to.write_all(bytes).map_err(failed)?;
        }
    }
    to.write_all(&(text.len() as u64).to_ne_bytes()).map_err(failed)?;
    to.write_all(&text).map_err(failed)
}

/// Reads what [`write()`] wrote of rows of the same layout.
///
/// # Safety
/// Nobody may have changed the bytes: headers are believed.
pub unsafe fn read(pool: &mut Pool, from: &mut impl Read) -> Result<ChunkList> {
    let mut list = ChunkList::default();
    let mut number = [0; 8];
    from.read_exact(&mut number).map_err(failed)?;
    let mut rows = Vec::new();
    for _ in 0..u64::from_ne_bytes(number) {
        let row = list.allocate(pool)?;
        // SAFETY: a row of so many bytes, which nobody else uses.
        let bytes = unsafe { std::slice::from_raw_parts_mut(row, pool.stride()) };
        from.read_exact(bytes).map_err(failed)?;
        rows.push(row);
    }
    from.read_exact(&mut number).map_err(failed)?;
    let mut text = vec![0; u64::from_ne_bytes(number) as usize];
    from.read_exact(&mut text).map_err(failed)?;
    let strings = pool.strings().clone();
    for row in rows {
        // SAFETY: rows of this layout; their strings' pointers are offsets in the text.
        for header in unsafe { strings.long(row) } {
            let start = header.words()[1] as usize;
            *header = list.copy_text(pool, &text[start..start + header.len()])?;
        }
    }
    list.set_owned();
    Ok(list)
}

fn failed(error: std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not move rows to or from a file: {error}"))
}
