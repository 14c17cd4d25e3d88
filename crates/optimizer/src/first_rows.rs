//! `first(x)` and `last(x)` of a table without groups (`arg_min` and `arg_max` at the rows' ids): the aggregates of one row alone, the
//! first or last of the table. A scan below `ORDER BY rowid LIMIT 1` ends with that row.
//!
//! Those at the same end take the same row; one of a column with NULLs, the first row that has a value. Other aggregates go over all
//! rows as before, and are joined to these, one row each. Where rows are asked for by predicates, that is only done if it reads the table
//! once.
//!
//! Invariant: nothing that is evaluated for the other rows can fail, nor is another value each time.

use base::Result;
use functions::ScalarFunction;
use plan::{AggregateCall, ColumnId, Expr, ExprKind, JoinKind, Node, Op, Plan, SortKey};
use types::{SqlType, Value};

use crate::eager::is_sure;
use crate::rewrite::{column, each_operator, filter, is_not_null, join};
use crate::{Check, Pass};

/// Most times that a table is read instead of once.
const MOST_READS: usize = 8;

/// See the module.
pub struct FirstRows;

impl Pass for FirstRows {
    fn name(&self) -> &'static str {
        "first_rows"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &rewrite)
    }
}

type Calls = Vec<(ColumnId, AggregateCall)>;

/// Aggregates that are those of one row.
struct OfRow {
    row: Row,
    calls: Calls,
}

/// A row at an end of a table.
#[derive(PartialEq)]
struct Row {
    /// The column of the rows' ids.
    id: ColumnId,
    is_last: bool,
    /// The column that is not NULL in it.
    with: Option<ColumnId>,
}

fn rewrite(plan: &mut Plan, node: Node) -> Node {
    let Op::Aggregate { input, groups, aggregates } = &node.op else { return node };
    if !groups.is_empty() || !is_steady(plan, input) {
        return node;
    }
    let (mut ends, mut others): (Vec<OfRow>, Calls) = Default::default();
    for (result, call) in aggregates {
        let call = (*result, call.clone());
        let Some(row) = row_of(plan, input, &call.1) else {
            others.push(call);
            continue;
        };
        match ends.iter_mut().find(|end| end.row == row) {
            Some(end) => end.calls.push(call),
            None => ends.push(OfRow { row, calls: vec![call] }),
        }
    }
    let reads = ends.len() + usize::from(!others.is_empty());
    if ends.is_empty() || reads > MOST_READS || reads > 1 && has_predicates(input) {
        return node;
    }
    let mut all: Option<Node> = None;
    if !others.is_empty() {
        all = Some(aggregate((**input).clone(), others));
    }
    for end in ends {
        let of_row = of_row(plan, input, end, all.is_some());
        all = Some(match all {
            None => of_row,
            Some(others) => join(JoinKind::Inner, others, of_row, Vec::new()),
        });
    }
    all.expect("there is an end")
}

fn aggregate(input: Node, aggregates: Calls) -> Node {
    Node::new(Op::Aggregate { input: Box::new(input), groups: Vec::new(), aggregates })
}

/// The aggregates of a row of the input, or of a copy of that.
fn of_row(plan: &mut Plan, input: &Node, OfRow { mut row, mut calls }: OfRow, is_copy: bool) -> Node {
    let mut rows = input.clone();
    if is_copy {
        let (copy, names) = input.copied(&mut plan.columns, &mut plan.tables);
        rows = copy;
        row.id = names[&row.id];
        calls.iter_mut().flat_map(|(_, call)| call.expressions_mut()).for_each(|expr| expr.rename(&names));
        row.with.iter_mut().for_each(|with| *with = names[with]);
    }
    let is_there = row.with.map(|with| is_not_null(column(&plan.columns, with)));
    let input = Box::new(filter(rows, is_there.into_iter().collect()));
    let keys = vec![SortKey { expr: column(&plan.columns, row.id), descending: row.is_last, nulls_first: false }];
    aggregate(Node::new(Op::Sort { input, keys, limit: Some(1), offset: 0 }), calls)
}

/// The row that an aggregate is of, if it is of one.
fn row_of(plan: &Plan, input: &Node, call: &AggregateCall) -> Option<Row> {
    let is_last = match call.function.name() {
        "arg_min" => false,
        "arg_max" => true,
        _ => return None,
    };
    let [value, at] = call.arguments.as_slice() else { return None };
    let id = at.as_column().filter(|id| is_row_id(plan, input, *id))?;
    if call.distinct || call.filter.is_some() || !is_sure(value) || value.is_volatile() {
        return None;
    }
    let with = match (&value.kind, value.as_column()) {
        (ExprKind::IsNull(_), _) => None,
        (_, Some(of)) => plan.columns[of].nullable.then_some(of),
        _ => return None,
    };
    Some(Row { id, is_last, with })
}

