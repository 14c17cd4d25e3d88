//! Arithmetic on numbers, dates and intervals. Integers and decimals are computed in the narrowest type that their ranges
//! allow, and checked only where the ranges do not already exclude overflow.

use std::ops::RangeInclusive;

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::ops::date::{MAX_DATE, MIN_DATE, MIN_TIMESTAMP, NO_FIELD};
use types::{SqlType, Value};

use super::Expressions;
use super::range::{MICROS_PER_DAY, Range};
use crate::ir::{Arithmetic, Callee, Compare, Conversion, FloatOp, Inst, Operation, Ty, Var};
use crate::lower::pipe::{Pipe, Sql};

impl Expressions {
    /// `+ - * / %` and unary minus; None where boxed values must do it.
    pub(in crate::lower) fn arithmetic(
        &mut self,
        pipe: &mut Pipe,
        f: F,
        args: &[Expr],
        expr: &Expr,
    ) -> Result<Option<Sql>> {
        use SqlType as T;
        let types: Vec<T> = args.iter().map(|a| a.sql_type).collect();
        match (f, types.as_slice()) {
            (F::NEGATE, [t]) if t.as_decimal().is_some() => {
                let zero = Expr::constant(if t.is_decimal() { Value::Decimal(0) } else { Value::Int(0) }, *t);
                let args = [zero, args[0].clone()];
                self.exact(pipe, F::SUBTRACT, &args, expr).map(Some)
            }
            (F::NEGATE, [T::Real | T::Double]) => {
                let x = self.scalar(pipe, &args[0])?;
                // This turns 0 into -0, too, as PostgreSQL does.
                let minus = pipe.float(-0.0, pipe.ty(x.value));
                let value = pipe.let_(pipe.ty(x.value), Operation::Float(FloatOp::Sub, minus, x.value, None));
                Ok(Some(Sql { value, null: x.null }))
            }
            (F::ADD | F::SUBTRACT | F::MULTIPLY | F::DIVIDE | F::MODULO, [a, b])
                if a.as_decimal().is_some() && b.as_decimal().is_some() =>
            {
                self.exact(pipe, f, args, expr).map(Some)
            }
            (F::ADD | F::SUBTRACT | F::MULTIPLY | F::DIVIDE, [a, b]) if a.is_float() && a == b => {
                self.float(pipe, f, args, expr.position).map(Some)
            }
            (F::ADD | F::SUBTRACT, [T::Date, T::Integer]) | (F::SUBTRACT, [T::Date, T::Date]) => {
                self.plus_days(pipe, f, args, expr).map(Some)
            }
            (F::ADD | F::SUBTRACT, [T::Date | T::Timestamp | T::Timestamptz, T::Interval]) => {
                self.plus_interval(pipe, f, args, expr)
            }
            _ => Ok(None),
        }
    }

    /// Integers and decimals.
    fn exact(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        match f {
            F::DIVIDE | F::MODULO if expr.sql_type.is_integer() => self.integer_division(pipe, f, args, expr),
            F::DIVIDE => self.decimal_division(pipe, args, expr),
            F::MODULO => self.decimal_remainder(pipe, args, expr),
            _ => self.exact_ring(pipe, f, args, expr),
        }
    }

