//! Memory for what stays: extents of whole pages, close beside one another in regions of huge pages.
//!
//! An allocator rounds sizes up (by an eighth on average, and a column of 65,536 numbers with its header by a quarter), keeps sizes and threads
//! apart, and so needs a third more for the columns of a database. Here the first gap that is long enough is taken, a bit a
//! page says which are free, and only what has been free for a while goes back to the system: its pages, or the region. Regions
//! are made of areas that nobody needs, if there are such.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::idle::{self, Moment, Owner};
use super::mapping::{map, unmap};
use super::nodes::{LISTS, bind_home, list};
use super::pages::{HUGE_PAGE, Pages};
use super::spare;

const PAGE: usize = 4 << 10;
const REGION: usize = 32 << 20;
const REGION_PAGES: usize = REGION / PAGE;
/// Longer ones have mappings of their own.
const LONGEST: usize = REGION / 4;
/// Gaps of so many pages and more go back to the system; in shorter ones they would not be worth taking a huge page apart.
const GAP: usize = 16;

/// Free bytes that are worth giving back while others come and go.
const MUCH: usize = 16 << 20;

/// So many free bytes stay in a pause if somebody may come back, or twice what was needed since the last one.
const KEPT: usize = 128 << 20;

/// Bytes that are free while the system has memory there.
static STALE: AtomicUsize = AtomicUsize::new(0);
/// The fewest that these were since the last look, and between that and the one before.
static LEAST: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// The fewest that they were since the last pause.
static LEAST_SINCE_PAUSE: AtomicUsize = AtomicUsize::new(0);
/// By list.
static REGIONS: [Mutex<Vec<Region>>; LISTS as usize] = [const { Mutex::new(Vec::new()) }; LISTS as usize];
static OWNER: Owner = Owner { give_back: tidy, free: stale_bytes, needed };

/// Memory for a long time, in whole pages. Not accounted for: owners charge their budgets.
#[derive(Debug)]
pub struct Extent {
    start: NonNull<u8>,
    len: usize,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    /// A region of this list.
    Region(u16),
    Own(#[expect(dead_code, reason = "dropped with the extent")] Pages),
}

// SAFETY: the memory is owned exclusively, like a `Vec<u8>`.
unsafe impl Send for Extent {}
// SAFETY: as above.
unsafe impl Sync for Extent {}

impl Extent {
    /// At least `len` bytes (`len > 0`), which are anything, aligned to a page where they are mapped and to 64 anyway.
    pub fn new(len: usize) -> Self {
        if cfg!(watched) || len > LONGEST {
            let pages = Pages::recycled(len).0;
            let start = NonNull::new(pages.as_ptr()).expect("never null");
            return Self { start, len: pages.len(), origin: Origin::Own(pages) };
        }
        let (list, pages) = (list(), len.div_ceil(PAGE));
        Self { start: take(&mut regions(list), list, pages), len: pages * PAGE, origin: Origin::Region(list) }
    }

    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Never: there is no empty one.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        let Origin::Region(list) = self.origin else { return };
        let mut regions = regions(list);
        let region = regions.iter_mut().find(|region| region.has(self.start)).expect("it came from there");
        let first = (self.start.as_ptr() as usize - region.start.as_ptr() as usize) / PAGE;
        region.free(first, self.len / PAGE);
        drop(regions);
        idle::tidy_soon(&OWNER);
    }
}

fn regions(list: u16) -> MutexGuard<'static, Vec<Region>> {
    REGIONS[usize::from(list)].lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(regions: &mut Vec<Region>, list: u16, pages: usize) -> NonNull<u8> {
    if let Some(start) = regions.iter_mut().find_map(|region| region.take(pages)) {
        return start;
    }
    let recycled = spare::take(REGION, list);
    let start = recycled.unwrap_or_else(|| {
        let start = map(REGION);
        bind_home(start, REGION);
        start
    });
    let mut region = Region { start, used: Bits::default(), stale: Bits::default() };
    // The system has memory there already.
    region.set_stale(0, REGION_PAGES, recycled.is_some());
    regions.push(region);
    regions.last_mut().and_then(|region| region.take(pages)).expect("a region is longer than an extent")
}

