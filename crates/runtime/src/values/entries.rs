//! Entries of a group: texts and elements of lists, each behind the words that order it.
//!
//! An entry is so many words, compared from the first to the last, or such words and a text, which decides between entries whose
//! words are equal. Workers add entries as rows come, so mostly those of each lie in their order already: such runs are read
//! and merged where they lie. Where runs are short, entries are put together and sorted, by pieces that are merged.

mod order;

use std::cmp::Ordering;

use base::{Error, Result, SqlState};
use types::ops::array;
use types::ops::string::MAX_LENGTH;
use types::{Physical, SqlType, Str};

use super::{Chunk, FIRST_WORDS, Values};
use crate::worker::Worker;
use order::{Entries, Room, merge_all, merge_pairs, pair, runs_of, sort, words_of};

/// Words of an entry, those of its text included, at most.
pub(crate) const MOST_OF_ENTRY: usize = FIRST_WORDS;
/// Entries that are sorted, or gone through, between two looks at whether the statement was cancelled.
const PIECE: usize = 32 << 10;

/// How entries are ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Words, without those of the text.
    pub words: usize,
    /// Whether a text is behind them.
    pub text: bool,
    /// Whether of entries with equal words the greatest text comes first.
    pub backwards: bool,
}

impl Shape {
    pub(super) fn width(self) -> usize {
        self.words + if self.text { 2 } else { 0 }
    }

    /// # Safety
    /// Both must be entries of this shape, whose texts are alive.
    #[inline(always)]
    pub(super) unsafe fn compare(self, a: &[u64], b: &[u64]) -> Ordering {
        for (a, b) in a[..self.words].iter().zip(&b[..self.words]) {
            match a.cmp(b) {
                Ordering::Equal => {}
                order => return order,
            }
        }
        if !self.text {
            return Ordering::Equal;
        }
        // SAFETY: as the caller promises.
        let order = unsafe { self.text_of(a).compare(&self.text_of(b)) };
        if self.backwards { order.reverse() } else { order }
    }

    fn text_of(self, entry: &[u64]) -> Str {
        Str::from_words([entry[self.words], entry[self.words + 1]])
    }
}

impl Values {
    /// Adds an entry.
    ///
    /// # Safety
    /// As for [`add`](Self::add); all entries of a list are of as many words, and no more than [`MOST_OF_ENTRY`].
    #[inline]
    pub(crate) unsafe fn add_entry<const W: usize>(&mut self, worker: &mut Worker, entry: [u64; W]) -> Result<()> {
        const { assert!(1 <= W && W <= MOST_OF_ENTRY) };
        if self.next == self.end {
            // SAFETY: as the caller promises.
            unsafe { self.grow(worker, W)? };
        }
        // SAFETY: chunks have room for whole entries.
        unsafe {
            self.next.cast::<[u64; W]>().write(entry);
            self.next = self.next.add(W);
        }
        Ok(())
    }

    /// Adds an entry that is a text behind words.
    ///
    /// # Safety
    /// As for [`add_entry`](Self::add_entry).
    #[inline]
    pub(crate) unsafe fn add_text(&mut self, worker: &mut Worker, words: &[u64], text: Str) -> Result<()> {
        let [a, b] = text.words();
        // SAFETY: as the caller promises.
        unsafe {
            match *words {
                [] => self.add_entry(worker, [a, b]),
                [first] => self.add_entry(worker, [first, a, b]),
                [first, second] => self.add_entry(worker, [first, second, a, b]),
                [first, second, third] => self.add_entry(worker, [first, second, third, a, b]),
                [first, second, third, fourth] => self.add_entry(worker, [first, second, third, fourth, a, b]),
                _ => Err(Error::internal("an entry of too many words")),
            }
        }
    }

