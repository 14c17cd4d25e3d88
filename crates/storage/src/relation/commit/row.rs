//! One row of a transaction: written to the chunk that grows, and its keys made of its values, without a batch. What is known of
//! columns is looked at in the chunk's own notes, and widened only for a value that is outside of it.

use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::{Datum, Value};

use super::{Commit, Refused};
use crate::RowId;
use crate::clock::{Conflict, Stamp};
use crate::index::{IndexDefinition, KeyPart, Keys, Liveness, OneKey, Taken};
use crate::lock::{lock, lock_soon};
use crate::open::Appended;
use crate::relation::Relation;
use crate::relation::zone::owned;
use crate::values::Values;

/// Most parts of a key that is entered without a batch.
const MOST_PARTS: usize = 8;

impl Commit {
    /// Places one row of a statement behind those that are there and enters its keys; false if there is no room, and nothing is
    /// done. The values are of the attributes' types, and NULL where that is allowed. O(keys) beside the values.
    pub(crate) fn add_row(
        &mut self,
        row: &[impl Borrow<Value>],
        stamp: &Arc<Stamp>,
        statement: u32,
    ) -> Result<bool, Refused> {
        let [Some(tail)] = self.zone.tails.as_slice() else { return Ok(false) };
        if tail.open.room() == 0 {
            return Ok(false);
        }
        let (number, from) = (tail.number, tail.open.rows());
        let begun = self.written.len();
        self.tail_for(0, 1)?;
        // Noted first: after an error it has to be forgotten.
        match self.steps.last_mut() {
            Some((last, chunk, rows)) if (*last, *chunk, rows.end) == (statement, number, from) => rows.end += 1,
            _ => self.steps.push((statement, number, from..from + 1)),
        }
        let tail = self.zone.tails[0].as_mut().expect("there is room in it");
        let appended = tail.open.append_row(row)?;
        let relation = self.relation.clone();
        if self.written.len() > begun {
            lock(&relation.live).pending.insert(number as u32, stamp.clone());
        }
        if self.zone.tails[0].as_ref().is_some_and(|tail| tail.layout != tail.open.layout()) {
            self.exchange_bodies();
        }
        let id = RowId::new(number, from);
        self.enter_row(&relation, id, row, stamp)?;
        self.know_row(&relation, id, row, appended);
        if self.zone.tails[0].as_ref().is_some_and(|tail| tail.open.room() == 0) {
            self.close(0);
        }
        Ok(true)
    }

    /// Enters the row's keys.
    fn enter_row(
        &mut self,
        relation: &Arc<Relation>,
        id: RowId,
        row: &[impl Borrow<Value>],
        stamp: &Arc<Stamp>,
    ) -> Result<(), Refused> {
        let written =
            self.written.iter_mut().rev().find(|w| w.number == id.chunk()).expect("noted before it was written");
        written.entered = id.offset() + 1;
        if relation.index.is_none() && !relation.is_indexed() {
            return Ok(());
        }
        let _keys = lock_soon(&relation.keys);
        let alive = |row| relation.liveness(row, Some(stamp));
        if let Some(Taken { by, liveness, .. }) = self.enter_primary(relation, id, row, &alive)? {
            return Err(refused(relation, &relation.key(), row, (by, liveness), stamp));
        }
        let made = relation.indexes_made();
        if self.indexes.0 != made {
            self.indexes = (made, relation.known_indexes());
        }
        let attributes = relation.schema.attributes();
        for index in self.indexes.1.iter().filter_map(std::sync::Weak::upgrade) {
            let mut writing = index.write()?;
            let is_true = |only: usize| matches!(row[only].borrow(), Value::Bool(true));
            if !index.definition().only.is_none_or(is_true) {
                continue;
            }
            self.key.clear();
            let mut has_null = false;
            for (part, _) in index.parts() {
                let datum = Datum::new(row[part.attribute].borrow(), attributes[part.attribute].sql_type);
                has_null |= datum.is_null();
                part.push(Values::from(&datum), 0, &mut self.key);
            }
            if index.refuses_twice(has_null) {
                let taken = index.find(&**relation, &self.key, |by| match alive(by) {
                    _ if by == id => None,
                    Liveness::Dead => None,
                    liveness => Some((by, liveness)),
                });
                if let Some(taken) = taken {
                    drop(writing);
                    return Err(refused(relation, index.definition(), row, taken, stamp));
                }
            }
            index.insert(&mut writing, &**relation, &mut self.key, id)?;
        }
        Ok(())
    }

