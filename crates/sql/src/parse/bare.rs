//! Queries that are SELECT of expressions and nothing else.

use sqlparser::ast::{Expr, GroupByExpr, Query, SelectItem, SetExpr};

/// What such a query selects.
pub(crate) fn bare_projection(query: &Query) -> Option<&[SelectItem]> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let has_group = match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let has_more = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || select.distinct.is_some()
        || !select.from.is_empty()
        || select.selection.is_some()
        || has_group
        || select.having.is_some()
        || select.qualify.is_some()
        || !select.named_window.is_empty();
    (!has_more).then_some(&select.projection)
}

/// The expression that a query selects, if it is one and nothing else.
pub(crate) fn bare_expression(query: &Query) -> Option<&Expr> {
    match bare_projection(query)? {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => Some(expr),
        _ => None,
    }
}
