//! How many rows sets of leaves have: estimates, or what is known better.

use std::collections::HashMap;

use base::IdMap;
use plan::{TableId, TableInfo};

use super::graph::Graph;
use super::relations::Relations;

/// Sizes of joins.
pub(crate) trait Sizes {
    /// The rows of the join of a set of leaves.
    fn rows(&self, graph: &Graph, set: Relations) -> f64;
}

/// The product of what lies within the set (see [`Graph::estimated_rows`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimated;

impl Sizes for Estimated {
    fn rows(&self, graph: &Graph, set: Relations) -> f64 {
        graph.estimated_rows(set)
    }
}

/// Sizes of joins that are known, say because they were counted, by the names of the tables in them: what experiments
/// put in the place of estimates (thesis 6.4). Other joins are estimated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownRows(HashMap<Vec<String>, f64>);

impl KnownRows {
    /// The join of tables with these names, each as often as it is in it, with all predicates over them, has so many rows.
    pub fn insert(&mut self, tables: impl IntoIterator<Item = impl Into<String>>, rows: f64) {
        let mut tables: Vec<String> = tables.into_iter().map(Into::into).collect();
        tables.sort_unstable();
        self.0.insert(tables, rows);
    }
}

/// Known sizes of joins of a plan's tables.
pub(crate) struct Known<'a> {
    pub rows: &'a KnownRows,
    pub tables: &'a IdMap<TableId, TableInfo>,
}

impl Sizes for Known<'_> {
    fn rows(&self, graph: &Graph, set: Relations) -> f64 {
        let ids = set.iter().flat_map(|leaf| &graph.leaves[leaf].tables);
        let mut names: Vec<String> = ids.map(|&id| self.tables[id].name.clone()).collect();
        names.sort_unstable();
        self.rows.0.get(&names).copied().unwrap_or_else(|| graph.estimated_rows(set))
    }
}