/// Bytes that are free and have not gone back to the system.
pub(super) fn stale_bytes() -> usize {
    STALE.load(Ordering::Relaxed)
}

/// Bytes that somebody has needed since the last pause.
fn needed() -> usize {
    stale_bytes().saturating_sub(LEAST_SINCE_PAUSE.load(Ordering::Relaxed))
}

/// Gives back what is free; while others come and go, if most of it has been free for at least one look.
fn tidy(moment: Moment) {
    let free = stale_bytes();
    let least = LEAST[0].swap(free, Ordering::Relaxed);
    let before = LEAST[1].swap(least, Ordering::Relaxed);
    let settled = least.min(before);
    let gives_back = match moment {
        Moment::Rest => true,
        Moment::Idle => free > KEPT.max(2 * needed()),
        Moment::Look | Moment::Busy => settled >= MUCH && settled >= free / 2,
    };
    if gives_back {
        give_back();
    }
    if matches!(moment, Moment::Idle | Moment::Rest) {
        LEAST_SINCE_PAUSE.store(stale_bytes(), Ordering::Relaxed);
        // What was free all the pause long has not been so for two looks of those who come now.
        LEAST.iter().for_each(|least| least.store(0, Ordering::Relaxed));
    }
}

/// Gives the system what is free.
fn give_back() {
    for list in 0..LISTS {
        let mut regions = regions(list);
        regions.iter_mut().for_each(Region::give_back);
        regions.retain(|region| {
            let is_used = region.used.count > 0;
            if !is_used {
                STALE.fetch_sub(region.stale.count * PAGE, Ordering::Relaxed);
                // SAFETY: what `map` returned for the region, and nobody has any of it.
                unsafe { unmap(region.start, REGION) };
            }
            is_used
        });
    }
}

/// A mapping, and what is known of its pages.
struct Region {
    start: NonNull<u8>,
    used: Bits,
    /// Free, but the system still has memory there.
    stale: Bits,
}

// SAFETY: nobody else has what is free of it.
unsafe impl Send for Region {}

impl Region {
    fn has(&self, start: NonNull<u8>) -> bool {
        (start.as_ptr() as usize).wrapping_sub(self.start.as_ptr() as usize) < REGION
    }

    fn take(&mut self, pages: usize) -> Option<NonNull<u8>> {
        if REGION_PAGES - self.used.count < pages {
            return None;
        }
        let (first, _) = self.used.gaps().find(|&(_, len)| len >= pages)?;
        self.used.set(first, pages, true);
        idle::note_taken(pages * PAGE);
        self.set_stale(first, pages, false);
        // SAFETY: a page of the region.
        Some(unsafe { self.start.add(first * PAGE) })
    }

    fn free(&mut self, first: usize, pages: usize) {
        self.used.set(first, pages, false);
        idle::note_brought(pages * PAGE);
        self.set_stale(first, pages, true);
    }

    fn set_stale(&mut self, first: usize, pages: usize, to: bool) {
        let before = self.stale.count;
        self.stale.set(first, pages, to);
        if to {
            STALE.fetch_add((self.stale.count - before) * PAGE, Ordering::Relaxed);
        } else {
            let bytes = (before - self.stale.count) * PAGE;
            let left = STALE.fetch_sub(bytes, Ordering::Relaxed) - bytes;
            LEAST[0].fetch_min(left, Ordering::Relaxed);
            LEAST_SINCE_PAUSE.fetch_min(left, Ordering::Relaxed);
        }
    }

    fn give_back(&mut self) {
        if self.stale.count == 0 || self.used.count == 0 {
            return;
        }
        let gaps: Vec<(usize, usize)> = self.used.gaps().filter(|&(_, len)| len >= GAP).collect();
        for (first, pages) in gaps {
            if self.stale.has_any(first, pages) {
                self.set_stale(first, pages, false);
                // SAFETY: pages of the region that nobody has; the next owner expects anything of them.
                unsafe {
                    libc::madvise(self.start.add(first * PAGE).as_ptr().cast(), pages * PAGE, libc::MADV_DONTNEED)
                };
            }
        }
    }
}

