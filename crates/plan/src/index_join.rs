//! Index joins (decision 68): where a join may look up the rows of a table by the keys of its build side instead of scanning the
//! table for its probe, and what that costs. The optimizer, EXPLAIN and, once the keys are there, the engine decide by the same numbers.

use base::IdMap;
use catalog::{IndexPart, IndexStatistics};
use types::SqlType;

use crate::{BuildSide, ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, TableId, TableInfo};

/// So many rows are scanned in the time of one lookup, and in that of reading a row that was found.
const SCANNED_A_LOOKUP: f64 = 120.0;
const SCANNED_A_ROW: f64 = 30.0;

/// How many rows could be scanned in the time in which those of so many keys are looked up, if so many have each.
pub fn scanned_meanwhile(keys: f64, rows_each: f64) -> f64 {
    keys * (SCANNED_A_LOOKUP + rows_each * SCANNED_A_ROW)
}

/// A table whose rows may be looked up, and how.
#[derive(Clone, Debug)]
pub struct IndexJoin {
    /// The name of the index.
    pub index: String,
    /// The rows of the table.
    pub rows: f64,
    /// How many rows have one key, as far as is known.
    pub rows_each: f64,
    /// The attributes that are looked up.
    attributes: Vec<usize>,
}

impl IndexJoin {
    /// The best for a join with this condition that is probed by the rows of a node, if these are read from a table.
    pub fn of(tables: &IdMap<TableId, TableInfo>, probe: &Node, condition: &[Expr]) -> Option<Self> {
        let scan = scanned_by(probe)?;
        let Op::Scan { table, columns, predicates } = &scan.op else { return None };
        let info = tables.get(*table)?;
        let is_own = |column: ColumnId| columns.iter().any(|(_, own)| *own == column);
        let is_given = |attribute: usize, by: &[Expr]| {
            let column = columns.iter().find(|(known, _)| *known == attribute);
            column.is_some_and(|(_, column)| by.iter().any(|conjunct| gives(conjunct, *column, &is_own)))
        };
        let statistics = &info.statistics;
        let join = |index: IndexStatistics| {
            let by_join = |part: &IndexPart| is_given(part.attribute, condition);
            let told = index.parts.iter().take_while(|part| by_join(part) || is_given(part.attribute, predicates));
            let told: Vec<&IndexPart> = told.collect();
            if !told.iter().any(|part| by_join(part)) {
                return None;
            }
            let rows_each = rows_of_prefixes(&index, info)[told.len() - 1]?;
            let attributes = told.iter().map(|part| part.attribute).collect();
            Some(Self { index: index.name, rows: statistics.rows() as f64, rows_each, attributes })
        };
        let joins = statistics.indexes().into_iter().filter_map(join);
        joins.min_by(|a, b| a.rows_each.total_cmp(&b.rows_each).then(b.attributes.len().cmp(&a.attributes.len())))
    }

    /// Whether it is worth while for so many keys.
    pub fn pays(&self, keys: f64) -> bool {
        scanned_meanwhile(keys, self.rows_each) < self.rows
    }

    /// The same where nobody reads the rows: of a semi or anti join that keeps its build side and asks for nothing but keys.
    pub fn pays_alone(&self, join: &Node, keys: f64) -> bool {
        let Op::Join { kind, right, build, .. } = &join.op else { return false };
        let keeps_build = matches!(kind, JoinKind::Semi | JoinKind::Anti) && *build == BuildSide::Left;
        let Op::Scan { columns, .. } = &right.op else { return false };
        let reads_keys = columns.iter().all(|(attribute, _)| self.attributes.contains(attribute));
        keeps_build && reads_keys && scanned_meanwhile(keys, 0.0) < self.rows
    }
}

/// How many rows have one value of each prefix of an index's attributes; none if nothing is found by so few of them.
pub fn rows_of_prefixes(index: &IndexStatistics, table: &TableInfo) -> Vec<Option<f64>> {
    let rows = table.statistics.rows() as f64;
    let mut distinct: f64 = 1.0;
    let prefix = |(number, part): (usize, &IndexPart)| {
        distinct = distinct.max(table.statistics.column(part.attribute).distinct.unwrap_or(1.0));
        let is_whole = number + 1 == index.parts.len();
        let usable = index.is_complete && index.only.is_none() && (is_whole || index.is_ordered);
        let rows_each = if is_whole && index.is_unique() { 1.0 } else { (rows / distinct).max(1.0) };
        usable.then_some(rows_each)
    };
    index.parts.iter().enumerate().map(prefix).collect()
}

/// The scan whose rows go through a node one by one.
pub fn scanned_by(node: &Node) -> Option<&Node> {
    match &node.op {
        Op::Scan { .. } => Some(node),
        Op::Filter { input, .. } | Op::Map { input, .. } => scanned_by(input),
        _ => None,
    }
}

/// The column whose values an expression has as they are: the column itself, or one of integers or decimals in a wider type.
pub fn column_of(expr: &Expr) -> Option<ColumnId> {
    let ExprKind::Cast(input) = &expr.kind else { return expr.as_column() };
    let is_wider = match (input.sql_type, expr.sql_type) {
        (SqlType::Decimal { precision, scale }, SqlType::Decimal { precision: wide, scale: same }) => {
            same == scale && wide >= precision
        }
        (from, to) => from.is_integer() && to.is_integer() && from.physical().size() <= to.physical().size(),
    };
    if is_wider { input.as_column() } else { None }
}

/// Whether a conjunct says that a column of a table is equal to something that is none of its own columns.
fn gives(conjunct: &Expr, column: ColumnId, is_own: &dyn Fn(ColumnId) -> bool) -> bool {
    let ExprKind::Compare(Compare::Eq, a, b) = &conjunct.kind else { return false };
    let is = |column_side: &Expr, other: &Expr| column_of(column_side) == Some(column) && !other.uses(is_own);
    is(a, b) || is(b, a)
}
