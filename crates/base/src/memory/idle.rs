//! When memory goes back to the system: nearly all that is free once nobody has taken or brought any for more than half a
//! second, and otherwise what nobody has needed for ten seconds. What large tables leave behind goes within a second, whatever
//! else happens.
//!
//! Whoever comes back for as much within ten seconds will likely do so again, and waited for pages that the system had to
//! clear. From then on a pause leaves what queries come back for, until one lasts for ten seconds, tables have grown in
//! between, as what has loaded them is needed no more, or a database is closed. That is so of
//! tables that are made and dropped again and again, too.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// From one look to the next.
const PATIENCE: Duration = Duration::from_millis(250);
/// Nothing happens if nothing has for so many looks: after 0.75 seconds at most.
const IDLE: u32 = 2;
/// And has not for long after so many.
const LONG: u32 = 40;
/// While something happens, memory goes back every so many looks.
const LOOKS: u32 = 40;

/// So many bytes that were freed for good go back at once. The next table may want fewer again.
const MUCH: usize = 256 << 20;
/// Tables have grown if they have so many bytes more, and more than a quarter of what they had: columns change their forms.
const GROWTH: usize = 32 << 20;
/// Fewer bytes are not worth waiting for whoever may come back for them.
const WORTH: usize = 16 << 20;
/// Whoever comes back does so for long.
const SOON: Duration = Duration::from_secs(10);

/// When memory is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// While others take and bring memory: a look, one of many.
    Look,
    /// The same, of which ten seconds lie between two.
    Busy,
    /// Nobody does, but somebody is likely to come back soon.
    Idle,
    /// Nobody does, nor is known to want again what others have had.
    Rest,
}

/// Who has memory that nobody needs.
#[derive(Debug)]
pub(super) struct Owner {
    /// Gives it back to the system, or a part of it.
    pub(super) give_back: fn(Moment),
    /// How many bytes that are.
    pub(super) free: fn() -> usize,
    /// How many somebody has needed since the last pause.
    pub(super) needed: fn() -> usize,
}

/// Whether a thread looks.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// Whether any memory was taken or brought since the last look.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// Bytes that were freed for good and have not gone back.
static FREED: AtomicUsize = AtomicUsize::new(0);
/// What went back last.
static GONE: Mutex<Option<Gone>> = Mutex::new(None);
/// Whether somebody has come back for what was gone, and so may again.
static AWAITS: AtomicBool = AtomicBool::new(false);
/// Bytes that tables have, and had when nothing happened any more.
static TABLES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Who has memory to give back.
static OWNERS: Mutex<Vec<&'static Owner>> = Mutex::new(Vec::new());
/// What else has.
static ALLOCATOR: OnceLock<fn()> = OnceLock::new();

/// What a pause gave back, if that was much.
#[derive(Clone, Copy)]
struct Gone {
    at: Instant,
    bytes: usize,
}

impl Gone {
    /// Whether somebody has come back for it, now that so many bytes were needed since: soon, or while it was kept.
    fn is_needed_again(&self, needed: usize, now: Instant, was_kept: bool) -> bool {
        needed >= self.bytes / 2 && (was_kept || now - self.at < SOON)
    }
}

