//! INTERSECT and EXCEPT (without ALL) of inputs of different sizes as semi and anti joins: the few rows are stored, and the
//! many look them up; what is left of the first input loses its duplicates. As groups, which execution makes of them else,
//! every row of every input would be stored. It needs estimates, so it comes behind them.
//!
//! Not for types of which equal values may differ in their bits: groups show the first value in a total order over all
//! inputs, a join shows the first input's.

use base::{IdMap, Result};
use plan::{ColumnId, ColumnInfo, Compare, Expr, JoinKind, Node, Op, Plan, SetOperation};
use types::SqlType;

use crate::rewrite::{Nullable, column, join, map, take};
use crate::{Check, Pass};

/// Inputs are of different sizes if one has so many times the rows of the other.
const TIMES: f64 = 8.0;

/// See the module.
pub struct SetOperations;

impl Pass for SetOperations {
    fn name(&self) -> &'static str {
        "set_operations"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let Plan { columns, ctes, root, .. } = plan;
        for (_, cte) in ctes.iter_mut() {
            rewrite(&mut cte.plan, columns, check)?;
        }
        rewrite(root, columns, check)
    }
}

fn rewrite(node: &mut Node, infos: &IdMap<ColumnId, ColumnInfo>, check: Check<'_>) -> Result<()> {
    check()?;
    for input in node.inputs_mut() {
        rewrite(input, infos, check)?;
    }
    let Op::SetOp { operation, all: false, inputs, columns } = &mut node.op else { return Ok(()) };
    let kind = match operation {
        SetOperation::Intersect => JoinKind::Semi,
        SetOperation::Except => JoinKind::Anti,
        SetOperation::Union => return Ok(()),
    };
    let [(first, first_columns), others @ ..] = inputs.as_mut_slice() else { return Ok(()) };
    let differs = |other: &Node| first.rows * TIMES <= other.rows || other.rows * TIMES <= first.rows;
    let same_types =
        |theirs: &[ColumnId]| first_columns.iter().zip(theirs).all(|(&a, &b)| infos[a].sql_type == infos[b].sql_type);
    if !first_columns.iter().all(|&c| has_one_form(infos[c].sql_type))
        || !others.iter().all(|(other, theirs)| differs(other) && same_types(theirs))
    {
        return Ok(());
    }
    let mut left = take(first);
    for (other, theirs) in others {
        let right = take(other);
        let rows = if kind == JoinKind::Semi { left.rows.min(right.rows) } else { left.rows };
        let (of_left, of_right) = (Nullable::of(&left, infos), Nullable::of(&right, infos));
        let equal = |(&a, &b): (&ColumnId, &ColumnId)| {
            let nulls = of_left.column(a) && of_right.column(b);
            let op = if nulls { Compare::NotDistinct } else { Compare::Eq };
            Expr::compare(op, column(infos, a), column(infos, b))
        };
        let condition = first_columns.iter().zip(&*theirs).map(equal).collect();
        left = Node { rows, ..join(kind.clone(), left, right, condition) };
    }
    let rows = left.rows;
    let renamed = columns.iter().zip(&*first_columns).map(|(&to, &from)| (to, column(infos, from))).collect();
    let input = Box::new(Node { rows, ..map(left, renamed) });
    *node = Node { rows: node.rows, ..Node::new(Op::Distinct { input, columns: std::mem::take(columns) }) };
    Ok(())
}

/// Whether equal values have equal bits.
fn has_one_form(sql_type: SqlType) -> bool {
    !matches!(sql_type, SqlType::Real | SqlType::Double | SqlType::Interval)
}
