//! Functions that cut time into periods, and texts of dates with C's patterns.

use base::Result;
use types::ops::date;
use types::{SqlType, Value};

use super::{Call, Scalar, over, text};
use crate::Parameter::{Date, Double, Interval, Text, Time, Timestamp, Timestamptz};
use crate::{Overload, ResultType, SESSION_ZONE};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "justify_days",
        &["justify_days"],
        &[over(&[Interval], SqlType::Interval)],
        |c| match c.value(0)? {
            Value::Interval(i) => Ok(Value::Interval(date::justify_days(*i)?)),
            _ => c.wrong(),
        },
        "Months for each 30 days.",
        ("justify_days(interval '35 days')", "1 mon 5 days"),
    ),
    Scalar::new(
        "justify_hours",
        &["justify_hours"],
        &[over(&[Interval], SqlType::Interval)],
        |c| match c.value(0)? {
            Value::Interval(i) => Ok(Value::Interval(date::justify_hours(*i)?)),
            _ => c.wrong(),
        },
        "Days for each 24 hours.",
        ("justify_hours(interval '27 hours')", "1 day 03:00:00"),
    ),
    Scalar::new(
        "justify_interval",
        &["justify_interval", "normalized_interval"],
        &[over(&[Interval], SqlType::Interval)],
        |c| match c.value(0)? {
            Value::Interval(i) => Ok(Value::Interval(date::justify(*i)?)),
            _ => c.wrong(),
        },
        "Months for days and days for hours, all of one sign.",
        ("justify_interval(interval '1 mon -1 hour')", "29 days 23:00:00"),
    ),
    Scalar::new(
        "date_bin",
        &["date_bin"],
        &[
            over(&[Interval, Timestamp, Timestamp], SqlType::Timestamp),
            over(&[Interval, Timestamptz, Timestamptz], SqlType::Timestamptz),
        ],
        |c| Ok(Value::Timestamp(date::date_bin(interval(c, 0)?, c.timestamp(1)?, c.timestamp(2)?)?)),
        "The beginning of the period of that length, counted from the origin, in which the timestamp is.",
        ("date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01')", "2020-02-11 15:30:00"),
    ),
    Scalar::new(
        "time_bucket",
        &["time_bucket"],
        &[
            over(&[Interval, Timestamp], SqlType::Timestamp),
            over(&[Interval, Date], SqlType::Date),
            over(&[Interval, Timestamp, Timestamp], SqlType::Timestamp),
            over(&[Interval, Date, Date], SqlType::Date),
            over(&[Interval, Timestamp, Interval], SqlType::Timestamp),
            over(&[Interval, Date, Interval], SqlType::Date),
            over(&[Interval, Timestamptz], SqlType::Timestamptz),
            over(&[Interval, Timestamptz, Timestamptz], SqlType::Timestamptz),
        ],
        time_bucket,
        "The beginning of the period in which the time is; periods count from 2000-01-03, of months from 2000-01-01, or from the origin, or are shifted by the interval.",
        ("time_bucket('2 months', date '2024-02-15')", "2024-01-01"),
    ),
    Scalar::new(
        "date_diff",
        &["date_diff", "datediff"],
        &[over(&[Text, Timestamp, Timestamp], SqlType::BigInt), over(&[Text, Time, Time], SqlType::BigInt)],
        |c| {
            // Times of day are those of one day.
            let time = |at: usize| match c.value(at)? {
                Value::Time(time) => Ok(*time),
                _ => c.timestamp(at),
            };
            Ok(Value::Int(date::diff(c.text(0)?.parse()?, time(1)?, time(2)?)?))
        },
        "How many boundaries of that field are between two times.",
        ("date_diff('month', date '2024-01-31', date '2024-02-01')", "1"),
    ),
    Scalar::new(
        "strftime",
        &["strftime"],
        &[
            text(&[Timestamp, Text]),
            text(&[Date, Text]),
            text(&[Text, Timestamp]),
            text(&[Text, Date]),
            // A moment, in the session's time zone.
            Overload {
                parameters: &[Timestamptz, Text],
                defaults: &[SESSION_ZONE],
                result: ResultType::Fixed(SqlType::Text),
            },
        ],
        |c| {
            if c.type_of(0) == SqlType::Timestamptz {
                return Ok(Value::str(date::strftime_moment(c.timestamp(0)?, c.text(1)?, c.text(2)?)?));
            }
            let (time, pattern) = if c.type_of(0).is_string() { (1, 0) } else { (0, 1) };
            Ok(Value::str(date::strftime(c.timestamp(time)?, c.text(pattern)?)?))
        },
        "A date or timestamp in the form of a pattern with percent signs.",
        ("strftime(date '1992-03-02', '%a, %-d %B %Y')", "Mon, 2 March 1992"),
    ),
    Scalar::new(
        "strptime_moment",
        &["strptime_moment"],
        &[over(&[Text, Text], SqlType::Timestamptz)],
        |c| Ok(Value::Timestamp(date::strptime_moment(c.text(0)?, c.text(1)?)?)),
        "The moment that a text shows in the form of a pattern that has an offset or a zone.",
        ("strptime('1992-03-02 10:00 +02', '%Y-%m-%d %H:%M %z')", "1992-03-02 08:00:00+00"),
    ),
    Scalar::new(
        "strptime",
        &["strptime"],
        &[over(&[Text, Text], SqlType::Timestamp)],
        |c| Ok(Value::Timestamp(date::strptime(c.text(0)?, c.text(1)?)?)),
        "The timestamp that a text shows in the form of a pattern with percent signs.",
        ("strptime('Mon, 2 March 1992 - 08:32 PM', '%a, %-d %B %Y - %I:%M %p')", "1992-03-02 20:32:00"),
    ),
    Scalar::new(
        "try_strptime",
        &["try_strptime"],
        &[over(&[Text, Text], SqlType::Timestamp)],
        |c| match date::strptime(c.text(0)?, c.text(1)?) {
            Err(error) if error.state().0.starts_with("22") => Ok(Value::Null),
            read => read.map(Value::Timestamp),
        },
        "The timestamp that a text shows in the form of a pattern with percent signs; NULL if it does not.",
        ("try_strptime('x', '%Y')", "NULL"),
    )
    .or_null(),
    Scalar::new(
        "to_timestamp",
        &["to_timestamp"],
        &[over(&[Double], SqlType::Timestamptz)],
        |c| Ok(Value::Timestamp(date::from_epoch(c.float(0)?)?)),
        "The moment so many seconds after 1970-01-01 00:00:00 UTC.",
        ("to_timestamp(1284352323.5)", "2010-09-13 04:32:03.5+00"),
    ),
];

fn interval(call: &Call<'_>, i: usize) -> Result<types::Interval> {
    if let Value::Interval(interval) = call.value(i)? { Ok(*interval) } else { call.wrong() }
}

fn time_bucket(call: &Call<'_>) -> Result<Value> {
    let (width, time) = (interval(call, 0)?, call.timestamp(1)?);
    let begin = match call.values.get(2) {
        None => date::time_bucket(width, time, None)?,
        Some(Value::Interval(offset)) => date::time_bucket_shifted(width, time, *offset)?,
        Some(_) => date::time_bucket(width, time, Some(call.timestamp(2)?))?,
    };
    Ok(match call.result {
        SqlType::Date => Value::Date(date::timestamp_to_date(begin)),
        _ => Value::Timestamp(begin),
    })
}
