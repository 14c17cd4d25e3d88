//! Atomicity, constraints, stable rows, isolation of readers.

use std::sync::atomic::{AtomicBool, Ordering};

use types::{Chunk, SqlType, Value};

use base::SqlState;

use super::*;
use crate::testing::{Random, column, integers};
use crate::{Attribute, CHUNK_ROWS, RowId};

fn attribute(name: &str, sql_type: SqlType, not_null: bool) -> Attribute {
    Attribute { name: name.into(), sql_type, not_null }
}

fn relation(key: Vec<usize>, partitions: usize, budget: &Budget) -> Arc<Relation> {
    let attributes = vec![attribute("a", SqlType::BigInt, false), attribute("b", SqlType::BigInt, false)];
    Relation::new("t", Schema::new(attributes, key), partitions, budget).unwrap()
}

fn pairs(range: std::ops::Range<i64>) -> Chunk {
    let a: Vec<i64> = range.collect();
    let b: Vec<i64> = a.iter().map(|a| a * 10).collect();
    integers(&[&a, &b])
}

fn insert(relation: &Arc<Relation>, chunk: Chunk) -> Result<usize> {
    let append = relation.append(1);
    append.append(0, chunk)?;
    append.commit()
}

fn firsts(snapshot: &Snapshot) -> Vec<i64> {
    let mut all: Vec<i64> =
        snapshot.chunks().iter().flat_map(|c| c.chunk().column(0).values::<i64>().to_vec()).collect();
    all.sort_unstable();
    all
}

