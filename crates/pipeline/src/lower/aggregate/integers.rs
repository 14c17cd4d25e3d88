//! Pairs of integers, of which covariances and regressions need no more than exact sums of integers.

use plan::{Expr, ExprKind};
use types::SqlType;

use super::super::expression::Range;
use crate::ir::Ty;

/// Sums of pairs (y, x): of y, x, y * y, x * x and x * y.
pub(super) const SUMS_OF_PAIRS: u32 = 5;

/// More rows than this no aggregate gets.
const MOST_ROWS: u128 = 1 << 48;

/// The integers that two arguments are made of which are to be doubles, and a type for the sums of their products: these are
/// exact then, without an error that would have to be kept. Only of integers whose products fit 64 bits, which are
/// doubles without rounding.
pub(super) fn integer_pair(arguments: &[Expr], range: &dyn Fn(&Expr) -> Option<Range>) -> Option<(Vec<Expr>, SqlType)> {
    let mut largest = 0u128;
    let mut pair = Vec::new();
    for argument in arguments {
        let ExprKind::Cast(integer) = &argument.kind else { return None };
        let is_integer = matches!(integer.sql_type, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt);
        let range = range(integer).filter(|range| is_integer && range.fits(Ty::I32))?;
        largest = largest.max(range.magnitude());
        pair.push(Expr::clone(integer));
    }
    let fits = largest * largest <= i64::MAX as u128 / MOST_ROWS;
    Some((pair, if fits { SqlType::BigInt } else { SqlType::decimal(38, 0) }))
}
