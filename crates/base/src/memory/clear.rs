//! Clearing what is read again at once.

/// More bytes than this are cleared by the library.
const FEW: usize = 64;

/// Zeroes bytes: rows that have just been taken, say, whose accumulators are added to next.
///
/// The C library clears less than a vector by a store under a mask. A load of what is still on its way to the cache cannot be
/// answered from such a store, and waits until it has arrived: of groups that are mostly new, that was half of all the time.
///
/// # Safety
/// So many bytes may be written, from an address that is aligned to 8; there are a multiple of 8.
#[inline(always)]
pub unsafe fn clear(at: *mut u8, bytes: usize) {
    debug_assert!(at.addr().is_multiple_of(8) && bytes.is_multiple_of(8));
    // SAFETY: as the caller promises.
    unsafe {
        if bytes > FEW {
            return at.write_bytes(0, bytes);
        }
        for word in (0..bytes).step_by(8) {
            // Not for its effects: the compiler would make a call of the loop.
            at.add(word).cast::<u64>().write_volatile(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_clears_as_much_as_it_is_told() {
        for bytes in (0..200).step_by(8) {
            let mut memory = [u64::MAX; 32];
            // SAFETY: within the memory.
            unsafe { clear(memory[1..].as_mut_ptr().cast(), bytes) };
            let cleared = |at: usize| (1..1 + bytes / 8).contains(&at);
            assert!(memory.iter().enumerate().all(|(at, word)| *word == if cleared(at) { 0 } else { u64::MAX }));
        }
    }
}
