//! Choosing an overload by argument types: the cheapest implicit conversion wins, the earlier overload among equals.

use types::SqlType;

use crate::ScalarFunction;

/// What a parameter accepts; implicit conversions go from left to right along smallint, integer, bigint, decimal, real,
/// double, from date to timestamp, and from an untyped literal to everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Parameter {
    Bool,
    SmallInt,
    Integer,
    BigInt,
    /// A decimal of any precision and scale.
    Decimal,
    Real,
    Double,
    /// `text`, `varchar(n)` or `char(n)`.
    Text,
    Date,
    Timestamp,
    Interval,
}

/// The type of a call's result.
#[derive(Clone, Copy, Debug)]
pub enum ResultType {
    /// Always this type.
    Fixed(SqlType),
    /// The type of the first argument after its conversion.
    First,
    /// From the converted arguments' types and the values of those that are integer constants.
    Rule(fn(&[SqlType], &[Option<i64>]) -> SqlType),
}

/// One way to call a function.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    /// Types of the arguments that the user writes.
    pub parameters: &'static [Parameter],
    /// Texts that are appended to the arguments: `lpad(x, 3)` is `lpad(x, 3, ' ')`.
    pub defaults: &'static [&'static str],
    /// Type of the result.
    pub result: ResultType,
}

/// A call whose overload is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedCall {
    /// The type that each argument is cast to.
    pub arguments: Vec<SqlType>,
    /// Text constants to append to the arguments.
    pub defaults: &'static [&'static str],
    /// Type of the result.
    pub result: SqlType,
}

impl Parameter {
    /// The cost of converting a value of type `from` implicitly and the type that it becomes, or none.
    fn accept(self, from: SqlType) -> Option<(u32, SqlType)> {
        let to = match self {
            Self::Bool => SqlType::Bool,
            Self::SmallInt => SqlType::SmallInt,
            Self::Integer => SqlType::Integer,
            Self::BigInt => SqlType::BigInt,
            Self::Decimal => match from.as_decimal() {
                Some((precision, scale)) => SqlType::decimal(precision, scale),
                None => SqlType::decimal(38, 10),
            },
            Self::Real => SqlType::Real,
            Self::Double => SqlType::Double,
            Self::Text if from.is_string() => from,
            Self::Text => SqlType::Text,
            Self::Date => SqlType::Date,
            Self::Timestamp => SqlType::Timestamp,
            Self::Interval => SqlType::Interval,
        };
        if from == SqlType::Null {
            // An untyped literal is text where it can be, else a double rather than another number.
            return Some((if self == Self::Text { 0 } else { 1 + u32::from(self != Self::Double) }, to));
        }
        if from == to {
            return Some((0, to));
        }
        match (number_rank(from), number_rank(to)) {
            (Some(a), Some(b)) if a <= b => Some((b - a, to)),
            _ if from == SqlType::Date && to == SqlType::Timestamp => Some((1, to)),
            _ => None,
        }
    }
}

fn number_rank(sql_type: SqlType) -> Option<u32> {
    Some(match sql_type {
        SqlType::SmallInt => 0,
        SqlType::Integer => 1,
        SqlType::BigInt => 2,
        SqlType::Decimal { .. } => 3,
        SqlType::Real => 4,
        SqlType::Double => 5,
        _ => return None,
    })
}

impl ScalarFunction {
    /// Chooses the overload for `arguments` ([`SqlType::Null`] stands for an untyped literal); `constants` has the values
    /// of those arguments that are integer constants.
    pub fn resolve(self, arguments: &[SqlType], constants: &[Option<i64>]) -> Option<ResolvedCall> {
        let mut best: Option<(u32, ResolvedCall)> = None;
        for overload in self.definition().overloads {
            if overload.parameters.len() != arguments.len() {
                continue;
            }
            let accepted: Option<Vec<(u32, SqlType)>> =
                overload.parameters.iter().zip(arguments).map(|(p, &a)| p.accept(a)).collect();
            let Some(accepted) = accepted else { continue };
            let cost = accepted.iter().map(|(c, _)| c).sum();
            if best.as_ref().is_some_and(|(c, _)| *c <= cost) {
                continue;
            }
            let arguments: Vec<SqlType> = accepted.into_iter().map(|(_, t)| t).collect();
            let result = match overload.result {
                ResultType::Fixed(t) => t,
                ResultType::First => arguments[0],
                ResultType::Rule(rule) => rule(&arguments, constants),
            };
            best = Some((cost, ResolvedCall { arguments, defaults: overload.defaults, result }));
        }
        best.map(|(_, call)| call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str, arguments: &[SqlType]) -> Option<SqlType> {
        let call = ScalarFunction::find(name)?.resolve(arguments, &vec![None; arguments.len()])?;
        assert_eq!(call.arguments.len(), arguments.len());
        Some(call.result)
    }

    #[test]
    fn overloads_are_chosen_by_cost() {
        use SqlType::*;
        assert_eq!(resolve("abs", &[SmallInt]), Some(SmallInt));
        assert_eq!(resolve("abs", &[SqlType::decimal(9, 2)]), Some(SqlType::decimal(9, 2)));
        assert_eq!(resolve("sqrt", &[Integer]), Some(Double));
        assert_eq!(resolve("length", &[Varchar(3)]), Some(Integer));
        assert_eq!(resolve("length", &[Null]), Some(Integer));
        assert_eq!(resolve("length", &[Integer]), None);
        assert_eq!(resolve("length", &[]), None);
        assert_eq!(resolve("date_trunc", &[Null, Date]), Some(Timestamp));
    }
}
