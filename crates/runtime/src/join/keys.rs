//! The range of the build rows' keys, which decides whether the table is an array by key: taken of rows as they come in,
//! while they are in the cache.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pipeline::ir::JoinWord;

use crate::rows::{Mark, PerWorker, RowLists, Segment};

/// Slots of an array for each build row, at most, and so many whatever the rows: no more memory than a hashed directory.
const SLOTS: (u64, u64) = (2, 1 << 10);
/// Likewise for arrays of at most a mebibyte, which costs little to have and stays in a core's cache.
const SMALL: (u64, u64) = (8, 1 << 10);
const SMALL_SLOTS: u64 = 1 << 17;
/// Most rows whose keys are listed.
const LISTED: usize = 1 << 10;
/// Bits of a [`Bitmap`], likewise.
const BITS: (u64, u64) = (128, 1 << 16);

/// The keys of all workers' rows.
#[derive(Debug)]
pub(super) struct Keys {
    word: JoinWord,
    /// Where a row says that its key is NULL.
    null: Option<u32>,
    noted: PerWorker<Noted>,
}

/// What is known of one worker's rows up to a mark.
#[derive(Debug, Default)]
struct Noted {
    until: Mark,
    rows: u64,
    range: Range,
}

/// Keys from the first to the second; none if the first is greater.
#[derive(Clone, Copy, Debug)]
struct Range(i64, i64);

impl Default for Range {
    fn default() -> Self {
        Self(i64::MAX, i64::MIN)
    }
}

impl Range {
    fn join(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.max(other.1))
    }
}

impl Keys {
    pub(super) fn new(word: JoinWord) -> Self {
        Self { word, null: word.null(), noted: PerWorker::default() }
    }

    /// What rows are found by.
    pub(super) fn word(&self) -> JoinWord {
        self.word
    }

    /// Whether rows are found by their keys.
    pub(super) fn are_words(&self) -> bool {
        matches!(self.word, JoinWord::Key { .. })
    }

    /// Notes the keys of the rows that came since it was asked last. Called by the worker itself.
    pub(super) fn note(&self, worker: usize, rows: &RowLists) {
        if !self.are_words() {
            return;
        }
        let noted = self.noted.get_or(worker, Noted::default);
        // SAFETY: only the worker itself writes its item.
        let (segments, until) = rows.since(worker, unsafe { (*noted).until });
        // SAFETY: as above.
        if until == unsafe { (*noted).until } {
            // Perhaps the table is finished, and others read.
            return;
        }
        // SAFETY: the worker's own item; a pipeline that fills the state runs, so nobody else reads it.
        let noted = unsafe { &mut *noted };
        noted.until = until;
        for segment in segments {
            noted.rows += segment.rows() as u64;
            // SAFETY: the worker's own rows, all of whose fields are stored.
            noted.range = noted.range.join(unsafe { self.range_of(&segment) });
        }
    }

    /// # Safety
    /// The rows must be of the state's layout, and complete.
    unsafe fn range_of(&self, rows: &Segment) -> Range {
        (0..rows.rows()).fold(Range::default(), |range, at| {
            // SAFETY: a row of the segment.
            match unsafe { self.key(rows.row(at)) } {
                Some(key) => range.join(Range(key, key)),
                None => range,
            }
        })
    }

    /// The word that a row is found by, unless it is a NULL key.
    ///
    /// # Safety
    /// A complete row of the state's layout.
    #[inline(always)]
    pub(super) unsafe fn key(&self, row: *const u8) -> Option<i64> {
        // SAFETY: the word stands behind the chain, and the flag inside of the row.
        unsafe {
            match self.null {
                Some(null) if *row.add(null as usize) == 1 => None,
                _ => Some(row.cast::<i64>().add(1).read()),
            }
        }
    }

    /// All keys, in order, if rows are found by them and are few; the pipelines that fill the state have ended, and the words
    /// are the keys still.
    pub(super) fn list(&self, segments: &[Segment]) -> Option<Arc<[i64]>> {
        let rows: usize = segments.iter().map(Segment::rows).sum();
        if !self.are_words() || rows > LISTED {
            return None;
        }
        let rows = segments.iter().flat_map(|segment| (0..segment.rows()).map(move |at| (segment, at)));
        // SAFETY: complete rows of the state's layout.
        let mut keys: Vec<i64> = rows.filter_map(|(segment, at)| unsafe { self.key(segment.row(at)) }).collect();
        keys.sort_unstable();
        keys.dedup();
        Some(keys.into())
    }

    /// The range of the keys of `rows` rows, if rows are found by them; the pipelines that fill the state have ended.
    pub(super) fn range(&self, rows: u64) -> Option<RangeInclusive<i64>> {
        if !self.are_words() {
            return None;
        }
        // SAFETY: no worker writes any more.
        let (all, Range(least, greatest)) = unsafe { self.noted.iter() }
            .fold((0, Range::default()), |(rows, range), noted| (rows + noted.rows, range.join(noted.range)));
        assert_eq!(all, rows, "a row outside of the range would have no slot");
        Some(least..=greatest)
    }
}

/// Whether `rows` rows may have an array for keys of this range.
pub(super) fn fit_an_array(keys: &RangeInclusive<i64>, rows: u64) -> bool {
    fit(keys, rows, SLOTS) || fit(keys, rows.min(SMALL_SLOTS / SMALL.0), SMALL)
}

fn fit(keys: &RangeInclusive<i64>, rows: u64, (per_row, least): (u64, u64)) -> bool {
    keys.is_empty() || keys.end().abs_diff(*keys.start()) < rows.saturating_mul(per_row).max(least)
}

/// Which keys of a range there are.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    least: i64,
    words: Arc<[AtomicU64]>,
}

impl Bitmap {
    /// Bytes of a bitmap for the keys of `rows` rows, if there may be one.
    pub(super) fn bytes(keys: &RangeInclusive<i64>, rows: u64) -> Option<usize> {
        let bits = || if keys.is_empty() { 0 } else { keys.end().abs_diff(*keys.start()) + 1 };
        fit(keys, rows, BITS).then(|| bits().div_ceil(64) as usize * 8)
    }

    /// None of the keys from `least` on, as many as there are bits in so many bytes.
    pub(super) fn new(least: i64, bytes: usize) -> Self {
        Self { least, words: (0..bytes / 8).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a key of the range. Whether it was not there yet.
    #[inline]
    pub(super) fn add(&self, key: i64) -> bool {
        let at = key.wrapping_sub(self.least) as u64;
        let (word, bit) = (&self.words[(at / 64) as usize], 1 << (at % 64));
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// The words' address: a bit for each key, from the least on.
    pub(super) fn as_ptr(&self) -> *const u64 {
        self.words.as_ptr().cast()
    }

    /// The words, which nobody writes any more.
    pub(super) fn words(&self) -> Arc<[u64]> {
        // SAFETY: an atomic has the size, alignment and bytes of its number, and nobody writes to these any more.
        unsafe { Arc::from_raw(Arc::into_raw(self.words.clone()) as *const [u64]) }
    }
}
