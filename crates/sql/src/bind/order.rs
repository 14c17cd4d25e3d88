//! ORDER BY.

use base::{Error, Result, SqlState};
use plan::{Expr, SortKey};
use sqlparser::ast::{self, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort};

use super::expr::{entries, row};
use super::group::same;
use super::json_order::ordered;
use super::scope::{Clause, Level, Relation, Scope, ScopeColumn};
use super::select::Item;
use super::slice::{Slice, limited};
use super::{Binder, Bound, fold};
use crate::Resolver;
use crate::bind::parts::Text;

/// What to order by.
#[derive(Clone)]
pub(super) enum Key {
    /// A column of the select list, by index.
    Output(usize),
    /// Anything else.
    Expr(Expr),
}

impl Key {
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Output(a), Self::Output(b)) => a == b,
            // Written at the same place: the same, whatever is in it.
            (Self::Expr(a), Self::Expr(b)) => same(a, b) || (a.position.is_some() && a.position == b.position),
            _ => false,
        }
    }
}

/// A key of ORDER BY with its direction.
pub(super) struct KeyOrder {
    pub key: Key,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Binder<'_> {
    /// The keys of ORDER BY: positions, names of the select list, or expressions over FROM.
    pub(super) fn order_keys(
        &mut self,
        order_by: Option<&OrderBy>,
        items: &[Item],
        distinct: bool,
    ) -> Result<Vec<KeyOrder>> {
        let Some(order_by) = order_by else { return Ok(Vec::new()) };
        let exprs = match &order_by.kind {
            OrderByKind::All(options) => {
                let (descending, nulls_first) = direction(options, self.resolver)?;
                let all = (0..items.len()).map(|i| KeyOrder { key: Key::Output(i), descending, nulls_first });
                return Ok(all.collect());
            }
            OrderByKind::Expressions(exprs) => exprs,
        };
        let mut each = Vec::with_capacity(exprs.len());
        for key in exprs {
            match self.each_column(&key.expr)? {
                None => each.push(key.clone()),
                Some(columns) => each.extend(columns.into_iter().map(|c| OrderByExpr { expr: c.expr, ..key.clone() })),
            }
        }
        let mut keys = Vec::with_capacity(each.len());
        for Written { expr, is_entry, descending, nulls_first } in written(&each, self.resolver)? {
            let key = if is_entry { self.computed_key(expr, items)? } else { self.order_key(expr, items)? };
            if distinct && matches!(key, Key::Expr(_)) {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                let position = self.text.start(expr);
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
            }
            keys.push(KeyOrder { key, descending, nulls_first });
        }
        Ok(keys)
    }

