//! Sorts against the standard library's, by boxed values: the very rows, whoever sorts them.

use std::cmp::Ordering;
use std::time::Duration;

use base::Random;
use pipeline::ir::{RowLayout, RowSet, SortField, State, StateId, Ty};
use types::{Interval, Str, Value};

use super::*;
use scheduler::{Claim, Wanted, WorkerId};

use crate::query::Worker;
use crate::testing::{all_rows, context, finalize, finalize_as, get, new_row, put};

const SORT: StateId = StateId(0);

/// Text for strings: shared prefixes, inline and not, longer than words hold, with zero bytes.
const TEXTS: [&str; 14] = [
    "",
    "a",
    "a\0",
    "a\0\0b",
    "abcd",
    "abcdefgh",
    "abcdefghi",
    "abcdefghijklmn",
    "abcdefghijklmno",
    "abcdefghijklmnop",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz, the first of two",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz, the second of two",
    "b",
    "é, a text of more bytes",
];

fn random_value(ty: Ty, random: &mut Random) -> Value {
    let small = random.below(7) as i64 - 3;
    let any = if random.below(3) == 0 { random.bits() as i64 } else { small };
    match ty {
        Ty::Bool => Value::Bool(small > 0),
        Ty::I16 => Value::Int((any as i16).into()),
        Ty::I32 => Value::Int((any as i32).into()),
        Ty::I64 => Value::Int(any),
        Ty::I128 if random.below(50) == 0 => Value::Decimal(if small > 0 { i128::MAX } else { i128::MIN }),
        Ty::I128 => Value::Decimal(i128::from(any) * if small == 0 { 1 << 60 } else { 1 }),
        Ty::F32 => Value::Float([f64::NAN, 0.0, -0.0, 1.5, -2.5, f64::INFINITY, -1e30f32 as f64][(small + 3) as usize]),
        Ty::F64 => {
            Value::Float([f64::NAN, 0.0, -0.0, 1e300, -2.5, f64::NEG_INFINITY, any as f64][(small + 3) as usize])
        }
        Ty::Str => Value::str(TEXTS[random.index(TEXTS.len())]),
        Ty::Interval => {
            Value::Interval(Interval { months: small as i32, days: random.below(60) as i32, micros: small })
        }
        Ty::Ptr => unreachable!("not a type of values"),
    }
}

fn store(worker: &mut Worker, row: *mut u8, key: &SortField, value: &Value) {
    match (value, key.ty) {
        (Value::Null, _) => put(row, key.null.unwrap(), 1u8),
        (Value::Bool(b), _) => put(row, key.offset, u8::from(*b)),
        (Value::Int(i), Ty::I16) => put(row, key.offset, *i as i16),
        (Value::Int(i), Ty::I32) => put(row, key.offset, *i as i32),
        (Value::Int(i), _) => put(row, key.offset, *i),
        (Value::Decimal(d), _) => put(row, key.offset, *d),
        (Value::Float(f), Ty::F32) => put(row, key.offset, *f as f32),
        (Value::Float(f), _) => put(row, key.offset, *f),
        // Gone when the morsel ends: the row must own it then.
        (Value::Str(s), _) => put(row, key.offset, worker.text(s).unwrap()),
        (Value::Interval(i), _) => put(row, key.offset, *i),
        (value, _) => unreachable!("{value:?}"),
    }
}

fn load(row: *mut u8, key: &SortField) -> Value {
    if key.null.is_some_and(|null| get::<u8>(row, null) == 1) {
        return Value::Null;
    }
    let at = key.offset;
    match key.ty {
        Ty::Bool => Value::Bool(get::<u8>(row, at) == 1),
        Ty::I16 => Value::Int(get::<i16>(row, at).into()),
        Ty::I32 => Value::Int(get::<i32>(row, at).into()),
        Ty::I64 => Value::Int(get(row, at)),
        Ty::I128 => Value::Decimal(get(row, at)),
        Ty::F32 => Value::Float(get::<f32>(row, at).into()),
        Ty::F64 => Value::Float(get(row, at)),
        Ty::Str => {
            let text: Str = get(row, at);
            // SAFETY: the state owns the strings of its rows.
            Value::str(unsafe { text.as_str() })
        }
        Ty::Interval => Value::Interval(get(row, at)),
        Ty::Ptr => unreachable!("not a type of values"),
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

/// The order of what decides ties: by bits.
fn compare_bits(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => a.is_null().cmp(&b.is_null()),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Interval(a), Value::Interval(b)) => (a.months, a.days, a.micros).cmp(&(b.months, b.days, b.micros)),
        _ => a.total_cmp(b),
    }
}

