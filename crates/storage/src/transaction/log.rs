//! What a transaction has done, and how it ends.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use base::helpers::Helpers;
use base::{Budget, Error, Latch, Result};
use types::{Chunk, Column, ColumnBuilder, Value};

use super::done::Done;
use super::effects::{ChangedRows, Effect};
use super::seen::Seen;
use super::validate::{self, Reads};
use crate::clock::{Clock, Conflict, Left, Recent, Stamp, Validates, View};
use crate::index::{IndexDefinition, RowIndex};
use crate::lock::{Seldom, lock};
use crate::published::pin;
use crate::relation::{Append, Commit, FoundRow, Refused, Relation, Snapshot, Strength, WindowRows};
use crate::sidecar::NewValues;
use crate::values::Values;
use crate::{Attribute, RowId, WINDOW};

/// A transaction: sees one moment and its own changes, and makes these visible to others at once, or never.
#[derive(Debug)]
pub struct Transaction {
    clock: Arc<Clock>,
    pub(super) stamp: Arc<Stamp>,
    pub(super) moment: Latch<View>,
    /// Of the statement that runs, from 1 on.
    statement: AtomicU32,
    /// What validation compares with others' writes; none: a snapshot is enough.
    pub(super) reads: Option<Arc<Reads>>,
    /// And what it compares whatever the level is, with the moment of which that was read.
    pub(super) dependencies: Seldom<Vec<(View, Arc<Reads>)>>,
    pub(super) dependent: Seldom<Option<Arc<Reads>>>,
    pub(super) effects: Seldom<Vec<Effect>>,
    /// As long as it has not ended: whatever its level is, it may be validated.
    validates: Latch<Option<Validates>>,
    pub(super) done: Mutex<Vec<Done>>,
    /// Whether some of that may be rows: who only asks it takes no lock.
    pub(super) has_inserted: AtomicBool,
    /// For statements that look at single rows.
    pub(super) seen: Latch<Seen>,
    /// Indexes that it has made.
    made: Seldom<Vec<Arc<RowIndex>>>,
    /// The relations that nobody else may change.
    claims: Seldom<Vec<Claimed>>,
    /// The last claim that it was refused because others had been faster.
    wanted: Seldom<Option<Wanted>>,
    /// The rows that it has locked.
    locked: Seldom<Vec<(Arc<Relation>, RowId)>>,
    /// Whom the last change collided with.
    blocked: Seldom<Option<Arc<Stamp>>>,
}

/// A relation that nobody else may change, because of a statement.
#[derive(Debug)]
struct Claimed {
    statement: u32,
    relation: Arc<Relation>,
    replaced: bool,
}

/// A claim that a transaction was refused. One that makes it before it reads anything gets it, however busy others are.
#[derive(Debug)]
pub struct Wanted {
    relation: Arc<Relation>,
    replaced: bool,
}

impl Transaction {
    /// A transaction that sees what is committed now. With `serializable`, it commits only if it would have read the same had
    /// it begun then.
    pub fn begin(clock: &Arc<Clock>, serializable: bool) -> Self {
        // Before it takes its moment.
        let validates = Some(clock.validates());
        Self {
            clock: clock.clone(),
            stamp: Arc::default(),
            validates: Latch::new(validates),
            moment: Latch::new(clock.view()),
            statement: AtomicU32::new(1),
            reads: serializable.then(Arc::default),
            dependencies: Seldom::default(),
            dependent: Seldom::default(),
            effects: Seldom::default(),
            done: Mutex::default(),
            has_inserted: AtomicBool::new(false),
            seen: Latch::default(),
            made: Seldom::default(),
            claims: Seldom::default(),
            wanted: Seldom::default(),
            locked: Seldom::default(),
            blocked: Seldom::default(),
        }
    }

    /// What the statement that runs sees.
    pub fn view(&self) -> View {
        self.moment.lock().of_statement(&self.stamp, self.statement.load(Ordering::Relaxed))
    }