    fn order_key(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Key> {
        if let Some(index) = self.text.output_key(expr, items)? {
            return Ok(Key::Output(index));
        }
        self.computed_key(expr, items)
    }

    /// A key that is neither a position nor a name of the select list.
    fn computed_key(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Key> {
        let expr = self.typed_expr(expr)?;
        Ok(items.iter().position(|i| same(&i.expr, &expr)).map_or(Key::Expr(expr), Key::Output))
    }

    /// The keys of DISTINCT ON, which ORDER BY must begin with, in any order.
    pub(super) fn distinct_on(
        &mut self,
        exprs: &[ast::Expr],
        items: &[Item],
        order_by: Option<&OrderBy>,
        order: &[KeyOrder],
    ) -> Result<Vec<KeyOrder>> {
        let written = match order_by.map(|o| &o.kind) {
            Some(OrderByKind::Expressions(exprs)) => written(exprs, self.resolver)?,
            _ => Vec::new(),
        };
        let mut keys: Vec<KeyOrder> = Vec::with_capacity(exprs.len());
        for expr in exprs.iter().flat_map(entries) {
            // What is written as in ORDER BY is that, also if it holds a subquery, which is bound anew each time.
            let again = written.iter().position(|o| o.expr.to_string() == expr.to_string());
            let key = match again.and_then(|i| order.get(i)) {
                Some(known) => known.key.clone(),
                None => self.order_key(expr, items)?,
            };
            if !keys.iter().any(|k| k.key.is(&key)) {
                keys.push(KeyOrder { key, descending: false, nulls_first: false });
            }
        }
        let mut leading: Vec<&Key> = Vec::new();
        for KeyOrder { key, .. } in order {
            if leading.len() == keys.len() {
                break;
            }
            if !keys.iter().any(|k| k.key.is(key)) {
                let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                let position = exprs.first().and_then(|e| self.text.start(e));
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
            }
            if !leading.iter().any(|l| l.is(key)) {
                leading.push(key);
            }
        }
        Ok(keys)
    }

    /// ORDER BY and LIMIT of a query that is no plain SELECT: they see its output only.
    pub(super) fn ordered(&mut self, bound: Bound, order_by: Option<&OrderBy>, slice: Slice) -> Result<Bound> {
        let Some(order_by) = order_by else {
            if slice.percent.is_some() || slice.computed.is_some() {
                let node = self.plan.sorted(bound.node, &[], &bound.output, &slice);
                return Ok(Bound { node, output: bound.output });
            }
            return Ok(Bound { node: limited(bound.node, &slice), output: bound.output });
        };
        let columns: Vec<ScopeColumn> =
            bound.output.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let items: Vec<Item> =
            bound.output.iter().map(|o| Item { name: o.name.clone(), expr: self.plan.reference(o.column) }).collect();
        let mut level = Level::new(Clause::OutputOrder);
        level.scope = Scope::of(Relation { name: None, columns, ..Relation::default() });
        self.names.levels.push(level);
        let keys = self.order_keys(Some(order_by), &items, false);
        self.names.levels.pop();
        let node = self.plan.sorted(bound.node, &keys?, &bound.output, &slice);
        Ok(Bound { node, output: bound.output })
    }
}

impl Binder<'_> {
    /// The keys of ORDER BY in a window or a call, where numbers are numbers.
    pub(super) fn inner_order(&mut self, order: &[OrderByExpr]) -> Result<Vec<SortKey>> {
        let written = written(order, self.resolver)?;
        let key = |Written { expr, descending, nulls_first, .. }: Written<'_>| {
            Ok(SortKey { expr: ordered(self.typed_expr(expr)?), descending, nulls_first })
        };
        written.into_iter().map(key).collect()
    }
}

impl Text<'_> {
    /// The item of the select list that a position or a bare name means.
    fn output_key(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Option<usize>> {
        let position = self.start(expr);
        match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(text, _) => {
                    let index = text.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|i| *i < items.len());
                    match index {
                        Some(index) => Ok(Some(index)),
                        None => {
                            let message = format!("ORDER BY position {text} is not in select list");
                            Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position))
                        }
                    }
                }
                ast::Value::Placeholder(_) | ast::Value::Null => Ok(None),
                _ => Err(Error::new(SqlState::SYNTAX_ERROR, "non-integer constant in ORDER BY").at(position)),
            },
            ast::Expr::Identifier(ident) => {
                let name = fold(ident);
                let mut named = items.iter().enumerate().filter(|(_, i)| i.name == name);
                let Some((first, item)) = named.next() else { return Ok(None) };
                if named.any(|(_, other)| !same(&other.expr, &item.expr)) {
                    let message = format!("ORDER BY \"{name}\" is ambiguous");
                    return Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).at(position));
                }
                Ok(Some(first))
            }
            _ => Ok(None),
        }
    }
}

/// A key as it is written.
struct Written<'a> {
    expr: &'a ast::Expr,
    /// It is an entry of a row: a number there is no position.
    is_entry: bool,
    descending: bool,
    nulls_first: bool,
}

/// The keys of ORDER BY, those of a row one by one. A row is never NULL itself, and NULLs in it are the greatest values.
fn written<'o>(order: &'o [OrderByExpr], resolver: &dyn Resolver) -> Result<Vec<Written<'o>>> {
    let mut keys = Vec::with_capacity(order.len());
    for OrderByExpr { expr: key, options, .. } in order {
        let (descending, nulls_first) = direction(options, resolver)?;
        let is_entry = row(key).is_some();
        let nulls_first = if is_entry { descending } else { nulls_first };
        keys.extend(entries(key).into_iter().map(|expr| Written { expr, is_entry, descending, nulls_first }));
    }
    Ok(keys)
}

pub(super) fn direction(options: &OrderByOptions, resolver: &dyn Resolver) -> Result<(bool, bool)> {
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(operator)) => match operator.to_string().as_str() {
            "<" => false,
            ">" => true,
            other => {
                let message = format!("operator {other} is not a valid ordering operator");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .hint("Ordering operators must be \"<\" or \">\" members of btree operator families."));
            }
        },
    };
    Ok((descending, options.nulls_first.unwrap_or_else(|| resolver.nulls_first(descending))))
}
