//! The values of a group, for aggregates that must see all of them at once: percentiles, the most frequent one, and as entries of
//! several words texts and lists ([`entries`]).
//!
//! A list of chunks that grow as the list does, in memory that lives as long as the query; two lists become one in O(1).
//! Values are kept as words in whose order they come, with -0 before 0.
//!
//! The value at a place is selected, not sorted for. But chunks of the full size are sorted when they are full, by whoever
//! fills them: so a group of all rows is sorted for by all workers, a chunk at a time, and at its end there is no work that
//! would have to stop in between. What remains is a search in all of its sorted runs at once, O(log n) steps in each.

pub(crate) mod entries;
mod first;

use std::ops::Range;

use base::Result;
use functions::aggregate::percentile;

use crate::worker::Worker;

/// The values of a group row. Zeroed memory is no value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Values {
    /// Where the next word goes, and where the last chunk ends.
    next: *mut u64,
    end: *mut u64,
    last: *mut Chunk,
    first: *mut Chunk,
}

/// What stands before a chunk's words.
#[derive(Debug)]
#[repr(C)]
struct Chunk {
    before: *mut Chunk,
    /// Words in it, once another chunk has followed.
    used: u32,
    /// Whether they are in their order.
    sorted: bool,
    /// Whether [`first`] has chosen among them.
    chosen: bool,
}

/// Words of the first chunk: with what stands before them a cache line.
const FIRST_WORDS: usize = 6;
/// Words of a chunk, at most.
const MOST_WORDS: usize = (64 << 10) / 8 - 2;

impl Chunk {
    /// # Safety
    /// The chunk must exist.
    unsafe fn words(this: *mut Self) -> *mut u64 {
        // SAFETY: words follow.
        unsafe { this.add(1).cast() }
    }

    /// # Safety
    /// The chunk must exist, nobody else touch it, and `used` be written down.
    unsafe fn used<'c>(this: *mut Self) -> &'c mut [u64] {
        // SAFETY: so many words were written behind the chunk's head.
        unsafe { std::slice::from_raw_parts_mut(Self::words(this), (*this).used as usize) }
    }
}

