//! Dates and timestamps with a multiple of an interval, as `t + n * interval '1 minute'` and `t + to_seconds(n)` are: computed as
//! numbers where statistics know that these are exact.

use base::Result;
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::ops::date::MIN_TIMESTAMP;
use types::{Interval, SqlType, Value};

use super::Expressions;
use super::range::{MICROS_PER_DAY, Range};
use crate::ir::{Arithmetic, Ty};
use crate::lower::pipe::{Pipe, Sql};

/// Intervals are multiplied as doubles, which are exact up to here.
const EXACT: u128 = 1 << 53;

/// A number of intervals of so many microseconds.
struct Multiple<'e> {
    number: &'e Expr,
    micros: i64,
}

impl Expressions {
    /// What is added to a time by `+` or `-`, if it is a whole number of intervals without months, and what it is between.
    fn multiple<'e>(&self, f: F, interval: &'e Expr) -> Option<(Multiple<'e>, Range)> {
        let ExprKind::Call(F::MULTIPLY, factors) = &interval.kind else { return None };
        let (factor, interval) = match factors.as_slice() {
            [factor, Expr { kind: ExprKind::Const(Value::Interval(interval)), .. }]
            | [Expr { kind: ExprKind::Const(Value::Interval(interval)), .. }, factor] => (factor, *interval),
            _ => return None,
        };
        let ExprKind::Cast(number) = &factor.kind else { return None };
        if !number.sql_type.is_integer() || factor.sql_type != SqlType::Double || interval.months != 0 {
            return None;
        }
        let range = self.range(number)?;
        let Interval { days, micros, .. } = interval;
        let is_within = |unit: i64, most: u128| {
            u128::from(unit.unsigned_abs()).checked_mul(range.magnitude()).is_some_and(|product| product < most)
        };
        if !is_within(micros, EXACT) || !is_within(days.into(), i32::MAX as u128) {
            return None;
        }
        let unit = i64::try_from(i128::from(days) * MICROS_PER_DAY + i128::from(micros)).ok()?;
        let unit = if f == F::ADD { unit } else { unit.checked_neg()? };
        let delta = range.multiply(Range::point(unit.into()))?;
        Some((Multiple { number, micros: unit }, delta))
    }

    /// What a time and an interval without months are between, if that is known to be finite timestamps.
    pub(super) fn range_of_sum(&self, f: F, args: &[Expr]) -> Option<Range> {
        let [time, interval] = args else { return None };
        let delta = match interval.kind {
            ExprKind::Const(Value::Interval(Interval { months: 0, days, micros })) => {
                let delta = Range::point(i128::from(days) * MICROS_PER_DAY + i128::from(micros));
                if f == F::ADD { delta } else { Range::point(0).subtract(delta)? }
            }
            _ => self.multiple(f, interval)?.1,
        };
        self.finite_sum(time, delta)
    }

    fn finite_sum(&self, time: &Expr, delta: Range) -> Option<Range> {
        let time = match time.sql_type {
            SqlType::Timestamp => self.finite_bounds(time)?,
            SqlType::Date => self.finite_bounds(time)?.multiply(Range::point(MICROS_PER_DAY))?,
            _ => return None,
        };
        let finite = Range { low: MIN_TIMESTAMP.into(), high: i128::from(i64::MAX) - 1 };
        time.add(delta).filter(|sum| sum.within(finite) && time.within(finite))
    }

    /// A time and a multiple of an interval; none where that has to be computed as any other.
    pub(super) fn plus_multiple(&mut self, pipe: &mut Pipe, f: F, args: &[Expr]) -> Result<Option<Sql>> {
        let multiple = self.multiple(f, &args[1]).filter(|(_, delta)| self.finite_sum(&args[0], *delta).is_some());
        let Some((Multiple { number, micros }, _)) = multiple else { return Ok(None) };
        let (time, number) = (self.scalar(pipe, &args[0])?, self.scalar(pipe, number)?);
        let from_date = args[0].sql_type == SqlType::Date;
        self.strict(pipe, &[time, number], |p| {
            let mut time = p.widen(time.value, Ty::I64);
            if from_date {
                let day = p.int(MICROS_PER_DAY, Ty::I64);
                time = p.wrapping(Arithmetic::Mul, time, day);
            }
            let (number, unit) = (p.widen(number.value, Ty::I64), p.int(micros.into(), Ty::I64));
            let delta = p.wrapping(Arithmetic::Mul, number, unit);
            p.wrapping(Arithmetic::Add, time, delta)
        })
        .map(Some)
    }
}
