//! Functions of doubles for many values at once.
//!
//! Where wide instructions can compute a function for nearly all numbers, a loop without branches does so, and says of which it was
//! not sure ([`Common`]); those are computed again, one by one. The results are the same as one by one, on every machine.

use std::mem::MaybeUninit;
use std::ops::Range;

use base::Result;
use base::simd::{Work, widest};

use super::elementary::{
    PER_LN_2, PER_LN_10, cos_of_common, exp_of_sum, has_common_power, is_common, is_common_angle, ln_of_common,
    logarithm, pow_of_common, sin_of_common,
};
use super::float;

/// Computes a function of each value; whether it fails for one that matters: one with a flag that is not 0, where there are flags.
/// What becomes of those that fail is anything.
pub type OfOne = fn(&[f64], Option<&[u8]>, &mut [MaybeUninit<f64>]) -> bool;
/// The same of pairs of values.
pub type OfTwo = fn(&[f64], &[f64], Option<&[u8]>, &mut [MaybeUninit<f64>]) -> bool;

/// A function that is computed without branches for most arguments.
pub(crate) trait Common<A, R>: Copy {
    /// The value, and whether it is right. `FUSED`: the processor multiplies and adds with one rounding.
    fn common<const FUSED: bool>(self, argument: A) -> (R, bool);
    /// Always right.
    fn one(self, argument: A) -> Result<R>;
}

/// Arguments, a row each.
pub(crate) trait Rows: Copy {
    /// Those of a row.
    type Item: Copy;
    /// How many rows there are.
    fn count(self) -> usize;
    /// Some of them.
    fn part(self, rows: Range<usize>) -> impl Iterator<Item = Self::Item>;
}

impl Rows for &[f64] {
    type Item = f64;
    #[inline(always)]
    fn count(self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn part(self, rows: Range<usize>) -> impl Iterator<Item = f64> {
        self[rows].iter().copied()
    }
}

impl Rows for (&[f64], &[f64]) {
    type Item = (f64, f64);
    #[inline(always)]
    fn count(self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn part(self, rows: Range<usize>) -> impl Iterator<Item = (f64, f64)> {
        self.0[rows.clone()].iter().copied().zip(self.1[rows].iter().copied())
    }
}

/// Computes all as `function` does.
#[inline(always)]
pub(crate) fn common<A: Rows, R: Copy, F: Common<A::Item, R>>(
    function: F,
    arguments: A,
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<R>],
) -> bool {
    let is_sure = widest(Loop { function, arguments, out: &mut *out });
    // Whether it was sure is the same whatever the processor has.
    let is_known = |argument| function.common::<false>(argument).1;
    !is_sure && rest(arguments, only_if, out, is_known, |argument| function.one(argument))
}

struct Loop<'o, F, A, R> {
    function: F,
    arguments: A,
    out: &'o mut [MaybeUninit<R>],
}

impl<F: Common<A::Item, R>, A: Rows, R: Copy> Work for Loop<'_, F, A, R> {
    /// Whether it is sure of all.
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        /// Rows whose results are written to a place of the loop's own first: so the compiler sees that no argument changes by it,
        /// and uses wide instructions.
        const PART: usize = 128;
        let (mut unsure, count) = (0u64, self.arguments.count());
        for from in (0..count).step_by(PART) {
            let to = count.min(from + PART);
            let mut part = [MaybeUninit::uninit(); PART];
            for (argument, out) in self.arguments.part(from..to).zip(&mut part) {
                let (value, is_sure) = self.function.common::<FUSED>(argument);
                out.write(value);
                unsure |= u64::from(!is_sure);
            }
            self.out[from..to].copy_from_slice(&part[..to - from]);
        }
        unsure == 0
    }
}

/// Computes those that are not known yet one by one.
#[cold]
fn rest<A: Rows, R>(
    arguments: A,
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<R>],
    is_known: impl Fn(A::Item) -> bool,
    one: impl Fn(A::Item) -> Result<R>,
) -> bool {
    let mut fails = false;
    for (row, (argument, out)) in arguments.part(0..arguments.count()).zip(out).enumerate() {
        if !is_known(argument) {
            match one(argument) {
                Ok(value) => _ = out.write(value),
                Err(_) => fails |= only_if.is_none_or(|flags| flags[row] != 0),
            }
        }
    }
    fails
}

