//! The bytes of a frozen column: little-endian, versioned, with offsets in place of pointers, so that they can lie in a
//! file as they lie in memory.
//!
//! | bytes | what |
//! |---|---|
//! | 0..2 | version |
//! | 2 | [`Scheme`] |
//! | 3 | physical type of the values |
//! | 4 | bytes a code |
//! | 5 | 1 if code 0 stands for NULL, and the others begin at 1 |
//! | 6 | 1 if all texts are ASCII; 0 says nothing |
//! | 8..12 | rows |
//! | 12..16 | entries of the dictionary, with the one for NULL |
//! | 16..32 | base of numbers |
//! | 32..40 | divisor of numbers |
//! | 40..56 | where codes, entries, offsets and payload begin, each aligned to 64 |
//! | 56..60 | bytes in all |

use base::{Error, Result, SqlState};
use types::{Buffer, Physical};

const VERSION: u16 = 1;
const HEADER: usize = 64;
/// Where the header says whether texts are ASCII.
const ASCII: usize = 6;
/// Each part begins at a multiple of it.
const ALIGNMENT: usize = 64;

/// How the values of a column are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    /// Codes of 1, 2, 4 or 8 bytes: (value - base) / divisor.
    Numbers,
    /// Codes of 1 or 2 bytes: places in a list of the distinct values, in their order.
    Dictionary,
    /// Bytes behind one another, and where each text begins.
    Text,
    /// The same, with codes for frequent pieces.
    Symbols,
}

const SCHEMES: [Scheme; 4] = [Scheme::Numbers, Scheme::Dictionary, Scheme::Text, Scheme::Symbols];

const PHYSICALS: [Physical; 9] = [
    Physical::Bool,
    Physical::I16,
    Physical::I32,
    Physical::I64,
    Physical::I128,
    Physical::F32,
    Physical::F64,
    Physical::Str,
    Physical::Interval,
];

/// What the first 64 bytes say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub scheme: Scheme,
    pub physical: Physical,
    /// Bytes a code.
    pub width: usize,
    /// Whether code 0 stands for NULL.
    pub has_null: bool,
    /// Whether all texts are known to be ASCII, so that each byte of them is a character.
    pub is_ascii: bool,
    pub rows: usize,
    pub entries: usize,
    pub base: i128,
    pub divisor: u64,
    /// Where the parts begin: codes, entries, offsets, payload.
    pub parts: [usize; 4],
    /// Bytes in all.
    pub len: usize,
}

/// Places of the parts in [`Header::parts`].
pub(crate) const CODES: usize = 0;
pub(crate) const ENTRIES: usize = 1;
pub(crate) const OFFSETS: usize = 2;
pub(crate) const PAYLOAD: usize = 3;

/// The longest symbol of a text.
pub(crate) const LONGEST: usize = 8;
/// Bytes of the table: 256 symbols, as words, and their lengths.
pub(crate) const TABLE: usize = 256 * (LONGEST + 1);
/// Rows whose codes of symbols begin at places behind that of the first of them.
pub(crate) const GROUP: usize = 64;

/// Bytes of the places where texts of symbols begin.
pub(crate) fn places(rows: usize) -> usize {
    groups(rows) * size_of::<u32>() + (rows + 1) * size_of::<u16>()
}

/// One more than there are rows has a place: the end of the last text.
pub(crate) fn groups(rows: usize) -> usize {
    rows / GROUP + 1
}

impl Header {
    pub(crate) fn new(scheme: Scheme, physical: Physical, rows: usize) -> Self {
        let (width, entries, base, divisor) = (0, 0, 0, 1);
        let (has_null, is_ascii) = (false, false);
        Self { scheme, physical, width, has_null, is_ascii, rows, entries, base, divisor, parts: [0; 4], len: 0 }
    }

    /// Bytes of each part, by its place, but for the payload's.
    fn sizes(&self) -> [usize; 3] {
        let of_texts = |count: usize| (count + 1) * size_of::<u32>();
        match (self.scheme, self.physical) {
            (Scheme::Numbers, _) => [self.rows * self.width, 0, 0],
            (Scheme::Dictionary, Physical::Str) => [self.rows * self.width, 0, of_texts(self.entries)],
            (Scheme::Dictionary, physical) => [self.rows * self.width, self.entries * physical.size(), 0],
            // A code of one byte only says whether the row is NULL.
            (Scheme::Text, _) => [self.rows * self.width, 0, of_texts(self.rows)],
            (Scheme::Symbols, _) => [self.rows * self.width, TABLE, places(self.rows)],
        }
    }

