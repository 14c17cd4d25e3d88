//! On a machine of one node all lies there. `make test-numa` runs them on four, which an emulator has.

use std::path::Path;

use super::super::{Extent, HUGE_PAGE, Pages};
use super::*;

const PAGE: usize = 4096;

/// The machine's nodes, each with one of its processors.
fn nodes() -> Vec<(u32, usize)> {
    let mut nodes = Vec::new();
    for number in 0..64 {
        let cpus = std::fs::read_to_string(format!("/sys/devices/system/node/node{number}/cpulist"));
        let first = cpus.ok().and_then(|cpus| cpus.trim().split([',', '-']).next()?.parse().ok());
        nodes.extend(first.map(|cpu| (number, cpu)));
    }
    nodes
}

/// Has a thread on a node do something.
fn on<T: Send>(cpu: usize, work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        let mut mask = [0u64; 16];
        mask[cpu / 64] |= 1 << (cpu % 64);
        // SAFETY: the kernel reads the mask.
        let bound = unsafe { libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()) };
        assert_eq!(bound, 0);
        work()
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn touch(start: *mut u8, len: usize) {
    // SAFETY: memory of the test's.
    (0..len).step_by(PAGE).for_each(|at| unsafe { start.add(at).write(1) });
}

/// The node of each page.
fn places(start: *const u8, len: usize) -> Vec<u16> {
    (0..len).step_by(PAGE).map(|at| node_of(start.wrapping_add(at)).expect("touched")).collect()
}

/// Our numbers of the nodes, and their processors; none where the system tells nothing.
fn machine() -> Vec<(u16, usize)> {
    let nodes = nodes();
    if !Path::new("/sys/devices/system/node").exists() {
        return Vec::new();
    }
    set_machine(&nodes.iter().map(|&(number, _)| number).collect::<Vec<_>>());
    nodes.iter().enumerate().map(|(node, &(_, cpu))| (node as u16, cpu)).collect()
}

#[test]
fn memory_is_on_the_node_of_whom_it_is_for() {
    let machine = machine();
    for &(node, cpu) in &machine {
        let (_, other) = machine[(usize::from(node) + 1) % machine.len()];
        // Who has said where it runs, and who has not.
        for says in [true, false] {
            let (pages, recycled, extent) = on(cpu, || {
                if says {
                    set_machine_node(node);
                }
                let all = (Pages::zeroed(2 * HUGE_PAGE), Pages::recycled(3 * HUGE_PAGE).0, Extent::new(100 * PAGE));
                assert_eq!((all.0.node(), super::node()), (node, node));
                all
            });
            on(other, || {
                touch(pages.as_ptr(), pages.len());
                touch(recycled.as_ptr(), recycled.len());
                touch(extent.start().as_ptr(), extent.len());
            });
            assert!(places(pages.as_ptr(), pages.len()).iter().all(|&place| place == node), "node {node}");
            assert!(places(extent.start().as_ptr(), extent.len()).iter().all(|&place| place == node), "node {node}");
            assert!(places(recycled.as_ptr(), recycled.len()).iter().all(|&place| place == node), "node {node}");
        }
    }
}

#[test]
fn memory_in_the_place_of_other_is_on_its_node() {
    let machine = machine();
    for &(node, _) in &machine {
        let (_, other) = machine[(usize::from(node) + 1) % machine.len()];
        on(other, || {
            set_machine_node((node + 1) % machine.len() as u16);
            let extent = {
                let _there = on_node(node);
                Extent::new(33 * PAGE)
            };
            let own = Extent::new(33 * PAGE);
            touch(extent.start().as_ptr(), extent.len());
            touch(own.start().as_ptr(), own.len());
            assert!(places(extent.start().as_ptr(), extent.len()).iter().all(|&place| place == node));
            assert!(places(own.start().as_ptr(), own.len()).iter().all(|&place| place == super::node()));
        });
    }
}

#[test]
fn shared_memory_is_on_all_nodes() {
    let machine = machine();
    let Some(&(_, cpu)) = machine.first() else { return };
    let count = machine.len();
    let len = 4 * count * HUGE_PAGE;
    for spread in Spread::ALL.map(|(_, spread)| spread) {
        let pages = on(cpu, || {
            set_machine_node(0);
            Pages::shared(len, spread)
        });
        let (_, last) = machine[count - 1];
        on(last, || touch(pages.as_ptr(), len));
        let places = places(pages.as_ptr(), len);
        let of = |node: usize| places.iter().filter(|&&place| usize::from(place) == node).count();
        match spread {
            Spread::Interleaved => (0..count).for_each(|node| assert_eq!(of(node), places.len() / count)),
            Spread::FirstTouch => assert_eq!(of(count - 1), places.len()),
            Spread::Blocks => {
                let block = |at: usize| at * count / places.len();
                assert!(places.iter().enumerate().all(|(at, &place)| usize::from(place) == block(at)));
            }
        }
    }
}

#[test]
fn nodes_of_a_description_are_only_numbers() {
    std::thread::spawn(|| {
        set_node(907);
        let pages = Pages::shared(2 * HUGE_PAGE, Spread::Interleaved);
        touch(pages.as_ptr(), pages.len());
        assert_eq!((pages.node(), super::node()), (907, 907));
        drop(pages);
        assert!(node_of(std::ptr::null()).is_none());
    })
    .join()
    .unwrap();
}
