//! Memory between two owners: mappings that were given back, for whoever needs no zeros.
//!
//! Faulting in and clearing fresh pages is up to half of the time of a query that materialises much. What nobody has taken
//! for ten seconds goes back to the system, but for a floor; nearly all of it does in a pause ([`idle`]).

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::idle::{self, Moment, Owner};
use super::mapping::{map, map_at, unmap};
use super::nodes::{LISTS, bind_home};

/// Bytes that are kept at most, a list.
const MOST: usize = 2 << 30;
/// Bytes that are kept however long nobody asks for them, as long as something happens or somebody is likely to come back.
const FLOOR: usize = 128 << 20;
/// Bytes that are kept when nothing does.
const REST: usize = 32 << 20;

static SPARE: [Mutex<Spare>; LISTS as usize] = [const { Mutex::new(Spare::EMPTY) }; LISTS as usize];
static OWNER: Owner = Owner { give_back: tidy, free: bytes, needed };

struct Spare {
    /// The oldest first.
    pieces: Vec<Piece>,
    bytes: usize,
    /// The fewest bytes that were here for ten seconds: so many nobody has needed.
    least: usize,
}

impl Spare {
    const EMPTY: Self = Self { pieces: Vec::new(), bytes: 0, least: 0 };

    /// Bytes that somebody has needed since they were last counted.
    fn needed(&self) -> usize {
        self.bytes - self.least
    }
}

struct Piece {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: nobody else has the memory.
unsafe impl Send for Piece {}

fn spare(list: u16) -> MutexGuard<'static, Spare> {
    SPARE[usize::from(list)].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are here, of all nodes.
pub(super) fn bytes() -> usize {
    (0..LISTS).map(|list| spare(list).bytes).sum()
}

/// Bytes that somebody has needed since memory was given back last.
fn needed() -> usize {
    (0..LISTS).map(|list| spare(list).needed()).sum()
}

/// Memory of so many bytes of the list's node, which are anything; none if nothing is spare there.
pub(super) fn take(len: usize, list: u16) -> Option<NonNull<u8>> {
    let mut pieces = pieces_for(len, &mut spare(list));
    match pieces.as_slice() {
        [] => None,
        [piece] if piece.len == len => pieces.pop().map(|piece| piece.start),
        _ => Some(assemble(len, pieces)),
    }
}

/// Pieces of at most so many bytes together: the latest one of that size, or as many as it takes, if there are.
fn pieces_for(len: usize, spare: &mut Spare) -> Vec<Piece> {
    let mut taken = Vec::new();
    let mut missing = len;
    if let Some(at) = spare.pieces.iter().rposition(|piece| piece.len == len) {
        taken.push(spare.pieces.remove(at));
        missing = 0;
    }
    while missing > 0
        && let Some(mut piece) = spare.pieces.pop()
    {
        if piece.len > missing {
            // SAFETY: inside of the piece.
            let rest = unsafe { piece.start.add(missing) };
            spare.pieces.push(Piece { start: rest, len: piece.len - missing });
            piece.len = missing;
        }
        missing -= piece.len;
        taken.push(piece);
    }
    spare.bytes -= taken.iter().map(|piece| piece.len).sum::<usize>();
    spare.least = spare.least.min(spare.bytes);
    idle::note_use();
    taken
}

/// One range of addresses with the memory of all pieces, and fresh memory where they do not suffice: pages change their
/// addresses, which costs a microsecond for two megabytes, where clearing them costs hundreds.
fn assemble(len: usize, pieces: Vec<Piece>) -> NonNull<u8> {
    let start = map(len);
    bind_home(start, len);
    let mut at = 0;
    for piece in pieces {
        // SAFETY: inside of the range made above.
        let to = unsafe { start.add(at) };
        at += piece.len;
        // SAFETY: the piece is whole pages that nobody else has; so is the place where it goes.
        unsafe { move_to(piece.start, piece.len, to) };
    }
    start
}

/// Moves a mapping's pages to another mapping's addresses.
///
/// # Safety
/// Both must be mapped, of `len` bytes, and nobody else's.
unsafe fn move_to(from: NonNull<u8>, len: usize, to: NonNull<u8>) {
    #[cfg(target_os = "linux")]
    // SAFETY: as the caller promises.
    unsafe {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let moved = libc::mremap(from.as_ptr().cast(), len, len, flags, to.as_ptr().cast::<libc::c_void>());
        if moved != libc::MAP_FAILED {
            return;
        }
        // Too many mappings, perhaps: fresh memory takes the place, which may have lost its own.
        map_at(to, len);
        bind_home(to, len);
    }
    // SAFETY: as the caller promises.
    unsafe { unmap(from, len) };
}

/// Takes a mapping of whole huge pages over, which nobody uses any more, unless there are enough.
pub(super) fn keep(start: NonNull<u8>, len: usize, list: u16) -> bool {
    let mut spare = spare(list);
    if spare.bytes + len > MOST {
        return false;
    }
    spare.pieces.push(Piece { start, len });
    spare.bytes += len;
    drop(spare);
    idle::tidy_soon(&OWNER);
    true
}

/// Gives back what nobody needs.
fn tidy(moment: Moment) {
    let lists = 0..LISTS;
    match moment {
        Moment::Look => {}
        Moment::Busy | Moment::Idle => lists.for_each(|list| give_back(list, |spare| spare.needed().max(FLOOR))),
        Moment::Rest => lists.for_each(|list| give_back(list, |_| REST)),
    }
}

/// Gives back the oldest of what is spare, but for so many bytes.
fn give_back(list: u16, keep: impl FnOnce(&Spare) -> usize) {
    let mut spare = spare(list);
    let unneeded = spare.bytes.saturating_sub(keep(&spare));
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
    drop(spare);
    for Piece { start, len } in pieces {
        // SAFETY: a whole mapping, which was given to `keep` and is taken out.
        unsafe { unmap(start, len) };
    }
}

#[cfg(all(test, not(watched)))]
mod tests {
    use super::super::pages::HUGE_PAGE;
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
        give_back(NODE, |spare| spare.needed().max(FLOOR));
        assert_eq!(spare(NODE).bytes, pieces * HUGE_PAGE);
        drop(Pages::recycled(HUGE_PAGE));
        give_back(NODE, |spare| spare.needed().max(FLOOR));
        assert_eq!(spare(NODE).bytes, FLOOR);
        give_back(NODE, |_| REST);
        assert_eq!(spare(NODE).bytes, REST);
        set_node(0);
    }

