//! Arrays (decision 40): literals, subscripts, slices. An element that may be NULL is passed to
//! functions as the array of it alone; arrays are put together as texts are.

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, AccessExpr, Subscript};
use types::ops::array;
use types::{SqlType, Value};

use super::chained::with_first;
use super::json::along;
use crate::bind::coerce::{cast_to, closed, is_untyped, unify};
use crate::bind::type_name::array_of;
use crate::bind::{Binder, unsupported};

impl Binder<'_> {
    /// `ARRAY[...]` or `[...]`, of elements of a type if it is known.
    pub(super) fn array(&mut self, array: &ast::Array, element: Option<SqlType>) -> Result<Expr> {
        let items = array.elem.as_slice();
        let position = items.first().and_then(|item| self.text.start(item));
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(match (element.and_then(SqlType::element), item) {
                (Some(inner), ast::Expr::Array(nested)) => self.array(nested, Some(inner))?,
                _ => self.expr(item)?,
            });
        }
        let (bound, element) = match element {
            Some(element) => (bound.into_iter().map(|e| cast_to(e, element)).collect::<Result<_>>()?, element),
            // `[]` becomes a list of whatever is beside it.
            None if bound.is_empty() && !array.named => {
                return Ok(Expr::constant(Value::str(""), SqlType::array_of(SqlType::Null)));
            }
            // And so does one of NULLs.
            None if !array.named
                && bound.iter().all(|e| is_untyped(e) && matches!(e.kind, ExprKind::Const(Value::Null))) =>
            {
                let values = bound.iter().map(|_| &Value::Null);
                return Ok(Expr::constant(array::encode(values, SqlType::Null)?, SqlType::array_of(SqlType::Null)));
            }
            None if bound.is_empty() => {
                let message = "cannot determine type of empty array";
                return Err(Error::new(SqlState("42P18"), message)
                    .hint("explicitly cast to the desired type, for example ARRAY[]::integer[]"));
            }
            None => unify(bound, "ARRAY")?,
        };
        self.array_of_elements(bound, element, position)
    }

    /// The array of elements that are of one type: constants at once, the others put together in pairs.
    pub(in crate::bind) fn array_of_elements(
        &self,
        elements: Vec<Expr>,
        element: SqlType,
        position: Option<u32>,
    ) -> Result<Expr> {
        let sql_type = array_of(element).map_err(|e| e.at(position))?;
        let (mut parts, mut constants) = (Vec::new(), Vec::new());
        for expr in elements {
            match expr.kind {
                ExprKind::Const(value) => constants.push(value),
                _ => {
                    flush(&mut parts, &mut constants, element)?;
                    parts.push(self.alone(expr)?);
                }
            }
        }
        if parts.is_empty() || !constants.is_empty() {
            flush(&mut parts, &mut constants, element)?;
        }
        while parts.len() > 1 {
            let mut left = parts.into_iter();
            parts = Vec::with_capacity(left.len().div_ceil(2));
            while let Some(a) = left.next() {
                parts.push(match left.next() {
                    Some(b) => Expr::new(ExprKind::Call(F::ARRAY_CAT, vec![a, b]), sql_type).at(position),
                    None => a,
                });
            }
        }
        parts.pop().ok_or_else(|| Error::internal("an array of no parts"))
    }

    /// The array of a value alone, which is never NULL.
    pub(in crate::bind) fn alone(&self, value: Expr) -> Result<Expr> {
        alone(value, |e| self.plan.is_nullable(e))
    }

    /// `array[1]`, `array[1][2]`, `array[1:2]`.
    pub(super) fn access(&mut self, root: &ast::Expr, chain: &[AccessExpr]) -> Result<Expr> {
        let position = self.text.start(root);
        let chain_of_all = chain;
        // `t.list[1].field`: the names before the first subscript are one.
        let mut names: Vec<ast::Ident> = match root {
            ast::Expr::Identifier(first) => vec![first.clone()],
            _ => Vec::new(),
        };
        let mut chain = chain;
        while let (false, [AccessExpr::Dot(ast::Expr::Identifier(name)), rest @ ..]) = (names.is_empty(), chain) {
            names.push(name.clone());
            chain = rest;
        }
        let mut value = if names.len() > 1 { self.compound(&names)? } else { self.expr(root)? };
        value = closed(value);
        let mut left = chain;
        while let [access, rest @ ..] = left {
            if let Some((accessed, rest)) = self.several(&value, left, position)? {
                (value, left) = (accessed, rest);
                continue;
            }
            left = rest;
            let subscript = match access {
                AccessExpr::Dot(ast::Expr::Identifier(field)) => {
                    value = self.member(value, field, position)?;
                    continue;
                }
                AccessExpr::Dot(ast::Expr::Function(function)) => {
                    let before = &chain_of_all[..chain_of_all.len() - rest.len() - 1];
                    let accessed =
                        ast::Expr::CompoundFieldAccess { root: Box::new(root.clone()), access_chain: before.to_vec() };
                    let accessed = if before.is_empty() { root.clone() } else { accessed };
                    value = self.deeper(|b| b.expr(&with_first(function, accessed)))?;
                    continue;
                }
                AccessExpr::Dot(_) => return unsupported("access to anything but a field", position),
                AccessExpr::Subscript(subscript) => subscript,
            };
            if let (Some(_), Subscript::Index { index: ast::Expr::Value(name) }) =
                (value.sql_type.structure(), subscript)
                && let ast::Value::SingleQuotedString(name) = &name.value
            {
                value = self.struct_field(value, name, position)?;
                continue;
            }
            if let (Some(of), Subscript::Index { index }) = (value.sql_type.map(), subscript) {
                let key = self.expr(index)?;
                value = self.map_value(value, key, of, position)?;
                continue;
            }
            if value.sql_type.is_string() || is_untyped(&value) {
                value = self.part_of_text(value, subscript, position)?;
                continue;
            }
            let Some(element) = value.sql_type.element() else {
                let message =
                    format!("cannot subscript type {} because it does not support subscripting", value.sql_type);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
            };
            let sql_type = value.sql_type;
            value = match subscript {
                Subscript::Index { index } => {
                    let mut at = self.bound_of(Some(index), 0)?;
                    if is_argv(root) {
                        // It alone counts from 0.
                        let one = Expr::constant(Value::Int(1), SqlType::BigInt);
                        at = Expr::new(ExprKind::Call(F::ADD, vec![at, one]), SqlType::BigInt);
                    }
                    Expr::new(ExprKind::Call(F::ARRAY_SUBSCRIPT, vec![value, at]), element)
                }
                Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                    let from = self.bound_of(lower_bound.as_ref(), 1)?;
                    let to = self.bound_of(upper_bound.as_ref(), i64::MAX)?;
                    Expr::new(ExprKind::Call(F::ARRAY_SLICE, vec![value, from, to]), sql_type)
                }
                Subscript::Slice { lower_bound, upper_bound, stride: Some(step) } => {
                    let (from, to) =
                        (self.bound_of(lower_bound.as_ref(), 1)?, self.bound_of(upper_bound.as_ref(), -1)?);
                    let step = self.bound_of(Some(step), 1)?;
                    Expr::new(ExprKind::Call(F::LIST_SLICE, vec![value, from, to, step]), sql_type)
                }
            }
            .at(position);
        }
        Ok(value)
    }

    /// What several subscripts mean together, and what comes behind them: the path of a `jsonb`, and slices of an array in several
    /// dimensions, where `[2]` beside a slice is `[1:2]`. Of a list of fewer dimensions each is of what the one before it gives.
    fn several<'c>(
        &mut self,
        value: &Expr,
        chain: &'c [AccessExpr],
        position: Option<u32>,
    ) -> Result<Option<(Expr, &'c [AccessExpr])>> {
        let as_index = |access: &'c AccessExpr| match access {
            AccessExpr::Subscript(Subscript::Index { index }) => Some(index),
            _ => None,
        };
        if value.sql_type.is_json() {
            let path: Vec<&ast::Expr> = chain.iter().map_while(as_index).collect();
            if path.is_empty() {
                return Ok(None);
            }
            let (steps, _) = self.path(path.iter().copied())?;
            let found = along(value.clone(), steps, false, position)?;
            return Ok(Some((found, &chain[path.len()..])));
        }
        let (mut dimensions, mut element) = (0, value.sql_type);
        while let Some(inner) = element.element() {
            (dimensions, element) = (dimensions + 1, inner);
        }
        let is_subscript = |access: &&AccessExpr| matches!(access, AccessExpr::Subscript(_));
        let is_slice =
            |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { stride: None, .. }));
        let (subscripts, rest) = chain.split_at(chain.iter().take_while(is_subscript).count());
        if !(2..=dimensions).contains(&subscripts.len()) || !subscripts.iter().any(is_slice) {
            return Ok(None);
        }
        let mut arguments = vec![value.clone()];
        for access in subscripts {
            match access {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    arguments.push(self.bound_of(None, 1)?);
                    arguments.push(self.bound_of(Some(index), 0)?);
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                    arguments.push(self.bound_of(lower_bound.as_ref(), 1)?);
                    arguments.push(self.bound_of(upper_bound.as_ref(), i64::MAX)?);
                }
                AccessExpr::Dot(_) => {}
            }
        }
        let sliced = Expr::new(ExprKind::Call(F::ARRAY_SLICE, arguments), value.sql_type).at(position);
        Ok(Some((sliced, rest)))
    }

    /// The path of these subscripts of a `jsonb`, numbers and texts, and whether the first is a number.
    pub(in crate::bind) fn path<'e>(
        &mut self,
        subscripts: impl Iterator<Item = &'e ast::Expr>,
    ) -> Result<(Expr, bool)> {
        let (mut steps, mut begins_with_number) = (Vec::new(), false);
        for written in subscripts {
            let position = self.text.start(written);
            let subscript = self.expr(written)?;
            if !subscript.sql_type.is_integer() && !subscript.sql_type.is_string() && !is_untyped(&subscript) {
                let message = format!("subscript type {} is not supported", subscript.sql_type);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .hint("jsonb subscript must be coercible to either integer or text")
                    .at(position));
            }
            begins_with_number |= steps.is_empty() && subscript.sql_type.is_integer();
            steps.push(cast_to(subscript, SqlType::Text)?);
        }
        Ok((self.array_of_elements(steps, SqlType::Text, None)?, begins_with_number))
    }

    /// A subscript, or what stands for one that is not written.
    pub(in crate::bind) fn bound_of(&mut self, written: Option<&ast::Expr>, default: i64) -> Result<Expr> {
        let Some(written) = written else { return Ok(Expr::constant(Value::Int(default), SqlType::BigInt)) };
        let bound = self.expr(written)?;
        if !bound.sql_type.is_integer() && !is_untyped(&bound) {
            let message = "array subscript must have type integer";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(self.text.start(written)));
        }
        cast_to(bound, SqlType::BigInt)
    }
}

