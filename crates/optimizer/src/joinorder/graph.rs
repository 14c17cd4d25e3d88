//! The query hypergraph of a region, and the estimated size of every set of its leaves.
//!
//! A set's size is a product over what lies within it (leaves, equivalence classes, predicates), so it does not depend
//! on the join tree, and different trees of one set compare by their inner joins alone.

use plan::{JoinKind, TableId};

use super::relations::Relations;

/// A leaf as the enumeration sees it.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub rows: f64,
    /// Rows of its tables before filters.
    pub scanned: f64,
    /// Its tables.
    pub tables: Vec<TableId>,
    pub extender: Option<Extender>,
    /// Indexes by which its rows may be looked up.
    pub indexes: Vec<Index>,
}

/// An index of a leaf that is a table.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Of each of its leading columns, the other leaves that have one that is equal, and how many rows have one value of the
    /// columns so far; none if these find nothing.
    pub parts: Vec<(Relations, Option<f64>)>,
}

/// What makes a leaf the right side of a join that is not an inner one.
#[derive(Clone, Debug)]
pub(crate) struct Extender {
    pub kind: JoinKind,
    /// Leaves that must be on the left side.
    pub needs: Relations,
    /// By how much it multiplies the rows of the left side.
    pub factor: f64,
}

/// A hyperedge: the sets may be joined if one side has all of `left` and the other all of `right`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub left: Relations,
    pub right: Relations,
    /// Whether it is an equality that a hash table can look up.
    pub hashed: bool,
}

/// Columns that equalities make equal: leaf and number of values in its domain, in the order of `members`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    pub leaves: Relations,
    /// Leaf, domain, fraction that is not NULL.
    pub members: Vec<(usize, f64, f64)>,
    /// Pairs of leaves whose rows agree more often than domains tell, and how much more.
    pub near: Vec<(usize, usize, f64)>,
}

/// How two sets can be joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Connection {
    None,
    Nested,
    Hashed,
}

/// The query graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub leaves: Vec<Leaf>,
    pub edges: Vec<Edge>,
    pub classes: Vec<Class>,
    /// Predicates over more than one leaf that are no class: leaves, selectivity.
    pub predicates: Vec<(Relations, f64)>,
    /// Pairs of leaves that share several classes: by how much their join is larger than the product of the classes'
    /// selectivities says.
    pub corrections: Vec<(usize, usize, f64)>,
    /// For each leaf, those that an edge between two single leaves connects.
    adjacent: Vec<Relations>,
    /// Among these, those that can be hashed.
    hashed: Vec<Relations>,
    /// Edges with a side of several leaves.
    complex: Vec<Edge>,
}

impl Graph {
    /// Derives the indexes over `edges`. Call it after the last change of these.
    pub fn index(&mut self) {
        self.adjacent = vec![Relations::EMPTY; self.leaves.len()];
        self.hashed = self.adjacent.clone();
        self.complex.clear();
        for edge in &self.edges {
            debug_assert!(!edge.left.meets(edge.right) && !edge.left.is_empty() && !edge.right.is_empty());
            if edge.left.len() > 1 || edge.right.len() > 1 {
                self.complex.push(*edge);
                continue;
            }
            let (a, b) = (edge.left.lowest(), edge.right.lowest());
            for (a, b) in [(a, b), (b, a)] {
                self.adjacent[a] = self.adjacent[a] | Relations::single(b);
                if edge.hashed {
                    self.hashed[a] = self.hashed[a] | Relations::single(b);
                }
            }
        }
    }

    pub fn all(&self) -> Relations {
        Relations::first(self.leaves.len())
    }

    /// The neighbourhood of `set` outside of `excluded`: one representative, the lowest leaf, of each hypernode.
    pub fn neighbours(&self, set: Relations, excluded: Relations) -> Relations {
        let forbidden = set | excluded;
        let mut simple = Relations::EMPTY;
        for leaf in set.iter() {
            simple = simple | self.adjacent[leaf];
        }
        simple = simple - forbidden;
        let mut all = simple;
        for edge in &self.complex {
            for (from, to) in [(edge.left, edge.right), (edge.right, edge.left)] {
                // A hypernode with a simple neighbour in it is subsumed.
                if set.covers(from) && !to.meets(forbidden) && !to.meets(simple) {
                    all = all | Relations::single(to.lowest());
                }
            }
        }
        all
    }

    /// Whether, and how, an edge connects two disjoint sets.
    pub fn connection(&self, a: Relations, b: Relations) -> Connection {
        let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let mut found = Connection::None;
        for leaf in small.iter() {
            if self.hashed[leaf].meets(large) {
                return Connection::Hashed;
            }
            if self.adjacent[leaf].meets(large) {
                found = Connection::Nested;
            }
        }
        for edge in &self.complex {
            if a.covers(edge.left) && b.covers(edge.right) || a.covers(edge.right) && b.covers(edge.left) {
                if edge.hashed {
                    return Connection::Hashed;
                }
                found = Connection::Nested;
            }
        }
        found
    }

    /// How many rows of a leaf an index finds for each row of a set, if there is one that does.
    pub fn found_each(&self, leaf: usize, set: Relations) -> Option<f64> {
        let of_index = |index: &Index| {
            let told = index.parts.iter().take_while(|(leaves, _)| leaves.meets(set));
            told.filter_map(|(_, rows)| *rows).last()
        };
        self.leaves[leaf].indexes.iter().filter_map(of_index).min_by(f64::total_cmp)
    }

    /// The estimated rows of the join of a set of leaves.
    pub fn estimated_rows(&self, set: Relations) -> f64 {
        let mut rows = 1.0;
        for leaf in set.iter() {
            let leaf = &self.leaves[leaf];
            rows *= match &leaf.extender {
                // The right side alone.
                Some(extender) if !set.covers(extender.needs) => leaf.rows,
                Some(extender) => extender.factor,
                None => leaf.rows,
            };
        }
        for class in self.classes.iter().filter(|c| (c.leaves & set).len() > 1) {
            let mut smallest = f64::INFINITY;
            for &(_, domain, not_null) in class.members.iter().filter(|(leaf, ..)| set.contains(*leaf)) {
                rows *= not_null / domain;
                smallest = smallest.min(domain);
            }
            rows *= smallest;
            // What is filtered is near to all others alike, and counts once.
            let near = class.near.iter().filter(|(a, b, _)| set.contains(*a) && set.contains(*b));
            rows *= near.map(|(.., factor)| *factor).fold(1.0, f64::max);
        }
        for (leaves, selectivity) in &self.predicates {
            if set.covers(*leaves) {
                rows *= selectivity;
            }
        }
        // Along a forest, as three leaves with the same two classes are corrected twice, not three times.
        let mut joined: Vec<Relations> = Vec::new();
        for &(a, b, factor) in &self.corrections {
            if !set.contains(a) || !set.contains(b) {
                continue;
            }
            let pair = Relations::single(a) | Relations::single(b);
            if joined.iter().any(|j| j.covers(pair)) {
                continue;
            }
            rows *= factor;
            let merged = joined.iter().filter(|j| j.meets(pair)).fold(pair, |all, &j| all | j);
            joined.retain(|j| !j.meets(pair));
            joined.push(merged);
        }
        rows
    }
}
