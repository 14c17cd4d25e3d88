//! Schemas with their tables and views: versions that never change, replaced as a whole.
//!
//! A statement binds against one [`CatalogSnapshot`]; definitions that change meanwhile do not concern it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use base::{Error, Result, SqlState};
use functions::Sequence;

use crate::{
    Commented, Domain, Field, Filling, Kinship, Routine, SequenceEntry, Table, Trigger, UserType, nearest_name,
};

/// The schema of unqualified names.
pub const DEFAULT_SCHEMA: &str = "public";
/// The schema of what only one session sees. Names without a schema mean what is in it first.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";
/// DuckDB's name of the default schema, which means the same here.
const DEFAULT_SCHEMA_ALIAS: &str = "main";

const INVALID_SCHEMA_NAME: SqlState = SqlState("3F000");

/// A view: the text of its query, bound anew by each statement that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The query.
    pub sql: String,
    /// Its columns, as they were when it was made.
    pub columns: Vec<Field>,
    /// Schema (none: the default) and name of the tables and views that the query names itself. As long as the view is
    /// there they cannot be dropped, nor get other columns.
    pub reads: Vec<(Option<String>, String)>,
    /// Where names without a schema are looked for, if that is not the default schema: as it was when it was made.
    pub path: Option<Vec<String>>,
    /// What is done instead of changing rows of it, in the order of the names.
    pub triggers: Vec<Arc<Trigger>>,
    /// Whether rows that it does not show may be written through it.
    pub check_option: Option<CheckOption>,
}

/// Which rows must not be written through a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckOption {
    /// Those that the view itself does not show.
    Local,
    /// Those that it does not show, be it for a view below.
    Cascaded,
}

/// What kind of thing has a table name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A stored table.
    Table,
    /// A view.
    View,
    /// A view whose rows are stored.
    MaterializedView,
}

impl Kind {
    /// As SQL has it, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::MaterializedView => "materialized view",
        }
    }
}

/// What a table name stands for.
#[derive(Clone, Debug)]
pub enum TableEntry {
    /// A stored table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
}

impl TableEntry {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Table(table) if table.definition.is_some() => Kind::MaterializedView,
            Self::Table(_) => Kind::Table,
            Self::View(_) => Kind::View,
        }
    }

    /// Its columns.
    pub fn fields(&self) -> Vec<Field> {
        let table = match self {
            Self::Table(table) => table,
            Self::View(view) => return view.columns.clone(),
        };
        table.relation.schema().columns().iter().map(Field::of).collect()
    }

    /// Whether readers of this entry find in `new` what they found here. A view may get further columns.
    fn replaceable_by(&self, new: &Self) -> bool {
        let (old, new) = (self.fields(), new.fields());
        let same = |(a, b): (&Field, &Field)| (&a.name, a.sql_type) == (&b.name, b.sql_type);
        (old.len() == new.len() || self.kind() == Kind::View && old.len() < new.len()) && old.iter().zip(&new).all(same)
    }
}

/// What a definition does if the name is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfExists {
    /// Fails.
    Fail,
    /// Does nothing (`IF NOT EXISTS`).
    Skip,
    /// Replaces an entry of the same kind (`OR REPLACE`).
    Replace,
}

/// Schema and name of an entry.
pub type Name = (String, String);
pub(crate) type Schemas = BTreeMap<String, BTreeMap<String, TableEntry>>;

/// All definitions at one moment.
#[derive(Clone, Debug, Default)]
pub struct CatalogSnapshot {
    pub(crate) schemas: Schemas,
    pub(crate) sequences: BTreeMap<Name, SequenceEntry>,
    pub(crate) routines: BTreeMap<Name, Vec<Arc<Routine>>>,
    pub(crate) types: BTreeMap<Name, UserType>,
    pub(crate) domains: BTreeMap<Name, Arc<Domain>>,
    pub(crate) collations: BTreeMap<Name, Arc<types::Collation>>,
    pub(crate) comments: BTreeMap<Commented, String>,
    /// Of tables that do not stand alone.
    pub(crate) kinships: BTreeMap<Name, Kinship>,
}