    #[test]
    fn pieces_become_larger_and_smaller_ones() {
        const NODE: u16 = 8;
        set_node(NODE);
        let fill = |pages: &Pages, byte: u8| {
            // SAFETY: the memory is the test's own, and initialised.
            unsafe { pages.as_ptr().write_bytes(byte, pages.len()) };
        };
        let bytes = |pages: &Pages| {
            // SAFETY: likewise.
            let all = unsafe { std::slice::from_raw_parts(pages.as_ptr(), pages.len()) };
            all.iter().step_by(4096).copied().collect::<Vec<u8>>()
        };
        for (number, pages) in [1, 2, 1].map(|n| Pages::recycled(n * HUGE_PAGE).0).into_iter().enumerate() {
            fill(&pages, number as u8 + 1);
        }
        assert_eq!(spare(NODE).bytes, 4 * HUGE_PAGE);
        // All of what is spare, and a page more.
        let (large, used_before) = Pages::recycled(5 * HUGE_PAGE);
        assert!(used_before && spare(NODE).bytes == 0);
        let found = bytes(&large);
        let count = |byte: u8| found.iter().filter(|&&b| b == byte).count();
        let each = HUGE_PAGE / 4096;
        assert_eq!([count(0), count(1), count(2), count(3)], [each, each, 2 * each, each]);
        fill(&large, 7);
        drop(large);
        // A part of it.
        let part = Pages::recycled(2 * HUGE_PAGE).0;
        assert!(bytes(&part).iter().all(|&b| b == 7) && spare(NODE).bytes == 3 * HUGE_PAGE);
        fill(&part, 8);
        let rest = Pages::recycled(3 * HUGE_PAGE).0;
        assert!(bytes(&rest).iter().all(|&b| b == 7) && bytes(&part).iter().all(|&b| b == 8));
        set_node(0);
    }
}