    /// `+ - *`.
    fn exact_ring(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let op = match f {
            F::ADD => Arithmetic::Add,
            F::SUBTRACT => Arithmetic::Sub,
            _ => Arithmetic::Mul,
        };
        let (sa, sb, s) = (args[0].sql_type.scale(), args[1].sql_type.scale(), expr.sql_type.scale());
        let mut a = (self.scalar(pipe, &args[0])?, self.range(&args[0]));
        let mut b = (self.scalar(pipe, &args[1])?, self.range(&args[1]));
        let product_scale = if f == F::MULTIPLY { sa + sb } else { s };
        if f != F::MULTIPLY {
            a = self.scale_up(pipe, a, u32::from(s.saturating_sub(sa)), expr.position)?;
            b = self.scale_up(pipe, b, u32::from(s.saturating_sub(sb)), expr.position)?;
        }
        let result = match (a.1, b.1, f) {
            (Some(a), Some(b), F::ADD) => a.add(b),
            (Some(a), Some(b), F::SUBTRACT) => a.subtract(b),
            (Some(a), Some(b), _) => a.multiply(b),
            _ => None,
        };
        let (a, b) = (a.0, b.0);
        let layout: Ty = expr.sql_type.physical().into();
        let bound = Range::of_type(expr.sql_type).expect("integers and decimals have ranges");
        let safe = result.is_some_and(|r| r.within(bound)) && product_scale == s;
        let ty = match result {
            // Integers compute in their own type, or wider operands' where both fit it.
            _ if expr.sql_type.is_integer() => layout,
            Some(r) if r.fits(Ty::I64) => Ty::I64,
            _ => Ty::I128,
        };
        let position = expr.position;
        if safe || (product_scale == s && !layout_is_decimal(expr)) {
            // Either proven, or an integer whose type's overflow is the machine's.
            let ty = if safe && !expr.sql_type.is_integer() { ty } else { layout };
            let ty = self.at_least(pipe, ty, &[a, b]);
            return self.strict_unless_safe(pipe, safe, &[a, b], |p| {
                let (x, y) = (p.widen(a.value, ty), p.widen(b.value, ty));
                let op = if safe { Operation::Wrapping(op, x, y) } else { Operation::Checked(op, x, y, position) };
                p.let_(ty, op)
            });
        }
        self.strict(pipe, &[a, b], |p| {
            let (x, y) = (p.widen(a.value, Ty::I128), p.widen(b.value, Ty::I128));
            let value = if product_scale > s {
                let digits = p.int((product_scale - s).into(), Ty::I32);
                p.call1(Callee::MulRound, vec![x, y, digits], position)
            } else if f == F::MULTIPLY && result.is_none() {
                p.call1(Callee::MulI128, vec![x, y], position)
            } else if result.is_some() {
                p.let_(Ty::I128, Operation::Wrapping(op, x, y))
            } else {
                p.let_(Ty::I128, Operation::Checked(op, x, y, position))
            };
            check_precision(p, value, expr.sql_type, position)
        })
    }

    /// The wider of `ty` and the operands' types (an operand may be wider than its range needs).
    fn at_least(&self, pipe: &Pipe, ty: Ty, operands: &[Sql]) -> Ty {
        operands.iter().map(|o| pipe.ty(o.value)).chain([ty]).max_by_key(|t| t.size()).unwrap_or(ty)
    }

    /// What cannot fail may as well run for NULLs.
    pub(in crate::lower) fn strict_unless_safe(
        &mut self,
        pipe: &mut Pipe,
        safe: bool,
        args: &[Sql],
        operation: impl FnOnce(&mut Pipe) -> Var,
    ) -> Result<Sql> {
        if safe {
            let value = operation(pipe);
            let null = pipe.any_null(args.iter().map(|a| a.null));
            return Ok(Sql { value, null });
        }
        self.strict(pipe, args, operation)
    }

    /// Multiplies by 10^digits, in 128 bits unless the range allows 64.
    pub(in crate::lower) fn scale_up(
        &mut self,
        pipe: &mut Pipe,
        (sql, range): (Sql, Option<Range>),
        digits: u32,
        position: Option<u32>,
    ) -> Result<(Sql, Option<Range>)> {
        if digits == 0 {
            return Ok((sql, range));
        }
        let scaled = range.and_then(|r| r.scale_up(digits));
        let ty = if scaled.is_some_and(|r| r.fits(Ty::I64)) { Ty::I64 } else { Ty::I128 };
        let ty = self.at_least(pipe, ty, &[sql]);
        let factor = 10i128.pow(digits);
        let safe = scaled.is_some();
        let sql = self.strict_unless_safe(pipe, safe, &[sql], |p| {
            let (x, factor) = (p.widen(sql.value, ty), p.int(factor, ty));
            if safe {
                p.let_(ty, Operation::Wrapping(Arithmetic::Mul, x, factor))
            } else {
                p.call1(Callee::MulI128, vec![x, factor], position)
            }
        })?;
        Ok((sql, scaled))
    }

    fn integer_division(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let ty: Ty = expr.sql_type.physical().into();
        let a = self.scalar(pipe, &args[0])?;
        let divide = f == F::DIVIDE;
        let position = expr.position;
        // A constant is the code's own: processors multiply faster than they divide.
        if let Some(divisor) = constant_divisor(&args[1]).filter(|divisor| !matches!(divisor, -1..=0)) {
            let (x, y) = (pipe.widen(a.value, ty), pipe.int(divisor, ty));
            let op = if divide { Operation::Divide(x, y, position) } else { Operation::Remainder(x, y, position) };
            return Ok(Sql { value: pipe.let_(ty, op), null: a.null });
        }
        let b = self.scalar(pipe, &args[1])?;
        self.strict(pipe, &[a, b], |p| {
            let (x, y) = (p.widen(a.value, ty), p.widen(b.value, ty));
            p.let_(ty, if divide { Operation::Divide(x, y, position) } else { Operation::Remainder(x, y, position) })
        })
    }

