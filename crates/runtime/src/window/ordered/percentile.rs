//! Percentiles of frames: the value at a fraction of the values in their order, as PostgreSQL finds it.

use std::ops::Range;

use base::Result;
use functions::aggregate::percentile::{self, Between};

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
        let fraction = fraction.map(percentile::fraction).transpose()?;
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
        let found = seen.map(|(fraction, seen)| seen.nth(percentile::place(fraction, seen.rows())));
        out.set(at, found.and_then(|row| values.get(row)));
        Ok(())
    })
}

/// The value at the fraction.
pub(super) fn continuous<T: Element + Between>(
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
        let (place, way) = percentile::places(fraction, seen.rows());
        let low = values.value(seen.nth(place));
        let value = if way == 0.0 { low } else { T::between(low, values.value(seen.nth(place + 1)), way)? };
        out.set(at, Some(value));
        Ok(())
    })
}