/// The word of a double.
pub(crate) fn word_of_float(x: f64) -> u64 {
    let bits = if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The double of a word.
pub(crate) fn float_of_word(word: u64) -> f64 {
    f64::from_bits(if word >> 63 == 1 { word & !(1 << 63) } else { !word })
}

/// The word of an integer.
pub(crate) fn word_of_integer(n: i64) -> u64 {
    n as u64 ^ 1 << 63
}

/// The integer of a word.
pub(crate) fn integer_of_word(word: u64) -> i64 {
    (word ^ 1 << 63) as i64
}

impl Values {
    /// Where generated code finds the place of the next word, and the end of the chunk's room.
    pub const NEXT: u32 = std::mem::offset_of!(Self, next) as u32;
    /// See [`NEXT`](Self::NEXT).
    pub const END: u32 = std::mem::offset_of!(Self, end) as u32;

    /// Adds a word.
    ///
    /// # Safety
    /// The list's memory must have been zeroed and only been touched by workers of this query, one at a time.
    #[inline]
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, word: u64) -> Result<()> {
        if self.next == self.end {
            // SAFETY: as the caller promises.
            unsafe { self.grow(worker, 1)? };
        }
        // SAFETY: there is room before the chunk's end.
        unsafe {
            self.next.write(word);
            self.next = self.next.add(1);
        }
        Ok(())
    }

    /// Begins a new chunk, of twice the words that the last one has, for entries of so many. Values that are a word each are sorted,
    /// once they fill a chunk of the full size.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[cold]
    unsafe fn grow(&mut self, worker: &mut Worker, width: usize) -> Result<()> {
        // SAFETY: as the caller promises.
        let used = unsafe { self.finish() };
        if used == MOST_WORDS && width == 1 {
            // SAFETY: the last chunk, whose number of words is written down.
            unsafe {
                Chunk::used(self.last).sort_unstable();
                (*self.last).sorted = true;
            }
        }
        let words = (used * 2 + 2).clamp(FIRST_WORDS, MOST_WORDS) / width * width;
        let chunk = worker.keep_any(size_of::<Chunk>() + words * 8)?.cast::<Chunk>();
        // SAFETY: fresh memory for a chunk of so many words, aligned to 16.
        unsafe {
            chunk.write(Chunk { before: self.last, used: 0, sorted: false, chosen: false });
            self.next = Chunk::words(chunk);
            self.end = self.next.add(words);
        }
        if self.first.is_null() {
            self.first = chunk;
        }
        self.last = chunk;
        Ok(())
    }

    /// Writes down how many words the last chunk has.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn finish(&mut self) -> usize {
        if self.last.is_null() {
            return 0;
        }
        // SAFETY: the chunk exists, and `next` lies in it or at its end.
        unsafe {
            let used = self.next.offset_from(Chunk::words(self.last)) as usize;
            (*self.last).used = used as u32;
            used
        }
    }

    /// Adds the words of another list, which must not be used any more.
    ///
    /// # Safety
    /// As for [`add`](Self::add), of both.
    pub(crate) unsafe fn merge(&mut self, other: &Self) {
        if other.last.is_null() {
            return;
        }
        if self.last.is_null() {
            *self = *other;
            return;
        }
        // SAFETY: as the caller promises; chunks of two lists are different ones.
        unsafe {
            self.finish();
            (*other.first).before = self.last;
        }
        (self.next, self.end, self.last) = (other.next, other.end, other.last);
    }

    /// The chunks, the last one first.
    fn chunks(&self) -> Vec<*mut Chunk> {
        let last = Some(self.last).filter(|last| !last.is_null());
        std::iter::successors(last, |&chunk| {
            // SAFETY: a chunk of the list.
            Some(unsafe { (*chunk).before }).filter(|before| !before.is_null())
        })
        .collect()
    }

    /// The words.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn words<'w>(&mut self, worker: &'w mut Worker) -> Result<Words<'w>> {
        // SAFETY: as the caller promises.
        unsafe { self.finish() };
        if self.last.is_null() {
            return Ok(Words::Unsorted(&mut []));
        }
        if self.first == self.last {
            // SAFETY: the only chunk, whose number of words is written down.
            return Ok(Words::Unsorted(unsafe { Chunk::used(self.last) }));
        }
        let chunks = self.chunks();
        // SAFETY: chunks of the list, which nobody else touches, and whose numbers of words are written down.
        let (sorted, others): (Vec<_>, Vec<_>) = chunks.into_iter().partition(|&chunk| unsafe { (*chunk).sorted });
        // SAFETY: likewise.
        let all = others.iter().map(|&chunk| unsafe { Chunk::used(chunk) }.len()).sum();
        let inner = &mut *worker.inner;
        let words = inner.selection.room(all, &inner.shared.budget)?;
        // SAFETY: likewise.
        others.iter().for_each(|&chunk| words.extend_from_slice(unsafe { Chunk::used(chunk) }));
        if sorted.is_empty() {
            return Ok(Words::Unsorted(words));
        }
        words.sort_unstable();
        // SAFETY: likewise.
        let runs = sorted.iter().map(|&chunk| unsafe { &*Chunk::used(chunk) });
        Ok(Words::Runs(runs.chain([words.as_slice()]).filter(|run| !run.is_empty()).collect()))
    }

    /// The word at the first place at or behind a fraction; 0 if there is none. 22003 if it is no fraction.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn at(&mut self, worker: &mut Worker, fraction: f64) -> Result<u64> {
        let fraction = percentile::fraction(fraction)?;
        // SAFETY: as the caller promises.
        let mut words = unsafe { self.words(worker)? };
        match words.len() {
            0 => Ok(0),
            count => Ok(words.two(percentile::place(fraction, count), false).0),
        }
    }

    /// The words at or before a fraction and behind it, and how far it is from the one to the other; zeros if there is no
    /// word. 22003 if it is no fraction.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn around(&mut self, worker: &mut Worker, fraction: f64) -> Result<(u64, u64, f64)> {
        let fraction = percentile::fraction(fraction)?;
        // SAFETY: as the caller promises.
        let mut words = unsafe { self.words(worker)? };
        if words.len() == 0 {
            return Ok((0, 0, 0.0));
        }
        let (place, way) = percentile::places(fraction, words.len());
        let (low, high) = words.two(place, way != 0.0);
        Ok((low, high, way))
    }
}

