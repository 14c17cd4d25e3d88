//! `exp`, `ln` and `power` of doubles, the same on every machine: sums and products alone, each rounded as IEEE 754 says.
//!
//! Results are within 0.51 of the last digit's unit of the exact ones, so that nearly all are the nearest doubles, which is what
//! most C libraries give. Tables and lengths of the series follow P. T. P. Tang, *Table-driven implementation of the exponential
//! function in IEEE floating-point arithmetic* (TOMS 1989), and *... of the logarithm function* (TOMS 1990); logarithms are kept
//! as a sum of two doubles, of which powers need the second. What is not of common size is left to the `libm` crate.

use base::simd::{Work, fused};

/// A number as the sum of two doubles, the second of which is less than half a unit of the first one's last digit.
#[derive(Clone, Copy)]
pub(super) struct Pair(f64, f64);

/// The sum of two numbers, and what rounding it has left out.
#[inline(always)]
const fn sum(a: f64, b: f64) -> Pair {
    let sum = a + b;
    let of_b = sum - a;
    Pair(sum, (a - (sum - of_b)) + (b - of_b))
}

/// The same where the first number is not the smaller one.
#[inline(always)]
const fn sum_of_larger(a: f64, b: f64) -> Pair {
    let sum = a + b;
    Pair(sum, (a - sum) + b)
}

