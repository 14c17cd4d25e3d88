//! Functions and procedures that users define: texts, kept with what a call has to know of them.
//!
//! Several routines may share a name if they differ in the types of what they are given (decision 51).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::{Error, Result, SqlState};
use types::{SqlType, StructType};

use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, DEFAULT_SCHEMA, Field, nearest_name};

const DUPLICATE_FUNCTION: SqlState = SqlState("42723");

/// Numbers that calls name routines by: those of the process.
static NEXT_NUMBER: AtomicI64 = AtomicI64::new(1);

/// What a routine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// It stands in queries.
    Function,
    /// It is called by CALL.
    Procedure,
    /// It stands in queries, of all rows of a group.
    Aggregate,
}

impl RoutineKind {
    /// `function` or `procedure`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Aggregate => "aggregate",
        }
    }
}

/// What a routine's body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Statements of SQL.
    Sql,
    /// The procedural language after PostgreSQL's PL/pgSQL.
    Procedural,
    /// An expression or query in which parameters stand for what a call is given.
    Macro,
    /// The options of an aggregate.
    Aggregate,
}

impl Language {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::Procedural => "plpgsql",
            Self::Macro => "macro",
            Self::Aggregate => "internal",
        }
    }
}

/// What two calls with the same arguments may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Nothing, ever.
    Immutable,
    /// Nothing within a statement.
    Stable,
    /// Anything; a call may change the database.
    Volatile,
}

impl Volatility {
    /// As SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Immutable => "IMMUTABLE",
            Self::Stable => "STABLE",
            Self::Volatile => "VOLATILE",
        }
    }
}

/// Which way a parameter's value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Into the routine.
    In,
    /// Out of it.
    Out,
    /// Both.
    InOut,
    /// A column of RETURNS TABLE.
    Table,
}

impl Mode {
    /// Whether a call gives it.
    pub fn is_given(self) -> bool {
        matches!(self, Self::In | Self::InOut)
    }

    /// Whether it is part of the result.
    pub fn is_result(self) -> bool {
        self != Self::In
    }

    /// As SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "IN",
            Self::Out => "OUT",
            Self::InOut => "INOUT",
            Self::Table => "TABLE",
        }
    }
}

/// A parameter of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineParameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Which way it goes.
    pub mode: Mode,
    /// Its type.
    pub sql_type: SqlType,
    /// The domain that its values are of, if it is one.
    pub domain: Option<Name>,
    /// What is given if a call gives nothing, as SQL.
    pub default: Option<String>,
    /// Whether it is an array of all that a call gives from here on.
    pub is_variadic: bool,
}

/// What a function gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Nothing: of a procedure without results, or RETURNS void.
    Nothing,
    /// A value.
    Value(SqlType),
    /// A row of the parameters that are results.
    Row,
    /// A row whose columns whoever calls it says.
    Record,
    /// The row of whatever table a trigger is of.
    Trigger,
}

/// A function or procedure.
#[derive(Clone, Debug)]
pub struct Routine {
    /// What calls name it by; CREATE OR REPLACE gives it another one.
    pub number: i64,
    /// Its schema and name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: RoutineKind,
    /// Its parameters, those of RETURNS TABLE last.
    pub parameters: Vec<RoutineParameter>,
    /// What it gives back.
    pub returns: Returns,
    /// The domain that its value is of, if it is one.
    pub domain: Option<Name>,
    /// Whether it gives any number of these.
    pub is_set: bool,
    /// What its body is written in.
    pub language: Language,
    /// What two calls may differ in.
    pub volatility: Volatility,
    /// Whether a NULL among what it is given makes it NULL without a call.
    pub is_strict: bool,
    /// Settings of the session while it runs: names, and values as SET has them.
    pub settings: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

/// What ALTER says of a routine.
#[derive(Clone, Debug)]
pub struct RoutineAlteration {
    /// What two calls may differ in, if that is said.
    pub volatility: Option<Volatility>,
    /// Whether NULL makes it NULL, if that is said.
    pub is_strict: Option<bool>,
    /// Settings: names, and values as SET has them; none: they are the session's again.
    pub settings: Vec<(String, Option<String>)>,
    /// All settings are the session's again, before those.
    pub resets_all: bool,
}

impl Routine {
    /// A number that no routine has had.
    pub fn new_number() -> i64 {
        NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
    }

