//! `generate_series(start, stop, step)` and `range` in FROM.

use base::{Error, Result, SqlState};
use plan::{Expr, Op, eval};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};
use types::{SqlType, Value};

use super::coerce::{cast_to, common_type_of};
use super::from::FromItem;
use super::scope::{Clause, Level};
use super::{Binder, fold, unsupported, zone};
use crate::{Series, SeriesBounds};

impl Binder<'_> {
    /// The series that the call means; `function` is its name.
    pub(super) fn series(
        &mut self,
        function: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let mut bound = self.series_arguments(function, arguments)?;
        let is_range = function == "range";
        if is_range && bound.len() == 1 {
            bound.insert(0, Expr::constant(Value::Int(0), SqlType::Integer));
        }
        let types: Vec<SqlType> = bound.iter().map(|a| a.sql_type).collect();
        let (mut sql_type, step_type) = series_types(function, &bound).map_err(|e| e.at(position))?;
        if is_range && sql_type == SqlType::Integer {
            sql_type = SqlType::BigInt;
        }
        if types.len() == 2 {
            bound.push(Expr::constant(Value::Int(1), SqlType::Integer));
        }
        let step_type = step_type.unwrap_or(sql_type);
        let mut values = Vec::with_capacity(3);
        for (argument, to) in bound.into_iter().zip([sql_type, sql_type, step_type]) {
            values.push(eval::constant(&cast_to(argument, to)?)?);
        }
        let bounds = match <[Value; 3]>::try_from(values) {
            Ok(values) if values.iter().any(Value::is_null) => None,
            Ok([start, stop, step]) => Some(SeriesBounds { start, stop, step, has_stop: !is_range }),
            Err(_) => return Err(Error::internal("a series has a start, a stop and a step")),
        };
        let descends = bounds.as_ref().is_some_and(|of| of.start.total_cmp(&of.stop).is_gt());
        // The name of the table, if it has another one, is the column's as well.
        let column = alias.map_or_else(|| function.to_owned(), |alias| fold(&alias.name));
        let series =
            Series { function: function.to_owned(), column, sql_type, bounds, ordinality, zone: zone::session() };
        let table = self.resolver.series(series).map_err(|e| e.at(position))?;
        let item = self.scan(table, None, alias)?;
        if let Op::Scan { table, columns, .. } = &item.node.op
            && let Some((_, value)) = columns.first()
        {
            self.plan.series.insert(*table, (*value, descends));
        }
        Ok(item)
    }

    /// The arguments, all of them constants.
    fn series_arguments(&mut self, function: &str, arguments: &[FunctionArg]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else {
                return Err(no_such_function(function, &[]).hint("it takes a start, a stop and a step"));
            };
            bound.push(self.constant_expression(expr, &format!("an argument of {function}"))?);
        }
        Ok(bound)
    }

    /// An expression that can be computed while the statement is bound.
    fn constant_expression(&mut self, expr: &ast::Expr, what: &str) -> Result<Expr> {
        self.names.levels.push(Level::new(Clause::From));
        let bound = self.expr(expr);
        self.names.levels.pop();
        let bound = bound?;
        if bound.is_volatile() || bound.has_subquery() || bound.uses(|_| true) {
            return unsupported(format!("anything but a constant as {what}"), self.text.start(expr));
        }
        Ok(bound)
    }
}

/// The type of a series with these bounds and, if it is another one, the type of its step.
pub(super) fn series_types(function: &str, arguments: &[Expr]) -> Result<(SqlType, Option<SqlType>)> {
    let types: Vec<SqlType> = arguments.iter().map(|a| a.sql_type).collect();
    let is_unknown = |t: &SqlType| *t == SqlType::Null;
    if !(2..=3).contains(&types.len()) {
        return Err(no_such_function(function, &types));
    }
    if types.iter().all(is_unknown) {
        let message = format!("function {} is not unique", signature(function, &types));
        return Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).hint("add explicit type casts"));
    }
    let is_time = |t: &SqlType| is_unknown(t) || matches!(t, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
    if let [start, stop, step] = types[..]
        && is_time(&start)
        && is_time(&stop)
        && matches!(step, SqlType::Interval | SqlType::Null)
    {
        let is_moment = start == SqlType::Timestamptz || stop == SqlType::Timestamptz;
        let sql_type = if is_moment { SqlType::Timestamptz } else { SqlType::Timestamp };
        return Ok((sql_type, Some(SqlType::Interval)));
    }
    let refs: Vec<&Expr> = arguments.iter().collect();
    let is_exact = |t: &SqlType| is_unknown(t) || t.is_integer() || t.is_decimal() || t.is_long_numeric();
    match common_type_of(&refs) {
        Some(SqlType::SmallInt) => Ok((SqlType::Integer, None)),
        Some(common) if types.iter().all(is_exact) => Ok((common, None)),
        _ => Err(no_such_function(function, &types)),
    }
}

fn no_such_function(function: &str, types: &[SqlType]) -> Error {
    let message = format!("function {} does not exist", signature(function, types));
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
        .hint("a series is one of integers, of decimals, or of timestamps with an interval as its step")
}

fn signature(function: &str, types: &[SqlType]) -> String {
    let types: Vec<String> = types.iter().map(SqlType::to_string).collect();
    format!("{function}({})", types.join(", "))
}
