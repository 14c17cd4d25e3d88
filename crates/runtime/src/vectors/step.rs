//! What computes an operation for many rows.

use functions::Typed;
use pipeline::ir::{Operation, Ty, Var};
use types::ops::decimal;
use types::ops::number::many::{OfOne, OfTwo};

use super::division::division;
use super::primitives::{Arguments, Loop, loop_of};

/// What computes a step: one of the loops here, of a function, or of a cast.
#[derive(Clone, Copy)]
pub(super) enum Primitive {
    Loop(Loop),
    OfOne(OfOne),
    OfTwo(OfTwo),
    /// To a decimal of a precision and a scale, in integers of a type.
    ToDecimal((u8, u8), Ty),
}

impl Primitive {
    /// Whether some row that matters is in doubt.
    ///
    /// # Safety
    /// There are as many values of the operation's types, and room for as many, as the arguments say.
    pub unsafe fn run(self, arguments: &Arguments) -> bool {
        // SAFETY: as the caller promises, for all calls.
        unsafe {
            match self {
                Self::Loop(run) => run(arguments),
                Self::OfOne(run) => run(arguments.operand(0), arguments.only_if(true), arguments.out()),
                Self::OfTwo(run) => {
                    run(arguments.operand(0), arguments.operand(1), arguments.only_if(true), arguments.out())
                }
                Self::ToDecimal(digits, to) => {
                    let (x, only_if) = (arguments.operand(0), arguments.only_if(true));
                    match to {
                        Ty::I16 => decimal::from_f64_of_many::<i16>(x, digits, only_if, arguments.out()),
                        Ty::I32 => decimal::from_f64_of_many::<i32>(x, digits, only_if, arguments.out()),
                        _ => decimal::from_f64_of_many::<i64>(x, digits, only_if, arguments.out()),
                    }
                }
            }
        }
    }
}

/// The loop for an operation, if vectors know it; `ty` says the types of its operands.
pub(super) fn primitive(op: &Operation, ty: impl Fn(Var) -> Ty) -> Option<Primitive> {
    match op {
        Operation::OfDoubles(function, ..) => match function.definition().typed? {
            Typed::Double(_, many) => Some(Primitive::OfOne(many)),
            Typed::DoubleOfTwo(_, many) => Some(Primitive::OfTwo(many)),
            _ => None,
        },
        Operation::ToDecimal(_, digits, to, _) => Some(Primitive::ToDecimal(*digits, *to)),
        Operation::Divide(x, ..) => division(ty(*x), false).map(Primitive::Loop),
        Operation::Remainder(x, ..) => division(ty(*x), true).map(Primitive::Loop),
        _ => loop_of(op, ty).map(Primitive::Loop),
    }
}
