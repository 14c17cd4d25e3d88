//! Calls of aggregate functions.

use base::{Error, Result, SqlState};
use functions::AggregateFunction;
use plan::{AggregateCall, ColumnInfo, Expr};
use sqlparser::ast;
use types::SqlType;

use crate::bind::scope::{Clause, Level};
use crate::bind::{Binder, unsupported};

impl Binder<'_> {
    /// An aggregate becomes a column of its query's aggregation; equal calls share one. `argument` is none for `count(*)`.
    pub(super) fn aggregate(
        &mut self,
        function: AggregateFunction,
        argument: Option<&ast::Expr>,
        distinct: bool,
        filter: Option<&ast::Expr>,
        position: Option<u32>,
    ) -> Result<Expr> {
        let name = function.definition().names.first().unwrap_or(&"count");
        let Some(level) = self.levels.last() else {
            return Err(Error::new(SqlState::GROUPING_ERROR, "aggregate functions are not allowed here").at(position));
        };
        if level.inside_aggregate {
            let message = "aggregate function calls cannot be nested";
            return Err(Error::new(SqlState::GROUPING_ERROR, message)
                .hint("compute the inner aggregate in a subquery")
                .at(position));
        }
        if let Some(clause) = level.clause.forbids_aggregates() {
            let error =
                Error::new(SqlState::GROUPING_ERROR, format!("aggregate functions are not allowed in {clause}"));
            let error = if level.clause == Clause::Where {
                error.hint("conditions on aggregates go into HAVING")
            } else {
                error
            };
            return Err(error.at(position));
        }
        let bind = |b: &mut Self| -> Result<(Option<Expr>, Option<Expr>)> {
            let argument = argument.map(|a| b.expr(a)).transpose()?;
            let filter = filter.map(|f| b.condition(f, "FILTER")).transpose()?;
            Ok((argument, filter))
        };
        self.level().inside_aggregate = true;
        let bound = bind(self);
        self.level().inside_aggregate = false;
        let (argument, filter) = bound?;
        let (argument, sql_type) = match argument {
            Some(argument) => {
                let Some((cast, result)) = function.resolve(argument.sql_type) else {
                    let message = format!("function {name}({}) does not exist", argument.sql_type);
                    return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
                        .hint("no function matches the given name and argument types; you might need explicit casts")
                        .at(position));
                };
                (Some(self.cast_to(argument, cast)?), result)
            }
            None => (None, SqlType::BigInt),
        };
        self.check_level(argument.as_ref(), position)?;
        // Whether a value occurs once or twice makes no difference to these.
        let distinct = distinct && !function.ignores_duplicates();
        let call = AggregateCall { function, argument, distinct, filter, sql_type, position };
        if let Some((column, _)) = self.level().aggregates.iter().find(|(_, c)| same_call(c, &call)) {
            let column = *column;
            return Ok(Expr::column(column, sql_type).at(position));
        }
        let column = self.columns.push(ColumnInfo { name: (*name).to_owned(), sql_type, nullable: !function.counts() });
        self.level().aggregates.push((column, call));
        Ok(Expr::column(column, sql_type).at(position))
    }

    /// An aggregate over nothing but outer columns belongs to the outer query in SQL; that is not supported.
    fn check_level(&self, argument: Option<&Expr>, position: Option<u32>) -> Result<()> {
        let Some(argument) = argument else { return Ok(()) };
        let columns = argument.columns();
        let local = |level: &Level, c| {
            level
                .scope
                .visible
                .iter()
                .chain(level.scope.relations.iter().flat_map(|r| &r.columns))
                .any(|s| s.column == c)
        };
        let Some((last, outer)) = self.levels.split_last() else { return Ok(()) };
        let is_outer = |&c: &plan::ColumnId| !local(last, c) && outer.iter().any(|l| local(l, c));
        if !columns.is_empty() && columns.iter().all(is_outer) {
            return unsupported("an aggregate of an outer query's columns inside of a subquery", position);
        }
        Ok(())
    }

    /// The innermost query.
    pub(in crate::bind) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("inside of a query")
    }
}

fn same_call(a: &AggregateCall, b: &AggregateCall) -> bool {
    let same = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.same(b),
        _ => false,
    };
    a.function == b.function && a.distinct == b.distinct && same(&a.argument, &b.argument) && same(&a.filter, &b.filter)
}
