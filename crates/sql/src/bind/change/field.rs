//! `SET column.field = ...`: a field of a composite gets a value, the others stay.

use base::{Error, Result, SqlState};
use plan::Expr;
use sqlparser::ast::{self, Ident, ObjectNamePart};

use super::assigned::{Assigned, To};
use crate::bind::coerce::assign;
use crate::bind::{Binder, fold};

impl Binder<'_> {
    /// The names of a column and of a field in it, if that is what SET names.
    pub(super) fn path_of_field(&self, written: &ast::ObjectName, to: To<'_>) -> Option<Vec<Ident>> {
        let ident = |part: &ObjectNamePart| match part {
            ObjectNamePart::Identifier(ident) => Some(ident.clone()),
            ObjectNamePart::Function(_) => None,
        };
        let path: Vec<Ident> = written.0.iter().map(ident).collect::<Option<_>>()?;
        let column = fold(path.first()?);
        (path.len() > 1 && to.table.fields.iter().any(|field| field.name == column)).then_some(path)
    }

    /// A field gets a value; others may get theirs before and behind it.
    pub(super) fn assign_field(
        &mut self,
        assigned: &mut Assigned,
        path: &[Ident],
        written: &ast::Expr,
        to: To<'_>,
    ) -> Result<()> {
        let [column, fields @ ..] = path else { return Err(Error::internal("a field of nothing")) };
        let position = self.text.at(column);
        let (target, old) = self.old_value(assigned, column, to)?;
        let value = self.expr(written)?;
        let value = self.with_field(old, fields, value, &target.name).map_err(|e| e.at(position))?;
        self.refuse_sets(position)?;
        assigned.values.push((target.attribute, value.at(position)));
        Ok(())
    }

    pub(super) fn with_field(&mut self, old: Expr, fields: &[Ident], value: Expr, column: &str) -> Result<Expr> {
        let sql_type = old.sql_type;
        let [first, rest @ ..] = fields else { return assign(value, sql_type, column) };
        let name = fold(first);
        let Some(of) = sql_type.structure() else {
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{column}\" because its type {sql_type} is not a composite type"
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        };
        if of.position(&name).is_none() {
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{column}\" because there is no such column in data type {sql_type}"
            );
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        }
        let position = old.position;
        let mut value = Some(value);
        let mut values = Vec::with_capacity(of.fields.len());
        for field in &of.fields {
            let own = self.struct_field(old.clone(), &field.name, position)?;
            let own = match value.take_if(|_| field.name == name) {
                Some(value) => self.with_field(own, rest, value, column)?,
                None => own,
            };
            values.push((field.name.clone(), own));
        }
        self.put_together(values, sql_type, position)
    }
}
