//! The allocator of the programs (shell, Python module, benchmarks): mimalloc, told to hold on to freed memory for longer
//! than it does by itself, and built not to ask for huge pages (`no_thp`): large buffers, which `base` maps itself, have them, and what
//! is small and soon given back touches less memory without. Libraries do not choose an allocator.

use std::ffi::c_int;

/// What a program declares as its `#[global_allocator]`.
pub use mimalloc::MiMalloc;

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
