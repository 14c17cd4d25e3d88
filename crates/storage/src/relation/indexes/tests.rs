//! Ordered indexes beside scans and models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::helpers::{Alone, Helpers, PieceStep};
use base::{Budget, Random, Result, SqlState};
use types::{Chunk, SqlType, Value};

use crate::index::{IndexDefinition, IndexMethod, IndexPart, RowOrder, Unique};
use crate::relation::{Distribution, Few, FirstRows, IndexedRows};
use crate::testing::{TYPES, column, value};
use crate::{Attribute, Comparison, Relation, RowId, ScanOp, ScanPredicate, Schema, Scratch, Snapshot, Transaction};
use crate::{WINDOW, relation};

fn relation_of(types: &[SqlType]) -> Arc<Relation> {
    let attribute = |(at, sql_type): (usize, &SqlType)| Attribute::new(format!("c{at}"), *sql_type, false);
    let attributes = types.iter().enumerate().map(attribute).collect();
    let budget = Budget::new(usize::MAX);
    Relation::new("t", Schema::new(attributes, vec![]), Distribution::Local, &budget).unwrap()
}

fn definition(parts: &[(usize, bool, bool)], unique: Unique) -> IndexDefinition {
    let part = |&(attribute, descending, nulls_first): &_| IndexPart { attribute, descending, nulls_first };
    IndexDefinition {
        name: "i".to_owned(),
        parts: parts.iter().map(part).collect(),
        unique,
        only: None,
        deferrable: None,
        method: IndexMethod::Tree,
        included: Vec::new(),
    }
}

fn chunk(types: &[SqlType], rows: &[Vec<Value>]) -> Chunk {
    let of = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    Chunk::new(rows.len(), types.iter().enumerate().map(|(at, t)| column(*t, &of(at))).collect())
}

fn append(relation: &Arc<Relation>, types: &[SqlType], rows: &[Vec<Value>]) -> relation::Append {
    let append = relation.append(&Budget::new(usize::MAX));
    append.append(0, 0, chunk(types, rows)).unwrap();
    append
}

/// Three threads.
struct Threads;

impl Helpers for Threads {
    fn each(&self, count: usize, step: PieceStep) -> Result<()> {
        let next = AtomicUsize::new(0);
        let pieces =
            || std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|piece| *piece < count);
        let one = || {
            pieces().try_for_each(|piece| {
                while !step(piece)? {}
                Ok(())
            })
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })
    }
}

fn most(rows: usize) -> Few {
    Few { read: rows, told: rows }
}

/// The rows of a snapshot that satisfy all predicates, of all or of some.
fn scan(snapshot: &Snapshot, predicates: &[ScanPredicate], some: Option<&[RowId]>) -> Vec<RowId> {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    let predicates: Arc<[ScanPredicate]> = predicates.into();
    for chunk in snapshot.chunks() {
        let reader = chunk.read();
        let Some(applicable) = reader.applicable(&predicates, &mut scratch) else { continue };
        let mut out = [0; WINDOW];
        for from in (0..reader.rows()).step_by(WINDOW) {
            let count = reader.scan(from..reader.rows().min(from + WINDOW), &applicable, &mut scratch, &mut out);
            found.extend(out[..count].iter().map(|&at| RowId::new(chunk.number(), from + at as usize)));
        }
    }
    if let Some(some) = some {
        found.retain(|row| some.binary_search(row).is_ok());
    }
    found
}

