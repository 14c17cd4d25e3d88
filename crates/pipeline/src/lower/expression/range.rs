//! Bounds of values, by interval arithmetic from types and statistics: what cannot overflow is not checked, and what fits
//! 64 bits is not computed in 128.

use catalog::Statistics;
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::ops::date::{self, Field};
use types::{SqlType, Value};

use super::Expressions;
use crate::ir::{SourceColumn, Ty};

pub(super) const MICROS_PER_DAY: i128 = 86_400_000_000;

/// Inclusive bounds of an integer, date, timestamp or decimal (scaled) that is not NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Range {
    pub low: i128,
    pub high: i128,
}

impl Range {
    pub fn point(value: i128) -> Self {
        Self { low: value, high: value }
    }

    /// What the type itself promises.
    pub fn of_type(sql_type: SqlType) -> Option<Self> {
        let symmetric = |high: i128| Some(Self { low: -high, high });
        match sql_type {
            SqlType::SmallInt => Some(Self { low: i16::MIN.into(), high: i16::MAX.into() }),
            SqlType::Integer | SqlType::Date | SqlType::Enum(_) => {
                Some(Self { low: i32::MIN.into(), high: i32::MAX.into() })
            }
            SqlType::BigInt | SqlType::Time | SqlType::Timetz | SqlType::Timestamp | SqlType::Timestamptz => {
                Some(Self { low: i64::MIN.into(), high: i64::MAX.into() })
            }
            SqlType::Decimal { precision, .. } => symmetric(10i128.pow(precision.into()) - 1),
            _ => None,
        }
    }

    pub fn fits(self, ty: Ty) -> bool {
        let bits = match ty {
            Ty::I16 => 16,
            Ty::I32 => 32,
            Ty::I64 => 64,
            Ty::I128 => return true,
            _ => return false,
        };
        self.low >= -(1i128 << (bits - 1)) && self.high < 1i128 << (bits - 1)
    }

    pub fn within(self, outer: Self) -> bool {
        self.low >= outer.low && self.high <= outer.high
    }

    /// The narrowest range around this one and 0 whose ends are powers of two: tables that grow seldom leave it, and code
    /// seldom profits from less.
    fn rounded(self) -> Self {
        let power = |beyond: i128| beyond.unsigned_abs().checked_next_power_of_two().map(|p| p as i128);
        Self {
            low: if self.low >= 0 { 0 } else { power(self.low).map_or(self.low, |p| p.wrapping_neg()) },
            high: if self.high < 0 {
                0
            } else {
                power(self.high.wrapping_add(1)).map_or(self.high, |p| p.wrapping_sub(1))
            },
        }
    }

    /// The larger absolute value.
    pub fn magnitude(self) -> u128 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
    pub fn add(self, other: Self) -> Option<Self> {
        Some(Self { low: self.low.checked_add(other.low)?, high: self.high.checked_add(other.high)? })
    }
    pub fn subtract(self, other: Self) -> Option<Self> {
        Some(Self { low: self.low.checked_sub(other.high)?, high: self.high.checked_sub(other.low)? })
    }
    pub fn multiply(self, other: Self) -> Option<Self> {
        let mut corners = [0i128; 4];
        for (i, (a, b)) in
            [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)]
                .into_iter()
                .enumerate()
        {
            corners[i] = a.checked_mul(b)?;
        }
        Some(Self { low: *corners.iter().min()?, high: *corners.iter().max()? })
    }
    pub fn scale_up(self, digits: u32) -> Option<Self> {
        self.multiply(Self::point(10i128.checked_pow(digits)?))
    }
}

/// The number that represents a value in its column, if it is one of those that ranges speak of.
pub(in crate::lower) fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i) => Some((*i).into()),
        Value::Decimal(d) => Some(*d),
        Value::Date(d) | Value::Enum(d) => Some((*d).into()),
        _ => None,
    }
}

