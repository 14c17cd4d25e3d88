//! Joins of all kinds against nested loops.

use std::collections::BTreeMap;

use base::Random;
use base::ids::Id;
use pipeline::ir::{JOIN_HEADER, JoinState, JoinWord, RowLayout, RowSet, State, StateId, Ty};
use types::ops::hash::hash_i64;

use super::*;
use crate::generator::PAUSED;
use crate::query::QueryContext;
use crate::testing::{all_rows, context, finalize, get, new_row, put};

const JOIN: StateId = StateId(0);

/// key, value, marker, whether the key is NULL
struct Layout {
    layout: RowLayout,
    key: u32,
    value: u32,
    marker: u32,
    null: u32,
}

/// What rows are found by: how a word comes from a key.
#[derive(Clone, Copy)]
enum By {
    Hash(fn(i64) -> u64),
    Key,
}

impl By {
    fn word(self, key: i64) -> u64 {
        match self {
            Self::Hash(hash) => hash(key),
            Self::Key => key as u64,
        }
    }
}

fn layout() -> Layout {
    let mut layout = RowLayout::with_header(JOIN_HEADER);
    let (key, value, marker) = (layout.add(Ty::I64), layout.add(Ty::I64), layout.add(Ty::Bool));
    let null = layout.add(Ty::Bool);
    Layout { layout, key, value, marker, null }
}

/// Hashes that collide for different keys.
fn weak_hash(key: i64) -> u64 {
    hash_i64(key / 3)
}

fn build(rows: &[(Option<i64>, i64)], workers: usize, by: By) -> Arc<QueryContext> {
    build_for(rows, workers, by, false)
}

fn build_for(rows: &[(Option<i64>, i64)], workers: usize, by: By, filters: bool) -> Arc<QueryContext> {
    let l = layout();
    let word = match by {
        By::Hash(_) => JoinWord::Hash,
        By::Key => JoinWord::Key { null: Some(l.null) },
    };
    let context =
        context(vec![State::Join(JoinState { layout: l.layout.clone(), unique: false, word, filters })], None);
    std::thread::scope(|scope| {
        for (number, part) in rows.chunks(rows.len().div_ceil(workers).max(1)).enumerate() {
            let (context, l) = (&context, &l);
            scope.spawn(move || {
                let mut worker = context.worker(number);
                // A NULL key matches nothing: its row is kept, under a hash of its own.
                for &(key, value) in part {
                    let row = new_row(&mut worker, JOIN);
                    put(row, 8, key.map_or(u64::MAX, |key| by.word(key)));
                    put(row, l.null, u8::from(key.is_none()));
                    put(row, l.key, key.unwrap_or(i64::MIN));
                    put(row, l.value, value);
                }
                worker.end_morsel().unwrap();
            });
        }
    });
    finalize(&context, JOIN);
    context
}

fn scratch() -> Box<ProbeScratch> {
    // SAFETY: integers and pointers, for which zero is a value.
    unsafe { Box::new_zeroed().assume_init() }
}

fn table(context: &Arc<QueryContext>) -> *const JoinTable {
    // SAFETY: the array has an item for each state.
    unsafe { *context.worker(0).shared.add(JOIN.index()) }.cast()
}

/// What one probe tuple met: its build values, in order.
type Matches = BTreeMap<usize, Vec<i64>>;

