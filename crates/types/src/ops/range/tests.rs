use super::*;
use base::Random;

fn form(text: &str) -> Value {
    parse(text, SqlType::Integer).unwrap()
}

fn str(value: &Value) -> &str {
    if let Value::Str(form) = value { form } else { panic!("{value:?} is no range") }
}

/// Which of the integers of a small domain are in a range, by its definition.
fn members(range: &Range) -> Vec<bool> {
    let is_in = |i: i64| match range {
        Range::Empty => false,
        Range::Held(lower, upper) => {
            let above = match &lower.value {
                Some(Value::Int(l)) => *l < i || *l == i && lower.inclusive,
                _ => true,
            };
            let below = match &upper.value {
                Some(Value::Int(u)) => i < *u || *u == i && upper.inclusive,
                _ => true,
            };
            above && below
        }
    };
    (-1..=9).map(is_in).collect()
}

fn random_range(random: &mut Random) -> Range {
    let mut bound = || {
        let value = (!random.one_in(6)).then(|| Value::Int(random.below(8) as i64));
        Bound { inclusive: value.is_some() && random.one_in(2), value }
    };
    let (a, b) = (bound(), bound());
    of_bounds(a, b, SqlType::Integer).unwrap_or(Range::Empty)
}

#[test]
fn forms_are_read_back_and_in_the_order_of_ranges() {
    let mut random = Random(5);
    let all: Vec<Range> = (0..300).map(|_| random_range(&mut random)).collect();
    let order = |a: &Range, b: &Range| match (a, b) {
        (Range::Held(al, au), Range::Held(bl, bu)) => {
            compare((al, true), (bl, true)).then(compare((au, false), (bu, false)))
        }
        _ => (a != &Range::Empty).cmp(&(b != &Range::Empty)),
    };
    for a in &all {
        let encoded = encode(a, SqlType::Integer).unwrap();
        assert_eq!(&decode(str(&encoded), SqlType::Integer), a);
        let mut text = String::new();
        write(&mut text, str(&encoded), SqlType::Integer);
        assert_eq!(form(&text), encoded, "{text}");
        for b in &all {
            let other = encode(b, SqlType::Integer).unwrap();
            assert_eq!(encoded.total_cmp(&other), order(a, b), "{a:?} and {b:?}");
        }
    }
}

#[test]
fn relations_are_those_of_sets() {
    let mut random = Random(6);
    for _ in 0..20_000 {
        let (a, b) = (random_range(&mut random), random_range(&mut random));
        let (x, y) = (encode(&a, SqlType::Integer).unwrap(), encode(&b, SqlType::Integer).unwrap());
        let (x, y) = (str(&x), str(&y));
        let (in_a, in_b) = (members(&a), members(&b));
        let both =
            |of: fn(bool, bool) -> bool| -> Vec<bool> { in_a.iter().zip(&in_b).map(|(a, b)| of(*a, *b)).collect() };
        let of = SqlType::Integer;
        assert_eq!(overlaps(x, y, of), both(|a, b| a && b).contains(&true), "{a:?} && {b:?}");
        assert_eq!(contains(x, y, of), !both(|a, b| b && !a).contains(&true), "{a:?} @> {b:?}");
        let as_members = |value: &Value| members(&decode(str(value), of));
        assert_eq!(as_members(&intersection(x, y, of).unwrap()), both(|a, b| a && b), "{a:?} * {b:?}");
        if let Ok(union) = union(x, y, of) {
            assert_eq!(as_members(&union), both(|a, b| a || b), "{a:?} + {b:?}");
        }
        if let Ok(difference) = difference(x, y, of) {
            assert_eq!(as_members(&difference), both(|a, b| a && !b), "{a:?} - {b:?}");
        }
        for (at, is_in) in in_a.iter().enumerate() {
            assert_eq!(contains_value(x, &Value::Int(at as i64 - 1), of), *is_in);
        }
    }
}
