//! Operators of JSON (decision 45).

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use sqlparser::ast::BinaryOperator;
use types::ops::json::means_several;
use types::{SqlType, Value};

use crate::bind::coerce::{cast_to, is_untyped, known};

/// The operator on these operands, if it is one of JSON.
pub(super) fn json_operator(
    op: &BinaryOperator,
    left: &Expr,
    right: &Expr,
    position: Option<u32>,
) -> Option<Result<Expr>> {
    use BinaryOperator as B;
    let (left, right) = (left.clone(), right.clone());
    let is_json = left.sql_type.is_json() || right.sql_type.is_json();
    Some(match op {
        B::Arrow | B::LongArrow => step(left, right, *op == B::LongArrow, position),
        B::HashArrow | B::HashLongArrow => along(left, right, *op == B::HashLongArrow, position),
        B::AtArrow if is_json => of_two(F::JSONB_CONTAINS, "@>", left, right, SqlType::Bool, position),
        B::ArrowAt if is_json => of_two(F::JSONB_CONTAINS, "<@", right, left, SqlType::Bool, position),
        B::StringConcat if is_joined(&left, &right) => {
            of_two(F::JSONB_CONCAT, "||", left, right, SqlType::Jsonb, position)
        }
        B::Question => beside(F::JSONB_EXISTS, "?", left, right, SqlType::Text, position),
        B::QuestionPipe => beside(F::JSONB_EXISTS_ANY, "?|", left, right, texts(), position),
        B::QuestionAnd => beside(F::JSONB_EXISTS_ALL, "?&", left, right, texts(), position),
        B::HashMinus => beside(F::JSONB_DELETE_PATH, "#-", left, right, texts(), position),
        B::Minus if left.sql_type == SqlType::Jsonb => without(left, right, position),
        B::AtQuestion => along_path(F::JSONB_PATH_EXISTS, "@?", left, right, position),
        // Lexemes and what is asked of them are texts.
        B::AtAt if left.sql_type.is_string() && right.sql_type.is_string() => {
            Ok(Expr::new(ExprKind::Call(F::TS_MATCH, vec![left, right]), SqlType::Bool).at(position))
        }
        B::AtAt => along_path(F::JSONB_PATH_MATCH, "@@", left, right, position),
        _ => return None,
    })
}

fn texts() -> SqlType {
    SqlType::array_of(SqlType::Text)
}

/// An operator of a `jsonb` and an operand of that type, whose result is a `jsonb` or says whether something holds.
fn beside(function: F, op: &str, left: Expr, right: Expr, beside: SqlType, position: Option<u32>) -> Result<Expr> {
    let fits = |e: &Expr, to: SqlType| e.sql_type == to || (e.sql_type.is_string() && to.is_string()) || is_untyped(e);
    if !fits(&left, SqlType::Jsonb) || !fits(&right, beside) {
        return Err(no_operator(left.sql_type, op, &right.sql_type.to_string()).at(position));
    }
    let result = if function == F::JSONB_DELETE_PATH { SqlType::Jsonb } else { SqlType::Bool };
    let operands = vec![cast_to(left, SqlType::Jsonb)?, cast_to(right, beside)?];
    Ok(Expr::new(ExprKind::Call(function, operands), result).at(position))
}

/// `jsonb @? path` and `jsonb @@ path`: what fails because of the data is NULL.
fn along_path(function: F, op: &str, left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    let Expr { kind, sql_type, .. } = beside(function, op, left, right, SqlType::Text, position)?;
    let ExprKind::Call(function, mut operands) = kind else {
        return Err(Error::internal("an operator that is no call"));
    };
    operands.push(Expr::constant(Value::str("{}"), SqlType::Jsonb));
    operands.push(Expr::bool(true));
    Ok(Expr::new(ExprKind::Call(function, operands), sql_type).at(position))
}

/// `jsonb || jsonb`, where one of them may be a literal.
fn is_joined(left: &Expr, right: &Expr) -> bool {
    let fits = |e: &Expr| e.sql_type == SqlType::Jsonb || is_untyped(e);
    fits(left) && fits(right) && !(is_untyped(left) && is_untyped(right))
}

fn no_operator(left: SqlType, op: &str, right: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {left} {op} {right}"))
        .hint("no operator takes these types; you might need explicit casts")
}

