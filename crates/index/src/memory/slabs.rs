//! Where nodes lie: side by side in huge pages, each with lines of the cache of its own.
//!
//! A lookup passes nodes that are far from one another: with pages of 4 KiB each is a miss of the cache of addresses, too, and
//! a small node that begins anywhere is in two lines mostly. 10 million keys, before and with this: record 42.
//!
//! A *span* is 64 KiB of pieces of one size, and says in its first line which are free; a piece finds it by its address. Spans
//! are cut from huge pages, which go back once all their spans are free. A thread takes pieces from spans of its *shelf*, so
//! that it seldom meets others there; whoever frees a piece puts it back into the span that it is from.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::memory::{HUGE_PAGE, Pages, node};

use crate::node::Kind;

/// Bytes of a span, and what its address is a multiple of.
const SPAN: usize = 64 << 10;
/// Spans of a huge page; a bit of a `u32` each.
const SPANS: usize = HUGE_PAGE / SPAN;
/// Threads share these in turn.
const SHELVES: usize = 32;
/// Sizes of pieces: four kinds of nodes, without a word and with one; and one for tests.
const SIZES: usize = 2 * Kind::ALL.len() + 1;

/// The first line of a span.
#[repr(C, align(64))]
struct Span {
    /// Pieces that were given back, each with the address of the next.
    free: *mut Free,
    /// Others of the same shelf that have room.
    next: *mut Span,
    before: *mut Span,
    /// Where the first piece is that nobody had yet.
    fresh: u32,
    bytes: u32,
    /// Pieces that somebody has.
    live: u32,
    shelf: u16,
    size: u16,
}

struct Free {
    next: *mut Free,
}

/// Spans with room, by the size of their pieces.
#[repr(align(128))]
struct Shelf([*mut Span; SIZES]);

// SAFETY: spans belong to a shelf, and whoever has it locked is alone with them.
unsafe impl Send for Shelf {}

static SHELF: [Mutex<Shelf>; SHELVES] = [const { Mutex::new(Shelf([null_mut(); SIZES])) }; SHELVES];

/// Huge pages of which spans are cut.
#[derive(Default)]
struct Store {
    /// By address, with a bit for each span that is free.
    pages: BTreeMap<usize, (Pages, u32)>,
    /// Those of which some are, by node: the lowest is taken, so that others become free.
    with_room: BTreeSet<(u16, usize)>,
}

static STORE: Mutex<Store> = Mutex::new(Store { pages: BTreeMap::new(), with_room: BTreeSet::new() });

/// A piece of one of the sizes, which is so many bytes; what is in it is anything.
pub(super) fn take(size: usize, bytes: usize) -> NonNull<u8> {
    let shelf = my_shelf();
    let mut spans = lock(&SHELF[shelf]);
    let mut span = spans.0[size];
    if span.is_null() {
        span = store().take();
        let (shelf, size, bytes, fresh) = (shelf as u16, size as u16, bytes as u32, size_of::<Span>() as u32);
        let (free, next, before, live) = (null_mut(), null_mut(), null_mut(), 0);
        // SAFETY: a span that nobody else has.
        unsafe {
            span.write(Span { free, next, before, fresh, bytes, live, shelf, size });
            spans.enter(span);
        }
    }
    // SAFETY: it is on the locked shelf, and has room.
    unsafe {
        let piece = (*span).take();
        if !(*span).has_room() {
            spans.remove(span);
        }
        piece
    }
}

/// Gives a piece back.
///
/// # Safety
/// It is from [`take`], and nobody looks at it any more.
pub(super) unsafe fn give(piece: NonNull<u8>) {
    let span = piece.as_ptr().map_addr(|at| at & !(SPAN - 1)).cast::<Span>();
    // SAFETY: the span is there as long as the piece is, and its shelf never changes.
    let mut spans = lock(&SHELF[usize::from(unsafe { (*span).shelf })]);
    // SAFETY: it is on the locked shelf.
    unsafe {
        let had_room = (*span).has_room();
        let free = piece.as_ptr().cast::<Free>();
        free.write(Free { next: (*span).free });
        (*span).free = free;
        (*span).live -= 1;
        if !had_room {
            spans.enter(span);
        }
        // One stays, for whoever comes next.
        let is_only = (*span).next.is_null() && (*span).before.is_null();
        if (*span).live == 0 && !is_only {
            spans.remove(span);
            drop(spans);
            store().give(span);
        }
    }
}

impl Span {
    fn has_room(&self) -> bool {
        !self.free.is_null() || (self.fresh + self.bytes) as usize <= SPAN
    }

    /// A piece, of a span that has room.
    ///
    /// # Safety
    /// Whoever calls has the shelf locked.
    unsafe fn take(&mut self) -> NonNull<u8> {
        self.live += 1;
        let start = std::ptr::from_mut(self).cast::<u8>();
        // SAFETY: free pieces are of the span, and so is what nobody had yet.
        unsafe {
            match NonNull::new(self.free) {
                Some(free) => {
                    self.free = free.read().next;
                    free.cast()
                }
                None => {
                    let at = self.fresh;
                    self.fresh += self.bytes;
                    NonNull::new_unchecked(start.add(at as usize))
                }
            }
        }
    }
}

