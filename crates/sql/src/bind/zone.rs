//! The session's time zone, in which moments are read, written and taken apart.
//!
//! What depends on it becomes a call that names it: a plan says all that its result depends on, and no operator asks for a
//! setting. In UTC, which is what casts of moments mean by themselves, nothing is added.

use std::cell::RefCell;

use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::ops::cast::depends_on_zone;
use types::ops::date::Zone;
use types::{SqlType, Value};

thread_local! {
    /// Of the statement that this thread binds.
    static SESSION: RefCell<Zone> = RefCell::new(Zone::utc());
}

/// Binds in a zone.
pub(super) fn in_zone<T>(zone: Zone, bind: impl FnOnce() -> T) -> T {
    /// The zone that was before, also if the binding panics.
    struct Before(Option<Zone>);
    impl Drop for Before {
        fn drop(&mut self) {
            SESSION.set(self.0.take().unwrap_or_default());
        }
    }
    let _before = Before(Some(SESSION.replace(zone)));
    bind()
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
