use super::*;
use crate::topology::Topology;

/// Four sockets in a ring: 0-1-2-3-0, as on the thesis's Sandy Bridge EP; two processors each.
const RING: &str = "node 0 cpus 0-1 distances 10 21 31 21; node 1 cpus 2-3 distances 21 10 21 31;
    node 2 cpus 4-5 distances 31 21 10 21; node 3 cpus 6-7 distances 21 31 21 10";

fn ring() -> Arc<Placement> {
    Arc::new(Placement::new(Topology::parse(RING).unwrap(), 8))
}

/// A claimed morsel, where it lies, and whether it was stolen.
type Claimed = (Morsel, Option<NodeId>, bool);

fn next<C: Counter>(ranges: &MorselRanges<C>, worker: WorkerId) -> Option<Claimed> {
    match ranges.claim(worker) {
        Claim::Morsel { morsel, node, stolen } => Some((morsel, node, stolen)),
        Claim::NotNow | Claim::Done => None,
    }
}

fn drain(ranges: &MorselRanges, worker: WorkerId) -> Vec<Morsel> {
    std::iter::from_fn(|| next(ranges, worker)).map(|(morsel, ..)| morsel).collect()
}

#[test]
fn the_morsels_do_not_depend_on_who_claims() {
    for (rows, morsel) in [(0, 10), (1, 10), (10, 10), (11, 10), (1000, 7), (5, u64::MAX)] {
        let expected: Vec<_> = (0..rows)
            .step_by(morsel as usize)
            .map(|begin: u64| (begin, rows.min(begin.saturating_add(morsel))))
            .collect();
        for workers in [0, 1, 2, 3, 64] {
            for claimer in [0, 1, 99] {
                let ranges = MorselRanges::<AtomicU64>::cut(rows, workers, morsel);
                assert_eq!(ranges.morsels(), expected.len() as u64);
                let mut morsels = drain(&ranges, WorkerId(claimer));
                morsels.sort();
                let morsels: Vec<_> = morsels.iter().map(|m| (m.begin, m.end)).collect();
                assert_eq!(morsels, expected, "{rows} rows by {morsel} for {workers}");
                assert_eq!(ranges.claim(WorkerId(0)), Claim::Done);
            }
        }
    }
}

#[test]
fn the_greatest_range_does_not_overflow() {
    let ranges = MorselRanges::<AtomicU64>::cut(u64::MAX, 3, u64::MAX / 2);
    let mut morsels = drain(&ranges, WorkerId(1));
    morsels.sort();
    let edge = u64::MAX / 2;
    let expected = [0..edge, edge..2 * edge, 2 * edge..u64::MAX];
    assert_eq!(morsels.iter().map(|m| m.rows()).collect::<Vec<_>>(), expected);
    assert_eq!(MorselRanges::<AtomicU64>::cut(u64::MAX, 64, 1).morsels(), u64::MAX);
}

#[test]
fn workers_begin_with_their_own_lanes() {
    let ranges = MorselRanges::<AtomicU64>::cut(100, 4, 10);
    let firsts: Vec<_> = (0..4).map(|w| next(&ranges, WorkerId(w)).unwrap()).collect();
    assert_eq!(firsts.iter().map(|c| c.0.begin).collect::<Vec<_>>(), [0, 20, 50, 70]);
    assert!(firsts.iter().all(|&(_, node, stolen)| node.is_none() && !stolen));
    assert_eq!(drain(&ranges, WorkerId(0)).len(), 6);
}

