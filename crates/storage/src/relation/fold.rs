//! Folding: rows of a chunk that have changed come into a new body, compressed as any other, when every view sees them as they
//! are now. The sidecar is exchanged together with the body; who still reads the old ones finds all there that its view sees.
//! A chunk without a row that is alive gives its memory back.

use std::sync::Arc;

use types::{Buffer, Column, ColumnBuilder, Physical};

use super::Relation;
use crate::body::{Body, Scratch, Stored, copy};
use crate::chunk::Held;
use crate::lock::lock;
use crate::sidecar::Sidecar;
use crate::statistics::Bounds;
use crate::values::Values;
use crate::{ChunkReader, WINDOW};

impl Relation {
    /// Leaves a chunk to be folded if that is worth it.
    pub(crate) fn consider_folding(&self, chunk: usize, sidecar: &Sidecar) {
        let rows = self.directory.get(chunk).closed_rows();
        if rows > 0 && sidecar.is_worth_folding(rows) {
            self.backlog.push_changed(chunk);
        }
    }

    /// Folds a chunk that grows no more, unless somebody sees older versions of its rows, or changes one meanwhile.
    pub(super) fn fold(&self, number: usize) {
        let chunk = self.directory.get(number);
        let _folding = lock(&self.folding);
        let Held { body, sidecar: Some(sidecar) } = chunk.pin_changed() else { return };
        let rows = chunk.closed_rows();
        let settled = sidecar.settled();
        sidecar.may_be_folded_again(settled.is_some(), rows);
        let Some((attributes, dead, changes)) = settled else { return };
        let types = || self.schema.attributes().iter().map(|a| a.sql_type);
        if attributes.is_empty() && dead < rows {
            return;
        }
        let Ok(_room) = self.budget.reserve(body.bytes(), "update") else { return };
        let folded = match dead == rows {
            true => Body::of_dead_rows(types()),
            false => {
                let mut folded = Body::of(&body);
                for attribute in attributes {
                    // It would not take the other's place.
                    if sidecar.changes() != changes {
                        return;
                    }
                    folded = folded.with_column(attribute, self.folded(&body, &sidecar, attribute, rows));
                }
                folded
            }
        };
        chunk.exchange_both((&body, &sidecar), folded, || sidecar.seal(changes, &self.budget));
    }

    /// A column with the newest values.
    fn folded(&self, body: &Arc<Body>, sidecar: &Arc<Sidecar>, attribute: usize, rows: usize) -> Stored {
        let reader = ChunkReader::new(body.clone(), rows).with_changes(sidecar.clone(), self.clock.view());
        let column = match body.sql_type(attribute).physical() {
            Physical::Str => texts(&reader, attribute, rows),
            _ => numbers(&reader, attribute, rows),
        };
        let bounds = Bounds::of((&column).into(), 0, rows);
        Stored::freeze((&column).into(), &bounds).unwrap_or(Stored::Plain(column))
    }
}

/// Calls `with` with the values of a column, a window after the other.
fn each_window(reader: &ChunkReader, attribute: usize, rows: usize, mut with: impl FnMut(Values<'_>)) {
    let mut scratch = Scratch::default();
    for first in (0..rows).step_by(WINDOW) {
        with(reader.window(attribute, first..rows.min(first + WINDOW), &mut scratch));
        scratch.forget_texts();
    }
}

fn texts(reader: &ChunkReader, attribute: usize, rows: usize) -> Column {
    let mut to = ColumnBuilder::new(reader.sql_type(attribute), rows);
    each_window(reader, attribute, rows, |values| (0..values.rows()).for_each(|row| copy(values, row, &mut to)));
    to.finish()
}

fn numbers(reader: &ChunkReader, attribute: usize, rows: usize) -> Column {
    let sql_type = reader.sql_type(attribute);
    let size = sql_type.physical().size();
    let (mut values, mut nulls) = (Buffer::with_capacity(rows * size), Buffer::with_capacity(rows));
    each_window(reader, attribute, rows, |window| {
        let from = values.len();
        // SAFETY: so many values are there; they have no payload elsewhere.
        values.extend(unsafe { std::slice::from_raw_parts(window.address().data, window.rows() * size) });
        match window.nulls(0..window.rows()) {
            None => nulls.extend(&[0; WINDOW][..window.rows()]),
            Some(flags) => {
                nulls.extend(flags);
                let rows = values.as_mut_slice()[from..].chunks_exact_mut(size).zip(flags);
                rows.filter(|(_, null)| **null != 0).for_each(|(value, _)| value.fill(0));
            }
        }
    });
    let nulls = nulls.as_slice().contains(&1).then(|| Arc::new(nulls));
    // SAFETY: as many values and flags as there are rows, and no texts.
    unsafe { Column::new(sql_type, rows, Arc::new(values), nulls, Vec::new()) }
}
