//! Tables that become other tables.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use functions::Sequence;
use storage::Relation;

use crate::tables::{Name, canonical};
use crate::triggers::with_columns;
use crate::{Catalog, CatalogSnapshot, Check, Computed, Filling, ForeignKey, Table, TableEntry, TableIndex};

/// What becomes of a table.
#[derive(Debug)]
pub struct Alteration {
    /// Its new rows, if these are others.
    pub relation: Option<Arc<Relation>>,
    /// What an INSERT stores in columns that it does not name.
    pub fillings: Vec<Filling>,
    /// What its attributes behind these are.
    pub computed: Vec<Computed>,
    /// What must hold of each row, in the order of the names.
    pub checks: Vec<Check>,
    /// Its indexes besides that of the primary key, in the order of the names.
    pub indexes: Vec<TableIndex>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// The domain of each column, if it is of one.
    pub domains: Vec<Option<Name>>,
    /// Where the attributes that it had are now.
    pub places: Vec<Option<usize>>,
    /// Columns with other names: the old one, the new one.
    pub renamed: Vec<(String, String)>,
    /// Columns that are no more.
    pub dropped: Vec<String>,
    /// Sequences that are new: their names, their columns, and themselves.
    pub sequences: Vec<(String, String, Arc<Sequence>)>,
}

impl CatalogSnapshot {
    /// The views that read a table or view, themselves or through others: nearer ones first.
    pub fn all_readers(&self, schema: Option<&str>, name: &str) -> Vec<(String, String)> {
        let mut all: Vec<Name> = self.readers(&(canonical(schema).to_owned(), name.to_owned())).collect();
        let mut next = 0;
        while next < all.len() {
            let more: Vec<Name> = self.readers(&all[next]).filter(|reader| !all.contains(reader)).collect();
            all.extend(more);
            next += 1;
        }
        all
    }
}

impl Catalog {
    /// Makes a table another one, if its rows are those of a relation; else somebody else was faster: 40001.
    pub fn alter(&self, (schema, name): (Option<&str>, &str), of: &Arc<Relation>, to: Alteration) -> Result<()> {
        self.change(|catalog| {
            let key = (canonical(schema).to_owned(), name.to_owned());
            let entry = catalog.schemas.get_mut(&key.0).and_then(|entries| entries.get_mut(name));
            let Some(TableEntry::Table(table)) = entry.filter(|entry| entry.is_of(of)) else {
                let message = "could not serialize access due to concurrent definitions";
                return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message));
            };
            let mut changed = match to.relation {
                Some(relation) => Table::with(relation, to.fillings, to.checks),
                None => table.changed(to.fillings, to.checks),
            };
            (changed.indexes, changed.foreign_keys, changed.domains) = (to.indexes, to.foreign_keys, to.domains);
            changed.computed = to.computed;
            changed.definition = table.definition.clone();
            changed.triggers = table.triggers.clone();
            changed.ignores_references = table.ignores_references;
            changed.deletes_on_commit = table.deletes_on_commit;
            with_columns(&mut changed.triggers, &to.renamed, &to.dropped);
            changed.forget_computed();
            let identity = |filling: &Filling| match filling {
                Filling::Identity { sequence, .. } => Some(sequence.clone()),
                _ => None,
            };
            let stay: Vec<_> = changed.fillings.iter().filter_map(identity).collect();
            let mut gone: Vec<_> = table.fillings.iter().filter_map(identity).collect();
            gone.retain(|sequence| !stay.contains(sequence));
            *table = Arc::new(changed);
            catalog.sequences.retain(|_, entry| !gone.contains(&entry.sequence));
            catalog.move_referred(&key, &to.places);
            catalog.change_owners(&key, &to.renamed, &to.dropped);
            catalog.rename_keys(&key, &to.renamed);
            catalog.move_comments_of_columns(&key, &to.renamed);
            catalog.enter_owned(&key, to.sequences)
        })
    }
}

impl CatalogSnapshot {
    /// The sequences of a table's columns get these under other names, or go with them.
    fn change_owners(&mut self, (schema, table): &Name, renamed: &[(String, String)], dropped: &[String]) {
        self.sequences.retain(|_, entry| {
            let Some(owner) = entry.owner.as_mut().filter(|o| o.schema == *schema && o.table == *table) else {
                return true;
            };
            if dropped.contains(&owner.column) {
                return false;
            }
            if let Some((_, to)) = renamed.iter().find(|(from, _)| *from == owner.column) {
                owner.column.clone_from(to);
            }
            true
        });
    }
}

impl TableEntry {
    fn is_of(&self, relation: &Arc<Relation>) -> bool {
        matches!(self, Self::Table(table) if Arc::ptr_eq(&table.relation, relation))
    }
}
