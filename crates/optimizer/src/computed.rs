//! What indexes compute of a table's columns, in place of the expressions that it is.
//!
//! An index over an expression, or of some rows, has its table keep the expression's values (`sql`'s `bind/computed.rs`). Where a
//! plan has the same expression of a scan's columns, the kept value stands for it; where the predicates of a scan say that a
//! row is one of those that an index has, a predicate says so too, and the index can be searched.
//!
//! Invariant: between the scan and the expression no operator makes NULL of the scan's columns.

use std::cmp::Ordering;

use base::{IdMap, Result};
use plan::eval::compare;
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, Plan, TableId, TableInfo, split_conjuncts};
use types::{SqlType, Value};

use crate::fold::simplified;
use crate::{Check, Pass};

/// See the module.
pub struct Computed;

/// A column and the expression that it is.
type Known = (ColumnId, Expr);

impl Pass for Computed {
    fn name(&self) -> &'static str {
        "computed"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        if plan.tables.iter().all(|(_, table)| table.computed.is_empty()) {
            return Ok(());
        }
        let Plan { tables, ctes, root, .. } = plan;
        for (_, cte) in ctes.iter_mut() {
            use_computed(&mut cte.plan, tables, check)?;
        }
        use_computed(root, tables, check).map(|_| ())
    }
}

/// Replaces expressions in an operator and below. What is known of the columns that leave it is returned.
fn use_computed(node: &mut Node, tables: &IdMap<TableId, TableInfo>, check: Check<'_>) -> Result<Vec<Known>> {
    check()?;
    let mut known = Vec::new();
    for input in node.inputs_mut() {
        known.push(use_computed(input, tables, check)?);
    }
    if let Op::Scan { table, columns, predicates } = &mut node.op {
        let is_scanned = |column: ColumnId| columns.iter().any(|(_, scanned)| *scanned == column);
        let of_scan = tables[*table]
            .computed
            .iter()
            .filter(|(column, expr)| is_scanned(*column) && expr.columns().into_iter().all(is_scanned));
        let of_scan: Vec<Known> = of_scan.map(|(column, expr)| (*column, simplified(expr.clone()))).collect();
        note_rows(&tables[*table], columns, predicates, &of_scan);
        known.push(of_scan);
    }
    let (inner, outer) = match &node.op {
        Op::Join { kind, .. } => match kind {
            JoinKind::Inner => (known.concat(), known.concat()),
            JoinKind::Full => (known.concat(), Vec::new()),
            _ => (known.concat(), known.into_iter().next().unwrap_or_default()),
        },
        Op::Aggregate { .. } | Op::SetOp { .. } | Op::Recursion { .. } => (known.concat(), Vec::new()),
        _ => (known.concat(), known.concat()),
    };
    if !inner.is_empty() {
        node.expressions_mut().for_each(|expr| replace(expr, &inner));
    }
    Ok(outer)
}

fn replace(expr: &mut Expr, known: &[Known]) {
    if !matches!(expr.kind, ExprKind::Column(_) | ExprKind::Const(_))
        // What indexes compute is the same each time, whatever it calls.
        && let Some((column, _)) = known.iter().find(|(_, of)| of.same_form(expr))
    {
        *expr = Expr::column(*column, expr.sql_type);
        return;
    }
    expr.children_mut().for_each(|child| replace(child, known));
}

/// Says of the rows of a scan that they are in an index of some rows, where its predicates do.
fn note_rows(table: &TableInfo, columns: &[(usize, ColumnId)], predicates: &mut Vec<Expr>, known: &[Known]) {
    for only in table.statistics.indexes().into_iter().filter_map(|index| index.only) {
        let Some(&(_, column)) = columns.iter().find(|(attribute, _)| *attribute == only) else { continue };
        let Some((_, rows)) = known.iter().find(|(of, _)| *of == column) else { continue };
        if predicates.iter().any(|predicate| predicate.as_column() == Some(column)) {
            continue;
        }
        let mut parts = Vec::new();
        split_conjuncts(rows.clone(), &mut parts);
        if parts.iter().all(|part| predicates.iter().any(|predicate| implies(predicate, part))) {
            predicates.retain(|predicate| !parts.iter().any(|part| part.same(predicate)));
            predicates.push(Expr::column(column, SqlType::Bool));
        }
    }
}

/// Whether one predicate is true only of rows of which the other one is.
fn implies(predicate: &Expr, other: &Expr) -> bool {
    if predicate.same(other) {
        return true;
    }
    match (&predicate.kind, &other.kind) {
        (_, ExprKind::Or(parts)) if parts.iter().any(|part| implies(predicate, part)) => true,
        (ExprKind::And(parts), _) => parts.iter().any(|part| implies(part, other)),
        (ExprKind::Or(parts), _) => parts.iter().all(|part| implies(part, other)),
        (_, ExprKind::And(parts)) => parts.iter().all(|part| implies(predicate, part)),
        (_, ExprKind::Not(inner)) => match &inner.kind {
            ExprKind::IsNull(input) => is_false_of_null(predicate, input),
            _ => false,
        },
        _ => match (told(predicate), told(other)) {
            (Some((a, told)), Some((b, asked))) if a.same(b) => told.all_in(&asked),
            _ => false,
        },
    }
}

