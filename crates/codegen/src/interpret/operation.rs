//! Operations, by the definitions of `types::ops` wherever there are any.

use std::cmp::Ordering;

use base::SqlState;
use base::ids::Id;
use functions::Typed;
use pipeline::ir::{Arithmetic, Compare, Conversion, FloatFunction, FloatOp, Literal, Logic, Operation, Ty, Var};
use runtime::abi::Slot;
use types::ops::number::float::Float;
use types::ops::{decimal, hash, number};
use types::value::compare_floats;
use types::{Interval, Str};

use super::{Interpreter, Run};
use crate::messages;

/// A boolean.
pub(super) fn bool_slot(value: bool) -> Slot {
    Slot([value.into(), 0])
}

/// An integer.
pub(super) fn int_slot(value: i128) -> Slot {
    Slot([value as u64, (value >> 64) as u64])
}

/// The integer in a slot.
pub(super) fn int(slot: Slot) -> i128 {
    (u128::from(slot.0[1]) << 64 | u128::from(slot.0[0])) as i128
}

/// A value of which only the type's bytes are known to be right, as this interpreter keeps values.
pub(super) fn extend(ty: Ty, slot: Slot) -> Slot {
    let low = slot.0[0];
    match ty {
        Ty::Bool => Slot([low & 1, 0]),
        Ty::I16 => int_slot((low as i16).into()),
        Ty::I32 => int_slot((low as i32).into()),
        Ty::I64 => int_slot((low as i64).into()),
        Ty::F32 => Slot([low & 0xffff_ffff, 0]),
        Ty::F64 | Ty::Ptr => Slot([low, 0]),
        Ty::I128 | Ty::Str | Ty::Interval => slot,
    }
}

/// The float in a slot.
pub(super) fn float(ty: Ty, slot: Slot) -> f64 {
    if ty == Ty::F32 { f32::from_bits(slot.0[0] as u32).into() } else { f64::from_bits(slot.0[0]) }
}

pub(super) fn f32_slot(value: f32) -> Slot {
    Slot([value.to_bits().into(), 0])
}

pub(super) fn f64_slot(value: f64) -> Slot {
    Slot([value.to_bits(), 0])
}

fn interval(slot: Slot) -> Interval {
    Interval { months: slot.0[0] as i32, days: (slot.0[0] >> 32) as i32, micros: slot.0[1] as i64 }
}

/// Whether an integer is of a type.
fn fits(value: i128, ty: Ty) -> bool {
    match ty {
        Ty::I16 => i16::try_from(value).is_ok(),
        Ty::I32 => i32::try_from(value).is_ok(),
        Ty::I64 => i64::try_from(value).is_ok(),
        _ => true,
    }
}

