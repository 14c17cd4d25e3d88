//! `ARRAY(SELECT ...)`: `array_agg` over the query, in its order. Keys of an ORDER BY that are not selected become further
//! columns of the query.

use base::{Error, Result, SqlState};
use plan::Expr;
use sqlparser::ast::{self, Ident, OrderByExpr, OrderByKind, SelectItem, SetExpr, TableFactor, Value};
use sqlparser::parser::Parser;

use crate::bind::output_name::output_name;
use crate::bind::{Binder, fold};
use crate::dialect::MorselDialect;

/// What is written around the query. No text of a user's can be such a name in this case.
const AROUND: &str = "SELECT coalesce(array_agg(\"?v\" ORDER BY 1), '{}') FROM (SELECT 1) AS \"?q\"";

impl Binder<'_> {
    pub(super) fn array_of_subquery(&mut self, query: &ast::Query, position: Option<u32>) -> Result<Expr> {
        let (inner, order) = with_keys(query)
            .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(position))?;
        let around = around(inner, order).ok_or_else(|| Error::internal("ARRAY of a query without its parts"))?;
        self.scalar_subquery(&around, position)
    }
}

/// The query with its only column as `?v` and with the keys that it is ordered by, and these keys.
fn with_keys(query: &ast::Query) -> Option<(ast::Query, Vec<OrderByExpr>)> {
    let mut inner = query.clone();
    let written = match inner.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.clone(),
        _ => Vec::new(),
    };
    let value = Ident::with_quote('"', "?v");
    let mut order = Vec::with_capacity(written.len());
    let SetExpr::Select(select) = inner.body.as_mut() else { return of_any_body(query, written) };
    let [item] = select.projection.as_mut_slice() else { return None };
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr.clone(), output_name(expr)),
        SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), fold(alias)),
        _ => return of_any_body(query, written),
    };
    if select.distinct.is_some() {
        return of_any_body(query, written);
    }
    *item = SelectItem::ExprWithAlias { expr, alias: value.clone() };
    for (number, key) in written.into_iter().enumerate() {
        let mut name = Ident::with_quote('"', format!("?k{number}"));
        if is_selected(&key.expr, &alias) {
            name = value.clone();
        } else {
            select.projection.push(SelectItem::ExprWithAlias { expr: key.expr.clone(), alias: name.clone() });
        }
        order.push(OrderByExpr { expr: ast::Expr::Identifier(name), ..key });
    }
    // The order of what is cut by LIMIT decides what is there; any other is that of the array alone.
    match (&inner.limit_clause, &inner.fetch) {
        (None, None) => inner.order_by = None,
        _ => {
            if let Some(OrderByKind::Expressions(keys)) = inner.order_by.as_mut().map(|order| &mut order.kind) {
                keys.iter_mut().zip(&order).for_each(|(key, renamed)| key.expr = renamed.expr.clone());
            }
        }
    }
    Some((inner, order))
}

/// A query that can be ordered by its column alone.
fn of_any_body(query: &ast::Query, written: Vec<OrderByExpr>) -> Option<(ast::Query, Vec<OrderByExpr>)> {
    let column = || ast::Expr::Identifier(Ident::with_quote('"', "?v"));
    Some((query.clone(), written.into_iter().map(|key| OrderByExpr { expr: column(), ..key }).collect()))
}

fn is_selected(key: &ast::Expr, alias: &str) -> bool {
    match key {
        ast::Expr::Value(value) => matches!(value.value, Value::Number(..)),
        ast::Expr::Identifier(name) => fold(name) == alias,
        _ => false,
    }
}

fn around(inner: ast::Query, order: Vec<OrderByExpr>) -> Option<ast::Query> {
    let mut statements = Parser::parse_sql(&MorselDialect, AROUND).ok()?;
    let ast::Statement::Query(mut query) = statements.pop()? else { return None };
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let SelectItem::UnnamedExpr(ast::Expr::Function(coalesce)) = select.projection.first_mut()? else { return None };
    let ast::FunctionArguments::List(list) = &mut coalesce.args else { return None };
    let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Function(call))) = list.args.first_mut()?
    else {
        return None;
    };
    let ast::FunctionArguments::List(list) = &mut call.args else { return None };
    list.clauses =
        if order.is_empty() { Vec::new() } else { vec![ast::FunctionArgumentClause::OrderBy(order.clone())] };
    let TableFactor::Derived { subquery, alias, .. } = &mut select.from.first_mut()?.relation else { return None };
    let columns = std::iter::once(Ident::with_quote('"', "?v"));
    let name_all = inner.body.as_select().is_none_or(|s| s.projection.len() == 1);
    if let (Some(alias), true) = (alias, name_all) {
        let column = |name| ast::TableAliasColumnDef { name, data_type: None };
        alias.columns = columns.map(column).collect();
    }
    **subquery = inner;
    Some(*query)
}
