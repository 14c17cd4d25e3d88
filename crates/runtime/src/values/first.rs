//! The first entries of a group: a chunk that is full keeps those, and goes on with the room of all others. What comes behind the
//! last one that was kept is not added any more.

use std::cmp::Ordering;

use base::Result;
use types::Str;

use super::entries::{MOST_OF_ENTRY, Shape};
use super::{Chunk, Values};
use crate::worker::Worker;

impl Values {
    /// Adds an entry of words, if no more than `most` first ones are needed; at least one.
    ///
    /// # Safety
    /// As for [`add_entry`](Self::add_entry).
    #[inline]
    pub(crate) unsafe fn add_first<const W: usize>(
        &mut self,
        worker: &mut Worker,
        entry: [u64; W],
        most: usize,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        if self.next == self.end && !unsafe { self.choose::<W>(most, Ord::cmp) } {
            // SAFETY: likewise.
            unsafe { self.grow(worker, W)? };
        }
        // SAFETY: a chunk was begun, and if it has chosen, it has that many entries.
        unsafe {
            if (*self.last).chosen && entry >= *Chunk::words(self.last).cast::<[u64; W]>().add(most - 1) {
                return Ok(());
            }
            self.add_entry(worker, entry)
        }
    }

    /// Adds an entry of words and a text, likewise. The text is copied if the entry is.
    ///
    /// # Safety
    /// As for [`add_first`](Self::add_first); the text must be alive.
    pub(crate) unsafe fn add_first_text(
        &mut self,
        worker: &mut Worker,
        (words, text): (&[u64], Str),
        most: usize,
        backwards: bool,
    ) -> Result<()> {
        let shape = Shape { words: words.len(), text: true, backwards };
        if self.next == self.end {
            // SAFETY: as the caller promises; texts of entries that were added are kept.
            let has_chosen = unsafe {
                match shape.width() {
                    2 => self.choose::<2>(most, |a, b| shape.compare(a, b)),
                    3 => self.choose::<3>(most, |a, b| shape.compare(a, b)),
                    4 => self.choose::<4>(most, |a, b| shape.compare(a, b)),
                    5 => self.choose::<5>(most, |a, b| shape.compare(a, b)),
                    _ => self.choose::<6>(most, |a, b| shape.compare(a, b)),
                }
            };
            if !has_chosen {
                // SAFETY: likewise.
                unsafe { self.grow(worker, shape.width())? };
            }
        }
        let mut entry = [0; MOST_OF_ENTRY];
        entry[..words.len()].copy_from_slice(words);
        entry[words.len()..shape.width()].copy_from_slice(&text.words());
        // SAFETY: a chunk was begun, and if it has chosen, it has that many entries, whose texts are kept.
        unsafe {
            if (*self.last).chosen {
                let last = Chunk::words(self.last).add((most - 1) * shape.width());
                let last = std::slice::from_raw_parts(last, shape.width());
                if shape.compare(&entry[..shape.width()], last).is_ge() {
                    return Ok(());
                }
            }
            let text = worker.keep_text(text)?;
            self.add_text(worker, words, text)
        }
    }

    /// Keeps the first entries of the last chunk, if it is full and has at least twice as many.
    ///
    /// # Safety
    /// As for [`add_first`](Self::add_first).
    #[cold]
    unsafe fn choose<const W: usize>(
        &mut self,
        most: usize,
        mut order: impl FnMut(&[u64; W], &[u64; W]) -> Ordering,
    ) -> bool {
        // SAFETY: as the caller promises.
        let words = unsafe { self.finish() };
        if most == 0 || words / W < 2 * most {
            return false;
        }
        // SAFETY: the last chunk, which exists as it has words, and whose number of them is written down.
        unsafe {
            let (entries, _) = Chunk::used(self.last).as_chunks_mut::<W>();
            entries.select_nth_unstable_by(most - 1, |a, b| order(a, b));
            (*self.last).chosen = true;
            self.next = Chunk::words(self.last).add(most * W);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use base::{Budget, Random};

    use super::super::tests::NOTHING;
    use crate::query::QueryContext;
    use crate::testing::program;

    #[test]
    fn the_first_entries_are_those_of_a_sort() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let mut random = Random(7);
        for size in [1, 3, 100, 20_000] {
            for most in [1, 2, 3, 10, 1000, 30_000] {
                for distinct in [2, 1000, u64::MAX] {
                    let mut lists = [NOTHING; 2];
                    let mut all = Vec::new();
                    for number in 0..size {
                        let entry = [random.bits() % distinct, number];
                        all.push(entry);
                        // SAFETY: a list of this query.
                        unsafe { lists[random.bits() as usize % 2].add_first(&mut worker, entry, most).unwrap() };
                    }
                    all.sort_unstable();
                    all.truncate(most);
                    let [mut list, other] = lists;
                    // SAFETY: likewise; the other list is not used any more.
                    unsafe {
                        list.merge(&other);
                        list.finish();
                    }
                    let mut kept = Vec::new();
                    for chunk in list.chunks() {
                        // SAFETY: a chunk of the list.
                        kept.extend_from_slice(unsafe { super::Chunk::used(chunk) }.as_chunks::<2>().0);
                    }
                    assert!(most >= 1000 || kept.len() < 60 * most + 200, "{} kept of {most}", kept.len());
                    kept.sort_unstable();
                    kept.truncate(most);
                    assert_eq!(kept, all, "{size} {most} {distinct}");
                }
            }
        }
    }
}
