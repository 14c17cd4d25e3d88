//! Types that users have made: enums. They have schemas as tables do, and names of their own.
//!
//! A snapshot has the labels that an enum has for it. Values are read by the labels that the [`EnumType`] has, which all sessions
//! share: it gets new ones when they are committed, so that nobody sees what may be rolled back. Labels of a type that
//! a transaction has made itself are nobody else's matter, and change at once.

use base::{Error, Result, SqlState};
use types::enumeration::{Labels, Place};
use types::{EnumType, SqlType};

use crate::domains::taken;
use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Commented, Filling, TEMPORARY_SCHEMA, Table, TableEntry, View, nearest_name};

/// A type that a user has made.
#[derive(Clone, Copy, Debug)]
pub struct UserType {
    /// The type of its values.
    pub of: &'static EnumType,
    /// Its name and its labels.
    pub labels: &'static Labels,
}

impl UserType {
    /// The type of its values.
    pub fn sql_type(&self) -> SqlType {
        SqlType::Enum(self.of)
    }
}

/// What ALTER TYPE changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeChange {
    /// RENAME TO.
    Name(String),
    /// ADD VALUE; whether it is no error if there is one.
    Add(String, Place, bool),
    /// RENAME VALUE.
    Rename(String, String),
    /// SET SCHEMA.
    Schema(String),
}

/// What needs a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dependent {
    /// The column of a table: schema, table, column.
    Column(String, String, String),
    /// A view: schema and name.
    View(String, String),
    /// A default, a generated column or a constraint of a table, whose text names the type.
    Text(String, String),
}

impl Dependent {
    /// As messages tell it.
    fn described(&self) -> String {
        match self {
            Self::Column(_, table, column) => format!("column {column} of table {table}"),
            Self::View(_, view) => format!("view {view}"),
            Self::Text(_, table) => format!("a default or constraint of table {table}"),
        }
    }
}

impl CatalogSnapshot {
    /// The type of that name.
    pub fn user_type(&self, schema: Option<&str>, name: &str) -> Option<&UserType> {
        self.user_type_name(schema, name).and_then(|key| self.types.get(&key))
    }

    /// All types as (schema, name, type), in the order of their names.
    pub fn user_types(&self) -> impl Iterator<Item = (&str, &str, &UserType)> {
        self.types.iter().map(|((schema, name), of)| (schema.as_str(), name.as_str(), of))
    }

    /// Schema and name of an enum.
    pub fn name_of(&self, of: &'static EnumType) -> Option<(&str, &str)> {
        self.user_types().find(|(_, _, known)| known.of == of).map(|(schema, name, _)| (schema, name))
    }

    /// A type without a schema is the session's own, if there is one.
    pub(crate) fn user_type_name(&self, schema: Option<&str>, name: &str) -> Option<Name> {
        let schemas = match schema {
            Some(_) => vec![canonical(schema)],
            None => vec![TEMPORARY_SCHEMA, canonical(None)],
        };
        let mut keys = schemas.into_iter().map(|schema| (schema.to_owned(), name.to_owned()));
        keys.find(|key| self.types.contains_key(key))
    }

    /// What needs the type of that name.
    pub fn dependents(&self, schema: Option<&str>, name: &str) -> Vec<Dependent> {
        let Some(user_type) = self.user_type(schema, name) else { return Vec::new() };
        let mut all = Vec::new();
        for (schema, table, entry) in self.entries() {
            let (owner, table) = (|| schema.to_owned(), || table.to_owned());
            match entry {
                TableEntry::Table(of) => {
                    let attributes = of.relation.schema().attributes().iter();
                    let typed = attributes.filter(|a| a.sql_type.enumeration() == Some(user_type.of));
                    all.extend(typed.map(|a| Dependent::Column(owner(), table(), a.name.clone())));
                    if texts(of).any(|text| mentions(text, name)) {
                        all.push(Dependent::Text(owner(), table()));
                    }
                }
                TableEntry::View(view) => {
                    if needs(view, user_type.of, name) {
                        all.push(Dependent::View(owner(), table()));
                    }
                }
            }
        }
        all
    }

