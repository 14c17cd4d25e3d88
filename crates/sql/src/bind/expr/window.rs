//! Calls of window functions.

use base::{Error, Result, SqlState};
use functions::window::Scope;
use functions::{AggregateFunction, WindowFunction};
use plan::{ColumnInfo, Expr, ExprKind, Frame, WindowCall};
use sqlparser::ast::{self, NullTreatment, WindowType};
use types::{SqlType, Value};

use super::call::CallParts;
use super::named::no_function;
use super::ordered_set::{OrderedSet, behind_epoch};
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, is_untyped, of_some_type, unify};
use crate::bind::window::{Windowed, check_offsets};

impl Binder<'_> {
    /// A call with OVER becomes a column of its query's windows; equal calls share one.
    pub(super) fn window_call(&mut self, call: &CallParts<'_>, over: &WindowType) -> Result<Expr> {
        let position = call.position;
        let Some(level) = self.names.levels.last() else {
            return Err(Error::new(SqlState::WINDOWING_ERROR, "window functions are not allowed here").at(position));
        };
        level.check_windows(position)?;
        let (bound, time) = self.without_windows("window function calls cannot be nested", |b| {
            if let Some(set) = OrderedSet::of(call)? {
                let parts = b.ordered_set_parts(&set, call)?;
                let time = parts.time;
                return Ok((parts.into_window(call.position), time));
            }
            Ok((b.windowed_call(call)?, None))
        })?;
        let window = self.window_of(over, position)?;
        let frame = match bound.function.scope() {
            Scope::Partition if bound.order.is_empty() => Frame::whole(),
            _ => window.frame(),
        };
        check_offsets(window.frame.as_ref())?;
        let (function, sql_type) = (bound.function, bound.sql_type);
        let call = WindowCall { frame, ..bound };
        let known = self.names.level().windows.iter().find(|w| w.is(&call, &window)).map(|w| w.column);
        let column = known.unwrap_or_else(|| {
            let info = ColumnInfo { name: function.name().to_owned(), sql_type, nullable: !function.is_never_null() };
            let column = self.plan.columns.push(info);
            if function == WindowFunction::RowNumber {
                self.arguments.row_numbers.insert(column);
            }
            self.names.level().windows.push(Windowed { column, call, window });
            column
        });
        behind_epoch(Expr::column(column, sql_type).at(position), time)
    }

    /// Binds what no window function may stand in.
    fn without_windows<T>(&mut self, reason: &'static str, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outside = self.names.level().without_windows.replace(reason);
        let bound = bind(self);
        self.names.level().without_windows = outside;
        bound
    }

    /// The condition of a FILTER.
    pub(super) fn filter_condition(&mut self, filter: Option<&ast::Expr>) -> Result<Option<Expr>> {
        let Some(filter) = filter else { return Ok(None) };
        let outside = std::mem::replace(&mut self.names.level().inside_filter, true);
        let bound =
            self.without_windows("window functions are not allowed in FILTER", |b| b.condition(filter, "FILTER"));
        self.names.level().inside_filter = outside;
        bound.map(Some)
    }

    /// The call itself: its window is not looked at.
    fn windowed_call(&mut self, call: &CallParts<'_>) -> Result<WindowCall> {
        let aggregate = call.aggregate()?;
        let function = match (aggregate, WindowFunction::find(&call.name)) {
            (Some(aggregate), _) => WindowFunction::Aggregate(aggregate),
            (None, Some(function)) => function,
            (None, None) => return Err(self.no_window_function(call)),
        };
        check_within_group(call, function)?;
        let mut bound = match aggregate {
            Some(aggregate) => self.window_aggregate(aggregate, call)?,
            None if matches!(function, WindowFunction::StringAgg | WindowFunction::ArrayAgg) => {
                self.joined_parts(function, call)?.guarded().0
            }
            None => self.window_function(function, call)?,
        };
        check_clauses(call, function)?;
        let order = self.inner_order(call.order)?;
        // An aggregate does not care.
        if !is_aggregate(function) {
            bound.order = order;
        }
        bound.ignore_nulls = call.null_treatment == Some(NullTreatment::IgnoreNulls);
        Ok(bound)
    }

    fn window_aggregate(&mut self, function: AggregateFunction, call: &CallParts<'_>) -> Result<WindowCall> {
        if call.arguments.len() != function.definition().arguments {
            return Err(self.wrong_arguments(call));
        }
        let (mut arguments, sql_type) = self.aggregate_arguments(function, &call.arguments, call.position)?;
        let mut filter = self.filter_condition(call.filter)?;
        // Rows that the filter leaves out must not fail.
        let is_plain = |e: &Expr| matches!(e.kind, ExprKind::Column(_) | ExprKind::Const(_));
        if let Some(filter) = filter.take_if(|_| !arguments.iter().all(is_plain)) {
            arguments = arguments.into_iter().map(|value| where_true(filter.clone(), value)).collect();
        }
        let distinct = call.distinct && !function.ignores_duplicates();
        let function = WindowFunction::Aggregate(function);
        Ok(WindowCall { distinct, filter, ..new_call(function, arguments, sql_type, call.position) })
    }

    /// A call of a function that is no aggregate, and not WITHIN GROUP.
    pub(super) fn window_function(&mut self, function: WindowFunction, call: &CallParts<'_>) -> Result<WindowCall> {
        use WindowFunction as F;
        if is_hypothetical(function) && !call.arguments.is_empty() {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {}", call.name);
            return Err(call.wrong(message));
        }
        let (least, most) = function.definition().map_or((0, 0), |d| d.arguments);
        if !(least..=most).contains(&call.arguments.len()) {
            return Err(self.wrong_arguments(call));
        }
        let mut arguments = call.arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        // The argument that is a number.
        let number = match function {
            F::Ntile => Some(0),
            F::Lead | F::Lag | F::NthValue => Some(1),
            _ => None,
        };
        if matches!(function, F::Lead | F::Lag) && arguments.len() == 1 {
            arguments.push(Expr::constant(Value::Int(1), SqlType::BigInt));
        }
        if let Some(number) = number.and_then(|n| arguments.get_mut(n)) {
            let value = std::mem::replace(number, Expr::bool(true));
            if !value.sql_type.is_integer() && !is_untyped(&value) {
                return Err(self.wrong_arguments(call));
            }
            *number = cast_to(value, SqlType::BigInt)?;
        }
        if let (F::Lead | F::Lag, [_, _, _]) = (function, arguments.as_slice()) {
            let default = arguments.remove(2);
            let value = arguments.remove(0);
            let (both, _) = unify(vec![value, default], &call.name).map_err(|error| match error.state() {
                SqlState::DATATYPE_MISMATCH => self.wrong_arguments(call),
                _ => error,
            })?;
            arguments.splice(0..0, both);
            arguments.swap(1, 2);
        }
        let sql_type = match function {
            F::Lead | F::Lag | F::FirstValue | F::LastValue | F::NthValue => {
                let value = of_some_type(arguments.remove(0), call.position)?;
                arguments.insert(0, value);
                arguments[0].sql_type
            }
            F::PercentRank | F::CumeDist => SqlType::Double,
            F::Ntile => SqlType::Integer,
            _ => SqlType::BigInt,
        };
        Ok(new_call(function, arguments, sql_type, call.position))
    }

    /// 42809 for a function that takes no window, 42883 for one that does not exist.
    fn no_window_function(&mut self, call: &CallParts<'_>) -> Error {
        match self.call_by_name(&call.name, &call.arguments, call.position) {
            Ok(_) => {
                let message =
                    format!("OVER specified, but {} is not a window function nor an aggregate function", call.name);
                Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(call.position)
            }
            Err(error) => error,
        }
    }

    pub(super) fn wrong_arguments(&mut self, call: &CallParts<'_>) -> Error {
        let types: Vec<SqlType> = call.arguments.iter().filter_map(|a| self.expr(a).ok()).map(|e| e.sql_type).collect();
        no_function(&call.name, &types).at(call.position)
    }
}