/// Rows to be sorted.
struct Case {
    types: Vec<Ty>,
    rows: usize,
    workers: usize,
    /// The numbers of the rows, which come before all else in ties: so many different ones.
    numbers: u64,
    /// Limit and offset count anew for each group of rows that agree in so many keys.
    partition: usize,
    limit: Option<u64>,
    offset: u64,
    /// Everything stops after so many steps; a millisecond otherwise.
    steps: Option<u64>,
    arrival: Arrival,
}

/// The order in which rows come.
#[derive(Clone, Copy, PartialEq)]
enum Arrival {
    Any,
    Sorted,
    Reversed,
    /// Sorted, but for two rows.
    Nearly,
}

fn case(types: &[Ty], rows: usize, workers: usize) -> Case {
    Case {
        types: types.to_vec(),
        rows,
        workers,
        numbers: u64::MAX,
        partition: 0,
        limit: None,
        offset: 0,
        steps: None,
        arrival: Arrival::Any,
    }
}

impl Case {
    fn check(&self, random: &mut Random) {
        self.check_values(random, random_value);
    }

    fn check_values(&self, random: &mut Random, value: impl Fn(Ty, &mut Random) -> Value) {
        let mut layout = RowLayout::with_header(0);
        let number = layout.add(Ty::I64);
        let key = |&ty: &Ty| {
            let offset = layout.add(ty);
            let null = (random.below(2) == 0).then(|| layout.add_null_flag(offset));
            SortField { offset, ty, null, descending: random.below(2) == 0, nulls_first: random.below(2) == 0 }
        };
        let keys: Vec<SortField> = self.types.iter().map(key).collect();
        let row = |_| {
            let mut value = |k: &SortField| match k.null {
                Some(_) if random.below(4) == 0 => Value::Null,
                _ => value(k.ty, random),
            };
            let values: Vec<Value> = keys.iter().map(&mut value).collect();
            (random.below(self.numbers) as i64, values)
        };
        let mut expected: Vec<(i64, Vec<Value>)> = (0..self.rows).map(row).collect();
        let any = expected.clone();
        expected.sort_by(|a, b| {
            let ties = || a.1.iter().zip(&b.1).map(|(a, b)| compare_bits(a, b)).find(|o| o.is_ne());
            let ties = || a.0.cmp(&b.0).then_with(|| ties().unwrap_or(Ordering::Equal));
            compare(&keys, &a.1, &b.1).then_with(ties)
        });
        let mut input = if self.arrival == Arrival::Any { any } else { expected.clone() };
        match self.arrival {
            Arrival::Any | Arrival::Sorted => {}
            Arrival::Reversed => input.reverse(),
            Arrival::Nearly => input.swap(self.rows / 2, self.rows / 2 + 1),
        }
        let found = self.sorted(&layout, &keys, number, &input);
        let limit = self.limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
        let same = |a: &[Value], b: &[Value]| compare(&keys[..self.partition], a, b).is_eq();
        let groups = expected.chunk_by(|a, b| self.partition == 0 || same(&a.1, &b.1));
        let expected = groups.flat_map(|group| group.iter().skip(self.offset as usize).take(limit));
        // The text of values tells -0 from 0.
        let expected = expected.map(|(number, values)| (*number, format!("{values:?}")));
        assert!(found.into_iter().eq(expected), "{keys:?}");
    }