fn gone() -> MutexGuard<'static, Option<Gone>> {
    GONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owners() -> MutexGuard<'static, Vec<&'static Owner>> {
    OWNERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all owners have together.
fn sum(of: impl Fn(&Owner) -> usize) -> usize {
    owners().iter().map(|owner| of(owner)).sum()
}

fn give_back(moment: Moment) {
    owners().iter().for_each(|owner| (owner.give_back)(moment));
}

/// Names the function that gives back what the program's allocator holds on to, for all threads and for the one that calls it:
/// it is called once queries have not needed memory for a while, and by each worker that has had nothing to do for one. The
/// first one named stays.
pub fn when_idle(give_back: fn()) {
    let _ = ALLOCATOR.set(give_back);
}

/// Says that the thread has nothing to do, and may not have for long; perhaps that it has not had for long.
pub fn thread_is_idle(for_long: bool) {
    if for_long || !AWAITS.load(Ordering::Relaxed) {
        give_back_allocated();
    }
}

fn give_back_allocated() {
    if let Some(give_back) = ALLOCATOR.get() {
        give_back();
    }
}

/// Says that so many bytes are freed that nobody may ask for again, as when a table goes.
pub fn are_free(bytes: usize) {
    FREED.fetch_add(bytes, Ordering::Relaxed);
    look_soon();
}

/// Has what is free go back once nothing happens any more.
pub fn look_soon() {
    if !LOOKING.swap(true, Ordering::AcqRel)
        && std::thread::Builder::new().name("morsel-memory".into()).spawn(look).is_err()
    {
        LOOKING.store(false, Ordering::Release);
    }
}

/// Says that whoever came back for memory so far has gone, as when a database is closed.
pub fn expect_nobody() {
    *gone() = None;
    AWAITS.store(false, Ordering::Relaxed);
}

/// Says that memory was taken or brought.
pub(super) fn note_use() {
    IN_USE.store(true, Ordering::Relaxed);
}

/// Says that tables have so many bytes more.
pub(super) fn note_taken(bytes: usize) {
    TABLES[0].fetch_add(bytes, Ordering::Relaxed);
}

/// Says that they have so many fewer.
pub(super) fn note_brought(bytes: usize) {
    TABLES[0].fetch_sub(bytes, Ordering::Relaxed);
}

/// Whether tables have much more than when this was asked last.
fn have_grown() -> bool {
    let [now, before] = &TABLES;
    let now = now.load(Ordering::Relaxed);
    let before = before.swap(now, Ordering::Relaxed);
    now > before + GROWTH.max(before / 4)
}

/// Has a thread give back what the owner has, until nothing happens any more.
pub(super) fn tidy_soon(owner: &'static Owner) {
    note_use();
    let mut owners = owners();
    if !owners.iter().any(|known| std::ptr::eq(*known, owner)) {
        owners.push(owner);
    }
    drop(owners);
    look_soon();
}

/// Whether somebody is likely to come back for what is free, now that nothing happens.
fn may_be_missed() -> bool {
    let needed = sum(|owner| (owner.needed)());
    let (now, was_kept) = (Instant::now(), AWAITS.load(Ordering::Relaxed));
    gone().is_some_and(|gone| gone.is_needed_again(needed, now, was_kept))
}

/// Gives back what is free, and notes how much that was, unless it was what has loaded tables.
fn give_back_all(grew: bool) {
    let free = || sum(|owner| (owner.free)());
    let before = free();
    give_back(Moment::Rest);
    let bytes = before.saturating_sub(free());
    if grew {
        *gone() = None;
    } else if bytes >= WORTH {
        *gone() = Some(Gone { at: Instant::now(), bytes });
    }
    AWAITS.store(false, Ordering::Relaxed);
    FREED.store(0, Ordering::Relaxed);
    give_back_allocated();
}

fn look() {
    let (mut idle, mut freed, mut grew) = (0, false, false);
    for number in 1u32.. {
        std::thread::sleep(PATIENCE);
        idle = if IN_USE.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
        if idle < IDLE {
            let moment = if number.is_multiple_of(LOOKS) { Moment::Busy } else { Moment::Look };
            // Whether somebody still comes back for what is free, a pause does not tell at once.
            if idle == 0 || moment == Moment::Busy {
                give_back(moment);
            }
            // It is said before it is done, so a look later.
            if freed {
                FREED.store(0, Ordering::Relaxed);
                if !AWAITS.load(Ordering::Relaxed) {
                    give_back_allocated();
                }
            }
            freed = FREED.load(Ordering::Relaxed) >= MUCH;
            continue;
        }
        if idle == IDLE {
            grew = have_grown();
            let awaits = !grew && may_be_missed();
            AWAITS.store(awaits, Ordering::Relaxed);
            if awaits {
                give_back(Moment::Idle);
            }
        }
        if idle < LONG && AWAITS.load(Ordering::Relaxed) {
            continue;
        }
        give_back_all(grew);
        LOOKING.store(false, Ordering::Release);
        // What was brought while this thread still seemed to look.
        if !IN_USE.load(Ordering::Relaxed) || LOOKING.swap(true, Ordering::AcqRel) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_needs_half_of_it_has_come_back() {
        let at = Instant::now();
        let gone = Gone { at, bytes: 4 * WORTH };
        let after = |seconds| at + Duration::from_secs(seconds);
        assert!(gone.is_needed_again(2 * WORTH, after(2), false));
        assert!(!gone.is_needed_again(2 * WORTH - 1, after(2), false));
        assert!(!gone.is_needed_again(9 * WORTH, after(10), false));
        assert!(gone.is_needed_again(2 * WORTH, after(10), true));
    }
}