#[test]
fn single_rows_share_a_chunk_and_keep_their_ids() {
    let budget = Budget::new(usize::MAX);
    let t = relation(vec![0], 1, &budget);
    for i in 0..5000 {
        insert(&t, pairs(i..i + 1)).unwrap();
        if i % 777 == 0 {
            let row = t.snapshot().row(RowId::new(0, i as usize));
            assert_eq!(row, [Value::Int(i), Value::Int(i * 10)]);
        }
    }
    let snapshot = t.snapshot();
    assert_eq!((snapshot.chunks().len(), snapshot.rows()), (1, 5000));
    assert_eq!(firsts(&snapshot), (0..5000).collect::<Vec<_>>());
    assert_eq!(snapshot.column(1).range(), (Some(Value::Int(0)), Some(Value::Int(49_990))));
    drop((snapshot, t));
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_snapshot_does_not_change() {
    let t = relation(vec![], 1, &Budget::new(usize::MAX));
    insert(&t, pairs(0..10)).unwrap();
    let before = t.snapshot();
    insert(&t, pairs(10..100_000)).unwrap();
    insert(&t, pairs(100_000..100_001)).unwrap();
    assert_eq!(firsts(&before), (0..10).collect::<Vec<_>>());
    assert_eq!(before.sample().unwrap().rows(), 10);
    assert_eq!(firsts(&t.snapshot()), (0..100_001).collect::<Vec<_>>());
}

#[test]
fn a_duplicate_key_leaves_the_table_as_it_was() {
    let t = relation(vec![0, 1], 1, &Budget::new(usize::MAX));
    insert(&t, pairs(0..100_000)).unwrap();
    // Within old rows, at the end of many new ones, and among the new rows themselves.
    for bad in [
        vec![pairs(5..6)],
        vec![pairs(200_000..200_001), pairs(99_999..100_000)],
        vec![pairs(200_000..300_000), pairs(7..8)],
        vec![pairs(300_000..300_010), pairs(300_009..300_020)],
    ] {
        let append = t.append(1);
        for chunk in bad {
            append.append(0, chunk).unwrap();
        }
        let error = append.commit().unwrap_err();
        assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
        assert_eq!(error.message(), "duplicate key value violates unique constraint \"t_pkey\"");
        assert!(error.get_detail().unwrap().starts_with("Key (a, b)=("), "{error:?}");
        assert_eq!(t.row_count(), 100_000);
    }
    insert(&t, pairs(200_000..200_001)).unwrap();
    insert(&t, pairs(300_000..400_000)).unwrap();
    assert!(insert(&t, pairs(399_999..400_000)).is_err());
    assert_eq!(t.row_count(), 200_001);
    assert_eq!(firsts(&t.snapshot()).len(), 200_001);
}

#[test]
fn a_null_is_refused() {
    let attributes = vec![attribute("id", SqlType::Integer, false), attribute("n", SqlType::Text, true)];
    let t = Relation::new("t", Schema::new(attributes, vec![0]), 1, &Budget::new(usize::MAX)).unwrap();
    let chunk = |id: Value, n: Value| Chunk::new(1, vec![column(SqlType::Integer, &[id]), column(SqlType::Text, &[n])]);
    let error = insert(&t, chunk(Value::Int(1), Value::Null)).unwrap_err();
    assert_eq!(error.state(), SqlState::NOT_NULL_VIOLATION);
    assert_eq!(error.message(), "null value in column \"n\" of relation \"t\" violates not-null constraint");
    assert_eq!(error.get_detail(), Some("Failing row contains (1, null)."));
    assert!(insert(&t, chunk(Value::Null, Value::str("x"))).is_err());
    insert(&t, chunk(Value::Int(1), Value::str("x"))).unwrap();
    assert_eq!(t.row_count(), 1);
}

#[test]
fn workers_append_at_once_and_readers_see_all_or_nothing() {
    let budget = Budget::new(usize::MAX);
    for partitions in [1, 3] {
        let t = relation(vec![0], partitions, &budget);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(t.snapshot().rows() % 200_000, 0);
                }
            });
            for statement in 0..3 {
                let append = t.append(4);
                std::thread::scope(|scope| {
                    for worker in 0..4 {
                        let append = &append;
                        scope.spawn(move || {
                            let first = (statement * 4 + worker as i64) * 50_000;
                            for part in 0..50 {
                                append.append(worker, pairs(first + part * 1000..first + part * 1000 + 1000)).unwrap();
                            }
                        });
                    }
                });
                assert_eq!(append.commit().unwrap(), 200_000);
            }
            done.store(true, Ordering::Relaxed);
        });
        let snapshot = t.snapshot();
        assert_eq!(firsts(&snapshot), (0..600_000).collect::<Vec<_>>());
        assert!((0..partitions).all(|p| snapshot.partition(p).count() > 0));
        let small = snapshot.chunks().iter().filter(|c| c.rows() < CHUNK_ROWS / 2).count();
        assert!(small <= partitions);
        assert!(insert(&t, pairs(123_456..123_457)).is_err());
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn rows_of_all_kinds_survive_coalescing() {
    let types = [SqlType::Text, SqlType::Double, SqlType::Bool, SqlType::decimal(30, 1)];
    let attributes = types.iter().enumerate().map(|(i, &t)| attribute(&format!("c{i}"), t, false)).collect();
    let t = Relation::new("t", Schema::new(attributes, vec![]), 1, &Budget::new(usize::MAX)).unwrap();
    let random = &mut Random(3);
    let mut expected = Vec::new();
    for _ in 0..60 {
        let append = t.append(1);
        for _ in 0..random.below(3) {
            let rows = random.below(2000) as usize;
            let columns: Vec<Vec<Value>> = types
                .iter()
                .map(|&t| {
                    let value = |_| if random.below(9) == 0 { Value::Null } else { random.value(t, 1000) };
                    (0..rows).map(value).collect()
                })
                .collect();
            expected.extend((0..rows).map(|r| columns.iter().map(|c| c[r].clone()).collect::<Vec<_>>()));
            let columns = types.iter().zip(&columns).map(|(&t, c)| column(t, c)).collect();
            append.append(0, Chunk::new(rows, columns)).unwrap();
        }
        append.commit().unwrap();
    }
    let snapshot = t.snapshot();
    let rows: Vec<Vec<Value>> =
        snapshot.chunks().iter().flat_map(|c| (0..c.rows()).map(|r| c.chunk().row(r)).collect::<Vec<_>>()).collect();
    assert_eq!(rows, expected);
    let nulls = expected.iter().filter(|r| r[0].is_null()).count();
    assert_eq!(snapshot.column(0).bounds.nulls, nulls as u64);
}

#[test]
fn memory_beyond_the_budget_is_refused_without_a_trace() {
    let budget = Budget::new(4 << 20);
    let t = relation(vec![0], 1, &budget);
    insert(&t, pairs(0..50_000)).unwrap();
    let used = budget.used();
    assert_eq!(insert(&t, pairs(50_000..400_000)).unwrap_err().state(), SqlState::OUT_OF_MEMORY);
    assert_eq!((t.row_count(), budget.used()), (50_000, used));
    insert(&t, pairs(50_000..50_010)).unwrap();
    drop(t);
    assert_eq!(budget.used(), 0);
}
