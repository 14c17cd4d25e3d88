//! Functions of values of any types, NULLs among them.

use base::Result;
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast;
use types::{SqlType, Value};

use super::named::{call, no_function};
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, known, padded};

fn text(value: &str) -> Expr {
    Expr::constant(Value::str(value), SqlType::Text)
}

impl Binder<'_> {
    /// The argument as text.
    fn as_text(&mut self, argument: &ast::Expr) -> Result<Expr> {
        let value = self.expr(argument)?;
        let value = self.named_if_registered(value)?;
        cast_to(padded(value), SqlType::Text)
    }

    /// `expr`, or the text if that is NULL.
    fn or_text(&self, expr: Expr, other: &str) -> Expr {
        if !self.plan.is_nullable(&expr) {
            return expr;
        }
        let position = expr.position;
        Expr::new(ExprKind::Coalesce(vec![expr, text(other)]), SqlType::Text).at(position)
    }

    /// `format(text, ...)`: a strict call, of arguments behind a `v`, and `n` where they are NULL.
    pub(super) fn format(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let Some((pattern, rest)) = arguments.split_first() else {
            return Err(no_function("format", &[]).at(position));
        };
        let mut bound = vec![self.as_text(pattern)?];
        for argument in rest {
            let value = self.expr(argument)?;
            let value = self.named_if_registered(value)?;
            let value = cast_to(shown(padded(value)), SqlType::Text)?;
            let marked = Expr::new(ExprKind::Call(ScalarFunction::CONCAT, vec![text("v"), value]), SqlType::Text);
            bound.push(self.or_text(marked.at(position), "n"));
        }
        Ok(Expr::new(ExprKind::Call(ScalarFunction::FORMAT, bound), SqlType::Text).at(position))
    }

    /// `concat_ws`: any types behind the separator, NULLs left out.
    pub(super) fn concat_with(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let mut texts = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.expr(argument)?;
            let value = self.named_if_registered(value)?;
            // The separator is a text, the others are shown as they are.
            let value = if texts.is_empty() { value } else { padded(value) };
            texts.push(cast_to(shown(value), SqlType::Text)?);
        }
        let separator = texts.remove(0);
        if let ExprKind::Const(Value::Str(_)) = separator.kind {
            // Each text behind a separator, or nothing; then the first separator goes.
            let with =
                |text| Expr::new(ExprKind::Call(ScalarFunction::CONCAT, vec![separator.clone(), text]), SqlType::Text);
            let parts = texts.into_iter().map(|text| self.or_text(with(text).at(position), "")).collect();
            let length = call("length", vec![separator.clone()], position)?;
            let one = Expr::constant(Value::Int(1), SqlType::Integer);
            let first =
                Expr::new(ExprKind::Call(ScalarFunction::ADD, vec![length, one]), SqlType::Integer).at(position);
            return call("substring", vec![concatenated(parts, position), first], position);
        }
        let array = self.array_of_elements(texts, SqlType::Text, position)?;
        call("array_to_string", vec![array, separator], position)
    }

    /// `concat`: any types, NULL counts as the empty text.
    pub(super) fn concat_all(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let empty = || Expr::constant(Value::str(""), SqlType::Text);
        let mut parts = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.expr(argument)?;
            let value = self.named_if_registered(value)?;
            let mut text = cast_to(shown(padded(value)), SqlType::Text)?;
            if self.plan.is_nullable(&text) {
                text = Expr::new(ExprKind::Coalesce(vec![text, empty()]), SqlType::Text).at(position);
            }
            parts.push(text);
        }
        Ok(concatenated(parts, position))
    }

    /// `quote_literal(value)`, or `quote_nullable(value)`.
    pub(super) fn quoted(&mut self, value: &ast::Expr, nullable: bool, position: Option<u32>) -> Result<Expr> {
        let value = self.as_text(value)?;
        let quoted = call("quote_literal", vec![value], position)?;
        Ok(if nullable { self.or_text(quoted, "NULL") } else { quoted })
    }

    /// `num_nulls(...)` and `num_nonnulls(...)`: a sum of ones.
    pub(super) fn count_nulls(&mut self, name: &str, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let integer = |n| Expr::constant(Value::Int(n), SqlType::Integer);
        let mut sum: Option<Expr> = None;
        for argument in arguments {
            let value = self.expr(argument)?;
            let value = self.named_if_registered(value)?;
            let is_null = Expr::new(ExprKind::IsNull(Box::new(known(value))), SqlType::Bool).at(position);
            let (of_null, of_others) = if name == "num_nulls" { (1, 0) } else { (0, 1) };
            let branches = vec![(is_null, integer(of_null))];
            let one = ExprKind::Case { branches, otherwise: Box::new(integer(of_others)) };
            let one = Expr::new(one, SqlType::Integer).at(position);
            sum = Some(match sum {
                None => one,
                Some(sum) => {
                    Expr::new(ExprKind::Call(ScalarFunction::ADD, vec![sum, one]), SqlType::Integer).at(position)
                }
            });
        }
        sum.ok_or_else(|| no_function(name, &[]).at(position))
    }
}

/// A value as the functions of texts show it: of a boolean, its first letter, unlike a cast.
fn shown(value: Expr) -> Expr {
    if value.sql_type != SqlType::Bool {
        return value;
    }
    let letter = |letter: &str| Expr::constant(Value::str(letter), SqlType::Text);
    let is_false = Expr::new(ExprKind::Not(Box::new(value.clone())), SqlType::Bool);
    let branches = vec![(value, letter("t")), (is_false, letter("f"))];
    let otherwise = Box::new(Expr::constant(Value::Null, SqlType::Text));
    Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Text)
}

/// Texts one behind the other.
fn concatenated(mut parts: Vec<Expr>, position: Option<u32>) -> Expr {
    // Neighbours in pairs, then the pairs: a shallow tree, which copies each byte log(n) times instead of n times.
    while parts.len() > 1 {
        let mut left = parts.into_iter();
        parts = Vec::with_capacity(left.len().div_ceil(2));
        while let Some(a) = left.next() {
            parts.push(match left.next() {
                Some(b) => Expr::new(ExprKind::Call(ScalarFunction::CONCAT, vec![a, b]), SqlType::Text).at(position),
                None => a,
            });
        }
    }
    parts.pop().unwrap_or_else(|| Expr::constant(Value::str(""), SqlType::Text))
}
