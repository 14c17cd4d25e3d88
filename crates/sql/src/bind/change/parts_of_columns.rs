//! `INSERT INTO t (a[1], c.x)`: values that are parts of columns. Each column is put together of its parts, in their order.

use base::{Error, Result, SqlState};
use catalog::Filling;
use plan::{Expr, Node, Op};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use crate::bind::insert::Target;
use crate::bind::{Binder, Bound, Output, fold, unsupported};
use crate::parse::subscripts::{self, Subscript};
use crate::{ObjectName, Table};

/// A column that is written among those of INSERT, or the part of one.
pub(in crate::bind) struct Written {
    column: Ident,
    fields: Vec<Ident>,
    subscripts: Vec<Subscript>,
}

impl Written {
    fn is_part(&self) -> bool {
        !self.fields.is_empty() || !self.subscripts.is_empty()
    }
}

impl Binder<'_> {
    /// What INSERT names, if some of it are parts of columns.
    pub(in crate::bind) fn parts_of_columns(&self, columns: &[ast::ObjectName]) -> Result<Option<Vec<Written>>> {
        let written = columns.iter().map(|column| self.part_of_column(column)).collect::<Result<Vec<_>>>()?;
        Ok(Some(written).filter(|written| written.iter().any(Written::is_part)))
    }

    fn part_of_column(&self, column: &ast::ObjectName) -> Result<Written> {
        let idents: Option<Vec<Ident>> = column.0.iter().map(|part| part.as_ident().cloned()).collect();
        let position = self.text.name_position(column);
        let Some([first, fields @ ..]) = idents.as_deref() else {
            return unsupported("this form of a column of INSERT", position);
        };
        let (name, number) = subscripts::parted(&first.value);
        let subscripts = number.and_then(|number| self.subscripts.get(number)).cloned().unwrap_or_default();
        let is_deeper = fields.iter().any(|field| subscripts::parted(&field.value).1.is_some());
        if is_deeper || !fields.is_empty() && !subscripts.is_empty() {
            return unsupported("fields of elements among the columns of INSERT", position);
        }
        let column = Ident { value: name.to_owned(), ..first.clone() };
        Ok(Written { column, fields: fields.to_vec(), subscripts })
    }

    /// The rows of INSERT whose values are parts of columns, and the columns.
    pub(in crate::bind) fn rows_of_parts(
        &mut self,
        written: &[Written],
        (table, name): (&Table, &ObjectName),
        source: impl FnOnce(&mut Self, &[Target]) -> Result<Bound>,
    ) -> Result<(Bound, Vec<Target>)> {
        let mut idents: Vec<&Ident> = Vec::with_capacity(written.len());
        for (at, part) in written.iter().enumerate() {
            let same = |other: &&Written| fold(&other.column) == fold(&part.column);
            match written[..at].iter().find(same) {
                Some(other) if !other.is_part() || !part.is_part() => {
                    let message = format!("column \"{}\" specified more than once", fold(&part.column));
                    return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(self.text.at(&part.column)));
                }
                Some(_) => {}
                None => idents.push(&part.column),
            }
        }
        let targets = self.text.targets(table, name, &idents)?;
        let place = |part: &Written| idents.iter().position(|ident| fold(ident) == fold(&part.column)).unwrap_or(0);
        let mut of_parts: Vec<Target> = Vec::with_capacity(written.len());
        for part in written {
            let target = &targets[place(part)];
            let filling = if part.is_part() { Filling::NULL } else { target.filling.clone() };
            let sql_type = match type_of_part(target.sql_type, part) {
                Some(sql_type) => sql_type,
                // What is wrong is told by whoever puts it together.
                None => {
                    let null = |of: SqlType| Expr::constant(Value::Null, of);
                    let (old, value) = (null(target.sql_type), null(SqlType::Null));
                    self.with_value(old, part, value, &target.name)?.sql_type
                }
            };
            of_parts.push(Target { name: target.name.clone(), sql_type, attribute: target.attribute, filling });
        }
        let Bound { node, output } = source(self, &of_parts)?;
        let mut values: Vec<Option<Expr>> = vec![None; targets.len()];
        for (part, given) in written.iter().zip(output) {
            let at = place(part);
            let value = given.literal.unwrap_or_else(|| self.plan.reference(given.column));
            let target = &targets[at];
            let old = values[at].take().unwrap_or_else(|| Expr::constant(Value::Null, target.sql_type));
            values[at] = Some(self.with_value(old, part, value, &target.name)?);
        }
        let (mut columns, mut output) = (Vec::new(), Vec::new());
        for (target, value) in targets.iter().zip(values) {
            let value = value.unwrap_or_else(|| Expr::constant(Value::Null, target.sql_type));
            let column = self.plan.column_for(&target.name, &value);
            columns.push((column, value));
            output.push(Output { name: target.name.clone(), column, literal: None });
        }
        Ok((Bound { node: Node::new(Op::Map { input: Box::new(node), columns }), output }, targets))
    }
}

impl Binder<'_> {
    /// A column with another value of a part.
    fn with_value(&mut self, old: Expr, part: &Written, value: Expr, name: &str) -> Result<Expr> {
        let value = match part.fields.is_empty() {
            true => self.with_part(old, &part.subscripts, value, name),
            false => self.with_field(old, &part.fields, value, name),
        };
        value.map_err(|e| e.at(self.text.at(&part.column)))
    }
}

/// The type of a part of a column, if there is such a part.
fn type_of_part(column: SqlType, part: &Written) -> Option<SqlType> {
    let of_field = part.fields.iter().try_fold(column, |of, field| {
        let structure = of.structure()?;
        Some(structure.fields[structure.position(&fold(field))?].sql_type)
    });
    let of_element = part.subscripts.iter().try_fold(column, |of, subscript| match subscript {
        Subscript::At(_) if of == SqlType::Jsonb => Some(of),
        Subscript::At(_) => of.element(),
        Subscript::Slice(..) => Some(of),
    });
    if part.fields.is_empty() { of_element } else { of_field }
}