/// Computes all one by one.
pub fn one_by_one(
    x: &[f64],
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<f64>],
    one: impl Fn(f64) -> Result<f64>,
) -> bool {
    rest(x, only_if, out, |_| false, one)
}

/// The same of pairs.
pub fn pair_by_pair(
    pairs: (&[f64], &[f64]),
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<f64>],
    one: impl Fn(f64, f64) -> Result<f64>,
) -> bool {
    rest(pairs, only_if, out, |_| false, |(x, y)| one(x, y))
}

/// Functions of one double: what they are called here, and of many; the value, when that is right, and the function of one.
macro_rules! common {
    ($($name:ident $of_many:ident $x:ident $fused:ident: $value:expr, $is_common:expr, $one:path;)*) => { $(
        #[derive(Clone, Copy)]
        struct $name;

        impl Common<f64, f64> for $name {
            #[inline(always)]
            fn common<const $fused: bool>(self, $x: f64) -> (f64, bool) {
                ($value, $is_common)
            }
            fn one(self, x: f64) -> Result<f64> {
                $one(x)
            }
        }

        #[doc = concat!("[`", stringify!($one), "`] of many.")]
        pub fn $of_many(x: &[f64], only_if: Option<&[u8]>, out: &mut [MaybeUninit<f64>]) -> bool {
            common($name, x, only_if, out)
        }
    )* };
}
common! {
    Sqrt sqrt_of_many x FUSED: x.sqrt(), (x >= 0.0) | x.is_nan(), float::sqrt;
    Exp exp_of_many x FUSED: exp_of_sum(x, 0.0), has_common_power(x), float::exp;
    Ln ln_of_many x FUSED: ln_of_common(x), is_common(x), float::ln;
    Log10 log10_of_many x FUSED: logarithm::<FUSED>(x, PER_LN_10), is_common(x), float::log10;
    Log2 log2_of_many x FUSED: logarithm::<FUSED>(x, PER_LN_2), is_common(x), float::log2;
    Sin sin_of_many x FUSED: sin_of_common(x), is_common_angle(x), float::sin;
    Cos cos_of_many x FUSED: cos_of_common(x), is_common_angle(x), float::cos;
}

/// Rounding to a digit, by the power of ten of all of these.
#[derive(Clone, Copy)]
struct AtDigit<R, O> {
    power: f64,
    round: R,
    one: O,
}

impl<R: Fn(f64) -> f64 + Copy, O: Fn(f64, f64) -> Result<f64> + Copy> Common<(f64, f64), f64> for AtDigit<R, O> {
    #[inline(always)]
    fn common<const FUSED: bool>(self, (x, _): (f64, f64)) -> (f64, bool) {
        let scaled = x * self.power;
        ((self.round)(scaled) / self.power, scaled.is_finite())
    }
    fn one(self, (x, digits): (f64, f64)) -> Result<f64> {
        (self.one)(x, digits)
    }
}

#[inline(always)]
fn at_digit_of_many(
    (x, digits): (&[f64], &[f64]),
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<f64>],
    round: impl Fn(f64) -> f64 + Copy,
    one: impl Fn(f64, f64) -> Result<f64> + Copy,
) -> bool {
    let first = digits.first().copied().filter(|first| digits.iter().all(|digits| digits == first));
    match first.and_then(float::exact_power) {
        Some(power) => common(AtDigit { power, round, one }, (x, digits), only_if, out),
        None => pair_by_pair((x, digits), only_if, out, one),
    }
}

/// [`round_to`](float::round_to) of many.
pub fn round_to_of_many(x: &[f64], digits: &[f64], only_if: Option<&[u8]>, out: &mut [MaybeUninit<f64>]) -> bool {
    at_digit_of_many((x, digits), only_if, out, |x| x.round_ties_even(), float::round_to)
}

/// [`trunc_to`](float::trunc_to) of many.
pub fn trunc_to_of_many(x: &[f64], digits: &[f64], only_if: Option<&[u8]>, out: &mut [MaybeUninit<f64>]) -> bool {
    at_digit_of_many((x, digits), only_if, out, |x| x.trunc(), float::trunc_to)
}

