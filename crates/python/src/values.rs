//! Columns as Python's values.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyList, PyTime, PyTzInfo};
use types::ops::date::{Civil, DAY, Moment, Zone};
use types::{Column, ColumnBuilder, Interval, MapType, Physical, SqlType, StructType, Value, ops};

static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A class of a module, looked up once.
pub fn class<'py>(
    py: Python<'py>,
    place: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(place.get_or_try_init(py, || py.import(module)?.getattr(name).map(Bound::unbind))?.bind(py).clone())
}

/// Whether values of a type are Python's as they are.
pub fn is_plain(sql_type: SqlType) -> bool {
    let is_number = matches!(sql_type, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt | SqlType::Double);
    is_number || matches!(sql_type, SqlType::Bool | SqlType::Text | SqlType::Varchar(_))
}

/// A value of such a type.
pub fn plain(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any().unbind(),
        Value::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::Str(value) => (&**value).into_pyobject(py)?.into_any().unbind(),
        _ => py.None(),
    })
}

/// Rows `from..to` of a column: bool, int (also decimals without fraction), Decimal, float, str, date, datetime, time, datetime with a zone, UUID, timedelta (with months of 30 days), bytes, list, None.
pub fn objects(py: Python<'_>, column: &Column, from: usize, to: usize, zone: &Zone) -> PyResult<Vec<Py<PyAny>>> {
    let rows = from..to;
    let nulls = column.nulls();
    let is_null = |row: usize| nulls.is_some_and(|n| n[row] != 0);
    macro_rules! each {
        (|$row:ident| $value:expr) => {
            rows.map(|$row| if is_null($row) { Ok(py.None()) } else { $value }).collect()
        };
    }
    macro_rules! plain {
        ($t:ty) => {{
            let values = column.values::<$t>();
            each!(|row| Ok(values[row].into_pyobject(py)?.into_any().unbind()))
        }};
    }
    match column.sql_type() {
        SqlType::Null => Ok(rows.map(|_| py.None()).collect()),
        SqlType::Bool => {
            let values = column.values::<u8>();
            each!(|row| Ok((values[row] != 0).into_pyobject(py)?.to_owned().into_any().unbind()))
        }
        SqlType::SmallInt => plain!(i16),
        SqlType::Integer => plain!(i32),
        SqlType::BigInt => plain!(i64),
        SqlType::Real => plain!(f32),
        SqlType::Double => plain!(f64),
        SqlType::Decimal { scale: 0, .. } if column.physical() == Physical::I64 => plain!(i64),
        SqlType::Decimal { scale: 0, .. } => plain!(i128),
        SqlType::Decimal { scale, .. } => {
            let class = class(py, &DECIMAL, "decimal", "Decimal")?;
            let narrow = column.physical() == Physical::I64;
            each!(|row| {
                let value = if narrow { column.values::<i64>()[row].into() } else { column.values::<i128>()[row] };
                Ok(class.call1((ops::decimal::format(value, scale),))?.unbind())
            })
        }
        SqlType::Numeric { scale, .. } => {
            let class = class(py, &DECIMAL, "decimal", "Decimal")?;
            each!(|row| Ok(class.call1((ops::numeric::format(column.str(row), scale),))?.unbind()))
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Json | SqlType::Jsonb => {
            each!(|row| Ok(column.str(row).into_pyobject(py)?.into_any().unbind()))
        }
        SqlType::Range(_) => {
            let text = |row| ops::cast::format_value(&column.value(row), column.sql_type());
            each!(|row| Ok(text(row).into_pyobject(py)?.into_any().unbind()))
        }
        SqlType::Bytea => {
            each!(|row| Ok(PyBytes::new(py, &ops::bytes::bytes(column.str(row))).into_any().unbind()))
        }
        SqlType::Char(n) => {
            each!(|row| Ok(ops::cast::pad_char(column.str(row), n).into_pyobject(py)?.into_any().unbind()))
        }
        SqlType::Enum(of) => {
            let (values, labels) = (column.values::<i32>(), of.labels());
            each!(|row| Ok(labels.label(values[row]).into_pyobject(py)?.into_any().unbind()))
        }
        SqlType::Date => {
            let values = column.values::<i32>();
            each!(|row| date(py, values[row]))
        }
        SqlType::Timestamp => {
            let values = column.values::<i64>();
            each!(|row| timestamp(py, values[row], None))
        }
        SqlType::Timestamptz => {
            let (values, info) = (column.values::<i64>(), zone_info(py, zone)?);
            each!(|row| timestamp(py, local(values[row], zone)?, Some(&info)))
        }
        SqlType::Timetz => {
            let values = column.values::<i64>();
            each!(|row| {
                let (micros, east) = ops::date::timetz::unpack(values[row]);
                let zone = PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, east, 0, true)?)?;
                time(py, micros, Some(&zone))
            })
        }
        SqlType::Time => {
            let values = column.values::<i64>();
            each!(|row| time(py, values[row], None))
        }
        SqlType::Uuid => {
            let (values, class) = (column.values::<i128>(), class(py, &UUID, "uuid", "UUID")?);
            each!(|row| {
                let number = PyDict::new(py);
                number.set_item("int", ops::uuid::of_stored(values[row]))?;
                Ok(class.call((), Some(&number))?.unbind())
            })
        }
        SqlType::Interval => {
            let values = column.values::<Interval>();
            each!(|row| interval(py, values[row]))
        }
        SqlType::Array(&element) => each!(|row| list(py, column.str(row), element, zone)),
        SqlType::Map(of) => each!(|row| map_of(py, column.str(row), of, zone)),
        SqlType::Struct(of) => each!(|row| dict(py, column.str(row), of, zone)),
    }
}

