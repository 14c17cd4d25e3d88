//! What is computed and asserted of each row that a statement writes: defaults, generated columns, CHECK and NOT NULL.
//!
//! The assertion is a filter that keeps every row and fails on a wrong one: its call is volatile, so that it stays where it is.

use base::{Error, Result, SqlState, stack};
use catalog::{DEFAULT_SCHEMA, Filling};
use plan::{Expr, ExprKind, Node, Op};
use sqlparser::ast;
use types::{SqlType, Value};

use super::coerce::{assign, boolean, cast_to, rounded};
use super::refusal::Refusal;
use super::scope::{Clause, Level, Relation, Scope, ScopeColumn};
use super::{Binder, Bound, Output};
use crate::parse::kept_expression;
use crate::{DomainColumn, ObjectName, Table, parse_depth};

impl Binder<'_> {
    /// The value of a column that is given none: of the column's type, texts of any length. That of a generated column is
    /// still to be computed.
    pub(super) fn filling(&mut self, filling: &Filling, name: &str, sql_type: SqlType) -> Result<Expr> {
        let stored = if sql_type.is_string() { SqlType::Text } else { sql_type };
        match filling {
            Filling::Value(value) => Ok(Expr::constant(value.clone(), stored)),
            Filling::Generated(_) => Ok(Expr::constant(Value::Null, stored)),
            Filling::Next(sequence) | Filling::Identity { sequence, .. } => {
                let value = assign(self.next_value(sequence), sql_type, name)?;
                if sql_type.is_string() { cast_to(value, SqlType::Text) } else { Ok(value) }
            }
            Filling::Expression(sql) => {
                let value = self.kept_text(sql, Clause::Default, Scope::default(), |_, bound| {
                    let value = assign(bound, sql_type, name)?;
                    if sql_type.is_string() { cast_to(value, SqlType::Text) } else { Ok(value) }
                });
                value.map_err(|e| within(e, &format!("in the default of the column \"{name}\"")))
            }
        }
    }

    /// The rows with the table's generated columns, and the assertion that they may be written. Each column of the table is one
    /// of the input's, `row` in order; these of the result are returned.
    pub(super) fn written(&mut self, bound: Bound, table: &Table, name: &ObjectName) -> Result<Bound> {
        let Bound { mut node, mut output } = bound;
        let mut computed = Vec::new();
        let is_rounded =
            |of: &&DomainColumn| of.domain.digits.is_some() && !table.fields[of.attribute].sql_type.is_array();
        for DomainColumn { attribute, domain, .. } in table.domains.iter().filter(is_rounded) {
            let value = rounded(self.plan.reference(output[*attribute].column), domain.digits);
            let column = self.plan.column_for(&output[*attribute].name, &value);
            computed.push((column, value));
            output[*attribute].column = column;
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: std::mem::take(&mut computed) });
        }
        let scope = self.row_scope(&output, table, name);
        for (at, (field, filling)) in table.fields.iter().zip(&table.fillings).enumerate() {
            let Filling::Generated(sql) = filling else { continue };
            let value = self.kept_text(sql, Clause::Generated, scope.clone(), |_, value| {
                assign(value, field.sql_type, &field.name)
            });
            let mut value = value.map_err(|e| within(e, &format!("in the generated column \"{}\"", field.name)))?;
            self.collate_written(&mut value, &output, table)?;
            let column = self.plan.column_for(&field.name, &value);
            computed.push((column, value));
            output[at] = Output { name: field.name.clone(), column, literal: None };
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        if !table.checks.is_empty() || !table.domains.is_empty() || table.condition().is_some() {
            let assertion = self.assertion(&output, table, name)?;
            node = Node::new(Op::Filter { input: Box::new(node), predicates: vec![assertion] });
        }
        self.shown_by_view(Bound { node, output }, table)
    }

    /// The names that expressions of a table have for the columns of its row.
    pub(super) fn row_scope(&self, row: &[Output], table: &Table, name: &ObjectName) -> Scope {
        let named = table.fields.iter().zip(row);
        let columns = named.map(|(f, o)| ScopeColumn { name: f.name.clone(), column: o.column }).collect();
        Scope::of(Relation { name: Some(name.name.clone()), columns, ..Relation::default() })
    }

    /// The values of a row as texts, for those who refuse it.
    pub(super) fn texts_of_row(&self, row: &[Output]) -> Result<Vec<Expr>> {
        row.iter().map(|o| shown(self.plan.reference(o.column))).collect()
    }

    /// True for a row that may be written, an error for any other. NOT NULL comes first, as what is stored asserts it only
    /// when CHECK has been asked.
    fn assertion(&mut self, row: &[Output], table: &Table, name: &ObjectName) -> Result<Expr> {
        let texts = self.texts_of_row(row)?;
        let refused = |message: String| Refusal::default().about_table(name).showing(texts.clone()).saying(message);
        let mut branches = Vec::new();
        for (field, output) in table.fields.iter().zip(row) {
            if !field.nullable && self.plan.is_nullable_column(output.column) {
                let is_null = ExprKind::IsNull(Box::new(self.plan.reference(output.column)));
                let column = &field.name;
                let message = format!(
                    "null value in column \"{column}\" of relation \"{}\" violates not-null constraint",
                    name.name
                );
                let refused = refused(message).about("column_name", column).with(SqlState::NOT_NULL_VIOLATION);
                branches.push((Expr::new(is_null, SqlType::Bool), refused));
            }
        }
        for DomainColumn { attribute, name, domain } in &table.domains {
            branches.extend(self.assertions_of_domain(row[*attribute].column, name, domain)?);
        }
        let scope = self.row_scope(row, table, name);
        for check in &table.checks {
            let condition = self.kept_text(&check.sql, Clause::Check, scope.clone(), |_, c| boolean(c, "CHECK"));
            let mut condition =
                condition.map_err(|e| within(e, &format!("in the check constraint \"{}\"", check.name)))?;
            self.collate_written(&mut condition, row, table)?;
            let is_false = Expr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool);
            let message =
                format!("new row for relation \"{}\" violates check constraint \"{}\"", name.name, check.name);
            let refused = refused(message).about("constraint_name", &check.name);
            branches.push((is_false, refused.with(SqlState::CHECK_VIOLATION)));
        }
        if let Some(condition) = table.condition() {
            let condition = self.kept_text(condition, Clause::Check, scope, |_, c| boolean(c, "CHECK"))?;
            let is_false = Expr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool);
            let message = format!("new row for relation \"{}\" violates partition constraint", name.name);
            branches.push((is_false, refused(message).with(SqlState::CHECK_VIOLATION)));
        }
        let otherwise = Box::new(Expr::bool(true));
        Ok(Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Bool))
    }

    /// Binds an expression of the catalog, which has no place in the statement's text and sees nothing of it.
    pub(super) fn kept_text(
        &mut self,
        sql: &str,
        clause: Clause,
        scope: Scope,
        then: impl FnOnce(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        stack::with_room(parse_depth(sql), || {
            let expr = kept_expression(sql)?;
            let names = std::mem::take(&mut self.names);
            let variables = std::mem::take(&mut self.variables);
            let positions = self.text.positions.take();
            let parameters = std::mem::take(&mut self.arguments.parameters);
            let path = self.path_of_kept_text();
            let bound = self.expr_in(&expr, clause, scope).and_then(|bound| then(self, bound));
            if let Some(path) = path {
                self.resolver.set_search_path(Some(path));
            }
            self.arguments.parameters = parameters;
            self.text.positions = positions;
            (self.names, self.variables) = (names, variables);
            bound
        })?
    }

    /// Texts of the catalog name what is in the default schema, whatever is looked at before. The path to come back to, if there
    /// is one.
    fn path_of_kept_text(&self) -> Option<Vec<String>> {
        let own = self.resolver.search_path()?;
        let wider = own.iter().cloned().chain([DEFAULT_SCHEMA.to_owned()]).collect();
        self.resolver.set_search_path(Some(wider));
        Some(own)
    }

    /// Binds an expression that belongs to no query.
    pub(super) fn expr_in(&mut self, expr: &ast::Expr, clause: Clause, scope: Scope) -> Result<Expr> {
        self.names.levels.push(Level { scope, ..Level::new(clause) });
        let bound = self.expr(expr);
        self.names.levels.pop();
        bound
    }
}

/// A value as errors show it.
pub(super) fn shown(value: Expr) -> Result<Expr> {
    let text = cast_to(value, SqlType::Text)?;
    let null = Expr::constant(Value::str("null"), SqlType::Text);
    Ok(Expr::new(ExprKind::Coalesce(vec![text, null]), SqlType::Text))
}

/// An error inside of an expression of the catalog: its position is in another text.
pub(super) fn within(error: Error, place: &str) -> Error {
    let detail = error.get_detail().map_or_else(|| place.to_owned(), |detail| format!("{detail}; {place}"));
    let outside = Error::new(error.state(), error.message()).detail(detail);
    match error.get_hint() {
        Some(hint) => outside.hint(hint),
        None => outside,
    }
}
