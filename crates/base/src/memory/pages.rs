//! Zeroed memory from the machine: large pieces are mapped, aligned to huge pages, and materialise on first touch.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::mapping::{layout, map, unmap};
use super::nodes::{self, Spread, list, node};
use super::spare;

/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;
/// Whether large pieces are mapped, and kept for their next owner. Miri and the sanitizers, for which the Makefile sets
/// `watched`, know of a piece's end only if it came from the allocator and goes back there.
const MAPS: bool = !cfg!(watched);

/// Zeroed memory. Pieces of 2 MiB and more are anonymous mappings in huge pages where the machine grants them (4 KiB
/// pages cost joins 2.3 to 4.6 times as much): they take memory when they are first touched, on the NUMA node of the thread
/// that got them. Not accounted for: owners charge their budgets.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
    /// The node of the thread that got it.
    node: u16,
    /// The list that it goes to in the end; none: it is on several nodes.
    list: Option<u16>,
}

// SAFETY: the memory is owned exclusively, like a `Vec<u8>`.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `len` zero bytes (`len > 0`), aligned to 64; from 2 MiB on, whole huge pages aligned as such.
    pub fn zeroed(len: usize) -> Self {
        assert!(len > 0);
        let len = if len >= HUGE_PAGE { len.next_multiple_of(HUGE_PAGE) } else { len };
        if MAPS && len >= HUGE_PAGE {
            let start = map(len);
            nodes::bind_home(start, len);
            return Self { start, len, node: node(), list: Some(list()) };
        }
        let layout = layout(len);
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, len, node: node(), list: Some(list()) }
    }

    /// As [`zeroed`](Self::zeroed), for what all workers share: on all nodes of the machine.
    pub fn shared(len: usize, spread: Spread) -> Self {
        if !MAPS || len < HUGE_PAGE {
            return Self::zeroed(len);
        }
        let len = len.next_multiple_of(HUGE_PAGE);
        if nodes::is_one()
            && let Some(start) = spare::take(len, list())
        {
            // Less than the system takes to clear other pages, and to take these back.
            // SAFETY: the memory is this piece's, `len` bytes.
            unsafe { start.write_bytes(0, len) };
            return Self { start, len, node: node(), list: Some(list()) };
        }
        let start = map(len);
        let is_spread = nodes::spread(start, len, spread, HUGE_PAGE);
        Self { start, len, node: node(), list: (!is_spread).then(list) }
    }

    /// As [`zeroed`](Self::zeroed), but possibly memory of this thread's node that was used before: then `true` comes with
    /// it, and its bytes are anything.
    pub fn recycled(len: usize) -> (Self, bool) {
        if len < HUGE_PAGE {
            return (Self::zeroed(len), false);
        }
        let len = len.next_multiple_of(HUGE_PAGE);
        match spare::take(len, list()) {
            Some(start) => (Self { start, len, node: node(), list: Some(list()) }, true),
            None => (Self::zeroed(len), false),
        }
    }

    /// First byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Never: there is no empty piece of memory.
    pub fn is_empty(&self) -> bool {
        false
    }
    /// The NUMA node where the memory is, as far as the thread that got it knew.
    pub fn node(&self) -> u16 {
        self.node
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if !MAPS || self.len < HUGE_PAGE {
            // SAFETY: allocated by `zeroed` with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout(self.len)) };
        } else if !self.list.is_some_and(|list| spare::keep(self.start, self.len, list)) {
            // SAFETY: `map` returned exactly this range, which nobody else has.
            unsafe { unmap(self.start, self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set_node;
    use super::*;

    #[test]
    #[cfg(not(watched))]
    fn recycled_memory_is_marked_as_such() {
        // Other tests recycle, too: only what is said of a piece can be tested.
        for _ in 0..100 {
            let (pages, used_before) = Pages::recycled(HUGE_PAGE);
            // SAFETY: the bytes are initialised: zeros, or what was written before.
            let bytes = unsafe { std::slice::from_raw_parts_mut(pages.as_ptr(), pages.len()) };
            assert!(used_before || bytes.iter().all(|&b| b == 0));
            bytes.fill(1);
        }
    }

    #[test]
    #[cfg(not(watched))]
    fn memory_goes_back_to_its_node() {
        // A node that no other test uses.
        let start = |pages: &Pages| pages.as_ptr() as usize;
        set_node(3);
        let ours = Pages::recycled(HUGE_PAGE).0;
        let at = start(&ours);
        set_node(4);
        drop(ours);
        let (theirs, used_before) = Pages::recycled(HUGE_PAGE);
        assert!(!used_before && theirs.node() == 4);
        set_node(3);
        let (again, used_before) = Pages::recycled(HUGE_PAGE);
        assert_eq!((start(&again), used_before, again.node()), (at, true, 3));
        set_node(0);
    }

    #[test]
    fn pages_are_zero_aligned_and_writable_to_the_last_byte() {
        for len in [3, 100, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE] {
            let pages = Pages::zeroed(len);
            assert!(pages.len() >= len);
            let align = if len >= HUGE_PAGE { HUGE_PAGE } else { 64 };
            assert_eq!(pages.as_ptr() as usize % align, 0);
            for at in [0, len / 2, pages.len() - 1] {
                // SAFETY: inside of the memory, which is initialised with zeros.
                unsafe {
                    assert_eq!(*pages.as_ptr().add(at), 0);
                    *pages.as_ptr().add(at) = 7;
                }
            }
        }
    }
}
