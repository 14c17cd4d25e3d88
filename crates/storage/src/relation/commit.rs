//! The commit of an append:
//! 1. its chunks are placed, in the order of the rows: complete ones get numbers of their own, rests are copied to the
//!    zone's last chunk as long as they fit;
//! 2. all new keys enter the index;
//! 3. bounds are widened, statistics extended, and a new view is published.
//!
//! Only step 3 is visible. Whatever ends a commit before it, an error or a panic, undoes it: the index forgets the new
//! entries, the zone's chunks have the rows that they had, and chunks that got numbers stay empty.

use std::sync::MutexGuard;

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use types::Chunk;

use super::live::Live;
use super::piece::{Piece, PieceRows};
use super::zone::{Lease, Tail, text};
use super::{Change, Record, Relation, lock};
use crate::body::Body;
use crate::chunk::StoredChunk;
use crate::index::{Keys, Liveness};
use crate::open::{OpenChunk, Rows};
use crate::statistics::{Bounds, Summary};
use crate::{ChunkReader, RowId};

/// Above this many rows, bounds are found before the lock that readers of views take, and distinct values are left to the
/// backlog.
const MANY_ROWS: usize = 4096;

/// Rows `from..to` of a chunk, which nobody sees yet.
struct Written {
    number: usize,
    part: usize,
    from: usize,
    to: usize,
    /// Whether workers have summarised them.
    summarised: bool,
}

/// An unfinished commit.
pub(super) struct Commit<'a> {
    relation: &'a Relation,
    zone: Lease<'a>,
    /// The zone's chunks before the commit, with their rows.
    before: Vec<Option<(usize, usize)>>,
    written: Vec<Written>,
    /// Rows of chunks that were begun.
    begun: Vec<usize>,
    /// Chunks that will not grow any more, with their memory: complete ones and former tails.
    closed: Vec<(usize, usize, Closed)>,
    keys: Option<MutexGuard<'a, ()>>,
    /// How many of `written` have (perhaps not all of) their keys in the index.
    entered: usize,
    changes: Vec<Change>,
    published: bool,
}

enum Closed {
    Complete { memory: Reservation, frozen: bool },
    Tail { part: usize, tail: Tail },
}

impl<'a> Commit<'a> {
    pub(super) fn begin(relation: &'a Relation, zone: Lease<'a>) -> Self {
        let before = zone.tails.iter().map(|t| t.as_ref().map(|t| (t.number, t.open.rows()))).collect();
        Self {
            relation,
            zone,
            before,
            written: Vec::new(),
            begun: Vec::new(),
            closed: Vec::new(),
            keys: None,
            entered: 0,
            changes: Vec::new(),
            published: false,
        }
    }

    /// Places a chunk behind all that was placed.
    pub(super) fn place(&mut self, piece: Piece) -> Result<()> {
        let part = piece.part;
        match piece.rows {
            PieceRows::Complete { node, rows, body, frozen, bounds, memory } => {
                self.close(part);
                let number = self.begin_chunk(node, body, bounds);
                self.written.push(Written { number, part, from: 0, to: rows, summarised: true });
                self.closed.push((number, rows, Closed::Complete { memory, frozen }));
                Ok(())
            }
            PieceRows::Open(open) => match &self.zone.tails[part] {
                Some(tail) if open.rows() <= tail.open.room() => self.extend(part, &open.chunk()),
                _ => {
                    self.close(part);
                    self.adopt(part, open);
                    Ok(())
                }
            },
        }
    }

    /// Numbers a chunk. Its rows become visible with the commit.
    fn begin_chunk(&mut self, node: u16, body: Body, bounds: Box<[Bounds]>) -> usize {
        let relation = self.relation;
        // The lock keeps others from publishing the number before it is known to have no visible rows.
        let mut live = lock(&relation.live);
        let number = relation.directory.push(|number| StoredChunk::new(number, node, body, bounds)).number();
        live.begin(number);
        drop(live);
        self.begun.push(number);
        number
    }

    /// Makes a chunk the one that grows.
    pub(super) fn adopt(&mut self, part: usize, open: OpenChunk) {
        let bounds = vec![Bounds::default(); self.relation.schema.attributes().len()].into();
        let number = self.begin_chunk(open.node(), Body::open(open.views()), bounds);
        self.written.push(Written { number, part, from: 0, to: open.rows(), summarised: false });
        let layout = open.layout();
        self.zone.tails[part] = Some(Tail { number, open, layout });
    }

