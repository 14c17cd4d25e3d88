//! How much memory a plan is expected to need: what its operators keep, by the optimizer's estimates of rows.
//!
//! A rough number, for admission: all that is kept is taken to be there at once. The bytes of rows are fitted to what
//! `bench memory` weighs: 0.9 to 1.8 times that where the number of rows is right, and as wrong as that where it is not.

use plan::node::BuildSide;
use plan::{ColumnId, Node, Op, Plan};

/// Bytes of a kept row besides its columns, with its part of a hash table or of what a sort copies.
const ROW: usize = 32;
/// Bytes of a column: some are kept twice.
const COLUMN: usize = 12;
/// Bytes of a text and of what refers to it.
const TEXT: usize = 64;

/// Bytes that a plan keeps; `of_table` if its rows go into a table.
pub(super) fn of(plan: &Plan, of_table: bool) -> usize {
    let ctes = plan.ctes.values().map(|cte| of_node(plan, &cte.plan) + rows(plan, &cte.plan));
    let output = if of_table { rows(plan, &plan.root) } else { 0.0 };
    // Beyond what a number can be it is as large as it can be, and nothing where nothing is known.
    (ctes.sum::<f64>() + of_node(plan, &plan.root) + output) as usize
}

fn of_node(plan: &Plan, node: &Node) -> f64 {
    let own = match &node.op {
        Op::Join { left, right, build, .. } => match build {
            BuildSide::Left => rows(plan, left),
            BuildSide::Right => rows(plan, right),
        },
        Op::Aggregate { .. } | Op::Distinct { .. } => rows(plan, node),
        Op::Sort { input, limit: Some(limit), offset, .. } => {
            rows(plan, input).min((limit.saturating_add(*offset)) as f64 * width(plan, input))
        }
        Op::Sort { input, limit: None, .. } | Op::GroupLimit { input, .. } => rows(plan, input),
        Op::Window { .. } => rows(plan, node),
        Op::SetOp { operation, all, inputs, .. } => match (operation, all) {
            (plan::node::SetOperation::Union, true) => 0.0,
            _ => inputs.iter().map(|(input, _)| rows(plan, input)).sum(),
        },
        Op::Recursion { .. } => rows(plan, node),
        _ => 0.0,
    };
    own + node.inputs().map(|input| of_node(plan, input)).sum::<f64>()
}

/// Bytes of all rows of an operator.
fn rows(plan: &Plan, node: &Node) -> f64 {
    // Where nothing was estimated, nothing is known.
    if node.rows.is_nan() { 0.0 } else { node.rows * width(plan, node) }
}

fn width(plan: &Plan, node: &Node) -> f64 {
    let of_column = |c: ColumnId| if plan.columns[c].sql_type.is_string() { TEXT } else { COLUMN };
    (ROW + node.columns().into_iter().map(of_column).sum::<usize>()) as f64
}
