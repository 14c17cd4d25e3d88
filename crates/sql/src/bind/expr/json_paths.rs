//! Functions of JSON at several paths, at paths with wildcards, and of what has a number, as calls that there are.

use sqlparser::ast::{
    Array, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, Ident, ObjectName, ObjectNamePart,
    UnaryOperator, Value,
};
use types::ops::json::means_several;

use super::arguments::{argument, literal, text_literal, unnamed, with_arguments};

/// Functions of JSON that take several paths.
pub(super) const OF_PATHS: [&str; 8] = [
    "json_extract",
    "json_extract_string",
    "json_extract_text",
    "json_keys",
    "json_type",
    "json_exists",
    "json_array_length",
    "json_value",
];

/// A function of JSON at several paths, a list of what lies at each, or at a path with wildcards, or what has a number.
pub(super) fn at_paths(name: &str, function: &Function, of: &FunctionArg, path: &Expr) -> Option<Expr> {
    let finds_text = matches!(name, "json_extract_string" | "json_extract_text");
    match path {
        Expr::Array(paths) if !paths.elem.is_empty() => {
            let one = |path: &Expr| Expr::Function(with_arguments(function, vec![of.clone(), argument(path.clone())]));
            let elem = paths.elem.iter().map(one).collect();
            Some(Expr::Array(Array { elem, named: true }))
        }
        Expr::Value(_) if finds_text || name == "json_extract" => match literal(path) {
            Some(path) if means_several(path) => {
                let mut all = with_arguments(function, vec![of.clone(), argument(text_literal(path))]);
                let name = if finds_text { "json_extract_all_text" } else { "json_extract_all" };
                all.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
                Some(Expr::Function(all))
            }
            Some(_) => None,
            None => Some(item_of(of, path, finds_text)?),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, .. } if finds_text || name == "json_extract" => {
            item_of(of, path, finds_text)
        }
        _ => None,
    }
}

/// The element of a number of a JSON value.
fn item_of(of: &FunctionArg, number: &Expr, as_text: bool) -> Option<Expr> {
    let number_is_there = match number {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        _ => true,
    };
    let json = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(unnamed(of)?.clone()),
        data_type: DataType::JSON,
        format: None,
    };
    let op = if as_text { BinaryOperator::LongArrow } else { BinaryOperator::Arrow };
    number_is_there.then(|| Expr::BinaryOp { left: Box::new(json), op, right: Box::new(number.clone()) })
}
