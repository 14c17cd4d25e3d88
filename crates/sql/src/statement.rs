//! Statements as the engine runs them: names resolved, types checked.

mod change;
mod cursor;
mod definition;
mod index;
mod kinds;
mod lock;
mod name;
mod with;

use std::sync::Arc;

use catalog::{Check, CheckOption, Commented, Filling, ForeignKey, Kinship, Name, Owner, Routine};
use functions::Sequence;
use functions::sequence::Shape;
use plan::{Expr, Plan, TableSource};
use types::{Collation, SqlType, Value};

use crate::ComputedColumn;
use crate::procedure::Block;
pub use change::{Change, ChangeKind, Fires, Insert, Instead, Truncate, change_action};
pub use cursor::{CursorStatement, Direction};
pub use definition::{
    DomainStatement, Maintenance, ReindexKind, Relate, RoutineChange, SequenceChange, TriggerChange, TriggerStatement,
    TypeStatement,
};
pub use index::{CreateIndex, IndexShape};
pub use kinds::{ExplainStage, ObjectKind};
pub use lock::{LockStrength, LockWait, LockedTable, Locking};
pub use name::ObjectName;
pub use with::{Outcome, With, WithPart};

/// A bound statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, WITH, ...
    Query(Plan),
    /// EXPLAIN.
    Explain {
        /// Run it and show actual figures.
        analyze: bool,
        /// Which form of the statement to show.
        stage: ExplainStage,
        /// What to explain.
        statement: Box<Statement>,
    },
    /// CREATE TABLE with columns.
    CreateTable(CreateTable),
    /// CREATE TABLE AS; the table's columns are the query's output.
    CreateTableAs {
        /// The table.
        name: ObjectName,
        /// Its rows and columns.
        plan: Plan,
        /// WITH NO DATA: only the columns.
        with_data: bool,
        /// Nothing happens if there is one.
        if_not_exists: bool,
        /// An existing one is replaced.
        or_replace: bool,
        /// CREATE MATERIALIZED VIEW: what it is.
        view: Option<CreateView>,
    },
    /// REFRESH MATERIALIZED VIEW.
    Refresh {
        /// The view.
        name: ObjectName,
        /// As resolved.
        table: TableSource,
        /// The rows that it has from now on; none: WITH NO DATA.
        plan: Option<Plan>,
    },
    /// CREATE VIEW. The query has been bound once, to find its mistakes now.
    CreateView(CreateView),
    /// CREATE SCHEMA.
    CreateSchema {
        /// Its name.
        name: String,
        /// Nothing happens if there is one.
        if_not_exists: bool,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// CREATE SEQUENCE.
    CreateSequence {
        /// Its name.
        name: ObjectName,
        /// What it is.
        shape: Shape,
        /// The column that it goes with.
        owner: Option<Owner>,
        /// Nothing happens if there is one.
        if_not_exists: bool,
        /// An existing one is replaced.
        or_replace: bool,
    },
    /// ALTER TABLE or ALTER VIEW ... RENAME TO.
    Rename {
        /// What it is.
        kind: ObjectKind,
        /// Its name.
        name: ObjectName,
        /// Its new name.
        to: String,
        /// The column of a view that it is about, if it is not about the whole.
        column: Option<String>,
        /// Nothing happens if there is none.
        if_exists: bool,
    },
    /// ALTER TABLE or ALTER VIEW ... SET SCHEMA.
    SetSchema {
        /// What it is.
        kind: ObjectKind,
        /// Its name.
        name: ObjectName,
        /// The schema that it goes to.
        to: String,
        /// Nothing happens if there is none.
        if_exists: bool,
    },
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// Statements that take effect together; what the first one is called, all are.
    Together(Vec<Statement>),
    /// Texts of statements that are run one after the other, wholly or not at all, and what they are called.
    Script {
        /// What they are called.
        tag: &'static str,
        /// The statements.
        statements: Vec<String>,
    },
    /// A table stands otherwise to others.
    Relate(Relate),
    /// ALTER TABLE ... SET (partition_key = ...) and RESET.
    SetPartitionKey {
        /// Whose rows.
        table: plan::TableSource,
        /// The column by which they are parts of the database.
        column: Option<usize>,
    },
    /// Nothing is to be done; what the statement is called.
    Nothing(&'static str),
    /// Nothing is to be done, which is told: what the statement is called, and what is told.
    Told(&'static str, String),
    /// LOCK TABLE.
    LockTables {
        /// The tables.
        tables: Vec<TableSource>,
        /// Whether nobody else may change rows of them until the transaction ends.
        refuses_writers: bool,
        /// Whether who has them is waited for.
        waits: bool,
    },
    /// SET VARIABLE, or, without a plan, RESET VARIABLE.
    SetVariable {
        /// Its name.
        name: String,
        /// Its value: that of the only column of the first row.
        plan: Option<Plan>,
    },
    /// DISCARD: what the statement is called.
    Discard(&'static str),
    /// ALTER SEQUENCE; the change is made when the statement runs.
    AlterSequence {
        /// Its name.
        name: ObjectName,
        /// The sequence; none if there is none and that is no error.
        sequence: Option<Arc<Sequence>>,
        /// What changes.
        change: SequenceChange,
    },
    /// CREATE or ALTER TYPE.
    Type(TypeStatement),
    /// CREATE or ALTER DOMAIN.
    Domain(DomainStatement),
    /// CREATE COLLATION.
    CreateCollation {
        /// With its schema and name.
        collation: Collation,
        /// Whether nothing is done if there is one of that name.
        if_not_exists: bool,
        /// Byte offset of the name.
        position: Option<u32>,
    },
    /// COMMENT ON. A schema that is empty was not given.
    Comment {
        /// What the comment is on.
        on: Commented,
        /// The comment; none: there is none any more.
        text: Option<String>,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// CREATE INDEX.
    CreateIndex(CreateIndex),
    /// VACUUM, REINDEX and the like.
    Maintenance(Maintenance),
    /// DROP TABLE, DROP VIEW, DROP SEQUENCE, DROP INDEX, DROP TYPE or DROP SCHEMA.
    Drop {
        /// What kind of object.
        kind: ObjectKind,
        /// Their names.
        names: Vec<ObjectName>,
        /// Missing ones are passed over.
        if_exists: bool,
        /// Whatever depends on them goes too.
        cascade: bool,
    },
    /// INSERT.
    Insert(Insert),
    /// COPY.
    Copy(Copy),
    /// SET; no value means the default. The engine knows the settings and reports unknown ones.
    Set {
        /// Name in lower case.
        name: String,
        /// The value as text.
        value: Option<String>,
        /// SET LOCAL: it holds until the transaction ends.
        local: bool,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// RESET; no name means all.
    Reset {
        /// Name in lower case.
        name: Option<String>,
        /// Where the name stands.
        position: Option<u32>,
    },
    /// SHOW; no name means all. What has its name and columns is meant where there is no such setting.
    #[allow(missing_docs)]
    Show { name: Option<String>, position: Option<u32>, described: Option<Vec<catalog::Field>> },
    /// SELECT set_config(...), ...: SET, whose result are the values.
    SetConfig(Vec<SetConfig>),
    /// SHOW TABLES.
    ShowTables,
    /// DESCRIBE of a table, view, file or query: names, types, and whether NULL is possible.
    Describe {
        /// The columns.
        columns: Vec<catalog::Field>,
    },
    /// BEGIN, COMMIT, ROLLBACK, SAVEPOINT, ...
    Transaction(TransactionKind),
    /// UPDATE, DELETE, MERGE, TRUNCATE, INSERT with RETURNING or ON CONFLICT.
    Change(Box<Change>),
    /// INSERT, UPDATE or DELETE of a view with INSTEAD OF triggers.
    Instead(Instead),
    /// TRUNCATE of several tables.
    Truncate(Vec<Change>),
    /// SET CONSTRAINTS; no names mean all.
    SetConstraints {
        /// The constraints.
        names: Option<Vec<ObjectName>>,
        /// They are looked after when the transaction ends, or at once.
        deferred: bool,
    },
    /// DECLARE, FETCH, MOVE, CLOSE.
    Cursor(CursorStatement),
    /// A query that locks rows.
    Locking(Box<Locking>),
    /// What has a WITH that changes data.
    With(Box<With>),
    /// PREPARE. The statement has been bound once, to find its mistakes now.
    Prepare(Prepare),
    /// EXECUTE.
    Execute {
        /// The prepared statement.
        name: String,
        /// Where the name stands.
        position: Option<u32>,
        /// Its parameters.
        parameters: Vec<(Value, SqlType)>,
    },
    /// What defines functions and procedures.
    Routine(RoutineChange),
    /// What defines triggers.
    Trigger(TriggerStatement),
    /// CALL.
    Call {
        /// The procedure.
        routine: Arc<Routine>,
        /// What goes in, in the order and the types of its parameters. Nothing of it reads a table.
        arguments: Vec<Expr>,
    },
    /// DO.
    Do(Box<Block>),
    /// DEALLOCATE; no name means all.
    Deallocate {
        /// The prepared statement.
        name: Option<String>,
        /// Where the name stands.
        position: Option<u32>,
    },
}

impl Statement {
    /// The query in it.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Query(plan) | Self::CreateTableAs { plan, .. } | Self::Copy(Copy::To { plan, .. }) => Some(plan),
            Self::Insert(insert) => Some(&insert.source),
            Self::Instead(instead) => Some(&instead.source),
            Self::Change(change) => Some(&change.source),
            Self::AlterTable(alter) => alter.rows.as_ref(),
            Self::Explain { statement, .. } => statement.plan(),
            Self::With(with) => match &with.then {
                Outcome::Of(then) => then.plan(),
                Outcome::Counted(..) => None,
            },
            Self::Locking(locking) => Some(&locking.plan),
            Self::Cursor(CursorStatement::Declare { plan, .. }) => Some(plan),
            Self::SetVariable { plan, .. } | Self::Refresh { plan, .. } => plan.as_ref(),
            _ => None,
        }
    }

    /// The query that it runs; none of EXPLAIN, unless that runs it.
    pub fn plan_to_run(&mut self) -> Option<&mut Plan> {
        match self {
            Self::Query(plan) | Self::CreateTableAs { plan, .. } | Self::Copy(Copy::To { plan, .. }) => Some(plan),
            Self::Insert(insert) => Some(&mut insert.source),
            Self::Instead(instead) => Some(&mut instead.source),
            Self::Change(change) => Some(&mut change.source),
            Self::AlterTable(alter) => alter.rows.as_mut(),
            Self::CreateIndex(create) => create.altering.as_mut().and_then(|alter| alter.rows.as_mut()),
            Self::Locking(locking) => Some(&mut locking.plan),
            Self::Cursor(CursorStatement::Declare { plan, .. }) => Some(plan),
            Self::SetVariable { plan, .. } | Self::Refresh { plan, .. } => plan.as_mut(),
            Self::Explain { analyze: true, statement, .. } => statement.plan_to_run(),
            _ => None,
        }
    }

    /// The triggers that it may fire.
    pub fn fires(&self) -> Option<&Fires> {
        match self {
            Self::Insert(insert) => insert.fires.as_ref(),
            Self::Change(change) => change.fires.as_ref(),
            Self::Copy(Copy::From { fires, .. }) => fires.as_ref(),
            Self::Explain { analyze: true, statement, .. } => statement.fires(),
            _ => None,
        }
    }

    /// The query in a statement that changes rows.
    pub fn plan_of_change(&mut self) -> Option<&mut Plan> {
        match self {
            Self::Insert(insert) => Some(&mut insert.source),
            Self::Change(change) => Some(&mut change.source),
            _ => None,
        }
    }
}

/// A call of `set_config`.
#[derive(Clone, Debug)]
pub struct SetConfig {
    /// What its column is called.
    pub column: String,
    /// The setting's name in lower case.
    pub name: Option<String>,
    /// Its value as text; none is its default.
    pub value: Option<String>,
    /// Until the transaction ends.
    pub local: bool,
    /// Where the name stands.
    pub position: Option<u32>,
}

/// PREPARE.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepare {
    /// The statement's name.
    pub name: String,
    /// Where it stands.
    pub position: Option<u32>,
    /// The text of what is prepared.
    pub text: String,
    /// The types of its parameters, told or found.
    pub types: Vec<SqlType>,
    /// The columns of its rows; none of a change.
    pub columns: Vec<catalog::Field>,
}

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// The table.
    pub name: ObjectName,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// What its indexes compute of these, stored behind them.
    pub computed: Vec<ComputedColumn>,
    /// Columns of the primary key; empty: none. They are NOT NULL.
    pub primary_key: Vec<usize>,
    /// CHECK constraints, in the order of their names.
    pub checks: Vec<Check>,
    /// The indexes of its UNIQUE constraints.
    pub indexes: Vec<IndexShape>,
    /// Its foreign keys, in the order of the names.
    pub foreign_keys: Vec<ForeignKey>,
    /// The sequences of its columns: their names, the columns, and themselves.
    pub sequences: Vec<(String, String, Arc<Sequence>)>,
    /// Nothing happens if there is one.
    pub if_not_exists: bool,
    /// An existing one is replaced.
    pub or_replace: bool,
    /// How it stands to other tables.
    pub kinship: Kinship,
    /// Queries that have to end well before.
    pub asked: Vec<Plan>,
    /// By which column its rows are parts of the database.
    pub partition_key: Option<usize>,
    /// Whether its rows go to NUMA nodes by the hash of the first column of the key, and not where they are loaded.
    pub is_hashed: bool,
}

/// What rows of a table may not have twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UniqueKey {
    /// Its attributes.
    pub attributes: Vec<usize>,
    /// If it is not that of all rows: the attribute that is true of those that have it.
    pub only: Option<usize>,
}

