//! What depends on the time at which it runs: waiting, and UUIDs of times.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::{Result, statement};
use types::ops::uuid;
use types::{SqlType, Value};

use super::{Call, Scalar, over, random, text};
use crate::Parameter::{Double, Uuid};

pub(super) const ROWS: &[Scalar] = &[
    Scalar {
        volatile: true,
        ..Scalar::new(
            "pg_sleep",
            &["pg_sleep"],
            &[text(&[Double])],
            sleep,
            "Waits so many seconds.",
            ("pg_sleep(0)", ""),
        )
    },
    Scalar {
        volatile: true,
        ..Scalar::new(
            "uuidv7",
            &["uuidv7"],
            &[over(&[], SqlType::Uuid)],
            |_| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
                Ok(Value::Uuid(uuid::of_time(now, random::uuid())))
            },
            "A UUID of the time and random bits (version 7): later ones are greater.",
            ("uuidv7()", "01a210ac-3d39-7f92-b83e-ba55d87ad325"),
        )
    },
    Scalar::new(
        "uuid_extract_timestamp",
        &["uuid_extract_timestamp"],
        &[over(&[Uuid], SqlType::Timestamptz)],
        |c| match c.value(0)? {
            Value::Uuid(uuid) => Ok(uuid::time_of(*uuid).map_or(Value::Null, Value::Timestamp)),
            _ => c.wrong(),
        },
        "When a UUID was made: of versions 1 and 7, NULL of others.",
        ("uuid_extract_timestamp('019073ac-4d4c-7d5b-8a1f-3c2b1a09f8e7'::uuid)", "2024-07-02 13:39:50.22+00"),
    )
    .or_null(),
];

/// Waits in short steps, so that the statement can be stopped.
fn sleep(c: &Call<'_>) -> Result<Value> {
    const STEP: Duration = Duration::from_millis(10);
    const LONGEST: f64 = 1e9;
    let seconds = c.float(0)?;
    let wanted = Duration::from_secs_f64(if seconds > 0.0 { seconds.min(LONGEST) } else { 0.0 });
    let begin = Instant::now();
    while let Some(rest) = wanted.checked_sub(begin.elapsed()).filter(|rest| !rest.is_zero()) {
        statement::check()?;
        thread::sleep(rest.min(STEP));
    }
    Ok(Value::str(""))
}
