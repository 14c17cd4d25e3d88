//! Triggers: functions that are called when rows of a table change (decision 61).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::{Error, Result, SqlState};

use crate::tables::Name;
use crate::{Catalog, CatalogSnapshot, Routine, TableEntry};

/// 42710.
const DUPLICATE_OBJECT: SqlState = SqlState("42710");

/// Numbers that calls name triggers by: those of the process.
static NEXT_NUMBER: AtomicI64 = AtomicI64::new(1);

/// When a trigger's function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Before the change; for a row it may change what is written, or have nothing written.
    Before,
    /// When the statement has ended.
    After,
    /// In the place of the change: of a view.
    InsteadOf,
}

impl Timing {
    /// As SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
            Self::InsteadOf => "INSTEAD OF",
        }
    }
}

/// What happens to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Event {
    Insert,
    Delete,
    Update,
    Truncate,
}

impl Event {
    /// As SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Delete => "DELETE",
            Self::Update => "UPDATE",
            Self::Truncate => "TRUNCATE",
        }
    }
}

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The number by which a session remembers its condition.
    pub number: i64,
    /// Its name, which no other one of the table has.
    pub name: String,
    /// When it is called.
    pub timing: Timing,
    /// What for, in the order of [`Event`].
    pub events: Vec<Event>,
    /// UPDATE OF: the columns of which a statement has to set one; none: any.
    pub columns: Vec<String>,
    /// Whether for each row, or once for a statement.
    pub for_each_row: bool,
    /// The condition under which it is called: text over OLD and NEW.
    pub when: Option<String>,
    /// Schema and name of its function.
    pub function: Name,
    /// What the function finds in TG_ARGV.
    pub arguments: Vec<String>,
    /// REFERENCING OLD TABLE AS: the name of all rows as they were.
    pub old_table: Option<String>,
    /// REFERENCING NEW TABLE AS: the name of all rows as they are.
    pub new_table: Option<String>,
    /// Whether it was made by CREATE CONSTRAINT TRIGGER.
    pub is_constraint: bool,
    /// Whether it is called at all.
    pub is_enabled: bool,
}

impl Trigger {
    /// A number that no trigger has had.
    pub fn new_number() -> i64 {
        NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether it is called for this, by a statement that sets these columns.
    pub fn is_for(&self, event: Event, assigned: &[String]) -> bool {
        let sets = || self.columns.is_empty() || self.columns.iter().any(|column| assigned.contains(column));
        self.is_enabled && self.events.contains(&event) && (event != Event::Update || sets())
    }
}

impl TableEntry {
    /// The triggers of a table or view, in the order of the names.
    pub fn triggers(&self) -> &[Arc<Trigger>] {
        match self {
            Self::Table(table) => &table.triggers,
            Self::View(view) => &view.triggers,
        }
    }

