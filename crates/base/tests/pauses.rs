//! Memory goes back to the system in a pause, unless somebody has come back for it: the only test of its process, as it looks
//! at all that is free.
#![cfg(all(target_os = "linux", not(watched), not(miri)))]

use std::time::{Duration, Instant};

use base::memory::{Extent, HUGE_PAGE, Pages, expect_nobody, free};

const MIB: usize = 1 << 20;

/// MiB of a query's memory, and of a table: more than what stays of both anyway for whoever comes back.
const AREAS: usize = 200;
const TABLE: usize = 160;

/// Takes as much as a query and the table that it makes, and gives it back.
fn ask() {
    let areas: Vec<Pages> = (0..AREAS * MIB / HUGE_PAGE).map(|_| Pages::recycled(HUGE_PAGE).0).collect();
    let table: Vec<Extent> = (0..TABLE).map(|_| Extent::new(MIB)).collect();
    drop((areas, table));
}

fn free_bytes() -> usize {
    free().recycled + free().extents
}

/// How long it takes until little is free.
fn time_to_go() -> Duration {
    let begin = Instant::now();
    while free_bytes() > 40 * MIB && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    begin.elapsed()
}

#[test]
fn memory_stays_for_whoever_has_come_back() {
    // Within a second as a rule; the machine may have other things to do.
    let soon = Duration::from_secs(6);
    // Who loads a table does not come back; whoever asks for as much next is the first one.
    let table: Vec<Extent> = (0..64).map(|_| Extent::new(MIB)).collect();
    for _ in 0..2 {
        ask();
        assert!(free_bytes() >= (AREAS + TABLE) * MIB);
        let took = time_to_go();
        assert!(took < soon, "{took:?}");
    }
    ask();
    std::thread::sleep(soon);
    assert!(free_bytes() >= (AREAS + TABLE) * MIB, "it had gone, and was asked for again soon");
    expect_nobody();
    let took = time_to_go();
    assert!(took < soon, "{took:?}");
    drop(table);
}
