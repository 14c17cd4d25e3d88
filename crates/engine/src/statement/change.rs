//! UPDATE, DELETE, MERGE, INSERT with ON CONFLICT or RETURNING: a query says what becomes of which row; when all of it is
//! there, it is done. So a statement never sees what it does itself, and an error on the way leaves nothing.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use runtime::result::Sink;
use sql::{Change, ChangeKind, change_action};
use storage::index::Keys;
use storage::{ChunkReader, Relation, RowId};
use types::{Chunk, Column, ColumnBuilder, FreeRows, SqlType};

use super::load::{run_to, typed};
use super::rows_tag;
use crate::environment::Environment;
use crate::execute;
use crate::references;
use crate::result::QueryResult;
use crate::source::Source;
use crate::transaction::Block;

pub(super) fn change(environment: &Environment, change: Change) -> Result<QueryResult> {
    let Change { name, table, kind, attributes, source, returning } = change;
    let relation = Source::relation(&table).map_err(|e| e.at(name.position))?;
    if kind == ChangeKind::Truncate {
        references::check_truncate(environment, &relation).map_err(|e| e.at(name.position))?;
    }
    let block = environment.block.clone().ok_or_else(|| Error::internal("a change outside of a transaction"))?;
    let tag = match &kind {
        ChangeKind::Insert | ChangeKind::Upsert { .. } => "INSERT",
        ChangeKind::Update { .. } => "UPDATE",
        ChangeKind::Delete { .. } => "DELETE",
        ChangeKind::Truncate => "TRUNCATE TABLE",
        ChangeKind::Merge { .. } => "MERGE",
    };
    let plan = execute::optimize(environment, source)?;
    let sink = OnceLock::new();
    let make = |budget: &Budget| {
        let new = || {
            let (relation, block, kind, attributes) =
                (relation.clone(), block.clone(), kind.clone(), attributes.clone());
            let (rows, changed) = (Mutex::default(), OnceLock::new());
            Arc::new(ChangeSink { relation, block, kind, attributes, budget: budget.clone(), rows, changed })
        };
        sink.get_or_init(new).clone() as Arc<dyn Sink>
    };
    run_to(environment, &plan, &make)?;
    let Some(Changed { rows, returned }) = sink.get().and_then(|sink| sink.take_changed()) else {
        return Err(Error::internal("a change has ended without taking effect"));
    };
    Ok(match returning {
        Some(fields) => QueryResult::ready(fields, returned),
        None if kind == ChangeKind::Truncate => QueryResult::done(crate::result::Tag::Done(tag)),
        None => rows_tag(tag, rows),
    })
}

/// What a change has come to.
#[derive(Debug, Default)]
struct Changed {
    rows: usize,
    returned: Vec<Chunk>,
}

/// Rows with what becomes of them.
#[derive(Debug)]
struct ChangeSink {
    relation: Arc<Relation>,
    block: Arc<Block>,
    kind: ChangeKind,
    attributes: Vec<usize>,
    budget: Budget,
    /// With the morsels that they come from.
    rows: Mutex<Vec<(u64, Chunk, Reservation)>>,
    changed: OnceLock<Mutex<Option<Changed>>>,
}

impl Sink for ChangeSink {
    fn append(&self, _worker: usize, morsel: u64, chunk: Chunk) -> Result<()> {
        let charged = self.budget.reserve(chunk.bytes(), "update")?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.push((morsel, chunk, charged));
        Ok(())
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
        let mut work = Work { sink: self, seen: HashSet::new(), keys: HashSet::new(), done: Changed::default() };
        let mut later = Vec::new();
        for (_, chunk, charged) in rows {
            work.chunk(chunk, &mut later)?;
            drop(charged);
        }
        // Keys that rows give up are free before others take them.
        work.insert(later)?;
        let changed = work.done;
        self.changed.set(Mutex::new(Some(changed))).map_err(|_| Error::internal("a change ends once"))
    }
}

impl ChangeSink {
    fn take_changed(&self) -> Option<Changed> {
        self.changed.get()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What is done with the rows of a statement.
struct Work<'a> {
    sink: &'a ChangeSink,
    /// Rows that something was done with.
    seen: HashSet<RowId>,
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

impl Work<'_> {
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
            self.update(&updated, &columns, later)?;
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
        for row in 0..rows {
            match (&self.sink.kind, id(row)) {
                (ChangeKind::Insert, _) => sorted.inserted.push(row as u32),
                (ChangeKind::Update { repeats, .. }, Some(id)) => {
                    if !repeats || self.seen.insert(id) {
                        sorted.updated.push((id, row as u32));
                    }
                }
                (ChangeKind::Delete { repeats }, Some(id)) => {
                    if !repeats || self.seen.insert(id) {
                        sorted.deleted.push((id, row as u32));
                    }
                }
                (ChangeKind::Truncate, Some(id)) => sorted.deleted.push((id, row as u32)),
                (ChangeKind::Upsert { .. }, Some(id)) => {
                    if !self.seen.insert(id) {
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
                        (change_action::UPDATE | change_action::DELETE, Some(id)) if !self.seen.insert(id) => {
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

    /// The keys of rows; none where some part is NULL.
    fn encoded_keys(&self, key: &[usize], rows: usize, columns: &[Column]) -> Result<Vec<Option<Vec<u8>>>> {
        let reader = ChunkReader::of(Chunk::new(rows, columns.to_vec()));
        let keys = Keys::new(&reader, key, 0..rows);
        let has_null = |row: usize| key.iter().any(|&attribute| columns[attribute].is_null(row));
        let encoded = |row: usize| {
            let mut bytes = Vec::new();
            keys.encode(row, &mut bytes);
            bytes
        };
        Ok((0..rows).map(|row| (!has_null(row)).then(|| encoded(row))).collect())
    }

    fn update(&mut self, updated: &[(RowId, u32)], columns: &[Column], later: &mut Vec<Chunk>) -> Result<()> {
        let ChangeSink { relation, block, kind, attributes, .. } = self.sink;
        let (ids, places): (Vec<RowId>, Vec<u32>) = updated.iter().copied().unzip();
        let (moves, changed) = match kind {
            ChangeKind::Update { moves, .. } => (*moves, attributes),
            ChangeKind::Upsert { moves, updated, .. } | ChangeKind::Merge { moves, updated } => (*moves, updated),
            _ => return Err(Error::internal("nothing is updated")),
        };
        if moves {
            let rows = rows_of(columns, &places);
            block.transaction.replace(relation, &ids, &rows)?;
            later.push(rows);
            return Ok(());
        }
        let named = attributes.iter().zip(columns).filter(|(attribute, _)| changed.contains(attribute));
        let columns: Vec<(usize, Column)> = named.map(|(&attribute, column)| (attribute, column.clone())).collect();
        if columns.is_empty() {
            return Ok(());
        }
        block.transaction.update(relation, &ids, &columns, &places)
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

/// Some rows of columns.
fn rows_of(columns: &[Column], rows: &[u32]) -> Chunk {
    let reader = ChunkReader::of(Chunk::new(columns.first().map_or(0, Column::rows), columns.to_vec()));
    let gathered = (0..columns.len()).map(|at| {
        let mut to = ColumnBuilder::new(columns[at].sql_type(), rows.len());
        reader.gather_into(at, rows.iter().map(|&row| row as usize), &mut to);
        to.finish()
    });
    Chunk::new(rows.len(), gathered.collect())
}
