//! How many rows sets of leaves have: estimates, or what is known better.

use std::collections::HashMap;
use std::str::FromStr;

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

/// `a b = 100, a b "C d" = 7`: tables as SQL names them, and the rows of their join.
impl FromStr for KnownRows {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut known = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let mut tables = Vec::new();
            while !rest.starts_with('=') {
                let (table, behind) = name(rest).ok_or(())?;
                tables.push(table);
                rest = behind.trim_start();
            }
            let end = rest.find(',').unwrap_or(rest.len());
            let rows: f64 = rest[1..end].trim().parse().map_err(drop)?;
            if tables.is_empty() || !rows.is_finite() || rows < 0.0 {
                return Err(());
            }
            known.insert(tables, rows);
            rest = rest[end..].trim_start_matches(',').trim_start();
        }
        Ok(known)
    }
}

/// The name that a text begins with, and what is behind it.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, behind) = quoted.split_once('"')?;
        return Some((name.to_string(), behind));
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_lowercase(), &text[end..]))
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
