//! What scans find in indexes: the rows that predicates leave, and the first ones in an order, as long as these are few.

use std::sync::Arc;

use crate::index::ordered::KeyRows;
use crate::index::{OrderedIndex, RowOrder};
use crate::relation::Snapshot;
use crate::{RowId, ScanPredicate, Scratch};

/// Most keys that a search looks up one by one.
const MOST_KEYS: usize = 1024;
/// A search that looks at more rows than one in so many is not worth it, unless there are few.
const ROWS_A_FOUND: usize = 512;
const FEW: usize = 64;

/// Of the rows that a scan finds, those that are enough: the first in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRows {
    /// The order.
    pub order: RowOrder,
    /// How many; and others that are equal to the last of these.
    pub rows: usize,
}

impl Snapshot {
    /// Whether an index of the relation knows all its rows.
    pub fn is_complete(&self, index: &OrderedIndex) -> bool {
        index.is_complete(self.view().timestamp())
    }

    /// Rows that it sees, among which are all that satisfy the predicates, in the order of their ids, if some index finds them and they are
    /// few. Where the first ones in some orders are enough, an index that has them in that order finds these.
    pub fn search(&self, predicates: &Arc<[ScanPredicate]>, enough: &[FirstRows]) -> Option<Vec<RowId>> {
        self.search_few(predicates, enough, FEW)
    }

    /// The same for whom so many rows are few, of however many the table has.
    pub fn search_few(
        &self,
        predicates: &Arc<[ScanPredicate]>,
        enough: &[FirstRows],
        few: usize,
    ) -> Option<Vec<RowId>> {
        self.search_most(predicates, enough, (self.rows() / ROWS_A_FOUND).max(few))
    }

    pub(super) fn search_most(
        &self,
        predicates: &Arc<[ScanPredicate]>,
        enough: &[FirstRows],
        most: usize,
    ) -> Option<Vec<RowId>> {
        let indexes = self.usable_indexes();
        let left = indexes.iter().filter_map(|index| Some((index.left(predicates, MOST_KEYS)?, index)));
        let left = left.max_by_key(|(left, _)| left.score);
        let told = left.as_ref().map_or(0, |(left, _)| left.score.0);
        let mut found = self.first_of_each(&indexes, predicates, enough, (told, most));
        if let Some((left, index)) = left.filter(|_| found.is_none()) {
            found = index.rows_in(&**self.relation(), &left.ranges, most, |row| self.sees(row));
        }
        if found.is_none() && told > 0 {
            found = self.first_of_each(&indexes, predicates, enough, (0, most));
        }
        let mut found = found?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// The first rows in each of the orders, by indexes of which the predicates say what at least so many leading parts are
    /// equal to.
    fn first_of_each(
        &self,
        indexes: &[Arc<OrderedIndex>],
        predicates: &Arc<[ScanPredicate]>,
        enough: &[FirstRows],
        (told, most): (usize, usize),
    ) -> Option<Vec<RowId>> {
        let mut found = Vec::new();
        for first in enough {
            found.extend(self.first(indexes, predicates, *first, (told, most))?);
        }
        (!enough.is_empty()).then_some(found)
    }

    /// The first rows that satisfy the predicates in an order, and those that are equal to the last one there; none if no index
    /// finds them among `most` rows.
    fn first(
        &self,
        indexes: &[Arc<OrderedIndex>],
        predicates: &Arc<[ScanPredicate]>,
        FirstRows { mut order, rows }: FirstRows,
        (told, most): (usize, usize),
    ) -> Option<Vec<RowId>> {
        if self.schema().attributes()[order.attribute].not_null {
            order.nulls_first = None;
        }
        let ordered = indexes.iter().filter_map(|index| Some((index.ordered(predicates, order)?, index)));
        let (ordered, index) = ordered.max_by_key(|(ordered, _)| ordered.equal)?;
        if ordered.equal < told || rows > most {
            return None;
        }
        let relation = &**self.relation();
        let (mut found, mut looked_at, mut is_over) = (Vec::new(), 0, false);
        let (mut last, mut key, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        index.walk(relation, &ordered, |row| {
            key.clear();
            relation.encode(row, &[ordered.part], &mut key);
            if found.len() >= rows && key != last {
                return false;
            }
            looked_at += 1;
            is_over = looked_at > most;
            if !is_over && self.sees(row) && self.satisfies(row, predicates, &mut scratch) {
                found.push(row);
                last.clone_from(&key);
            }
            !is_over
        });
        (!is_over).then_some(found)
    }

    /// Whether a row satisfies all predicates.
    fn satisfies(&self, row: RowId, predicates: &Arc<[ScanPredicate]>, scratch: &mut Scratch) -> bool {
        let reader = self.chunk(row.chunk()).read();
        let at = row.offset();
        predicates.is_empty()
            || reader
                .applicable(predicates, scratch)
                .is_some_and(|applicable| reader.scan(at..at + 1, &applicable, scratch, &mut [0; 1]) == 1)
    }
}
