//! Names that are no columns: variables of a procedure, whose statement this is, and parameters of a function whose body is
//! bound in the place of its call.
//!
//! A statement of a procedure becomes one with parameters: each place in which a variable is named is a parameter of its own,
//! so that a kept plan (decision 19) can leave all of them open.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Routine;
use plan::{ColumnId, ColumnInfo, Expr};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use super::inferred::with_parameters;
use super::scope::{Clause, Level};
use super::{Binder, fold, zone};
use crate::parse::{Ast, RoutineAst, bare_expression, set_config};
use crate::{Parsed, Prepare, Resolver, Statement};

/// The setting that says what a name means that is a column and a variable.
pub(super) const VARIABLE_CONFLICT: &str = "plpgsql.variable_conflict";

/// What names mean that are no columns.
#[derive(Default)]
pub(super) enum Variables {
    /// Nothing.
    #[default]
    None,
    /// Those that the resolver knows; noted where they stand.
    Noted(Vec<Named>),
    /// Those that the resolver knows, as columns that nothing makes: these, with the numbers of the variables.
    Columns(Vec<(ColumnId, usize)>),
    /// The parameters of a function: its name, theirs, and what they are given.
    Given(String, Vec<(Option<String>, Expr)>),
}

/// A variable in the text.
pub(super) struct Named {
    begin: u32,
    end: u32,
    number: usize,
    sql_type: SqlType,
}

/// A statement of a procedure, prepared.
#[derive(Debug)]
pub struct Within {
    /// The statement with parameters in the places of variables.
    pub prepare: Prepare,
    /// The variable that each parameter is.
    pub variables: Vec<usize>,
}

/// An expression that needs no table and no subquery.
#[derive(Debug)]
pub struct Simple {
    /// The expression.
    pub expr: Expr,
    /// The columns that stand for variables.
    pub columns: Vec<(ColumnId, usize)>,
}

/// Prepares a statement whose names may mean what the resolver's [`variable`](Resolver::variable) says.
pub fn prepare_within(text: &str, resolver: &dyn Resolver) -> Result<Within> {
    let parsed = crate::parse(text)?;
    let mut binder = Binder::of(&parsed, resolver, &[]);
    binder.variables = Variables::Noted(Vec::new());
    let Ast::Library(statement) = &parsed.ast else {
        return Err(Error::internal("a statement of a procedure that is none of the library's"));
    };
    let bound =
        zone::in_session(resolver, || with_parameters(Vec::new(), || binder.prepared_library(statement, &parsed.text)));
    let (columns, _) = bound?;
    let Variables::Noted(mut named) = std::mem::take(&mut binder.variables) else {
        return Err(Error::internal("the variables of a statement are gone"));
    };
    named.sort_by_key(|named| named.begin);
    named.dedup_by_key(|named| named.begin);
    // What is grouped by must be the same parameter wherever it stands.
    let is_grouped = text.to_ascii_lowercase().contains("group");
    let (mut written, mut types, mut variables) = (String::with_capacity(text.len()), Vec::new(), Vec::new());
    let mut copied = 0;
    for Named { begin, end, number, sql_type } in named {
        let known = variables.iter().position(|known| is_grouped && *known == number);
        let at = known.unwrap_or(variables.len());
        if at == variables.len() {
            variables.push(number);
            types.push(sql_type);
        }
        written += &text[copied..begin as usize];
        // A star may follow a row.
        let is_row = types[at].structure().is_some();
        written += &if is_row { format!("(${})", at + 1) } else { format!("${}", at + 1) };
        copied = end as usize;
    }
    written += &text[copied..];
    let prepare = Prepare { name: String::new(), position: None, text: written.trim_end().to_owned(), types, columns };
    Ok(Within { prepare, variables })
}

/// Binds an expression whose names may mean what the resolver says; none if it needs a plan.
pub fn simple_within(text: &str, resolver: &dyn Resolver) -> Result<Option<Simple>> {
    let parsed = crate::parse(text)?;
    let Some(expr) = parsed.bare_expression() else { return Ok(None) };
    let mut binder = Binder::of(&parsed, resolver, &[]);
    binder.variables = Variables::Columns(Vec::new());
    let bound = zone::in_session(resolver, || binder.lone_expr(expr))?;
    let Variables::Columns(columns) = std::mem::take(&mut binder.variables) else { return Ok(None) };
    let is_plain = |expr: &Expr| !expr.has_subquery() && !expr.uses(|c| columns.iter().all(|(known, _)| *known != c));
    Ok(bound.filter(is_plain).map(|expr| Simple { expr, columns }))
}

/// A call of a procedure.
#[derive(Debug)]
pub struct CallWithin {
    /// The procedure.
    pub routine: Arc<Routine>,
    /// What goes in.
    pub arguments: Vec<Expr>,
    /// The columns that stand for variables.
    pub columns: Vec<(ColumnId, usize)>,
}

/// Binds a CALL whose names may mean what the resolver says; none if it is another statement.
pub fn call_within(parsed: &Parsed, resolver: &dyn Resolver) -> Result<Option<CallWithin>> {
    let Ast::Routine(routine @ RoutineAst::Call { .. }) = &parsed.ast else { return Ok(None) };
    let mut binder = Binder::of(parsed, resolver, &[]);
    binder.variables = Variables::Columns(Vec::new());
    let bound = zone::in_session(resolver, || binder.routine_statement(routine, &parsed.text))?;
    let (Statement::Call { routine, arguments }, Variables::Columns(columns)) = (bound, binder.variables) else {
        return Err(Error::internal("a CALL that calls nothing"));
    };
    Ok(Some(CallWithin { routine, arguments, columns }))
}

