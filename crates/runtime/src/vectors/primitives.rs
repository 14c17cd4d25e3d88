//! Loops over many rows, one for each operation and type, compiled for the vectors of the processor.
//!
//! Where the scalar operation ends the query with an error, and where finding out exactly would cost more than it is worth,
//! a loop says that it is in doubt, and leaves anything in that row: then somebody else looks at each row.

use std::mem::MaybeUninit;
use std::ops::{BitAnd, BitOr, BitXor};

use base::simd::vectorised;
use pipeline::ir::{Arithmetic, Compare, Conversion, FloatFunction, FloatOp, Logic, Operation, Ty, Var};

/// What a loop works on: `count` values each.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub operands: [*const u8; 3],
    pub out: *mut u8,
    /// Booleans: rows without a true one do not matter. Null: all do.
    pub only_if: *const u8,
    pub count: usize,
}

/// A loop; whether some row that matters is in doubt.
pub(super) type Loop = unsafe fn(&Arguments) -> bool;

/// The loop of this module for an operation; `ty` says the types of its operands.
pub(super) fn loop_of(op: &Operation, ty: impl Fn(Var) -> Ty) -> Option<Loop> {
    Some(match *op {
        Operation::FloatFunction(function, x) => match (function, ty(x)) {
            (FloatFunction::Sqrt, Ty::F64) => map::<f64, f64, Sqrt>,
            (FloatFunction::Abs, Ty::F64) => map::<f64, f64, Abs>,
            (FloatFunction::Floor, Ty::F64) => map::<f64, f64, Floor>,
            (FloatFunction::Ceil, Ty::F64) => map::<f64, f64, Ceil>,
            (FloatFunction::Trunc, Ty::F64) => map::<f64, f64, Trunc>,
            (FloatFunction::Nearest, Ty::F64) => map::<f64, f64, Nearest>,
            (FloatFunction::Sqrt, Ty::F32) => map::<f32, f32, Sqrt>,
            (FloatFunction::Abs, Ty::F32) => map::<f32, f32, Abs>,
            (FloatFunction::Floor, Ty::F32) => map::<f32, f32, Floor>,
            (FloatFunction::Ceil, Ty::F32) => map::<f32, f32, Ceil>,
            (FloatFunction::Trunc, Ty::F32) => map::<f32, f32, Trunc>,
            (FloatFunction::Nearest, Ty::F32) => map::<f32, f32, Nearest>,
            _ => return None,
        },
        Operation::Checked(kind, x, ..) => match ty(x) {
            Ty::I16 => checked::<i16>(kind),
            Ty::I32 => checked::<i32>(kind),
            Ty::I64 => checked::<i64>(kind),
            _ => return None,
        },
        Operation::Wrapping(kind, x, _) => match ty(x) {
            Ty::I16 => wrapping::<i16>(kind),
            Ty::I32 => wrapping::<i32>(kind),
            Ty::I64 => wrapping::<i64>(kind),
            _ => return None,
        },
        Operation::Float(kind, x, ..) => match ty(x) {
            Ty::F32 => float::<f32>(kind),
            Ty::F64 => float::<f64>(kind),
            _ => return None,
        },
        Operation::Compare(how, x, _) => match ty(x) {
            Ty::Bool => compare::<u8>(how)?,
            Ty::I16 => compare::<i16>(how)?,
            Ty::I32 => compare::<i32>(how)?,
            Ty::I64 => compare::<i64>(how)?,
            Ty::F32 => compare::<f32>(how)?,
            Ty::F64 => compare::<f64>(how)?,
            _ => return None,
        },
        Operation::Logic(logic, x, _) => match ty(x).size() {
            1 => of_bits::<u8>(logic),
            2 => of_bits::<u16>(logic),
            4 => of_bits::<u32>(logic),
            8 => of_bits::<u64>(logic),
            _ => return None,
        },
        Operation::Not(_) => map::<u8, u8, Not>,
        Operation::Select(_, x, _) => match ty(x).size() {
            1 => select::<u8>,
            2 => select::<u16>,
            4 => select::<u32>,
            8 => select::<u64>,
            _ => return None,
        },
        Operation::Convert(kind, x, to, _) => convert(kind, ty(x), to)?,
        _ => return None,
    })
}

