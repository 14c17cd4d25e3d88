//! What joins and groups of rows cost, in nanoseconds of a core, as measured on two machines; only their relations matter.

use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use types::SqlType;

use super::When;

/// Writing a group, and reading it again.
const GROUP: f64 = 30.0;
/// Less than this is not worth another pipeline, nor is less than such a part of all: estimates of both are uncertain.
const LEAST: f64 = 300_000.0;
const LEAST_PART: f64 = 0.3;

/// What stands above a place.
pub(super) struct Costs {
    /// All of it, for the rows that come.
    all: f64,
}

impl Costs {
    /// A grouping of so many rows, each at this cost.
    pub fn new(rows: f64, each: f64) -> Self {
        Self { all: rows * each }
    }

    /// Expressions that cost so much of a row, too.
    pub fn compute(&mut self, rows: f64, each: f64) {
        self.all += rows * each;
    }

    /// A join, too.
    pub fn join(&mut self, probing: f64, others: f64) {
        self.all += probing * by_size(others, [2.0, 5.0, 12.0, 25.0]);
    }

    /// What it saves to make these groups of these rows before, if that is done.
    pub fn saved(&self, rows: f64, groups: f64, each: f64, when: When) -> Option<f64> {
        let left = rows * each + groups * GROUP + self.all * (groups / rows).min(1.0);
        let saved = self.all - left;
        (when == When::Always || saved >= LEAST.max(self.all * LEAST_PART)).then_some(saved)
    }
}

/// Finding a row's group by keys of these types, among so many.
pub(super) fn of_group(keys: &[SqlType], groups: f64) -> f64 {
    let wide = keys.iter().filter(|of| of.physical().size() > 8).count() as f64;
    by_size(groups, [3.0, 8.0, 20.0, 40.0]) + 1.5 * (keys.len() as f64 - wide) + 12.0 * wide
}

/// Evaluating an expression: nothing, if it is a column or a constant; little, if numbers are compared or calculated with.
pub(super) fn of_expression(expr: &Expr) -> f64 {
    const CHEAP: [ScalarFunction; 4] =
        [ScalarFunction::ADD, ScalarFunction::SUBTRACT, ScalarFunction::MULTIPLY, ScalarFunction::NEGATE];
    /// What they give lies within what they take, or is a number.
    const CUTS: [ScalarFunction; 3] = [ScalarFunction::SUBSTRING, ScalarFunction::LEFT, ScalarFunction::LENGTH];
    let is_number = |e: &Expr| e.sql_type.is_integer() || e.sql_type.is_decimal() || e.sql_type == SqlType::Double;
    let of_numbers = is_number(expr) && expr.children().all(is_number);
    // The names of fields are constants.
    let is_text = |e: &Expr| e.sql_type.is_string() && !matches!(e.kind, ExprKind::Const(_) | ExprKind::Argument(..));
    let has_text = expr.sql_type.is_string() || expr.children().any(is_text);
    let own = match &expr.kind {
        ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => 0.0,
        ExprKind::Call(function, _) if of_numbers && CHEAP.contains(function) => 1.0,
        ExprKind::Call(ScalarFunction::EXTRACT | ScalarFunction::DATE_TRUNC, _) => 4.0,
        ExprKind::Call(function, _) if CUTS.contains(function) => 8.0,
        ExprKind::Call(function, _) if function.name().starts_with("regexp_") => 300.0,
        ExprKind::Like { .. } | ExprKind::Call(..) | ExprKind::Cast(_) | ExprKind::TryCast(_) if has_text => 40.0,
        ExprKind::Cast(_) | ExprKind::TryCast(_) if of_numbers => 1.0,
        ExprKind::Call(..) => 15.0,
        ExprKind::Cast(_) | ExprKind::TryCast(_) => 5.0,
        _ => 1.0,
    };
    own + expr.children().map(of_expression).sum::<f64>()
}

/// By whether so many rows fit the first caches, the second, the last, or none.
fn by_size(rows: f64, each: [f64; 4]) -> f64 {
    let place = [4e3, 1e5, 2e6].iter().position(|most| rows <= *most).unwrap_or(3);
    each[place]
}
