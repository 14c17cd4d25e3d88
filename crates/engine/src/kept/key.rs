//! Primary keys that the conditions of a scan tell, by constants and arguments.

use std::sync::Arc;

use base::ids::Id;
use plan::{ArgumentId, ColumnId, Compare, Expr, ExprKind};
use runtime::query::Arguments;
use storage::transaction::Reads;
use storage::{Comparison, Relation, ScanOp, ScanPredicate, Schema};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::key::is_key;

/// What a primary key is said to be equal to.
pub(super) struct Key {
    /// Types and values of the key's attributes, in its order.
    parts: Vec<(usize, SqlType, Part)>,
}

/// Where an attribute of the key has its value from.
enum Part {
    Constant(Value),
    Argument(ArgumentId),
}

impl Key {
    /// The key that the conditions of a scan of these columns tell, and the conditions that are left.
    pub fn of<'a>(
        schema: &Schema,
        columns: &[(usize, ColumnId)],
        predicates: &'a [Expr],
    ) -> Option<(Self, Vec<&'a Expr>)> {
        let attribute = |column: ColumnId| columns.iter().find(|(_, c)| *c == column).map(|(attribute, _)| *attribute);
        let told = |predicate: &Expr| {
            let (column, value) = equality(predicate)?;
            Some((attribute(column)?, value.sql_type, part(value)?))
        };
        let mut left: Vec<&Expr> = predicates.iter().collect();
        let mut parts = Vec::with_capacity(schema.primary_key().len());
        for &of_key in schema.primary_key() {
            let sql_type = schema.attributes()[of_key].sql_type;
            let at = left.iter().position(|predicate| told(predicate).is_some_and(|told| told.0 == of_key))?;
            let (_, own, part) = told(left.remove(at))?;
            if own.physical() != sql_type.physical() {
                return None;
            }
            parts.push((of_key, sql_type, part));
        }
        (!parts.is_empty()).then_some((Self { parts }, left))
    }

    /// Its values, one row; nothing if these arguments need another way.
    pub fn values(&self, arguments: &Arguments) -> Option<Chunk> {
        let mut key = Vec::with_capacity(self.parts.len());
        for (_, sql_type, part) in &self.parts {
            let value = part.value(arguments);
            if !is_key(*sql_type, value) {
                return None;
            }
            let mut column = ColumnBuilder::new(*sql_type, 1);
            column.push_value(value);
            key.push(column.finish());
        }
        Some(Chunk::new(1, key))
    }

    /// Notes that the row with these values is read: attributes of it.
    pub fn note(
        &self,
        reads: &Reads,
        relation: &Arc<Relation>,
        arguments: &Arguments,
        attributes: impl Iterator<Item = usize>,
    ) {
        let predicate = |(attribute, sql_type, part): &(usize, SqlType, Part)| {
            let op = ScanOp::Compare(Comparison::Eq, part.value(arguments).clone());
            ScanPredicate::new(*attribute, *sql_type, op)
        };
        reads.note(relation, &self.parts.iter().map(predicate).collect::<Vec<_>>(), attributes);
    }
}

impl Part {
    fn value<'a>(&'a self, arguments: &'a Arguments) -> &'a Value {
        match self {
            Self::Constant(value) => value,
            Self::Argument(id) => &arguments.values[id.index()],
        }
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
