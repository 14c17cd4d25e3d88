//! Expressions: SQL's three-valued logic and control flow. Arithmetic, comparisons, casts and functions have files of
//! their own.

use base::{Error, Result};
use plan::{ColumnId, Expr, ExprKind};
use types::ops::like::Syntax;
use types::{SqlType, Value};

use super::Expressions;
use super::range::{Range, number};
use crate::ir::{Callee, Inst, Operation, Param, Site, Ty, Var};
use crate::lower::pipe::{Binding, Pipe, Sql};
use crate::lower::unbound;

impl Expressions {
    /// The value of an expression for the pipe's current tuple.
    pub(in crate::lower) fn scalar(&mut self, pipe: &mut Pipe, expr: &Expr) -> Result<Sql> {
        match &expr.kind {
            ExprKind::Column(column) => pipe.column(*column).ok_or_else(|| unbound(*column)),
            ExprKind::Const(value) => Ok(self.constant(pipe, value, expr.sql_type)),
            ExprKind::Argument(id, value) => {
                let ty: Ty = expr.sql_type.physical().into();
                let param = self.argument(*id, value, expr.sql_type);
                Ok(Sql { value: pipe.let_(ty, Operation::Param(param, ty)), null: None })
            }
            ExprKind::Call(function, args) => self.function(pipe, *function, args, expr),
            ExprKind::Compare(op, left, right) => self.comparison(pipe, *op, left, right),
            ExprKind::And(parts) => self.connective(pipe, parts, true),
            ExprKind::Or(parts) => self.connective(pipe, parts, false),
            ExprKind::Not(input) => {
                let sql = self.scalar(pipe, input)?;
                Ok(Sql { value: pipe.not(sql.value), null: sql.null })
            }
            ExprKind::IsNull(input) => {
                let sql = self.scalar(pipe, input)?;
                let value = sql.null.unwrap_or_else(|| pipe.bool(false));
                Ok(Sql { value, null: None })
            }
            ExprKind::Case { branches, otherwise } => self.case(pipe, branches, otherwise, expr.sql_type),
            ExprKind::Coalesce(args) => self.coalesce(pipe, args, expr.sql_type),
            ExprKind::Cast(input) => self.cast(pipe, input, expr),
            ExprKind::TryCast(input) => self.try_cast(pipe, input, expr),
            ExprKind::InList(input, values) => self.in_list(pipe, input, values),
            ExprKind::Like { input, pattern, syntax } => self.like(pipe, input, pattern, *syntax, expr.position),
            ExprKind::Let { column, value, body } => {
                // A let may be inside of its copy, so that its column has a meaning already.
                let outer = self.define(pipe, *column, value)?;
                let result = self.scalar(pipe, body);
                unbind(pipe, *column, outer);
                result
            }
            ExprKind::Each(each) => self.each(pipe, each, expr),
            ExprKind::Subquery(_) => Err(Error::internal("a subquery was not unnested").at(expr.position)),
        }
    }

    /// Whether a boolean expression is true (neither false nor NULL): what filters ask. NULL flags of the parts are not
    /// computed where they do not matter.
    pub(in crate::lower) fn truth(&mut self, pipe: &mut Pipe, expr: &Expr) -> Result<Var> {
        self.decide(pipe, expr, true)
    }

    /// Whether a boolean expression is `wanted`, and not NULL.
    fn decide(&mut self, pipe: &mut Pipe, expr: &Expr, wanted: bool) -> Result<Var> {
        match &expr.kind {
            ExprKind::Not(input) => self.decide(pipe, input, !wanted),
            ExprKind::Let { column, value, body } => {
                let outer = self.define(pipe, *column, value)?;
                let result = self.decide(pipe, body, wanted);
                unbind(pipe, *column, outer);
                result
            }
            // An AND is true if all parts are, false if one is false; OR is the mirror image.
            ExprKind::And(parts) => self.decide_parts(pipe, parts, wanted, wanted),
            ExprKind::Or(parts) => self.decide_parts(pipe, parts, wanted, !wanted),
            _ => {
                let sql = self.scalar(pipe, expr)?;
                let value = if wanted { sql.value } else { pipe.not(sql.value) };
                Ok(match sql.null {
                    None => value,
                    Some(null) => {
                        let known = pipe.not(null);
                        pipe.and(value, known)
                    }
                })
            }
        }
    }

