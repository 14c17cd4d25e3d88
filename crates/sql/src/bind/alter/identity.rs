//! Columns that are GENERATED AS IDENTITY, altered.

use std::sync::Arc;

use base::{Error, Result};
use catalog::Filling;
use functions::Sequence;
use sqlparser::ast;

use super::{Altered, NOT_IN_PREREQUISITE_STATE};
use crate::bind::sequence::qualified;
use crate::bind::unsupported;
use crate::parse::identity::IdentityChange;
use crate::{ColumnDefinition, SequenceChange, Statement};

impl Altered<'_> {
    fn identity_of(&self, at: usize) -> Result<&Arc<Sequence>> {
        let ColumnDefinition { name, filling, .. } = &self.table.columns[at];
        match filling {
            Filling::Identity { sequence, .. } => Ok(sequence),
            _ => {
                let message =
                    format!("column \"{name}\" of relation \"{}\" is not an identity column", self.relation());
                Err(Error::new(NOT_IN_PREREQUISITE_STATE, message))
            }
        }
    }

    pub(super) fn change_identity(&mut self, at: usize, change: IdentityChange) -> Result<()> {
        let filling = match (change, self.identity_of(at)) {
            (IdentityChange::Drop { if_exists: true }, Err(_)) => return Ok(()),
            (IdentityChange::Drop { .. }, sequence) => sequence.map(|_| Filling::NULL)?,
            (IdentityChange::Generated { always }, sequence) => {
                Filling::Identity { always, sequence: sequence?.clone() }
            }
            (IdentityChange::Restart(_), _) => return unsupported("RESTART beside other changes of a table", None),
        };
        self.table.columns[at].filling = filling;
        Ok(())
    }

    /// The sequence of a column goes on elsewhere.
    pub(super) fn restart(&self, column: &ast::Ident, number: Option<i64>) -> Result<Statement> {
        let sequence = self.identity_of(self.column(column)?)?;
        let shape = sequence.shape();
        let name = qualified(&sequence.name(), self.table.name.position)?;
        let change = SequenceChange::Shape(shape, Some(number.unwrap_or(shape.start)), None);
        Ok(Statement::AlterSequence { name, sequence: Some(sequence.clone()), change })
    }
}
