//! Texts behind one another, with the places where they begin: 4 bytes a row and its own instead of a header of 16.

use types::{Buffer, Physical, Str};

use super::Frozen;
use super::layout::{CODES, Header, OFFSETS, PAYLOAD, Scheme};
use crate::statistics::Bounds;
use crate::values::Values;

/// Bytes that the texts take.
pub(super) fn payload_of(texts: &[Str]) -> usize {
    texts.iter().map(Str::len).sum()
}

/// So many bytes are asked at once whether they are ASCII, while they are in the nearest cache.
const ASKED_AT_ONCE: usize = 8 << 10;

/// Writes texts, whose payload is alive, where each begins, and whether all are ASCII. The header has room for them.
pub(super) fn write(header: &mut Header, texts: &[Str], bytes: &mut Buffer) {
    let (offsets, payload) =
        bytes.as_mut_slice()[header.parts[OFFSETS]..].split_at_mut(header.parts[PAYLOAD] - header.parts[OFFSETS]);
    // The first offset is 0.
    let offsets = offsets[size_of::<u32>()..].chunks_exact_mut(size_of::<u32>());
    let (mut at, mut asked, mut is_ascii) = (0, 0, true);
    for (text, offset) in texts.iter().zip(offsets) {
        // SAFETY: as the caller promises.
        let text = unsafe { text.bytes() };
        payload[at..at + text.len()].copy_from_slice(text);
        at += text.len();
        offset.copy_from_slice(&(at as u32).to_le_bytes());
        if at - asked >= ASKED_AT_ONCE && is_ascii {
            is_ascii = payload[asked..at].is_ascii();
            asked = at;
        }
    }
    is_ascii &= payload[asked..at].is_ascii();
    header.note_ascii(is_ascii, bytes);
}

/// The column as bytes and their places; none if there are 4 GiB or more.
pub(super) fn freeze(values: Values<'_>, bounds: &Bounds) -> Option<Frozen> {
    let (rows, has_null) = (values.rows(), bounds.nulls > 0);
    let header = Header::new(Scheme::Text, Physical::Str, rows);
    let header = Header { width: usize::from(has_null), has_null, ..header };
    let nulls = values.nulls(0..rows).filter(|_| has_null);
    let texts = values.slice::<Str>(0..rows);
    // A row that is NULL has no text, whatever lies there.
    let cleared: Vec<Str>;
    let texts = match nulls {
        None => texts,
        Some(nulls) => {
            let text = |(text, null): (&Str, &u8)| if *null == 0 { *text } else { Str::EMPTY };
            cleared = texts.iter().zip(nulls).map(text).collect();
            &cleared
        }
    };
    let (mut header, mut bytes) = header.allocate(payload_of(texts))?;
    write(&mut header, texts, &mut bytes);
    if let Some(nulls) = nulls {
        let codes = &mut bytes.as_mut_slice()[header.parts[CODES]..][..rows];
        codes.iter_mut().zip(nulls).for_each(|(code, null)| *code = u8::from(*null == 0));
    }
    Some(Frozen::new(header, bytes))
}

/// The header of the text of `len` bytes at `start`, which lives as long as it.
///
/// # Safety
/// 12 bytes from `start` are readable, whatever `len` says.
#[inline(always)]
pub(super) unsafe fn header(start: *const u8, len: usize) -> Str {
    // SAFETY: as the caller promises.
    let (prefix, rest) = unsafe { (start.cast::<u32>().read_unaligned(), start.add(4).cast::<u64>().read_unaligned()) };
    let keep = |bytes: usize| if bytes >= 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 };
    let prefix = u64::from(prefix) & keep(len.min(4));
    let rest = if len > Str::INLINE { start as u64 } else { rest & keep(len.saturating_sub(4)) };
    Str::from_words([len as u64 | prefix << 32, rest])
}

/// The text of number `number`, as a header into the bytes.
///
/// # Safety
/// `bytes` are a column's or dictionary's with this header, as [`write`] left them or as they were checked, in a buffer
/// of its own (12 bytes behind their end are readable) that outlives what is returned.
#[inline(always)]
pub(super) unsafe fn text(of: &Header, bytes: *const u8, number: usize) -> Str {
    // SAFETY: as the caller promises.
    unsafe {
        let offsets = bytes.add(of.parts[OFFSETS]).cast::<u32>().add(number);
        let (begin, end) = (*offsets as usize, *offsets.add(1) as usize);
        header(bytes.add(of.parts[PAYLOAD] + begin), end - begin)
    }
}
