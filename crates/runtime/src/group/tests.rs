//! Groups against a map.

use std::collections::BTreeMap;

use base::Random;
use base::ids::Id;
use pipeline::ir::{Function, GROUP_HEADER, RowLayout, RowSet, State, StateId, Ty};
use types::Str;
use types::ops::hash::hash_i64;

use super::*;
use crate::abi::{Worker, group_new};
use crate::query::Pair;
use crate::testing::{all_rows, context, finalize, get, put};

const GROUP: StateId = StateId(0);
const KEY: u32 = 8;
const SUM: u32 = 16;
const COUNT: u32 = 24;

/// Without keys, by hash, or numbered.
fn state(has_keys: bool, slots: Option<u64>) -> State {
    let mut layout = RowLayout::with_header(GROUP_HEADER);
    for offset in [KEY, SUM, COUNT] {
        assert_eq!(layout.add(Ty::I64), offset);
    }
    let combine = Function {
        rows: [pipeline::ir::Var(0), pipeline::ir::Var(1)],
        body: vec![],
        result: None,
        vars: base::IdMap::new(),
    };
    State::Group(GroupState { layout, has_keys, slots, enough: None, equal: None, combine })
}

fn pairs() -> PairFns {
    PairFns {
        equal: Some(Pair::closure(|_, a, b| Ok(get::<i64>(a, KEY) == get::<i64>(b, KEY)))),
        combine: Pair::closure(|_, a, b| {
            add(a, get(b, SUM), get(b, COUNT));
            Ok(false)
        }),
    }
}

fn add(row: *mut u8, value: i64, count: i64) {
    put(row, SUM, get::<i64>(row, SUM) + value);
    put(row, COUNT, get::<i64>(row, COUNT) + count);
}

/// The group's row, as generated code finds or makes it.
fn find(worker: &mut Worker, hash: u64, key: i64) -> *mut u8 {
    // SAFETY: a group state with keys.
    unsafe {
        let local = (*worker.locals.add(GROUP.index())).cast::<GroupLocal>();
        (*local).tuples += 1;
        for i in 0..GROUP_PROBES as u64 {
            let slot = *(*local).directory.add((((hash >> 16) + i) & (*local).mask) as usize);
            let row = (slot & ((1 << 48) - 1)) as *mut u8;
            if slot != 0 && slot >> 48 == hash >> 48 && get::<u64>(row, 0) == hash && get::<i64>(row, KEY) == key {
                return row;
            }
        }
        let row = group_new(worker, GROUP.index() as u64, hash);
        put(row, KEY, key);
        row
    }
}

/// The group's row where groups are numbered.
fn find_numbered(worker: &mut Worker, number: u64) -> *mut u8 {
    // SAFETY: a group state with numbers.
    unsafe {
        let local = (*worker.locals.add(GROUP.index())).cast::<GroupLocal>();
        let slot = if number < (*local).mask { *(*local).directory.add(number as usize) } else { 0 };
        if slot != 0 {
            return slot as *mut u8;
        }
        let row = group_new(worker, GROUP.index() as u64, number);
        put(row, KEY, number as i64);
        row
    }
}

fn check(input: &[i64], workers: usize, hash: fn(i64) -> u64) {
    check_by(input, workers, None, |worker, key| find(worker, hash(key), key));
}