/// Probes all tuples as generated code does, marking what matches: `condition` on top of equal keys. Returns matches, and
/// the tuples that `probe_unmatched` delivers.
fn probe(
    context: &Arc<QueryContext>,
    tuples: &[Option<i64>],
    by: By,
    first_only: u64,
    condition: impl Fn(usize, i64) -> bool,
) -> (Matches, Vec<usize>) {
    let l = layout();
    let (table, mut s) = (table(context), scratch());
    let mut random = Random(tuples.len() as u64);
    let (mut matches, mut unmatched) = (Matches::new(), Vec::new());
    for (number, batch) in tuples.chunks(BATCH).enumerate() {
        s.count = batch.len() as u64;
        s.has_active = 1;
        s.first_only = first_only;
        for (i, key) in batch.iter().enumerate() {
            s.hashes[i] = key.map_or(u64::MAX, |key| by.word(key));
            s.active[i] = key.is_some().into();
        }
        let first = number * BATCH;
        // SAFETY: the table is finished and the scratch filled.
        unsafe {
            probe_begin(table, &mut *s);
            loop {
                // Now and then it pauses.
                let mut steps = random.below(3 * BATCH as u64);
                let n = probe_next(table, &mut *s, &mut steps);
                if n == PAUSED {
                    assert_eq!(steps, 0);
                    continue;
                }
                let n = n as usize;
                assert!(n <= BATCH);
                if n == 0 {
                    break;
                }
                for i in 0..n {
                    let (row, tuple) = (s.entries[i], s.tuples[i] as usize);
                    let value = get::<i64>(row, l.value);
                    if Some(get::<i64>(row, l.key)) == batch[tuple] && condition(first + tuple, value) {
                        put(row, l.marker, 1u8);
                        s.matched[tuple] = 1;
                        matches.entry(first + tuple).or_default().push(value);
                    }
                }
            }
            let n = probe_unmatched(&mut *s) as usize;
            assert!(s.entries[..n].iter().all(|e| e.is_null()));
            unmatched.extend(s.tuples[..n].iter().map(|&t| first + t as usize));
        }
    }
    matches.values_mut().for_each(|m| m.sort_unstable());
    (matches, unmatched)
}

/// Everything that the kinds of join are made of, against nested loops: pairs (inner, left), tuples with and without a
/// match (semi, anti, mark, left), build rows with and without a match (right, full, build-side semi and anti).
fn check(build_rows: &[(Option<i64>, i64)], tuples: &[Option<i64>], workers: usize, by: By) {
    let l = layout();
    for modulus in [1, 2] {
        let condition = |tuple: usize, value: i64| (tuple as i64 + value) % modulus == 0;
        let context = build(build_rows, workers, by);
        let (matches, unmatched) = probe(&context, tuples, by, 0, condition);
        let mut expected = Matches::new();
        let mut marked = vec![false; build_rows.len()];
        for (t, key) in tuples.iter().enumerate() {
            for (b, (build_key, value)) in build_rows.iter().enumerate() {
                if key.is_some() && key == build_key && condition(t, *value) {
                    expected.entry(t).or_default().push(*value);
                    marked[b] = true;
                }
            }
        }
        expected.values_mut().for_each(|m| m.sort_unstable());
        assert_eq!(matches, expected);
        let without: Vec<usize> = (0..tuples.len()).filter(|t| !expected.contains_key(t)).collect();
        assert_eq!(unmatched, without);
        let values = |rows| {
            let mut values: Vec<i64> =
                all_rows(&context, JOIN, rows, 100, 7).into_iter().map(|row| get(row, l.value)).collect();
            values.sort_unstable();
            values
        };
        let expect = |wanted: &dyn Fn(bool) -> bool| {
            let mut values: Vec<i64> =
                build_rows.iter().zip(&marked).filter(|(_, m)| wanted(**m)).map(|((_, v), _)| *v).collect();
            values.sort_unstable();
            values
        };
        assert_eq!(values(RowSet::Marked(l.marker)), expect(&|m| m));
        assert_eq!(values(RowSet::Unmarked(l.marker)), expect(&|m| !m));
        assert_eq!(values(RowSet::All), expect(&|_| true));
        // Existence does not need all pairs.
        let (some, unmatched) = probe(&context, tuples, by, 2, condition);
        assert!(some.keys().eq(expected.keys()));
        assert_eq!(unmatched, without);
    }
}

/// Every way in which rows may be found.
const ALL: [By; 3] = [By::Hash(hash_i64), By::Hash(weak_hash), By::Key];

