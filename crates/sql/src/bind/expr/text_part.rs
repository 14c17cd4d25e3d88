//! `text[2]` and `text[2:3]`: characters of a text.

use base::Result;
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, Subscript};
use types::{SqlType, Value};

use super::named::call;
use super::operator::arithmetic;
use crate::bind::coerce::{cast_to, convert};
use crate::bind::{Binder, unsupported};

impl Binder<'_> {
    /// `text[2]`, `text[2:3]`: characters, from 1, or from the end if the number is negative.
    pub(super) fn part_of_text(&mut self, text: Expr, subscript: &Subscript, position: Option<u32>) -> Result<Expr> {
        let text = convert(text, SqlType::Text)?;
        let (from, to) = match subscript {
            Subscript::Index { index } => (Some(index), Some(index)),
            Subscript::Slice { lower_bound, upper_bound, stride: None } => (lower_bound.as_ref(), upper_bound.as_ref()),
            Subscript::Slice { .. } => return unsupported("a slice with a step", position),
        };
        let count = |number: i64| Expr::constant(Value::Int(number), SqlType::BigInt);
        let from = match from {
            Some(_) => self.place_in_text(&text, from, 1, position)?,
            None => count(1),
        };
        let Some(to) = to else { return call("substr", vec![text, cast_to(from, SqlType::Integer)?], position) };
        let to = self.place_in_text(&text, Some(to), 0, position)?;
        let greatest = |a, b| Expr::new(ExprKind::Call(F::GREATEST, vec![a, b]), SqlType::BigInt).at(position);
        let first = greatest(from, count(1));
        let behind = arithmetic(F::ADD, "+", to, count(1), position)?;
        let length = arithmetic(F::SUBTRACT, "-", behind, first.clone(), position)?;
        let length = greatest(length, count(0));
        call("substr", vec![text, cast_to(first, SqlType::Integer)?, cast_to(length, SqlType::Integer)?], position)
    }

    /// The number of a character, from 1: a negative one counts from the end.
    fn place_in_text(
        &mut self,
        text: &Expr,
        written: Option<&ast::Expr>,
        default: i64,
        position: Option<u32>,
    ) -> Result<Expr> {
        let at = self.bound_of(written, default)?;
        if matches!(at.kind, ExprKind::Const(Value::Int(0..))) {
            return Ok(at);
        }
        let length = cast_to(call("length", vec![text.clone()], position)?, SqlType::BigInt)?;
        let behind = arithmetic(F::ADD, "+", length, Expr::constant(Value::Int(1), SqlType::BigInt), position)?;
        let from_end = arithmetic(F::ADD, "+", behind, at.clone(), position)?;
        let zero = Expr::constant(Value::Int(0), SqlType::BigInt);
        let branches = vec![(Expr::compare(plan::Compare::Lt, at.clone(), zero), from_end)];
        Ok(Expr::new(ExprKind::Case { branches, otherwise: Box::new(at) }, SqlType::BigInt).at(position))
    }
}
