//! VALUES.

use base::{Error, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Expr, Node, Op, SetOperation, SortKey};
use sqlparser::ast::{self, Parens};
use types::{SqlType, Value};

use super::from::one_row;
use super::insert::Target;
use super::parts::PlanBuilder;
use super::scope::{Clause, Level};
use super::{Binder, Bound, Output};
use crate::bind::coerce::{assign, cast_to, unify};
use crate::parse::stars::starred;

impl Binder<'_> {
    /// Rows of expressions. For INSERT, `targets` are the columns that they go to: each value is assigned to its column's
    /// type, and DEFAULT is allowed.
    pub(super) fn values(&mut self, rows: &[Parens<Vec<ast::Expr>>], targets: Option<&[Target]>) -> Result<Bound> {
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        let is_shorter = |row: &Parens<Vec<ast::Expr>>| row.content.len() != rows[0].content.len();
        let has_stars = |row: &Parens<Vec<ast::Expr>>| row.content.iter().any(|value| starred(value).is_some());
        for row in rows {
            if is_shorter(row) && !has_stars(row) && !has_stars(&rows[0]) {
                return Err(self.uneven(row));
            }
            self.names.levels.push(Level::new(Clause::Values));
            let values = self.value_row(&row.content, targets);
            let unnested = self.names.levels.pop().map(|level| level.unnested).unwrap_or_default();
            if unnested.is_empty() {
                bound.push(values?);
            } else if targets.is_some() && rows.len() == 1 {
                // INSERT of one row is INSERT of a SELECT list.
                let node = self.plan.unnested(one_row(), unnested, None);
                return Ok(self.computed_row(node, values?));
            } else {
                let message = "set-returning functions are not allowed in VALUES";
                let position = row.content.first().and_then(|value| self.text.start(value));
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            }
        }
        let width = bound.first().map_or(0, Vec::len);
        if let Some(at) = bound.iter().position(|row| row.len() != width) {
            return Err(self.uneven(&rows[at]));
        }
        let types = match targets {
            Some(targets) => targets.iter().take(width).map(|t| t.sql_type).collect(),
            None => unify_rows(&mut bound, width)?,
        };
        let names: Vec<String> = (1..=width).map(|i| format!("column{i}")).collect();
        // Subqueries are no constants: such rows are computed on top of a row without columns.
        if bound.iter().flatten().any(Expr::has_subquery) {
            return self.computed_rows(bound);
        }
        let mut output = Vec::with_capacity(width);
        for (index, (name, sql_type)) in names.into_iter().zip(types).enumerate() {
            let nullable = bound.iter().any(|row| self.plan.is_nullable(&row[index]));
            // A text that still goes to a column of limited length stays a text.
            let sql_type = bound.first().map_or(sql_type, |row| row[index].sql_type);
            let column = self.plan.columns.push(ColumnInfo { name: name.clone(), sql_type, nullable });
            output.push(Output { name, column, literal: None });
        }
        let mut columns: Vec<ColumnId> = output.iter().map(|o| o.column).collect();
        if targets.is_none() && bound.len() > 1 {
            columns.push(self.plan.number_rows(&mut bound));
        }
        Ok(Bound { node: Node::new(Op::Values { columns, rows: bound }), output })
    }

    /// Rows of VALUES that are computed, in their order.
    fn computed_rows(&mut self, mut rows: Vec<Vec<Expr>>) -> Result<Bound> {
        if rows.len() > 1 {
            self.plan.number_rows(&mut rows);
        }
        let mut inputs: Vec<Bound> = rows.into_iter().map(|row| self.computed_row(one_row(), row)).collect();
        if inputs.len() == 1 {
            return Ok(inputs.remove(0));
        }
        let Bound { node, mut output } = self.plan.combine(SetOperation::Union, true, inputs)?;
        let number = output.pop().map(|output| self.plan.reference(output.column));
        let ordered = number.into_iter().map(|expr| SortKey { expr, descending: false, nulls_first: false });
        let node = Op::Sort { input: Box::new(node), keys: ordered.collect(), limit: None, offset: 0 };
        Ok(Bound { node: Node::new(node), output })
    }

    /// A row of VALUES, computed on top of what its values read.
    fn computed_row(&mut self, node: Node, row: Vec<Expr>) -> Bound {
        let (mut output, mut computed) = (Vec::with_capacity(row.len()), Vec::with_capacity(row.len()));
        for (at, expr) in row.into_iter().enumerate() {
            let name = format!("column{}", at + 1);
            let column = self.plan.column_for(&name, &expr);
            output.push(Output { name, column, literal: None });
            computed.push((column, expr));
        }
        Bound { node: Node::new(Op::Map { input: Box::new(node), columns: computed }), output }
    }

    #[cold]
    fn uneven(&self, row: &Parens<Vec<ast::Expr>>) -> Error {
        Error::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length")
            .at(self.text.span(row.opening_token.0.span))
    }

    /// The column that the value of that number goes to, if values go to columns.
    fn target_at<'t>(
        &self,
        targets: Option<&'t [Target]>,
        number: usize,
        value: &ast::Expr,
    ) -> Result<Option<&'t Target>> {
        let Some(targets) = targets else { return Ok(None) };
        let message = "INSERT has more expressions than target columns";
        let none = || Error::new(SqlState::SYNTAX_ERROR, message).at(self.text.start(value));
        targets.get(number).map(Some).ok_or_else(none)
    }

    fn value_row(&mut self, row: &[ast::Expr], targets: Option<&[Target]>) -> Result<Vec<Expr>> {
        let mut values = Vec::with_capacity(row.len());
        for expr in row {
            if let Some(columns) = self.star_values(expr)? {
                for (_, value) in columns {
                    values.push(match self.target_at(targets, values.len(), expr)? {
                        None => value,
                        Some(target) => cast_if_string(assign(value, target.sql_type, &target.name)?, target.sql_type)?,
                    });
                }
                continue;
            }
            values.push(match self.target_at(targets, values.len(), expr)? {
                None => self.expr(expr)?,
                Some(target) if is_default(expr) => self.filling(&target.filling, &target.name, target.sql_type)?,
                Some(target) => {
                    target.check_given(self.insert.overriding).map_err(|e| e.at(self.text.start(expr)))?;
                    let value = self.expr(expr)?;
                    let value = assign(value, target.sql_type, &target.name)?;
                    // All rows of a column have one type.
                    let mut value = cast_if_string(value, target.sql_type)?;
                    self.arguments.open_given(&self.text, expr, &mut value, target.sql_type);
                    value
                }
            });
        }
        Ok(values)
    }
}

