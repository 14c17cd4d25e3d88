//! `sum(x + c)` is `sum(x) + c * count(x)`: of many sums of one column with constants added, one is left.
//!
//! Only where bounds prove that no `x + c` is out of its type's range, as that would be an error, and of exact numbers.

use functions::ScalarFunction;
use plan::{AggregateCall, Expr, ExprKind};
use types::Physical;

use super::super::expression::{Expressions, Range, number};
use super::super::pipe::Pipe;
use crate::ir::{Arithmetic, Ty, Var};

impl Expressions {
    /// A sum or average without the constants that are added to each value, and what these come to.
    pub(super) fn without_constants(&self, call: &AggregateCall) -> (AggregateCall, i128) {
        let (mut call, mut shift) = (call.clone(), 0i128);
        while let Some((rest, constant)) = call.arguments.first().and_then(|e| self.split(e))
            && let Some(sum) = shift.checked_add(constant).filter(|&sum| i64::try_from(sum).is_ok())
        {
            (call.arguments, shift) = (vec![rest], sum);
        }
        (call, shift)
    }

    /// `x` and `c` of `x + c`, `c + x` or `x - c`.
    fn split(&self, expr: &Expr) -> Option<(Expr, i128)> {
        let ExprKind::Call(function, args) = &expr.kind else { return None };
        let [a, b] = args.as_slice() else { return None };
        let constant = |e: &Expr| match &e.kind {
            ExprKind::Const(value) => number(value)?
                .checked_mul(10i128.checked_pow(expr.sql_type.scale().checked_sub(e.sql_type.scale())?.into())?),
            _ => None,
        };
        let (x, c) = match *function {
            ScalarFunction::ADD => match constant(b) {
                Some(c) => (a, c),
                None => (b, constant(a)?),
            },
            ScalarFunction::SUBTRACT => (a, constant(b)?.checked_neg()?),
            _ => return None,
        };
        let exact = expr.sql_type.as_decimal().is_some() && x.sql_type.as_decimal().is_some();
        let narrow = |e: &Expr| e.sql_type.physical() != Physical::I128;
        let same = exact && narrow(expr) && narrow(x) && x.sql_type.scale() == expr.sql_type.scale();
        let safe = || Some(self.range_of_arithmetic(expr, args)?.within(Range::of_type(expr.sql_type)?));
        (same && safe()?).then(|| (x.clone(), c))
    }
}

/// The sum of values to each of which a constant is added.
pub(super) fn shifted(pipe: &mut Pipe, sum: Var, shift: i128, count: Var) -> Var {
    let constant = pipe.int(shift, Ty::I128);
    let count = pipe.widen(count, Ty::I128);
    let more = pipe.wrapping(Arithmetic::Mul, constant, count);
    pipe.wrapping(Arithmetic::Add, sum, more)
}
