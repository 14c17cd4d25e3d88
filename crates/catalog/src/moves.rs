//! ALTER TABLE, ALTER VIEW and ALTER SEQUENCE ... SET SCHEMA and RENAME TO: an entry goes elsewhere, and what names it goes along.

use std::sync::Arc;

use base::{Error, Result, SqlState};

use crate::sequences::shown;
use crate::tables::{Name, canonical, no_schema};
use crate::{Catalog, CatalogSnapshot, Commented, Field, Kind, Owner, TableEntry, View};

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

impl CatalogSnapshot {
    /// The text of a view, unless it reads several entries of a name.
    pub fn text_of(&self, (schema, name): &Name, read: &str) -> Option<&str> {
        let view = match self.find(Some(schema), name)? {
            TableEntry::View(view) => view,
            TableEntry::Table(table) => table.definition.as_ref()?,
        };
        (view.reads.iter().filter(|(_, name)| name == read).count() == 1).then_some(&*view.sql)
    }

    /// A view has another text, in which what it reads has another name.
    fn retell(&mut self, view: &Name, text: &str, read: &Name, to: &str) {
        let retell = |view: &mut Arc<View>| {
            let view = Arc::make_mut(view);
            text.clone_into(&mut view.sql);
            let of = |(schema, name): &&mut (Option<String>, String)| {
                canonical(schema.as_deref()) == read.0 && *name == read.1
            };
            view.reads.iter_mut().filter(of).for_each(|(_, name)| to.clone_into(name));
        };
        match self.schemas.get_mut(&view.0).and_then(|entries| entries.get_mut(&view.1)) {
            Some(TableEntry::View(view)) => retell(view),
            Some(TableEntry::Table(table)) => Arc::make_mut(table).definition.iter_mut().for_each(retell),
            None => {}
        }
    }
}

impl Catalog {
    /// Gives a column of a view another name. Whoever reads the view is asked afterwards.
    pub fn rename_column_of_view(&self, (schema, name): (Option<&str>, &str), from: &str, to: &str) -> Result<()> {
        self.change(|catalog| {
            catalog.lookup(schema, name)?;
            let schema = catalog.schema_of(schema, name).to_owned();
            let entry = catalog.schemas.get_mut(&schema).and_then(|entries| entries.get_mut(name));
            let Some(TableEntry::View(view)) = entry else {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")));
            };
            let place = |columns: &[Field], wanted: &str| columns.iter().position(|column| column.name == wanted);
            let Some(at) = place(&view.columns, from) else {
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{from}\" does not exist")));
            };
            if place(&view.columns, to).is_some() {
                let message = format!("column \"{to}\" of relation \"{name}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            Arc::make_mut(view).columns[at].name = to.to_owned();
            Ok(())
        })
    }

    /// Gives a table or view another name. Views that read it name it in their text, so they have another one then, or are error
    /// 2BP01.
    pub fn rename(
        &self,
        kind: Kind,
        (schema, name): (Option<&str>, &str),
        to: &str,
        retold: &[((String, String), String)],
    ) -> Result<()> {
        self.change(|catalog| {
            let found = catalog.lookup(schema, name)?.kind();
            if found != kind {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a {}", kind.name())));
            }
            if catalog.is_taken(schema, to) {
                return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{to}\" already exists")));
            }
            let key = (canonical(schema).to_owned(), name.to_owned());
            let is_retold = |reader: &Name| retold.iter().any(|(view, _)| view == reader);
            if let Some((_, view)) = catalog.readers(&key).find(|reader| !is_retold(reader)) {
                let message = format!("cannot rename {} {name} because the view {view} reads it", kind.name());
                return Err(
                    Error::new(SqlState::DEPENDENT_OBJECTS, message).hint("drop the view before, and make it anew")
                );
            }
            if let Some(entries) = catalog.schemas.get_mut(&key.0)
                && let Some(entry) = entries.remove(name)
            {
                entries.insert(to.to_owned(), entry);
            }
            retold.iter().for_each(|(view, text)| catalog.retell(view, text, &key, to));
            catalog.move_comments_of_table(&key, to);
            catalog.own_by(&key, to);
            catalog.refer_by(&key, to);
            catalog.move_kin(&key, &(key.0.clone(), to.to_owned()));
            Ok(())
        })
    }
}
