//! A text as the array of its parts.

use base::Result;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

use super::named::call;
use crate::bind::coerce::cast_to;

/// PostgreSQL's function, which the others are.
const STRING_TO_ARRAY: &str = "string_to_array";

/// `string_to_array(...)`: a bare NULL stands for what is left out, no delimiter, or no text that means NULL.
pub(in crate::bind) fn parts_of_text(mut arguments: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    if arguments.len() == 3 && is_bare_null(&arguments[1]) && !is_bare_null(&arguments[2]) {
        let null = cast_to(arguments.remove(1), SqlType::Text)?;
        let (of, text) = (arguments.remove(1), arguments.remove(0));
        return call("array_replace", vec![call(STRING_TO_ARRAY, vec![text], position)?, of, null], position);
    }
    if let Some(at) = arguments.iter().skip(1).position(is_bare_null) {
        arguments.truncate(at + 1);
    }
    // A delimiter that is NULL is none.
    let is_told = |of: &Expr| matches!(&of.kind, ExprKind::Const(value) if !value.is_null());
    let delimiter = arguments.get(1).filter(|of| !is_told(of) && of.sql_type != SqlType::Null);
    let Some(delimiter) = delimiter.cloned() else { return call(STRING_TO_ARRAY, arguments, position) };
    let nothing = Expr::constant(Value::Null, SqlType::Null);
    let mut without = arguments.clone();
    without[1] = nothing;
    let (without, with) = (parts_of_text(without, position)?, call(STRING_TO_ARRAY, arguments, position)?);
    let sql_type = with.sql_type;
    let is_none = Expr::new(ExprKind::IsNull(Box::new(delimiter)), SqlType::Bool);
    let kind = ExprKind::Case { branches: vec![(is_none, without)], otherwise: Box::new(with) };
    Ok(Expr::new(kind, sql_type).at(position))
}

/// Whether a function makes an array of a text's parts.
pub(super) fn is_split(name: &str) -> bool {
    matches!(name, STRING_TO_ARRAY | "string_split" | "str_split" | "split")
}

/// A call of such a function. Where nothing stands between the parts, each character is one to all but PostgreSQL's.
pub(super) fn split_text(name: &str, mut arguments: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    if name == STRING_TO_ARRAY {
        return parts_of_text(arguments, position);
    }
    let is_empty = |of: &Expr| matches!(&of.kind, ExprKind::Const(Value::Str(text)) if text.is_empty());
    if arguments.get(1).is_some_and(is_empty) {
        arguments.remove(1);
    }
    call(STRING_TO_ARRAY, arguments, position)
}

fn is_bare_null(expr: &Expr) -> bool {
    expr.sql_type == SqlType::Null && matches!(expr.kind, ExprKind::Const(Value::Null))
}