/// The product of two numbers, and what rounding it has left out (Dekker).
#[inline(always)]
const fn product(a: f64, b: f64) -> Pair {
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let product = a * b;
    Pair(product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

/// The same, by a multiplication and addition with one rounding where the processor has such: exact, so that it is the same.
#[inline(always)]
fn product_of<const FUSED: bool>(a: f64, b: f64) -> Pair {
    if FUSED {
        let product = a * b;
        Pair(product, a.mul_add(b, -product))
    } else {
        product(a, b)
    }
}

/// A number as a sum of two whose products have room in a double.
#[inline(always)]
const fn halves(a: f64) -> (f64, f64) {
    let scaled = a * 134_217_729.0;
    let high = scaled - (scaled - a);
    (high, a - high)
}

impl Pair {
    const fn plus(self, other: Self) -> Self {
        let Pair(high, low) = sum(self.0, other.0);
        sum_of_larger(high, low + self.1 + other.1)
    }

    const fn times(self, other: Self) -> Self {
        let Pair(high, low) = product(self.0, other.0);
        sum_of_larger(high, low + (self.0 * other.1 + self.1 * other.0))
    }

    const fn over(self, by: Self) -> Self {
        let first = self.0 / by.0;
        let rest = self.plus(Pair(-first, 0.0).times(by));
        let second = rest.0 / by.0;
        sum_of_larger(first, second)
    }
}

/// ln 2.
const LN_2: Pair = Pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
/// Entries of each table.
const ENTRIES: usize = 128;

/// e to the power of a small number, by its series; for tables.
const fn exp_of(x: Pair) -> Pair {
    let (mut term, mut all, mut n) = (Pair(1.0, 0.0), Pair(1.0, 0.0), 1);
    while n < 40 {
        term = term.times(x).over(Pair(n as f64, 0.0));
        all = all.plus(term);
        n += 1;
    }
    all
}

/// ln of a number near 1, by the series of the inverse hyperbolic tangent; for tables.
const fn ln_of(x: f64) -> Pair {
    let t = Pair(x - 1.0, 0.0).over(Pair(x + 1.0, 0.0));
    let square = t.times(t);
    let (mut power, mut all, mut n) = (t, t, 3);
    while n < 90 {
        power = power.times(square);
        all = all.plus(power.over(Pair(n as f64, 0.0)));
        n += 2;
    }
    Pair(2.0 * all.0, 2.0 * all.1)
}

/// The roots 2^(i/128), and what rounding them has left out, as a part of them.
static ROOTS: [(f64, f64); ENTRIES] = {
    let (mut table, mut i) = ([(0.0, 0.0); ENTRIES], 0);
    while i < ENTRIES {
        let part = i as f64 / ENTRIES as f64;
        let root = exp_of(LN_2.times(Pair(part, 0.0)));
        table[i] = (root.0, root.1 / root.0);
        i += 1;
    }
    table
};

/// ln 2 / 128, the first part with so few digits that its products with numbers of roots are exact.
const STEP: Pair = {
    let high = f64::from_bits(LN_2.0.to_bits() >> 20 << 20);
    Pair(high / ENTRIES as f64, ((LN_2.0 - high) + LN_2.1) / ENTRIES as f64)
};

/// e to the power of a sum of two numbers, the second one small, the result of common size.
#[inline(always)]
pub(super) fn exp_of_sum(x: f64, small: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = x * (ENTRIES as f64 / std::f64::consts::LN_2) + SHIFT;
    let (number, steps) = (shifted.to_bits(), shifted - SHIFT);
    let r = (x - steps * STEP.0) - steps * STEP.1 + small;
    let (root, rest) = ROOTS[number as usize % ENTRIES];
    // Up to 2^-8.5 of the way to the next root.
    let square = r * r;
    let part = rest + r + square * (0.5 + r * (1.0 / 6.0)) + square * square * (1.0 / 24.0 + r * (1.0 / 120.0));
    let scale = f64::from_bits(root.to_bits().wrapping_add((number / ENTRIES as u64) << 52));
    scale + scale * part
}

/// Whether e to that power is of common size.
#[inline(always)]
pub(super) fn has_common_power(x: f64) -> bool {
    x.abs() < 700.0
}

/// e to that power.
#[inline]
pub fn exp(x: f64) -> f64 {
    if has_common_power(x) { exp_of_sum(x, 0.0) } else { libm::exp(x) }
}

/// A number near the inverse of an interval's middle, of few digits, and minus its logarithm: first so many digits that its
/// sums with multiples of [`LN_2_SHORT`] are exact, then the rest.
#[derive(Clone, Copy)]
struct Inverse {
    inverse: f64,
    ln: f64,
    rest: f64,
}

/// Where the first interval begins: 0.6875, so that 1 is at the end of one.
const FIRST: u64 = 0x3fe6_0000_0000_0000;

/// A number with digits down to 2^-42.
const fn short(x: f64) -> f64 {
    const SHIFT: f64 = 1_536.0;
    (x + SHIFT) - SHIFT
}

/// ln 2 so.
const LN_2_SHORT: Pair = {
    let high = short(LN_2.0);
    Pair(high, (LN_2.0 - high) + LN_2.1)
};

static INVERSES: [Inverse; ENTRIES] = {
    let (mut table, mut i) = ([Inverse { inverse: 1.0, ln: 0.0, rest: 0.0 }; ENTRIES], 0);
    while i < ENTRIES {
        let bits = FIRST + ((i as u64) << 45);
        let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + (1 << 45)));
        // Next to 1 nothing is added, so that logarithms there have all their digits.
        if low != 1.0 && high != 1.0 {
            const DIGITS: f64 = 1024.0;
            let inverse = (2.0 / (low + high) * DIGITS + 0.5) as u64 as f64 / DIGITS;
            let Pair(ln, rest) = ln_of(inverse);
            let first = short(-ln);
            table[i] = Inverse { inverse, ln: first, rest: (-ln - first) - rest };
        }
        i += 1;
    }
    table
};

/// A positive number of common size as a product: the logarithm of one factor, which a table knows, and how far the other one
/// is from 1, both with their rests.
#[inline(always)]
fn factors(x: f64) -> (Pair, Pair) {
    let bits = x.to_bits();
    let from_first = bits.wrapping_sub(FIRST);
    let exponent = (from_first as i64 >> 52) as f64;
    let z = f64::from_bits(bits.wrapping_sub(from_first & 0xfff << 52));
    let Inverse { inverse, ln, rest } = INVERSES[(from_first >> 45) as usize % ENTRIES];
    // z times the inverse, less 1: both products are exact.
    let z_high = f64::from_bits(z.to_bits() >> 32 << 32);
    let r = sum(z_high * inverse - 1.0, (z - z_high) * inverse);
    (Pair(exponent * LN_2_SHORT.0 + ln, exponent * LN_2_SHORT.1 + rest), r)
}

