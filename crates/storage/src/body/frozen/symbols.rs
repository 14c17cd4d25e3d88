//! Texts by symbols: the frequent pieces of a column's texts, of up to 8 bytes, have codes of one byte, other bytes stand
//! behind an escape. About a third of the bytes; each text is expanded by itself.
//!
//! After Boncz, Neumann and Leis, *FSST: Fast Random Access String Compression*, VLDB 2020. A library finds symbols; how texts
//! are replaced by them is said in [`encoder`](super::encoder).
//!
//! Where a text's codes begin is a place of 2 bytes behind that of its group of 64 rows.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fsst::Compressor;
use types::{Physical, Str, Value};

use super::encoder::{self, ESCAPE, Encoder};
use super::layout::{CODES, ENTRIES, GROUP, Header, LONGEST, OFFSETS, PAYLOAD, Scheme, TABLE, groups, places};
use super::{Frozen, text};

/// Bytes behind a text that may be written, and read for its header.
const SLACK: usize = 16;
/// Rows, and bytes of texts, that are replaced at once, but for one longer text: about a millisecond's work.
const STEP: usize = 8 << 10;
const STEP_BYTES: u64 = 1 << 20;
/// Symbols are looked for in so many texts at most.
const LOOKED_AT: usize = 4 << 10;
/// Texts are left as they are if the codes of the first of them take more than this share.
const MOST: f64 = 0.75;
/// Other texts' symbols are good enough if codes take no more than so many times what they took there.
const WORSE: f64 = 1.02;

/// A column whose texts are expanded so many times is better off without symbols.
const OFTEN: u64 = 2;
/// A text that takes no more while it is expanded has a place on the stack.
const FEW_BYTES: usize = 512;

/// How much of a column has been expanded.
#[derive(Debug)]
pub(super) struct Reads {
    rows: AtomicU64,
    /// Becomes true once some column of the relation is expanded often.
    often: Arc<AtomicBool>,
}

/// Symbols that were found in some texts.
pub(crate) struct Symbols {
    encoder: Encoder,
    /// Bytes of codes for one of the texts that they were found in.
    share: f64,
}

/// A column whose texts are being replaced.
pub(crate) struct Packing {
    symbols: Arc<Symbols>,
    /// Where each text's codes begin, and where the last ones end.
    begins: Vec<u32>,
    codes: Vec<u8>,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("share", &self.share).finish_non_exhaustive()
    }
}

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packing").field("done", &(self.begins.len() - 1)).finish_non_exhaustive()
    }
}

impl Symbols {
    /// Finds symbols for texts that lie behind one another.
    fn of(column: &Frozen) -> Self {
        let rows = column.header.rows;
        // The library takes a sample of these.
        let texts: Vec<&[u8]> = (0..rows).step_by(rows.div_ceil(LOOKED_AT)).map(|row| column.bytes_of(row)).collect();
        let found = Compressor::train(&texts);
        let symbols = found.symbol_table().iter().zip(found.symbol_lengths());
        Self { encoder: Encoder::new(symbols.map(|(symbol, &len)| (symbol.to_u64(), len))), share: 0.0 }
    }
}

impl Packing {
    /// Begins to replace texts that lie behind one another, by symbols that were found in others if they are as good for these.
    pub(crate) fn new(column: &Frozen, known: Option<Arc<Symbols>>) -> Option<Self> {
        if column.scheme() != Scheme::Text || column.header.rows == 0 {
            return None;
        }
        let begin = |symbols| {
            let mut packing = Self { symbols, begins: vec![0], codes: Vec::new() };
            packing.replace(column);
            packing
        };
        if let Some(symbols) = known {
            let most = symbols.share * WORSE;
            let packing = begin(symbols);
            if packing.share(column) <= most {
                return Some(packing);
            }
        }
        let mut packing = begin(Arc::new(Symbols::of(column)));
        let share = packing.share(column);
        Arc::get_mut(&mut packing.symbols)?.share = share;
        Some(packing)
    }

    /// The symbols that it replaces texts by.
    pub(crate) fn symbols(&self) -> Arc<Symbols> {
        self.symbols.clone()
    }

    /// Bytes of codes for one of the texts that have been replaced.
    fn share(&self, column: &Frozen) -> f64 {
        self.codes.len() as f64 / f64::from(column.begins()[self.begins.len() - 1].max(1))
    }

    /// Replaces some more texts of the column, which is always the same. Returns whether that goes on.
    pub(crate) fn step(&mut self, column: &Frozen) -> bool {
        self.replace(column);
        let is_worth_it = self.share(column) <= MOST;
        if !is_worth_it {
            self.begins.truncate(1);
        }
        is_worth_it && self.begins.len() <= column.header.rows
    }

