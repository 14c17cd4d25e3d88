//! The types of parameters that nobody has told: what a parameter stands beside decides, as for a string literal, and the
//! first place that does so decides for the others.
//!
//! While a statement is prepared, a parameter of unknown type is an untyped literal that is marked. Whatever gives an untyped
//! literal a type notes it here.

use std::cell::RefCell;

use base::Result;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

thread_local! {
    /// Of the statement that this thread prepares, by parameter; the type of NULL is not known yet.
    static TYPES: RefCell<Option<Vec<SqlType>>> = const { RefCell::new(None) };
}

/// What a marked literal begins with.
const MARK: &str = "\u{1}$";

/// Binds with parameters of these types, and returns those that are known then.
pub(super) fn with_parameters<T>(types: Vec<SqlType>, bind: impl FnOnce() -> Result<T>) -> Result<(T, Vec<SqlType>)> {
    /// Nothing is prepared behind it, also if the binding panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            TYPES.set(None);
        }
    }
    let _end = End;
    TYPES.set(Some(types));
    let bound = bind()?;
    Ok((bound, TYPES.take().unwrap_or_default()))
}

/// A parameter, counted from 0, of the statement that is prepared.
pub(super) fn parameter(number: usize) -> Option<Expr> {
    TYPES.with_borrow(|types| {
        Some(match *types.as_ref()?.get(number)? {
            SqlType::Null => Expr::constant(Value::str(format!("{MARK}{number}")), SqlType::Null),
            known => Expr::constant(Value::Null, known),
        })
    })
}

/// Whether it is a parameter whose type is not known yet.
pub(super) fn is_open(expr: &Expr) -> bool {
    let marked = |value: &Value| matches!(value, Value::Str(text) if text.starts_with(MARK));
    let Some(ExprKind::Const(value)) = (expr.sql_type == SqlType::Null).then_some(&expr.kind) else { return false };
    marked(value) && TYPES.with_borrow(Option::is_some)
}

/// An untyped literal has become one of a type: whether it is a parameter, whose type is known from now on.
pub(super) fn has_type(literal: &Value, to: SqlType) -> bool {
    let Value::Str(text) = literal else { return false };
    let Some(number) = text.strip_prefix(MARK).and_then(|number| number.parse::<usize>().ok()) else { return false };
    // Lengths are of the column, not of what is compared with it.
    let to = if to.is_string() { SqlType::Text } else { to };
    TYPES.with_borrow_mut(|types| {
        let Some(known) = types.as_mut().and_then(|types| types.get_mut(number)) else { return false };
        if *known == SqlType::Null {
            *known = to;
        }
        true
    })
}

/// The untyped literal is a text, as nothing makes it anything else.
pub(super) fn is_text(literal: &Expr) {
    if let ExprKind::Const(value) = &literal.kind {
        has_type(value, SqlType::Text);
    }
}