    /// Copies rows to the chunk that grows, which has room for them.
    pub(super) fn extend(&mut self, part: usize, chunk: &Chunk) -> Result<()> {
        let tail = self.zone.tails[part].as_mut().expect("there is room in it");
        let (number, from) = (tail.number, tail.open.rows());
        let rows = chunk.rows();
        // Noted first: an error in between is undone as well.
        match self.written.iter_mut().rev().find(|w| w.number == number) {
            Some(written) => written.to = from + rows,
            None => self.written.push(Written { number, part, from, to: from + rows, summarised: false }),
        }
        tail.open.append(chunk, &Rows::Range(0..rows))
    }

    /// Lets the chunk of a part grow no more.
    pub(super) fn close(&mut self, part: usize) {
        if let Some(tail) = self.zone.tails[part].take() {
            self.closed.push((tail.number, tail.open.rows(), Closed::Tail { part, tail }));
        }
    }

    /// Enters the keys and publishes the rows; `summary` is of those that workers have summarised.
    pub(super) fn finish(mut self, summary: Option<Summary>) -> Result<Record> {
        for part in 0..self.zone.tails.len() {
            if self.zone.tails[part].as_ref().is_some_and(|tail| tail.open.room() == 0) {
                self.close(part);
            }
        }
        self.exchange_bodies();
        self.enter_keys()?;
        self.publish(summary);
        let rows = self.written.iter().map(|w| w.to - w.from).sum();
        Ok(Record::new(rows, std::mem::take(&mut self.changes)))
    }

    /// Gives readers the addresses of the rows that were written to chunks that grow.
    fn exchange_bodies(&mut self) {
        let closed = self.closed.iter_mut().filter_map(|(.., closed)| match closed {
            Closed::Tail { tail, .. } => Some(tail),
            Closed::Complete { .. } => None,
        });
        for tail in self.zone.tails.iter_mut().flatten().chain(closed) {
            if tail.layout != tail.open.layout() {
                self.relation.directory.get(tail.number).exchange(Body::open(tail.open.views()));
                tail.layout = tail.open.layout();
            }
        }
    }

    fn reader(&self, written: &Written) -> ChunkReader {
        ChunkReader::new(self.relation.directory.get(written.number).pin(), written.to)
    }

    fn enter_keys(&mut self) -> Result<()> {
        let relation = self.relation;
        let Some(index) = &relation.index else { return Ok(()) };
        self.keys = Some(lock(&relation.keys));
        index.reserve(self.written.iter().map(|w| w.to - w.from).sum(), relation)?;
        for at in 0..self.written.len() {
            self.entered = at + 1;
            let written = &self.written[at];
            let reader = self.reader(written);
            let keys = Keys::new(&reader, relation.schema.primary_key(), written.from..written.to);
            // Whoever enters keys holds the lock until they are committed or gone: all that are there count.
            let alive = |_| Liveness::Alive;
            if let Some(taken) = index.insert(&keys, RowId::new(written.number, written.from), relation, &alive)? {
                return Err(self.duplicate(&reader, taken.row.offset()));
            }
        }
        Ok(())
    }

    #[cold]
    fn duplicate(&self, reader: &ChunkReader, row: usize) -> Error {
        let schema = &self.relation.schema;
        let values = reader.row(row);
        let attributes = schema.primary_key().iter().map(|&k| (&values[k], &schema.attributes()[k]));
        let names: Vec<&str> = attributes.clone().map(|(_, a)| a.name.as_str()).collect();
        let values: Vec<String> = attributes.map(|(value, a)| text(a.sql_type, value)).collect();
        let message = format!("duplicate key value violates unique constraint \"{}_pkey\"", self.relation.name);
        Error::new(SqlState::UNIQUE_VIOLATION, message).detail(format!(
            "Key ({})=({}) already exists.",
            names.join(", "),
            values.join(", ")
        ))
    }

    /// Bounds of rows that no worker has summarised; their distinct values, too, unless these are `left`.
    fn summarise(&self, into: &mut Summary, left: bool) {
        for written in self.written.iter().filter(|w| !w.summarised) {
            let chunk = self.relation.directory.get(written.number);
            let body = chunk.pin();
            let values = |a| body.values(a, written.to).expect("chunks that grow lie in arrays");
            let columns = (0..self.relation.schema.attributes().len()).map(values);
            let rows = written.from..written.to;
            chunk.widen(&if left { into.add_bounds(columns, rows, Bounds::of) } else { into.add(columns, rows) });
        }
    }

