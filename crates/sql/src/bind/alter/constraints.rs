//! Names of constraints, RENAME CONSTRAINT and VALIDATE CONSTRAINT. A key with another name is dropped and made anew, which asks the rows
//! once more.

use base::{Error, Result, SqlState};
use catalog::ForeignKey;
use sqlparser::ast::{Ident, TableConstraint};

use super::Altered;
use crate::bind::{fold, unsupported};
use crate::{ObjectKind, ObjectName, Statement};

impl Altered<'_> {
    pub(super) fn rename_constraint(&mut self, name: &str, to: String) -> Result<()> {
        let is_primary = name == self.key_name() && !self.table.primary_key.is_empty();
        let is_taken = self.table.checks.iter().any(|check| check.name == to)
            || self.before.foreign_keys.iter().any(|key| key.name == to)
            || self.has_index(&to)
            || to == self.key_name() && !self.table.primary_key.is_empty();
        let is_known = self.table.checks.iter().any(|check| check.name == name)
            || self.before.foreign_keys.iter().any(|key| key.name == name)
            || self.has_index(name)
            || is_primary;
        if is_known && is_taken {
            let message = format!("constraint \"{to}\" for relation \"{}\" already exists", self.relation());
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if let Some(check) = self.table.checks.iter_mut().find(|check| check.name == name) {
            check.name = to;
            self.table.checks.sort_by(|a, b| a.name.cmp(&b.name));
            return Ok(());
        }
        if let Some(key) = self.before.foreign_keys.iter().find(|key| key.name == name) {
            self.dropped_keys.push((name.to_owned(), false));
            self.table.foreign_keys.push(ForeignKey { name: to, ..key.clone() });
            return Ok(());
        }
        match is_known {
            true => unsupported("another name of a key", self.table.name.position),
            false => Err(self.no_constraint(name)),
        }
    }

    /// Another name of an index, by which a UNIQUE constraint is called.
    pub(super) fn rename_index(&self, name: String, to: String) -> Statement {
        let ObjectName { schema, position, .. } = &self.table.name;
        let name = ObjectName { schema: schema.clone(), name, position: *position };
        Statement::Rename { kind: ObjectKind::Index, name, to, column: None, if_exists: false }
    }

    /// 42710 if the name of a new constraint is another's.
    pub(super) fn check_name(
        &self,
        constraint: &TableConstraint,
        at: impl FnOnce(&Ident) -> Option<u32>,
    ) -> Result<()> {
        let name = match constraint {
            TableConstraint::Check(check) => check.name.as_ref(),
            TableConstraint::ForeignKey(key) => key.name.as_ref(),
            TableConstraint::Unique(key) => key.name.as_ref(),
            TableConstraint::PrimaryKey(key) => key.name.as_ref(),
            _ => None,
        };
        let Some(name) = name.filter(|name| self.has_constraint(&fold(name))) else { return Ok(()) };
        let message = format!("constraint \"{}\" for relation \"{}\" already exists", fold(name), self.relation());
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message).at(at(name)))
    }

    /// Whether a constraint of the table that stays has that name.
    fn has_constraint(&self, name: &str) -> bool {
        let goes = self.dropped_keys.iter().any(|(dropped, _)| dropped == name);
        let mut keys = self.before.foreign_keys.iter().chain(&self.table.foreign_keys);
        let mut unique = self.before.statistics.indexes().into_iter().filter(|index| index.is_primary);
        self.table.checks.iter().any(|check| check.name == name)
            || !goes && (keys.any(|key| key.name == name) || unique.any(|index| index.name == name))
    }

    /// Asks the rows for a CHECK or a foreign key that was NOT VALID.
    pub(super) fn validate_constraint(&mut self, name: &str) -> Result<()> {
        if self.table.checks.iter().any(|check| check.name == name) {
            self.new_checks.push(name.to_owned());
            return Ok(());
        }
        if let Some(key) = self.before.foreign_keys.iter().find(|key| key.name == name) {
            if !key.is_valid {
                self.dropped_keys.push((name.to_owned(), false));
                self.table.foreign_keys.push(ForeignKey { is_valid: true, ..key.clone() });
            }
            return Ok(());
        }
        if self.has_index(name) || name == self.key_name() && !self.table.primary_key.is_empty() {
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                self.relation()
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Err(self.no_constraint(name))
    }
}
