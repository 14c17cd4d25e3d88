//! Operations without effects.

use base::SqlState;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use pipeline::ir::{Arithmetic, Callee, Conversion, FloatFunction, Logic, Operation, Ty, Var};
use runtime::abi::Kernel;

use super::Values;
use crate::messages;
use crate::translate::code::{compare, float, wrapping};
use crate::translate::stages::Key;
use crate::translate::value::{Val, changing, clif_type, item, load, stable};

impl Values<'_, '_> {
    /// Computes an operation here.
    pub fn operation(&mut self, op: &Operation, ty: Ty) -> Val {
        match op {
            Operation::Const(literal) => self.code.literal(literal),
            Operation::Param(id, ty) => self.code.param(*id, *ty),
            Operation::Column(i, ty) => self.column(*i, *ty),
            Operation::ColumnNull(i) => self.column_null(*i),
            Operation::Row => self.key(Key::Row),
            Operation::LocalRow(state) => Val::One(self.code.local_row(*state)),
            Operation::OnlyRow(state) => Val::One(self.code.shared(*state)),
            Operation::FieldAddress(base, offset) => {
                let base = self.get(*base).one();
                Val::One(self.code.b.ins().iadd_imm_s(base, i64::from(*offset)))
            }
            Operation::FloatFunction(function, x) => {
                let (x, ins) = (self.get(*x).one(), self.code.b.ins());
                Val::One(match function {
                    FloatFunction::Sqrt => ins.sqrt(x),
                    FloatFunction::Abs => ins.fabs(x),
                    FloatFunction::Floor => ins.floor(x),
                    FloatFunction::Ceil => ins.ceil(x),
                    FloatFunction::Trunc => ins.trunc(x),
                    FloatFunction::Nearest => ins.nearest(x),
                })
            }
            Operation::OfDoubles(function, x, y, position) => {
                let operands = [*x].into_iter().chain(*y).map(|v| (self.get(v), Ty::F64)).collect::<Vec<_>>();
                let results = self.code.call(Callee::Scalar(*function), &operands, &[Ty::F64], *position);
                results.into_iter().next().expect("it has a result")
            }
            Operation::ToDecimal(x, (precision, scale), to, position) => {
                let callee = Callee::DoubleToDecimal(*precision, *scale);
                let x = self.get(*x);
                let units = self.code.call(callee, &[(x, Ty::F64)], &[Ty::I128], *position)[0].one();
                Val::One(if *to == Ty::I128 { units } else { self.code.b.ins().ireduce(clif_type(*to), units) })
            }
            Operation::Load { base, offset, ty, stable: is_stable } => {
                if let Some(value) = self.read_accumulator(*base, *offset) {
                    return value;
                }
                let base = self.get(*base).one();
                load(&mut self.code.b, if *is_stable { stable() } else { changing() }, *ty, base, *offset)
            }
            Operation::IsNullPtr(p) => {
                let p = self.get(*p).one();
                Val::One(self.code.b.ins().icmp_imm_u(IntCC::Equal, p, 0))
            }
            Operation::Checked(kind, x, y, position) => self.checked(*kind, *x, *y, *position),
            Operation::Wrapping(kind, x, y) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(wrapping(&mut self.code, *kind, x, y))
            }
            Operation::Divide(x, y, position) => self.divide(*x, *y, *position, false),
            Operation::Remainder(x, y, position) => self.divide(*x, *y, *position, true),
            Operation::Float(kind, x, y, position) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(float(&mut self.code, *kind, ty, x, y, *position))
            }
            Operation::Compare(how, x, y) => {
                let operand = self.ty(*x);
                let (x, y) = (self.get(*x), self.get(*y));
                Val::One(compare(&mut self.code, *how, operand, x, y))
            }
            Operation::Logic(kind, x, y) => {
                let (x, y) = (self.get(*x).one(), self.get(*y).one());
                Val::One(match kind {
                    Logic::And => self.code.b.ins().band(x, y),
                    Logic::Or => self.code.b.ins().bor(x, y),
                    Logic::Xor => self.code.b.ins().bxor(x, y),
                })
            }
            Operation::Not(x) => {
                let x = self.get(*x).one();
                Val::One(self.code.b.ins().bxor_imm_u(x, 1))
            }
            Operation::Select(c, x, y) => {
                let (c, x, y) = (self.get(*c).one(), self.get(*x), self.get(*y));
                match (x, y) {
                    // By halves: Cranelift makes the minimum out of a comparison and a select of 128 bits, and cannot emit it.
                    (Val::One(x), Val::One(y)) if ty == Ty::I128 => {
                        let ((x0, x1), (y0, y1)) = (self.code.b.ins().isplit(x), self.code.b.ins().isplit(y));
                        let (low, high) = (self.code.b.ins().select(c, x0, y0), self.code.b.ins().select(c, x1, y1));
                        Val::One(self.code.b.ins().iconcat(low, high))
                    }
                    // As integers: of floats, Cranelift makes a branch.
                    (Val::One(x), Val::One(y)) if matches!(ty, Ty::F32 | Ty::F64) => {
                        let (float, integer) = (clif_type(ty), if ty == Ty::F32 { types::I32 } else { types::I64 });
                        let bits = |b: &mut FunctionBuilder<'_>, x| b.ins().bitcast(integer, MemFlagsData::new(), x);
                        let (x, y) = (bits(&mut self.code.b, x), bits(&mut self.code.b, y));
                        let taken = self.code.b.ins().select(c, x, y);
                        Val::One(self.code.b.ins().bitcast(float, MemFlagsData::new(), taken))
                    }
                    (Val::One(x), Val::One(y)) => Val::One(self.code.b.ins().select(c, x, y)),
                    (x, y) => {
                        let ((x0, x1), (y0, y1)) = (x.two(), y.two());
                        let low = self.code.b.ins().select(c, x0, y0);
                        Val::Two(low, self.code.b.ins().select(c, x1, y1))
                    }
                }
            }
            Operation::Convert(kind, x, _, position) => self.convert(*kind, *x, ty, *position),
            Operation::Hash(values) => Val::One(self.hash(values)),
        }
    }

    fn column(&mut self, index: u32, ty: Ty) -> Val {
        let data = self.code.column_ref(index, std::mem::offset_of!(runtime::abi::ColumnRef, data));
        let position = self.position();
        let at = item(&mut self.code.b, data, position, ty.size());
        load(&mut self.code.b, stable(), ty, at, 0)
    }

    fn column_null(&mut self, index: u32) -> Val {
        let nulls = self.code.column_ref(index, std::mem::offset_of!(runtime::abi::ColumnRef, nulls));
        let position = self.position();
        let at = self.code.b.ins().iadd(nulls, position);
        load(&mut self.code.b, stable(), Ty::Bool, at, 0)
    }

    pub fn position(&mut self) -> Value {
        let position = self.key(Key::Position).one();
        self.code.b.ins().uextend(types::I64, position)
    }

    fn checked(&mut self, kind: Arithmetic, x: Var, y: Var, position: Option<u32>) -> Val {
        let ty = self.ty(x);
        let (x, y) = (self.get(x).one(), self.get(y).one());
        let (value, overflow) = match (kind, ty) {
            (Arithmetic::Mul, Ty::I128) => {
                let results = self.code.call(
                    pipeline::ir::Callee::MulI128,
                    &[(Val::One(x), ty), (Val::One(y), ty)],
                    &[ty],
                    position,
                );
                return results[0];
            }
            (_, Ty::I128) => {
                let value = wrapping(&mut self.code, kind, x, y);
                // Overflow shows in the sign: for x + y, of (x ^ value) & (y ^ value); for x - y, of (x ^ y) & (x ^ value).
                let (a, b) = match kind {
                    Arithmetic::Add => (self.code.b.ins().bxor(x, value), self.code.b.ins().bxor(y, value)),
                    _ => (self.code.b.ins().bxor(x, y), self.code.b.ins().bxor(x, value)),
                };
                let sign = self.code.b.ins().band(a, b);
                let (_, high) = self.code.b.ins().isplit(sign);
                (value, self.code.b.ins().icmp_imm_s(IntCC::SignedLessThan, high, 0))
            }
            (Arithmetic::Add, _) => self.code.b.ins().sadd_overflow(x, y),
            (Arithmetic::Sub, _) => self.code.b.ins().ssub_overflow(x, y),
            (Arithmetic::Mul, _) => self.code.b.ins().smul_overflow(x, y),
        };
        self.code.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(ty), position);
        Val::One(value)
    }

    fn divide(&mut self, x: Var, y: Var, position: Option<u32>, remainder: bool) -> Val {
        let ty = self.ty(x);
        let (x, y) = (self.get(x).one(), self.get(y).one());
        let zero = self.code.b.ins().icmp_imm_s(IntCC::Equal, y, 0);
        self.code.raise_if(zero, SqlState::DIVISION_BY_ZERO, messages::DIVISION_BY_ZERO, position);
        let minus_one = self.code.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        // The processor traps on MIN / -1 and MIN % -1: divide by 1 instead, and correct or complain.
        if remainder {
            let one = self.code.b.ins().iconst(clif_type(ty), 1);
            let divisor = self.code.b.ins().select(minus_one, one, y);
            return Val::One(self.code.b.ins().srem(x, divisor));
        }
        let min = match ty {
            Ty::I16 => i64::from(i16::MIN),
            Ty::I32 => i64::from(i32::MIN),
            _ => i64::MIN,
        };
        let is_min = self.code.b.ins().icmp_imm_s(IntCC::Equal, x, min);
        let overflow = self.code.b.ins().band(is_min, minus_one);
        self.code.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(ty), position);
        Val::One(self.code.b.ins().sdiv(x, y))
    }

    fn convert(&mut self, kind: Conversion, x: Var, to: Ty, position: Option<u32>) -> Val {
        let from = self.ty(x);
        let x = self.get(x).one();
        let target = clif_type(to);
        Val::One(match kind {
            Conversion::Widen if from == to => x,
            Conversion::Widen => self.code.b.ins().sextend(target, x),
            Conversion::Cut if from == to => x,
            Conversion::Cut => self.code.b.ins().ireduce(target, x),
            Conversion::BoolToInt => self.code.b.ins().uextend(target, x),
            Conversion::Narrow if from == to => x,
            Conversion::Narrow => {
                let cut = self.code.b.ins().ireduce(target, x);
                let back = self.code.b.ins().sextend(clif_type(from), cut);
                let lost = self.code.b.ins().icmp(IntCC::NotEqual, back, x);
                self.code.raise_if(lost, SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(to), position);
                cut
            }
            Conversion::IntToFloat if from == Ty::I128 => {
                let (low, high) = self.code.b.ins().isplit(x);
                let double = self.code.kernel_call(Kernel::I128ToF64, &[low, high]).expect("it returns a value");
                if to == Ty::F32 { self.code.b.ins().fdemote(types::F32, double) } else { double }
            }
            Conversion::IntToFloat => {
                let wide = if from == Ty::I64 { x } else { self.code.b.ins().sextend(types::I64, x) };
                self.code.b.ins().fcvt_from_sint(target, wide)
            }
            Conversion::FloatToInt => self.code.float_to_int(x, from, to, position),
            Conversion::FloatToFloat if from == to => x,
            Conversion::FloatToFloat if to == Ty::F64 => self.code.b.ins().fpromote(types::F64, x),
            Conversion::FloatToFloat => {
                let single = self.code.b.ins().fdemote(types::F32, x);
                // Overflow: infinite now, finite before.
                let (a, b) = (self.code.b.ins().fabs(single), self.code.b.ins().fabs(x));
                let infinity32 = self.code.b.ins().f32const(f32::INFINITY);
                let infinity64 = self.code.b.ins().f64const(f64::INFINITY);
                let now = self.code.b.ins().fcmp(FloatCC::Equal, a, infinity32);
                let before = self.code.b.ins().fcmp(FloatCC::Equal, b, infinity64);
                let overflow = self.code.b.ins().bxor(now, before);
                self.code.raise_if(overflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_OVERFLOW, position);
                let zero32 = self.code.b.ins().f32const(0.0f32);
                let zero64 = self.code.b.ins().f64const(0.0);
                let now = self.code.b.ins().fcmp(FloatCC::Equal, single, zero32);
                let before = self.code.b.ins().fcmp(FloatCC::Equal, x, zero64);
                let underflow = self.code.b.ins().bxor(now, before);
                self.code.raise_if(underflow, SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_UNDERFLOW, position);
                single
            }
        })
    }
}
