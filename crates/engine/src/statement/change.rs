//! UPDATE, DELETE, MERGE, INSERT with ON CONFLICT or RETURNING: a query says what becomes of which row. If each row comes once
//! and keeps its place, workers do it as they go: no statement sees what it does itself, and an error on the way has all of
//! it taken back. Otherwise it is done when all of it is there.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use plan::{Op, Plan};
use runtime::result::Sink;
use sql::{Change, ChangeKind, Instead, ObjectName, Statement, UniqueKey, change_action};
use storage::index::Keys;
use storage::{ChunkReader, Relation, RowId};
use types::{Chunk, Column, ColumnBuilder, FreeRows, SqlType};

use super::definition::declare_anew;
use super::load::{Ran, run_to};
use super::rows_tag;
use crate::environment::Environment;
use crate::execute;
use crate::references;
use crate::result::QueryResult;
use crate::source::Source;
use crate::transaction::Block;
use crate::typed::typed;

pub(super) fn change(environment: &Environment, change: Change) -> Result<QueryResult> {
    changed(environment, change, false).map(|(result, _)| result)
}

/// As [`change`], for EXPLAIN ANALYZE: the plan, too, and how it ran.
pub(super) fn change_watched(environment: &Environment, change: Change) -> Result<(QueryResult, Ran)> {
    let (result, ran) = changed(environment, change, true)?;
    Ok((result, ran.ok_or_else(|| Error::internal("a change that nobody has watched"))?))
}

fn changed(environment: &Environment, change: Change, analyze: bool) -> Result<(QueryResult, Option<Ran>)> {
    let Change { name, table, kind, attributes, source, returning, truncate, .. } = change;
    let relation = Source::relation(&table).map_err(|e| e.at(name.position))?;
    if let Some(truncate) = &truncate {
        references::check_truncate(environment, &relation, &truncate.together).map_err(|e| e.at(name.position))?;
    }
    let block = environment.block.clone().ok_or_else(|| Error::internal("a change outside of a transaction"))?;
    let tag = tag_of(&kind);
    let begin = Instant::now();
    let plan = execute::optimize(environment, source)?;
    let optimized = begin.elapsed();
    let is_watched = analyze || environment.trace.is_some() || block.changed_by_parts().is_some();
    let mut ran = None;
    let changed = if is_all(&kind, &plan) && returning.is_none() && !is_watched {
        delete_all(environment, &block, &relation)?
    } else {
        let sink = OnceLock::new();
        let make = |budget: &Budget| {
            let limit = environment.settings.memory("query_memory_limit");
            let budgets = (budget.clone(), Budget::new(limit));
            let new = || Arc::new(ChangeSink::new(&relation, &block, kind.clone(), attributes.clone(), budgets));
            sink.get_or_init(new).clone() as Arc<dyn Sink>
        };
        let end = run_to(environment, &plan, analyze, &make);
        if let (Err(_), Some(sink)) = (&end, sink.get()) {
            sink.close();
        }
        ran = Some(end?);
        let changed = sink.get().and_then(|sink| sink.take_changed());
        changed.ok_or_else(|| Error::internal("a change has ended without taking effect"))?
    };
    let Changed { rows, returned } = changed;
    if truncate.is_some_and(|truncate| truncate.restarts) {
        restart_sequences(environment, &name)?;
    }
    let result = match returning {
        _ if analyze => rows_tag(tag, rows),
        Some(fields) => QueryResult::ready(fields, returned),
        None if kind == ChangeKind::Truncate => QueryResult::done(crate::result::Tag::Done(tag)),
        None => rows_tag(tag, rows),
    };
    Ok((result, ran.map(|running| Ran { plan, optimized, running })))
}

/// What triggers have done in the place of a change of a view.
pub(super) fn instead(environment: &Environment, instead: Instead) -> Result<QueryResult> {
    let Instead { event, source, returning } = instead;
    let plan = execute::optimize(environment, source)?;
    let running = execute::start(environment, &plan, false, environment.call.token())?;
    let chunks = QueryResult::running(super::result_columns(&plan), running).collect()?;
    match returning {
        Some(fields) => Ok(QueryResult::ready(fields, chunks)),
        None => Ok(rows_tag(event.name(), chunks.iter().map(Chunk::rows).sum())),
    }
}

