//! Which trees are looked at: all that have no cross product, or those that a greedy choice makes.

use super::relations::Relations;
use super::tree::{Space, Table, Tree};
use super::{dphyp, goo};

/// A way to find a good tree.
pub(crate) trait Enumerator {
    /// A tree of all leaves, and the table that holds it and all its subtrees.
    fn search(&self, space: Space<'_>) -> (Table, Tree);
}

/// Greedy Operator Ordering (`goo.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greedy;

impl Enumerator for Greedy {
    fn search(&self, space: Space<'_>) -> (Table, Tree) {
        let mut table: Table = space.leaves().map(|t| (t.set, t)).collect();
        let best = goo::join_all(space, space.leaves().collect(), &mut table);
        (table, best)
    }
}

/// Dynamic programming (`dphyp.rs`), as far as it is worth its time: up to `pairs` pairs of connected subgraphs in any
/// case, and up to `most` if a greedy tree costs so much that the search is a small part of it. Beyond that, the greedy
/// tree. What no edge connects is crossed greedily.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exhaustive {
    pub pairs: usize,
    pub most: usize,
}

impl Default for Exhaustive {
    fn default() -> Self {
        // A clique of 9 relations has 9,330 pairs, a chain of 35 has 7,140, a star of 12 has 11,264 and one of 15 has
        // 114,688. The largest of the Join Order Benchmark, of 17 relations, has 227,207. A pair takes about 0.1
        // microseconds.
        Self { pairs: 12_000, most: 250_000 }
    }
}

impl Exhaustive {
    /// Cost of the greedy tree for each pair that may be looked at: a row is handled in about 10 ns, so the search takes
    /// a tenth of the query's time.
    const COST_OF_PAIR: f64 = 100.0;

    fn within(space: Space<'_>, pairs: usize) -> Option<(Table, Tree)> {
        let (mut table, _) = dphyp::enumerate(space, pairs)?;
        let trees = largest(space, &table);
        let best = goo::join_all(space, trees, &mut table);
        Some((table, best))
    }
}

impl Enumerator for Exhaustive {
    fn search(&self, space: Space<'_>) -> (Table, Tree) {
        if let Some(found) = Self::within(space, self.pairs) {
            return found;
        }
        let greedy = Greedy.search(space);
        let pairs = ((greedy.1.cost / Self::COST_OF_PAIR) as usize).min(self.most);
        let better = if pairs > self.pairs { Self::within(space, pairs) } else { None };
        better.unwrap_or(greedy)
    }
}

/// Disjoint plans that cover the graph, large ones first: one for each connected component, if it is one that needs no
/// cross product.
fn largest(space: Space<'_>, table: &Table) -> Vec<Tree> {
    if let Some(whole) = table.get(&space.graph.all()) {
        return vec![*whole];
    }
    let mut sets: Vec<Relations> = table.keys().copied().collect();
    sets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    let mut taken = Relations::EMPTY;
    let mut trees = Vec::new();
    for set in sets {
        if !set.meets(taken) {
            taken = taken | set;
            trees.push(table[&set]);
        }
    }
    trees
}
