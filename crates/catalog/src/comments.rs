//! Comments on what is defined. They are kept beside it, by its names, and go with it.

use base::{Error, Result, SqlState};

use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Kind, TableEntry};

/// What a comment is on: names with the schema that they are in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Commented {
    /// The database.
    Database,
    /// A schema.
    Schema(String),
    /// A table: its schema and its name.
    Table(String, String),
    /// A view.
    View(String, String),
    /// A sequence.
    Sequence(String, String),
    /// An index, that of a constraint too.
    Index(String, String),
    /// A type.
    Type(String, String),
    /// The column of a table or view: schema, table, column.
    Column(String, String, String),
    /// The constraint of a table: schema, table, constraint.
    Constraint(String, String, String),
}

impl Commented {
    /// The same with the schema in which the catalog has it, if it was named without one.
    fn located(&self, catalog: &CatalogSnapshot) -> Self {
        let mut own = self.clone();
        match &mut own {
            Self::Database => {}
            Self::Schema(name) => *name = canonical(Some(name)).to_owned(),
            Self::Type(schema, name) => {
                let domain = catalog.domain(some(schema), name).map(|(key, _)| key.clone());
                if let Some((found, _)) = catalog.user_type_name(some(schema), name).or(domain) {
                    *schema = found;
                }
            }
            Self::Table(schema, name)
            | Self::View(schema, name)
            | Self::Sequence(schema, name)
            | Self::Index(schema, name)
            | Self::Column(schema, name, _)
            | Self::Constraint(schema, name, _) => *schema = catalog.schema_of(some(schema), name).to_owned(),
        }
        own
    }
}

/// The schema of a name, which is empty if none was given.
fn some(schema: &str) -> Option<&str> {
    Some(schema).filter(|schema| !schema.is_empty())
}

impl CatalogSnapshot {
    /// The comment on something.
    pub fn comment(&self, on: &Commented) -> Option<&str> {
        self.comments.get(on).map(String::as_str)
    }

    /// All comments, and what they are on.
    pub fn comments(&self) -> impl Iterator<Item = (&Commented, &str)> {
        self.comments.iter().map(|(on, text)| (on, text.as_str()))
    }

    /// That what a comment is on is there: 42P01, 42703, 42704 or 3F000 if it is not, 42809 if it is something else.
    fn check_commented(&self, on: &Commented) -> Result<()> {
        let missing = |what: String| Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("{what} does not exist")));
        match on {
            Commented::Database => Ok(()),
            Commented::Schema(name) if self.has_schema(name) => Ok(()),
            Commented::Schema(name) => Err(no_schema(name)),
            Commented::Table(schema, name) => self.check_kind(Some(schema), name, Kind::Table),
            Commented::View(schema, name) => self.check_kind(Some(schema), name, Kind::View),
            Commented::Sequence(schema, name) => self.sequence(Some(schema), name).map(|_| ()),
            Commented::Index(schema, name) if self.has_index(schema, name) => Ok(()),
            Commented::Index(schema, name) => match self.lookup(Some(schema), name) {
                Ok(_) => Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not an index"))),
                Err(error) => Err(error),
            },
            Commented::Type(schema, name) if self.has_type(&(schema.clone(), name.clone())) => Ok(()),
            Commented::Type(_, name) => missing(format!("type \"{name}\"")),
            Commented::Column(schema, table, column) => {
                let entry = self.lookup(Some(schema), table)?;
                if entry.fields().iter().any(|field| field.name == *column) {
                    return Ok(());
                }
                let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
            }
            Commented::Constraint(schema, table, name) => {
                self.check_kind(Some(schema), table, Kind::Table)?;
                match self.has_constraint(schema, table, name) {
                    true => Ok(()),
                    false => missing(format!("constraint \"{name}\" for table \"{table}\"")),
                }
            }
        }
    }

    fn check_kind(&self, schema: Option<&str>, name: &str, kind: Kind) -> Result<()> {
        match self.lookup(schema, name)?.kind() {
            found if found == kind => Ok(()),
            _ => Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {}", kind.name()))),
        }
    }

    /// Whether there is an index of that name, be it that of a primary key.
    fn has_index(&self, schema: &str, name: &str) -> bool {
        let table = name.strip_suffix("_pkey").and_then(|table| self.find(Some(schema), table));
        self.index(Some(schema), name).is_some() || table.is_some_and(has_primary_key)
    }

    fn has_constraint(&self, schema: &str, table: &str, name: &str) -> bool {
        let Some(entry @ TableEntry::Table(of)) = self.find(Some(schema), table) else { return false };
        of.checks.iter().any(|check| check.name == name)
            || of.foreign_keys.iter().any(|key| key.name == name)
            || of.indexes.iter().any(|index| index.is_constraint && index.name() == name)
            || name.strip_suffix("_pkey") == Some(table) && has_primary_key(entry)
    }

    /// Comments go with what they are on.
    pub(crate) fn forget_comments(&mut self) {
        let mut comments = std::mem::take(&mut self.comments);
        comments.retain(|on, _| self.check_commented(on).is_ok());
        self.comments = comments;
    }

    /// Comments go on with what is called otherwise now: what `rename` says.
    pub(crate) fn move_comments(&mut self, rename: impl Fn(&mut Commented)) {
        let comments = std::mem::take(&mut self.comments).into_iter();
        self.comments = comments
            .map(|(mut on, text)| {
                rename(&mut on);
                (on, text)
            })
            .collect();
    }

    /// Comments on a table or view, and on its parts, under its new name.
    pub(crate) fn move_comments_of_table(&mut self, (schema, name): &Name, to: &str) {
        self.move_comments(|on| match on {
            Commented::Table(s, n)
            | Commented::View(s, n)
            | Commented::Column(s, n, _)
            | Commented::Constraint(s, n, _)
                if s == schema && n == name =>
            {
                to.clone_into(n);
            }
            _ => {}
        });
    }

    /// Comments on columns of a table that have other names now.
    pub(crate) fn move_comments_of_columns(&mut self, (schema, table): &Name, renamed: &[(String, String)]) {
        self.move_comments(|on| match on {
            Commented::Column(s, t, column) if s == schema && t == table => {
                if let Some((_, to)) = renamed.iter().find(|(from, _)| from == column) {
                    column.clone_from(to);
                }
            }
            _ => {}
        });
    }

    /// A table that is replaced by another one has the comments of the other one: none.
    pub(crate) fn forget_comments_of(&mut self, (schema, name): &Name) {
        self.comments.retain(|on, _| match on {
            Commented::Table(s, n) | Commented::Column(s, n, _) | Commented::Constraint(s, n, _) => {
                (s, n) != (schema, name)
            }
            _ => true,
        });
    }
}

fn has_primary_key(entry: &TableEntry) -> bool {
    matches!(entry, TableEntry::Table(table) if !table.relation.schema().primary_key().is_empty())
}

impl Catalog {
    /// COMMENT ON: enters a comment, or removes it. A schema that is empty was not given.
    pub fn comment_on(&self, on: &Commented, text: Option<String>) -> Result<()> {
        self.change(|catalog| {
            let on = on.located(catalog);
            catalog.check_commented(&on)?;
            match text.filter(|text| !text.is_empty()) {
                Some(text) => catalog.comments.insert(on, text),
                None => catalog.comments.remove(&on),
            };
            Ok(())
        })
    }
}
