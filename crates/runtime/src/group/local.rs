//! One worker's pre-aggregation: the slow path of finding a group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::memory::{Pages, Reservation};
use base::{Area, Budget, Error, Result};

use pipeline::ir::RowLayout;
use types::Str;
use types::ops::hash::hash_u64;

use super::overflow::Overflow;
use super::{GROUP_PROBES, GroupLocal, OPERATOR};
use crate::rows::{StringFields, keep_text};
use base::prefetch::prefetch as fetch;

/// Slots of a new directory: most queries have few groups, and a worker may have many states.
const FIRST_SLOTS: usize = 64;
/// Most slots: 2 MiB. Lookups of many groups are prefetched, so the directory need not stay in a core's cache; but what
/// turns out not to reduce should have cost few misses (decision 6).
const MOST_SLOTS: usize = 1 << 18;
/// Slots of a directory that did not reduce: enough for the few heaviest hitters, in the first-level cache.
const BYPASS_SLOTS: usize = 1 << 10;
/// A full directory is worth its cache misses if there are at least so many tuples for each new row.
const WORTHWHILE: u64 = 4;
/// Tuples of a judgement about that: several morsels, so that a run of rare keys decides nothing.
const WINDOW: u64 = 1 << 16;
/// Judgements in a row that a full directory must fail.
const CHANCES: u32 = 2;
/// Windows without the full directory before it is tried again, at first; twice as many after each failure.
const FIRST_PAUSE: u64 = 32;

const ADDRESS: u64 = (1 << 48) - 1;

/// What generated code does not see of a worker's groups.
#[derive(Debug)]
pub struct LocalGroups {
    /// The rows of the first groups.
    pub(super) area: Area,
    /// The rows that came when the directory was full.
    pub(super) overflow: Option<Overflow>,
    stride: usize,
    /// If groups are numbered, how many numbers there are.
    slots: Option<u64>,
    /// Strings of keys: where they are, their payload, and the rows of the area that own theirs (blocks, and bytes of the
    /// one behind them).
    strings: StringFields,
    text: Area,
    owned: (usize, usize),
    /// The directory's memory, and its charge.
    directory: Pages,
    charged: Option<Reservation>,
    budget: Budget,
    /// Rows in the directory: as many groups.
    entered: usize,
    /// As many of these as are asked for, and to whom to say that they are there.
    enough: Option<(u64, Arc<AtomicBool>)>,
    /// Whether the directory has reached its full size once.
    full: bool,
    /// New rows since the last judgement.
    fresh: u64,
    /// Judgements in a row that the full directory has failed.
    failures: u32,
    /// Windows until the full directory is tried again, while there is a small one.
    pause: u64,
    /// Windows of the next pause.
    next_pause: u64,
    /// Rows that lost their place: their groups may have further rows.
    pub(super) evicted: usize,
    /// See [`GroupLocal::known`].
    known: Vec<*mut u8>,
    /// By which codes number the places of these; 0: by none.
    numbering: u64,
}

impl LocalGroups {
    /// Bytes of rows and strings that the worker has written so far; rows that it meets again lie in its cache.
    pub(super) fn written(&self) -> u64 {
        let overflow = self.overflow.as_ref().map_or(0, Overflow::written);
        (self.area.used() + self.text.used()) as u64 + overflow
    }

    /// One more row is in the directory.
    #[inline]
    fn has_entered(&mut self) {
        self.entered += 1;
        if let Some((enough, found)) = &self.enough
            && self.entered as u64 >= *enough
        {
            found.store(true, Ordering::Relaxed);
        }
    }
}

impl GroupLocal {
    pub(super) fn new(
        layout: &RowLayout,
        slots: Option<u64>,
        budget: &Budget,
        enough: Option<(u64, Arc<AtomicBool>)>,
    ) -> Self {
        let directory = Pages::zeroed(FIRST_SLOTS * 8);
        let start = directory.as_ptr().cast();
        let inner = Box::new(LocalGroups {
            area: Area::new(budget.clone(), OPERATOR),
            overflow: None,
            stride: layout.stride().max(16) as usize,
            slots,
            strings: StringFields::of(layout),
            text: Area::new(budget.clone(), OPERATOR),
            owned: (0, 0),
            directory,
            charged: None,
            budget: budget.clone(),
            entered: 0,
            enough,
            full: false,
            fresh: 0,
            failures: 0,
            pause: 0,
            next_pause: FIRST_PAUSE,
            evicted: 0,
            known: Vec::new(),
            numbering: 0,
        });
        let mask = if slots.is_some() { 0 } else { FIRST_SLOTS as u64 - 1 };
        Self { directory: start, mask, only: std::ptr::null_mut(), known: std::ptr::null_mut(), tuples: 0, inner }
    }

