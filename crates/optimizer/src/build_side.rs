//! Which side of a join builds the hash table: the cheaper one by the estimates and the cost model, for all joins at once,
//! after the last pass that moves any.
//!
//! Mark and single joins build on the right. Semi, anti and left joins build on the left where it is clearly the smaller
//! side: its rows are marked by the probing right side.

use base::Result;
use plan::{Expr, JoinKind, Node, Op, Plan};

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
        plan.ctes.iter_mut().map(|(_, cte)| &mut cte.plan).chain([&mut plan.root]).for_each(|node| self.choose(node));
        Ok(())
    }
}

impl BuildSides {
    fn choose(&self, node: &mut Node) {
        node.inputs_mut().for_each(|input| self.choose(input));
        let rows = node.rows;
        if let Op::Join { kind, left, right, condition, build } = &mut node.op {
            let connection = if is_hashed(kind, left, condition) { Connection::Hashed } else { Connection::Nested };
            *build = cost::join(self.costs, kind, (left.rows, right.rows), rows, connection).1;
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
