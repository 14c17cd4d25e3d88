//! Comparisons of a cast column with a constant become comparisons of the column, so that scans can test them.
//!
//! Only casts that lose nothing are moved. A constant between two values of the column's type is rounded down, and the
//! comparison adapted: `d < 2.5` is `d <= 2`, `d >= 2.5` is `d > 2`.

use plan::{Compare, Expr, ExprKind};
use types::ops::date::DAY;
use types::{SqlType, Value};

/// A constant in the narrower type: the greatest value not above it, and whether it is the same.
struct Floor {
    value: Value,
    exact: bool,
}

/// The constant in the type that the column had before its cast.
fn floor(value: &Value, from: SqlType, to: SqlType) -> Option<Floor> {
    let integer = |whole: i128, exact: bool| {
        let range = match to {
            SqlType::SmallInt => i128::from(i16::MIN)..=i128::from(i16::MAX),
            SqlType::Integer => i128::from(i32::MIN)..=i128::from(i32::MAX),
            _ => i128::from(i64::MIN)..=i128::from(i64::MAX),
        };
        range.contains(&whole).then_some(Floor { value: Value::Int(whole as i64), exact })
    };
    match (to, from, value) {
        (SqlType::Date, SqlType::Timestamp, Value::Timestamp(t)) => {
            let days = i32::try_from(t.div_euclid(DAY)).ok()?;
            Some(Floor { value: Value::Date(days), exact: t.rem_euclid(DAY) == 0 })
        }
        (t, f, Value::Int(i)) if t.is_integer() && f.is_integer() && width(t) <= width(f) => {
            integer(i128::from(*i), true)
        }
        (t, SqlType::Decimal { scale, .. }, Value::Decimal(d)) if t.is_integer() => {
            let unit = 10i128.checked_pow(scale.into())?;
            integer(d.div_euclid(unit), d.rem_euclid(unit) == 0)
        }
        (SqlType::SmallInt | SqlType::Integer, SqlType::Double, Value::Float(f)) if f.abs() < 1e15 => {
            integer(f.floor() as i128, f.floor() == *f)
        }
        (
            SqlType::Decimal { precision: p, scale: s },
            SqlType::Decimal { precision: q, scale: t },
            Value::Decimal(d),
        ) if s <= t && p - s <= q - t => {
            let unit = 10i128.checked_pow((t - s).into())?;
            Some(Floor { value: Value::Decimal(d.div_euclid(unit)), exact: d.rem_euclid(unit) == 0 })
        }
        (t, f, Value::Str(text)) if t.is_string() && matches!(f, SqlType::Text) => {
            // Trailing blanks of char(n) do not count, those of text do.
            let differs = matches!(t, SqlType::Char(_)) && text.ends_with(' ');
            (!differs).then(|| Floor { value: value.clone(), exact: true })
        }
        _ => None,
    }
}

fn width(t: SqlType) -> usize {
    t.physical().size()
}

/// The type in which the moved constant is compared with a column of type `column`.
fn constant_type(column: SqlType) -> SqlType {
    match column {
        SqlType::Decimal { scale, .. } => SqlType::decimal(SqlType::MAX_PRECISION, scale),
        t if t.is_string() => SqlType::Text,
        t => t,
    }
}

/// A decimal constant in as few digits as its column has, where they suffice.
fn fitting(value: &Value, column: SqlType) -> SqlType {
    match (value, column) {
        (Value::Decimal(d), SqlType::Decimal { precision, .. })
            if 10i128.checked_pow(precision.into()).is_none_or(|limit| d.abs() < limit) =>
        {
            column
        }
        _ => constant_type(column),
    }
}

pub(super) fn comparison(op: Compare, a: &Expr, b: &Expr) -> Option<Expr> {
    let (ExprKind::Cast(input), ExprKind::Const(value)) = (&a.kind, &b.kind) else { return None };
    let Floor { value, exact } = floor(value, a.sql_type, input.sql_type)?;
    let op = match (op, exact) {
        (op, true) => op,
        (Compare::Lt | Compare::Le, false) => Compare::Le,
        (Compare::Gt | Compare::Ge, false) => Compare::Gt,
        _ => return None,
    };
    let sql_type = fitting(&value, input.sql_type);
    let constant = Expr::constant(value, sql_type).at(b.position);
    Some(super::compared(op, (**input).clone(), constant))
}

pub(super) fn in_list(input: &Expr, values: &[Value]) -> Option<Expr> {
    let ExprKind::Cast(inner) = &input.kind else { return None };
    let mut list = Vec::new();
    for value in values {
        let Floor { value, exact } = floor(value, input.sql_type, inner.sql_type)?;
        // A value that the column cannot have matches nothing.
        if exact && (fitting(&value, inner.sql_type) == inner.sql_type || inner.sql_type.is_string()) {
            list.push(value);
        }
    }
    (!list.is_empty()).then(|| Expr::new(ExprKind::InList(inner.clone(), list), SqlType::Bool))
}
