use super::*;
use crate::ops::Bad;
use base::Random;

/// A natural number as bits, lowest first: the schoolbook reference of the 256-bit arithmetic.
type Bits = Vec<bool>;

fn bits(mut value: u128) -> Bits {
    let mut out = vec![];
    while value > 0 {
        out.push(value & 1 == 1);
        value >>= 1;
    }
    out
}
fn slow_add(a: &Bits, b: &Bits) -> Bits {
    let (mut out, mut carry) = (vec![], false);
    for i in 0..a.len().max(b.len()) + 1 {
        let (x, y) = (a.get(i) == Some(&true), b.get(i) == Some(&true));
        out.push(x ^ y ^ carry);
        carry = (x && y) || (carry && (x || y));
    }
    trimmed(out)
}
fn trimmed(mut a: Bits) -> Bits {
    while a.last() == Some(&false) {
        a.pop();
    }
    a
}
fn slow_mul(a: &Bits, b: &Bits) -> Bits {
    let mut out = vec![];
    for (i, _) in b.iter().enumerate().filter(|(_, bit)| **bit) {
        let mut shifted = vec![false; i];
        shifted.extend(a);
        out = slow_add(&out, &shifted);
    }
    trimmed(out)
}
fn of(wide: U256) -> Bits {
    let mut out = bits(wide.low);
    out.resize(128, false);
    out.extend(bits(wide.high));
    trimmed(out)
}

#[test]
fn wide_arithmetic_agrees_with_the_schoolbook() {
    let mut random = Random(3);
    for _ in 0..3000 {
        let (a, b) = (random.wide().unsigned_abs(), random.wide().unsigned_abs().max(1));
        let product = U256::product(a, b);
        assert_eq!(of(product), slow_mul(&bits(a), &bits(b)));
        let (high, low) = ((random.wide() as u128) % b, random.wide() as u128);
        let (quotient, remainder) = U256 { high, low }.div_rem(b).unwrap();
        assert!(remainder < b);
        let back = slow_add(&slow_mul(&bits(quotient), &bits(b)), &bits(remainder));
        assert_eq!(back, of(U256 { high, low }));
        assert_eq!(U256 { high: b, low }.div_rem(b), None);
        let c = random.wide().unsigned_abs();
        let slow = slow_mul(&of(product), &bits(c));
        assert_eq!(product.checked_mul(c).map(of), (slow.len() <= 256).then_some(slow));
    }
}

#[test]
fn quotients_round_half_away_from_zero() {
    assert_eq!(div(1, 0, 3, 0, 4), Ok(3333));
    assert_eq!(div(2, 0, 3, 0, 4), Ok(6667));
    assert_eq!(div(-1, 0, 2, 0, 0), Ok(-1));
    assert_eq!(div(1, 0, 2, 0, 0), Ok(1));
    assert_eq!(div(1, 30, 1, 0, 0), Ok(0));
    assert_eq!(div(POWERS[37], 37, 3 * POWERS[37], 37, 37).unwrap(), POWERS[37] / 3);
    assert_eq!(div(1, 0, 0, 0, 2).unwrap_err().to_string(), "22012: division by zero");
    assert_eq!(div(POWERS[37], 0, 1, 38, 38).unwrap_err().message(), "value overflows numeric format");
    assert_eq!(div(0, 0, 1, 38, 38), Ok(0));
    assert_eq!(div(7, 0, 3 * POWERS[37], 38, 30).unwrap(), 7 * POWERS[31] / 3);
    assert_eq!(div(-POWERS[38] + 1, 38, POWERS[38] - 1, 0, 38), Ok(-1));
    assert_eq!(avg(10, 2, 4, 6), Ok(25000));
    // Within 128 bits against plain arithmetic.
    let mut random = Random(4);
    for _ in 0..5000 {
        let (a, b) = (random.bits() as i32 as i128, i128::from(random.bits() as i32 >> random.below(31)));
        if b == 0 {
            continue;
        }
        let scaled = 2 * a * POWERS[9] / b;
        let expected = (scaled + scaled.signum()) / 2;
        assert_eq!(div(a, 3, b, 4, 8), Ok(expected), "{a} / {b}");
    }
}

