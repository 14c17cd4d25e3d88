//! Areas: append-only memory in large blocks that never move (thesis 4.3, "storage areas").

use std::ptr::NonNull;

use super::Budget;
use super::pages::{HUGE_PAGE, Pages};
use crate::Result;

const FIRST_BLOCK: usize = 16 << 10;
const LARGEST_BLOCK: usize = 4 << 20;

/// One worker's bump allocator: blocks grow from 16 KiB to 4 MiB, are charged to a budget, and stay where they are
/// until the area is dropped. Allocations are aligned to 16 bytes; what [`allocate`](Self::allocate) returns is zero.
///
/// `#[repr(C)]` with the bump pointers first: generated code allocates inline by comparing and adding. Memory that it
/// takes so may hold anything: blocks are recycled.
#[repr(C)]
#[derive(Debug)]
pub struct Area {
    /// Next free byte.
    next: *mut u8,
    /// End of the current block.
    end: *mut u8,
    blocks: Vec<Block>,
    /// Whether the current block was used before.
    recycled: bool,
    budget: Budget,
    operator: &'static str,
}

/// A place in an area.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    blocks: usize,
    next: *mut u8,
}

// SAFETY: an address that is only compared, and handed back to its area.
unsafe impl Send for Mark {}

#[derive(Debug)]
struct Block {
    pages: Pages,
    /// Bytes in use; the last block's count is only written when the block is closed.
    used: usize,
}

// SAFETY: an area owns its blocks exclusively; the raw pointers point into them.
unsafe impl Send for Area {}
// SAFETY: shared references only read (`blocks`), mutation needs `&mut`.
unsafe impl Sync for Area {}

impl Area {
    /// Byte offset of the next-free pointer, for generated code.
    pub const NEXT_OFFSET: usize = std::mem::offset_of!(Area, next);
    /// Byte offset of the end-of-block pointer, for generated code.
    pub const END_OFFSET: usize = std::mem::offset_of!(Area, end);

    /// An empty area. `operator` is named if the budget is exceeded.
    pub fn new(budget: Budget, operator: &'static str) -> Self {
        Self {
            next: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            blocks: Vec::new(),
            recycled: false,
            budget,
            operator,
        }
    }

    /// `size` zeroed bytes, aligned to 16.
    #[inline]
    pub fn allocate(&mut self, size: usize) -> Result<NonNull<u8>> {
        let start = self.allocate_any(size)?;
        if self.recycled {
            // SAFETY: the memory just taken, of which there is a multiple of 16.
            unsafe { super::clear(start.as_ptr(), size.next_multiple_of(16)) };
        }
        Ok(start)
    }

    /// As [`allocate`](Self::allocate), but for who writes before reading: the bytes may be anything.
    #[inline]
    pub fn allocate_any(&mut self, size: usize) -> Result<NonNull<u8>> {
        // Something even of nothing: an area without a block has no address to give.
        let size = (size.max(1) + 15) & !15;
        if (self.end as usize) - (self.next as usize) < size {
            self.grow(size)?;
        }
        let start = self.next;
        // SAFETY: `grow` or the check above made sure that `size` bytes are left in the block.
        self.next = unsafe { start.add(size) };
        // SAFETY: blocks never start at null, and `next` lies in one.
        Ok(unsafe { NonNull::new_unchecked(start) })
    }

    /// Copies `bytes` into the area.
    pub fn copy(&mut self, bytes: &[u8]) -> Result<NonNull<u8>> {
        let to = self.allocate_any(bytes.len())?;
        // SAFETY: `to` is fresh memory of at least that size.
        unsafe { to.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(to)
    }

    /// Where the next allocation goes, for [`truncate`](Self::truncate).
    pub fn mark(&self) -> Mark {
        Mark { blocks: self.blocks.len(), next: self.next }
    }

    /// Takes back all that was allocated since the mark was taken of this area, and gives back the blocks that have only that.
    ///
    /// # Safety
    /// Nobody may use that memory any more.
    pub unsafe fn truncate(&mut self, mark: Mark) {
        if self.blocks.len() == mark.blocks && self.next == mark.next {
            return;
        }
        let gone = self.blocks.drain(mark.blocks..).map(|block| block.pages.len()).sum();
        self.budget.release(gone, self.operator);
        self.next = mark.next;
        // SAFETY: one past the end of the block.
        self.end = self.blocks.last().map_or(std::ptr::null_mut(), |b| unsafe { b.pages.as_ptr().add(b.pages.len()) });
        self.recycled = true;
    }

    /// Takes back the last `size` bytes, which were allocated at once.
    ///
    /// # Safety
    /// Nobody may use that memory any more.
    pub unsafe fn take_back(&mut self, size: usize) {
        debug_assert!(self.blocks.last().is_some_and(|b| self.next as usize - b.pages.as_ptr() as usize >= size));
        // SAFETY: they were taken from the last block.
        self.next = unsafe { self.next.sub(size) };
        self.recycled = true;
    }

    #[cold]
    fn grow(&mut self, at_least: usize) -> Result<()> {
        let size = self.blocks.last().map_or(FIRST_BLOCK, |b| (b.pages.len() * 2).min(LARGEST_BLOCK)).max(at_least);
        let size = if size >= HUGE_PAGE { size.next_multiple_of(HUGE_PAGE) } else { size.next_power_of_two() };
        self.budget.charge(size, self.operator)?;
        self.close();
        let (pages, recycled) = Pages::recycled(size);
        self.recycled = recycled;
        self.next = pages.as_ptr();
        // SAFETY: one past the end of the block.
        self.end = unsafe { pages.as_ptr().add(size) };
        self.blocks.push(Block { pages, used: 0 });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(last) = self.blocks.last_mut() {
            last.used = self.next as usize - last.pages.as_ptr() as usize;
        }
    }

    /// The blocks as (start, bytes in use), in the order of allocation.
    pub fn blocks(&self) -> impl Iterator<Item = (*mut u8, usize)> + '_ {
        let last = self.blocks.len().wrapping_sub(1);
        self.blocks.iter().enumerate().map(move |(i, b)| {
            let start = b.pages.as_ptr();
            (start, if i == last { self.next as usize - start as usize } else { b.used })
        })
    }

