//! Scalar functions: those that deserve code of their own; all others go through boxed values.

use base::Result;
use functions::{ScalarFunction as F, Typed};
use plan::{Expr, ExprKind, array_elements};
use types::ops::array::{is_read_as_words, stride};
use types::ops::date::{self, Field};
use types::ops::like::Syntax;
use types::ops::structure;
use types::{SqlType, Value};

use super::Expressions;
use super::arithmetic::{check_finite, date_to_timestamp, narrow};
use super::calendar::{MICROS_PER_MINUTE, remainder};
use super::range::{Range, constant_field};
use crate::ir::{Arithmetic, Callee, Compare, Conversion, FloatFunction, FloatOp, Logic, Operation, Ty, Var};
use crate::lower::pipe::{Pipe, Sql};

/// The scale of fields that have microseconds.
const MICROS: u8 = 6;

/// Whether the expression is a constant of which this is true.
fn is_integer(expr: &Expr, test: impl Fn(i64) -> bool) -> bool {
    matches!(expr.kind, ExprKind::Const(Value::Int(number)) if test(number))
}

/// An I64 that fits the type, as values of that lie in memory.
fn narrowed(pipe: &mut Pipe, sql: Sql, to: SqlType) -> Sql {
    match to.physical().into() {
        Ty::I64 => sql,
        ty => Sql { value: pipe.let_(ty, Operation::Convert(Conversion::Cut, sql.value, ty, None)), ..sql },
    }
}

/// A value, and whether it is NULL, by what is only computed where nothing is missing.
fn or_null(
    pipe: &mut Pipe,
    missing: Option<Var>,
    result: Ty,
    compute: impl FnOnce(&mut Pipe) -> [Var; 2],
) -> Result<Sql> {
    let [value, null] = match missing {
        None => compute(pipe),
        Some(missing) => pipe.if_(missing, |p| Ok([p.zero(result), p.bool(true)]), |p| Ok(compute(p)))?,
    };
    Ok(Sql { value, null: Some(null) })
}

