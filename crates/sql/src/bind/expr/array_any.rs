//! `= ANY (array)` and its like: of constants, comparisons with each; of others, a function that looks for the value, or for other
//! operators a subquery over the elements.

use base::{Error, Result, SqlState};
use functions::{ScalarFunction as F, common_type};
use plan::{Compare, Expr, ExprKind, Quantifier};
use sqlparser::ast;
use types::ops::array;
use types::{SqlType, Value};

use super::negate_if;
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, compare, is_open_list, is_untyped, known, op_text};
use crate::bind::type_name::array_of;

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
        let (value, array) = (self.expr(left)?, self.expr(right)?);
        let array = if is_untyped(&array) || is_open_list(&array) {
            cast_to(array, array_of(known(value.clone()).sql_type)?)?
        } else {
            array
        };
        let Some(element) = array.sql_type.element() else {
            return Err(no_array(position));
        };
        if let (ExprKind::Const(Value::Str(form)), true) = (&array.kind, element.dimensions() == 0) {
            let each: Vec<Expr> = array::Elements::new(form, element).map(|v| Expr::constant(v, element)).collect();
            let parts =
                each.into_iter().map(|e| compare(op, value.clone(), e, position)).collect::<Result<Vec<_>>>()?;
            return Ok(quantify(quantifier, parts));
        }
        let negated = quantifier == Quantifier::All;
        if !matches!((quantifier, op), (Quantifier::Any, Compare::Eq) | (Quantifier::All, Compare::Ne)) {
            return self.each_element(quantifier, left, op_text(op), right);
        }
        let Some(common) = common_type(value.sql_type, element) else {
            let message = format!("operator does not exist: {} {} {element}", value.sql_type, op_text(op));
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position));
        };
        let array = cast_to(array, SqlType::array_of(common))?;
        let wanted = self.alone(cast_to(value, common)?)?;
        let found = Expr::new(ExprKind::Call(F::ARRAY_ANY, vec![array, wanted]), SqlType::Bool);
        Ok(negate_if(found.at(position), negated))
    }

    /// `left op ANY (array)`, `left op ALL (array)` of an operator as it is written: one row for each element.
    pub(super) fn each_element(
        &mut self,
        quantifier: Quantifier,
        left: &ast::Expr,
        op: &str,
        array: &ast::Expr,
    ) -> Result<Expr> {
        let (not, found, otherwise) = match quantifier {
            Quantifier::Any => ("", "true", "false"),
            Quantifier::All => ("NOT", "false", "true"),
        };
        let position = self.text.start(left);
        let bound = self.expr(array)?;
        let items = match bound.sql_type.element() {
            Some(_) => "items",
            None if is_untyped(&bound) => "CAST(items AS text[])",
            None => return Err(no_array(position)),
        };
        let text = format!(
            "CASE WHEN items IS NULL THEN NULL ELSE (SELECT CASE WHEN bool_or({not} (operand {op} element)) THEN {found} \
             WHEN bool_or((operand {op} element) IS NULL) THEN NULL ELSE {otherwise} END FROM unnest({items}) AS elements(element)) END"
        );
        let filled = vec![("operand".to_owned(), left.clone()), ("items".to_owned(), array.clone())];
        let value = self.value_of_text(&text, filled);
        value
            .map(|value| value.at(position))
            .map_err(|error| if error.position().is_some() { error } else { error.at(position) })
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

/// 42809: ANY or ALL of something else.
pub(super) fn no_array(position: Option<u32>) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side").at(position)
}

/// Whether any of these is true, or all are.
pub(super) fn quantify(quantifier: Quantifier, parts: Vec<Expr>) -> Expr {
    match quantifier {
        Quantifier::Any => plan::disjunction(parts),
        Quantifier::All => plan::conjunction(parts),
    }
}