fn predicate(random: &mut Random, attribute: usize, sql_type: SqlType, distinct: u64) -> ScanPredicate {
    let mut one = || value(random, sql_type, distinct);
    let (a, b, c) = (one(), one(), one());
    let comparisons = [Comparison::Eq, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge, Comparison::Ne];
    let op = match random.below(12) {
        0 => ScanOp::IsNull,
        1 => ScanOp::IsNotNull,
        2 => ScanOp::In(vec![a, b, Value::Null, c]),
        3 => ScanOp::Between { low: Some((a, random.below(2) == 0)), high: Some((b, random.below(2) == 0)) },
        4 => ScanOp::Between { low: None, high: Some((b, true)) },
        6 if matches!(sql_type, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt) => match random.below(3) {
            0 => ScanOp::Listed(vec![-1 << 40, -3, 5, 7, 8, 1 << 40].into()),
            1 => ScanOp::Keys { least: -1 << 40, greatest: 7, bits: None },
            _ => ScanOp::Keys { least: -5, greatest: 250, bits: Some(vec![0b1011, 1, 0, 1 << 3].into()) },
        },
        5 if sql_type.physical() == types::Physical::Str => match a {
            Value::Str(text) => ScanOp::Prefix(text.chars().take(3).collect()),
            _ => ScanOp::IsNull,
        },
        n => ScanOp::Compare(comparisons[n as usize % comparisons.len()], a),
    };
    ScanPredicate::new(attribute, sql_type, op)
}

fn order(random: &mut Random) -> RowOrder {
    let nulls_first = [None, Some(true), Some(false)][random.index(3)];
    RowOrder { attribute: random.index(3), descending: random.below(2) == 0, nulls_first }
}

/// Whether rows were left out because the first ones in an order are enough; these are among those that were found.
fn has_first(snapshot: &Snapshot, predicates: &[ScanPredicate], first: FirstRows, found: &[RowId]) -> bool {
    let FirstRows { order, rows, ties } = first;
    let all = scan(snapshot, predicates, None);
    let value = |row: &RowId| snapshot.row(*row).swap_remove(order.attribute);
    let mut wanted: Vec<(Value, RowId)> = all.iter().map(|row| (value(row), *row)).collect();
    wanted.retain(|(value, _)| order.nulls_first.is_some() || !value.is_null());
    wanted.sort_by(|(a, _), (b, _)| {
        let of_null = |value: &Value| value.is_null() != order.nulls_first.unwrap_or_default();
        let compared = if order.descending { b.total_cmp(a) } else { a.total_cmp(b) };
        of_null(a).cmp(&of_null(b)).then(compared)
    });
    let last = wanted.get(rows - 1).map(|(value, _)| value.clone());
    let is_equal = |value: &Value| last.as_ref().is_some_and(|last| last.total_cmp(value).is_eq());
    if !ties {
        let of_found = wanted.iter().filter(|(_, row)| found.binary_search(row).is_ok());
        let is_same = wanted.iter().take(rows).zip(of_found).filter(|(a, b)| a.0.total_cmp(&b.0).is_eq()).count();
        assert_eq!(is_same, rows.min(wanted.len()), "{first:?} {predicates:?}");
    }
    for (at, (value, row)) in wanted.iter().enumerate() {
        assert!(
            !ties || (at >= rows && !is_equal(value)) || found.binary_search(row).is_ok(),
            "{first:?} {predicates:?}: {row:?}"
        );
    }
    all.iter().any(|row| found.binary_search(row).is_err())
}

