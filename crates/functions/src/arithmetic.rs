//! Types of the arithmetic operators, and the decimal rules.

use types::SqlType;

use crate::ScalarFunction;

/// How `left op right` is typed: what the operands are cast to, and the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArithmeticTypes {
    /// The left operand's type.
    pub left: SqlType,
    /// The right operand's type.
    pub right: SqlType,
    /// The result's type.
    pub result: SqlType,
}

const fn types(left: SqlType, right: SqlType, result: SqlType) -> Option<ArithmeticTypes> {
    Some(ArithmeticTypes { left, right, result })
}

/// Types of `+`, `-`, `*`, `/` and `%`; none if the operator is not defined for these operands. [`SqlType::Null`] (an
/// untyped literal) takes the other operand's type, or an interval's where a date stands.
///
/// Decimals: sums have the larger scale and one digit more; products add digits and scales (a scale beyond 38 makes them
/// doubles); quotients are `decimal(38, max(16, scales))`. The precision is capped at 38: what does not fit is an error at
/// run time.
pub fn arithmetic(op: ScalarFunction, left: SqlType, right: SqlType) -> Option<ArithmeticTypes> {
    use ScalarFunction as F;
    use SqlType::{
        BigInt, Date, Double, Integer, Interval, Null, Real, SmallInt, Time, Timestamp, Timestamptz, Timetz,
    };
    let additive = matches!(op, F::ADD | F::SUBTRACT);
    match (left, right) {
        (Null, Null) => types(Double, Double, Double),
        (Null, other) if other.is_numeric() => arithmetic(op, other, other),
        (other, Null) if other.is_numeric() => arithmetic(op, other, other),
        (Date, Null) if op == F::SUBTRACT => types(Date, Date, Integer),
        (Null, Date) if op == F::SUBTRACT => types(Date, Date, Integer),
        (Date, Null) if op == F::ADD => types(Date, Integer, Date),
        (Null, Date) if op == F::ADD => types(Integer, Date, Date),
        (Timestamp, Null) | (Null, Timestamp) if op == F::SUBTRACT => types(Timestamp, Timestamp, Interval),
        (Timestamp, Null) if additive => types(Timestamp, Interval, Timestamp),
        (Null, Timestamp) if op == F::ADD => types(Interval, Timestamp, Timestamp),
        (Timestamptz, Null) | (Null, Timestamptz) if op == F::SUBTRACT => types(Timestamptz, Timestamptz, Interval),
        (Timestamptz, Null) if additive => types(Timestamptz, Interval, Timestamptz),
        (Null, Timestamptz) if op == F::ADD => types(Interval, Timestamptz, Timestamptz),
        (Time, Null) | (Null, Time) if op == F::SUBTRACT => types(Time, Time, Interval),
        (Time, Null) if op == F::ADD => types(Time, Interval, Time),
        (Null, Time) if op == F::ADD => types(Interval, Time, Time),
        (Interval, Null) | (Null, Interval) if additive => types(Interval, Interval, Interval),

        (Date, SmallInt | Integer) if additive => types(Date, Integer, Date),
        (SmallInt | Integer, Date) if op == F::ADD => types(Integer, Date, Date),
        (Date, Date) if op == F::SUBTRACT => types(Date, Date, Integer),
        (Date, Interval) if additive => types(Date, Interval, Timestamp),
        (Interval, Date) if op == F::ADD => types(Interval, Date, Timestamp),
        (Timestamp, Interval) if additive => types(Timestamp, Interval, Timestamp),
        (Interval, Timestamp) if op == F::ADD => types(Interval, Timestamp, Timestamp),
        (Timestamp | Date, Timestamp | Date) if op == F::SUBTRACT => types(Timestamp, Timestamp, Interval),
        (Timestamptz, Interval) if additive => types(Timestamptz, Interval, Timestamptz),
        (Interval, Timestamptz) if op == F::ADD => types(Interval, Timestamptz, Timestamptz),
        (Timestamptz, Timestamp | Date | Timestamptz) | (Timestamp | Date, Timestamptz) if op == F::SUBTRACT => {
            types(Timestamptz, Timestamptz, Interval)
        }
        (Time, Interval) if additive => types(Time, Interval, Time),
        (Interval, Time) if op == F::ADD => types(Interval, Time, Time),
        (Interval, Time) if op == F::SUBTRACT => types(Interval, Interval, Interval),
        (Timetz, Interval | Null) if additive => types(Timetz, Interval, Timetz),
        (Interval | Null, Timetz) if op == F::ADD => types(Interval, Timetz, Timetz),
        (Date, Timetz) if op == F::ADD => types(Date, Timetz, Timestamptz),
        (Timetz, Date) if op == F::ADD => types(Timetz, Date, Timestamptz),
        (Time, Time) if op == F::SUBTRACT => types(Time, Time, Interval),
        (Date, Time) if additive => types(Date, if op == F::ADD { Time } else { Interval }, Timestamp),
        (Timestamp, Time) if additive => types(Timestamp, Interval, Timestamp),
        (Timestamptz, Time) if additive => types(Timestamptz, Interval, Timestamptz),
        (Time, Timestamp) if op == F::ADD => types(Interval, Timestamp, Timestamp),
        (Time, Timestamptz) if op == F::ADD => types(Interval, Timestamptz, Timestamptz),
        (Time, Date) if op == F::ADD => types(Time, Date, Timestamp),
        (Time, number) if number.is_numeric() && matches!(op, F::MULTIPLY | F::DIVIDE) => {
            types(Interval, Double, Interval)
        }
        (number, Time) if number.is_numeric() && op == F::MULTIPLY => types(Double, Interval, Interval),
        (Interval, Interval) if additive => types(Interval, Interval, Interval),
        (Interval, number) if number.is_numeric() && matches!(op, F::MULTIPLY | F::DIVIDE) => {
            types(Interval, Double, Interval)
        }
        (number, Interval) if number.is_numeric() && op == F::MULTIPLY => types(Double, Interval, Interval),

        (a, b) if !a.is_numeric() || !b.is_numeric() => None,
        (Double, _) | (_, Double) => {
            (op != F::MODULO).then_some(ArithmeticTypes { left: Double, right: Double, result: Double })
        }
        (Real, _) | (_, Real) => {
            // As in PostgreSQL, a real with anything but a real is computed in double precision.
            let common = if left == Real && right == Real { Real } else { Double };
            (op != F::MODULO).then_some(ArithmeticTypes { left: common, right: common, result: common })
        }
        (a, b) if a.is_long_numeric() || b.is_long_numeric() => {
            let scale = match (op, a.shown_scale(), b.shown_scale()) {
                (F::ADD | F::SUBTRACT | F::MODULO, a, b) => a.max(b),
                (F::MULTIPLY, a, b) => a.max(0) + b.max(0),
                _ => 0,
            };
            types(SqlType::NUMERIC, SqlType::NUMERIC, SqlType::numeric_showing(scale))
        }
        (a, b) if a.is_decimal() || b.is_decimal() => decimal(op, a.as_decimal()?, b.as_decimal()?),
        (BigInt, _) | (_, BigInt) => types(BigInt, BigInt, BigInt),
        (Integer, _) | (_, Integer) => types(Integer, Integer, Integer),
        _ => types(SmallInt, SmallInt, SmallInt),
    }
}

