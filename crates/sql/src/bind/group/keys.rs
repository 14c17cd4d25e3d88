//! The keys of GROUP BY, and what of a query refers to them.

use plan::{ColumnId, Expr, ExprKind};

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

/// Whether both are the same to SQL; a subquery is the same as its own copy.
pub(in crate::bind) fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Subquery(a), ExprKind::Subquery(b)) => {
            let columns = a.plan.columns();
            !columns.is_empty()
                && columns == b.plan.columns()
                && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
        }
        _ => a.same_form(b),
    }
}