#[test]
fn searches_find_what_scans_find() {
    let mut random = Random(7);
    let mut searched_by_hash = 0;
    for &sql_type in &TYPES {
        let types = [sql_type, SqlType::Integer, sql_type, SqlType::Bool];
        let relation = relation_of(&types);
        let row = |random: &mut Random, at: i64| {
            let mut some = || if random.below(5) == 0 { Value::Null } else { value(random, sql_type, 40) };
            let is_in = [Value::Null, Value::Bool(false), Value::Bool(true)][at as usize % 3].clone();
            vec![some(), Value::Int(at % 9), some(), is_in]
        };
        let rows: Vec<_> = (0..3000).map(|at| row(&mut random, at)).collect();
        append(&relation, &types, &rows).commit().unwrap();
        relation.freeze_rest();
        // Values that are changed before there is an index.
        let changes = Transaction::begin(&relation.clock_of_tests(), false);
        let ids: Vec<RowId> = (0..50).map(|at| RowId::new(0, at * 7)).collect();
        let new = column(sql_type, &[value(&mut random, sql_type, 40)]);
        changes.update(&relation, &ids, &[(0, new)], &vec![0; ids.len()]).unwrap();
        let old = relation.snapshot();
        changes.commit().unwrap();
        let parts: &[(usize, bool, bool)] = match random.below(4) {
            0 => &[(0, false, false)],
            1 => &[(0, true, true), (1, false, false)],
            2 => &[(1, true, false), (0, true, false), (2, false, true)],
            _ => &[(0, false, true), (2, true, false)],
        };
        let making = Transaction::begin(&relation.clock_of_tests(), false);
        let only = [None, Some(3)][random.index(2)];
        let method = [IndexMethod::Tree, IndexMethod::Tree, IndexMethod::Hash][random.index(3)];
        let definition = IndexDefinition { only, method, ..definition(parts, Unique::No) };
        let index = making.create_index(&relation, definition, &Threads).unwrap();
        assert!(!relation.snapshot().is_complete(&index));
        making.commit().unwrap();
        assert!(relation.snapshot().is_complete(&index) && !old.is_complete(&index));
        let more: Vec<_> = (0..200).map(|at| row(&mut random, at)).collect();
        append(&relation, &types, &more).commit().unwrap();
        let deleting = Transaction::begin(&relation.clock_of_tests(), false);
        deleting.delete(&relation, &(0..300).map(|at| RowId::new(0, at * 3)).collect::<Vec<_>>()).unwrap();
        let before = relation.snapshot();
        deleting.commit().unwrap();
        let after = relation.snapshot();
        let (mut searched, mut of_first, mut exact) = (0, 0, 0);
        for _ in 0..300 {
            let is_in = ScanOp::Compare(Comparison::Eq, Value::Bool(true));
            let is_in = ScanPredicate::new(3, SqlType::Bool, is_in);
            let is_in = (only.is_some() && random.below(4) > 0).then_some(is_in);
            let predicates: Arc<[_]> = (0..1 + random.below(3))
                .map(|_| match random.below(3) as usize {
                    1 => predicate(&mut random, 1, SqlType::Integer, 18),
                    attribute => predicate(&mut random, attribute, sql_type, 40),
                })
                .chain(is_in)
                .collect();
            let first = FirstRows { order: order(&mut random), rows: 1 + random.index(9), ties: random.below(2) == 0 };
            for snapshot in [&before, &after] {
                if let Some(found) = snapshot.search_most(&predicates, &[first], most(2000)) {
                    of_first += usize::from(has_first(snapshot, &predicates, first, &found.rows));
                }
                if let Some(IndexedRows { rows: found, is_exact }) = snapshot.search_most(&predicates, &[], most(2000))
                {
                    searched += 1;
                    assert!(found.is_sorted());
                    let (all, of_found) =
                        (scan(snapshot, &predicates, None), scan(snapshot, &predicates, Some(&found)));
                    assert_eq!(all, of_found, "{sql_type} {parts:?} {predicates:?}");
                    exact += usize::from(is_exact);
                    assert!(!is_exact || found == all, "{sql_type} {parts:?} {only:?} {predicates:?}");
                    if let Some(any) = snapshot.search_any(&predicates) {
                        assert!(is_exact && any.map_or(all.is_empty(), |row| all.contains(&row)), "{predicates:?}");
                    }
                }
            }
        }
        match method {
            IndexMethod::Tree => {
                assert!(searched > 50 && of_first > 20 && exact > 10, "{sql_type}: {searched}, {of_first}, {exact}");
            }
            // It finds whole keys alone.
            IndexMethod::Hash => assert!(of_first == 0, "{sql_type}: {searched}"),
        }
        searched_by_hash += if method == IndexMethod::Hash { searched } else { 0 };
        // A transaction cannot change keys in place.
        let changes = Transaction::begin(&relation.clock_of_tests(), false);
        let new = column(sql_type, &[Value::Null]);
        let attribute = parts[0].0;
        let new = if attribute == 1 { column(SqlType::Integer, &[Value::Null]) } else { new };
        let refused = changes.update(&relation, &[RowId::new(0, 1)], &[(attribute, new)], &[0]).unwrap_err();
        assert_eq!(refused.state(), SqlState::SERIALIZATION_FAILURE);
    }
    assert!(searched_by_hash > 50, "{searched_by_hash}");
}