#[test]
fn products_pass_through_256_bits() {
    let a = POWERS[37];
    assert_eq!(mul(a, 10).unwrap_err().state().0, "22003");
    assert_eq!(mul_round(a, a, 37), Ok(a));
    assert_eq!(mul_round(-a, 15, 38), Ok(-2));
    assert!(mul_round(a, a, 10).is_err());
    assert_eq!(mul_round(3, 5, 1), Ok(2));
}

#[test]
fn rescaling_rounds_and_checks() {
    assert_eq!(rescale(125, 2, 1), Ok(13));
    assert_eq!(rescale(-125, 2, 1), Ok(-13));
    assert_eq!(rescale(124, 2, 1), Ok(12));
    assert_eq!(rescale(5, 0, 3), Ok(5000));
    assert_eq!(rescale(0, 0, 38), Ok(0));
    assert!(rescale(POWERS[20], 0, 20).is_err());
    let error = rescale_to(99999, 2, 4, 1).unwrap_err();
    assert_eq!(error.message(), "numeric field overflow");
    let detail = "A field with precision 4, scale 1 must round to an absolute value less than 10^3.";
    assert_eq!(error.get_detail(), Some(detail));
    assert!(fits(999, 3) && !fits(1000, 3) && fits(-999, 3));
}

#[test]
fn rounding_to_digits() {
    assert_eq!(round(12345, 2, 1), Ok(12350));
    assert_eq!(round(-12345, 2, 1), Ok(-12350));
    assert_eq!(round(15000, 2, -2), Ok(20000));
    assert_eq!(round(12345, 2, 5), Ok(12345));
    assert_eq!(round(12345, 2, -60), Ok(0));
    assert_eq!(trunc(12399, 2, 0), Ok(12300));
    assert_eq!((ceil(101, 2), ceil(-101, 2), floor(101, 2), floor(-101, 2)), (2, -1, 1, -2));
    assert!(round(POWERS[38] - 1, 0, -1).is_err());
}

#[test]
fn texts_read_and_print() {
    assert_eq!(parse(b"1.005", 10, 2), Ok(101));
    assert_eq!(parse(b" -1.004 ", 10, 2), Ok(-100));
    assert_eq!(parse(b".5", 10, 0), Ok(1));
    assert_eq!(parse(b"5.", 10, 1), Ok(50));
    assert_eq!(parse(b"1.5e3", 10, 2), Ok(150000));
    assert_eq!(parse(b"15E-3", 10, 2), Ok(2));
    assert_eq!(parse(b"0e90", 10, 2), Ok(0));
    assert_eq!(parse(b"1e-99999", 10, 2), Ok(0));
    assert_eq!(parse(b"1e99", 10, 2), Err(Bad::Range));
    assert_eq!(parse(b"123456789", 8, 0), Err(Bad::Range));
    assert_eq!(parse(b"99.995", 4, 2), Err(Bad::Range));
    for bad in ["", ".", "-", "1.2.3", "1e", "1e ", "e5", "1 2", "abc", "NaN", "1_", "- 1", "-.", "1ee5", "+-1"] {
        assert_eq!(parse(bad.as_bytes(), 10, 2), Err(Bad::Syntax), "{bad}");
    }
    assert_eq!(parse_exact(b"1.50"), Ok(Exact { digits: 150, scale: 2, precision: 3 }));
    assert_eq!(parse_exact(b"0.001"), Ok(Exact { digits: 1, scale: 3, precision: 3 }));
    assert_eq!(parse_exact(b"1.5e3"), Ok(Exact { digits: 1500, scale: 0, precision: 4 }));
    assert_eq!(parse_exact(b"0"), Ok(Exact { digits: 0, scale: 0, precision: 1 }));
    assert_eq!(parse_exact(&[b'9'; 39]), Err(Bad::Range));
    assert_eq!(parse_exact(format!("1.{}", "3".repeat(50)).as_bytes()), Err(Bad::Range));
    assert_eq!(parse_exact(format!("1.{}", "0".repeat(50)).as_bytes()).unwrap().scale, 37);
    assert_eq!(parse_exact(b"1e-39"), Err(Bad::Range));
    assert_eq!([format(5, 3), format(-5, 0), format(0, 2), format(12345, 2)], ["0.005", "-5", "0.00", "123.45"]);
    let mut random = Random(5);
    for _ in 0..10_000 {
        let value = random.wide() % POWERS[38];
        let scale = random.below(39) as u8;
        assert_eq!(parse(format(value, scale).as_bytes(), 38, scale), Ok(value));
        assert_eq!(format(value, 0), value.to_string());
    }
}