#[derive(Clone, Copy)]
struct Pow;

impl Common<(f64, f64), f64> for Pow {
    #[inline(always)]
    fn common<const FUSED: bool>(self, (x, y): (f64, f64)) -> (f64, bool) {
        pow_of_common::<FUSED>(x, y)
    }
    fn one(self, (x, y): (f64, f64)) -> Result<f64> {
        float::power(x, y)
    }
}

/// [`power`](float::power) of many.
pub fn power_of_many(x: &[f64], y: &[f64], only_if: Option<&[u8]>, out: &mut [MaybeUninit<f64>]) -> bool {
    common(Pow, (x, y), only_if, out)
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn many_are_what_each_is_whatever_the_processor_has() {
        let mut random = Random(11);
        let ends = [0.0, -0.0, 1.0, 1e-310, f64::MAX, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 710.0, 2.0];
        let mut number = |near: f64| match random.index(20) {
            0 => random.pick(&ends),
            1 => f64::from_bits(random.bits()),
            _ => near * (random.below(1 << 53) as f64 / (1u64 << 50) as f64),
        };
        let x: Vec<f64> = (0..50_000).map(|i| number(if i % 2 == 0 { 1.0 } else { 1e3 })).collect();
        let y: Vec<f64> = (0..50_000).map(|_| number(1.0)).collect();
        let compare = |many: &dyn Fn(&mut [MaybeUninit<f64>]) -> bool, each: &dyn Fn(usize) -> Result<f64>| {
            let mut out = vec![MaybeUninit::new(0.0); x.len()];
            let fails = many(&mut out);
            let mut failed = false;
            for (row, out) in out.iter().enumerate() {
                match each(row) {
                    Ok(value) => {
                        // SAFETY: it was 0 before.
                        let out = unsafe { out.assume_init() };
                        assert_eq!(out.to_bits(), value.to_bits(), "{row}: {:?}", x[row]);
                    }
                    Err(_) => failed = true,
                }
            }
            assert_eq!(fails, failed);
        };
        compare(&|out| exp_of_many(&x, None, out), &|row| float::exp(x[row]));
        compare(&|out| ln_of_many(&x, None, out), &|row| float::ln(x[row]));
        compare(&|out| log10_of_many(&x, None, out), &|row| float::log10(x[row]));
        compare(&|out| sin_of_many(&x, None, out), &|row| float::sin(x[row]));
        compare(&|out| cos_of_many(&x, None, out), &|row| float::cos(x[row]));
        compare(&|out| log2_of_many(&x, None, out), &|row| float::log2(x[row]));
        compare(&|out| power_of_many(&x, &y, None, out), &|row| float::power(x[row], y[row]));
        for digits in [-3.0, 0.0, 2.0, 22.0, 23.0, 400.0] {
            let digits = vec![digits; x.len()];
            compare(&|out| round_to_of_many(&x, &digits, None, out), &|row| float::round_to(x[row], digits[row]));
            compare(&|out| trunc_to_of_many(&x, &digits, None, out), &|row| float::trunc_to(x[row], digits[row]));
        }
        let digits: Vec<f64> = (0..x.len()).map(|row| (row % 40) as f64 - 10.0).collect();
        compare(&|out| round_to_of_many(&x, &digits, None, out), &|row| float::round_to(x[row], digits[row]));
        // With one rounding or with two.
        for (&x, &y) in x.iter().zip(&y).filter(|(x, y)| is_common(**x) && y.abs() < 1e300) {
            let (fused, plain) = (pow_of_common::<true>(x, y), pow_of_common::<false>(x, y));
            assert!(fused.1 == plain.1 && (!fused.1 || fused.0.to_bits() == plain.0.to_bits()), "{x:?} {y:?}");
            let of = |per| [logarithm::<true>(x, per), logarithm::<false>(x, per)].map(f64::to_bits);
            assert!([PER_LN_2, PER_LN_10].map(of).iter().all(|[a, b]| a == b), "{x:?}");
        }
    }
}
