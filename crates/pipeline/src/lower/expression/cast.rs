//! Casts. Numbers convert inline; everything else goes through boxed values.

use base::{Error, Result};
use functions::ScalarFunction;
use plan::Expr;
use types::SqlType;
use types::ops::cast::{NOT_PLAIN, ShortForm};

use super::Expressions;
use super::arithmetic::{check_precision, date_to_timestamp, narrow};
use super::calendar::{day_of_timestamp, time_of_timestamp};
use super::range::Range;
use super::rounding::fewer_digits;
use crate::ir::{Callee, Compare, Conversion, FloatFunction, FloatOp, Operation, Site, SiteKind, Ty};
use crate::lower::pipe::{Pipe, Sql};

/// Up to here integers are exact as doubles.
const EXACT_DOUBLE: u128 = 1 << 53;
/// Up to here powers of ten are exact as doubles.
const EXACT_POWER: u8 = 22;

impl Expressions {
    pub(in crate::lower) fn cast(&mut self, pipe: &mut Pipe, input: &Expr, expr: &Expr) -> Result<Sql> {
        use SqlType as T;
        let (from, to) = (input.sql_type, expr.sql_type);
        let sql = self.scalar(pipe, input)?;
        if from == T::Null {
            return Ok(Sql { value: pipe.zero(to.physical().into()), null: Some(pipe.bool(true)) });
        }
        match (from, to) {
            _ if from == to => Ok(sql),
            // Lengths only ever grow; blanks at the end of char(n) are not stored.
            (_, T::Text) if from.is_string() => Ok(sql),
            (T::Varchar(n) | T::Char(n), T::Varchar(m)) if n <= m => Ok(sql),
            (T::Char(n), T::Char(m)) if n <= m => Ok(sql),
            _ if to.as_decimal().is_some()
                && let Some(unit) = self.unit_of_cast(input, to) =>
            {
                Ok(fewer_digits(pipe, sql, (unit, FloatFunction::Nearest), to.physical().into()))
            }
            _ if from.as_decimal().is_some() && to.as_decimal().is_some() => {
                self.exact_to_exact(pipe, sql, input, expr)
            }
            _ if from.as_decimal().is_some() && to.is_float() => self.exact_to_float(pipe, sql, input, expr),
            (T::Real | T::Double, T::Real | T::Double) => {
                let ty = to.physical().into();
                let convert = Operation::Convert(Conversion::FloatToFloat, sql.value, ty, expr.position);
                self.strict(pipe, &[sql], |p| p.let_(ty, convert))
            }
            (T::Real | T::Double, T::SmallInt | T::Integer | T::BigInt) => {
                let ty = to.physical().into();
                let convert = Operation::Convert(Conversion::FloatToInt, sql.value, ty, expr.position);
                self.strict(pipe, &[sql], |p| p.let_(ty, convert))
            }
            (T::Double, T::Decimal { precision, scale }) => {
                let ty = to.physical().into();
                let convert = Operation::ToDecimal(sql.value, (precision, scale), ty, expr.position);
                self.strict(pipe, &[sql], |p| p.let_(ty, convert))
            }
            // UTC's time is what is stored.
            (T::Timestamp, T::Timestamptz) | (T::Timestamptz, T::Timestamp) => Ok(sql),
            (T::Date, T::Timestamp | T::Timestamptz) if self.is_finite(input) => {
                self.strict(pipe, &[sql], |p| date_to_timestamp(p, sql.value, expr.position))
            }
            (T::Timestamp, T::Date | T::Time) if let Some(bounds) = self.finite_bounds(input) => {
                let value = if to == T::Time {
                    time_of_timestamp(pipe, sql.value, bounds)
                } else {
                    let days = day_of_timestamp(pipe, sql.value, bounds);
                    pipe.let_(Ty::I32, Operation::Convert(Conversion::Cut, days, Ty::I32, None))
                };
                Ok(Sql { value, null: sql.null })
            }
            (T::Bool, T::Integer) => {
                let value = pipe.let_(Ty::I32, Operation::Convert(Conversion::BoolToInt, sql.value, Ty::I32, None));
                Ok(Sql { value, null: sql.null })
            }
            _ => self.cast_site(pipe, sql, input, expr, false),
        }
    }

    pub(in crate::lower) fn try_cast(&mut self, pipe: &mut Pipe, input: &Expr, expr: &Expr) -> Result<Sql> {
        let sql = self.scalar(pipe, input)?;
        if input.sql_type == SqlType::Null {
            return Ok(Sql { value: pipe.zero(expr.sql_type.physical().into()), null: Some(pipe.bool(true)) });
        }
        self.cast_site(pipe, sql, input, expr, true)
    }

    fn cast_site(&mut self, pipe: &mut Pipe, sql: Sql, input: &Expr, expr: &Expr, lenient: bool) -> Result<Sql> {
        let from = input.sql_type;
        let site = Site { kind: SiteKind::Cast(lenient), arguments: vec![from], result: expr.sql_type };
        if from.is_string() && expr.sql_type.is_integer() {
            return self.integer_of_text(pipe, sql, site, expr.position);
        }
        if expr.sql_type == SqlType::Text
            && let Some(form) = ShortForm::of(from)
        {
            let is_short = self.range(input).is_some_and(|range| form.is_short_up_to(range.magnitude()));
            return self.text_of_number(pipe, sql, (form, is_short), site, expr.position);
        }
        self.call_site(pipe, site, &[sql], expr.position)
    }

