//! Rows as values (decision 62): `ROW(a, b)`, `(a, b)`, the name of a table in FROM for its rows, and the values of such by a
//! star. A row is a struct whose text is PostgreSQL's.

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind, conjunction};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart};
use types::{SqlType, Value};

use super::structure::named_value;
use crate::bind::Binder;
use crate::bind::scope::find_relation;
use crate::parse::stars::{Starred, starred};

impl Binder<'_> {
    /// `ROW(a, b)`: its fields are called f1, f2 and so on.
    pub(super) fn row_value(&mut self, entries: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let mut values = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.star_values(entry)? {
                Some(fields) => values.extend(fields.into_iter().map(|(_, value)| value)),
                None => values.push(named_value(self.expr(entry)?)),
            }
        }
        let named = values.into_iter().enumerate().map(|(at, value)| (format!("f{}", at + 1), value));
        self.row_of_values(named.collect(), position)
    }

    /// `row(...)`; none for another call.
    pub(super) fn row_call(&mut self, function: &ast::Function) -> Result<Option<Expr>> {
        let ([ObjectNamePart::Identifier(ident)], FunctionArguments::List(list)) =
            (function.name.0.as_slice(), &function.args)
        else {
            return Ok(None);
        };
        if ident.quote_style.is_some() || !ident.value.eq_ignore_ascii_case("row") {
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(entry)) => entries.push(entry),
                _ => return Err(Error::unsupported(format!("{argument} in ROW()")).at(self.text.at(ident))),
            }
        }
        self.row_value(&entries, self.text.at(ident)).map(Some)
    }

    /// What a star stands for, by the names of the columns; none if the expression does not end with one.
    pub(in crate::bind) fn star_values(&mut self, expr: &ast::Expr) -> Result<Option<Vec<(String, Expr)>>> {
        let value = match starred(expr) {
            None => return Ok(None),
            Some(Starred::Value(root, [])) if let Some(fields) = self.fields_of_expr(root, 1)? => {
                return Ok(Some(fields));
            }
            Some(Starred::Name(parts)) => {
                if let [table] | [.., table] = parts
                    && let Some(columns) = self.columns_of(table)
                {
                    return Ok(Some(columns));
                }
                self.compound(parts)?
            }
            Some(Starred::Value(root, [])) => self.expr(root)?,
            Some(Starred::Value(root, chain)) => self.access(root, chain)?,
        };
        if value.sql_type.structure().is_none() {
            let message =
                format!("column notation .* applied to type {}, which is not a composite type", value.sql_type);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(value.position));
        }
        self.fields_of(&value).map(Some)
    }

    /// The fields of an expression that is a struct, and to that depth those of fields that are; none if it is no struct. Where it
    /// has a subquery, each has one of its own, as nothing in a plan is made twice.
    pub(in crate::bind) fn fields_of_expr(
        &mut self,
        expr: &ast::Expr,
        levels: u64,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        let value = self.expr(expr)?;
        if value.sql_type.structure().is_none() {
            return Ok(None);
        }
        let paths = paths_of(value.sql_type, levels);
        let mut fields = Vec::with_capacity(paths.len());
        for (at, path) in paths.into_iter().enumerate() {
            let mut field = if at > 0 && value.has_subquery() { self.expr(expr)? } else { value.clone() };
            for name in &path {
                field = self.struct_field(field, name, value.position)?;
            }
            fields.push((path.last().cloned().unwrap_or_default(), field));
        }
        Ok(Some(fields))
    }

    /// The columns of a table in FROM.
    fn columns_of(&self, table: &Ident) -> Option<Vec<(String, Expr)>> {
        let relation = self.names.levels.iter().rev().find_map(|level| find_relation(&level.scope, table))?;
        let columns = relation.columns.iter();
        Some(columns.map(|column| (column.name.clone(), self.plan.reference(column.column))).collect())
    }

    /// The row of a table in FROM that a name means which is no column's. Of a row that an outer join has not found, it is
    /// NULL.
    pub(super) fn whole_row(&mut self, table: &Ident) -> Result<Option<Expr>> {
        let Some(columns) = self.columns_of(table) else { return Ok(None) };
        let position = self.text.at(table);
        let is_padded = columns.iter().any(|(_, c)| c.as_column().is_some_and(|c| self.plan.padded.contains(&c)));
        let is_null =
            |(_, column): &(String, Expr)| Expr::new(ExprKind::IsNull(Box::new(column.clone())), SqlType::Bool);
        let nothing = is_padded.then(|| conjunction(columns.iter().map(is_null).collect()));
        let row = self.row_of_values(columns, position)?;
        let Some(nothing) = nothing else { return Ok(Some(row)) };
        let sql_type = row.sql_type;
        let branches = vec![(nothing, Expr::constant(Value::Null, sql_type))];
        Ok(Some(Expr::new(ExprKind::Case { branches, otherwise: Box::new(row) }, sql_type).at(position)))
    }

    /// A row with a star at its end, as a value.
    pub(super) fn starred_row(&mut self, parts: &[Ident]) -> Result<Expr> {
        let [before @ .., _] = parts else { return Err(Error::internal("a star alone")) };
        match before {
            [table] | [_, table] if let Some(row) = self.whole_row(table)? => Ok(row),
            [] => Err(Error::internal("a star alone")),
            _ => self.compound(before),
        }
    }

    /// IS NULL of a row: of all its values. IS NOT NULL likewise.
    pub(super) fn row_is_null(&mut self, row: &Expr, negated: bool) -> Result<Expr> {
        let fields = self.fields_of(row)?;
        let one = |(_, value): (String, Expr)| {
            let is_null = Expr::new(ExprKind::IsNull(Box::new(value)), SqlType::Bool);
            if negated { Expr::new(ExprKind::Not(Box::new(is_null)), SqlType::Bool) } else { is_null }
        };
        Ok(conjunction(fields.into_iter().map(one).collect()).at(row.position))
    }
}

/// The names that lead to the fields of a struct, through so many structs.
pub(in crate::bind) fn paths_of(sql_type: SqlType, levels: u64) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for field in sql_type.structure().map_or(&[][..], |of| &of.fields) {
        let below = if levels > 1 { paths_of(field.sql_type, levels - 1) } else { Vec::new() };
        let own = || vec![field.name.clone()];
        match below.is_empty() {
            true => paths.push(own()),
            false => paths.extend(below.into_iter().map(|rest| own().into_iter().chain(rest).collect())),
        }
    }
    paths
}
