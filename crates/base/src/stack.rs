//! Room on the stack for what recurses over statements: an expression of thousands of terms is a tree of that depth.

use crate::{Error, Result, SqlState};

/// Bytes for a level: eight times what the deepest statements of the tests need. Common statements fit the stacks that
/// threads have.
const LEVEL: usize = 8 << 10;

/// Runs `work`, which recurses `levels` deep, on this stack if it has room for that, else on a larger one: its pages take
/// memory only when they are touched. An error (53200) if there is no address space for it.
pub fn with_room<T>(levels: usize, work: impl FnOnce() -> T) -> Result<T> {
    let needed = levels.saturating_mul(LEVEL);
    if stacker::remaining_stack().is_some_and(|left| left >= needed) {
        return Ok(work());
    }
    if !is_mappable(needed) {
        return Err(Error::new(SqlState::OUT_OF_MEMORY, "no memory is left for a stack")
            .detail(format!("the statement is {levels} levels deep")));
    }
    Ok(stacker::grow(needed, work))
}

/// Whether a stack of so many bytes can be mapped.
fn is_mappable(bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which nobody else knows and which goes at once.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0);
        start != libc::MAP_FAILED && libc::munmap(start, bytes) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_of(levels: usize) -> usize {
        let place = std::hint::black_box([levels as u8; 4096]);
        if levels == 0 { 0 } else { 1 + depth_of(levels - 1) + usize::from(place[0] != levels as u8) }
    }

    #[test]
    fn deep_recursion_has_room() {
        let run = || with_room(10_000, || depth_of(10_000)).unwrap();
        assert_eq!(std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap(), 10_000);
    }

    // Miri has the memory.
    #[test]
    #[cfg(not(miri))]
    fn too_large_a_stack_is_an_error() {
        let error = with_room(1 << 40, || ()).unwrap_err();
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    }
}