    /// What a call gives.
    pub fn given(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|p| p.mode.is_given())
    }

    /// The types of what a call gives.
    pub fn given_types(&self) -> Vec<SqlType> {
        self.given().map(|p| p.sql_type).collect()
    }

    /// What is part of its result.
    pub fn results(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|p| p.mode.is_result())
    }

    /// The row that its result is, if that is its type.
    pub fn row_of(&self, sql_type: SqlType) -> Option<&'static StructType> {
        sql_type.structure().filter(|of| of.is_row && self.results().next().is_none())
    }

    /// The columns of a row of its result; none if it gives nothing, or what a caller says.
    pub fn columns(&self) -> Vec<Field> {
        let field = |name: String, sql_type| Field { name, sql_type, nullable: true };
        match self.returns {
            Returns::Nothing | Returns::Record | Returns::Trigger => Vec::new(),
            Returns::Value(sql_type) if let Some(of) = self.row_of(sql_type) => {
                of.fields.iter().map(|of| field(of.name.clone(), of.sql_type)).collect()
            }
            Returns::Value(sql_type) => {
                let named = self.results().next().and_then(|p| p.name.clone());
                vec![field(named.unwrap_or_else(|| self.name.clone()), sql_type)]
            }
            Returns::Row => {
                let named = self.results().enumerate();
                let name = |(at, p): (usize, &RoutineParameter)| {
                    field(p.name.clone().unwrap_or_else(|| format!("column{}", at + 1)), p.sql_type)
                };
                named.map(name).collect()
            }
        }
    }

    /// Name and types, as messages have them.
    pub fn signature(&self) -> String {
        signature(&self.name, &self.given_types())
    }
}

/// A name with types, as messages have it.
pub fn signature(name: &str, types: &[SqlType]) -> String {
    let types: Vec<String> =
        types.iter().map(|t| if *t == SqlType::Null { "unknown".into() } else { t.to_string() }).collect();
    format!("{name}({})", types.join(", "))
}

/// What DROP and ALTER name: a name, and perhaps types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineName {
    /// The schema, if written.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// The types of what a call gives; none: there is only one of that name.
    pub types: Option<Vec<SqlType>>,
}

impl CatalogSnapshot {
    /// The routines of a name, in the order in which they were made.
    pub fn routines_named(&self, schema: Option<&str>, name: &str) -> &[Arc<Routine>] {
        self.routines.get(&(canonical(schema).to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Whether there are any.
    pub fn has_routines(&self) -> bool {
        !self.routines.is_empty()
    }

    /// The routine with that number.
    pub fn routine_numbered(&self, number: i64) -> Option<&Arc<Routine>> {
        self.routines().find(|routine| routine.number == number)
    }

    /// All routines, in the order of their names.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<Routine>> {
        self.routines.values().flatten()
    }

    fn find_routine(&self, wanted: &RoutineName, kind: Option<RoutineKind>) -> Result<&Arc<Routine>> {
        let named = self.routines_named(wanted.schema.as_deref(), &wanted.name);
        let what = kind.map_or("routine", RoutineKind::name);
        let found: Vec<&Arc<Routine>> = match &wanted.types {
            Some(types) => named.iter().filter(|r| same_types(&r.given_types(), types)).collect(),
            None => named.iter().collect(),
        };
        match found.as_slice() {
            [] => Err(self.no_routine(wanted, what)),
            [one] if kind.is_some_and(|kind| kind != one.kind) => {
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{} is not a {what}", one.signature())))
            }
            [one] => Ok(one),
            _ => {
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("{what} name \"{}\" is not unique", wanted.name))
                    .hint(format!("Specify the argument list to select the {what} unambiguously.")))
            }
        }
    }

    #[cold]
    fn no_routine(&self, wanted: &RoutineName, what: &str) -> Error {
        let message = match &wanted.types {
            Some(types) => format!("{what} {} does not exist", signature(&wanted.name, types)),
            None => format!("could not find a {what} named \"{}\"", wanted.name),
        };
        let error = Error::new(SqlState::UNDEFINED_FUNCTION, message);
        match nearest_name(&wanted.name, self.routines.keys().map(|(_, name)| name.as_str())) {
            Some(near) if near != wanted.name => error.hint(format!("perhaps you meant {near}()")),
            _ => error,
        }
    }
}

