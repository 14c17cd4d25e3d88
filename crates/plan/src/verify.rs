//! The invariants of a plan, checked after each pass in debug builds.
//!
//! 1. Every column is produced by exactly one operator, and is in the plan's column map.
//! 2. Every reference is to a column that the operator's inputs (for subqueries and the right side of a dependent join:
//!    also the outer ones) let through, with the type that the map says.
//!    A let's column is seen in its body only.
//! 3. Conditions are boolean; the sides of a comparison have one type; set operations' columns agree.
//!    A recursion is the root of the definition that it names.
//! 4. Once unnested, there are neither subqueries nor dependent joins.

use std::collections::HashSet;

use base::{Error, Result};
use types::SqlType;

use crate::{ColumnId, Expr, ExprKind, JoinKind, Node, Op, Plan, SubqueryKind};

/// Checks a plan; `unnested` says whether subqueries and dependent joins must be gone. The error is XX000 and says what
/// is wrong.
pub fn verify(plan: &Plan, unnested: bool) -> Result<()> {
    let mut check = Check { plan, unnested, made: HashSet::new() };
    for (id, cte) in plan.ctes.iter() {
        let visible = check.node(&cte.plan, &HashSet::new())?;
        check.all_visible(&cte.columns, &visible, &format!("the columns of {id}"))?;
    }
    let visible = check.node(&plan.root, &HashSet::new())?;
    let output: Vec<ColumnId> = plan.output.iter().map(|(_, c)| *c).collect();
    check.all_visible(&output, &visible, "the output")
}

struct Check<'a> {
    plan: &'a Plan,
    unnested: bool,
    made: HashSet<ColumnId>,
}

type Visible = HashSet<ColumnId>;

fn wrong<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::internal(format!("invalid plan: {}", what.into())))
}

/// Whether values of both types compare without a cast.
fn comparable(a: SqlType, b: SqlType) -> bool {
    match (a, b) {
        (SqlType::Decimal { scale: x, .. }, SqlType::Decimal { scale: y, .. }) => x == y,
        (SqlType::Numeric { .. }, SqlType::Numeric { .. }) => true,
        _ => a == b || (a.is_string() && b.is_string()) || a == SqlType::Null || b == SqlType::Null,
    }
}