#[test]
fn floats_convert_through_their_digits() {
    assert_eq!(from_f64(0.1 + 0.2, 20, 18), Ok(300_000_000_000_000_000));
    assert_eq!(from_f64(2.5, 10, 0), Ok(3));
    assert_eq!(from_f32(0.1, 10, 8), Ok(10_000_000));
    assert!(from_f64(f64::NAN, 10, 0).is_err() && from_f64(1e30, 10, 0).is_err());
    assert_eq!(to_f64(12345, 2), 123.45);
    assert_eq!(to_f64(-123_456_789_012_345_678_901_234_567_890, 20), -1_234_567_890.123_456_8);
    assert_eq!((to_i64(250, 2), to_i64(-250, 2), to_i64(POWERS[30], 0)), (Some(3), Some(-3), None));
}

#[test]
fn no_value_panics() {
    let mut random = Random(13);
    let edges = [i128::MIN, i128::MIN + 1, -1, 0, 1, i128::MAX, POWERS[38], -POWERS[38] + 1];
    for _ in 0..20_000 {
        let mut any = || if random.below(3) == 0 { edges[random.below(8) as usize] } else { random.wide() };
        let (a, b) = (any(), any());
        let (s, t, u) = (random.below(39) as u8, random.below(39) as u8, random.below(39) as u8);
        let _ = (add(a, b), sub(a, b), mul(a, b), mul_round(a, b, s), mul_round(a, b, s + t), div(a, s, b, t, u));
        let _ = (rem(a, b), rescale(a, s, t), rescale_to(a, s, t.max(u).max(1), t.min(u)), avg(a, s, b as i64, t));
        let digits = random.below(200) as i32 - 100;
        let _ = (round(a, s, digits), trunc(a, s, digits), ceil(a, s), floor(a, s), round(a, s, i32::MIN));
        let _ = (round_digits(a, s, digits, Rounding::Up), round_digits(a, s, digits, Rounding::Down));
        let _ = (to_f64(a, s), to_f32(a, s), to_i64(a, s), from_f64(f64::from_bits(a as u64), 38, s));
    }
    let alphabet = b"0123456789.eE+- ";
    for _ in 0..50_000 {
        let length = random.below(50) as usize;
        let text: Vec<u8> = (0..length).map(|_| alphabet[random.below(16) as usize]).collect();
        let _ = (parse(&text, 38, random.below(39) as u8), parse_exact(&text));
    }
}

#[test]
fn averages_are_quotients() {
    let mut random = Random(5);
    for _ in 0..20_000 {
        let sum = random.wide() >> random.below(127);
        let bits = random.below(63);
        let count = 1 + random.below(1 << bits) as i64;
        let (scale, result) = (random.below(20) as u8, random.below(39) as u8);
        assert_eq!(avg(sum, scale, count, result), div(sum, scale, count.into(), 0, result));
    }
    for sum in [i64::MIN, i64::MAX] {
        assert_eq!(avg(sum.into(), 0, 1, 18), div(sum.into(), 0, 1, 0, 18));
    }
}
