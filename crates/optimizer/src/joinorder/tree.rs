//! Plans of sets of leaves, and what makes them: a graph, sizes and costs.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::cost::{self, CostModel};
use super::graph::{Connection, Extender, Graph};
use super::relations::Relations;
use super::size::Sizes;
use plan::JoinKind;

/// A plan of a set of leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub set: Relations,
    pub rows: f64,
    pub cost: f64,
    /// The left (probing or outer) and the right input.
    pub inputs: Option<(Relations, Relations)>,
}

/// Best plans by set.
pub(crate) type Table = HashMap<Relations, Tree, BuildHasherDefault<SetHasher>>;

/// Multiplicative hashing of a set's bits.
#[derive(Default)]
pub(crate) struct SetHasher(u64);

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

/// The trees of a graph, as sizes and costs value them.
#[derive(Clone, Copy)]
pub(crate) struct Space<'a> {
    pub graph: &'a Graph,
    pub sizes: &'a dyn Sizes,
    pub costs: &'a dyn CostModel,
}

impl Space<'_> {
    /// The estimated rows of the join of a set of leaves.
    pub fn rows(&self, set: Relations) -> f64 {
        self.sizes.rows(self.graph, set)
    }

    /// A leaf by itself.
    pub fn leaf(&self, leaf: usize) -> Tree {
        let set = Relations::single(leaf);
        Tree { set, rows: self.rows(set), cost: self.costs.leaf(self.graph.leaves[leaf].scanned), inputs: None }
    }

    /// The leaves.
    pub fn leaves(&self) -> impl Iterator<Item = Tree> {
        (0..self.graph.leaves.len()).map(|l| self.leaf(l))
    }

    /// The join of two trees, if the result has `rows` rows. None where an extender does not allow it.
    pub fn join(&self, a: &Tree, b: &Tree, connection: Connection, rows: f64) -> Option<Tree> {
        let lacks = |tree: &Tree, other: &Tree| self.extender(tree).is_some_and(|e| !other.set.covers(e.needs));
        // An extender is the right side, of all that it needs.
        let (mut left, mut right) = if self.extender(a).is_some() { (b, a) } else { (a, b) };
        if self.extender(left).is_some() || lacks(right, left) {
            return None;
        }
        let kind = self.extender(right).map_or(&JoinKind::Inner, |e| &e.kind);
        if *kind == JoinKind::Inner && (left.rows < right.rows || left.rows == right.rows && left.set > right.set) {
            (left, right) = (right, left);
        }
        let (cost, _) = cost::join(self.costs, kind, (left.rows, right.rows), rows, connection);
        let mut cost = a.cost + b.cost + cost;
        if *kind == JoinKind::Inner
            && let Some(looked_up) = self.index_join(left, right, rows)
        {
            cost = cost.min(right.cost + looked_up);
        }
        Some(Tree { set: a.set | b.set, rows, cost, inputs: Some((left.set, right.set)) })
    }

    /// What an index join costs whose left side is a leaf.
    fn index_join(&self, left: &Tree, right: &Tree, rows: f64) -> Option<f64> {
        let leaf = (left.set.len() == 1).then(|| left.set.lowest())?;
        let each = self.graph.found_each(leaf, right.set)?;
        Some(self.costs.index_join(right.rows, self.graph.leaves[leaf].scanned, right.rows * each, rows))
    }

    /// The extender that a tree consists of.
    fn extender(&self, tree: &Tree) -> Option<&Extender> {
        if tree.inputs.is_some() { None } else { self.graph.leaves[tree.set.lowest()].extender.as_ref() }
    }
}
