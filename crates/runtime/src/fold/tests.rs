//! Folds beside loops that take one value after the other.

use base::{Budget, Random};
use types::ops::sum::{LongSum, variance};
use types::value::compare_floats;

use super::*;
use crate::query::QueryContext;
use crate::testing::program;

/// An accumulator with room for the largest, and its `seen`.
#[repr(C, align(16))]
struct Accumulator([u8; 48], u8);

/// Some rows: flags, if any is NULL, and positions, if not all are taken.
struct Case {
    nulls: Option<Vec<u8>>,
    positions: Option<Vec<u32>>,
    rows: usize,
}

fn cases(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for round in 0..120 {
        let rows = [1, 3, 63, 500, BATCH][round % 5];
        let share = [2, 7, 1][round % 3];
        let nulls = (round % 2 == 0).then(|| (0..rows).map(|_| random.one_in(share).into()).collect());
        let count = 1 + random.index(BATCH);
        let positions = (round % 4 < 2).then(|| (0..count).map(|_| random.index(rows) as u32).collect());
        cases.push(Case { nulls, positions, rows });
    }
    cases
}

/// Folds values twice, so that an accumulator is added to, and gives what `expected` makes of those that are not NULL.
fn check<T: Copy>(kind: FoldKind, ty: Ty, mut value: impl FnMut(&mut Random) -> T, check: impl Fn(&Accumulator, &[T])) {
    let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
    let mut worker = context.worker(0);
    let worker: &mut Worker = &mut worker;
    let mut random = Random(5);
    for Case { nulls, positions, rows } in cases(&mut random) {
        let mut accumulator = Accumulator([0; 48], 0);
        let mut taken = Vec::new();
        for _ in 0..2 {
            let values: Vec<T> = (0..rows).map(|_| value(&mut random)).collect();
            let (count, places) = match &positions {
                Some(positions) => (positions.len(), positions.as_ptr()),
                None => (rows, std::ptr::null()),
            };
            let flags = nulls.as_ref().map_or(std::ptr::null(), |n| n.as_ptr());
            let at = accumulator.0.as_mut_ptr();
            // SAFETY: as many values, flags and positions as are told, and an accumulator of any size.
            let failed = unsafe {
                fold_function(kind, ty)(
                    worker,
                    at,
                    &mut accumulator.1,
                    values.as_ptr().cast(),
                    flags,
                    places,
                    count as u64,
                )
            };
            assert_eq!(failed, 0);
            let place = |i: usize| positions.as_ref().map_or(i, |p| p[i] as usize);
            let is_there = |&row: &usize| nulls.as_ref().is_none_or(|n| n[row] == 0);
            taken.extend((0..count).map(place).filter(is_there).map(|row| values[row]));
        }
        if !matches!(kind, FoldKind::Count | FoldKind::Variance) {
            assert_eq!(accumulator.1 == 1, !taken.is_empty());
        }
        check(&accumulator, &taken);
    }
}

fn wide(accumulator: &Accumulator) -> i128 {
    i128::from_le_bytes(accumulator.0[..16].try_into().unwrap())
}

fn double(accumulator: &Accumulator) -> f64 {
    f64::from_le_bytes(accumulator.0[..8].try_into().unwrap())
}

#[test]
fn counts() {
    check(FoldKind::Count, Ty::I16, |r| r.bits() as i16, |a, taken| assert_eq!(wide(a) as usize, taken.len()));
}

#[test]
fn sums_of_integers() {
    let any = |r: &mut Random| {
        let bits = r.bits() as i64;
        r.pick(&[i64::MIN, i64::MAX, bits, -1])
    };
    let total = |a: &Accumulator, taken: &mut dyn Iterator<Item = i128>| assert_eq!(wide(a), taken.sum::<i128>());
    check(FoldKind::Sum, Ty::I64, any, |a, taken| total(a, &mut taken.iter().map(|&x| x.into())));
    check(FoldKind::Sum, Ty::I32, |r| any(r) as i32, |a, taken| total(a, &mut taken.iter().map(|&x| x.into())));
    check(FoldKind::Sum, Ty::I16, |r| any(r) as i16, |a, taken| total(a, &mut taken.iter().map(|&x| x.into())));
}

#[test]
fn sums_of_wide_integers_count_what_is_carried() {
    let any = |r: &mut Random| r.pick(&[i128::MIN, i128::MAX, i128::MIN / 3, i128::MAX / 5, -1]);
    check(FoldKind::Sum, Ty::I128, any, |a, taken| {
        let carries = i64::from_le_bytes(a.0[16..24].try_into().unwrap());
        // In halves of 64 bits, which cannot overflow.
        let (mut high, mut low) = (0i128, 0i128);
        for x in taken {
            high += x >> 64;
            low += x & i128::from(u64::MAX);
        }
        let high = high + (low >> 64);
        let (total, low) = (i128::from(carries) << 64, low & i128::from(u64::MAX));
        assert_eq!((total + (wide(a) >> 64), wide(a) & i128::from(u64::MAX)), (high, low));
    });
}

