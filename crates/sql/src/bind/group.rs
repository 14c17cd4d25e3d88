//! GROUP BY, and what may be used above it.

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use plan::{AggregateCall, ColumnId, Expr, ExprKind, Node, Op};
use sqlparser::ast::{self, GroupByExpr};

use super::expr::{entries, row};
use super::scope::Clause;
use super::select::Item;
use super::window::{Window, Windowed, wrong};
use super::{Binder, fold, unsupported};
use crate::bind::coerce::known;
use crate::bind::parts::PlanBuilder;
use crate::bind::scope::Names;

impl Binder<'_> {
    /// The expressions of GROUP BY; none without GROUP BY. A position or an alias means an item of the select list, where
    /// no column of FROM has the name.
    pub(super) fn group_by(&mut self, group_by: &GroupByExpr, items: &[Item]) -> Result<Option<Vec<Expr>>> {
        let exprs = match group_by {
            GroupByExpr::All(modifiers) => {
                if !modifiers.is_empty() {
                    return unsupported("ROLLUP, CUBE and GROUPING SETS", None);
                }
                let level = self.names.level();
                let aggregates: HashSet<ColumnId> = level.aggregates.iter().map(|(c, _)| *c).collect();
                let is_key = |e: &Expr| !e.uses(|c| aggregates.contains(&c)) && !level.is_windowed(e);
                let keys = items.iter().filter(|i| is_key(&i.expr));
                return Ok(Some(keys.map(|i| i.expr.clone()).map(known).collect()));
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                if !modifiers.is_empty() {
                    return unsupported("ROLLUP, CUBE and GROUPING SETS", None);
                }
                exprs
            }
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        self.names.level().clause = Clause::GroupBy;
        let mut groups: Vec<Expr> = Vec::with_capacity(exprs.len());
        let mut pending: Vec<&ast::Expr> = exprs.iter().rev().collect();
        while let Some(expr) = pending.pop() {
            match expr {
                ast::Expr::Tuple(parts) => pending.extend(parts.iter().rev()),
                ast::Expr::Nested(inner) => pending.push(inner),
                ast::Expr::Rollup(_) | ast::Expr::Cube(_) | ast::Expr::GroupingSets(_) => {
                    return unsupported("ROLLUP, CUBE and GROUPING SETS", self.text.start(expr));
                }
                _ => {
                    let keys = match row(expr) {
                        None => vec![known(self.group_key(expr, items)?)],
                        Some(_) => entries(expr).into_iter().map(|e| self.typed_expr(e)).collect::<Result<_>>()?,
                    };
                    for key in keys {
                        if !groups.iter().any(|g| same(g, &key)) {
                            groups.push(key);
                        }
                    }
                }
            }
        }
        Ok(Some(groups))
    }

    fn group_key(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Expr> {
        let position = self.text.start(expr);
        let item = match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(text, _) => {
                    let index = text.parse::<usize>().ok().and_then(|n| items.get(n.checked_sub(1)?));
                    let Some(item) = index else {
                        let message = format!("GROUP BY position {text} is not in select list");
                        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
                    };
                    item
                }
                _ => return self.expr(expr),
            },
            ast::Expr::Identifier(ident) => match self.names.resolve_here(ident) {
                true => return self.expr(expr),
                false => match items.iter().find(|i| i.name == fold(ident)) {
                    Some(item) => item,
                    None => return self.expr(expr),
                },
            },
            _ => return self.expr(expr),
        };
        let aggregates: HashSet<ColumnId> = self.names.level().aggregates.iter().map(|(c, _)| *c).collect();
        if item.expr.uses(|c| aggregates.contains(&c)) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(Error::new(SqlState::GROUPING_ERROR, message).at(position));
        }
        if self.names.level().is_windowed(&item.expr) {
            return Err(wrong("window functions are not allowed in GROUP BY", position)
                .hint("compute the window function in a subquery"));
        }
        Ok(item.expr.clone())
    }
}

impl Names {
    /// Whether the innermost query's FROM has a column of that name.
    fn resolve_here(&mut self, ident: &ast::Ident) -> bool {
        let wanted = fold(ident);
        self.level().scope.visible.iter().any(|c| c.name == wanted)
    }
}

/// What a query groups by and aggregates.
pub(super) struct Grouping {
    pub groups: Vec<Expr>,
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Columns below the aggregation, over windows that are the groups.
    pub ordered_sets: Vec<Windowed>,
    /// What else must not read ungrouped columns.
    pub direct_arguments: Vec<Expr>,
}

