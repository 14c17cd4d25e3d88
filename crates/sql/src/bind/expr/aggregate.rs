//! Calls of aggregate functions.

use base::{Error, Result, SqlState};
use functions::AggregateFunction;
use plan::{AggregateCall, ColumnInfo, Expr};
use sqlparser::ast;
use types::SqlType;

use crate::bind::Binder;
use crate::bind::coerce::{cast_to, closed};
use crate::bind::scope::Names;
use crate::bind::scope::{Clause, Level};

impl Binder<'_> {
    /// An aggregate becomes a column of its query's aggregation (an outer query's if it reads only columns of that); equal
    /// calls share one. There is no argument of `count(*)`.
    pub(super) fn aggregate(
        &mut self,
        function: AggregateFunction,
        arguments: &[&ast::Expr],
        distinct: bool,
        filter: Option<&ast::Expr>,
        position: Option<u32>,
    ) -> Result<Expr> {
        let ((arguments, sql_type), filter) = self.inside_aggregate(position, |b| {
            let arguments = b.aggregate_arguments(function, arguments, position)?;
            Ok((arguments, b.filter_condition(filter)?))
        })?;
        let level = self.aggregate_level(arguments.iter().chain(&filter), position)?;
        // Whether a value occurs once or twice makes no difference to these.
        let distinct = distinct && !function.ignores_duplicates();
        Ok(self.push_aggregate(level, AggregateCall { function, arguments, distinct, filter, sql_type, position }))
    }

    /// Binds what an aggregate is given.
    pub(super) fn inside_aggregate<T>(
        &mut self,
        position: Option<u32>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.names.levels.is_empty() {
            return Err(Error::new(SqlState::GROUPING_ERROR, "aggregate functions are not allowed here").at(position));
        }
        let outside = std::mem::replace(&mut self.names.level().inside_aggregate, true);
        let bound = bind(self);
        self.names.level().inside_aggregate = outside;
        bound
    }

    /// The arguments of an aggregate, as the type that it wants, and the type of the result.
    pub(super) fn aggregate_arguments(
        &mut self,
        function: AggregateFunction,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<(Vec<Expr>, SqlType)> {
        let mut sql_type = SqlType::BigInt;
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let argument = closed(self.expr(argument)?);
            let (cast, result) = resolve(function, &argument, position)?;
            if bound.is_empty() {
                sql_type = result;
            }
            bound.push(cast_to(argument, cast)?);
        }
        Ok((bound, sql_type))
    }

    /// The query that an aggregate of these expressions belongs to.
    pub(super) fn aggregate_level<'e>(
        &self,
        exprs: impl Iterator<Item = &'e Expr>,
        position: Option<u32>,
    ) -> Result<usize> {
        let exprs: Vec<&Expr> = exprs.collect();
        if exprs.iter().any(|expr| self.names.reads_lambda(expr)) {
            let message = "aggregate functions cannot read the parameters of a lambda";
            return Err(Error::new(SqlState::GROUPING_ERROR, message)
                .hint("functions of lists, such as list_sum, take an array")
                .at(position));
        }
        let level = self.names.level_of_aggregate(exprs.into_iter());
        self.names.check_place(level, position)?;
        Ok(level)
    }

    /// The column of an aggregate.
    pub(super) fn push_aggregate(&mut self, level: usize, call: AggregateCall) -> Expr {
        let AggregateCall { function, sql_type, position, .. } = call;
        let known = self.names.levels[level].aggregates.iter().find(|(_, c)| same_call(c, &call)).map(|(c, _)| *c);
        let column = known.unwrap_or_else(|| {
            let name = name_of(function).to_owned();
            let column = self.plan.columns.push(ColumnInfo { name, sql_type, nullable: !function.counts() });
            self.names.levels[level].aggregates.push((column, call));
            column
        });
        Expr::column(column, sql_type).at(position)
    }
}

/// The type that an argument is cast to, and that of the result.
fn resolve(function: AggregateFunction, argument: &Expr, position: Option<u32>) -> Result<(SqlType, SqlType)> {
    let name = name_of(function);
    function.resolve(argument.sql_type).ok_or_else(|| {
        if argument.sql_type == SqlType::Null {
            let message = format!("function {name}(unknown) is not unique");
            return Error::new(SqlState::AMBIGUOUS_FUNCTION, message).hint("add an explicit cast").at(position);
        }
        let message = format!("function {name}({}) does not exist", argument.sql_type);
        Error::new(SqlState::UNDEFINED_FUNCTION, message)
            .hint("no function matches the given name and argument types; you might need explicit casts")
            .at(position)
    })
}

/// What messages call it.
pub(super) fn name_of(function: AggregateFunction) -> &'static str {
    let definition = function.definition();
    match definition.names.first() {
        Some(name) => name,
        None if function == AggregateFunction::ROWS => "count",
        None => definition.name,
    }
}

impl Names {
    /// The query that an aggregate of these expressions belongs to: the innermost whose columns they read, this one if they
    /// read none.
    fn level_of_aggregate<'e>(&self, exprs: impl Iterator<Item = &'e Expr>) -> usize {
        let mut read = Vec::new();
        exprs.for_each(|e| read.extend(e.columns()));
        let local = |level: &Level| {
            let columns = level.scope.visible.iter().chain(level.scope.relations.iter().flat_map(|r| &r.columns));
            columns.into_iter().any(|c| read.contains(&c.column))
        };
        self.levels.iter().rposition(local).unwrap_or(self.levels.len() - 1)
    }

    /// Whether an aggregate of that level may stand here.
    fn check_place(&self, level: usize, position: Option<u32>) -> Result<()> {
        let level = &self.levels[level];
        if level.inside_filter {
            let message = "aggregate functions are not allowed in FILTER";
            return Err(Error::new(SqlState::GROUPING_ERROR, message)
                .hint("compute the inner aggregate in a subquery")
                .at(position));
        }
        if level.inside_aggregate {
            let message = "aggregate function calls cannot be nested";
            return Err(Error::new(SqlState::GROUPING_ERROR, message)
                .hint("compute the inner aggregate in a subquery")
                .at(position));
        }
        let Some(clause) = level.clause.forbids_aggregates() else { return Ok(()) };
        let message = format!("aggregate functions are not allowed in {clause}");
        let error = Error::new(level.clause.state_of_misplaced(SqlState::GROUPING_ERROR), message);
        let error = match level.clause {
            Clause::Where => error.hint("conditions on aggregates go into HAVING"),
            _ => error,
        };
        Err(error.at(position))
    }

    /// The innermost query.
    pub(in crate::bind) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("inside of a query")
    }
}

fn same_call(a: &AggregateCall, b: &AggregateCall) -> bool {
    let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
    a.function == b.function
        && a.distinct == b.distinct
        && all(&a.arguments, &b.arguments)
        && all(a.filter.as_slice(), b.filter.as_slice())
}
