//! A stored table as it is defined.

use std::sync::Arc;

use storage::Relation;

use crate::tables::{Name, View};
use crate::{Check, Computed, Filling, ForeignKey, TableIndex, Trigger};

/// A stored table as it is defined.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its rows, columns and primary key.
    pub relation: Arc<Relation>,
    /// What an INSERT stores in columns that it does not name.
    pub fillings: Vec<Filling>,
    /// What the attributes behind those of its columns are: nobody sees these but its indexes.
    pub computed: Vec<Computed>,
    /// What must hold of each row, in the order of the names.
    pub checks: Vec<Check>,
    /// Its indexes besides that of the primary key, in the order of the names.
    pub indexes: Vec<TableIndex>,
    /// Its foreign keys, in the order of the names.
    pub foreign_keys: Vec<ForeignKey>,
    /// The domain of each column, if it is of one.
    pub domains: Vec<Option<Name>>,
    /// What is called when its rows change, in the order of the names.
    pub triggers: Vec<Arc<Trigger>>,
    /// DISABLE TRIGGER ALL: its foreign keys, and those that reference it, are not looked after when its rows change.
    pub ignores_references: bool,
    /// Whether its rows go when a transaction commits.
    pub deletes_on_commit: bool,
    /// If it is a materialized view: the query whose rows it has.
    pub definition: Option<Arc<View>>,
    /// Shared by all definitions of the table that there were.
    _rows: Arc<Rows>,
}

/// A table's rows: when the last definition is dropped nobody freezes them any more.
#[derive(Debug)]
struct Rows(Arc<Relation>);

impl Table {
    /// A table without defaults and constraints.
    pub fn new(relation: Arc<Relation>) -> Self {
        let fillings = vec![Filling::NULL; relation.schema().attributes().len()];
        Self::with(relation, fillings, Vec::new())
    }

    /// A table with a filling for each column, and constraints in the order of their names.
    pub fn with(relation: Arc<Relation>, fillings: Vec<Filling>, checks: Vec<Check>) -> Self {
        let rows = Arc::new(Rows(relation.clone()));
        let domains = vec![None; relation.schema().attributes().len()];
        let computed = Vec::new();
        Self {
            relation,
            fillings,
            computed,
            checks,
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            domains,
            triggers: Vec::new(),
            ignores_references: false,
            deletes_on_commit: false,
            definition: None,
            _rows: rows,
        }
    }
}

impl Table {
    /// The same rows with other fillings and constraints.
    pub fn changed(&self, fillings: Vec<Filling>, checks: Vec<Check>) -> Self {
        Self { fillings, checks, ..self.clone() }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.0.forget_backlog();
    }
}
