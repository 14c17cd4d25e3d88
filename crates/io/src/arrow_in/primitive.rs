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
    let values: Buffer = array.values().iter().map(|v| f(*v)).collect();
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
    let wide = |v: i128| if -limit < v && v < limit { Ok(v * factor) } else { Err(out_of_range("decimal")) };
    let small = |v: i128| Ok(wide(v)? as i64);
    Ok(match array.data_type() {
        DataType::Decimal32(..) if narrow => try_convert::<Decimal32Type, i64>(array, sql_type, |v| small(v.into()))?,
        DataType::Decimal64(..) if narrow && factor == 1 => copy::<Decimal64Type>(array, sql_type),
        DataType::Decimal64(..) if narrow => try_convert::<Decimal64Type, i64>(array, sql_type, |v| small(v.into()))?,
        DataType::Decimal128(..) if narrow => try_convert::<Decimal128Type, i64>(array, sql_type, small)?,
        DataType::Decimal256(..) if narrow => try_convert::<Decimal256Type, i64>(array, sql_type, |v| {
            small(v.to_i128().ok_or_else(|| out_of_range("decimal"))?)
        })?,
        DataType::Decimal32(..) => try_convert::<Decimal32Type, i128>(array, sql_type, |v| wide(v.into()))?,
        DataType::Decimal64(..) => try_convert::<Decimal64Type, i128>(array, sql_type, |v| wide(v.into()))?,
        DataType::Decimal128(..) => try_convert::<Decimal128Type, i128>(array, sql_type, wide)?,
        _ => try_convert::<Decimal256Type, i128>(array, sql_type, |v| {
            wide(v.to_i128().ok_or_else(|| out_of_range("decimal"))?)
        })?,
    })
}