impl PlanBuilder {
    /// A column more, by which rows are in their order: for whoever reads them and has none of its own.
    fn number_rows(&mut self, rows: &mut [Vec<Expr>]) -> ColumnId {
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let column = self.columns.push(info);
        self.numbers.insert(column);
        for (number, row) in (1..).zip(rows) {
            row.push(Expr::constant(Value::Int(number), SqlType::BigInt));
        }
        column
    }
}

/// Rows agree on a type for each column: strings meet as text, everything else is of the target's type already.
fn cast_if_string(value: Expr, target: SqlType) -> Result<Expr> {
    if target.is_string() { cast_to(value, SqlType::Text) } else { Ok(value) }
}

fn unify_rows(rows: &mut [Vec<Expr>], width: usize) -> Result<Vec<SqlType>> {
    let mut types = Vec::with_capacity(width);
    for index in 0..width {
        let null = || Expr::constant(types::Value::Null, SqlType::Null);
        let column: Vec<Expr> = rows.iter_mut().map(|row| std::mem::replace(&mut row[index], null())).collect();
        let (column, sql_type) = unify(column, "VALUES")?;
        for (row, expr) in rows.iter_mut().zip(column) {
            row[index] = expr;
        }
        types.push(sql_type);
    }
    Ok(types)
}

pub(super) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(i) if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("default"))
}