/// Whether it is TG_ARGV, the arguments of a trigger.
fn is_argv(root: &ast::Expr) -> bool {
    matches!(root, ast::Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("tg_argv"))
}

/// Makes one constant array of constants.
fn flush(parts: &mut Vec<Expr>, constants: &mut Vec<Value>, element: SqlType) -> Result<()> {
    if !constants.is_empty() || parts.is_empty() {
        let value = array::encode(constants.iter(), element)?;
        parts.push(Expr::constant(value, array_of(element)?));
        constants.clear();
    }
    Ok(())
}

/// The array of a value alone; `nullable` says whether it may be NULL.
pub(in crate::bind) fn alone(value: Expr, nullable: impl Fn(&Expr) -> bool) -> Result<Expr> {
    let (element, position) = (value.sql_type, value.position);
    let sql_type = array_of(element).map_err(|e| e.at(position))?;
    if let ExprKind::Const(value) = &value.kind {
        return Ok(Expr::constant(array::encode([value], element)?, sql_type).at(position));
    }
    let is_nullable = nullable(&value);
    let made = Expr::new(ExprKind::Call(F::ARRAY_ALONE, vec![value]), sql_type).at(position);
    if !is_nullable {
        return Ok(made);
    }
    let null = Expr::constant(array::encode([&Value::Null], element)?, sql_type);
    Ok(Expr::new(ExprKind::Coalesce(vec![made, null]), sql_type).at(position))
}
