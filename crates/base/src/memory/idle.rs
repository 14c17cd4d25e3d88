//! When memory goes back to the system: what nobody has needed for ten seconds, and nearly all that is free once nobody has
//! taken or brought any for so long. Once nobody has for more than half a second, what goes is all that is free if tables have
//! grown since the last time, as what has loaded them is needed no more, and otherwise what is more than queries come back for.
//! What large tables leave behind goes within a second, whatever else happens.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

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
/// Tables have grown if they have so many bytes more.
const GROWTH: usize = 32 << 20;

/// When memory is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// While others take and bring memory: a look, one of many.
    Look,
    /// The same, of which ten seconds lie between two.
    Busy,
    /// Nobody does, but somebody may come back soon.
    Idle,
    /// Nobody does, nor is likely to want again what others have had.
    Rest,
}

/// Whether a thread looks.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// Whether any memory was taken or brought since the last look.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// Bytes that were freed for good and have not gone back.
static FREED: AtomicUsize = AtomicUsize::new(0);
/// Whether tables had grown when nothing happened any more.
static GREW: AtomicBool = AtomicBool::new(false);
/// Bytes that tables have, and had when nothing happened any more.
static TABLES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Who has memory to give back.
static OWNERS: Mutex<Vec<fn(Moment)>> = Mutex::new(Vec::new());
/// What else has.
static ALLOCATOR: OnceLock<fn()> = OnceLock::new();

fn owners() -> MutexGuard<'static, Vec<fn(Moment)>> {
    OWNERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the function that gives back what the program's allocator holds on to, for all threads and for the one that calls it:
/// it is called once queries have not needed memory for a while, and by each worker that has had nothing to do for one. The
/// first one named stays.
pub fn when_idle(give_back: fn()) {
    let _ = ALLOCATOR.set(give_back);
}

/// Says that the thread has nothing to do, and may not have for long; perhaps that it has not had for long.
pub fn thread_is_idle(for_long: bool) {
    if for_long || GREW.load(Ordering::Relaxed) {
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
    now > before.swap(now, Ordering::Relaxed) + GROWTH
}

/// Has a thread call the function, which gives back what is free, until nothing happens any more.
pub(super) fn tidy_soon(give_back: fn(Moment)) {
    note_use();
    let mut owners = owners();
    if !owners.iter().any(|known| std::ptr::fn_addr_eq(*known, give_back)) {
        owners.push(give_back);
    }
    drop(owners);
    look_soon();
}

fn look() {
    let (mut idle, mut freed) = (0, false);
    for number in 1u32.. {
        std::thread::sleep(PATIENCE);
        idle = if IN_USE.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
        if idle < IDLE {
            let moment = if number.is_multiple_of(LOOKS) { Moment::Busy } else { Moment::Look };
            // Whether somebody still comes back for what is free, a pause does not tell at once.
            if idle == 0 || moment == Moment::Busy {
                owners().iter().for_each(|give_back| give_back(moment));
            }
            // It is said before it is done, so a look later.
            if freed {
                FREED.store(0, Ordering::Relaxed);
                give_back_allocated();
            }
            freed = FREED.load(Ordering::Relaxed) >= MUCH;
            continue;
        }
        if idle == IDLE {
            let grew = have_grown();
            GREW.store(grew, Ordering::Relaxed);
            if !grew {
                owners().iter().for_each(|give_back| give_back(Moment::Idle));
            }
        }
        if idle < LONG && !GREW.load(Ordering::Relaxed) {
            continue;
        }
        owners().iter().for_each(|give_back| give_back(Moment::Rest));
        FREED.store(0, Ordering::Relaxed);
        give_back_allocated();
        LOOKING.store(false, Ordering::Release);
        // What was brought while this thread still seemed to look.
        if !IN_USE.load(Ordering::Relaxed) || LOOKING.swap(true, Ordering::AcqRel) {
            return;
        }
    }
}
