//! Fixed-width values in.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use base::{Error, Result};
use types::column::Plain;
use types::{Buffer, Column, Physical, SqlType};

use super::{finish, out_of_range};

/// Values whose layout is the column's own: one copy.
pub fn copy<A: ArrowPrimitiveType>(array: &dyn Array, sql_type: SqlType) -> Column {
    let array: &PrimitiveArray<A> = array.as_primitive();
    assert_eq!(size_of::<A::Native>(), sql_type.physical().size());
    let bytes = array.values().inner().as_slice();
    let mut values = Buffer::with_capacity(bytes.len());
    values.extend(bytes);
    finish(sql_type, array.len(), values, array.nulls())
}

/// Values converted one by one. NULL rows are converted as well, whatever they hold.
pub fn convert<A: ArrowPrimitiveType, T: Plain>(
    array: &dyn Array,
    sql_type: SqlType,
    f: impl Fn(A::Native) -> T,
) -> Column {
    let array: &PrimitiveArray<A> = array.as_primitive();
    let from = array.values();
    let mut values = Buffer::with_capacity(from.len() * size_of::<T>());
    values.extend_with(from.len(), |row| f(from[row]));
    finish(sql_type, array.len(), values, array.nulls())
}

/// Values converted one by one where that can fail; NULL rows never do.
pub fn try_convert<A: ArrowPrimitiveType, T: Plain>(
    array: &dyn Array,
    sql_type: SqlType,
    f: impl Fn(A::Native) -> Result<T>,
) -> Result<Column> {
    let array: &PrimitiveArray<A> = array.as_primitive();
    let mut values = Buffer::with_capacity(array.len() * size_of::<T>());
    for (row, value) in array.values().iter().enumerate() {
        let value = if array.is_null(row) { A::Native::usize_as(0) } else { *value };
        values.push(f(value)?);
    }
    Ok(finish(sql_type, array.len(), values, array.nulls()))
}

/// Decimals of any backing, to 64 bits up to 18 digits and to 128 beyond.
pub fn decimal(array: &dyn Array, sql_type: SqlType) -> Result<Column> {
    let narrow = sql_type.physical() == Physical::I64;
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale)) = array.data_type()
    else {
        return Err(Error::internal("not a decimal"));
    };
    let limit = 10i128.pow(u32::from(*precision).min(38));
    // A negative scale counts tens, hundreds and so on, which SQL's types do not have.
    let factor = 10i128.pow(u32::from(scale.min(&0).unsigned_abs()));
    let fits = |v: i128| -limit < v && v < limit;
    let wide = |v: i128| v.wrapping_mul(factor);
    // What fits has at most 18 digits here.
    let (least, most, small) = (-limit as i64, limit as i64, |v: i64| v.wrapping_mul(factor as i64));
    match array.data_type() {
        DataType::Decimal32(..) if narrow => {
            convert_fitting::<Decimal32Type, i64>(array, sql_type, |v| fits(v.into()), |v| small(v.into()))
        }
        DataType::Decimal64(..) if narrow => {
            convert_fitting::<Decimal64Type, i64>(array, sql_type, |v| least < v && v < most, small)
        }
        DataType::Decimal128(..) if narrow => {
            convert_fitting::<Decimal128Type, i64>(array, sql_type, fits, |v| small(v as i64))
        }
        DataType::Decimal256(..) if narrow => convert_fitting::<Decimal256Type, i64>(
            array,
            sql_type,
            |v| v.to_i128().is_some_and(fits),
            |v| small(v.as_i128() as i64),
        ),
        DataType::Decimal32(..) => {
            convert_fitting::<Decimal32Type, i128>(array, sql_type, |v| fits(v.into()), |v| wide(v.into()))
        }
        DataType::Decimal64(..) => {
            convert_fitting::<Decimal64Type, i128>(array, sql_type, |v| fits(v.into()), |v| wide(v.into()))
        }
        DataType::Decimal128(..) => convert_fitting::<Decimal128Type, i128>(array, sql_type, fits, wide),
        _ => convert_fitting::<Decimal256Type, i128>(
            array,
            sql_type,
            |v| v.to_i128().is_some_and(fits),
            |v| wide(v.as_i128()),
        ),
    }
}

/// Decimals converted one by one, all of which but those of NULL rows must fit: looked at first, so that the conversion has
/// no way out.
fn convert_fitting<A: ArrowPrimitiveType, T: Plain>(
    array: &dyn Array,
    sql_type: SqlType,
    fits: impl Fn(A::Native) -> bool,
    f: impl Fn(A::Native) -> T,
) -> Result<Column> {
    let values = array.as_primitive::<A>().values();
    let all_fit = values.iter().fold(true, |all, v| all & fits(*v));
    if !all_fit && (0..array.len()).any(|row| array.is_valid(row) && !fits(values[row])) {
        return Err(out_of_range("decimal"));
    }
    Ok(convert::<A, T>(array, sql_type, f))
}