impl Parsed {
    /// The expression that it selects, if it is SELECT of one and nothing else.
    pub(super) fn bare_expression(&self) -> Option<&ast::Expr> {
        let Ast::Library(statement) = &self.ast else { return None };
        let ast::Statement::Query(query) = &**statement else { return None };
        // Which sets something, and so is a statement.
        if set_config(statement).is_some() {
            return None;
        }
        bare_expression(query)
    }
}

impl Binder<'_> {
    /// What the parts of a name mean that is no column.
    pub(super) fn variable(&mut self, parts: &[Ident]) -> Result<Option<Expr>> {
        if matches!(self.variables, Variables::None) || self.limits.in_view() && !self.is_given() {
            return Ok(None);
        }
        let position = parts.first().and_then(|part| self.text.at(part));
        let name: Vec<String> = parts.iter().map(fold).collect();
        if let Variables::Given(function, given) = &self.variables {
            let name = match name.as_slice() {
                [name] => name,
                [qualifier, name] if qualifier == function => name,
                _ => return Ok(None),
            };
            return Ok(given.iter().find(|(known, _)| known.as_ref() == Some(name)).map(|(_, expr)| expr.clone()));
        }
        let Some((number, sql_type)) = self.resolver.variable(&name).map_err(|e| e.at(position))? else {
            return Ok(None);
        };
        let span = parts.first().zip(parts.last()).map(|(first, last)| (first.span.start, last.span.end));
        self.noted(span, number, sql_type).map(|expr| Some(expr.at(position)))
    }

    /// The variable that a name means, given the column that it means. A column comes first beside what a function is given;
    /// beside a variable of a procedure neither does.
    pub(super) fn variable_beside(&mut self, parts: &[Ident], found: &Result<Expr>) -> Result<Option<Expr>> {
        match (&self.variables, found, parts) {
            (Variables::None, ..) | (Variables::Given(..), Ok(_), _) | (_, Ok(_), [_, _, ..]) => Ok(None),
            (_, Ok(expr), [ident]) if expr.as_column().is_some() => {
                let name = [fold(ident)];
                if self.limits.in_view() || self.resolver.variable(&name)?.is_none() {
                    return Ok(None);
                }
                match self.resolver.setting(VARIABLE_CONFLICT).as_deref() {
                    Some("use_column") => Ok(None),
                    Some("use_variable") => self.variable(parts),
                    _ => Err(self.ambiguous(ident)),
                }
            }
            (_, Ok(_), _) => Ok(None),
            (_, Err(_), parts) => self.variable(parts),
        }
    }

    /// `$1` of a procedure or function.
    pub(super) fn variable_parameter(&mut self, name: &str, span: sqlparser::tokenizer::Span) -> Result<Option<Expr>> {
        let missing = || Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"));
        if let Variables::Given(_, given) = &self.variables {
            let at = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()).and_then(|n| n.checked_sub(1));
            let found = at.and_then(|at| given.get(at)).map(|(_, expr)| expr.clone());
            return found.map(Some).ok_or_else(missing);
        }
        if matches!(self.variables, Variables::None) {
            return Ok(None);
        }
        let (number, sql_type) = self.resolver.variable(&[name.to_owned()])?.ok_or_else(missing)?;
        self.noted(Some((span.start, span.end)), number, sql_type).map(Some)
    }

    fn noted(
        &mut self,
        span: Option<(sqlparser::tokenizer::Location, sqlparser::tokenizer::Location)>,
        number: usize,
        sql_type: SqlType,
    ) -> Result<Expr> {
        match &mut self.variables {
            Variables::Columns(columns) => {
                let known = columns.iter().find(|(_, of)| *of == number).map(|(column, _)| *column);
                let column = known.unwrap_or_else(|| {
                    let info = ColumnInfo { name: String::new(), sql_type, nullable: true };
                    let column = self.plan.columns.push(info);
                    columns.push((column, number));
                    column
                });
                Ok(Expr::column(column, sql_type))
            }
            Variables::Noted(named) => {
                let offset = |location| self.text.positions.and_then(|p| p.offset(location));
                let place = span.and_then(|(begin, end)| offset(begin).zip(offset(end)));
                let Some((begin, end)) = place.filter(|(begin, end)| begin < end) else {
                    return Err(Error::unsupported("a variable in this place"));
                };
                named.push(Named { begin, end, number, sql_type });
                Ok(Expr::constant(Value::Null, sql_type))
            }
            Variables::None | Variables::Given(..) => Err(Error::internal("a variable of nobody")),
        }
    }

    /// Whether names mean what a function is given.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.variables, Variables::Given(..))
    }

    /// Binds an expression that stands by itself; none if it has aggregates, window functions or makes rows.
    pub(super) fn lone_expr(&mut self, expr: &ast::Expr) -> Result<Option<Expr>> {
        self.names.levels.push(Level::new(Clause::Select));
        let bound = self.expr(expr);
        let level = self.names.levels.pop();
        let bound = bound?;
        let is_plain = level.is_some_and(|level| {
            level.aggregates.is_empty()
                && level.ordered_sets.is_empty()
                && level.windows.is_empty()
                && level.unnested.is_empty()
                && level.groupings.is_empty()
        });
        Ok(is_plain.then_some(bound))
    }

    /// 42702: a name means a column and a variable.
    pub(super) fn ambiguous(&self, ident: &Ident) -> Error {
        let message = format!("column reference \"{}\" is ambiguous", fold(ident));
        Error::new(SqlState::AMBIGUOUS_COLUMN, message)
            .detail("It could refer to either a PL/pgSQL variable or a table column.")
            .at(self.text.at(ident))
    }
}
