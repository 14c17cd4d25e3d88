//! Calls of functions that users define: in expressions and in FROM.
//!
//! A function whose body is one query is bound in the place of its call (`inline`). Any other is a call that whoever runs the
//! statement computes before the plan runs: a value, or the rows of a table.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Field, Language, Returns, Routine, RoutineKind};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, FunctionArg, FunctionArguments, TableAlias};
use types::{SqlType, Value};

use super::macros::macros;
use crate::ObjectName;
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
        if matches!(
            clause,
            Some(Clause::Default | Clause::Check | Clause::Generated | Clause::IndexKey | Clause::IndexPredicate)
        ) {
            return unsupported("a user's function in the definition of a table", name.position);
        }
        let sql_type = match routine.returns {
            _ if routine.is_set => {
                let what = format!("{}, which returns rows, anywhere but in FROM", routine.signature());
                return Err(Error::unsupported(what).at(name.position));
            }
            Returns::Value(sql_type) => sql_type,
            // A row of nothing is shown as an empty text.
            Returns::Nothing => SqlType::Text,
            Returns::Trigger => {
                let message = "trigger functions can only be called as triggers";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.position));
            }
            Returns::Row | Returns::Record => {
                let what = format!("the row of {} as a value", routine.signature());
                return Err(Error::unsupported(what)
                    .hint("SELECT * FROM a function has its columns")
                    .at(name.position));
            }
        };
        if let Some(inlined) = self.inlined_value(routine, &arguments, sql_type)? {
            return self.as_named_domain(inlined, routine.domain.as_ref());
        }
        let number = Expr::constant(Value::Int(routine.number), SqlType::BigInt);
        let arguments = std::iter::once(number).chain(arguments).collect();
        let value = Expr::new(ExprKind::Call(ScalarFunction::ROUTINE, arguments), sql_type);
        self.as_named_domain(value, routine.domain.as_ref())
    }

    /// A call of a user's function in FROM, if there is one of that name.
    pub(in crate::bind) fn user_rows(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        seen: &Scope,
    ) -> Result<Option<FromItem>> {
        let name = self.text.object_name(name)?;
        let candidates = self.resolver.routines(name.schema.as_deref(), &name.name);
        if candidates.is_empty() {
            return Ok(None);
        }
        let macros = macros(&candidates);
        if !macros.is_empty() {
            return self.macro_rows(&macros, arguments, alias, &name, seen).map(Some);
        }
        let given = self.seeing(seen, |b| b.given_arguments(&name.name, arguments))?;
        let (routine, arguments) =
            self.matching(&name, &candidates, given, RoutineKind::Function).map_err(|e| e.at(name.position))?;
        let columns = self.columns_of_call(&routine, alias, &name)?;
        if let Some(item) = self.inlined_rows(&routine, &arguments, &columns, alias)? {
            return Ok(Some(item));
        }
        let is_constant = |expr: &Expr| !expr.has_subquery() && !expr.uses(|_| true);
        if !arguments.iter().all(is_constant) {
            let what = format!("{} in FROM with anything but constants as arguments", routine.name);
            return Err(Error::unsupported(what).hint("call it in the select list").at(name.position));
        }
        let table = self.resolver.routine_rows(&routine, arguments, columns).map_err(|e| e.at(name.position))?;
        let mut alias = alias.cloned();
        if let (Some(alias), Returns::Record) = (&mut alias, routine.returns) {
            alias.columns.clear();
        }
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

/// Whether the system has a function of that name.
pub(in crate::bind) fn is_of_system(name: &str) -> bool {
    ScalarFunction::find(name).is_some()
        || functions::AggregateFunction::find(name).is_some()
        || functions::WindowFunction::find(name).is_some()
        || functions::Lambda::find(name).is_some()
        || functions::composed::all().any(|composed| composed.names.contains(&name))
}
