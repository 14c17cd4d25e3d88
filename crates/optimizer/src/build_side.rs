//! Which side of a join builds the hash table: the cheaper one by the estimates and the cost model, for all joins at once,
//! after the last pass that moves any.
//!
//! In a recursion's rounds what does not change is built on, whatever it costs: that is done once.
//!
//! Mark and single joins build on the right. Semi, anti and left joins build on the left where it is clearly the smaller
//! side: its rows are marked by the probing right side.

use base::{IdMap, Result};
use plan::index_join::IndexJoin;
use plan::{BuildSide, Expr, JoinKind, Node, Op, Plan, TableId, TableInfo};

use crate::cardinality::equality;
use crate::joinorder::cost::{self, CostModel};
use crate::joinorder::graph::Connection;
use crate::{Check, Pass};

/// See the module.
pub struct BuildSides {
    pub(crate) costs: &'static dyn CostModel,
}

impl Pass for BuildSides {
    fn name(&self) -> &'static str {
        "build_sides"
    }

    fn run(&self, plan: &mut Plan, _: Check<'_>) -> Result<()> {
        let tables = &plan.tables;
        let roots = plan.ctes.iter_mut().map(|(_, cte)| &mut cte.plan).chain([&mut plan.root]);
        roots.for_each(|node| self.choose(node, tables));
        let rounds = plan.rounds();
        for (id, cte) in plan.ctes.iter_mut() {
            let recursion = match &cte.plan.op {
                Op::Recursion { .. } => Some(id),
                _ => rounds.of(id),
            };
            if let Some(recursion) = recursion {
                keep_built(&mut cte.plan, &|node| rounds.changes(node, recursion));
            }
        }
        Ok(())
    }
}

/// In the rounds of a recursion: builds on the side that is the same in all of them, so that it is built once.
fn keep_built(node: &mut Node, changes: &dyn Fn(&Node) -> bool) {
    node.inputs_mut().for_each(|input| keep_built(input, changes));
    if let Op::Join { kind, left, right, build, .. } = &mut node.op {
        match (changes(left), changes(right)) {
            (true, false) if !matches!(kind, JoinKind::Right | JoinKind::Full) => *build = BuildSide::Right,
            (false, true) if *kind == JoinKind::Inner => *build = BuildSide::Left,
            _ => {}
        }
    }
}

impl BuildSides {
    fn choose(&self, node: &mut Node, tables: &IdMap<TableId, TableInfo>) {
        node.inputs_mut().for_each(|input| self.choose(input, tables));
        let rows = node.rows;
        if let Op::Join { kind, left, right, condition, build } = &mut node.op {
            let connection = if is_hashed(kind, left, condition) { Connection::Hashed } else { Connection::Nested };
            let (hashed, side) = cost::join(self.costs, kind, (left.rows, right.rows), rows, connection);
            *build = side;
            if *kind == JoinKind::Inner {
                // A side that is looked up is not scanned: it had better probe, even if few of its rows are wanted.
                let looked_up = |probe: &Node, build: &Node| {
                    let join = IndexJoin::of(tables, probe, condition).filter(|join| join.pays(build.rows))?;
                    let cost = self.costs.index_join(build.rows, join.rows, build.rows * join.rows_each, rows);
                    (cost < hashed).then_some(cost)
                };
                *build = match (looked_up(left, right), looked_up(right, left)) {
                    (Some(left), Some(right)) if right < left => BuildSide::Left,
                    (None, Some(_)) => BuildSide::Left,
                    (Some(_), _) => BuildSide::Right,
                    (None, None) => side,
                };
            }
        }
    }
}

/// Whether the hash table has a key: an equality between the sides. Inner joins build on the smaller side with and
/// without.
fn is_hashed(kind: &JoinKind, left: &Node, condition: &[Expr]) -> bool {
    if *kind == JoinKind::Inner {
        return true;
    }
    let ours = left.columns();
    let is_left = |e: &Expr| e.uses(|_| true) && e.only_uses(|c| ours.contains(&c));
    condition.iter().filter_map(equality).any(|(a, b)| is_left(a) != is_left(b))
}