/// An attribute as code reads it. What statistics promise of its values, code takes for granted; it does for another moment
/// at which this gives the same.
pub fn source_column(field: &catalog::Field, statistics: &dyn Statistics, attribute: usize) -> SourceColumn {
    let known = statistics.column(attribute);
    let numbers = |(low, high): (&Value, &Value)| Some(Range { low: number(low)?, high: number(high)? }.rounded());
    let range = known.min.as_ref().zip(known.max.as_ref()).and_then(numbers);
    SourceColumn {
        attribute,
        sql_type: field.sql_type,
        nullable: field.nullable && known.null_fraction != Some(0.0),
        bounds: range.map(|r| (r.low, r.high)),
        is_length: false,
    }
}

/// The field that a constant names; unknown names are the function's to refuse, when it runs.
pub(super) fn constant_field(expr: &Expr) -> Option<Field> {
    match &expr.kind {
        ExprKind::Const(Value::Str(name)) => name.parse().ok(),
        _ => None,
    }
}

fn is_moment(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::Timestamp | SqlType::Timestamptz)
}

impl Expressions {
    /// Bounds of an expression where it is not NULL and evaluated without error.
    pub(in crate::lower) fn range(&self, expr: &Expr) -> Option<Range> {
        let by_type = Range::of_type(expr.sql_type)?;
        let computed = match &expr.kind {
            ExprKind::Column(c) => self.ranges.get(c).copied(),
            ExprKind::Const(value) => number(value).map(Range::point),
            ExprKind::Call(F::ADD | F::SUBTRACT, args) if expr.sql_type == SqlType::Date => {
                self.range_of_days(expr, args)
            }
            ExprKind::Call(f @ (F::ADD | F::SUBTRACT), args) if expr.sql_type == SqlType::Timestamp => {
                self.range_of_sum(*f, args)
            }
            ExprKind::Call(F::ADD | F::SUBTRACT | F::MULTIPLY, args) => self.range_of_arithmetic(expr, args),
            ExprKind::Call(F::DIVIDE | F::MODULO, args) => self.range_of_division(expr, args),
            ExprKind::Call(F::BIT_AND, args) => self.range_of_bits(args),
            ExprKind::Call(F::EXTRACT, args) if expr.sql_type.is_decimal() => self.range_of_epoch(args, expr.sql_type),
            ExprKind::Call(F::EXTRACT, args) => self.range_of_field(args),
            ExprKind::Call(F::TIME_BUCKET | F::DATE_BIN, args) => {
                self.calendar_bucket_bounds(args, expr.sql_type).map(|(range, _)| range)
            }
            ExprKind::Call(F::DATE_TRUNC, args) => self.range_of_beginnings(args, expr.sql_type),
            ExprKind::Call(F::NEGATE, args) => self.range(&args[0]).and_then(|r| Range::point(0).subtract(r)),
            ExprKind::Cast(input) if expr.sql_type.as_decimal().is_some() && input.sql_type.as_decimal().is_some() => {
                let up = i32::from(expr.sql_type.scale()) - i32::from(input.sql_type.scale());
                let unit = 10i128.checked_pow(up.unsigned_abs());
                // Rounding adds one at most.
                let down = |r: Range| unit.map(|unit| Range { low: r.low / unit - 1, high: r.high / unit + 1 });
                self.range(input).and_then(|r| if up >= 0 { r.scale_up(up as u32) } else { down(r) })
            }
            ExprKind::Case { branches, otherwise } => {
                let values = branches.iter().map(|(_, v)| v).chain([&**otherwise]);
                self.range_of_any(values)
            }
            // UTC's time is what is stored.
            ExprKind::Cast(input) if is_moment(expr.sql_type) && is_moment(input.sql_type) => self.range(input),
            ExprKind::Cast(input) if (input.sql_type, expr.sql_type) == (SqlType::Timestamp, SqlType::Date) => {
                let day = |at: i128| at.div_euclid(MICROS_PER_DAY);
                self.finite_bounds(input).map(|r| Range { low: day(r.low), high: day(r.high) })
            }
            ExprKind::Cast(input) if (input.sql_type, expr.sql_type) == (SqlType::Date, SqlType::Timestamp) => {
                self.finite_bounds(input).and_then(|r| r.multiply(Range::point(MICROS_PER_DAY)))
            }
            ExprKind::Coalesce(args) => self.range_of_any(args.iter()),
            _ => None,
        };
        // An evaluation outside of the type's range is an error, so both bounds hold.
        Some(match computed {
            Some(r) => Range { low: r.low.max(by_type.low), high: r.high.min(by_type.high) },
            None => by_type,
        })
        .filter(|r| r.low <= r.high)
        .or(Some(by_type))
    }

