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
//!    hyperedges for equalities of expressions. It estimates sets of relations, whatever the tree.
//! 4. `dphyp.rs` enumerates; beyond a budget of pairs, and to join what no edge connects, `goo.rs` goes on greedily.
//! 5. `assemble.rs` turns the tree back into operators, each conjunct where it first can be tested, and says which side
//!    each join builds on.
//!
//! The pass also estimates every operator.

mod assemble;
mod cost;
mod dphyp;
mod goo;
mod graph;
mod region;
mod relations;

use base::{IdMap, Result};
use plan::{BuildSide, ColumnId, ColumnInfo, JoinKind, Node, Op, Plan};

use crate::Pass;
use crate::cardinality::{Estimator, Profile};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct JoinOrder {
    /// How many pairs of connected subgraphs a region may have before it is ordered greedily.
    pub budget: usize,
}

impl Default for JoinOrder {
    fn default() -> Self {
        // A clique of 9 relations has 9,330 pairs, a chain of 35 has 7,140, a star of 12 has 11,264.
        Self { budget: 12_000 }
    }
}

impl Pass for JoinOrder {
    fn name(&self) -> &'static str {
        "join_order"
    }

    fn run(&self, plan: &mut Plan) -> Result<()> {
        let Plan { columns, tables, ctes, root, .. } = plan;
        let mut orderer = Orderer { estimator: Estimator::new(tables, columns.len()), columns, budget: self.budget };
        for (id, cte) in ctes.iter_mut() {
            let (node, profile) = orderer.node(crate::rewrite::take(&mut cte.plan));
            cte.plan = node;
            orderer.estimator.define_cte(id, profile);
        }
        *root = orderer.node(crate::rewrite::take(root)).0;
        Ok(())
    }
}

/// Orders and estimates operators bottom-up.
struct Orderer<'a> {
    estimator: Estimator<'a>,
    columns: &'a IdMap<ColumnId, ColumnInfo>,
    budget: usize,
}

impl Orderer<'_> {
    fn node(&mut self, mut node: Node) -> (Node, Profile) {
        if region::is_region(&node) {
            return self.region(node);
        }
        let mut profiles = Vec::new();
        for input in node.inputs_mut() {
            let (ordered, profile) = self.node(crate::rewrite::take(input));
            *input = ordered;
            profiles.push(profile);
        }
        let profile = self.estimator.operator(&node, &profiles);
        node.rows = profile.rows;
        if let Op::Join { kind, build, .. } = &mut node.op {
            let (left, right) = (profiles[0].rows, profiles[1].rows);
            *build = if *kind == JoinKind::Inner && left < right { BuildSide::Left } else { BuildSide::Right };
        }
        (node, profile)
    }
}

#[cfg(test)]
mod queries;
#[cfg(test)]
mod tests;