    /// A statement begins that sees what earlier ones have done. Returns its number.
    pub fn next_statement(&self) -> u32 {
        self.statement.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of the statement that runs.
    pub fn statement(&self) -> u32 {
        self.statement.load(Ordering::Relaxed)
    }

    /// It sees what is committed now, from now on.
    pub fn refresh(&self) {
        *self.moment.lock() = self.clock.view();
        self.forget_seen();
    }

    /// Whom the last change that failed has collided with.
    pub fn take_blocked(&self) -> Option<Arc<Stamp>> {
        self.blocked.used()?.take()
    }

    /// What others' changes collide with.
    pub fn stamp(&self) -> &Arc<Stamp> {
        &self.stamp
    }

    /// The rows of a relation that it sees.
    pub fn snapshot(&self, relation: &Arc<Relation>) -> Snapshot {
        self.snapshot_of(relation, self.view())
    }

    fn snapshot_of(&self, relation: &Arc<Relation>, view: View) -> Snapshot {
        let snapshot = relation.snapshot_of(view);
        let done = lock(&self.done);
        let own = done.iter().find(|done| Arc::ptr_eq(&done.relation, relation));
        match own.and_then(|own| own.inserted.as_ref()) {
            Some(inserted) => snapshot.with_own(inserted),
            None => snapshot,
        }
    }

    fn with<T>(&self, relation: &Arc<Relation>, change: impl FnOnce(&mut Done) -> Result<T, Refused>) -> Result<T> {
        let mut all = lock(&self.done);
        let at = all.iter().position(|done| Arc::ptr_eq(&done.relation, relation)).unwrap_or_else(|| {
            relation.enter_writer(&self.stamp);
            if all.is_empty() {
                // Most change one.
                all.reserve_exact(1);
            }
            all.push(Done::new(relation.clone()));
            all.len() - 1
        });
        self.told(change(&mut all[at]))
    }

    /// Makes an index of a relation, which the transaction's own statements do not use yet. Error 23505 if a key is not unique.
    pub fn create_index(
        &self,
        relation: &Arc<Relation>,
        definition: IndexDefinition,
        helpers: &dyn Helpers,
    ) -> Result<Arc<RowIndex>> {
        let snapshot = |view: View| self.snapshot_of(relation, view.of_statement(&self.stamp, self.next_statement()));
        let index = self.told(relation.create_index(definition, &self.stamp, snapshot, helpers))?;
        self.made.lock().push(index.clone());
        Ok(index)
    }

    /// Remembers whom a change has collided with.
    pub(super) fn told<T>(&self, result: Result<T, Refused>) -> Result<T> {
        result.map_err(|refused| match refused {
            Refused::Conflict(conflict) => self.collided(conflict),
            Refused::Error(error) => error,
        })
    }

    /// Its statement changes what holds of all rows of a relation: nobody else commits changes of them until it has ended, nor
    /// does anybody who began before. If the rows are written anew, as another relation, nobody does so ever after. Error 40001
    /// if others have changed rows since its moment, or do the same.
    pub fn claim(&self, relation: &Arc<Relation>, by: Option<&Arc<Relation>>) -> Result<()> {
        let moment = self.moment.lock().clone();
        let claimed = self.clock.between_commits(|recent| {
            let is_changed = recent.written_since(&moment).any(|written| written.relation == relation.number());
            if is_changed { Err(Conflict::Newer) } else { relation.claim(&self.stamp, by.is_some(), &moment) }
        });
        if let Err(conflict) = claimed {
            *self.wanted.lock() = Some(Wanted { relation: relation.clone(), replaced: by.is_some() });
            return Err(self.collided(conflict));
        }
        if let Some(heir) = by {
            heir.inherits(&self.stamp);
        }
        self.has_claimed(relation, by.is_some());
        Ok(())
    }

    fn has_claimed(&self, relation: &Arc<Relation>, replaced: bool) {
        self.claims.lock().push(Claimed { statement: self.statement(), relation: relation.clone(), replaced });
    }

    /// The claim that it was refused, for who tries again.
    pub fn take_wanted(&self) -> Option<Wanted> {
        self.wanted.used()?.take()
    }

    /// Claims, before it reads anything, what a try before was refused: its moment is that of the claim, so that nobody who commits
    /// in between is faster. If somebody else has the relation, nothing happens: the statement finds that out when it claims.
    pub fn claim_first(&self, Wanted { relation, replaced }: Wanted) {
        let claimed = self.clock.between_commits(|_| {
            let now = self.clock.view();
            relation.claim(&self.stamp, replaced, &now)?;
            *self.moment.lock() = now;
            Ok::<(), Conflict>(())
        });
        self.forget_seen();
        if claimed.is_ok() {
            self.has_claimed(&relation, replaced);
        }
    }

    /// What statements from number `first` on have claimed is anybody's again.
    fn unclaim(&self, first: u32) {
        let Some(mut claims) = self.claims.used() else { return };
        let given_up: Vec<Claimed> = claims.extract_if(.., |claim| claim.statement >= first).collect();
        for Claimed { relation, .. } in given_up {
            let earlier = claims.iter().filter(|claim| Arc::ptr_eq(&claim.relation, &relation));
            relation.unclaim(&self.stamp, earlier.map(|claim| claim.replaced).max());
        }
    }

    /// Error 40001, of which is remembered with whom.
    fn collided(&self, conflict: Conflict) -> Error {
        if let Conflict::Running(stamp) = &conflict {
            *self.blocked.lock() = Some(stamp.clone());
        }
        conflict.error()
    }

    fn begin_insert(&self, relation: &Arc<Relation>, moment: &View) -> Commit {
        self.has_inserted.store(true, Ordering::Relaxed);
        relation.begin_commit_at(moment)
    }

    /// Inserts what was appended. Returns how many rows that is. After an error the statement has to be rolled back.
    pub fn insert(&self, append: &Append) -> Result<usize> {
        let moment = self.moment.lock().clone();
        let relation = append.relation();
        let mut placed = Vec::new();
        let rows = self.with(relation, |done| {
            let inserted = done.inserted.get_or_insert_with(|| self.begin_insert(relation, &moment));
            let rows = inserted.add(append, &self.stamp, self.statement())?;
            if relation.effects_are_noted() {
                placed = inserted.placed_by(self.statement());
            }
            Ok(rows)
        })?;
        self.note(relation, || ChangedRows::Inserted(placed));
        Ok(rows)
    }

    /// Inserts one row of values of the attributes' types, for which a new chunk is charged to a budget. After an error the
    /// statement has to be rolled back.
    pub fn insert_row(
        &self,
        relation: &Arc<Relation>,
        row: &[impl Borrow<Value>],
        budget: &dyn Fn() -> Budget,
    ) -> Result<()> {
        relation.check_row_nulls(row)?;
        let done = self.with(relation, |done| {
            let begin = || {
                let moment = self.moment.lock().clone();
                self.begin_insert(relation, &moment)
            };
            let inserted = done.inserted.get_or_insert_with(begin);
            inserted.add_row(row, &self.stamp, self.statement())
        })?;
        if done {
            return Ok(());
        }
        let attributes = relation.schema().attributes();
        let column = |(value, attribute): (_, &Attribute)| {
            let mut column = ColumnBuilder::new(attribute.sql_type, 1);
            column.push_value(Borrow::borrow(value));
            column.finish()
        };
        let append = relation.append(&budget());
        append.append(0, 0, Chunk::new(1, row.iter().zip(attributes).map(column).collect()))?;
        self.insert(&append).map(drop)
    }

    /// Deletes rows, given by their ids in order, each once. After an error the statement has to be rolled back.
    pub fn delete(&self, relation: &Arc<Relation>, ids: &[RowId]) -> Result<()> {
        match ids {
            [id] => self.change_row(relation, &relation.row_at(*id, &pin()), None, &self.view())?,
            ids => self.change(relation, ids, None)?,
        }
        self.note(relation, || ChangedRows::Deleted(ids.to_vec()));
        Ok(())
    }

    /// As [`delete`](Self::delete), of rows in whose places others come, with values of all attributes, which are inserted later.
    pub fn replace(&self, relation: &Arc<Relation>, ids: &[RowId], rows: &Chunk) -> Result<()> {
        self.change(relation, ids, None)?;
        self.note(relation, || ChangedRows::Replaced(ids.to_vec(), rows.clone()));
        Ok(())
    }

    /// Gives rows, by their ids in order, each once, new values of attributes: those at `places` of the columns. Attributes
    /// of keys are not among them. Checks NOT NULL. After an error the statement has to be rolled back.
    pub fn update(
        &self,
        relation: &Arc<Relation>,
        ids: &[RowId],
        columns: &[(usize, Column)],
        places: &[u32],
    ) -> Result<()> {
        let values: Vec<_> = columns.iter().map(|(attribute, column)| (*attribute, Values::from(column))).collect();
        self.update_to(relation, ids, (&values, places))
    }

    /// As [`update`](Self::update), of one row, to values of the attributes' types.
    pub fn update_row(&self, relation: &Arc<Relation>, id: RowId, values: &[(usize, &Value)]) -> Result<()> {
        self.update_found(relation, &relation.row_at(id, &pin()), values, &self.view())
    }

    /// The same for who sees this.
    pub(super) fn update_found(
        &self,
        relation: &Arc<Relation>,
        row: &FoundRow<'_>,
        values: &[(usize, &Value)],
        view: &View,
    ) -> Result<()> {
        relation.check_new_nulls(values, &|| self.snapshot(relation).row(row.id()))?;
        self.change_row(relation, row, Some(values), view)?;
        let attributes = || values.iter().map(|values| values.0).collect();
        self.note(relation, || ChangedRows::Updated(vec![row.id()], attributes()));
        Ok(())
    }

    /// As [`delete`](Self::delete), of one row.
    pub(super) fn delete_found(&self, relation: &Arc<Relation>, row: &FoundRow<'_>, view: &View) -> Result<()> {
        self.change_row(relation, row, None, view)?;
        self.note(relation, || ChangedRows::Deleted(vec![row.id()]));
        Ok(())
    }

    /// Changes one row; none of `values`: it is deleted.
    fn change_row(
        &self,
        relation: &Arc<Relation>,
        row: &FoundRow<'_>,
        values: Option<&[(usize, &Value)]>,
        view: &View,
    ) -> Result<()> {
        let attributes = values.map(|values| values.iter().map(|value| value.0));
        self.with(relation, |done| {
            // An index may have been made since the statement was planned.
            if attributes.clone().is_some_and(|attributes| relation.has_key_of(attributes)) {
                return Err(Refused::Conflict(Conflict::Newer));
            }
            // Before anything is changed: whatever comes of it is taken back.
            done.note_row(row.id(), attributes);
            Ok(())
        })?;
        self.told(relation.change_row(row, values, view))?;
        let strength = if values.is_some() { Strength::NoKeyUpdate } else { Strength::Update };
        relation.check_row_lock(row.id(), strength, &self.stamp).map_err(|conflict| self.collided(conflict))
    }

    fn update_to(&self, relation: &Arc<Relation>, ids: &[RowId], (values, places): NewValues<'_>) -> Result<()> {
        relation.refuse_nulls(ids, (values, places), &|| self.snapshot(relation))?;
        self.change(relation, ids, Some((values, places)))?;
        self.note(relation, || ChangedRows::Updated(ids.to_vec(), values.iter().map(|values| values.0).collect()));
        Ok(())
    }

    /// Deletes all rows of a relation that it sees, and returns how many these were. After an error the statement has to be
    /// rolled back.
    pub fn delete_all(&self, relation: &Arc<Relation>) -> Result<usize> {
        let (view, snapshot) = (self.view(), self.snapshot(relation));
        let mut deleted = 0;
        for chunk in snapshot.chunks() {
            let sidecar = relation.sidecar_of(chunk.number());
            let mut windows = WindowRows::of_range(chunk.number(), 0..chunk.rows());
            windows.retain_mut(|window| {
                if let Some(alive) = sidecar.as_ref().and_then(|sidecar| sidecar.alive(window.number, &view)) {
                    window.rows = window.rows.and(&alive);
                    window.at = 0..window.rows.count();
                }
                deleted += window.at.len();
                !window.rows.is_empty()
            });
            self.change_windows(relation, &windows, None, &view)?;
            self.note(relation, || {
                let ids = |window: &WindowRows| {
                    let first = window.number * WINDOW;
                    window.rows.iter().map(|row| RowId::new(window.chunk, first + row)).collect::<Vec<_>>()
                };
                ChangedRows::Deleted(windows.iter().flat_map(ids).collect())
            });
        }
        Ok(deleted)
    }

    fn change(&self, relation: &Arc<Relation>, ids: &[RowId], values: Option<NewValues<'_>>) -> Result<()> {
        debug_assert!(ids.is_sorted_by(|a, b| a < b));
        self.change_windows(relation, &WindowRows::of(ids), values, &self.view())
    }

    /// Changes rows. Other threads may do so for the same statement, meanwhile.
    fn change_windows(
        &self,
        relation: &Arc<Relation>,
        windows: &[WindowRows],
        values: Option<NewValues<'_>>,
        view: &View,
    ) -> Result<()> {
        let attributes = values.map(|(columns, _)| columns.iter().map(|column| column.0));
        self.with(relation, |done| {
            // An index may have been made since the statement was planned.
            if attributes.clone().is_some_and(|attributes| relation.has_key_of(attributes)) {
                return Err(Refused::Conflict(Conflict::Newer));
            }
            // Before anything is changed: whatever comes of it is taken back.
            windows.iter().for_each(|window| done.note(window, attributes.clone()));
            Ok(())
        })?;
        self.told(relation.change_windows(windows, values, view))?;
        let strength = if values.is_some() { Strength::NoKeyUpdate } else { Strength::Update };
        relation.check_locks(windows, strength, &self.stamp).map_err(|conflict| self.collided(conflict))
    }

    /// Locks a row that it sees until it ends. False if another transaction has it, and it shall not be waited for; else that is
    /// error 40001, and so is a row that was changed since its moment.
    pub fn lock_row(&self, relation: &Arc<Relation>, row: RowId, strength: Strength, waits: bool) -> Result<bool> {
        match relation.lock_row(row, strength, &self.view()) {
            Ok(()) => {
                self.locked.lock().push((relation.clone(), row));
                Ok(true)
            }
            Err(Conflict::Running(_)) if !waits => Ok(false),
            Err(conflict) => Err(self.collided(conflict)),
        }
    }

    /// Gives up the locks of statements from number `first` on.
    fn unlock(&self, first: u32) {
        let Some(mut locked) = self.locked.used() else { return };
        for rows in locked.chunk_by(|(one, _), (other, _)| Arc::ptr_eq(one, other)) {
            rows[0].0.unlock_rows(rows.iter().map(|(_, row)| *row), &self.stamp, first);
        }
        if first == 0 {
            locked.clear();
        }
    }

    /// Takes back what statements from number `first` on have done.
    pub fn roll_back_to(&self, first: u32) -> Result<()> {
        // Nothing takes this back but the end of the transaction.
        let view = self.moment.lock().of_statement(&self.stamp, 0);
        self.unclaim(first);
        self.unlock(first);
        for done in &mut *lock(&self.done) {
            for (chunk, window) in done.windows() {
                done.relation.undo_window(chunk, window, &self.stamp, first);
            }
            let Some(inserted) = &mut done.inserted else { continue };
            // Rows of a transaction are dead if they are not wanted any more: nothing moves.
            for (chunk, rows) in inserted.forget_from(first) {
                let windows = WindowRows::of_range(chunk, rows);
                windows.iter().for_each(|window| done.note(window, None::<std::iter::Empty<usize>>));
                done.relation.change_windows(&windows, None, &view).map_err(Error::from)?;
            }
        }
        Ok(())
    }

    /// Makes all changes visible at once. Error 40001 if it would have read something else had it begun now; then nothing has
    /// happened.
    /// Returns the relations that were changed.
    pub fn commit(&self) -> Result<Vec<Arc<Relation>>> {
        let mut done = std::mem::take(&mut *lock(&self.done));
        done.retain(|done| done.inserted.is_some() || done.has_changed());
        let made = self.made.used().map_or_else(Vec::new, |made| made.clone());
        // A claim takes effect at a moment of its own.
        if done.is_empty() && self.claims.used().is_none_or(|claims| claims.is_empty()) {
            made.iter().for_each(|index| index.complete(self.clock.view().timestamp()));
            self.validates.lock().take();
            self.stamp.end_without_changes(&self.clock);
            self.unlock(0);
            return Ok(Vec::new());
        }
        let own = self.view();
        let looked = self.reads.as_ref().map_or(Ok(0), |reads| validate::look(&self.clock, &own, reads));
        let dependencies = self.dependencies.used().map_or_else(Vec::new, |mut all| std::mem::take(&mut *all));
        let done = RefCell::new(done);
        let check = |recent: &Recent| {
            // Gone when it is over: nothing is kept for it.
            let own = own;
            let unclaimed = |done: &Done| done.relation.check_unclaimed(Some(&own));
            done.borrow().iter().try_for_each(unclaimed).map_err(|conflict| self.collided(conflict))?;
            dependencies.iter().try_for_each(|(moment, reads)| {
                validate::check(recent, &moment.of_statement(&self.stamp, self.statement()), reads, 0)
            })?;
            self.reads.as_ref().map_or(Ok(()), |reads| validate::check(recent, &own, reads, looked?))
        };
        let publish = |timestamp| {
            // Rows that this one has changed before are in them as they are now.
            made.iter().for_each(|index| index.complete(timestamp));
            let mut done = done.borrow_mut();
            done.iter_mut().filter_map(|done| done.inserted.as_mut()).for_each(|inserted| inserted.publish(timestamp));
        };
        let left = |asked| {
            // It reads nothing any more: what it leaves behind may go with it, if nobody else does.
            self.forget_seen();
            self.moment.lock().give_up();
            let (mut written, mut garbage) = (Vec::new(), Left::new());
            for done in &mut *done.borrow_mut() {
                done.write(asked, &mut written);
                garbage.extend(done.relation.garbage(done.windows().into_iter()));
            }
            (written, garbage)
        };
        let result = self.clock.commit((&self.stamp, true), check, publish, left);
        let done = done.into_inner();
        match result {
            Ok(()) => {
                self.unlock(0);
                self.validates.lock().take();
                Ok(done.into_iter().map(|done| done.relation).collect())
            }
            Err(error) => {
                // It is taken back when this is dropped.
                *lock(&self.done) = done;
                Err(error)
            }
        }
    }

    /// Takes back all that it has done; it cannot commit any more.
    pub fn roll_back(&self) {
        self.validates.lock().take();
        self.undo();
        if self.stamp.committed().is_none() {
            self.stamp.abort();
        }
        self.unlock(0);
    }

    fn undo(&self) {
        for done in lock(&self.done).drain(..) {
            for (chunk, window) in done.windows() {
                done.relation.undo_window(chunk, window, &self.stamp, 0);
            }
            // The rows that it has inserted go with their commit.
            drop(done.inserted);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.stamp.committed().is_none() {
            self.roll_back();
        }
    }
}