fn decimal(op: ScalarFunction, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> Option<ArithmeticTypes> {
    let max = SqlType::MAX_PRECISION;
    let (left, right) = (SqlType::decimal(p1, s1), SqlType::decimal(p2, s2));
    let result = match op {
        ScalarFunction::ADD | ScalarFunction::SUBTRACT => {
            let scale = s1.max(s2);
            SqlType::decimal(((p1 - s1).max(p2 - s2) + scale + 1).min(max), scale)
        }
        ScalarFunction::MULTIPLY => {
            // Digits before the point come first: what is behind it is rounded, down to 16 digits, to make room for them.
            let (whole, exact) = ((p1 - s1) + (p2 - s2), s1 + s2);
            let scale = if whole + exact <= max { exact } else { exact.min(max.saturating_sub(whole).max(16)) };
            SqlType::decimal((whole + scale).min(max), scale)
        }
        ScalarFunction::DIVIDE => SqlType::decimal(max, s1.max(s2).max(16)),
        ScalarFunction::MODULO => {
            let scale = s1.max(s2);
            SqlType::decimal(((p1 - s1).max(p2 - s2) + scale).clamp(1, max), scale)
        }
        _ => return None,
    };
    types(left, right, result)
}

/// The type of unary minus, to which its operand is cast too; none if there is none.
pub fn negate(operand: SqlType) -> Option<SqlType> {
    match operand {
        SqlType::Null => Some(SqlType::Double),
        SqlType::Interval => Some(SqlType::Interval),
        number if number.is_long_numeric() => Some(SqlType::numeric_showing(number.shown_scale())),
        number if number.is_numeric() => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarFunction as F;

    fn result(op: ScalarFunction, left: SqlType, right: SqlType) -> Option<SqlType> {
        arithmetic(op, left, right).map(|t| t.result)
    }

    #[test]
    fn decimals_follow_their_rules() {
        let d = SqlType::decimal;
        assert_eq!(result(F::ADD, d(15, 2), d(3, 1)), Some(d(16, 2)));
        assert_eq!(result(F::ADD, d(38, 2), d(38, 10)), Some(d(38, 10)));
        assert_eq!(result(F::MULTIPLY, d(15, 2), d(16, 2)), Some(d(31, 4)));
        assert_eq!(result(F::MULTIPLY, d(31, 4), d(16, 2)), Some(d(38, 6)));
        assert_eq!(result(F::MULTIPLY, d(38, 30), d(38, 30)), Some(d(38, 22)));
        assert_eq!(result(F::MULTIPLY, d(38, 16), d(38, 16)), Some(d(38, 16)));
        assert_eq!(result(F::DIVIDE, d(38, 4), d(38, 4)), Some(d(38, 16)));
        assert_eq!(result(F::MODULO, d(1, 1), d(1, 1)), Some(d(1, 1)));
        assert_eq!(result(F::MULTIPLY, SqlType::Integer, d(15, 2)), Some(d(25, 2)));
        assert_eq!(result(F::ADD, SqlType::Double, d(15, 2)), Some(SqlType::Double));
    }

    #[test]
    fn every_pair_of_types_is_symmetric_for_plus() {
        use SqlType::*;
        let all = [Null, Bool, SmallInt, Integer, BigInt, SqlType::decimal(38, 38), SqlType::decimal(1, 0)];
        let all = all.into_iter().chain([
            Real,
            Double,
            Text,
            Varchar(3),
            Char(3),
            Date,
            Timestamp,
            Timestamptz,
            Time,
            Interval,
        ]);
        let all: Vec<SqlType> = all.collect();
        for &a in &all {
            for &b in &all {
                assert_eq!(result(F::ADD, a, b), result(F::ADD, b, a), "{a} {b}");
                for op in [F::SUBTRACT, F::MULTIPLY, F::DIVIDE, F::MODULO] {
                    let _ = result(op, a, b);
                }
            }
        }
        assert_eq!(result(F::SUBTRACT, Date, Date), Some(Integer));
        assert_eq!(result(F::SUBTRACT, Date, Interval), Some(Timestamp));
        assert_eq!(result(F::DIVIDE, Integer, Integer), Some(Integer));
    }
}
