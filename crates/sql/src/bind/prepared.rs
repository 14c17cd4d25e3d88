//! PREPARE, EXECUTE, DEALLOCATE.

use base::{Error, Result, SqlState};
use catalog::Field;
use plan::{Expr, ExprKind, eval};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use super::coerce::assign;
use super::inferred::with_parameters;
use super::scope::{Clause, Level};
use super::statement::fields;
use super::{Binder, fold};
use crate::Statement;
use crate::parse::{ExecuteAst, PrepareAst};
use crate::statement::{Prepare, SetConfig};

impl Binder<'_> {
    pub(super) fn prepare(&mut self, prepare: &PrepareAst, text: &str) -> Result<Statement> {
        let types = prepare.types.iter().map(|t| self.sql_type(t)).collect::<Result<Vec<_>>>()?;
        let from = self.text.span(prepare.begin).zip(self.text.positions).map_or(0, |(at, p)| at - p.begin());
        let text = text.get(from as usize..).unwrap_or_default();
        let position = self.text.at(&prepare.name);
        let prepared = self.prepared(&prepare.statement, text, types)?;
        Ok(Statement::Prepare(Prepare { name: fold(&prepare.name), position, ..prepared }))
    }

    /// A statement that is prepared, as yet without a name.
    pub(super) fn prepared(
        &mut self,
        statement: &ast::Statement,
        text: &str,
        mut types: Vec<SqlType>,
    ) -> Result<Prepare> {
        let text = text.trim_end();
        types.resize(types.len().max(self.arguments.placeholders), SqlType::Null);
        let (statement, types) = with_parameters(types, || self.standard(statement, text))?;
        if let Some(unknown) = types.iter().position(|known| *known == SqlType::Null) {
            let message = format!("could not determine data type of parameter ${}", unknown + 1);
            return Err(Error::new(SqlState("42P18"), message).hint("add an explicit cast"));
        }
        let columns = match &statement {
            Statement::Change(_) => Vec::new(),
            other => rows_of(other),
        };
        Ok(Prepare { name: String::new(), position: None, text: text.to_owned(), types, columns })
    }

    /// The columns of the rows of a statement; none of a change.
    pub(super) fn prepared_library(&mut self, statement: &ast::Statement, text: &str) -> Result<Vec<Field>> {
        Ok(rows_of(&self.standard(statement, text)?))
    }

    pub(super) fn execute(&mut self, execute: &ExecuteAst) -> Result<Statement> {
        let (name, position) = (fold(&execute.name), self.text.at(&execute.name));
        let Some((types, names)) = self.resolver.parameters_of(&name) else {
            return Err(missing(&name).at(position));
        };
        let (expected, given) = (types.len(), execute.arguments.len());
        if expected != given {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {expected} parameters but got {given}.");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).detail(detail).at(position));
        }
        let mut parameters = Vec::with_capacity(given);
        for (number, (argument, to)) in self.in_order(execute, &names)?.into_iter().zip(types).enumerate() {
            self.names.levels.push(Level::new(Clause::Execute));
            let bound = self.expr(argument);
            self.names.levels.pop();
            parameters.push(argument_of(bound?, to, number + 1)?);
        }
        Ok(Statement::Execute { name, position, parameters })
    }

    /// The arguments by the numbers of their parameters, to which names may tell them.
    fn in_order<'e>(&self, execute: &'e ExecuteAst, names: &[String]) -> Result<Vec<&'e ast::Expr>> {
        let mut places: Vec<Option<&ast::Expr>> = vec![None; execute.arguments.len()];
        for (at, (name, argument)) in execute.arguments.iter().enumerate() {
            let place = match name {
                None => Some(at),
                Some(name) => names.iter().position(|known| *known == fold(name)),
            };
            let wrong = |what: String| {
                Error::new(SqlState::SYNTAX_ERROR, what).at(name.as_ref().and_then(|name| self.text.at(name)))
            };
            let called = || name.as_ref().map_or_else(|| format!("${}", at + 1), fold);
            match place.and_then(|place| places.get_mut(place)) {
                None => return Err(wrong(format!("there is no parameter \"{}\"", called()))),
                Some(Some(_)) => return Err(wrong(format!("parameter \"{}\" is given twice", called()))),
                Some(place) => *place = Some(argument),
            }
        }
        // As many as there are, and none twice.
        Ok(places.into_iter().flatten().collect())
    }

    pub(super) fn deallocate(&self, name: Option<&Ident>) -> Statement {
        Statement::Deallocate { name: name.map(fold), position: name.and_then(|name| self.text.at(name)) }
    }
}

/// The columns of the rows that a statement gives.
pub(super) fn rows_of(statement: &Statement) -> Vec<Field> {
    match statement {
        Statement::Query(plan) => fields(plan),
        Statement::Change(change) => change.returning.clone().unwrap_or_default(),
        Statement::With(with) => match &with.then {
            crate::Outcome::Of(statement) => rows_of(statement),
            crate::Outcome::Counted(..) => Vec::new(),
        },
        Statement::Locking(locking) => {
            let mut all = fields(&locking.plan);
            all.truncate(all.len() - locking.tables.len());
            all
        }
        Statement::SetConfig(calls) => {
            let field = |call: &SetConfig| Field { name: call.column.clone(), sql_type: SqlType::Text, nullable: true };
            calls.iter().map(field).collect()
        }
        _ => Vec::new(),
    }
}

/// 26000.
fn missing(name: &str) -> Error {
    Error::new(SqlState("26000"), format!("prepared statement \"{name}\" does not exist"))
}

/// The value of an argument for a parameter of that type.
fn argument_of(argument: Expr, to: SqlType, number: usize) -> Result<(Value, SqlType)> {
    let position = argument.position;
    if argument.has_subquery() {
        return Err(Error::unsupported("a subquery in a parameter of EXECUTE").at(position));
    }
    let from = argument.sql_type;
    // Of decimals, each has its own scale; what a literal's is, its neighbours decide.
    let is_free = to.is_decimal() && (from.is_decimal() || from.is_integer());
    if let (true, SqlType::Null, ExprKind::Const(value @ Value::Str(_))) = (to.is_decimal(), from, &argument.kind) {
        return Ok((value.clone(), SqlType::Text));
    }
    if is_free {
        return Ok((eval::constant(&argument)?, from));
    }
    let assigned = assign(argument, to, "").map_err(|error| match error.state() {
        SqlState::DATATYPE_MISMATCH => {
            let message = format!("parameter ${number} of type {from} cannot be coerced to the expected type {to}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
                .at(position)
        }
        _ => error,
    })?;
    Ok((eval::constant(&assigned)?, to))
}