/// TRUNCATE of several tables.
pub(super) fn truncate(environment: &mut Environment, changes: Vec<Change>) -> Result<QueryResult> {
    for change in changes {
        super::run(environment, Statement::Change(Box::new(change)), Vec::new())?;
    }
    Ok(QueryResult::done(crate::result::Tag::Done(tag_of(&ChangeKind::Truncate))))
}

/// The sequences of a table's columns begin again: at once, but not if the transaction is rolled back.
fn restart_sequences(environment: &Environment, table: &ObjectName) -> Result<()> {
    let table = environment.located(table);
    let catalog = environment.catalog();
    let schema = catalog.schema_of(table.schema.as_deref(), &table.name);
    for (_, _, entry) in catalog.sequences() {
        if entry.owner.as_ref().is_some_and(|owner| owner.schema == schema && owner.table == table.name) {
            let shape = entry.sequence.shape();
            let start = shape.start;
            declare_anew(environment, &entry.sequence, shape, Some(start))?;
        }
    }
    Ok(())
}

/// What the result of such a change is called.
pub(crate) fn tag_of(kind: &ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Insert | ChangeKind::Upsert { .. } => "INSERT",
        ChangeKind::Update { .. } => "UPDATE",
        ChangeKind::Delete { .. } => "DELETE",
        ChangeKind::Truncate => "TRUNCATE TABLE",
        ChangeKind::Merge { .. } => "MERGE",
    }
}

/// Does to a few rows what the query of a change says; returns how many there were, and what is returned of them. After an
/// error the statement has to be rolled back.
pub(crate) fn apply_few(
    environment: &Environment,
    block: &Arc<Block>,
    relation: &Arc<Relation>,
    (kind, attributes): (ChangeKind, Vec<usize>),
    rows: Chunk,
) -> Result<(usize, Vec<Chunk>)> {
    let limit = Budget::new(environment.settings.memory("query_memory_limit"));
    let sink = ChangeSink::new(relation, block, kind, attributes, (environment.statement_budget(), limit));
    if rows.rows() > 0 {
        sink.append(0, 0, rows)?;
    }
    sink.finish()?;
    let Changed { rows, returned } = sink.take_changed().unwrap_or_default();
    Ok((rows, returned))
}

/// Whether all rows of a table are deleted, and nothing else.
fn is_all(kind: &ChangeKind, plan: &Plan) -> bool {
    let deletes = matches!(kind, ChangeKind::Truncate | ChangeKind::Delete { repeats: false });
    deletes && matches!(&plan.root.op, Op::Scan { predicates, .. } if predicates.is_empty())
}

/// Deletes all rows of a relation, without looking at one.
fn delete_all(environment: &Environment, block: &Block, relation: &Arc<Relation>) -> Result<Changed> {
    environment.statement.compiled();
    block.is_queried();
    if let Some(reads) = block.transaction.reads() {
        reads.note(relation, &[], std::iter::empty());
    }
    let rows = block.transaction.delete_all(relation)?;
    environment.statement.ran_here();
    Ok(Changed { rows, returned: Vec::new() })
}

/// What a change has come to.
#[derive(Debug, Default)]
struct Changed {
    rows: usize,
    returned: Vec<Chunk>,
}

/// Chunks with the morsels that they come from.
type Morsels = Vec<(u64, Chunk, Reservation)>;

/// Rows with what becomes of them.
#[derive(Debug)]
struct ChangeSink {
    relation: Arc<Relation>,
    block: Arc<Block>,
    kind: ChangeKind,
    attributes: Vec<usize>,
    budget: Budget,
    /// What the statement may take of memory that is the relation's already, and what it has taken so.
    limit: Budget,
    written: Mutex<Vec<Reservation>>,
    /// Whether rows are changed as they come.
    at_once: bool,
    /// Whether no more are, because something has failed.
    closed: RwLock<bool>,
    /// Rows that were changed as they came.
    count: AtomicUsize,
    /// Rows for later, or what was returned of those that were changed as they came.
    rows: Mutex<Morsels>,
    changed: OnceLock<Mutex<Option<Changed>>>,
}