/// The definitions of a database.
#[derive(Debug)]
pub struct Catalog {
    current: Mutex<Arc<CatalogSnapshot>>,
    /// Where these are, for who asks only whether they are others by now.
    address: AtomicPtr<CatalogSnapshot>,
    /// What others know already, if these are a transaction's own.
    shared: Option<Arc<CatalogSnapshot>>,
}

/// The definitions as a transaction changes them.
#[derive(Debug)]
pub struct Fork {
    /// What they were when it began to.
    pub base: Arc<CatalogSnapshot>,
    /// What they are for it.
    pub own: Catalog,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new()
    }
}

/// The schema that a name is of, if it says so, by the name that the catalog has for it.
pub fn canonical(schema: Option<&str>) -> &str {
    match schema {
        None | Some(DEFAULT_SCHEMA_ALIAS) => DEFAULT_SCHEMA,
        Some(name) => name,
    }
}

pub(crate) fn no_schema(name: &str) -> Error {
    Error::new(INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

impl CatalogSnapshot {
    /// The entry of this name. If no schema is given, a temporary one comes before one of the default schema.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<&TableEntry> {
        self.schemas.get(self.schema_of(schema, name))?.get(name)
    }

    /// The schema that a name without one is of.
    pub fn schema_of<'a>(&self, schema: Option<&'a str>, name: &str) -> &'a str {
        match schema {
            None if self.is_temporary(None, name) => TEMPORARY_SCHEMA,
            _ => canonical(schema),
        }
    }

    /// Whether only this session sees what the name means.
    pub fn is_temporary(&self, schema: Option<&str>, name: &str) -> bool {
        let has = |entries: &BTreeMap<String, TableEntry>| entries.contains_key(name);
        let in_schema = || self.schemas.get(TEMPORARY_SCHEMA).is_some_and(has);
        let is_sequence = || self.sequences.contains_key(&(TEMPORARY_SCHEMA.to_owned(), name.to_owned()));
        schema == Some(TEMPORARY_SCHEMA) || schema.is_none() && (in_schema() || is_sequence())
    }

    /// Whether nothing is defined but schemas.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
            && self.types.is_empty()
            && self.domains.is_empty()
            && self.collations.is_empty()
            && self.routines.is_empty()
            && self.schemas.values().all(BTreeMap::is_empty)
    }

    /// These definitions and a session's own.
    pub fn beside(&self, own: &Self) -> Self {
        let mut all = self.clone();
        all.schemas.extend(own.schemas.clone());
        all.sequences.extend(own.sequences.clone());
        all.types.extend(own.types.clone());
        all.domains.extend(own.domains.clone());
        all.collations.extend(own.collations.clone());
        all.routines.extend(own.routines.clone());
        all.comments.extend(own.comments.clone());
        all.kinships.extend(own.kinships.clone());
        all
    }

    /// As [`find`](Self::find); 42P01 with the most similar name if there is no such entry.
    pub fn lookup(&self, schema: Option<&str>, name: &str) -> Result<&TableEntry> {
        self.find(schema, name).ok_or_else(|| self.missing("relation", schema, name))
    }

    /// All entries as (schema, name, entry), in the order of their names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, &TableEntry)> {
        let all = self.schemas.iter();
        all.flat_map(|(schema, entries)| entries.iter().map(move |(name, e)| (schema.as_str(), name.as_str(), e)))
    }

    /// The names of all schemas.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }

    /// Whether there is a schema of that name.
    /// Error 3F000 if there is no such schema.
    pub fn check_schema(&self, name: &str) -> Result<()> {
        if self.has_schema(canonical(Some(name))) { Ok(()) } else { Err(no_schema(name)) }
    }

    pub(crate) fn has_schema(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    /// Columns that take their values from a sequence have no default any more.
    pub(crate) fn forget_default(&mut self, sequence: &Sequence) {
        for entry in self.schemas.values_mut().flat_map(BTreeMap::values_mut) {
            let TableEntry::Table(table) = entry else { continue };
            let reads = |f: &Filling| f.sequence().is_some_and(|s| **s == *sequence);
            if table.fillings.iter().any(reads) {
                let table = Arc::make_mut(table);
                table.fillings.iter_mut().filter(|f| reads(f)).for_each(|f| *f = Filling::NULL);
            }
        }
    }

    /// Columns of a domain that are filled as it has said are filled as it says now.
    pub(crate) fn fill_columns_of(&mut self, domain: &Name, before: &Filling, now: &Filling) {
        for entry in self.schemas.values_mut().flat_map(BTreeMap::values_mut) {
            let TableEntry::Table(table) = entry else { continue };
            if table.domains.iter().flatten().any(|of| of == domain) {
                let Table { domains, fillings, .. } = Arc::make_mut(table);
                let of_domain = domains.iter().zip(fillings).filter(|(of, _)| of.as_ref() == Some(domain));
                of_domain.filter(|(_, filling)| *filling == before).for_each(|(_, filling)| *filling = now.clone());
            }
        }
    }

    /// The views that read the entry of that name themselves.
    pub fn readers(&self, read: &Name) -> impl Iterator<Item = Name> {
        let names = |view: &View| view.reads.iter().any(|(s, n)| canonical(s.as_deref()) == read.0 && *n == read.1);
        let reads = move |entry: &TableEntry| match entry {
            TableEntry::Table(table) => table.definition.as_deref().is_some_and(names),
            TableEntry::View(view) => names(view),
        };
        self.entries().filter(move |(_, _, entry)| reads(entry)).map(|(s, n, _)| (s.to_owned(), n.to_owned()))
    }

    /// 2BP01 if a view reads one of these entries and is not one of them.
    fn refuse_dependents(&self, kind: Kind, gone: &[Name]) -> Result<()> {
        for read in gone {
            let Some((_, view)) = self.readers(read).find(|reader| !gone.contains(reader)) else { continue };
            let (name, kind) = (&read.1, kind.name());
            let message = format!("cannot drop {kind} {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .detail(format!("view {view} depends on {kind} {name}"))
                .hint("DROP ... CASCADE drops the dependent objects too"));
        }
        Ok(())
    }

    #[cold]
    fn missing(&self, kind: &str, schema: Option<&str>, name: &str) -> Error {
        let (error, entries) = match (schema, self.schemas.get(canonical(schema))) {
            (Some(schema), None) => return no_schema(schema),
            (Some(schema), Some(entries)) => (format!("{kind} \"{schema}.{name}\" does not exist"), Some(entries)),
            (None, entries) => (format!("{kind} \"{name}\" does not exist"), entries),
        };
        let error = Error::new(SqlState::UNDEFINED_TABLE, error);
        let entries = entries.into_iter().flatten();
        match nearest_name(name, entries.clone().map(|(n, _)| n.as_str())) {
            Some(near) => {
                let kind = entries.clone().find(|(n, _)| *n == near).map_or("table", |(_, e)| e.kind().name());
                error.hint(format!("perhaps you meant the {kind} \"{near}\""))
            }
            None => error,
        }
    }
}

