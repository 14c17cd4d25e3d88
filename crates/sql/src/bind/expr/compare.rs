//! Comparisons, IS, BETWEEN, LIKE.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Compare, Expr, ExprKind, conjunction, disjunction};
use sqlparser::ast;
use types::{SqlType, StructField, Value};

use super::negate_if;
use super::once::row;
use crate::bind::coerce::{compare, known};
use crate::bind::expr::once::Operand;
use crate::bind::{Binder, inferred};

impl Binder<'_> {
    /// `left op right`, also of rows.
    pub(super) fn comparison(&mut self, op: Compare, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        let position = self.text.start(left);
        if let Some(bound) = self.row_beside_subquery(op, left, right)? {
            return Ok(bound.at(position));
        }
        let bound = match (self.operand(left)?, self.operand(right)?) {
            (Operand::Row(a), Operand::Row(b)) if strict(op).is_some() => self.row_order(op, a, b, position)?,
            // Beside a timestamp, a date is looked at twice.
            (a, b) if is_drawn_date(&a) || is_drawn_date(&b) => {
                self.once(Operand::Row(vec![a, b]), |_, pair| match pair {
                    Operand::Row(pair) => compare_operands(op, &pair[0], &pair[1], position),
                    Operand::Value(_) => Err(Error::internal("a row became a value")),
                })?
            }
            (a, b) => compare_operands(op, &a, &b, position)?,
        };
        Ok(self.arguments.open_comparison(&self.text, bound, left, right))
    }

    /// `(a, b) < (c, d)`. An entry is computed once, and only if all before it are equal.
    pub(super) fn row_order(
        &mut self,
        op: Compare,
        left: Vec<Operand>,
        right: Vec<Operand>,
        position: Option<u32>,
    ) -> Result<Expr> {
        same_length(&left, &right, position)?;
        let mut result = None;
        for (l, r) in left.into_iter().zip(right).rev() {
            let rest = result.take();
            result = Some(self.once(l, |b, l| b.once(r, |_, r| ordered(op, l, r, rest, position)))?);
        }
        result.ok_or_else(|| Error::internal("a row without entries"))
    }

    pub(super) fn is_null(&mut self, expr: &ast::Expr, negated: bool) -> Result<Expr> {
        let position = self.text.start(expr);
        if let Some(entries) = row(expr) {
            // Of a row, all entries have to be, either way.
            let all = entries.iter().map(|entry| self.is_null(entry, negated)).collect::<Result<_>>()?;
            return Ok(conjunction(all).at(position));
        }
        let expr = self.expr(expr)?;
        if expr.sql_type.structure().is_some_and(|of| of.is_row) {
            return self.value_once(expr, |b, value| b.row_is_null(value, negated));
        }
        // That it may be NULL says nothing of a parameter's type.
        let expr = if inferred::is_open(&expr) { expr } else { known(expr) };
        Ok(negate_if(Expr::new(ExprKind::IsNull(Box::new(expr)), SqlType::Bool).at(position), negated))
    }

    /// IS [NOT] TRUE, FALSE, UNKNOWN.
    pub(super) fn is_bool(&mut self, expr: &ast::Expr, value: Option<bool>, negated: bool) -> Result<Expr> {
        let position = self.text.start(expr);
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
        let position = self.text.start(expr);
        let (low, symmetric) = match low {
            ast::Expr::Prior(low) => (low.as_ref(), true),
            low => (low, false),
        };
        let operands = [self.operand(expr)?, self.operand(low)?, self.operand(high)?];
        if let [Operand::Row(row), Operand::Row(above), Operand::Row(below)] = &operands
            && operands.iter().all(is_repeatable)
        {
            let result = self.row_between(row, [above, below], symmetric, position)?;
            return Ok(negate_if(result, negated));
        }
        let result = self.once(Operand::Row(operands.into()), |b, shared| {
            let Operand::Row(parts) = shared else { return Err(Error::internal("BETWEEN of another shape")) };
            let [operand, above, below] = parts.as_slice() else {
                return Err(Error::internal("BETWEEN without bounds"));
            };
            let mut bound = |op: Compare, limit: &Operand, written: &ast::Expr| -> Result<Expr> {
                let compared = compare_operands(op, operand, limit, position)?;
                Ok(b.arguments.open_comparison(&b.text, compared, expr, written))
            };
            let range = vec![bound(Compare::Ge, above, low)?, bound(Compare::Le, below, high)?];
            let result = Expr::new(ExprKind::And(range), SqlType::Bool).at(position);
            if !symmetric {
                return Ok(result);
            }
            let turned = vec![bound(Compare::Ge, below, high)?, bound(Compare::Le, above, low)?];
            let turned = Expr::new(ExprKind::And(turned), SqlType::Bool).at(position);
            Ok(Expr::new(ExprKind::Or(vec![result, turned]), SqlType::Bool).at(position))
        })?;
        Ok(negate_if(result, negated))
    }

    /// BETWEEN of rows, of whose entries no more are computed than decide.
    fn row_between(
        &mut self,
        row: &[Operand],
        limits: [&[Operand]; 2],
        symmetric: bool,
        position: Option<u32>,
    ) -> Result<Expr> {
        let mut range = |[low, high]: [&[Operand]; 2]| -> Result<Expr> {
            let mut bound = |op, limit: &[Operand]| self.row_order(op, row.to_vec(), limit.to_vec(), position);
            let both = vec![bound(Compare::Ge, low)?, bound(Compare::Le, high)?];
            Ok(Expr::new(ExprKind::And(both), SqlType::Bool).at(position))
        };
        let result = range(limits)?;
        if !symmetric {
            return Ok(result);
        }
        let turned = range([limits[1], limits[0]])?;
        Ok(Expr::new(ExprKind::Or(vec![result, turned]), SqlType::Bool).at(position))
    }
}

