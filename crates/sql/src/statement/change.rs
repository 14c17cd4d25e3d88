//! Statements that change rows.

use catalog::Event;
use plan::{Plan, TableSource};

use super::{ObjectName, UniqueKey};

/// INSERT.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The table.
    pub name: ObjectName,
    /// The table as resolved.
    pub table: TableSource,
    /// Its output has one column per column of the table, in order and of its type; defaults are filled in. NOT NULL is
    /// still to be checked.
    pub source: Plan,
    /// The triggers that it may fire.
    pub fires: Option<Fires>,
}

/// A change of rows: a query whose output says what becomes of which row.
#[derive(Clone, Debug)]
pub struct Change {
    /// The table.
    pub name: ObjectName,
    /// The table as resolved.
    pub table: TableSource,
    /// What is done.
    pub kind: ChangeKind,
    /// Which attributes the output has new values of, in order.
    pub attributes: Vec<usize>,
    /// Its output: for MERGE an [action](change_action), unless rows are inserted only their ids, then the values of
    /// `attributes`, then what RETURNING asks for. Constraints are asserted but for NOT NULL of tables without CHECK.
    pub source: Plan,
    /// RETURNING.
    pub returning: Option<Vec<catalog::Field>>,
    /// TRUNCATE.
    pub truncate: Option<Truncate>,
    /// The triggers that it may fire.
    pub fires: Option<Fires>,
}

/// What a [`Change`] does with the rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// They are new.
    Insert,
    /// They get new values.
    Update {
        /// An attribute of a key is among these: the row is another one then.
        moves: bool,
        /// A row may occur more than once: its first values count.
        repeats: bool,
    },
    /// They are deleted.
    Delete {
        /// A row may occur more than once.
        repeats: bool,
    },
    /// All are deleted.
    Truncate,
    /// Those without an id are new, unless a key of theirs occurs twice; the others get new values.
    Upsert {
        /// Keys that occur twice are an error; otherwise the first row counts.
        updates: bool,
        /// The attributes that get new values.
        updated: Vec<usize>,
        /// A key is among these.
        moves: bool,
        /// These keys.
        keys: Vec<UniqueKey>,
    },
    /// As the action says.
    Merge {
        /// The attributes that get new values.
        updated: Vec<usize>,
        /// An attribute of a key is among these: the row is another one then.
        moves: bool,
    },
}

/// What MERGE does with a row.
pub mod change_action {
    /// It is inserted.
    pub const INSERT: i64 = 0;
    /// It gets new values.
    pub const UPDATE: i64 = 1;
    /// It is deleted.
    pub const DELETE: i64 = 2;
    /// Nothing: such rows are left out.
    pub const NOTHING: i64 = 3;
}

/// What a statement would do to a view, which triggers do in its place.
#[derive(Clone, Debug)]
pub struct Instead {
    /// What it would do.
    pub event: Event,
    /// Its rows call the triggers; what it gives is what RETURNING asks for.
    pub source: Plan,
    /// RETURNING.
    pub returning: Option<Vec<catalog::Field>>,
}

/// What TRUNCATE says besides the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truncate {
    /// RESTART IDENTITY: sequences of the table's columns begin again.
    pub restarts: bool,
    /// All tables that the statement empties.
    pub together: Vec<ObjectName>,
}

/// What a statement does to a table that has triggers for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fires {
    /// The table.
    pub table: ObjectName,
    /// What it does, in the order in which triggers are called.
    pub events: Vec<Event>,
    /// The columns that it sets.
    pub assigned: Vec<String>,
}

impl Fires {
    /// Adds what another part of the statement does to the same table.
    pub fn merge(&mut self, other: Self) {
        for event in other.events {
            if !self.events.contains(&event) {
                self.events.push(event);
            }
        }
        self.assigned.extend(other.assigned);
    }
}