#[test]
fn joins_are_nested_loops() {
    let mut random = Random(1);
    for (build_rows, tuples, keys, workers) in
        [(0, 10, 5, 1), (10, 0, 5, 2), (1, 1, 1, 1), (50, 3000, 20, 3), (3000, 50, 100, 2), (400, 1500, 100_000, 4)]
    {
        let mut key = |nulls: u64| {
            if nulls > 0 && random.below(nulls) == 0 { None } else { Some(random.below(keys) as i64 - keys as i64 / 2) }
        };
        let build_rows: Vec<_> = (0..build_rows).map(|i| (key(10), i)).collect();
        let tuples: Vec<_> = (0..tuples).map(|_| key(7)).collect();
        ALL.iter().for_each(|&by| check(&build_rows, &tuples, workers, by));
    }
}

#[test]
fn keys_may_be_any_numbers() {
    for (least, greatest) in [(i64::MIN, i64::MAX), (i64::MIN, i64::MIN + 7), (i64::MAX - 7, i64::MAX), (-4, 3)] {
        let ends = [least, least + 1, greatest - 1, greatest];
        let build_rows: Vec<_> = (0..20).map(|i| (Some(ends[i % 4]), i as i64)).collect();
        let tuples: Vec<_> = [i64::MIN, i64::MAX, 0, -1].into_iter().chain(ends).map(Some).collect();
        check(&build_rows, &tuples, 2, By::Key);
    }
    check(&[(None, 1), (None, 2)], &[Some(0), None, Some(i64::MAX)], 1, By::Key);
}

#[test]
fn few_keys_far_from_each_other_are_listed() {
    let rows: Vec<_> = [9, i64::MIN, 1 << 40, 9].iter().map(|&key| (Some(key), 0)).chain([(None, 1)]).collect();
    let known = build_for(&rows, 1, By::Key, true).keys(JOIN).unwrap();
    assert_eq!((known.bits.is_none(), known.list.as_deref()), (true, Some([i64::MIN, 9, 1 << 40].as_slice())));
    let near = build_for(&[(Some(3), 0), (Some(5), 0)], 1, By::Key, true).keys(JOIN).unwrap();
    assert_eq!((near.range, near.list), (3..=5, None));
    assert!(near.bits.is_some());
}

#[test]
fn one_key_with_many_rows_overflows_the_output_and_goes_on() {
    let build_rows: Vec<_> = (0..2000).map(|i| (Some(if i % 10 == 0 { 1 } else { 2 }), i)).collect();
    let tuples = vec![Some(2), Some(1), Some(3), Some(2)];
    ALL.iter().for_each(|&by| check(&build_rows, &tuples, 2, by));
}

#[test]
fn the_first_match_of_a_unique_key_is_the_only_one() {
    let mut random = Random(5);
    let build_rows: Vec<_> = (0..5000).map(|i| (Some(i), i * 7)).collect();
    let tuples: Vec<_> = (0..10_000).map(|_| Some(random.below(10_000) as i64)).collect();
    for by in [By::Hash(hash_i64), By::Key] {
        let context = build(&build_rows, 3, by);
        let all = probe(&context, &tuples, by, 0, |_, _| true);
        for first_only in [1, 3] {
            assert_eq!(all, probe(&context, &tuples, by, first_only, |_, _| true));
        }
        assert_eq!(all.0.len(), tuples.iter().filter(|k| k.is_some_and(|k| k < 5000)).count());
    }
}

