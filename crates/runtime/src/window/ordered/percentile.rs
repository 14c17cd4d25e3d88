//! Percentiles of frames: the value at a fraction of the values in their order, as PostgreSQL finds it.

use std::ops::Range;

use base::{Error, Result, SqlState};
use types::Interval;
use types::ops::date;

use super::{Ordered, Seen};
use crate::window::Operand;
use crate::window::column::{Element, Sink};

/// Calls `each` with rows' places and the fraction, where there is one and the row sees values.
fn each_fraction(
    ordered: &Ordered,
    fraction: &Operand,
    rows: Range<usize>,
    mut each: impl FnMut(usize, Option<(f64, &Seen<'_>)>) -> Result<()>,
) -> Result<()> {
    let fractions = fraction.cells::<f64>();
    ordered.each(rows, |at, seen| {
        let fraction = fractions.get(seen.row);
        if let Some(fraction) = fraction.filter(|fraction| !(0.0..=1.0).contains(fraction)) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        each(at, fraction.map(|fraction| (fraction, &seen)).filter(|_| seen.rows() > 0))
    })
}

/// The first value at or behind the fraction.
pub(super) fn discrete<T: Element>(
    ordered: &Ordered,
    fraction: &Operand,
    rows: Range<usize>,
    mut out: Sink<'_, T>,
) -> Result<()> {
    let values = ordered.value.cells::<T>();
    each_fraction(ordered, fraction, rows, |at, seen| {
        let place = |fraction: f64, rows: usize| ((fraction * rows as f64).ceil() as usize).saturating_sub(1);
        let found = seen.map(|(fraction, seen)| seen.nth(place(fraction, seen.rows())));
        out.set(at, found.and_then(|row| values.get(row)));
        Ok(())
    })
}

/// A value between two others.
pub(super) trait Between: Element {
    fn between(low: Self, high: Self, fraction: f64) -> Result<Self>;
}

impl Between for f64 {
    fn between(low: f64, high: f64, fraction: f64) -> Result<f64> {
        Ok(low + fraction * (high - low))
    }
}

impl Between for Interval {
    fn between(low: Self, high: Self, fraction: f64) -> Result<Self> {
        date::add_intervals(low, date::mul_interval(date::sub_intervals(high, low)?, fraction)?)
    }
}

/// The value at the fraction.
pub(super) fn continuous<T: Between>(
    ordered: &Ordered,
    fraction: &Operand,
    rows: Range<usize>,
    mut out: Sink<'_, T>,
) -> Result<()> {
    let values = ordered.value.cells::<T>();
    each_fraction(ordered, fraction, rows, |at, seen| {
        let Some((fraction, seen)) = seen else {
            out.set(at, None);
            return Ok(());
        };
        let place = fraction * (seen.rows() - 1) as f64;
        let low = values.value(seen.nth(place.floor() as usize));
        let value = if place.floor() == place.ceil() {
            low
        } else {
            T::between(low, values.value(seen.nth(place.ceil() as usize)), place - place.floor())?
        };
        out.set(at, Some(value));
        Ok(())
    })
}
