//! The indexes of tables: they share the names of tables, views and sequences, and go with their table.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use storage::index::RowIndex;

use crate::tables::{canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Commented, Table, TableEntry, nearest_name};

/// An index of a table besides that of its primary key. Its rows are indexed as long as some definition has it.
#[derive(Clone, Debug)]
pub struct TableIndex {
    /// The index, which knows its name.
    pub index: Arc<RowIndex>,
    /// Whether it is there for a UNIQUE constraint, with which it goes.
    pub is_constraint: bool,
}

impl TableIndex {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.index.definition().name
    }
}

impl CatalogSnapshot {
    /// The table of an index, and the index.
    pub fn index(&self, schema: Option<&str>, name: &str) -> Option<(&str, &TableIndex)> {
        let schema = self.schema_of(schema, name);
        self.indexes()
            .find(|(of, _, index)| *of == schema && index.name() == name)
            .map(|(_, table, index)| (table, index))
    }

    /// All indexes as (schema, table, index), in the order of the tables' names.
    pub fn indexes(&self) -> impl Iterator<Item = (&str, &str, &TableIndex)> {
        self.entries().flat_map(|(schema, name, entry)| {
            let indexes = match entry {
                TableEntry::Table(table) => table.indexes.as_slice(),
                TableEntry::View(_) => &[],
            };
            indexes.iter().map(move |index| (schema, name, index))
        })
    }
}

impl Catalog {
    /// Gives a table an index, whose name is not taken yet.
    pub fn create_index(&self, (schema, table): (Option<&str>, &str), index: TableIndex) -> Result<()> {
        self.change(|catalog| {
            if catalog.is_taken(schema, index.name()) {
                let message = format!("relation \"{}\" already exists", index.name());
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
            }
            let schema = canonical(schema);
            let entries = catalog.schemas.get_mut(schema).ok_or_else(|| no_schema(schema))?;
            let Some(TableEntry::Table(entry)) = entries.get_mut(table) else {
                let message = format!("relation \"{table}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
            };
            let entry = Arc::make_mut(entry);
            entry.indexes.push(index);
            entry.indexes.sort_by(|a, b| a.name().cmp(b.name()));
            Ok(())
        })
    }

    /// Puts an index in the place of the one with its name.
    pub fn replace_index(&self, (schema, table): (&str, &str), index: Arc<RowIndex>) -> Result<()> {
        self.change(|catalog| {
            let entry = catalog.schemas.get_mut(schema).and_then(|entries| entries.get_mut(table));
            let Some(TableEntry::Table(entry)) = entry else {
                let message = format!("relation \"{table}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
            };
            let old = Arc::make_mut(entry).indexes.iter_mut().find(|old| old.name() == index.definition().name);
            let Some(old) = old else { return Err(catalog.no_index(&index.definition().name)) };
            old.index = index;
            Ok(())
        })
    }

    /// Puts an index in the place of one with another name.
    pub fn rename_index(&self, (schema, table): (&str, &str), from: &str, index: Arc<RowIndex>) -> Result<()> {
        self.change(|catalog| {
            let to = index.definition().name.clone();
            let Some(TableEntry::Table(entry)) = catalog.schemas.get_mut(schema).and_then(|e| e.get_mut(table)) else {
                return Err(catalog.no_index(from));
            };
            let entry = Arc::make_mut(entry);
            let Some(old) = entry.indexes.iter_mut().find(|old| old.name() == from) else {
                return Err(catalog.no_index(from));
            };
            old.index = index;
            entry.indexes.sort_by(|a, b| a.name().cmp(b.name()));
            catalog.move_comments(|on| {
                if *on == Commented::Index(schema.to_owned(), from.to_owned()) {
                    *on = Commented::Index(schema.to_owned(), to.clone());
                }
            });
            Ok(())
        })
    }

    /// Removes indexes. Missing ones are errors unless `if_exists`; those of constraints are error 2BP01.
    pub fn drop_indexes(&self, names: &[(Option<&str>, &str)], if_exists: bool) -> Result<()> {
        self.change(|catalog| {
            for &(schema, name) in names {
                let Some((table, index)) = catalog.index(schema, name) else {
                    if if_exists {
                        continue;
                    }
                    return Err(catalog.no_index(name));
                };
                if index.is_constraint {
                    let message =
                        format!("cannot drop index {name} because constraint {name} on table {table} requires it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .hint(format!("You can drop constraint {name} on table {table} instead.")));
                }
                let (schema, table) = (catalog.schema_of(schema, name).to_owned(), table.to_owned());
                if let Some(TableEntry::Table(entry)) =
                    catalog.schemas.get_mut(&schema).and_then(|entries| entries.get_mut(&table))
                {
                    let entry = Arc::make_mut(entry);
                    entry.indexes.retain(|index| index.name() != name);
                    entry.forget_computed();
                }
            }
            Ok(())
        })
    }
}

impl Table {
    /// What no index is of any more need not be computed.
    pub(crate) fn forget_computed(&mut self) {
        let first = self.fillings.len();
        for (at, computed) in self.computed.iter_mut().enumerate() {
            if !self.indexes.iter().any(|index| index.index.definition().is_of(first + at)) {
                computed.sql = None;
            }
        }
    }
}

impl CatalogSnapshot {
    /// 42704.
    #[cold]
    pub fn no_index(&self, name: &str) -> Error {
        let error = Error::new(SqlState::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist"));
        match nearest_name(name, self.indexes().map(|(_, _, index)| index.name())) {
            Some(near) => error.hint(format!("perhaps you meant the index \"{near}\"")),
            None => error,
        }
    }
}
