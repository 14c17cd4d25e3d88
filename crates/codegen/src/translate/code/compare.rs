//! Comparisons and hashes.

use ::types::ops::hash::{INCREMENT, MULTIPLIER_1, MULTIPLIER_2, NAN_KEY};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Compare, Ty};
use runtime::abi::Kernel;

use super::Code;
use crate::translate::value::Val;

/// The signed comparison of integers, or of a three-way result with 0.
fn signed(how: Compare) -> IntCC {
    match how {
        Compare::Eq => IntCC::Equal,
        Compare::Ne => IntCC::NotEqual,
        Compare::Lt | Compare::Before => IntCC::SignedLessThan,
        Compare::Le => IntCC::SignedLessThanOrEqual,
        Compare::Gt => IntCC::SignedGreaterThan,
        Compare::Ge => IntCC::SignedGreaterThanOrEqual,
    }
}

fn unsigned(how: Compare) -> IntCC {
    signed(how).unsigned()
}

/// Compares two values of type `ty`: Bool.
pub fn compare(code: &mut Code<'_>, how: Compare, ty: Ty, x: Val, y: Val) -> Value {
    match ty {
        Ty::I16 | Ty::I32 | Ty::I64 | Ty::I128 => code.b.ins().icmp(signed(how), x.one(), y.one()),
        Ty::Bool | Ty::Ptr => code.b.ins().icmp(unsigned(how), x.one(), y.one()),
        Ty::F32 | Ty::F64 if how == Compare::Before => float_before(code, ty, x.one(), y.one()),
        Ty::F32 | Ty::F64 => compare_floats(code, how, x.one(), y.one()),
        Ty::Str => match how {
            Compare::Eq => str_equal(code, x, y),
            Compare::Ne => {
                let equal = str_equal(code, x, y);
                code.b.ins().bxor_imm_u(equal, 1)
            }
            _ => str_order(code, how, x, y),
        },
        Ty::Interval if how == Compare::Before => {
            let (less, equal) = (compare(code, Compare::Lt, ty, x, y), compare(code, Compare::Eq, ty, x, y));
            let ((a, b), (c, d)) = (x.two(), y.two());
            let (first, second) = (code.b.ins().iconcat(a, b), code.b.ins().iconcat(c, d));
            let by_bits = code.b.ins().icmp(IntCC::UnsignedLessThan, first, second);
            let tie = code.b.ins().band(equal, by_bits);
            code.b.ins().bor(less, tie)
        }
        Ty::Interval => {
            let ((a, b), (c, d)) = (x.two(), y.two());
            let order = code.kernel_call(Kernel::IntervalCompare, &[a, b, c, d]).expect("it returns a value");
            code.b.ins().icmp_imm_s(signed(how), order, 0)
        }
    }
}

/// PostgreSQL's order: NaN equals NaN and is above all numbers; IEEE has -0 = 0.
fn compare_floats(code: &mut Code<'_>, how: Compare, x: Value, y: Value) -> Value {
    match how {
        Compare::Eq => {
            let equal = code.b.ins().fcmp(FloatCC::Equal, x, y);
            let x_nan = code.b.ins().fcmp(FloatCC::Unordered, x, x);
            let y_nan = code.b.ins().fcmp(FloatCC::Unordered, y, y);
            let both = code.b.ins().band(x_nan, y_nan);
            code.b.ins().bor(equal, both)
        }
        Compare::Lt | Compare::Before => {
            // A number is below NaN.
            let less = code.b.ins().fcmp(FloatCC::UnorderedOrLessThan, x, y);
            let x_number = code.b.ins().fcmp(FloatCC::Ordered, x, x);
            code.b.ins().band(less, x_number)
        }
        Compare::Gt => compare_floats(code, Compare::Lt, y, x),
        Compare::Ne => not_floats(code, Compare::Eq, x, y),
        Compare::Ge => not_floats(code, Compare::Lt, x, y),
        Compare::Le => not_floats(code, Compare::Lt, y, x),
    }
}

fn not_floats(code: &mut Code<'_>, how: Compare, x: Value, y: Value) -> Value {
    let value = compare_floats(code, how, x, y);
    code.b.ins().bxor_imm_u(value, 1)
}

