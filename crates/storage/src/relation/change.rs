//! Rows that are changed and deleted where they lie, as a transaction does.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result};
use types::{Datum, Value};

use super::found::FoundRow;
use super::zone::null_refused;
use super::{Commit, Relation, Snapshot, WindowRows};
use crate::bits::Bits;
use crate::chunk::StoredChunk;
use crate::clock::{Conflict, Stamp, View};
use crate::index::{Keys, Liveness};
use crate::lock::lock;
use crate::sidecar::{Changing, Death, NewValues, Sidecar, WindowChange};
use crate::statistics::Bounds;
use crate::values::Values;
use crate::{ChunkReader, RowId};

/// Why a change did not happen.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Another transaction was faster.
    Conflict(Conflict),
    /// It is not allowed, or there is no memory.
    Error(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Conflict(conflict) => conflict.error(),
            Refused::Error(error) => error,
        }
    }
}

impl Relation {
    /// An empty commit.
    pub(crate) fn begin_commit(self: &Arc<Self>) -> Commit {
        Commit::begin(self, self.lease())
    }

    /// An empty commit of a transaction that sees that moment: behind rows that it sees all of.
    pub(crate) fn begin_commit_at(self: &Arc<Self>, moment: &View) -> Commit {
        let visible = lock(&self.live).view_at(moment.timestamp());
        let lease = self.lease_by(|zone| {
            let mut tails = zone.tails.iter().flatten();
            let sees = |number| visible.visible(number).unwrap_or(0);
            tails.all(|tail| sees(tail.number) == tail.open.rows()).then_some(zone.number)
        });
        Commit::begin(self, lease)
    }

    /// About how many rows are dead.
    pub(super) fn dead_rows(&self) -> usize {
        self.dead.load(Ordering::Relaxed)
    }

    /// How often rows have come, or were changed to values, that may be outside of what was known of their columns. Counted when that is
    /// known, and before anybody sees them.
    pub fn widenings(&self) -> u64 {
        self.widened.load(Ordering::Acquire)
    }

    pub(crate) fn sidecar_of(&self, chunk: usize) -> Option<Arc<Sidecar>> {
        self.directory.get(chunk).sidecar()
    }

    /// A chunk's rows as a view sees them that is not of the transaction that may have written some of them.
    pub(crate) fn reader_of(self: &Arc<Self>, chunk: usize, view: &View) -> Option<ChunkReader> {
        let snapshot = self.snapshot_of(view.clone());
        (chunk < snapshot.chunk_count()).then(|| snapshot.chunk(chunk).read())
    }

    /// Changes rows of windows, in their order; none of `values`: they are deleted.
    pub(crate) fn change_windows(
        &self,
        windows: &[WindowRows],
        values: Option<NewValues<'_>>,
        view: &View,
    ) -> Result<(), Refused> {
        for windows in windows.chunk_by(|a, b| a.chunk == b.chunk) {
            let chunk = self.directory.get(windows[0].chunk);
            if let Some((columns, places)) = values {
                let at = windows[0].at.start..windows[windows.len() - 1].at.end;
                self.widen(chunk, columns, &places[at]);
            }
            for window in windows {
                base::statement::check()?;
                self.change_window(chunk, window, values, view)?;
            }
        }
        Ok(())
    }