/// Whether two routines of a name with these types would be one.
fn same_types(a: &[SqlType], b: &[SqlType]) -> bool {
    let same = |a: SqlType, b: SqlType| a == b || family(a) == family(b);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
}

/// A type without its lengths.
fn family(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Varchar(_) => SqlType::Varchar(0),
        SqlType::Char(_) => SqlType::Char(0),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => SqlType::NUMERIC,
        other => other,
    }
}

impl Catalog {
    /// Enters a routine; one of the same name and types is replaced if `or_replace`, else it is error 42723.
    pub fn create_routine(&self, routine: Routine, or_replace: bool) -> Result<()> {
        self.change(|catalog| {
            if !catalog.has_schema(&routine.schema) {
                return Err(no_schema(&routine.schema));
            }
            let key = (routine.schema.clone(), routine.name.clone());
            let named = catalog.routines.entry(key).or_default();
            let types = routine.given_types();
            match named.iter().position(|old| same_types(&old.given_types(), &types)) {
                None => named.push(Arc::new(routine)),
                Some(at) => {
                    check_replacement(&named[at], &routine, or_replace)?;
                    named[at] = Arc::new(routine);
                }
            }
            Ok(())
        })
    }

    /// Removes routines of a kind (none: of any), all or none of them. Missing ones are errors unless `if_exists`.
    /// Triggers that call one are dropped by `cascade`, else they are error 2BP01.
    pub fn drop_routines(
        &self,
        kind: Option<RoutineKind>,
        names: &[RoutineName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        self.change(|catalog| {
            for name in names {
                let found = match catalog.find_routine(name, kind) {
                    Err(error) if if_exists && error.state() == SqlState::UNDEFINED_FUNCTION => continue,
                    found => found?.clone(),
                };
                match cascade {
                    true => catalog.drop_callers(&found),
                    false => catalog.refuse_called(&found)?,
                }
                let key: Name = (found.schema.clone(), found.name.clone());
                if let Some(named) = catalog.routines.get_mut(&key) {
                    named.retain(|routine| routine.number != found.number);
                    if named.is_empty() {
                        catalog.routines.remove(&key);
                    }
                }
            }
            Ok(())
        })
    }

    /// Enters a macro: what it means for each number of arguments. What was called so goes if `or_replace`.
    pub fn create_macro(
        &self,
        (schema, name): (Option<&str>, &str),
        made: Vec<Routine>,
        or_replace: bool,
        if_not_exists: bool,
    ) -> Result<()> {
        self.change(|catalog| {
            let key = (schema_of_routine(schema), name.to_owned());
            if !catalog.has_schema(&key.0) {
                return Err(no_schema(&key.0));
            }
            let known = catalog.routines.get(&key).map_or(&[][..], Vec::as_slice);
            match known.first() {
                None => {}
                Some(other) if other.language != Language::Macro => {
                    let message = format!("a {} of the name \"{name}\" exists", other.kind.name());
                    return Err(Error::new(DUPLICATE_FUNCTION, message));
                }
                Some(_) if or_replace => {}
                Some(_) if if_not_exists => return Ok(()),
                Some(_) => {
                    let message = format!("macro \"{name}\" already exists");
                    return Err(Error::new(DUPLICATE_FUNCTION, message).hint("CREATE OR REPLACE replaces it"));
                }
            }
            catalog.routines.insert(key, made.into_iter().map(Arc::new).collect());
            Ok(())
        })
    }

    /// Removes a macro. A missing one is an error unless `if_exists`.
    pub fn drop_macro(&self, schema: Option<&str>, name: &str, if_exists: bool) -> Result<()> {
        self.change(|catalog| {
            let key = (schema_of_routine(schema), name.to_owned());
            let is_macro = |named: &Vec<Arc<Routine>>| named.iter().all(|r| r.language == Language::Macro);
            if catalog.routines.get(&key).is_some_and(is_macro) {
                catalog.routines.remove(&key);
            } else if !if_exists {
                return Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("macro \"{name}\" does not exist")));
            }
            Ok(())
        })
    }

    /// Changes what is said of a routine.
    pub fn alter_routine(
        &self,
        kind: Option<RoutineKind>,
        name: &RoutineName,
        change: &RoutineAlteration,
    ) -> Result<()> {
        self.change(|catalog| {
            let found = catalog.find_routine(name, kind)?.clone();
            let mut settings = if change.resets_all { Vec::new() } else { found.settings.clone() };
            for (name, value) in &change.settings {
                settings.retain(|(known, _)| known != name);
                settings.extend(value.clone().map(|value| (name.clone(), value)));
            }
            let altered = Routine {
                number: Routine::new_number(),
                volatility: change.volatility.unwrap_or(found.volatility),
                is_strict: change.is_strict.unwrap_or(found.is_strict),
                settings,
                ..Routine::clone(&found)
            };
            let named = catalog.routines.entry((found.schema.clone(), found.name.clone())).or_default();
            let place = named.iter_mut().find(|routine| routine.number == found.number);
            *place.expect("it was found there") = Arc::new(altered);
            Ok(())
        })
    }

    /// Gives a routine another name.
    pub fn rename_routine(&self, kind: Option<RoutineKind>, name: &RoutineName, to: &str) -> Result<()> {
        self.change(|catalog| {
            let found = catalog.find_routine(name, kind)?.clone();
            let key: Name = (found.schema.clone(), to.to_owned());
            let types = found.given_types();
            let named = catalog.routines.entry(key).or_default();
            if named.iter().any(|other| same_types(&other.given_types(), &types)) {
                return Err(taken(found.kind, to));
            }
            let renamed = Routine { name: to.to_owned(), number: Routine::new_number(), ..Routine::clone(&found) };
            named.push(Arc::new(renamed));
            let key: Name = (found.schema.clone(), found.name.clone());
            if let Some(named) = catalog.routines.get_mut(&key) {
                named.retain(|routine| routine.number != found.number);
            }
            catalog.routines.retain(|_, named| !named.is_empty());
            Ok(())
        })
    }
}