impl Expressions {
    pub(in crate::lower) fn function(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        if let Some(sql) = self.arithmetic(pipe, f, args, expr)? {
            return Ok(sql);
        }
        if matches!(f, F::ARRAY_CAT | F::ARRAY_ALONE)
            && let Some(elements) = array_elements(expr)
        {
            return self.list_of(pipe, &elements, expr);
        }
        if let (F::LENGTH, [Expr { kind: ExprKind::Column(text), .. }]) = (f, args)
            && let Some(length) = pipe.length(*text)
        {
            return Ok(pipe.read(length));
        }
        match (f, args) {
            (F::GREATEST | F::LEAST, _) => self.extreme(pipe, f, args, expr),
            (F::EXTRACT, [field, input]) => self.extract(pipe, field, input, args, expr),
            (F::SUBSTRING, [text, start]) => self.substring(pipe, text, start, None, expr),
            // A beginning fails for no text, so that what comes later may leave rows out before it.
            (F::SUBSTRING, [text, start, length])
                if text.sql_type.is_string() && is_integer(start, |n| n == 1) && is_integer(length, |n| n >= 0) =>
            {
                self.direct(pipe, Callee::Scalar(F::LEFT), &[text.clone(), length.clone()], expr)
            }
            (F::SUBSTRING, [text, start, length]) => self.substring(pipe, text, start, Some(length), expr),
            (F::TIME_BUCKET | F::DATE_BIN, _)
                if let Some(begin) = self.calendar_bucket(pipe, args, expr.sql_type)? =>
            {
                Ok(begin)
            }
            (F::DATE_TRUNC, [field, input]) => self.truncate(pipe, field, input, args, expr),
            (F::ABS, [input]) => self.abs(pipe, input, args, expr),
            (F::DATE_DIFF, [field, a, b])
                if constant_field(field) == Some(Field::Day)
                    && let (Some(a), Some(b)) = (self.day_of(a), self.day_of(b)) =>
            {
                self.days_between(pipe, &a, &b)
            }
            (F::DATE_DIFF, [field, a, b])
                if let Some(field) = constant_field(field)
                    && let (Some(a), Some(b)) = (self.day_of(a), self.day_of(b))
                    && let Some(between) = self.periods_between(pipe, field, [&a, &b])? =>
            {
                Ok(between)
            }
            (F::DATE_DIFF, [field, _, _]) if let Some(field) = constant_field(field) => {
                self.direct(pipe, Callee::DateDiff(field), &args[1..], expr)
            }
            (F::LIST_LENGTH, [list])
                if let Some(element) = list.sql_type.element()
                    && let Some(bytes) = stride(element) =>
            {
                let list = self.scalar(pipe, list)?;
                self.strict(pipe, &[list], |p| {
                    let length = p.call1(Callee::Scalar(F::OCTET_LENGTH), vec![list.value], None);
                    let bytes = p.int(bytes as i128, Ty::I64);
                    p.let_(Ty::I64, Operation::Divide(length, bytes, None))
                })
            }
            (F::LIST_LENGTH, [list]) if let Some(element) = list.sql_type.element() => {
                let (list, elements) = (self.scalar(pipe, list)?, self.elements(element));
                self.strict(pipe, &[list], |p| p.call1(Callee::ElementCount(elements), vec![list.value], expr.position))
            }
            (F::SORT_WORD, [value]) => {
                let sql = self.scalar(pipe, value)?;
                let value = match pipe.ty(sql.value) {
                    Ty::F32 => {
                        let wide = Operation::Convert(Conversion::FloatToFloat, sql.value, Ty::F64, None);
                        let wide = pipe.let_(Ty::F64, wide);
                        pipe.call1(Callee::FloatWord, vec![wide], None)
                    }
                    Ty::F64 => pipe.call1(Callee::FloatWord, vec![sql.value], None),
                    Ty::Bool => pipe.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, sql.value, Ty::I64, None)),
                    _ => pipe.widen(sql.value, Ty::I64),
                };
                Ok(Sql { value, null: sql.null })
            }
            (F::ARRAY_SUBSCRIPT | F::LIST_EXTRACT, [list, at])
                if (f == F::ARRAY_SUBSCRIPT || is_integer(at, |n| n > 0))
                    && let Some(element) = list.sql_type.element() =>
            {
                let site = self.elements(element);
                let ty = element.physical().into();
                if is_read_as_words(element.physical())
                    && matches!((&list.kind, &at.kind), (ExprKind::Column(_), ExprKind::Column(_)))
                {
                    let (of, number) = (self.scalar(pipe, list)?, self.scalar(pipe, at)?);
                    let copied = number.null.is_none().then(|| pipe.element_of_copy(of, number.value, (site, ty)));
                    if let Some(found) = copied.flatten() {
                        return Ok(found);
                    }
                }
                self.found(pipe, Callee::Subscript(site, ty), args, expr)
            }
            (F::STRUCT_FIELD, [of, Expr { kind: ExprKind::Const(Value::Int(number)), .. }])
                if let Some(structure) = of.sql_type.structure()
                    && let Ok(number) = usize::try_from(*number) =>
            {
                let (fields, of) = (of.sql_type, self.scalar(pipe, of)?);
                let ty = expr.sql_type.physical().into();
                let element = Callee::Element(self.elements(expr.sql_type), ty);
                or_null(pipe, of.null, ty, |p| {
                    let start = match structure::fixed_start(structure, number) {
                        Some(start) => p.int(start as i128, Ty::I64),
                        None => {
                            let number = p.int(number as i128, Ty::I64);
                            p.call1(Callee::FieldStart(self.elements(fields)), vec![of.value, number], None)
                        }
                    };
                    let results = p.call(element, vec![of.value, start], expr.position);
                    [results[0], results[1]]
                })
            }
            (F::JSON_FIELD | F::JSON_FIELD_TEXT, [document, key])
                if let ExprKind::Cast(text) = &document.kind
                    && text.sql_type.is_string() =>
            {
                let is_text = f == F::JSON_FIELD_TEXT;
                let of_text = if is_text { F::JSON_FIELD_TEXT_OF_TEXT } else { F::JSON_FIELD_OF_TEXT };
                self.found(pipe, Callee::Scalar(of_text), &[(**text).clone(), key.clone()], expr)
            }
            (
                F::REGEXP_LIKE | F::REGEXP_MATCHES,
                [text, pattern @ Expr { kind: ExprKind::Const(Value::Str(_)), .. }],
            ) => self.like(pipe, text, pattern, Syntax::Regex { fold: false }, expr.position),
            (F::ISFINITE, [input]) if matches!(input.sql_type, SqlType::Double | SqlType::Real) => {
                self.is_finite_float(pipe, input)
            }
            (F::SIGN, [input]) if input.sql_type.as_decimal().is_some() && expr.sql_type.is_decimal() => {
                self.sign(pipe, input, expr.sql_type)
            }
            (F::SHIFT_LEFT, [input, Expr { kind: ExprKind::Const(Value::Int(by)), .. }]) => {
                self.shift_left(pipe, input, *by, expr.sql_type)
            }
            // What rows' ids are where they are read by name.
            (F::BIT_XOR, [a, none]) if a.sql_type == expr.sql_type && none.as_constant() == Some(&Value::Int(0)) => {
                self.scalar(pipe, a)
            }
            (F::BIT_AND | F::BIT_OR | F::BIT_XOR, [a, b]) if a.sql_type.is_integer() && a.sql_type == b.sql_type => {
                self.bits(pipe, f, (a, b))
            }
            (F::CONCAT | F::ARRAY_CAT | F::ARRAY_APPEND | F::ARRAY_PREPEND, [_, _]) => {
                let mut texts = Vec::new();
                concatenated(expr, &mut texts);
                self.direct(pipe, Callee::Concat(texts.len() as u8), &texts, expr)
            }
            _ => match f.definition().typed {
                Some(Typed::Float(function)) => self.rounding(pipe, f, function, args, expr),
                Some(typed) if !typed.is_of(&args.iter().map(|arg| arg.sql_type).collect::<Vec<_>>()) => {
                    self.boxed(pipe, f, args, expr.sql_type, expr.position)
                }
                Some(Typed::Double(..) | Typed::DoubleOfTwo(..)) => self.of_doubles(pipe, f, args, expr),
                Some(typed) if typed.is_of_lists() => {
                    let element = args[0].sql_type.element().expect("a list, as it is asked above");
                    let callee = Callee::OfLists(self.elements(element), f, expr.sql_type.physical().into());
                    self.found(pipe, callee, args, expr)
                }
                Some(typed) if typed.says_null() => self.found(pipe, Callee::Scalar(f), args, expr),
                Some(_) => self.direct(pipe, Callee::Scalar(f), args, expr),
                None => self.boxed(pipe, f, args, expr.sql_type, expr.position),
            },
        }
    }

    /// A strict function that has an entry of its own; its result's type is the SQL function's.
    pub(super) fn direct(&mut self, pipe: &mut Pipe, callee: Callee, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let values = args.iter().map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        let result: Ty = expr.sql_type.physical().into();
        let (parameters, _) = callee.signature().expect("only sites have no signature of their own");
        let of_time = matches!(callee, Callee::ExtractDate(_) | Callee::ExtractTimestamp(_));
        let checked = args.first().filter(|arg| of_time && !self.is_finite(arg)).map(|arg| arg.sql_type);
        self.strict(pipe, &values, |p| {
            if let Some(sql_type) = checked {
                check_finite(p, values[0].value, sql_type, expr.position);
            }
            let widened = |(v, ty): (&Sql, Ty)| if ty.is_integer() { p.widen(v.value, ty) } else { v.value };
            let arguments = values.iter().zip(parameters).map(widened).collect();
            let value = p.call1(callee, arguments, expr.position);
            match p.ty(value) {
                // Functions of texts count what fits into their type.
                ty if result.is_integer() && ty.size() > result.size() => {
                    p.let_(result, Operation::Convert(Conversion::Cut, value, result, None))
                }
                _ if result.is_integer() => p.widen(value, result),
                _ => value,
            }
        })
    }

    fn of_doubles(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let values = args.iter().map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        self.strict(pipe, &values, |p| {
            let (x, y) = (values[0].value, values.get(1).map(|y| y.value));
            p.let_(Ty::F64, Operation::OfDoubles(f, x, y, expr.position))
        })
    }

    /// A strict function that has an entry of its own and says whether its result is NULL.
    fn found(&mut self, pipe: &mut Pipe, callee: Callee, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let values = args.iter().map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        let (parameters, _) = callee.signature().expect("only sites have no signature of their own");
        let missing = pipe.any_null(values.iter().map(|a| a.null));
        or_null(pipe, missing, expr.sql_type.physical().into(), |p| {
            let widened = |(v, ty): (&Sql, Ty)| if ty.is_integer() { p.widen(v.value, ty) } else { v.value };
            let arguments = values.iter().zip(parameters).map(widened).collect();
            let results = p.call(callee, arguments, expr.position);
            [results[0], results[1]]
        })
    }

    fn substring(
        &mut self,
        pipe: &mut Pipe,
        text: &Expr,
        start: &Expr,
        length: Option<&Expr>,
        expr: &Expr,
    ) -> Result<Sql> {
        let mut values = vec![self.scalar(pipe, text)?, self.scalar(pipe, start)?];
        values.push(match length {
            Some(length) => self.scalar(pipe, length)?,
            None => Sql { value: pipe.int(i64::MAX.into(), Ty::I64), null: None },
        });
        self.strict(pipe, &values, |p| {
            let (start, length) = (p.widen(values[1].value, Ty::I64), p.widen(values[2].value, Ty::I64));
            p.call1(Callee::Substring, vec![values[0].value, start, length], expr.position)
        })
    }

    /// The date of a moment that begins a day, if it is a constant, or known to be none of those that are far away.
    fn day_of(&self, moment: &Expr) -> Option<Expr> {
        const DAYS: Range = Range { low: -2_440_588, high: 106_751_991 };
        match &moment.kind {
            ExprKind::Cast(date) if date.sql_type == SqlType::Date => {
                self.range(date).is_some_and(|range| range.within(DAYS)).then(|| (**date).clone())
            }
            ExprKind::Const(Value::Timestamp(at)) if !date::is_infinite(*at) => {
                Some(Expr::constant(Value::Date(date::timestamp_to_date(*at)), SqlType::Date))
            }
            _ => None,
        }
    }

    /// How many years, quarters or months begin between two dates, if that is computed without a call.
    fn periods_between(&mut self, pipe: &mut Pipe, field: Field, [a, b]: [&Expr; 2]) -> Result<Option<Sql>> {
        let (Some(a), Some(b)) = (self.calendar_period(pipe, field, a)?, self.calendar_period(pipe, field, b)?) else {
            return Ok(None);
        };
        let value = pipe.wrapping(Arithmetic::Sub, b.value, a.value);
        Ok(Some(Sql { value, null: pipe.any_null([a.null, b.null]) }))
    }

    fn days_between(&mut self, pipe: &mut Pipe, a: &Expr, b: &Expr) -> Result<Sql> {
        let (a, b) = (self.scalar(pipe, a)?, self.scalar(pipe, b)?);
        let [from, to] = [a, b].map(|day| pipe.widen(day.value, Ty::I64));
        let value = pipe.wrapping(Arithmetic::Sub, to, from);
        Ok(Sql { value, null: pipe.any_null([a.null, b.null]) })
    }

    fn extract(&mut self, pipe: &mut Pipe, field: &Expr, input: &Expr, args: &[Expr], expr: &Expr) -> Result<Sql> {
        if let Some(field) = constant_field(field).filter(|field| field.scale() == MICROS)
            && matches!(input.sql_type, SqlType::Timestamp | SqlType::Timestamptz)
            && (expr.sql_type == SqlType::Double || expr.sql_type.is_decimal() && expr.sql_type.scale() == MICROS)
            && let Some(found) = self.extract_micros(pipe, field, input, expr)?
        {
            return Ok(found);
        }
        if let Some(field) = constant_field(field)
            && expr.sql_type.is_integer()
            && let Some(found) = self.calendar_field(pipe, field, input)?
        {
            return Ok(narrowed(pipe, found, expr.sql_type));
        }
        let callee = match (constant_field(field).filter(|f| f.scale() == 0), input.sql_type) {
            (Some(field), SqlType::Date) => Some(Callee::ExtractDate(field)),
            (Some(field), SqlType::Timestamp) => Some(Callee::ExtractTimestamp(field)),
            _ => None,
        };
        match callee {
            Some(callee) if expr.sql_type.is_integer() => self.direct(pipe, callee, &args[1..], expr),
            _ => self.boxed(pipe, F::EXTRACT, args, expr.sql_type, expr.position),
        }
    }

    /// Seconds with microseconds, since the minute or since 1970, of timestamps that are known to be none of the far ones.
    fn extract_micros(&mut self, pipe: &mut Pipe, field: Field, input: &Expr, expr: &Expr) -> Result<Option<Sql>> {
        // As many digits as the decimal has; or those that a double has exactly.
        let is_double = expr.sql_type == SqlType::Double;
        let most: i128 = if is_double { 1 << 53 } else { 999_999_999_999_999_999 };
        let range = self.range(input).filter(|range| range.low >= -most && range.high <= most);
        let Some(range) = range else { return Ok(None) };
        let mut micros = self.scalar(pipe, input)?;
        if field != Field::Epoch {
            micros.value = remainder(pipe, micros.value, MICROS_PER_MINUTE, range);
        }
        if !is_double {
            return Ok(Some(micros));
        }
        let value = pipe.let_(Ty::F64, Operation::Convert(Conversion::IntToFloat, micros.value, Ty::F64, None));
        let second = pipe.float(1e6, Ty::F64);
        let value = pipe.let_(Ty::F64, Operation::Float(FloatOp::Div, value, second, None));
        Ok(Some(Sql { value, null: micros.null }))
    }

    fn truncate(&mut self, pipe: &mut Pipe, field: &Expr, input: &Expr, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let is_date = input.sql_type == SqlType::Date;
        if let Some(field) = constant_field(field)
            && expr.sql_type == input.sql_type
            && let Some(found) = self.calendar_begin(pipe, field, input)?
        {
            return Ok(found);
        }
        match constant_field(field) {
            Some(field)
                if expr.sql_type == SqlType::Timestamp
                    && (is_date && self.is_finite(input) || input.sql_type == SqlType::Timestamp) =>
            {
                let value = self.scalar(pipe, input)?;
                self.strict(pipe, &[value], |p| {
                    let at = if is_date { date_to_timestamp(p, value.value, expr.position) } else { value.value };
                    p.call1(Callee::TruncateTimestamp(field), vec![at], expr.position)
                })
            }
            _ => self.boxed(pipe, F::DATE_TRUNC, args, expr.sql_type, expr.position),
        }
    }

    /// Whether a float is neither infinite nor NaN, which is above infinity in the order of floats.
    fn is_finite_float(&mut self, pipe: &mut Pipe, input: &Expr) -> Result<Sql> {
        let sql = self.scalar(pipe, input)?;
        let [low, high] = [-f64::INFINITY, f64::INFINITY].map(|end| pipe.float(end, pipe.ty(sql.value)));
        let (above, below) = (pipe.compare(Compare::Gt, sql.value, low), pipe.compare(Compare::Lt, sql.value, high));
        Ok(Sql { value: pipe.and(above, below), null: sql.null })
    }

    /// -1, 0 or 1 of exact numbers.
    fn sign(&mut self, pipe: &mut Pipe, input: &Expr, to: SqlType) -> Result<Sql> {
        let (sql, layout): (Sql, Ty) = (self.scalar(pipe, input)?, to.physical().into());
        let zero = pipe.int(0, pipe.ty(sql.value));
        let above = pipe.compare(Compare::Gt, sql.value, zero);
        let below = pipe.compare(Compare::Lt, sql.value, zero);
        let [minus, none, plus] = [-1, 0, 1].map(|sign| pipe.int(sign, layout));
        let not_above = pipe.let_(layout, Operation::Select(below, minus, none));
        Ok(Sql { value: pipe.let_(layout, Operation::Select(above, plus, not_above)), null: sql.null })
    }

    /// `<<` by a constant, which counts within the width of the type, as what goes beyond it is lost.
    fn shift_left(&mut self, pipe: &mut Pipe, input: &Expr, by: i64, sql_type: SqlType) -> Result<Sql> {
        let (sql, layout): (Sql, Ty) = (self.scalar(pipe, input)?, sql_type.physical().into());
        let bits = if sql_type == SqlType::BigInt { 63 } else { 31 };
        let factor = 1i64.wrapping_shl((by & bits) as u32);
        let (x, factor) = (pipe.widen(sql.value, Ty::I64), pipe.int(factor.into(), Ty::I64));
        let product = pipe.wrapping(Arithmetic::Mul, x, factor);
        let value = match layout {
            Ty::I64 => product,
            narrow => pipe.let_(narrow, Operation::Convert(Conversion::Cut, product, narrow, None)),
        };
        Ok(Sql { value, null: sql.null })
    }

    /// `&`, `|`, `#` of integers of one type.
    fn bits(&mut self, pipe: &mut Pipe, f: F, (a, b): (&Expr, &Expr)) -> Result<Sql> {
        let op = match f {
            F::BIT_AND => Logic::And,
            F::BIT_OR => Logic::Or,
            _ => Logic::Xor,
        };
        let ty: Ty = a.sql_type.physical().into();
        let (a, b) = (self.scalar(pipe, a)?, self.scalar(pipe, b)?);
        let (x, y) = (pipe.widen(a.value, ty), pipe.widen(b.value, ty));
        let value = pipe.let_(ty, Operation::Logic(op, x, y));
        let null = pipe.any_null([a.null, b.null]);
        Ok(Sql { value, null })
    }

    /// Integers fail as the negation of the least one does.
    fn abs(&mut self, pipe: &mut Pipe, input: &Expr, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let sql_type = expr.sql_type;
        if sql_type.is_float() && input.sql_type == sql_type {
            return self.float_function(pipe, FloatFunction::Abs, input);
        }
        if sql_type.as_decimal().is_none() || input.sql_type != sql_type {
            return self.boxed(pipe, F::ABS, args, sql_type, expr.position);
        }
        let sql = self.scalar(pipe, input)?;
        let layout: Ty = sql_type.physical().into();
        self.strict(pipe, &[sql], |p| {
            let value = if p.ty(sql.value).size() > layout.size() {
                p.let_(layout, narrow(sql.value, layout, expr.position))
            } else {
                p.widen(sql.value, layout)
            };
            let zero = p.int(0, layout);
            let is_negative = p.compare(Compare::Lt, value, zero);
            let negated = p.let_(layout, Operation::Checked(Arithmetic::Sub, zero, value, expr.position));
            p.let_(layout, Operation::Select(is_negative, negated, value))
        })
    }

    /// Of doubles; or of decimals to fewer digits, which is what a cast does.
    /// GREATEST and LEAST skip NULLs.
    fn extreme(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let mut best: Option<Sql> = None;
        for arg in args {
            let next = self.scalar(pipe, arg)?;
            let next = if arg.sql_type == SqlType::Null {
                Sql { value: pipe.zero(expr.sql_type.physical().into()), null: next.null }
            } else {
                pipe.in_layout(next, expr.sql_type)
            };
            best = Some(match best {
                None => next,
                Some(best) => {
                    let op = if f == F::GREATEST { Compare::Gt } else { Compare::Lt };
                    let mut take = pipe.compare(op, next.value, best.value);
                    if let Some(null) = best.null {
                        take = pipe.or(take, null);
                    }
                    if let Some(null) = next.null {
                        let there = pipe.not(null);
                        take = pipe.and(take, there);
                    }
                    let ty = pipe.ty(best.value);
                    let value = pipe.let_(ty, Operation::Select(take, next.value, best.value));
                    let null = match (best.null, next.null) {
                        (Some(a), Some(b)) => Some(pipe.and(a, b)),
                        _ => None,
                    };
                    Sql { value, null }
                }
            });
        }
        best.ok_or_else(|| base::Error::internal("GREATEST or LEAST without arguments"))
    }
}

/// The texts that are put together, one after the other.
fn concatenated(expr: &Expr, texts: &mut Vec<Expr>) {
    match &expr.kind {
        ExprKind::Call(F::CONCAT | F::ARRAY_CAT | F::ARRAY_APPEND | F::ARRAY_PREPEND, args)
            if args.len() == 2 && texts.len() < usize::from(u8::MAX) / 2 =>
        {
            args.iter().for_each(|arg| concatenated(arg, texts));
        }
        _ => texts.push(expr.clone()),
    }
}
