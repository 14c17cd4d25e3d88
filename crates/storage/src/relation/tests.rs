//! Atomicity, constraints, stable rows, isolation of readers.

mod backlog;

use std::sync::atomic::{AtomicBool, Ordering};

use types::{Chunk, Column, SqlType, Value};

use base::{Random, SqlState};

use super::*;
use crate::testing::{column, integers, value};
use crate::{Attribute, CHUNK_ROWS, ChunkView, RowId};

fn attribute(name: &str, sql_type: SqlType, not_null: bool) -> Attribute {
    Attribute::new(name, sql_type, not_null)
}

fn distribution(nodes: u16) -> Distribution {
    if nodes == 1 { Distribution::Local } else { Distribution::Hashed { nodes } }
}

fn schema(key: Vec<usize>) -> Schema {
    Schema::new(vec![attribute("a", SqlType::BigInt, false), attribute("b", SqlType::BigInt, false)], key)
}

fn relation(key: Vec<usize>, nodes: u16, budget: &Budget) -> Arc<Relation> {
    Relation::new("t", schema(key), distribution(nodes), budget).unwrap()
}

fn pairs(range: std::ops::Range<i64>) -> Chunk {
    let a: Vec<i64> = range.collect();
    let b: Vec<i64> = a.iter().map(|a| a * 10).collect();
    integers(&[&a, &b])
}

fn append(relation: &Arc<Relation>) -> Append {
    relation.append(&relation.budget)
}

fn insert(relation: &Arc<Relation>, chunk: Chunk) -> Result<Record> {
    let append = append(relation);
    append.append(0, 0, chunk)?;
    append.commit()
}

fn all_rows(snapshot: &Snapshot) -> Vec<Vec<Value>> {
    let readers = snapshot.chunks().map(ChunkView::read);
    readers.flat_map(|r| (0..r.rows()).map(move |row| r.row(row)).collect::<Vec<_>>()).collect()
}

/// The first column, in the order of the rows.
fn firsts(snapshot: &Snapshot) -> Vec<i64> {
    let column = |c: ChunkView<'_>| c.read().gather(0, 0..c.rows()).values::<i64>().to_vec();
    snapshot.chunks().flat_map(column).collect()
}

fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
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
    assert_eq!((snapshot.chunk_count(), snapshot.rows()), (1, 5000));
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
    assert_eq!((before.rows(), before.chunks().map(ChunkView::rows).sum::<usize>()), (10, 10));
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
        let append = append(&t);
        for chunk in bad {
            append.append(0, 0, chunk).unwrap();
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
    let schema = Schema::new(attributes, vec![0]);
    let t = Relation::new("t", schema, Distribution::Local, &Budget::new(usize::MAX)).unwrap();
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
    for nodes in [1, 3] {
        let t = relation(vec![0], nodes, &budget);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let snapshot = t.snapshot();
                    assert_eq!(snapshot.rows() % 200_000, 0);
                    assert_eq!(snapshot.chunks().map(ChunkView::rows).sum::<usize>(), snapshot.rows());
                }
            });
            for statement in 0..3 {
                let append = t.append(&budget);
                std::thread::scope(|scope| {
                    for worker in 0..4 {
                        let append = &append;
                        scope.spawn(move || {
                            // Morsels are dealt in turns: every run is broken off after one or two.
                            for morsel in (0..200u64).filter(|m| (m * 7 / 5) % 4 == worker) {
                                let first = (statement * 200 + morsel as i64) * 1000;
                                append.append(worker as usize, morsel, pairs(first..first + 400)).unwrap();
                                let rest = pairs(first + 400..first + 1000);
                                append.append(worker as usize, morsel, rest).unwrap();
                                append.end_morsel(worker as usize, morsel..morsel + 1, false);
                            }
                        });
                    }
                });
                assert_eq!(append.commit().unwrap().rows(), 200_000);
            }
            done.store(true, Ordering::Relaxed);
        });
        let snapshot = t.snapshot();
        let rows = firsts(&snapshot);
        assert!(nodes > 1 || rows.is_sorted(), "the order of the source");
        assert_eq!(sorted(rows), (0..600_000).collect::<Vec<_>>());
        let small = snapshot.chunks().filter(|c| c.rows() < CHUNK_ROWS / 2).count();
        assert!(small <= usize::from(nodes));
        assert!(insert(&t, pairs(123_456..123_457)).is_err());
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn rows_lie_in_the_order_of_statements_whatever_their_sizes() {
    let t = relation(vec![], 1, &Budget::new(usize::MAX));
    let mut next = 0;
    for size in [3, 1, 70_000, 5, 40_000, 40_000, 1, 65_536, 2, 30_000, 30_000, 30_000, 200_000, 1] {
        insert(&t, pairs(next..next + size)).unwrap();
        next += size;
    }
    let snapshot = t.snapshot();
    assert_eq!(firsts(&snapshot), (0..next).collect::<Vec<_>>());
    let sizes: Vec<usize> = snapshot.chunks().map(ChunkView::rows).collect();
    assert!(sizes.windows(2).all(|pair| pair[0].max(pair[1]) >= CHUNK_ROWS / 2), "{sizes:?}");
}

