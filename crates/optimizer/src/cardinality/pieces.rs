//! How many values a function has that cuts a range into pieces: months of moments, whole numbers of doubles, quotients.

use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use types::ops::date::{self, Field};
use types::{SqlType, Value};

use super::Estimator;
use super::scan::number;
use super::selectivity::constant;
use crate::fold::length;

/// Microseconds.
const DAY: f64 = date::DAY as f64;

/// Of a double, whole numbers.
const WHOLE: [&str; 5] = ["ceil", "floor", "round", "round_double", "trunc"];

impl Estimator<'_> {
    /// At most so many values come of what the bounds of a column leave; none if that is not known.
    pub(super) fn pieces(&self, expr: &Expr) -> Option<f64> {
        let (of, length) = match &expr.kind {
            ExprKind::Call(function, arguments) => match (*function, &arguments[..]) {
                (ScalarFunction::DATE_TRUNC | ScalarFunction::EXTRACT, [field, of, ..]) => (of, length_of(field)?),
                (ScalarFunction::TIME_BUCKET | ScalarFunction::DATE_BIN, [width, of, ..]) => {
                    (of, constant(width).and_then(number)?)
                }
                (ScalarFunction::DIVIDE, [of, divisor]) if expr.sql_type.is_integer() => {
                    (of, constant(divisor).and_then(number)?.abs())
                }
                (function, [of]) if of.sql_type == SqlType::Double && WHOLE.contains(&function.name()) => (of, 1.0),
                _ => return None,
            },
            ExprKind::Cast(of) if expr.sql_type == SqlType::Date && is_moment(of.sql_type) => (&**of, DAY),
            ExprKind::Cast(of) if expr.sql_type.is_integer() && of.sql_type == SqlType::Double => (&**of, 1.0),
            _ => return None,
        };
        let (low, high) = self.range(of)?;
        // The ends lie in pieces that begin before them.
        (length >= 1.0).then(|| ((high - low) / length).floor() + 2.0)
    }

    /// The bounds of an expression of one column: moments and dates in microseconds, whole numbers and doubles as they are.
    fn range(&self, expr: &Expr) -> Option<(f64, f64)> {
        match &expr.kind {
            ExprKind::Column(column) => {
                let (low, high) = self.column(*column).range?;
                match expr.sql_type {
                    SqlType::Date => Some((low * DAY, high * DAY)),
                    of if is_moment(of) || of.is_integer() || of == SqlType::Double => Some((low, high)),
                    _ => None,
                }
            }
            ExprKind::Cast(of) if is_time(expr.sql_type) == is_time(of.sql_type) && !expr.sql_type.is_decimal() => {
                self.range(of)
            }
            ExprKind::Call(function, arguments) => {
                let [of, by] = &arguments[..] else { return None };
                let ((low, high), by) = (self.range(of)?, constant(by).and_then(number)?);
                let (low, high) = match *function {
                    _ if is_time(of.sql_type) || !matches!(expr.sql_type, SqlType::Double) => return None,
                    ScalarFunction::ADD => (low + by, high + by),
                    ScalarFunction::SUBTRACT => (low - by, high - by),
                    ScalarFunction::MULTIPLY => (low * by, high * by),
                    ScalarFunction::DIVIDE => (low / by, high / by),
                    _ => return None,
                };
                let is_known = low.is_finite() && high.is_finite();
                is_known.then(|| (low.min(high), low.max(high)))
            }
            _ => None,
        }
    }
}

fn is_moment(of: SqlType) -> bool {
    matches!(of, SqlType::Timestamp | SqlType::Timestamptz)
}

fn is_time(of: SqlType) -> bool {
    is_moment(of) || of == SqlType::Date
}

/// How long a field of the calendar lasts; none of those that come again.
fn length_of(field: &Expr) -> Option<f64> {
    let Value::Str(name) = constant(field)? else { return None };
    let field = match name.parse::<Field>().ok()? {
        Field::IsoYear => Field::Year,
        Field::Julian => Field::Day,
        field => field,
    };
    length(field).map(|length| length.approximate_micros() as f64)
}
