//! Comparisons, IS, BETWEEN, IN lists, LIKE.

use base::{Error, Result, SqlState};
use plan::{Compare, Expr, ExprKind, conjunction, disjunction};
use sqlparser::ast;
use types::{SqlType, Value};

use super::negate_if;
use crate::bind::Binder;
use crate::bind::coerce::{common_type_of, is_untyped};

impl Binder<'_> {
    /// `left op right`, also of rows.
    pub(super) fn comparison(&mut self, op: Compare, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        let position = self.start(left);
        if let (Some(left), Some(right)) = (row(left), row(right)) {
            return self.row_comparison(op, left, right, position);
        }
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let bound = self.compare(op, a, b, position)?;
        Ok(self.open_arguments(bound, left, right))
    }

    /// `(a, b) op (c, d)`: by components for = and <>, lexicographic for the others.
    fn row_comparison(
        &mut self,
        op: Compare,
        left: &[ast::Expr],
        right: &[ast::Expr],
        position: Option<u32>,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions").at(position));
        }
        let pairs = |b: &mut Self, op: Compare, count: usize| -> Result<Vec<Expr>> {
            left.iter().zip(right).take(count).map(|(l, r)| b.comparison(op, l, r)).collect()
        };
        match op {
            Compare::Eq | Compare::NotDistinct => Ok(conjunction(pairs(self, op, left.len())?).at(position)),
            Compare::Ne | Compare::Distinct => Ok(disjunction(pairs(self, op, left.len())?).at(position)),
            _ => {
                // a < x OR (a = x AND (b < y OR ...)), built from the last component.
                let strict = match op {
                    Compare::Le => Compare::Lt,
                    Compare::Ge => Compare::Gt,
                    other => other,
                };
                let mut result: Option<Expr> = None;
                for (l, r) in left.iter().zip(right).rev() {
                    result = Some(match result {
                        None => self.comparison(op, l, r)?,
                        Some(rest) => {
                            let less = self.comparison(strict, l, r)?;
                            let equal = self.comparison(Compare::Eq, l, r)?;
                            disjunction(vec![less, conjunction(vec![equal, rest])])
                        }
                    });
                }
                result.ok_or_else(|| Error::internal("a row without entries"))
            }
        }
    }

    pub(super) fn is_null(&mut self, expr: &ast::Expr, negated: bool) -> Result<Expr> {
        let position = self.start(expr);
        let expr = self.typed_expr(expr)?;
        Ok(negate_if(Expr::new(ExprKind::IsNull(Box::new(expr)), SqlType::Bool).at(position), negated))
    }

    /// IS [NOT] TRUE, FALSE, UNKNOWN.
    pub(super) fn is_bool(&mut self, expr: &ast::Expr, value: Option<bool>, negated: bool) -> Result<Expr> {
        let position = self.start(expr);
        let expr = self.condition(expr, "IS")?;
        Ok(match value {
            None => negate_if(Expr::new(ExprKind::IsNull(Box::new(expr)), SqlType::Bool).at(position), negated),
            Some(value) => {
                let op = if negated { Compare::Distinct } else { Compare::NotDistinct };
                Expr::compare(op, expr, Expr::bool(value)).at(position)
            }
        })
    }

    pub(super) fn between(
        &mut self,
        expr: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> Result<Expr> {
        let position = self.start(expr);
        let (low, symmetric) = match low {
            ast::Expr::Prior(low) => (low.as_ref(), true),
            low => (low, false),
        };
        // The operand is bound once for each comparison: a subquery in it may not be there twice under the same columns.
        let range = |b: &mut Self, low: &ast::Expr, high: &ast::Expr| -> Result<Expr> {
            let above = b.comparison(Compare::Ge, expr, low)?;
            let below = b.comparison(Compare::Le, expr, high)?;
            Ok(Expr::new(ExprKind::And(vec![above, below]), SqlType::Bool).at(position))
        };
        let mut result = range(self, low, high)?;
        if symmetric {
            let turned = range(self, high, low)?;
            result = Expr::new(ExprKind::Or(vec![result, turned]), SqlType::Bool).at(position);
        }
        Ok(negate_if(result, negated))
    }

    pub(super) fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let position = self.start(expr);
        if list.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "IN needs at least one value").at(position));
        }
        if row(expr).is_some() {
            let parts = list.iter().map(|item| self.comparison(Compare::Eq, expr, item)).collect::<Result<Vec<_>>>()?;
            return Ok(negate_if(disjunction(parts).at(position), negated));
        }
        let input = self.expr(expr)?;
        let items = list.iter().map(|item| self.expr(item)).collect::<Result<Vec<_>>>()?;
        let constant = |e: &Expr| matches!(e.kind, ExprKind::Const(_));
        if items.iter().any(|e| !constant(e)) {
            // Bound anew for each item, as BETWEEN does.
            let parts = list.iter().map(|item| self.comparison(Compare::Eq, expr, item)).collect::<Result<Vec<_>>>()?;
            return Ok(negate_if(disjunction(parts).at(position), negated));
        }
        // Each constant meets the input alone first: most fit its type without widening it.
        let mut common = input.sql_type;
        let mut constants = Vec::with_capacity(items.len());
        for item in items {
            let probe = Expr::new(ExprKind::Column(plan::ColumnId(0)), common);
            let probe = if is_untyped(&input) && common == SqlType::Null { input.clone() } else { probe };
            let (left, right) = self.comparable(probe, item, "=", position)?;
            common = match left.kind {
                ExprKind::Cast(_) | ExprKind::Const(_) => common_type_of(&[&left, &right]).unwrap_or(left.sql_type),
                _ => common,
            };
            constants.push(right);
        }
        let input = if common.is_string() { self.convert(input, common)? } else { self.cast_to(input, common)? };
        let (mut values, mut has_null) = (Vec::with_capacity(constants.len()), false);
        for constant in constants {
            let constant = match (common, constant.sql_type) {
                // Precision may differ, scale may not.
                (SqlType::Decimal { scale, .. }, t) if t.is_decimal() && t.scale() == scale => constant,
                (common, t) if common.is_string() && t.is_string() => constant,
                (SqlType::Decimal { scale, .. }, _) => self.cast_to(constant, SqlType::decimal(38, scale))?,
                _ => self.cast_to(constant, common)?,
            };
            match constant.kind {
                ExprKind::Const(Value::Null) => has_null = true,
                // More digits than the input can have: equal to none of its values.
                ExprKind::Const(ref value) if !fits_digits(value, common) => {}
                ExprKind::Const(value) => values.push(value),
                // Not even the widest decimal of this scale holds it.
                ExprKind::Cast(_) if common.is_decimal() => {}
                _ => return Err(Error::internal("a constant of an IN list is none")),
            }
        }
        let null = Expr::constant(Value::Null, SqlType::Bool).at(position);
        let found = Expr::new(ExprKind::InList(Box::new(input), values), SqlType::Bool).at(position);
        let result =
            if has_null { Expr::new(ExprKind::Or(vec![found, null]), SqlType::Bool).at(position) } else { found };
        Ok(negate_if(result, negated))
    }

    pub(super) fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        case_insensitive: bool,
    ) -> Result<Expr> {
        let position = self.start(expr);
        let escape = match escape {
            None => Some('\\'),
            Some(escape) => {
                let at = self.start(escape);
                let bound = self.expr(escape)?;
                let ExprKind::Const(Value::Str(text)) = &bound.kind else {
                    return Err(Error::unsupported("ESCAPE with anything but a string literal").at(at));
                };
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (escape, None) => escape,
                    _ => {
                        return Err(Error::new(SqlState("22019"), "invalid escape string")
                            .hint("escape string must be empty or one character")
                            .at(at));
                    }
                }
            }
        };
        let (input, pattern) = (self.expr(expr)?, self.expr(pattern)?);
        self.like_bound(input, pattern, escape, negated, case_insensitive, position)
    }

    pub(super) fn like_bound(
        &mut self,
        input: Expr,
        pattern: Expr,
        escape: Option<char>,
        negated: bool,
        case_insensitive: bool,
        position: Option<u32>,
    ) -> Result<Expr> {
        for side in [&input, &pattern] {
            if !side.sql_type.is_string() && side.sql_type != SqlType::Null {
                let name = if case_insensitive { "ILIKE" } else { "LIKE" };
                let message = format!("operator does not exist: {} {name} {}", input.sql_type, pattern.sql_type);
                return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
                    .hint(format!("{name} compares texts: cast the other side to text"))
                    .at(position));
            }
        }
        let (input, pattern) = (self.known(input), self.known(pattern));
        let kind = ExprKind::Like { input: Box::new(input), pattern: Box::new(pattern), escape, case_insensitive };
        Ok(negate_if(Expr::new(kind, SqlType::Bool).at(position), negated))
    }
}

/// The entries of a row constructor.
pub(super) fn row(expr: &ast::Expr) -> Option<&[ast::Expr]> {
    match expr {
        ast::Expr::Tuple(items) => Some(items),
        ast::Expr::Nested(inner) => row(inner),
        _ => None,
    }
}

/// Whether a decimal, in units of its last digit, has no more digits than the type; other values always fit.
fn fits_digits(value: &Value, sql_type: SqlType) -> bool {
    match (value, sql_type) {
        (Value::Decimal(units), SqlType::Decimal { precision, .. }) => {
            units.unsigned_abs() < 10u128.pow(u32::from(precision))
        }
        _ => true,
    }
}