/// Whether a predicate is not true where an expression is NULL.
fn is_false_of_null(predicate: &Expr, of: &Expr) -> bool {
    match &predicate.kind {
        ExprKind::Compare(Compare::Distinct | Compare::NotDistinct, ..) => false,
        ExprKind::Compare(_, a, b) => a.same(of) || b.same(of),
        ExprKind::InList(input, _) | ExprKind::Like { input, .. } => input.same(of),
        ExprKind::Column(_) => predicate.same(of),
        ExprKind::Not(inner) => !matches!(inner.kind, ExprKind::IsNull(_)) && is_false_of_null(inner, of),
        _ => false,
    }
}

/// The values of which a predicate is true.
enum Told<'a> {
    Compared(Compare, &'a Value),
    Listed(&'a [Value]),
}

/// What a predicate says of an expression, if it compares that with constants.
fn told(predicate: &Expr) -> Option<(&Expr, Told<'_>)> {
    match &predicate.kind {
        ExprKind::Compare(op, a, b) => match (a.as_constant(), b.as_constant()) {
            (None, Some(value)) => Some((a, Told::Compared(*op, value))),
            (Some(value), None) => Some((b, Told::Compared(op.swapped(), value))),
            _ => None,
        },
        ExprKind::InList(input, values) => Some((input, Told::Listed(values))),
        _ => None,
    }
}

impl Told<'_> {
    /// Whether the other one is true of all its values.
    fn all_in(&self, other: &Self) -> bool {
        match self {
            Self::Listed(values) => values.iter().all(|value| other.is_true_of(value)),
            Self::Compared(Compare::Eq, value) => other.is_true_of(value),
            Self::Compared(op, value) => match other {
                Self::Compared(Compare::Ne, asked) => order(value, asked).is_some_and(|order| match op {
                    Compare::Lt => order.is_le(),
                    Compare::Le => order.is_lt(),
                    Compare::Gt => order.is_ge(),
                    Compare::Ge => order.is_gt(),
                    _ => false,
                }),
                Self::Compared(asked_op, asked) => order(value, asked).is_some_and(|order| match (op, asked_op) {
                    (Compare::Lt, Compare::Lt | Compare::Le) | (Compare::Le, Compare::Le) => order.is_le(),
                    (Compare::Le, Compare::Lt) => order.is_lt(),
                    (Compare::Gt, Compare::Gt | Compare::Ge) | (Compare::Ge, Compare::Ge) => order.is_ge(),
                    (Compare::Ge, Compare::Gt) => order.is_gt(),
                    _ => false,
                }),
                Self::Listed(_) => false,
            },
        }
    }

    fn is_true_of(&self, value: &Value) -> bool {
        let holds = |op: Compare, with: &Value| compare(op, value, with) == Value::Bool(true);
        match self {
            Self::Listed(values) => values.iter().any(|listed| holds(Compare::Eq, listed)),
            Self::Compared(op, with) => holds(*op, with),
        }
    }
}

/// How two values are ordered; nothing if one is NULL.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    let is = |op: Compare| compare(op, a, b) == Value::Bool(true);
    [(Compare::Lt, Ordering::Less), (Compare::Eq, Ordering::Equal), (Compare::Gt, Ordering::Greater)]
        .into_iter()
        .find_map(|(op, order)| is(op).then_some(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(id: u32) -> Expr {
        Expr::column(ColumnId(id), SqlType::Integer)
    }

    fn compared(op: Compare, value: i64) -> Expr {
        Expr::compare(op, column(1), Expr::constant(Value::Int(value), SqlType::Integer))
    }

    fn listed(values: &[i64]) -> Expr {
        let values = values.iter().map(|value| Value::Int(*value)).collect();
        Expr::new(ExprKind::InList(Box::new(column(1)), values), SqlType::Bool)
    }

    #[test]
    fn a_predicate_implies_another_if_all_numbers_that_satisfy_it_satisfy_that() {
        let operators = [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];
        let mut all: Vec<Expr> =
            operators.iter().flat_map(|&op| (2..5).map(move |value| compared(op, value))).collect();
        all.extend([listed(&[2]), listed(&[2, 3]), listed(&[3, 4, 5])]);
        let (a, b) = (compared(Compare::Lt, 3), compared(Compare::Gt, 4));
        all.push(Expr::new(ExprKind::Or(vec![a.clone(), b.clone()]), SqlType::Bool));
        all.push(Expr::new(ExprKind::And(vec![compared(Compare::Gt, 2), compared(Compare::Lt, 4)]), SqlType::Bool));
        // Halves tell apart what whole numbers do not.
        let holds = |predicate: &Expr, number: f64| {
            let mut predicate = predicate.clone();
            predicate.substitute(&mut |_| Some(Expr::constant(Value::Float(number), SqlType::Double)));
            plan::eval::constant(&predicate).unwrap() == Value::Bool(true)
        };
        let mut found = 0;
        for p in &all {
            for q in &all {
                let follows = (0..14).map(|half| f64::from(half) / 2.0).all(|n| !holds(p, n) || holds(q, n));
                assert!(follows || !implies(p, q), "{p:?} {q:?}");
                found += usize::from(implies(p, q));
            }
        }
        assert!(found > 100, "{found}");
        let is_null = Expr::new(ExprKind::IsNull(Box::new(column(1))), SqlType::Bool);
        let is_not_null = Expr::new(ExprKind::Not(Box::new(is_null.clone())), SqlType::Bool);
        assert!(implies(&compared(Compare::Lt, 3), &is_not_null) && implies(&listed(&[1]), &is_not_null));
        assert!(!implies(&compared(Compare::Distinct, 3), &is_not_null) && !implies(&is_null, &is_not_null));
    }
}
