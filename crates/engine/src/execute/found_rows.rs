//! Rows of a table that an index has found, anywhere in it: a batch of them is copied together, and runs as a chunk of their own.

use std::sync::Arc;

use base::Result;
use base::memory::Reservation;
use base::traffic::{self, Access};
use pipeline::ir::{PipelineId, Source as IrSource};
use runtime::abi::BATCH;
use scheduler::{Claim, Cutting, Morsel, Offsets, Progress, TaskSet, Wanted, WorkerId};
use storage::{ChunkReader, RowId, ScanPredicate, Snapshot};
use types::{Chunk, ColumnBuilder, SqlType};

use super::Query;
use super::batch::{Delivered, Feed, Read};
use super::scan::{delivered, scan_predicate, source_columns};

/// Rows of a morsel: each is somewhere else in memory.
const MORSEL: u64 = 4096;

/// What an index has found.
pub(super) struct FoundRows {
    pub snapshot: Snapshot,
    pub rows: Rows,
    /// Whether all of them satisfy the predicates of the scan: what only these would read is not copied.
    pub is_exact: bool,
    /// Of the rows.
    pub memory: Reservation,
}

/// Where the rows are.
pub(super) enum Rows {
    /// In the table, in order.
    Table(Vec<RowId>),
    /// Nobody reads more of them than their keys, which these chunks have: the attributes of their columns, the chunks.
    Keys(Vec<usize>, Vec<ChunkReader>),
}

/// See the module.
pub(super) struct FoundTasks {
    feed: Feed,
    snapshot: Snapshot,
    rows: Rows,
    /// Of chunks of keys.
    offsets: Offsets,
    _memory: Reservation,
    /// What is copied of each.
    attributes: Vec<usize>,
    types: Vec<SqlType>,
    /// By the places of the attributes among these.
    delivered: Delivered,
    predicates: Arc<[ScanPredicate]>,
}

impl FoundTasks {
    pub fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        FoundRows { snapshot, rows, is_exact, memory }: FoundRows,
        cut: &Cutting,
    ) -> Self {
        let mut attributes = match &rows {
            Rows::Table(_) => Vec::new(),
            Rows::Keys(attributes, _) => attributes.clone(),
        };
        let mut place = |attribute: usize| {
            let at = attributes.iter().position(|known| *known == attribute);
            at.unwrap_or_else(|| {
                attributes.push(attribute);
                attributes.len() - 1
            })
        };
        let program = query.program.clone();
        let read = delivered(&query, pipeline, |column| column.attribute);
        let read = read.into_iter().map(|read| match read {
            Read::Values(attribute) => Read::Values(place(attribute)),
            Read::Lengths(attribute) => Read::Lengths(place(attribute)),
            Read::Nothing => Read::Nothing,
        });
        // Copies have no codes.
        let codes = (!source_columns(&query, pipeline).1.is_empty()).then(Vec::new);
        let delivered = Delivered { read: read.collect(), codes };
        let type_of = |attribute: usize| match snapshot.schema().attributes().get(attribute) {
            Some(of) => of.sql_type,
            // The row's id, behind all others.
            None => SqlType::BigInt,
        };
        let predicates = match &program.pipelines[pipeline].source {
            IrSource::Table { predicates, .. } if !is_exact => predicates.as_slice(),
            _ => &[],
        };
        let predicates = predicates.iter().map(|p| scan_predicate(&query, p, place(p.attribute), type_of(p.attribute)));
        let mut predicates: Vec<ScanPredicate> = predicates.collect();
        ScanPredicate::arrange(&mut predicates);
        let types = attributes.iter().map(|&attribute| type_of(attribute)).collect();
        let offsets = match &rows {
            Rows::Table(_) => Offsets::new([]),
            Rows::Keys(_, chunks) => Offsets::new(chunks.iter().map(|chunk| chunk.rows() as u64)),
        };
        let count = match &rows {
            Rows::Table(rows) => rows.len() as u64,
            Rows::Keys(..) => offsets.rows(),
        };
        let ranges = Cutting { morsel_rows: cut.morsel_rows.min(MORSEL), ..cut.clone() }.rows(count);
        let feed = Feed::new(query, pipeline, ranges, cut);
        let predicates = predicates.into();
        Self { feed, snapshot, rows, offsets, _memory: memory, attributes, types, delivered, predicates }
    }

    /// Some of the rows, copied.
    fn copied(&self, rows: &[RowId]) -> ChunkReader {
        let mut columns: Vec<_> = self.types.iter().map(|of| ColumnBuilder::new(*of, rows.len())).collect();
        let of_chunks = rows.chunk_by(|a, b| a.chunk() == b.chunk());
        for of_chunk in of_chunks.filter(|_| !self.attributes.is_empty()) {
            let chunk = self.snapshot.chunk(of_chunk[0].chunk());
            let reader = chunk.read();
            let row: usize = self.types.iter().map(|of| of.physical().size()).sum();
            traffic::note(Access::Table, chunk.node(), (row * of_chunk.len()) as u64);
            for (&attribute, column) in self.attributes.iter().zip(&mut columns) {
                if attribute == reader.row_id() {
                    of_chunk.iter().for_each(|row| column.push(row.to_bits() as i64));
                } else {
                    reader.gather_into(attribute, of_chunk.iter().map(|row| row.offset()), column);
                }
            }
        }
        ChunkReader::of(Chunk::new(rows.len(), columns.into_iter().map(ColumnBuilder::finish).collect()))
    }
}

impl TaskSet for FoundTasks {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.feed.claim(worker, wanted)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut run = self.feed.begin(worker, morsel);
        let mut at = morsel.begin;
        match &self.rows {
            Rows::Table(all) => {
                while at < morsel.end {
                    let to = morsel.end.min(at + BATCH as u64);
                    let copied = self.copied(&all[at as usize..to as usize]);
                    let stopped = run.chunk(&copied, &self.delivered, &self.predicates, 0..copied.rows())?;
                    at += stopped as u64;
                    if at < to || run.must_stop() {
                        break;
                    }
                }
            }
            Rows::Keys(_, chunks) => {
                for (number, rows) in self.offsets.within(morsel) {
                    let stopped = run.chunk(&chunks[number], &self.delivered, &self.predicates, rows.clone())?;
                    at += (stopped - rows.start) as u64;
                    if stopped < rows.end || run.must_stop() {
                        break;
                    }
                }
            }
        }
        run.end(at)
    }

    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        self.feed.split(rest)
    }

    fn total(&self) -> u64 {
        self.feed.total()
    }
}