    fn replace(&mut self, column: &Frozen) {
        let done = self.begins.len() - 1;
        let begins = &column.begins()[done..];
        let fitting = begins.partition_point(|&begin| u64::from(begin) <= u64::from(begins[0]) + STEP_BYTES);
        let rows = (fitting - 1).clamp(1, STEP).min(begins.len() - 1);
        // SAFETY: the texts lie in the column, behind whose bytes others are readable.
        unsafe {
            let bytes = column.bytes.as_ptr().add(column.header.parts[PAYLOAD]);
            let texts = encoder::Texts { bytes, begins: &begins[..=rows] };
            self.symbols.encoder.encode(texts, &mut self.codes, &mut self.begins);
        }
    }

    /// The column by symbols, if that was worth it. `often` becomes true when it is read often.
    pub(crate) fn finish(self, column: &Frozen, often: &Arc<AtomicBool>) -> Option<Frozen> {
        let Header { rows, has_null, is_ascii, width, .. } = column.header;
        if self.begins.len() != rows + 1 {
            return None;
        }
        let header = Header { width, has_null, is_ascii, ..Header::new(Scheme::Symbols, Physical::Str, rows) };
        let (header, mut bytes) = header.allocate(self.codes.len())?;
        let to = bytes.as_mut_slice();
        to[header.parts[CODES]..][..rows * width].copy_from_slice(&column.part_bytes(CODES)[..rows * width]);
        let (symbols, lengths) = to[header.parts[ENTRIES]..][..TABLE].split_at_mut(256 * LONGEST);
        let table = symbols.chunks_exact_mut(LONGEST).zip(lengths);
        for ((place, length), (symbol, len)) in table.zip(self.symbols.encoder.symbols()) {
            place.copy_from_slice(&symbol.to_le_bytes());
            *length = *len;
        }
        let (firsts, behind) =
            to[header.parts[OFFSETS]..][..places(rows)].split_at_mut(groups(rows) * size_of::<u32>());
        for (place, first) in firsts.chunks_exact_mut(4).zip(self.begins.iter().step_by(GROUP)) {
            place.copy_from_slice(&first.to_le_bytes());
        }
        for (row, place) in behind.chunks_exact_mut(2).enumerate() {
            let distance = u16::try_from(self.begins[row] - self.begins[row / GROUP * GROUP]).ok()?;
            place.copy_from_slice(&distance.to_le_bytes());
        }
        to[header.parts[PAYLOAD]..][..self.codes.len()].copy_from_slice(&self.codes);
        let reads = Reads { rows: AtomicU64::new(0), often: often.clone() };
        let packed = Frozen { reads: Some(reads), ..Frozen::new(header, bytes) };
        debug_assert!(packed.expands_to(column));
        (packed.bytes() * 8 <= column.bytes() * 7).then_some(packed)
    }
}

/// Whether a byte of UTF-8 is the first one of a character.
fn begins_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

impl Frozen {
    /// By symbols, if the texts lie behind one another and that is worth it.
    #[cfg(test)]
    pub(crate) fn packed(self) -> Self {
        let Some(mut packing) = Packing::new(&self, None) else { return self };
        while packing.step(&self) {}
        packing.finish(&self, &Arc::default()).unwrap_or(self)
    }

    /// A text that lies behind others.
    fn bytes_of(&self, row: usize) -> &[u8] {
        let begins = self.begins();
        &self.part_bytes(PAYLOAD)[begins[row] as usize..begins[row + 1] as usize]
    }

    /// Where texts begin that lie behind one another, and where the last one ends.
    fn begins(&self) -> &[u32] {
        debug_assert_eq!(self.scheme(), Scheme::Text);
        let bytes = &self.part_bytes(OFFSETS)[..(self.header.rows + 1) * size_of::<u32>()];
        // SAFETY: any bytes are numbers.
        let (before, begins, behind) = unsafe { bytes.align_to() };
        assert!(before.is_empty() && behind.is_empty(), "parts are aligned");
        begins
    }

    fn part_bytes(&self, part: usize) -> &[u8] {
        &self.bytes.as_slice()[self.header.parts[part]..]
    }

    /// Whether each text is that of another column, behind others there.
    fn expands_to(&self, other: &Self) -> bool {
        let mut text = Vec::new();
        (0..self.header.rows).all(|row| {
            text.clear();
            text.reserve(self.room(row..row + 1));
            // SAFETY: there is room for the text and more; it is written up to where it ends.
            unsafe {
                let begin: *mut u8 = text.as_mut_ptr();
                let end = self.expand(row, begin);
                text.set_len(end.offset_from_unsigned(begin));
            }
            text == other.bytes_of(row)
        })
    }

