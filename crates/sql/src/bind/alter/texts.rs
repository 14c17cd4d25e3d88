//! The expressions that the catalog keeps as text: which columns they name, and with another name of one.

use std::collections::HashSet;
use std::ops::ControlFlow;

use base::Result;
use sqlparser::ast::{self, Ident, visit_expressions, visit_expressions_mut};

use crate::bind::fold;
use crate::parse::kept_expression;

/// The names of the columns in an expression of a table.
pub(super) fn names_in(sql: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    if let Ok(expr) = kept_expression(sql) {
        let _ = visit_expressions(&expr, |expr| {
            names.extend(column_of(expr).map(fold));
            ControlFlow::<()>::Continue(())
        });
    }
    names
}

/// The expression with another name of a column.
pub(super) fn renamed_in(sql: &str, from: &str, to: &Ident) -> Result<String> {
    let mut expr = kept_expression(sql)?;
    let mut is_changed = false;
    let _ = visit_expressions_mut(&mut expr, |expr| {
        let ident = match expr {
            ast::Expr::Identifier(ident) => Some(ident),
            ast::Expr::CompoundIdentifier(parts) => parts.last_mut(),
            _ => None,
        };
        if let Some(ident) = ident.filter(|ident| fold(ident) == from) {
            *ident = to.clone();
            is_changed = true;
        }
        ControlFlow::<()>::Continue(())
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
