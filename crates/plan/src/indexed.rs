//! Which indexes will be tried for a scan, and for the first rows of one in an order: what people are told, and who plans for that.

use base::IdMap;
use catalog::IndexStatistics;

use crate::{AggregateCall, ColumnId, Compare, Expr, ExprKind, Node, Op, Plan, SortKey, TableId, TableInfo, Uses};

/// How an index finds rows of a table.
pub(crate) enum Found {
    /// Not at all.
    None,
    /// One for each key.
    Row,
    /// By that index, if they are few; and whether it tells all that anybody wants to know of them.
    Rows(String, bool),
}

/// What the predicates of a scan say of the attributes of a table.
struct Told<'a> {
    columns: &'a [(usize, ColumnId)],
    predicates: &'a [Expr],
    indexes: Vec<IndexStatistics>,
}

impl<'a> Told<'a> {
    fn of(tables: &IdMap<TableId, TableInfo>, scan: &'a Node) -> Option<Self> {
        let Op::Scan { table, columns, predicates } = &scan.op else { return None };
        let mut indexes = tables.get(*table)?.statistics.indexes();
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

    /// Whether the index tells all that predicates ask and nobody reads a column otherwise.
    fn is_enough(&self, index: &IndexStatistics, plan: &Plan) -> bool {
        let (all, own) = (Uses::of(plan), Uses::of_expressions(self.predicates));
        let equal = self.equal(index);
        let is_told = |&(attribute, column): &(usize, ColumnId)| {
            let of_column = || self.predicates.iter().filter(|predicate| predicate.uses(|c| c == column));
            let is_only = of_column().count() == 1;
            match index.parts.iter().position(|part| part.attribute == attribute) {
                _ if index.only == Some(attribute) => is_only,
                Some(part) if part < equal => is_only,
                Some(part) if part == equal => of_column().all(|predicate| predicate.bounds(column)),
                _ => of_column().count() == 0,
            }
        };
        self.columns.iter().all(|column| is_told(column) && all.times(column.1) == own.times(column.1))
    }

    /// How many leading attributes of an index are equal to something.
    fn equal(&self, index: &IndexStatistics) -> usize {
        index.parts.iter().take_while(|part| self.is_equal(part.attribute)).count()
    }
}

/// Whether the predicates of a scan leave so little that an index finds the rows.
pub(crate) fn found_by(plan: &Plan, scan: &Node) -> Found {
    let Some(told) = Told::of(&plan.tables, scan) else { return Found::None };
    if told.indexes.iter().any(|index| index.is_unique() && told.equal(index) == index.parts.len()) {
        return Found::Row;
    }
    let leaves = |index: &&IndexStatistics| {
        let equal = told.equal(index);
        (equal, index.parts.get(equal).is_some_and(|part| told.any(part.attribute, Expr::bounds)))
    };
    let finds = |index: &&IndexStatistics| match index.is_ordered {
        true => leaves(index) > (0, false) || index.only.is_some(),
        false => !index.is_primary && told.equal(index) == index.parts.len(),
    };
    told.indexes
        .iter()
        .filter(finds)
        .max_by_key(leaves)
        .map_or(Found::None, |index| Found::Rows(index.name.clone(), told.is_enough(index, plan)))
}

/// The index that finds the first rows of a scan in an order, if they are few.
pub(crate) fn first_by(tables: &IdMap<TableId, TableInfo>, input: &Node, key: &SortKey) -> Option<String> {
    let (mut node, mut column) = (input, key.expr.as_column()?);
    while let Op::Map { input, columns } = &node.op {
        if let Some((_, made)) = columns.iter().find(|(c, _)| *c == column) {
            column = made.as_column()?;
        }
        node = input;
    }
    let order = Order { column, descending: key.descending, nulls_first: Some(key.nulls_first) };
    Told::of(tables, node)?.first_by(order).map(|(index, _)| index)
}

/// An order of rows by a column.
struct Order {
    column: ColumnId,
    descending: bool,
    /// None: NULLs are not wanted.
    nulls_first: Option<bool>,
}

impl Told<'_> {
    /// The index that has the rows in an order, and whether it tells all that the predicates ask.
    fn first_by(&self, order: Order) -> Option<(String, bool)> {
        let (attribute, _) = *self.columns.iter().find(|(_, c)| *c == order.column)?;
        let has_order = |index: &IndexStatistics| {
            let equal = index.parts.iter().take_while(|p| p.attribute != attribute && self.is_one(p.attribute)).count();
            let part = index.parts.get(equal).filter(|part| part.attribute == attribute && index.is_ordered)?;
            let turned = part.descending != order.descending;
            let nulls = order.nulls_first.is_none_or(|first| first == (part.nulls_first != turned));
            (nulls || !index.has_null || self.is_not_null(attribute)).then_some(equal)
        };
        let found = self.indexes.iter().filter_map(|index| Some((has_order(index)?, index)));
        let (equal, index) = found.max_by_key(|(equal, _)| *equal)?;
        let told = |predicate: &Expr| {
            let of = |attribute: usize| self.columns.iter().find(|(a, _)| *a == attribute).map(|(_, column)| *column);
            let is_told = |attribute: usize| of(attribute).is_some_and(|column| says_one(predicate, column));
            index.parts[..equal].iter().any(|part| is_told(part.attribute))
                || index.only.and_then(of).is_some_and(|only| predicate.as_column() == Some(only))
                || of(attribute).is_some_and(|column| predicate.bounds(column) || excludes_null(predicate, column))
        };
        Some((index.name.clone(), self.predicates.iter().all(told)))
    }

