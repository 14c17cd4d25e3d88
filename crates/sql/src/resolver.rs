//! What the binder asks of the engine: tables, views and files by name.

use std::sync::Arc;

use base::{Error, Result};
use catalog::{
    Check, CheckOption, Domain, Field, Filling, ForeignKey, Kinship, Name, Routine, Statistics, Trigger, UserType, View,
};
use functions::Sequence;
use plan::{Expr, TableSource};
use types::ops::date::{DateOrder, Zone};
use types::{Collation, SqlType, Value};

use crate::{ObjectName, ViewOf};

/// Finds what FROM names. Errors need no position: the binder adds it.
pub trait Resolver {
    /// The table or view of that name; error 42P01 if there is none.
    fn table(&self, name: &ObjectName) -> Result<Resolved>;

    /// Whether some table has children or partitions.
    fn has_kin(&self) -> bool {
        false
    }

    /// The sequence of that name; 42P01 if there is none, 42809 if the name means something else.
    fn sequence(&self, name: &ObjectName) -> Result<Arc<Sequence>> {
        Err(base::Error::new(base::SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
    }

    /// The sequence that belongs to a column of a table, as text.
    fn sequence_of(&self, _table: &ObjectName, _column: &str) -> Option<String> {
        None
    }

    /// Whether the name means something that only this session sees.
    fn is_temporary(&self, _name: &ObjectName) -> bool {
        false
    }

    /// The tables that have a foreign key to a table.
    fn referencing(&self, _table: &ObjectName) -> Vec<ObjectName> {
        Vec::new()
    }

    /// Whether a table, view or sequence has that name.
    fn is_taken(&self, _name: &ObjectName) -> bool {
        false
    }

    /// The type of that name, if somebody has made one.
    fn user_type(&self, _name: &ObjectName) -> Option<UserType> {
        None
    }

    /// The collation of that name that somebody made.
    fn collation(&self, _name: &ObjectName) -> Option<Arc<Collation>> {
        None
    }

    /// The domain of that name, with its schema.
    fn domain(&self, _name: &ObjectName) -> Option<(Name, Arc<Domain>)> {
        None
    }

    /// The numbers of all objects of a kind, with their names as they are shown.
    fn registered(&self, _kind: Registered) -> Vec<(i64, String)> {
        Vec::new()
    }

    /// The number of the transaction that the statement is in.
    fn transaction_number(&self) -> i64 {
        0
    }

    /// Whether NULLs come first in an order that does not say it. PostgreSQL: NULL is larger than everything.
    fn nulls_first(&self, descending: bool) -> bool {
        descending
    }

    /// Whether the statement is one of a routine.
    fn is_within_routine(&self) -> bool {
        false
    }

    /// The number of a type that is no domain.
    fn number_of_type(&self, _of: SqlType) -> i64 {
        0
    }

    /// The columns of a domain: schema, table, column.
    fn columns_of_domain(&self, _domain: &Name) -> Vec<(String, String, String)> {
        Vec::new()
    }

    /// The columns whose values have fields of a domain: schema, table, column.
    fn columns_within_domain(&self, _domain: &Name) -> Vec<(String, String, String)> {
        Vec::new()
    }

    /// A name with the schema in which the search path finds it; as it is if it has one, if nothing has that name, or names
    /// without a schema are those of the default schema anyway.
    fn placed(&self, name: &ObjectName) -> ObjectName {
        name.clone()
    }

    /// The name of something new: without a schema, it is in the first one of the search path; 3F000 if there is none.
    fn new_name(&self, name: ObjectName) -> Result<ObjectName> {
        Ok(name)
    }

    /// The search path, if it is not the default one.
    fn search_path(&self) -> Option<Vec<String>> {
        None
    }

    /// The schemas of the search path that there are.
    fn schemas_of_path(&self) -> Vec<String> {
        vec![catalog::DEFAULT_SCHEMA.to_owned()]
    }

    /// From now on names without a schema are looked for by another path; the one before is returned.
    fn set_search_path(&self, _path: Option<Vec<String>>) -> Option<Vec<String>> {
        None
    }

    /// The value of a setting; none if there is no such setting.
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }

    /// The value of a variable of the session, as SET VARIABLE has set it.
    fn session_variable(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// The number that the system's tables have for a table, view, sequence or index.
    fn number_of(&self, _name: &ObjectName) -> Option<i64> {
        None
    }

    /// The number by which sequences know the session. What is bound with it is of use to this session only.
    fn session(&self) -> i64 {
        0
    }

    /// How many triggers' functions run, one within another.
    fn trigger_depth(&self) -> i64 {
        0
    }

    /// The values of the first column of a query, which runs now. What is bound with them is of use once.
    fn first_column(&self, _plan: plan::Plan) -> Result<Vec<Value>> {
        Err(Error::unsupported("columns by the values that there are"))
    }

    /// The names of the functions that read files.
    fn file_functions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files: `function` is one of [`file_functions`](Self::file_functions), or empty for a bare path in FROM, whose ending
    /// decides. Options are names in lower case with constant values; those of lists and structs are JSON, in which types are
    /// named as they print.
    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table>;

    /// `storage_info('t')`: how a table lies in memory.
    fn storage_info(&self, table: &ObjectName) -> Result<Table>;

    /// A function without arguments that shows what the database does; none if there is none of that name.
    fn view_function(&self, function: &str) -> Option<Table>;

    /// The names of all such functions.
    fn view_functions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// `generate_series(start, stop, step)`; error 22023 if the step is zero.
    fn series(&self, series: Series) -> Result<Table>;

    /// The rows of a part of a WITH that changes data, by its number.
    fn rows_of_part(&self, _number: usize, _fields: Vec<Field>) -> Result<Table> {
        Err(base::Error::unsupported("WITH that changes data"))
    }

    /// Microseconds since 1970-01-01 00:00 UTC that `now()` and `current_date` mean in this statement.
    fn now(&self) -> i64;

    /// Whether the session says that backslashes in strings are escapes.
    fn escapes_strings(&self) -> bool {
        false
    }

    /// The same, for who may ask later.
    fn moment(&self) -> i64 {
        self.now()
    }

    /// In which order texts have the numbers of dates.
    fn date_order(&self) -> DateOrder {
        DateOrder::default()
    }

    /// The session's time zone.
    fn time_zone(&self) -> Zone {
        Zone::utc()
    }

    /// The types and names of the parameters of a prepared statement; none if there is none of that name.
    fn parameters_of(&self, _prepared: &str) -> Option<(Vec<SqlType>, Vec<String>)> {
        None
    }

    /// What a name means in a statement of a procedure: the number and type of a variable.
    fn variable(&self, _name: &[String]) -> Result<Option<(usize, SqlType)>> {
        Ok(None)
    }

    /// The functions and procedures of a name.
    fn routines(&self, _schema: Option<&str>, _name: &str) -> Vec<Arc<Routine>> {
        Vec::new()
    }

    /// The rows that a function gives, as a table with these columns; the arguments are constant.
    fn routine_rows(&self, routine: &Arc<Routine>, _arguments: Vec<Expr>, _columns: Vec<Field>) -> Result<Table> {
        Err(base::Error::unsupported(format!("{} in FROM", routine.name)))
    }

    /// Names of tables and views, for hints.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a name in FROM means.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A table, data frame or file.
    Table(Table),
    /// A view.
    View {
        /// Text of its query.
        sql: String,
        /// Names of its columns; none: those of the query. What the query has besides are not its.
        columns: Vec<String>,
        /// Where its names without a schema are looked for, if that is not the default schema.
        path: Option<Vec<String>>,
        /// What is done instead of changing rows of it.
        triggers: Vec<Arc<Trigger>>,
        /// Whether rows that it does not show may be written through it.
        check_option: Option<CheckOption>,
    },
}

/// Values that are a step apart, as a function in FROM gives them.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of the function.
    pub function: String,
    /// The name of the column.
    pub column: String,
    /// The type of its values: an integer, a decimal, or a timestamp.
    pub sql_type: SqlType,
    /// From where to where; none if an argument is NULL: then there are no rows.
    pub bounds: Option<SeriesBounds>,
    /// Whether a second column numbers the rows from 1.
    pub ordinality: bool,
    /// Whose days and months are added to moments.
    pub zone: Zone,
}

/// The bounds of a series.
#[derive(Clone, Debug)]
pub struct SeriesBounds {
    /// The first value.
    pub start: Value,
    /// Behind it there is none.
    pub stop: Value,
    /// What is added each time: a value of the same type, an interval to a timestamp.
    pub step: Value,
    /// Whether `stop` itself may be a value.
    pub has_stop: bool,
}

/// Kinds of objects that are shown by their names where their numbers are values: `regclass` and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registered {
    /// Tables, views, sequences and indexes.
    Class,
    /// Types.
    Type,
    /// Functions and procedures, by their names alone.
    Routine,
    /// The same, with the types of what they take.
    Signature,
    /// Schemas.
    Schema,
    /// Who owns something.
    Role,
}

