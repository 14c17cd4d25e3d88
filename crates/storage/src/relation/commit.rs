//! The commit of an append:
//! 1. its chunks are placed, in the order of the rows: complete ones get numbers of their own, rests are copied to the
//!    zone's last chunk as long as they fit;
//! 2. all new keys enter the index;
//! 3. bounds are widened, statistics extended, and a new view is published.
//!
//! A transaction does the first two steps, and finds bounds, at each of its statements, and publishes all at its end.
//!
//! Only step 3 is visible. Whatever ends a commit before it, an error or a panic, undoes it: the index forgets the new
//! entries, the zone's chunks have the rows that they had, and chunks that got numbers stay empty.

mod row;

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use base::memory::Reservation;
use base::{Error, Result};
use types::Chunk;

use super::change::Refused;
use super::indexes::Twice;
use super::live::{Live, View};
use super::piece::{Piece, PieceRows};
use super::zone::{Lease, Tail};
use super::{Append, Change, Record, Relation};
use crate::body::Body;
use crate::chunk::StoredChunk;
use crate::clock::{Conflict, Stamp, What, Written};
use crate::index::{Keys, Liveness, RowIndex, Taken};
use crate::lock::lock;
use crate::open::{OpenChunk, Rows};
use crate::statistics::{Bounds, Summary};

use crate::{ChunkReader, RowId};

/// Above this many rows, bounds are found before the lock that readers of views take.
const MANY_ROWS: usize = 4096;

/// Rows `from..to` of a chunk, which nobody sees yet.
#[derive(Debug)]
struct Placed {
    number: usize,
    part: usize,
    from: usize,
    to: usize,
    /// Bounds of the rows before this one are known.
    known: usize,
    /// (Perhaps not all) keys of the rows before this one are in the index.
    entered: usize,
}

/// An unfinished commit.
#[derive(Debug)]
pub(crate) struct Commit {
    relation: Arc<Relation>,
    zone: Lease,
    /// The zone's chunks before the commit, with their rows.
    before: Vec<Option<(usize, usize)>>,
    written: Vec<Placed>,
    /// Of a transaction: which statement has placed which rows of which chunk.
    steps: Vec<(u32, usize, Range<usize>)>,
    /// Rows of chunks that were begun.
    begun: Vec<usize>,
    /// Snapshots of its transaction share this.
    readers: Arc<()>,
    /// Chunks that will not grow any more, with their memory: complete ones and former tails.
    closed: Vec<(usize, usize, Closed)>,
    /// Rows of which the distinct values are left for later, once they are committed: till then they may be taken back, and with
    /// them the memory that they lie in.
    left: Vec<(usize, Range<usize>)>,
    /// The ordered indexes, as of so many that the relation has had.
    indexes: (usize, Vec<Weak<RowIndex>>),
    /// Memory for keys of single rows.
    key: Vec<u8>,
    published: bool,
}

#[derive(Debug)]
enum Closed {
    Complete { memory: Reservation, frozen: bool },
    Tail { part: usize, tail: Tail },
}