#[test]
fn what_is_read_of_rows_lies_by_key_where_keys_are_dense_and_unique() {
    let mut random = Random(13);
    for fields in
        [&[][..], &[Ty::I32], &[Ty::I64], &[Ty::I64, Ty::I32, Ty::Bool], &[Ty::I128], &[Ty::I64, Ty::I64, Ty::I64]]
    {
        for (rows, gaps, repeated) in
            [(5000, 1, false), (5000, 2, false), (5000, 1, true), (5000, 3, false), (100, 1, false)]
        {
            let mut layout = RowLayout::with_header(JOIN_HEADER);
            let offsets: Vec<u32> = fields.iter().map(|&ty| layout.add(ty)).collect();
            let join = JoinState { layout, unique: false, word: JoinWord::Key { null: None }, filters: false };
            let context = context(vec![State::Join(join)], None);
            let least = random.bits() as i64 >> 1;
            // Every key, or one of so many.
            let mut keys: Vec<i64> =
                (0..rows).map(|number| least + number * gaps + random.below(gaps as u64) as i64).collect();
            if repeated {
                keys[1700] = keys[3];
            }
            for number in (1..keys.len()).rev() {
                keys.swap(number, random.index(number + 1));
            }
            std::thread::scope(|scope| {
                for (number, part) in keys.chunks(1800).enumerate() {
                    let (context, offsets) = (&context, &offsets);
                    scope.spawn(move || {
                        let mut worker = context.worker(number);
                        for &key in part {
                            let row = new_row(&mut worker, JOIN);
                            put(row, 8, key);
                            for (&ty, &offset) in fields.iter().zip(offsets) {
                                let byte = (key - least) as u8 ^ offset as u8;
                                (0..ty.size()).for_each(|at| put(row, offset + at, byte));
                            }
                        }
                        worker.end_morsel().unwrap();
                    });
                }
            });
            finalize(&context, JOIN);
            let (table, mut s) = (table(&context), scratch());
            let size: u32 = fields.iter().map(|ty| ty.size()).sum();
            // SAFETY: the table is finished.
            assert_eq!(unsafe { (*table).has_payloads() }, size <= 16 && gaps < 3 && rows > 100 && !repeated);
            let tuples: Vec<i64> =
                (0..BATCH).map(|_| least - 100 + random.below(rows as u64 * gaps as u64 + 200) as i64).collect();
            (s.count, s.has_active, s.first_only) = (BATCH as u64, 0, 0);
            tuples.iter().zip(&mut s.hashes).for_each(|(&key, word)| *word = key as u64);
            let mut found = Vec::new();
            // SAFETY: the table is finished and the scratch filled.
            unsafe {
                probe_begin(table, &mut *s);
                loop {
                    let n = probe_next(table, &mut *s, &mut 10_000) as usize;
                    if n == 0 {
                        break;
                    }
                    for i in 0..n {
                        let key = tuples[s.tuples[i] as usize];
                        for (&ty, &offset) in fields.iter().zip(&offsets) {
                            let byte = (key - least) as u8 ^ offset as u8;
                            assert!((0..ty.size()).all(|at| get::<u8>(s.entries[i], offset + at) == byte));
                        }
                        found.push(s.tuples[i]);
                    }
                }
            }
            found.sort_unstable();
            let of = |t: usize| keys.iter().filter(|&&key| key == tuples[t]).count();
            let expected = (0..BATCH).flat_map(|t| std::iter::repeat_n(t as u32, of(t)));
            assert!(found.iter().copied().eq(expected));
        }
    }
}

#[test]
fn tags_have_no_false_negatives() {
    let mut random = Random(9);
    for _ in 0..1000 {
        let hashes: Vec<u64> = (0..5).map(|_| random.bits()).collect();
        let slot = hashes.iter().fold(0, |slot, &h| slot | tags::tag(h));
        assert!(hashes.iter().all(|&h| tags::admits(slot, h)));
    }
    let single = tags::tag(random.bits());
    let admitted = (0..10_000).filter(|_| tags::admits(single, random.bits())).count();
    assert!(admitted < 200, "{admitted} of 10,000 hashes pass a chain of one");
}