impl Catalog {
    /// A catalog with an empty default schema.
    pub fn new() -> Self {
        Self::with_schema(DEFAULT_SCHEMA)
    }

    /// The catalog of a session: an empty schema for what it alone sees.
    pub fn temporary() -> Self {
        Self::with_schema(TEMPORARY_SCHEMA)
    }

    fn with_schema(schema: &str) -> Self {
        let schemas = Schemas::from([(schema.to_owned(), BTreeMap::new())]);
        let first = CatalogSnapshot { schemas, ..CatalogSnapshot::default() };
        Self::of(Arc::new(first), None)
    }

    fn of(current: Arc<CatalogSnapshot>, shared: Option<Arc<CatalogSnapshot>>) -> Self {
        let address = AtomicPtr::new(Arc::as_ptr(&current).cast_mut());
        Self { current: Mutex::new(current), address, shared }
    }

    /// The definitions are others from now on.
    fn replace(&self, current: &mut Arc<CatalogSnapshot>, next: Arc<CatalogSnapshot>) {
        self.address.store(Arc::as_ptr(&next).cast_mut(), Ordering::Release);
        *current = next;
    }

    /// The definitions as they are now.
    pub fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the definitions are those still.
    pub fn is_as(&self, known: &Weak<CatalogSnapshot>) -> bool {
        // What is known weakly has a place that nothing else gets.
        std::ptr::eq(self.address.load(Ordering::Acquire), known.as_ptr())
    }