    /// The rows of `input` as a sort state orders them.
    fn sorted(
        &self,
        layout: &RowLayout,
        keys: &[SortField],
        number: u32,
        input: &[(i64, Vec<Value>)],
    ) -> Vec<(i64, String)> {
        let &Self { partition, limit, offset, workers, .. } = self;
        let state = SortState { layout: layout.clone(), keys: keys.to_vec(), partition, limit, offset };
        let context = context(vec![State::Sort(state)], None);
        std::thread::scope(|scope| {
            for n in 0..workers {
                let context = &context;
                scope.spawn(move || {
                    let mut worker = context.worker(n);
                    let morsel = (input.len() / workers / 4).clamp(1, 1000);
                    for rows in input.chunks(morsel).skip(n).step_by(workers) {
                        for (row_number, values) in rows {
                            let row = new_row(&mut worker, SORT);
                            put(row, number, *row_number);
                            keys.iter().zip(values).for_each(|(key, value)| store(&mut worker, row, key, value));
                        }
                        worker.end_morsel().unwrap();
                    }
                });
            }
        });
        let cut = Cutting::new(workers);
        let stopped = |steps| Cutting { steps, slice: Duration::ZERO, ..cut.clone() };
        finalize_as(&context, SORT, &self.steps.map_or(cut.clone(), stopped));
        let rows = all_rows(&context, SORT, RowSet::All, 500, 64);
        let values = |row| keys.iter().map(|key| load(row, key)).collect::<Vec<_>>();
        rows.into_iter().map(|row| (get::<i64>(row, number), format!("{:?}", values(row)))).collect()
    }
}

const ALL: [Ty; 9] = [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::I128, Ty::F32, Ty::F64, Ty::Str, Ty::Interval];

#[test]
fn every_type_sorts_as_its_values_do() {
    let mut random = Random(11);
    for &ty in &ALL {
        for rows in [60, 300] {
            case(&[ty], rows, 2).check(&mut random);
            Case { numbers: 3, ..case(&[ty], rows, 2) }.check(&mut random);
        }
    }
    for _ in 0..60 {
        let keys: Vec<Ty> = (0..random.below(7)).map(|_| ALL[random.index(9)]).collect();
        let rows = random.index(400);
        Case { numbers: 1 + random.below(99), ..case(&keys, rows, 1 + rows % 3) }.check(&mut random);
    }
}

#[test]
fn many_rows_are_dealt_out_and_sorted_by_several_workers() {
    let mut random = Random(12);
    case(&[Ty::I64], 150_000, 3).check(&mut random);
    for ty in ALL {
        case(&[ty], 40_000, 2).check(&mut random);
    }
    case(&[Ty::Str, Ty::I64, Ty::F64], 80_000, 3).check(&mut random);
    // More bits than words.
    let any = |_, random: &mut Random| Value::Int(random.bits() as i64);
    case(&[Ty::I64; 6], 40_000, 2).check_values(&mut random, any);
}

#[test]
fn rows_that_come_in_order_stay_so() {
    let mut random = Random(18);
    for arrival in [Arrival::Sorted, Arrival::Reversed, Arrival::Nearly] {
        for workers in [1, 3] {
            let of = |case: Case| Case { arrival, ..case };
            of(case(&[Ty::I64], 40_000, workers)).check(&mut random);
            of(case(&[Ty::Str, Ty::I16, Ty::F64], 40_000, workers)).check(&mut random);
            of(Case { limit: Some(9000), offset: 20_000, ..case(&[Ty::I64], 40_000, workers) }).check(&mut random);
            of(Case { partition: 1, offset: 2, ..case(&[Ty::I16, Ty::I64], 40_000, workers) }).check(&mut random);
            of(Case { numbers: 3, steps: Some(10), ..case(&[Ty::Bool, Ty::I16], 20_000, workers) }).check(&mut random);
        }
    }
}

