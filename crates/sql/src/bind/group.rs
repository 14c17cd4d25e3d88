//! GROUP BY, and what may be used above it.

mod grouping;
pub(super) mod keys;
mod sets;

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use functions::WindowFunction;
use plan::{AggregateCall, ColumnId, Compare, Expr, ExprKind, Node, Op};
use sqlparser::ast::{self, GroupByExpr};
use types::{SqlType, Value};

use self::grouping::{positions, with_groupings};
pub(super) use self::keys::same;
use self::keys::{GroupingCall, Groups};
use self::sets::{Sets, cube, nested, nested_sets, product, rollup};
use super::expr::{entries, new_call, row, where_true};
use super::scope::Clause;
use super::select::Item;
use super::window::{Window, Windowed, same_order, wrong};
use super::{Binder, fold, unsupported};
use crate::bind::coerce::known;
use crate::bind::parts::PlanBuilder;
use crate::bind::scope::Names;
use crate::parse::sets::{is_distinct, is_no_keys};

impl Binder<'_> {
    /// What GROUP BY says; none without GROUP BY. A position or an alias means an item of the select list, where no column of
    /// FROM has the name.
    pub(super) fn group_by(&mut self, group_by: &GroupByExpr, items: &[Item]) -> Result<Option<Groups>> {
        let exprs = match group_by {
            GroupByExpr::All(modifiers) => {
                if !modifiers.is_empty() {
                    return unsupported("GROUPING SETS without a comma before", None);
                }
                let level = self.names.level();
                let above = level.above_groups();
                let is_key = |e: &Expr| !e.uses(|c| above.contains(&c)) && !level.is_windowed(e);
                let keys = items.iter().filter(|i| is_key(&i.expr));
                return Ok(Some(Groups { keys: keys.map(|i| i.expr.clone()).map(known).collect(), sets: None }));
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                if !modifiers.is_empty() {
                    return unsupported("GROUPING SETS without a comma before", None);
                }
                exprs
            }
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        self.names.level().clause = Clause::GroupBy;
        let mut groups = Groups::default();
        let mut sets = vec![Vec::new()];
        let is_distinct = exprs.first().is_some_and(is_distinct);
        for expr in exprs.iter().skip(usize::from(is_distinct)) {
            let element = self.grouping_element(expr, items, &mut groups)?;
            sets = product(&sets, &element).map_err(|e| e.at(self.text.start(expr)))?;
        }
        if is_distinct {
            let mut seen = HashSet::new();
            sets.retain(|set| seen.insert(set.clone()));
        }
        let is_plain = matches!(sets.as_slice(), [set] if set.len() == groups.keys.len());
        groups.sets = Some(sets).filter(|_| !is_plain);
        Ok(Some(groups))
    }

    /// The positions of the keys that an expression of GROUP BY stands for, of which new ones are added.
    fn keys_of(&mut self, expr: &ast::Expr, items: &[Item], groups: &mut Groups) -> Result<Vec<usize>> {
        let mut set = Vec::new();
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            match expr {
                ast::Expr::Tuple(parts) => pending.extend(parts.iter().rev()),
                ast::Expr::Nested(inner) => pending.push(inner),
                _ => {
                    let keys = match row(expr) {
                        None => vec![known(self.group_key(expr, items)?)],
                        Some(_) => entries(expr).into_iter().map(|e| self.typed_expr(e)).collect::<Result<_>>()?,
                    };
                    set.extend(keys.into_iter().map(|key| groups.position_of(key)));
                }
            }
        }
        Ok(set)
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
        let above = self.names.level().above_groups();
        if item.expr.uses(|c| above.contains(&c)) {
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

impl Binder<'_> {
    /// The sets that an element of GROUP BY stands for.
    fn grouping_element(&mut self, expr: &ast::Expr, items: &[Item], groups: &mut Groups) -> Result<Sets> {
        match expr {
            ast::Expr::Rollup(parts) => Ok(rollup(&self.parts(parts, items, groups)?)),
            ast::Expr::Cube(parts) => {
                let parts = self.parts(parts, items, groups)?;
                cube(&parts).map_err(|e| e.at(self.text.start(expr)))
            }
            ast::Expr::GroupingSets(parts) => {
                let mut sets = Vec::new();
                for part in parts {
                    match part.as_slice() {
                        [only] => sets.extend(self.nested_element(only, items, groups)?),
                        several => sets.push(self.part(several, items, groups)?),
                    }
                }
                Ok(sets)
            }
            _ => Ok(vec![self.keys_of(expr, items, groups)?]),
        }
    }

    /// An element of GROUPING SETS; the parser takes ROLLUP and CUBE there for functions.
    fn nested_element(&mut self, expr: &ast::Expr, items: &[Item], groups: &mut Groups) -> Result<Sets> {
        if is_no_keys(expr) {
            return Ok(vec![Vec::new()]);
        }
        if let Some(elements) = nested_sets(expr) {
            let sets =
                elements.into_iter().map(|e| self.nested_element(e, items, groups)).collect::<Result<Vec<_>>>()?;
            return Ok(sets.concat());
        }
        let Some((is_cube, arguments)) = nested(expr) else { return self.grouping_element(expr, items, groups) };
        let parts = arguments.into_iter().map(|a| self.keys_of(a, items, groups)).collect::<Result<Sets>>()?;
        if is_cube { cube(&parts).map_err(|e| e.at(self.text.start(expr))) } else { Ok(rollup(&parts)) }
    }

    fn parts(&mut self, parts: &[Vec<ast::Expr>], items: &[Item], groups: &mut Groups) -> Result<Sets> {
        parts.iter().map(|part| self.part(part, items, groups)).collect()
    }

    fn part(&mut self, part: &[ast::Expr], items: &[Item], groups: &mut Groups) -> Result<Vec<usize>> {
        let keys = part.iter().map(|expr| self.keys_of(expr, items, groups)).collect::<Result<Sets>>()?;
        Ok(keys.concat())
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
    pub groups: Groups,
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Columns below the aggregation, over windows that are the groups.
    pub ordered_sets: Vec<Windowed>,
    /// What else must not read ungrouped columns.
    pub direct_arguments: Vec<Expr>,
    /// Calls of GROUPING.
    pub groupings: Vec<GroupingCall>,
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
        let Grouping { groups, aggregates, ordered_sets, direct_arguments, groupings } = grouping;
        let has_empty_set = groups.has_empty_set();
        let Groups { keys, sets } = groups;
        // It has the group's value, NULL where that is no key, and the rows of the group are compared with it before they are one.
        if let (Some(_), Some(by_group)) = (&sets, direct_arguments.iter().find(|e| !e.columns().is_empty())) {
            return unsupported("a column as a direct argument beside GROUPING SETS", by_group.position);
        }
        let from: HashSet<ColumnId> = input.columns().into_iter().collect();
        let mut named = Vec::with_capacity(keys.len());
        for expr in keys {
            let name = match (expr.as_column(), items.iter().find(|i| same(&i.expr, &expr))) {
                (Some(column), _) => self.columns[column].name.clone(),
                (None, Some(item)) => item.name.clone(),
                (None, None) => "group".to_owned(),
            };
            named.push((self.column_for(&name, &expr), expr));
        }
        let above: Vec<&mut Expr> = above.collect();
        if sets.is_none() {
            let read = items.iter().map(|item| &item.expr).chain(above.iter().map(|e| &**e)).chain(&direct_arguments);
            let told = self.told_by_keys(&input, &named, read.flat_map(Expr::columns));
            for column in told {
                let value = self.reference(column);
                let name = self.columns[column].name.clone();
                named.push((self.column_for(&name, &value), value));
            }
        }
        if !has_empty_set {
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
        let masks = groupings.iter().map(|call| positions(call, &named)).collect::<Result<Vec<_>>>()?;
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
        let (node, numbered) = match sets {
            None => (self.aggregated(input, named, aggregates, ordered_sets), None),
            Some(sets) => {
                let (node, number) = self.by_sets(input, named, aggregates, ordered_sets, &sets)?;
                (node, Some((self.reference(number), sets)))
            }
        };
        Ok(with_groupings(node, &groupings, &masks, numbered))
    }

    /// Of columns that are read, those of which a group has one value because it has one row of their table: the whole primary key is
    /// among the keys of the groups. They become keys too, which makes no more groups.
    fn told_by_keys(
        &self,
        input: &Node,
        named: &[(ColumnId, Expr)],
        read: impl Iterator<Item = ColumnId>,
    ) -> Vec<ColumnId> {
        let keys: HashSet<ColumnId> = named.iter().filter_map(|(_, expr)| expr.as_column()).collect();
        let mut told = HashSet::new();
        input.walk(&mut |node| {
            let Op::Scan { table, columns, .. } = &node.op else { return };
            let is_key =
                |attribute: &usize| columns.iter().any(|(at, column)| at == attribute && keys.contains(column));
            let indexes = self.tables[*table].statistics.indexes();
            if indexes.iter().any(|index| index.is_primary && index.attributes().iter().all(is_key)) {
                told.extend(columns.iter().map(|(_, column)| *column).filter(|column| !keys.contains(column)));
            }
        });
        let mut all: Vec<ColumnId> = Vec::new();
        for column in read.filter(|column| told.contains(column)) {
            if !all.contains(&column) {
                all.push(column);
            }
        }
        all
    }

    /// One aggregation.
    fn aggregated(
        &mut self,
        input: Node,
        groups: Vec<(ColumnId, Expr)>,
        mut aggregates: Vec<(ColumnId, AggregateCall)>,
        ordered_sets: Vec<Windowed>,
    ) -> Node {
        let partition: Vec<Expr> = groups.iter().map(|(_, key)| key.clone()).collect();
        let over_group =
            |set: Windowed| Windowed { window: Window { partition: partition.clone(), ..set.window }, ..set };
        let sets: Vec<Windowed> = ordered_sets.into_iter().map(over_group).collect();
        let (orders, rest) = by_order_of_lists(sets);
        let input = orders.into_iter().fold(input, |input, sets| self.once_a_group(input, sets, &mut aggregates));
        let input = self.windowed(input, rest);
        Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates })
    }

    /// Calls over groups whose results one row of each keeps, for operators above copy them with the rows.
    fn once_a_group(
        &mut self,
        input: Node,
        mut sets: Vec<Windowed>,
        aggregates: &mut [(ColumnId, AggregateCall)],
    ) -> Node {
        let results: Vec<Expr> = sets.iter().map(|set| Expr::column(set.column, set.call.sql_type)).collect();
        let number = new_call(WindowFunction::RowNumber, Vec::new(), SqlType::BigInt, None);
        let column = self.column_for("row_number", &Expr::constant(Value::Int(1), SqlType::BigInt));
        sets.push(Windowed { column, call: number, window: sets[0].window.clone() });
        let one = Expr::constant(Value::Int(1), SqlType::BigInt);
        let is_first = Expr::compare(Compare::Eq, Expr::column(column, SqlType::BigInt), one);
        let columns = results.into_iter().map(|result| {
            let once = where_true(is_first.clone(), result.clone());
            let column = self.column_for("once", &once);
            let reads = aggregates.iter_mut().flat_map(|(_, call)| &mut call.arguments);
            reads.filter(|read| read.same(&result)).for_each(|read| *read = Expr::column(column, read.sql_type));
            (column, once)
        });
        let columns = columns.collect();
        Node::new(Op::Map { input: Box::new(self.windowed(input, sets)), columns })
    }
}

/// If there are calls of several orders, those that make a text or list of a group by their order; and all others.
fn by_order_of_lists(sets: Vec<Windowed>) -> (Vec<Vec<Windowed>>, Vec<Windowed>) {
    let same = |a: &Windowed, b: &Windowed| same_order(&a.window, &b.window);
    if sets.iter().all(|set| same(set, &sets[0])) {
        return (Vec::new(), sets);
    }
    let is_long = |set: &Windowed| matches!(set.call.function, WindowFunction::StringAgg | WindowFunction::ArrayAgg);
    let (long, rest): (Vec<Windowed>, Vec<Windowed>) = sets.into_iter().partition(is_long);
    let mut orders: Vec<Vec<Windowed>> = Vec::new();
    for set in long {
        match orders.iter_mut().find(|known| same(&known[0], &set)) {
            Some(known) => known.push(set),
            None => orders.push(vec![set]),
        }
    }
    (orders, rest)
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
