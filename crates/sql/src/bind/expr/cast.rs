//! CAST, `::` and TRY_CAST.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, CastKind};
use types::ops::cast::{can_cast, depends_on_zone};
use types::{SqlType, Value};

use super::json_calls::as_json;
use crate::bind::coerce::{cast_to, closed, known};
use crate::bind::registered_kind::{kind_of, plain_number, registered_type};
use crate::bind::{Binder, type_name, unsupported, zone};

impl Binder<'_> {
    pub(super) fn cast(&mut self, kind: &CastKind, inner: &ast::Expr, name: &ast::DataType) -> Result<Expr> {
        let position = self.text.start(inner);
        if let Some(kind) = registered_type(name) {
            return self.registered(kind, inner, position);
        }
        let to = self.sql_type(name).map_err(|e| e.at(position))?;
        // The elements of a literal are cast each, so that none of them decides for the others.
        let expr = match (to.element(), inner) {
            (Some(element), ast::Expr::Array(array)) if !array.elem.iter().any(is_array) => {
                self.array(array, Some(element))?
            }
            _ => self.expr(inner)?,
        };
        let expr = match kind_of(&expr, &self.plan.registered) {
            Some(_) if to.is_string() => self.named_if_registered(expr)?,
            Some(_) if to.is_integer() => plain_number(expr),
            _ => expr,
        };
        let to = if type_name::is_bare_numeric(name) { exact(&expr).unwrap_or(to) } else { to };
        let to = as_deep(to, &expr);
        // What is no text is the value that it is in JSON.
        let expr = match closed(expr) {
            value if to == SqlType::Json && !can_cast(value.sql_type, to) => as_json(value, position)?,
            expr => expr,
        };
        if matches!(kind, CastKind::Cast | CastKind::DoubleColon) {
            let value = in_form(cast_to(expr, to)?, name).at(position);
            return match self.domain_of(name)? {
                Some((name, domain)) => self.as_domain(value, &name, &domain),
                None => Ok(value),
            };
        }
        let expr = zone::in_iso(known(expr), to);
        if !can_cast(expr.sql_type, to) {
            let message = format!("cannot cast type {} to {to}", expr.sql_type);
            return Err(Error::new(SqlState::CANNOT_COERCE, message).at(position));
        }
        let domain = self.domain_of(name)?;
        if let Some((name, domain)) = domain {
            let value = if expr.sql_type == to { expr } else { Expr::new(ExprKind::TryCast(Box::new(expr)), to) };
            return self.try_as_domain(value.at(position), &name, &domain);
        }
        if expr.sql_type == to || to == SqlType::Text {
            return cast_to(expr, to);
        }
        if depends_on_zone(expr.sql_type, to) && !zone::session().is_utc() {
            return if expr.sql_type.is_string() {
                unsupported("TRY_CAST to timestamptz outside of UTC", position)
            } else {
                cast_to(expr, to)
            };
        }
        Ok(Expr::new(ExprKind::TryCast(Box::new(expr)), to).at(position))
    }
}

fn is_array(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Array(_))
}

/// An array type with as many dimensions as the value has: to PostgreSQL these are no part of the type.
fn as_deep(to: SqlType, value: &Expr) -> SqlType {
    let depth_of = |sql_type: SqlType| std::iter::successors(sql_type.element(), |inner| inner.element()).count();
    let wanted = match &value.kind {
        ExprKind::Const(Value::Str(text)) if value.sql_type == SqlType::Null => {
            text.chars().filter(|c| !c.is_whitespace()).take_while(|c| *c == '{').count()
        }
        _ => depth_of(value.sql_type),
    };
    let depth = depth_of(to);
    if depth == 0 || wanted == 0 || wanted == depth {
        return to;
    }
    let innermost = std::iter::successors(to.element(), |inner| inner.element()).last().unwrap_or(to);
    (0..wanted).fold(innermost, |element, _| SqlType::array_of(element))
}

/// What `numeric` without digits is of an expression whose digits are known: all of them, and none besides.
fn exact(expr: &Expr) -> Option<SqlType> {
    if expr.sql_type != SqlType::Null {
        return expr.sql_type.as_decimal().map(|(precision, scale)| SqlType::decimal(precision, scale));
    }
    let ExprKind::Const(Value::Str(text)) = &expr.kind else { return None };
    let digits = text.trim().trim_start_matches(['+', '-']);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let count = whole.len() + fraction.len();
    let is_number = count > 0 && [whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let fits = is_number && count <= usize::from(SqlType::MAX_PRECISION);
    fits.then(|| SqlType::decimal(count as u8, fraction.len() as u8))
}

/// A text as one of text search, in the form in which these are shown.
fn in_form(text: Expr, name: &ast::DataType) -> Expr {
    let function = match name {
        ast::DataType::TsVector => ScalarFunction::TSVECTOR_IN,
        ast::DataType::TsQuery => ScalarFunction::TSQUERY_IN,
        _ => return text,
    };
    Expr::new(ExprKind::Call(function, vec![text]), SqlType::Text)
}
