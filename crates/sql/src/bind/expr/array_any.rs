//! `= ANY (array)` and its like: of constants, comparisons with each; of others, a function that looks for the value.

use base::{Error, Result, SqlState};
use functions::{ScalarFunction as F, common_type};
use plan::{Compare, Expr, ExprKind, Quantifier};
use sqlparser::ast;
use types::ops::array;
use types::{SqlType, Value};

use super::negate_if;
use crate::bind::coerce::{cast_to, compare, is_open_list, is_untyped, known, op_text};
use crate::bind::type_name::array_of;
use crate::bind::{Binder, unsupported};

impl Binder<'_> {
    /// `left op ANY (array)`, `left op ALL (array)`.
    pub(super) fn quantified_array(
        &mut self,
        quantifier: Quantifier,
        left: &ast::Expr,
        op: Compare,
        right: &ast::Expr,
    ) -> Result<Expr> {
        let position = self.text.start(left);
        if let ast::Expr::Array(items) = right
            && !items.elem.is_empty()
        {
            return match (quantifier, op) {
                (Quantifier::Any, Compare::Eq) => self.in_list(left, &items.elem, false),
                (Quantifier::All, Compare::Ne) => self.in_list(left, &items.elem, true),
                _ => self.compare_each(quantifier, left, op, &items.elem, position),
            };
        }
        let (left, array) = (self.expr(left)?, self.expr(right)?);
        let array = if is_untyped(&array) || is_open_list(&array) {
            cast_to(array, array_of(known(left.clone()).sql_type)?)?
        } else {
            array
        };
        let Some(element) = array.sql_type.element() else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        };
        if let (ExprKind::Const(Value::Str(form)), true) = (&array.kind, element.dimensions() == 0) {
            let each: Vec<Expr> = array::Elements::new(form, element).map(|v| Expr::constant(v, element)).collect();
            let parts = each.into_iter().map(|e| compare(op, left.clone(), e, position)).collect::<Result<Vec<_>>>()?;
            return Ok(quantify(quantifier, parts));
        }
        let negated = quantifier == Quantifier::All;
        if !matches!((quantifier, op), (Quantifier::Any, Compare::Eq) | (Quantifier::All, Compare::Ne)) {
            return unsupported(format!("{} with ANY or ALL over an array that is no constant", op_text(op)), position);
        }
        let Some(common) = common_type(left.sql_type, element) else {
            let message = format!("operator does not exist: {} {} {element}", left.sql_type, op_text(op));
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position));
        };
        let array = cast_to(array, SqlType::array_of(common))?;
        let wanted = self.alone(cast_to(left, common)?)?;
        let found = Expr::new(ExprKind::Call(F::ARRAY_ANY, vec![array, wanted]), SqlType::Bool);
        Ok(negate_if(found.at(position), negated))
    }

    fn compare_each(
        &mut self,
        quantifier: Quantifier,
        left: &ast::Expr,
        op: Compare,
        items: &[ast::Expr],
        position: Option<u32>,
    ) -> Result<Expr> {
        let left = self.expr(left)?;
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            let item = self.expr(item)?;
            parts.push(compare(op, left.clone(), item, position)?);
        }
        Ok(quantify(quantifier, parts))
    }
}

fn quantify(quantifier: Quantifier, parts: Vec<Expr>) -> Expr {
    match quantifier {
        Quantifier::Any => plan::disjunction(parts),
        Quantifier::All => plan::conjunction(parts),
    }
}