fn check_by(input: &[i64], workers: usize, slots: Option<u64>, find: impl Fn(&mut Worker, i64) -> *mut u8 + Sync) {
    let context = context(vec![state(true, slots)], Some(pairs()));
    std::thread::scope(|scope| {
        for (number, part) in input.chunks(input.len().div_ceil(workers).max(1)).enumerate() {
            let (context, find) = (&context, &find);
            scope.spawn(move || {
                let mut worker = context.worker(number);
                for (i, &key) in part.iter().enumerate() {
                    if i % 5000 == 0 {
                        worker.end_morsel().unwrap();
                        worker.begin_morsel(i as u64..i as u64 + 5000);
                    }
                    let row = find(&mut worker, key);
                    add(row, key * 3 + i as i64 % 5, 1);
                }
            });
        }
    });
    finalize(&context, GROUP);
    let mut expected = BTreeMap::<i64, (i64, i64)>::new();
    for part in input.chunks(input.len().div_ceil(workers).max(1)) {
        for (i, &key) in part.iter().enumerate() {
            let group = expected.entry(key).or_default();
            *group = (group.0 + key * 3 + i as i64 % 5, group.1 + 1);
        }
    }
    let rows = all_rows(&context, GROUP, RowSet::All, 1000, 100);
    assert_eq!(rows.len(), expected.len(), "each group once");
    let found: BTreeMap<i64, (i64, i64)> = rows.iter().map(|&r| (get(r, KEY), (get(r, SUM), get(r, COUNT)))).collect();
    assert_eq!(found, expected);
    // Whoever reads later, however its morsels are cut, reads the same.
    let mut again = all_rows(&context, GROUP, RowSet::All, 17_000, 1024);
    let mut rows = rows;
    again.sort_unstable();
    rows.sort_unstable();
    assert!(again == rows, "{} rows, then {}", rows.len(), again.len());
}

#[test]
fn partitions_are_combined_step_by_step() {
    const STEPS: u64 = 50;
    let context = context(vec![state(true, None)], Some(pairs()));
    for n in 0..2 {
        let mut worker = context.worker(n);
        (0..1500).for_each(|key| add(find(&mut worker, hash_i64(key), key), key, 1));
    }
    finalize(&context, GROUP);
    let source = context.rows(GROUP, RowSet::All);
    assert_eq!(source.len(), 3000, "few rows are one partition");
    // Each worker goes on where another one has stopped.
    let steps = (0..).find(|&n| source.prepare(&mut context.worker(n % 2), 0, STEPS).unwrap()).unwrap();
    assert_eq!(steps as u64, 3000 / STEPS - 1);
    assert_eq!(all_rows(&context, GROUP, RowSet::All, 10_000, 1024).len(), 1500);
}

#[test]
fn groups_own_their_keys() {
    const LENGTH: usize = 40;
    let mut layout = RowLayout::with_header(GROUP_HEADER);
    let (key, count) = (layout.add(Ty::Str), layout.add(Ty::I64));
    let combine = Function { rows: [pipeline::ir::Var(0); 2], body: vec![], result: None, vars: base::IdMap::new() };
    let state = State::Group(GroupState { layout, has_keys: true, slots: None, enough: None, equal: None, combine });
    let pairs = PairFns {
        // SAFETY: keys are alive.
        equal: Some(Pair::closure(move |_, a, b| Ok(unsafe { get::<Str>(a, key).equals(&get(b, key)) }))),
        combine: Pair::closure(move |_, a, b| {
            put(a, count, get::<i64>(a, count) + get::<i64>(b, count));
            Ok(false)
        }),
    };
    let context = context(vec![state], Some(pairs));
    // More groups than a directory has slots, so that many go to overflow partitions.
    let groups = 200_000;
    for n in 0..2 {
        let mut worker = context.worker(n);
        for number in 0..groups {
            let text = format!("{number:0LENGTH$}");
            let header = worker.text(&text).unwrap();
            // SAFETY: a group state with keys.
            let row = unsafe { group_new(&mut *worker, 0, types::ops::hash::hash_bytes(text.as_bytes())) };
            put(row, key, header);
            put(row, count, 1i64);
            if number % 1000 == 999 {
                worker.end_morsel().unwrap();
            }
        }
    }
    finalize(&context, GROUP);
    let rows = all_rows(&context, GROUP, RowSet::All, 16_384, 1024);
    // SAFETY: the state owns its keys.
    let text = |row| unsafe { get::<Str>(row, key).as_str().to_owned() };
    let mut found: Vec<(String, i64)> = rows.iter().map(|&row| (text(row), get(row, count))).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq((0..groups).map(|number| (format!("{number:0LENGTH$}"), 2))));
}

#[test]
fn groups_are_those_of_a_map() {
    let mut random = Random(3);
    for (rows, keys, workers) in [
        (0, 1, 2),
        (1, 1, 2),
        (5000, 3, 1),
        (5000, 3, 4),
        (3000, 1000, 3),
        (200_000, 100_000, 3),
        (400_000, 300_000, 1),
    ] {
        let input: Vec<i64> = (0..rows).map(|_| random.below(keys) as i64).collect();
        check(&input, workers, hash_i64);
        check_by(&input, workers, Some(keys), |worker, key| find_numbered(worker, key as u64));
    }
}

