//! Foreign keys: which rows of other tables the rows of a table need.

use base::{Error, Result, SqlState};

use crate::tables::{Name, canonical};
use crate::{CatalogSnapshot, TableEntry};

/// What becomes of rows whose referenced row goes, or gets another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The statement fails, unless the key is there again at its end.
    Refuse,
    /// It fails whatever comes later.
    Restrict,
    /// They go, too, or get the other key.
    Cascade,
    /// Their key becomes NULL.
    SetNull,
    /// Their key gets its default.
    SetDefault,
}

impl Action {
    /// What SQL calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }

    /// What it is in a foreign key, of rows that go (`DELETE`) or get another key (`UPDATE`): nothing if that is what is done anyhow.
    fn clause(self, when: &str) -> String {
        if self == Self::Refuse { String::new() } else { format!(" ON {when} {}", self.name()) }
    }
}

/// A foreign key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The referencing attributes.
    pub columns: Vec<usize>,
    /// Schema and name of the referenced table.
    pub references: (String, String),
    /// Its attributes, in the order of `columns`: those of a unique key.
    pub referred: Vec<usize>,
    /// MATCH FULL: NULL only in all columns.
    pub is_full: bool,
    /// ON DELETE.
    pub on_delete: Action,
    /// Which of `columns`, by their places, ON DELETE SET NULL or SET DEFAULT sets, in that order; none: all.
    pub set_on_delete: Vec<usize>,
    /// ON UPDATE.
    pub on_update: Action,
    /// Whether it is looked after when the transaction ends, if nothing else is said; none: it always is when the statement ends.
    pub deferrable: Option<bool>,
    /// Whether all rows have been asked; rows that come always are.
    pub is_valid: bool,
}

impl ForeignKey {
    /// What becomes of its rows, as a definition says it; `columns` are the names of its own.
    pub fn clauses(&self, columns: &[String]) -> String {
        let set: Vec<&str> = self.set_on_delete.iter().map(|&at| columns[at].as_str()).collect();
        let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
        self.on_update.clause("UPDATE") + &self.on_delete.clause("DELETE") + &set
    }
}

impl CatalogSnapshot {
    /// The foreign keys that reference a table: (schema, table) that has it, and the key.
    pub fn references_to(&self, schema: &str, name: &str) -> Vec<(&str, &str, &ForeignKey)> {
        let mut all = Vec::new();
        for (of_schema, of_name, entry) in self.entries() {
            let TableEntry::Table(table) = entry else { continue };
            let to = |key: &&ForeignKey| key.references.0 == canonical(Some(schema)) && key.references.1 == name;
            all.extend(table.foreign_keys.iter().filter(to).map(|key| (of_schema, of_name, key)));
        }
        all
    }

    /// 2BP01 if a table that stays references one of these.
    pub(crate) fn refuse_references(&self, gone: &[Name]) -> Result<()> {
        for (schema, name) in gone {
            let is_other =
                |(s, n, _): &(&str, &str, &ForeignKey)| !gone.iter().any(|(schema, name)| schema == s && name == n);
            let Some((_, table, key)) = self.references_to(schema, name).into_iter().find(is_other) else { continue };
            let message = format!("cannot drop table {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .detail(format!("constraint {} on table {table} depends on table {name}", key.name))
                .hint("DROP ... CASCADE drops the dependent objects too"));
        }
        Ok(())
    }

    /// Removes the foreign keys that reference these tables.
    pub(crate) fn drop_references(&mut self, gone: &[Name]) {
        self.change_foreign_keys(|keys| keys.retain(|key| !gone.contains(&key.references)));
    }

    /// A table has another name: what references it goes on.
    pub(crate) fn refer_by(&mut self, of: &Name, to: &str) {
        self.change_foreign_keys(|keys| {
            keys.iter_mut().filter(|key| key.references == *of).for_each(|key| key.references.1 = to.to_owned());
        });
    }

    /// The attributes of a table are elsewhere: what other tables reference goes with them.
    pub(crate) fn move_referred(&mut self, of: &Name, places: &[Option<usize>]) {
        let is_itself = |schema: &str, name: &str| of.0 == schema && of.1 == name;
        for (schema, entries) in &mut self.schemas {
            for (_, entry) in entries.iter_mut().filter(|(name, _)| !is_itself(schema, name)) {
                let TableEntry::Table(table) = entry else { continue };
                if table.foreign_keys.iter().any(|key| key.references == *of) {
                    let keys = &mut std::sync::Arc::make_mut(table).foreign_keys;
                    let referred =
                        keys.iter_mut().filter(|key| key.references == *of).flat_map(|key| &mut key.referred);
                    referred.for_each(|at| *at = places[*at].unwrap_or(*at));
                }
            }
        }
    }

    pub(crate) fn change_foreign_keys(&mut self, change: impl Fn(&mut Vec<ForeignKey>)) {
        for entry in self.schemas.values_mut().flat_map(std::collections::BTreeMap::values_mut) {
            let TableEntry::Table(table) = entry else { continue };
            if !table.foreign_keys.is_empty() {
                change(&mut std::sync::Arc::make_mut(table).foreign_keys);
            }
        }
    }
}
