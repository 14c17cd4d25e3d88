//! Constants, and arithmetic on integers.

use base::SqlState;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Arithmetic, Literal, Ty};
use runtime::abi::Kernel;

use super::Code;
use crate::messages;
use crate::translate::value::{Val, changing, clif_type};

impl Code<'_> {
    pub fn literal(&mut self, literal: &Literal) -> Val {
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
    fn int128(&mut self, x: i128) -> Value {
        let low = self.b.ins().iconst(types::I64, x as i64);
        let high = self.b.ins().iconst(types::I64, (x >> 64) as i64);
        self.b.ins().iconcat(low, high)
    }

    pub fn float_to_int(&mut self, x: Value, from: Ty, to: Ty, position: Option<u32>) -> Value {
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

pub fn wrapping(code: &mut Code<'_>, kind: Arithmetic, x: Value, y: Value) -> Value {
    match kind {
        Arithmetic::Add => code.b.ins().iadd(x, y),
        Arithmetic::Sub => code.b.ins().isub(x, y),
        Arithmetic::Mul => code.b.ins().imul(x, y),
    }
}
