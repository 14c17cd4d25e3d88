//! Numbers with fewer digits behind the point.

use base::Result;
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

use super::Expressions;
use super::range::Range;
use crate::ir::{Arithmetic, Compare, Conversion, FloatFunction, Operation, Ty, Var};
use crate::lower::pipe::{Pipe, Sql};

/// Most digits that go: as many as 64-bit numbers have at least.
const MOST_DIGITS: u8 = 18;

/// Magnitudes below are words with half of a unit of so many digits added, too.
const MOST: u128 = 1 << 62;

/// The number of units that so many more of smaller units are, in the way of a function that rounds. The magnitude of the value is
/// below [`MOST`], and the unit is a power of ten from 10 on, I64 both.
fn in_units(pipe: &mut Pipe, value: Var, unit: i128, function: FloatFunction) -> Var {
    let (of, zero) = (pipe.int(unit, Ty::I64), pipe.int(0, Ty::I64));
    if function == FloatFunction::Nearest {
        // Halves go away from zero.
        let half = pipe.int(unit / 2, Ty::I64);
        let [more, less] = [Arithmetic::Add, Arithmetic::Sub].map(|op| pipe.wrapping(op, value, half));
        let is_negative = pipe.compare(Compare::Lt, value, zero);
        let value = pipe.let_(Ty::I64, Operation::Select(is_negative, less, more));
        return pipe.let_(Ty::I64, Operation::Divide(value, of, None));
    }
    let whole = pipe.let_(Ty::I64, Operation::Divide(value, of, None));
    let back = pipe.wrapping(Arithmetic::Mul, whole, of);
    let (is_off, op) = match function {
        FloatFunction::Floor => (pipe.compare(Compare::Lt, value, back), Arithmetic::Sub),
        FloatFunction::Ceil => (pipe.compare(Compare::Gt, value, back), Arithmetic::Add),
        _ => return whole,
    };
    let step = pipe.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, is_off, Ty::I64, None));
    pipe.wrapping(op, whole, step)
}

/// A decimal whose magnitude is below [`MOST`] as a number of greater units, of a layout.
pub(super) fn fewer_digits(pipe: &mut Pipe, sql: Sql, (unit, function): (i128, FloatFunction), layout: Ty) -> Sql {
    let value = match pipe.ty(sql.value) {
        Ty::I128 => pipe.let_(Ty::I64, Operation::Convert(Conversion::Cut, sql.value, Ty::I64, None)),
        _ => pipe.widen(sql.value, Ty::I64),
    };
    let value = in_units(pipe, value, unit, function);
    let value = match layout {
        Ty::I64 => value,
        Ty::I128 => pipe.widen(value, Ty::I128),
        narrow => pipe.let_(narrow, Operation::Convert(Conversion::Cut, value, narrow, None)),
    };
    Sql { value, null: sql.null }
}

impl Expressions {
    /// A number with fewer digits, in the way of a function that rounds.
    pub(super) fn rounding(
        &mut self,
        pipe: &mut Pipe,
        f: F,
        function: FloatFunction,
        args: &[Expr],
        expr: &Expr,
    ) -> Result<Sql> {
        let digits = |digits: &Expr| match digits.kind {
            ExprKind::Const(Value::Int(number)) => u8::try_from(number).ok(),
            _ => None,
        };
        match args {
            [input] if input.sql_type == SqlType::Double => self.float_function(pipe, function, input),
            [input, digits] if input.sql_type == SqlType::Double && digits.sql_type.is_integer() => {
                let (input, digits) = (self.scalar(pipe, input)?, self.scalar(pipe, digits)?);
                let to = if function == FloatFunction::Trunc { F::TRUNC_DOUBLE_TO } else { F::ROUND_DOUBLE_TO };
                self.strict(pipe, &[input, digits], |p| {
                    let float = Operation::Convert(Conversion::IntToFloat, digits.value, Ty::F64, None);
                    let digits = p.let_(Ty::F64, float);
                    p.let_(Ty::F64, Operation::OfDoubles(to, input.value, Some(digits), expr.position))
                })
            }
            [input, rest @ ..]
                if function == FloatFunction::Nearest
                    && input.sql_type.is_decimal()
                    && rest.iter().all(|number| digits(number).is_some()) =>
            {
                self.cast(pipe, input, expr)
            }
            [input, rest @ ..]
                if rest.iter().all(|number| digits(number) == Some(expr.sql_type.scale()))
                    && let Some(unit) = self.unit_of_cast(input, expr.sql_type) =>
            {
                let sql = self.scalar(pipe, input)?;
                Ok(fewer_digits(pipe, sql, (unit, function), expr.sql_type.physical().into()))
            }
            _ => self.boxed(pipe, f, args, expr.sql_type, expr.position),
        }
    }

    /// How many units of a decimal one of a number with fewer digits is, if both are words and known to fit.
    pub(super) fn unit_of_cast(&self, input: &Expr, to: SqlType) -> Option<i128> {
        let from = input.sql_type;
        let down = from.scale().checked_sub(to.scale()).filter(|down| (1..=MOST_DIGITS).contains(down))?;
        let unit = 10i128.pow(down.into());
        let magnitude = self.range(input)?.magnitude();
        // Rounding adds one at most.
        let fits = magnitude / unit.unsigned_abs() < Range::of_type(to)?.high.unsigned_abs();
        (fits && from.is_decimal() && magnitude < MOST).then_some(unit)
    }

    pub(super) fn float_function(&mut self, pipe: &mut Pipe, function: FloatFunction, input: &Expr) -> Result<Sql> {
        let sql = self.scalar(pipe, input)?;
        let value = pipe.let_(pipe.ty(sql.value), Operation::FloatFunction(function, sql.value));
        Ok(Sql { value, null: sql.null })
    }
}