impl Commit {
    pub(super) fn begin(relation: &Arc<Relation>, zone: Lease) -> Self {
        let before = zone.tails.iter().map(|t| t.as_ref().map(|t| (t.number, t.open.rows()))).collect();
        Self {
            relation: relation.clone(),
            zone,
            before,
            written: Vec::new(),
            steps: Vec::new(),
            begun: Vec::new(),
            readers: Arc::default(),
            closed: Vec::new(),
            left: Vec::new(),
            indexes: (0, Vec::new()),
            key: Vec::new(),
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
                self.written.push(Placed { number, part, from: 0, to: rows, known: rows, entered: 0 });
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
        let relation = &*self.relation;
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
        self.written.push(Placed { number, part, from: 0, to: open.rows(), known: 0, entered: 0 });
        let layout = open.layout();
        self.zone.tails[part] = Some(Tail { number, open, layout });
    }

    /// Copies rows to the chunk that grows, which has room for them.
    pub(super) fn extend(&mut self, part: usize, chunk: &Chunk) -> Result<()> {
        let rows = chunk.rows();
        self.tail_for(part, rows)?.open.append(chunk, &Rows::Range(0..rows))
    }

    /// The chunk that grows, which is about to get so many rows, and has the memory for their values.
    fn tail_for(&mut self, part: usize, rows: usize) -> Result<&mut Tail> {
        let tail = self.zone.tails[part].as_mut().expect("there is room in it");
        // What is noted from here on will be written, or else others would write to rows that are given up.
        tail.open.make_room(rows)?;
        let (number, from) = (tail.number, tail.open.rows());
        // Noted first: an error in between is undone as well.
        match self.written.iter_mut().rev().find(|w| w.number == number) {
            Some(written) => written.to = from + rows,
            None => self.written.push(Placed { number, part, from, to: from + rows, known: from, entered: from }),
        }
        Ok(tail)
    }

    /// Lets the chunk of a part grow no more.
    pub(super) fn close(&mut self, part: usize) {
        if let Some(tail) = self.zone.tails[part].take() {
            self.closed.push((tail.number, tail.open.rows(), Closed::Tail { part, tail }));
        }
    }

    /// Enters the keys and publishes the rows; `summary` is of those that workers have summarised.
    pub(super) fn finish(mut self, summary: Option<Summary>) -> Result<Record> {
        let relation = self.relation.clone();
        // Until they are committed or gone, no key in an index is undecided.
        let keys = lock(&relation.keys);
        if let Err(error) = self.prepare_locked(summary, None) {
            drop(self);
            return Err(error.into());
        }
        let rows = self.rows();
        let written = self.written();
        let check = || relation.check_unclaimed(None);
        let publish = |timestamp| {
            let changes = self.changes();
            self.publish(timestamp);
            changes
        };
        let published = relation.clock.commit_alone(check, publish, || written);
        drop(self);
        drop(keys);
        published.map(|changes| Record::new(rows, changes)).map_err(|conflict| conflict.error())
    }

    /// Enters the keys of what was placed last, for a transaction that will publish the rows or drop this.
    pub(crate) fn prepare(&mut self, summary: Option<Summary>, stamp: &Arc<Stamp>) -> Result<(), Refused> {
        let relation = self.relation.clone();
        let _keys = lock(&relation.keys);
        self.prepare_locked(summary, Some(stamp))
    }

    fn prepare_locked(&mut self, summary: Option<Summary>, stamp: Option<&Arc<Stamp>>) -> Result<(), Refused> {
        for part in 0..self.zone.tails.len() {
            if self.zone.tails[part].as_ref().is_some_and(|tail| tail.open.room() == 0) {
                self.close(part);
            }
        }
        self.exchange_bodies();
        if let Some(stamp) = stamp {
            let mut live = lock(&self.relation.live);
            for written in self.written.iter().filter(|written| written.known < written.to) {
                live.pending.insert(written.number as u32, stamp.clone());
            }
        }
        self.enter_keys(stamp)?;
        self.summarise_rest(summary);
        Ok(())
    }

    /// Places what was appended and enters its keys, for a statement of a transaction. Returns how many rows that is.
    pub(crate) fn add(&mut self, append: &Append, stamp: &Arc<Stamp>, statement: u32) -> Result<usize, Refused> {
        let before: Vec<(usize, usize)> = self.written.iter().map(|w| (w.number, w.to)).collect();
        let rows = self.rows();
        let placed = append.place(self);
        // After an error, too: they have to be forgotten.
        for written in &self.written {
            let from = before.iter().find(|(number, _)| *number == written.number).map_or(written.from, |(_, to)| *to);
            if from < written.to {
                self.steps.push((statement, written.number, from..written.to));
            }
        }
        self.prepare(placed?, stamp)?;
        Ok(self.rows() - rows)
    }

    /// The rows that a statement has placed.
    pub(crate) fn placed_by(&self, statement: u32) -> Vec<(usize, Range<usize>)> {
        let of_it = self.steps.iter().filter(|step| step.0 == statement);
        of_it.map(|(_, chunk, rows)| (*chunk, rows.clone())).collect()
    }

    /// The rows that statements from number `first` on have placed: they are this commit's no more, but stay where they are.
    pub(crate) fn forget_from(&mut self, first: u32) -> Vec<(usize, Range<usize>)> {
        let forgotten = self.steps.extract_if(.., |step| step.0 >= first);
        forgotten.map(|(_, chunk, rows)| (chunk, rows)).collect()
    }

    /// Rows that were placed.
    fn rows(&self) -> usize {
        self.written.iter().map(|w| w.to - w.from).sum()
    }

    /// For validations: which rows they are.
    pub(crate) fn written(&self) -> Vec<Written> {
        let rows = |w: &Placed| Written {
            relation: self.relation.number(),
            chunk: w.number,
            what: What::Inserted(w.from..w.to),
        };
        self.written.iter().map(rows).collect()
    }

    /// As long as somebody else has this too, the rows are read.
    pub(super) fn readers(&self) -> &Arc<()> {
        &self.readers
    }

    /// Gives the chunks that rows were written to up to be grown by others: somebody still reads what is not committed. The
    /// lock of what is live is held.
    fn abandon(&mut self, live: &mut Live) {
        for (tail, before) in self.zone.tails.iter_mut().zip(&self.before) {
            let Some(tail) = tail.take() else { continue };
            if let Some((number, rows)) = before
                && tail.number == *number
            {
                let chunk = self.relation.directory.get(*number);
                chunk.close(*rows);
                live.extend(*number, *rows, true);
                let mut memory = tail.into_memory();
                memory.outlive();
                chunk.charge(memory);
                self.relation.backlog.push(*number, false);
            }
        }
        self.begun.iter().for_each(|&number| live.extend(number, 0, true));
    }

    /// What its transaction sees, beside what everybody sees.
    pub(super) fn visible(&self, others: &View) -> View {
        let own = self.written.iter().map(|w| (w.number as u32, w.to as u32));
        others.with_own(self.relation.directory.len(), own)
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

    fn reader(&self, written: &Placed) -> ChunkReader {
        ChunkReader::new(self.relation.directory.get(written.number).pin(), written.to)
    }

    fn enter_keys(&mut self, stamp: Option<&Arc<Stamp>>) -> Result<(), Refused> {
        let relation = self.relation.clone();
        if let Some(index) = &relation.index {
            index.reserve(self.written.iter().map(|w| w.to - w.entered).sum(), &*relation)?;
        }
        for at in 0..self.written.len() {
            let written = &mut self.written[at];
            let from = std::mem::replace(&mut written.entered, written.to);
            let written = &self.written[at];
            if from == written.to {
                continue;
            }
            let reader = self.reader(written);
            let refused = |by: RowId, liveness: Liveness, error: &dyn Fn() -> Error| {
                let other = relation.undecided(by, stamp).filter(|_| liveness == Liveness::Unfinished);
                other.map_or_else(|| error().into(), |other| Refused::Conflict(Conflict::Running(other)))
            };
            if let Some(index) = &relation.index {
                let keys = Keys::new(&reader, relation.schema.primary_key(), from..written.to);
                let alive = |row| relation.liveness(row, stamp);
                if let Some(Taken { row, by, liveness }) =
                    index.insert(&keys, RowId::new(written.number, from), &*relation, &alive)?
                {
                    return Err(refused(by, liveness, &|| {
                        relation.duplicate(&relation.key(), &reader.row(row.offset()))
                    }));
                }
            }
            if let Some((row, Twice { index, by, liveness })) =
                relation.enter_in_indexes(written.number, from..written.to, stamp)?
            {
                return Err(refused(by, liveness, &|| {
                    relation.duplicate(index.definition(), &reader.row(row.offset()))
                }));
            }
        }
        Ok(())
    }

    /// Bounds of rows that no worker has summarised.
    fn summarise(&self, into: &mut Summary) {
        for written in self.written.iter().filter(|w| w.known < w.to) {
            let chunk = self.relation.directory.get(written.number);
            let body = chunk.pin();
            let values = |a| body.values(a, written.to).expect("chunks that grow lie in arrays");
            let columns = (0..self.relation.schema.attributes().len()).map(values);
            chunk.widen(&into.add_bounds(columns, written.known..written.to, Bounds::of));
        }
    }

    /// Finds what is not known yet of the rows, before anybody sees one of them.
    fn summarise_rest(&mut self, summary: Option<Summary>) {
        let relation = &*self.relation;
        let mut summary = summary;
        let unsummarised = self.written.iter().map(|w| w.to - w.known).sum::<usize>();
        let many = unsummarised > MANY_ROWS;
        if many {
            self.summarise(summary.get_or_insert_with(|| Summary::new(relation.schema.attributes().len())));
        }
        let mut live = lock(&relation.live);
        if let Some(summary) = &summary {
            live.summary.merge(summary);
        }
        if !many {
            self.summarise(&mut live.summary);
        }
        drop(live);
        let unknown = self.written.iter_mut().filter(|w| w.known < w.to);
        self.left.extend(unknown.map(|w| (w.number, std::mem::replace(&mut w.known, w.to)..w.to)));
        relation.widened.fetch_add(1, Ordering::Release);
    }

    /// Makes the rows visible to those who see that moment. Nothing fails here.
    pub(crate) fn publish(&mut self, timestamp: u64) {
        let relation = self.relation.clone();
        let oldest = relation.clock.oldest();
        let mut live = lock(&relation.live);
        self.written.iter().for_each(|w| live.sample.extend(w.number, w.from, w.to));
        let rows = live.rows() + self.rows();
        live.sample.refresh(rows);
        self.written.iter().for_each(|w| drop(live.pending.remove(&(w.number as u32))));
        self.show(&mut live, timestamp, oldest);
        self.published = true;
        self.seal(&mut live);
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
    fn show(&self, live: &mut Live, timestamp: u64, oldest: u64) {
        for written in &self.written {
            live.extend(written.number, written.to, false);
        }
        for (number, rows, _) in &self.closed {
            self.relation.directory.get(*number).close(*rows);
            live.extend(*number, *rows, true);
        }
        live.publish(self.relation.directory.len(), timestamp, oldest);
    }

    /// Hands the memory over to the relation, and what is to be frozen or sketched to its backlog: before anybody who sees the rows
    /// can ask for their statistics.
    fn seal(&mut self, live: &mut Live) {
        let is_closed = |number: usize| self.closed.iter().any(|closed| closed.0 == number);
        let left = std::mem::take(&mut self.left);
        for (number, rows) in left.into_iter().filter(|(number, _)| !is_closed(*number)) {
            self.relation.leave_distinct(live, number, rows);
        }
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

impl Drop for Commit {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let relation = self.relation.clone();
        if relation.is_indexed() {
            for written in &self.written {
                relation.forget_in_indexes(written.number, || written.from..written.entered);
            }
        }
        if let Some(index) = &relation.index {
            for written in &self.written {
                let reader = self.reader(written);
                let keys = Keys::new(&reader, relation.schema.primary_key(), written.from..written.entered);
                index.remove(&keys, RowId::new(written.number, written.from));
            }
        }
        // Others will write to the same places.
        for written in &self.written {
            if let Some(sidecar) = relation.sidecar_of(written.number) {
                sidecar.forget(written.from..written.to);
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
        let mut live = lock(&relation.live);
        self.written.iter().for_each(|w| drop(live.pending.remove(&(w.number as u32))));
        if Arc::strong_count(&self.readers) > 1 {
            return self.abandon(&mut live);
        }
        for (tail, before) in self.zone.tails.iter_mut().zip(&self.before) {
            match (tail.as_mut(), before) {
                (Some(growing), Some((number, rows))) if growing.number == *number => growing.open.truncate(*rows),
                _ => *tail = None,
            }
        }
        for &number in &self.begun {
            let chunk = relation.directory.get(number);
            chunk.exchange(relation.empty_body());
            live.extend(number, 0, true);
        }
    }
}
