//! Comparisons and hashes.

use ::types::ops::hash::{INCREMENT, MULTIPLIER_1, MULTIPLIER_2, NULL_HASH};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Compare, Ty, Var};
use runtime::abi::Kernel;

use super::Emitter;
use super::value::Val;

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

impl Emitter<'_, '_> {
    /// Compares two values of type `ty`: Bool.
    pub(super) fn compare(&mut self, how: Compare, ty: Ty, x: Val, y: Val) -> Value {
        match ty {
            Ty::I16 | Ty::I32 | Ty::I64 | Ty::I128 => self.b.ins().icmp(signed(how), x.one(), y.one()),
            Ty::Bool | Ty::Ptr => self.b.ins().icmp(unsigned(how), x.one(), y.one()),
            Ty::F32 | Ty::F64 if how == Compare::Before => {
                let (less, equal) = (self.compare(Compare::Lt, ty, x, y), self.compare(Compare::Eq, ty, x, y));
                let integer = if ty == Ty::F32 { types::I32 } else { types::I64 };
                let (a, b) = (
                    self.b.ins().bitcast(integer, changing_cast(), x.one()),
                    self.b.ins().bitcast(integer, changing_cast(), y.one()),
                );
                let by_bits = self.b.ins().icmp(IntCC::SignedLessThan, a, b);
                let tie = self.b.ins().band(equal, by_bits);
                self.b.ins().bor(less, tie)
            }
            Ty::F32 | Ty::F64 => self.compare_floats(how, x.one(), y.one()),
            Ty::Str => match how {
                Compare::Eq => self.str_equal(x, y),
                Compare::Ne => {
                    let equal = self.str_equal(x, y);
                    self.b.ins().bxor_imm_u(equal, 1)
                }
                _ => self.str_order(how, x, y),
            },
            Ty::Interval if how == Compare::Before => {
                let (less, equal) = (self.compare(Compare::Lt, ty, x, y), self.compare(Compare::Eq, ty, x, y));
                let ((a, b), (c, d)) = (x.two(), y.two());
                let (first, second) = (self.b.ins().iconcat(a, b), self.b.ins().iconcat(c, d));
                let by_bits = self.b.ins().icmp(IntCC::UnsignedLessThan, first, second);
                let tie = self.b.ins().band(equal, by_bits);
                self.b.ins().bor(less, tie)
            }
            Ty::Interval => {
                let ((a, b), (c, d)) = (x.two(), y.two());
                let order = self.kernel_call(Kernel::IntervalCompare, &[a, b, c, d]).expect("it returns a value");
                self.b.ins().icmp_imm_s(signed(how), order, 0)
            }
        }
    }

    /// PostgreSQL's order: NaN equals NaN and is above all numbers; IEEE has -0 = 0.
    fn compare_floats(&mut self, how: Compare, x: Value, y: Value) -> Value {
        match how {
            Compare::Eq => {
                let equal = self.b.ins().fcmp(FloatCC::Equal, x, y);
                let x_nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
                let y_nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
                let both = self.b.ins().band(x_nan, y_nan);
                self.b.ins().bor(equal, both)
            }
            Compare::Lt | Compare::Before => {
                let less = self.b.ins().fcmp(FloatCC::LessThan, x, y);
                let x_number = self.b.ins().fcmp(FloatCC::Ordered, x, x);
                let y_nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
                let below_nan = self.b.ins().band(x_number, y_nan);
                self.b.ins().bor(less, below_nan)
            }
            Compare::Gt => self.compare_floats(Compare::Lt, y, x),
            Compare::Ne => self.not_floats(Compare::Eq, x, y),
            Compare::Ge => self.not_floats(Compare::Lt, x, y),
            Compare::Le => self.not_floats(Compare::Lt, y, x),
        }
    }

    fn not_floats(&mut self, how: Compare, x: Value, y: Value) -> Value {
        let value = self.compare_floats(how, x, y);
        self.b.ins().bxor_imm_u(value, 1)
    }

