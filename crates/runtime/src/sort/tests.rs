//! Sorts against the standard library's, by boxed values.

use std::cmp::Ordering;

use pipeline::ir::{RowLayout, RowSet, SortField, State, Ty};
use types::{Interval, Str, Value};

use super::*;
use crate::testing::{Random, all_rows, context, finalize, get, new_row, put};

const SORT: StateId = StateId(0);

/// Text for strings: shared prefixes, inline and not.
const TEXTS: [&str; 9] =
    ["", "a", "abcd", "abcdefgh", "abcdefghi", "abcdefghijklmn", "abcdefghijklmo", "b", "é, a text of more bytes"];

fn random_value(ty: Ty, random: &mut Random) -> Value {
    let small = random.below(7) as i64 - 3;
    let any = if random.below(3) == 0 { random.next() as i64 } else { small };
    match ty {
        Ty::Bool => Value::Bool(small > 0),
        Ty::I16 => Value::Int((any as i16).into()),
        Ty::I32 => Value::Int((any as i32).into()),
        Ty::I64 => Value::Int(any),
        Ty::I128 => Value::Decimal(i128::from(any) * if small == 0 { 1 << 60 } else { 1 }),
        Ty::F32 => Value::Float([f64::NAN, 0.0, -0.0, 1.5, -2.5, f64::INFINITY, -1e30f32 as f64][(small + 3) as usize]),
        Ty::F64 => {
            Value::Float([f64::NAN, 0.0, -0.0, 1e300, -2.5, f64::NEG_INFINITY, any as f64][(small + 3) as usize])
        }
        Ty::Str => Value::str(TEXTS[random.below(TEXTS.len() as u64) as usize]),
        Ty::Interval => {
            Value::Interval(Interval { months: small as i32, days: random.below(60) as i32, micros: small })
        }
        Ty::Ptr => unreachable!("not a type of values"),
    }
}

fn store(row: *mut u8, key: &SortField, value: &Value) {
    match (value, key.ty) {
        (Value::Null, _) => put(row, key.null.unwrap(), 1u8),
        (Value::Bool(b), _) => put(row, key.offset, u8::from(*b)),
        (Value::Int(i), Ty::I16) => put(row, key.offset, *i as i16),
        (Value::Int(i), Ty::I32) => put(row, key.offset, *i as i32),
        (Value::Int(i), _) => put(row, key.offset, *i),
        (Value::Decimal(d), _) => put(row, key.offset, *d),
        (Value::Float(f), Ty::F32) => put(row, key.offset, *f as f32),
        (Value::Float(f), _) => put(row, key.offset, *f),
        (Value::Str(s), _) => {
            let text = TEXTS.iter().find(|t| ***t == **s).unwrap();
            put(row, key.offset, Str::new(text.as_bytes()));
        }
        (Value::Interval(i), _) => put(row, key.offset, *i),
        (value, _) => unreachable!("{value:?}"),
    }
}

