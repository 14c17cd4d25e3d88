//! The allocator of the programs (shell, Python module, benchmarks): mimalloc, told to hold on to freed memory for longer
//! than it does by itself, and built not to ask for huge pages (`no_thp`): large buffers, which `base` maps itself, have them, and what
//! is small and soon given back touches less memory without. Libraries do not choose an allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_int;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// What a program declares as its `#[global_allocator]`. The bindings' own one always asks for an alignment, which looks at each
/// piece of memory; nearly all pieces are aligned as they come.
#[derive(Debug)]
pub struct MiMalloc;

/// Whether pieces of a size are aligned so by themselves: mimalloc aligns to 16, and what is smaller to its size.
fn is_natural(size: usize, alignment: usize) -> bool {
    alignment <= 16 && alignment <= size
}

// SAFETY: the functions of mimalloc are those that the trait describes.
unsafe impl GlobalAlloc for MiMalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: any size and power of two will do.
        unsafe { if is_natural(size, alignment) { mi_malloc(size) } else { mi_malloc_aligned(size, alignment) }.cast() }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe { if is_natural(size, alignment) { mi_zalloc(size) } else { mi_zalloc_aligned(size, alignment) }.cast() }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, _: Layout) {
        // SAFETY: the caller had it from here.
        unsafe { mi_free(piece.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let alignment = layout.align();
        // SAFETY: the caller had it from here.
        unsafe {
            match is_natural(size, alignment) {
                true => mi_realloc(piece.cast(), size),
                false => mi_realloc_aligned(piece.cast(), size, alignment),
            }
            .cast()
        }
    }
}

/// Milliseconds, while something happens, that freed memory stays with the program. With mimalloc's own second, a stream of large results gave back
/// and faulted in again most of what it used: 24 times the page faults, a third of the time.
const HOLD: i64 = 10_000;
/// `mi_option_purge_delay`, which the bindings do not name.
const PURGE_DELAY: c_int = 15;

/// Sets the allocator up. A program calls this first, while it has one thread.
pub fn prepare() {
    // SAFETY: an option that exists, set before other threads could read it.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, HOLD) };
    base::memory::when_idle(give_back);
}

/// Gives what is free back to the system, but for what lies between other threads' memory.
fn give_back() {
    // SAFETY: any thread may ask for it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned() {
        for alignment in (0..8).map(|bits| 1 << bits) {
            let layouts: Vec<Layout> =
                (1..600).map(|size| Layout::from_size_align(size, alignment).expect("a small one")).collect();
            // SAFETY: the layouts have a size, and each piece is given back with its own.
            unsafe {
                let mut pieces: Vec<*mut u8> = Vec::new();
                for (number, layout) in layouts.iter().enumerate() {
                    let zeroed = number % 2 == 0;
                    let piece = if zeroed { MiMalloc.alloc_zeroed(*layout) } else { MiMalloc.alloc(*layout) };
                    assert!(!piece.is_null() && piece.align_offset(alignment) == 0, "{layout:?}");
                    assert!(!zeroed || (0..layout.size()).all(|at| *piece.add(at) == 0));
                    piece.write_bytes(number as u8, layout.size());
                    pieces.push(piece);
                }
                for (number, (piece, layout)) in pieces.into_iter().zip(&layouts).enumerate() {
                    let size = layout.size() * 3;
                    let piece = MiMalloc.realloc(piece, *layout, size);
                    assert!(piece.align_offset(alignment) == 0, "{layout:?}");
                    assert!((0..layout.size()).all(|at| *piece.add(at) == number as u8));
                    MiMalloc.dealloc(piece, Layout::from_size_align(size, alignment).expect("a small one"));
                }
            }
        }
    }

    #[test]
    fn the_option_is_the_one_meant() {
        // SAFETY: an option that exists.
        let value = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        // A user's environment may say otherwise, and then stays.
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            assert_eq!(value(), 1000);
            prepare();
            assert_eq!(value(), HOLD);
        }
    }
}