/// Where the bits are the same, as mostly of keys that are equal, nothing else is asked.
fn float_before(code: &mut Code<'_>, ty: Ty, x: Value, y: Value) -> Value {
    let (differ, done) = (code.b.create_block(), code.b.create_block());
    let result = code.b.append_block_param(done, types::I8);
    let integer = if ty == Ty::F32 { types::I32 } else { types::I64 };
    let [a, b] = [x, y].map(|value| code.b.ins().bitcast(integer, changing_cast(), value));
    let no = code.b.ins().iconst(types::I8, 0);
    let are_same = code.b.ins().icmp(IntCC::Equal, a, b);
    code.b.ins().brif(are_same, done, &[no.into()], differ, &[]);
    code.b.switch_to_block(differ);
    let (less, equal) = (compare_floats(code, Compare::Lt, x, y), compare_floats(code, Compare::Eq, x, y));
    let by_bits = code.b.ins().icmp(IntCC::SignedLessThan, a, b);
    let tie = code.b.ins().band(equal, by_bits);
    let before = code.b.ins().bor(less, tie);
    code.b.ins().jump(done, &[before.into()]);
    code.b.switch_to_block(done);
    result
}

/// Length and prefix differ: unequal. The rest is equal too: equal (inline text, or the same pointer). Inline: unequal.
/// Otherwise the bytes decide.
fn str_equal(code: &mut Code<'_>, x: Val, y: Val) -> Value {
    let ((x0, x1), (y0, y1)) = (x.two(), y.two());
    let (same_head, not_same, long) = (code.b.create_block(), code.b.create_block(), code.b.create_block());
    let done = code.b.create_block();
    let result = code.b.append_block_param(done, types::I8);
    let (no, yes) = (code.b.ins().iconst(types::I8, 0), code.b.ins().iconst(types::I8, 1));
    let heads = code.b.ins().icmp(IntCC::Equal, x0, y0);
    code.b.ins().brif(heads, same_head, &[], done, &[no.into()]);
    code.b.switch_to_block(same_head);
    let rests = code.b.ins().icmp(IntCC::Equal, x1, y1);
    code.b.ins().brif(rests, done, &[yes.into()], not_same, &[]);
    code.b.switch_to_block(not_same);
    let length = code.b.ins().ireduce(types::I32, x0);
    let is_long = code.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, ::types::Str::INLINE as i64);
    code.b.ins().brif(is_long, long, &[], done, &[no.into()]);
    code.b.switch_to_block(long);
    let equal = code.kernel_call(Kernel::StrEqual, &[x0, x1, y0, y1]).expect("it returns a value");
    let equal = code.b.ins().ireduce(types::I8, equal);
    code.b.ins().jump(done, &[equal.into()]);
    code.b.switch_to_block(done);
    result
}

/// Different prefixes decide (as big-endian numbers); otherwise the bytes do.
fn str_order(code: &mut Code<'_>, how: Compare, x: Val, y: Val) -> Value {
    let ((x0, x1), (y0, y1)) = (x.two(), y.two());
    let (same_prefix, differ, done) = (code.b.create_block(), code.b.create_block(), code.b.create_block());
    let result = code.b.append_block_param(done, types::I8);
    let mut prefix = |v| {
        let high = code.b.ins().ushr_imm_u(v, 32);
        let high = code.b.ins().ireduce(types::I32, high);
        code.b.ins().bswap(high)
    };
    let (p, q) = (prefix(x0), prefix(y0));
    let same = code.b.ins().icmp(IntCC::Equal, p, q);
    code.b.ins().brif(same, same_prefix, &[], differ, &[]);
    code.b.switch_to_block(differ);
    let order = code.b.ins().icmp(unsigned(how), p, q);
    code.b.ins().jump(done, &[order.into()]);
    code.b.switch_to_block(same_prefix);
    let order = code.kernel_call(Kernel::StrCompare, &[x0, x1, y0, y1]).expect("it returns a value");
    let order = code.b.ins().icmp_imm_s(signed(how), order, 0);
    code.b.ins().jump(done, &[order.into()]);
    code.b.switch_to_block(done);
    result
}

pub fn combine_hashes(code: &mut Code<'_>, first: Value, next: Value) -> Value {
    let turned = code.b.ins().rotl_imm_u(first, 25);
    let factor = code.b.ins().iconst(types::I64, MULTIPLIER_1 as i64);
    let first = code.b.ins().imul(turned, factor);
    let both = code.b.ins().bxor(first, next);
    hash_u64(code, both)
}

