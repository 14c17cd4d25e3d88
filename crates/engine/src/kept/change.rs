//! Changes of a few rows, whose query is a short plan: INSERT of constant rows, UPDATE, DELETE and MERGE of rows that an index
//! finds. The rows are changed by the client's thread.

use std::sync::{Arc, Weak};

use base::Budget;
use catalog::Field;
use plan::Plan;
use sql::{ArgumentUse, ChangeKind};
use storage::{Relation, RowId, Transaction};
use types::{Chunk, Column};

use super::short::Short;
use crate::typed::typed;

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
        rows: Chunk,
        budget: &dyn Fn() -> Budget,
    ) -> Result<Option<usize>, Chunk> {
        let count = rows.rows();
        let is_simple = match self.kind {
            ChangeKind::Insert => count <= 1 && !relation.effects_are_noted(),
            ChangeKind::Update { moves, repeats } => !moves && !repeats,
            ChangeKind::Delete { repeats } => !repeats,
            ChangeKind::Truncate | ChangeKind::Upsert { .. } | ChangeKind::Merge { .. } => false,
        };
        if !is_simple || self.returning.is_some() {
            return Err(rows);
        }
        if count == 0 {
            return Ok(Some(0));
        }
        let columns = rows.into_columns();
        Ok(match self.kind {
            ChangeKind::Insert => {
                let Some(columns) = self.typed(relation, columns) else { return Ok(None) };
                let row = Chunk::new(1, columns.into_iter().map(|(_, column)| column).collect());
                transaction.insert_row(relation, &row, budget).ok()
            }
            _ => self.change_rows(transaction, relation, columns),
        }
        .map(|()| count))
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
