//! What a kept plan rests on of a table that it reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use catalog::Field;
use pipeline::ir::SourceColumn;
use pipeline::source_column;
use plan::TableInfo;
use storage::{Relation, Snapshot};

use crate::source::Source;

/// A table may grow by so many rows in any case: sizes of small tables decide nothing.
const FEW_ROWS: usize = 1000;

/// A table of a kept plan.
pub(super) struct Read {
    relation: Weak<Relation>,
    fields: Vec<Field>,
    /// What the code takes for granted of the columns that it reads.
    columns: Vec<SourceColumn>,
    /// Its rows when the plan was made.
    planned: usize,
    /// The rows are as the code takes for granted: as of so many changes of what is known of them.
    widenings: AtomicU64,
}

impl Read {
    /// A table as a plan was made for it; none if it is a file.
    pub fn new(table: &TableInfo, columns: Vec<SourceColumn>) -> Option<Self> {
        let Ok(Source::Stored(snapshot, relation)) = Source::of(&table.source) else { return None };
        let planned = snapshot.rows();
        // Not those of now: rows may have changed since the plan was made.
        let widenings = AtomicU64::new(u64::MAX);
        let (relation, fields) = (Arc::downgrade(relation), table.fields.clone());
        Some(Self { relation, fields, columns, planned, widenings })
    }

    /// The table, if it is there.
    pub fn relation(&self) -> Option<Arc<Relation>> {
        self.relation.upgrade()
    }

    /// The table as it is now; none if the plan does not hold for it.
    pub fn now(&self, snapshot: &dyn Fn(&Arc<Relation>) -> Snapshot) -> Option<Source> {
        let relation = self.relation.upgrade()?;
        let snapshot = snapshot(&relation);
        let rows = snapshot.rows();
        let may_be = self.planned / 2..=(self.planned * 2).max(FEW_ROWS);
        // Read behind the snapshot: what that sees was counted before.
        let widenings = relation.widenings();
        // Not by the number of rows: others may have come in the places of some that were deleted or rolled back.
        let is_known = widenings == self.widenings.load(Ordering::Relaxed);
        let holds = is_known || may_be.contains(&rows) && self.is_true_of(&snapshot, widenings);
        holds.then(|| Source::Stored(snapshot, relation))
    }

    /// Whether the rows are as the code takes for granted. Statistics only widen, so this holds for the same rows until some of
    /// them get values outside of these.
    fn is_true_of(&self, snapshot: &Snapshot, widenings: u64) -> bool {
        let same = |c: &SourceColumn| {
            let now = source_column(&self.fields[c.attribute], snapshot, c.attribute);
            *c == if c.is_length { now.length() } else { now }
        };
        let holds = self.columns.iter().all(same);
        if holds {
            self.widenings.store(widenings, Ordering::Relaxed);
        }
        holds
    }
}