impl Sink for ChangeSink {
    fn append(&self, _worker: usize, morsel: u64, chunk: Chunk) -> Result<()> {
        if !self.at_once {
            return self.keep(morsel, chunk);
        }
        let closed = self.closed.read().unwrap_or_else(PoisonError::into_inner);
        if *closed {
            return Ok(());
        }
        let written = self.limit.reserve(chunk.bytes(), "update")?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(written);
        let mut work = Work::new(self);
        work.chunk(chunk, &mut Vec::new())?;
        self.count.fetch_add(work.done.rows, Ordering::Relaxed);
        work.done.returned.into_iter().try_for_each(|chunk| self.keep(morsel, chunk))
    }
    fn free_rows(&self, _worker: usize, _types: &[SqlType], _most: usize) -> Result<Option<FreeRows>> {
        Ok(None)
    }
    unsafe fn advance(&self, _worker: usize, _morsel: u64, _rows: usize, _nulls: &[Option<&[u8]>]) -> Result<()> {
        Err(Error::internal("no rows were free"))
    }
    fn end_morsel(&self, _worker: usize, _rows: Range<u64>, _broken: bool) {}

    fn finish(&self) -> Result<()> {
        let mut rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        // In the order of the source; those of one morsel came in order.
        rows.sort_by_key(|(morsel, ..)| *morsel);
        if self.at_once {
            let returned = rows.into_iter().map(|(_, chunk, _)| chunk).collect();
            return self.end(Changed { rows: self.count.load(Ordering::Relaxed), returned });
        }
        let mut work = Work::new(self);
        let mut later = Vec::new();
        for (_, chunk, charged) in rows {
            work.chunk(chunk, &mut later)?;
            drop(charged);
        }
        // Keys that rows give up are free before others take them. Rows that move come first.
        let moved = std::mem::take(&mut work.moved);
        work.insert(moved.into_iter().chain(later).collect())?;
        self.end(work.done)
    }
}

impl ChangeSink {
    fn new(
        relation: &Arc<Relation>,
        block: &Arc<Block>,
        kind: ChangeKind,
        attributes: Vec<usize>,
        (budget, limit): (Budget, Budget),
    ) -> Self {
        let at_once = matches!(
            kind,
            ChangeKind::Update { moves: false, repeats: false }
                | ChangeKind::Delete { repeats: false }
                | ChangeKind::Truncate
        ) && block.changed_by_parts().is_none();
        let (relation, block, closed, count) = (relation.clone(), block.clone(), RwLock::new(false), 0.into());
        let (rows, written, changed) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Self { relation, block, kind, attributes, budget, limit, written, at_once, closed, count, rows, changed }
    }

