//! What several tests of this crate need.

use std::time::{Duration, Instant};

use engine::Database;

/// The memory in use once nothing changes any more: on a loaded machine workers let go of a query a moment after its client
/// has its end.
pub fn settled_memory(database: &Database) -> usize {
    const QUIET: Duration = Duration::from_millis(50);
    let (mut used, mut since) = (database.memory_used(), Instant::now());
    while since.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(1));
        let now = database.memory_used();
        if now != used {
            (used, since) = (now, Instant::now());
        }
    }
    used
}

/// Waits for the memory in use to be that.
#[track_caller]
pub fn settles(database: &Database, expected: usize, what: &str) {
    let begin = Instant::now();
    while database.memory_used() != expected && begin.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(database.memory_used(), expected, "{what} kept memory");
}