    /// So many places are numbered by codes from here on, and nothing is known yet, unless the numbering is the last one.
    pub(super) fn number_places(&mut self, places: usize, numbering: u64) {
        if std::mem::replace(&mut self.inner.numbering, numbering) == numbering {
            return;
        }
        self.inner.known.clear();
        self.inner.known.resize(places + 1, std::ptr::null_mut());
        self.known = self.inner.known.as_mut_ptr();
    }

    /// Judges the full directory by the tuples of several morsels. If it has twice in a row not saved three of four new
    /// rows, it gives way to a small one, for which the tuples to come do not leave the first-level cache; after a while
    /// it gets another chance, as other keys may have come.
    pub(super) fn adapt(&mut self) {
        let inner = &mut *self.inner;
        if !inner.full || self.tuples < WINDOW {
            return;
        }
        let (tuples, fresh) = (std::mem::take(&mut self.tuples), std::mem::take(&mut inner.fresh));
        let fails = fresh * WORTHWHILE > tuples;
        let slots = self.mask as usize + 1;
        if slots == MOST_SLOTS {
            // One that fills up has yet to show what it saves.
            inner.failures = if fails && inner.entered * 2 >= slots { inner.failures + 1 } else { 0 };
            if inner.failures == CHANCES {
                inner.pause = inner.next_pause;
                inner.next_pause *= 2;
                self.replace_directory(BYPASS_SLOTS);
            }
        } else {
            inner.pause = inner.pause.saturating_sub(1);
            if fails && inner.pause == 0 {
                self.replace_directory(MOST_SLOTS);
            }
        }
    }

    /// An empty directory. The charge is that of the largest one, until the state is gone.
    fn replace_directory(&mut self, slots: usize) {
        let inner = &mut *self.inner;
        inner.failures = 0;
        inner.evicted += std::mem::take(&mut inner.entered);
        inner.directory = empty(slots);
        (self.directory, self.mask) = (inner.directory.as_ptr().cast(), slots as u64 - 1);
    }

    /// Makes all rows own the strings of their keys.
    pub(super) fn own_strings(&mut self) -> Result<()> {
        let inner = &mut *self.inner;
        if inner.strings.is_empty() {
            return Ok(());
        }
        let (first, done) = inner.owned;
        for (block, (start, used)) in inner.area.blocks().enumerate().skip(first) {
            let from = if block == first { done } else { 0 };
            for at in (from..used).step_by(inner.stride) {
                // SAFETY: the block holds rows up to `used`, with keys that are alive as long as the morsel.
                unsafe { inner.strings.own(start.add(at), &mut inner.text)? };
            }
            inner.owned = (block, used);
        }
        inner.overflow.as_mut().map_or(Ok(()), Overflow::own_strings)
    }

    /// The text of an accumulator, which was `old` before, as the worker's own.
    ///
    /// # Safety
    /// Both must be alive; `old` must come from this function, for the same accumulator, or be empty.
    pub(crate) unsafe fn keep_text(&mut self, old: Str, new: Str) -> Result<Str> {
        // SAFETY: as the caller promises.
        unsafe { keep_text(&mut self.inner.text, old, new) }
    }

    /// Makes the only row of a state without keys. It comes before the worker's first morsel, where an error has nowhere
    /// to go: so it is not refused for lack of budget.
    pub(super) fn prepare(&mut self, has_keys: bool) {
        if !has_keys && self.only.is_null() {
            let row = Pages::zeroed(self.inner.stride);
            self.only = row.as_ptr();
            self.inner.directory = row;
            self.directory = std::ptr::null_mut();
        }
    }
}

// SAFETY: the pointers lead into memory that the item owns.
unsafe impl Send for GroupLocal {}

fn first_slot(hash: u64, mask: u64) -> u64 {
    (hash >> 16) & mask
}

fn entry(row: *mut u8, hash: u64) -> u64 {
    (hash & !ADDRESS) | row as u64
}

/// The memory of a directory of so many slots: clearing what was used before takes less than fresh pages do.
fn empty(slots: usize) -> Pages {
    let (pages, recycled) = Pages::recycled(slots * 8);
    if recycled {
        // SAFETY: so many bytes, which nobody else has.
        unsafe { pages.as_ptr().write_bytes(0, pages.len()) };
    }
    pages
}