#[test]
fn commits_at_the_same_time_append_to_zones_of_their_own() {
    let budget = Budget::new(usize::MAX);
    for key in [vec![], vec![0]] {
        let t = relation(key.clone(), 1, &budget);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let t = &t;
                scope.spawn(move || {
                    for i in 0..500 {
                        let first = (thread * 500 + i) * 10;
                        insert(t, pairs(first..first + 10)).unwrap();
                        let snapshot = t.snapshot();
                        // The last row of each statement comes with its first.
                        let mine = firsts(&snapshot);
                        assert!(mine.contains(&first) && mine.contains(&(first + 9)));
                        assert_eq!(snapshot.rows() % 10, 0);
                    }
                });
            }
        });
        let snapshot = t.snapshot();
        assert_eq!(sorted(firsts(&snapshot)), (0..20_000).collect::<Vec<_>>());
        for chunk in snapshot.chunks() {
            let rows = chunk.read().gather(0, 0..chunk.rows());
            assert!(rows.values::<i64>().chunks(10).all(|ten| ten[9] == ten[0] + 9), "statements do not mix");
        }
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_record_replayed_makes_an_equal_relation() {
    let budget = Budget::new(usize::MAX);
    for nodes in [1, 2] {
        let (original, copy) = (relation(vec![0], nodes, &budget), relation(vec![0], nodes, &budget));
        let mut next = 0;
        for size in [3, 1, 70_000, 5, 40_000, 0, 65_536, 2, 30_000] {
            // A failed commit takes chunk numbers with it.
            assert!(next == 0 || insert(&original, pairs(next - 1..next + 60_000)).is_err());
            copy.replay(&insert(&original, pairs(next..next + size)).unwrap()).unwrap();
            next += size;
        }
        let (a, b) = (original.snapshot(), copy.snapshot());
        assert_eq!(a.rows(), next as usize);
        for row in [0, 2, 3, 70_003, next - 1] {
            let key = || Chunk::new(1, vec![column(SqlType::BigInt, &[Value::Int(row)])]);
            assert_eq!(a.find(key()), b.find(key()));
            assert_eq!(b.row(b.find(key())[0].unwrap()), [Value::Int(row), Value::Int(row * 10)]);
        }
        assert_eq!(firsts(&a), firsts(&b));
        assert_eq!(format!("{:?}", a.column(1)), format!("{:?}", b.column(1)));
        let sampled = |s: &Snapshot| (0..100).map(|row| s.sample(&[0, 1]).unwrap().row(row)).collect::<Vec<_>>();
        assert_eq!(sampled(&a), sampled(&b));
        // Both go on alike.
        insert(&original, pairs(next..next + 3)).unwrap();
        insert(&copy, pairs(next..next + 3)).unwrap();
        assert_eq!(firsts(&original.snapshot()), firsts(&copy.snapshot()));
    }
    assert_eq!(budget.used(), 0);
}

/// An index that panics at a row.
#[derive(Debug)]
struct Panics(crate::index::SlotIndex, RowId);

impl UniqueIndex for Panics {
    fn bytes(&self) -> usize {
        0
    }
    fn reserve(&self, additional: usize, rows: &dyn Rows) -> Result<()> {
        self.0.reserve(additional, rows)
    }
    fn find(
        &self,
        keys: &crate::index::Keys<'_>,
        rows: &dyn Rows,
        sees: &dyn Fn(RowId) -> bool,
        out: &mut Vec<Option<RowId>>,
    ) {
        self.0.find(keys, rows, sees, out);
    }
    fn find_one(
        &self,
        key: crate::index::OneKey<'_>,
        guard: &crate::Guard,
        is_it: &mut dyn FnMut(RowId) -> bool,
    ) -> Option<RowId> {
        self.0.find_one(key, guard, is_it)
    }
    fn insert(
        &self,
        keys: &crate::index::Keys<'_>,
        first: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> crate::index::Liveness,
    ) -> Result<Option<crate::index::Taken>> {
        let result = self.0.insert(keys, first, rows, alive);
        assert!(first != self.1, "as ordered");
        result
    }
    fn insert_one(
        &self,
        key: crate::index::OneKey<'_>,
        row: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> crate::index::Liveness,
    ) -> Result<Option<crate::index::Taken>> {
        self.0.insert_one(key, row, rows, alive)
    }
    fn remove(&self, keys: &crate::index::Keys<'_>, first: RowId) {
        self.0.remove(keys, first);
    }
}

