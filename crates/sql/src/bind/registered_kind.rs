//! What tells numbers of `regclass` and its kin from others: a call around the number, and the columns that are known to have such.

use std::collections::HashMap;

use functions::ScalarFunction;
use plan::{ColumnId, Expr, ExprKind, SubqueryKind};
use sqlparser::ast::{DataType, ObjectNamePart};
use types::{SqlType, Value};

use crate::Registered;

/// The kind of what a type's name says, if it is one of these types.
pub(super) fn registered_type(data_type: &DataType) -> Option<Registered> {
    match data_type {
        DataType::Regclass => Some(Registered::Class),
        DataType::Custom(name, _) => match name.0.last() {
            Some(ObjectNamePart::Identifier(ident)) => {
                Registered::ALL.into_iter().find(|kind| ident.value.eq_ignore_ascii_case(kind.type_name()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The kind of a value that is shown as a name; these are the columns that are.
pub(super) fn kind_of(expr: &Expr, columns: &HashMap<ColumnId, Registered>) -> Option<Registered> {
    match &expr.kind {
        ExprKind::Call(ScalarFunction::REGISTERED, arguments) => match arguments.get(1)?.as_constant()? {
            Value::Int(at) => Registered::ALL.get(usize::try_from(*at).ok()?).copied(),
            _ => None,
        },
        ExprKind::Column(column) => columns.get(column).copied(),
        ExprKind::Case { branches, otherwise } => {
            let mut values = branches.iter().map(|(_, value)| value).chain([&**otherwise]);
            values.find_map(|value| kind_of(value, columns))
        }
        ExprKind::Coalesce(values) => values.iter().find_map(|value| kind_of(value, columns)),
        ExprKind::Subquery(subquery) => match subquery.kind {
            SubqueryKind::Scalar { column } => columns.get(&column).copied(),
            _ => None,
        },
        _ => None,
    }
}

/// A number of a kind.
pub(super) fn marked(number: Expr, kind: Registered) -> Expr {
    let at = Registered::ALL.iter().position(|known| *known == kind).unwrap_or_default();
    let at = Expr::constant(Value::Int(at as i64), SqlType::BigInt);
    Expr::new(ExprKind::Call(ScalarFunction::REGISTERED, vec![number, at]), SqlType::BigInt)
}

/// The number alone of what may be shown as a name.
pub(super) fn plain_number(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Call(ScalarFunction::REGISTERED, mut arguments) if !arguments.is_empty() => arguments.swap_remove(0),
        _ => {
            let none = Expr::constant(Value::Int(-1), SqlType::BigInt);
            Expr::new(ExprKind::Call(ScalarFunction::REGISTERED, vec![value, none]), SqlType::BigInt)
        }
    }
}
