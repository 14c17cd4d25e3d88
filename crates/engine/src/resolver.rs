//! What names in FROM mean: tables and views of the catalog, data frames, files.

use std::time::{SystemTime, UNIX_EPOCH};

use base::Result;
use catalog::TableEntry;
use sql::{ObjectName, Resolved, Table};
use types::Value;

use crate::database::Shared;
use crate::files;
use crate::source::Source;

/// Resolves against one moment's catalog: all tables that a statement names are of the same moment.
pub(crate) struct Resolver<'a> {
    shared: &'a Shared,
    catalog: std::sync::Arc<catalog::CatalogSnapshot>,
    now: i64,
}

impl<'a> Resolver<'a> {
    pub fn new(shared: &'a Shared) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
        Self { shared, catalog: shared.catalog.snapshot(), now }
    }
}

impl sql::Resolver for Resolver<'_> {
    fn table(&self, name: &ObjectName) -> Result<Resolved> {
        let schema = name.schema.as_deref();
        let entry = match self.catalog.lookup(schema, &name.name) {
            Ok(entry) => entry,
            Err(error) => {
                let frame = schema.is_none().then(|| self.shared.frame(&name.name)).flatten();
                return frame.map(|f| Resolved::Table(files::table(&name.name, f))).ok_or(error);
            }
        };
        Ok(match entry {
            TableEntry::View(view) => Resolved::View { sql: view.sql.clone(), columns: view.columns.clone() },
            TableEntry::Table(relation) => {
                let snapshot = relation.snapshot();
                Resolved::Table(Table {
                    name: name.name.clone(),
                    fields: entry.fields().unwrap_or_default(),
                    defaults: self.shared.defaults_of(&name.to_string()),
                    statistics: std::sync::Arc::new(snapshot.clone()),
                    source: Source::Stored(snapshot, relation.clone()).into_handle(),
                })
            }
        })
    }

    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table> {
        let file = files::open(function, paths, options)?;
        let stem = paths.first().and_then(|p| std::path::Path::new(p).file_name()).and_then(|n| n.to_str());
        let name = stem.and_then(|n| n.split('.').next()).unwrap_or("file");
        Ok(files::table(name, file))
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn table_names(&self) -> Vec<String> {
        self.catalog.entries().map(|(_, name, _)| name.to_string()).collect()
    }
}