impl Registered {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Class, Self::Type, Self::Routine, Self::Signature, Self::Schema, Self::Role];

    /// What PostgreSQL calls the type of such values.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Class => "regclass",
            Self::Type => "regtype",
            Self::Routine => "regproc",
            Self::Signature => "regprocedure",
            Self::Schema => "regnamespace",
            Self::Role => "regrole",
        }
    }
}

/// A column that is of a domain.
#[derive(Clone, Debug)]
pub struct DomainColumn {
    /// Which one it is.
    pub attribute: usize,
    /// Schema and name of the domain.
    pub name: Name,
    /// What must hold of its values.
    pub domain: Arc<Domain>,
}

/// A column that an index computes of the others, and nobody names.
#[derive(Clone, PartialEq, Debug)]
pub struct ComputedColumn {
    /// Its type, and how messages show what it is.
    pub field: Field,
    /// The expression; none if the index is gone.
    pub sql: Option<String>,
}

/// How a table stands to others.
#[derive(Clone, Debug)]
pub struct Kin {
    /// As the catalog has it.
    pub own: Kinship,
    /// The tables whose rows are its rows too, in the order of their names.
    pub children: Vec<ObjectName>,
    /// If it is a partition: the condition that its rows satisfy, for which it is never NULL.
    pub condition: Option<String>,
}

