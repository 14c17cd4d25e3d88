//! Where the batches of a file are, and what they take in memory, checked before any is read: lengths in a file decide how much
//! the library allocates.

use arrow_ipc::{Block, convert, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, Schema};
use base::Result;
use types::Chunk;

use super::{corrupt, guarded};
use crate::input::Input;
use crate::source::CHUNK_ROWS;

const MAGIC: &[u8] = b"ARROW1";
/// Bytes behind the footer: its length, and the magic.
const END: u64 = 10;
/// Bytes in front of a message that are no part of it: a mark, if there is one, and its length.
const MARK: [u8; 4] = [0xff; 4];

/// A record batch.
pub struct Batch {
    pub rows: u64,
    /// Bytes in memory.
    pub bytes: u64,
}

/// What a footer says.
pub struct Layout {
    pub schema: Schema,
    pub batches: Vec<Batch>,
    /// Bytes of the dictionaries in memory.
    pub dictionaries: u64,
}

/// Reads a file's footer and the heads of its batches.
pub fn read(name: &str, input: &Input) -> Result<Layout> {
    let length = input.len();
    let magic = MAGIC.len() as u64;
    if length < magic + END || &input.read(name, 0, magic)?[..] != MAGIC {
        return Err(corrupt(name, "it does not begin with ARROW1").hint("streams of Arrow are no files of Arrow"));
    }
    let end = input.read(name, length - END, length)?;
    let size = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if &end[4..] != MAGIC || size > length - END {
        return Err(corrupt(name, "its footer is not within it"));
    }
    let bytes = input.read(name, length - END - size, length - END)?;
    let bad = |error: String| ArrowError::IpcError(error);
    guarded(name, || {
        let footer = root_as_footer(&bytes).map_err(|e| bad(e.to_string()))?;
        let schema = footer.schema().ok_or_else(|| bad("a footer without a schema".to_owned()))?;
        let schema = convert::try_fb_to_schema(schema)?;
        let mut batches = Vec::new();
        for block in footer.recordBatches().iter().flatten() {
            batches.push(batch(input, block)?);
        }
        let mut dictionaries = 0u64;
        for block in footer.dictionaries().iter().flatten() {
            dictionaries = dictionaries.saturating_add(batch(input, block)?.bytes);
        }
        Ok(Layout { schema, batches, dictionaries })
    })
}

/// What a block holds.
fn batch(input: &Input, block: &Block) -> Result<Batch, ArrowError> {
    let bad = |what: &str| ArrowError::IpcError(what.to_owned());
    let number = |value: i64| u64::try_from(value).map_err(|_| bad("a length below zero"));
    let (start, head, body) =
        (number(block.offset())?, number(block.metaDataLength().into())?, number(block.bodyLength())?);
    let within = start.checked_add(head).and_then(|at| Some((at, at.checked_add(body)?)));
    let Some((body_start, _)) = within.filter(|(_, end)| *end <= input.len() && head >= 8) else {
        return Err(bad("a block is not within the file"));
    };
    let head = input.bytes(start, body_start)?;
    let message = if head[..4] == MARK { &head[8..] } else { &head[4..] };
    let message = root_as_message(message).map_err(|e| bad(&e.to_string()))?;
    let records = message.header_as_record_batch();
    let records = records.or_else(|| message.header_as_dictionary_batch().and_then(|of| of.data()));
    let records = records.ok_or_else(|| bad("a block is no record batch"))?;
    let mut bytes = body;
    if records.compression().is_some() {
        // In front of each buffer stands how long it is when it is decompressed; below zero, it is not compressed.
        for buffer in records.buffers().iter().flatten().filter(|buffer| buffer.length() >= 8) {
            let at = body_start.checked_add(number(buffer.offset())?).filter(|at| *at <= input.len() - 8);
            let at = at.ok_or_else(|| bad("a buffer is not within the file"))?;
            let mut prefix = [0; 8];
            input.bytes_into(at, &mut prefix)?;
            bytes = bytes.saturating_add(u64::try_from(i64::from_le_bytes(prefix)).unwrap_or(0));
        }
    }
    Ok(Batch { rows: number(records.length())?, bytes })
}

/// Rows without columns.
pub fn empty(rows: u64) -> Vec<Chunk> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let pieces = (0..rows).step_by(CHUNK_ROWS).map(|from| Chunk::new((rows - from).min(CHUNK_ROWS), Vec::new()));
    pieces.collect()
}