/// A call over no window yet.
pub(in crate::bind) fn new_call(
    function: WindowFunction,
    arguments: Vec<Expr>,
    sql_type: SqlType,
    position: Option<u32>,
) -> WindowCall {
    WindowCall {
        function,
        arguments,
        distinct: false,
        filter: None,
        ignore_nulls: false,
        order: Vec::new(),
        partition: 0,
        peers: 0,
        frame: Frame::whole(),
        sql_type,
        position,
    }
}

/// `CASE WHEN condition THEN value END`
pub(in crate::bind) fn where_true(condition: Expr, value: Expr) -> Expr {
    let (sql_type, position) = (value.sql_type, value.position);
    let otherwise = Box::new(Expr::constant(Value::Null, sql_type));
    Expr::new(ExprKind::Case { branches: vec![(condition, value)], otherwise }, sql_type).at(position)
}

/// Whether it is an aggregate, which can have a FILTER.
fn is_aggregate(function: WindowFunction) -> bool {
    matches!(function, WindowFunction::Aggregate(_) | WindowFunction::StringAgg | WindowFunction::ArrayAgg)
}

/// Whether it is a hypothetical-set aggregate WITHIN GROUP.
fn is_hypothetical(function: WindowFunction) -> bool {
    use WindowFunction as F;
    matches!(function, F::Rank | F::DenseRank | F::PercentRank | F::CumeDist)
}

fn check_within_group(call: &CallParts<'_>, function: WindowFunction) -> Result<()> {
    let name = &call.name;
    if call.within_group.is_empty() {
        return Ok(());
    }
    Err(match is_hypothetical(function) {
        true => Error::unsupported(format!("OVER for ordered-set aggregate {name}")).at(call.position),
        false => call.wrong(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")),
    })
}

/// Refuses clauses that the function does not take.
fn check_clauses(call: &CallParts<'_>, function: WindowFunction) -> Result<()> {
    use WindowFunction as F;
    let joined = matches!(function, F::StringAgg | F::ArrayAgg);
    let is_aggregate = is_aggregate(function);
    let takes_nulls = matches!(function, F::Lead | F::Lag | F::FirstValue | F::LastValue | F::NthValue);
    let message = if call.distinct && !is_aggregate {
        "DISTINCT is only implemented for aggregates as window functions".to_owned()
    } else if joined && (call.distinct || !call.order.is_empty()) {
        format!("DISTINCT and ORDER BY are not implemented for {} as a window function", call.name)
    } else if call.filter.is_some() && !is_aggregate {
        "FILTER is not implemented for non-aggregate window functions".to_owned()
    } else if call.null_treatment.is_some() && !takes_nulls {
        format!("function {} does not allow RESPECT/IGNORE NULLS", call.name)
    } else {
        return Ok(());
    };
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(call.position))
}