impl Check<'_> {
    fn all_visible(&self, columns: &[ColumnId], visible: &Visible, whose: &str) -> Result<()> {
        match columns.iter().find(|c| !visible.contains(c)) {
            Some(c) => wrong(format!("{whose} needs {c} ({}), which is not there", self.name(*c))),
            None => Ok(()),
        }
    }

    fn name(&self, column: ColumnId) -> &str {
        self.plan.columns.get(column).map_or("unknown", |c| &c.name)
    }

    fn produce(&mut self, columns: Vec<ColumnId>) -> Result<()> {
        for c in columns {
            if self.plan.columns.get(c).is_none() {
                return wrong(format!("{c} is not in the column map"));
            }
            if !self.made.insert(c) {
                return wrong(format!("{c} ({}) is produced twice", self.name(c)));
            }
        }
        Ok(())
    }

    /// Checks the subplan; `outer` are the columns around it. Returns what leaves it.
    fn node(&mut self, node: &Node, outer: &Visible) -> Result<Visible> {
        let mut inside = outer.clone();
        match &node.op {
            Op::Join { kind, left, right, .. } => {
                let left = self.node(left, outer)?;
                let dependent = !matches!(kind, JoinKind::Right | JoinKind::Full) && !self.unnested;
                let around = if dependent { outer.union(&left).copied().collect() } else { outer.clone() };
                let right = self.node(right, &around)?;
                inside.extend(left.into_iter().chain(right));
            }
            Op::SetOp { inputs, columns, .. } | Op::Recursion { inputs, columns, .. } => {
                for (input, from) in inputs {
                    let visible = self.node(input, outer)?;
                    self.all_visible(from, &visible, "a set operation")?;
                    if from.len() != columns.len() {
                        return wrong("a set operation's input has another number of columns than its result");
                    }
                    for (&a, &b) in from.iter().zip(columns) {
                        if let (Some(a), Some(b)) = (self.plan.columns.get(a), self.plan.columns.get(b))
                            && a.sql_type != b.sql_type
                        {
                            return wrong(format!("set operation over {} and {}", a.sql_type, b.sql_type));
                        }
                    }
                }
            }
            _ => {
                for input in node.inputs() {
                    let visible = self.node(input, outer)?;
                    inside.extend(visible);
                }
            }
        }
        if let Some(columns) = node.grouping() {
            self.all_visible(columns, &inside, node.op.name())?;
        }
        match &node.op {
            Op::Scan { table, columns, .. } => {
                let Some(table) = self.plan.tables.get(*table) else { return wrong("scan of an unknown table") };
                for &(attribute, column) in columns {
                    let (Some(field), Some(info)) = (table.fields.get(attribute), self.plan.columns.get(column)) else {
                        return wrong(format!("scan of {} reads attribute {attribute} as {column}", table.name));
                    };
                    if field.sql_type != info.sql_type {
                        return wrong(format!("{column} is {} but the table has {}", info.sql_type, field.sql_type));
                    }
                    inside.insert(column);
                }
            }
            Op::CteScan { cte, columns } => {
                let Some(definition) = self.plan.ctes.get(*cte) else { return wrong("scan of an unknown CTE") };
                let from: Vec<ColumnId> = columns.iter().map(|&(c, _)| c).collect();
                let offered = definition.columns.iter().copied().collect();
                self.all_visible(&from, &offered, "a scan of a CTE")?;
            }
            Op::Recursion { cte, inputs, .. } => {
                let is_root = |definition: &crate::Cte| std::ptr::eq(&raw const definition.plan, node);
                if !self.plan.ctes.get(*cte).is_some_and(is_root) {
                    return wrong(format!("a recursion of {cte} that is not its definition"));
                }
                if inputs.len() != 2 {
                    return wrong("a recursion with another number of inputs than two");
                }
            }
            Op::Values { columns, rows } if rows.iter().any(|r| r.len() != columns.len()) => {
                return wrong("a row of VALUES has another length than its columns");
            }
            Op::Aggregate { groups, aggregates, .. } => {
                for (column, expr) in groups {
                    self.same_type(*column, expr.sql_type)?;
                }
                for (column, call) in aggregates {
                    self.same_type(*column, call.sql_type)?;
                }
            }
            Op::Window { keys, functions, .. } => {
                for (column, call) in functions {
                    self.same_type(*column, call.sql_type)?;
                    if call.partition > call.peers || call.peers > keys.len() {
                        return wrong("a window function that orders by more keys than there are");
                    }
                }
            }
            Op::Map { columns, .. } => {
                for (column, expr) in columns {
                    self.same_type(*column, expr.sql_type)?;
                }
            }
            Op::Repeat { times, number, .. } => {
                self.same_type(*number, SqlType::BigInt)?;
                self.same_type(*number, times.sql_type)?;
            }
            Op::Filter { .. } | Op::Join { .. } => {
                if let Some(e) = node.expressions().find(|e| e.sql_type != SqlType::Bool) {
                    return wrong(format!("a condition has type {}", e.sql_type));
                }
            }
            _ => {}
        }
        for expr in node.expressions() {
            self.expr(expr, &inside)?;
        }
        self.produce(node.produced())?;
        Ok(node.columns().into_iter().collect())
    }

    fn same_type(&self, column: ColumnId, sql_type: SqlType) -> Result<()> {
        match self.plan.columns.get(column) {
            Some(info) if info.sql_type != sql_type => {
                wrong(format!("{column} ({}) is {}, its expression {sql_type}", info.name, info.sql_type))
            }
            _ => Ok(()),
        }
    }

    fn expr(&mut self, expr: &Expr, visible: &Visible) -> Result<()> {
        match &expr.kind {
            ExprKind::Column(c) => {
                if !visible.contains(c) {
                    return wrong(format!("a reference to {c} ({}), which is not visible there", self.name(*c)));
                }
                self.same_type(*c, expr.sql_type)?;
            }
            ExprKind::Compare(op, a, b) if !comparable(a.sql_type, b.sql_type) => {
                return wrong(format!("{op:?} of {} and {}", a.sql_type, b.sql_type));
            }
            ExprKind::And(parts) | ExprKind::Or(parts)
                if parts.iter().any(|p| !matches!(p.sql_type, SqlType::Bool | SqlType::Null)) =>
            {
                return wrong("AND or OR of something that is not boolean");
            }
            ExprKind::Let { column, value, body } => {
                self.expr(value, visible)?;
                self.same_type(*column, value.sql_type)?;
                if body.sql_type != expr.sql_type {
                    return wrong(format!("a let of type {} around {}", expr.sql_type, body.sql_type));
                }
                let mut inside = visible.clone();
                inside.insert(*column);
                return self.expr(body, &inside);
            }
            ExprKind::Each(each) => {
                each.outside().try_for_each(|e| self.expr(e, visible))?;
                let Some(element) = each.list.sql_type.element() else {
                    return wrong(format!("elements of {}", each.list.sql_type));
                };
                self.same_type(each.element, element)?;
                self.same_type(each.index, SqlType::BigInt)?;
                let result = match &each.reduced {
                    None => expr.sql_type.element(),
                    Some(reduced) => {
                        self.same_type(reduced.accumulator, expr.sql_type)?;
                        Some(expr.sql_type)
                    }
                };
                if result != Some(each.body.sql_type) {
                    return wrong(format!("{} of elements that become {}", expr.sql_type, each.body.sql_type));
                }
                let mut inside = visible.clone();
                inside.extend(each.columns());
                return each.inside().try_for_each(|e| self.expr(e, &inside));
            }
            ExprKind::Subquery(_) if self.unnested => return wrong("a subquery is left"),
            ExprKind::Subquery(subquery) => {
                let inner = self.node(&subquery.plan, visible)?;
                let needed: Vec<ColumnId> = match &subquery.kind {
                    SubqueryKind::Scalar { column } => vec![*column],
                    SubqueryKind::Exists => Vec::new(),
                    SubqueryKind::Quantified { comparisons, .. } => comparisons.iter().map(|&(_, _, c)| c).collect(),
                };
                self.all_visible(&needed, &inner, "a subquery")?;
            }
            _ => {}
        }
        expr.children().try_for_each(|child| self.expr(child, visible))
    }
}
