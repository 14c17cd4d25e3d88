//! Values of one of several columns, which arguments choose: `CASE $1 WHEN 1 THEN a WHEN 2 THEN b END`. Of a row that a key finds, only
//! the column is read that is chosen.

use plan::{ColumnId, Expr, ExprKind, Uses};
use types::Value;

use super::Place;
use super::frame::{Formula, Frame};

/// See the module.
pub(super) struct Chosen {
    /// Where the value goes.
    pub place: Place,
    /// An attribute, and the condition, of arguments, of which the first that is true chooses.
    pub branches: Vec<(Formula, usize)>,
    /// If none is; no attribute: NULL.
    pub otherwise: Option<usize>,
}

impl Chosen {
    /// The attribute; none: the value is NULL. Not known if a condition fails.
    pub fn attribute(&self, frame: &Frame<'_>) -> Option<Option<usize>> {
        for (condition, attribute) in &self.branches {
            if condition.expr.truth(frame).ok()? == Some(true) {
                return Some(Some(*attribute));
            }
        }
        Some(self.otherwise)
    }
}

/// A column that is computed so right above a scan.
pub(super) struct Choice<'p> {
    pub column: ColumnId,
    pub branches: Vec<(&'p Expr, usize)>,
    pub otherwise: Option<usize>,
    /// The columns that it is one of.
    pub of: Vec<ColumnId>,
}

impl<'p> Choice<'p> {
    /// If it is one of the columns of a scan.
    pub fn of(column: ColumnId, expr: &'p Expr, scanned: &[(usize, ColumnId)]) -> Option<Self> {
        let ExprKind::Case { branches, otherwise } = &expr.kind else { return None };
        let mut of = Vec::new();
        let mut attribute = |value: &Expr| {
            let column = value.as_column()?;
            of.push(column);
            scanned.iter().find(|(_, scanned)| *scanned == column).map(|(attribute, _)| *attribute)
        };
        let branch = |(condition, value): &'p (Expr, Expr)| {
            let is_of_arguments = condition.columns().is_empty() && !condition.is_volatile();
            Some((condition, attribute(value).filter(|_| is_of_arguments)?))
        };
        let branches = branches.iter().map(branch).collect::<Option<_>>()?;
        let otherwise = match otherwise.kind {
            ExprKind::Const(Value::Null) => None,
            _ => Some(attribute(otherwise)?),
        };
        Some(Self { column, branches, otherwise, of })
    }

    /// Whether nothing else reads a column.
    pub fn is_all_of(choices: &[Self], column: ColumnId, uses: &Uses) -> bool {
        let times = choices.iter().flat_map(|choice| &choice.of).filter(|of| **of == column).count();
        times > 0 && times == uses.times(column)
    }
}