#[test]
fn many_ties_are_no_hindrance() {
    let mut random = Random(15);
    // All keys equal; all rows alike; three of four rows alike, in ranges of their own.
    case(&[], 100_000, 2).check(&mut random);
    Case { numbers: 1, ..case(&[], 100_000, 3) }.check(&mut random);
    let skewed = |_, random: &mut Random| Value::Int((random.bits() as i64) * i64::from(random.below(4) == 0));
    Case { numbers: 1, ..case(&[Ty::I64, Ty::I64], 100_000, 3) }.check_values(&mut random, skewed);
    // Texts that differ only behind what words hold.
    let long = |_, random: &mut Random| Value::str(TEXTS[10 + random.index(2)]);
    Case { numbers: 100, ..case(&[Ty::Str; 5], 100_000, 2) }.check_values(&mut random, long);
}

#[test]
fn limits_prune_and_cut() {
    let mut random = Random(13);
    for (rows, limit, offset) in
        [(0, 5, 0), (10, 0, 0), (10, 3, 9), (10, 3, 100), (60_000, 10, 5), (60_000, 20_000, 1000)]
    {
        Case { limit: Some(limit), offset, ..case(&[Ty::I32, Ty::I64], rows, 2) }.check(&mut random);
        Case { limit: Some(limit), offset, numbers: 9, ..case(&[Ty::Bool], rows, 3) }.check(&mut random);
    }
    Case { limit: Some(u64::MAX), offset: 140_000, ..case(&[Ty::I64], 150_000, 2) }.check(&mut random);
    Case { offset: 140_000, ..case(&[Ty::I64], 150_000, 2) }.check(&mut random);
}

#[test]
fn a_sample_that_misleads_costs_another_deal() {
    let (rows, mut random) = (330_000, Random(21));
    // The rows that the sample takes are the first ones in order, and others than are wanted.
    let step = rows / (4 << 10);
    for offset in [0, 3_000, 200_000, 329_000] {
        let row = std::cell::Cell::new(0);
        let value = |_, random: &mut Random| {
            let sampled = row.replace(row.get() + 1) % step == step / 2;
            Value::Int((random.bits() >> 2) as i64 + if sampled { i64::MIN } else { 0 })
        };
        Case { limit: Some(9), offset, ..case(&[Ty::I64], rows, 1) }.check_values(&mut random, value);
    }
}

#[test]
fn floats_that_their_numbers_tell_need_no_second_look() {
    let mut random = Random(22);
    let plain = |ty, random: &mut Random| {
        let small = random.below(9) as f64 - 4.0;
        let any = f64::from_bits(random.bits());
        let value = if any.is_nan() || random.below(2) == 0 { small } else { any };
        Value::Float(if ty == Ty::F32 { f64::from(small as f32) } else { value })
    };
    for rows in [300, 100_000] {
        case(&[Ty::F64], rows, 2).check_values(&mut random, plain);
        Case { numbers: 5, ..case(&[Ty::F32, Ty::F64], rows, 2) }.check_values(&mut random, plain);
        // All but one.
        let odd = std::cell::Cell::new(0);
        let nearly = |ty, random: &mut Random| match odd.replace(odd.get() + 1) {
            200 => Value::Float(-0.0),
            _ => plain(ty, random),
        };
        Case { numbers: 1, ..case(&[Ty::F64], rows, 2) }.check_values(&mut random, nearly);
    }
}

#[test]
fn each_group_has_its_slice() {
    let mut random = Random(14);
    for (limit, offset) in [(Some(1), 0), (Some(3), 2), (Some(0), 0), (None, 1), (Some(u64::MAX), 5)] {
        for partition in 1..=3 {
            let types = [Ty::Bool, Ty::I16, Ty::Str];
            Case { partition, limit, offset, ..case(&types, 3000, 2) }.check(&mut random);
            Case { partition, limit, offset, ..case(&types, 0, 1) }.check(&mut random);
        }
        // Groups of a third of the rows, which reach over several stretches.
        Case { partition: 1, limit, offset, ..case(&[Ty::Bool, Ty::I64], 100_000, 3) }.check(&mut random);
    }
    let (limit, offset) = (Some(40_000), 20_000);
    Case { partition: 1, limit, offset, ..case(&[Ty::Bool, Ty::I64], 100_000, 2) }.check(&mut random);
}

