//! Payloads by key: where the keys are numbers close together, and no two rows have the same, what is read of a row lies at its
//! key's place in an array, without the row's chain and word. A probe then finds by counting what it would look up in a slot, and
//! what it reads is a quarter of the bytes, or less.
//!
//! Whether two rows have the same key shows as they are written there: the first that finds its place taken has the table made
//! in the other way. Tables whose rows are marked, or read after the probes, have their rows where these are.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Budget;
use base::memory::{Pages, Reservation};
use base::prefetch::prefetch_write;
use pipeline::ir::{JOIN_HEADER, JoinWord, RowLayout};
use scheduler::{Cutting, TaskSet, Tasks};

use super::keys::Bitmap;
use super::layout::Places;
use super::table::Keyed;
use super::{Join, OPERATOR};
use crate::rows::{Segment, cut_rows, offsets};

/// Larger payloads stay in their rows: writing them again takes longer than the slots.
const LARGEST: usize = 16;
/// Places for each row at most.
const PLACES: u64 = 2;
/// How many rows ahead places are prefetched.
const AHEAD: usize = 64;
/// Fewer rows have an array of slots that lies in the nearest cache anyway.
const LEAST: u64 = 1 << 10;

/// Payloads that are being written.
#[derive(Debug)]
pub(super) struct Payloads {
    keys: RangeInclusive<i64>,
    size: usize,
    /// Behind a header's room, so that a row's offsets lead there.
    bytes: Pages,
    bitmap: Bitmap,
    _charged: Reservation,
    /// Two rows have the same key.
    failed: AtomicBool,
}

/// Bytes of a payload, so that each field of the next one is aligned, if it is small, and nothing else is asked of rows.
pub(super) fn size_of_payload(layout: &RowLayout, word: JoinWord) -> Option<usize> {
    // Only rows that stay without a match are kept although their keys are NULL.
    if word != (JoinWord::Key { null: None }) {
        return None;
    }
    let end = layout.fields.iter().map(|field| field.offset + field.ty.size()).max().unwrap_or(0);
    let alignment = layout.fields.iter().map(|field| field.ty.size().min(8)).max().unwrap_or(1);
    let size = end.saturating_sub(JOIN_HEADER).next_multiple_of(alignment) as usize;
    (size <= LARGEST).then_some(size)
}

impl Payloads {
    /// Room for the payloads of `rows` rows with these keys, if they had better lie so and there is memory for it: slots may take
    /// less.
    pub(super) fn new(keys: &RangeInclusive<i64>, rows: u64, size: usize, budget: &Budget) -> Option<Self> {
        let places = if keys.is_empty() { 0 } else { keys.end().abs_diff(*keys.start()).saturating_add(1) };
        let fits = rows >= LEAST && (rows..=rows.saturating_mul(PLACES)).contains(&places);
        let bits = Bitmap::bytes(keys, rows).filter(|_| fits)?;
        let len = places as usize * size + 2 * JOIN_HEADER as usize;
        let charged = budget.reserve(len + bits, OPERATOR).ok()?;
        Some(Self {
            keys: keys.clone(),
            size,
            bytes: Pages::recycled(len).0,
            bitmap: Bitmap::new(*keys.start(), bits),
            _charged: charged,
            failed: AtomicBool::new(false),
        })
    }

    /// The morsels that write them.
    pub(super) fn fill(self: Arc<Self>, join: Arc<Join>, cut: &Cutting) -> Box<dyn TaskSet> {
        let segments = join.segments();
        let offsets = offsets(&segments);
        Tasks::boxed(cut_rows(&segments, &offsets, cut), move |_, morsel| {
            for (number, rows) in offsets.within(morsel) {
                if self.failed.load(Ordering::Relaxed) {
                    break;
                }
                segments[number].note_read(rows.len());
                // SAFETY: complete rows of the join, each in one morsel.
                if !unsafe { self.write(&join, &segments[number], rows) } {
                    self.failed.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    }

    /// Writes the payloads of rows; `false` if one's place is taken.
    ///
    /// # Safety
    /// The rows must be the join's, whose payload has the size; each is written once.
    unsafe fn write(&self, join: &Join, segment: &Segment, rows: Range<usize>) -> bool {
        let first = self.bytes.as_ptr().wrapping_add(JOIN_HEADER as usize);
        for from in rows.clone().step_by(AHEAD) {
            let to = (from + AHEAD).min(rows.end);
            let mut moves = [(first.cast_const(), first); AHEAD];
            for (at, to_move) in (from..to).zip(&mut moves) {
                // SAFETY: a row of the segment, whose key is of the range.
                let (row, key) = unsafe {
                    let row = segment.row(at);
                    (row, join.keys.key(row).expect("no key is NULL"))
                };
                if !self.bitmap.add(key) {
                    return false;
                }
                let number = key.wrapping_sub(*self.keys.start()) as usize;
                *to_move = (row.wrapping_add(JOIN_HEADER as usize), first.wrapping_add(number * self.size));
                prefetch_write(to_move.1);
            }
            for (from, to) in &moves[..to - from] {
                // SAFETY: the payload of a row, and a place of its size, which has one key.
                unsafe { copy(*from, *to, self.size) };
            }
        }
        true
    }

    /// What a table of them says, unless two rows have the same key.
    pub(super) fn finished(self: Arc<Self>, rows: u64) -> Option<(Places, Keyed)> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let keys = self.keys.end().abs_diff(*self.keys.start()) + 1;
        let places = Places::Payloads {
            least: *self.keys.start(),
            keys,
            first: self.bytes.as_ptr() as usize,
            size: self.size,
            is_full: rows == keys,
        };
        let (range, bitmap) = (Some(self.keys.clone()), Some(self.bitmap.clone()));
        Some((places, Keyed { range, bitmap, list: None, memory: self }))
    }
}

/// Copies a payload.
///
/// # Safety
/// `size` bytes are readable at the one and writable at the other.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: as the caller promises; sizes that most have are moves of words.
    unsafe {
        match size {
            4 => to.copy_from_nonoverlapping(from, 4),
            8 => to.copy_from_nonoverlapping(from, 8),
            16 => to.copy_from_nonoverlapping(from, 16),
            _ => to.copy_from_nonoverlapping(from, size),
        }
    }
}