    /// Changes one row, to values of the attributes' types; none: it is deleted.
    pub(crate) fn change_row(
        &self,
        row: &FoundRow<'_>,
        values: Option<&[(usize, &Value)]>,
        view: &View,
    ) -> Result<(), Refused> {
        base::statement::check()?;
        let chunk = self.directory.get(row.id().chunk());
        if let Some(values) = values {
            self.widen_for_row(chunk, values);
        }
        let change = |sidecar: &Sidecar| sidecar.change_row(row.id().offset(), values, &self.schema, view);
        let mut known = row.sidecar();
        loop {
            let changing = match known.take() {
                Some(sidecar) => change(sidecar)?,
                None => change(&*chunk.make_sidecar(&self.budget)?)?,
            };
            match changing {
                Changing::Done => break,
                Changing::Refused(conflict) => return Err(Refused::Conflict(conflict)),
                // There is another one by now.
                Changing::Sealed => {}
            }
        }
        if values.is_none() {
            self.dead.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// As [`widen`](Self::widen), for one row.
    fn widen_for_row(&self, chunk: &StoredChunk, values: &[(usize, &Value)]) {
        let attributes = self.schema.attributes();
        let datum = |attribute: usize, value| Datum::new(value, attributes[attribute].sql_type);
        if chunk.is_widened_for(|widened| {
            values.iter().all(|&(attribute, value)| widened[attribute].has(Values::from(&datum(attribute, value)), 0))
        }) {
            return;
        }
        let mut all: Vec<Bounds> = Vec::with_capacity(values.len());
        let mut live = lock(&self.live);
        for &(attribute, value) in values {
            let bounds = &mut live.summary.columns[attribute].bounds;
            bounds.add_with_room(Values::from(&datum(attribute, value)), 0, None);
            all.push(bounds.clone());
        }
        drop(live);
        chunk.widen_changed_by(|widened| {
            for (&(attribute, value), all) in values.iter().zip(&all) {
                widened[attribute].add_with_room(Values::from(&datum(attribute, value)), 0, Some(all));
            }
        });
        self.widened.fetch_add(1, Ordering::Release);
    }

    /// Error 23502 if a row gets NULL where the schema refuses it; `row` is what it has now.
    pub(crate) fn check_new_nulls(&self, values: &[(usize, &Value)], row: &dyn Fn() -> Vec<Value>) -> Result<()> {
        let refused =
            |(attribute, value): &&(usize, &Value)| value.is_null() && self.schema.attributes()[*attribute].not_null;
        let Some((attribute, _)) = values.iter().find(refused) else { return Ok(()) };
        let mut row = row();
        values.iter().for_each(|(attribute, value)| row[*attribute] = (*value).clone());
        Err(null_refused(self, &self.schema, &self.schema.attributes()[*attribute].name, &row))
    }

    fn change_window(
        &self,
        chunk: &StoredChunk,
        window: &WindowRows,
        values: Option<NewValues<'_>>,
        view: &View,
    ) -> Result<(), Refused> {
        let values = values.map(|(columns, places)| (columns, &places[window.at.clone()]));
        let change = WindowChange { rows: window.rows, values, schema: &self.schema };
        loop {
            match chunk.make_sidecar(&self.budget)?.change(window.number, &change, view)? {
                Changing::Done => break,
                Changing::Refused(conflict) => return Err(Refused::Conflict(conflict)),
                // There is another one by now.
                Changing::Sealed => {}
            }
        }
        if values.is_none() {
            self.dead.fetch_add(window.at.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Error 23502 if a row gets NULL where the schema refuses it; the rows are those of the snapshot.
    pub(crate) fn refuse_nulls(
        &self,
        ids: &[RowId],
        (columns, places): NewValues<'_>,
        snapshot: &dyn Fn() -> Snapshot,
    ) -> Result<()> {
        for (attribute, column) in columns {
            let wanted = &self.schema.attributes()[*attribute];
            let null = |place: &u32| column.is_null(*place as usize);
            if wanted.not_null
                && column.nulls(0..0).is_some()
                && let Some(at) = places.iter().position(null)
            {
                let mut row = snapshot().row(ids[at]);
                for (attribute, values) in columns {
                    let sql_type = self.schema.attributes()[*attribute].sql_type;
                    row[*attribute] = crate::body::value(*values, places[at] as usize, sql_type);
                }
                return Err(null_refused(self, &self.schema, &wanted.name, &row));
            }
        }
        Ok(())
    }

    /// Widens what is known of a chunk and of the relation for values that rows get, before anybody can see one: of the relation first,
    /// so that the bounds of a chunk are always within those.
    fn widen(&self, chunk: &StoredChunk, columns: &[(usize, Values<'_>)], places: &[u32]) {
        if let [place] = places
            && chunk
                .is_widened_for(|widened| columns.iter().all(|(a, values)| widened[*a].has(*values, *place as usize)))
        {
            return;
        }
        let bounds = |(attribute, values): &(usize, Values<'_>)| {
            // Those of other rows of the same statement do no harm.
            let all = places.len() == values.rows();
            let (from, to) = match all {
                true => (0, values.rows()),
                false => {
                    let least = places.iter().min().map_or(0, |place| *place as usize);
                    (least, places.iter().max().map_or(0, |place| *place as usize + 1))
                }
            };
            (*attribute, Bounds::of(*values, from, to))
        };
        let bounds: Vec<(usize, Bounds)> = columns.iter().map(bounds).collect();
        let mut live = lock(&self.live);
        for (attribute, bounds) in &bounds {
            live.summary.columns[*attribute].bounds.merge(bounds);
        }
        drop(live);
        chunk.widen_changed_by(|widened| {
            bounds.iter().for_each(|(attribute, bounds)| widened[*attribute].merge(bounds))
        });
        self.widened.fetch_add(1, Ordering::Release);
    }

    /// Takes back what a transaction has done in a window in its statements from `first` on.
    pub(crate) fn undo_window(&self, chunk: usize, number: usize, stamp: &Arc<Stamp>, first: u32) {
        if let Some(sidecar) = self.sidecar_of(chunk) {
            let revived = sidecar.undo(number, stamp, first);
            self.dead.fetch_sub(revived, Ordering::Relaxed);
        }
    }

    /// Removes the keys of rows of a chunk that are dead for all views.
    pub(crate) fn forget_keys(&self, chunk: usize, first: usize, rows: &Bits) {
        self.forget_in_indexes(chunk, || rows.iter().map(|row| first + row));
        let Some(index) = &self.index else { return };
        let body = self.directory.get(chunk).pin();
        let rows: Vec<usize> = rows.iter().map(|row| first + row).collect();
        for run in rows.chunk_by(|row, next| row + 1 == *next) {
            let run = run[0]..run[run.len() - 1] + 1;
            let reader = ChunkReader::new(body.clone(), run.end);
            index.remove(&Keys::new(&reader, self.schema.primary_key(), run.clone()), RowId::new(chunk, run.start));
        }
    }

    /// What has become of a row, for a transaction (or a commit alone) that wants its key.
    pub(super) fn liveness(&self, row: RowId, own: Option<&Arc<Stamp>>) -> Liveness {
        if self.undecided(row, own).is_some() {
            return Liveness::Unfinished;
        }
        match self.sidecar_of(row.chunk()).map_or(Death::Alive, |sidecar| sidecar.deleter(row.offset())) {
            Death::Alive => Liveness::Alive,
            Death::Dead(_) => Liveness::Dead,
        }
    }

    /// The other transaction that has inserted or deleted a row, and has not ended.
    pub(super) fn undecided(&self, row: RowId, own: Option<&Arc<Stamp>>) -> Option<Arc<Stamp>> {
        let is_other = |stamp: &Arc<Stamp>| own.is_none_or(|own| !Arc::ptr_eq(own, stamp));
        let live = lock(&self.live);
        if live.visible(row.chunk()).is_some_and(|visible| row.offset() >= visible) {
            return live.pending.get(&(row.chunk() as u32)).filter(|stamp| is_other(stamp)).cloned();
        }
        drop(live);
        match self.sidecar_of(row.chunk()).map_or(Death::Alive, |sidecar| sidecar.deleter(row.offset())) {
            Death::Dead(Some(stamp)) if stamp.committed().is_none() && is_other(&stamp) => Some(stamp),
            _ => None,
        }
    }
}

#[cfg(test)]
impl Relation {
    /// The order of its commits.
    pub(crate) fn clock_of_tests(&self) -> Arc<crate::clock::Clock> {
        self.clock.clone()
    }
}
