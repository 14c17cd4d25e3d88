//! Columns that are GENERATED AS IDENTITY, altered.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Filling;
use functions::Sequence;
use sqlparser::ast;

use super::{Altered, NOT_IN_PREREQUISITE_STATE};
use crate::bind::sequence::{altered_shape, qualified};
use crate::bind::unsupported;
use crate::parse::altered_options;
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
            (IdentityChange::DropExpression { if_exists }, _) => match self.table.columns[at].filling {
                Filling::Generated(_) => Filling::NULL,
                _ if if_exists => return Ok(()),
                _ => return Err(self.not_generated(at)),
            },
            (IdentityChange::Sequence(_), _) => {
                return unsupported("options of an identity column beside other changes of a table", None);
            }
        };
        self.table.columns[at].filling = filling;
        Ok(())
    }

    /// The sequence of a column is another one.
    pub(super) fn alter_sequence(&self, column: &ast::Ident, options: &str) -> Result<Statement> {
        let sequence = self.identity_of(self.column(column)?)?;
        let position = self.table.name.position;
        let syntax = |error| Error::new(SqlState::SYNTAX_ERROR, format!("{error}")).at(position);
        let options = altered_options(options).map_err(syntax)?;
        let shape = altered_shape(&options, sequence.shape()).map_err(|e| e.at(position))?;
        let name = qualified(&sequence.name(), position)?;
        let change = SequenceChange::Shape(shape, options.restart.map(|to| to.unwrap_or(shape.start)), None);
        Ok(Statement::AlterSequence { name, sequence: Some(sequence.clone()), change })
    }

    fn not_generated(&self, at: usize) -> Error {
        let ColumnDefinition { name, .. } = &self.table.columns[at];
        let message = format!("column \"{name}\" of relation \"{}\" is not a stored generated column", self.relation());
        Error::new(NOT_IN_PREREQUISITE_STATE, message)
    }
}
