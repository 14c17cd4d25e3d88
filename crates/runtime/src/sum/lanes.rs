//! Sums of many doubles at once, in lanes.

use types::ops::sum::{Pair, SQUARES, two_square, two_sum};

/// Sums in lanes: as many as two of the widest registers hold of doubles, as an addition takes longer than a cycle. (Of 8
/// lanes the compiler makes scalar code.)
const LANES: usize = 16;

/// The sum of all values by lanes, if that is exact. (Too large a loop for `base::simd::vectorised`: the compiler would not
/// inline its closure, so it would have the vectors of any processor.)
pub fn sum_of(values: &[f64]) -> Option<[Pair; LANES]> {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { sum_avx512(values) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { sum_avx2(values) };
        }
    }
    sum_in_lanes(values)
}

/// The sum of the squares of all values by lanes, the rounded sum and what that has lost, if it is exact.
pub(super) fn squares_of(values: &[f64]) -> Option<[(f64, Pair); LANES]> {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { squares_avx512(values) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has them.
            return unsafe { squares_avx2(values) };
        }
    }
    squares_in_lanes(values, |x, _| two_square(x).map_or(f64::NAN, |(_, rest)| rest))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn squares_avx512(values: &[f64]) -> Option<[(f64, Pair); LANES]> {
    squares_in_lanes(values, |x, square| x.mul_add(x, -square))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn squares_avx2(values: &[f64]) -> Option<[(f64, Pair); LANES]> {
    squares_in_lanes(values, |x, square| x.mul_add(x, -square))
}

/// As [`sum_in_lanes`]; `rest` is what rounding a square has lost.
#[inline(always)]
fn squares_in_lanes(values: &[f64], rest: impl Fn(f64, f64) -> f64) -> Option<[(f64, Pair); LANES]> {
    let (mut first, mut high, mut low) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut inexact = [0u64; LANES];
    let mut add = |values: &[f64; LANES]| {
        for i in 0..LANES {
            let x = values[i];
            let square = x * x;
            let rest = rest(x, square);
            // Else the rest might be too small, or a part too large.
            let is_fine = x == 0.0 || SQUARES.contains(&x.abs());
            inexact[i] |= u64::from(!is_fine);
            let (sum, lost) = two_sum(first[i], square);
            first[i] = sum;
            for part in [lost, rest] {
                let (sum, lost) = two_sum(high[i], part);
                let next = low[i] + lost;
                inexact[i] |= ((next - low[i]) - lost).to_bits() | ((next - lost) - low[i]).to_bits();
                high[i] = sum;
                low[i] = next;
            }
        }
    };
    let (full, rest) = values.as_chunks::<LANES>();
    full.iter().for_each(&mut add);
    add(&filled_up(rest));
    are_exact(&inexact).then(|| std::array::from_fn(|i| (first[i], Pair { high: high[i], low: low[i] })))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sum_avx512(values: &[f64]) -> Option<[Pair; LANES]> {
    sum_in_lanes(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(values: &[f64]) -> Option<[Pair; LANES]> {
    sum_in_lanes(values)
}

/// Value i goes to lane i modulo [`LANES`]; each step is that of [`Pair::add`], whose test is made once at the end.
#[inline(always)]
fn sum_in_lanes(values: &[f64]) -> Option<[Pair; LANES]> {
    let (mut high, mut low, mut inexact) = ([0.0; LANES], [0.0; LANES], [0u64; LANES]);
    let mut add = |values: &[f64; LANES]| {
        for i in 0..LANES {
            let (sum, lost) = two_sum(high[i], values[i]);
            let next = low[i] + lost;
            inexact[i] |= ((next - low[i]) - lost).to_bits() | ((next - lost) - low[i]).to_bits();
            high[i] = sum;
            low[i] = next;
        }
    };
    let (full, rest) = values.as_chunks::<LANES>();
    full.iter().for_each(&mut add);
    add(&filled_up(rest));
    are_exact(&inexact).then(|| std::array::from_fn(|i| Pair { high: high[i], low: low[i] }))
}

/// The values behind the last full lanes, and zeros, which change no sum.
#[inline(always)]
fn filled_up(rest: &[f64]) -> [f64; LANES] {
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    last
}

/// Whether no lane has noted a loss.
#[inline(always)]
fn are_exact(inexact: &[u64; LANES]) -> bool {
    inexact.iter().fold(0, |all, &lane| all | lane) == 0
}
