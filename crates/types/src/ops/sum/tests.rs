use super::*;
use base::Random;

/// A sum as a worker keeps it.
#[derive(Clone, Default)]
struct Sum(Pair, LongSum);

impl Sum {
    fn add(&mut self, x: f64) {
        if !self.0.add(x) {
            self.1.add_pair(std::mem::take(&mut self.0));
            if !self.0.add(x) {
                self.1.add(x);
            }
        }
    }
    fn round(mut self) -> Result<f64> {
        self.1.add_pair(self.0);
        self.1.round()
    }
}

/// Values of all sizes and kinds, often near each other.
fn value(random: &mut Random, spread: u64) -> f64 {
    match random.below(20) {
        0 => [0.0, -0.0, 5e-324, -2.5e-310, f64::MIN_POSITIVE, 1.0, -1.0][random.below(7) as usize],
        1 => random.below(1000) as f64 - 500.0,
        _ => {
            let exponent = (1023 - spread / 2 + random.below(spread)).min(2046);
            f64::from_bits(random.bits() & !(0x7ff << 52) | exponent << 52)
        }
    }
}

fn shuffle(values: &mut [f64], random: &mut Random) {
    (1..values.len()).for_each(|i| values.swap(i, random.below(i as u64 + 1) as usize));
}

#[test]
fn a_sum_does_not_depend_on_order_nor_on_who_adds() {
    let mut random = Random(1);
    for round in 0..400 {
        let spread = [2, 10, 60, 400, 2000][round % 5];
        let mut values: Vec<f64> = (0..1 + random.below(300)).map(|_| value(&mut random, spread)).collect();
        // Much of it cancels.
        let copies: Vec<f64> = values.iter().filter(|_| random.below(2) == 0).map(|x| -x).collect();
        values.extend(copies);
        let mut expected = LongSum::default();
        values.iter().for_each(|&x| expected.add(x));
        let expected = expected.round();
        for _ in 0..4 {
            shuffle(&mut values, &mut random);
            let mut parts = vec![Sum::default(); 3];
            values.iter().for_each(|&x| parts[random.below(3) as usize].add(x));
            let mut all = Sum::default();
            for part in parts {
                all.1.merge(&part.1);
                [part.0.high, part.0.low].into_iter().for_each(|x| all.add(x));
            }
            assert_eq!(all.round().map(f64::to_bits), expected.clone().map(f64::to_bits));
        }
    }
}

#[test]
fn sums_of_integers_are_rounded_once() {
    let mut random = Random(2);
    for _ in 0..2000 {
        let mut sum = Sum::default();
        let mut exact = 0i128;
        for _ in 0..random.below(20) {
            let x = (random.wide() >> 20) as f64;
            exact += x as i128;
            sum.add(x);
        }
        assert_eq!(sum.round(), Ok(exact as f64));
    }
}

#[test]
fn rounding_is_to_the_nearest_and_even() {
    let sum = |values: &[f64]| {
        let mut long = LongSum::default();
        values.iter().for_each(|&x| long.add(x));
        long.round()
    };
    let two = |e: i32| 2f64.powi(e);
    assert_eq!(sum(&[1.0, two(-53)]), Ok(1.0));
    assert_eq!(sum(&[1.0, two(-53), 5e-324]), Ok(1.0 + two(-52)));
    assert_eq!(sum(&[1.0 + two(-52), two(-53)]), Ok(1.0 + two(-51)));
    assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), Ok(f64::MAX));
    assert_eq!(sum(&[f64::MAX, two(969)]), Ok(f64::MAX));
    assert_eq!(sum(&[f64::MAX, two(970)]).unwrap_err().state().0, "22003");
    assert_eq!(sum(&[-f64::MAX, -f64::MAX]).unwrap_err().state().0, "22003");
    assert_eq!(sum(&[5e-324, 5e-324]), Ok(1e-323));
    assert_eq!(sum(&[f64::MIN_POSITIVE, -5e-324]), Ok(f64::MIN_POSITIVE - 5e-324));
    assert_eq!(sum(&[1e300, 1.0, -1e300]), Ok(1.0));
    assert_eq!(sum(&[]).map(f64::to_bits), Ok(0));
    assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).unwrap().is_nan());
    assert_eq!(sum(&[f64::NEG_INFINITY, 1.0]), Ok(f64::NEG_INFINITY));
}

#[test]
fn every_double_is_its_own_sum() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let x = f64::from_bits(random.bits());
        let mut long = LongSum::default();
        long.add(x);
        let expected = if x == 0.0 { 0.0 } else { x };
        assert!(x.is_nan() || long.round() == Ok(expected), "{x:e}");
    }
}