#[test]
fn a_commit_that_panics_leaves_nothing() {
    let budget = Budget::new(usize::MAX);
    let index = Panics(crate::index::SlotIndex::new(vec![0], &budget).unwrap(), RowId::new(0, 10));
    let t = Relation::with_index("t", schema(vec![0]), Distribution::Local, &budget, Some(Box::new(index)));
    insert(&t, pairs(0..10)).unwrap();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| insert(&t, pairs(100..200))));
    assert!(failed.is_err());
    assert_eq!(firsts(&t.snapshot()), (0..10).collect::<Vec<_>>());
    // Neither the rows nor their keys are there: a bulk load begins a chunk of its own.
    insert(&t, pairs(100..70_000)).unwrap();
    assert_eq!(t.row_count(), 69_910);
    assert_eq!(sorted(firsts(&t.snapshot()))[10], 100);
    drop(t);
    assert_eq!(budget.used(), 0);
}

#[test]
fn equal_values_of_a_chunk_are_stored_once_and_read_alike() {
    let types = [SqlType::BigInt, SqlType::Text, SqlType::Double, SqlType::Date, SqlType::Integer];
    let attributes = types.iter().enumerate().map(|(i, &t)| attribute(&format!("c{i}"), t, false)).collect();
    let budget = Budget::new(usize::MAX);
    let t = Relation::new("t", Schema::new(attributes, vec![]), Distribution::Local, &budget).unwrap();
    let rows = 2 * CHUNK_ROWS;
    let constants =
        [Value::Int(7), Value::str("a text that is too long for a header"), Value::Float(-0.0), Value::Null];
    let columns = types.iter().enumerate().map(|(i, &sql_type)| {
        let value = |row: usize| constants.get(i).cloned().unwrap_or(Value::Int(row as i64));
        column(sql_type, &(0..rows).map(value).collect::<Vec<_>>())
    });
    insert(&t, Chunk::new(rows, columns.collect())).unwrap();
    // Once more through a tail that fills up row by row, or nearly.
    let all: Vec<_> = all_rows(&t.snapshot());
    let chunk = t.snapshot().chunk(0).read().chunk(0..4096);
    for _ in 0..CHUNK_ROWS / 4096 {
        insert(&t, chunk.clone()).unwrap();
    }
    let snapshot = t.snapshot();
    assert_eq!(snapshot.chunk_count(), 3);
    snapshot.freeze_rest();
    assert!(snapshot.chunks().all(|c| (0..4).all(|a| c.read().form(a).0 == "constant")));
    // One column of 4 bytes a row is left.
    assert!(budget.used() < snapshot.rows() * 4 + 65_536 && t.bytes() < snapshot.rows() * 4 + 65_536);
    assert_eq!(all_rows(&snapshot)[..rows], all);
    let is = |attribute: usize, op| crate::ScanPredicate::new(attribute, types[attribute], op);
    use crate::{Comparison::*, ScanOp::*};
    let count = |predicates: &[crate::ScanPredicate]| {
        let reader = snapshot.chunk(1).read();
        let mut scratch = crate::Scratch::default();
        let Some(rest) = reader.applicable(&predicates.into(), &mut scratch) else { return 0 };
        let mut out = [0; crate::WINDOW];
        (0..CHUNK_ROWS / 1024)
            .map(|w| reader.scan(w * 1024..(w + 1) * 1024, &rest, &mut scratch, &mut out))
            .sum::<usize>()
    };
    assert_eq!(count(&[is(0, Compare(Eq, Value::Int(7))), is(1, Prefix("a text".into())), is(3, IsNull)]), CHUNK_ROWS);
    assert_eq!(
        count(&[is(2, Compare(Ge, Value::Float(0.0))), is(4, Compare(Lt, Value::Int(70_000)))]),
        70_000 - CHUNK_ROWS
    );
    assert_eq!(count(&[is(0, Compare(Ne, Value::Int(7)))]) + count(&[is(3, IsNotNull)]), 0);
    let mut scratch = crate::Scratch::default();
    let reader = snapshot.chunk(0).read();
    for (attribute, expected) in constants.iter().enumerate() {
        let values = reader.window(attribute, 2048..3000, &mut scratch);
        assert_eq!(values.nulls(0..952).is_some_and(|n| n.iter().all(|&n| n == 1)), expected.is_null());
    }
    assert_eq!(reader.window(0, 0..1024, &mut scratch).slice::<i64>(0..1024), [7; 1024]);
    // 0 and -0 are equal, not identical.
    let zeros: Vec<Value> = (0..40_000).map(|i| Value::Float(if i % 2 == 0 { 0.0 } else { -0.0 })).collect();
    assert_ne!(ChunkReader::frozen(Chunk::new(40_000, vec![column(SqlType::Double, &zeros)])).form(0).0, "constant");
}

