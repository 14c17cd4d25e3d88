//! DPhyp: G. Moerkotte, T. Neumann, *Dynamic Programming Strikes Back*, SIGMOD 2008, section 3.
//!
//! Enumerates every pair of disjoint connected subgraphs that an edge connects (csg-cmp pair) exactly once, smaller sets
//! first, so that the best plans of both parts are known when a pair comes up. The number of pairs is the lower bound of
//! any such dynamic program: (n^3 - n) / 6 for chains, (n - 1) 2^(n-2) for stars, (3^n - 2^(n+1) + 1) / 2 for cliques.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::cost::Tree;
use super::graph::{Connection, Graph};
use super::relations::Relations;

/// Best plans by set.
pub(super) type Table = HashMap<Relations, Tree, BuildHasherDefault<SetHasher>>;

/// Multiplicative hashing of a set's bits.
#[derive(Default)]
pub(super) struct SetHasher(u64);

impl Hasher for SetHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u128(b.into()));
    }
    fn write_u128(&mut self, bits: u128) {
        let folded = bits as u64 ^ ((bits >> 64) as u64).rotate_left(32) ^ self.0;
        self.0 = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 29;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The best plans of all connected sets of leaves, and the number of pairs; none if there are more pairs than `budget`.
pub(super) fn enumerate(graph: &Graph, budget: usize) -> Option<(Table, usize)> {
    let mut table = Table::default();
    for leaf in 0..graph.leaves.len() {
        let tree = Tree::leaf(graph, leaf);
        table.insert(tree.set, tree);
    }
    // Steps without a pair are cheaper than pairs; there are many only with large hypernodes.
    let mut search = Search { graph, table, pairs: 0, budget, steps: budget.saturating_mul(16) };
    for leaf in (0..graph.leaves.len()).rev() {
        let set = Relations::single(leaf);
        search.emit_subgraph(set)?;
        search.grow_subgraph(set, Relations::first(leaf + 1))?;
    }
    Some((search.table, search.pairs))
}

struct Search<'a> {
    graph: &'a Graph,
    table: Table,
    pairs: usize,
    budget: usize,
    steps: usize,
}

impl Search<'_> {
    /// EnumerateCsgRec: larger connected subgraphs around `set`, without `excluded`.
    fn grow_subgraph(&mut self, set: Relations, excluded: Relations) -> Option<()> {
        let neighbours = self.graph.neighbours(set, excluded);
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
        let neighbours = self.graph.neighbours(set, excluded);
        for seed in neighbours.descending() {
            let complement = Relations::single(seed);
            if self.graph.connection(set, complement) != Connection::None {
                self.emit_pair(set, complement)?;
            }
            self.grow_complement(set, complement, excluded | (neighbours & Relations::first(seed + 1)))?;
        }
        Some(())
    }

    /// EnumerateCmpRec: larger complements of `set` around `complement`.
    fn grow_complement(&mut self, set: Relations, complement: Relations, excluded: Relations) -> Option<()> {
        let neighbours = self.graph.neighbours(complement, excluded);
        for more in neighbours.subsets() {
            self.step()?;
            let larger = complement | more;
            if self.table.contains_key(&larger) && self.graph.connection(set, larger) != Connection::None {
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
        let rows = known.map_or_else(|| self.graph.rows(a | b), |t| t.rows);
        let joined = Tree::join(self.graph, &left, &right, self.graph.connection(a, b), rows);
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
