//! Operations without effects.

use base::SqlState;
use base::ids::Id;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Arithmetic, Conversion, Literal, Logic, Operation, ParamId, Ty, Var};
use runtime::abi::Kernel;

use super::Emitter;
use super::stages::Key;
use super::value::{Val, changing, clif_type, item, load, stable};
use crate::messages;

impl Emitter<'_, '_> {
    /// Computes an operation here.
    pub(super) fn operation(&mut self, op: &Operation, ty: Ty) -> Val {
        match op {
            Operation::Const(literal) => self.literal(literal),
            Operation::Param(id, ty) => self.param(*id, *ty),
            Operation::Column(i, ty) => self.column(*i, *ty),
            Operation::ColumnNull(i) => self.column_null(*i),
            Operation::Row => self.key(Key::Row),
            Operation::LocalRow(state) => Val::One(self.local_row(*state)),
            Operation::OnlyRow(state) => Val::One(self.shared(*state)),
            Operation::FieldAddress(base, offset) => {
                let base = self.get(*base).one();
                Val::One(self.b.ins().iadd_imm_s(base, i64::from(*offset)))
            }
            Operation::Sqrt(x) => {
                let x = self.get(*x).one();
                Val::One(self.b.ins().sqrt(x))
            }
            Operation::Load { base, offset, ty, stable: is_stable } => {
                if let Some(value) = self.read_accumulator(*base, *offset) {
                    return value;
                }
                let base = self.get(*base).one();
                load(&mut self.b, if *is_stable { stable() } else { changing() }, *ty, base, *offset)
            }
            Operation::IsNullPtr(p) => {
                let p = self.get(*p).one();
                Val::One(self.b.ins().icmp_imm_u(IntCC::Equal, p, 0))
            }
            Operation::Checked(kind, x, y, position) => self.checked(*kind, *x, *y, *position),
            Operation::Wrapping(kind, x, y) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(self.wrapping(*kind, x, y))
            }
            Operation::Divide(x, y, position) => self.divide(*x, *y, *position, false),
            Operation::Remainder(x, y, position) => self.divide(*x, *y, *position, true),
            Operation::Float(kind, x, y, position) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(self.float(*kind, ty, x, y, *position))
            }
            Operation::Compare(how, x, y) => {
                let operand = self.ty(*x);
                let (x, y) = (self.get(*x), self.get(*y));
                Val::One(self.compare(*how, operand, x, y))
            }
            Operation::Logic(kind, x, y) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(match kind {
                    Logic::And => self.b.ins().band(x, y),
                    Logic::Or => self.b.ins().bor(x, y),
                    Logic::Xor => self.b.ins().bxor(x, y),
                })
            }
            Operation::Not(x) => {
                let x = self.get(*x).one();
                Val::One(self.b.ins().bxor_imm_u(x, 1))
            }
            Operation::Select(c, x, y) => {
                let (c, x, y) = (self.get(*c).one(), self.get(*x), self.get(*y));
                match (x, y) {
                    // By halves: Cranelift makes the minimum out of a comparison and a select of 128 bits, and cannot emit it.
                    (Val::One(x), Val::One(y)) if ty == Ty::I128 => {
                        let ((x0, x1), (y0, y1)) = (self.b.ins().isplit(x), self.b.ins().isplit(y));
                        let (low, high) = (self.b.ins().select(c, x0, y0), self.b.ins().select(c, x1, y1));
                        Val::One(self.b.ins().iconcat(low, high))
                    }
                    (Val::One(x), Val::One(y)) => Val::One(self.b.ins().select(c, x, y)),
                    (x, y) => {
                        let ((x0, x1), (y0, y1)) = (x.two(), y.two());
                        let low = self.b.ins().select(c, x0, y0);
                        Val::Two(low, self.b.ins().select(c, x1, y1))
                    }
                }
            }
            Operation::Convert(kind, x, _, position) => self.convert(*kind, *x, ty, *position),
            Operation::Hash(values) => Val::One(self.hash(values)),
        }
    }

    fn literal(&mut self, literal: &Literal) -> Val {
        let ins = self.b.ins();
        Val::One(match *literal {
            Literal::Bool(x) => ins.iconst(types::I8, i64::from(x)),
            Literal::Int(x, Ty::I128) => return Val::One(self.int128(x)),
            // Cut off to the type's width: `iconst` wants the bits above it to be zero.
            Literal::Int(x, Ty::I16) => ins.iconst(types::I16, i64::from(x as u16)),
            Literal::Int(x, Ty::I32) => ins.iconst(types::I32, i64::from(x as u32)),
            Literal::Int(x, _) => ins.iconst(types::I64, x as i64),
            Literal::Float(x, Ty::F32) => ins.f32const(x as f32),
            Literal::Float(x, _) => ins.f64const(x),
            Literal::NullPtr => ins.iconst(types::I64, 0),
            Literal::EmptyStr | Literal::ZeroInterval => {
                let zero = ins.iconst(types::I64, 0);
                return Val::Two(zero, zero);
            }
        })
    }

    /// A 128-bit constant.
    pub(super) fn int128(&mut self, x: i128) -> Value {
        let low = self.b.ins().iconst(types::I64, x as i64);
        let high = self.b.ins().iconst(types::I64, (x >> 64) as i64);
        self.b.ins().iconcat(low, high)
    }

    fn param(&mut self, id: ParamId, ty: Ty) -> Val {
        let params = self.worker_field(std::mem::offset_of!(runtime::abi::Worker, params));
        self.invariant_value(ty, params, id.index() * size_of::<runtime::abi::Slot>())
    }

    fn column(&mut self, index: u32, ty: Ty) -> Val {
        let data = self.column_ref(index, std::mem::offset_of!(runtime::abi::ColumnRef, data));
        let position = self.position();
        let at = item(&mut self.b, data, position, ty.size());
        load(&mut self.b, stable(), ty, at, 0)
    }

    fn column_null(&mut self, index: u32) -> Val {
        let nulls = self.column_ref(index, std::mem::offset_of!(runtime::abi::ColumnRef, nulls));
        let position = self.position();
        let at = self.b.ins().iadd(nulls, position);
        load(&mut self.b, stable(), Ty::Bool, at, 0)
    }

    fn column_ref(&mut self, index: u32, field: usize) -> Value {
        let columns = self.batch_field(std::mem::offset_of!(runtime::abi::Batch, columns));
        let offset = index as usize * size_of::<runtime::abi::ColumnRef>() + field;
        self.invariant_pointer(columns, offset)
    }

    fn position(&mut self) -> Value {
        let position = self.key(Key::Position).one();
        self.b.ins().uextend(types::I64, position)
    }

    pub(super) fn wrapping(&mut self, kind: Arithmetic, x: Value, y: Value) -> Value {
        match kind {
            Arithmetic::Add => self.b.ins().iadd(x, y),
            Arithmetic::Sub => self.b.ins().isub(x, y),
            Arithmetic::Mul => self.b.ins().imul(x, y),
        }
    }

    fn checked(&mut self, kind: Arithmetic, x: Var, y: Var, position: Option<u32>) -> Val {
        let ty = self.ty(x);
        let (x, y) = (self.get(x).one(), self.get(y).one());
        let (value, overflow) = match (kind, ty) {
            (Arithmetic::Mul, Ty::I128) => {
                let results =
                    self.call(pipeline::ir::Callee::MulI128, &[(Val::One(x), ty), (Val::One(y), ty)], &[ty], position);
                return results[0];
            }
            (_, Ty::I128) => {
                let value = self.wrapping(kind, x, y);
                // Overflow shows in the sign: for x + y, of (x ^ value) & (y ^ value); for x - y, of (x ^ y) & (x ^ value).
                let (a, b) = match kind {
                    Arithmetic::Add => (self.b.ins().bxor(x, value), self.b.ins().bxor(y, value)),
                    _ => (self.b.ins().bxor(x, y), self.b.ins().bxor(x, value)),
                };
                let sign = self.b.ins().band(a, b);
                let (_, high) = self.b.ins().isplit(sign);
                (value, self.b.ins().icmp_imm_s(IntCC::SignedLessThan, high, 0))
            }
            (Arithmetic::Add, _) => self.b.ins().sadd_overflow(x, y),
            (Arithmetic::Sub, _) => self.b.ins().ssub_overflow(x, y),
            (Arithmetic::Mul, _) => self.b.ins().smul_overflow(x, y),
        };
        self.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(ty), position);
        Val::One(value)
    }

    fn divide(&mut self, x: Var, y: Var, position: Option<u32>, remainder: bool) -> Val {
        let ty = self.ty(x);
        let (x, y) = (self.get(x).one(), self.get(y).one());
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
        self.raise_if(zero, SqlState::DIVISION_BY_ZERO, messages::DIVISION_BY_ZERO, position);
        let minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        // The processor traps on MIN / -1 and MIN % -1: divide by 1 instead, and correct or complain.
        if remainder {
            let one = self.b.ins().iconst(clif_type(ty), 1);
            let divisor = self.b.ins().select(minus_one, one, y);
            return Val::One(self.b.ins().srem(x, divisor));
        }
        let min = match ty {
            Ty::I16 => i64::from(i16::MIN),
            Ty::I32 => i64::from(i32::MIN),
            _ => i64::MIN,
        };
        let is_min = self.b.ins().icmp_imm_s(IntCC::Equal, x, min);
        let overflow = self.b.ins().band(is_min, minus_one);
        self.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(ty), position);
        Val::One(self.b.ins().sdiv(x, y))
    }

    fn convert(&mut self, kind: Conversion, x: Var, to: Ty, position: Option<u32>) -> Val {
        let from = self.ty(x);
        let x = self.get(x).one();
        let target = clif_type(to);
        Val::One(match kind {
            Conversion::Widen if from == to => x,
            Conversion::Widen => self.b.ins().sextend(target, x),
            Conversion::Cut if from == to => x,
            Conversion::Cut => self.b.ins().ireduce(target, x),
            Conversion::BoolToInt => self.b.ins().uextend(target, x),
            Conversion::Narrow if from == to => x,
            Conversion::Narrow => {
                let cut = self.b.ins().ireduce(target, x);
                let back = self.b.ins().sextend(clif_type(from), cut);
                let lost = self.b.ins().icmp(IntCC::NotEqual, back, x);
                self.raise_if(lost, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(to), position);
                cut
            }
            Conversion::IntToFloat if from == Ty::I128 => {
                let (low, high) = self.b.ins().isplit(x);
                let double = self.kernel_call(Kernel::I128ToF64, &[low, high]).expect("it returns a value");
                if to == Ty::F32 { self.b.ins().fdemote(types::F32, double) } else { double }
            }
            Conversion::IntToFloat => {
                let wide = if from == Ty::I64 { x } else { self.b.ins().sextend(types::I64, x) };
                self.b.ins().fcvt_from_sint(target, wide)
            }
            Conversion::FloatToInt => self.float_to_int(x, from, to, position),
            Conversion::FloatToFloat if from == to => x,
            Conversion::FloatToFloat if to == Ty::F64 => self.b.ins().fpromote(types::F64, x),
            Conversion::FloatToFloat => {
                let single = self.b.ins().fdemote(types::F32, x);
                // Overflow: infinite now, finite before.
                let (a, b) = (self.b.ins().fabs(single), self.b.ins().fabs(x));
                let infinity32 = self.b.ins().f32const(f32::INFINITY);
                let infinity64 = self.b.ins().f64const(f64::INFINITY);
                let now = self.b.ins().fcmp(FloatCC::Equal, a, infinity32);
                let before = self.b.ins().fcmp(FloatCC::Equal, b, infinity64);
                let overflow = self.b.ins().bxor(now, before);
                self.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_OVERFLOW, position);
                let zero32 = self.b.ins().f32const(0.0f32);
                let zero64 = self.b.ins().f64const(0.0);
                let now = self.b.ins().fcmp(FloatCC::Equal, single, zero32);
                let before = self.b.ins().fcmp(FloatCC::Equal, x, zero64);
                let underflow = self.b.ins().bxor(now, before);
                self.raise_if(underflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_UNDERFLOW, position);
                single
            }
        })
    }

    fn float_to_int(&mut self, x: Value, from: Ty, to: Ty, position: Option<u32>) -> Value {
        let x = if from == Ty::F32 { self.b.ins().fpromote(types::F64, x) } else { x };
        if to == Ty::I128 {
            let at = self.argument(0);
            let bad = self.kernel_call(Kernel::F64ToI128, &[x, at]).expect("it returns a value");
            self.raise_if(bad, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(to), position);
            return self.b.ins().load(types::I128, changing(), at, 0);
        }
        let rounded = self.b.ins().nearest(x);
        // Both bounds are powers of two, hence exact; NaN fails the comparison.
        let bits = to.size() * 8 - 1;
        let (low, high) = (-(2f64.powi(bits as i32)), 2f64.powi(bits as i32));
        let (low, high) = (self.b.ins().f64const(low), self.b.ins().f64const(high));
        let enough = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, rounded, low);
        let small = self.b.ins().fcmp(FloatCC::LessThan, rounded, high);
        let good = self.b.ins().band(enough, small);
        let bad = self.b.ins().bxor_imm_u(good, 1);
        self.raise_if(bad, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(to), position);
        let wide = self.b.ins().fcvt_to_sint_sat(types::I64, rounded);
        if to == Ty::I64 { wide } else { self.b.ins().ireduce(clif_type(to), wide) }
    }
}