#[test]
fn keys_are_found_by_readers_that_may_see_them() {
    let t = relation(vec![0], 1, &Budget::new(usize::MAX));
    let keys = |values: &[i64]| integers(&[values]);
    insert(&t, pairs(0..1000)).unwrap();
    let before = t.snapshot();
    insert(&t, pairs(1000..100_000)).unwrap();
    assert_eq!(before.find(keys(&[5, 1000, -1])), [Some(RowId::new(0, 5)), None, None]);
    let now = t.snapshot();
    let found = now.find(keys(&[99_999, 7]));
    assert_eq!(now.row(found[0].unwrap()), [Value::Int(99_999), Value::Int(999_990)]);
    assert!(now.sees(found[1].unwrap()) && !before.sees(found[0].unwrap()));
}

#[test]
fn chunks_lie_where_they_were_written() {
    let t = relation(vec![], 1, &Budget::new(usize::MAX));
    let append = t.append(&t.budget);
    std::thread::scope(|scope| {
        for worker in [1, 0] {
            let append = &append;
            scope.spawn(move || {
                base::memory::set_node(worker as u16 + 5);
                append.append(worker, worker as u64, pairs(0..40_000)).unwrap();
            });
        }
    });
    append.commit().unwrap();
    let nodes: Vec<_> = t.snapshot().chunks().map(|c| (c.rows(), c.node())).collect();
    assert_eq!(nodes, [(40_000, 5), (40_000, 6)]);
}

#[test]
fn partitions_of_the_first_key_attribute_go_to_nodes() {
    let t = relation(vec![1], 4, &Budget::new(usize::MAX));
    insert(&t, pairs(0..10_000)).unwrap();
    let snapshot = t.snapshot();
    assert_eq!(snapshot.chunk_count(), 4);
    for (node, chunk) in snapshot.chunks().enumerate() {
        for value in chunk.read().gather(1, 0..chunk.rows()).values::<i64>() {
            // The hash that joins and groups use.
            let partition = crate::partition_of(types::ops::hash::hash_i64(*value));
            assert_eq!(partition / 16, node);
        }
    }
}

#[test]
fn rows_of_all_kinds_survive_coalescing() {
    let types = [SqlType::Text, SqlType::Double, SqlType::Bool, SqlType::decimal(30, 1)];
    let attributes = types.iter().enumerate().map(|(i, &t)| attribute(&format!("c{i}"), t, false)).collect();
    let schema = Schema::new(attributes, vec![]);
    let t = Relation::new("t", schema, Distribution::Local, &Budget::new(usize::MAX)).unwrap();
    let random = &mut Random(3);
    let mut expected = Vec::new();
    for _ in 0..60 {
        let append = append(&t);
        for _ in 0..random.below(3) {
            let rows = random.index(2000);
            let columns: Vec<Vec<Value>> = types
                .iter()
                .map(|&t| {
                    let value = |_| if random.below(9) == 0 { Value::Null } else { value(random, t, 1000) };
                    (0..rows).map(value).collect()
                })
                .collect();
            expected.extend((0..rows).map(|r| columns.iter().map(|c| c[r].clone()).collect::<Vec<_>>()));
            let columns = types.iter().zip(&columns).map(|(&t, c)| column(t, c)).collect();
            append.append(0, 0, Chunk::new(rows, columns)).unwrap();
        }
        append.commit().unwrap();
    }
    let snapshot = t.snapshot();
    assert_eq!(all_rows(&snapshot), expected);
    let nulls = expected.iter().filter(|r| r[0].is_null()).count();
    assert_eq!(snapshot.column(0).bounds.nulls, nulls as u64);
}

