//! What a query reads: the rows of a relation as of one moment.

use std::sync::Arc;

use types::{Chunk, Column, ColumnBuilder, SqlType, Value};

use super::found::FoundRow;
use super::live::View;
use super::{Commit, Relation};
use crate::clock;
use crate::index::{IndexUse, KeyPart, Keys, RowIndex, Unique};
use crate::lock::lock;
use crate::statistics::{Bounds, ValueRange};
use crate::{ChunkReader, ChunkView, Guard, RowId, Schema};

/// An unchanging view of all rows that were committed at one moment. Cheap to take and to clone; keeps the relation alive.
#[derive(Clone)]
pub struct Snapshot {
    relation: Arc<Relation>,
    visible: Arc<View>,
    view: clock::View,
    indexes: IndexUse,
    /// Shared with the transaction whose rows are among them.
    _own: Option<Arc<()>>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} rows in {} chunks)", self.rows(), self.chunk_count())
    }
}

/// What is known of the values of a column.
#[derive(Clone, Debug)]
pub struct ColumnEstimate {
    sql_type: SqlType,
    /// The estimated number of distinct values other than NULL.
    pub distinct: f64,
    /// Bounds of all values, and an upper bound of the number of NULLs that is exact if 0.
    pub bounds: Bounds,
}

impl ColumnEstimate {
    /// Lower and upper bound as values of the column's type, where there are such values.
    pub fn range(&self) -> (Option<Value>, Option<Value>) {
        self.bounds.values(self.sql_type)
    }
}

impl Snapshot {
    pub(super) fn new(relation: Arc<Relation>, visible: Arc<View>, view: clock::View) -> Self {
        Self { relation, visible, view, indexes: IndexUse::All, _own: None }
    }

    /// The same with rows that only their transaction sees.
    pub(crate) fn with_own(self, own: &Commit) -> Self {
        let visible = Arc::new(own.visible(&self.visible));
        Self { visible, _own: Some(own.readers().clone()), ..self }
    }

    /// The same for whom may use only some indexes.
    pub fn with_indexes(self, indexes: IndexUse) -> Self {
        Self { indexes, ..self }
    }

    /// The attributes of the primary key, if rows may be found by it.
    pub fn usable_key(&self) -> Option<&[usize]> {
        let key = self.schema().primary_key();
        (!key.is_empty() && self.indexes.allows(true)).then_some(key)
    }

    /// The ordered indexes that know all its rows, and may be used.
    pub fn usable_indexes(&self) -> Vec<Arc<RowIndex>> {
        let mut indexes = self.relation.indexes();
        indexes.retain(|index| self.is_complete(index) && self.indexes.allows(index.definition().unique != Unique::No));
        indexes
    }

