//! Scalar functions: those that deserve code of their own; all others go through boxed values.

use base::Result;
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

use super::Expressions;
use crate::ir::{Callee, Compare, Operation, Ty};
use crate::lower::pipe::{Pipe, Sql};

impl Expressions {
    pub(in crate::lower) fn function(&mut self, pipe: &mut Pipe, f: F, args: &[Expr], expr: &Expr) -> Result<Sql> {
        if let Some(sql) = self.arithmetic(pipe, f, args, expr)? {
            return Ok(sql);
        }
        match (f, args) {
            (F::GREATEST | F::LEAST, _) => self.extreme(pipe, f, args, expr),
            (F::EXTRACT, [field, input]) => self.extract(pipe, field, input, args, expr),
            (F::SUBSTRING, [text, start]) => self.substring(pipe, text, start, None, expr),
            (F::SUBSTRING, [text, start, length]) => self.substring(pipe, text, start, Some(length), expr),
            (F::LENGTH, [_]) => self.direct(pipe, Callee::StrLength, args, expr),
            (F::STARTS_WITH, [_, _]) => self.direct(pipe, Callee::StartsWith, args, expr),
            (F::CONCAT, [_, _]) => self.direct(pipe, Callee::Concat, args, expr),
            (F::LOWER, [_]) => self.direct(pipe, Callee::Lower, args, expr),
            (F::UPPER, [_]) => self.direct(pipe, Callee::Upper, args, expr),
            _ => self.boxed(pipe, f, args, expr.sql_type, expr.position),
        }
    }

    /// A strict function that has an entry of its own; its result's type is the SQL function's.
    fn direct(&mut self, pipe: &mut Pipe, callee: Callee, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let values = args.iter().map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        let result: Ty = expr.sql_type.physical().into();
        self.strict(pipe, &values, |p| {
            let value = p.call1(callee, values.iter().map(|v| v.value).collect(), expr.position);
            if result.is_integer() { p.widen(value, result) } else { value }
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

    fn extract(&mut self, pipe: &mut Pipe, field: &Expr, input: &Expr, args: &[Expr], expr: &Expr) -> Result<Sql> {
        let callee = match (&field.kind, input.sql_type) {
            (ExprKind::Const(Value::Str(field)), SqlType::Date) => match &**field {
                "year" => Some(Callee::ExtractYear),
                "month" => Some(Callee::ExtractMonth),
                "day" => Some(Callee::ExtractDay),
                _ => None,
            },
            _ => None,
        };
        match callee {
            Some(callee) if expr.sql_type.is_integer() => self.direct(pipe, callee, &args[1..], expr),
            _ => self.boxed(pipe, F::EXTRACT, args, expr.sql_type, expr.position),
        }
    }

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
