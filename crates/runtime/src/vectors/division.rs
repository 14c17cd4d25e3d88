//! Quotients and remainders of integers. Processors divide no vectors of integers, but vectors of doubles: where both operands are
//! below 2^51, the quotient as a double, rounded, is that of the integers when its fraction is cut off (it differs from the next integer
//! by more than a rounding), and what it is multiplied with is exact.

use std::mem::MaybeUninit;

use base::simd::{Work, widest};
use pipeline::ir::Ty;

use super::primitives::{Arguments, Loop};

/// The loop for the quotient of two integers of a type, or for the remainder.
pub(super) fn division(ty: Ty, remainder: bool) -> Option<Loop> {
    Some(match (ty, remainder) {
        (Ty::I16, false) => divide::<i16, false>,
        (Ty::I16, true) => divide::<i16, true>,
        (Ty::I32, false) => divide::<i32, false>,
        (Ty::I32, true) => divide::<i32, true>,
        (Ty::I64, false) => divide::<i64, false>,
        (Ty::I64, true) => divide::<i64, true>,
        _ => return None,
    })
}

/// Integers of at most 64 bits.
trait Divided: Copy {
    /// Whether each is below 2^51.
    const IS_SMALL: bool;
    fn wide(self) -> i64;
    /// Of a number that is one of the type, or whatever.
    fn cut(number: i64) -> Self;
    /// Whether the quotient is none of the type.
    fn overflows(self, divisor: Self) -> bool;
}

macro_rules! divided {
    ($($t:ty),*) => { $(
        impl Divided for $t {
            const IS_SMALL: bool = size_of::<$t>() < 8;
            #[inline(always)]
            fn wide(self) -> i64 {
                self.into()
            }
            #[inline(always)]
            fn cut(number: i64) -> Self {
                number as $t
            }
            #[inline(always)]
            fn overflows(self, divisor: Self) -> bool {
                (self == <$t>::MIN) & (divisor == -1)
            }
        }
    )* };
}
divided!(i16, i32, i64);

/// # Safety
/// There are as many values of the type, and room for as many, as the arguments say.
unsafe fn divide<T: Divided, const REMAINDER: bool>(arguments: &Arguments) -> bool {
    // SAFETY: as the caller promises.
    let (a, b, out) = unsafe { (arguments.operand::<T>(0), arguments.operand::<T>(1), arguments.out::<T>()) };
    let only_if = arguments.only_if(true);
    widest(Division::<T, REMAINDER> { a, b, out, only_if })
}

struct Division<'a, T, const REMAINDER: bool> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [MaybeUninit<T>],
    only_if: Option<&'a [u8]>,
}

impl<T: Divided, const REMAINDER: bool> Work for Division<'_, T, REMAINDER> {
    type Output = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let Self { a, b, out, only_if } = self;
        if T::IS_SMALL || are_small(a) && are_small(b) {
            each(out, a, b, by_doubles::<REMAINDER>);
        } else {
            each(out, a, b, one_by_one::<REMAINDER>);
        }
        is_doubtful::<T, REMAINDER>(a, b, only_if)
    }
}

#[inline(always)]
fn each<T: Divided>(out: &mut [MaybeUninit<T>], a: &[T], b: &[T], one: impl Fn(i64, i64) -> i64) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        out.write(T::cut(one(a.wide(), b.wide())));
    }
}

/// Whether some row that matters divides by zero, or has a quotient that is none of the type.
#[inline(always)]
fn is_doubtful<T: Divided, const REMAINDER: bool>(a: &[T], b: &[T], only_if: Option<&[u8]>) -> bool {
    let fails = |(a, b): (&T, &T)| (b.wide() == 0) | (!REMAINDER & a.overflows(*b));
    let rows = a.iter().zip(b).map(fails);
    match only_if {
        None => rows.fold(false, |doubt, fails| doubt | fails),
        Some(flags) => rows.zip(flags).fold(false, |doubt, (fails, flag)| doubt | (fails & (*flag != 0))),
    }
}

#[inline(always)]
fn are_small<T: Divided>(values: &[T]) -> bool {
    let beyond = |value: &T| (value.wide().wrapping_add(1 << 51) as u64) >> 52;
    values.iter().fold(0, |bits, value| bits | beyond(value)) == 0
}

/// Added to an integer below 2^51, this is a double whose last bits are the integer's: 1.5 * 2^52.
const MAGIC: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
fn double(number: i64) -> f64 {
    f64::from_bits((number as u64).wrapping_add(MAGIC.to_bits())) - MAGIC
}

#[inline(always)]
fn integer(number: f64) -> i64 {
    (number + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits()) as i64
}

/// Of operands from -2^51 to below 2^51.
#[inline(always)]
fn by_doubles<const REMAINDER: bool>(a: i64, b: i64) -> i64 {
    let (a, b) = (double(a), double(b));
    let quotient = (a / b).trunc();
    integer(if REMAINDER { a - quotient * b } else { quotient })
}

#[inline(always)]
fn one_by_one<const REMAINDER: bool>(a: i64, b: i64) -> i64 {
    // By 0 and -1 processors trap, or may.
    let divisor = if (b == 0) | (b == -1) { 1 } else { b };
    match REMAINDER {
        true => a % divisor,
        false if b == -1 => a.wrapping_neg(),
        false => a / divisor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_divide_as_integers_do() {
        let edge = (1i64 << 51) - 1;
        let some = [0, 1, 2, 3, 7, 10, 1000, 1 << 25, (1 << 26) - 1, edge / 2, edge / 2 + 1, edge / 3, edge - 1, edge];
        let signed = || some.iter().flat_map(|n| [*n, -n]).chain([-edge - 1]);
        let check = |a: i64, b: i64| {
            if b != 0 {
                assert_eq!((by_doubles::<false>(a, b), by_doubles::<true>(a, b)), (a / b, a % b), "{a} by {b}");
                assert_eq!((one_by_one::<false>(a, b), one_by_one::<true>(a, b)), (a / b, a % b), "{a} by {b}");
            }
        };
        signed().for_each(|a| signed().for_each(|b| check(a, b)));
        let mut random = base::Random(51);
        for _ in 0..200_000 {
            let mut number = |most: u64| {
                let shift = 13 + random.below(most);
                (random.bits() >> shift) as i64 - (1 << 20)
            };
            let (a, b) = (number(30), number(48));
            check(a, b);
            // Multiples, and their neighbours.
            let near = a / b.max(1) * b.max(1);
            (near - 1..=near + 1).filter(|near| near.abs() <= edge).for_each(|near| check(near, b));
        }
    }
}