    fn decimal_division(&mut self, pipe: &mut Pipe, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let (sa, sb, s) = (args[0].sql_type.scale(), args[1].sql_type.scale(), expr.sql_type.scale());
        let (a, b) = (self.scalar(pipe, &args[0])?, self.scalar(pipe, &args[1])?);
        let power = i128::from(s) + i128::from(sb) - i128::from(sa);
        if power < 0 {
            return Err(Error::internal("a quotient has fewer digits than its dividend").at(expr.position));
        }
        let position = expr.position;
        let fits = self.quotient_fits(args, power, expr.sql_type);
        if let Some(quotient) = fits.then(|| self.quotient_by_constant(args, power)).flatten() {
            return self.strict(pipe, &[a], |p| quotient.of(p, a.value, expr.sql_type.physical().into()));
        }
        self.strict(pipe, &[a, b], |p| {
            let (x, y) = (p.widen(a.value, Ty::I128), p.widen(b.value, Ty::I128));
            let power = p.int(power, Ty::I32);
            let value = p.call1(Callee::DivDecimal, vec![x, y, power], position);
            let layout: Ty = expr.sql_type.physical().into();
            match fits {
                false => check_precision(p, value, expr.sql_type, position),
                true if layout == Ty::I128 => value,
                true => p.let_(layout, Operation::Convert(Conversion::Cut, value, layout, None)),
            }
        })
    }

    /// How decimals are divided by a constant if their range is small enough for words.
    fn quotient_by_constant(&self, args: &[Expr], power: i128) -> Option<QuotientByConstant> {
        let divisor = constant_divisor(&args[1])?;
        let up = 10i128.checked_pow(u32::try_from(power).ok()?)?;
        let by = i128::from(i32::try_from(divisor.checked_abs()?).ok().filter(|by| *by > 0)?);
        let (whole, rest) = (up / by * divisor.signum(), up % by * divisor.signum());
        let most = i128::try_from(self.range(&args[0])?.magnitude()).ok()?;
        let fits = |product: Option<i128>| product.is_some_and(|product| i64::try_from(product).is_ok());
        (fits(Some(most)) && fits(most.checked_mul(rest.abs()))).then_some(QuotientByConstant { whole, rest, by })
    }

    /// Whether it is known that a quotient has no more digits than its type: where the divisor is a constant.
    fn quotient_fits(&self, args: &[Expr], power: i128, sql_type: SqlType) -> bool {
        let most = self.largest_quotient(args, power);
        most.zip(Range::of_type(sql_type)).is_some_and(|(most, bound)| most <= bound.high.unsigned_abs())
    }

    /// The largest magnitude of a quotient by a constant, of a dividend with so many zeros more.
    pub(super) fn largest_quotient(&self, args: &[Expr], power: i128) -> Option<u128> {
        let divisor = constant_divisor(&args[1])?.unsigned_abs();
        let scaled = self.range(&args[0])?.scale_up(u32::try_from(power).ok()?)?;
        // Rounding adds one at most.
        scaled.magnitude().checked_div(divisor)?.checked_add(1)
    }

    fn decimal_remainder(&mut self, pipe: &mut Pipe, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let scale = args[0].sql_type.scale().max(args[1].sql_type.scale());
        let mut operands = [Sql { value: Var(0), null: None }; 2];
        for (operand, arg) in operands.iter_mut().zip(args) {
            let value = (self.scalar(pipe, arg)?, self.range(arg));
            *operand = self.scale_up(pipe, value, u32::from(scale - arg.sql_type.scale()), expr.position)?.0;
        }
        let [a, b] = operands;
        let position = expr.position;
        let ty: Ty = expr.sql_type.physical().into();
        let is_word = ty == Ty::I64 && operands.iter().all(|of| pipe.ty(of.value).size() <= Ty::I64.size());
        let remainder = self.strict(pipe, &operands, |p| {
            if is_word {
                let (x, y) = (p.widen(a.value, ty), p.widen(b.value, ty));
                return p.let_(ty, Operation::Remainder(x, y, position));
            }
            let (x, y) = (p.widen(a.value, Ty::I128), p.widen(b.value, Ty::I128));
            let value = p.call1(Callee::RemI128, vec![x, y], position);
            if ty == Ty::I128 { value } else { p.let_(ty, narrow(value, ty, position)) }
        })?;
        Ok(remainder)
    }

