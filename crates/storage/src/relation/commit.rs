//! The commit of an append:
//! 1. the filled chunks are numbered after the existing ones;
//! 2. what is left in the zones' open chunks goes to the tail of each partition: into its free rows if there is room,
//!    else the fuller of the two is closed and the other is the tail from now on;
//! 3. all new keys enter the index;
//! 4. the statistics are extended, and a new snapshot is published.
//!
//! Only step 4 is visible. The steps before it can fail and are undone: the index forgets the new entries, and the
//! tails have the rows that they had.

use std::sync::Arc;

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use types::Chunk;

use super::key_index::Chunks;
use super::zone::{Filled, text};
use super::{Relation, Snapshot, Tail, Writer, lock};
use crate::open::{OpenChunk, Rows};
use crate::statistics::{Bounds, Summary};
use crate::{RowId, StoredChunk};

/// A chunk that gets a new number.
struct Added {
    chunk: Arc<Chunk>,
    partition: usize,
    /// Known of filled chunks; a new tail's are computed when it is published.
    bounds: Option<Box<[Bounds]>>,
    memory: Option<Reservation>,
}

/// A tail with new rows.
struct Grown {
    partition: usize,
    number: usize,
    /// Rows that it had.
    before: usize,
    chunk: Arc<Chunk>,
}

/// An unfinished commit.
struct Commit<'a> {
    relation: &'a Relation,
    writer: &'a mut Writer,
    added: Vec<Added>,
    grown: Vec<Grown>,
    /// By partition, the tail that another one has replaced.
    replaced: Vec<(usize, Option<Tail>)>,
}

/// All chunks, committed or not.
struct AllChunks<'a> {
    committed: &'a [Arc<StoredChunk>],
    added: &'a [Added],
    grown: &'a [Grown],
}

impl Chunks for AllChunks<'_> {
    fn chunk(&self, number: usize) -> &Chunk {
        if let Some(new) = number.checked_sub(self.committed.len()) {
            return &self.added[new].chunk;
        }
        let grown = self.grown.iter().find(|g| g.number == number);
        grown.map_or_else(|| &**self.committed[number].chunk(), |g| &g.chunk)
    }
}

/// Publishes the rows of `filled` (which `summary` is of) and of `open` (by partition), or none of them. Returns how
/// many rows they are.
pub(super) fn commit(
    relation: &Relation,
    open: Vec<Option<OpenChunk>>,
    filled: Vec<Filled>,
    summary: Option<Summary>,
) -> Result<usize> {
    let mut guard = lock(&relation.writer);
    let writer = &mut *guard;
    let added = filled.into_iter().map(|f| Added {
        chunk: f.chunk,
        partition: f.partition,
        bounds: Some(f.bounds),
        memory: Some(f.memory),
    });
    let added = added.collect();
    let mut commit = Commit { relation, writer, added, grown: Vec::new(), replaced: Vec::new() };
    match commit.extend_tails(open).and_then(|()| commit.check_keys()) {
        Ok(()) => Ok(commit.publish(summary)),
        Err(error) => {
            commit.undo();
            Err(error)
        }
    }
}