impl Interpreter<'_> {
    fn int(&self, v: Var) -> i128 {
        int(self.get(v))
    }
    pub(super) fn float(&self, v: Var) -> f64 {
        float(self.vars[v], self.get(v))
    }

    pub(super) fn operation(&mut self, op: &Operation) -> Run<Slot> {
        Ok(match op {
            Operation::Const(literal) => match *literal {
                Literal::Bool(x) => bool_slot(x),
                Literal::Int(x, _) => int_slot(x),
                Literal::Float(x, Ty::F32) => f32_slot(x as f32),
                Literal::Float(x, _) => f64_slot(x),
                Literal::EmptyStr | Literal::ZeroInterval | Literal::NullPtr => Slot::default(),
            },
            // SAFETY: the query has a slot for each of the program's parameters.
            Operation::Param(id, ty) => extend(*ty, unsafe { *self.worker.params.add(id.index()) }),
            Operation::Column(i, ty) => {
                let column = self.column(*i);
                self.load(*ty, column.data.wrapping_add(self.row_number() * ty.size() as usize))
            }
            Operation::ColumnNull(i) => {
                let column = self.column(*i);
                self.load(Ty::Bool, column.nulls.wrapping_add(self.row_number()))
            }
            Operation::Row => {
                let batch = self.batch.expect("only pipelines have a source");
                // SAFETY: the batch has `count` rows.
                Slot([unsafe { *batch.rows.add(self.tuple) } as u64, 0])
            }
            Operation::LocalRow(state) => Slot([self.group_local(*state).only as u64, 0]),
            // SAFETY: the query has an item for each of the program's states.
            Operation::OnlyRow(state) => Slot([unsafe { *self.worker.shared.add(state.index()) } as u64, 0]),
            Operation::Load { base, offset, ty, .. } => {
                self.load(*ty, self.pointer(*base).wrapping_add(*offset as usize))
            }
            Operation::FieldAddress(base, offset) => {
                Slot([self.pointer(*base).wrapping_add(*offset as usize) as u64, 0])
            }
            Operation::FloatFunction(function, x) => {
                let x_type = self.vars[*x];
                let x = self.float(*x);
                // A root that is computed as a double and rounded again is the float's root; the others are exact.
                let value = match function {
                    FloatFunction::Sqrt => x.sqrt(),
                    FloatFunction::Abs => x.abs(),
                    FloatFunction::Floor => x.floor(),
                    FloatFunction::Ceil => x.ceil(),
                    FloatFunction::Trunc => x.trunc(),
                    FloatFunction::Nearest => x.round_ties_even(),
                };
                if x_type == Ty::F32 { f32_slot(value as f32) } else { f64_slot(value) }
            }
            Operation::OfDoubles(function, x, y, position) => {
                let value = match (function.definition().typed, y) {
                    (Some(Typed::Double(one, _)), None) => one(self.float(*x)),
                    (Some(Typed::DoubleOfTwo(one, _)), Some(y)) => one(self.float(*x), self.float(*y)),
                    _ => unreachable!("the verifier has seen that it is a function of so many doubles"),
                };
                f64_slot(self.or_fail(value, *position)?)
            }
            Operation::ToDecimal(x, (precision, scale), to, position) => {
                let units = decimal::from_f64(self.float(*x), *precision, *scale);
                extend(*to, int_slot(self.or_fail(units, *position)?))
            }
            Operation::IsNullPtr(p) => bool_slot(self.pointer(*p).is_null()),
            Operation::Checked(kind, x, y, position) => {
                let ty = self.vars[*x];
                let (x, y) = (self.int(*x), self.int(*y));
                let exact = match kind {
                    Arithmetic::Add => x.checked_add(y),
                    Arithmetic::Sub => x.checked_sub(y),
                    // Products of 128 bits are decimals', of at most 38 digits.
                    Arithmetic::Mul if ty == Ty::I128 => decimal::mul(x, y).ok(),
                    Arithmetic::Mul => x.checked_mul(y),
                };
                match exact.filter(|&v| fits(v, ty)) {
                    Some(value) => int_slot(value),
                    None => return self.out_of_range(ty, *position),
                }
            }
            Operation::Wrapping(kind, x, y) => {
                let ty = self.vars[*x];
                let (x, y) = (self.int(*x), self.int(*y));
                extend(
                    ty,
                    int_slot(match kind {
                        Arithmetic::Add => x.wrapping_add(y),
                        Arithmetic::Sub => x.wrapping_sub(y),
                        Arithmetic::Mul => x.wrapping_mul(y),
                    }),
                )
            }
            Operation::Divide(x, y, position) | Operation::Remainder(x, y, position) => {
                let ty = self.vars[*x];
                let (a, b) = (self.int(*x), self.int(*y));
                if b == 0 {
                    return self.raise(SqlState::DIVISION_BY_ZERO, messages::DIVISION_BY_ZERO, *position);
                }
                let value = if matches!(op, Operation::Divide(..)) { a / b } else { a % b };
                if !fits(value, ty) {
                    return self.out_of_range(ty, *position);
                }
                int_slot(value)
            }
            Operation::Float(kind, x, y, position) => {
                let (a, b) = (self.float(*x), self.float(*y));
                let result = if self.vars[*x] == Ty::F32 {
                    arithmetic(*kind, a as f32, b as f32).map(f32_slot)
                } else {
                    arithmetic(*kind, a, b).map(f64_slot)
                };
                match result {
                    Ok(slot) => slot,
                    Err(error) => {
                        self.worker.fail(error);
                        return Err(self.position(*position));
                    }
                }
            }
            Operation::Compare(how, x, y) => {
                let order = self.compare(*x, *y);
                bool_slot(match how {
                    Compare::Eq => order.is_eq(),
                    Compare::Ne => order.is_ne(),
                    Compare::Lt => order.is_lt(),
                    Compare::Le => order.is_le(),
                    Compare::Gt => order.is_gt(),
                    Compare::Ge => order.is_ge(),
                    Compare::Before => order.then_with(|| self.compare_bits(*x, *y)).is_lt(),
                })
            }
            Operation::Logic(kind, x, y) if self.vars[*x].is_integer() => {
                let (x, y) = (self.int(*x), self.int(*y));
                int_slot(match kind {
                    Logic::And => x & y,
                    Logic::Or => x | y,
                    Logic::Xor => x ^ y,
                })
            }
            Operation::Logic(kind, x, y) => {
                let (x, y) = (self.bool(*x), self.bool(*y));
                bool_slot(match kind {
                    Logic::And => x && y,
                    Logic::Or => x || y,
                    Logic::Xor => x != y,
                })
            }
            Operation::Not(x) => bool_slot(!self.bool(*x)),
            Operation::Select(c, x, y) => self.get(if self.bool(*c) { *x } else { *y }),
            Operation::Convert(kind, x, to, position) => return self.convert(*kind, *x, *to, *position),
            Operation::Hash(values) => {
                let mut all = None;
                for &(v, null) in values {
                    let h = if null.is_some_and(|n| self.bool(n)) { hash::NULL_HASH } else { self.hash(v) };
                    all = Some(all.map_or(h, |first| hash::combine(first, h)));
                }
                int_slot((all.unwrap_or(0) as i64).into())
            }
        })
    }

    fn column(&self, i: u32) -> runtime::abi::ColumnRef {
        let batch = self.batch.expect("only pipelines have a source");
        // SAFETY: the verifier has seen that the source has the column.
        unsafe { *batch.columns.add(i as usize) }
    }

    fn row_number(&self) -> usize {
        let batch = self.batch.expect("only pipelines have a source");
        // SAFETY: the batch has `count` positions.
        unsafe { *batch.selection.add(self.tuple) as usize }
    }

    fn or_fail<T>(&mut self, value: base::Result<T>, position: Option<u32>) -> Run<T> {
        value.map_err(|error| {
            self.worker.fail(error);
            self.position(position)
        })
    }

    fn out_of_range(&mut self, ty: Ty, position: Option<u32>) -> Run<Slot> {
        self.raise(SqlState::NUMERIC_OUT_OF_RANGE, messages::out_of_range(ty), position)
    }

    fn compare(&self, x: Var, y: Var) -> Ordering {
        let ty = self.vars[x];
        let (a, b) = (self.get(x), self.get(y));
        match ty {
            Ty::Bool | Ty::Ptr => a.0[0].cmp(&b.0[0]),
            Ty::I16 | Ty::I32 | Ty::I64 | Ty::I128 => int(a).cmp(&int(b)),
            Ty::F32 | Ty::F64 => compare_floats(float(ty, a), float(ty, b)),
            // SAFETY: strings that a tuple sees are alive.
            Ty::Str => unsafe { Str::from_words(a.0).compare(&Str::from_words(b.0)) },
            Ty::Interval => interval(a).approximate_micros().cmp(&interval(b).approximate_micros()),
        }
    }

    /// The order of equal values that need not be identical.
    fn compare_bits(&self, x: Var, y: Var) -> Ordering {
        let (a, b) = (self.get(x), self.get(y));
        match self.vars[x] {
            Ty::F32 => (a.0[0] as i32).cmp(&(b.0[0] as i32)),
            Ty::F64 => (a.0[0] as i64).cmp(&(b.0[0] as i64)),
            Ty::Interval => (a.0[1], a.0[0]).cmp(&(b.0[1], b.0[0])),
            _ => Ordering::Equal,
        }
    }

    fn hash(&self, v: Var) -> u64 {
        let slot = self.get(v);
        match self.vars[v] {
            Ty::Bool | Ty::I16 | Ty::I32 | Ty::I64 | Ty::Ptr => hash::hash_u64(slot.0[0]),
            Ty::I128 => hash::hash_i128(int(slot)),
            ty @ (Ty::F32 | Ty::F64) => hash::hash_f64(float(ty, slot)),
            Ty::Str => {
                let text = Str::from_words(slot.0);
                // SAFETY: strings that a tuple sees are alive.
                hash::hash_bytes(unsafe { text.bytes() })
            }
            Ty::Interval => hash::hash_interval(interval(slot)),
        }
    }

    fn convert(&mut self, kind: Conversion, x: Var, to: Ty, position: Option<u32>) -> Run<Slot> {
        Ok(match kind {
            Conversion::Widen | Conversion::BoolToInt => self.get(x),
            Conversion::Cut => extend(to, self.get(x)),
            Conversion::Narrow if fits(self.int(x), to) => self.get(x),
            Conversion::Narrow => return self.out_of_range(to, position),
            Conversion::IntToFloat if to == Ty::F32 && self.vars[x] == Ty::I128 => f32_slot(self.int(x) as f64 as f32),
            Conversion::IntToFloat if to == Ty::F32 => f32_slot(self.int(x) as f32),
            Conversion::IntToFloat => f64_slot(self.int(x) as f64),
            Conversion::FloatToInt => {
                let rounded = self.float(x).round_ties_even();
                // `as` saturates: at the bounds of I128 the comparison tells whether it did.
                let limit = 2f64.powi(127);
                if rounded.is_nan() || rounded >= limit || rounded < -limit || !fits(rounded as i128, to) {
                    return self.out_of_range(to, position);
                }
                int_slot(rounded as i128)
            }
            Conversion::FloatToFloat if to == Ty::F64 => f64_slot(self.float(x)),
            Conversion::FloatToFloat => {
                let wide = self.float(x);
                let single = wide as f32;
                if single.is_infinite() && wide.is_finite() {
                    return self.raise(SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_OVERFLOW, position);
                }
                if single == 0.0 && wide != 0.0 {
                    return self.raise(SqlState::NUMERIC_OUT_OF_RANGE, messages::FLOAT_UNDERFLOW, position);
                }
                f32_slot(single)
            }
        })
    }
}

fn arithmetic<T: Float>(kind: FloatOp, x: T, y: T) -> base::Result<T> {
    match kind {
        FloatOp::Add => number::float::add(x, y),
        FloatOp::Sub => number::float::sub(x, y),
        FloatOp::Mul => number::float::mul(x, y),
        FloatOp::Div => number::float::div(x, y),
    }
}