    /// A copy that changes on its own, for a transaction.
    pub fn fork(&self) -> Fork {
        let base = self.snapshot();
        let own = Self::of(base.clone(), Some(base.clone()));
        Fork { own, base }
    }

    /// Takes over what a fork has come to, if `commit` succeeds. Error 40001 if these definitions have changed since.
    pub fn adopt<T>(&self, fork: &Fork, commit: impl FnOnce() -> Result<T>) -> Result<T> {
        let own = fork.own.snapshot();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = !Arc::ptr_eq(&own, &fork.base);
        if is_changed && !Arc::ptr_eq(&current, &fork.base) {
            let message = "could not serialize access due to concurrent definitions";
            return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                .detail("Another session has created or dropped something since this transaction did.")
                .hint("the transaction might succeed if it is tried again"));
        }
        let result = commit()?;
        if is_changed {
            own.publish_types(None);
            self.replace(&mut current, own);
        }
        Ok(result)
    }

    /// Makes the definitions what they were.
    pub fn restore(&self, snapshot: Arc<CatalogSnapshot>) {
        snapshot.publish_types(self.shared.as_deref());
        self.replace(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner), snapshot);
    }

    /// Runs `change` on the definitions; they stay as they are if it fails.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut CatalogSnapshot) -> Result<T>) -> Result<T> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = CatalogSnapshot::clone(&current);
        let result = change(&mut next)?;
        next.forget_comments();
        next.publish_types(self.shared.as_deref());
        self.replace(&mut current, Arc::new(next));
        Ok(result)
    }

    /// Enters a table or view. Returns whether it did: false if the name is taken and that is to be skipped.
    pub fn create(&self, schema: Option<&str>, name: &str, entry: TableEntry, if_exists: IfExists) -> Result<bool> {
        self.create_with(schema, name, entry, Vec::new(), if_exists)
    }

    /// As [`create`](Self::create), for a table with sequences of its own: the names of these, and their columns.
    pub fn create_with(
        &self,
        schema: Option<&str>,
        name: &str,
        entry: TableEntry,
        owned: Vec<(String, String, Arc<Sequence>)>,
        if_exists: IfExists,
    ) -> Result<bool> {
        self.change(|catalog| {
            let schema = canonical(schema);
            let entries = catalog.schemas.get(schema).ok_or_else(|| no_schema(schema))?;
            let key = (schema.to_owned(), name.to_owned());
            if catalog.sequences.contains_key(&key) {
                return match if_exists {
                    IfExists::Skip => Ok(false),
                    _ => Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))),
                };
            }
            match (entries.get(name), if_exists) {
                (Some(_), IfExists::Skip) => return Ok(false),
                (Some(_), IfExists::Fail) => {
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
                }
                (Some(old), IfExists::Replace) if old.kind() != entry.kind() => {
                    return Err(wrong_kind(name, entry.kind(), old.kind()));
                }
                (Some(old), IfExists::Replace) if !old.replaceable_by(&entry) => match entry.kind() {
                    Kind::Table | Kind::MaterializedView => {
                        catalog.refuse_dependents(Kind::Table, &[(schema.to_owned(), name.to_owned())])?
                    }
                    Kind::View => {
                        let message = "cannot change names or types of a view's columns, nor drop one";
                        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).hint("use DROP VIEW first"));
                    }
                },
                (None, _) | (Some(_), IfExists::Replace) => {}
            }
            if entry.kind() == Kind::Table {
                catalog.replace_kin(&key)?;
                catalog.forget_comments_of(&key);
            }
            catalog.drop_owned(&key);
            catalog.enter_owned(&key, owned)?;
            let entries = catalog.schemas.get_mut(schema).ok_or_else(|| no_schema(schema))?;
            entries.insert(name.to_owned(), entry);
            Ok(true)
        })
    }

    /// Removes tables or views (`kind` says which), all or none of them. A table's memory is freed when the last statement
    /// that reads it ends. Missing ones are errors unless `if_exists`; views that read what goes are error 2BP01 unless
    /// they go too, being named or by `cascade`.
    pub fn drop(&self, kind: Kind, names: &[(Option<&str>, &str)], if_exists: bool, cascade: bool) -> Result<()> {
        self.change(|catalog| {
            let mut gone: Vec<Name> = Vec::with_capacity(names.len());
            for &(schema, name) in names {
                match catalog.find(schema, name) {
                    None if if_exists => continue,
                    None => return Err(catalog.missing(kind.name(), schema, name)),
                    Some(entry) if entry.kind() != kind => return Err(wrong_kind(name, kind, entry.kind())),
                    Some(_) => gone.push((canonical(schema).to_owned(), name.to_owned())),
                }
            }
            gone = catalog.with_children(gone, cascade)?;
            if cascade {
                let mut next = 0;
                while next < gone.len() {
                    let more = catalog.readers(&gone[next]).find(|reader| !gone.contains(reader));
                    match more {
                        Some(reader) => gone.push(reader),
                        None => next += 1,
                    }
                }
            } else {
                catalog.refuse_dependents(kind, &gone)?;
                catalog.refuse_references(&gone)?;
            }
            catalog.drop_references(&gone);
            catalog.forget_kin(&gone);
            for (schema, name) in gone {
                catalog.drop_owned(&(schema.clone(), name.clone()));
                catalog.schemas.get_mut(&schema).and_then(|entries| entries.remove(&name));
            }
            Ok(())
        })
    }
}

