//! Arrays that are put together of values.

use functions::ScalarFunction as F;
use types::Value;
use types::ops::array::Elements;

use crate::{Expr, ExprKind};

/// Most elements of an array that are looked at one by one.
const MOST: usize = 64;

/// The elements of an array that an expression puts together of single values, as `ARRAY[a, 1, b]` does; none of others, and of
/// arrays of many elements.
pub fn array_elements(array: &Expr) -> Option<Vec<Expr>> {
    let mut elements = Vec::new();
    collect(array, &mut elements)?;
    Some(elements)
}

fn collect(array: &Expr, to: &mut Vec<Expr>) -> Option<()> {
    match &array.kind {
        ExprKind::Call(F::ARRAY_CAT, parts) => parts.iter().try_for_each(|part| collect(part, to))?,
        ExprKind::Call(F::ARRAY_ALONE, value) => to.extend(value.iter().cloned()),
        // The array of NULL alone, where the value is NULL.
        ExprKind::Coalesce(parts) => match parts.as_slice() {
            [Expr { kind: ExprKind::Call(F::ARRAY_ALONE, value), .. }, Expr { kind: ExprKind::Const(_), .. }] => {
                to.extend(value.iter().cloned());
            }
            _ => return None,
        },
        ExprKind::Const(Value::Str(form)) => {
            let element = array.sql_type.element()?;
            let values = Elements::new(form, element).take(MOST + 1);
            to.extend(values.map(|value| Expr::constant(value, element)));
        }
        _ => return None,
    }
    (to.len() <= MOST).then_some(())
}