#[test]
fn sums_of_integers_as_doubles() {
    let rounded = |r: &mut Random| (1 << 53) + r.bits() as i64 % 1000;
    check(FoldKind::SumAsDouble, Ty::I64, rounded, |a, taken| {
        let lost = f64::from_le_bytes(a.0[8..16].try_into().unwrap());
        assert_eq!(double(a) as i128 + lost as i128, taken.iter().map(|&x| x as f64 as i128).sum::<i128>());
    });
    let total = |a: &Accumulator, taken: &mut dyn Iterator<Item = f64>| assert_eq!(double(a), taken.sum::<f64>());
    let bits = |r: &mut Random| r.bits() as i32;
    check(FoldKind::SumAsDouble, Ty::I32, bits, |a, taken| total(a, &mut taken.iter().map(|&x| x.into())));
    check(
        FoldKind::SumAsDouble,
        Ty::I16,
        |r| r.bits() as i16,
        |a, taken| {
            total(a, &mut taken.iter().map(|&x| x.into()));
        },
    );
}

#[test]
fn variances_are_those_of_exact_sums() {
    let agree = |a: &Accumulator, taken: &mut dyn Iterator<Item = f64>| {
        let (mut count, mut sum, mut squares) = (0, LongSum::default(), LongSum::default());
        for x in taken {
            count += 1;
            sum.add(x);
            squares.add_product(x, x);
        }
        // SAFETY: the accumulator of one, whose memory the worker's query would keep; nothing has outgrown it or it is there.
        let own = unsafe { (*a.0.as_ptr().cast::<ExactVariance>()).variance(false, 0) };
        let expected = if count == 0 { Ok(0.0) } else { variance(count, &sum, &squares, false, 0) };
        assert_eq!(own.map(f64::to_bits), expected.map(f64::to_bits));
    };
    // Of one size, of many, and those whose squares are none.
    for powers in [1, 60, 900] {
        let any = move |r: &mut Random| {
            let sign = if r.one_in(2) { -1.0 } else { 1.0 };
            sign * f64::from_bits(r.bits() & !(0x7ff << 52) | (1023 - powers / 2 + r.below(powers)) << 52)
        };
        check(FoldKind::Variance, Ty::F64, any, |a, taken| agree(a, &mut taken.iter().copied()));
    }
    check(
        FoldKind::Variance,
        Ty::F32,
        |r| r.bits() as i16 as f32 / 3.0,
        |a, taken| {
            agree(a, &mut taken.iter().map(|&x| x.into()));
        },
    );
    check(
        FoldKind::Variance,
        Ty::I32,
        |r| r.bits() as i32,
        |a, taken| {
            agree(a, &mut taken.iter().map(|&x| x.into()));
        },
    );
    let small = |r: &mut Random| r.bits() as i64 >> 20;
    check(FoldKind::Variance, Ty::I64, small, |a, taken| agree(a, &mut taken.iter().map(|&x| x as f64)));
    // Beyond what doubles have, but for even ones.
    let large = |r: &mut Random| (r.bits() as i64 >> 3) << 12;
    check(FoldKind::Variance, Ty::I64, large, |a, taken| agree(a, &mut taken.iter().map(|&x| x as f64)));
}

#[test]
fn sums_of_floats() {
    let value = |r: &mut Random| (r.index(2000) as f64 - 1000.0) / 8.0;
    check(FoldKind::Sum, Ty::F64, value, |a, taken| assert_eq!(double(a), taken.iter().sum::<f64>()));
    check(
        FoldKind::Sum,
        Ty::F32,
        |r| value(r) as f32,
        |a, taken| {
            assert_eq!(double(a), taken.iter().map(|&x| f64::from(x)).sum::<f64>());
        },
    );
}

#[test]
fn least_and_greatest() {
    let small = |r: &mut Random| r.index(50) as i64 - 25;
    check(FoldKind::Min, Ty::I64, small, |a, taken| {
        let expected = taken.iter().min().copied().unwrap_or(0);
        assert_eq!(wide(a) as i64, expected);
    });
    check(
        FoldKind::Max,
        Ty::I128,
        |r| i128::from(small(r)) << 70,
        |a, taken| {
            assert_eq!(wide(a), taken.iter().max().copied().unwrap_or(0));
        },
    );
    let float =
        |r: &mut Random| r.pick(&[-0.0, 0.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, 7.25]);
    let order = |a: &f64, b: &f64| compare_floats(*a, *b).then_with(|| a.total_cmp(b));
    let same = |a: f64, b: f64| assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{a} {b}");
    check(FoldKind::Min, Ty::F64, float, |a, taken| {
        same(double(a), taken.iter().copied().min_by(order).unwrap_or(0.0));
    });
    check(FoldKind::Max, Ty::F64, float, |a, taken| {
        same(double(a), taken.iter().copied().max_by(order).unwrap_or(0.0));
    });
    check(
        FoldKind::Max,
        Ty::F32,
        |r| float(r) as f32,
        |a, taken| {
            let own = f32::from_le_bytes(a.0[..4].try_into().unwrap());
            let expected = taken.iter().map(|&x| f64::from(x)).max_by(order).unwrap_or(0.0);
            same(own.into(), expected);
        },
    );
}
