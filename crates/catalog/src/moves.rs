//! ALTER TABLE, ALTER VIEW and ALTER SEQUENCE ... SET SCHEMA: an entry goes elsewhere, and what names it goes along.

use base::{Error, Result, SqlState};

use crate::sequences::shown;
use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Commented, Kind, Owner};

impl Catalog {
    /// Puts a sequence into another schema; 0A000 if it goes with a column.
    pub fn move_sequence(&self, (schema, name): (Option<&str>, &str), to: &str) -> Result<()> {
        self.change(|catalog| {
            let owner = catalog.sequence(schema, name)?.owner.clone();
            if !catalog.has_schema(canonical(Some(to))) {
                return Err(no_schema(to));
            }
            let key: Name = (canonical(schema).to_owned(), name.to_owned());
            let new: Name = (canonical(Some(to)).to_owned(), name.to_owned());
            if let Some(Owner { table, .. }) = owner {
                let message = "cannot move an owned sequence into another schema";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .detail(format!("Sequence \"{name}\" is linked to table \"{table}\".")));
            }
            if key == new {
                return Ok(());
            }
            if catalog.is_taken(Some(&new.0), name) {
                let message = format!("relation \"{name}\" already exists in schema \"{to}\"");
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
            }
            if let Some(entry) = catalog.sequences.remove(&key) {
                entry.sequence.rename(&shown(&new));
                catalog.move_comments(|on| {
                    if *on == Commented::Sequence(key.0.clone(), key.1.clone()) {
                        *on = Commented::Sequence(new.0.clone(), new.1.clone());
                    }
                });
                catalog.sequences.insert(new, entry);
            }
            Ok(())
        })
    }

    /// Puts a table or view into another schema. A view that reads it is error 2BP01, as its text names it.
    pub fn set_schema(&self, kind: Kind, (schema, name): (Option<&str>, &str), to: &str) -> Result<()> {
        self.change(|catalog| {
            let found = catalog.lookup(schema, name)?.kind();
            if found != kind {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {}", kind.name())));
            }
            if !catalog.has_schema(to) {
                return Err(no_schema(to));
            }
            let key: Name = (canonical(schema).to_owned(), name.to_owned());
            let to = canonical(Some(to));
            if key.0 == to {
                return Ok(());
            }
            if catalog.is_taken(Some(to), name) {
                let message = format!("relation \"{name}\" already exists in schema \"{to}\"");
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
            }
            if let Some((_, view)) = catalog.readers(&key).next() {
                let message = format!("cannot move {} {name} because the view {view} reads it", kind.name());
                return Err(
                    Error::new(SqlState::DEPENDENT_OBJECTS, message).hint("drop the view before, and make it anew")
                );
            }
            let entry = catalog.schemas.get_mut(&key.0).and_then(|entries| entries.remove(name));
            if let (Some(entry), Some(entries)) = (entry, catalog.schemas.get_mut(to)) {
                entries.insert(name.to_owned(), entry);
            }
            catalog.follow(&key, to);
            Ok(())
        })
    }
}

impl CatalogSnapshot {
    /// Comments, owned sequences and foreign keys of what has gone to another schema.
    fn follow(&mut self, key: &Name, to: &str) {
        self.move_comments(|on| match on {
            Commented::Table(s, n)
            | Commented::View(s, n)
            | Commented::Column(s, n, _)
            | Commented::Constraint(s, n, _)
                if *s == key.0 && *n == key.1 =>
            {
                to.clone_into(s);
            }
            _ => {}
        });
        let owners = self.sequences.values_mut().filter_map(|entry| entry.owner.as_mut());
        owners.filter(|o| o.schema == key.0 && o.table == key.1).for_each(|o| o.schema = to.to_owned());
        self.move_kin(key, &(to.to_owned(), key.1.clone()));
        self.change_foreign_keys(|keys| {
            keys.iter_mut().filter(|k| k.references == *key).for_each(|k| k.references.0 = to.to_owned());
        });
    }
}
