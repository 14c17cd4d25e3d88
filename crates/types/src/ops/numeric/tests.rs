//! Forms in order, and what PostgreSQL 15 says to the same calls.

use std::cmp::Ordering;

use super::*;

fn n(text: &str) -> Numeric {
    parse(text.as_bytes()).unwrap_or_else(|bad| panic!("{text}: {bad:?}"))
}

fn text(value: &Numeric) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

const NUMBERS: &[&str] = &[
    "-Infinity",
    "-1e131000",
    "-1e61",
    "-1e60",
    "-123456789012345678901234567890123456789012345678901234567890.5",
    "-1e59",
    "-101",
    "-100.5",
    "-100.05",
    "-100",
    "-99.99",
    "-10",
    "-1.55",
    "-1.5",
    "-1.05",
    "-1",
    "-0.99",
    "-0.5",
    "-0.05",
    "-0.005",
    "-1e-59",
    "-1e-60",
    "-1e-61",
    "-1e-16000",
    "0",
    "1e-16000",
    "1e-61",
    "1e-60",
    "1e-59",
    "0.005",
    "0.05",
    "0.5",
    "0.99",
    "1",
    "1.05",
    "1.5",
    "1.55",
    "9",
    "10",
    "11",
    "99.99",
    "100",
    "100.05",
    "100.5",
    "101",
    "1e59",
    "123456789012345678901234567890123456789012345678901234567890.5",
    "1e60",
    "1e61",
    "1e131000",
    "Infinity",
    "NaN",
];

#[test]
fn forms_are_ordered_as_numbers_are() {
    for (i, a) in NUMBERS.iter().enumerate() {
        for (j, b) in NUMBERS.iter().enumerate() {
            let (x, y) = (n(a), n(b));
            assert_eq!(encode(&x).cmp(&encode(&y)), i.cmp(&j), "{a} {b}");
            assert_eq!(x.compare(&y), i.cmp(&j), "{a} {b}");
        }
    }
}

#[test]
fn equal_numbers_have_one_form() {
    for number in NUMBERS {
        let value = n(number);
        assert_eq!(decode(&encode(&value)).compare(&value), Ordering::Equal, "{number}");
    }
    for number in ["1", "-1", "0", "100", "1.5", "-2.25", "123456789.123456789", "-0.0001"] {
        for zeros in [1, 2, 3, 130, 9_000] {
            let point = if number.contains('.') { "" } else { "." };
            let form = encode(&n(&format!("{number}{point}{}", "0".repeat(zeros))));
            assert_eq!(form, encode(&n(number)));
            assert_eq!(format(&form, 0), number);
        }
    }
    assert_eq!(format(&encode(&n("1.5")), 3), "1.500");
    // Usual numbers lie in the 12 bytes that a text has without memory of its own.
    assert!(encode(&n("1234567890123456.78")).len() <= 12);
}

#[test]
fn random_numbers_survive_their_forms() {
    let mut state = 1u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut all = Vec::new();
    for _ in 0..3_000 {
        let digits: String = (0..1 + next(45)).map(|_| char::from(b'0' + (next(10) * next(2)) as u8)).collect();
        let written = format!("{}{digits}e{}", if next(2) == 0 { "-" } else { "" }, next(40) as i64 - 30);
        let value = n(&written);
        let form = encode(&value);
        assert_eq!(decode(&form).compare(&value), Ordering::Equal, "{written}");
        all.push((form, value));
    }
    for pair in all.windows(2) {
        let [(f1, a), (f2, b)] = pair else { unreachable!() };
        assert_eq!(f1.cmp(f2), a.compare(b), "{} {}", text(a), text(b));
    }
}

#[test]
fn bad_texts_are_refused() {
    for bad in ["", ".", "1.2.3", "1e", "--1", "1 2", "infinit", "-NaN", "0x10"] {
        assert!(matches!(parse(bad.as_bytes()), Err(crate::ops::Bad::Syntax)), "{bad}");
    }
    for bad in ["1e131073", "1e200000"] {
        assert!(matches!(parse(bad.as_bytes()), Err(crate::ops::Bad::Range)), "{bad}");
    }
    assert_eq!(text(&n(" 1.50 ")), "1.50");
    assert_eq!(text(&n("1.50e1")), "15.0");
    assert_eq!(text(&n("1e-3")), "0.001");
    assert_eq!(text(&n("-iNf")), "-Infinity");
}

