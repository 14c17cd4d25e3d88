//! The sequences of a database: they share the names of tables and views, and may belong to a column, with which they go.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use functions::Sequence;
use functions::sequence::Shape;

use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Commented, DEFAULT_SCHEMA, Filling, IfExists, TableEntry};

/// A column of a table: schema, table, column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The table's schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
}

/// A sequence of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceEntry {
    /// Its state.
    pub sequence: Arc<Sequence>,
    /// The column that it goes with.
    pub owner: Option<Owner>,
}

impl CatalogSnapshot {
    /// The sequence of that name; 42P01 if there is none, 42809 if the name means something else.
    pub fn sequence(&self, schema: Option<&str>, name: &str) -> Result<&SequenceEntry> {
        match self.sequences.get(&(self.schema_of(schema, name).to_owned(), name.to_owned())) {
            Some(found) => Ok(found),
            None => match self.lookup(schema, name) {
                Ok(_) => Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))),
                Err(error) => Err(error),
            },
        }
    }

    /// All sequences as (schema, name, sequence), in the order of their names.
    pub fn sequences(&self) -> impl Iterator<Item = (&str, &str, &SequenceEntry)> {
        self.sequences.iter().map(|((schema, name), entry)| (schema.as_str(), name.as_str(), entry))
    }

    /// Whether a table, view, sequence or index has that name.
    pub fn is_taken(&self, schema: Option<&str>, name: &str) -> bool {
        let key = (self.schema_of(schema, name).to_owned(), name.to_owned());
        self.find(schema, name).is_some() || self.sequences.contains_key(&key) || self.index(schema, name).is_some()
    }

    /// Whether a sequence is that of an identity column.
    pub fn is_of_identity(&self, sequence: &Sequence) -> bool {
        self.entries().any(|(_, _, entry)| match entry {
            TableEntry::Table(table) => table
                .fillings
                .iter()
                .any(|f| matches!(f, Filling::Identity { sequence: own, .. } if **own == *sequence)),
            TableEntry::View(_) => false,
        })
    }

    /// Removes the sequences that belong to a table's columns.
    pub(crate) fn drop_owned(&mut self, (schema, table): &Name) {
        let is_owned = |owner: &Owner| owner.schema == *schema && owner.table == *table;
        self.sequences.retain(|_, entry| !entry.owner.as_ref().is_some_and(is_owned));
    }

    /// Enters the sequences of a table: their names, and their columns.
    pub(crate) fn enter_owned(
        &mut self,
        (schema, table): &Name,
        owned: Vec<(String, String, Arc<Sequence>)>,
    ) -> Result<()> {
        for (name, column, sequence) in owned {
            if self.is_taken(Some(schema), &name) {
                return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
            }
            let owner = Some(Owner { schema: schema.clone(), table: table.clone(), column });
            self.sequences.insert((schema.clone(), name), SequenceEntry { sequence, owner });
        }
        Ok(())
    }

    /// The sequences of a table go on with it under another name.
    pub(crate) fn own_by(&mut self, (schema, table): &Name, to: &str) {
        let owners = self.sequences.values_mut().filter_map(|entry| entry.owner.as_mut());
        owners.filter(|o| o.schema == *schema && o.table == *table).for_each(|o| o.table = to.to_owned());
    }

    /// The first column whose default takes values of a sequence: table and column.
    fn reader_of(&self, sequence: &Sequence) -> Option<(String, String)> {
        self.entries().find_map(|(_, name, entry)| {
            let TableEntry::Table(table) = entry else { return None };
            let at = table.fillings.iter().position(|f| f.sequence().is_some_and(|s| **s == *sequence))?;
            Some((name.to_owned(), table.relation.schema().attributes()[at].name.clone()))
        })
    }
}

