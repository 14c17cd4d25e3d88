//! Trees under a model checker: random schedules and ones with few switches of threads on trees so small that threads meet; and
//! all schedules of two operations on the smallest ones. That the checker would see a mistake is shown by protocols that make one.

use shuttle::scheduler::{DfsScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, Runner};

use super::threads::{Elided, Operation, Shared};
use crate::protocol::begin_aborts_anew;
use crate::protocol::mutants::{ReusesSlots, Unchecked};
use crate::sync::model;
use crate::{Concurrent, Inserted, LockCoupling, OptimisticLockCoupling, Rowex};

/// Every interleaving that random schedules and ones with few switches (Burckhardt et al. 2010) reach, on trees so small that
/// threads meet.
fn model_agrees<P: Concurrent>() {
    // Splits and joins, ends, a path that is longer than nodes know.
    explore::<P, false>(&[b"a", b"ab", b"abc", b""]);
    explore::<P, false>(&[b"AR", b"ART", b"AS", b"A", b"B"]);
    explore::<P, false>(&[b"same beginning 1", b"same beginning 2", b"same other", b"same"]);
    // A node of 4 that grows, and shrinks again.
    explore::<P, false>(&[b"a", b"b", b"c", b"d", b"e", b"f"]);
    // Keys that are found without a look at their rows: nobody notices that a child is another byte's. A slot that was never
    // used has the byte zero.
    explore::<P, true>(&[b"\0", b"b", b"c", b"d", b"e", b"f"]);
    explore::<P, true>(&[b"a\0", b"ab", b"b\0", b"c\0"]);
}

fn explore<P: Concurrent, const FREE: bool>(keys: &'static [&'static [u8]]) {
    let run = move |threads: usize, operations: usize| {
        let seed = shuttle::rand::RngCore::next_u64(&mut shuttle::rand::thread_rng());
        let shared = Shared::<P, FREE>::new(keys.iter().map(|key| key.to_vec()).collect());
        shared.work(0, seed, seed as usize % (2 * keys.len()));
        let mut spawned: Vec<_> = (1..=threads)
            .map(|thread| {
                let shared = shared.clone();
                shuttle::thread::spawn(move || shared.work(thread, seed + thread as u64, operations))
            })
            .collect();
        // In every other run somebody scans, upwards or downwards.
        if seed & 1 == 0 {
            let (shared, from) = (shared.clone(), (seed >> 8) % keys.len() as u64);
            let scan = move || (0..2).for_each(|_| shared.scan(threads + 1, from, seed & 2 == 0));
            spawned.push(shuttle::thread::spawn(scan));
        }
        spawned.into_iter().for_each(|thread| thread.join().unwrap());
        shared.check(threads + 2);
    };
    model(|| {
        shuttle::check_random(move || run(2, 4), 1500);
        shuttle::check_random(move || run(3, 3), 200);
        shuttle::check_pct(move || run(2, 4), 300, 4);
    });
}

/// A slot that is about to be used has the byte zero still. One that looks for that byte, and does not ask for the row's key,
/// must not take the new child for its own: for nodes of 4, of 16, and of 48.
fn new_slots_are_not_mistaken<P: Concurrent>() {
    for there in [2, 3, 5, 15, 17] {
        let run = move || {
            let shared = Shared::<P, true>::new((0..=there + 1).map(|byte| vec![byte]).collect());
            let insert =
                |shared: &Shared<P, true>, row| shared.tree.writer(&shared.rows).insert(&[row as u8], row).unwrap();
            (1..=u64::from(there)).for_each(|row| _ = insert(&shared, row));
            let of_thread = shared.clone();
            let thread = shuttle::thread::spawn(move || insert(&of_thread, u64::from(there) + 1));
            // So often that some lookup meets the moment.
            (0..20).for_each(|_| assert_eq!(shared.tree.reader(&shared.rows).get(&[0]), None));
            assert_eq!(thread.join().unwrap(), Inserted::Fresh);
        };
        model(|| shuttle::check_random(run, 300));
    }
}

/// All schedules, but that who waits for another lets it go on.
struct Fair(DfsScheduler);

