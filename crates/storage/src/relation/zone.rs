//! Insert zones: each worker appends to open chunks of its own (thesis 2.6.1), without any lock but its own.

use std::sync::Arc;

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use types::{Chunk, Column, SqlType, Value};

use crate::hash::hash_keys;
use crate::open::{OpenChunk, Rows};
use crate::statistics::{Bounds, Summary};
use crate::{CHUNK_ROWS, Schema};

/// A chunk that waits for the commit.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) chunk: Arc<Chunk>,
    pub(super) partition: usize,
    pub(super) bounds: Box<[Bounds]>,
    pub(super) memory: Reservation,
}

/// One worker's rows of one append, invisible until it commits.
#[derive(Debug)]
pub struct InsertZone {
    relation: Arc<str>,
    schema: Arc<Schema>,
    budget: Budget,
    /// By partition, the chunk being filled.
    open: Vec<Option<OpenChunk>>,
    pub(super) filled: Vec<Filled>,
    /// Of the filled chunks.
    pub(super) summary: Option<Summary>,
    /// The partition that the next chunk goes to if there is no key.
    next: usize,
}

impl InsertZone {
    pub(super) fn new(
        relation: Arc<str>,
        schema: Arc<Schema>,
        partitions: usize,
        first: usize,
        budget: Budget,
    ) -> Self {
        let open = (0..partitions).map(|_| None).collect();
        Self { relation, schema, budget, open, filled: Vec::new(), summary: None, next: first % partitions }
    }

    /// Appends rows; the columns are those of the schema, in its order and of its types. Small chunks are copied
    /// together into full ones; one that is at least half full is taken as it is. Checks NOT NULL. After an error the
    /// append can only be dropped.
    pub fn append(&mut self, chunk: Chunk) -> Result<()> {
        self.check_nulls(&chunk)?;
        if chunk.rows() == 0 {
            return Ok(());
        }
        assert_eq!(chunk.columns().len(), self.schema.attributes().len());
        if self.open.len() > 1 && !self.schema.primary_key().is_empty() {
            return self.scatter(&chunk);
        }
        let partition = self.next;
        self.next = (self.next + 1) % self.open.len();
        if (CHUNK_ROWS / 2..=CHUNK_ROWS).contains(&chunk.rows()) {
            let memory = self.budget.reserve(distinct_bytes(&chunk), "insert")?;
            self.fill(retyped(chunk, &self.schema), partition, memory);
            return Ok(());
        }
        self.copy(partition, &chunk, Rows::Range(0..chunk.rows()))
    }

    /// Sends each row to the partition that its first key attribute hashes to.
    fn scatter(&mut self, chunk: &Chunk) -> Result<()> {
        let partitions = self.open.len();
        let mut hashes = Vec::new();
        hash_keys(&[chunk.column(self.schema.primary_key()[0])], 0, chunk.rows(), &mut hashes);
        let mut rows = vec![Vec::new(); partitions];
        for (row, hash) in hashes.into_iter().enumerate() {
            rows[((u128::from(hash) * partitions as u128) >> 64) as usize].push(row as u32);
        }
        for (partition, rows) in rows.iter().enumerate() {
            self.copy(partition, chunk, Rows::List(rows))?;
        }
        Ok(())
    }

    /// Copies rows into the open chunk of a partition, and closes it whenever it is full.
    pub(super) fn copy(&mut self, partition: usize, chunk: &Chunk, mut rows: Rows<'_>) -> Result<()> {
        while rows.len() > 0 {
            let open = match &mut self.open[partition] {
                Some(open) => open,
                none => {
                    let types = self.schema.attributes().iter().map(|a| a.sql_type);
                    none.insert(OpenChunk::new(types, rows.len(), &self.budget)?)
                }
            };
            let (now, later) = {
                let n = rows.len().min(open.room());
                rows.split(n)
            };
            open.append(chunk, &now)?;
            if open.room() == 0 {
                self.close(partition);
            }
            rows = later;
        }
        Ok(())
    }

    /// Ends the open chunk of a partition, if there is one: it waits for the commit as it is.
    pub(super) fn close(&mut self, partition: usize) {
        if let Some(open) = self.open[partition].take() {
            let chunk = open.view();
            self.fill(chunk, partition, open.into_memory());
        }
    }

    fn fill(&mut self, chunk: Chunk, partition: usize, memory: Reservation) {
        let summary = self.summary.get_or_insert_with(|| Summary::new(self.schema.attributes().len()));
        let bounds = summary.add(&chunk, 0);
        self.filled.push(Filled { chunk: Arc::new(chunk), partition, bounds, memory });
    }

    /// Takes the open chunk of a partition.
    pub(super) fn take_open(&mut self, partition: usize) -> Option<OpenChunk> {
        self.open[partition].take()
    }

    fn check_nulls(&self, chunk: &Chunk) -> Result<()> {
        for (attribute, column) in self.schema.attributes().iter().zip(chunk.columns()) {
            if attribute.not_null
                && let Some(row) = column.nulls().and_then(|nulls| nulls.iter().position(|&n| n != 0))
            {
                let values: Vec<String> = chunk.columns().iter().map(|c| text(c.sql_type(), &c.value(row))).collect();
                return Err(Error::new(
                    SqlState::NOT_NULL_VIOLATION,
                    format!(
                        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                        attribute.name, self.relation
                    ),
                )
                .detail(format!("Failing row contains ({}).", values.join(", "))));
            }
        }
        Ok(())
    }
}

/// A value as error messages show it.
pub(super) fn text(sql_type: SqlType, value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { types::ops::cast::format_value(value, sql_type) }
}

/// The chunk under the schema's types.
fn retyped(chunk: Chunk, schema: &Schema) -> Chunk {
    let rows = chunk.rows();
    let columns = chunk.into_columns().into_iter().zip(schema.attributes());
    Chunk::new(rows, columns.map(|(c, a)| c.with_type(a.sql_type)).collect())
}

/// Bytes that the chunk holds, with buffers that several columns share counted once.
fn distinct_bytes(chunk: &Chunk) -> usize {
    let heaps = |c: &Column| c.heaps().iter().map(|h| (h.as_ptr(), h.capacity())).collect::<Vec<_>>();
    let mut shared: Vec<_> = chunk.columns().iter().flat_map(heaps).collect();
    let all: usize = shared.iter().map(|h| h.1).sum();
    shared.sort_unstable();
    shared.dedup();
    chunk.bytes() - all + shared.iter().map(|h| h.1).sum::<usize>()
}
