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

fn next<W: Word>(ranges: &MorselRanges<W>, worker: WorkerId) -> Option<Claimed> {
    next_of(ranges, worker, Wanted::USUAL)
}

fn next_of<W: Word>(ranges: &MorselRanges<W>, worker: WorkerId, wanted: Wanted) -> Option<Claimed> {
    match ranges.claim(worker, wanted) {
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
                let ranges = MorselRanges::<AtomicU64>::cut(rows, workers, Sizes::fixed(morsel));
                assert_eq!(ranges.units() as usize, expected.len());
                let mut morsels = drain(&ranges, WorkerId(claimer));
                morsels.sort();
                let morsels: Vec<_> = morsels.iter().map(|m| (m.begin, m.end)).collect();
                assert_eq!(morsels, expected, "{rows} rows by {morsel} for {workers}");
                assert_eq!(ranges.claim(WorkerId(0), Wanted::USUAL), Claim::Done);
            }
        }
    }
}

#[test]
fn the_greatest_range_does_not_overflow() {
    let ranges = MorselRanges::<AtomicU64>::cut(u64::MAX, 3, Sizes::fixed(u64::MAX / 2));
    let mut morsels = drain(&ranges, WorkerId(1));
    morsels.sort();
    let edge = u64::MAX / 2;
    let expected = [0..edge, edge..2 * edge, 2 * edge..u64::MAX];
    assert_eq!(morsels.iter().map(|m| m.rows()).collect::<Vec<_>>(), expected);
    // As many as half a word numbers, larger ones.
    assert_eq!(MorselRanges::<AtomicU64>::cut(u64::MAX, 64, Sizes::fixed(1)).units(), 1 << 31);
}

#[test]
fn workers_begin_with_their_own_lanes() {
    let ranges = MorselRanges::<AtomicU64>::cut(100, 4, Sizes::fixed(10));
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
        let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, 8, Sizes::fixed(10));
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
        let (workers, sizes) = (1 + below(9) as usize, Sizes::fixed(morsel));
        let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, workers, sizes);
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
    let ranges = MorselRanges::<AtomicU64>::cut_placed(&[(NodeId(3), 0..100)], &ring(), 2, Sizes::fixed(10));
    assert_eq!(drain(&ranges, WorkerId(0)).len(), 10);
}

#[test]
fn who_comes_late_has_half_of_the_largest_rest() {
    // Two workers have begun; the second one is behind. A third one comes, and takes as often as each of them.
    let ranges = MorselRanges::<AtomicU64>::cut(1000, 2, Sizes::fixed(1));
    (0..300).for_each(|_| assert!(!next(&ranges, WorkerId(0)).unwrap().2));
    (0..100).for_each(|_| assert!(!next(&ranges, WorkerId(1)).unwrap().2));
    let mut late = Vec::new();
    while let (Some(_), Some((own, ..))) = (next(&ranges, WorkerId(0)), next(&ranges, WorkerId(1))) {
        let (morsel, _, stolen) = next(&ranges, WorkerId(2)).unwrap();
        assert!(stolen && morsel.begin > own.begin, "{morsel:?} {own:?}");
        late.push(morsel.begin);
        if late.len() == 200 {
            break;
        }
    }
    assert_eq!(late, (800..1000).rev().collect::<Vec<_>>());
    assert_eq!(drain(&ranges, WorkerId(1)).len(), 0);
}

#[test]
fn who_comes_late_begins_on_its_own_node() {
    let placement = ring();
    let parts: Vec<_> =
        (0..4).map(|n| (NodeId(n), u64::from(n) * 100..u64::from(n) * 100 + 100 - u64::from(n))).collect();
    // Workers 4 to 7 are the second ones of nodes 0 to 3.
    let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, 4, Sizes::fixed(1));
    for worker in 4..8 {
        let (_, node, stolen) = next(&ranges, WorkerId(worker)).unwrap();
        assert_eq!((node, stolen), (Some(NodeId(worker - 4)), true));
    }
}

