//! The smaller side of an inner join builds the hash table, by a crude guess from the tables' row counts. Estimates and
//! the join order, where they exist, have the last word.

use base::{IdMap, Result};
use plan::{BuildSide, JoinKind, Node, Op, Plan, TableId, TableInfo};

use crate::Pass;

/// See the module.
pub struct BuildSides;

impl Pass for BuildSides {
    fn name(&self) -> &'static str {
        "build_sides"
    }

    fn run(&self, plan: &mut Plan) -> Result<()> {
        for (_, cte) in plan.ctes.iter_mut() {
            choose(&mut cte.plan, &plan.tables);
        }
        choose(&mut plan.root, &plan.tables);
        Ok(())
    }
}

/// Chooses in the subplan, and guesses its rows: the estimate if there is one.
fn choose(node: &mut Node, tables: &IdMap<TableId, TableInfo>) -> f64 {
    let estimate = node.rows;
    let below: Vec<f64> = node.inputs_mut().map(|n| choose(n, tables)).collect();
    if let Op::Join { kind: JoinKind::Inner, build, .. } = &mut node.op {
        *build = if below[0] < below[1] { BuildSide::Left } else { BuildSide::Right };
    }
    if !estimate.is_nan() {
        return estimate;
    }
    let first = below.first().copied().unwrap_or(0.0);
    match &node.op {
        Op::Scan { table, predicates, .. } => {
            tables[*table].statistics.rows() as f64 * 0.3f64.powi(predicates.len().min(3) as i32)
        }
        Op::CteScan { .. } => 1e4,
        Op::Values { rows, .. } => rows.len() as f64,
        Op::Filter { predicates, .. } => first * 0.3f64.powi(predicates.len().min(3) as i32),
        Op::Join { kind, condition, .. } => match kind {
            JoinKind::Inner if condition.is_empty() => first * below[1],
            JoinKind::Inner | JoinKind::Full => first.max(below[1]),
            JoinKind::Right => below[1],
            JoinKind::Semi | JoinKind::Anti => first * 0.5,
            JoinKind::Left | JoinKind::Mark(_) | JoinKind::Single => first,
        },
        Op::Aggregate { groups, .. } if groups.is_empty() => 1.0,
        Op::Aggregate { .. } | Op::Distinct { .. } => first * 0.1,
        Op::Sort { limit, .. } | Op::Limit { limit, .. } => limit.map_or(first, |n| first.min(n as f64)),
        Op::GroupLimit { limit, .. } => first * limit.map_or(1.0, |n| (n as f64 * 0.1).min(1.0)),
        Op::Map { .. } => first,
        Op::SetOp { .. } => below.iter().sum(),
    }
}