#[cold]
fn wrong_kind(name: &str, wanted: Kind, found: Kind) -> Error {
    let (wanted, found) = (wanted.name(), found.name());
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {wanted}"))
        .hint(format!("use DROP {} to remove a {found}", found.to_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Budget;
    use storage::Relation;
    use storage::relation::Distribution;
    use storage::{Attribute, Schema};
    use types::SqlType;

    fn table(budget: &Budget) -> TableEntry {
        let attribute = Attribute::new("id", SqlType::Integer, false);
        let relation = Relation::new("t", Schema::new(vec![attribute], vec![0]), Distribution::Local, budget).unwrap();
        TableEntry::Table(Arc::new(Table::new(relation)))
    }
    fn view() -> TableEntry {
        TableEntry::View(Arc::new(View {
            sql: "select 1".into(),
            columns: vec![],
            reads: vec![],
            path: None,
            triggers: vec![],
            check_option: None,
        }))
    }

    #[test]
    fn a_statement_keeps_the_definitions_that_it_began_with() {
        let catalog = Catalog::new();
        let budget = Budget::new(usize::MAX);
        let before = catalog.snapshot();
        assert!(catalog.create(Some("public"), "t", table(&budget), IfExists::Fail).unwrap());
        assert!(before.find(None, "t").is_none());
        let during = catalog.snapshot();
        catalog.drop(Kind::Table, &[(Some("main"), "t")], false, false).unwrap();
        let fields = during.lookup(None, "t").unwrap().fields();
        assert_eq!(fields, [Field { name: "id".into(), sql_type: SqlType::Integer, nullable: false }]);
        assert!(catalog.snapshot().find(None, "t").is_none());
    }

    #[test]
    fn missing_and_taken_names_are_errors_with_advice() {
        let catalog = Catalog::new();
        let budget = Budget::new(usize::MAX);
        catalog.create(None, "orders", table(&budget), IfExists::Fail).unwrap();
        catalog.create(None, "v", view(), IfExists::Fail).unwrap();
        let error = catalog.snapshot().lookup(None, "order").unwrap_err();
        assert_eq!((error.state(), error.message()), (SqlState::UNDEFINED_TABLE, "relation \"order\" does not exist"));
        assert_eq!(error.get_hint(), Some("perhaps you meant the table \"orders\""));
        let state = |result: Result<bool>| result.unwrap_err().state();
        assert_eq!(state(catalog.create(None, "v", view(), IfExists::Fail)), SqlState::DUPLICATE_TABLE);
        assert_eq!(state(catalog.create(None, "v", table(&budget), IfExists::Replace)), SqlState::WRONG_OBJECT_TYPE);
        assert_eq!(state(catalog.create(Some("s"), "v", view(), IfExists::Fail)), INVALID_SCHEMA_NAME);
        let dropped = |kind, name, if_exists| catalog.drop(kind, &[(None, name)], if_exists, false);
        assert_eq!(dropped(Kind::Table, "v", true).unwrap_err().state(), SqlState::WRONG_OBJECT_TYPE);
        assert_eq!(dropped(Kind::View, "w", false).unwrap_err().state(), SqlState::UNDEFINED_TABLE);
        assert_eq!(dropped(Kind::View, "w", true), Ok(()));
        assert_eq!(catalog.create(None, "v", view(), IfExists::Skip), Ok(false));
        assert_eq!(catalog.create(None, "v", view(), IfExists::Replace), Ok(true));
        let names: Vec<_> =
            catalog.snapshot().entries().map(|(s, n, e)| format!("{s}.{n} {}", e.kind().name())).collect();
        assert_eq!(names, ["public.orders table", "public.v view"]);
    }

    #[test]
    fn what_a_view_reads_stays_as_it_is() {
        let catalog = Catalog::new();
        let budget = Budget::new(usize::MAX);
        let reader = |of: &str| {
            let reads = vec![(Some("public".to_owned()), of.to_owned())];
            TableEntry::View(Arc::new(View {
                sql: String::new(),
                columns: vec![],
                reads,
                path: None,
                triggers: vec![],
                check_option: None,
            }))
        };
        catalog.create(None, "t", table(&budget), IfExists::Fail).unwrap();
        catalog.create(None, "v", reader("t"), IfExists::Fail).unwrap();
        catalog.create(None, "w", reader("v"), IfExists::Fail).unwrap();
        let drop =
            |kind, names: &[(Option<&'static str>, &'static str)], cascade| catalog.drop(kind, names, false, cascade);
        let error = drop(Kind::Table, &[(None, "t")], false).unwrap_err();
        assert_eq!(
            (error.state(), error.get_detail()),
            (SqlState::DEPENDENT_OBJECTS, Some("view v depends on table t"))
        );
        assert!(drop(Kind::View, &[(None, "v")], false).is_err());
        // The same columns change nothing for the view.
        assert_eq!(catalog.create(None, "t", table(&budget), IfExists::Replace), Ok(true));
        let other = Attribute::new("other", SqlType::Integer, false);
        let other = Relation::new("t", Schema::new(vec![other], vec![]), Distribution::Local, &budget).unwrap();
        let other = TableEntry::Table(Arc::new(Table::new(other)));
        assert!(catalog.create(None, "t", other, IfExists::Replace).is_err());
        drop(Kind::View, &[(None, "v"), (None, "w")], false).unwrap();
        catalog.create(None, "v", reader("t"), IfExists::Fail).unwrap();
        catalog.create(None, "w", reader("v"), IfExists::Fail).unwrap();
        drop(Kind::Table, &[(None, "t")], true).unwrap();
        assert_eq!(catalog.snapshot().entries().count(), 0);
    }
}