impl Shelf {
    /// # Safety
    /// The span is of this shelf, and not entered.
    unsafe fn enter(&mut self, span: *mut Span) {
        // SAFETY: as the caller says; the others are spans that were entered.
        unsafe {
            let first = &mut self.0[usize::from((*span).size)];
            (*span).next = *first;
            (*span).before = null_mut();
            if !first.is_null() {
                (**first).before = span;
            }
            *first = span;
        }
    }

    /// # Safety
    /// The span is of this shelf, and entered.
    unsafe fn remove(&mut self, span: *mut Span) {
        // SAFETY: as the caller says; its neighbours are entered, too.
        unsafe {
            let (next, before) = ((*span).next, (*span).before);
            if before.is_null() {
                self.0[usize::from((*span).size)] = next
            } else {
                (*before).next = next
            }
            if !next.is_null() {
                (*next).before = before;
            }
        }
    }
}

impl Store {
    /// A span that nobody has.
    fn take(&mut self) -> *mut Span {
        let node = node();
        let at = match self.with_room.range((node, 0)..=(node, usize::MAX)).next() {
            Some((_, at)) => *at,
            None => {
                let (pages, _) = Pages::recycled(HUGE_PAGE);
                let at = pages.as_ptr().addr();
                self.with_room.insert((node, at));
                self.pages.insert(at, (pages, u32::MAX));
                at
            }
        };
        let (pages, free) = self.pages.get_mut(&at).expect("those with room are there");
        let number = free.trailing_zeros();
        *free &= !(1 << number);
        if *free == 0 {
            self.with_room.remove(&(pages.node(), at));
        }
        // SAFETY: one of the spans of the pages.
        unsafe { pages.as_ptr().add(number as usize * SPAN).cast() }
    }

    /// Takes a span back that nobody has any more.
    fn give(&mut self, span: *mut Span) {
        let at = span.addr() & !(HUGE_PAGE - 1);
        let (pages, free) = self.pages.get_mut(&at).expect("spans are of pages that are there");
        let node = pages.node();
        *free |= 1 << ((span.addr() - at) / SPAN);
        if *free == u32::MAX {
            self.with_room.remove(&(node, at));
            self.pages.remove(&at);
        } else {
            self.with_room.insert((node, at));
        }
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

fn store() -> MutexGuard<'static, Store> {
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This thread's shelf.
fn my_shelf() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: usize = NEXT.fetch_add(1, Relaxed) % SHELVES);
    MINE.with(|mine| *mine)
}

const _: () = assert!(SPANS == u32::BITS as usize);

// Where memory comes from the allocator alone, nobody calls this.
#[cfg(all(test, not(watched)))]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_empty_spans_go_back() {
        // A size that no tree uses.
        let (size, bytes) = (SIZES - 1, 4032);
        let mut pieces: Vec<NonNull<u8>> = (0..3000).map(|_| take(size, bytes)).collect();
        for (number, piece) in pieces.iter().enumerate() {
            // SAFETY: a piece of so many bytes.
            unsafe { piece.write_bytes(number as u8, bytes) };
        }
        for (number, piece) in pieces.iter().enumerate() {
            assert_eq!(piece.addr().get() % 64, 0);
            // SAFETY: it has been written above.
            let written = unsafe { std::slice::from_raw_parts(piece.as_ptr(), bytes) };
            assert!(written.iter().all(|byte| *byte == number as u8));
        }
        // Of what is given back something is taken again.
        let last = pieces.pop().expect("many");
        // SAFETY: nobody looks at it.
        unsafe { give(last) };
        assert_eq!(take(size, bytes), last);
        pieces.push(last);
        // By another thread, in another order.
        pieces.sort_by_key(|piece| piece.addr().get() % 4099);
        let addresses: Vec<usize> = pieces.iter().map(|piece| piece.as_ptr().expose_provenance()).collect();
        std::thread::spawn(move || {
            for at in addresses {
                let piece = NonNull::new(std::ptr::with_exposed_provenance_mut(at)).expect("a piece");
                // SAFETY: nobody looks at it.
                unsafe { give(piece) };
            }
        })
        .join()
        .expect("no panic");
        // One span stays.
        let shelf = lock(&SHELF[my_shelf()]);
        let first = shelf.0[size];
        // SAFETY: it is on the locked shelf.
        unsafe { assert!((*first).live == 0 && (*first).next.is_null()) };
    }

    #[test]
    fn huge_pages_go_back_with_their_last_span() {
        let mut store = Store::default();
        let spans: BTreeSet<usize> = (0..=SPANS).map(|_| store.take().expose_provenance()).collect();
        assert_eq!((spans.len(), store.pages.len(), store.with_room.len()), (SPANS + 1, 2, 1));
        for span in spans {
            assert_eq!(span % SPAN, 0);
            store.give(std::ptr::with_exposed_provenance_mut(span));
        }
        assert!(store.pages.is_empty() && store.with_room.is_empty());
    }
}