/// An array as a list.
fn list(py: Python<'_>, array: &str, element: SqlType, zone: &Zone) -> PyResult<Py<PyAny>> {
    let mut elements = ColumnBuilder::new(element, 0);
    ops::array::Elements::new(array, element).for_each(|value| elements.push_value(&value));
    let elements = elements.finish();
    Ok(PyList::new(py, objects(py, &elements, 0, elements.rows(), zone)?)?.into_any().unbind())
}

/// A struct as a dict.
fn dict(py: Python<'_>, form: &str, of: &StructType, zone: &Zone) -> PyResult<Py<PyAny>> {
    let made = PyDict::new(py);
    for (value, field) in ops::structure::values(form, of).zip(&of.fields) {
        let mut column = ColumnBuilder::new(field.sql_type, 1);
        column.push_value(&value);
        let objects = objects(py, &column.finish(), 0, 1, zone)?;
        made.set_item(&field.name, objects.first())?;
    }
    Ok(made.into_any().unbind())
}

/// A map as a dict.
fn map_of(py: Python<'_>, form: &str, of: &MapType, zone: &Zone) -> PyResult<Py<PyAny>> {
    let (mut keys, mut values) = (ColumnBuilder::new(of.key, 0), ColumnBuilder::new(of.value, 0));
    let entries = ops::map::decoded(form, of);
    for (key, value) in &entries {
        keys.push_value(key);
        values.push_value(value);
    }
    let keys = objects(py, &keys.finish(), 0, entries.len(), zone)?;
    let values = objects(py, &values.finish(), 0, entries.len(), zone)?;
    let made = PyDict::new(py);
    keys.into_iter().zip(values).try_for_each(|(key, value)| made.set_item(key, value))?;
    Ok(made.into_any().unbind())
}

/// Python's dates end where its years do.
fn year(year: i32) -> PyResult<i32> {
    match year {
        1..=9999 => Ok(year),
        _ => Err(PyOverflowError::new_err(format!("Python has no dates in the year {year}: cast them to text"))),
    }
}

fn date(py: Python<'_>, days: i32) -> PyResult<Py<PyAny>> {
    // The last and the first one stand for what is infinite.
    match days {
        i32::MAX => return Ok(PyDate::new(py, 9999, 12, 31)?.into_any().unbind()),
        i32::MIN => return Ok(PyDate::new(py, 1, 1, 1)?.into_any().unbind()),
        _ => {}
    }
    let civil = Civil::from_days(days);
    Ok(PyDate::new(py, year(civil.year)?, civil.month as u8, civil.day as u8)?.into_any().unbind())
}

fn timestamp(py: Python<'_>, micros: i64, zone: Option<&Bound<'_, PyTzInfo>>) -> PyResult<Py<PyAny>> {
    let m = match micros {
        i64::MAX => return Ok(PyDateTime::new(py, 9999, 12, 31, 23, 59, 59, 999_999, zone)?.into_any().unbind()),
        i64::MIN => return Ok(PyDateTime::new(py, 1, 1, 1, 0, 0, 0, 0, zone)?.into_any().unbind()),
        _ => Moment::from_micros(micros),
    };
    let (month, day) = (m.date.month as u8, m.date.day as u8);
    let (hour, minute, second) = (m.hour as u8, m.minute as u8, m.second as u8);
    let value = PyDateTime::new(py, year(m.date.year)?, month, day, hour, minute, second, m.micros, zone)?;
    Ok(value.into_any().unbind())
}

/// Python's clock ends before 24:00:00.
fn time(py: Python<'_>, micros: i64, zone: Option<&Bound<'_, PyTzInfo>>) -> PyResult<Py<PyAny>> {
    if micros == DAY {
        return Err(PyOverflowError::new_err("Python has no time 24:00:00: cast it to text"));
    }
    let m = Moment::from_micros(micros);
    Ok(PyTime::new(py, m.hour as u8, m.minute as u8, m.second as u8, m.micros, zone)?.into_any().unbind())
}

fn local(moment: i64, zone: &Zone) -> PyResult<i64> {
    zone.local(moment).map_err(|e| PyOverflowError::new_err(e.to_string()))
}

/// The zone as Python has it: `datetime.timezone.utc`, or of the database of time zones; a fixed offset if that has none of
/// the name.
fn zone_info<'py>(py: Python<'py>, zone: &Zone) -> PyResult<Bound<'py, PyTzInfo>> {
    if zone.is_utc() {
        return Ok(PyTzInfo::utc(py)?.to_owned());
    }
    if let Ok(info) = py.import("zoneinfo").and_then(|m| m.getattr("ZoneInfo")?.call1((zone.name(),))) {
        return Ok(info.cast_into::<PyTzInfo>()?);
    }
    PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, zone.offset_at(0), 0, true)?)
}

fn interval(py: Python<'_>, value: Interval) -> PyResult<Py<PyAny>> {
    let micros = value.approximate_micros();
    let days = i32::try_from(micros.div_euclid(DAY.into()))
        .map_err(|_| PyOverflowError::new_err("the interval is too long"))?;
    let rest = micros.rem_euclid(DAY.into());
    let delta = PyDelta::new(py, days, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, true)?;
    Ok(delta.into_any().unbind())
}