    fn publish(&mut self, summary: Option<Summary>) {
        let relation = self.relation;
        let mut summary = summary;
        let unsummarised = self.written.iter().filter(|w| !w.summarised).map(|w| w.to - w.from).sum::<usize>();
        let many = unsummarised > MANY_ROWS;
        if many {
            self.summarise(summary.get_or_insert_with(|| Summary::new(relation.schema.attributes().len())), true);
        }
        let mut live = lock(&relation.live);
        if let Some(summary) = &summary {
            live.summary.merge(summary);
        }
        if !many {
            self.summarise(&mut live.summary, false);
        }
        let added: usize = self.written.iter().map(|w| w.to - w.from).sum();
        self.written.iter().for_each(|w| live.sample.extend(w.number, w.from, w.to));
        let rows = live.rows() + added;
        live.sample.refresh(rows);
        self.changes = self.changes();
        self.show(&mut live);
        // Nothing fails from here on.
        self.published = true;
        if many {
            self.leave_rows();
        }
        self.seal();
    }

    /// What a log has to hold of the commit.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for written in &self.written {
            let (first, part) = (RowId::new(written.number, written.from), written.part);
            changes.push(Change::Insert { first, part, reader: self.reader(written) });
            changes.extend(
                self.closed.iter().filter(|c| c.0 == written.number).map(|c| Change::Close { chunk: c.0, part }),
            );
        }
        // Tails that were closed without a further row come before what follows them.
        let closed = self.closed.iter().filter(|c| self.written.iter().all(|w| w.number != c.0));
        let closed = closed.filter_map(|(chunk, _, closed)| match closed {
            Closed::Tail { part, .. } => Some(Change::Close { chunk: *chunk, part: *part }),
            Closed::Complete { .. } => None,
        });
        closed.chain(changes).collect()
    }

    /// Makes the rows visible.
    fn show(&self, live: &mut Live) {
        for written in &self.written {
            live.extend(written.number, written.to, false);
        }
        for (number, rows, _) in &self.closed {
            self.relation.directory.get(*number).close(*rows);
            live.extend(*number, *rows, true);
        }
        live.publish(self.relation.directory.len());
    }

    /// Hands what grows to the backlog, to be sketched.
    fn leave_rows(&self) {
        let is_closed = |number: usize| self.closed.iter().any(|closed| closed.0 == number);
        let grows = |w: &&Written| !w.summarised && !is_closed(w.number);
        self.written.iter().filter(grows).for_each(|w| self.relation.backlog.push_grown(w.number, &(w.from..w.to)));
    }

    /// Hands the memory over to the relation, and what is to be frozen to its backlog: before anybody who sees the rows can
    /// ask for their statistics.
    fn seal(&mut self) {
        for (number, _, closed) in self.closed.drain(..) {
            let (mut memory, frozen) = match closed {
                Closed::Complete { memory, frozen } => (memory, frozen),
                Closed::Tail { tail, .. } => (tail.into_memory(), false),
            };
            memory.outlive();
            self.relation.directory.get(number).charge(memory);
            self.relation.backlog.push(number, frozen);
        }
        self.zone.tails.iter_mut().flatten().for_each(|tail| tail.open.outlive());
    }
}

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let relation = self.relation;
        if let Some(index) = &relation.index {
            for written in &self.written[..self.entered] {
                let reader = self.reader(written);
                let keys = Keys::new(&reader, relation.schema.primary_key(), written.from..written.to);
                index.remove(&keys, RowId::new(written.number, written.from));
            }
        }
        // The zone gets back the chunks that it had.
        for (.., closed) in self.closed.drain(..) {
            if let Closed::Tail { part, tail } = closed
                && self.before[part].is_some_and(|before| before.0 == tail.number)
            {
                self.zone.tails[part] = Some(tail);
            }
        }
        for (tail, before) in self.zone.tails.iter_mut().zip(&self.before) {
            match (tail.as_mut(), before) {
                (Some(growing), Some((number, rows))) if growing.number == *number => growing.open.truncate(*rows),
                _ => *tail = None,
            }
        }
        let mut live = lock(&relation.live);
        for &number in &self.begun {
            let chunk = relation.directory.get(number);
            chunk.exchange(relation.empty_body());
            live.extend(number, 0, true);
        }
    }
}