/// Runs keys through one worker: new rows and the directory's slots after each part.
fn progress(parts: &[Vec<i64>]) -> Vec<(usize, u64)> {
    let context = context(vec![state(true, None)], Some(pairs()));
    let mut worker = context.worker(0);
    let mut rows = 0;
    let mut run = |part: &Vec<i64>| {
        for (i, &key) in part.iter().enumerate() {
            let row = find(&mut worker, hash_i64(key), key);
            rows += usize::from(get::<i64>(row, COUNT) == 0);
            add(row, 1, 1);
            if i % 10_000 == 0 {
                worker.end_morsel().unwrap();
            }
        }
        // SAFETY: a group state.
        (rows, unsafe { (*(*worker.locals.add(GROUP.index())).cast::<GroupLocal>()).mask } + 1)
    };
    parts.iter().map(&mut run).collect()
}

#[test]
fn a_directory_that_is_just_too_small_is_kept() {
    let mut random = Random(5);
    let [few, many] = [120_000, 140_000].map(|groups| {
        let keys = (0..1_500_000).map(|_| random.below(groups) as i64).collect();
        progress(&[keys])[0]
    });
    assert_eq!(many.1, 1 << 18);
    assert!(few.0 < 125_000 && many.0 < 150_000, "{few:?} {many:?}");
}

#[test]
fn pre_aggregation_goes_and_comes_back() {
    let mut random = Random(6);
    let distinct: Vec<i64> = (0..1_000_000).collect();
    let repeated: Vec<i64> = (0..4_000_000).map(|_| random.below(50_000) as i64).collect();
    let states = progress(&[distinct, repeated.clone(), repeated]);
    assert_eq!(states[0].1, 1 << 10, "a million keys, each once");
    assert_eq!(states[1].1, 1 << 18, "they repeat themselves now");
    assert!(states[2].0 - states[1].0 < 100_000, "{states:?}");
}

#[test]
fn skew_and_colliding_hashes_are_harmless() {
    let mut random = Random(4);
    // Half of the rows in one group, the others all over.
    let input: Vec<i64> =
        (0..100_000).map(|_| if random.below(2) == 0 { 7 } else { random.below(1 << 40) as i64 }).collect();
    check(&input, 3, hash_i64);
    let input: Vec<i64> = (0..20_000).map(|_| random.below(3000) as i64).collect();
    check(&input, 2, |key| hash_i64(key / 20));
    check(&input[..2000], 2, |_| 42);
}

#[test]
fn without_keys_there_is_exactly_one_row() {
    for workers in [1, 3] {
        for taking_part in 0..=workers {
            let context = context(vec![state(false, None)], Some(pairs()));
            for number in 0..taking_part {
                let worker = context.worker(number);
                // SAFETY: a group state.
                let row = unsafe { (*(*worker.locals.add(GROUP.index())).cast::<GroupLocal>()).only };
                add(row, 10, 1);
            }
            finalize(&context, GROUP);
            let rows = all_rows(&context, GROUP, RowSet::All, 10, 10);
            assert_eq!(rows.len(), 1);
            assert_eq!(
                (get::<i64>(rows[0], SUM), get::<i64>(rows[0], COUNT)),
                (10 * taking_part as i64, taking_part as i64)
            );
            // SAFETY: published by the finalisation.
            assert_eq!(unsafe { *context.worker(0).shared.add(GROUP.index()) }, rows[0].cast_const());
        }
    }
}

#[test]
fn an_error_while_combining_ends_the_query() {
    let failing = PairFns { equal: None, combine: Pair::closure(|_, _, _| Err(base::Error::internal("combine"))) };
    let context = context(vec![state(true, None)], Some(failing));
    for number in 0..2 {
        find(&mut context.worker(number), hash_i64(1), 1);
    }
    context.finalize_inline(GROUP).unwrap();
    let source = context.rows(GROUP, RowSet::All);
    let read = source.fill(&mut context.worker(0), &mut 0, source.len(), &mut [std::ptr::null_mut()]);
    assert_eq!(read.unwrap_err().message(), "combine");
}