/// Ranges that numbers lie in, or that overlap, against nested loops: low and high of each build row, none: NULL.
fn check_ranges(build_rows: &[Option<(i64, i64)>], tuples: &[Option<(i64, i64)>], workers: usize, ends: bool) {
    let l = layout();
    let word = JoinWord::Range { null: Some(l.null), until: ends.then_some(l.key) };
    let join = JoinState { layout: l.layout.clone(), unique: false, word, filters: false };
    let context = context(vec![State::Join(join)], None);
    std::thread::scope(|scope| {
        let part = build_rows.len().div_ceil(workers).max(1);
        for (number, rows) in build_rows.chunks(part).enumerate() {
            let (context, l) = (&context, &l);
            scope.spawn(move || {
                let mut worker = context.worker(number);
                for (at, range) in rows.iter().enumerate() {
                    let row = new_row(&mut worker, JOIN);
                    put(row, 8, range.map_or(0, |r| r.0));
                    put(row, l.null, u8::from(range.is_none()));
                    put(row, l.key, range.map_or(0, |r| r.1));
                    put(row, l.value, (number * part + at) as i64);
                }
                worker.end_morsel().unwrap();
            });
        }
    });
    finalize(&context, JOIN);
    let (table, mut s, mut random) = (table(&context), scratch(), Random(3));
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for (number, batch) in tuples.chunks(BATCH).enumerate() {
        (s.count, s.has_active, s.first_only) = (batch.len() as u64, 1, 0);
        for (i, tuple) in batch.iter().enumerate() {
            (s.hashes[i], s.until[i]) = tuple.map_or((0, 0), |t| (t.0 as u64, t.1));
            s.active[i] = tuple.is_some().into();
        }
        // SAFETY: the table is finished and the scratch filled.
        unsafe {
            probe_begin(table, &mut *s);
            loop {
                let mut steps = random.below(3 * BATCH as u64);
                match probe_next(table, &mut *s, &mut steps) {
                    PAUSED => assert_eq!(steps, 0),
                    0 => break,
                    n => {
                        found.extend((0..n as usize).map(|i| {
                            (number * BATCH + s.tuples[i] as usize, get::<i64>(s.entries[i], l.value) as usize)
                        }))
                    }
                }
            }
        }
    }
    for (t, tuple) in tuples.iter().enumerate() {
        for (b, range) in build_rows.iter().enumerate() {
            if let (Some(tuple), Some(range)) = (tuple, range)
                && range.0 <= tuple.0
                && (!ends || range.1 >= tuple.1)
            {
                expected.push((t, b));
            }
        }
    }
    found.sort_unstable();
    assert!(found == expected, "{} pairs, {} expected", found.len(), expected.len());
    assert_eq!(all_rows(&context, JOIN, RowSet::All, 100, 7).len(), build_rows.len());
}

#[test]
fn ranges_are_nested_loops() {
    let mut random = Random(11);
    for (build_rows, tuples, numbers, width, workers) in [
        (0, 10, 5, 3, 1),
        (10, 0, 5, 3, 2),
        (1, 50, 10, 3, 1),
        (300, 3000, 1000, 20, 3),
        (300, 300, 10, 100, 2),
        (40_000, 200, 1_000_000, 50, 3),
        (40_000, 20, 1, 1, 2),
    ] {
        for ends in [true, false] {
            let mut range = |width: u64| {
                let low = random.below(numbers) as i64 - numbers as i64 / 2;
                (random.below(9) != 0).then(|| (low, low - 1 + random.below(width) as i64))
            };
            let build_rows: Vec<_> = (0..build_rows).map(|_| range(width)).collect();
            // Of numbers, and of ranges that overlap.
            let points: Vec<_> = (0..tuples).map(|_| range(1).map(|r| (r.0, r.0))).collect();
            check_ranges(&build_rows, &points, workers, ends);
            let ranges: Vec<_> = (0..tuples).map(|_| range(width).map(|r| (r.1, r.0))).collect();
            check_ranges(&build_rows, &ranges, workers, ends);
        }
    }
    let all = [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX];
    let pairs: Vec<_> = all.iter().flat_map(|&a| all.map(|b| Some((a, b)))).collect();
    check_ranges(&pairs, &pairs, 2, true);
    check_ranges(&pairs, &pairs, 2, false);
}