/// A bit for each page of a region.
struct Bits {
    words: Box<[u64; REGION_PAGES / 64]>,
    /// How many are set.
    count: usize,
}

impl Default for Bits {
    fn default() -> Self {
        Self { words: Box::new([0; REGION_PAGES / 64]), count: 0 }
    }
}

impl Bits {
    fn is_set(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    fn has_any(&self, first: usize, len: usize) -> bool {
        (first..first + len).any(|at| self.is_set(at))
    }

    fn set(&mut self, first: usize, len: usize, to: bool) {
        for at in first..first + len {
            self.count = self.count + usize::from(to) - usize::from(self.is_set(at));
            let bit = 1 << (at % 64);
            self.words[at / 64] = if to { self.words[at / 64] | bit } else { self.words[at / 64] & !bit };
        }
    }

    /// How many bits from one on are alike, as far as the end.
    fn run(&self, from: usize) -> usize {
        let is_set = self.is_set(from);
        let mut at = from;
        while at < REGION_PAGES {
            let word = self.words[at / 64] >> (at % 64);
            let alike = (if is_set { word.trailing_ones() } else { word.trailing_zeros() } as usize).min(64 - at % 64);
            at += alike;
            if alike == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at - from
    }

    /// Where bits that are not set begin, and how many there are.
    fn gaps(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at < REGION_PAGES && self.is_set(at) {
                at += self.run(at);
            }
            (at < REGION_PAGES).then(|| {
                let gap = (at, self.run(at));
                at += gap.1;
                gap
            })
        })
    }
}

// Whole huge pages.
const _: () = assert!(REGION.is_multiple_of(HUGE_PAGE));

#[cfg(all(test, not(watched)))]
mod tests {
    use super::super::set_node;
    use super::*;
    use crate::random::Random;

    /// Writes to the first and last bytes, and at some between them.
    fn mark(extent: &Extent, with: u8) {
        for at in (0..extent.len()).step_by(PAGE).chain([extent.len() - 1]) {
            // SAFETY: inside of the extent, which is the test's own.
            unsafe { *extent.start().as_ptr().add(at) = with };
        }
    }

    fn is_marked(extent: &Extent, with: u8) -> bool {
        // SAFETY: as above, and written before.
        (0..extent.len())
            .step_by(PAGE)
            .chain([extent.len() - 1])
            .all(|at| unsafe { *extent.start().as_ptr().add(at) } == with)
    }

    #[test]
    fn extents_do_not_overlap_and_keep_what_is_written() {
        // A node that no other test uses.
        set_node(9);
        let mut random = Random(7);
        let mut live: Vec<(Extent, u8)> = Vec::new();
        for round in 0..3000 {
            if live.len() > 200 || !live.is_empty() && random.one_in(3) {
                let (extent, with) = live.swap_remove(random.index(live.len()));
                assert!(is_marked(&extent, with));
            } else {
                let most = 256 << random.index(13);
                let len = 1 + random.index(most);
                let extent = Extent::new(len);
                assert!(extent.len() >= len && extent.len() - len < PAGE);
                mark(&extent, round as u8);
                live.push((extent, round as u8));
            }
            if round % 500 == 0 {
                give_back();
            }
        }
        assert!(live.iter().all(|(extent, with)| is_marked(extent, *with)));
        drop(live);
        give_back();
        assert!(regions(9).is_empty());
        set_node(0);
    }

    #[test]
    fn gaps_are_filled_first() {
        set_node(10);
        let mut extents: Vec<Extent> = (0..4).map(|_| Extent::new(100 * PAGE)).collect();
        let gap = extents.remove(1).start();
        let large = Extent::new(101 * PAGE);
        let again = Extent::new(60 * PAGE);
        assert!(large.start() != gap && again.start() == gap && regions(10).len() == 1);
        drop((large, extents));
        drop(again);
        give_back();
        assert!(regions(10).is_empty());
        set_node(0);
    }
}
