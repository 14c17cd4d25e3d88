//! COMMENT ON.

use base::{Error, Result, SqlState};
use catalog::Commented;

use super::{Binder, fold};
use crate::parse::{CommentAst, CommentedAst};
use crate::{ObjectName, Statement};

impl Binder<'_> {
    pub(super) fn comment(&mut self, comment: &CommentAst) -> Result<Statement> {
        let full = |name: &sqlparser::ast::ObjectName| {
            let ObjectName { schema, name, position } = self.resolver.placed(&self.text.object_name(name)?);
            Ok::<_, Error>((schema.unwrap_or_default(), name, position))
        };
        let (on, position) = match &comment.on {
            CommentedAst::Extension => return Ok(Statement::Nothing("COMMENT")),
            CommentedAst::Database => (Commented::Database, None),
            CommentedAst::Schema(name) => {
                let (_, name, position) = full(name)?;
                (Commented::Schema(name), position)
            }
            CommentedAst::Column(name) => return self.comment_on_column(name, comment.text.clone()),
            CommentedAst::Constraint(constraint, table) => {
                let (schema, table, position) = full(table)?;
                (Commented::Constraint(schema, table, fold(constraint)), position)
            }
            CommentedAst::Table(name) => of(full(name)?, Commented::Table),
            CommentedAst::View(name) => of(full(name)?, Commented::View),
            CommentedAst::Sequence(name) => of(full(name)?, Commented::Sequence),
            CommentedAst::Index(name) => of(full(name)?, Commented::Index),
            CommentedAst::Type(name) => of(full(name)?, Commented::Type),
        };
        Ok(Statement::Comment { on, text: comment.text.clone(), position })
    }

    /// The last part of the name is the column.
    fn comment_on_column(&self, name: &sqlparser::ast::ObjectName, text: Option<String>) -> Result<Statement> {
        let position = self.text.name_position(name);
        let mut table = name.clone();
        let column = match (table.0.pop(), table.0.is_empty()) {
            (Some(sqlparser::ast::ObjectNamePart::Identifier(column)), false) => fold(&column),
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "column name must be qualified").at(position)),
        };
        let table = self.resolver.placed(&self.text.object_name(&table)?);
        let on = Commented::Column(table.schema.unwrap_or_default(), table.name, column);
        Ok(Statement::Comment { on, text, position })
    }
}

/// What is commented on, and where its name stands.
fn of(
    (schema, name, position): (String, String, Option<u32>),
    make: impl Fn(String, String) -> Commented,
) -> (Commented, Option<u32>) {
    (make(schema, name), position)
}
