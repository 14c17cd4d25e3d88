//! Calls of functions that users define: in expressions and in FROM.
//!
//! A function whose body is one query is bound in the place of its call (`inline`). Any other is a call that whoever runs the
//! statement computes before the plan runs: a value, or the rows of a table.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Field, Language, Returns, Routine, RoutineKind, Volatility};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, FunctionArg, FunctionArguments, TableAlias};
use types::{SqlType, StructField, Value};

use super::macros::macros;
use crate::ObjectName;
use crate::bind::constraint::INVALID_OBJECT_DEFINITION;
use crate::bind::from::FromItem;
use crate::bind::scope::{Clause, Scope};
use crate::bind::{Binder, fold, unsupported};

impl Binder<'_> {
    /// A call of a user's function, if there is one of that name.
    pub(in crate::bind) fn user_function(&mut self, function: &ast::Function) -> Result<Option<Expr>> {
        let name = self.text.object_name(&function.name)?;
        let candidates = self.resolver.routines(name.schema.as_deref(), &name.name);
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        if candidates.is_empty() {
            return Ok(None);
        }
        let macros = macros(&candidates);
        let aggregates: Vec<_> = candidates.iter().filter(|r| r.language == Language::Aggregate).cloned().collect();
        if !aggregates.is_empty() {
            return self.aggregate_value(&aggregates, function, &name).map(Some);
        }
        let is_more = function.over.is_some()
            || function.filter.is_some()
            || list.duplicate_treatment.is_some()
            || !list.clauses.is_empty()
            || !function.within_group.is_empty();
        if is_more {
            let message = format!("{} is no aggregate or window function", name.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
        }
        if !macros.is_empty() {
            return self.macro_value(&macros, function, &name).map(Some);
        }
        let given = self.given_arguments(&name.name, &list.args)?;
        let found = self.matching(&name, &candidates, given, RoutineKind::Function);
        let (routine, arguments) = match found {
            // One of the system's may fit.
            Err(error) if error.state() == SqlState::UNDEFINED_FUNCTION && is_of_system(&name.name) => return Ok(None),
            found => found.map_err(|e| e.at(name.position))?,
        };
        self.value_of_call(&routine, arguments, &name).map(|expr| Some(expr.at(name.position)))
    }

    fn value_of_call(&mut self, routine: &Arc<Routine>, arguments: Vec<Expr>, name: &ObjectName) -> Result<Expr> {
        let clause = self.names.levels.last().map(|level| level.clause);
        if routine.volatility != Volatility::Immutable
            && let Some(what) = clause.and_then(immutable_only)
        {
            return Err(Error::new(INVALID_OBJECT_DEFINITION, what).at(name.position));
        }
        let sql_type = self.type_of_call(routine, name)?;
        if routine.is_set {
            let rows = called(routine, arguments, SqlType::array_of(sql_type));
            return self.element_in_list(&routine.name, rows, name.position);
        }
        // What is kept of a table has no subqueries.
        let is_kept =
            matches!(clause, Some(Clause::Default | Clause::Check)) || clause.and_then(immutable_only).is_some();
        if let Some(inlined) = self.inlined_value(routine, &arguments, sql_type)?
            && !(is_kept && inlined.has_subquery())
        {
            return self.as_named_domain(inlined, routine.domain.as_ref());
        }
        self.as_named_domain(called(routine, arguments, sql_type), routine.domain.as_ref())
    }

    /// The type of the value that a call gives, or of each of its values.
    fn type_of_call(&self, routine: &Routine, name: &ObjectName) -> Result<SqlType> {
        match routine.returns {
            Returns::Value(sql_type) => Ok(sql_type),
            // A row of nothing is shown as an empty text.
            Returns::Nothing => Ok(SqlType::Text),
            Returns::Row => Ok(row_of(&routine.columns())),
            Returns::Trigger => {
                let message = "trigger functions can only be called as triggers";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.position))
            }
            Returns::Record => {
                let what = format!("the row of {} as a value", routine.signature());
                Err(Error::unsupported(what)
                    .hint("SELECT * FROM a function AS t(a integer, b text) has its columns")
                    .at(name.position))
            }
        }
    }

    /// The rows of a call as an array: of rows, if they have several columns.
    fn array_of_call(&self, routine: &Routine, arguments: Vec<Expr>, columns: &[Field]) -> Result<Expr> {
        let one = match (routine.returns, columns) {
            (Returns::Value(sql_type), _) => sql_type,
            (Returns::Nothing, _) => SqlType::Text,
            (_, columns) => row_of(columns),
        };
        match routine.is_set {
            true => Ok(called(routine, arguments, SqlType::array_of(one))),
            false => self.alone(called(routine, arguments, one)),
        }
    }

    /// The rows of a user's function as an array, with the name of a column of them; none if there is none of that name.
    pub(in crate::bind) fn user_array(&mut self, function: &ast::Function) -> Result<Option<(String, Expr)>> {
        let name = self.text.object_name(&function.name)?;
        let candidates = self.resolver.routines(name.schema.as_deref(), &name.name);
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        if candidates.is_empty() || !macros(&candidates).is_empty() {
            return Ok(None);
        }
        let given = self.given_arguments(&name.name, &list.args)?;
        let (routine, arguments) =
            self.matching(&name, &candidates, given, RoutineKind::Function).map_err(|e| e.at(name.position))?;
        let columns = self.columns_of_call(&routine, None, &name)?;
        let named = columns.first().map_or_else(|| routine.name.clone(), |column| column.name.clone());
        Ok(Some((named, self.array_of_call(&routine, arguments, &columns)?)))
    }

    /// A call of a user's function in FROM, if there is one of that name.
    pub(in crate::bind) fn user_rows(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
    ) -> Result<Option<FromItem>> {
        let name = self.text.object_name(name)?;
        let candidates = self.resolver.routines(name.schema.as_deref(), &name.name);
        if candidates.is_empty() {
            return Ok(None);
        }
        let macros = macros(&candidates);
        if !macros.is_empty() && ordinality {
            return unsupported("WITH ORDINALITY behind a macro", name.position);
        }
        if !macros.is_empty() {
            return self.macro_rows(&macros, arguments, alias, &name, seen).map(Some);
        }
        let given = self.seeing(seen, |b| b.given_arguments(&name.name, arguments))?;
        let (routine, arguments) =
            self.matching(&name, &candidates, given, RoutineKind::Function).map_err(|e| e.at(name.position))?;
        let columns = self.columns_of_call(&routine, alias, &name)?;
        if !ordinality && let Some(item) = self.inlined_rows(&routine, &arguments, &columns, alias)? {
            return Ok(Some(item));
        }
        let mut alias = alias.cloned();
        if let (Some(alias), Returns::Record) = (&mut alias, routine.returns) {
            alias.columns.clear();
        }
        let is_constant = |expr: &Expr| !expr.has_subquery() && !expr.uses(|_| true);
        if ordinality || !arguments.iter().all(is_constant) {
            let named = columns.first().map_or_else(|| routine.name.clone(), |column| column.name.clone());
            let rows = self.array_of_call(&routine, arguments, &columns)?;
            return self
                .item_of_arrays(routine.name.clone(), vec![(named, rows)], alias.as_ref(), ordinality)
                .map(Some);
        }
        let table = self.resolver.routine_rows(&routine, arguments, columns).map_err(|e| e.at(name.position))?;
        self.scan(table, Some(&routine.name), alias.as_ref()).map(Some)
    }

    /// The columns of a call in FROM: those of a record are said there.
    fn columns_of_call(&self, routine: &Routine, alias: Option<&TableAlias>, name: &ObjectName) -> Result<Vec<Field>> {
        if routine.returns != Returns::Record {
            let mut columns = routine.columns();
            if columns.is_empty() {
                columns.push(Field { name: routine.name.clone(), sql_type: SqlType::Text, nullable: true });
            }
            // The name of the table, if it has another one, is that of its only column as well.
            if let ([column], Some(alias), Returns::Value(_)) = (columns.as_mut_slice(), alias, routine.returns)
                && routine.results().next().is_none()
            {
                column.name = fold(&alias.name);
            }
            return Ok(columns);
        }
        let defined = alias.map_or(&[][..], |alias| &alias.columns);
        if defined.is_empty() || defined.iter().any(|column| column.data_type.is_none()) {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
        }
        let field = |column: &ast::TableAliasColumnDef| {
            let sql_type = column.data_type.as_ref().map_or(Ok(SqlType::Text), |name| self.sql_type(name))?;
            Ok(Field { name: fold(&column.name), sql_type, nullable: true })
        };
        defined.iter().map(field).collect()
    }
}

