//! SQL's functions and operators, each defined once: the binder resolves names and types here, the constant folder and
//! the code generator implement the variants.
//!
//! [`SCALARS`] and [`AGGREGATES`] define the functions for users: names, argument types, result type, documentation.
//! [`resolve_scalar`], [`resolve_aggregate`] and [`arithmetic`] choose among them by argument types.

mod aggregate;
mod arithmetic;
mod resolve;
mod scalar;

pub use aggregate::{AGGREGATES, AggregateDefinition, find_aggregate, resolve_aggregate};
pub use arithmetic::{ArithmeticTypes, arithmetic, negate};
pub use resolve::{Overload, Parameter, ResolvedCall, ResultType, ScalarDefinition, find_scalar, resolve_scalar};
pub use scalar::SCALARS;

/// A scalar operator or function whose arguments have the types that its resolution asked for.
///
/// All of them are strict (NULL in, NULL out) unless their documentation says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)] // the SQL names say it; documentation for users is in the table
pub enum ScalarFunction {
    // Arithmetic. Integers: both arguments of the result's type. Decimals: arguments of any precision and scale, the
    // result's type says the scale. Floats: both of the result's type. Also date + integer, date - integer,
    // date - date (integer), date/timestamp +- interval (timestamp), timestamp - timestamp (interval),
    // interval +- interval, interval * double, interval / double.
    Add,
    Subtract,
    Multiply,
    /// Integers truncate; decimals round to the result's scale; zero divisor is 22012.
    Divide,
    Modulo,
    Negate,
    // Numbers
    Abs,
    Sign,
    /// One argument, or two: digits (integer). Of a decimal: any precision and scale, the result's type says the scale
    /// (so for `Trunc`, `Ceil`, `Floor`); digits beyond it do not change the value.
    Round,
    Trunc,
    Ceil,
    Floor,
    Sqrt,
    Cbrt,
    Exp,
    Ln,
    Log10,
    /// `log(b, x)`
    Log,
    Power,
    Pi,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Degrees,
    Radians,
    Gcd,
    Lcm,
    /// double in [0, 1); volatile.
    Random,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    // Strings
    /// `||`, two texts.
    Concat,
    /// `length`, in characters.
    Length,
    OctetLength,
    Lower,
    Upper,
    Initcap,
    /// text, characters
    TrimBoth,
    TrimLeading,
    TrimTrailing,
    /// text, length, fill
    Lpad,
    Rpad,
    Left,
    Right,
    /// text, start [, length]
    Substring,
    /// needle position: `strpos(haystack, needle)`; the binder swaps `position(needle in haystack)`.
    Position,
    Replace,
    Repeat,
    Reverse,
    SplitPart,
    Translate,
    StartsWith,
    EndsWith,
    Contains,
    Ascii,
    Chr,
    ToHex,
    // Dates
    /// Constant field name, then date/timestamp/interval: result decimal(20,6) for second, epoch; else bigint.
    Extract,
    /// Constant field name, then date or timestamp: timestamp.
    DateTrunc,
    MakeDate,
    Age,
    /// date/timestamp, pattern
    ToChar,
    // Several arguments of one type; NULL arguments are skipped (NULL only if all are).
    Greatest,
    Least,
}

impl ScalarFunction {
    /// Whether two calls with the same arguments may differ, so that calls are neither folded nor merged.
    pub fn is_volatile(self) -> bool {
        self == Self::Random
    }
}

/// An aggregate function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum AggregateFunction {
    /// `count(*)`: no argument, bigint.
    CountStar,
    /// `count(x)`: bigint.
    Count,
    /// smallint, integer: bigint; bigint: decimal(38,0); decimal(p,s): decimal(38,s); real: real; double: double;
    /// interval: interval. NULL for no rows.
    Sum,
    /// integers and decimals: decimal(38, max(16, scale)); floats: double; interval: interval.
    Avg,
    /// Any ordered type.
    Min,
    /// Any ordered type.
    Max,
    /// Sample standard deviation (`stddev`, `stddev_samp`): argument cast to double; double. NULL under two rows.
    StddevSamp,
    /// Population standard deviation: double.
    StddevPop,
    /// Sample variance (`variance`, `var_samp`): double. NULL under two rows.
    VarSamp,
    /// Population variance: double.
    VarPop,
    /// Conjunction of booleans.
    BoolAnd,
    /// Disjunction of booleans.
    BoolOr,
    /// Any one value, preferably the first seen that is not NULL.
    AnyValue,
}

impl AggregateFunction {
    /// Whether duplicates do not change the result, so that DISTINCT means nothing.
    pub fn ignores_duplicates(self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::BoolAnd | Self::BoolOr | Self::AnyValue)
    }
}