    fn triggers_mut(&mut self) -> &mut Vec<Arc<Trigger>> {
        match self {
            Self::Table(table) => &mut Arc::make_mut(table).triggers,
            Self::View(view) => &mut Arc::make_mut(view).triggers,
        }
    }
}

impl CatalogSnapshot {
    /// 2BP01 if a trigger calls the function.
    pub(crate) fn refuse_called(&self, routine: &Routine) -> Result<()> {
        let calls = |trigger: &Arc<Trigger>| trigger.function == (routine.schema.clone(), routine.name.clone());
        for (_, table, entry) in self.entries() {
            let Some(trigger) = entry.triggers().iter().find(|trigger| calls(trigger)) else { continue };
            let function = routine.signature();
            let message = format!("cannot drop function {function} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .detail(format!("trigger {} on table {table} depends on function {function}", trigger.name))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        Ok(())
    }

    /// Drops the triggers that call the function.
    pub(crate) fn drop_callers(&mut self, routine: &Routine) {
        let function = (routine.schema.clone(), routine.name.clone());
        for entry in self.schemas.values_mut().flat_map(|entries| entries.values_mut()) {
            if entry.triggers().iter().any(|trigger| trigger.function == function) {
                entry.triggers_mut().retain(|trigger| trigger.function != function);
            }
        }
    }
}

impl Catalog {
    /// Changes the triggers of a table or view.
    fn change_triggers(
        &self,
        (schema, name): (Option<&str>, &str),
        change: impl FnOnce(&mut Vec<Arc<Trigger>>) -> Result<()>,
    ) -> Result<()> {
        self.change(|catalog| {
            catalog.lookup(schema, name)?;
            let schema = catalog.schema_of(schema, name).to_owned();
            let entry = catalog.schemas.get_mut(&schema).and_then(|entries| entries.get_mut(name));
            let triggers = entry.ok_or_else(|| Error::internal("a table that was there is gone"))?.triggers_mut();
            change(triggers)?;
            triggers.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(())
        })
    }

    /// Whether foreign keys are looked after when rows of a table change.
    pub fn ignore_references(&self, (schema, name): (Option<&str>, &str), ignores: bool) -> Result<()> {
        self.change(|catalog| {
            catalog.lookup(schema, name)?;
            let schema = catalog.schema_of(schema, name).to_owned();
            if let Some(TableEntry::Table(table)) =
                catalog.schemas.get_mut(&schema).and_then(|entries| entries.get_mut(name))
            {
                Arc::make_mut(table).ignores_references = ignores;
            }
            Ok(())
        })
    }

    /// The rows of a table go when a transaction commits.
    pub fn delete_on_commit(&self, (schema, name): (Option<&str>, &str)) -> Result<()> {
        self.change(|catalog| {
            let schema = catalog.schema_of(schema, name).to_owned();
            if let Some(TableEntry::Table(table)) =
                catalog.schemas.get_mut(&schema).and_then(|entries| entries.get_mut(name))
            {
                Arc::make_mut(table).deletes_on_commit = true;
            }
            Ok(())
        })
    }

    /// Enters a trigger of a table or view; one of that name is replaced if `or_replace`, else it is error 42710.
    pub fn create_trigger(&self, of: (Option<&str>, &str), trigger: Trigger, or_replace: bool) -> Result<()> {
        self.change_triggers(of, |triggers| {
            match triggers.iter().position(|known| known.name == trigger.name) {
                Some(at) if or_replace => triggers[at] = Arc::new(trigger),
                Some(_) => {
                    let message = format!("trigger \"{}\" for relation \"{}\" already exists", trigger.name, of.1);
                    return Err(Error::new(DUPLICATE_OBJECT, message).hint("CREATE OR REPLACE TRIGGER replaces it"));
                }
                None => triggers.push(Arc::new(trigger)),
            }
            Ok(())
        })
    }

    /// Removes a trigger. A missing one is error 42704 unless `if_exists`.
    pub fn drop_trigger(&self, of: (Option<&str>, &str), name: &str, if_exists: bool) -> Result<()> {
        self.change_triggers(of, |triggers| {
            let before = triggers.len();
            triggers.retain(|known| known.name != name);
            if triggers.len() == before && !if_exists { Err(no_trigger(name, of.1)) } else { Ok(()) }
        })
    }

    /// Gives a trigger another name.
    pub fn rename_trigger(&self, of: (Option<&str>, &str), name: &str, to: &str) -> Result<()> {
        self.change_triggers(of, |triggers| {
            if triggers.iter().any(|known| known.name == to) {
                let message = format!("trigger \"{to}\" for relation \"{}\" already exists", of.1);
                return Err(Error::new(DUPLICATE_OBJECT, message));
            }
            let found = triggers.iter_mut().find(|known| known.name == name);
            Arc::make_mut(found.ok_or_else(|| no_trigger(name, of.1))?).name = to.to_owned();
            Ok(())
        })
    }

    /// Has triggers called, or not: the one of that name, or all.
    pub fn enable_triggers(&self, of: (Option<&str>, &str), name: Option<&str>, is_enabled: bool) -> Result<()> {
        self.change_triggers(of, |triggers| {
            let mut found = false;
            for trigger in triggers.iter_mut().filter(|known| name.is_none_or(|name| known.name == name)) {
                Arc::make_mut(trigger).is_enabled = is_enabled;
                found = true;
            }
            match name.filter(|_| !found) {
                Some(name) => Err(no_trigger(name, of.1)),
                None => Ok(()),
            }
        })
    }
}

/// A column has another name, or is no more.
pub(crate) fn with_columns(triggers: &mut Vec<Arc<Trigger>>, renamed: &[(String, String)], dropped: &[String]) {
    let is_gone = |trigger: &Arc<Trigger>| trigger.columns.iter().any(|column| dropped.contains(column));
    triggers.retain(|trigger| !is_gone(trigger));
    for trigger in triggers {
        for (from, to) in renamed {
            if trigger.columns.contains(from) {
                let columns = &mut Arc::make_mut(trigger).columns;
                columns.iter_mut().filter(|column| *column == from).for_each(|column| column.clone_from(to));
            }
        }
    }
}

#[cold]
fn no_trigger(name: &str, table: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("trigger \"{name}\" for table \"{table}\" does not exist"))
}