/// ALTER TABLE, as what becomes of the table.
#[derive(Clone, Debug)]
pub struct AlterTable {
    /// What it is then. Its sequences and indexes are those that are new.
    pub table: CreateTable,
    /// The table as resolved.
    pub source: TableSource,
    /// Whether its rows are written anew, as another relation.
    pub rewrites: bool,
    /// The rows of that relation, in its types but for the lengths of texts. If there is none, a query without columns that
    /// has to end well, if something is to be asked for.
    pub rows: Option<Plan>,
    /// Where the attributes that the table had are now.
    pub attributes: Vec<Option<usize>>,
    /// Those of them whose values may be others than they were.
    pub converted: Vec<usize>,
    /// Constraints that are dropped and are no CHECK, nor the primary key; and whether that is no error if there is none.
    pub dropped_keys: Vec<(String, bool)>,
    /// Columns that have another name, with it.
    pub renamed: Vec<(String, String)>,
    /// Columns that are dropped.
    pub dropped: Vec<String>,
    /// Whether views that need these go too.
    pub cascade: bool,
}

/// CREATE VIEW.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    /// The view.
    pub name: ObjectName,
    /// The text of its query, to be parsed and bound wherever the view is used.
    pub sql: String,
    /// Its columns.
    pub columns: Vec<catalog::Field>,
    /// The tables and views that the query names, each once.
    pub reads: Vec<ObjectName>,
    /// Where its names without a schema are looked for, if that is not the default schema.
    pub path: Option<Vec<String>>,
    /// WITH CHECK OPTION.
    pub check_option: Option<CheckOption>,
    /// Nothing happens if there is one.
    pub if_not_exists: bool,
    /// An existing one is replaced.
    pub or_replace: bool,
}

