//! Changes of a few rows, whose query is a short plan: INSERT of constant rows, UPDATE, DELETE and MERGE of rows that an index
//! finds. The rows are changed by the client's thread.

use std::sync::{Arc, Weak};

use base::Budget;
use catalog::Field;
use plan::Plan;
use sql::{ArgumentUse, ChangeKind};
use storage::{Relation, RowId, Transaction};
use types::{Chunk, Column, Value};

use super::short::{Row, Short};
use crate::typed::{fit, typed};

/// See the module.
pub(crate) struct ShortChange {
    pub relation: Weak<Relation>,
    pub kind: ChangeKind,
    /// The attributes that get values, in the order of the query's columns behind the row's id.
    pub attributes: Vec<usize>,
    pub source: Short,
    pub returning: Option<Arc<[Field]>>,
}

impl ShortChange {
    /// An optimised plan whose rows are changed so, if it is a short one.
    pub fn of(
        plan: &Plan,
        relation: &Arc<Relation>,
        (kind, attributes): (&ChangeKind, &[usize]),
        returning: Option<Arc<[Field]>>,
        arguments: &[ArgumentUse],
    ) -> Option<Self> {
        if *kind == ChangeKind::Truncate {
            return None;
        }
        let source = Short::of(plan, arguments)?;
        let (kind, attributes) = (kind.clone(), attributes.to_vec());
        Some(Self { relation: Arc::downgrade(relation), kind, attributes, source, returning })
    }

    /// Whether one that is alone needs no validation: whoever reads the row that it writes, and no other, is serializable by its
    /// snapshot.
    pub fn is_serializable(&self) -> bool {
        let reads_own = self.source.is_of_one_row() && self.kind != ChangeKind::Insert;
        reads_own || self.source.reads_nothing()
    }

    /// Changes rows, if that is all that is to be done with each, and says how many; none: something has failed. Otherwise the
    /// rows.
    pub fn change(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        mut rows: Vec<Row>,
        budget: &dyn Fn() -> Budget,
    ) -> Result<Option<usize>, Chunk> {
        let count = rows.len();
        let is_simple = match self.kind {
            ChangeKind::Insert => count <= 1 && !relation.effects_are_noted(),
            ChangeKind::Update { moves, repeats } => !moves && !repeats,
            ChangeKind::Delete { repeats } => !repeats,
            ChangeKind::Truncate | ChangeKind::Upsert { .. } | ChangeKind::Merge { .. } => false,
        };
        if !is_simple || self.returning.is_some() {
            return Err(self.source.chunk(&rows));
        }
        let done = match rows.as_mut_slice() {
            [] => Some(()),
            [row] => self.change_row(transaction, relation, row, budget),
            rows => self.change_rows(transaction, relation, self.source.chunk(rows).into_columns()),
        };
        Ok(done.map(|()| count))
    }

    /// Inserts the row, or updates or deletes the one whose id comes first.
    fn change_row(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        row: &mut [Value],
        budget: &dyn Fn() -> Budget,
    ) -> Option<()> {
        let (id, values) = match self.kind {
            ChangeKind::Insert => (None, row),
            _ => row.split_first_mut().map(|(id, values)| (Some(id), values))?,
        };
        let attributes = relation.schema().attributes();
        for (value, &attribute) in values.iter_mut().zip(&self.attributes) {
            fit(value, attributes[attribute].sql_type).ok()?;
        }
        match (&self.kind, id) {
            (ChangeKind::Delete { .. }, Some(Value::Int(id))) => {
                transaction.delete(relation, &[RowId::from_bits(*id as u64)])
            }
            (_, Some(Value::Int(id))) => {
                let values: Vec<_> = self.attributes.iter().copied().zip(values.iter()).collect();
                transaction.update_row(relation, RowId::from_bits(*id as u64), &values)
            }
            (_, None) => transaction.insert_row(relation, values, budget),
            // A row without an id is none that could be changed.
            _ => return None,
        }
        .ok()
    }

    /// Updates or deletes the rows whose ids come first.
    fn change_rows(&self, transaction: &Transaction, relation: &Arc<Relation>, mut columns: Vec<Column>) -> Option<()> {
        let ids = columns.remove(0);
        let id = |(place, id): (usize, &i64)| (RowId::from_bits(*id as u64), place as u32);
        let mut rows: Vec<(RowId, u32)> = ids.values::<i64>().iter().enumerate().map(id).collect();
        rows.sort_unstable();
        let (ids, places): (Vec<RowId>, Vec<u32>) = rows.into_iter().unzip();
        match self.kind {
            ChangeKind::Delete { .. } => transaction.delete(relation, &ids),
            _ => transaction.update(relation, &ids, &self.typed(relation, columns)?, &places),
        }
        .ok()
    }

    /// Columns with the types of the attributes that they are for.
    fn typed(&self, relation: &Relation, columns: Vec<Column>) -> Option<Vec<(usize, Column)>> {
        let attributes = relation.schema().attributes();
        let typed =
            |(column, &attribute)| Some((attribute, typed(column, &attributes[attribute], relation.name()).ok()?));
        columns.into_iter().zip(&self.attributes).map(typed).collect()
    }
}