/// ln(1 + r), of |r| up to 2^-7, behind the first two members of its series, r - r²/2.
#[inline(always)]
fn series(r: f64) -> f64 {
    let square = r * r;
    let tail = 1.0 / 5.0 - r * (1.0 / 6.0) + square * (1.0 / 7.0 - r * (1.0 / 8.0) + square * (1.0 / 9.0 - r * 0.1));
    r * square * (1.0 / 3.0 - r * 0.25 + square * tail)
}

/// The logarithm of a positive number of common size, of which the second part has half its digits.
#[inline(always)]
fn ln_pair<const FUSED: bool>(x: f64) -> Pair {
    let (known, Pair(r, r_rest)) = factors(x);
    let Pair(half_square, of_square) = product_of::<FUSED>(r, -0.5 * r);
    let Pair(first, of_first) = sum(known.0, r);
    let Pair(high, of_high) = sum(first, half_square);
    sum_of_larger(high, of_first + of_high + of_square + (r_rest - r * r_rest) + known.1 + series(r))
}

/// Whether a number is positive, finite, and has all its digits.
#[inline(always)]
pub(super) fn is_common(x: f64) -> bool {
    (f64::MIN_POSITIVE..=f64::MAX).contains(&x)
}

/// The natural logarithm of a number of common size.
#[inline(always)]
pub(super) fn ln_of_common(x: f64) -> f64 {
    let (known, Pair(r, r_rest)) = factors(x);
    let Pair(high, low) = sum_of_larger(known.0, r);
    high + (low + r_rest + known.1 + (series(r) - 0.5 * r * r))
}

/// The natural logarithm.
#[inline]
pub fn ln(x: f64) -> f64 {
    if is_common(x) { ln_of_common(x) } else { libm::log(x) }
}

/// A logarithm divided by that of its base.
#[inline(always)]
pub(super) fn logarithm<const FUSED: bool>(x: f64, per: Pair) -> f64 {
    let Pair(ln, rest) = ln_pair::<FUSED>(x);
    let Pair(high, low) = product_of::<FUSED>(ln, per.0);
    high + (low + (ln * per.1 + rest * per.0))
}

/// 1 / ln 10.
pub(super) const PER_LN_10: Pair = {
    let ln_8 = LN_2.plus(LN_2).plus(LN_2);
    Pair(1.0, 0.0).over(ln_8.plus(ln_of(1.25)))
};
/// 1 / ln 2.
pub(super) const PER_LN_2: Pair = Pair(1.0, 0.0).over(LN_2);

/// The logarithm to the base of 10.
#[inline]
pub fn log10(x: f64) -> f64 {
    if is_common(x) { logarithm::<false>(x, PER_LN_10) } else { libm::log10(x) }
}

/// The logarithm to the base of 2.
#[inline]
pub fn log2(x: f64) -> f64 {
    if is_common(x) { logarithm::<false>(x, PER_LN_2) } else { libm::log2(x) }
}

/// x to the power of y, and whether it is that: x, y and the result have to be of common size.
#[inline(always)]
pub(super) fn pow_of_common<const FUSED: bool>(x: f64, y: f64) -> (f64, bool) {
    let Pair(ln, rest) = ln_pair::<FUSED>(x);
    let Pair(high, low) = product_of::<FUSED>(ln, y);
    (exp_of_sum(high, low + rest * y), is_common(x) & (y.abs() < 1e300) & has_common_power(high))
}

struct PowOf(f64, f64);

impl Work for PowOf {
    type Output = (f64, bool);
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> (f64, bool) {
        pow_of_common::<FUSED>(self.0, self.1)
    }
}

/// x to the power of y.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    match fused(PowOf(x, y)) {
        (power, true) => power,
        (_, false) => libm::pow(x, y),
    }
}

/// An angle less multiples of a quarter turn, of numbers that are common: what is left of it, up to half a quarter, and how many
/// quarters there were in the low bits. The quarter is a sum of three numbers (Cody and Waite), of which the products with the first two
/// are exact.
#[inline(always)]
fn of_quarter(x: f64) -> (Pair, u64) {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const FIRST: f64 = 1.570_796_326_734_125_6;
    const SECOND: f64 = 6.077_100_506_303_966e-11;
    const REST: f64 = 2.022_266_248_795_950_6e-21;
    let shifted = x * std::f64::consts::FRAC_2_PI + SHIFT;
    let quarters = shifted - SHIFT;
    let Pair(high, low) = sum(x - quarters * FIRST, -(quarters * SECOND));
    (sum_of_larger(high, low - quarters * REST), shifted.to_bits())
}

