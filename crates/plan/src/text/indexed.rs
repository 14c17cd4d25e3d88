//! What people are told of the indexes that will be tried.

use catalog::IndexStatistics;

use crate::{ColumnId, Expr, Node, Op, Plan, SortKey};

/// How an index finds rows of a table.
pub(super) enum Found {
    /// Not at all.
    None,
    /// One for each key.
    Row,
    /// By that index, if they are few.
    Rows(String),
}

/// What the predicates of a scan say of the attributes of a table.
struct Told<'a> {
    columns: &'a [(usize, ColumnId)],
    predicates: &'a [Expr],
    indexes: Vec<IndexStatistics>,
}

impl<'a> Told<'a> {
    fn of(plan: &Plan, scan: &'a Node) -> Option<Self> {
        let Op::Scan { table, columns, predicates } = &scan.op else { return None };
        let mut indexes = plan.tables.get(*table)?.statistics.indexes();
        indexes.retain(|index| index.is_complete);
        let mut told = Self { columns, predicates, indexes: Vec::new() };
        indexes.retain(|index| index.only.is_none_or(|only| told.is_true(only)));
        told.indexes = indexes;
        Some(told)
    }

    fn any(&self, attribute: usize, says: impl Fn(&Expr, ColumnId) -> bool) -> bool {
        let column = self.columns.iter().find(|(a, _)| *a == attribute).map(|(_, column)| *column);
        column.is_some_and(|column| self.predicates.iter().any(|predicate| says(predicate, column)))
    }

    fn is_true(&self, attribute: usize) -> bool {
        self.any(attribute, |predicate, column| predicate.as_column() == Some(column))
    }

    fn is_equal(&self, attribute: usize) -> bool {
        self.any(attribute, Expr::tells)
    }

    /// How many leading attributes of an index are equal to something.
    fn equal(&self, index: &IndexStatistics) -> usize {
        index.parts.iter().take_while(|part| self.is_equal(part.attribute)).count()
    }
}

/// Whether the predicates of a scan leave so little that an index finds the rows.
pub(super) fn found_by(plan: &Plan, scan: &Node) -> Found {
    let Some(told) = Told::of(plan, scan) else { return Found::None };
    if told.indexes.iter().any(|index| index.is_unique() && told.equal(index) == index.parts.len()) {
        return Found::Row;
    }
    let leaves = |index: &&IndexStatistics| {
        let equal = told.equal(index);
        (equal, index.parts.get(equal).is_some_and(|part| told.any(part.attribute, Expr::bounds)))
    };
    let ordered = told.indexes.iter().filter(|i| i.is_ordered && (leaves(i) > (0, false) || i.only.is_some()));
    ordered.max_by_key(leaves).map_or(Found::None, |index| Found::Rows(index.name.clone()))
}

/// The index that finds the first rows of a scan in an order, if they are few.
pub(super) fn first_by(plan: &Plan, input: &Node, key: &SortKey) -> Option<String> {
    let (mut node, mut column) = (input, key.expr.as_column()?);
    while let Op::Map { input, columns } = &node.op {
        if let Some((_, made)) = columns.iter().find(|(c, _)| *c == column) {
            column = made.as_column()?;
        }
        node = input;
    }
    let told = Told::of(plan, node)?;
    let (attribute, _) = *told.columns.iter().find(|(_, c)| *c == column)?;
    let has_order = |index: &&IndexStatistics| {
        let mut behind = index.parts.iter().skip_while(|p| p.attribute != attribute && told.is_equal(p.attribute));
        behind.next().is_some_and(|part| {
            let turned = part.descending != key.descending;
            let nulls = !index.has_null || (part.nulls_first != turned) == key.nulls_first;
            index.is_ordered && part.attribute == attribute && nulls
        })
    };
    told.indexes.iter().find(has_order).map(|index| index.name.clone())
}