    /// Changes nothing any more: when this returns, no worker is at it.
    fn close(&self) {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn keep(&self, morsel: u64, chunk: Chunk) -> Result<()> {
        let charged = self.budget.reserve(chunk.bytes(), "update")?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.push((morsel, chunk, charged));
        Ok(())
    }

    fn end(&self, changed: Changed) -> Result<()> {
        self.changed.set(Mutex::new(Some(changed))).map_err(|_| Error::internal("a change ends once"))
    }

    fn take_changed(&self) -> Option<Changed> {
        self.changed.get()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What is done with the rows of a statement.
struct Work<'a> {
    sink: &'a ChangeSink,
    /// Rows that something was done with.
    seen: HashSet<RowId>,
    /// Rows that are written anew in another place.
    moved: Vec<Chunk>,
    /// Keys that are taken by rows of this statement, with the number of the key.
    keys: HashSet<(usize, Vec<u8>)>,
    done: Changed,
}

/// Rows of a chunk by what becomes of them.
#[derive(Default)]
struct Sorted {
    inserted: Vec<u32>,
    updated: Vec<(RowId, u32)>,
    deleted: Vec<(RowId, u32)>,
}

impl Sorted {
    /// The rows that something is done with, in order.
    fn rows(&self) -> Vec<u32> {
        let changed = self.updated.iter().chain(&self.deleted).map(|(_, row)| *row);
        let mut rows: Vec<u32> = self.inserted.iter().copied().chain(changed).collect();
        rows.sort_unstable();
        rows
    }
}

/// The ids in a column, if they are in order and each is there once.
fn in_order(ids: &Column) -> Option<Vec<RowId>> {
    let ids = Some(ids.values::<i64>()).filter(|_| ids.nulls().is_none())?;
    ids.is_sorted_by(|a, b| a < b).then(|| ids.iter().map(|id| RowId::from_bits(*id as u64)).collect())
}

impl<'a> Work<'a> {
    fn new(sink: &'a ChangeSink) -> Self {
        Self { sink, seen: HashSet::new(), moved: Vec::new(), keys: HashSet::new(), done: Changed::default() }
    }

    /// Does what is to be done with the rows of a chunk; rows that are inserted come `later`.
    fn chunk(&mut self, chunk: Chunk, later: &mut Vec<Chunk>) -> Result<()> {
        base::statement::check()?;
        let ChangeSink { relation, block, kind, attributes, .. } = self.sink;
        let all = chunk.rows();
        let mut columns = chunk.into_columns();
        let actions = matches!(kind, ChangeKind::Merge { .. }).then(|| columns.remove(0));
        let ids = (!matches!(kind, ChangeKind::Insert)).then(|| columns.remove(0));
        let returned = columns.split_off(attributes.len());
        let attribute = |a: &usize| &relation.schema().attributes()[*a];
        let columns = columns.into_iter().zip(attributes).map(|(c, a)| typed(c, attribute(a), relation.name()));
        let columns: Vec<Column> = columns.collect::<Result<_>>()?;
        if self.sink.at_once
            && let Some(ids) = ids.as_ref().and_then(in_order)
        {
            self.done.rows += all;
            if !returned.is_empty() {
                self.done.returned.push(Chunk::new(all, returned));
            }
            return match kind {
                ChangeKind::Update { .. } => self.update(&ids, &(0..all as u32).collect::<Vec<_>>(), &columns),
                _ => block.transaction.delete(relation, &ids),
            };
        }
        let sorted = self.sort(all, actions.as_ref(), ids.as_ref(), &columns)?;
        let rows = sorted.rows();
        self.done.rows += rows.len();
        if !returned.is_empty() {
            let whole = rows.len() == all;
            self.done.returned.push(if whole { Chunk::new(all, returned) } else { rows_of(&returned, &rows) });
        }
        let Sorted { inserted, mut updated, deleted } = sorted;
        let mut deleted: Vec<RowId> = deleted.into_iter().map(|(id, _)| id).collect();
        deleted.sort_unstable();
        if !deleted.is_empty() {
            block.transaction.delete(relation, &deleted)?;
        }
        updated.sort_unstable();
        if !updated.is_empty() {
            let (ids, places): (Vec<RowId>, Vec<u32>) = updated.into_iter().unzip();
            self.update(&ids, &places, &columns)?;
        }
        if !inserted.is_empty() {
            later.push(rows_of(&columns, &inserted));
        }
        Ok(())
    }

    fn sort(
        &mut self,
        rows: usize,
        actions: Option<&Column>,
        ids: Option<&Column>,
        columns: &[Column],
    ) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        let id = |row: usize| {
            let ids = ids.filter(|ids| !ids.is_null(row))?;
            Some(RowId::from_bits(ids.values::<i64>()[row] as u64))
        };
        let keys = match &self.sink.kind {
            ChangeKind::Upsert { keys, .. } => {
                keys.iter().map(|key| self.encoded_keys(key, rows, columns)).collect::<Result<Vec<_>>>()?
            }
            _ => Vec::new(),
        };
        let relation = self.sink.relation.number();
        // Another part of the same statement may have changed a row: then this one does not.
        let mut others = self.sink.block.changed_by_parts();
        let mut is_ours = |id: RowId| others.as_mut().is_none_or(|others| others.insert((relation, id)));
        for row in 0..rows {
            match (&self.sink.kind, id(row)) {
                (ChangeKind::Insert, _) => sorted.inserted.push(row as u32),
                (ChangeKind::Update { repeats, .. }, Some(id)) => {
                    if (!repeats || self.seen.insert(id)) && is_ours(id) {
                        sorted.updated.push((id, row as u32));
                    }
                }
                (ChangeKind::Delete { repeats }, Some(id)) => {
                    if (!repeats || self.seen.insert(id)) && is_ours(id) {
                        sorted.deleted.push((id, row as u32));
                    }
                }
                (ChangeKind::Truncate, Some(id)) => sorted.deleted.push((id, row as u32)),
                (ChangeKind::Upsert { .. }, Some(id)) => {
                    if !self.seen.insert(id) || !is_ours(id) {
                        return Err(twice("ON CONFLICT DO UPDATE"));
                    }
                    sorted.updated.push((id, row as u32));
                }
                (ChangeKind::Upsert { updates, .. }, None) => {
                    let of_row: Vec<_> = keys.iter().map(|keys| keys[row].clone()).collect();
                    let is_free = |(number, key): (usize, &Option<Vec<u8>>)| {
                        key.as_ref().is_none_or(|key| !self.keys.contains(&(number, key.clone())))
                    };
                    match of_row.iter().enumerate().all(is_free) {
                        true => {
                            let taken = of_row.into_iter().enumerate();
                            self.keys.extend(taken.filter_map(|(number, key)| Some((number, key?))));
                            sorted.inserted.push(row as u32);
                        }
                        false if *updates => return Err(twice("ON CONFLICT DO UPDATE")),
                        false => {}
                    }
                }
                (ChangeKind::Merge { .. }, id) => {
                    let action = actions.map_or(change_action::NOTHING, |actions| actions.values::<i64>()[row]);
                    match (action, id) {
                        (change_action::INSERT, _) => sorted.inserted.push(row as u32),
                        (change_action::UPDATE | change_action::DELETE, Some(id))
                            if !self.seen.insert(id) || !is_ours(id) =>
                        {
                            return Err(twice("MERGE"));
                        }
                        (change_action::UPDATE, Some(id)) => sorted.updated.push((id, row as u32)),
                        (change_action::DELETE, Some(id)) => sorted.deleted.push((id, row as u32)),
                        _ => {}
                    }
                }
                (_, None) => return Err(Error::internal("a row without an id")),
            }
        }
        Ok(sorted)
    }

    /// The keys of rows; none where some part is NULL, or the row has none.
    fn encoded_keys(&self, key: &UniqueKey, rows: usize, columns: &[Column]) -> Result<Vec<Option<Vec<u8>>>> {
        let reader = ChunkReader::of(Chunk::new(rows, columns.to_vec()));
        let keys = Keys::new(&reader, &key.attributes, 0..rows);
        let has_null = |row: usize| key.attributes.iter().any(|&attribute| columns[attribute].is_null(row));
        let has_key = |row: usize| {
            key.only.is_none_or(|only| !columns[only].is_null(row) && columns[only].values::<u8>()[row] != 0)
        };
        let encoded = |row: usize| {
            let mut bytes = Vec::new();
            keys.encode(row, &mut bytes);
            bytes
        };
        Ok((0..rows).map(|row| (has_key(row) && !has_null(row)).then(|| encoded(row))).collect())
    }

    fn update(&mut self, ids: &[RowId], places: &[u32], columns: &[Column]) -> Result<()> {
        let ChangeSink { relation, block, kind, attributes, .. } = self.sink;
        let (moves, changed) = match kind {
            ChangeKind::Update { moves, .. } => (*moves, attributes),
            ChangeKind::Upsert { moves, updated, .. } | ChangeKind::Merge { moves, updated } => (*moves, updated),
            _ => return Err(Error::internal("nothing is updated")),
        };
        if moves {
            let rows = rows_of(columns, places);
            block.transaction.replace(relation, ids, &rows)?;
            self.moved.push(rows);
            return Ok(());
        }
        let named = attributes.iter().zip(columns).filter(|(attribute, _)| changed.contains(attribute));
        let columns: Vec<(usize, Column)> = named.map(|(&attribute, column)| (attribute, column.clone())).collect();
        if columns.is_empty() {
            return Ok(());
        }
        block.transaction.update(relation, ids, &columns, places)
    }

    fn insert(&mut self, chunks: Vec<Chunk>) -> Result<()> {
        let ChangeSink { relation, block, budget, .. } = self.sink;
        if chunks.is_empty() {
            return Ok(());
        }
        let append = relation.append(budget);
        chunks.into_iter().try_for_each(|chunk| append.append(0, 0, chunk))?;
        block.transaction.insert(&append)?;
        Ok(())
    }
}

#[cold]
fn twice(command: &str) -> Error {
    let hint = match command {
        "MERGE" => "Ensure that not more than one source row matches any one target row.",
        _ => "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    };
    let message = format!("{command} command cannot affect row a second time");
    Error::new(SqlState::CARDINALITY_VIOLATION, message).hint(hint)
}

/// Some rows of a chunk, in this order.
pub(crate) fn some_rows(chunk: &Chunk, rows: &[u32]) -> Chunk {
    match chunk.columns() {
        [] => Chunk::new(rows.len(), Vec::new()),
        columns => rows_of(columns, rows),
    }
}

/// Some rows of columns.
pub(super) fn rows_of(columns: &[Column], rows: &[u32]) -> Chunk {
    let reader = ChunkReader::of(Chunk::new(columns.first().map_or(0, Column::rows), columns.to_vec()));
    let gathered = (0..columns.len()).map(|at| {
        let mut to = ColumnBuilder::new(columns[at].sql_type(), rows.len());
        reader.gather_into(at, rows.iter().map(|&row| row as usize), &mut to);
        to.finish()
    });
    Chunk::new(rows.len(), gathered.collect())
}