/// The sine of an angle up to half a quarter turn, by its series.
#[inline(always)]
fn sine(Pair(x, rest): Pair) -> f64 {
    let square = x * x;
    let fourth = square * square;
    let low = 8.333_333_333_322_49e-3 + square * (-1.984_126_982_985_795e-4 + square * 2.755_731_370_707_006_8e-6);
    let high = -2.505_076_025_340_686_3e-8 + square * 1.589_690_995_211_55e-10;
    let series = -1.666_666_666_666_663_2e-1 + square * (low + square * fourth * high);
    x + (square * x * series + rest * (1.0 - 0.5 * square))
}

/// Its cosine.
#[inline(always)]
fn cosine(Pair(x, rest): Pair) -> f64 {
    let square = x * x;
    let fourth = square * square;
    let low = 4.166_666_666_666_66e-2 + square * (-1.388_888_888_887_411e-3 + square * 2.480_158_728_947_673e-5);
    let high =
        -2.755_731_435_139_066_3e-7 + square * (2.087_572_321_298_175e-9 + square * -1.135_964_755_778_819_5e-11);
    let half = 0.5 * square;
    let near = 1.0 - half;
    near + (((1.0 - near) - half) + (square * (square * low + fourth * fourth * high) - x * rest))
}

/// Whether an angle has few enough quarters for [`of_quarter`].
#[inline(always)]
pub(super) fn is_common_angle(x: f64) -> bool {
    x.abs() < 1e6
}

/// The sine of a common angle.
#[inline(always)]
pub(super) fn sin_of_common(x: f64) -> f64 {
    let sign = x.to_bits() & 1 << 63;
    f64::from_bits(turned(x, 0).to_bits() ^ sign)
}

/// The cosine of a common angle.
#[inline(always)]
pub(super) fn cos_of_common(x: f64) -> f64 {
    turned(x, 1)
}

/// The sine of an angle without its sign, and so many quarters.
#[inline(always)]
fn turned(x: f64, quarters: u64) -> f64 {
    let (rest, number) = of_quarter(x.abs());
    let number = number.wrapping_add(quarters);
    // Both are computed: of neighbours each may need the other.
    let value = if number & 1 == 0 { sine(rest) } else { cosine(rest) };
    f64::from_bits(value.to_bits() ^ ((number & 2) << 62))
}

/// The sine.
#[inline]
pub fn sin(x: f64) -> f64 {
    if is_common_angle(x) { sin_of_common(x) } else { libm::sin(x) }
}

