//! Memory between two owners: mappings that were given back, for whoever needs no zeros.
//!
//! Faulting in and clearing fresh pages is up to half of the time of a query that materialises much. What nobody has taken
//! for a second goes back to the system, but for a floor.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::pages::{HUGE_PAGE, unmap};

/// Bytes that are kept at most, a node.
const MOST: usize = 1 << 30;
/// Bytes that are kept however long nobody asks for them.
const FLOOR: usize = 128 << 20;
const PATIENCE: Duration = Duration::from_secs(1);
const NODES: usize = 16;

/// By node (modulo their number here).
static SPARE: [Mutex<Spare>; NODES] = [const { Mutex::new(Spare { pieces: Vec::new(), bytes: 0, least: 0 }) }; NODES];
/// Whether a thread gives back what is spare for long.
static TIDYING: AtomicBool = AtomicBool::new(false);

struct Spare {
    /// The oldest first.
    pieces: Vec<Piece>,
    bytes: usize,
    /// The fewest bytes that were here since the last look: so many nobody has needed.
    least: usize,
}

struct Piece {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: nobody else has the memory.
unsafe impl Send for Piece {}

fn spare(node: u16) -> MutexGuard<'static, Spare> {
    SPARE[usize::from(node) % NODES].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether pieces of this size are kept: those that areas are made of.
fn is_recyclable(len: usize) -> bool {
    len == HUGE_PAGE || len == 2 * HUGE_PAGE
}

/// A piece of that size that lies on the node; its bytes are anything.
pub(super) fn take(len: usize, node: u16) -> Option<NonNull<u8>> {
    if !is_recyclable(len) {
        return None;
    }
    let mut spare = spare(node);
    let at = spare.pieces.iter().rposition(|piece| piece.len == len)?;
    let Piece { start, len } = spare.pieces.remove(at);
    spare.bytes -= len;
    spare.least = spare.least.min(spare.bytes);
    Some(start)
}

/// Takes a mapping over, which nobody uses any more, unless there are enough.
pub(super) fn keep(start: NonNull<u8>, len: usize, node: u16) -> bool {
    if !is_recyclable(len) {
        return false;
    }
    let mut spare = spare(node);
    if spare.bytes + len > MOST {
        return false;
    }
    spare.pieces.push(Piece { start, len });
    spare.bytes += len;
    let much = spare.bytes > FLOOR;
    drop(spare);
    if much && !TIDYING.swap(true, Ordering::AcqRel) {
        let thread = std::thread::Builder::new().name("morsel-memory".into());
        if thread.spawn(tidy).is_err() {
            TIDYING.store(false, Ordering::Release);
        }
    }
    true
}

/// Gives back what nobody has needed, as long as there is more than the floor.
fn tidy() {
    loop {
        std::thread::sleep(PATIENCE);
        let much = (0..NODES as u16).filter(|&node| give_back(node)).count() > 0;
        if !much {
            TIDYING.store(false, Ordering::Release);
            let again = (0..NODES as u16).any(|node| spare(node).bytes > FLOOR);
            if !again || TIDYING.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}

/// Returns whether there is still more than the floor.
fn give_back(node: u16) -> bool {
    let mut spare = spare(node);
    let unneeded = spare.least.min(spare.bytes.saturating_sub(FLOOR));
    let (mut count, mut bytes) = (0, 0);
    for piece in &spare.pieces {
        if bytes >= unneeded {
            break;
        }
        count += 1;
        bytes += piece.len;
    }
    let pieces: Vec<Piece> = spare.pieces.drain(..count).collect();
    spare.bytes -= bytes;
    spare.least = spare.bytes;
    let much = spare.bytes > FLOOR;
    drop(spare);
    for Piece { start, len } in pieces {
        // SAFETY: a whole mapping, which was given to `keep` and is taken out.
        unsafe { unmap(start, len) };
    }
    much
}

#[cfg(all(test, not(watched)))]
mod tests {
    use super::super::{Pages, set_node};
    use super::*;

    #[test]
    fn what_nobody_needs_goes_back() {
        // A node that no other test uses.
        const NODE: u16 = 7;
        set_node(NODE);
        let pieces = FLOOR / HUGE_PAGE + 10;
        let all: Vec<Pages> = (0..pieces).map(|_| Pages::recycled(HUGE_PAGE).0).collect();
        drop(all);
        assert_eq!(spare(NODE).bytes, pieces * HUGE_PAGE);
        // The first look sees that they have only just come; a piece that is taken meanwhile is needed.
        spare(NODE).least = 0;
        assert!(give_back(NODE));
        drop(Pages::recycled(HUGE_PAGE));
        while give_back(NODE) {}
        assert_eq!(spare(NODE).bytes, FLOOR);
        assert!(!give_back(NODE));
        set_node(0);
    }
}
