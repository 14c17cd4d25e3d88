//! Names of functions in the text form.

use catalog::{AggregateFunction, ScalarFunction};

use ScalarFunction::*;

const SCALAR: &[ScalarFunction] = &[
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Negate,
    Abs,
    Sign,
    Round,
    Trunc,
    Ceil,
    Floor,
    Sqrt,
    Cbrt,
    Exp,
    Ln,
    Log10,
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
    Random,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    Concat,
    Length,
    OctetLength,
    Lower,
    Upper,
    Initcap,
    TrimBoth,
    TrimLeading,
    TrimTrailing,
    Lpad,
    Rpad,
    Left,
    Right,
    Substring,
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
    Extract,
    DateTrunc,
    MakeDate,
    Age,
    ToChar,
    Greatest,
    Least,
];

const AGGREGATE: &[AggregateFunction] = {
    use AggregateFunction::*;
    &[CountStar, Count, Sum, Avg, Min, Max, StddevSamp, StddevPop, VarSamp, VarPop, BoolAnd, BoolOr, AnyValue]
};

/// `OctetLength` becomes `octet_length`.
fn snake(name: String) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

pub(super) fn scalar_name(function: ScalarFunction) -> String {
    snake(format!("{function:?}"))
}

pub(super) fn scalar(name: &str) -> Option<ScalarFunction> {
    SCALAR.iter().copied().find(|&f| scalar_name(f) == name)
}

/// The operator's sign and how tightly it binds.
pub(super) fn infix(function: ScalarFunction) -> Option<(&'static str, u8)> {
    Some(match function {
        Add => ("+", 5),
        Subtract => ("-", 5),
        Concat => ("||", 5),
        Multiply => ("*", 6),
        Divide => ("/", 6),
        Modulo => ("%", 6),
        _ => return None,
    })
}

pub(super) fn aggregate_name(function: AggregateFunction) -> String {
    snake(format!("{function:?}"))
}

pub(super) fn aggregate(name: &str) -> Option<AggregateFunction> {
    AGGREGATE.iter().copied().find(|&f| aggregate_name(f) == name)
}