#[test]
fn a_unique_index_takes_no_row_twice_whatever_happens() {
    let types = [SqlType::BigInt, SqlType::Text];
    for seed in 0..8 {
        let mut random = Random(seed + 1);
        let relation = relation_of(&types);
        let clock = relation.clock_of_tests();
        let index =
            relation.add_index(definition(&[(0, seed % 2 == 0, false), (1, false, false)], Unique::ButNull)).unwrap();
        // By the key, the row.
        let mut model: BTreeMap<(i64, i64), ()> = BTreeMap::new();
        let row = |(a, b): (i64, i64)| vec![Value::Int(a), Value::str(format!("{b} is a text of some length"))];
        for _ in 0..if cfg!(miri) { 10 } else { 150 } {
            let transaction = Transaction::begin(&clock, false);
            let mut own = model.clone();
            let mut savepoint = None;
            for _ in 0..random.below(8) {
                let key = (random.below(12) as i64, random.below(4) as i64);
                let first = transaction.next_statement();
                if random.below(4) == 0 {
                    savepoint = Some((first, own.clone()));
                }
                match random.below(5) {
                    0 | 1 => {
                        let inserted = transaction.insert(&append(&relation, &types, &[row(key)]));
                        match own.contains_key(&key) {
                            true => {
                                assert_eq!(inserted.unwrap_err().state(), SqlState::UNIQUE_VIOLATION);
                                transaction.roll_back_to(first).unwrap();
                            }
                            false => {
                                inserted.unwrap();
                                own.insert(key, ());
                            }
                        }
                    }
                    2 | 3 => {
                        let snapshot = transaction.snapshot(&relation);
                        let wanted =
                            ScanPredicate::new(0, SqlType::BigInt, ScanOp::Compare(Comparison::Eq, Value::Int(key.0)));
                        let found = snapshot.search(&Arc::from([wanted]), &[]);
                        let ids = found.expect("there are few").rows;
                        assert_eq!(ids.len(), own.range((key.0, 0)..(key.0 + 1, 0)).count());
                        if !ids.is_empty() {
                            transaction.delete(&relation, &ids).unwrap();
                        }
                        own.retain(|(a, _), ()| *a != key.0);
                    }
                    _ => {
                        if let Some((first, before)) = savepoint.take() {
                            transaction.roll_back_to(first).unwrap();
                            own = before;
                        }
                    }
                }
            }
            transaction.next_statement();
            match random.below(3) {
                0 => transaction.roll_back(),
                _ => {
                    transaction.commit().unwrap();
                    model = own;
                }
            }
            assert_eq!(relation.snapshot().rows(), model.len());
        }
        clock.collect();
        let left = index.rows();
        assert_eq!(left, model.len(), "dead rows have left the index");
    }
}

