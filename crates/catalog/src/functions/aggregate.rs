//! The aggregate functions as users know them.

use types::SqlType;

use super::AggregateFunction;

/// An aggregate function as users know it.
#[derive(Clone, Copy, Debug)]
pub struct AggregateDefinition {
    /// Name and aliases, in lower case.
    pub names: &'static [&'static str],
    /// What runs.
    pub function: AggregateFunction,
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call.
    pub example: &'static str,
}

const fn define(
    names: &'static [&'static str],
    function: AggregateFunction,
    documentation: &'static str,
    example: &'static str,
) -> AggregateDefinition {
    AggregateDefinition { names, function, documentation, example }
}

/// Every aggregate function; `count(*)` is the grammar's.
pub const AGGREGATES: &[AggregateDefinition] = &[
    define(&["count"], AggregateFunction::Count, "Number of rows whose argument is not NULL.", "count(x)"),
    define(&["sum"], AggregateFunction::Sum, "Sum of the values; NULL if there is none.", "sum(x)"),
    define(&["avg", "mean"], AggregateFunction::Avg, "Average of the values; NULL if there is none.", "avg(x)"),
    define(&["min"], AggregateFunction::Min, "The least value.", "min(x)"),
    define(&["max"], AggregateFunction::Max, "The greatest value.", "max(x)"),
    define(&["stddev", "stddev_samp"], AggregateFunction::StddevSamp, "Sample standard deviation.", "stddev(x)"),
    define(&["stddev_pop"], AggregateFunction::StddevPop, "Population standard deviation.", "stddev_pop(x)"),
    define(&["variance", "var_samp"], AggregateFunction::VarSamp, "Sample variance.", "variance(x)"),
    define(&["var_pop"], AggregateFunction::VarPop, "Population variance.", "var_pop(x)"),
    define(&["bool_and", "every"], AggregateFunction::BoolAnd, "Whether all values are true.", "bool_and(x > 0)"),
    define(&["bool_or"], AggregateFunction::BoolOr, "Whether some value is true.", "bool_or(x > 0)"),
    define(&["any_value"], AggregateFunction::AnyValue, "Some value that is not NULL.", "any_value(x)"),
];

/// The aggregate function of that (lower-case) name.
pub fn find_aggregate(name: &str) -> Option<&'static AggregateDefinition> {
    AGGREGATES.iter().find(|d| d.names.contains(&name))
}

/// The type that the argument is cast to and the type of the result, or none if the function does not take the type.
pub fn resolve_aggregate(function: AggregateFunction, argument: SqlType) -> Option<(SqlType, SqlType)> {
    use AggregateFunction::*;
    use SqlType::{BigInt, Bool, Decimal, Double, Integer, Interval, Null, Real, SmallInt, Text};
    Some(match (function, argument) {
        (CountStar, _) => return None,
        (Count, Null) => (Text, BigInt),
        (Count, t) => (t, BigInt),
        (Min | Max | AnyValue, Null) => (Text, Text),
        (Min | Max, Bool) => return None,
        (Min | Max | AnyValue, t) => (t, t),
        (BoolAnd | BoolOr, Null | Bool) => (Bool, Bool),
        (Sum, SmallInt | Integer) => (argument, BigInt),
        (Sum, BigInt) => (BigInt, SqlType::decimal(38, 0)),
        (Sum, Decimal { scale, .. }) => (argument, SqlType::decimal(38, scale)),
        (Sum, Real | Double | Interval) => (argument, argument),
        (Sum | Avg, Null) => (Double, Double),
        (Avg, SmallInt | Integer | BigInt) => (argument, SqlType::decimal(38, 16)),
        (Avg, Decimal { scale, .. }) => (argument, SqlType::decimal(38, scale.max(16))),
        (Avg, Real | Double) => (argument, Double),
        (Avg, Interval) => (Interval, Interval),
        (StddevSamp | StddevPop | VarSamp | VarPop, t) if t.is_numeric() || t == Null => (Double, Double),
        _ => return None,
    })
}