/// `->` and `->>`.
pub(in crate::bind) fn step(left: Expr, right: Expr, as_text: bool, position: Option<u32>) -> Result<Expr> {
    let op = if as_text { "->>" } else { "->" };
    let left = json(left, op, &right).map_err(|e| e.at(position))?;
    if let Some(path) = path(&right) {
        return at_path(left, path, as_text, position);
    }
    let (function, right) = match right.sql_type {
        t if t.is_integer() => {
            (if as_text { F::JSON_ITEM_TEXT } else { F::JSON_ITEM }, cast_to(right, SqlType::BigInt)?)
        }
        t if t.is_string() || t == SqlType::Null => {
            let function = match (left.sql_type, as_text) {
                (SqlType::Jsonb, false) => F::JSONB_FIELD,
                (SqlType::Jsonb, true) => F::JSONB_FIELD_TEXT,
                (_, false) => F::JSON_FIELD,
                (_, true) => F::JSON_FIELD_TEXT,
            };
            (function, known(right))
        }
        other => return Err(no_operator(left.sql_type, op, &other.to_string()).at(position)),
    };
    let result = if as_text { SqlType::Text } else { left.sql_type };
    Ok(Expr::new(ExprKind::Call(function, vec![left, right]), result).at(position))
}

/// A path such as `$.a[0]`, if a literal is one, as DuckDB, MySQL and SQLite have it: PostgreSQL takes it for a key, which nobody has.
fn path(right: &Expr) -> Option<&str> {
    match &right.kind {
        ExprKind::Const(Value::Str(path)) if is_untyped(right) && ["$.", "$["].iter().any(|p| path.starts_with(p)) => {
            Some(path)
        }
        _ => None,
    }
}

/// What lies at a path, or the list of all that does.
fn at_path(json: Expr, path: &str, as_text: bool, position: Option<u32>) -> Result<Expr> {
    let several = means_several(path);
    let function = match (several, as_text) {
        (false, false) => F::JSON_EXTRACT,
        (false, true) => F::JSON_EXTRACT_STRING,
        (true, false) => F::JSON_EXTRACT_ALL,
        (true, true) => F::JSON_EXTRACT_ALL_TEXT,
    };
    let one = if as_text { SqlType::Text } else { SqlType::Json };
    let result = if several { SqlType::array_of(one) } else { one };
    let arguments = vec![cast_to(json, SqlType::Json)?, Expr::constant(Value::str(path), SqlType::Text)];
    Ok(Expr::new(ExprKind::Call(function, arguments), result).at(position))
}

/// `#>` and `#>>`.
pub(super) fn along(left: Expr, right: Expr, as_text: bool, position: Option<u32>) -> Result<Expr> {
    let left = json(left, if as_text { "#>>" } else { "#>" }, &right).map_err(|e| e.at(position))?;
    let path = cast_to(right, texts())?;
    let (function, result) = if as_text { (F::JSON_PATH_TEXT, SqlType::Text) } else { (F::JSON_PATH, left.sql_type) };
    Ok(Expr::new(ExprKind::Call(function, vec![left, path]), result).at(position))
}

/// JSON, or a text that is read as such.
fn json(left: Expr, op: &str, right: &Expr) -> Result<Expr> {
    match left.sql_type {
        t if t.is_json() => Ok(left),
        SqlType::Null | SqlType::Text | SqlType::Varchar(_) => cast_to(left, SqlType::Json),
        other => Err(no_operator(other, op, &right.sql_type.to_string())),
    }
}

/// An operator of two `jsonb`.
fn of_two(function: F, op: &str, left: Expr, right: Expr, result: SqlType, position: Option<u32>) -> Result<Expr> {
    let fits = |e: &Expr| e.sql_type == SqlType::Jsonb || is_untyped(e);
    if !fits(&left) || !fits(&right) {
        return Err(no_operator(left.sql_type, op, &right.sql_type.to_string()).at(position));
    }
    let operands = vec![cast_to(left, SqlType::Jsonb)?, cast_to(right, SqlType::Jsonb)?];
    Ok(Expr::new(ExprKind::Call(function, operands), result).at(position))
}

/// `jsonb - what`
fn without(left: Expr, what: Expr, position: Option<u32>) -> Result<Expr> {
    let what = match what.sql_type {
        t if t.is_integer() => cast_to(what, SqlType::BigInt)?,
        t if t.is_string() || t.element().is_some_and(SqlType::is_string) => what,
        SqlType::Null => known(what),
        other => return Err(no_operator(SqlType::Jsonb, "-", &other.to_string()).at(position)),
    };
    Ok(Expr::new(ExprKind::Call(F::JSONB_DELETE, vec![left, what]), SqlType::Jsonb).at(position))
}