    /// Says that so many texts are expanded for a reader.
    pub(super) fn note(&self, rows: usize) {
        let Some(reads) = &self.reads else { return };
        let before = reads.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if before + rows as u64 >= self.header.rows as u64 * OFTEN {
            reads.often.store(true, Ordering::Relaxed);
        }
    }

    /// Whether readers would rather have the texts as they were. Reads are counted anew from here on, so that nobody is asked
    /// again at once where there is no memory for that.
    pub(crate) fn has_warmed(&self) -> bool {
        let Some(reads) = &self.reads else { return false };
        let is_warm = reads.rows.load(Ordering::Relaxed) >= self.header.rows as u64 * OFTEN;
        if is_warm {
            reads.rows.store(0, Ordering::Relaxed);
        }
        is_warm
    }

    /// The texts as they were, behind one another; none if there is no room for them.
    pub(crate) fn unpacked(&self) -> Option<Self> {
        if self.scheme() != Scheme::Symbols {
            return None;
        }
        let Header { rows, has_null, is_ascii, width, .. } = self.header;
        let mut codes = vec![0; self.room(0..rows)];
        let mut ends = Vec::with_capacity(rows);
        let begin = codes.as_mut_ptr();
        let mut at = begin;
        for row in 0..rows {
            // SAFETY: there is room for all texts.
            at = unsafe { self.expand(row, at) };
            // SAFETY: both are places of the vector.
            ends.push(unsafe { at.offset_from_unsigned(begin) });
        }
        let header = Header { width, has_null, is_ascii, ..Header::new(Scheme::Text, Physical::Str, rows) };
        let payload = ends.last().copied().unwrap_or(0);
        let (header, mut bytes) = header.allocate(payload)?;
        let to = bytes.as_mut_slice();
        to[header.parts[CODES]..][..rows * width].copy_from_slice(&self.part_bytes(CODES)[..rows * width]);
        let offsets = to[header.parts[OFFSETS] + 4..].chunks_exact_mut(4);
        offsets.zip(&ends).for_each(|(place, end)| place.copy_from_slice(&(*end as u32).to_le_bytes()));
        to[header.parts[PAYLOAD]..][..payload].copy_from_slice(&codes[..payload]);
        Some(Self::new(header, bytes))
    }

    /// Where the codes of a row's text begin. There is a place for one row more.
    #[inline(always)]
    pub(super) fn begin_of(&self, row: usize) -> usize {
        debug_assert!(row <= self.header.rows);
        // SAFETY: within the part, as it was written or checked.
        unsafe {
            let places = self.bytes.as_ptr().add(self.header.parts[OFFSETS]);
            let first = *places.cast::<u32>().add(row / GROUP);
            let behind = *places.add(groups(self.header.rows) * size_of::<u32>()).cast::<u16>().add(row);
            first as usize + usize::from(behind)
        }
    }

    /// Where it is told, within its group, where the codes of a row's text begin.
    pub(super) fn place_of(&self, row: usize) -> *const u8 {
        let groups = groups(self.header.rows) * size_of::<u32>();
        self.bytes.as_ptr().wrapping_add(self.header.parts[OFFSETS] + groups + row * size_of::<u16>())
    }

    /// Bytes that expanding the texts of some rows takes at most.
    pub(crate) fn room(&self, rows: Range<usize>) -> usize {
        (self.begin_of(rows.end) - self.begin_of(rows.start)) * LONGEST + SLACK
    }

    /// How many characters begin in each symbol.
    pub(super) fn characters_of_symbols(&self) -> [u8; 256] {
        let (symbols, lengths) = self.part_bytes(ENTRIES)[..TABLE].split_at(256 * LONGEST);
        let mut of_symbols = [0; 256];
        for ((of, symbol), &len) in of_symbols.iter_mut().zip(symbols.chunks_exact(LONGEST)).zip(lengths) {
            *of = symbol[..usize::from(len)].iter().map(|&byte| u8::from(begins_character(byte))).sum();
        }
        of_symbols
    }

    /// The number of characters of a row's text, which is not expanded: of each byte it is told whether one begins with it,
    /// whatever symbol it lies in.
    pub(super) fn characters(&self, row: usize, of_symbols: &[u8; 256]) -> u32 {
        let mut codes = self.part_bytes(PAYLOAD)[self.begin_of(row)..self.begin_of(row + 1)].iter();
        let mut characters = 0;
        while let Some(&code) = codes.next() {
            characters += match code {
                ESCAPE => codes.next().map_or(0, |&byte| u32::from(begins_character(byte))),
                _ => u32::from(of_symbols[usize::from(code)]),
            };
        }
        characters
    }

