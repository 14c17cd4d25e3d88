//! Functions of moments in time zones, and of times of day. The binder appends the session's zone to a call that needs one, so
//! that a plan says all that its result depends on.

use base::Result;
use types::ops::cast::{cast_value_in, format_value_in};
use types::ops::date::{self, Zone, timetz, zone};
use types::{SqlType, Value};

use super::{Call, Scalar, in_session, over};
use crate::Parameter::{BigInt, Double, Interval, Text, Timestamp, Timestamptz, Timetz};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "timezone",
        &["timezone"],
        &[
            over(&[Text, Timestamptz], SqlType::Timestamp),
            over(&[Text, Timestamp], SqlType::Timestamptz),
            over(&[Interval, Timestamptz], SqlType::Timestamp),
            over(&[Interval, Timestamp], SqlType::Timestamptz),
            over(&[Text, Timetz], SqlType::Timetz),
            over(&[Interval, Timetz], SqlType::Timetz),
        ],
        at_zone,
        "`AT TIME ZONE`: the local time of a moment in a zone, or the moment at which a zone has a local time.",
        ("timezone('Asia/Tokyo', timestamptz '2020-01-01 12:00:00+00')", "2020-01-01 21:00:00"),
    ),
    Scalar::operator(
        "text_in_zone",
        None,
        |c| Zone::with(c.text(1)?, |zone| Ok(Value::str(format_value_in(c.value(0)?, SqlType::Timestamptz, zone)))),
        "A moment as text, as a zone has it.",
        ("timestamptz '2020-01-01 12:00:00+00'::text", "2020-01-01 12:00:00+00"),
    ),
    Scalar::operator(
        "moment_of_text",
        None,
        |c| Zone::with(c.text(1)?, |zone| cast_value_in(c.value(0)?, SqlType::Text, SqlType::Timestamptz, zone)),
        "The moment that a text names; in that zone if the text names none.",
        ("'2020-01-01 12:00'::timestamptz", "2020-01-01 12:00:00+00"),
    ),
    Scalar::operator(
        "zone_field",
        None,
        |c| {
            let seconds = match c.value(1)? {
                Value::Timetz(t) => timetz::unpack(*t).1,
                _ => Zone::with(c.text(2)?, |zone| Ok(zone.offset_at(c.timestamp(1)?)))?,
            };
            let (hours, minutes) = zone::offset_parts(seconds);
            Ok(Value::Int(i64::from(match c.text(0)? {
                "timezone_hour" => hours,
                "timezone_minute" => minutes,
                _ => seconds,
            })))
        },
        "How far a zone is east of UTC at a moment: `timezone` in seconds, `timezone_hour`, `timezone_minute`.",
        ("extract(timezone from timestamptz '2020-01-01 12:00')", "0"),
    ),
    Scalar::new(
        "date_add",
        &["date_add"],
        &[over(&[Timestamptz, Interval, Text], SqlType::Timestamptz)],
        |c| moved(c, interval(c, 1)?),
        "A moment and an interval, whose months and days are those of the zone.",
        ("date_add(timestamptz '2021-10-31 00:00:00+02', interval '1 day', 'Europe/Warsaw')", "2021-10-31 23:00:00+00"),
    ),
    Scalar::new(
        "date_subtract",
        &["date_subtract"],
        &[over(&[Timestamptz, Interval, Text], SqlType::Timestamptz)],
        |c| moved(c, date::neg_interval(interval(c, 1)?)?),
        "A moment less an interval, whose months and days are those of the zone.",
        (
            "date_subtract(timestamptz '2021-11-01 00:00:00+01', interval '1 day', 'Europe/Warsaw')",
            "2021-10-30 22:00:00+00",
        ),
    ),
    Scalar::new(
        "make_timestamp",
        &["make_timestamp"],
        &[over(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double], SqlType::Timestamp)],
        |c| made(c).map(Value::Timestamp),
        "The timestamp of year, month, day, hour, minute and second.",
        ("make_timestamp(2013, 7, 15, 8, 15, 23.5)", "2013-07-15 08:15:23.5"),
    ),
    Scalar::new(
        "make_timestamptz",
        &["make_timestamptz"],
        &[
            in_session(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double], SqlType::Timestamptz),
            over(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double, Text], SqlType::Timestamptz),
        ],
        |c| {
            // A bare offset is east of UTC here, as ISO 8601 has it.
            if let Ok(east) = date::offset(c.text(6)?.as_bytes()) {
                return Zone::of_offset(east)?.moment(made(c)?).map(Value::Timestamp);
            }
            Zone::with(c.text(6)?, |zone| zone.moment(made(c)?)).map(Value::Timestamp)
        },
        "The moment of year, month, day, hour, minute and second in the session's zone, or in the named one.",
        ("make_timestamptz(2013, 7, 15, 8, 15, 23.5, 'Europe/Berlin')", "2013-07-15 06:15:23.5+00"),
    ),
    Scalar::new(
        "make_time",
        &["make_time"],
        &[over(&[BigInt, BigInt, Double], SqlType::Time)],
        |c| Ok(Value::Time(date::make_time(part(c, 0)?, part(c, 1)?, c.float(2)?)?)),
        "The time of hour, minute and second.",
        ("make_time(8, 15, 23.5)", "08:15:23.5"),
    ),
];

fn interval(call: &Call<'_>, i: usize) -> Result<types::Interval> {
    if let Value::Interval(interval) = call.value(i)? { Ok(*interval) } else { call.wrong() }
}

fn part(call: &Call<'_>, i: usize) -> Result<i32> {
    i32::try_from(call.int(i)?).map_err(|_| types::ops::error::datetime_out_of_range("date"))
}

fn made(c: &Call<'_>) -> Result<i64> {
    date::make_timestamp(part(c, 0)?, part(c, 1)?, part(c, 2)?, part(c, 3)?, part(c, 4)?, c.float(5)?)
}

fn moved(call: &Call<'_>, by: types::Interval) -> Result<Value> {
    Zone::with(call.text(2)?, |zone| date::add_interval_in(call.timestamp(0)?, by, zone)).map(Value::Timestamp)
}

fn at_zone(call: &Call<'_>) -> Result<Value> {
    let convert = |zone: &Zone| match (call.value(1)?, call.result) {
        (Value::Timetz(t), _) => Ok(Value::Timetz(timetz::in_zone(*t, zone))),
        (_, SqlType::Timestamp) => zone.local(call.timestamp(1)?).map(Value::Timestamp),
        _ => zone.moment(call.timestamp(1)?).map(Value::Timestamp),
    };
    match call.value(0)? {
        Value::Interval(offset) if offset.months != 0 || offset.days != 0 => {
            let message =
                format!("interval time zone \"{}\" must not include months or days", date::format_interval(*offset));
            Err(base::Error::new(base::SqlState::INVALID_PARAMETER_VALUE, message))
        }
        Value::Interval(offset) => convert(&Zone::of_offset(offset.micros)?),
        _ => Zone::with(call.text(0)?, convert),
    }
}
