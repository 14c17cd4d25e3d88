//! Arithmetic on floats: the processor's, with one test of the result. What is infinite, zero or nearly so is looked at
//! closer, in a cold block: it may be an error (`types::ops::number::float` says when).

use base::SqlState;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use pipeline::ir::{FloatOp, Ty};

use super::Code;
use crate::messages;

pub fn float(code: &mut Code<'_>, kind: FloatOp, ty: Ty, x: Value, y: Value, position: Option<u32>) -> Value {
    let value = match kind {
        FloatOp::Add => code.b.ins().fadd(x, y),
        FloatOp::Sub => code.b.ins().fsub(x, y),
        FloatOp::Mul => code.b.ins().fmul(x, y),
        FloatOp::Div => code.b.ins().fdiv(x, y),
    };
    let suspicious = match kind {
        FloatOp::Add | FloatOp::Sub => has_exponent(code, ty, value, false),
        FloatOp::Mul | FloatOp::Div => has_exponent(code, ty, value, true),
    };
    let (look, good) = (code.b.create_block(), code.b.create_block());
    code.b.set_cold_block(look);
    code.b.ins().brif(suspicious, look, &[], good, &[]);
    code.b.switch_to_block(look);
    raise_float_errors(code, kind, ty, x, y, value, position);
    code.b.ins().jump(good, &[]);
    code.b.switch_to_block(good);
    value
}

fn raise_float_errors(
    code: &mut Code<'_>,
    kind: FloatOp,
    ty: Ty,
    x: Value,
    y: Value,
    value: Value,
    position: Option<u32>,
) {
    if kind == FloatOp::Div {
        let number = code.b.ins().fcmp(FloatCC::Ordered, x, x);
        let zero = is_zero(code, ty, y);
        let by_zero = code.b.ins().band(number, zero);
        code.raise_if(by_zero, SqlState::DIVISION_BY_ZERO, messages::DIVISION_BY_ZERO, position);
    }
    // Infinite though no operand is (the divisor does not count: it makes 0).
    let infinite = is_infinite(code, ty, value);
    let mut reason = is_infinite(code, ty, x);
    if kind != FloatOp::Div {
        let other = is_infinite(code, ty, y);
        reason = code.b.ins().bor(reason, other);
    }
    let overflow = and_not(code, infinite, reason);
    code.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_OVERFLOW, position);
    if matches!(kind, FloatOp::Mul | FloatOp::Div) {
        // Zero though no operand makes it so.
        let zero = is_zero(code, ty, value);
        let of_x = is_zero(code, ty, x);
        let of_y = if kind == FloatOp::Mul { is_zero(code, ty, y) } else { is_infinite(code, ty, y) };
        let reason = code.b.ins().bor(of_x, of_y);
        let underflow = and_not(code, zero, reason);
        code.raise_if(underflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_UNDERFLOW, position);
    }
}

/// Cranelift's `band_not` is for vectors.
fn and_not(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let not = code.b.ins().bxor_imm_u(b, 1);
    code.b.ins().band(a, not)
}

fn constant_of(code: &mut Code<'_>, ty: Ty, value: f64) -> Value {
    if ty == Ty::F32 { code.b.ins().f32const(value as f32) } else { code.b.ins().f64const(value) }
}

fn is_infinite(code: &mut Code<'_>, ty: Ty, x: Value) -> Value {
    let infinity = constant_of(code, ty, f64::INFINITY);
    let magnitude = code.b.ins().fabs(x);
    code.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
}

fn is_zero(code: &mut Code<'_>, ty: Ty, x: Value) -> Value {
    let zero = constant_of(code, ty, 0.0);
    code.b.ins().fcmp(FloatCC::Equal, x, zero)
}

/// Whether all bits of the exponent are set (infinity, NaN), or with `or_least` none (0, denormal numbers), by one comparison
/// of integers: comparing doubles takes constants and two flags.
fn has_exponent(code: &mut Code<'_>, ty: Ty, x: Value, or_least: bool) -> Value {
    let (integer, fraction, greatest) = match ty {
        Ty::F32 => (types::I32, 23, 0xff),
        _ => (types::I64, 52, 0x7ff),
    };
    let bits = code.b.ins().bitcast(integer, MemFlagsData::new(), x);
    let unsigned = code.b.ins().iadd(bits, bits);
    let exponent = code.b.ins().ushr_imm_u(unsigned, fraction + 1);
    if !or_least {
        return code.b.ins().icmp_imm_u(IntCC::Equal, exponent, greatest);
    }
    // 0 minus 1 is above all others.
    let exponent = code.b.ins().iadd_imm_s(exponent, -1);
    code.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, exponent, greatest - 1)
}