impl Scheduler for Fair {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }
    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let others: Vec<&Task> = runnable.iter().filter(|task| Some(task.id()) != current).copied().collect();
        self.0.next_task(if is_yielding && !others.is_empty() { &others } else { runnable }, current, is_yielding)
    }
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// What the two threads of an exhaustive run do.
#[derive(Clone, Copy, Debug)]
enum Side {
    Does(Operation, u64),
    Scans,
}

/// Runs two operations on the first rows of three by most so many schedules; how many there were.
fn explore_pair<P: Concurrent>(pair: [Side; 2], there: u64, most: usize) -> usize {
    let run = move || {
        begin_aborts_anew();
        let keys: [&[u8]; 3] = [b"a", b"ab", b"b"];
        let shared = Shared::<P, false>::new(keys.map(<[u8]>::to_vec).into());
        let rows: Vec<_> = (0..there).map(|row| (row, Operation::Insert)).collect();
        shared.run(0, &rows);
        let side = move |shared: &Shared<P, false>, at: usize| match pair[at] {
            Side::Does(operation, row) => shared.run(at + 1, &[(row, operation)]),
            Side::Scans => shared.scan(at + 1, 0, true),
        };
        let other = shared.clone();
        let thread = shuttle::thread::spawn(move || side(&other, 1));
        side(&shared, 0);
        thread.join().unwrap();
        shared.check(3);
    };
    let mut schedules = 0;
    let scheduler = Fair(DfsScheduler::new(Some(most), false));
    model(|| schedules = Runner::new(scheduler, Config::new()).run(run));
    schedules
}

/// Pairs of operations, on no row, one and three: of the smallest ones every schedule, unless threads wait for each other;
/// of others those that come first.
fn every_schedule<P: Concurrent>(waits: bool) {
    use Operation::{Get, Insert, Remove};
    use Side::{Does, Scans};
    for (pair, there) in [([Does(Get, 0), Does(Remove, 0)], 0), ([Does(Get, 0), Does(Insert, 0)], 1)] {
        const MOST: usize = 12_000;
        let schedules = explore_pair::<P>(pair, there, MOST);
        assert!(waits || schedules < MOST, "{pair:?} on {there} rows");
    }
    let pairs = [
        [Does(Get, 0), Does(Insert, 0)],
        [Does(Get, 0), Does(Insert, 1)],
        [Does(Get, 0), Does(Remove, 0)],
        [Does(Get, 0), Does(Remove, 1)],
        [Scans, Does(Insert, 1)],
        [Scans, Does(Remove, 0)],
        [Does(Insert, 0), Does(Insert, 0)],
        [Does(Insert, 0), Does(Insert, 1)],
        [Does(Remove, 0), Does(Insert, 1)],
        [Does(Remove, 0), Does(Remove, 1)],
    ];
    for (pair, there) in pairs.into_iter().flat_map(|pair| [0, 1, 3].map(|there| (pair, there))) {
        explore_pair::<P>(pair, there, 1000);
    }
}

macro_rules! protocols {
    ($($name:ident: $protocol:ty, $waits:literal);*) => {$(
        mod $name {
            #[test]
            fn random_schedules() {
                super::model_agrees::<$protocol>();
                super::new_slots_are_not_mistaken::<$protocol>();
            }
            #[test]
            fn every_schedule() {
                super::every_schedule::<$protocol>($waits);
            }
        }
    )*};
}
protocols!(
    lock_coupling: super::LockCoupling, true;
    optimistic: super::OptimisticLockCoupling, false;
    rowex: super::Rowex, false;
    elided: super::Elided, false
);

/// Whether the checker finds fault with what it is shown.
fn is_caught(explore: impl FnOnce() + Send + 'static) -> bool {
    // The thread keeps what a failed exploration leaves.
    std::thread::spawn(explore).join().is_err()
}

#[test]
fn lookups_that_check_no_version_are_caught() {
    assert!(is_caught(model_agrees::<Unchecked>));
}

#[test]
fn slots_that_are_used_again_before_readers_of_rowex_are_caught() {
    assert!(is_caught(model_agrees::<ReusesSlots>));
}
