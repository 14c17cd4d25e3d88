//! Frames of windows: bounds, distances, EXCLUDE.

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnit, SortKey};
use sqlparser::ast::{self, WindowFrameBound, WindowFrameUnits};
use types::{SqlType, Value};

use super::wrong;
use crate::bind::coerce::{cast_to, is_untyped, tight};
use crate::bind::{Binder, unsupported, zone};

impl Binder<'_> {
    /// A frame as it is written; `excluded` is what its EXCLUDE says, `order` the keys of its window.
    pub(super) fn frame(
        &mut self,
        frame: &ast::WindowFrame,
        excluded: Option<&str>,
        order: &mut [SortKey],
        position: Option<u32>,
    ) -> Result<Frame<Expr>> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let current = CurrentRow;
        let (start, end) = (&frame.start_bound, frame.end_bound.as_ref().unwrap_or(&current));
        let mistake = match (start, end) {
            (Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
            (_, Preceding(None)) => "frame end cannot be UNBOUNDED PRECEDING",
            (CurrentRow, Preceding(_)) => "frame starting from current row cannot have preceding rows",
            (Following(_), CurrentRow) if frame.end_bound.is_none() => {
                "frame starting from following row cannot end with current row"
            }
            (Following(_), Preceding(_) | CurrentRow) => "frame starting from following row cannot have preceding rows",
            _ => "",
        };
        let at = |b: &Self| {
            let offsets = [start, end].into_iter().filter_map(|bound| match bound {
                Preceding(offset) | Following(offset) => offset.as_deref(),
                CurrentRow => None,
            });
            offsets.into_iter().find_map(|e| b.text.start(e)).or(position)
        };
        if !mistake.is_empty() {
            return Err(wrong(mistake, at(self)));
        }
        let has_offset = [start, end].iter().any(|b| matches!(b, Preceding(Some(_)) | Following(Some(_))));
        match frame.units {
            WindowFrameUnits::Range if has_offset && order.len() != 1 => {
                let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
                return Err(wrong(message, at(self)));
            }
            WindowFrameUnits::Groups if order.is_empty() => {
                return Err(wrong("GROUPS mode requires an ORDER BY clause", at(self)));
            }
            _ => {}
        }
        let mut offset = |bound: &WindowFrameBound| match bound {
            Preceding(Some(e)) | Following(Some(e)) => self.frame_offset(e, frame.units, order).map(Some),
            _ => Ok(None),
        };
        let (mut first, mut last) = (offset(start)?, offset(end)?);
        if let (WindowFrameUnits::Range, true, [key]) = (frame.units, has_offset, order) {
            one_scale(key, [&mut first, &mut last])?;
        }
        let bound = |written: &WindowFrameBound, offset: Option<Expr>| match (written, offset) {
            (CurrentRow, _) => FrameBound::CurrentRow,
            (Preceding(_), Some(offset)) => FrameBound::Preceding(offset),
            (Preceding(_), None) => FrameBound::UnboundedPreceding,
            (Following(_), Some(offset)) => FrameBound::Following(offset),
            (Following(_), None) => FrameBound::UnboundedFollowing,
        };
        Ok(Frame {
            unit: match frame.units {
                WindowFrameUnits::Rows => FrameUnit::Rows,
                WindowFrameUnits::Range => FrameUnit::Range,
                WindowFrameUnits::Groups => FrameUnit::Groups,
            },
            start: bound(start, first),
            end: bound(end, last),
            exclude: match excluded {
                None | Some("no others") => FrameExclusion::NoOthers,
                Some("current row") => FrameExclusion::CurrentRow,
                Some("group") => FrameExclusion::Group,
                Some(_) => FrameExclusion::Ties,
            },
        })
    }

    /// How far a bound is away: rows and groups are counted, RANGE has what can be added to the only key of the order.
    fn frame_offset(&mut self, written: &ast::Expr, units: WindowFrameUnits, order: &[SortKey]) -> Result<Expr> {
        let offset = self.expr(written)?;
        let position = offset.position.or(self.text.start(written));
        if units != WindowFrameUnits::Range {
            if !offset.sql_type.is_numeric() && !is_untyped(&offset) {
                let message = format!("argument of {units} must be type bigint, not type {}", offset.sql_type);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
            }
            return cast_to(offset, SqlType::BigInt);
        }
        let (key, own) = (order[0].expr.sql_type, offset.sql_type);
        let wanted = match key {
            SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => SqlType::BigInt,
            SqlType::Real | SqlType::Double => SqlType::Double,
            SqlType::Timestamptz if !is_of_hours(&offset) && !zone::session().is_utc() => {
                return unsupported("RANGE of days or months over timestamptz outside of UTC", position);
            }
            SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Interval => {
                SqlType::Interval
            }
            SqlType::Decimal { .. } => key,
            _ => {
                let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(order[0].expr.position));
            }
        };
        let fits = match wanted {
            _ if is_untyped(&offset) && key.is_numeric() => return cast_to(cast_to(offset, key)?, wanted),
            _ if is_untyped(&offset) => return cast_to(offset, wanted),
            SqlType::BigInt => own.is_integer(),
            SqlType::Double => own.is_numeric(),
            SqlType::Decimal { .. } => own.as_decimal().is_some(),
            _ => own == wanted,
        };
        if !fits {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key} and offset type {own}"
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .hint("cast the offset value to an appropriate type")
                .at(position));
        }
        // Decimals get their scale once both offsets are known.
        if wanted.is_decimal() { Ok(offset) } else { cast_to(offset, wanted) }
    }
}