/// What is wrong about a function that is not IMMUTABLE in a clause that wants only such; none if any may stand there.
fn immutable_only(clause: Clause) -> Option<&'static str> {
    match clause {
        Clause::Generated => Some("generation expression is not immutable"),
        Clause::IndexKey => Some("functions in index expression must be marked IMMUTABLE"),
        Clause::IndexPredicate => Some("functions in index predicate must be marked IMMUTABLE"),
        _ => None,
    }
}

/// Whether an expression is volatile but for the user's functions in it, which say of themselves what they are.
pub(in crate::bind) fn is_volatile_itself(expr: &Expr) -> bool {
    expr.any(&|e| matches!(&e.kind, ExprKind::Call(f, _) if f.is_volatile() && *f != ScalarFunction::ROUTINE))
}

/// A call that is computed before the plan runs.
fn called(routine: &Routine, arguments: Vec<Expr>, sql_type: SqlType) -> Expr {
    let number = Expr::constant(Value::Int(routine.number), SqlType::BigInt);
    let arguments = std::iter::once(number).chain(arguments).collect();
    Expr::new(ExprKind::Call(ScalarFunction::ROUTINE, arguments), sql_type)
}

/// The type of rows of these columns.
fn row_of(columns: &[Field]) -> SqlType {
    let field = |field: &Field| StructField { name: field.name.clone(), sql_type: field.sql_type };
    SqlType::row_of(columns.iter().map(field).collect())
}

/// Whether the system has a function of that name.
pub(in crate::bind) fn is_of_system(name: &str) -> bool {
    ScalarFunction::find(name).is_some()
        || functions::AggregateFunction::find(name).is_some()
        || functions::WindowFunction::find(name).is_some()
        || functions::Lambda::find(name).is_some()
        || functions::composed::all().any(|composed| composed.names.contains(&name))
}