fn taken(kind: RoutineKind, name: &str) -> Error {
    let message = format!("{} \"{name}\" already exists with same argument types", kind.name());
    Error::new(DUPLICATE_FUNCTION, message)
}

/// Whether a routine may stand in the place of another one.
fn check_replacement(old: &Routine, new: &Routine, or_replace: bool) -> Result<()> {
    if !or_replace {
        return Err(taken(old.kind, &old.name).hint("CREATE OR REPLACE replaces it"));
    }
    if old.kind != new.kind {
        let message = "cannot change routine kind";
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).detail(format!(
            "\"{}\" is a {}.",
            old.name,
            old.kind.name()
        )));
    }
    let invalid = |message: &str| {
        let hint = format!("Use DROP {} {} first.", old.kind.name().to_uppercase(), old.signature());
        Err(Error::new(SqlState("42P13"), message).hint(hint))
    };
    let results = |routine: &Routine| (routine.returns, routine.is_set);
    let columns = |routine: &Routine| routine.results().map(|p| (p.name.clone(), p.sql_type)).collect::<Vec<_>>();
    if results(old) != results(new) || columns(old) != columns(new) {
        return invalid("cannot change return type of existing function");
    }
    let renamed = |(old, new): (&RoutineParameter, &RoutineParameter)| old.name.is_some() && old.name != new.name;
    if let Some((named, _)) = old.given().zip(new.given()).find(|pair| renamed(*pair)) {
        let name = named.name.as_deref().unwrap_or_default();
        return invalid(&format!("cannot change name of input parameter \"{name}\""));
    }
    if old.given().zip(new.given()).any(|(old, new)| old.default.is_some() && new.default.is_none()) {
        return invalid("cannot remove parameter defaults from existing function");
    }
    Ok(())
}

/// The schema of names that have none.
pub fn schema_of_routine(schema: Option<&str>) -> String {
    if schema.is_none() { DEFAULT_SCHEMA.to_owned() } else { canonical(schema).to_owned() }
}
