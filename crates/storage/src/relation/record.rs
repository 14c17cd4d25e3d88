//! What a commit has done, as a log would hold it: after-images by row id. Replayed into a relation that is like the one
//! before the commit, a record makes it like the one after it, row ids and statistics included.

use std::sync::Arc;

use base::Result;
use types::Chunk;

use super::Relation;
use super::commit::Commit;
use crate::chunk::StoredChunk;
use crate::lock::lock;
use crate::open::{OpenChunk, Rows};
use crate::{ChunkReader, RowId};

/// The changes of one commit.
#[derive(Clone, Debug)]
pub struct Record {
    rows: usize,
    changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug)]
pub enum Change {
    /// Rows from `first` on, to the end of what the reader sees.
    Insert {
        /// The first row.
        first: RowId,
        /// The part of the relation's distribution.
        part: usize,
        /// Has the rows.
        reader: ChunkReader,
    },
    /// A chunk gets no more rows.
    Close {
        /// Its number.
        chunk: usize,
        /// The part of the relation's distribution.
        part: usize,
    },
}

impl Change {
    /// The inserted rows.
    pub fn rows(&self) -> Option<Chunk> {
        match self {
            Self::Insert { first, reader, .. } => Some(reader.chunk(first.offset()..reader.rows())),
            Self::Close { .. } => None,
        }
    }
}

impl Record {
    pub(super) fn new(rows: usize, changes: Vec<Change>) -> Self {
        Self { rows, changes }
    }
    /// Rows added.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// What was done, in order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

impl Relation {
    /// Does what a commit to a relation like this one has done.
    pub fn replay(self: &Arc<Self>, record: &Record) -> Result<()> {
        // Rows go on in the chunks that they were in: the zone that has one of them, else one that lacks all.
        let place = |change: &Change| match change {
            Change::Insert { first, part, .. } => (first.chunk(), *part),
            Change::Close { chunk, part } => (*chunk, *part),
        };
        let zone = self.lease_by(|zone| {
            let tail = |part: usize| zone.tails[part].as_ref();
            if record.changes.iter().map(place).any(|(chunk, part)| tail(part).is_some_and(|t| t.number == chunk)) {
                Some(0)
            } else {
                record.changes.iter().map(place).all(|(_, part)| tail(part).is_none()).then_some(1)
            }
        });
        let mut commit = Commit::begin(self, zone);
        for change in &record.changes {
            match change {
                Change::Close { part, .. } => commit.close(*part),
                Change::Insert { first, part, .. } => {
                    let rows = change.rows().expect("an insertion has rows");
                    if first.offset() > 0 {
                        commit.extend(*part, &rows)?;
                        continue;
                    }
                    self.skip_to(first.chunk());
                    let types = self.schema.attributes().iter().map(|a| a.sql_type);
                    let _there = self.on_node_of(*part);
                    let mut open = OpenChunk::new(types, rows.rows(), &self.budget)?;
                    open.append(&rows, &Rows::Range(0..rows.rows()))?;
                    commit.adopt(*part, open);
                }
            }
        }
        commit.finish(None)?;
        Ok(())
    }

    /// Leaves out chunk numbers below `next`: they were given to commits that failed.
    fn skip_to(&self, next: usize) {
        let live = lock(&self.live);
        while self.directory.len() < next {
            self.directory.push(|number| StoredChunk::new(number, 0, self.empty_body(), Box::default()));
        }
        drop(live);
    }
}