    /// Enters the row's primary key, if there is one.
    fn enter_primary(
        &self,
        relation: &Arc<Relation>,
        id: RowId,
        row: &[impl Borrow<Value>],
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> base::Result<Option<Taken>> {
        let Some(index) = &relation.index else { return Ok(None) };
        let (key, attributes) = (relation.schema.primary_key(), relation.schema.attributes());
        let mut parts = [KeyPart::I16(0); MOST_PARTS];
        let is_simple = key.len() <= MOST_PARTS
            && key.iter().zip(&mut parts).all(|(&attribute, part)| {
                let of = KeyPart::of(row[attribute].borrow(), attributes[attribute].sql_type.physical());
                of.map(|of| *part = of).is_some()
            });
        if is_simple {
            return index.insert_one(OneKey(&parts[..key.len()]), id, &**relation, alive);
        }
        let written = self.written.iter().rev().find(|w| w.number == id.chunk()).expect("noted before");
        let reader = self.reader(written);
        index.insert(&Keys::new(&reader, key, id.offset()..id.offset() + 1), id, &**relation, alive)
    }

    /// Widens bounds for the row, before anybody sees it. Its distinct values are left for later.
    fn know_row(&mut self, relation: &Arc<Relation>, id: RowId, row: &[impl Borrow<Value>], appended: Appended) {
        let written = self.written.iter_mut().rev().find(|w| w.number == id.chunk()).expect("noted before");
        if written.known != id.offset() {
            // Others before it are not known either.
            return self.summarise_rest(None);
        }
        written.known += 1;
        match self.left.last_mut() {
            Some((chunk, rows)) if (*chunk, rows.end) == (id.chunk(), id.offset()) => rows.end += 1,
            _ => self.left.push((id.chunk(), id.offset()..id.offset() + 1)),
        }
        if appended.is_empty() {
            return;
        }
        let chunk = relation.directory.get(id.chunk());
        let (mut live, mut widening) = (lock(&relation.live), chunk.widening());
        let mut is_wider = false;
        for attribute in appended.columns(row.len()) {
            let value: &Value = row[attribute].borrow();
            let (bounds, summary) = (&mut widening[attribute], &mut live.summary.columns[attribute].bounds);
            if value.is_null() {
                is_wider |= bounds.nulls == 0;
                bounds.nulls += 1;
                summary.nulls += 1;
            } else {
                let datum = Datum::new(value, relation.schema.attributes()[attribute].sql_type);
                if bounds.add(Values::from(&datum), 0) {
                    summary.add(Values::from(&datum), 0);
                    is_wider = true;
                }
                if let Some(tail) = &mut self.zone.tails[0] {
                    tail.open.know(attribute, bounds);
                }
            }
        }
        if is_wider {
            relation.widened.fetch_add(1, Ordering::Release);
        }
    }
}

/// Why a row with the key of another one is refused.
#[cold]
fn refused(
    relation: &Relation,
    key: &IndexDefinition,
    row: &[impl Borrow<Value>],
    (by, liveness): (RowId, Liveness),
    stamp: &Arc<Stamp>,
) -> Refused {
    let other = relation.undecided(by, Some(stamp)).filter(|_| liveness == Liveness::Unfinished);
    match other {
        Some(other) => Refused::Conflict(Conflict::Running(other)),
        None => relation.duplicate(key, &owned(row)).into(),
    }
}
