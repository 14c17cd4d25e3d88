//! Changes of one row: INSERT of one row, UPDATE and DELETE of the row that has a primary key. Like point lookups they start
//! nothing: their expressions are evaluated as they stand, and the row is changed by the client's thread.
//!
//! Whatever is not as it should be, an error or another transaction that was faster, leaves nothing done: the statement is
//! run as others are, which tells what it is.

mod builder;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use base::Budget;
use base::ids::Id;
use plan::eval::{eval, is_true};
use plan::{ColumnId, Expr, Op, Plan};
use runtime::query::Arguments;
use sql::ChangeKind;
use storage::{Relation, Transaction};
use types::{Chunk, Column, ColumnBuilder, SqlType, Value};

use super::key::Key;
use crate::typed::typed;
use builder::Builder;

/// Columns of a plan have smaller numbers than the places of values.
const FIRST_PLACE: usize = 1 << 24;

/// See the module.
pub(crate) struct RowChange {
    relation: Weak<Relation>,
    /// The row that is changed; none: it is new.
    key: Option<Key>,
    /// How many arguments there are, whose places come first.
    arguments: usize,
    /// Attributes of the row that is changed, whose values come next.
    read: Vec<usize>,
    /// What is computed then, each in the place behind the last.
    steps: Vec<Step>,
    /// Attributes, and the types and places of their new values. None: the row is deleted.
    written: Option<Vec<(usize, SqlType, Expr)>>,
}

/// What is done with the values that are there.
enum Step {
    /// Another value.
    Compute(Expr),
    /// Nothing happens if this is not true.
    Ask(Expr),
}

impl RowChange {
    /// An optimised plan whose rows are changed so, if it is of one row. Of so many arguments of the statement each has a
    /// value.
    pub fn of(
        plan: &Plan,
        relation: &Arc<Relation>,
        kind: &ChangeKind,
        attributes: &[usize],
        arguments: usize,
    ) -> Option<Self> {
        let (ids, is_new) = match kind {
            ChangeKind::Insert => (0, true),
            ChangeKind::Update { moves: false, repeats: false } | ChangeKind::Delete { repeats: false } => (1, false),
            _ => return None,
        };
        let (relation, read, steps) = (Arc::downgrade(relation), Vec::new(), Vec::new());
        let change = Self { relation, key: None, arguments, read, steps, written: None };
        let mut builder = Builder { change, places: HashMap::new(), computed: 0 };
        builder.read(plan, &plan.root)?;
        if builder.change.key.is_none() != is_new || plan.output.len() != ids + attributes.len() {
            return None;
        }
        let values = attributes.iter().zip(&plan.output[ids..]).map(|(&attribute, (_, column))| {
            let sql_type = plan.columns[*column].sql_type;
            Some((attribute, sql_type, builder.placed(&Expr::column(*column, sql_type))?))
        });
        let written = values.collect::<Option<Vec<_>>>()?;
        builder.change.written = (!matches!(kind, ChangeKind::Delete { .. })).then_some(written);
        Some(builder.change)
    }

    /// What its result is called.
    pub fn tag(&self) -> &'static str {
        match (&self.key, &self.written) {
            (None, _) => "INSERT",
            (Some(_), Some(_)) => "UPDATE",
            (Some(_), None) => "DELETE",
        }
    }

    /// Whether a plan that is not optimised yet may be one.
    pub fn may_be(plan: &Plan) -> bool {
        let mut node = &plan.root;
        while let Op::Map { input, .. } | Op::Filter { input, .. } = &node.op {
            node = input;
        }
        match &node.op {
            Op::Scan { .. } => plan.tables.len() == 1,
            Op::Values { rows, .. } => rows.len() == 1 && plan.tables.is_empty(),
            _ => false,
        }
    }

    /// Whose rows are changed, if it is still there.
    pub fn relation(&self) -> Option<Arc<Relation>> {
        self.relation.upgrade()
    }

    /// Does it in a transaction, where new chunks are charged to a budget; returns how many rows were changed. None: it has
    /// to be run in another way, when what has perhaps been done has been taken back.
    pub fn apply(
        &self,
        transaction: &Transaction,
        relation: &Arc<Relation>,
        arguments: Arguments,
        budget: &dyn Fn() -> Budget,
    ) -> Option<usize> {
        if arguments.values.len() != self.arguments {
            return None;
        }
        let Some(key) = &self.key else {
            let Some(columns) = self.new_values(relation, arguments.values)? else { return Some(0) };
            let row = Chunk::new(1, columns.into_iter().map(|(_, column)| column).collect());
            let inserted = transaction.insert_row(relation, &row, budget);
            return inserted.ok().map(|()| 1);
        };
        let wanted = key.values(&arguments)?;
        if let Some(reads) = transaction.reads() {
            key.note(&reads, relation, &arguments, self.read.iter().copied());
        }
        let snapshot = transaction.snapshot(relation);
        let Some(Some(row)) = snapshot.find(wanted).pop() else { return Some(0) };
        let reader = snapshot.chunk(row.chunk()).read();
        let mut values = arguments.values;
        let stored = |attribute: &usize| reader.gather(*attribute, std::iter::once(row.offset())).value(0);
        values.extend(self.read.iter().map(stored));
        let Some(columns) = self.new_values(relation, values)? else { return Some(0) };
        match &self.written {
            None => transaction.delete(relation, &[row]),
            Some(_) => transaction.update(relation, &[row], &columns, &[0]),
        }
        .ok()?;
        Some(1)
    }

    /// What is written, given the arguments and what was read; none in it if nothing is to be done.
    #[expect(clippy::option_option, reason = "not known, known to be nothing, something")]
    fn new_values(&self, relation: &Relation, mut values: Vec<Value>) -> Option<Option<Vec<(usize, Column)>>> {
        for step in &self.steps {
            let at = |column: ColumnId| values[column.index() - FIRST_PLACE].clone();
            match step {
                Step::Compute(expr) => {
                    let value = eval(expr, &at).ok()?;
                    values.push(value);
                }
                Step::Ask(condition) => {
                    if !is_true(condition, &at).ok()? {
                        return Some(None);
                    }
                }
            }
        }
        let Some(written) = &self.written else { return Some(Some(Vec::new())) };
        let at = |column: ColumnId| values[column.index() - FIRST_PLACE].clone();
        let mut columns = Vec::with_capacity(written.len());
        for (attribute, sql_type, expr) in written {
            let mut column = ColumnBuilder::new(*sql_type, 1);
            column.push_value(&eval(expr, &at).ok()?);
            let of = &relation.schema().attributes()[*attribute];
            columns.push((*attribute, typed(column.finish(), of, relation.name()).ok()?));
        }
        Some(Some(columns))
    }
}