/// A table or file that can be read.
#[derive(Clone, Debug)]
pub struct Table {
    /// For people; a file's stem.
    pub name: String,
    /// Its columns.
    pub fields: Vec<Field>,
    /// What its indexes compute of its columns, stored behind these.
    pub computed: Vec<ComputedColumn>,
    /// What fills columns that INSERT does not name; empty: NULL.
    pub fillings: Vec<Filling>,
    /// What must hold of each row.
    pub checks: Vec<Check>,
    /// Its foreign keys, in the order of the names.
    pub foreign_keys: Vec<ForeignKey>,
    /// Its columns that are of a domain.
    pub domains: Vec<DomainColumn>,
    /// Its columns that have a collation.
    pub collations: Vec<(usize, Arc<Collation>)>,
    /// What is called when its rows change, in the order of the names.
    pub triggers: Vec<Arc<Trigger>>,
    /// How it stands to other tables, if it does.
    pub kin: Option<Box<Kin>>,
    /// If it is a materialized view: the query whose rows it has.
    pub definition: Option<Arc<View>>,
    /// How a view shows it, if a statement that changes it names a view.
    pub view: Option<Box<ViewOf>>,
    /// What planning may know.
    pub statistics: Arc<dyn Statistics>,
    /// What the engine reads.
    pub source: TableSource,
}
