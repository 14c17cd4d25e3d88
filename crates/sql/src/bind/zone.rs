//! The session's time zone, in which moments are read, written and taken apart, and what time it is: literals may say `today`.
//!
//! What depends on it becomes a call that names it: a plan says all that its result depends on, and no operator asks for a
//! setting. In UTC, which is what casts of moments mean by themselves, nothing is added.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::ops::cast::depends_on_zone;
use types::ops::date::{DateOrder, Zone, format_date, format_timestamp, timestamp_to_date};
use types::{SqlType, Value};

use crate::Resolver;

thread_local! {
    /// In which order texts have the numbers of dates.
    static ORDER: Cell<DateOrder> = const { Cell::new(DateOrder::Mdy) };
    /// Of the statement that this thread binds.
    static SESSION: RefCell<Zone> = const { RefCell::new(Zone::utc()) };
    /// What time it is for that statement.
    static NOW: Cell<Option<i64>> = const { Cell::new(None) };
    /// Whether a literal has asked for it.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Binds in the resolver's zone, at its time.
pub(super) fn in_session<T>(resolver: &dyn Resolver, bind: impl FnOnce() -> T) -> T {
    /// What was before, also if the binding panics.
    struct Before(Option<Zone>, Option<i64>, bool, DateOrder);
    impl Drop for Before {
        fn drop(&mut self) {
            SESSION.set(self.0.take().unwrap_or_default());
            NOW.set(self.1);
            ASKED.set(self.2);
            ORDER.set(self.3);
        }
    }
    let zone = resolver.time_zone();
    let order = ORDER.replace(resolver.date_order());
    let moment = NOW.replace(Some(resolver.moment()));
    let _before = Before(Some(SESSION.replace(zone)), moment, ASKED.replace(false), order);
    let bound = bind();
    if ASKED.get() {
        resolver.now();
    }
    bound
}

/// The text of a literal for a date or time, which may name one by what day or time it is now (`tomorrow 16:00`): without these words,
/// if it is known what time it is.
pub(super) fn without_now(value: &Value, to: SqlType) -> Cow<'_, Value> {
    match value {
        Value::Str(text) => said(text, to).map_or(Cow::Borrowed(value), |said| Cow::Owned(Value::str(said))),
        _ => Cow::Borrowed(value),
    }
}

/// The text without such words; none if it has none, or nobody says what time it is.
fn said(text: &str, to: SqlType) -> Option<String> {
    let is_clock = matches!(to, SqlType::Time | SqlType::Timetz);
    if !is_clock && !matches!(to, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz) {
        return None;
    }
    if let Some(iso) = ORDER.get().in_iso(text).filter(|_| !is_clock) {
        return Some(iso);
    }
    let special = |word: &str| match word.to_ascii_lowercase().as_str() {
        "now" => Some(None),
        "today" => Some(Some(0)),
        "tomorrow" => Some(Some(1)),
        "yesterday" => Some(Some(-1)),
        _ => None,
    };
    let words = || text.split_whitespace();
    if !words().any(|word| special(word).is_some()) {
        return None;
    }
    let (now, zone) = (NOW.get()?, session());
    let local = zone.local(now).ok()?;
    ASKED.set(true);
    let said = |word: &str| match special(word) {
        None => word.to_owned(),
        Some(Some(days)) => format_date(timestamp_to_date(local) + days),
        Some(None) if to == SqlType::Timestamptz => format!("{} +00", format_timestamp(now)),
        Some(None) if is_clock => format_timestamp(local).split_off("2026-11-26 ".len()),
        Some(None) => format_timestamp(local),
    };
    Some(words().map(said).collect::<Vec<_>>().join(" "))
}

/// A text that is read as a date or moment, with its date as ISO 8601 has it, if the session reads the numbers of dates in another
/// order than others do.
pub(super) fn in_iso(expr: Expr, to: SqlType) -> Expr {
    let order = ORDER.get();
    let is_read = matches!(to, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz) && expr.sql_type.is_string();
    if order == DateOrder::default() || !is_read || matches!(expr.kind, ExprKind::Call(F::DATE_IN_ISO, _)) {
        return expr;
    }
    let (position, order) = (expr.position, Expr::constant(Value::str(order.to_string()), SqlType::Text));
    Expr::new(ExprKind::Call(F::DATE_IN_ISO, vec![expr, order]), SqlType::Text).at(position)
}

/// The session's zone.
pub(super) fn session() -> Zone {
    SESSION.with_borrow(Zone::clone)
}

/// The name of the session's zone, as an argument.
pub(super) fn name() -> Expr {
    Expr::constant(Value::str(session().name()), SqlType::Text)
}

/// The step of a cast that the session's zone decides: a moment as local time or as a text, or local time or a text as a moment;
/// the expression itself if the zone does not matter, which it does not in UTC.
pub(super) fn convert(expr: Expr, to: SqlType) -> Result<Expr, Expr> {
    let from = expr.sql_type;
    if !depends_on_zone(from, to) || from == SqlType::Null || session().is_utc() {
        return Err(expr);
    }
    let position = expr.position;
    let call = |f, arguments, sql_type| Expr::new(ExprKind::Call(f, arguments), sql_type).at(position);
    Ok(match (from, to) {
        (SqlType::Timestamptz, to) if to.is_string() => call(F::TEXT_IN_ZONE, vec![expr, name()], SqlType::Text),
        (SqlType::Timestamptz, _) => call(F::TIMEZONE, vec![name(), expr], SqlType::Timestamp),
        (from, _) if from.is_string() => call(F::MOMENT_OF_TEXT, vec![expr, name()], SqlType::Timestamptz),
        (SqlType::Timestamp, _) => call(F::TIMEZONE, vec![name(), expr], SqlType::Timestamptz),
        _ => {
            let midnight = Expr::new(ExprKind::Cast(Box::new(expr)), SqlType::Timestamp).at(position);
            call(F::TIMEZONE, vec![name(), midnight], SqlType::Timestamptz)
        }
    })
}
