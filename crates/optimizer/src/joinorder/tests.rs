use super::cost::Hashing;
use super::dphyp;
use super::graph::{Connection, Edge, Extender, Graph, Leaf};
use super::relations::Relations;
use super::search::{Enumerator, Exhaustive, Greedy};
use super::size::Estimated;
use super::tree::{Space, Table, Tree};
use base::Random;
use plan::JoinKind;
use std::collections::HashMap;

pub(super) fn space(graph: &Graph) -> Space<'_> {
    Space { graph, sizes: &Estimated, costs: &Hashing }
}

fn order(graph: &Graph, pairs: usize) -> (Table, Tree) {
    Exhaustive { pairs, most: pairs }.search(space(graph))
}

fn leaf(rows: f64) -> Leaf {
    Leaf { rows, scanned: rows, tables: Vec::new(), extender: None, indexes: Vec::new() }
}

pub(super) fn graph(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Graph {
    let mut graph = Graph::default();
    graph.leaves = (0..n).map(|i| leaf(10.0 * (i + 1) as f64)).collect();
    for (a, b) in edges {
        let (left, right) = (Relations::single(a), Relations::single(b));
        graph.edges.push(Edge { left, right, hashed: true });
        graph.predicates.push((left | right, 0.01));
    }
    graph.index();
    graph
}

fn pairs(graph: &Graph) -> usize {
    dphyp::enumerate(space(graph), usize::MAX / 32).unwrap().1
}

#[test]
fn pairs_of_chains_cycles_stars_and_cliques() {
    for n in 2..=10usize {
        assert_eq!(pairs(&graph(n, (1..n).map(|i| (i - 1, i)))), (n * n * n - n) / 6);
        assert_eq!(pairs(&graph(n, (1..n).map(|i| (0, i)))), (n - 1) << (n - 2));
        let all = (0..n).flat_map(|i| (0..i).map(move |j| (j, i)));
        assert_eq!(pairs(&graph(n, all)), 3usize.pow(n as u32).div_ceil(2) - (1 << n));
        if n > 2 {
            let cycle = graph(n, (0..n).map(|i| (i, (i + 1) % n)));
            assert_eq!(pairs(&cycle), (n * n * n - 2 * n * n + n) / 2);
        }
    }
}

/// A connected graph with hyperedges, nested-loop edges and extenders.
fn random_graph(random: &mut Random, n: usize) -> Graph {
    let mut graph = graph(n, []);
    let plain = n - random.index(n / 3 + 1);
    for (i, leaf) in graph.leaves.iter_mut().enumerate() {
        leaf.rows = 10f64.powi(random.index(6) as i32) * (1 + random.index(9)) as f64;
        if i >= plain {
            let needs: Relations = (0..1 + random.index(2)).map(|_| random.index(plain)).collect();
            let kind = [JoinKind::Semi, JoinKind::Anti, JoinKind::Left][random.index(3)].clone();
            let factor = if kind == JoinKind::Left { 2.0 } else { 0.1 * (1 + random.index(9)) as f64 };
            graph.edges.push(Edge { left: needs, right: Relations::single(i), hashed: true });
            leaf.extender = Some(Extender { kind, needs, factor });
        }
    }
    let mut edge = |left: Relations, right: Relations, random: &mut Random| {
        if !left.meets(right) {
            graph.edges.push(Edge { left, right, hashed: random.index(8) > 0 });
            graph.predicates.push((left | right, 1.0 / 10f64.powi(random.index(5) as i32)));
        }
    };
    for i in 1..plain {
        edge(Relations::single(random.index(i)), Relations::single(i), random);
    }
    for _ in 0..random.index(n) {
        let left = (0..1 + random.index(2)).map(|_| random.index(plain)).collect();
        let right = (0..1 + random.index(2)).map(|_| random.index(plain)).collect();
        edge(left, right, random);
    }
    graph.index();
    graph
}

/// Every split of every set: slow and obviously right.
fn exhaustive(graph: &Graph) -> HashMap<Relations, Tree> {
    let mut best: HashMap<Relations, Tree> = space(graph).leaves().map(|t| (t.set, t)).collect();
    for set in graph.all().subsets().filter(|s| s.len() > 1) {
        for left in set.subsets().filter(|&l| l != set) {
            let (Some(a), Some(b)) = (best.get(&left), best.get(&(set - left))) else { continue };
            let connection = graph.connection(a.set, b.set);
            if connection == Connection::None {
                continue;
            }
            let Some(joined) = space(graph).join(a, b, connection, graph.estimated_rows(set)) else { continue };
            if best.get(&set).is_none_or(|known| joined.cost < known.cost) {
                best.insert(set, joined);
            }
        }
    }
    best
}

/// Checks that a tree uses each leaf once and extenders where they may be.
fn check_tree(graph: &Graph, table: &Table, set: Relations) {
    let tree = table[&set];
    assert_eq!(tree.set, set);
    let Some((left, right)) = tree.inputs else {
        assert_eq!(set.len(), 1);
        return;
    };
    assert!(!left.meets(right) && left | right == set);
    let extender = |s: Relations| if s.len() == 1 { graph.leaves[s.lowest()].extender.as_ref() } else { None };
    assert!(extender(left).is_none());
    assert!(extender(right).is_none_or(|e| left.covers(e.needs)));
    check_tree(graph, table, left);
    check_tree(graph, table, right);
}

#[test]
fn the_best_tree_is_found() {
    let mut random = Random(1);
    for _ in 0..400 {
        let n = 2 + random.index(7);
        let graph = random_graph(&mut random, n);
        let expected = exhaustive(&graph);
        let (table, _) = dphyp::enumerate(space(&graph), 1 << 20).unwrap();
        assert_eq!(table.len(), expected.len(), "{graph:?}");
        for (set, tree) in &table {
            let best = expected[set].cost;
            assert!((tree.cost - best).abs() <= 1e-9 * best, "{set:?} {graph:?}");
        }
        let (table, best) = order(&graph, 1 << 20);
        check_tree(&graph, &table, best.set);
    }
}

#[test]
fn the_greedy_tree_is_valid_and_no_better() {
    let mut random = Random(2);
    for _ in 0..300 {
        let n = 2 + random.index(8);
        let graph = random_graph(&mut random, n);
        let (table, greedy) = Greedy.search(space(&graph));
        assert_eq!(greedy.set, graph.all());
        check_tree(&graph, &table, greedy.set);
        if let Some(best) = exhaustive(&graph).get(&graph.all()) {
            assert!(best.cost <= greedy.cost * 1.000_001 || crosses(&graph, &table, greedy.set));
        }
    }
}

fn crosses(graph: &Graph, table: &Table, set: Relations) -> bool {
    table[&set].inputs.is_some_and(|(l, r)| {
        graph.connection(l, r) == Connection::None || crosses(graph, table, l) || crosses(graph, table, r)
    })
}

#[test]
fn large_regions_are_ordered_greedily() {
    for n in [30, 60, 128] {
        // A clique with a star in it: far beyond any budget.
        let all = (0..n).flat_map(|i| (0..i).filter(move |j| *j == 0 || (i * j) % 7 < 3).map(move |j| (j, i)));
        let graph = graph(n, all);
        let (table, best) = order(&graph, 12_000);
        assert_eq!(best.set, graph.all());
        check_tree(&graph, &table, best.set);
        // The leaves and their joins, nothing else was looked at longer.
        assert_eq!(table.len(), 2 * n - 1);
    }
}

#[test]
fn the_budget_bounds_the_search() {
    for (graph, fits) in [
        (graph(12, (1..12).map(|i| (0, i))), true),
        (graph(40, (1..40).map(|i| (i - 1, i))), true),
        (graph(60, (1..60).map(|i| (0, i))), false),
    ] {
        assert_eq!(dphyp::enumerate(space(&graph), 12_000).is_some_and(|(_, pairs)| pairs <= 12_000), fits);
        let (table, best) = order(&graph, 12_000);
        check_tree(&graph, &table, best.set);
    }
}

#[test]
fn dear_orders_are_searched_longer() {
    // A star of 15 has 114,688 pairs.
    let mut star = graph(15, (1..15).map(|i| (0, i)));
    let searched = |graph: &Graph| Exhaustive::default().search(space(graph)).0.len() > 2 * 15 - 1;
    assert!(!searched(&star));
    star.leaves.iter_mut().for_each(|leaf| leaf.rows *= 1e6);
    assert!(searched(&star));
}

#[test]
fn components_are_crossed_last_and_smallest_first() {
    // 0-1 and 2-3 are connected; 4 stands alone.
    let graph = graph(5, [(0, 1), (2, 3)]);
    let (table, best) = order(&graph, 1000);
    check_tree(&graph, &table, best.set);
    let pair = |a, b| Relations::single(a) | Relations::single(b);
    assert!(table.contains_key(&pair(0, 1)) && table.contains_key(&pair(2, 3)));
    assert!(!table.contains_key(&pair(0, 2)));
    assert!(table[&best.set].inputs.is_some_and(|(l, r)| l == Relations::single(4) || r == Relations::single(4)));
}