/// Copies a chunk to where the relation has room for it, as code writes there, and takes it over.
fn write(append: &Append, worker: usize, morsel: u64, chunk: &Chunk) -> Result<()> {
    let mut from = 0;
    while from < chunk.rows() {
        let most = (chunk.rows() - from).min(2048);
        let columns = |to: usize| {
            let rows = |c: &Column| {
                let mut rows = types::ColumnBuilder::new(c.sql_type(), to - from);
                (from..to).for_each(|row| rows.push_value(&c.value(row)));
                rows.finish()
            };
            Chunk::new(to - from, chunk.columns().iter().map(rows).collect())
        };
        let Some(room) = append.free_rows(worker, most)? else {
            append.append(worker, morsel, columns(from + most))?;
            from += most;
            continue;
        };
        let part = columns(from + room.rows);
        let mut nulls = Vec::new();
        for (column, &target) in part.columns().iter().zip(&room.columns) {
            let size = column.physical().size();
            // SAFETY: the room has that many rows.
            unsafe { target.copy_from_nonoverlapping(column.data(), room.rows * size) };
            nulls.push(column.nulls().filter(|n| n.contains(&1)));
        }
        // SAFETY: just written; `part` holds the payload.
        unsafe { append.advance(worker, morsel, room.rows, &nulls)? };
        from += room.rows;
    }
    Ok(())
}

#[test]
fn rows_that_are_written_in_place_are_those_that_are_copied() {
    let types = [SqlType::Text, SqlType::Double, SqlType::Bool, SqlType::decimal(30, 1)];
    let attributes = types.iter().enumerate().map(|(i, &t)| attribute(&format!("c{i}"), t, false)).collect();
    let schema = Schema::new(attributes, vec![]);
    let budget = Budget::new(usize::MAX);
    let random = &mut Random(4);
    for most in [10, 3000, 40_000] {
        let t = Relation::new("t", schema.clone(), Distribution::Local, &budget).unwrap();
        let append = append(&t);
        let mut expected = Vec::new();
        // Two workers, each with every other few morsels.
        for morsel in 0..40 {
            let worker = (morsel / 3 % 2) as usize;
            let rows = random.index(most);
            let nulls = random.below(2) * 9;
            let mut value = |t| if random.below(100) < nulls { Value::Null } else { value(random, t, 1000) };
            let columns = types.map(|t| (0..rows).map(|_| value(t)).collect::<Vec<_>>());
            expected.extend((0..rows).map(|r| columns.iter().map(|c| c[r].clone()).collect::<Vec<_>>()));
            let columns = types.iter().zip(&columns).map(|(&t, c)| column(t, c)).collect();
            write(&append, worker, morsel, &Chunk::new(rows, columns)).unwrap();
            append.end_morsel(worker, morsel..morsel + 1, false);
        }
        append.commit().unwrap();
        let snapshot = t.snapshot();
        assert!(all_rows(&snapshot) == expected, "up to {most} rows a morsel");
        drop((snapshot, t, append));
        assert_eq!(budget.used(), 0);
    }
}

#[test]
fn a_null_that_is_written_in_place_is_refused() {
    let schema = Schema::new(vec![attribute("a", SqlType::BigInt, true)], vec![]);
    let t = Relation::new("t", schema, Distribution::Local, &Budget::new(usize::MAX)).unwrap();
    let append = append(&t);
    let numbers = |last| column(SqlType::BigInt, &[Value::Int(1), last]);
    write(&append, 0, 0, &Chunk::new(2, vec![numbers(Value::Int(2))])).unwrap();
    let error = write(&append, 0, 0, &Chunk::new(2, vec![numbers(Value::Null)])).unwrap_err();
    assert_eq!(error.state(), SqlState::NOT_NULL_VIOLATION);
}

#[test]
fn memory_beyond_the_budget_is_refused_without_a_trace() {
    let budget = Budget::new(4 << 20);
    let t = relation(vec![0], 1, &budget);
    insert(&t, pairs(0..50_000)).unwrap();
    let used = budget.used();
    assert_eq!(insert(&t, pairs(50_000..4_000_000)).unwrap_err().state(), SqlState::OUT_OF_MEMORY);
    assert_eq!((t.row_count(), budget.used()), (50_000, used));
    insert(&t, pairs(50_000..50_010)).unwrap();
    drop(t);
    assert_eq!(budget.used(), 0);
}
