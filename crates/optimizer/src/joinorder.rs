//! Join ordering: the cheapest bushy tree without cross products, by dynamic programming over a query hypergraph.
//!
//! G. Moerkotte, T. Neumann, *Dynamic Programming Strikes Back*, SIGMOD 2008 (DPhyp); V. Leis, thesis, 6.5.4 (the cost
//! function C_mm) and 6.6 (bushy trees; Greedy Operator Ordering where the search space is too large).
//!
//! 1. A maximal tree of inner joins and filters becomes a *region* (`region.rs`): its inputs are the leaves, each
//!    optimised by itself first.
//! 2. Left, semi, anti and mark joins within the region are *extenders*: their right side is a leaf that only joins a
//!    set with every relation that the condition reads, as a whole, and keeps the kind of its join. They commute with
//!    inner joins and with each other, so they move freely between these bounds. Full and single joins are not moved.
//! 3. The query graph (`graph.rs`) has equivalence classes of columns, so that derived equalities count once, and
//!    hyperedges for equalities of expressions.
//! 4. Three traits decide which tree it will be: how large sets of leaves are (`size.rs`: estimates, or known numbers),
//!    what joins cost (`cost.rs`), and which trees are looked at (`search.rs`: all of them, by `dphyp.rs`, or what is
//!    greedily made, by `goo.rs`).
//! 5. `assemble.rs` turns the tree back into operators, each conjunct where it first can be tested.
//!
//! The pass also estimates every operator. Which side a join builds on is the last pass's matter (`build_side.rs`).

mod assemble;
pub(crate) mod cost;
mod dphyp;
mod goo;
pub(crate) mod graph;
mod region;
mod relations;
pub(crate) mod search;
mod size;
mod tree;

pub use size::KnownRows;

use base::{IdMap, Result};
use plan::{ColumnId, ColumnInfo, Node, Plan, TableId, TableInfo};

use crate::cardinality::{Estimator, Profile};
use crate::{Check, Pass};
use cost::CostModel;
use search::Enumerator;
use size::{Estimated, Known, Sizes};

/// See the module.
pub struct JoinOrder {
    /// Values trees.
    pub(crate) costs: &'static dyn CostModel,
    /// Finds one.
    pub(crate) search: Box<dyn Enumerator>,
    /// What is known better than estimates.
    pub(crate) known: KnownRows,
}

impl Default for JoinOrder {
    fn default() -> Self {
        Self { costs: &cost::Hashing, search: Box::new(search::Exhaustive::default()), known: KnownRows::default() }
    }
}

impl Pass for JoinOrder {
    fn name(&self) -> &'static str {
        "join_order"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let Plan { columns, tables, ctes, root, .. } = plan;
        let known = Known { rows: &self.known, tables };
        let sizes: &dyn Sizes = if self.known == KnownRows::default() { &Estimated } else { &known };
        let (costs, search) = (self.costs, &*self.search);
        let estimator = Estimator::new(tables, columns.len());
        let mut orderer = Orderer { estimator, columns, tables, sizes, costs, search, check };
        for (id, cte) in ctes.iter_mut() {
            let (node, profile) = orderer.node(crate::rewrite::take(&mut cte.plan))?;
            cte.plan = node;
            orderer.estimator.define_cte(id, profile);
        }
        *root = orderer.node(crate::rewrite::take(root))?.0;
        Ok(())
    }
}

/// Orders and estimates operators bottom-up.
struct Orderer<'a> {
    estimator: Estimator<'a>,
    columns: &'a IdMap<ColumnId, ColumnInfo>,
    tables: &'a IdMap<TableId, TableInfo>,
    sizes: &'a dyn Sizes,
    costs: &'a dyn CostModel,
    search: &'a dyn Enumerator,
    check: Check<'a>,
}

impl Orderer<'_> {
    fn node(&mut self, mut node: Node) -> Result<(Node, Profile)> {
        (self.check)()?;
        if region::is_region(&node) {
            return self.region(node);
        }
        let begun = self.estimator.begin_recursion(&node);
        let mut profiles = Vec::new();
        for input in node.inputs_mut() {
            let (ordered, profile) = self.node(crate::rewrite::take(input))?;
            *input = ordered;
            if let (Some(recursion), []) = (&begun, profiles.as_slice()) {
                self.estimator.begin_rounds(recursion, &profile);
            }
            profiles.push(profile);
        }
        let profile = self.estimator.operator(&node, &profiles);
        node.rows = profile.rows;
        Ok((node, profile))
    }
}

#[cfg(test)]
mod job;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod tests;