    /// Whether all (or any) of the parts are `wanted`, left to right.
    fn decide_parts(&mut self, pipe: &mut Pipe, parts: &[Expr], wanted: bool, all: bool) -> Result<Var> {
        let Some((last, init)) = parts.split_last() else { return Ok(pipe.bool(all)) };
        let Some(first) = init.first() else { return self.decide(pipe, last, wanted) };
        let rest = &parts[1..];
        let head = self.decide(pipe, first, wanted)?;
        if rest.iter().all(is_cheap) {
            let tail = self.decide_parts(pipe, rest, wanted, all)?;
            return Ok(if all { pipe.and(head, tail) } else { pipe.or(head, tail) });
        }
        // The rest runs only where the head does not decide, so that its errors happen only there.
        let condition = if all { head } else { pipe.not(head) };
        let [result] =
            pipe.if_(condition, |p| Ok([self.decide_parts(p, rest, wanted, all)?]), |p| Ok([p.bool(!all)]))?;
        Ok(result)
    }

    /// Three-valued AND (`conjunction`) or OR.
    fn connective(&mut self, pipe: &mut Pipe, parts: &[Expr], conjunction: bool) -> Result<Sql> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(Sql { value: pipe.bool(conjunction), null: None });
        };
        let head = self.scalar(pipe, first)?;
        if rest.is_empty() {
            return Ok(head);
        }
        if rest.iter().all(is_cheap) {
            let tail = self.connective(pipe, rest, conjunction)?;
            return Ok(self.connect(pipe, head, tail, conjunction));
        }
        // The head decides if it is false (true for OR) and not NULL.
        let against = if conjunction { pipe.not(head.value) } else { head.value };
        let decided = match head.null {
            None => against,
            Some(null) => {
                let known = pipe.not(null);
                pipe.and(against, known)
            }
        };
        let [value, null] = pipe.if_(
            decided,
            |p| Ok([p.bool(!conjunction), p.bool(false)]),
            |p| {
                let tail = self.connective(p, rest, conjunction)?;
                let both = self.connect(p, head, tail, conjunction);
                let null = both.null.unwrap_or_else(|| p.bool(false));
                Ok([both.value, null])
            },
        )?;
        Ok(Sql { value, null: Some(null) })
    }

    /// Eager three-valued AND or OR of two values.
    fn connect(&mut self, pipe: &mut Pipe, a: Sql, b: Sql, conjunction: bool) -> Sql {
        if a.null.is_none() && b.null.is_none() {
            let value = if conjunction { pipe.and(a.value, b.value) } else { pipe.or(a.value, b.value) };
            return Sql { value, null: None };
        }
        // With "decisive" for false in AND and true in OR: decisive if either is; else NULL if either is.
        let mut decisive = |sql: Sql| {
            let value = if conjunction { pipe.not(sql.value) } else { sql.value };
            match sql.null {
                None => value,
                Some(null) => {
                    let known = pipe.not(null);
                    pipe.and(value, known)
                }
            }
        };
        let (da, db) = (decisive(a), decisive(b));
        let decided = pipe.or(da, db);
        let value = if conjunction { pipe.not(decided) } else { decided };
        let null = pipe.any_null([a.null, b.null]).expect("one of them can be NULL");
        let open = pipe.not(decided);
        Sql { value, null: Some(pipe.and(null, open)) }
    }

    pub(in crate::lower) fn constant(&mut self, pipe: &mut Pipe, value: &Value, sql_type: SqlType) -> Sql {
        let ty: Ty = sql_type.physical().into();
        match value {
            Value::Null => Sql { value: pipe.zero(ty), null: Some(pipe.bool(true)) },
            Value::Bool(b) => Sql { value: pipe.bool(*b), null: None },
            _ => {
                // A decimal of 19 and more digits that fits 64 bits computes in 64.
                let narrow = ty == Ty::I128 && number(value).is_some_and(|n| Range::point(n).fits(Ty::I64));
                let (ty, sql_type) = if narrow { (Ty::I64, SqlType::decimal(18, 0)) } else { (ty, sql_type) };
                let param = self.param(value, sql_type);
                Sql { value: pipe.let_(ty, Operation::Param(param, ty)), null: None }
            }
        }
    }

    fn case(&mut self, pipe: &mut Pipe, branches: &[(Expr, Expr)], otherwise: &Expr, result: SqlType) -> Result<Sql> {
        let can_be_null = branches.iter().map(|(_, v)| v).chain([otherwise]).any(|v| self.can_be_null(pipe, v));
        let [value, null] = self.case_from(pipe, branches, otherwise, result)?;
        Ok(Sql { value, null: can_be_null.then_some(null) })
    }

    fn case_from(
        &mut self,
        pipe: &mut Pipe,
        branches: &[(Expr, Expr)],
        otherwise: &Expr,
        result: SqlType,
    ) -> Result<[Var; 2]> {
        let Some(((condition, value), rest)) = branches.split_first() else {
            return self.value_and_flag(pipe, otherwise, result);
        };
        let condition = self.truth(pipe, condition)?;
        // Two borrows of `self` are not possible in the two closures, so the blocks are written one after the other.
        pipe.open_block();
        let a = self.value_and_flag(pipe, value, result)?;
        let then = pipe.close_block();
        pipe.open_block();
        let b = self.case_from(pipe, rest, otherwise, result)?;
        let else_ = pipe.close_block();
        Ok(pipe.choose(condition, (then, a), (else_, b)))
    }

    fn coalesce(&mut self, pipe: &mut Pipe, args: &[Expr], result: SqlType) -> Result<Sql> {
        let (first, rest) = args.split_first().ok_or_else(|| Error::internal("COALESCE without arguments"))?;
        let sql = self.scalar(pipe, first)?;
        let sql = self.narrowest_to_layout(pipe, sql, result);
        let Some(null) = sql.null.filter(|_| !rest.is_empty()) else { return Ok(sql) };
        pipe.open_block();
        let tail = self.coalesce(pipe, rest, result)?;
        let flag = tail.null.unwrap_or_else(|| pipe.bool(false));
        let then = pipe.close_block();
        pipe.open_block();
        let no = pipe.bool(false);
        let otherwise = pipe.close_block();
        let [value, flag] = pipe.choose(null, (then, [tail.value, flag]), (otherwise, [sql.value, no]));
        Ok(Sql { value, null: tail.null.is_some().then_some(flag) })
    }

    pub(super) fn value_and_flag(&mut self, pipe: &mut Pipe, expr: &Expr, result: SqlType) -> Result<[Var; 2]> {
        let sql = self.scalar(pipe, expr)?;
        let sql = self.narrowest_to_layout(pipe, sql, result);
        let null = sql.null.unwrap_or_else(|| pipe.bool(false));
        Ok([sql.value, null])
    }

    /// The value in the layout of `result`; a bare NULL (of any layout) becomes one of that layout.
    fn narrowest_to_layout(&mut self, pipe: &mut Pipe, sql: Sql, result: SqlType) -> Sql {
        let ty: Ty = result.physical().into();
        let is = pipe.ty(sql.value);
        if is == ty || (is.is_integer() && ty.is_integer() && is.size() <= ty.size()) {
            pipe.in_layout(sql, result)
        } else {
            Sql { value: pipe.zero(ty), null: sql.null }
        }
    }

    /// Whether the lowered expression may carry a NULL flag that is true.
    pub(in crate::lower) fn can_be_null(&self, pipe: &Pipe, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(value) => value.is_null(),
            ExprKind::Argument(..) => false,
            ExprKind::Column(c) => match pipe.bindings.get(c) {
                Some(Binding::Ready(sql)) => sql.null.is_some(),
                Some(Binding::Column { nullable, .. }) => *nullable,
                Some(Binding::Field { field, row_may_be_null, .. }) => field.null.is_some() || *row_may_be_null,
                Some(Binding::Null(_)) | None => true,
            },
            ExprKind::IsNull(_) => false,
            ExprKind::Compare(plan::Compare::Distinct | plan::Compare::NotDistinct, _, _) => false,
            ExprKind::TryCast(_) => true,
            ExprKind::Each(each) => each.reduced.is_some() || self.can_be_null(pipe, &each.list),
            ExprKind::Case { branches, otherwise } => {
                branches.iter().map(|(_, v)| v).chain([&**otherwise]).any(|v| self.can_be_null(pipe, v))
            }
            ExprKind::Coalesce(args) => args.iter().all(|a| self.can_be_null(pipe, a)),
            ExprKind::Call(f, _) if !is_null_of_nulls_alone(*f) => true,
            ExprKind::Cast(i) if !(i.sql_type.is_numeric() && expr.sql_type.is_numeric()) => true,
            ExprKind::And(_) | ExprKind::Or(_) if !is_cheap(expr) => true,
            _ => expr.children().any(|c| self.can_be_null(pipe, c)),
        }
    }

    /// Calls a function through boxed values; strict in all arguments unless `lenient`.
    pub(in crate::lower) fn call_site(
        &mut self,
        pipe: &mut Pipe,
        site: Site,
        args: &[Sql],
        position: Option<u32>,
    ) -> Result<Sql> {
        let ty: Ty = site.result.physical().into();
        let types = site.arguments.clone();
        let site = self.site(site);
        let call = |pipe: &mut Pipe| {
            let args = args.iter().zip(&types).map(|(&a, &t)| pipe.in_layout(a, t).value).collect();
            let (value, null) = (pipe.var(ty), pipe.var(Ty::Bool));
            let callee = Callee::Site(site);
            pipe.push(Inst::Call { results: vec![value, null], callee, args, position });
            // A string made by a call lives in the worker's memory; rows that keep it keep that memory.
            [value, null]
        };
        let [value, null] = match pipe.any_null(args.iter().map(|a| a.null)) {
            None => call(pipe),
            Some(missing) => pipe.if_(missing, |p| Ok([p.zero(ty), p.bool(true)]), |p| Ok(call(p)))?,
        };
        Ok(Sql { value, null: Some(null) })
    }

    pub(super) fn like(
        &mut self,
        pipe: &mut Pipe,
        input: &Expr,
        pattern: &Expr,
        syntax: Syntax,
        position: Option<u32>,
    ) -> Result<Sql> {
        let text = self.scalar(pipe, input)?;
        if let ExprKind::Const(Value::Str(pattern)) = &pattern.kind {
            let param = Param::Like { pattern: pattern.clone(), syntax };
            let param = self.params.push(param);
            return self.strict(pipe, &[text], |p| p.call1(Callee::Like(param), vec![text.value], position));
        }
        let pattern_value = self.scalar(pipe, pattern)?;
        let site = Site {
            kind: crate::ir::SiteKind::Like { syntax },
            arguments: vec![SqlType::Text; 2],
            result: SqlType::Bool,
        };
        self.call_site(pipe, site, &[text, pattern_value], position)
    }

    /// Applies an operation that is strict and never NULL otherwise; it is not reached for NULLs.
    pub(in crate::lower) fn strict(
        &mut self,
        pipe: &mut Pipe,
        args: &[Sql],
        operation: impl FnOnce(&mut Pipe) -> Var,
    ) -> Result<Sql> {
        let Some(null) = pipe.any_null(args.iter().map(|a| a.null)) else {
            return Ok(Sql { value: operation(pipe), null: None });
        };
        pipe.open_block();
        let value = operation(pipe);
        let otherwise = pipe.close_block();
        pipe.open_block();
        let zero = pipe.zero(pipe.ty(value));
        let then = pipe.close_block();
        let [result] = pipe.choose(null, (then, [zero]), (otherwise, [value]));
        Ok(Sql { value: result, null: Some(null) })
    }
}

/// Ends what a let's column means.
pub(super) fn unbind(pipe: &mut Pipe, column: ColumnId, outer: Option<Binding>) {
    match outer {
        Some(outer) => pipe.bindings.insert(column, outer),
        None => pipe.bindings.remove(&column),
    };
}

/// Whether the function's result is NULL only where an argument is; of others nothing is said.
fn is_null_of_nulls_alone(f: functions::ScalarFunction) -> bool {
    use functions::ScalarFunction as F;
    matches!(f, F::ADD | F::SUBTRACT | F::MULTIPLY | F::DIVIDE | F::MODULO | F::NEGATE | F::LENGTH)
}

/// Whether evaluating the expression where it is not needed costs little and cannot fail: comparisons of columns and
/// constants that are no strings, and what is made of these.
fn is_cheap(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => true,
        ExprKind::Compare(_, a, b) => !a.sql_type.is_string() && is_cheap(a) && is_cheap(b),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.len() <= 4 && parts.iter().all(is_cheap),
        ExprKind::Not(a) | ExprKind::IsNull(a) => is_cheap(a),
        _ => false,
    }
}
