//! Point lookups: columns of the one row that has a primary key. Nothing has to be started for them: no pipeline, no state, no
//! worker. A microsecond is what the rest of a query costs.

use base::ids::Id;
use plan::{ArgumentId, ColumnId, Compare, Expr, ExprKind, Op, Plan};
use runtime::query::Arguments;
use storage::Snapshot;
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::key::is_key;
use crate::source::Source;

/// A plan that is a point lookup and nothing else.
pub(super) struct Point {
    /// Types and values of the key's attributes, in its order.
    key: Vec<(SqlType, Part)>,
    /// The attributes that are its output.
    output: Vec<usize>,
}

/// Where an attribute of the key has its value from.
enum Part {
    Constant(Value),
    Argument(ArgumentId),
}

impl Point {
    /// An optimised plan as a point lookup, if it is one.
    pub fn of(plan: &Plan) -> Option<Self> {
        let Op::Scan { table, columns, predicates } = &plan.root.op else { return None };
        let Ok(Source::Stored(snapshot, _)) = Source::of(&plan.tables[*table].source) else { return None };
        let schema = snapshot.schema();
        let attribute = |column: ColumnId| columns.iter().find(|(_, c)| *c == column).map(|(attribute, _)| *attribute);
        let told: Vec<(usize, SqlType, Part)> = predicates
            .iter()
            .map(|predicate| {
                let (column, value) = equality(predicate)?;
                Some((attribute(column)?, value.sql_type, part(value)?))
            })
            .collect::<Option<_>>()?;
        if told.len() != schema.primary_key().len() {
            return None;
        }
        let mut told: Vec<Option<_>> = told.into_iter().map(Some).collect();
        let mut key = Vec::with_capacity(told.len());
        for &of_key in schema.primary_key() {
            let sql_type = schema.attributes()[of_key].sql_type;
            let is_told = |t: &&mut Option<(usize, SqlType, Part)>| t.as_ref().is_some_and(|t| t.0 == of_key);
            let (_, own, part) = told.iter_mut().find(is_told)?.take()?;
            if own.physical() != sql_type.physical() {
                return None;
            }
            key.push((sql_type, part));
        }
        let is_stored = |attribute: &usize| *attribute < schema.attributes().len();
        let output: Option<Vec<usize>> =
            plan.output.iter().map(|(_, column)| attribute(*column).filter(is_stored)).collect();
        Some(Self { key, output: output? })
    }

    /// The rows that it finds, at most one; nothing if these arguments need another way.
    pub fn find(&self, snapshot: &Snapshot, arguments: &Arguments) -> Option<Vec<Chunk>> {
        let mut key = Vec::with_capacity(self.key.len());
        for (sql_type, part) in &self.key {
            let value = match part {
                Part::Constant(value) => value,
                Part::Argument(id) => &arguments.values[id.index()],
            };
            if !is_key(*sql_type, value) {
                return None;
            }
            let mut column = ColumnBuilder::new(*sql_type, 1);
            column.push_value(value);
            key.push(column.finish());
        }
        let Some(Some(row)) = snapshot.find(Chunk::new(1, key)).pop() else { return Some(Vec::new()) };
        let reader = snapshot.chunk(row.chunk()).read();
        let columns = self.output.iter().map(|&attribute| reader.gather(attribute, std::iter::once(row.offset())));
        Some(vec![Chunk::new(1, columns.collect())])
    }
}

/// The column and the value that a condition says are equal.
fn equality(predicate: &Expr) -> Option<(ColumnId, &Expr)> {
    let ExprKind::Compare(Compare::Eq, a, b) = &predicate.kind else { return None };
    match (a.as_column(), b.as_column()) {
        (Some(column), None) => Some((column, b)),
        (None, Some(column)) => Some((column, a)),
        _ => None,
    }
}

fn part(value: &Expr) -> Option<Part> {
    match &value.kind {
        ExprKind::Const(value) => Some(Part::Constant(value.clone())),
        ExprKind::Argument(id, _) => Some(Part::Argument(*id)),
        _ => None,
    }
}
