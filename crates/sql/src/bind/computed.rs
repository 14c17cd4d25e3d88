//! What indexes are of besides columns: expressions that are keys, and which rows an index has.
//!
//! Each is a column that no statement names, stored behind those that the table has. Whatever writes rows computes it, as it
//! does generated columns; scans offer it in place of the expression (`optimizer::computed`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Field;
use plan::{ColumnId, ColumnInfo, Expr, Node, Op};
use sqlparser::ast;
use types::{Collation, SqlType};

use super::coerce::{boolean, cast_to};
use super::collation::of_row;
use super::constraint::{INVALID_OBJECT_DEFINITION, asks_for_the_time, unqualified};
use super::routine::is_volatile_itself;
use super::scope::{Clause, Relation, Scope, ScopeColumn};
use super::written::within;
use super::{Binder, Bound, Output, fold};
use crate::{ComputedColumn, ObjectName, Table};

impl Binder<'_> {
    /// The column that an index wants of a table that has this scope, as that of `all` with this number. `all` gets it if it has
    /// none like it.
    pub(super) fn computed(
        &mut self,
        expr: &ast::Expr,
        clause: Clause,
        scope: &Scope,
        all: &mut Vec<ComputedColumn>,
    ) -> Result<usize> {
        let position = self.text.start(expr);
        let what = if clause == Clause::IndexPredicate { "index predicate" } else { "index expression" };
        let value = self.of_index(expr, clause, scope)?;
        if value.has_subquery() {
            let message = format!("cannot use subquery in {what}");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        if is_volatile_itself(&value) || asks_for_the_time(expr) {
            let message = format!("functions in {what} must be marked IMMUTABLE");
            return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(position));
        }
        let sql = unqualified(expr);
        if let Some(known) = all.iter().position(|known| known.sql.as_ref() == Some(&sql)) {
            return Ok(known);
        }
        let field = Field { name: shown(expr, &sql), sql_type: value.sql_type, nullable: true };
        all.push(ComputedColumn { field, sql: Some(sql) });
        Ok(all.len() - 1)
    }

    fn of_index(&mut self, expr: &ast::Expr, clause: Clause, scope: &Scope) -> Result<Expr> {
        let value = self.expr_in(expr, clause, scope.clone())?;
        match (clause, value.sql_type) {
            (Clause::IndexPredicate, _) => boolean(value, "WHERE"),
            (_, SqlType::Null) => cast_to(value, SqlType::Text),
            _ => self.index_key(value, &HashMap::new()),
        }
    }

    /// The types of computed columns, where columns have got others.
    pub(super) fn retype_computed(&mut self, all: &mut [ComputedColumn], scope: &Scope) -> Result<()> {
        for computed in all {
            if let Some(sql) = &computed.sql {
                let none = HashMap::new();
                computed.field.sql_type = self.computed_value(sql, computed.field.sql_type, scope, &none)?.sql_type;
            }
        }
        Ok(())
    }

    /// What an expression of an index is, where columns have this scope; `sql_type` is what NULL is.
    fn computed_value(
        &mut self,
        sql: &str,
        sql_type: SqlType,
        scope: &Scope,
        collations: &HashMap<ColumnId, Arc<Collation>>,
    ) -> Result<Expr> {
        let value = self.kept_text(sql, Clause::IndexKey, scope.clone(), |b, value| match value.sql_type {
            SqlType::Null => cast_to(value, sql_type),
            _ => b.index_key(value, collations),
        });
        value.map_err(|e| within(e, "in an index"))
    }

    /// Columns of a scan for all that indexes of the table compute, and what these are of the others.
    pub(super) fn computed_columns(
        &mut self,
        table: &Table,
        named: &[ScopeColumn],
        columns: &mut Vec<(usize, ColumnId)>,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let mut known = Vec::new();
        if table.computed.is_empty() {
            return Ok(known);
        }
        let scope =
            Scope::of(Relation { name: Some(table.name.clone()), columns: named.to_vec(), ..Relation::default() });
        let collations = self.plan.collations.clone();
        for (at, computed) in table.computed.iter().enumerate() {
            let Field { name, sql_type, nullable } = computed.field.clone();
            let column = self.plan.columns.push(ColumnInfo { name, sql_type, nullable });
            let attribute = table.fields.len() + at;
            columns.push((attribute, column));
            if let Some(sql) = &computed.sql {
                known.push((column, self.computed_value(sql, sql_type, &scope, &collations)?));
            }
        }
        Ok(known)
    }

    /// The rows with what indexes compute of them. Each column of the table is one of the input's; `own`, if there are any, are
    /// those of the rows as they were, with what was computed of them: that stays if it is of the same columns.
    pub(super) fn with_computed(
        &mut self,
        Bound { mut node, mut output }: Bound,
        (table, name): (&Table, &ObjectName),
        own: &[ColumnId],
    ) -> Result<Bound> {
        output.truncate(table.fields.len());
        if table.computed.is_empty() {
            return Ok(Bound { node, output });
        }
        let (scope, collations) = (self.row_scope(&output, table, name), of_row(&output, table));
        let unchanged: HashSet<ColumnId> =
            own.iter().zip(&output).filter(|(own, now)| **own == now.column).map(|(own, _)| *own).collect();
        let mut values = Vec::new();
        for (at, computed) in table.computed.iter().enumerate() {
            let attribute = table.fields.len() + at;
            let Field { name, sql_type, .. } = &computed.field;
            let value = match &computed.sql {
                Some(sql) => self.computed_value(sql, *sql_type, &scope, &collations)?,
                None => Expr::constant(types::Value::Null, *sql_type),
            };
            let column = match own.get(attribute) {
                Some(&own) if value.columns().iter().all(|c| unchanged.contains(c)) => own,
                _ => {
                    let column = self.plan.column_for(name, &value);
                    values.push((column, value));
                    column
                }
            };
            output.push(Output { name: name.clone(), column, literal: None });
        }
        if !values.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: values });
        }
        Ok(Bound { node, output })
    }
}

/// How messages and definitions show an expression that is a key.
pub(super) fn shown(expr: &ast::Expr, sql: &str) -> String {
    match expr {
        ast::Expr::Function(_) => sql.to_owned(),
        ast::Expr::Nested(_) => sql.to_owned(),
        _ => format!("({sql})"),
    }
}

/// What PostgreSQL calls an expression in the name of an index.
pub(super) fn label_of(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Function(function) => match function.name.0.last() {
            Some(ast::ObjectNamePart::Identifier(name)) => fold(name),
            _ => "expr".to_owned(),
        },
        ast::Expr::Cast { expr, .. } | ast::Expr::Nested(expr) => label_of(expr),
        ast::Expr::Identifier(ident) => fold(ident),
        ast::Expr::Case { .. } => "case".to_owned(),
        _ => "expr".to_owned(),
    }
}
