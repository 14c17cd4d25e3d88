//! `pg_timezone_names()`: the zones there are, and how far from UTC they are now.

use std::time::{SystemTime, UNIX_EPOCH};

use types::ops::date::Zone;
use types::{Interval, SqlType, Value};

use super::View;
use crate::environment::Environment;

pub(super) const TIMEZONES: View = View {
    name: "pg_timezone_names",
    columns: &[
        ("name", SqlType::Text),
        ("abbrev", SqlType::Text),
        ("utc_offset", SqlType::Interval),
        ("is_dst", SqlType::Bool),
    ],
    rows,
};

fn rows(_: &Environment) -> Vec<Vec<Value>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    /// Half a year in microseconds: the other half has the other time.
    const HALF_A_YEAR: i64 = 182 * 86_400_000_000;
    let row = |name: &'static str| {
        let zone = Zone::find(name).ok()?;
        let offset = zone.offset_at(now);
        let micros = i64::from(offset) * 1_000_000;
        Some(vec![
            Value::str(name),
            Value::str(zone.abbreviation_at(now)),
            Value::Interval(Interval { micros, ..Interval::default() }),
            Value::Bool(offset > zone.offset_at(now + HALF_A_YEAR)),
        ])
    };
    Zone::names().filter_map(row).collect()
}