impl PlanBuilder {
    /// The aggregation, and everything above it, the select list and what else is `above`, rewritten to read its result.
    pub(super) fn grouped<'e>(
        &mut self,
        input: Node,
        grouping: Grouping,
        items: &mut [Item],
        above: impl Iterator<Item = &'e mut Expr>,
    ) -> Result<Node> {
        let Grouping { groups, aggregates, ordered_sets, direct_arguments } = grouping;
        let from: HashSet<ColumnId> = input.columns().into_iter().collect();
        let mut named = Vec::with_capacity(groups.len());
        for expr in groups {
            let name = match (expr.as_column(), items.iter().find(|i| same(&i.expr, &expr))) {
                (Some(column), _) => self.columns[column].name.clone(),
                (None, Some(item)) => item.name.clone(),
                (None, None) => "group".to_owned(),
            };
            named.push((self.column_for(&name, &expr), expr));
        }
        // Without groups there is a row even for no input.
        if !named.is_empty() {
            for (column, call) in &aggregates {
                let argument = call.arguments.iter().any(|a| self.is_nullable(a));
                let can_be_null = self.columns[*column].nullable
                    && (argument || call.filter.is_some() || call.function.definition().least_values > 1);
                self.columns[*column].nullable = can_be_null;
            }
        }
        let rewrite = Regroup { plan: self, groups: &named, from: &from };
        for item in items {
            rewrite.expr(&mut item.expr, false)?;
        }
        for expr in above {
            rewrite.expr(expr, false)?;
        }
        for mut argument in direct_arguments {
            rewrite.expr(&mut argument, false)?;
        }
        // Random keys are computed below the aggregation: a condition on a key may be moved to where its expression is. So are
        // those that partition, too.
        let mut computed = Vec::new();
        let is_computed = |e: &Expr| e.is_volatile() || (!ordered_sets.is_empty() && e.as_column().is_none());
        for (_, expr) in named.iter_mut().filter(|(_, expr)| is_computed(expr)) {
            let column = self.column_for("group", expr);
            let key = self.reference(column).at(expr.position);
            computed.push((column, std::mem::replace(expr, key)));
        }
        let input = match computed.is_empty() {
            true => input,
            false => Node::new(Op::Map { input: Box::new(input), columns: computed }),
        };
        let partition: Vec<Expr> = named.iter().map(|(_, key)| key.clone()).collect();
        let over_group =
            |set: Windowed| Windowed { window: Window { partition: partition.clone(), ..set.window }, ..set };
        let input = self.windowed(input, ordered_sets.into_iter().map(over_group).collect());
        Ok(Node::new(Op::Aggregate { input: Box::new(input), groups: named, aggregates }))
    }
}

/// Replaces group expressions by group columns and refuses other columns of FROM.
struct Regroup<'a> {
    plan: &'a PlanBuilder,
    groups: &'a [(ColumnId, Expr)],
    from: &'a HashSet<ColumnId>,
}

impl Regroup<'_> {
    fn expr(&self, expr: &mut Expr, in_subquery: bool) -> Result<()> {
        if let Some((column, _)) = self.groups.iter().find(|(_, g)| same(g, expr)) {
            *expr = self.plan.reference(*column).at(expr.position);
            return Ok(());
        }
        match &mut expr.kind {
            ExprKind::Column(column) if self.from.contains(column) => {
                let name = &self.plan.columns[*column].name;
                let message = if in_subquery {
                    format!("subquery uses ungrouped column \"{name}\" from outer query")
                } else {
                    format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
                };
                return Err(Error::new(SqlState::GROUPING_ERROR, message)
                    .hint(format!("add {name} to GROUP BY, or take any_value({name})"))
                    .at(expr.position));
            }
            ExprKind::Subquery(subquery) => self.node(&mut subquery.plan)?,
            _ => {}
        }
        expr.children_mut().try_for_each(|child| self.expr(child, in_subquery))
    }

    fn node(&self, node: &mut Node) -> Result<()> {
        for expr in node.expressions_mut() {
            self.expr(expr, true)?;
        }
        node.inputs_mut().try_for_each(|input| self.node(input))
    }
}

/// Whether both are the same to SQL; a subquery is the same as its own copy.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Subquery(a), ExprKind::Subquery(b)) => {
            let columns = a.plan.columns();
            !columns.is_empty()
                && columns == b.plan.columns()
                && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
        }
        _ => a.same_form(b),
    }
}