/// Refuses constant numbers of rows or groups that no frame has, whether there are rows or not.
pub(in crate::bind) fn check_offsets(frame: Option<&Frame<Expr>>) -> Result<()> {
    let Some(frame) = frame.filter(|f| f.unit != FrameUnit::Range) else { return Ok(()) };
    for (offset, end) in [(frame.start.offset(), "starting"), (frame.end.offset(), "ending")] {
        let Some(offset) = offset else { continue };
        if offset.has_subquery() || offset.is_volatile() || !offset.columns().is_empty() {
            continue;
        }
        let (state, what) = match plan::eval::eval(offset, &|_| Value::Null)? {
            Value::Null => (SqlState("22004"), "null"),
            Value::Int(n) if n < 0 => (SqlState("22013"), "negative"),
            _ => continue,
        };
        return Err(Error::new(state, format!("frame {end} offset must not be {what}")).at(offset.position));
    }
    Ok(())
}

/// The key and the offsets of a RANGE frame over decimals with the largest scale that one of them has.
fn one_scale(key: &mut SortKey, offsets: [&mut Option<Expr>; 2]) -> Result<()> {
    if !key.expr.sql_type.is_decimal() {
        return Ok(());
    }
    let scale_of = |e: &Expr| tight(e).scale();
    let scale = offsets.iter().filter_map(|o| o.as_ref()).map(scale_of).fold(key.expr.sql_type.scale(), u8::max);
    let rescaled = |expr: Expr| {
        let (precision, own) = tight(&expr).as_decimal().unwrap_or((1, 0));
        let digits = (precision - own + scale).clamp(1, SqlType::MAX_PRECISION);
        if own == scale && expr.sql_type.is_decimal() {
            Ok(expr)
        } else {
            cast_to(expr, SqlType::decimal(digits, scale))
        }
    };
    let empty = || Expr::constant(Value::Null, SqlType::Null);
    key.expr = rescaled(std::mem::replace(&mut key.expr, empty()))?;
    for offset in offsets {
        *offset = offset.take().map(rescaled).transpose()?;
    }
    Ok(())
}

/// Whether a distance has neither days nor months, whose length is a matter of zones.
fn is_of_hours(offset: &Expr) -> bool {
    match &offset.kind {
        ExprKind::Const(Value::Interval(interval)) => interval.months == 0 && interval.days == 0,
        _ => false,
    }
}
