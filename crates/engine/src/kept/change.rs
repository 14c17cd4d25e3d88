//! Changes of a few rows, whose query is a short plan: INSERT of constant rows, UPDATE, DELETE and MERGE of rows that an index
//! finds. The rows are changed by the client's thread.

use std::sync::{Arc, Weak};

use base::Budget;
use catalog::Field;
use plan::Plan;
use smallvec::SmallVec;
use sql::{ArgumentUse, ChangeKind};
use storage::{Relation, RowId, Transaction};
use types::{Column, SqlType, Value};

use super::short::{Given, OneRow, Row, Short};
use crate::typed::{fitted, typed};

/// So many values of a row need no memory of their own.
const USUAL: usize = 20;

/// See the module.
pub(crate) struct ShortChange {
    pub relation: Weak<Relation>,
    pub kind: ChangeKind,
    /// The attributes that get values, in the order of the query's columns behind the row's id.
    pub attributes: Vec<usize>,
    pub source: Short,
    pub returning: Option<Returning>,
}

/// What is returned of changed rows: the query's columns behind those that attributes get.
pub(crate) struct Returning {
    pub fields: Arc<[Field]>,
    pub types: Arc<[SqlType]>,
}

/// What has come of a change.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub rows: usize,
    /// What is returned, if it was changed where it was found.
    pub returned: Option<Row>,
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
        let returning = returning.map(|fields| {
            let types = &source.types()[source.types().len() - fields.len()..];
            Returning { types: types.into(), fields }
        });
        Some(Self { relation: Arc::downgrade(relation), kind, attributes, source, returning })
    }

    /// Whether one that is alone needs no validation: whoever reads the row that it writes, and no other, is serializable by its
    /// snapshot.
    pub fn is_serializable(&self) -> bool {
        let reads_own = self.source.is_of_key() && self.kind != ChangeKind::Insert;
        reads_own || self.source.reads_nothing()
    }

    /// Whether so many rows are changed without anything else that has to be done, but that they are returned.
    fn is_simple(&self, relation: &Relation, rows: usize) -> bool {
        let is_noted = || rows > 1 || relation.effects_are_noted();
        self.is_plain() && !(self.kind == ChangeKind::Insert && is_noted())
    }

    /// Whether nothing else has to be done with any of its rows, but that they are returned.
    fn is_plain(&self) -> bool {
        match self.kind {
            ChangeKind::Insert => self.attributes.iter().copied().eq(0..self.attributes.len()),
            ChangeKind::Update { moves, repeats } => !moves && !repeats,
            ChangeKind::Delete { repeats } => !repeats,
            ChangeKind::Truncate | ChangeKind::Upsert { .. } | ChangeKind::Merge { .. } => false,
        }
    }

    /// Whether it is of at most one row, and changed where that is found.
    pub fn is_of_one(&self) -> bool {
        self.source.is_of_one() && self.is_plain() && (self.kind == ChangeKind::Insert || self.source.is_of_key())
    }

    /// Runs its query and changes the rows; says how many there were. The rows, if something else has to be done with them. None:
    /// something has failed.
    pub fn run(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        arguments: Given<'_>,
        budget: &dyn Fn() -> Budget,
    ) -> Option<Result<Done, Vec<Row>>> {
        let (mut spare, mut returned) = (Vec::new(), Vec::new());
        if self.is_of_one()
            && let Some(run) = self.run_one(transaction, relation, arguments, (budget, &mut spare, &mut returned))
        {
            let returned = |rows| (self.returning.is_some() && rows > 0).then_some(returned);
            return run.map(|rows| Ok(Done { rows, returned: returned(rows) }));
        }
        let reads = transaction.reads();
        let mut rows = self.source.rows(arguments, &|relation| transaction.snapshot(relation), reads.as_deref())?;
        let count = rows.len();
        if !self.is_simple(relation, count) || self.returning.is_some() {
            return Some(Err(rows));
        }
        match (rows.as_mut_slice(), &self.kind) {
            ([], _) => {}
            ([row], ChangeKind::Insert) => {
                self.fit(relation, row)?;
                transaction.insert_row(relation, row, budget).ok()?;
            }
            ([row], ChangeKind::Delete { .. }) => transaction.delete(relation, &[id_of(row)?]).ok()?,
            ([row], _) => {
                let id = id_of(row)?;
                let (_, values) = row.split_first_mut()?;
                self.fit(relation, values)?;
                let values: Vec<_> = self.attributes.iter().copied().zip(values.iter()).collect();
                transaction.update_row(relation, id, &values).ok()?;
            }
            (rows, _) => self.change_rows(transaction, relation, self.source.chunk(rows).into_columns())?,
        }
        Some(Ok(Done { rows: count, returned: None }))
    }

    /// One of at most one row, which is changed where it is found; what is returned of it goes to `returned`. None: nothing has happened,
    /// and it has to be run in another way; or that says so. `spare` was the memory of another run.
    pub fn run_one(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        arguments: Given<'_>,
        (budget, spare, returned): (&dyn Fn() -> Budget, &mut Vec<Value>, &mut Row),
    ) -> Option<Option<usize>> {
        if !self.is_simple(relation, 1) || self.kind != ChangeKind::Insert && !self.source.is_of(relation) {
            return None;
        }
        let point = self.source.point(transaction)?;
        let mut run = self.source.one(arguments, (transaction, point.as_ref()), spare)?;
        let changed = self.source.find_one(&mut run).and_then(|found| match found {
            true => self.change_one(transaction, relation, &run, budget).map(|()| 1),
            false => Some(0),
        });
        if self.returning.is_some() && changed == Some(1) {
            let id = usize::from(self.kind != ChangeKind::Insert);
            returned.clear();
            returned.extend(self.source.each_of_row(&run).skip(id + self.attributes.len()).cloned());
        }
        *spare = run.into_spare();
        Some(changed)
    }

    /// Changes the only row of its query where it was found.
    fn change_one(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        run: &OneRow<'_>,
        budget: &dyn Fn() -> Budget,
    ) -> Option<()> {
        let attributes = relation.schema().attributes();
        let types = self.attributes.iter().map(|attribute| attributes[*attribute].sql_type);
        // What is cut is another value.
        let mut cut = Vec::new();
        let id = usize::from(self.kind != ChangeKind::Insert);
        let values = self.source.each_of_row(run).skip(id).take(self.attributes.len());
        for (at, (value, sql_type)) in values.clone().zip(types).enumerate() {
            if let Some(fitted) = fitted(value, sql_type).ok()? {
                cut.push((at, fitted));
            }
        }
        let mut row: SmallVec<[&Value; USUAL]> = values.collect();
        cut.iter().for_each(|(at, fitted)| row[*at] = fitted);
        match (&self.kind, run.found()) {
            (ChangeKind::Insert, _) => transaction.insert_row(relation, &row, budget).ok(),
            (ChangeKind::Delete { .. }, Some((point, found))) => point.delete(&found).ok(),
            (ChangeKind::Update { .. }, Some((point, found))) => {
                let values: SmallVec<[(usize, &Value); USUAL]> = self.attributes.iter().copied().zip(row).collect();
                point.update(&found, &values).ok()
            }
            _ => None,
        }
    }

    fn fit(&self, relation: &Relation, values: &mut [Value]) -> Option<()> {
        let attributes = relation.schema().attributes();
        for (value, &attribute) in values.iter_mut().zip(&self.attributes) {
            if let Some(fitted) = fitted(value, attributes[attribute].sql_type).ok()? {
                *value = fitted;
            }
        }
        Some(())
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

/// The id that comes first in a row.
fn id_of(row: &[Value]) -> Option<RowId> {
    match row.first() {
        Some(Value::Int(id)) => Some(RowId::from_bits(*id as u64)),
        // A row without an id is none that could be changed.
        _ => None,
    }
}
