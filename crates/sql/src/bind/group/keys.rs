//! The keys of GROUP BY, and what of a query refers to them.

use plan::{ColumnId, Expr, ExprKind};
use types::Value;

/// What GROUP BY says.
#[derive(Default)]
pub(in crate::bind) struct Groups {
    /// All keys, each once.
    pub keys: Vec<Expr>,
    /// The grouping sets, by positions of their keys, if it is not one of all keys.
    pub sets: Option<Vec<Vec<usize>>>,
}

impl Groups {
    /// Where a key stands, as one more if it is new.
    pub(in crate::bind) fn position_of(&mut self, key: Expr) -> usize {
        self.keys.iter().position(|k| same(k, &key)).unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }

    /// Whether there is a row even for no input.
    pub(in crate::bind) fn has_empty_set(&self) -> bool {
        self.sets.as_ref().map_or(self.keys.is_empty(), |sets| sets.iter().any(Vec::is_empty))
    }
}

/// A call of GROUPING; what is above the aggregation reads its column.
pub(in crate::bind) struct GroupingCall {
    pub column: ColumnId,
    pub arguments: Vec<Expr>,
    pub position: Option<u32>,
}

/// Whether both are the same to SQL; a subquery, wherever it stands in them, is the same as its own copy.
pub(in crate::bind) fn same(a: &Expr, b: &Expr) -> bool {
    if !a.has_subquery() || !b.has_subquery() {
        return a.same_form(b);
    }
    let (mut around_a, mut around_b) = (a.clone(), b.clone());
    let (mut within_a, mut within_b) = (Vec::new(), Vec::new());
    take_subqueries(&mut around_a, &mut within_a);
    take_subqueries(&mut around_b, &mut within_b);
    let are_copies = within_a.len() == within_b.len() && within_a.iter().zip(&within_b).all(|(a, b)| is_copy(a, b));
    are_copies && around_a.same_form(&around_b)
}

/// Takes the subqueries out of an expression; their numbers stand in their places.
fn take_subqueries(expr: &mut Expr, taken: &mut Vec<Expr>) {
    if matches!(expr.kind, ExprKind::Subquery(_)) {
        let number = Expr::constant(Value::Int(taken.len() as i64), expr.sql_type);
        taken.push(std::mem::replace(expr, number));
        return;
    }
    expr.children_mut().for_each(|child| take_subqueries(child, taken));
}

/// Whether one subquery was made by copying the other: what is bound anew has columns of its own.
fn is_copy(a: &Expr, b: &Expr) -> bool {
    let (ExprKind::Subquery(of_a), ExprKind::Subquery(of_b)) = (&a.kind, &b.kind) else { return false };
    let columns = of_a.plan.columns();
    let is_alike = std::mem::discriminant(&of_a.kind) == std::mem::discriminant(&of_b.kind);
    !columns.is_empty()
        && columns == of_b.plan.columns()
        && is_alike
        && a.children().zip(b.children()).all(|(a, b)| same(a, b))
}
