//! Functions of dates, timestamps and intervals.

use base::Result;
use types::ops::date::{self, DateOrder, Field, Zone};
use types::ops::{decimal, error, number};
use types::{SqlType, Value};

use super::call::whole;
use super::{Call, Scalar, Typed, in_session, over, text};
use crate::Parameter::{BigInt, Date, Decimal, Double, Integer, Interval, Text, Time, Timestamp, Timestamptz, Timetz};

pub(super) const ROWS: &[Scalar] = &[
    // The field is a constant; the binder makes the result decimal(20,6) for second and epoch, decimal(20,3) for milliseconds.
    Scalar::new(
        "extract",
        &["date_part"],
        &[
            over(&[Text, Timestamp], SqlType::BigInt),
            over(&[Text, Date], SqlType::BigInt),
            over(&[Text, Interval], SqlType::BigInt),
            over(&[Text, Time], SqlType::BigInt),
            over(&[Text, Timetz], SqlType::BigInt),
        ],
        extract,
        "A field of a date, time, timestamp or interval, as `extract` gives it (bigint; decimal(20,6) for second and epoch, decimal(20,3) for milliseconds).",
        ("date_part('year', date '1998-09-02')", "1998"),
    ),
    Scalar::new(
        "date_trunc",
        &["date_trunc", "datetrunc"],
        &[
            over(&[Text, Timestamp], SqlType::Timestamp),
            over(&[Text, Date], SqlType::Timestamp),
            over(&[Text, Interval], SqlType::Interval),
            in_session(&[Text, Timestamptz], SqlType::Timestamptz),
            over(&[Text, Timestamptz, Text], SqlType::Timestamptz),
        ],
        truncate,
        "The timestamp or interval with all fields below the named one reset; of a timestamptz as the zone has it.",
        ("date_trunc('month', date '1998-09-02')", "1998-09-01 00:00:00"),
    ),
    Scalar::new(
        "make_date",
        &["make_date"],
        &[over(&[BigInt, BigInt, BigInt], SqlType::Date)],
        |c| Ok(Value::Date(days_of(c.int(0)?, c.int(1)?, c.int(2)?)?)),
        "The date of year, month and day.",
        ("make_date(2013, 7, 15)", "2013-07-15"),
    )
    .typed(Typed::DaysOfNumbers(days_of)),
    Scalar::new(
        "make_interval",
        &["make_interval"],
        &[over(&[Integer, Integer, Integer, Integer, Integer, Integer, Double], SqlType::Interval)],
        |c| {
            let part = |i| i32::try_from(c.int(i)?).map_err(|_| error::datetime_out_of_range("interval"));
            let made = date::make_interval(part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?, c.float(6)?)?;
            Ok(Value::Interval(made))
        },
        "The interval of years, months, weeks, days, hours, minutes and seconds; those left out are 0.",
        ("make_interval(days => 10, hours => 2)", "10 days 02:00:00"),
    ),
    Scalar::new(
        "age",
        &["age"],
        &[over(&[Timestamp, Timestamp], SqlType::Interval)],
        |c| Ok(Value::Interval(date::age(c.timestamp(0)?, c.timestamp(1)?)?)),
        "The difference in years, months, days and time.",
        ("age(timestamp '2001-04-10', timestamp '1957-06-13')", "43 years 9 mons 27 days"),
    ),
    Scalar::operator(
        "date_in_iso",
        None,
        |c| {
            let order = DateOrder::named(&c.text(1)?.to_lowercase()).unwrap_or_default();
            let text = c.text(0)?;
            Ok(order.in_iso(text).map_or_else(|| Value::str(text), Value::str))
        },
        "A text that begins with a date in that order of its numbers, with the date as ISO 8601 has it.",
        ("'13/02/2024'", "13/02/2024"),
    ),
    Scalar::operator(
        "round_seconds",
        None,
        |c| {
            let digits = c.int(1)?;
            Ok(match c.value(0)? {
                Value::Timestamp(t) => Value::Timestamp(date::round_seconds(*t, digits)?),
                Value::Time(t) => Value::Time(date::round_time(*t, digits)),
                _ => return c.wrong(),
            })
        },
        "A time with so many digits of a second.",
        ("timestamp '2024-01-01 10:00:00.567'::timestamp(1)", "2024-01-01 10:00:00.6"),
    ),
    // NULL for infinite times.
    Scalar::new(
        "to_char",
        &["to_char"],
        &[
            text(&[Timestamp, Text]),
            text(&[Date, Text]),
            text(&[Interval, Text]),
            text(&[Decimal, Text]),
            text(&[Double, Text]),
            in_session(&[Timestamptz, Text], SqlType::Text),
        ],
        to_char,
        "A date, timestamp, interval or number in the form of a pattern.",
        ("to_char(date '1998-09-02', 'YYYY-MM')", "1998-09"),
    )
    .or_null(),
    Scalar::new(
        "timestamp_by_pattern",
        &["timestamp_by_pattern"],
        &[over(&[Text, Text], SqlType::Timestamp)],
        |c| Ok(Value::Timestamp(date::from_char(c.text(0)?, c.text(1)?)?)),
        "The timestamp that a text in the form of a pattern is.",
        ("timestamp_by_pattern('5 Dec 2000 10:30', 'DD Mon YYYY HH24:MI')", "2000-12-05 10:30:00"),
    ),
    Scalar::new(
        "to_date",
        &["to_date"],
        &[over(&[Text, Text], SqlType::Date)],
        |c| Ok(Value::Date(date::timestamp_to_date(date::from_char(c.text(0)?, c.text(1)?)?))),
        "The date that a text in the form of a pattern is.",
        ("to_date('05 Dec 2000', 'DD Mon YYYY')", "2000-12-05"),
    ),
    Scalar::new(
        "to_number",
        &["to_number"],
        &[over(&[Text, Text], SqlType::decimal(38, 10))],
        to_number,
        "The number that a text in the form of a pattern is.",
        ("to_number('12,454.8-', '99G999D9S')", "-12454.8"),
    ),
];

