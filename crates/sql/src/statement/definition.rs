//! Statements about types, domains, sequences, functions and procedures, and how tables stand to each other.

use catalog::{
    Domain, DomainChange, Kinship, Owner, Routine, RoutineAlteration, RoutineKind, RoutineName, Trigger, TypeChange,
};
use functions::sequence::Shape;
use plan::Plan;

use super::ObjectName;

/// VACUUM, REINDEX and the like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Maintenance {
    /// EXPORT DATABASE: what all is made of goes to files in a folder.
    Export {
        /// The folder.
        directory: String,
        /// The options of COPY.
        options: Vec<(String, String)>,
    },
    /// IMPORT DATABASE: what such a folder holds is made.
    Import {
        /// The folder.
        directory: String,
    },
    /// What the engine does by itself, such as VACUUM: what it is called.
    Nothing(&'static str),
    /// REINDEX: indexes are made anew.
    Reindex {
        /// Which ones.
        kind: ReindexKind,
        /// Of what; none: of the database.
        name: Option<ObjectName>,
        /// They are not to be made in a transaction of several statements.
        concurrently: bool,
    },
}

/// What REINDEX names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ReindexKind {
    Index,
    Table,
    Schema,
    Database,
}

/// CREATE, DROP and ALTER of functions and procedures.
#[derive(Clone, Debug)]
pub enum RoutineChange {
    /// CREATE.
    Create {
        /// What is made.
        routine: Box<Routine>,
        /// An existing one is replaced.
        or_replace: bool,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// CREATE MACRO.
    CreateMacro {
        /// Its name.
        name: ObjectName,
        /// What it means for each number of arguments.
        routines: Vec<Routine>,
        /// An existing one is replaced.
        or_replace: bool,
        /// Nothing happens if there is one.
        if_not_exists: bool,
        /// What the statement is called.
        tag: &'static str,
    },
    /// DROP MACRO.
    DropMacro {
        /// Its name.
        name: ObjectName,
        /// A missing one is passed over.
        if_exists: bool,
        /// What the statement is called.
        tag: &'static str,
    },
    /// DROP.
    Drop {
        /// Of which kind; none: of either.
        kind: Option<RoutineKind>,
        /// Their names.
        names: Vec<RoutineName>,
        /// Missing ones are passed over.
        if_exists: bool,
        /// Triggers that call them go too.
        cascade: bool,
        /// Where the first name stands.
        position: Option<u32>,
    },
    /// ALTER, of what is said of it.
    Alter {
        /// Of which kind; none: of either.
        kind: Option<RoutineKind>,
        /// Its name.
        name: RoutineName,
        /// What becomes of it.
        change: RoutineAlteration,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// ALTER ... RENAME TO.
    Rename {
        /// Of which kind; none: of either.
        kind: Option<RoutineKind>,
        /// Its name.
        name: RoutineName,
        /// Its new name.
        to: String,
        /// Where the name stands.
        position: Option<u32>,
    },
}

/// CREATE, DROP and ALTER of triggers.
#[derive(Clone, Debug)]
pub struct TriggerStatement {
    /// The table or view.
    pub table: ObjectName,
    /// What becomes of its triggers.
    pub change: TriggerChange,
}

/// What becomes of the triggers of a table.
#[derive(Clone, Debug)]
pub enum TriggerChange {
    /// CREATE TRIGGER.
    Create {
        /// What is made.
        trigger: Box<Trigger>,
        /// An existing one is replaced.
        or_replace: bool,
    },
    /// DROP TRIGGER.
    Drop {
        /// Its name.
        name: String,
        /// A missing one is passed over.
        if_exists: bool,
    },
    /// ALTER TRIGGER ... RENAME TO.
    Rename {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
    /// ENABLE and DISABLE TRIGGER.
    Enable {
        /// Its name; none: all.
        name: Option<String>,
        /// Whether it is called from now on.
        is_enabled: bool,
        /// Whether the same holds of what looks after foreign keys.
        keys_too: bool,
    },
}

/// CREATE or ALTER TYPE.
#[derive(Clone, Debug)]
pub enum TypeStatement {
    /// CREATE TYPE ... AS ENUM.
    CreateEnum {
        /// Its name.
        name: ObjectName,
        /// Its labels in their order.
        labels: Vec<String>,
    },
    /// The same, of what a query gives.
    CreateEnumOf {
        /// Its name.
        name: ObjectName,
        /// The labels: each once, without NULLs, in the order of the rows.
        plan: Box<Plan>,
    },
    /// ALTER TYPE.
    Alter {
        /// Its name.
        name: ObjectName,
        /// What becomes of it.
        change: TypeChange,
    },
}

/// CREATE or ALTER DOMAIN.
#[derive(Clone, Debug)]
pub enum DomainStatement {
    /// CREATE DOMAIN.
    Create {
        /// Its name.
        name: ObjectName,
        /// What it is.
        domain: Domain,
    },
    /// ALTER DOMAIN.
    Alter {
        /// Its name.
        name: ObjectName,
        /// What becomes of it.
        change: DomainChange,
        /// Queries that have to end well: values that there are must fulfil what is new.
        asked: Vec<Plan>,
    },
}

/// What ALTER SEQUENCE changes.
#[derive(Clone, Debug)]
pub enum SequenceChange {
    /// Its declaration, where it goes on, and what it belongs to.
    Shape(Shape, Option<i64>, Option<Option<Owner>>),
    /// Its name.
    Name(String),
    /// Its schema.
    Schema(String),
}

/// ALTER TABLE ... ATTACH PARTITION, DETACH PARTITION, INHERIT and NO INHERIT.
#[derive(Clone, Debug)]
pub struct Relate {
    /// The child.
    pub name: ObjectName,
    /// How it stands to others from now on.
    pub kinship: Kinship,
    /// Queries that have to end well before.
    pub asked: Vec<Plan>,
}
