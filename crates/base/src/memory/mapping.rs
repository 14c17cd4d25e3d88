//! Memory of the system's: mapped and given back.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

use super::HUGE_PAGE;

/// Alignment of what is smaller than a huge page.
const ALIGNMENT: usize = 64;

/// Gives a mapping back to the system.
///
/// # Safety
/// It must be all of what `map` returned, and nobody may use it any more.
pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(start.as_ptr().cast(), len) };
}

pub(super) fn layout(len: usize) -> Layout {
    let alignment = if len >= HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
    Layout::from_size_align(len, alignment).expect("far from isize::MAX")
}

/// Maps `len` bytes, a multiple of [`HUGE_PAGE`], at a multiple of it: one huge page more is mapped, and what sticks out
/// at both ends is given back.
pub(super) fn map(len: usize) -> NonNull<u8> {
    let failed = || -> ! { handle_alloc_error(layout(len)) };
    let wide = len.checked_add(HUGE_PAGE).unwrap_or_else(|| failed());
    let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), wide, rights, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        failed();
    }
    let start = start.cast::<u8>();
    let head = start.align_offset(HUGE_PAGE);
    // SAFETY: all three ranges lie in the mapping made above, and only the middle one is used from here on.
    unsafe {
        let middle = start.add(head);
        if head > 0 {
            libc::munmap(start.cast(), head);
        }
        if head < HUGE_PAGE {
            libc::munmap(middle.add(len).cast(), HUGE_PAGE - head);
        }
        // Advice: a refusal does no harm.
        #[cfg(target_os = "linux")]
        libc::madvise(middle.cast(), len, libc::MADV_HUGEPAGE);
        NonNull::new_unchecked(middle)
    }
}

/// Maps fresh memory at an address.
///
/// # Safety
/// Nobody may use these addresses.
#[cfg(target_os = "linux")]
pub(super) unsafe fn map_at(at: NonNull<u8>, len: usize) {
    let (rights, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    // SAFETY: as the caller promises.
    let start = unsafe { libc::mmap(at.as_ptr().cast(), len, rights, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        handle_alloc_error(layout(len));
    }
}