    /// The text of a number or a date: a short one without the site.
    fn text_of_number(
        &mut self,
        pipe: &mut Pipe,
        sql: Sql,
        (form, is_always_short): (ShortForm, bool),
        site: Site,
        position: Option<u32>,
    ) -> Result<Sql> {
        let number = pipe.widen(sql.value, Ty::I64);
        let [short, is_short] = pipe.call(Callee::ShortText(form), vec![number], None)[..] else {
            return Err(Error::internal("a callee with other results"));
        };
        if is_always_short {
            return Ok(Sql { value: short, null: sql.null });
        }
        // What is NULL is 0 in memory, whose text is short.
        let [value] = pipe.if_(
            is_short,
            |_| Ok([short]),
            |p| Ok([self.call_site(p, site.clone(), &[Sql { value: sql.value, null: None }], position)?.value]),
        )?;
        Ok(Sql { value, null: sql.null })
    }

    /// The integer that a text is: that of plain digits without the site.
    fn integer_of_text(&mut self, pipe: &mut Pipe, sql: Sql, site: Site, position: Option<u32>) -> Result<Sql> {
        let ty: Ty = site.result.physical().into();
        let bound = Range::of_type(site.result).expect("integers have ranges");
        let mut read = |pipe: &mut Pipe| {
            let number = pipe.call1(Callee::Scalar(ScalarFunction::PLAIN_INTEGER), vec![sql.value], None);
            let low = pipe.int(bound.low.max((NOT_PLAIN + 1).into()), Ty::I64);
            let is_plain = pipe.compare(Compare::Ge, number, low);
            let is_plain = match ty {
                Ty::I64 => is_plain,
                _ => {
                    let high = pipe.int(bound.high, Ty::I64);
                    let is_small = pipe.compare(Compare::Le, number, high);
                    pipe.and(is_plain, is_small)
                }
            };
            let cut = |p: &mut Pipe| match ty {
                Ty::I64 => number,
                _ => p.let_(ty, Operation::Convert(Conversion::Cut, number, ty, None)),
            };
            pipe.if_(
                is_plain,
                |p| Ok([cut(p), p.bool(false)]),
                |p| {
                    let read = self.call_site(p, site.clone(), &[Sql { value: sql.value, null: None }], position)?;
                    Ok([read.value, read.null.unwrap_or_else(|| p.bool(false))])
                },
            )
        };
        let [value, null] = match sql.null {
            None => read(pipe)?,
            Some(missing) => pipe.if_(missing, |p| Ok([p.zero(ty), p.bool(true)]), read)?,
        };
        Ok(Sql { value, null: Some(null) })
    }

    /// Between integers and decimals.
    fn exact_to_exact(&mut self, pipe: &mut Pipe, sql: Sql, input: &Expr, expr: &Expr) -> Result<Sql> {
        let (from, to, position) = (input.sql_type, expr.sql_type, expr.position);
        let bound = Range::of_type(to).expect("integers and decimals have ranges");
        let layout: Ty = to.physical().into();
        if to.scale() >= from.scale() {
            let up = u32::from(to.scale() - from.scale());
            let (scaled, range) = self.scale_up(pipe, (sql, self.range(input)), up, position)?;
            if range.is_some_and(|r| r.within(bound)) {
                let wide = pipe.ty(scaled.value).size() > layout.size();
                let cut = Operation::Convert(Conversion::Cut, scaled.value, layout, None);
                return Ok(if wide { Sql { value: pipe.let_(layout, cut), null: scaled.null } } else { scaled });
            }
            return self.strict(pipe, &[scaled], |p| {
                if to.is_decimal() {
                    let wide = p.widen(scaled.value, Ty::I128);
                    check_precision(p, wide, to, position)
                } else if p.ty(scaled.value).size() > layout.size() {
                    p.let_(layout, narrow(scaled.value, layout, position))
                } else {
                    p.widen(scaled.value, layout)
                }
            });
        }
        let down = from.scale() - to.scale();
        self.strict(pipe, &[sql], |p| {
            let (wide, digits) = (p.widen(sql.value, Ty::I128), p.int(down.into(), Ty::I32));
            let value = p.call1(Callee::RescaleDown, vec![wide, digits], position);
            if to.is_decimal() {
                check_precision(p, value, to, position)
            } else {
                p.let_(layout, narrow(value, layout, position))
            }
        })
    }

    fn exact_to_float(&mut self, pipe: &mut Pipe, sql: Sql, input: &Expr, expr: &Expr) -> Result<Sql> {
        let ty: Ty = expr.sql_type.physical().into();
        let scale = input.sql_type.scale();
        let exact = self.range(input).is_some_and(|r| r.magnitude() <= EXACT_DOUBLE) && scale <= EXACT_POWER;
        let integer = pipe.ty(sql.value);
        if scale == 0 && integer != Ty::I128 {
            let value = pipe.let_(ty, Operation::Convert(Conversion::IntToFloat, sql.value, ty, None));
            return Ok(Sql { value, null: sql.null });
        }
        if exact && integer != Ty::I128 && ty == Ty::F64 {
            // One correctly rounded division of two exact numbers.
            let value = pipe.let_(ty, Operation::Convert(Conversion::IntToFloat, sql.value, ty, None));
            let power = pipe.float(10f64.powi(scale.into()), ty);
            let value = pipe.let_(ty, Operation::Float(FloatOp::Div, value, power, None));
            return Ok(Sql { value, null: sql.null });
        }
        if ty == Ty::F32 {
            // By way of a double it would be rounded twice.
            return self.cast_site(pipe, sql, input, expr, false);
        }
        let wide = pipe.widen(sql.value, Ty::I128);
        let scale = pipe.int(scale.into(), Ty::I32);
        let value = pipe.call1(Callee::DecimalToDouble, vec![wide, scale], expr.position);
        Ok(Sql { value, null: sql.null })
    }
}