    /// Adds an entry of words.
    ///
    /// # Safety
    /// As for [`add_entry`](Self::add_entry).
    #[inline]
    pub(crate) unsafe fn add_words(&mut self, worker: &mut Worker, words: &[u64]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match *words {
                [a] => self.add_entry(worker, [a]),
                [a, b] => self.add_entry(worker, [a, b]),
                [a, b, c] => self.add_entry(worker, [a, b, c]),
                [a, b, c, d] => self.add_entry(worker, [a, b, c, d]),
                [a, b, c, d, e] => self.add_entry(worker, [a, b, c, d, e]),
                [a, b, c, d, e, f] => self.add_entry(worker, [a, b, c, d, e, f]),
                _ => Err(Error::internal("an entry of too many words")),
            }
        }
    }

    /// The texts in the order of their entries, each behind the separator but the first. 54000.
    ///
    /// # Safety
    /// As for [`add`](Self::add); entries are of that shape, their texts alive, and there is one.
    pub(crate) unsafe fn texts(&mut self, worker: &mut Worker, shape: Shape, separator: &str) -> Result<Str> {
        let mut room = Room::default();
        let (mut count, mut length) = (0usize, 0usize);
        let measure = |entry: &[u64]| {
            count += 1;
            length += shape.text_of(entry).len();
        };
        // SAFETY: as the caller promises.
        let entries = unsafe { self.entries(worker, shape, &mut room, measure)? };
        let separators = separator.len().saturating_mul(count.saturating_sub(1));
        worker.written(checked(length.saturating_add(separators))?, |to| {
            let mut to = Writer { to, at: 0 };
            let mut before: &[u8] = &[];
            let put = |entry: &[u64]| {
                to.put(before);
                // SAFETY: as the caller promises.
                unsafe { to.put_text(&shape.text_of(entry)) };
                before = separator.as_bytes();
            };
            // SAFETY: likewise.
            unsafe { entries.each(shape, put) }
        })
    }

    /// The list of elements of a type, in the order of their entries: the last word is the element's, and if `flagged` the one before
    /// says whether it is NULL. 54000.
    ///
    /// # Safety
    /// As for [`add`](Self::add); entries are of so many words.
    pub(crate) unsafe fn list(
        &mut self,
        worker: &mut Worker,
        (words, flagged): (usize, bool),
        element: SqlType,
    ) -> Result<Str> {
        let shape = Shape { words, text: false, backwards: false };
        let mut room = Room::default();
        // SAFETY: as the caller promises.
        let entries = unsafe { self.entries(worker, shape, &mut room, |_| {})? };
        let stride = array::stride(element).ok_or_else(|| Error::internal("a list of what has no words"))?;
        let length = checked((entries.words() / words).saturating_mul(stride))?;
        // Each has code of its own.
        macro_rules! write {
            ($($physical:ident)*) => {
                match element.physical() {
                    $(Physical::$physical => {
                        const BYTES: usize = array::stride_of(Physical::$physical).expect("words have as many bytes");
                        worker.written(length, |to| {
                            let (to, _) = to.as_chunks_mut::<BYTES>();
                            let write = |to: &mut [u8; BYTES], word| array::write_word(to, word, Physical::$physical);
                            entries.each_word(shape, flagged, to, write)
                        })
                    })*
                    _ => Err(Error::internal("a list of what has no words")),
                }
            };
        }
        write!(I64 I32 F64 F32 I16 Bool)
    }

    /// The entries in their order. Each is shown to `see`, in no order.
    ///
    /// # Safety
    /// As for [`add`](Self::add); entries are of that shape, and their texts alive.
    unsafe fn entries<'w>(
        &'w mut self,
        worker: &mut Worker,
        shape: Shape,
        room: &'w mut Room,
        see: impl FnMut(&[u64]),
    ) -> Result<Entries<'w>> {
        // SAFETY: as the caller promises.
        unsafe { self.finish() };
        let mut chunks: Vec<&[u64]> = Vec::new();
        // SAFETY: chunks of the list, which nobody else touches, and whose numbers of words are written down.
        chunks.extend(self.chunks().into_iter().rev().map(|chunk| unsafe { &*Chunk::used(chunk) }));
        // SAFETY: as the caller promises.
        if let Some(runs) = unsafe { runs_of(&chunks, shape, see)? } {
            if runs.len() <= 2 {
                return Ok(pair(runs));
            }
            let words = runs.iter().map(words_of).sum();
            let to = room.reserve(worker, 0, words)?;
            // SAFETY: likewise.
            let ends = unsafe { merge_pairs(&runs, shape, to)? };
            // SAFETY: likewise.
            return unsafe { merge_all(worker, room, ends, shape) };
        }
        let words = chunks.iter().map(|chunk| chunk.len()).sum();
        let together = room.reserve(worker, 0, words)?;
        chunks.iter().for_each(|chunk| together.extend_from_slice(chunk));
        // SAFETY: likewise.
        unsafe {
            match shape.width() {
                1 => sort::<1>(together, shape)?,
                2 => sort::<2>(together, shape)?,
                3 => sort::<3>(together, shape)?,
                4 => sort::<4>(together, shape)?,
                5 => sort::<5>(together, shape)?,
                6 => sort::<6>(together, shape)?,
                _ => return Err(Error::internal("an entry of too many words")),
            }
        }
        let piece = PIECE * shape.width();
        let ends = (0..words.div_ceil(piece)).map(|number| words.min((number + 1) * piece)).collect();
        // SAFETY: likewise.
        unsafe { merge_all(worker, room, ends, shape) }
    }

    /// The word that most are the same as, the first of several; 0 if there is none.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn most_frequent(&mut self, worker: &mut Worker, same: fn(u64, u64) -> bool) -> Result<u64> {
        let shape = Shape { words: 1, text: false, backwards: false };
        let mut room = Room::default();
        // SAFETY: as the caller promises.
        let entries = unsafe { self.entries(worker, shape, &mut room, |_| {})? };
        let (mut best, mut run) = ((0, 0), (0, 0));
        let count = |entry: &[u64]| {
            run = if run.0 > 0 && same(run.1, entry[0]) { (run.0 + 1, run.1) } else { (1, entry[0]) };
            if run.0 > best.0 {
                best = run;
            }
        };
        // SAFETY: likewise.
        unsafe { entries.each(shape, count)? };
        Ok(best.1)
    }
}