#[test]
fn a_pair_refuses_what_it_cannot_hold() {
    let mut pair = Pair::default();
    assert!(pair.add(1e300) && pair.add(1.0));
    assert!(!pair.add(1e-300));
    assert_eq!(pair, Pair { high: 1e300, low: 1.0 });
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let mut pair = Pair { high: f64::MAX, low: 0.0 };
        assert!(!pair.add(x), "{x}");
    }
}

#[test]
fn squares_are_exact() {
    let mut random = Random(4);
    for _ in 0..20_000 {
        let x = value(&mut random, 900);
        let Some((square, rest)) = two_square(x) else { continue };
        let (mut a, mut b) = (LongSum::default(), LongSum::default());
        a.add_square(x);
        b.add(square);
        b.add(rest);
        assert!(a.magnitude().minus(b.magnitude()).digits.is_empty(), "{x:e}");
    }
    assert_eq!((two_square(1e-200), two_square(1e200)), (None, None));
}

fn variance_of(values: &[f64], sample: bool) -> Result<f64> {
    let (mut sum, mut squares) = (LongSum::default(), LongSum::default());
    for &x in values {
        sum.add(x);
        squares.add_square(x);
    }
    variance(values.len() as u64, &sum, &squares, sample, 0)
}

#[test]
fn variances() {
    assert_eq!(variance_of(&[1.0, 2.0, 3.0, 4.0], true), Ok(5.0 / 3.0));
    assert_eq!(variance_of(&[1.0, 2.0, 3.0, 4.0], false), Ok(1.25));
    assert_eq!(variance_of(&[7.5; 9], true), Ok(0.0));
    // Nothing cancels.
    let far = [1e15, 1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0];
    assert_eq!(variance_of(&far, false), Ok(1.25));
    assert_eq!(variance_of(&[1e-200, 3e-200], false), Ok(0.0));
    assert_eq!(variance_of(&[1e-160, 3e-160], false), Ok(1e-320));
    assert_eq!(variance_of(&[1e200, 3e200], false).unwrap_err().state().0, "22003");
    let wide = variance_of(&[1e154, 3e154, 1e154], false).unwrap();
    assert!((wide / (8.0 / 9.0) - 1e308).abs() < 1e294, "{wide}");
    assert!(variance_of(&[f64::INFINITY], false).unwrap().is_nan());
    let mut random = Random(5);
    for _ in 0..200 {
        let values: Vec<f64> = (0..3 + random.below(50)).map(|_| random.below(1 << 40) as f64 / 1024.0).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let expected = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let got = variance_of(&values, false).unwrap();
        assert!((got / expected - 1.0).abs() < 1e-12, "{got} {expected}");
    }
}

#[test]
fn variances_of_small_integers_are_those_of_doubles() {
    let mut random = Random(8);
    for round in 0..500 {
        let most = [2, 1000, 1 << 25][round % 3];
        let values: Vec<i64> = (0..2 + random.below(40)).map(|_| random.below(2 * most) as i64 - most as i64).collect();
        let doubles: Vec<f64> = values.iter().map(|&x| x as f64).collect();
        let (sum, squares) = (values.iter().sum(), values.iter().map(|x| x * x).sum());
        let sample = round % 2 == 0;
        let got = variance_of_integers(values.len() as u64, sum, squares, sample, 0);
        assert_eq!(got.map(f64::to_bits), variance_of(&doubles, sample).map(f64::to_bits), "{values:?}");
    }
}

#[test]
fn moments_of_integers_are_those_of_doubles() {
    let mut random = Random(6);
    for round in 0..300 {
        let most = [3, 1000, 1 << 31][round % 3];
        let (mut doubles, mut integers) = (Moments::default(), IntegerMoments::default());
        for _ in 0..1 + random.below(40) {
            let [y, x] = [0; 2].map(|_| random.below(2 * most) as i64 - most as i64);
            // Many equal pairs make sums that fit no 128 bits when they are multiplied.
            let times = if round % 7 == 0 { 1 << 24 } else { 1 };
            doubles.count += times;
            for (sum, value) in [(&mut doubles.y, y), (&mut doubles.x, x)] {
                sum.merge(&LongSum::of_integer(i128::from(value) * i128::from(times)));
            }
            for (sum, [a, b]) in [(&mut doubles.yy, [y, y]), (&mut doubles.xx, [x, x]), (&mut doubles.xy, [x, y])] {
                sum.merge(&LongSum::of_integer(i128::from(a * b) * i128::from(times)));
            }
            integers.count += times;
            let times = i128::from(times);
            let [y, x] = [y, x].map(i128::from);
            integers.y += y * times;
            integers.x += x * times;
            integers.yy += y * y * times;
            integers.xx += x * x * times;
            integers.xy += x * y * times;
        }
        fn all(moments: &impl PairMoments) -> [u64; 5] {
            [moments.y(), moments.x(), moments.yy(), moments.xx(), moments.xy()].map(|value| value.unwrap().to_bits())
        }
        assert_eq!(all(&doubles), all(&integers), "round {round}");
    }
}