    /// The node that its memory lies on, as far as the threads that took it knew.
    pub fn node(&self) -> u16 {
        self.blocks.first().map_or(0, |block| block.pages.node())
    }

    /// Bytes in use. O(1) for each block.
    pub fn used(&self) -> usize {
        self.blocks().map(|(_, used)| used).sum()
    }

    /// Bytes allocated from the machine.
    pub fn capacity(&self) -> usize {
        self.blocks.iter().map(|b| b.pages.len()).sum()
    }

    /// On whose behalf the budget is charged.
    pub fn operator(&self) -> &'static str {
        self.operator
    }

    /// The budget that the area is charged to.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        self.budget.release(self.capacity(), self.operator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_an_address() {
        let mut area = Area::new(Budget::new(usize::MAX), "test");
        let (a, b) = (area.allocate(0).unwrap(), area.copy(b"").unwrap());
        assert_ne!(a, b);
    }

    #[test]
    fn allocations_stay_put_and_are_charged() {
        const PIECES: u64 = if cfg!(miri) { 1_000 } else { 100_000 };
        let budget = Budget::new(64 << 20);
        let mut area = Area::new(budget.clone(), "test");
        let pointers: Vec<_> = (0..PIECES)
            .map(|i| {
                let p = area.allocate(24).unwrap().cast::<u64>();
                // SAFETY: 24 fresh bytes, aligned to 16.
                unsafe { p.write(i) };
                p
            })
            .collect();
        for (i, p) in pointers.iter().enumerate() {
            assert_eq!(p.as_ptr() as usize % 16, 0);
            // SAFETY: written above, and areas never move.
            assert_eq!(unsafe { p.read() }, i as u64);
        }
        assert_eq!(area.blocks().map(|(_, used)| used).sum::<usize>(), PIECES as usize * 32);
        assert_eq!(budget.used(), area.capacity());
        drop(area);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_came_after_a_mark_goes() {
        let budget = Budget::new(usize::MAX);
        let mut area = Area::new(budget.clone(), "test");
        let empty = area.mark();
        let first = area.copy(b"kept").unwrap();
        let (mark, used) = (area.mark(), budget.used());
        for round in 0..3u8 {
            let after = area.copy(&[round; 100]).unwrap();
            assert_eq!(after.as_ptr() as usize - first.as_ptr() as usize, 16);
            assert!((0..1000).all(|_| area.allocate_any(1000).is_ok()));
            assert!(budget.used() > 1_000_000);
            // SAFETY: the test's own.
            unsafe { area.truncate(mark) };
            assert_eq!(budget.used(), used);
            // SAFETY: written above, and kept.
            assert_eq!(unsafe { std::slice::from_raw_parts(first.as_ptr(), 4) }, b"kept");
        }
        // What is said to be zero is.
        let zero = area.allocate(100).unwrap();
        // SAFETY: memory just taken.
        assert!(unsafe { std::slice::from_raw_parts(zero.as_ptr(), 100) }.iter().all(|&byte| byte == 0));
        // SAFETY: as above.
        unsafe { area.truncate(empty) };
        assert!(budget.used() == 0 && area.allocate(10).is_ok());
    }

    #[test]
    fn a_row_larger_than_a_block_fits() {
        let mut area = Area::new(Budget::new(usize::MAX), "test");
        area.allocate(1).unwrap();
        assert!(area.allocate(9 << 20).is_ok());
        assert!(area.allocate(1).is_ok());
    }
}