#[test]
fn rows_behind_the_first_of_their_group_are_thrown_away_early() {
    let mut random = Random(17);
    for ty in ALL {
        for (limit, offset) in [(1, 0), (2, 1), (0, 0)] {
            let of = |types: &[Ty]| Case { limit: Some(limit), offset, partition: 1, ..case(types, 30_000, 2) };
            of(&[ty, Ty::I64]).check(&mut random);
            Case { numbers: 7, ..of(&[ty, Ty::Str]) }.check(&mut random);
            Case { partition: 2, ..of(&[Ty::I16, ty, Ty::I128]) }.check(&mut random);
        }
    }
    // Groups that no word holds, and nearly as many as rows.
    let long = |_, random: &mut Random| Value::str(format!("{:0>40}", random.below(5)));
    let few = Case { partition: 2, limit: Some(2), ..case(&[Ty::Str, Ty::Str, Ty::I64], 30_000, 2) };
    few.check_values(&mut random, |ty, random| if ty == Ty::Str { long(ty, random) } else { random_value(ty, random) });
    let unique = |_, random: &mut Random| Value::Int(random.bits() as i64);
    let many = Case { partition: 1, limit: Some(1), ..case(&[Ty::I64, Ty::I64], 150_000, 2) };
    many.check_values(&mut random, unique);
}

#[test]
fn groups_keep_little_memory() {
    let mut layout = RowLayout::with_header(0);
    let offsets = [layout.add(Ty::I64), layout.add(Ty::I64)];
    let key = |offset| SortField { offset, ty: Ty::I64, null: None, descending: false, nulls_first: false };
    let keys = offsets.map(key).to_vec();
    let state = SortState { layout, keys, partition: 1, limit: Some(2), offset: 0 };
    let context = context(vec![State::Sort(state)], None);
    let mut worker = context.worker(0);
    for i in 0..1_000_000i64 {
        let row = new_row(&mut worker, SORT);
        put(row, offsets[0], i % 1000);
        put(row, offsets[1], 1_000_000 - i);
        if i % 16_384 == 0 {
            worker.end_morsel().unwrap();
        }
    }
    worker.end_morsel().unwrap();
    assert!(context.shared().budget.used() < 2 << 20, "{} bytes", context.shared().budget.used());
    drop(worker);
    finalize(&context, SORT);
    let rows = all_rows(&context, SORT, RowSet::All, 5000, 100);
    assert!(rows.iter().map(|&row| get::<i64>(row, offsets[1])).all(|number| number <= 2000) && rows.len() == 2000);
}

