//! Memory goes back to the system while others are busy: the only test of its process, as it looks at all that is resident.
#![cfg(all(target_os = "linux", not(watched), not(miri)))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::memory::{Extent, HUGE_PAGE, Pages, are_free, free};

const MIB: usize = 1 << 20;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn what_a_table_leaves_goes_while_others_take_and_bring() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(Pages::recycled(HUGE_PAGE));
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let table: Vec<Extent> = (0..128).map(|_| Extent::new(MIB)).collect();
        for extent in &table {
            // SAFETY: the test's own.
            unsafe { extent.start().as_ptr().write_bytes(1, extent.len()) };
        }
        let full = resident();
        assert!(full >= 128 * MIB);
        // What others have beside it keeps its region.
        let kept = Extent::new(MIB);
        are_free(128 * MIB);
        drop(table);
        assert!(free().extents >= 128 * MIB);
        let dropped = Instant::now();
        while resident() + 120 * MIB > full && dropped.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (after, left) = (dropped.elapsed(), free().extents);
        stop.store(true, Ordering::Relaxed);
        // Within a second as a rule; the machine may have other things to do.
        assert!(after < Duration::from_secs(10) && left < 16 * MIB, "{after:?}, {left} bytes are left");
        drop(kept);
    });
}
