//! When memory goes back to the system: what nobody has needed for ten seconds, and nearly all that is free once nobody has
//! taken or brought any for more than half a second. What tables leave behind goes within a second, whatever else happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// From one look to the next.
const PATIENCE: Duration = Duration::from_millis(250);
/// Nothing happens if nothing has for so many looks: after 0.75 seconds at most.
const IDLE: u32 = 2;
/// While something happens, memory goes back every so many looks.
const LOOKS: u32 = 40;

/// When memory is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// While others take and bring memory: a look, one of many.
    Look,
    /// The same, of which ten seconds lie between two.
    Busy,
    /// Nobody does.
    Idle,
}

/// Whether a thread looks.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// Whether any memory was taken or brought since the last look.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// Whether much was freed for good since the last look.
static FREED: AtomicBool = AtomicBool::new(false);
/// Who has memory to give back.
static OWNERS: Mutex<Vec<fn(Moment)>> = Mutex::new(Vec::new());
/// What else has.
static ALLOCATOR: OnceLock<fn()> = OnceLock::new();

fn owners() -> MutexGuard<'static, Vec<fn(Moment)>> {
    OWNERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the function that gives back what the program's allocator holds on to, for all threads and for the one that calls it:
/// it is called once queries have not needed memory for a second, and by each worker that has had nothing to do for one. The
/// first one named stays.
pub fn when_idle(give_back: fn()) {
    let _ = ALLOCATOR.set(give_back);
}

/// Says that the thread has nothing to do, and may not have for long.
pub fn thread_is_idle() {
    if let Some(give_back) = ALLOCATOR.get() {
        give_back();
    }
}

/// Says that much was freed that nobody will ask for again, as when a table goes.
pub fn much_is_free() {
    FREED.store(true, Ordering::Relaxed);
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
            owners().iter().for_each(|give_back| give_back(moment));
            // It is said before it is done, so a look later.
            if std::mem::replace(&mut freed, FREED.swap(false, Ordering::Relaxed)) {
                thread_is_idle();
            }
            continue;
        }
        owners().iter().for_each(|give_back| give_back(Moment::Idle));
        thread_is_idle();
        LOOKING.store(false, Ordering::Release);
        // What was brought while this thread still seemed to look.
        if !IN_USE.load(Ordering::Relaxed) || LOOKING.swap(true, Ordering::AcqRel) {
            return;
        }
    }
}