#[test]
fn morsels_are_stolen_from_the_nearest_node_first() {
    let placement = ring();
    let parts: Vec<_> = (0..4).map(|n| (NodeId(n), u64::from(n) * 100..u64::from(n) * 100 + 95)).collect();
    for worker in 0..8 {
        let worker = WorkerId(worker);
        let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, 8, 10);
        assert_eq!(ranges.rows(), 380);
        let claims: Vec<(Morsel, NodeId, bool)> = std::iter::from_fn(|| next(&ranges, worker))
            .map(|(morsel, node, stolen)| (morsel, node.unwrap(), stolen))
            .collect();
        assert_eq!(claims.len(), 40);
        let home = placement.node(worker);
        let hops: Vec<_> = claims.iter().map(|c| placement.topology().distance(home, c.1)).collect();
        assert!(hops.is_sorted(), "{worker}: {hops:?}");
        assert!(claims[..5].iter().all(|c| !c.2 && c.1 == home));
        assert!(claims[5..].iter().all(|c| c.2));
        assert!(claims.iter().all(|c| c.0.begin / 100 == u64::from(c.1.0)));
    }
}

#[test]
fn parts_keep_to_their_own_rows() {
    let placement = ring();
    let mut random = base::Random(1);
    let mut below = |n: u64| random.below(n);
    for _ in 0..200 {
        let mut at = 0;
        let parts: Vec<_> = (0..below(12))
            .map(|_| {
                let begin = at + below(5);
                at = begin + below(50);
                (NodeId(below(4) as u32), begin..at)
            })
            .collect();
        let morsel = 1 + below(20);
        let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, 1 + below(9) as usize, morsel);
        let mut morsels: Vec<_> =
            std::iter::from_fn(|| next(&ranges, WorkerId(below(8) as u32))).map(|c| c.0).collect();
        morsels.sort();
        let mut expected = Vec::new();
        for (_, part) in &parts {
            let begins = part.clone().step_by(morsel as usize);
            expected.extend(begins.map(|begin| Morsel { begin, end: part.end.min(begin + morsel) }));
        }
        assert_eq!(morsels, expected);
        assert_eq!(ranges.rows(), parts.iter().map(|(_, p)| p.end - p.start).sum::<u64>());
    }
}

#[test]
fn data_on_a_node_without_workers_is_reached() {
    let ranges = MorselRanges::<AtomicU64>::cut_placed(&[(NodeId(3), 0..100)], &ring(), 2, 10);
    assert_eq!(drain(&ranges, WorkerId(0)).len(), 10);
}

/// Every interleaving that the model checker tries, instead of those that the machine happens to have.
mod model {
    use super::*;
    use shuttle::sync::atomic::AtomicU64 as Modelled;
    use shuttle::sync::{Arc as ModelledArc, Mutex as ModelledMutex};

    impl Counter for Modelled {
        fn new(value: u64) -> Self {
            Modelled::new(value)
        }
        fn load(&self) -> u64 {
            self.load(Ordering::Relaxed)
        }
        fn increment(&self) -> u64 {
            self.fetch_add(1, Ordering::Relaxed)
        }
    }

    fn every_morsel_once(rows: u64, lanes: usize, threads: u32) {
        let ranges = ModelledArc::new(MorselRanges::<Modelled>::cut(rows, lanes, 2));
        let seen = ModelledArc::new(ModelledMutex::new(Vec::new()));
        let workers: Vec<_> = (0..threads)
            .map(|w| {
                let (ranges, seen) = (ranges.clone(), seen.clone());
                shuttle::thread::spawn(move || {
                    while let Some((morsel, ..)) = next(&*ranges, WorkerId(w)) {
                        seen.lock().unwrap().push(morsel);
                    }
                    // Failure is final, and when one has failed all morsels have been claimed.
                    assert!(ranges.lanes.iter().all(|lane| Counter::load(&lane.next) >= lane.end));
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        let expected: Vec<_> = (0..rows).step_by(2).map(|b| Morsel { begin: b, end: rows.min(b + 2) }).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn every_morsel_is_claimed_once_under_stealing() {
        shuttle::check_random(|| every_morsel_once(9, 2, 3), 2_000);
        shuttle::check_pct(|| every_morsel_once(6, 3, 3), 1_000, 3);
    }

    #[test]
    fn every_interleaving_of_two_thieves() {
        shuttle::check_dfs(|| every_morsel_once(4, 1, 2), Some(20_000));
    }
}