/// `(a, b) op (c, d)`: by components for = and <>, lexicographic for the others.
fn compare_rows(op: Compare, left: &[Operand], right: &[Operand], position: Option<u32>) -> Result<Expr> {
    same_length(left, right, position)?;
    let pairs = left.iter().zip(right);
    if strict(op).is_none() {
        let parts = pairs.map(|(l, r)| compare_operands(op, l, r, position)).collect::<Result<_>>()?;
        let all = matches!(op, Compare::Eq | Compare::NotDistinct);
        return Ok(if all { conjunction(parts) } else { disjunction(parts) }.at(position));
    }
    let mut result = None;
    for (l, r) in pairs.rev() {
        result = Some(ordered(op, l, r, result, position)?);
    }
    result.ok_or_else(|| Error::internal("a row without entries"))
}

/// `(l, ...) op (r, ...)`, where `rest` compares what follows and decides if `l = r`, as in PostgreSQL: not if that is NULL.
fn ordered(op: Compare, l: &Operand, r: &Operand, rest: Option<Expr>, position: Option<u32>) -> Result<Expr> {
    let (Some(rest), Some(strict)) = (rest, strict(op)) else { return compare_operands(op, l, r, position) };
    let less = compare_operands(strict, l, r, position)?;
    let equal = compare_operands(Compare::Eq, l, r, position)?;
    if is_plain(&rest) {
        // Nobody sees whether it is evaluated, and the optimizer knows more of AND and OR.
        return Ok(disjunction(vec![less, conjunction(vec![equal, rest])]).at(position));
    }
    let kind = ExprKind::Case { branches: vec![(equal, rest)], otherwise: Box::new(less) };
    Ok(Expr::new(kind, SqlType::Bool).at(position))
}

/// The order without equality that `<`, `<=`, `>` and `>=` belong to.
pub(super) fn strict(op: Compare) -> Option<Compare> {
    match op {
        Compare::Lt | Compare::Le => Some(Compare::Lt),
        Compare::Gt | Compare::Ge => Some(Compare::Gt),
        _ => None,
    }
}

/// Whether an operand is a date that is another one each time that it is computed.
fn is_drawn_date(operand: &Operand) -> bool {
    matches!(operand, Operand::Value(value) if value.sql_type == SqlType::Date && value.is_volatile())
}

/// Whether an operand may be written twice: its values are the same each time, and no columns are made in it.
fn is_repeatable(operand: &Operand) -> bool {
    fn makes_columns(expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Let { .. }) || expr.children().any(makes_columns)
    }
    match operand {
        Operand::Value(value) => !value.is_volatile() && !value.has_subquery() && !makes_columns(value),
        Operand::Row(entries) => entries.iter().all(is_repeatable),
    }
}

fn same_length(left: &[Operand], right: &[Operand], position: Option<u32>) -> Result<()> {
    if left.len() == right.len() {
        return Ok(());
    }
    Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions").at(position))
}

/// Whether only columns and constants are compared.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => true,
        ExprKind::Compare(..) | ExprKind::And(_) | ExprKind::Or(_) => expr.children().all(is_plain),
        _ => false,
    }
}

/// The entries of a value that is a row.
fn entries_of(row: &Expr) -> Option<Vec<Operand>> {
    let of = row.sql_type.structure().filter(|of| of.is_row)?;
    let entry = |(at, field): (usize, &StructField)| {
        let at = Expr::constant(Value::Int(at as i64), SqlType::BigInt);
        let call = ExprKind::Call(ScalarFunction::STRUCT_FIELD, vec![row.clone(), at]);
        Operand::Value(Expr::new(call, field.sql_type).at(row.position))
    };
    Some(of.fields.iter().enumerate().map(entry).collect())
}

/// `left op right`, also of rows, each operand of which is used once for = and <>.
pub(in crate::bind) fn compare_operands(
    op: Compare,
    left: &Operand,
    right: &Operand,
    position: Option<u32>,
) -> Result<Expr> {
    match (left, right) {
        (Operand::Value(left), Operand::Value(right)) => compare(op, left.clone(), right.clone(), position),
        (Operand::Row(left), Operand::Row(right)) => compare_rows(op, left, right, position),
        (Operand::Value(row), Operand::Row(right)) if let Some(left) = entries_of(row) => {
            compare_rows(op, &left, right, position)
        }
        (Operand::Row(left), Operand::Value(row)) if let Some(right) = entries_of(row) => {
            compare_rows(op, left, &right, position)
        }
        _ => Err(Error::unsupported("a row outside of a comparison or IN").at(position)),
    }
}