fn checked<T: Integer>(kind: Arithmetic) -> Loop {
    match kind {
        Arithmetic::Add => zip::<T, T, Checked<Add>>,
        Arithmetic::Sub => zip::<T, T, Checked<Subtract>>,
        Arithmetic::Mul => zip::<T, T, Checked<Multiply>>,
    }
}

fn wrapping<T: Integer>(kind: Arithmetic) -> Loop {
    match kind {
        Arithmetic::Add => zip::<T, T, Add>,
        Arithmetic::Sub => zip::<T, T, Subtract>,
        Arithmetic::Mul => zip::<T, T, Multiply>,
    }
}

fn float<T: Float>(kind: FloatOp) -> Loop {
    match kind {
        FloatOp::Add => zip::<T, T, FloatAdd>,
        FloatOp::Sub => zip::<T, T, FloatSubtract>,
        FloatOp::Mul => zip::<T, T, FloatMultiply>,
        FloatOp::Div => zip::<T, T, FloatDivide>,
    }
}

fn of_bits<T: Bits>(logic: Logic) -> Loop {
    match logic {
        Logic::And => zip::<T, T, And>,
        Logic::Or => zip::<T, T, Or>,
        Logic::Xor => zip::<T, T, Xor>,
    }
}

fn compare<T: Ordered>(how: Compare) -> Option<Loop> {
    Some(match how {
        Compare::Eq => zip::<T, u8, Equal>,
        Compare::Ne => zip::<T, u8, Flipped<Equal>>,
        Compare::Lt => zip::<T, u8, Less>,
        Compare::Ge => zip::<T, u8, Flipped<Less>>,
        Compare::Gt => zip::<T, u8, Greater>,
        Compare::Le => zip::<T, u8, Flipped<Greater>>,
        Compare::Before => return None,
    })
}

fn convert(kind: Conversion, from: Ty, to: Ty) -> Option<Loop> {
    Some(match (kind, from, to) {
        (Conversion::BoolToInt, Ty::Bool, Ty::I16) => map::<u8, i16, As>,
        (Conversion::BoolToInt, Ty::Bool, Ty::I32) => map::<u8, i32, As>,
        (Conversion::BoolToInt, Ty::Bool, Ty::I64) => map::<u8, i64, As>,
        (Conversion::Widen | Conversion::Cut | Conversion::Narrow, Ty::I16, Ty::I16) => map::<i16, i16, As>,
        (Conversion::Widen | Conversion::Cut | Conversion::Narrow, Ty::I32, Ty::I32) => map::<i32, i32, As>,
        (Conversion::Widen | Conversion::Cut | Conversion::Narrow, Ty::I64, Ty::I64) => map::<i64, i64, As>,
        (Conversion::Widen, Ty::I16, Ty::I32) => map::<i16, i32, As>,
        (Conversion::Widen, Ty::I16, Ty::I64) => map::<i16, i64, As>,
        (Conversion::Widen, Ty::I32, Ty::I64) => map::<i32, i64, As>,
        (Conversion::Cut, Ty::I64, Ty::I32) => map::<i64, i32, As>,
        (Conversion::Cut, Ty::I64, Ty::I16) => map::<i64, i16, As>,
        (Conversion::Cut, Ty::I32, Ty::I16) => map::<i32, i16, As>,
        (Conversion::Narrow, Ty::I64, Ty::I32) => map::<i64, i32, Narrow>,
        (Conversion::Narrow, Ty::I64, Ty::I16) => map::<i64, i16, Narrow>,
        (Conversion::Narrow, Ty::I32, Ty::I16) => map::<i32, i16, Narrow>,
        (Conversion::IntToFloat, Ty::I16, Ty::F32) => map::<i16, f32, As>,
        (Conversion::IntToFloat, Ty::I32, Ty::F32) => map::<i32, f32, As>,
        (Conversion::IntToFloat, Ty::I64, Ty::F32) => map::<i64, f32, As>,
        (Conversion::IntToFloat, Ty::I16, Ty::F64) => map::<i16, f64, As>,
        (Conversion::IntToFloat, Ty::I32, Ty::F64) => map::<i32, f64, As>,
        (Conversion::IntToFloat, Ty::I64, Ty::F64) => map::<i64, f64, As>,
        (Conversion::FloatToInt, Ty::F32, Ty::I16) => map::<f32, i16, Round>,
        (Conversion::FloatToInt, Ty::F32, Ty::I32) => map::<f32, i32, Round>,
        (Conversion::FloatToInt, Ty::F32, Ty::I64) => map::<f32, i64, Round>,
        (Conversion::FloatToInt, Ty::F64, Ty::I16) => map::<f64, i16, Round>,
        (Conversion::FloatToInt, Ty::F64, Ty::I32) => map::<f64, i32, Round>,
        (Conversion::FloatToInt, Ty::F64, Ty::I64) => map::<f64, i64, Round>,
        (Conversion::FloatToFloat, Ty::F32, Ty::F64) => map::<f32, f64, As>,
        (Conversion::FloatToFloat, Ty::F64, Ty::F32) => map::<f64, f32, Shorten>,
        (Conversion::FloatToFloat, Ty::F32, Ty::F32) => map::<f32, f32, As>,
        (Conversion::FloatToFloat, Ty::F64, Ty::F64) => map::<f64, f64, As>,
        _ => return None,
    })
}

