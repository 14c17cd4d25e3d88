//! Operators between ranges, and between a range and a value: calls of the functions that they name.

use base::{Result, SqlState};
use plan::Expr;
use sqlparser::ast::BinaryOperator;
use types::SqlType;

use super::named::{call, no_operator};
use crate::bind::coerce::is_untyped;

/// The operator, if one of the operands is a range.
pub(super) fn range_operator(
    op: &BinaryOperator,
    left: &Expr,
    right: &Expr,
    position: Option<u32>,
) -> Option<Result<Expr>> {
    let is_range = |e: &Expr| matches!(e.sql_type, SqlType::Range(_));
    if !is_range(left) && !is_range(right) {
        return None;
    }
    let has = |range: &Expr, other: &Expr| match is_range(range) && !is_range(other) && !is_untyped(other) {
        true => "range_contains_elem",
        false => "range_contains",
    };
    use BinaryOperator as B;
    let (name, is_swapped) = match op {
        B::AtArrow => (has(left, right), false),
        B::ArrowAt => (has(right, left), true),
        B::PGOverlap => ("range_overlaps", false),
        B::PGBitwiseShiftLeft => ("range_before", false),
        B::PGBitwiseShiftRight => ("range_before", true),
        B::Plus => ("range_union", false),
        B::Minus => ("range_minus", false),
        B::Multiply => ("range_intersect", false),
        B::Custom(sign) => (of_sign(sign)?, false),
        B::PGCustomBinaryOperator(parts) => (of_sign(parts.last()?)?, false),
        _ => return None,
    };
    let operands = if is_swapped { [right, left] } else { [left, right] };
    let refused = || no_operator(left.sql_type, &op.to_string(), right.sql_type).at(position);
    let called = call(name, operands.map(Clone::clone).to_vec(), position);
    Some(called.map_err(|error| if error.state() == SqlState::UNDEFINED_FUNCTION { refused() } else { error }))
}

/// The function of a sign that only ranges have.
fn of_sign(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "-|-" => "range_adjacent",
        "&<" => "range_overleft",
        "&>" => "range_overright",
        _ => return None,
    })
}