/// A column of CREATE TABLE.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it is neither NOT NULL nor part of the primary key.
    pub nullable: bool,
    /// DEFAULT or GENERATED; a value is one of the type.
    pub filling: Filling,
    /// The domain that it is of: schema and name.
    pub domain: Option<Name>,
    /// Its COLLATE.
    pub collation: Option<Arc<Collation>>,
}

impl ColumnDefinition {
    /// The column as queries see it.
    pub(crate) fn field(&self) -> catalog::Field {
        catalog::Field { name: self.name.clone(), sql_type: self.sql_type, nullable: self.nullable }
    }
}

/// COPY.
#[derive(Clone, Debug)]
pub enum Copy {
    /// Into a table.
    From {
        /// The table.
        name: ObjectName,
        /// The table as resolved.
        table: TableSource,
        /// The table's columns that the file has, in the file's order.
        columns: Vec<usize>,
        /// What fills them where the file says so.
        fillings: Vec<Filling>,
        /// Whether rows are more than their values: there are constraints to check or columns to compute.
        checked: bool,
        /// Which rows of the file are taken, as SQL over the table's columns.
        condition: Option<String>,
        /// Whether the rows are those of partitions.
        is_partitioned: bool,
        /// The triggers that it may fire.
        fires: Option<Fires>,
        /// Where from.
        target: CopyTarget,
        /// Where the path stands.
        position: Option<u32>,
        /// Options: name in lower case, value as text (`true` if none was written, lists joined by commas).
        options: Vec<(String, String)>,
    },
    /// Out of a table or query.
    To {
        /// What to write.
        plan: Plan,
        /// Where to.
        target: CopyTarget,
        /// Where the path stands.
        position: Option<u32>,
        /// Options, as above.
        options: Vec<(String, String)>,
    },
}

/// The other side of COPY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyTarget {
    /// A path.
    File(String),
    /// The client.
    Stdin,
    /// The client.
    Stdout,
}

/// How far a transaction is kept from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// Each statement sees what is committed when it begins.
    ReadCommitted,
    /// The transaction sees what was committed when it began.
    RepeatableRead,
    /// And commits only if it is as if it had run alone.
    Serializable,
}

/// What a transaction is asked to be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY or READ WRITE.
    pub read_only: Option<bool>,
}

/// Transaction control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionKind {
    /// BEGIN.
    Begin(TransactionModes),
    /// SET TRANSACTION.
    Set(TransactionModes),
    /// SET SESSION CHARACTERISTICS.
    SetDefault(TransactionModes),
    /// COMMIT; true: AND CHAIN, which begins the next one.
    Commit(bool),
    /// ROLLBACK; likewise.
    Rollback(bool),
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO.
    RollbackTo(String),
    /// RELEASE.
    Release(String),
}