/// A new zeroed row for `hash` with its hash stored, entered into the directory.
///
/// The directory grows while it is smaller than [`MOST_SLOTS`] and half full; from then on the new row takes the place
/// of one of its [`GROUP_PROBES`] candidates if none is free.
pub(crate) fn new_group(local: &mut GroupLocal, hash: u64) -> Result<*mut u8> {
    if let Some(slots) = local.inner.slots {
        return new_numbered(local, hash, slots);
    }
    let slots = local.mask as usize + 1;
    if !local.inner.full && local.inner.entered * 2 >= slots {
        match slots < MOST_SLOTS {
            true => grow(local, (slots * 4).min(MOST_SLOTS))?,
            false => {
                local.inner.full = true;
                local.tuples = 0;
            }
        }
    }
    let inner = &mut *local.inner;
    let stride = inner.stride;
    let row = if inner.full {
        inner.fresh += 1;
        inner
            .overflow
            .get_or_insert_with(|| Overflow::new(stride, inner.strings.clone(), &inner.budget))
            .allocate(hash)?
    } else {
        inner.area.allocate(stride)?.as_ptr()
    };
    // SAFETY: a row has at least 8 bytes; slots are taken modulo the directory's size.
    unsafe {
        row.cast::<u64>().write(hash);
        let at = |i: u64| local.directory.add((first_slot(hash, local.mask).wrapping_add(i) & local.mask) as usize);
        let free = (0..GROUP_PROBES as u64).find(|&i| *at(i) == 0);
        match free {
            Some(_) => inner.has_entered(),
            None => inner.evicted += 1,
        }
        // Any victim will do, but not always the same one.
        *at(free.unwrap_or(inner.evicted as u64 % GROUP_PROBES as u64)) = entry(row, hash);
    }
    Ok(row)
}

/// A new zeroed row for the group of a number, which is hashed for the rows' meeting of those of other workers.
fn new_numbered(local: &mut GroupLocal, number: u64, slots: u64) -> Result<*mut u8> {
    if number >= slots {
        return Err(Error::internal(format!("group number {number} of {slots}")));
    }
    let inner = &mut *local.inner;
    if local.mask == 0 {
        let bytes = slots as usize * 8;
        inner.charged = Some(inner.budget.reserve(bytes, OPERATOR)?);
        inner.directory = empty(slots as usize);
        (local.directory, local.mask) = (inner.directory.as_ptr().cast(), slots);
    }
    let row = inner.area.allocate(inner.stride)?.as_ptr();
    // SAFETY: a row has at least 8 bytes, and the directory `slots` slots.
    unsafe {
        row.cast::<u64>().write(hash_u64(number));
        local.directory.add(number as usize).write(row as u64);
    }
    inner.has_entered();
    Ok(row)
}

/// Bytes of a cache line, and of a row that are fetched at most.
const LINE: usize = 64;
const MOST_FETCHED: usize = 4 * LINE;
/// A directory of so many slots, with its rows, stays in the first-level cache anyway.
const CACHED_SLOTS: u64 = 1 << 10;

/// Fetches the slots of these hashes, then the rows that they lead to: the misses of a batch overlap instead of following
/// one another.
pub(crate) fn prefetch(local: &GroupLocal, hashes: &[u64]) {
    let mask = local.mask;
    if mask < CACHED_SLOTS {
        return;
    }
    // SAFETY: slots are taken modulo the directory's size, numbers at most of the last slot.
    unsafe {
        match local.inner.slots {
            Some(_) => prefetch_slots(local, hashes.iter().map(|&number| number.min(mask - 1))),
            None => prefetch_slots(local, hashes.iter().map(|&hash| first_slot(hash, mask))),
        }
    }
}

/// # Safety
/// The slots must exist.
#[inline(always)]
unsafe fn prefetch_slots(local: &GroupLocal, slots: impl Iterator<Item = u64> + Clone) {
    let (directory, bytes) = (local.directory.cast_const(), local.inner.stride.min(MOST_FETCHED));
    // SAFETY: as the caller promises; a prefetch may have any address.
    unsafe {
        for slot in slots.clone() {
            fetch(directory.add(slot as usize));
        }
        for slot in slots {
            // Most rows have the first place. Another one's row costs a fetch, no more.
            let entry = *directory.add(slot as usize);
            let row = (entry & ADDRESS) as *const u8;
            (0..bytes).step_by(LINE).for_each(|at| fetch(row.wrapping_add(at)));
        }
    }
}

/// Replaces the directory by one with `slots` slots. A row that finds no place in it counts as evicted.
#[cold]
fn grow(local: &mut GroupLocal, slots: usize) -> Result<()> {
    let inner = &mut *local.inner;
    let bytes = slots * 8;
    match &mut inner.charged {
        Some(charged) => charged.resize(bytes)?,
        none => *none = Some(inner.budget.reserve(bytes, OPERATOR)?),
    }
    let directory = empty(slots);
    let to = directory.as_ptr().cast::<u64>();
    let mask = slots as u64 - 1;
    // SAFETY: the old directory has `local.mask + 1` slots, the new one `slots`; entered rows start with their hash.
    unsafe {
        for i in 0..=local.mask as usize {
            let old = *local.directory.add(i);
            if old == 0 {
                continue;
            }
            let hash = ((old & ADDRESS) as *const u64).read();
            let candidates = (0..GROUP_PROBES as u64).map(|i| to.add(((first_slot(hash, mask) + i) & mask) as usize));
            match candidates.into_iter().find(|&slot| *slot == 0) {
                Some(slot) => *slot = old,
                None => {
                    inner.entered -= 1;
                    inner.evicted += 1;
                }
            }
        }
    }
    inner.directory = directory;
    (local.directory, local.mask) = (to, mask);
    Ok(())
}