    /// Writes a row's text, and returns where it ends.
    ///
    /// # Safety
    /// There are [`room`](Self::room) bytes.
    #[inline(always)]
    unsafe fn expand(&self, row: usize, mut to: *mut u8) -> *mut u8 {
        let (begin, end) = (self.begin_of(row), self.begin_of(row + 1));
        // SAFETY: the codes and the table lie in the parts, as they were written or checked; each code becomes 8 bytes at most,
        // and as many are written ahead, which the room has behind its end.
        unsafe {
            let base = self.bytes.as_ptr();
            let symbols = base.add(self.header.parts[ENTRIES]).cast::<u64>();
            let lengths = symbols.add(256).cast::<u8>();
            let codes = base.add(self.header.parts[PAYLOAD]);
            let (mut at, end) = (codes.add(begin), codes.add(end));
            let put = |code: u8, to: &mut *mut u8| {
                to.cast::<u64>().write_unaligned(*symbols.add(usize::from(code)));
                *to = to.add(usize::from(*lengths.add(usize::from(code))));
            };
            loop {
                while end.offset_from(at) >= 4 {
                    let four = at.cast::<u32>().read_unaligned();
                    // Whether a byte is all ones.
                    if ((four & 0x7f7f_7f7f) + 0x0101_0101) & four & 0x8080_8080 != 0 {
                        break;
                    }
                    four.to_le_bytes().into_iter().for_each(|code| put(code, &mut to));
                    at = at.add(4);
                }
                if at >= end {
                    return to;
                }
                let code = *at;
                at = at.add(1);
                if code == ESCAPE {
                    *to = *at;
                    (at, to) = (at.add(1), to.add(1));
                } else {
                    put(code, &mut to);
                }
            }
        }
    }

    /// A row's text as a header, written to `to`, which then is where the text ends, or nowhere else if the header has all of it.
    ///
    /// # Safety
    /// As for [`expand`](Self::expand); what is written outlives the header.
    #[inline(always)]
    pub(super) unsafe fn expanded(&self, row: usize, to: &mut *mut u8) -> Str {
        // SAFETY: as the caller promises; 12 bytes are readable from the begin, as they may be written.
        unsafe {
            let begin = *to;
            let end = self.expand(row, begin);
            let len = end.offset_from_unsigned(begin);
            if len > Str::INLINE {
                *to = end;
            }
            text::header(begin, len)
        }
    }

    /// A row's text as a value.
    pub(super) fn text_value(&self, row: usize) -> Value {
        self.note(1);
        let room = self.room(row..row + 1);
        let (mut few, mut many) = ([0; FEW_BYTES], Vec::new());
        let begin: *mut u8 = if room <= FEW_BYTES {
            few.as_mut_ptr()
        } else {
            many.resize(room, 0);
            many.as_mut_ptr()
        };
        // SAFETY: there is room for the row's text; only UTF-8 is admitted to columns.
        Value::str(unsafe {
            let end = self.expand(row, begin);
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin)))
        })
    }

    /// Whether texts from outside can be expanded: symbols have lengths, places come one after the other, and all is text.
    pub(super) fn can_be_expanded(&self) -> bool {
        let lengths = &self.part_bytes(ENTRIES)[256 * LONGEST..TABLE];
        let end = self.header.len - self.header.parts[PAYLOAD];
        let in_order = (0..self.header.rows).all(|row| self.begin_of(row) <= self.begin_of(row + 1));
        if lengths.iter().any(|&len| usize::from(len) > LONGEST) || !in_order || self.begin_of(self.header.rows) > end {
            return false;
        }
        let mut bytes = Vec::new();
        (0..self.header.rows).all(|row| {
            let codes = &self.part_bytes(PAYLOAD)[self.begin_of(row)..self.begin_of(row + 1)];
            let mut left = codes.iter();
            // An escape has a byte behind it.
            let is_whole = loop {
                match left.next() {
                    None => break true,
                    Some(&ESCAPE) if left.next().is_none() => break false,
                    Some(_) => {}
                }
            };
            bytes.clear();
            bytes.reserve(self.room(row..row + 1));
            // SAFETY: as in `expands_to`.
            is_whole
                && unsafe {
                    let begin: *mut u8 = bytes.as_mut_ptr();
                    let end = self.expand(row, begin);
                    let text = std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin));
                    std::str::from_utf8(text).is_ok() && (!self.header.is_ascii || text.is_ascii())
                }
        })
    }
}
