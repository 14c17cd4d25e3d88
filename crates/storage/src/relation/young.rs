//! Distinct values of rows that have come one by one: they are counted when somebody asks, or when they are many, by the backlog.

use std::ops::Range;

use super::Relation;
use super::live::Live;

/// So many rows are the backlog's.
const MANY_ROWS: usize = 1024;

impl Relation {
    /// Leaves the distinct values of rows of a chunk that grows, which are about to be seen, to whoever asks for them.
    pub(super) fn leave_distinct(&self, live: &mut Live, chunk: usize, rows: Range<usize>) {
        match live.young.iter_mut().find(|(other, others)| (*other, others.end) == (chunk, rows.start)) {
            Some((_, others)) => others.end = rows.end,
            None => live.young.push((chunk, rows)),
        }
        if live.young.iter().map(|(_, rows)| rows.len()).sum::<usize>() >= MANY_ROWS {
            live.young.drain(..).for_each(|(chunk, rows)| self.backlog.push_grown(chunk, &rows));
        }
    }

    /// Counts what was left so.
    pub(super) fn count_young(&self, live: &mut Live) {
        for (chunk, rows) in live.young.drain(..) {
            let chunk = self.directory.get(chunk);
            let body = chunk.pin();
            for attribute in 0..self.schema.attributes().len() {
                // Who has frozen a chunk that grew has counted all of it.
                if let Some(values) = body.values(attribute, rows.end) {
                    live.summary.add_distinct(attribute, values, rows.start, &chunk.bounds(attribute));
                }
            }
        }
    }
}
