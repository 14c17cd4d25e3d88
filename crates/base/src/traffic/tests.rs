//! Notes of threads that sit somewhere, and of those that sit nowhere.

use super::*;

/// As a thread of node 1 in a ring of four.
fn on_a_ring(placement: MemoryPlacement, work: impl FnOnce() + Send) -> Traffic {
    let thread = || {
        sit(1, [1, 0, 1, 2].into());
        begin(placement);
        work();
        so_far()
    };
    std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
}

#[test]
fn bytes_are_counted_by_kind_and_distance() {
    let traffic = on_a_ring(MemoryPlacement::FirstTouch, || {
        (0..4).for_each(|node| note(Access::Table, node, 10 + u64::from(node)));
        note(Access::Area, 9, 5);
        note_own(Access::Written, 7);
        note_spread(Access::Shared, 10);
    });
    assert_eq!(traffic.of(Access::Table), [11, 22, 13]);
    assert_eq!(traffic.of(Access::Area), [5, 0, 0]);
    assert_eq!(traffic.of(Access::Written), [7, 0, 0]);
    assert_eq!(traffic.of(Access::Shared), [3, 5, 2]);
    assert_eq!((traffic.local(), traffic.remote()), (26, 42));
    assert_eq!((traffic + traffic).only(&[Access::Area]).by_hops(), [10, 0, 0]);
}

#[test]
fn placements_say_where_memory_lies() {
    let work = || {
        note(Access::Table, 1, 8);
        note(Access::Area, 3, 4);
        note_own(Access::Written, 4);
    };
    let one = on_a_ring(MemoryPlacement::OneNode, work);
    assert_eq!(one.0, [[0, 8, 0], [0, 0, 4], [4, 0, 0], [0; 3]]);
    let spread = on_a_ring(MemoryPlacement::Interleaved, work);
    assert_eq!(spread.0, [[2, 4, 2], [1, 2, 1], [1, 2, 1], [0; 3]]);
}

#[test]
fn a_thread_that_sits_nowhere_has_all_memory() {
    let thread = || {
        begin(MemoryPlacement::Interleaved);
        note(Access::Table, 3, 8);
        so_far()
    };
    let traffic = std::thread::scope(|scope| scope.spawn(thread).join().unwrap());
    assert_eq!((traffic.local(), traffic.remote()), (8, 0));
}
