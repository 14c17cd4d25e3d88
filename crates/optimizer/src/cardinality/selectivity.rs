//! Selectivities and distinct counts of expressions over any operator's result, where there is no sample to try.

use functions::ScalarFunction;
use plan::{Compare, Expr, ExprKind};
use types::Value;
use types::ops::date::Field;

use super::scan::number;
use super::{Estimator, back_off};

/// A comparison that nothing is known of (as in System R).
const RANGE: f64 = 1.0 / 3.0;
/// LIKE with a pattern.
const LIKE: f64 = 0.1;

impl Estimator<'_> {
    /// The fraction of `rows` rows for which the predicate is true.
    pub fn selectivity(&self, predicate: &Expr, rows: f64) -> f64 {
        let all = |parts: &[Expr]| parts.iter().map(|p| self.selectivity(p, rows)).collect::<Vec<_>>();
        let selectivity = match &predicate.kind {
            ExprKind::Const(value) => f64::from(u8::from(*value == Value::Bool(true))),
            ExprKind::Compare(op, a, b) => self.comparison(*op, a, b, rows),
            ExprKind::And(parts) => {
                let mut parts = all(parts);
                parts.sort_by(f64::total_cmp);
                back_off(parts)
            }
            ExprKind::Or(parts) => 1.0 - all(parts).into_iter().map(|s| 1.0 - s).product::<f64>(),
            ExprKind::Not(a) => 1.0 - self.selectivity(a, rows),
            ExprKind::IsNull(a) => self.null_fraction(a),
            ExprKind::InList(a, values) => values.len() as f64 / self.distinct(a, rows),
            ExprKind::Like { .. } => LIKE,
            ExprKind::Column(_) => 0.5,
            _ => RANGE,
        };
        selectivity.clamp(0.0, 1.0)
    }

    fn comparison(&self, op: Compare, a: &Expr, b: &Expr, rows: f64) -> f64 {
        let equal = || {
            let values = self.distinct(a, rows).max(self.distinct(b, rows));
            (1.0 - self.null_fraction(a)) * (1.0 - self.null_fraction(b)) / values
        };
        match op {
            Compare::Eq | Compare::NotDistinct => equal(),
            Compare::Ne | Compare::Distinct => 1.0 - equal(),
            _ => self.below(op, a, b).or_else(|| self.below(op.swapped(), b, a)).unwrap_or(RANGE),
        }
    }

    /// A range between the bounds of a column, interpolated.
    fn below(&self, op: Compare, column: &Expr, constant: &Expr) -> Option<f64> {
        let profile = self.column(column.as_column()?);
        let (low, high) = profile.range?;
        let at = match &constant.kind {
            ExprKind::Const(value) | ExprKind::Argument(_, value) => number(value)?,
            _ => return None,
        };
        let below =
            if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { f64::from(u8::from(at > low)) };
        let fraction = if matches!(op, Compare::Lt | Compare::Le) { below } else { 1.0 - below };
        // The ends hold a value at least.
        let least = if (low..=high).contains(&at) { 1.0 / profile.domain } else { 0.0 };
        Some(fraction.max(least) * (1.0 - profile.nulls))
    }

    /// The fraction of NULLs.
    pub fn null_fraction(&self, expr: &Expr) -> f64 {
        match &expr.kind {
            ExprKind::Const(value) => f64::from(u8::from(value.is_null())),
            ExprKind::Column(c) => self.column(*c).nulls,
            ExprKind::IsNull(_) | ExprKind::Coalesce(_) => 0.0,
            _ => expr.children().map(|c| self.null_fraction(c)).fold(0.0, f64::max),
        }
    }

    /// Distinct values of an expression in a result of `rows` rows.
    pub fn distinct(&self, expr: &Expr, rows: f64) -> f64 {
        self.values(expr, rows, &|c| self.distinct_at(c, rows))
    }

    /// Distinct values that an expression ranges over before predicates on other columns.
    pub fn domain(&self, expr: &Expr) -> f64 {
        self.values(expr, f64::INFINITY, &|c| self.column(c).domain)
    }

    fn values(&self, expr: &Expr, rows: f64, column: &dyn Fn(plan::ColumnId) -> f64) -> f64 {
        let distinct = match &expr.kind {
            ExprKind::Column(c) => column(*c),
            ExprKind::Const(_) | ExprKind::Argument(..) => 1.0,
            ExprKind::Case { branches, otherwise } => {
                let results = branches.iter().map(|(_, v)| v).chain([&**otherwise]);
                results.map(|v| self.values(v, rows, column)).sum()
            }
            _ if expr.sql_type == types::SqlType::Bool => 2.0,
            ExprKind::Call(function, arguments) => {
                let of = |a| self.values(a, f64::INFINITY, column);
                match (*function, at_most(*function, arguments)) {
                    (_, Some(most)) => arguments.iter().map(of).product::<f64>().min(most),
                    // Other fields are mostly years, of 365 days each.
                    (ScalarFunction::EXTRACT, None) => {
                        arguments.iter().map(|a| (of(a) / 365.0).ceil()).fold(1.0, f64::max)
                    }
                    _ => arguments.iter().map(|a| self.values(a, rows, column)).product(),
                }
            }
            _ => expr.children().map(|c| self.values(c, rows, column)).product(),
        };
        let most = self.pieces(expr).unwrap_or(f64::INFINITY);
        distinct.min(most).clamp(1.0, rows.max(1.0))
    }

    /// Distinct combinations of several values, the count of each given: damped, as columns are correlated.
    pub fn combinations(&self, mut distinct: Vec<f64>, rows: f64) -> f64 {
        distinct.sort_by(|a, b| b.total_cmp(a));
        back_off(distinct).clamp(1.0, rows.max(1.0))
    }
}

/// How many values a call can have, where that lies in the function: of `x % 100` as many as there are remainders of a sign,
/// of a month twelve.
fn at_most(function: ScalarFunction, arguments: &[Expr]) -> Option<f64> {
    match (function, arguments) {
        (ScalarFunction::MODULO, [_, divisor]) => match constant(divisor)? {
            Value::Int(divisor) if *divisor != 0 => Some(divisor.unsigned_abs() as f64),
            _ => None,
        },
        (ScalarFunction::EXTRACT, [field, _]) => match constant(field)? {
            Value::Str(name) => match name.parse::<Field>().ok()? {
                Field::Quarter => Some(4.0),
                Field::DayOfWeek | Field::IsoDayOfWeek => Some(7.0),
                Field::Month => Some(12.0),
                Field::Hour => Some(24.0),
                Field::Day => Some(31.0),
                Field::Week => Some(53.0),
                Field::Minute => Some(60.0),
                Field::DayOfYear => Some(366.0),
                _ => None,
            },
            _ => None,
        },
        (ScalarFunction::SUBSTRING, [_, _, length]) | (ScalarFunction::LEFT, [_, length]) => match constant(length)? {
            // As many letters as texts mostly have.
            Value::Int(length @ 0..8) => Some(64f64.powi(*length as i32)),
            _ => None,
        },
        _ => None,
    }
}

/// The value of a constant, or that an argument has now, whatever it is cast to.
pub(super) fn constant(expr: &Expr) -> Option<&Value> {
    match &expr.kind {
        ExprKind::Const(value) | ExprKind::Argument(_, value) => Some(value),
        ExprKind::Cast(inner) => constant(inner),
        _ => None,
    }
}