    fn float(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], position: Option<u32>) -> Result<Sql> {
        let (a, b) = (self.scalar(pipe, &args[0])?, self.scalar(pipe, &args[1])?);
        let op = match f {
            F::ADD => FloatOp::Add,
            F::SUBTRACT => FloatOp::Sub,
            F::MULTIPLY => FloatOp::Mul,
            _ => FloatOp::Div,
        };
        self.strict(pipe, &[a, b], |p| p.let_(p.ty(a.value), Operation::Float(op, a.value, b.value, position)))
    }

    /// Of a date and days, or of two dates.
    fn plus_days(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        if !self.is_finite(&args[0]) || args[1].sql_type == SqlType::Date && !self.is_finite(&args[1]) {
            return self.boxed(pipe, f, args, expr.sql_type, expr.position);
        }
        let (a, b) = (self.scalar(pipe, &args[0])?, self.scalar(pipe, &args[1])?);
        let op = if f == F::ADD { Arithmetic::Add } else { Arithmetic::Sub };
        if expr.sql_type != SqlType::Date {
            return self
                .strict(pipe, &[a, b], |p| p.let_(Ty::I32, Operation::Checked(op, a.value, b.value, expr.position)));
        }
        self.strict(pipe, &[a, b], |p| {
            let (x, y) = (p.widen(a.value, Ty::I64), p.widen(b.value, Ty::I64));
            let days = p.wrapping(op, x, y);
            check_datetime(p, days, MIN_DATE.into()..=MAX_DATE.into(), "date out of range", expr.position);
            p.let_(Ty::I32, Operation::Convert(Conversion::Cut, days, Ty::I32, None))
        })
    }

    fn plus_interval(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Option<Sql>> {
        let ExprKind::Const(Value::Interval(interval)) = args[1].kind else {
            return self.plus_multiple(pipe, f, args);
        };
        let is_finite = self.is_finite(&args[0]);
        if args[0].sql_type == SqlType::Date && !is_finite {
            return Ok(None);
        }
        let sign = if f == F::ADD { 1 } else { -1 };
        let from_date = args[0].sql_type == SqlType::Date;
        let (months, days) = (interval.months.checked_mul(sign), interval.days.checked_mul(sign));
        let (Some(months), Some(days), Some(micros)) = (months, days, interval.micros.checked_mul(sign.into())) else {
            return Ok(None);
        };
        let delta = i128::from(days) * MICROS_PER_DAY + i128::from(micros);
        if months != 0
            && let Some(later) = self.calendar_plus(pipe, &args[0], (months, delta))?
        {
            return Ok(Some(later));
        }
        let input = self.scalar(pipe, &args[0])?;
        let position = expr.position;
        let signed = types::Interval { months, days, micros };
        let interval = self.constant(pipe, &Value::Interval(signed), SqlType::Interval);
        self.strict(pipe, &[input], |p| {
            let timestamp = if from_date { date_to_timestamp(p, input.value, position) } else { input.value };
            let delta = i64::try_from(delta).ok();
            let Some(delta) = delta.filter(|_| months == 0 && is_finite) else {
                return p.call1(Callee::TimestampAddInterval, vec![timestamp, interval.value], position);
            };
            let range = MIN_TIMESTAMP.saturating_sub(delta)..=(i64::MAX - 1).saturating_sub(delta);
            check_datetime(p, timestamp, range, "timestamp out of range", position);
            let delta = p.int(delta.into(), Ty::I64);
            p.wrapping(Arithmetic::Add, timestamp, delta)
        })
        .map(Some)
    }
}

impl Expressions {
    /// Whether it is known that a date or timestamp is none of the infinite ones.
    pub(in crate::lower) fn is_finite(&self, expr: &Expr) -> bool {
        let (low, high) = match expr.sql_type {
            SqlType::Date => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN.into(), i64::MAX.into()),
        };
        self.range(expr).is_some_and(|range| range.low > low && range.high < high)
    }

    /// The bounds of a date or timestamp that is known to be finite.
    pub(in crate::lower) fn finite_bounds(&self, expr: &Expr) -> Option<Range> {
        self.range(expr).filter(|_| self.is_finite(expr))
    }
}

/// Leaves with an error where a date or timestamp is infinite.
pub(in crate::lower) fn check_finite(pipe: &mut Pipe, value: Var, sql_type: SqlType, position: Option<u32>) {
    let value = pipe.widen(value, Ty::I64);
    let range = match sql_type {
        SqlType::Date => i64::from(i32::MIN) + 1..=i64::from(i32::MAX) - 1,
        _ => i64::MIN + 1..=i64::MAX - 1,
    };
    check_datetime(pipe, value, range, NO_FIELD, position);
}

fn layout_is_decimal(expr: &Expr) -> bool {
    expr.sql_type.is_decimal()
}