/// Strings that lie in their headers are hashed here, others by a call.
fn hash_str(code: &mut Code<'_>, value: Val) -> Value {
    let (low, high) = value.two();
    let (short, long, done) = (code.b.create_block(), code.b.create_block(), code.b.create_block());
    let result = code.b.append_block_param(done, types::I64);
    let length = code.b.ins().ireduce(types::I32, low);
    let is_long = code.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, ::types::Str::INLINE as i64);
    code.b.ins().brif(is_long, long, &[], short, &[]);
    code.b.switch_to_block(short);
    let hash = combine_hashes(code, low, high);
    code.b.ins().jump(done, &[hash.into()]);
    code.b.switch_to_block(long);
    let hash = code.kernel_call(Kernel::HashStr, &[low, high]).expect("it returns a value");
    code.b.ins().jump(done, &[hash.into()]);
    code.b.switch_to_block(done);
    result
}

/// Integers of 64 bits are hashed here, wider ones by a call.
fn hash_i128(code: &mut Code<'_>, value: Value) -> Value {
    let (low, high) = code.b.ins().isplit(value);
    let (wide, done) = (code.b.create_block(), code.b.create_block());
    let result = code.b.append_block_param(done, types::I64);
    let sign = code.b.ins().sshr_imm_u(low, 63);
    let is_narrow = code.b.ins().icmp(IntCC::Equal, sign, high);
    let hash = hash_u64(code, low);
    code.b.ins().brif(is_narrow, done, &[hash.into()], wide, &[]);
    code.b.switch_to_block(wide);
    let hash = code.kernel_call(Kernel::HashI128, &[low, high]).expect("it returns a value");
    code.b.ins().jump(done, &[hash.into()]);
    code.b.switch_to_block(done);
    result
}

/// As [`hash_f64`](::types::ops::hash::hash_f64).
fn hash_f64(code: &mut Code<'_>, value: Value) -> Value {
    let nothing = code.b.ins().f64const(0.0);
    let sum = code.b.ins().fadd(value, nothing);
    let bits = code.b.ins().bitcast(types::I64, changing_cast(), sum);
    let is_nan = code.b.ins().fcmp(FloatCC::Unordered, value, value);
    let nan = code.b.ins().iconst(types::I64, NAN_KEY as i64);
    let key = code.b.ins().select(is_nan, nan, bits);
    hash_u64(code, key)
}

pub fn hash_value(code: &mut Code<'_>, ty: Ty, value: Val) -> Value {
    match ty {
        Ty::I64 | Ty::Ptr => hash_u64(code, value.one()),
        Ty::Bool => {
            let wide = code.b.ins().uextend(types::I64, value.one());
            hash_u64(code, wide)
        }
        Ty::I16 | Ty::I32 => {
            let wide = code.b.ins().sextend(types::I64, value.one());
            hash_u64(code, wide)
        }
        Ty::I128 => hash_i128(code, value.one()),
        Ty::Str => hash_str(code, value),
        Ty::Interval => {
            let words = value.two();
            code.kernel_call(Kernel::HashInterval, &[words.0, words.1]).expect("it returns a value")
        }
        Ty::F64 => hash_f64(code, value.one()),
        Ty::F32 => {
            let double = code.b.ins().fpromote(types::F64, value.one());
            hash_f64(code, double)
        }
    }
}

fn hash_u64(code: &mut Code<'_>, key: Value) -> Value {
    let increment = code.b.ins().iconst(types::I64, INCREMENT as i64);
    let mut h = code.b.ins().iadd(key, increment);
    for (shift, factor) in [(30, MULTIPLIER_1), (27, MULTIPLIER_2)] {
        let high = code.b.ins().ushr_imm_u(h, shift);
        let mixed = code.b.ins().bxor(h, high);
        let factor = code.b.ins().iconst(types::I64, factor as i64);
        h = code.b.ins().imul(mixed, factor);
    }
    let high = code.b.ins().ushr_imm_u(h, 31);
    code.b.ins().bxor(h, high)
}

/// Casts between registers look at no memory, so any flags do.
fn changing_cast() -> cranelift_codegen::ir::MemFlagsData {
    cranelift_codegen::ir::MemFlagsData::new()
}