impl Catalog {
    /// Enters a sequence. Returns whether it did: false if the name is taken and that is to be skipped. The owner must be a
    /// column of a table: else 42P01 or 42703.
    pub fn create_sequence(
        &self,
        (schema, name): (Option<&str>, &str),
        shape: Shape,
        owner: Option<Owner>,
        if_exists: IfExists,
    ) -> Result<bool> {
        self.change(|catalog| {
            let key = (canonical(schema).to_owned(), name.to_owned());
            if !catalog.has_schema(&key.0) {
                return Err(no_schema(&key.0));
            }
            let is_replaced = if_exists == IfExists::Replace && catalog.sequences.contains_key(&key);
            if catalog.is_taken(schema, name) && !is_replaced {
                return match if_exists {
                    IfExists::Skip => Ok(false),
                    _ => Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))),
                };
            }
            if let Some(owner) = &owner {
                catalog.check_owner(owner)?;
            }
            let sequence = Sequence::new(shown(&key), shape);
            catalog.sequences.insert(key, SequenceEntry { sequence, owner });
            Ok(true)
        })
    }

    /// Changes the owner of a sequence.
    pub fn own_sequence(&self, (schema, name): (Option<&str>, &str), owner: Option<Owner>) -> Result<()> {
        self.change(|catalog| {
            catalog.sequence(schema, name)?;
            if let Some(owner) = &owner {
                catalog.check_owner(owner)?;
            }
            let key = (canonical(schema).to_owned(), name.to_owned());
            if let Some(entry) = catalog.sequences.get_mut(&key) {
                entry.owner = owner;
            }
            Ok(())
        })
    }

    /// Gives a sequence another name.
    pub fn rename_sequence(&self, (schema, name): (Option<&str>, &str), to: &str) -> Result<()> {
        self.change(|catalog| {
            catalog.sequence(schema, name)?;
            if catalog.is_taken(schema, to) {
                return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{to}\" already exists")));
            }
            let mut key = (canonical(schema).to_owned(), name.to_owned());
            if let Some(entry) = catalog.sequences.remove(&key) {
                key.1 = to.to_owned();
                entry.sequence.rename(&shown(&key));
                catalog.move_comments(|on| {
                    if *on == Commented::Sequence(key.0.clone(), name.to_owned()) {
                        *on = Commented::Sequence(key.0.clone(), to.to_owned());
                    }
                });
                catalog.sequences.insert(key, entry);
            }
            Ok(())
        })
    }

    /// Removes sequences, all or none of them. Those that a column takes its values from are error 2BP01, unless `cascade`:
    /// then the column has no default any more.
    pub fn drop_sequences(&self, names: &[(Option<&str>, &str)], if_exists: bool, cascade: bool) -> Result<()> {
        self.change(|catalog| {
            for &(schema, name) in names {
                if if_exists && !catalog.is_taken(schema, name) {
                    continue;
                }
                let entry = catalog.sequence(schema, name)?.clone();
                if let Some((table, column)) = catalog.reader_of(&entry.sequence).filter(|_| !cascade) {
                    let message = format!("cannot drop sequence {name} because other objects depend on it");
                    let detail =
                        format!("default value for column {column} of table {table} depends on sequence {name}");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(detail)
                        .hint("DROP ... CASCADE drops the dependent objects too"));
                }
                catalog.forget_default(&entry.sequence);
                catalog.sequences.remove(&(canonical(schema).to_owned(), name.to_owned()));
            }
            Ok(())
        })
    }
}

impl CatalogSnapshot {
    fn check_owner(&self, owner: &Owner) -> Result<()> {
        let entry = self.lookup(Some(&owner.schema), &owner.table)?;
        if !entry.fields().iter().any(|field| field.name == owner.column) {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", owner.column, owner.table);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        }
        Ok(())
    }
}

/// A name as messages and defaults show it.
pub(crate) fn shown((schema, name): &Name) -> String {
    if schema == DEFAULT_SCHEMA { name.clone() } else { format!("{schema}.{name}") }
}
