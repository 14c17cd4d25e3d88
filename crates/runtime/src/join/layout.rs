//! What generated code and the probe kernels share.

use types::ops::hash::hash_u64;

use super::table::TableState;
use super::tags::ADDRESS;
use crate::limit::LimitLocal;

/// Most tuples of a batch, and most pairs that a probe delivers at once.
pub const BATCH: usize = 1024;

/// A finished table. Slots hold the addresses of the first rows of chains (0: there is none).
#[derive(Debug)]
pub struct JoinTable {
    /// The slots.
    pub(super) directory: *const u64,
    pub(super) places: Places,
    pub(super) inner: Box<TableState>,
}

/// Which slot a word's chain starts at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Places {
    /// That of hash h at `h >> shift` (thesis 4.5.2), with the tags of all rows of the chain in the slot's upper 16 bits.
    Hashed {
        /// 64 minus the logarithm of the number of slots.
        shift: u64,
        /// Whether probes bring keys, which are hashed here.
        keys: bool,
    },
    /// That of key k at `k - least`, of which all rows have the key k.
    Array {
        /// The least key.
        least: i64,
        /// Slots of keys. One more follows, which stays empty: that of all other keys.
        slots: u64,
    },
    /// No rows: what is read of the one with key k, behind where its header would be, lies at `first + (k - least) * size`
    /// ([`payloads`](super::payloads)). The directory has a bit for each key that says whether there is one.
    Payloads {
        /// The least key.
        least: i64,
        /// How many keys there may be.
        keys: u64,
        /// The address of the one with the least key.
        first: usize,
        /// Bytes from one to the next.
        size: usize,
        /// All keys are there.
        is_full: bool,
    },
    /// The rows are ranges, sorted by where they begin ([`ranges`](super::ranges)).
    Sorted {
        /// How many there are: first where each begins, then the address of each.
        rows: u64,
        /// Offset of the number that a range ends with, if it ends.
        until: Option<u32>,
    },
}

impl Places {
    /// How many there are.
    pub(super) fn slots(self) -> usize {
        match self {
            Self::Hashed { shift, .. } => 1 << (64 - shift),
            Self::Array { slots, .. } => slots as usize + 1,
            Self::Payloads { .. } => 0,
            Self::Sorted { rows, .. } => 2 * rows as usize,
        }
    }

    /// The slot of a word of rows; of payloads and sorted ranges, none in particular.
    #[inline(always)]
    pub(super) fn slot(self, word: u64) -> u64 {
        match self {
            Self::Hashed { shift, .. } => word >> shift,
            Self::Array { least, slots } => Self::of_key(word, least, slots) as u64,
            Self::Payloads { .. } | Self::Sorted { .. } => 0,
        }
    }

    /// Where a key's chain starts in an array that begins with the key `least`.
    #[inline(always)]
    pub(super) fn of_key(key: u64, least: i64, slots: u64) -> usize {
        key.wrapping_sub(least as u64).min(slots) as usize
    }
}

impl JoinTable {
    /// What a probe's word is in the rows that it matches.
    pub fn in_rows(&self, word: u64) -> u64 {
        match self.places {
            Places::Hashed { keys: true, .. } => hash_u64(word),
            _ => word,
        }
    }

    /// Whether a row is what is read of it, without a chain and a word: the one that is found matches, and no other.
    pub fn has_payloads(&self) -> bool {
        matches!(self.places, Places::Payloads { .. })
    }

    /// Whether rows are ranges: their words are how far they and those before them reach.
    pub fn has_ranges(&self) -> bool {
        matches!(self.places, Places::Sorted { .. })
    }

    /// The first row that a word may be in, which [`in_rows`](Self::in_rows) has turned into that of rows; null if there is
    /// none.
    pub fn first(&self, word: u64) -> *mut u8 {
        if let Places::Sorted { rows, .. } = self.places {
            // SAFETY: the table is finished.
            return unsafe { last_begun(self.directory, rows, word as i64) };
        }
        if let Places::Payloads { least, keys, first, size, .. } = self.places {
            let number = word.wrapping_sub(least as u64);
            // SAFETY: there is a bit for each key.
            let is_there =
                number < keys && unsafe { *self.directory.add(number as usize / 64) } >> (number % 64) & 1 == 1;
            return if is_there { (first + number as usize * size) as *mut u8 } else { std::ptr::null_mut() };
        }
        // SAFETY: there are so many slots.
        unsafe { (*self.directory.add(self.places.slot(word) as usize) & ADDRESS) as *mut u8 }
    }
}

/// The last row that begins at or before `number`; null if none does.
///
/// # Safety
/// The directory must be that of `rows` sorted rows.
#[inline(always)]
pub(super) unsafe fn last_begun(directory: *const u64, rows: u64, number: i64) -> *mut u8 {
    let begins: *const i64 = directory.cast();
    let (mut from, mut size) = (0, rows as usize);
    // How many rows begin at or before the number, without a branch that could be foretold wrong.
    while size > 0 {
        let half = size.div_ceil(2);
        // SAFETY: `from + half <= rows`.
        let begun = unsafe { *begins.add(from + half - 1) } <= number;
        from += if begun { half } else { 0 };
        size = if begun { size - half } else { half - 1 };
    }
    if from == 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: as many addresses of rows follow the begins.
    unsafe { *directory.add(rows as usize + from - 1) as *mut u8 }
}

/// The scratch memory of one match: batch in, pairs out.
#[repr(C)]
pub struct ProbeScratch {
    /// In: number of tuples.
    pub count: u64,
    /// In: 1 if `active` says which tuples take part.
    pub has_active: u64,
    /// In: 1 if a tuple's first row with an equal word suffices, 3 if nobody looks at that row either; 2 if nothing more is
    /// asked of a tuple once `matched[tuple]` is 1 (pairs that were already delivered, or are in the same delivery, may still
    /// follow).
    pub first_only: u64,
    /// In: the limit that the pairs come to later in the body, null if there is none. Once it is exhausted, no pairs are
    /// delivered.
    pub limit: *const LimitLocal,
    /// The kernel's own cursor.
    pub cursor: [u64; 3],
    /// Generated code's own, zeroed by `probe_begin`: 1 once the unmatched tuples are delivered.
    pub finishing: u64,
    /// In: word by tuple; `probe_begin` turns it into that of rows.
    pub hashes: [u64; BATCH],
    /// In, if rows are ranges that end: the number that they reach, by tuple.
    pub until: [i64; BATCH],
    /// Out: build rows of the pairs.
    pub entries: [*mut u8; BATCH],
    /// The kernel's own: where each tuple's chain goes on.
    pub chains: [*mut u8; BATCH],
    /// Out: tuples of the pairs.
    pub tuples: [u32; BATCH],
    /// The kernel's own: tuples whose chains go on.
    pub pending: [u32; BATCH],
    /// In: 1 if the tuple takes part.
    pub active: [u8; BATCH],
    /// Generated code's own, zeroed by `probe_begin`: 1 if the tuple has a match, 2 if only the condition was NULL.
    pub matched: [u8; BATCH],
}
