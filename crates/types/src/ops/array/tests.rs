use super::*;
use crate::ops::cast::{cast_value, format_value};
use crate::{Interval, SqlType, Value};

fn values(element: SqlType) -> Vec<Value> {
    let interval = |months, days, micros| Value::Interval(Interval { months, days, micros });
    match element {
        SqlType::Bool => vec![Value::Bool(false), Value::Bool(true)],
        SqlType::SmallInt => [i16::MIN, -1, 0, 1, i16::MAX].map(|i| Value::Int(i.into())).to_vec(),
        SqlType::Integer => [i32::MIN, -1, 0, 1, 1000, i32::MAX].map(|i| Value::Int(i.into())).to_vec(),
        SqlType::BigInt => [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int).to_vec(),
        SqlType::Decimal { .. } => [-10i128.pow(17), -1, 0, 7, 10i128.pow(17)].map(Value::Decimal).to_vec(),
        SqlType::Real => [f64::NEG_INFINITY, -1.5, 0.0, 0.5, f64::INFINITY, f64::NAN].map(Value::Float).to_vec(),
        SqlType::Double => [f64::NEG_INFINITY, -1.5, 0.0, 1e-300, 0.5, 1e300, f64::NAN].map(Value::Float).to_vec(),
        SqlType::Date => [-700_000, -1, 0, 20_000].map(Value::Date).to_vec(),
        SqlType::Interval => {
            vec![interval(-40, -12, -5), interval(0, -1, 0), interval(0, 0, 0), interval(1, -2, 3)]
        }
        SqlType::Array(&inner) => {
            let inner = values(inner);
            let some = |list: &[&Value]| encode(list.iter().copied(), element.element().unwrap()).unwrap();
            vec![some(&[]), some(&[&inner[0]]), some(&[&inner[0], &inner[1]]), some(&[&inner[0], &Value::Null])]
        }
        _ => ["", "\0", "\0\u{1}", "\u{1}", "\u{1}0", "a", "a\0", "ab", "é"].map(Value::str).to_vec(),
    }
}

fn types() -> Vec<SqlType> {
    use SqlType::*;
    let decimals = [SqlType::decimal(18, 2), SqlType::decimal(38, 2)];
    let mut all = vec![Bool, SmallInt, Integer, BigInt, Real, Double, Text, Date, Interval];
    all.extend(decimals);
    all.extend([Integer, Text].map(SqlType::array_of));
    all.push(SqlType::array_of(SqlType::array_of(Text)));
    all
}

/// All arrays of at most two elements.
fn arrays(element: SqlType) -> Vec<Vec<Value>> {
    let mut one = values(element);
    one.push(Value::Null);
    let mut all = vec![vec![]];
    for a in &one {
        all.push(vec![a.clone()]);
        all.extend(one.iter().map(|b| vec![a.clone(), b.clone()]));
    }
    all
}