    /// Zeroed bytes for the column, with the header written; none if there would be 4 GiB or more of them.
    pub(crate) fn allocate(mut self, payload: usize) -> Option<(Self, Buffer)> {
        let mut at = HEADER;
        let sizes = self.sizes();
        for (part, size) in self.parts.iter_mut().zip(sizes.into_iter().chain([payload])) {
            *part = at;
            at = at.checked_add(size)?.checked_next_multiple_of(ALIGNMENT)?;
        }
        self.len = at;
        u32::try_from(at).ok()?;
        let mut bytes = Buffer::lasting(at);
        // SAFETY: there is room for so many bytes, and all of them are written.
        unsafe {
            bytes.as_mut_ptr().write_bytes(0, at);
            bytes.set_len(at);
        }
        self.write(bytes.as_mut_slice());
        Some((self, bytes))
    }

    /// Notes, also in the bytes, whether all texts are ASCII.
    pub(crate) fn note_ascii(&mut self, is_ascii: bool, bytes: &mut Buffer) {
        self.is_ascii = is_ascii;
        bytes.as_mut_slice()[ASCII] = is_ascii.into();
    }

    fn write(&self, to: &mut [u8]) {
        to[0..2].copy_from_slice(&VERSION.to_le_bytes());
        to[2] = SCHEMES.iter().position(|s| *s == self.scheme).expect("listed") as u8;
        to[3] = PHYSICALS.iter().position(|p| *p == self.physical).expect("listed") as u8;
        to[4] = self.width as u8;
        to[5] = self.has_null.into();
        to[ASCII] = self.is_ascii.into();
        to[8..12].copy_from_slice(&(self.rows as u32).to_le_bytes());
        to[12..16].copy_from_slice(&(self.entries as u32).to_le_bytes());
        to[16..32].copy_from_slice(&self.base.to_le_bytes());
        to[32..40].copy_from_slice(&self.divisor.to_le_bytes());
        for (place, part) in to[40..56].chunks_exact_mut(4).zip(self.parts) {
            place.copy_from_slice(&(part as u32).to_le_bytes());
        }
        to[56..60].copy_from_slice(&(self.len as u32).to_le_bytes());
    }

    /// Reads the header of bytes from outside. All parts lie within them; their contents are not looked at.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
        if bytes.len() < HEADER || bytes[..2] != VERSION.to_le_bytes() {
            return Err(corrupt("version"));
        }
        let scheme = *SCHEMES.get(usize::from(bytes[2])).ok_or_else(|| corrupt("scheme"))?;
        let physical = *PHYSICALS.get(usize::from(bytes[3])).ok_or_else(|| corrupt("type"))?;
        let read = Self {
            scheme,
            physical,
            width: bytes[4].into(),
            has_null: bytes[5] == 1,
            is_ascii: bytes[ASCII] == 1,
            rows: number(8),
            entries: number(12),
            base: i128::from_le_bytes(bytes[16..32].try_into().expect("16 bytes")),
            divisor: u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes")),
            parts: std::array::from_fn(|part| number(40 + part * 4)),
            len: number(56),
        };
        let is_number = matches!(physical, Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128);
        let fits = match scheme {
            Scheme::Numbers => is_number && matches!(read.width, 1 | 2 | 4 | 8) && read.divisor > 0,
            Scheme::Dictionary => {
                let has_entries = read.entries > usize::from(read.has_null);
                matches!(read.width, 1 | 2) && has_entries && !matches!(physical, Physical::Bool | Physical::I16)
            }
            Scheme::Text | Scheme::Symbols => physical == Physical::Str && read.width == usize::from(read.has_null),
        };
        let ends = read.parts[1..].iter().chain([&read.len]);
        let mut parts = read.parts.iter().zip(read.sizes().into_iter().chain([0])).zip(ends);
        let in_order = parts.all(|((&begin, size), &end)| begin % ALIGNMENT == 0 && begin + size <= end);
        if !fits || !in_order || read.parts[CODES] < HEADER || read.len > bytes.len() || read.rows > crate::CHUNK_ROWS {
            return Err(corrupt("layout"));
        }
        Ok(read)
    }
}

/// Error XX001.
pub(crate) fn corrupt(what: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("a frozen column has a wrong {what}"))
}