/// The cosine.
#[inline]
pub fn cos(x: f64) -> f64 {
    if is_common_angle(x) { cos_of_common(x) } else { libm::cos(x) }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    /// So many units of the last digit are between two numbers.
    fn apart(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    /// e to that power, by the series of what is left of multiples of ln 2.
    fn exact_exp(x: f64) -> f64 {
        let doublings = (x / LN_2.0).round();
        let rest = Pair(x, 0.0).plus(LN_2.times(Pair(-doublings, 0.0)));
        let Pair(high, _) = exp_of(rest);
        high * 2f64.powi(doublings as i32)
    }

    /// How many of a thousand numbers have another result than the nearest one; none is farther than the next.
    fn others(seed: u64, from: f64, to: f64, own: fn(f64) -> f64, exact: impl Fn(f64) -> f64) -> usize {
        let mut random = Random(seed);
        let number = |random: &mut Random| from + (to - from) * (random.below(1 << 53) as f64 / (1u64 << 53) as f64);
        let differs = |_: &usize| {
            let x = number(&mut random);
            let (own, exact) = (own(x), exact(x));
            assert!(apart(own, exact) <= 1, "{x:?}: {own:?} instead of {exact:?}");
            own != exact
        };
        (0..1000).filter(differs).count()
    }

    #[test]
    fn nearly_all_results_are_the_nearest() {
        for (seed, from, to) in [(1, -690.0, 690.0), (2, -1.0, 1.0), (3, 0.0, 1e-9)] {
            assert!(others(seed, from, to, exp, exact_exp) <= 10);
        }
        // A logarithm is right if its power is as near to the number as that can be.
        for (seed, from, to) in [(4, 0.6, 1.5), (5, 0.99, 1.01), (6, 1.0, 1e300), (7, 1e-300, 1e-290)] {
            let exact = |x: f64| {
                let Pair(high, _) = ln_pair::<false>(x);
                let rest = Pair(x, 0.0).over(exp_of_parts(high)).plus(Pair(-1.0, 0.0));
                high + rest.0
            };
            assert!(others(seed, from, to, ln, exact) <= 10);
        }
        assert!(others(8, 1e-150, 1e150, |x| pow(x, 2.0), |x| x * x) <= 10);
        assert!(others(9, 1e-300, 1e300, |x| pow(x, 0.5), f64::sqrt) <= 10);
        assert!(others(10, 1e-300, 1e300, |x| pow(x, -1.0), |x| 1.0 / x) <= 10);
    }

    fn exp_of_parts(x: f64) -> Pair {
        let doublings = (x / LN_2.0).round();
        let Pair(high, low) = exp_of(Pair(x, 0.0).plus(LN_2.times(Pair(-doublings, 0.0))));
        let scale = 2f64.powi(doublings as i32);
        Pair(high * scale, low * scale)
    }

    #[test]
    fn sines_and_cosines_are_near() {
        for (seed, from, to) in [(20, -0.8, 0.8), (21, -7.0, 7.0), (22, -1e6, 1e6), (23, 0.0, 1e-9)] {
            let far = others(seed, from, to, sin, libm::sin) + others(seed + 10, from, to, cos, libm::cos);
            assert!(far <= 500, "{far} of 2,000");
        }
        // Next to multiples of a quarter turn, little is left.
        for quarters in 1..600_000u32 {
            let x = f64::from(quarters) * std::f64::consts::FRAC_PI_2;
            let near = if quarters % 2 == 0 { (sin(x), libm::sin(x)) } else { (cos(x), libm::cos(x)) };
            assert!(apart(near.0, near.1) <= 1, "{x:?}: {near:?}");
        }
        assert_eq!((sin(0.0), sin(-0.0).is_sign_negative(), cos(0.0), cos(1e-300)), (0.0, true, 1.0, 1.0));
    }

    #[test]
    fn what_is_whole_is_exact() {
        let mut power = 1.0;
        for n in 0..=22 {
            assert_eq!((log10(power), pow(10.0, n.into())), (n.into(), power));
            power *= 10.0;
        }
        for n in -1022..=1023 {
            assert_eq!(log2(2f64.powi(n)), n.into());
        }
        assert_eq!((log10(0.001), ln(1.0), exp(0.0), pow(27.0, 1.0 / 3.0)), (-3.0, 0.0, 1.0, 3.0));
        for (base, power) in [(3.0, 33), (7.0, 18), (1.5, 30), (-2.5, 9)] {
            assert_eq!(pow(base, power.into()), (0..power).fold(1.0, |all, _| all * base));
        }
    }

    #[test]
    fn at_the_ends_they_are_those_of_the_crate() {
        let ends = [0.0, -0.0, 1e-310, f64::MIN_POSITIVE, f64::MAX, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for x in ends.into_iter().chain([709.0, 710.0, -708.0, -746.0, 5e-324, 2.0, 0.5]) {
            for (own, known) in
                [(exp(x), libm::exp(x)), (ln(x), libm::log(x)), (log2(x), libm::log2(x)), (log10(x), libm::log10(x))]
            {
                assert!(
                    own == known || own.is_nan() && known.is_nan() || apart(own, known) <= 1,
                    "{x:?}: {own:?} {known:?}"
                );
            }
            for y in ends.into_iter().chain([2.0, 1e308, -1e308, 0.5, 1075.0]) {
                let (own, known) = (pow(x, y), libm::pow(x, y));
                assert!(
                    own == known || own.is_nan() && known.is_nan() || apart(own, known) <= 1,
                    "{x:?} {y:?}: {own:?} {known:?}"
                );
            }
        }
    }
}
