//! `value IN (list)`: OR of equalities. The constants that the value's own type has become one list that is searched; those
//! that no value of the type can equal go.

use base::{Error, Result, SqlState};
use plan::{Compare, Expr, ExprKind, disjunction};
use sqlparser::ast;
use types::{SqlType, Value};

use super::negate_if;
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, common_type_of, comparable, compare};
use crate::bind::expr::compare::compare_operands;
use crate::bind::expr::once::Operand;

impl Binder<'_> {
    pub(super) fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let position = self.text.start(expr);
        if list.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "IN needs at least one value").at(position));
        }
        let operand = self.operand(expr)?;
        let items = list.iter().map(|item| self.operand(item)).collect::<Result<Vec<_>>>()?;
        let found = self.once(operand, |b, operand| match operand {
            Operand::Value(value) => b.among(value, items, list, position),
            Operand::Row(_) => {
                let equal = |item| compare_operands(Compare::Eq, operand, item, position);
                Ok(disjunction(items.iter().map(equal).collect::<Result<_>>()?).at(position))
            }
        })?;
        Ok(negate_if(found, negated))
    }

    /// Whether the value is among the items, which are written so.
    fn among(
        &mut self,
        value: &Expr,
        items: Vec<Operand>,
        written: &[ast::Expr],
        position: Option<u32>,
    ) -> Result<Expr> {
        let single = |item| match item {
            Operand::Value(item) => Ok(item),
            Operand::Row(_) => Err(Error::unsupported("a row outside of a comparison or IN").at(position)),
        };
        let mut items = items.into_iter().map(single).collect::<Result<Vec<Expr>>>()?;
        // PostgreSQL compares all constants in one type; that differs from one by one where numbers become inexact.
        let constants: Vec<&Expr> = items.iter().filter(|e| is_constant(e)).chain([value]).collect();
        let common = common_type_of(&constants);
        if let (Some(common), true) = (common.filter(|t| t.is_float()), constants.len() > 2) {
            for item in items.iter_mut().filter(|e| is_constant(e) && e.sql_type.is_numeric()) {
                *item = cast_to(item.clone(), common)?;
            }
        }
        // Lists of constants by what they are searched for: the value, or a cast of it.
        let mut lists: Vec<(Expr, Vec<Value>)> = Vec::new();
        let mut others = Vec::new();
        for (item, written) in items.into_iter().zip(written) {
            if !is_constant(&item) {
                others.push(compare(Compare::Eq, value.clone(), item, position)?);
                continue;
            }
            let (left, right) = if is_beyond(&item, value.sql_type) {
                (value.clone(), None)
            } else {
                let (left, mut right) = comparable(value.clone(), item, "=", position)?;
                if self.arguments.open(&self.text, written, &mut right, &left) {
                    others.push(Expr::compare(Compare::Eq, left, right).at(position));
                    continue;
                }
                (left, Some(right))
            };
            let constant = match right.map(|e| (e.sql_type, e.kind)) {
                None => None,
                Some((_, ExprKind::Const(Value::Null))) => {
                    others.push(Expr::constant(Value::Null, SqlType::Bool).at(position));
                    continue;
                }
                Some((_, ExprKind::Const(constant))) => Some(constant),
                Some((sql_type, kind)) => {
                    let right = Expr::new(kind, sql_type).at(position);
                    others.push(Expr::compare(Compare::Eq, left, right).at(position));
                    continue;
                }
            };
            match lists.iter_mut().find(|(searched, _)| searched.same_form(&left)) {
                Some((_, list)) => list.extend(constant),
                None => lists.push((left, constant.into_iter().collect())),
            }
        }
        let list = |(searched, list)| Expr::new(ExprKind::InList(Box::new(searched), list), SqlType::Bool).at(position);
        let mut parts: Vec<Expr> = lists.into_iter().map(list).collect();
        parts.extend(others);
        Ok(disjunction(parts).at(position))
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(_))
}

/// Whether an exact number is none of the values of an exact type: it has more digits before or behind the point.
fn is_beyond(constant: &Expr, sql_type: SqlType) -> bool {
    let (Some((precision, scale)), ExprKind::Const(value)) = (sql_type.as_decimal(), &constant.kind) else {
        return false;
    };
    let (mut units, mut own) = match value {
        Value::Int(i) => (i128::from(*i), 0),
        Value::Decimal(units) => (*units, constant.sql_type.scale()),
        _ => return false,
    };
    while own > scale && units % 10 == 0 {
        units /= 10;
        own -= 1;
    }
    let limit = 10i128.pow(u32::from(precision));
    own > scale || units.checked_mul(10i128.pow(u32::from(scale - own))).is_none_or(|u| u <= -limit || u >= limit)
}
