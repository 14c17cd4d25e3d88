//! Parts of what an expression puts together: elements of lists, fields of structs. And parts of JSON that a constant path leads to.

use functions::ScalarFunction as F;
use plan::{Expr, ExprKind, array_elements};
use types::ops::json;
use types::{SqlType, Value};

use crate::rewrite::infallible;

/// A simpler expression in the place of a call, if there is one.
pub(super) fn of_call(function: F, arguments: &[Expr]) -> Option<Expr> {
    match (function, arguments) {
        (F::LIST_CONTAINS, [list, wanted]) => contained(list, wanted),
        (F::LIST_LENGTH, [list]) => counted(list),
        (F::STRUCT_FIELD, [of, number]) => field(of, number.as_constant()?),
        (F::JSON_EXTRACT | F::JSON_EXTRACT_STRING, [json, path]) if json.sql_type == SqlType::Json => {
            let Some(Value::Str(path)) = path.as_constant() else { return None };
            let key = Expr::constant(Value::str(json::only_key(path)?), SqlType::Text);
            let (field, result) = match function {
                F::JSON_EXTRACT => (F::JSON_FIELD, SqlType::Json),
                _ => (F::JSON_FIELD_TEXT, SqlType::Text),
            };
            Some(Expr::new(ExprKind::Call(field, vec![json.clone(), key]), result).at(json.position))
        }
        (F::JSON_ARRAY_LENGTH, [json, path]) if json.sql_type == SqlType::Json => {
            let found = of_call(F::JSON_EXTRACT, &[json.clone(), path.clone()])?;
            Some(Expr::new(ExprKind::Call(function, vec![found]), SqlType::Integer))
        }
        _ => None,
    }
}

/// A field of a struct whose other fields are not looked at.
fn field(of: &Expr, number: &Value) -> Option<Expr> {
    let Value::Int(number) = number else { return None };
    let mut values = array_elements(of)?;
    let number = usize::try_from(*number).ok().filter(|number| *number < values.len())?;
    let value = values.swap_remove(number);
    values.iter().all(infallible).then_some(value)
}

/// Whether a constant list, whose elements are numbers, texts or dates, has a value, as IN says it.
fn contained(list: &Expr, wanted: &Expr) -> Option<Expr> {
    let (Some(elements), Some(wanted)) =
        (list.as_constant().and_then(|_| array_elements(list)), array_elements(wanted))
    else {
        return None;
    };
    let [wanted] = wanted.as_slice() else { return None };
    let sql_type = wanted.sql_type;
    let is_plain = sql_type.is_integer() || sql_type == SqlType::Text || sql_type == SqlType::Date;
    let values: Option<Vec<Value>> = elements.iter().map(|element| element.as_constant().cloned()).collect();
    let values = values.filter(|values| !values.is_empty() && !values.iter().any(Value::is_null))?;
    let fits = is_plain && list.sql_type.element() == Some(sql_type);
    fits.then(|| Expr::new(ExprKind::InList(Box::new(wanted.clone()), values), SqlType::Bool))
}

/// The length of a list that is put together of values, none of which is looked at.
fn counted(list: &Expr) -> Option<Expr> {
    let elements = array_elements(list)?;
    let is_alone = |element: &Expr| infallible(element) && element.sql_type.element().is_none();
    let count = Value::Int(elements.len() as i64);
    elements.iter().all(is_alone).then(|| Expr::constant(count, SqlType::BigInt))
}