#[test]
fn an_index_is_not_made_while_others_change_rows() {
    let types = [SqlType::BigInt];
    let relation = relation_of(&types);
    let clock = relation.clock_of_tests();
    append(&relation, &types, &[vec![Value::Int(1)], vec![Value::Int(2)]]).commit().unwrap();
    let writer = Transaction::begin(&clock, false);
    writer.insert(&append(&relation, &types, &[vec![Value::Int(1)]])).unwrap();
    let maker = Transaction::begin(&clock, false);
    let refused = maker.create_index(&relation, definition(&[(0, false, false)], Unique::ButNull), &Alone).unwrap_err();
    assert_eq!(refused.state(), SqlState::SERIALIZATION_FAILURE);
    assert!(maker.take_blocked().is_some_and(|stamp| Arc::ptr_eq(&stamp, writer.stamp())));
    writer.commit().unwrap();
    let refused = maker.create_index(&relation, definition(&[(0, false, false)], Unique::ButNull), &Alone).unwrap_err();
    assert_eq!(refused.state(), SqlState::UNIQUE_VIOLATION);
    assert!(refused.to_string().contains("could not create unique index"), "{refused}");
    // Nothing is left of it.
    assert!(relation.indexes().is_empty());
    append(&relation, &types, &[vec![Value::Int(1)]]).commit().unwrap();
    // Its own changes are no hindrance, and come into the index.
    maker.insert(&append(&relation, &types, &[vec![Value::Int(7)]])).unwrap();
    let index = maker.create_index(&relation, definition(&[(0, false, false)], Unique::No), &Alone).unwrap();
    maker.commit().unwrap();
    assert_eq!(index.rows(), 5);
    let wanted = ScanPredicate::new(0, SqlType::BigInt, ScanOp::Compare(Comparison::Eq, Value::Int(7)));
    assert_eq!(relation.snapshot().search(&Arc::from([wanted]), &[]).unwrap().rows.len(), 1);
}

#[test]
fn readers_find_their_rows_while_others_insert_delete_and_roll_back() {
    let tree = definition(&[(1, false, false), (0, false, false)], Unique::ButNull);
    let hash = IndexDefinition { method: IndexMethod::Hash, ..definition(&[(1, false, false)], Unique::No) };
    [tree, hash].into_iter().for_each(readers_find_their_rows);
}

fn readers_find_their_rows(definition: IndexDefinition) {
    let types = [SqlType::BigInt, SqlType::Text];
    let relation = relation_of(&types);
    let clock = relation.clock_of_tests();
    let index = relation.add_index(definition).unwrap();
    let text = |key: i64| Value::str(format!("a long common beginning of all of them {}", key % 50));
    let row = |key: i64| vec![Value::Int(key), text(key)];
    append(&relation, &types, &(0..1000).map(row).collect::<Vec<_>>()).commit().unwrap();
    let first = scan(&relation.snapshot(), &[], None);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (relation, clock, done) = (&relation, &clock, &done);
            scope.spawn(move || {
                let mut random = Random(writer + 1);
                for round in 0..if cfg!(miri) { 3 } else { 200 } {
                    let transaction = Transaction::begin(clock, false);
                    let key = 10_000 + (writer as i64 * 1000 + round) * 100;
                    let rows: Vec<_> = (key..key + 40).map(row).collect();
                    transaction.insert(&append(relation, &types, &rows)).unwrap();
                    if random.below(2) == 0 {
                        transaction.roll_back();
                        continue;
                    }
                    transaction.commit().unwrap();
                    let transaction = Transaction::begin(clock, false);
                    let mine = ScanPredicate::new(
                        0,
                        SqlType::BigInt,
                        ScanOp::Between {
                            low: Some((Value::Int(key), true)),
                            high: Some((Value::Int(key + 39), true)),
                        },
                    );
                    let ids = scan(&transaction.snapshot(relation), &[mine], None);
                    assert_eq!(ids.len(), 40);
                    transaction.delete(relation, &ids).unwrap();
                    transaction.commit().unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
        }
        let mut random = Random(99);
        while !done.load(Ordering::Relaxed) {
            let key = random.below(50) as i64;
            let of_text = ScanPredicate::new(1, SqlType::Text, ScanOp::Compare(Comparison::Eq, text(key)));
            let old = ScanPredicate::new(0, SqlType::BigInt, ScanOp::Compare(Comparison::Lt, Value::Int(1000)));
            let snapshot = relation.snapshot();
            let found = snapshot.search_most(&Arc::from([of_text, old]), &[], most(10_000)).unwrap();
            // A hash index of the text alone finds others' rows with it, too.
            let of_first = found.rows.iter().filter(|row| first.contains(row)).count();
            assert_eq!(of_first, 20);
        }
    });
    clock.collect();
    assert_eq!(index.rows(), 1000);
}