#[test]
fn top_k_keeps_little_memory() {
    let mut layout = RowLayout::with_header(0);
    let offset = layout.add(Ty::I64);
    let keys = vec![SortField { offset, ty: Ty::I64, null: None, descending: false, nulls_first: false }];
    let context =
        context(vec![State::Sort(SortState { layout, keys, partition: 0, limit: Some(10), offset: 0 })], None);
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

#[test]
fn top_k_keeps_the_text_of_the_result_only() {
    let mut layout = RowLayout::with_header(0);
    let (text, id) = (layout.add(Ty::Str), layout.add(Ty::I64));
    let keys = vec![SortField { offset: id, ty: Ty::I64, null: None, descending: true, nulls_first: false }];
    let state = SortState { layout, keys, partition: 0, limit: Some(10), offset: 0 };
    let context = context(vec![State::Sort(state)], None);
    let text_of = |i: i64| format!("a text of a row, which is much longer than twelve bytes: {i}");
    let mut worker = context.worker(0);
    for i in 0..300_000i64 {
        let header = worker.text(&text_of(i)).unwrap();
        let row = new_row(&mut worker, SORT);
        put(row, id, i);
        put(row, text, header);
        if i % 16_384 == 0 {
            worker.end_morsel().unwrap();
        }
    }
    worker.end_morsel().unwrap();
    assert!(context.shared().budget.used() < 2 << 20, "{} bytes", context.shared().budget.used());
    drop(worker);
    finalize(&context, SORT);
    let rows = all_rows(&context, SORT, RowSet::All, 100, 100);
    // SAFETY: the state owns the strings of its rows.
    let found: Vec<String> = rows.iter().map(|&row| unsafe { get::<Str>(row, text).as_str().to_owned() }).collect();
    assert!(found.into_iter().eq((299_990..300_000).rev().map(text_of)));
}

#[test]
fn sorts_that_stop_often_sort_alike() {
    let mut random = Random(16);
    for steps in [10, 5000] {
        let stopped = |of: Case| Case { steps: Some(steps), ..of };
        stopped(case(&[Ty::Str, Ty::I64], 500, 2)).check(&mut random);
        stopped(case(&[Ty::Str, Ty::I16, Ty::Str], 40_000, 2)).check(&mut random);
        stopped(case(&[Ty::F64], 40_000, 3)).check(&mut random);
        let long = |_, random: &mut Random| Value::str(TEXTS[10 + random.index(2)]);
        stopped(Case { numbers: 100, ..case(&[Ty::Str; 5], 40_000, 2) }).check_values(&mut random, long);
        stopped(Case { partition: 1, limit: Some(3), offset: 1, ..case(&[Ty::Bool, Ty::I64], 40_000, 2) })
            .check(&mut random);
    }
}

/// The runs that each phase takes of a sort of texts that differ in their first byte or the last ones only, so that words say
/// little, if each run has so many steps.
fn runs_of_long_texts(rows: usize, length: usize, steps: u64) -> Vec<(&'static str, u64)> {
    let mut layout = RowLayout::with_header(0);
    let offset = layout.add(Ty::Str);
    let keys = vec![SortField { offset, ty: Ty::Str, null: None, descending: false, nulls_first: false }];
    let context = context(vec![State::Sort(SortState { layout, keys, partition: 0, limit: None, offset: 0 })], None);
    let mut worker = context.worker(0);
    let (mut random, same) = (Random(9), "x".repeat(length));
    for _ in 0..rows {
        let text = worker.text(&format!("{}{same}{:08}", random.below(2), random.below(1 << 26))).unwrap();
        put(new_row(&mut worker, SORT), offset, text);
    }
    worker.end_morsel().unwrap();
    drop(worker);
    let cut = Cutting { steps, slice: Duration::ZERO, ..Cutting::new(1) };
    let resumed = |morsel| Claim::Morsel { morsel, node: None, stolen: false };
    let mut phases = Vec::new();
    while let Some(tasks) = context.finalize_phase(SORT, phases.len(), &cut).unwrap() {
        let (mut runs, mut rest) = (0, None);
        while let Claim::Morsel { morsel, .. } = rest.map_or_else(|| tasks.claim(WorkerId(0), Wanted::USUAL), resumed) {
            rest = tasks.run(WorkerId(0), morsel).unwrap().rest();
            runs += 1;
        }
        phases.push((context.phase(SORT), runs));
    }
    phases
}

#[test]
fn no_run_of_a_sort_goes_much_further_than_its_steps() {
    // A comparison of these texts is 17 steps, and a sort of two halves of n rows at least n log2 (n / 2) - 1.44 n of them.
    let steps = 8192;
    let least = |n: f64| (n * (n.log2() - 2.44) * 17.0 / steps as f64) as u64;
    let few = runs_of_long_texts(10_000, 1024, steps);
    assert!(matches!(few[..], [("sort", runs)] if runs >= least(10_000.0)), "{few:?}");
    let many = runs_of_long_texts(40_000, 1024, steps);
    assert!(many.iter().map(|phase| phase.0).eq(["sample", "bounds", "deal out", "sort"]), "{many:?}");
    let expected = [least(4096.0), 40_000 / steps, 40_000 / steps, least(40_000.0)];
    assert!(many.iter().zip(expected).all(|(phase, least)| phase.1 >= least), "{many:?}, {expected:?}");
}
