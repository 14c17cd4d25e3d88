//! What scans find in indexes: the rows that predicates leave, and the first ones in an order, as long as these are few.

use std::sync::Arc;

use crate::index::bytes::Left;
use crate::index::row_index::KeyRows;
use crate::index::{RowIndex, RowOrder};
use crate::relation::Snapshot;
use crate::{RowId, ScanPredicate, Scratch};

/// Most keys that a search looks up one by one, and entries that it passes of rows that it does not see.
const MOST_KEYS: usize = 1024;
/// A search that looks at more rows than one in so many is not worth it, unless there are few.
const ROWS_A_FOUND: usize = 512;
const FEW: usize = 64;

/// Rows that an index has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedRows {
    /// In order.
    pub rows: Vec<RowId>,
    /// Whether all of them satisfy the predicates, so that nobody has to read them to ask again.
    pub is_exact: bool,
}

/// How many rows are few.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    /// If they have to be read, as the index does not tell all that is asked.
    pub read: usize,
    /// If it does.
    pub told: usize,
}

/// Of the rows that a scan finds, those that are enough: the first in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRows {
    /// The order.
    pub order: RowOrder,
    /// How many; and others that are equal to the last of these, if they have a say.
    pub rows: usize,
    /// Whether rows that are equal to the last one have a say.
    pub ties: bool,
}

/// The index of which the predicates tell most leading parts, and what they leave of it.
fn best<'i>(indexes: &'i [Arc<RowIndex>], predicates: &[ScanPredicate]) -> Option<(Left, &'i Arc<RowIndex>)> {
    let left = indexes.iter().filter_map(|index| Some((index.left(predicates, MOST_KEYS)?, index)));
    left.max_by_key(|(left, _)| left.score)
}

impl Snapshot {
    /// Whether an index of the relation knows all its rows.
    pub fn is_complete(&self, index: &RowIndex) -> bool {
        index.is_complete(self.view().timestamp())
    }

    /// Rows that it sees, among which are all that satisfy the predicates, in the order of their ids, if some index finds them and they are
    /// few. Where the first ones in some orders are enough, an index that has them in that order finds these.
    pub fn search(&self, predicates: &Arc<[ScanPredicate]>, enough: &[FirstRows]) -> Option<IndexedRows> {
        self.search_few(predicates, enough, Few { read: FEW, told: FEW })
    }

    /// The same for whom so many rows are few, of however many the table has.
    pub fn search_few(&self, predicates: &Arc<[ScanPredicate]>, enough: &[FirstRows], few: Few) -> Option<IndexedRows> {
        let part = self.rows() / ROWS_A_FOUND;
        self.search_most(predicates, enough, Few { read: part.max(few.read), told: part.max(few.told) })
    }

    pub(super) fn search_most(
        &self,
        predicates: &Arc<[ScanPredicate]>,
        enough: &[FirstRows],
        most: Few,
    ) -> Option<IndexedRows> {
        let indexes = self.usable_indexes();
        let left = best(&indexes, predicates);
        let told = left.as_ref().map_or(0, |(left, _)| left.score.0);
        let mut is_exact = true;
        let mut found = self.first_of_each(&indexes, predicates, enough, (told, most.read));
        if let Some((left, index)) = left.filter(|_| found.is_none()) {
            is_exact = left.is_exact;
            let most = if is_exact { most.told } else { most.read };
            found = index.rows_in(&**self.relation(), &left.ranges, most, |row| self.sees(row));
        }
        if found.is_none() && told > 0 {
            is_exact = true;
            found = self.first_of_each(&indexes, predicates, enough, (0, most.read));
        }
        let mut rows = found?;
        rows.sort_unstable();
        rows.dedup();
        Some(IndexedRows { rows, is_exact })
    }

    /// A row that satisfies the predicates, if there is one; none if no index tells that at once.
    pub fn search_any(&self, predicates: &[ScanPredicate]) -> Option<Option<RowId>> {
        let indexes = self.usable_indexes();
        let (left, index) = best(&indexes, predicates).filter(|(left, _)| left.is_exact)?;
        index.any_in(&**self.relation(), &left.ranges, MOST_KEYS, |row| self.sees(row))
    }

    /// The first rows in each of the orders, by indexes of which the predicates say what at least so many leading parts are
    /// equal to.
    fn first_of_each(
        &self,
        indexes: &[Arc<RowIndex>],
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
        indexes: &[Arc<RowIndex>],
        predicates: &Arc<[ScanPredicate]>,
        FirstRows { mut order, rows, ties }: FirstRows,
        (told, most): (usize, usize),
    ) -> Option<Vec<RowId>> {
        let attribute = &self.schema().attributes()[order.attribute];
        if attribute.not_null || predicates.iter().any(|p| p.attribute == order.attribute && p.is_not_null()) {
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
            if found.len() >= rows && (!ties || key != last) {
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