/// Whether a column of some rows of a table has their ids.
fn is_row_id(plan: &Plan, node: &Node, id: ColumnId) -> bool {
    match &node.op {
        Op::Filter { input, .. } => is_row_id(plan, input, id),
        Op::Map { input, columns } => match columns.iter().find(|(column, _)| *column == id) {
            Some((_, expr)) => copied_id(expr).is_some_and(|own| is_row_id(plan, input, own)),
            None => is_row_id(plan, input, id),
        },
        Op::Scan { table, columns, .. } => {
            let fields = &plan.tables[*table].fields;
            // Behind all attributes.
            let is_last = |attribute: usize| attribute + 1 == fields.len() && fields[attribute].name == "row id";
            columns.iter().any(|(attribute, column)| *column == id && is_last(*attribute))
        }
        _ => false,
    }
}

/// What an expression is the copy of, as rows' ids are copied above their scan.
fn copied_id(expr: &Expr) -> Option<ColumnId> {
    match &expr.kind {
        ExprKind::Call(ScalarFunction::BIT_XOR, operands) if expr.sql_type == SqlType::BigInt => {
            let [own, nothing] = operands.as_slice() else { return None };
            own.as_column().filter(|_| nothing.as_constant() == Some(&Value::Int(0)))
        }
        _ => None,
    }
}

/// Whether these are rows of a table of the database, and the same ones if they are read again or not to their end.
fn is_steady(plan: &Plan, node: &Node) -> bool {
    let is_harmless = |expr: &Expr| copied_id(expr).is_some() || is_sure(expr) && !expr.is_volatile();
    let is_of_table = match &node.op {
        Op::Scan { table, .. } => plan.tables[*table].statistics.identity().is_some(),
        Op::Filter { input, .. } | Op::Map { input, .. } => is_steady(plan, input),
        _ => false,
    };
    is_of_table && node.expressions().all(is_harmless)
}

fn has_predicates(node: &Node) -> bool {
    match &node.op {
        Op::Scan { predicates, .. } => !predicates.is_empty(),
        Op::Filter { .. } => true,
        _ => node.inputs().any(has_predicates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        crate::testing::check(&[&FirstRows], before, after);
    }

    #[test]
    fn first_rows_are_looked_for_alone() {
        check(
            "\
output [x = x#4, y = y#5, n = n#6]
  aggregate [] [x#4:integer? = arg_min(a#0, ctid#3), y#5:integer? = arg_min(b#1, ctid#3), n#6:bigint = count(*)]
    map [ctid#3:bigint = bit_xor(\"row id\"#2, 0::bigint)]
      scan t t0 [a#0:integer = 0, b#1:integer? = 1, \"row id\"#2:bigint = 2]
",
            "\
output [x = x#4, y = y#5, n = n#6]
  join inner []
    join inner []
      aggregate [] [n#6:bigint = count(*)]
        map [ctid#3:bigint = bit_xor(\"row id\"#2, 0::bigint)]
          scan t t0 [a#0:integer = 0, b#1:integer? = 1, \"row id\"#2:bigint = 2]
      aggregate [] [x#4:integer? = arg_min(a#8, ctid#7)]
        sort [ctid#7] limit 1
          map [ctid#7:bigint = bit_xor(\"row id\"#10, 0::bigint)]
            scan t t1 [a#8:integer = 0, b#9:integer? = 1, \"row id\"#10:bigint = 2]
    aggregate [] [y#5:integer? = arg_min(b#13, ctid#11)]
      sort [ctid#11] limit 1
        filter [b#13 is not null]
          map [ctid#11:bigint = bit_xor(\"row id\"#14, 0::bigint)]
            scan t t2 [a#12:integer = 0, b#13:integer? = 1, \"row id\"#14:bigint = 2]
",
        );
        // At one end.
        check(
            "\
output [x = x#2]
  aggregate [] [x#2:integer? = arg_max(a#0, \"row id\"#1)]
    scan t t0 [a#0:integer = 0, \"row id\"#1:bigint = 1] where [a#0 > 1]
",
            "\
output [x = x#2]
  aggregate [] [x#2:integer? = arg_max(a#0, \"row id\"#1)]
    sort [\"row id\"#1 desc nulls last] limit 1
      scan t t0 [a#0:integer = 0, \"row id\"#1:bigint = 1] where [a#0 > 1]
",
        );
    }

    #[test]
    fn others_stay() {
        let scan = "scan t t0 [a#0:integer? = 0, \"row id\"#1:bigint = 1]";
        let plan = |calls: &str, scan: &str| format!("output [x = x#2]\n  aggregate [] [{calls}]\n    {scan}\n");
        for (calls, scan) in [
            // By another column, of what may fail, and where the table would be read twice.
            ("x#2:integer? = arg_min(a#0, a#0)", scan.to_owned()),
            ("x#2:integer? = arg_min(a#0 / a#0, \"row id\"#1)", scan.to_owned()),
            ("x#2:integer? = arg_min(a#0, \"row id\"#1), n#3:bigint = count(*)", format!("{scan} where [a#0 > 1]")),
        ] {
            let plan = plan(calls, &scan);
            check(&plan, &plan);
        }
    }
}
