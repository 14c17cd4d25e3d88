//! Python's values as parameters.

use base::{Error, SqlState};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use types::ops::array;
use types::ops::cast::cast_value;
use types::{Interval, SqlType, Value};

use crate::errors;
use crate::values::class;

static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DATETIME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DATE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TIME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TIMEDELTA: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The value and type of a parameter. Text adapts to what it is compared with, as string literals do.
pub fn convert(object: &Bound<'_, PyAny>) -> PyResult<(Value, SqlType)> {
    let py = object.py();
    if object.is_none() {
        return Ok((Value::Null, SqlType::Null));
    }
    if let Ok(b) = object.cast::<PyBool>() {
        return Ok((Value::Bool(b.is_true()), SqlType::Bool));
    }
    if object.is_instance_of::<PyInt>() {
        return match object.extract::<i64>() {
            Ok(i) if i32::try_from(i).is_ok() => Ok((Value::Int(i), SqlType::Integer)),
            Ok(i) => Ok((Value::Int(i), SqlType::BigInt)),
            Err(_) => decimal(py, &object.str()?.to_string()),
        };
    }
    if let Ok(f) = object.cast::<PyFloat>() {
        return Ok((Value::Float(f.value()), SqlType::Double));
    }
    if let Ok(s) = object.cast::<PyString>() {
        return Ok((Value::str(s.to_cow()?.as_ref()), SqlType::Text));
    }
    if let Ok(all) = object.cast::<PyBytes>() {
        return Ok((Value::str(types::ops::bytes::form(all.as_bytes())), SqlType::Bytea));
    }
    if let Ok(items) = object.cast::<PyList>() {
        return list(items);
    }
    if object.is_instance(&class(py, &DECIMAL, "decimal", "Decimal")?)? {
        return decimal(py, &object.call_method1("__format__", ("f",))?.to_string());
    }
    // A datetime is a date too.
    let text = |sql_type| {
        let text = object.call_method0("isoformat")?.to_string().replace('T', " ");
        let value = cast_value(&Value::str(text), SqlType::Text, sql_type).map_err(|e| errors::plain(py, &e))?;
        Ok((value, sql_type))
    };
    if object.is_instance(&class(py, &DATETIME, "datetime", "datetime")?)? {
        let is_moment = !object.call_method0("utcoffset")?.is_none();
        // pandas' times have more digits.
        if object.getattr("nanosecond").is_ok_and(|n| n.is_truthy().unwrap_or(false)) {
            return Err(nanoseconds(py));
        }
        return text(if is_moment { SqlType::Timestamptz } else { SqlType::Timestamp });
    }
    if object.is_instance(&class(py, &DATE, "datetime", "date")?)? {
        return text(SqlType::Date);
    }
    if object.is_instance(&class(py, &TIME, "datetime", "time")?)? {
        let is_zoned = !object.call_method0("utcoffset")?.is_none();
        return text(if is_zoned { SqlType::Timetz } else { SqlType::Time });
    }
    if object.is_instance(&class(py, &UUID, "uuid", "UUID")?)? {
        return Ok((Value::Uuid(object.getattr("int")?.extract()?), SqlType::Uuid));
    }
    if object.is_instance(&class(py, &TIMEDELTA, "datetime", "timedelta")?)? {
        let part = |name| object.getattr(name)?.extract::<i64>();
        let days = part("days")? as i32;
        let micros = part("seconds")? * 1_000_000 + part("microseconds")?;
        return Ok((Value::Interval(Interval { months: 0, days, micros }), SqlType::Interval));
    }
    // NumPy's times of nanoseconds would say that they are integers.
    let kind = object.getattr("dtype").and_then(|t| t.getattr("kind")?.extract::<String>()).unwrap_or_default();
    if let Some(unit) =
        [("M", "datetime64[us]"), ("m", "timedelta64[us]")].iter().find_map(|(k, u)| (*k == kind).then_some(u))
    {
        let micros = object.call_method1("astype", (*unit,))?;
        let item = micros.call_method0("item")?;
        if !item.is_none() && !micros.eq(object)? {
            return Err(nanoseconds(py));
        }
        return convert(&item);
    }
    // Other scalars of NumPy do say what they are.
    if let Ok(item) = object.call_method0("item")
        && !item.is(object)
    {
        return convert(&item);
    }
    let kind = object.get_type().name().map(|n| n.to_string()).unwrap_or_default();
    Err(PyTypeError::new_err(format!("cannot pass a {kind} as a parameter")))
}

/// A list as an array of what its items have in common; one without items is the text of an empty array.
fn list(items: &Bound<'_, PyList>) -> PyResult<(Value, SqlType)> {
    let converted = items.iter().map(|item| convert(&item)).collect::<PyResult<Vec<_>>>()?;
    let common = converted.iter().try_fold(SqlType::Null, |common, (_, t)| functions::common_type(common, *t));
    let plain = |e: Error| errors::plain(items.py(), &e);
    match common {
        Some(SqlType::Null) if converted.is_empty() => Ok((Value::str("{}"), SqlType::Text)),
        Some(common) => {
            let element = if common == SqlType::Null { SqlType::Text } else { common };
            let cast = converted.iter().map(|(value, from)| cast_value(value, *from, element));
            let values = cast.collect::<base::Result<Vec<_>>>().map_err(plain)?;
            let array = array::encode(&values, element).map_err(plain)?;
            Ok((array, SqlType::array_of(element)))
        }
        None => Err(plain(Error::new(SqlState::DATATYPE_MISMATCH, "the items of a list are of different types"))),
    }
}

#[cold]
fn nanoseconds(py: Python<'_>) -> PyErr {
    let error = Error::new(SqlState::DATETIME_OVERFLOW, "a time with nanoseconds does not fit a timestamp or interval");
    errors::plain(py, &error.hint("round it to microseconds"))
}

/// As narrow a decimal as it can be, for narrow ones are fast, or a `numeric` if it has more digits than decimals have, or none.
fn decimal(py: Python<'_>, text: &str) -> PyResult<(Value, SqlType)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('-').trim_start_matches('0').len();
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '-' || c == '.');
    let sql_type = match whole + fraction.len() {
        digits @ 0..=38 if is_plain => SqlType::decimal(digits.max(1) as u8, fraction.len() as u8),
        _ => SqlType::NUMERIC,
    };
    let value = cast_value(&Value::str(text), SqlType::Text, sql_type).map_err(|e| errors::plain(py, &e))?;
    Ok((value, sql_type))
}
