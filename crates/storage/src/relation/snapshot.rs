//! What a query reads: the chunks of a relation as of one moment.

use std::sync::{Arc, Mutex, OnceLock};

use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::{Live, lock};
use crate::statistics::{Bounds, SAMPLE_ROWS, Sample};
use crate::{RowId, Schema, StoredChunk};

/// An unchanging view of all rows that were committed at one moment. Cheap to clone; keeps its memory alive.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} rows in {} chunks)", self.rows(), self.chunks().len())
    }
}

struct Inner {
    schema: Arc<Schema>,
    partitions: usize,
    chunks: Vec<Arc<StoredChunk>>,
    rows: usize,
    live: Arc<Mutex<Live>>,
    sample: OnceLock<Option<Arc<Chunk>>>,
    estimates: OnceLock<Box<[ColumnEstimate]>>,
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
    pub(super) fn new(
        schema: Arc<Schema>,
        partitions: usize,
        chunks: Vec<Arc<StoredChunk>>,
        rows: usize,
        live: Arc<Mutex<Live>>,
    ) -> Self {
        debug_assert_eq!(rows, chunks.iter().map(|c| c.rows()).sum::<usize>());
        let (sample, estimates) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { schema, partitions, chunks, rows, live, sample, estimates }))
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.rows
    }
    /// All chunks; each is at the index that is its number.
    pub fn chunks(&self) -> &[Arc<StoredChunk>] {
        &self.0.chunks
    }
    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.0.partitions
    }
    /// The chunks of one partition.
    pub fn partition(&self, partition: usize) -> impl Iterator<Item = &Arc<StoredChunk>> {
        self.chunks().iter().filter(move |c| c.partition() == partition)
    }
    /// One row.
    pub fn row(&self, id: RowId) -> Vec<Value> {
        self.chunks()[id.chunk()].chunk().row(id.offset())
    }

    /// A uniform sample of at most [`SAMPLE_ROWS`] rows in the order of their ids; none
    /// if there is no row. The same for the same rows, however they were loaded into these chunks.
    pub fn sample(&self) -> Option<Arc<Chunk>> {
        self.0.sample.get_or_init(|| self.gather_sample()).clone()
    }

    fn gather_sample(&self) -> Option<Arc<Chunk>> {
        let rows = lock(&self.0.live).sample.rows();
        let seen = |id: &RowId| self.chunks().get(id.chunk()).is_some_and(|c| id.offset() < c.rows());
        let mut rows: Vec<RowId> = rows.into_iter().filter(seen).collect();
        if rows.len() < SAMPLE_ROWS.min(self.rows()) {
            // Later rows have displaced some of this snapshot's: sample again.
            let mut sample = Sample::default();
            self.chunks().iter().for_each(|c| sample.extend(c.number(), 0, c.rows()));
            rows = sample.rows();
        }
        if rows.is_empty() {
            return None;
        }
        let gather = |(attribute, a): (usize, &crate::Attribute)| {
            let mut builder = ColumnBuilder::new(a.sql_type, rows.len());
            for id in &rows {
                builder.push_value(&self.chunks()[id.chunk()].chunk().column(attribute).value(id.offset()));
            }
            builder.finish()
        };
        let columns = self.schema().attributes().iter().enumerate().map(gather).collect();
        Some(Arc::new(Chunk::new(rows.len(), columns)))
    }

    /// What is known of one attribute.
    pub fn column(&self, attribute: usize) -> &ColumnEstimate {
        let estimates = self.0.estimates.get_or_init(|| {
            let live = lock(&self.0.live);
            let columns = self.schema().attributes().iter().zip(&live.summary.columns);
            let estimate = |(a, c): (&crate::Attribute, &crate::statistics::ColumnSummary)| ColumnEstimate {
                sql_type: a.sql_type,
                distinct: c.sketch.estimate().min(self.rows() as f64),
                bounds: c.bounds.clone(),
            };
            columns.map(estimate).collect()
        });
        &estimates[attribute]
    }
}
