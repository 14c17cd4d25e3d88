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

/// Waits for no more memory to be in use than that. Less is fine: on a busy machine a worker that was about to give back what an
/// earlier statement used can sleep through [`settled_memory`]'s quiet.
#[track_caller]
pub fn settles(database: &Database, expected: usize, what: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while database.memory_used() > expected && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let used = database.memory_used();
    assert!(used <= expected, "{what} kept {} bytes", used - expected);
}