    /// Length and prefix differ: unequal. The rest is equal too: equal (inline text, or the same pointer). Inline: unequal.
    /// Otherwise the bytes decide.
    fn str_equal(&mut self, x: Val, y: Val) -> Value {
        let ((x0, x1), (y0, y1)) = (x.two(), y.two());
        let (same_head, not_same, long) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I8);
        let (no, yes) = (self.b.ins().iconst(types::I8, 0), self.b.ins().iconst(types::I8, 1));
        let heads = self.b.ins().icmp(IntCC::Equal, x0, y0);
        self.b.ins().brif(heads, same_head, &[], done, &[no.into()]);
        self.b.switch_to_block(same_head);
        let rests = self.b.ins().icmp(IntCC::Equal, x1, y1);
        self.b.ins().brif(rests, done, &[yes.into()], not_same, &[]);
        self.b.switch_to_block(not_same);
        let length = self.b.ins().ireduce(types::I32, x0);
        let is_long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, ::types::Str::INLINE as i64);
        self.b.ins().brif(is_long, long, &[], done, &[no.into()]);
        self.b.switch_to_block(long);
        let equal = self.kernel_call(Kernel::StrEqual, &[x0, x1, y0, y1]).expect("it returns a value");
        let equal = self.b.ins().ireduce(types::I8, equal);
        self.b.ins().jump(done, &[equal.into()]);
        self.b.switch_to_block(done);
        result
    }

    /// Different prefixes decide (as big-endian numbers); otherwise the bytes do.
    fn str_order(&mut self, how: Compare, x: Val, y: Val) -> Value {
        let ((x0, x1), (y0, y1)) = (x.two(), y.two());
        let (same_prefix, differ, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(done, types::I8);
        let mut prefix = |v| {
            let high = self.b.ins().ushr_imm_u(v, 32);
            let high = self.b.ins().ireduce(types::I32, high);
            self.b.ins().bswap(high)
        };
        let (p, q) = (prefix(x0), prefix(y0));
        let same = self.b.ins().icmp(IntCC::Equal, p, q);
        self.b.ins().brif(same, same_prefix, &[], differ, &[]);
        self.b.switch_to_block(differ);
        let order = self.b.ins().icmp(unsigned(how), p, q);
        self.b.ins().jump(done, &[order.into()]);
        self.b.switch_to_block(same_prefix);
        let order = self.kernel_call(Kernel::StrCompare, &[x0, x1, y0, y1]).expect("it returns a value");
        let order = self.b.ins().icmp_imm_s(signed(how), order, 0);
        self.b.ins().jump(done, &[order.into()]);
        self.b.switch_to_block(done);
        result
    }

    /// The hash of values in order, bit by bit that of [`types::ops::hash`].
    pub(super) fn hash(&mut self, values: &[(Var, Option<Var>)]) -> Value {
        let mut all = None;
        for &(v, null) in values {
            let ty = self.ty(v);
            let value = self.get(v);
            let mut h = self.hash_value(ty, value);
            if let Some(null) = null {
                let null = self.get(null).one();
                let of_null = self.b.ins().iconst(types::I64, NULL_HASH as i64);
                h = self.b.ins().select(null, of_null, h);
            }
            all = Some(match all {
                None => h,
                Some(first) => self.combine_hashes(first, h),
            });
        }
        all.unwrap_or_else(|| self.b.ins().iconst(types::I64, 0))
    }

    fn combine_hashes(&mut self, first: Value, next: Value) -> Value {
        let turned = self.b.ins().rotl_imm_u(first, 25);
        let factor = self.b.ins().iconst(types::I64, MULTIPLIER_1 as i64);
        let first = self.b.ins().imul(turned, factor);
        let both = self.b.ins().bxor(first, next);
        self.hash_u64(both)
    }

    /// Strings that lie in their headers are hashed here, others by a call.
    fn hash_str(&mut self, value: Val) -> Value {
        let (low, high) = value.two();
        let (short, long, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(done, types::I64);
        let length = self.b.ins().ireduce(types::I32, low);
        let is_long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, ::types::Str::INLINE as i64);
        self.b.ins().brif(is_long, long, &[], short, &[]);
        self.b.switch_to_block(short);
        let hash = self.combine_hashes(low, high);
        self.b.ins().jump(done, &[hash.into()]);
        self.b.switch_to_block(long);
        let hash = self.kernel_call(Kernel::HashStr, &[low, high]).expect("it returns a value");
        self.b.ins().jump(done, &[hash.into()]);
        self.b.switch_to_block(done);
        result
    }

    fn hash_value(&mut self, ty: Ty, value: Val) -> Value {
        let (kernel, words) = match ty {
            Ty::I64 | Ty::Ptr => return self.hash_u64(value.one()),
            Ty::Bool => {
                let wide = self.b.ins().uextend(types::I64, value.one());
                return self.hash_u64(wide);
            }
            Ty::I16 | Ty::I32 => {
                let wide = self.b.ins().sextend(types::I64, value.one());
                return self.hash_u64(wide);
            }
            Ty::I128 => (Kernel::HashI128, self.b.ins().isplit(value.one())),
            Ty::Str => return self.hash_str(value),
            Ty::Interval => (Kernel::HashInterval, value.two()),
            Ty::F32 | Ty::F64 => {
                let double = if ty == Ty::F64 { value.one() } else { self.b.ins().fpromote(types::F64, value.one()) };
                let bits = self.b.ins().bitcast(types::I64, changing_cast(), double);
                return self.kernel_call(Kernel::HashF64, &[bits]).expect("it returns a value");
            }
        };
        self.kernel_call(kernel, &[words.0, words.1]).expect("it returns a value")
    }

    fn hash_u64(&mut self, key: Value) -> Value {
        let increment = self.b.ins().iconst(types::I64, INCREMENT as i64);
        let mut h = self.b.ins().iadd(key, increment);
        for (shift, factor) in [(30, MULTIPLIER_1), (27, MULTIPLIER_2)] {
            let high = self.b.ins().ushr_imm_u(h, shift);
            let mixed = self.b.ins().bxor(h, high);
            let factor = self.b.ins().iconst(types::I64, factor as i64);
            h = self.b.ins().imul(mixed, factor);
        }
        let high = self.b.ins().ushr_imm_u(h, 31);
        self.b.ins().bxor(h, high)
    }
}

/// Casts between registers look at no memory, so any flags do.
fn changing_cast() -> cranelift_codegen::ir::MemFlagsData {
    cranelift_codegen::ir::MemFlagsData::new()
}
