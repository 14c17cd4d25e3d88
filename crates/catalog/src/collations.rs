//! Collations that somebody made. Those that everybody has are by their names alone: [`Collation::built_in`].

use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::Collation;

use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, TEMPORARY_SCHEMA, TableEntry};

impl CatalogSnapshot {
    /// The collation of that name.
    pub fn collation(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Collation>> {
        let schemas = match schema {
            Some(_) => vec![canonical(schema)],
            None => vec![TEMPORARY_SCHEMA, canonical(None)],
        };
        schemas.into_iter().find_map(|schema| self.collations.get(&(schema.to_owned(), name.to_owned())))
    }

    /// All of them, in the order of their schemas and names.
    pub fn collations(&self) -> impl Iterator<Item = &Arc<Collation>> {
        self.collations.values()
    }

    /// The first column that has a collation: table and column.
    fn column_with(&self, collation: &Collation) -> Option<(String, String)> {
        self.entries().find_map(|(_, name, entry)| {
            let TableEntry::Table(table) = entry else { return None };
            let mut columns = table.relation.schema().attributes().iter();
            let column = columns.find(|column| column.collation.as_deref() == Some(collation))?;
            Some((name.to_owned(), column.name.clone()))
        })
    }

    /// Collations go with their schema, unless columns have them: 2BP01.
    pub(crate) fn drop_collations_of(&mut self, schema: &str) -> Result<()> {
        for ((_, name), collation) in self.collations.iter().filter(|((of, _), _)| of == schema) {
            if let Some((table, column)) = self.column_with(collation) {
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("column {column} of table {table} depends on collation {schema}.{name}")));
            }
        }
        self.collations.retain(|(of, _), _| of != schema);
        Ok(())
    }
}

impl Catalog {
    /// Enters a collation under its own name: 42710 if there is one, unless that is nothing (`IF NOT EXISTS`).
    pub fn create_collation(&self, collation: Collation, if_not_exists: bool) -> Result<()> {
        self.change(|catalog| {
            let key: Name = (canonical(collation.schema.as_deref()).to_owned(), collation.name.clone());
            if !catalog.has_schema(&key.0) {
                return Err(no_schema(&key.0));
            }
            if catalog.collations.contains_key(&key) {
                let message = format!("collation \"{}\" already exists", key.1);
                return if if_not_exists { Ok(()) } else { Err(Error::new(SqlState::DUPLICATE_OBJECT, message)) };
            }
            let schema = Some(key.0.clone());
            catalog.collations.insert(key, Arc::new(Collation { schema, ..collation }));
            Ok(())
        })
    }

    /// Removes collations that no column has: else 2BP01. Missing ones are errors unless `if_exists`.
    pub fn drop_collations(&self, names: &[(Option<&str>, &str)], if_exists: bool) -> Result<()> {
        self.change(|catalog| {
            for &(schema, name) in names {
                let Some(found) = catalog.collation(schema, name).cloned() else {
                    if if_exists {
                        continue;
                    }
                    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                };
                if let Some((table, column)) = catalog.column_with(&found) {
                    let message = format!("cannot drop collation {name} because other objects depend on it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(format!("column {column} of table {table} depends on collation {name}")));
                }
                catalog.collations.retain(|_, collation| *collation != found);
            }
            Ok(())
        })
    }
}