impl Commit<'_> {
    fn extend_tails(&mut self, open: Vec<Option<OpenChunk>>) -> Result<()> {
        for (partition, open) in open.into_iter().enumerate() {
            let Some(open) = open else { continue };
            let next = self.writer.chunks.len() + self.added.len();
            let slot = &mut self.writer.tails[partition];
            match slot {
                Some(tail) if open.rows() <= tail.open.room() => {
                    let before = tail.open.rows();
                    if let Err(error) = tail.open.append(&open.view(), &Rows::Range(0..open.rows())) {
                        tail.open.truncate(before);
                        return Err(error);
                    }
                    let chunk = Arc::new(tail.open.view());
                    self.grown.push(Grown { partition, number: tail.number, before, chunk });
                }
                Some(tail) if open.rows() >= tail.open.rows() => {
                    let chunk = Arc::new(open.view());
                    self.added.push(Added { chunk, partition, bounds: None, memory: Some(open.into_memory()) });
                }
                _ => {
                    let chunk = Arc::new(open.view());
                    let old = slot.replace(Tail { number: next, open, bounds: Box::default() });
                    self.replaced.push((partition, old));
                    self.added.push(Added { chunk, partition, bounds: None, memory: None });
                }
            }
        }
        Ok(())
    }

    fn check_keys(&mut self) -> Result<()> {
        let Some(index) = &mut self.writer.index else { return Ok(()) };
        let rows = AllChunks { committed: &self.writer.chunks, added: &self.added, grown: &self.grown };
        let new = self.added.iter().map(|a| a.chunk.rows()).sum::<usize>()
            + self.grown.iter().map(|g| g.chunk.rows() - g.before).sum::<usize>();
        index.reserve(new, &rows)?;
        let added = self.added.iter().enumerate().map(|(i, a)| (rows.committed.len() + i, 0, a.chunk.rows()));
        let grown = self.grown.iter().map(|g| (g.number, g.before, g.chunk.rows()));
        for (number, from, to) in added.chain(grown) {
            if let Some(id) = index.insert(number, from, to, &rows) {
                return Err(self.duplicate(rows.chunk(number), id.offset()));
            }
        }
        index.keep();
        Ok(())
    }

    #[cold]
    fn duplicate(&self, chunk: &Chunk, row: usize) -> Error {
        let schema = &self.relation.schema;
        let attributes = schema.primary_key().iter().map(|&k| (k, &schema.attributes()[k]));
        let names: Vec<&str> = attributes.clone().map(|(_, a)| a.name.as_str()).collect();
        let values: Vec<String> = attributes.map(|(k, a)| text(a.sql_type, &chunk.column(k).value(row))).collect();
        let message = format!("duplicate key value violates unique constraint \"{}_pkey\"", self.relation.name);
        Error::new(SqlState::UNIQUE_VIOLATION, message).detail(format!(
            "Key ({})=({}) already exists.",
            names.join(", "),
            values.join(", ")
        ))
    }

    fn undo(self) {
        if let Some(index) = &mut self.writer.index {
            let (committed, grown) = (self.writer.chunks.len(), &self.grown);
            index.undo(|id: RowId| {
                id.chunk() < committed && grown.iter().all(|g| g.number != id.chunk() || id.offset() < g.before)
            });
        }
        for grown in &self.grown {
            self.writer.tails[grown.partition].as_mut().expect("it grew").open.truncate(grown.before);
        }
        for (partition, old) in self.replaced {
            self.writer.tails[partition] = old;
        }
    }

    fn publish(self, summary: Option<Summary>) -> usize {
        let Self { relation, writer, added, grown, replaced } = self;
        let mut live = lock(&relation.live);
        if let Some(summary) = summary {
            live.summary.merge(&summary);
        }
        let before = writer.rows;
        for (_, old) in replaced {
            let Some(Tail { number, open, bounds }) = old else { continue };
            let (chunk, partition) = (writer.chunks[number].chunk().clone(), writer.chunks[number].partition());
            writer.chunks[number] = StoredChunk::new(chunk, number, partition, bounds, Some(open.into_memory())).into();
        }
        for Grown { partition, number, before, chunk } in grown {
            let tail = writer.tails[partition].as_mut().expect("it grew");
            for (mine, new) in tail.bounds.iter_mut().zip(live.summary.add(&chunk, before)) {
                mine.merge(&new);
            }
            live.sample.extend(number, before, chunk.rows());
            writer.rows += chunk.rows() - before;
            writer.chunks[number] = StoredChunk::new(chunk, number, partition, tail.bounds.clone(), None).into();
        }
        for Added { chunk, partition, bounds, memory } in added {
            let number = writer.chunks.len();
            let bounds = bounds.unwrap_or_else(|| live.summary.add(&chunk, 0));
            if let Some(tail) = writer.tails[partition].as_mut().filter(|t| t.number == number) {
                tail.bounds = bounds.clone();
            }
            live.sample.extend(number, 0, chunk.rows());
            writer.rows += chunk.rows();
            writer.chunks.push(StoredChunk::new(chunk, number, partition, bounds, memory).into());
        }
        drop(live);
        let chunks = writer.chunks.clone();
        *lock(&relation.published) =
            Snapshot::new(relation.schema.clone(), relation.partitions, chunks, writer.rows, relation.live.clone());
        writer.rows - before
    }
}
