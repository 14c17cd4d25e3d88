//! The expressions that the catalog keeps as text: which columns they name, and with another name of one.

use std::collections::HashSet;

use base::Result;
use sqlparser::ast::{self, Ident};

use crate::bind::fold;
use crate::parse::kept_expression;
use crate::walk;

/// The names of the columns in an expression of a table.
pub(super) fn names_in(sql: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    if let Ok(expr) = kept_expression(sql) {
        walk::each_expr(&expr, |expr| names.extend(column_of(expr).map(fold)));
    }
    names
}

/// The expression with another name of a column.
pub(super) fn renamed_in(sql: &str, from: &str, to: &Ident) -> Result<String> {
    let mut expr = kept_expression(sql)?;
    let mut is_changed = false;
    walk::change_each_expr(&mut expr, |expr| {
        let ident = match expr {
            ast::Expr::Identifier(ident) => Some(ident),
            ast::Expr::CompoundIdentifier(parts) => parts.last_mut(),
            _ => None,
        };
        if let Some(ident) = ident.filter(|ident| fold(ident) == from) {
            *ident = to.clone();
            is_changed = true;
        }
    });
    Ok(if is_changed { expr.to_string() } else { sql.to_owned() })
}

fn column_of(expr: &ast::Expr) -> Option<&Ident> {
    match expr {
        ast::Expr::Identifier(ident) => Some(ident),
        ast::Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    }
}