#[test]
fn adapted_morsels_have_each_row_once_and_keep_to_their_parts() {
    let placement = ring();
    let mut random = base::Random(7);
    for _ in 0..300 {
        let mut at = 0;
        let parts: Vec<_> = (0..random.below(9))
            .map(|_| {
                let begin = at + random.below(50);
                at = begin + random.below(20_000);
                (NodeId(random.below(4) as u32), begin..at)
            })
            .collect();
        let (workers, sizes) = (1 + random.below(9) as usize, Sizes::adapted(1 + random.below(8000)));
        let ranges = MorselRanges::<AtomicU64>::cut_placed(&parts, &placement, workers, sizes);
        let mut morsels = Vec::new();
        loop {
            let rows = random.below(2) * random.below(30_000);
            let wanted = Wanted { rows, least: rows / 12, workers: 1 + random.below(9) as u32 };
            let Some((morsel, ..)) = next_of(&ranges, WorkerId(random.below(8) as u32), wanted) else { break };
            morsels.push(morsel);
        }
        morsels.sort();
        assert!(morsels.iter().all(|m| parts.iter().any(|(_, part)| part.start <= m.begin && m.end <= part.end)));
        let mut joined: Vec<Range<u64>> = Vec::new();
        for morsel in morsels {
            match joined.last_mut() {
                Some(last) if last.end == morsel.begin => last.end = morsel.end,
                _ => joined.push(morsel.rows()),
            }
        }
        let mut expected: Vec<Range<u64>> = Vec::new();
        for (_, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
            match expected.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => expected.push(part.clone()),
            }
        }
        assert_eq!(joined, expected);
    }
}

/// Every interleaving that the model checker tries, instead of those that the machine happens to have.
mod model {
    use super::*;
    use shuttle::sync::atomic::{AtomicU64 as Modelled, Ordering};
    use shuttle::sync::{Arc as ModelledArc, Mutex as ModelledMutex};

    impl Word for Modelled {
        fn new(value: u64) -> Self {
            Modelled::new(value)
        }
        fn load(&self) -> u64 {
            self.load(Ordering::Relaxed)
        }
        fn exchange(&self, current: u64, new: u64) -> Result<(), u64> {
            self.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).map(drop)
        }
    }

    /// Workers claim all rows, each what it wants.
    fn every_row_once(rows: u64, lanes: usize, sizes: Sizes, wanted: &'static [Wanted]) {
        let ranges = ModelledArc::new(MorselRanges::<Modelled>::cut(rows, lanes, sizes));
        let seen = ModelledArc::new(ModelledMutex::new(Vec::new()));
        let workers: Vec<_> = (0..)
            .zip(wanted)
            .map(|(w, &wanted)| {
                let (ranges, seen) = (ranges.clone(), seen.clone());
                shuttle::thread::spawn(move || {
                    while let Some((morsel, ..)) = next_of(&*ranges, WorkerId(w), wanted) {
                        seen.lock().unwrap().extend(morsel.rows());
                    }
                    // Failure is final, and when one has failed all rows have been claimed.
                    assert!(ranges.lanes.iter().all(|lane| lane.rest() == 0));
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let mut seen = seen.lock().unwrap().clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        assert!(!sizes.adapt() || ranges.left.0.load(Relaxed) == 0);
    }

    const TWO: Sizes = Sizes { unit: 2, usual: 1, most: 1 };
    const ADAPTED: Sizes = Sizes { unit: 1, usual: 2, most: 16 };
    const SOME: [Wanted; 3] = [
        Wanted { rows: 3, least: 1, workers: 3 },
        Wanted { rows: 0, least: 0, workers: 3 },
        Wanted { rows: 9, least: 2, workers: 2 },
    ];

    #[test]
    fn every_morsel_is_claimed_once_under_stealing() {
        shuttle::check_random(|| every_row_once(9, 2, TWO, &[Wanted::USUAL; 3]), 1_500);
        shuttle::check_random(|| every_row_once(13, 2, ADAPTED, &SOME), 1_500);
        shuttle::check_pct(|| every_row_once(11, 3, ADAPTED, &SOME), 1_000, 3);
    }

    #[test]
    fn every_interleaving_of_two_thieves() {
        shuttle::check_dfs(|| every_row_once(4, 1, TWO, &[Wanted::USUAL; 2]), Some(20_000));
        shuttle::check_dfs(|| every_row_once(4, 1, ADAPTED, &[SOME[0]; 2]), Some(20_000));
    }
}