/// A function of one value: the result, and whether it is in doubt.
trait Unary<A, R> {
    /// Whether any result ever is.
    const DOUBTS: bool = false;
    fn apply(a: A) -> (R, bool);
}

/// A function of two values.
trait Binary<A, R> {
    const DOUBTS: bool = false;
    fn apply(a: A, b: A) -> (R, bool);
}

/// # Safety
/// There are as many values of the types, and room for as many, as the arguments say.
unsafe fn map<A: Copy, R: Copy, F: Unary<A, R>>(arguments: &Arguments) -> bool {
    // SAFETY: as the caller promises.
    let (a, out) = unsafe { (arguments.operand::<A>(0), arguments.out::<R>()) };
    let only_if = arguments.only_if(F::DOUBTS);
    vectorised(move || each(out, a.iter().map(|&a| F::apply(a)), F::DOUBTS, only_if))
}

/// # Safety
/// As for [`map`].
unsafe fn zip<A: Copy, R: Copy, F: Binary<A, R>>(arguments: &Arguments) -> bool {
    // SAFETY: as the caller promises.
    let (a, b, out) = unsafe { (arguments.operand::<A>(0), arguments.operand::<A>(1), arguments.out::<R>()) };
    let only_if = arguments.only_if(F::DOUBTS);
    vectorised(move || each(out, a.iter().zip(b).map(|(&a, &b)| F::apply(a, b)), F::DOUBTS, only_if))
}

/// # Safety
/// As for [`map`]; the first operand is booleans.
unsafe fn select<T: Bits>(arguments: &Arguments) -> bool {
    // SAFETY: as the caller promises.
    let (condition, out) = unsafe { (arguments.operand::<u8>(0), arguments.out::<T>()) };
    // SAFETY: likewise.
    let (a, b) = unsafe { (arguments.operand::<T>(1), arguments.operand::<T>(2)) };
    let taken = move |((&condition, &a), &b): ((&u8, &T), &T)| (T::select(condition, a, b), false);
    vectorised(move || each(out, condition.iter().zip(a).zip(b).map(taken), false, None))
}

/// Values of which only the bits matter.
trait Bits: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {
    /// The first value for 1, the second for 0: without a comparison, which the compiler would make a branch of.
    fn select(condition: u8, a: Self, b: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty),*) => { $(
        impl Bits for $t {
            #[inline(always)]
            fn select(condition: u8, a: Self, b: Self) -> Self {
                b ^ ((a ^ b) & <$t>::from(condition).wrapping_neg())
            }
        }
    )* };
}
bits!(u8, u16, u32, u64);

/// Writes values one after the other; whether one that matters is in doubt. What the loop needs, it has by value, so that what it
/// writes cannot change it.
#[inline(always)]
fn each<R: Copy>(
    out: &mut [MaybeUninit<R>],
    values: impl ExactSizeIterator<Item = (R, bool)>,
    doubts: bool,
    only_if: Option<&[u8]>,
) -> bool {
    let mut doubt = false;
    match only_if {
        Some(flags) => {
            for ((out, (value, is_doubtful)), &flag) in out.iter_mut().zip(values).zip(flags) {
                out.write(value);
                doubt |= is_doubtful & (flag != 0);
            }
        }
        None => {
            for (out, (value, is_doubtful)) in out.iter_mut().zip(values) {
                out.write(value);
                doubt |= is_doubtful;
            }
        }
    }
    doubts & doubt
}