    #[cold]
    fn no_type(&self, schema: Option<&str>, name: &str) -> Error {
        let full = schema.map_or(name.to_owned(), |schema| format!("{schema}.{name}"));
        let error = Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{full}\" does not exist"));
        match nearest_name(name, self.types.keys().map(|(_, name)| name.as_str())) {
            Some(near) => error.hint(format!("perhaps you meant the type \"{near}\"")),
            None => error,
        }
    }

    /// Whoever reads values by labels does so by these, but for types that others have, which `shared` has.
    pub(crate) fn publish_types(&self, shared: Option<&Self>) {
        for user_type in self.types.values() {
            let is_shared = shared.is_some_and(|s| s.types.values().any(|known| known.of == user_type.of));
            if !is_shared && !std::ptr::eq(user_type.of.labels(), user_type.labels) {
                user_type.of.set_labels(user_type.labels);
            }
        }
    }
}

/// The expressions of a table that are kept as texts.
fn texts(table: &Table) -> impl Iterator<Item = &str> {
    let fillings = table.fillings.iter().filter_map(|filling| match filling {
        Filling::Expression(sql) | Filling::Generated(sql) => Some(sql.as_str()),
        _ => None,
    });
    fillings.chain(table.checks.iter().map(|check| check.sql.as_str()))
}

/// Whether a view has values of the type, or names it.
fn needs(view: &View, of: &'static EnumType, name: &str) -> bool {
    view.columns.iter().any(|c| c.sql_type.enumeration() == Some(of)) || mentions(&view.sql, name)
}

/// Whether a text has that word. It may mean something else there: then too much is taken to be needed.
fn mentions(text: &str, name: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let text = text.to_lowercase();
    let name = name.to_lowercase();
    text.match_indices(&name).any(|(at, _)| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !before.is_some_and(is_inside) && !behind.is_some_and(is_inside)
    })
}

impl Catalog {
    /// Enters an enum; 42710 if there is a type of that name.
    pub fn create_enum(&self, (schema, name): (Option<&str>, &str), labels: &[String]) -> Result<()> {
        self.change(|catalog| {
            let key = catalog.new_type(schema, name)?;
            let labels = Labels::new(name, labels)?;
            catalog.types.insert(key, UserType { of: EnumType::new(labels), labels });
            Ok(())
        })
    }

    /// Changes a type. Returns whether it did: false if there was a value already, and that is no error.
    pub fn alter_type(&self, (schema, name): (Option<&str>, &str), change: &TypeChange) -> Result<bool> {
        self.change(|catalog| {
            let key = catalog.user_type_name(schema, name).ok_or_else(|| catalog.no_type(schema, name))?;
            let mut altered = catalog.types[&key];
            let labels = altered.labels;
            let mut new_key = key.clone();
            match change {
                TypeChange::Add(label, _, true) if labels.code(label).is_some() => return Ok(false),
                TypeChange::Add(label, place, _) => altered.labels = labels.with(label, place)?,
                TypeChange::Rename(from, to) => altered.labels = labels.renamed(from, to)?,
                TypeChange::Name(to) => {
                    catalog.refuse_texts("rename", &key)?;
                    altered.labels = labels.named(to);
                    new_key.1.clone_from(to);
                }
                TypeChange::Schema(to) => {
                    catalog.refuse_texts("move", &key)?;
                    new_key.0 = canonical(Some(to)).to_owned();
                    if !catalog.has_schema(&new_key.0) {
                        return Err(no_schema(to));
                    }
                }
            }
            if new_key != key && catalog.has_type(&new_key) {
                return Err(taken(&new_key.1));
            }
            catalog.types.remove(&key);
            catalog.move_comments(|on| {
                if *on == Commented::Type(key.0.clone(), key.1.clone()) {
                    *on = Commented::Type(new_key.0.clone(), new_key.1.clone());
                }
            });
            catalog.types.insert(new_key, altered);
            Ok(true)
        })
    }

