//! DPhyp: G. Moerkotte, T. Neumann, *Dynamic Programming Strikes Back*, SIGMOD 2008, section 3.
//!
//! Enumerates every pair of disjoint connected subgraphs that an edge connects (csg-cmp pair) exactly once, smaller sets
//! first, so that the best plans of both parts are known when a pair comes up. The number of pairs is the lower bound of
//! any such dynamic program: (n^3 - n) / 6 for chains, (n - 1) 2^(n-2) for stars, (3^n - 2^(n+1) + 1) / 2 for cliques.

use super::graph::Connection;
use super::relations::Relations;
use super::tree::{Space, Table};

/// The best plans of all connected sets of leaves, and the number of pairs; none if there are more pairs than `budget`.
pub(super) fn enumerate(space: Space<'_>, budget: usize) -> Option<(Table, usize)> {
    let table = space.leaves().map(|tree| (tree.set, tree)).collect();
    // Steps without a pair are cheaper than pairs; there are many only with large hypernodes.
    let mut search = Search { space, table, pairs: 0, budget, steps: budget.saturating_mul(16) };
    for leaf in (0..space.graph.leaves.len()).rev() {
        let set = Relations::single(leaf);
        search.emit_subgraph(set)?;
        search.grow_subgraph(set, Relations::first(leaf + 1))?;
    }
    Some((search.table, search.pairs))
}

struct Search<'a> {
    space: Space<'a>,
    table: Table,
    pairs: usize,
    budget: usize,
    steps: usize,
}

impl Search<'_> {
    /// EnumerateCsgRec: larger connected subgraphs around `set`, without `excluded`.
    fn grow_subgraph(&mut self, set: Relations, excluded: Relations) -> Option<()> {
        let neighbours = self.space.graph.neighbours(set, excluded);
        for more in neighbours.subsets() {
            self.step()?;
            if self.table.contains_key(&(set | more)) {
                self.emit_subgraph(set | more)?;
            }
        }
        for more in neighbours.subsets() {
            self.grow_subgraph(set | more, excluded | neighbours)?;
        }
        Some(())
    }

    /// EmitCsg: finds the seeds of `set`'s complements.
    fn emit_subgraph(&mut self, set: Relations) -> Option<()> {
        let excluded = set | Relations::first(set.lowest() + 1);
        let neighbours = self.space.graph.neighbours(set, excluded);
        for seed in neighbours.descending() {
            let complement = Relations::single(seed);
            if self.space.graph.connection(set, complement) != Connection::None {
                self.emit_pair(set, complement)?;
            }
            self.grow_complement(set, complement, excluded | (neighbours & Relations::first(seed + 1)))?;
        }
        Some(())
    }

    /// EnumerateCmpRec: larger complements of `set` around `complement`.
    fn grow_complement(&mut self, set: Relations, complement: Relations, excluded: Relations) -> Option<()> {
        let neighbours = self.space.graph.neighbours(complement, excluded);
        for more in neighbours.subsets() {
            self.step()?;
            let larger = complement | more;
            if self.table.contains_key(&larger) && self.space.graph.connection(set, larger) != Connection::None {
                self.emit_pair(set, larger)?;
            }
        }
        for more in neighbours.subsets() {
            self.grow_complement(set, complement | more, excluded | neighbours)?;
        }
        Some(())
    }

    /// EmitCsgCmp: keeps the join of both if it is the best of its set.
    fn emit_pair(&mut self, a: Relations, b: Relations) -> Option<()> {
        self.pairs += 1;
        if self.pairs > self.budget {
            return None;
        }
        let (left, right) = (self.table[&a], self.table[&b]);
        let known = self.table.get(&(a | b));
        let rows = known.map_or_else(|| self.space.rows(a | b), |t| t.rows);
        let joined = self.space.join(&left, &right, self.space.graph.connection(a, b), rows);
        if let Some(joined) = joined.filter(|j| known.is_none_or(|k| j.cost < k.cost)) {
            self.table.insert(joined.set, joined);
        }
        Some(())
    }

    fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }
}
