//! Greedy Operator Ordering (L. Fegaras, *A New Heuristic for Optimizing Large Queries*, DEXA 1998; thesis 6.6.3): joins
//! the pair of trees with the smallest result until one tree is left. O(n^2) pairs are estimated in all.
//!
//! It also joins what no edge connects: a cross product only where nothing else is left, the smallest first, predicates
//! over both sides counted in.

use std::cmp::Ordering;

use super::graph::Connection;
use super::relations::Relations;
use super::tree::{Space, Table, Tree};

/// Joins the `trees`, which are in the table, to one, and puts every intermediate tree into the table.
pub(super) fn join_all(space: Space<'_>, mut trees: Vec<Tree>, table: &mut Table) -> Tree {
    let mut pairs: Vec<Candidate> = Vec::new();
    for (i, a) in trees.iter().enumerate() {
        pairs.extend(trees[i + 1..].iter().filter_map(|b| candidate(space, a, b)));
    }
    while trees.len() > 1 {
        let best = pairs.iter().min_by(|a, b| a.order(b)).expect("any two plain trees can be crossed");
        let (joined, inputs) = (best.joined, best.parts);
        pairs.retain(|p| !p.joined.set.meets(joined.set));
        trees.retain(|t| t.set != inputs.0 && t.set != inputs.1);
        pairs.extend(trees.iter().filter_map(|t| candidate(space, t, &joined)));
        trees.push(joined);
        table.insert(joined.set, joined);
    }
    trees[0]
}

/// A join that could come next.
struct Candidate {
    joined: Tree,
    parts: (Relations, Relations),
    crossed: bool,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        let by_size =
            self.joined.rows.total_cmp(&other.joined.rows).then(self.joined.cost.total_cmp(&other.joined.cost));
        self.crossed.cmp(&other.crossed).then(by_size).then(self.joined.set.cmp(&other.joined.set))
    }
}

fn candidate(space: Space<'_>, a: &Tree, b: &Tree) -> Option<Candidate> {
    let connection = space.graph.connection(a.set, b.set);
    let joined = space.join(a, b, connection, space.rows(a.set | b.set))?;
    Some(Candidate { joined, parts: (a.set, b.set), crossed: connection == Connection::None })
}