pub(in crate::lower) fn narrow(value: Var, ty: Ty, position: Option<u32>) -> Operation {
    Operation::Convert(Conversion::Narrow, value, ty, position)
}

pub(in crate::lower) fn date_to_timestamp(pipe: &mut Pipe, date: Var, position: Option<u32>) -> Var {
    let (days, factor) = (pipe.widen(date, Ty::I64), pipe.int(MICROS_PER_DAY, Ty::I64));
    let range = MIN_DATE.into()..=i64::MAX / MICROS_PER_DAY as i64;
    check_datetime(pipe, days, range, "date out of range for timestamp", position);
    pipe.wrapping(Arithmetic::Mul, days, factor)
}

/// 22008 where an I64 is not in the range.
fn check_datetime(
    pipe: &mut Pipe,
    value: Var,
    range: RangeInclusive<i64>,
    message: &'static str,
    position: Option<u32>,
) {
    let (low, high) = (pipe.int((*range.start()).into(), Ty::I64), pipe.int((*range.end()).into(), Ty::I64));
    let (below, above) = (pipe.compare(Compare::Lt, value, low), pipe.compare(Compare::Gt, value, high));
    let outside = pipe.or(below, above);
    let raise = Inst::Raise { state: SqlState::DATETIME_OVERFLOW, message, position };
    pipe.when(outside, |p| {
        p.push(raise);
        Ok(())
    })
    .expect("it only raises");
}

/// A 128-bit decimal, checked against its type's digits and brought into its layout.
pub(in crate::lower) fn check_precision(pipe: &mut Pipe, value: Var, sql_type: SqlType, position: Option<u32>) -> Var {
    let (precision, _) = sql_type.as_decimal().expect("a decimal");
    let digits = pipe.int(precision.into(), Ty::I32);
    let value = pipe.call1(Callee::CheckPrecision, vec![value, digits], position);
    let ty: Ty = sql_type.physical().into();
    if ty == Ty::I128 { value } else { pipe.let_(ty, Operation::Convert(Conversion::Cut, value, ty, None)) }
}

fn constant_divisor(expr: &Expr) -> Option<i128> {
    match expr.kind {
        ExprKind::Const(Value::Decimal(divisor)) => Some(divisor),
        ExprKind::Const(Value::Int(divisor)) => Some(divisor.into()),
        _ => None,
    }
}

/// `x * 10^power / divisor`, rounded half away from zero, as `x * whole + x * rest / by`: `10^power / divisor` is `whole`, and
/// `rest / by` is left. The second product has 64 bits.
struct QuotientByConstant {
    whole: i128,
    rest: i128,
    /// Positive, below 2^31.
    by: i128,
}

impl QuotientByConstant {
    fn of(&self, p: &mut Pipe, x: Var, layout: Ty) -> Var {
        let x = p.widen(x, Ty::I64);
        let mut value = self.rounded(p, x);
        if self.whole != 0 {
            let wide = if layout == Ty::I128 { Ty::I128 } else { Ty::I64 };
            let (factor, wide_x) = (p.int(self.whole, wide), p.widen(x, wide));
            let product = p.wrapping(Arithmetic::Mul, wide_x, factor);
            let rest = p.widen(value, wide);
            value = p.wrapping(Arithmetic::Add, product, rest);
        }
        match p.ty(value) {
            ty if ty.size() > layout.size() => p.let_(layout, Operation::Convert(Conversion::Cut, value, layout, None)),
            _ => p.widen(value, layout),
        }
    }

    /// `x * rest / by`
    fn rounded(&self, p: &mut Pipe, x: Var) -> Var {
        if self.rest == 0 {
            return p.int(0, Ty::I64);
        }
        let (factor, by) = (p.int(self.rest, Ty::I64), p.int(self.by, Ty::I64));
        let product = p.wrapping(Arithmetic::Mul, x, factor);
        let quotient = p.let_(Ty::I64, Operation::Divide(product, by, None));
        let whole = p.wrapping(Arithmetic::Mul, quotient, by);
        let left = p.wrapping(Arithmetic::Sub, product, whole);
        let twice = p.wrapping(Arithmetic::Add, left, left);
        let minus = p.int(-self.by, Ty::I64);
        let (up, down) = (p.compare(Compare::Ge, twice, by), p.compare(Compare::Le, twice, minus));
        let [up, down] =
            [up, down].map(|flag| p.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, flag, Ty::I64, None)));
        let more = p.wrapping(Arithmetic::Sub, up, down);
        p.wrapping(Arithmetic::Add, quotient, more)
    }
}
