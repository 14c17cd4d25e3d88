//! Arithmetic on floats: the processor's, with one test of the result. What is infinite or zero is looked at closer, in
//! a cold block: it may be an error (`types::ops::number::float` says when).

use base::SqlState;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use pipeline::ir::{FloatOp, Ty};

use super::Emitter;
use crate::messages;

impl Emitter<'_, '_> {
    pub(super) fn float(&mut self, kind: FloatOp, ty: Ty, x: Value, y: Value, position: Option<u32>) -> Value {
        let value = match kind {
            FloatOp::Add => self.b.ins().fadd(x, y),
            FloatOp::Sub => self.b.ins().fsub(x, y),
            FloatOp::Mul => self.b.ins().fmul(x, y),
            FloatOp::Div => self.b.ins().fdiv(x, y),
        };
        let suspicious = match kind {
            FloatOp::Add | FloatOp::Sub => self.is_infinite(ty, value),
            FloatOp::Mul | FloatOp::Div => self.is_zero_or_not_finite(ty, value),
        };
        let (look, good) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(look);
        self.b.ins().brif(suspicious, look, &[], good, &[]);
        self.b.switch_to_block(look);
        self.raise_float_errors(kind, ty, x, y, value, position);
        self.b.ins().jump(good, &[]);
        self.b.switch_to_block(good);
        value
    }

    fn raise_float_errors(&mut self, kind: FloatOp, ty: Ty, x: Value, y: Value, value: Value, position: Option<u32>) {
        if kind == FloatOp::Div {
            let number = self.b.ins().fcmp(FloatCC::Ordered, x, x);
            let zero = self.is_zero(ty, y);
            let by_zero = self.b.ins().band(number, zero);
            self.raise_if(by_zero, SqlState::DIVISION_BY_ZERO, messages::DIVISION_BY_ZERO, position);
        }
        // Infinite though no operand is (the divisor does not count: it makes 0).
        let infinite = self.is_infinite(ty, value);
        let mut reason = self.is_infinite(ty, x);
        if kind != FloatOp::Div {
            let other = self.is_infinite(ty, y);
            reason = self.b.ins().bor(reason, other);
        }
        let overflow = self.and_not(infinite, reason);
        self.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_OVERFLOW, position);
        if matches!(kind, FloatOp::Mul | FloatOp::Div) {
            // Zero though no operand makes it so.
            let zero = self.is_zero(ty, value);
            let of_x = self.is_zero(ty, x);
            let of_y = if kind == FloatOp::Mul { self.is_zero(ty, y) } else { self.is_infinite(ty, y) };
            let reason = self.b.ins().bor(of_x, of_y);
            let underflow = self.and_not(zero, reason);
            self.raise_if(underflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_UNDERFLOW, position);
        }
    }

    /// Cranelift's `band_not` is for vectors.
    fn and_not(&mut self, a: Value, b: Value) -> Value {
        let not = self.b.ins().bxor_imm_u(b, 1);
        self.b.ins().band(a, not)
    }

    fn constant_of(&mut self, ty: Ty, value: f64) -> Value {
        if ty == Ty::F32 { self.b.ins().f32const(value as f32) } else { self.b.ins().f64const(value) }
    }

    fn is_infinite(&mut self, ty: Ty, x: Value) -> Value {
        let infinity = self.constant_of(ty, f64::INFINITY);
        let magnitude = self.b.ins().fabs(x);
        self.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
    }

    fn is_zero(&mut self, ty: Ty, x: Value) -> Value {
        let zero = self.constant_of(ty, 0.0);
        self.b.ins().fcmp(FloatCC::Equal, x, zero)
    }

    /// One comparison of the bits: 0 minus 1 is above all others.
    fn is_zero_or_not_finite(&mut self, ty: Ty, x: Value) -> Value {
        let (integer, infinity) = match ty {
            Ty::F32 => (types::I32, i64::from(f32::INFINITY.to_bits())),
            _ => (types::I64, f64::INFINITY.to_bits() as i64),
        };
        let magnitude = self.b.ins().fabs(x);
        let bits = self.b.ins().bitcast(integer, MemFlagsData::new(), magnitude);
        let bits = self.b.ins().iadd_imm_s(bits, -1);
        let bound = self.b.ins().iconst(integer, infinity - 1);
        self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, bits, bound)
    }
}
