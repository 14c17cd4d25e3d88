//! Point lookups: columns of the one row that has a primary key. Nothing has to be started for them: no pipeline, no state, no
//! worker. A microsecond is what the rest of a query costs.

use plan::{ColumnId, Op, Plan};
use runtime::query::Arguments;
use storage::Snapshot;
use storage::transaction::Reads;
use types::Chunk;

use super::key::Key;
use crate::source::Source;

/// A plan that is a point lookup and nothing else.
pub(super) struct Point {
    key: Key,
    /// The attributes that are its output.
    output: Vec<usize>,
}

impl Point {
    /// An optimised plan as a point lookup, if it is one.
    pub fn of(plan: &Plan) -> Option<Self> {
        let Op::Scan { table, columns, predicates } = &plan.root.op else { return None };
        let Ok(Source::Stored(snapshot, _)) = Source::of(&plan.tables[*table].source) else { return None };
        let schema = snapshot.schema();
        let (key, left) = Key::of(schema, columns, predicates)?;
        if !left.is_empty() {
            return None;
        }
        let attribute = |column: ColumnId| columns.iter().find(|(_, c)| *c == column).map(|(attribute, _)| *attribute);
        let is_stored = |attribute: &usize| *attribute < schema.attributes().len();
        let output: Option<Vec<usize>> =
            plan.output.iter().map(|(_, column)| attribute(*column).filter(is_stored)).collect();
        Some(Self { key, output: output? })
    }

    /// The rows that it finds, at most one; nothing if these arguments need another way. They are noted among what a
    /// transaction reads.
    pub fn find(&self, snapshot: &Snapshot, arguments: &Arguments, reads: Option<&Reads>) -> Option<Vec<Chunk>> {
        let key = self.key.values(arguments)?;
        if let Some(reads) = reads {
            self.key.note(reads, snapshot.relation(), arguments, self.output.iter().copied());
        }
        let Some(Some(row)) = snapshot.find(key).pop() else { return Some(Vec::new()) };
        let reader = snapshot.chunk(row.chunk()).read();
        let columns = self.output.iter().map(|&attribute| reader.gather(attribute, std::iter::once(row.offset())));
        Some(vec![Chunk::new(1, columns.collect())])
    }
}