/// Writes bytes one behind the other.
struct Writer<'t> {
    to: &'t mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        match bytes {
            [] => {}
            [byte] => self.to[self.at] = *byte,
            _ => self.to[self.at..self.at + bytes.len()].copy_from_slice(bytes),
        }
        self.at += bytes.len();
    }

    /// A text; of a short one, what lies behind is written over by what follows it.
    ///
    /// # Safety
    /// It must be alive.
    #[inline(always)]
    unsafe fn put_text(&mut self, text: &Str) {
        if let (Some(short), Some(room)) = (text.inline_bytes(), self.to.get_mut(self.at..self.at + Str::INLINE)) {
            room.copy_from_slice(&short);
            self.at += text.len();
            return;
        }
        // SAFETY: as the caller promises.
        self.put(unsafe { text.bytes() });
    }
}

/// The length of a text, if any may be so long; else 54000.
fn checked(length: usize) -> Result<usize> {
    if length > MAX_LENGTH {
        return Err(Error::new(SqlState::PROGRAM_LIMIT, "requested length too large"));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use base::{Budget, Random};

    use super::super::{tests::NOTHING, word_of_integer};
    use super::*;
    use crate::query::QueryContext;
    use crate::testing::program;

    /// What a group has, of rows that three workers have added, is what a sort of all rows says.
    #[test]
    fn texts_and_lists_are_in_the_order_of_their_entries() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let mut random = Random(11);
        // Rows of a list that follow each other; none: in no order.
        let cases =
            [(1, Some(1)), (7, None), (500, None), (100_000, Some(33_334)), (100_000, Some(100)), (100_000, None)];
        for (rows, together) in cases {
            for (words, backwards) in [(0, false), (1, false), (2, true)] {
                let shape = Shape { words, text: true, backwards };
                let mut lists = [NOTHING; 3];
                let mut expected: Vec<(Vec<i64>, String)> = Vec::new();
                for row in 0..rows {
                    let mut order: Vec<i64> = (0..words).map(|_| random.below(5) as i64 - 2).collect();
                    if let (Some(_), Some(first)) = (together, order.first_mut()) {
                        *first = row;
                    }
                    let text = format!("{:03}{}", random.below(900), "x".repeat(random.index(14)));
                    let kept = worker.text(&text).unwrap();
                    let before: Vec<u64> = order.iter().map(|&w| word_of_integer(w)).collect();
                    let list = together.map_or_else(|| random.index(3), |together| (row / together % 3) as usize);
                    // SAFETY: lists of this worker's query; texts live as long as its morsel.
                    unsafe { lists[list].add_text(&mut worker, &before, kept).unwrap() };
                    expected.push((order, text));
                }
                expected.sort_by(|a, b| {
                    let texts = a.1.cmp(&b.1);
                    a.0.cmp(&b.0).then(if backwards { texts.reverse() } else { texts })
                });
                let [first, second, mut list] = lists;
                // SAFETY: likewise; the merged lists are not used again.
                let texts = unsafe {
                    list.merge(&first);
                    list.merge(&second);
                    list.texts(&mut worker, shape, ", ").unwrap()
                };
                let expected: Vec<String> = expected.into_iter().map(|(_, text)| text).collect();
                // SAFETY: the text is the worker's.
                assert!(unsafe { texts.as_str() } == expected.join(", "), "{rows} {shape:?}");
            }
        }
    }

    #[test]
    fn the_most_frequent_word_is_the_least_of_several() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let mut list = NOTHING;
        for round in 0..30_000u64 {
            for word in [u64::MAX, 3, 1 << 63, round + 10] {
                // SAFETY: a list of this worker's query.
                unsafe { list.add(&mut worker, word).unwrap() };
            }
        }
        // SAFETY: likewise.
        assert_eq!(unsafe { list.most_frequent(&mut worker, |a, b| a == b).unwrap() }, 3);
    }
}
