//! Which functions a text that the catalog keeps calls.

use sqlparser::ast::{Expr, ObjectNamePart};

use crate::bind::fold;
use crate::parse::kept_expression;
use crate::walk;

/// Whether an expression calls a function of that name.
pub fn calls_function(text: &str, name: &str) -> bool {
    let is_it = |expr: &Expr| {
        let Expr::Function(function) = expr else { return false };
        matches!(function.name.0.last(), Some(ObjectNamePart::Identifier(ident)) if fold(ident) == name)
    };
    kept_expression(text).is_ok_and(|expr| walk::has_expr(&expr, is_it))
}
