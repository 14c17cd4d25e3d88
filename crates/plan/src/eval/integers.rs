//! Arithmetic of integers without a call.

use functions::ScalarFunction;
use types::SqlType;

/// Sums, differences and products of integers of the result's type.
pub(super) fn of_integers(
    function: ScalarFunction,
    types: &[SqlType],
    result: SqlType,
) -> Option<fn(i64, i64) -> Option<i64>> {
    fn narrow<T: TryFrom<i64>>(value: i64) -> Option<i64> {
        T::try_from(value).is_ok().then_some(value)
    }
    fn add<T: TryFrom<i64>>(a: i64, b: i64) -> Option<i64> {
        a.checked_add(b).and_then(narrow::<T>)
    }
    fn subtract<T: TryFrom<i64>>(a: i64, b: i64) -> Option<i64> {
        a.checked_sub(b).and_then(narrow::<T>)
    }
    fn multiply<T: TryFrom<i64>>(a: i64, b: i64) -> Option<i64> {
        a.checked_mul(b).and_then(narrow::<T>)
    }
    fn of<T: TryFrom<i64>>(function: ScalarFunction) -> Option<fn(i64, i64) -> Option<i64>> {
        Some(match function {
            ScalarFunction::ADD => add::<T>,
            ScalarFunction::SUBTRACT => subtract::<T>,
            ScalarFunction::MULTIPLY => multiply::<T>,
            _ => return None,
        })
    }
    if !types.iter().all(|operand| operand.is_integer()) {
        return None;
    }
    match result {
        SqlType::SmallInt => of::<i16>(function),
        SqlType::Integer => of::<i32>(function),
        SqlType::BigInt => of::<i64>(function),
        _ => None,
    }
}