    /// Whether the attribute is equal to one value.
    fn is_one(&self, attribute: usize) -> bool {
        self.any(attribute, says_one)
    }

    fn is_not_null(&self, attribute: usize) -> bool {
        self.any(attribute, excludes_null)
    }
}

/// Whether a predicate says what a column is equal to.
fn says_one(predicate: &Expr, column: ColumnId) -> bool {
    matches!(predicate.kind, ExprKind::Compare(Compare::Eq, ..)) && predicate.tells(column)
}

/// Whether it leaves no NULL.
fn excludes_null(predicate: &Expr, column: ColumnId) -> bool {
    match &predicate.kind {
        ExprKind::Not(inner) => matches!(&inner.kind, ExprKind::IsNull(of) if of.as_column() == Some(column)),
        ExprKind::IsNull(_) => false,
        _ => predicate.bounds(column),
    }
}

/// Whether an index has the rows of a scan in the order of a column, NULLs aside; and if so, whether it tells all that the
/// predicates of the scan ask.
pub fn ends_by(
    tables: &IdMap<TableId, TableInfo>,
    scan: &Node,
    column: ColumnId,
    greatest: bool,
) -> Option<(String, bool)> {
    Told::of(tables, scan)?.first_by(Order { column, descending: greatest, nulls_first: None })
}

/// The column of whose values an aggregate is the least, or the greatest: then it is true.
pub fn end_of(call: &AggregateCall) -> Option<(ColumnId, bool)> {
    let greatest = call.function.end()?;
    let column = call.arguments.first()?.as_column()?;
    if call.filter.is_some() { None } else { Some((column, greatest)) }
}

/// The index that finds the ends of a number's values for the aggregate above a scan.
pub(crate) fn extremes_by(tables: &IdMap<TableId, TableInfo>, node: &Node) -> Option<String> {
    let Op::Aggregate { input, groups, aggregates } = &node.op else { return None };
    let index = |(_, call): &(ColumnId, AggregateCall)| {
        let (column, greatest) = end_of(call).filter(|_| call.sql_type.is_numeric())?;
        ends_by(tables, input, column, greatest).filter(|(_, tells_all)| *tells_all).map(|(index, _)| index)
    };
    let indexes = aggregates.iter().map(index).collect::<Option<Vec<String>>>()?;
    if groups.is_empty() { indexes.into_iter().next() } else { None }
}
