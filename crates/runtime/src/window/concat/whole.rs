//! The text of a long partition that all of its rows have: put together once, in pieces.
//!
//! 1. Each piece of the rows finds which of its part of a partition count, and how many bytes they have.
//! 2. From these follows how long the text is and where each part's begins.
//! 3. Each part is written to its place.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::{Area, Result};
use types::Str;

use super::LONG;
use super::{Rows, allocate, text_of};
use crate::source::Address;
use crate::window::Positions;

/// Rows of a piece.
const PIECE: usize = 4 << 10;

/// The texts of long partitions.
#[derive(Debug, Default)]
pub(super) struct Wholes {
    /// By the first row of each.
    parts: Mutex<BTreeMap<usize, Part>>,
    /// By the first row of each partition: where the text is and how long; none if no row counts.
    texts: Mutex<HashMap<usize, Option<(Address, usize)>>>,
}

/// What a piece has of a partition.
#[derive(Clone, Debug)]
struct Part {
    rows: Range<usize>,
    /// The partition's first row.
    partition: usize,
    /// The first and the last row that count, taken by itself, and the bytes of those behind the first.
    ends: Option<(usize, usize)>,
    bytes: usize,
    /// The last row that counts before this part, and where its text begins.
    place: Option<(Option<usize>, Address)>,
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wholes {
    /// How many pieces a phase has, for so many rows.
    pub(super) fn pieces(phase: usize, rows: usize) -> Option<usize> {
        [rows.div_ceil(PIECE), 1, rows.div_ceil(PIECE)].get(phase).copied()
    }

    /// Phase 0.
    pub(super) fn measure(&self, rows: &Rows<'_>, piece: usize, positions: &Positions) -> Result<()> {
        let all = piece * PIECE..positions.rows.min((piece + 1) * PIECE);
        for (part, partition) in positions.parts(all).filter(|(_, partition)| partition.len() > LONG) {
            let (mut ends, mut bytes) = (None, 0);
            rows.each(part.clone(), |row| match ends {
                Some((first, last)) if rows.counts(row, Some(last)) => {
                    bytes += rows.bytes(row, Some(last));
                    ends = Some((first, row));
                }
                None if rows.counts(row, None) => ends = Some((row, row)),
                _ => {}
            })?;
            let found = Part { partition: partition.start, rows: part.clone(), ends, bytes, place: None };
            lock(&self.parts).insert(part.start, found);
        }
        Ok(())
    }

    /// Phase 1.
    pub(super) fn place(&self, rows: &Rows<'_>, area: &mut Area) -> Result<()> {
        let mut parts = lock(&self.parts);
        let mut parts: Vec<&mut Part> = parts.values_mut().collect();
        for parts in parts.chunk_by_mut(|a, b| a.partition == b.partition) {
            let (mut last, mut length, mut places) = (None, 0, Vec::new());
            for part in &*parts {
                places.push((last, length));
                if let Some((first, end)) = part.ends {
                    // Whether the first one counts, and with a separator, depends on what comes before.
                    length += part.bytes + if rows.counts(first, last) { rows.bytes(first, last) } else { 0 };
                    last = Some(end);
                }
            }
            let start = allocate(area, length)?;
            for (part, (before, at)) in parts.iter_mut().zip(places) {
                // SAFETY: inside of what was allocated, or at its end.
                part.place = Some((before, Address(unsafe { start.add(at) })));
            }
            lock(&self.texts).insert(parts[0].partition, last.map(|_| (Address(start), length)));
        }
        Ok(())
    }

    /// Phase 2.
    pub(super) fn copy(&self, rows: &Rows<'_>, piece: usize) -> Result<()> {
        let all = piece * PIECE..(piece + 1) * PIECE;
        let parts: Vec<Part> = lock(&self.parts).range(all).map(|(_, part)| part.clone()).collect();
        for part in parts {
            let (mut last, Address(to)) = part.place.expect("placed in the phase before");
            // SAFETY: the part's own room, as long as was measured.
            unsafe { rows.write(part.rows, to, &mut last)? };
        }
        Ok(())
    }

    /// The text of the partition that begins with a row, once all phases are over.
    pub(super) fn text(&self, partition: usize) -> Option<Str> {
        let (Address(start), length) = lock(&self.texts)[&partition]?;
        // SAFETY: written by the last phase. The area outlives the header: it is kept as long as the results are.
        Some(unsafe { text_of(start, length) })
    }
}