impl Arguments {
    /// # Safety
    /// The operand has as many values of the type as the arguments say, for as long as `self` is used.
    pub(super) unsafe fn operand<T>(&self, number: usize) -> &[T] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts(self.operands[number].cast(), self.count) }
    }

    /// # Safety
    /// There is room for as many values, which nobody else uses.
    #[expect(clippy::mut_from_ref, reason = "the memory is not that of `self`")]
    pub(super) unsafe fn out<T>(&self) -> &mut [MaybeUninit<T>] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.out.cast(), self.count) }
    }

    /// The flags of rows that matter, if they are asked for.
    pub(super) fn only_if(&self, doubts: bool) -> Option<&[u8]> {
        // SAFETY: as many flags as values.
        let flags = || unsafe { std::slice::from_raw_parts(self.only_if, self.count) };
        (doubts && !self.only_if.is_null()).then(flags)
    }
}

/// Functions, as types.
macro_rules! functions {
    ($($name:ident),*) => { $( struct $name; )* };
}
functions!(Sqrt, Abs, Floor, Ceil, Trunc, Nearest, Add, Subtract, Multiply);
functions!(FloatAdd, FloatSubtract, FloatMultiply, FloatDivide, Equal, Less, Greater, And, Or, Xor, Not);
functions!(As, Narrow, Round, Shorten);
/// With overflow in doubt.
struct Checked<F>(F);
/// The opposite.
struct Flipped<F>(F);

/// Integers of at most 64 bits.
trait Integer: Copy {
    fn add(self, other: Self) -> (Self, bool);
    fn subtract(self, other: Self) -> (Self, bool);
    fn multiply(self, other: Self) -> (Self, bool);
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Integer for $t {
            #[inline(always)]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, (self ^ sum) & (other ^ sum) < 0)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> (Self, bool) {
                let difference = self.wrapping_sub(other);
                (difference, (self ^ other) & (self ^ difference) < 0)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> (Self, bool) {
                self.overflowing_mul(other)
            }
        }
    )* };
}
integers!(i16, i32, i64);

macro_rules! arithmetic {
    ($($name:ident $method:ident),*) => { $(
        impl<T: Integer> Binary<T, T> for $name {
            #[inline(always)]
            fn apply(a: T, b: T) -> (T, bool) {
                (a.$method(b).0, false)
            }
        }
        impl<T: Integer> Binary<T, T> for Checked<$name> {
            const DOUBTS: bool = true;
            #[inline(always)]
            fn apply(a: T, b: T) -> (T, bool) {
                a.$method(b)
            }
        }
    )* };
}
arithmetic!(Add add, Subtract subtract, Multiply multiply);

/// `f32` and `f64`.
trait Float: Copy + PartialEq {
    const ZERO: Self;
    fn is_number(self) -> bool;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
}

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Float for $t {
            const ZERO: Self = 0.0;
            /// Neither infinite nor NaN.
            #[inline(always)]
            fn is_number(self) -> bool {
                self.abs() < <$t>::INFINITY
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                self / other
            }
        }
        impl Unary<$t, $t> for Sqrt {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.sqrt(), false)
            }
        }
        impl Unary<$t, $t> for Abs {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.abs(), false)
            }
        }
        impl Unary<$t, $t> for Floor {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.floor(), false)
            }
        }
        impl Unary<$t, $t> for Ceil {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.ceil(), false)
            }
        }
        impl Unary<$t, $t> for Trunc {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.trunc(), false)
            }
        }
        impl Unary<$t, $t> for Nearest {
            #[inline(always)]
            fn apply(a: $t) -> ($t, bool) {
                (a.round_ties_even(), false)
            }
        }
    )* };
}
floats!(f32, f64);

/// Sums and differences can only be errors if they are infinite.
macro_rules! sums {
    ($($name:ident $method:ident),*) => { $(
        impl<T: Float> Binary<T, T> for $name {
            const DOUBTS: bool = true;
            #[inline(always)]
            fn apply(a: T, b: T) -> (T, bool) {
                let value = a.$method(b);
                (value, !value.is_number())
            }
        }
    )* };
}
sums!(FloatAdd add, FloatSubtract subtract);

impl<T: Float> Binary<T, T> for FloatMultiply {
    const DOUBTS: bool = true;
    #[inline(always)]
    fn apply(a: T, b: T) -> (T, bool) {
        let value = a.multiply(b);
        // Zero though no operand is.
        let underflows = (value == T::ZERO) & (a != T::ZERO) & (b != T::ZERO);
        (value, !value.is_number() | underflows)
    }
}

