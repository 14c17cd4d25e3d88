//! Arguments of calls as the parser has them: taken apart, and made.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

pub(super) fn constant(value: Value) -> Expr {
    Expr::value(value)
}

pub(super) fn text_literal(text: &str) -> Expr {
    constant(Value::SingleQuotedString(text.to_owned()))
}

pub(super) fn unnamed(argument: &FunctionArg) -> Option<&Expr> {
    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument { Some(expr) } else { None }
}

pub(super) fn argument(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

pub(super) fn with_arguments(function: &Function, arguments: Vec<FunctionArg>) -> Function {
    let mut made = function.clone();
    if let FunctionArguments::List(list) = &mut made.args {
        list.args = arguments;
    }
    made
}

/// A text literal.
pub(super) fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