#[test]
fn bytes_compare_as_the_arrays_do() {
    for element in types() {
        let arrays = arrays(element);
        for a in &arrays {
            for b in &arrays {
                let (x, y) = (encode(a, element).unwrap(), encode(b, element).unwrap());
                let differing = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
                let expected = differing.unwrap_or(a.len().cmp(&b.len()));
                assert_eq!(x.total_cmp(&y), expected, "{element}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn elements_come_back() {
    for element in types() {
        for array in arrays(element) {
            let Value::Str(form) = encode(&array, element).unwrap() else { panic!() };
            assert_eq!(length(&form, element), array.len());
            let back: Vec<Value> = Elements::new(&form, element).collect();
            assert!(back.iter().zip(&array).all(|(a, b)| a.is_identical(b)) && back.len() == array.len(), "{array:?}");
            for (at, value) in array.iter().enumerate() {
                assert_eq!(&subscript(&form, element, at as i64 + 1), value);
            }
            for outside in [0, -1, i64::MIN, i64::MAX, array.len() as i64 + 1] {
                assert!(subscript(&form, element, outside).is_null());
            }
        }
    }
}

#[test]
fn text_forms_are_read_as_they_are_written() {
    for element in types() {
        let array = SqlType::array_of(element);
        for values in arrays(element) {
            // The text form of a NUL is not known to anybody else.
            let value = encode(&values, element).unwrap();
            let text = format_value(&value, array);
            let back = cast_value(&Value::str(text.as_str()), SqlType::Text, array).unwrap();
            assert_eq!(back, value, "{text}");
        }
    }
}

#[test]
fn equal_values_have_one_form() {
    for (a, b) in [(0.0, -0.0), (f64::NAN, -f64::NAN)] {
        for element in [SqlType::Real, SqlType::Double] {
            let form = |value| encode(&[Value::Float(value)], element).unwrap();
            assert_eq!(form(a), form(b));
        }
    }
}

#[test]
fn texts_that_are_no_arrays() {
    let array = SqlType::array_of(SqlType::Integer);
    for text in ["", "1", "{1", "{1,}", "{,1}", "{1}}", "{1}x", "{1 2}", "{\"1}", "{1\\", "{{1}}", "{a}"] {
        let error = cast_value(&Value::str(text), SqlType::Text, array).unwrap_err();
        assert_eq!(error.state().0, "22P02", "{text}: {error}");
    }
}

#[test]
fn words_are_in_the_order_of_values_and_make_their_elements() {
    for element in types().into_iter().filter(|&t| has_words(t)) {
        let (all, stride) = (values(element), stride(element).unwrap());
        let words: Vec<i64> = all.iter().map(|value| word_of(value).unwrap()).collect();
        assert!(words.is_sorted() && words.windows(2).all(|w| w[0] != w[1]), "{element}: {words:?}");
        let missing = [(&Value::Null, None)];
        for (value, word) in all.iter().zip(words.into_iter().map(Some)).chain(missing) {
            let (mut expected, mut written) = (Vec::new(), vec![0xff; stride]);
            push(&mut expected, value, element).unwrap();
            write_word(&mut written, word, element.physical());
            assert_eq!(written, expected, "{element}: {value:?}");
        }
    }
    assert_eq!(word_of_float(-0.0), word_of_float(0.0));
}

#[test]
fn words_are_read_where_they_lie() {
    for element in types().into_iter().filter(|&t| is_read_as_words(t.physical())) {
        let mut all = values(element);
        all.insert(1, Value::Null);
        let Value::Str(list) = encode(&all, element).unwrap() else { panic!("an array is a text") };
        for from in 0..all.len() + 2 {
            let (mut words, mut heads, mut nulls) = ([7; 4], [7; 4], [7; 4]);
            let physical = element.physical();
            gather(list.as_bytes(), from, physical, Raw { words: &mut words, heads: &mut heads });
            decode(physical, Raw { words: &mut words, heads: &mut heads }, &mut nulls);
            for (at, (word, null)) in words.into_iter().zip(nulls).enumerate() {
                let expected = all.get(from + at).unwrap_or(&Value::Null);
                let found = match expected {
                    Value::Null => word == 0,
                    Value::Float(x) => word == (x + 0.0).to_bits() || x.is_nan() && f64::from_bits(word).is_nan(),
                    number => number.as_integer() == Some((word as i64).into()),
                };
                assert!(found && (null == 1) == expected.is_null(), "{element}: {expected:?} is {word:x}");
            }
        }
    }
}

/// Numbers of a type, as many as asked for, some of them NULL.
fn numbers_of(element: SqlType, count: usize, with_nulls: bool) -> Vec<Value> {
    let number = |at: usize| (at as i64 * 7919 % 211) - 105;
    let value = |at| match element {
        SqlType::Real | SqlType::Double => Value::Float(number(at) as f64 / 8.0),
        SqlType::Decimal { .. } => Value::Decimal(number(at).into()),
        _ => Value::Int(number(at)),
    };
    (0..count).map(|at| if with_nulls && at % 5 == 3 { Value::Null } else { value(at) }).collect()
}

#[test]
fn what_is_computed_of_lists_is_what_their_elements_say() {
    use super::{Found, numbers, pairs};
    let exact = [SqlType::SmallInt, SqlType::Integer, SqlType::BigInt, SqlType::decimal(9, 2), SqlType::decimal(30, 2)];
    for element in exact.into_iter().chain([SqlType::Real, SqlType::Double]) {
        for count in [0, 1, 2, 7, 8, 9, 63, 64, 65, 200] {
            let list = numbers_of(element, count, true);
            let Value::Str(form) = encode(&list, element).unwrap() else { panic!() };
            let double = |value: &Value| match value {
                Value::Float(f) => Some(*f),
                value => value.as_integer().map(|n| n as f64 / if element.is_decimal() { 100.0 } else { 1.0 }),
            };
            let doubles: Vec<f64> = list.iter().filter_map(double).collect();
            let integers: Vec<i128> = list.iter().filter_map(Value::as_integer).collect();
            let of = |found: Result<Found<'_>, _>| found.unwrap().value(element, element);
            let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
            let some = |value: f64| (!doubles.is_empty()).then_some(Value::Float(value));
            let sum = if integers.is_empty() { some(doubles.iter().sum()) } else { None };
            match numbers::sum(&form, element).unwrap() {
                Found::Integer(found) => assert_eq!(found, integers.iter().sum(), "{element} {count}"),
                found => assert_eq!(found.value(element, SqlType::Double), or_null(sum), "{element} {count}"),
            }
            let sum: f64 = doubles.iter().sum();
            assert_eq!(of(numbers::average(&form, element)), or_null(some(sum / doubles.len() as f64)));
            assert_eq!(numbers::count(&form, element).unwrap(), Found::Integer(doubles.len() as i128));
            let values = || list.iter().filter(|value| !value.is_null());
            assert_eq!(of(numbers::greatest(&form, element)), or_null(values().max_by(|a, b| a.total_cmp(b)).cloned()));
            assert_eq!(of(numbers::least(&form, element)), or_null(values().min_by(|a, b| a.total_cmp(b)).cloned()));

            let list = numbers_of(element, count, false);
            let other: Vec<Value> = list.iter().rev().cloned().collect();
            let (form, turned) = (encode(&list, element).unwrap(), encode(&other, element).unwrap());
            let (Value::Str(form), Value::Str(turned)) = (&form, &turned) else { panic!() };
            let pairs = || list.iter().zip(&other).map(|(a, b)| (double(a).unwrap(), double(b).unwrap()));
            let near = |found: Result<Found<'_>, _>, expected: f64| match found.unwrap() {
                Found::Double(found) => {
                    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{element}")
                }
                found => panic!("{found:?}"),
            };
            near(pairs::inner_product(form, turned, element), pairs().map(|(a, b)| a * b).sum());
            near(pairs::distance(form, turned, element), pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt());
            let of_itself = pairs::cosine_similarity(form, form, element).unwrap();
            assert_eq!(of_itself, if count == 0 { Found::Null } else { Found::Double(1.0) }, "{element} {count}");
            assert!(count == 0 || pairs::inner_product(form, "", element).is_err());
        }
    }
    let with_null = encode(&[Value::Null], SqlType::Integer).unwrap();
    let Value::Str(with_null) = &with_null else { panic!() };
    assert_eq!(pairs::inner_product(with_null, with_null, SqlType::Integer).unwrap_err().state().0, "22004");
    assert!(numbers::sum("", SqlType::Text).is_err());
}