impl<T: Float> Binary<T, T> for FloatDivide {
    const DOUBTS: bool = true;
    #[inline(always)]
    fn apply(a: T, b: T) -> (T, bool) {
        let value = a.divide(b);
        // What is divided by zero is infinite or NaN.
        let underflows = (value == T::ZERO) & (a != T::ZERO);
        (value, !value.is_number() | underflows)
    }
}

/// Values in PostgreSQL's order: NaNs are equal, and behind all other floats.
trait Ordered: Copy {
    fn equal(self, other: Self) -> bool;
    fn less(self, other: Self) -> bool;
}

macro_rules! ordered_integers {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
        }
    )* };
}
ordered_integers!(u8, i16, i32, i64);

macro_rules! ordered_floats {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                (self < other) | (!self.is_nan() & other.is_nan())
            }
        }
    )* };
}
ordered_floats!(f32, f64);

impl<T: Ordered> Binary<T, u8> for Equal {
    #[inline(always)]
    fn apply(a: T, b: T) -> (u8, bool) {
        (a.equal(b).into(), false)
    }
}
impl<T: Ordered> Binary<T, u8> for Less {
    #[inline(always)]
    fn apply(a: T, b: T) -> (u8, bool) {
        (a.less(b).into(), false)
    }
}
impl<T: Ordered> Binary<T, u8> for Greater {
    #[inline(always)]
    fn apply(a: T, b: T) -> (u8, bool) {
        (b.less(a).into(), false)
    }
}
impl<T: Ordered, F: Binary<T, u8>> Binary<T, u8> for Flipped<F> {
    #[inline(always)]
    fn apply(a: T, b: T) -> (u8, bool) {
        (F::apply(a, b).0 ^ 1, false)
    }
}

macro_rules! logic {
    ($($name:ident $op:tt),*) => { $(
        impl<T: Bits> Binary<T, T> for $name {
            #[inline(always)]
            fn apply(a: T, b: T) -> (T, bool) {
                (a $op b, false)
            }
        }
    )* };
}
logic!(And &, Or |, Xor ^);

impl Unary<u8, u8> for Not {
    #[inline(always)]
    fn apply(a: u8) -> (u8, bool) {
        (a ^ 1, false)
    }
}

macro_rules! conversions {
    ($($from:ty => $($to:ty),*;)*) => { $( $(
        impl Unary<$from, $to> for As {
            #[inline(always)]
            fn apply(a: $from) -> ($to, bool) {
                (a as $to, false)
            }
        }
    )* )* };
}
conversions! {
    u8 => i16, i32, i64;
    i16 => i16, i32, i64, f32, f64;
    i32 => i16, i32, i64, f32, f64;
    i64 => i16, i32, i64, f32, f64;
    f32 => f32, f64;
    f64 => f64;
}

macro_rules! narrowing {
    ($($from:ty => $to:ty),*) => { $(
        impl Unary<$from, $to> for Narrow {
            const DOUBTS: bool = true;
            #[inline(always)]
            fn apply(a: $from) -> ($to, bool) {
                let value = a as $to;
                (value, <$from>::from(value) != a)
            }
        }
    )* };
}
narrowing!(i64 => i32, i64 => i16, i32 => i16);

macro_rules! rounding {
    ($($from:ty => $($to:ty),*;)*) => { $( $(
        impl Unary<$from, $to> for Round {
            const DOUBTS: bool = true;
            #[inline(always)]
            fn apply(a: $from) -> ($to, bool) {
                let rounded = a.round_ties_even();
                // The bounds are powers of two, so they are floats.
                let fits = (rounded >= <$to>::MIN as $from) & (rounded < -(<$to>::MIN as $from));
                let safe = if fits { rounded } else { 0.0 };
                // SAFETY: it is an integer of the type.
                (unsafe { safe.to_int_unchecked() }, !fits)
            }
        }
    )* )* };
}
rounding! {
    f32 => i16, i32, i64;
    f64 => i16, i32, i64;
}

impl Unary<f64, f32> for Shorten {
    const DOUBTS: bool = true;
    #[inline(always)]
    fn apply(a: f64) -> (f32, bool) {
        let value = a as f32;
        (value, value.is_infinite() | ((value == 0.0) & (a != 0.0)))
    }
}
