//! Folding: rows of a chunk that have changed come into a new body, compressed as any other, when every view sees them as they
//! are now. The sidecar is exchanged together with the body; who still reads the old ones finds all there that its view sees.
//! A chunk without a row that is alive gives its memory back.

use std::sync::Arc;

use types::ColumnBuilder;

use super::Relation;
use crate::body::{Body, Scratch, Stored, copy};
use crate::lock::lock;
use crate::sidecar::Sidecar;
use crate::statistics::Bounds;
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
        let (body, Some(sidecar)) = chunk.pin_changed() else { return };
        let rows = chunk.closed_rows();
        let settled = sidecar.settled();
        sidecar.may_be_folded_again(settled.is_some());
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
        let mut to = ColumnBuilder::new(body.sql_type(attribute), rows);
        let mut scratch = Scratch::default();
        for first in (0..rows).step_by(WINDOW) {
            let values = reader.window(attribute, first..rows.min(first + WINDOW), &mut scratch);
            (0..values.rows()).for_each(|row| copy(values, row, &mut to));
            scratch.forget_texts();
        }
        let column = to.finish();
        let bounds = Bounds::of((&column).into(), 0, rows);
        Stored::freeze((&column).into(), &bounds).unwrap_or(Stored::Plain(column))
    }
}
