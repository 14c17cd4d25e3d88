//! Choosing an overload by argument types: the cheapest implicit conversion wins, the earlier overload among equals.

use types::SqlType;

use crate::{ScalarFunction, common_type};

/// What a parameter accepts; implicit conversions go from left to right along smallint, integer, bigint, decimal, real,
/// double, from date to timestamp to timestamptz, from time to interval, and from an untyped literal to everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Parameter {
    Bool,
    SmallInt,
    Integer,
    BigInt,
    /// A decimal of any precision and scale.
    Decimal,
    /// `numeric` of any length.
    Numeric,
    Real,
    Double,
    /// `text`, `varchar(n)` or `char(n)`.
    Text,
    Date,
    Time,
    Timetz,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    /// `bytea`
    Bytea,
    /// `json`; of a text, what it is read as.
    Json,
    /// `jsonb`
    Jsonb,
    /// Anything.
    Any,
    /// An array of texts.
    Texts,
    /// An array of integers.
    Integers,
    /// An array. All arrays and elements of an overload have one type of elements.
    Array,
    /// An element of the overload's arrays, which is passed as the array of it alone, so that it may be NULL.
    Element,
    /// A range. All ranges and bounds of an overload have one type of values.
    Range,
    /// A value of the type of the overload's ranges.
    Bound,
    /// What another accepts, passed as the array of it alone, so that it may be NULL.
    OrNull(&'static Parameter),
}

impl Parameter {
    fn is_polymorphic(self) -> bool {
        matches!(self, Self::Array | Self::Element | Self::Range | Self::Bound)
    }
}

/// The default of an argument that is the name of the session's time zone.
pub const SESSION_ZONE: &str = "TimeZone";

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
    /// Texts that are appended to the arguments: `lpad(x, 3)` is `lpad(x, 3, ' ')`. [`SESSION_ZONE`] stands for the name
    /// of the session's time zone.
    pub defaults: &'static [&'static str],
    /// Type of the result.
    pub result: ResultType,
}

/// A call whose overload is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedCall {
    /// The type that each argument is cast to.
    pub arguments: Vec<SqlType>,
    /// Which arguments are passed as the array of them alone, once they are cast.
    pub alone: Vec<bool>,
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
            Self::Numeric => SqlType::numeric_showing(from.shown_scale()),
            Self::Real => SqlType::Real,
            Self::Double => SqlType::Double,
            Self::Text if from.is_string() => from,
            Self::Text => SqlType::Text,
            Self::Date => SqlType::Date,
            Self::Time => SqlType::Time,
            Self::Timetz => SqlType::Timetz,
            Self::Timestamp => SqlType::Timestamp,
            Self::Timestamptz => SqlType::Timestamptz,
            Self::Interval => SqlType::Interval,
            Self::Bytea => SqlType::Bytea,
            Self::Json => SqlType::Json,
            Self::Jsonb => SqlType::Jsonb,
            Self::Any if from == SqlType::Null => SqlType::Text,
            Self::Any => from.closed(),
            Self::Texts => SqlType::array_of(SqlType::Text),
            Self::Integers => SqlType::array_of(SqlType::Integer),
            Self::OrNull(of) => return of.accept(from),
            Self::Array | Self::Element | Self::Range | Self::Bound => return None,
            Self::Uuid => SqlType::Uuid,
        };
        if from == SqlType::Null {
            // An untyped literal is text where it can be, else a double rather than another number.
            return Some((if self == Self::Text { 0 } else { 1 + u32::from(self != Self::Double) }, to));
        }
        if from == to || from.is_open_list() && (to.is_array() || self == Self::Any) {
            return Some((0, to));
        }
        match (number_rank(from), number_rank(to)) {
            (Some(a), Some(b)) if a <= b => Some((b - a, to)),
            _ => match (from, to) {
                (SqlType::Numeric { .. }, SqlType::Numeric { .. }) => Some((0, to)),
                (exact, SqlType::Numeric { .. }) if exact.as_decimal().is_some() => Some((TO_NUMERIC, to)),
                (SqlType::Numeric { .. }, SqlType::Real | SqlType::Double) => Some((2 * TO_NUMERIC, to)),
                (SqlType::Date, SqlType::Timestamp | SqlType::Timestamptz) => Some((1, to)),
                (SqlType::Text | SqlType::Varchar(_), SqlType::Json) => Some((2, to)),
                (SqlType::Timestamp, SqlType::Timestamptz) | (SqlType::Time, SqlType::Interval) => Some((1, to)),
                _ => None,
            },
        }
    }
}

/// The cost of a `numeric` of any length where an integer or a decimal stands: more than that of a double, which is much faster. A
/// `numeric` itself stays one if it can.
const TO_NUMERIC: u32 = 10;

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

impl Overload {
    /// The cost of each argument's conversion and the type that it becomes, or none.
    fn accept(&self, arguments: &[SqlType]) -> Option<Vec<(u32, SqlType)>> {
        let pairs = || self.parameters.iter().zip(arguments);
        let element = match self.parameters.iter().find(|p| p.is_polymorphic()) {
            Some(Parameter::Range | Parameter::Bound) => {
                Some(arguments.iter().copied().find(|a| a.subtype().is_some())?)
            }
            Some(_) => Some(element_of(pairs())?),
            None => None,
        };
        let one = |(p, &a): (&Parameter, &SqlType)| {
            let to = match (p, element) {
                (Parameter::Array, Some(element)) => SqlType::array_of(element),
                (Parameter::Element, Some(element)) => element,
                (Parameter::Bound, Some(SqlType::Range(&of))) => return Some((accept_bound(a, of)?, of)),
                (Parameter::Range, Some(range)) if a == range || a == SqlType::Null => range,
                (Parameter::Range | Parameter::Bound, _) => return None,
                _ => return p.accept(a),
            };
            Some((u32::from(a != to), to))
        };
        pairs().map(one).collect()
    }
}

/// The cost of a value's conversion to what is in a range.
fn accept_bound(from: SqlType, of: SqlType) -> Option<u32> {
    let parameter = match of {
        SqlType::Integer => Parameter::Integer,
        SqlType::BigInt => Parameter::BigInt,
        SqlType::Numeric { .. } => Parameter::Numeric,
        SqlType::Date => Parameter::Date,
        SqlType::Timestamp => Parameter::Timestamp,
        _ => Parameter::Timestamptz,
    };
    parameter.accept(from).map(|(cost, _)| cost)
}

/// The common type of all elements; none if there is no array, or no such type.
fn element_of<'t>(mut pairs: impl Iterator<Item = (&'t Parameter, &'t SqlType)>) -> Option<SqlType> {
    let (mut is_open, mut is_text) = (false, false);
    let common = pairs.try_fold(SqlType::Null, |common, (p, &a)| match p {
        Parameter::Array if a == SqlType::array_of(SqlType::Null) => {
            is_open = true;
            Some(common)
        }
        Parameter::Array if a != SqlType::Null => common_type(common, a.element()?),
        Parameter::Element => {
            is_text |= a == SqlType::Null;
            common_type(common, a)
        }
        _ => Some(common),
    })?;
    match common {
        // An untyped literal that is put into a list of nothing, or looked for there, is a text.
        SqlType::Null => is_open.then_some(if is_text { SqlType::Text } else { SqlType::Integer }),
        known => Some(known.closed()),
    }
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
            let Some(accepted) = overload.accept(arguments) else { continue };
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
            let alone =
                overload.parameters.iter().map(|p| matches!(p, Parameter::Element | Parameter::OrNull(_))).collect();
            best = Some((cost, ResolvedCall { arguments, alone, defaults: overload.defaults, result }));
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