fn days_of(year: i64, month: i64, day: i64) -> Result<i32> {
    let part = |part: i64| i32::try_from(part).map_err(|_| error::datetime_out_of_range("date"));
    date::make_date(part(year)?, part(month)?, part(day)?)
}

fn to_char(call: &Call<'_>) -> Result<Value> {
    let pattern = call.text(1)?;
    if infinite(call.value(0)?).is_some() {
        return Ok(Value::Null);
    }
    if call.len() > 2 {
        let moment = call.timestamp(0)?;
        return Zone::with(call.text(2)?, |zone| date::to_char_in(moment, pattern, zone)).map(Value::str);
    }
    Ok(Value::str(match (call.value(0)?, call.exact(0)) {
        (Value::Interval(interval), _) => date::interval_to_char(*interval, pattern)?,
        (Value::Float(f), _) => number::pattern::float_to_char(*f, pattern)?,
        (_, Some((value, scale))) => number::pattern::to_char(value, scale, pattern)?,
        _ => date::to_char(call.timestamp(0)?, pattern),
    }))
}

fn to_number(call: &Call<'_>) -> Result<Value> {
    let pattern = call.text(1)?;
    call.decimal(number::pattern::to_number(call.text(0)?, pattern)?, number::pattern::scale_of(pattern)?)
}

/// The sign of a date or timestamp that is infinite.
fn infinite(value: &Value) -> Option<f64> {
    match value {
        Value::Date(d) if date::is_infinite_date(*d) => Some(f64::from(d.signum())),
        Value::Timestamp(t) if date::is_infinite(*t) => Some(t.signum() as f64),
        _ => None,
    }
}

/// Whether a field grows with time for ever.
fn grows(field: Field) -> bool {
    use Field::{Century, Decade, Epoch, IsoYear, Julian, Millennium, Year};
    matches!(field, Century | Decade | Epoch | IsoYear | Julian | Millennium | Year)
}

fn extract(call: &Call<'_>) -> Result<Value> {
    let field: Field = call.text(0)?.parse()?;
    if call.result == SqlType::Double
        && let Some(sign) = infinite(call.value(1)?).filter(|_| grows(field))
    {
        return Ok(Value::Float(sign * f64::INFINITY));
    }
    let part = match call.value(1)? {
        Value::Date(d) => date::extract_date(field, *d)?,
        Value::Time(t) => date::extract_time(field, *t)?,
        Value::Timetz(t) => date::timetz::extract_timetz(field, *t)?,
        Value::Timestamp(t) => date::extract_timestamp(field, *t)?,
        Value::Interval(i) => date::extract_interval(field, *i)?,
        _ => return call.wrong(),
    };
    let (part, scale) = (i128::from(part), field.scale());
    match call.result {
        SqlType::Decimal { .. } => call.decimal(part, scale),
        SqlType::Double => Ok(Value::Float(decimal::to_f64(part, scale))),
        _ => Ok(Value::Int(whole(part, scale)?)),
    }
}

fn truncate(call: &Call<'_>) -> Result<Value> {
    let field: Field = call.text(0)?.parse()?;
    Ok(match call.value(1)? {
        Value::Interval(i) => Value::Interval(date::trunc_interval(field, *i)?),
        Value::Timestamp(t) if call.result == SqlType::Timestamptz => {
            Value::Timestamp(Zone::with(call.text(2)?, |zone| date::trunc_timestamp_in(field, *t, zone))?)
        }
        Value::Date(d) if call.result == SqlType::Date => Value::Date(date::trunc_date(field, *d)?),
        _ => Value::Timestamp(date::trunc_timestamp(field, call.timestamp(1)?)?),
    })
}