fn compare(keys: &[SortField], a: &[Value], b: &[Value]) -> Ordering {
    for (i, key) in keys.iter().enumerate() {
        let order = match (a[i].is_null(), b[i].is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => {
                if key.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if key.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) if key.descending => b[i].total_cmp(&a[i]),
            (false, false) => a[i].total_cmp(&b[i]),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn check(types: &[Ty], rows: usize, workers: usize, limit: Option<u64>, offset: u64, random: &mut Random) {
    check_groups(types, 0, rows, workers, limit, offset, random);
}

/// With limit and offset for each group of rows that agree in the first `partition` keys.
fn check_groups(
    types: &[Ty],
    partition: usize,
    rows: usize,
    workers: usize,
    limit: Option<u64>,
    offset: u64,
    random: &mut Random,
) {
    let mut layout = RowLayout::with_header(0);
    let number = layout.add(Ty::I64);
    let key = |&ty: &Ty| {
        let offset = layout.add(ty);
        let null = (random.below(2) == 0).then(|| layout.add(Ty::Bool));
        SortField { offset, ty, null, descending: random.below(2) == 0, nulls_first: random.below(2) == 0 }
    };
    let keys: Vec<SortField> = types.iter().map(key).collect();
    let input: Vec<Vec<Value>> = (0..rows)
        .map(|_| {
            let value = |k: &SortField| {
                if k.null.is_some() && random.below(4) == 0 { Value::Null } else { random_value(k.ty, random) }
            };
            keys.iter().map(value).collect()
        })
        .collect();
    let state = SortState { layout: layout.clone(), keys: keys.clone(), partition, limit, offset };
    let context = context(vec![State::Sort(state)], workers, None);
    std::thread::scope(|scope| {
        for n in 0..workers {
            let (context, input, keys) = (&context, &input, &keys);
            scope.spawn(move || {
                let mut worker = context.worker(n);
                for i in (n..input.len()).step_by(workers) {
                    let row = new_row(&mut worker, SORT);
                    put(row, number, i as i64);
                    keys.iter().zip(&input[i]).for_each(|(key, value)| store(row, key, value));
                }
            });
        }
    });
    finalize(&context, SORT);
    let found = all_rows(&context, SORT, RowSet::All, 500, 64);
    let found: Vec<usize> = found.iter().map(|&row| get::<i64>(row, number) as usize).collect();
    let mut expected = input.clone();
    expected.sort_by(|a, b| compare(&keys, a, b));
    let limit = limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
    let groups = expected.chunk_by(|a, b| partition == 0 || compare(&keys[..partition], a, b).is_eq());
    let expected: Vec<_> = groups.flat_map(|group| group.iter().skip(offset as usize).take(limit).cloned()).collect();
    // Rows with equal keys may come in any order, but each at most once.
    assert_eq!(found.len(), expected.len());
    for (&row, expected) in found.iter().zip(&expected) {
        assert_eq!(&input[row], expected, "{keys:?}");
    }
    let mut distinct = found;
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), expected.len());
}

const ALL: [Ty; 9] = [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::I128, Ty::F32, Ty::F64, Ty::Str, Ty::Interval];

#[test]
fn every_type_sorts_as_its_values_do() {
    let mut random = Random(11);
    for &ty in &ALL {
        for _ in 0..4 {
            check(&[ty], 300, 2, None, 0, &mut random);
        }
    }
    for _ in 0..60 {
        let keys: Vec<Ty> = (0..random.below(5)).map(|_| ALL[random.below(9) as usize]).collect();
        check(&keys, random.below(400) as usize, 1 + random.below(3) as usize, None, 0, &mut random);
    }
}

#[test]
fn many_rows_are_merged_from_runs() {
    let mut random = Random(12);
    check(&[Ty::I64], 150_000, 3, None, 0, &mut random);
    check(&[Ty::Bool, Ty::Str], 150_000, 2, None, 0, &mut random);
    // All keys equal.
    check(&[], 150_000, 2, None, 0, &mut random);
}

#[test]
fn limits_prune_and_cut() {
    let mut random = Random(13);
    for (rows, limit, offset) in
        [(0, 5, 0), (10, 0, 0), (10, 3, 9), (10, 3, 100), (60_000, 10, 5), (60_000, 20_000, 1000)]
    {
        check(&[Ty::I32, Ty::I64], rows, 2, Some(limit), offset, &mut random);
    }
    check(&[Ty::I64], 150_000, 2, Some(u64::MAX), 140_000, &mut random);
    check(&[Ty::I64], 150_000, 2, None, 140_000, &mut random);
}

#[test]
fn each_group_has_its_window() {
    let mut random = Random(14);
    for (limit, offset) in [(Some(1), 0), (Some(3), 2), (Some(0), 0), (None, 1), (Some(u64::MAX), 5)] {
        for partition in 1..=3 {
            let types = [Ty::Bool, Ty::I16, Ty::Str];
            check_groups(&types, partition, 3000, 2, limit, offset, &mut random);
            check_groups(&types, partition, 0, 1, limit, offset, &mut random);
        }
        // Groups of a third of the rows, which reach over several stretches.
        check_groups(&[Ty::Bool, Ty::I64], 1, 150_000, 3, limit, offset, &mut random);
    }
    check_groups(&[Ty::Bool, Ty::I64], 1, 150_000, 2, Some(40_000), 20_000, &mut random);
}

#[test]
fn top_k_keeps_little_memory() {
    let mut layout = RowLayout::with_header(0);
    let offset = layout.add(Ty::I64);
    let keys = vec![SortField { offset, ty: Ty::I64, null: None, descending: false, nulls_first: false }];
    let context =
        context(vec![State::Sort(SortState { layout, keys, partition: 0, limit: Some(10), offset: 0 })], 1, None);
    let mut worker = context.worker(0);
    for i in 0..1_000_000i64 {
        put(new_row(&mut worker, SORT), offset, 1_000_000 - i);
    }
    assert!(context.shared().budget.used() < 1 << 20);
    drop(worker);
    finalize(&context, SORT);
    let rows = all_rows(&context, SORT, RowSet::All, 100, 100);
    assert!(rows.iter().map(|&row| get::<i64>(row, offset)).eq(1..=10));
}