#[test]
fn arithmetic_has_the_digits_of_postgresql() {
    let two = |a: &str, b: &str, op: fn(&Numeric, &Numeric) -> Result<Numeric>| text(&op(&n(a), &n(b)).unwrap());
    assert_eq!(two("1.5", "2.25", Numeric::plus), "3.75");
    assert_eq!(two("1.50", "1.5", Numeric::minus), "0.00");
    assert_eq!(two("1.50", "2.0", Numeric::times), "3.000");
    assert_eq!(two("1", "3", Numeric::over), "0.33333333333333333333");
    assert_eq!(two("10.00", "4", Numeric::over), "2.5000000000000000");
    assert_eq!(two("123456789012345678901234567890", "7", Numeric::over), "17636684144620811271604938270");
    assert_eq!(two("-7.5", "2", Numeric::modulo), "-1.5");
    assert_eq!(two("7.5", "2", Numeric::whole_quotient), "3");
    assert_eq!(two("Infinity", "-Infinity", Numeric::plus), "NaN");
    assert_eq!(two("1", "Infinity", Numeric::over), "0");
    assert_eq!(two("12", "18.0", |a, b| Ok(a.gcd(b))), "6.0");
    assert_eq!(two("12", "18.0", Numeric::lcm), "36.0");
    assert_eq!(n("1").over(&n("0.0")).unwrap_err().state().0, "22012");
    assert_eq!(text(&n("-2.5").rounded(0).unwrap()), "-3");
    assert_eq!(text(&n("1250").rounded(-2).unwrap()), "1300");
    assert_eq!(text(&n("-2.567").truncated(2).unwrap()), "-2.56");
    assert_eq!((text(&n("-2.5").floor().unwrap()), text(&n("-2.5").ceil().unwrap())), ("-3".into(), "-2".into()));
    assert_eq!(text(&of_f64(0.1)), "0.1");
    assert_eq!(text(&of_f64(1e20)), "100000000000000000000");
    assert_eq!(text(&of_f64(123_456_789.123_456_79)), "123456789.123457");
    assert!(n("1e131071").times(&n("100")).is_err());
}

#[test]
fn functions_have_the_digits_of_postgresql() {
    let one = |a: &str, op: fn(&Numeric) -> Result<Numeric>| text(&op(&n(a)).unwrap());
    assert_eq!(one("2", Numeric::sqrt), "1.414213562373095");
    assert_eq!(one("2e20", Numeric::sqrt), "14142135623.73095");
    assert_eq!(one("0.00000123", Numeric::sqrt), "0.0011090536506409417");
    assert_eq!(one("0", Numeric::sqrt), "0.000000000000000");
    assert_eq!(one("1", Numeric::exp), "2.7182818284590452");
    assert_eq!(one("10.5", Numeric::exp), "36315.502674246638");
    assert_eq!(one("-20", Numeric::exp), "0.000000002061153622438558");
    assert_eq!(one("2", Numeric::ln), "0.6931471805599453");
    assert_eq!(one("1.0001", Numeric::ln), "0.00009999500033330834");
    assert_eq!(one("1e100", Numeric::ln), "230.25850929940457");
    let power = |a: &str, b: &str| text(&n(a).power(&n(b)).unwrap());
    assert_eq!(power("2", "100"), "1267650600228229401496703205376.0000000000000000");
    assert_eq!(power("2", "0.5"), "1.4142135623730950");
    assert_eq!(power("0.5", "40"), "0.0000000000009095");
    assert_eq!(power("12.34", "2"), "152.2756000000000000");
    assert_eq!(power("3", "-1"), "0.3333333333333333");
    assert_eq!(power("1.0000001", "1000000"), "1.1051709125497934");
    assert_eq!(power("-8", "3"), "-512.0000000000000000");
    assert_eq!(power("NaN", "0"), "1");
    assert_eq!(power("0.5", "Infinity"), "0");
    assert_eq!(text(&n("100").log(&n("10")).unwrap()), "2.0000000000000000");
    assert_eq!(text(&n("64.0").log(&n("2.0")).unwrap()), "6.0000000000000000");
    assert_eq!(n("-1").sqrt().unwrap_err().state().0, "2201F");
    assert_eq!(n("0").ln().unwrap_err().state().0, "2201E");
    assert_eq!(n("7000").exp().unwrap_err().state().0, "22003");
    assert_eq!(text(&Numeric::factorial(25).unwrap()), "15511210043330985984000000");
}

#[test]
fn statistics_are_exact() {
    let mut summary = Summary::new(true);
    for value in ["1.5", "2.25", "7"] {
        summary.add(n(value));
    }
    assert_eq!(text(&summary.sum().unwrap()), "10.75");
    assert_eq!(text(&summary.average().unwrap()), "3.5833333333333333");
    assert_eq!(text(&summary.variance(1).unwrap()), "8.8958333333333333");
    assert_eq!(text(&summary.deviation(1).unwrap()), "2.9825883613622134");
    summary.add(n("NaN"));
    assert_eq!(text(&summary.sum().unwrap()), "NaN");
}

#[test]
fn types_with_digits_round_and_refuse() {
    assert_eq!(text(&n("1.005").fitted(50, 2).unwrap()), "1.01");
    assert_eq!(text(&n("1251").fitted(3, -2).unwrap()), "1300");
    assert_eq!(text(&n("0.00123").fitted(2, 4).unwrap()), "0.0012");
    assert!(n("0.0123").fitted(2, 4).is_err());
    let error = n("Infinity").fitted(50, 2).unwrap_err();
    assert_eq!(error.state().0, "22003");
}
