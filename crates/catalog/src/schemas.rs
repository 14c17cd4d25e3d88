//! Schemas: names of names.

use std::collections::BTreeMap;

use base::{Error, Result, SqlState};

use crate::tables::{canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, DEFAULT_SCHEMA, TEMPORARY_SCHEMA};

const DUPLICATE_SCHEMA: SqlState = SqlState("42P06");

impl CatalogSnapshot {
    /// The first schema of a search path in which a name means something, or of the session's own schema.
    pub fn schema_with<'a>(&'a self, path: &'a [String], name: &str) -> Option<&'a str> {
        let has = |schema: &str| {
            let key = (schema.to_owned(), name.to_owned());
            self.is_taken(Some(schema), name) || self.has_type(&key)
        };
        [TEMPORARY_SCHEMA].into_iter().chain(self.existing(path)).find(|schema| has(schema))
    }

    /// The schemas of a search path that there are.
    pub fn existing<'a>(&'a self, path: &'a [String]) -> impl Iterator<Item = &'a str> {
        path.iter().map(|schema| canonical(Some(schema))).filter(|schema| self.has_schema(schema))
    }
}

impl Catalog {
    /// Adds a schema. Returns whether it did: false if it exists and that is to be skipped.
    pub fn create_schema(&self, name: &str, if_not_exists: bool) -> Result<bool> {
        self.change(|catalog| {
            let name = canonical(Some(name));
            if catalog.schemas.contains_key(name) {
                return match if_not_exists {
                    true => Ok(false),
                    false => Err(Error::new(DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists"))),
                };
            }
            catalog.schemas.insert(name.to_owned(), BTreeMap::new());
            Ok(true)
        })
    }

    /// Removes a schema, with what is in it only if `cascade`. Returns whether there was one.
    pub fn drop_schema(&self, name: &str, if_exists: bool, cascade: bool) -> Result<bool> {
        self.change(|catalog| {
            let name = canonical(Some(name));
            let Some(entries) = catalog.schemas.get(name) else {
                return if if_exists { Ok(false) } else { Err(no_schema(name)) };
            };
            let dependent = |why: &str| {
                Error::new(SqlState::DEPENDENT_OBJECTS, format!("cannot drop schema \"{name}\" because {why}"))
            };
            if name == DEFAULT_SCHEMA {
                return Err(dependent("it is the default schema"));
            }
            let has_others = catalog
                .sequences
                .keys()
                .chain(catalog.types.keys())
                .chain(catalog.domains.keys())
                .chain(catalog.collations.keys())
                .chain(catalog.routines.keys())
                .any(|(schema, _)| schema == name);
            if (!entries.is_empty() || has_others) && !cascade {
                return Err(dependent("other objects depend on it")
                    .hint("use DROP ... CASCADE to drop the dependent objects too"));
            }
            let gone: Vec<_> = entries.keys().map(|entry| (name.to_owned(), entry.clone())).collect();
            catalog.forget_kin(&gone);
            catalog.schemas.remove(name);
            catalog.sequences.retain(|(schema, _), _| schema != name);
            catalog.routines.retain(|(schema, _), _| schema != name);
            catalog.drop_types_of(name)?;
            catalog.drop_domains_of(name)?;
            catalog.drop_collations_of(name)?;
            Ok(true)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IfExists, TableEntry, View};

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
    fn schemas_hold_names_of_their_own() {
        let catalog = Catalog::new();
        assert_eq!(catalog.create_schema("s", false), Ok(true));
        assert_eq!(catalog.create_schema("s", true), Ok(false));
        assert!(catalog.create_schema("public", false).is_err());
        catalog.create(Some("s"), "v", view(), IfExists::Fail).unwrap();
        assert!(catalog.snapshot().find(None, "v").is_none());
        assert_eq!(catalog.drop_schema("s", false, false).unwrap_err().state(), SqlState::DEPENDENT_OBJECTS);
        assert_eq!(catalog.drop_schema("s", false, true), Ok(true));
        assert!(catalog.drop_schema("main", true, true).is_err());
        assert_eq!(catalog.snapshot().schemas().collect::<Vec<_>>(), ["public"]);
    }
}