    /// Whether it has the rows that the relation began with, if these were another one's.
    pub fn is_whole(&self) -> bool {
        self.relation.is_there_for(&self.view)
    }
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.relation.schema
    }
    /// Whose rows they are.
    pub fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }
    /// Freezes all that is left to freeze of the relation.
    pub fn freeze_rest(&self) {
        self.relation.freeze_rest();
    }
    /// Number of rows; once some were deleted, about that.
    pub fn rows(&self) -> usize {
        self.visible.rows.saturating_sub(self.relation.dead_rows())
    }
    /// Number of rows, dead ones among them.
    pub fn rows_with_dead(&self) -> usize {
        self.visible.rows
    }
    /// Number of chunks, some of which may have no row.
    pub fn chunk_count(&self) -> usize {
        self.visible.chunks
    }

    /// A chunk by its number.
    pub fn chunk(&self, number: usize) -> ChunkView<'_> {
        assert!(number < self.visible.chunks);
        let chunk = self.relation.directory.get(number);
        let rows = self.visible.visible(number).unwrap_or_else(|| chunk.closed_rows());
        ChunkView::new(chunk, rows, &self.view)
    }

    /// All chunks in the order of their numbers, which is that of their rows.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = ChunkView<'_>> {
        (0..self.visible.chunks).map(|number| self.chunk(number))
    }

    /// One row.
    pub fn row(&self, id: RowId) -> Vec<Value> {
        self.chunk(id.chunk()).read().row(id.offset())
    }

    /// One that is visible, as it is now.
    pub fn pin<'g>(&'g self, id: RowId, guard: &'g Guard) -> FoundRow<'g> {
        assert!(self.relation.has_row(id, &self.visible));
        self.relation.row_at(id, guard)
    }

    /// The rows that have these values of the primary key, by the relation's index: without any writer's lock.
    ///
    /// # Panics
    /// If there is no primary key.
    pub fn find(&self, keys: Chunk) -> Vec<Option<RowId>> {
        let index = self.relation.index.as_ref().expect("a relation with a primary key");
        let reader = ChunkReader::of(keys);
        let attributes: Vec<usize> = (0..self.schema().primary_key().len()).collect();
        let mut found = Vec::new();
        // The index knows all rows, this snapshot not all of them.
        let sees = |id| self.sees(id);
        index.find(&Keys::new(&reader, &attributes, 0..reader.rows()), &*self.relation, &sees, &mut found);
        found
    }

    /// As [`find`](Self::find), of one key, whose parts are in the order of the primary key.
    /// `expected` is told of a row that probably is it, before anything of it is read.
    pub fn find_one<'g>(
        &'g self,
        key: &[KeyPart<'_>],
        guard: &'g Guard,
        expected: impl Fn(&FoundRow<'g>),
    ) -> Option<FoundRow<'g>> {
        self.relation.find_row(key, (&self.visible, &self.view), (guard, expected))
    }

    /// Who sees them.
    pub fn view(&self) -> &clock::View {
        &self.view
    }

    /// Whether the row is visible.
    pub fn sees(&self, id: RowId) -> bool {
        self.relation.has_row(id, &self.visible)
            && self.relation.sidecar_of(id.chunk()).is_none_or(|sidecar| sidecar.is_alive(id.offset(), &self.view))
    }

    /// A uniform sample of at most [`SAMPLE_ROWS`](crate::statistics::SAMPLE_ROWS) rows in the order of their ids; none if
    /// there is no row. Kept by the relation, so that it may lag behind by an eighth of the rows, or be ahead of an old
    /// snapshot. It has all columns, but those that are not among `attributes` may be NULL.
    pub fn sample(&self, attributes: &[usize]) -> Option<Arc<Chunk>> {
        let types = self.schema().attributes().iter().map(|attribute| attribute.sql_type);
        lock(&self.relation.live).sample.values(attributes, types, |ids, asked| gather(&self.relation, ids, asked))
    }

    /// What is known of one attribute. Freezes what is left of it: its distinct values are counted then.
    pub fn column(&self, attribute: usize) -> ColumnEstimate {
        if attribute == self.schema().attributes().len() {
            // Row ids: nothing is known of them but that there is no NULL.
            let bounds = Bounds { range: ValueRange::Keys { min: 0, max: i128::from(i64::MAX) }, nulls: 0 };
            return ColumnEstimate { sql_type: SqlType::BigInt, distinct: self.rows() as f64, bounds };
        }
        self.relation.freeze_attribute(attribute);
        let mut live = lock(&self.relation.live);
        self.relation.count_young(&mut live);
        let summary = &live.summary.columns[attribute];
        let sql_type = self.schema().attributes()[attribute].sql_type;
        let distinct = summary.sketch.estimate().min(self.rows() as f64);
        ColumnEstimate { sql_type, distinct, bounds: summary.bounds.clone() }
    }
}

/// The sampled rows' values of some attributes.
fn gather(relation: &Relation, ids: &[RowId], attributes: &[usize]) -> Vec<Column> {
    let builder = |attribute: &usize| {
        (*attribute, ColumnBuilder::new(relation.schema.attributes()[*attribute].sql_type, ids.len()))
    };
    let mut columns: Vec<_> = attributes.iter().map(builder).collect();
    for run in ids.chunk_by(|a, b| a.chunk() == b.chunk()) {
        let last = run[run.len() - 1];
        let reader = ChunkReader::new(relation.directory.get(last.chunk()).pin(), last.offset() + 1);
        for (attribute, column) in &mut columns {
            reader.gather_into(*attribute, run.iter().map(|id| id.offset()), column);
        }
    }
    columns.into_iter().map(|(_, column)| column.finish()).collect()
}