/// The words of a list.
enum Words<'w> {
    Unsorted(&'w mut [u64]),
    /// Each in its order, and none empty.
    Runs(Vec<&'w [u64]>),
}

impl Words<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Unsorted(words) => words.len(),
            Self::Runs(runs) => runs.iter().map(|run| run.len()).sum(),
        }
    }

    /// The word at a place of the order, and if it is asked for the next one.
    fn two(&mut self, place: usize, next: bool) -> (u64, u64) {
        match self {
            Self::Unsorted(words) => {
                let (_, &mut word, behind) = words.select_nth_unstable(place);
                (word, if next { behind.iter().copied().min().unwrap_or(word) } else { word })
            }
            Self::Runs(runs) => in_runs(runs, place),
        }
    }
}

/// The word at a place among those of all runs, and the next one: halving what lies between the least and the greatest.
fn in_runs(runs: &[&[u64]], place: usize) -> (u64, u64) {
    let mut low = runs.iter().map(|run| run[0]).min().unwrap_or(0);
    let mut high = runs.iter().map(|run| run[run.len() - 1]).max().unwrap_or(0);
    // Where in each run the words end that are at most the one that is looked for.
    let mut ends: Vec<Range<usize>> = runs.iter().map(|run| 0..run.len()).collect();
    let mut middles = vec![0; runs.len()];
    while low < high {
        let middle = low + (high - low) / 2;
        for ((run, end), at) in runs.iter().zip(&ends).zip(&mut middles) {
            *at = end.start + run[end.clone()].partition_point(|&word| word <= middle);
        }
        if middles.iter().sum::<usize>() > place {
            high = middle;
            ends.iter_mut().zip(&middles).for_each(|(end, &at)| end.end = at);
        } else {
            low = middle + 1;
            ends.iter_mut().zip(&middles).for_each(|(end, &at)| end.start = at);
        }
    }
    let behind = runs.iter().zip(&ends).map(|(run, end)| end.start + run[end.clone()].partition_point(|&w| w <= low));
    let behind: Vec<usize> = behind.collect();
    if behind.iter().sum::<usize>() > place + 1 {
        return (low, low);
    }
    let next = runs.iter().zip(behind).filter_map(|(run, at)| run.get(at)).min();
    (low, next.copied().unwrap_or(low))
}

#[cfg(test)]
mod tests {
    use base::{Budget, Random};

    use super::*;
    use crate::query::QueryContext;
    use crate::testing::program;

    pub(super) const NOTHING: Values = Values {
        next: std::ptr::null_mut(),
        end: std::ptr::null_mut(),
        last: std::ptr::null_mut(),
        first: std::ptr::null_mut(),
    };

    #[test]
    fn values_at_places_are_those_of_a_sort() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let mut random = Random(7);
        for size in [0, 1, 2, 6, 7, 100, 8190, 20_000, 50_000] {
            for distinct in [3, 1000, u64::MAX] {
                let mut lists = [NOTHING; 3];
                let mut all = Vec::new();
                for _ in 0..size {
                    let word = if distinct == u64::MAX { random.bits() } else { random.below(distinct) };
                    all.push(word);
                    // SAFETY: lists of this worker's query.
                    unsafe { lists[random.below(5).min(2) as usize].add(&mut worker, word).unwrap() };
                }
                all.sort_unstable();
                let [mut list, second, third] = lists;
                // SAFETY: likewise; the merged lists are not used again.
                unsafe {
                    list.merge(&third);
                    list.merge(&second);
                }
                for fraction in [0.0, 0.1, 0.5, 0.77, 1.0] {
                    // SAFETY: likewise.
                    let (at, around) = unsafe {
                        (list.at(&mut worker, fraction).unwrap(), list.around(&mut worker, fraction).unwrap())
                    };
                    if size == 0 {
                        assert_eq!((at, around), (0, (0, 0, 0.0)));
                        continue;
                    }
                    let (place, way) = percentile::places(fraction, size);
                    let next = if way == 0.0 { around.1 } else { all[place + 1] };
                    assert_eq!((at, around), (all[percentile::place(fraction, size)], (all[place], next, way)));
                }
                // SAFETY: likewise.
                assert!(unsafe { list.at(&mut worker, 1.5) }.is_err());
            }
        }
    }

    #[test]
    fn words_are_ordered_as_values_are() {
        let floats = [f64::NEG_INFINITY, -1.5, -1e-300, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        assert!(floats.is_sorted_by_key(|&x| word_of_float(x)));
        assert!(floats.iter().all(|&x| float_of_word(word_of_float(x)).to_bits() == x.to_bits()));
        assert!([i64::MIN, -1, 0, 1, i64::MAX].is_sorted_by_key(|&n| word_of_integer(n)));
        assert_eq!(integer_of_word(word_of_integer(-7)), -7);
    }
}
