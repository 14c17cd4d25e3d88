//! What CREATE TABLE says of the rows of a table: DEFAULT, generated columns, CHECK. All are bound once, to find their
//! mistakes; what is kept of them is their text.

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use catalog::{Check, Filling};
use functions::ScalarFunction;
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, eval};
use sqlparser::ast::{self, CheckConstraint, ColumnOption, Ident, ObjectNamePart};
use types::SqlType;
use types::ops::cast::assign_value;

use super::coerce::{assign, boolean};
use super::routine::is_volatile_itself;
use super::scope::{Clause, Relation, Scope, ScopeColumn};
use super::{Binder, fold, unsupported};
use crate::walk;
use crate::{CreateTable, ObjectName};

pub(super) const INVALID_OBJECT_DEFINITION: SqlState = SqlState("42P17");

/// A CHECK as it is written, with its name if it has one.
type Written<'a> = (Option<&'a Ident>, &'a CheckConstraint);

impl Binder<'_> {
    /// DEFAULT: a constant if it is written as one, else an expression for each row.
    pub(super) fn default_of(&mut self, expr: &ast::Expr, sql_type: SqlType, name: &str) -> Result<Filling> {
        let at = self.text.start(expr);
        let bound = self.expr_in(expr, Clause::Default, Scope::default()).map_err(|error| match error.state() {
            SqlState::UNDEFINED_COLUMN => Error::unsupported("a column in a DEFAULT expression").at(error.position()),
            _ => error,
        })?;
        if bound.has_subquery() {
            return unsupported("a subquery in a DEFAULT expression", at);
        }
        if let ExprKind::Call(ScalarFunction::SEQUENCE_NEXT, arguments) = &bound.kind
            && let ast::Expr::Function(call) = expr
            && let Some(sequence) = self.asked(call, arguments)
        {
            assign(bound, sql_type, name)?;
            return Ok(Filling::Next(sequence));
        }
        let value = assign(bound, sql_type, name)?;
        if !is_literal(expr) || value.is_volatile() {
            return Ok(Filling::Expression(expr.to_string()));
        }
        let value = eval::constant(&value)?;
        // A text whose length is still to be checked.
        let stored = if sql_type.is_string() { SqlType::Text } else { sql_type };
        Ok(Filling::Value(assign_value(&value, stored, sql_type).map_err(|e| e.at(at))?))
    }

    /// Adds the CHECK constraints and generated columns of a table whose columns are known.
    pub(super) fn constrain(&mut self, create: &ast::CreateTable, table: &mut CreateTable) -> Result<()> {
        let scope = self.new_row(table);
        self.generated(create, table, &scope)?;
        let of_columns = create.columns.iter().flat_map(|c| &c.options).filter_map(|option| match &option.option {
            ColumnOption::Check(check) => Some((option.name.as_ref().or(check.name.as_ref()), check)),
            _ => None,
        });
        let of_table = create.constraints.iter().filter_map(|constraint| match constraint {
            ast::TableConstraint::Check(check) => Some((check.name.as_ref(), check)),
            _ => None,
        });
        let (named, unnamed): (Vec<Written<'_>>, Vec<_>) =
            of_columns.chain(of_table).partition(|(name, _)| name.is_some());
        for (name, check) in named.into_iter().chain(unnamed) {
            let check = self.check(name, check, table, &scope)?;
            table.checks.push(check);
        }
        table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// Adds what a column that is added to a table says: how it is generated, and CHECK. Returns the names of these.
    pub(super) fn constrain_added(&mut self, column: &ast::ColumnDef, table: &mut CreateTable) -> Result<Vec<String>> {
        let scope = self.new_row(table);
        let name = fold(&column.name);
        let Some(at) = table.columns.iter().position(|c| c.name == name) else { return Ok(Vec::new()) };
        let is_generated = |at: &usize| matches!(table.columns[*at].filling, Filling::Generated(_));
        let others = (0..table.columns.len()).filter(is_generated).map(|at| scope.visible[at].column);
        let own = generation(column).map(|_| scope.visible[at].column);
        let generated: HashSet<ColumnId> = others.chain(own).collect();
        self.generated_column(column, at, table, &scope, &generated)?;
        let mut names = Vec::new();
        for option in &column.options {
            let ColumnOption::Check(written) = &option.option else { continue };
            let check = self.check(option.name.as_ref().or(written.name.as_ref()), written, table, &scope)?;
            names.push(check.name.clone());
            table.checks.push(check);
        }
        Ok(names)
    }

    /// Columns that stand for those of the table that is made.
    pub(super) fn new_row(&mut self, table: &CreateTable) -> Scope {
        let columns = table.columns.iter().map(|c| {
            let info = ColumnInfo { name: c.name.clone(), sql_type: c.sql_type, nullable: c.nullable };
            ScopeColumn { name: c.name.clone(), column: self.plan.columns.push(info) }
        });
        let columns = columns.collect();
        Scope::of(Relation { name: Some(table.name.name.clone()), columns, ..Relation::default() })
    }

    fn generated(&mut self, create: &ast::CreateTable, table: &mut CreateTable, scope: &Scope) -> Result<()> {
        let is_generated = |c: &ast::ColumnDef| generation(c).is_some();
        let all: Vec<ColumnId> = scope.visible.iter().map(|c| c.column).collect();
        let generated: HashSet<ColumnId> =
            create.columns.iter().zip(&all).filter(|(c, _)| is_generated(c)).map(|(_, &id)| id).collect();
        let written = create.columns.iter().enumerate();
        written.into_iter().try_for_each(|(at, column)| self.generated_column(column, at, table, scope, &generated))
    }

    /// The expression of a column that is generated, where some others are.
    fn generated_column(
        &mut self,
        column: &ast::ColumnDef,
        at: usize,
        table: &mut CreateTable,
        scope: &Scope,
        generated: &HashSet<ColumnId>,
    ) -> Result<()> {
        let Some(expr) = generation(column) else { return Ok(()) };
        let position = self.text.start(expr);
        let name = &table.columns[at].name;
        if table.columns[at].filling != Filling::NULL {
            let message = format!(
                "both default and generation expression specified for column \"{name}\" of table \"{}\"",
                table.name
            );
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let value = self.expr_in(expr, Clause::Generated, scope.clone())?;
        self.refuse_subquery(&value, "a column generation expression", position)?;
        if let Some(read) = value.columns().into_iter().find(|c| generated.contains(c)) {
            let read = &self.plan.columns[read].name;
            let message = format!("cannot use generated column \"{read}\" in column generation expression");
            return Err(Error::new(INVALID_OBJECT_DEFINITION, message)
                .detail("A generated column cannot reference another generated column.")
                .at(position));
        }
        if is_volatile_itself(&value) || asks_for_the_time(expr) {
            let message = "generation expression is not immutable";
            return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(position));
        }
        assign(value, table.columns[at].sql_type, name)?;
        table.columns[at].filling = Filling::Generated(unqualified(expr));
        Ok(())
    }

    pub(super) fn check(
        &mut self,
        name: Option<&Ident>,
        check: &CheckConstraint,
        table: &CreateTable,
        scope: &Scope,
    ) -> Result<Check> {
        let position = self.text.start(&check.expr);
        let condition = self.expr_in(&check.expr, Clause::Check, scope.clone())?;
        let condition = boolean(condition, "CHECK")?;
        self.refuse_subquery(&condition, "a check constraint", position)?;
        let is_taken = |name: &str| table.checks.iter().any(|c| c.name == name);
        let name = match name {
            Some(ident) => {
                let name = fold(ident);
                if is_taken(&name) {
                    let message = format!("check constraint \"{name}\" already exists");
                    return Err(Error::new(SqlState::DUPLICATE_OBJECT, message).at(self.text.at(ident)));
                }
                name
            }
            None => {
                let read: HashSet<ColumnId> = condition.columns().into_iter().collect();
                let column =
                    read.iter().next().filter(|_| read.len() == 1).map(|&c| self.plan.columns[c].name.as_str());
                free_name(&table.name, column, "check", is_taken)
            }
        };
        Ok(Check { name, sql: unqualified(&check.expr) })
    }

    fn refuse_subquery(&self, expr: &Expr, place: &str, position: Option<u32>) -> Result<()> {
        if expr.has_subquery() { unsupported(format!("a subquery in {place}"), position) } else { Ok(()) }
    }
}

/// The text of an expression of a table's columns without the name of the table, which may get another one.
pub(super) fn unqualified(expr: &ast::Expr) -> String {
    let mut expr = expr.clone();
    walk::change_each_expr(&mut expr, |expr| {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && let Some(column) = parts.pop()
        {
            *expr = ast::Expr::Identifier(column);
        }
    });
    expr.to_string()
}

/// The expression of a generated column.
pub(super) fn generation(column: &ast::ColumnDef) -> Option<&ast::Expr> {
    column.options.iter().find_map(|option| match &option.option {
        ColumnOption::Generated { generation_expr, .. } => generation_expr.as_ref(),
        _ => None,
    })
}

/// `table_column_label`, with a number behind it if that is taken, as PostgreSQL names what the user does not name.
pub(super) fn free_name(
    table: &ObjectName,
    column: Option<&str>,
    label: &str,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let column = column.map_or_else(String::new, |c| format!("{c}_"));
    let name = format!("{}_{column}{label}", table.name);
    let numbered = (1..).map(|number| format!("{name}{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).expect("there are numbers enough")
}

/// Whether an expression is written with literals, signs, casts and operators only: its value is that of each statement.
fn is_literal(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    match expr {
        E::Value(_) | E::TypedString(_) => true,
        // A word for a moment that was a text before is one of each row: that is what dumps write.
        E::Cast { expr, .. } if is_cast_text(expr) => false,
        E::UnaryOp { expr, .. } | E::Nested(expr) | E::Cast { expr, .. } => is_literal(expr),
        E::BinaryOp { left, right, .. } => is_literal(left) && is_literal(right),
        E::Array(array) => array.elem.iter().all(is_literal),
        E::Interval(interval) => is_literal(&interval.value),
        _ => false,
    }
}

/// Whether it is `'now'::text` or the like.
fn is_cast_text(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Nested(inner) => is_cast_text(inner),
        ast::Expr::Cast { expr, data_type: ast::DataType::Text, .. } => match &**expr {
            ast::Expr::Value(value) => matches!(&value.value, ast::Value::SingleQuotedString(word)
                if ["now", "today", "tomorrow", "yesterday"].contains(&word.trim().to_lowercase().as_str())),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the value depends on when it is asked for.
pub(super) fn asks_for_the_time(expr: &ast::Expr) -> bool {
    const CLOCKS: [&str; 11] = [
        "now",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "clock_timestamp",
        "statement_timestamp",
        "transaction_timestamp",
        "timeofday",
        "today",
    ];
    walk::has_expr(expr, |expr| {
        let ast::Expr::Function(function) = expr else { return false };
        matches!(function.name.0.last(), Some(ObjectNamePart::Identifier(name)) if CLOCKS.contains(&fold(name).as_str()))
    })
}

pub(super) fn second_primary_key(table: &ObjectName) -> Error {
    let message = format!("multiple primary keys for table \"{table}\" are not allowed");
    Error::new(SqlState("42P16"), message).at(table.position)
}