    /// Removes types that nothing needs: else 2BP01. Missing ones are errors unless `if_exists`.
    pub fn drop_types(&self, names: &[(Option<&str>, &str)], if_exists: bool) -> Result<()> {
        self.change(|catalog| {
            for &(schema, name) in names {
                let Some(key) = catalog.user_type_name(schema, name) else {
                    match if_exists {
                        true => continue,
                        false => return Err(catalog.no_type(schema, name)),
                    }
                };
                if let Some(dependent) = catalog.dependents(schema, name).first() {
                    let message = format!("cannot drop type {name} because other objects depend on it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(format!("{} depends on type {name}", dependent.described()))
                        .hint("DROP ... CASCADE drops the dependent objects too"));
                }
                catalog.types.remove(&key);
            }
            Ok(())
        })
    }
}

impl CatalogSnapshot {
    /// Types go with their schema, unless others need them: 2BP01.
    pub(crate) fn drop_types_of(&mut self, schema: &str) -> Result<()> {
        let gone: Vec<Name> = self.types.keys().filter(|(of, _)| of == schema).cloned().collect();
        for (_, name) in &gone {
            if let Some(dependent) = self.dependents(Some(schema), name).first() {
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("{} depends on type {schema}.{name}", dependent.described()))
                    .hint("DROP TYPE ... CASCADE drops what depends on the type"));
            }
        }
        self.types.retain(|(of, _), _| of != schema);
        Ok(())
    }

    /// 2BP01 if a text names the type, which means nothing any more if the type is called otherwise.
    fn refuse_texts(&self, what: &str, (schema, name): &Name) -> Result<()> {
        let dependents = self.dependents(Some(schema), name);
        let Some(text) = dependents.iter().find(|d| !matches!(d, Dependent::Column(..))) else { return Ok(()) };
        let message = format!("cannot {what} type {name} because {} names it", text.described());
        Err(Error::new(SqlState::DEPENDENT_OBJECTS, message).hint("drop that before, and make it anew"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn others_see_labels_when_they_are_committed() {
        let catalog = Catalog::new();
        catalog.create_enum((None, "mood"), &labels(&["sad", "ok"])).unwrap();
        let mood = catalog.snapshot().user_type(None, "mood").unwrap().of;
        let fork = catalog.fork();
        let add = |name: &str| TypeChange::Add(name.to_owned(), Place::Last, false);
        fork.own.alter_type((None, "mood"), &add("happy")).unwrap();
        assert_eq!(mood.labels().code("happy"), None);
        catalog.adopt(&fork, || Ok(())).unwrap();
        assert!(mood.labels().code("happy").is_some());
        catalog.alter_type((None, "mood"), &add("fine")).unwrap();
        assert!(mood.labels().code("fine").is_some());
    }

    #[test]
    fn types_of_a_transaction_are_its_own() {
        let catalog = Catalog::new();
        let fork = catalog.fork();
        fork.own.create_enum((None, "mood"), &labels(&["sad"])).unwrap();
        let before = fork.own.snapshot();
        let mood = before.user_type(None, "mood").unwrap().of;
        fork.own.alter_type((None, "mood"), &TypeChange::Rename("sad".into(), "glad".into())).unwrap();
        assert!(mood.labels().code("glad").is_some());
        fork.own.restore(before);
        assert!(mood.labels().code("sad").is_some());
        assert!(catalog.snapshot().user_type(None, "mood").is_none());
    }

    #[test]
    fn words_are_found_whole() {
        assert!(mentions("x <> 'sad'::Mood", "mood"));
        assert!(!mentions("moody = mood_of(x)", "mood"));
    }
}