    /// Whether the expression is made of columns, constants, `+`, `-`, `*` and wider types of integers, and all values that
    /// it can have are known to be of its type: then it never fails.
    pub(in crate::lower) fn is_safe(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => true,
            ExprKind::Call(F::ADD | F::SUBTRACT, args) if expr.sql_type == SqlType::Date => {
                let sum = self.range_of_days(expr, args);
                let dates = Range { low: date::MIN_DATE.into(), high: date::MAX_DATE.into() };
                sum.is_some_and(|sum| sum.within(dates)) && args.iter().all(|arg| self.is_safe(arg))
            }
            ExprKind::Call(F::ADD | F::SUBTRACT | F::MULTIPLY, args) => {
                let bound = Range::of_type(expr.sql_type);
                let within = |range: Range| bound.is_some_and(|bound| range.within(bound));
                self.range_of_arithmetic(expr, args).is_some_and(within) && args.iter().all(|arg| self.is_safe(arg))
            }
            ExprKind::Cast(input) if expr.sql_type.is_integer() && input.sql_type.is_integer() => {
                let bound = Range::of_type(expr.sql_type);
                self.range(input).zip(bound).is_some_and(|(range, bound)| range.within(bound)) && self.is_safe(input)
            }
            _ => false,
        }
    }

    /// Bounds of a date so many days later or earlier, where it is finite.
    fn range_of_days(&self, expr: &Expr, args: &[Expr]) -> Option<Range> {
        let [date, days] = args else { return None };
        let (date, days) = (self.finite_bounds(date)?, self.range(days)?);
        if matches!(expr.kind, ExprKind::Call(F::ADD, _)) { date.add(days) } else { date.subtract(days) }
    }

    /// Bounds of a field of a date or timestamp.
    fn range_of_field(&self, args: &[Expr]) -> Option<Range> {
        let [field, input] = args else { return None };
        let field = constant_field(field)?;
        let own = match field {
            Field::Quarter => (1, 4),
            Field::Month => (1, 12),
            Field::Week => (1, 53),
            Field::Day => (1, 31),
            Field::DayOfYear => (1, 366),
            Field::DayOfWeek => (0, 6),
            Field::IsoDayOfWeek => (1, 7),
            Field::Hour => (0, 23),
            Field::Minute => (0, 59),
            // What grows with time.
            Field::Millennium | Field::Century | Field::Decade | Field::Year | Field::IsoYear | Field::Julian => {
                let Range { low, high } = self.range(input)?;
                let at = |end: i128| match input.sql_type {
                    SqlType::Date => date::extract_date(field, i32::try_from(end).ok()?).ok(),
                    SqlType::Timestamp => date::extract_timestamp(field, i64::try_from(end).ok()?).ok(),
                    _ => None,
                };
                (at(low)?, at(high)?)
            }
            _ => return None,
        };
        let is_time = matches!(input.sql_type, SqlType::Date | SqlType::Timestamp);
        is_time.then(|| Range { low: own.0.into(), high: own.1.into() })
    }

    /// Bounds of seconds since 1970, whose digits are the microseconds of timestamps.
    fn range_of_epoch(&self, args: &[Expr], sql_type: SqlType) -> Option<Range> {
        let [field, input] = args else { return None };
        let is_epoch = constant_field(field) == Some(Field::Epoch) && sql_type.scale() == Field::Epoch.scale();
        if is_epoch && is_moment(input.sql_type) { self.finite_bounds(input) } else { None }
    }

    /// Bounds of the beginnings of the periods that timestamps are in.
    fn range_of_beginnings(&self, args: &[Expr], sql_type: SqlType) -> Option<Range> {
        let [field, input] = args else { return None };
        let field =
            constant_field(field).filter(|_| (input.sql_type, sql_type) == (SqlType::Timestamp, SqlType::Timestamp))?;
        let Range { low, high } = self.finite_bounds(input)?;
        let at = |end: i128| date::trunc_timestamp(field, i64::try_from(end).ok()?).ok();
        Some(Range { low: at(low)?.into(), high: at(high)?.into() })
    }

    /// Bounds of quotients and remainders by a constant, of integers also by others.
    fn range_of_division(&self, expr: &Expr, args: &[Expr]) -> Option<Range> {
        let [dividend, divisor] = args else { return None };
        let symmetric = |most: u128| i128::try_from(most).ok().map(|high| Range { low: -high, high });
        if !expr.sql_type.is_integer() {
            let scale = |sql_type: SqlType| i128::from(sql_type.scale());
            let power = scale(expr.sql_type) + scale(divisor.sql_type) - scale(dividend.sql_type);
            let is_quotient = matches!(expr.kind, ExprKind::Call(F::DIVIDE, _));
            return self.largest_quotient(args, power).filter(|_| is_quotient).and_then(symmetric);
        }
        let (of, by) = (self.range(dividend)?, self.range(divisor)?);
        let most = match expr.kind {
            ExprKind::Call(F::MODULO, _) => of.magnitude().min(by.magnitude().checked_sub(1)?),
            _ if by.low > 0 => of.magnitude() / by.low.unsigned_abs(),
            _ => of.magnitude(),
        };
        let Range { low, high } = symmetric(most)?;
        // Both cut towards zero, and have the sign of the dividend, but for negative divisors.
        let keeps_sign = by.low >= 0 || matches!(expr.kind, ExprKind::Call(F::MODULO, _));
        Some(match of {
            of if keeps_sign && of.low >= 0 => Range { low: 0, high },
            of if keeps_sign && of.high <= 0 => Range { low, high: 0 },
            _ => Range { low, high },
        })
    }

    /// Bounds of bits that two integers share: no more than one of them has, if that is not negative.
    fn range_of_bits(&self, args: &[Expr]) -> Option<Range> {
        let highs =
            args.iter().filter_map(|arg| self.range(arg)).filter(|range| range.low >= 0).map(|range| range.high);
        highs.min().map(|high| Range { low: 0, high })
    }

    fn range_of_any<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Option<Range> {
        let mut all: Option<Range> = None;
        for value in values.filter(|v| !matches!(v.kind, ExprKind::Const(Value::Null))) {
            let range = self.range(value)?;
            all = Some(all.map_or(range, |a| a.union(range)));
        }
        all
    }

    /// Bounds of `+`, `-`, `*` before the check against the type; None if unknown or beyond 128 bits.
    pub(in crate::lower) fn range_of_arithmetic(&self, expr: &Expr, args: &[Expr]) -> Option<Range> {
        let ExprKind::Call(function, _) = expr.kind else { return None };
        let (a, b) = (self.range(&args[0])?, self.range(&args[1])?);
        if !args.iter().all(|a| a.sql_type.as_decimal().is_some()) {
            return None;
        }
        let (sa, sb, s) = (args[0].sql_type.scale(), args[1].sql_type.scale(), expr.sql_type.scale());
        match function {
            F::MULTIPLY if s == sa + sb => a.multiply(b),
            F::MULTIPLY => None,
            _ if s < sa || s < sb => None,
            _ => {
                let (a, b) = (a.scale_up((s - sa).into())?, b.scale_up((s - sb).into())?);
                if function == F::ADD { a.add(b) } else { a.subtract(b) }
            }
        }
    }
}
