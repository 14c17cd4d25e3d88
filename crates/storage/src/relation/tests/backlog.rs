//! What commits leave, and who works it off.

use super::*;
use crate::statistics::Bounds;

#[test]
fn ranges_of_strings_are_known_as_soon_as_somebody_asks() {
    let attributes = vec![attribute("few", SqlType::Text, false), attribute("many", SqlType::Text, false)];
    let budget = Budget::new(usize::MAX);
    let t = Relation::new("t", Schema::new(attributes, vec![]), Distribution::Local, &budget).unwrap();
    let value = |row: usize, of: usize| match row % 10 {
        3 => Value::Null,
        _ => Value::str(format!("a text that is too long for a header, {:06}", row % of)),
    };
    let texts = |of: usize| column(SqlType::Text, &(0..CHUNK_ROWS).map(|row| value(row, of)).collect::<Vec<_>>());
    insert(&t, Chunk::new(CHUNK_ROWS, vec![texts(100), texts(CHUNK_ROWS)])).unwrap();
    let snapshot = t.snapshot();
    let above = |attribute: usize| {
        let op = crate::ScanOp::Compare(crate::Comparison::Gt, Value::str("b"));
        [crate::ScanPredicate::new(attribute, SqlType::Text, op)]
    };
    let chunk = snapshot.chunk(0);
    assert!(chunk.may_match(&above(0)) && chunk.may_match(&above(1)) && chunk.may_be_null(0));
    for (attribute, of) in [(0, 100), (1, CHUNK_ROWS)] {
        let expected = Bounds::of((&texts(of)).into(), 0, CHUNK_ROWS);
        assert_eq!(snapshot.column(attribute).bounds, expected);
        assert_eq!(chunk.bounds(attribute), expected);
        assert!(!chunk.may_match(&above(attribute)));
    }
}

#[test]
fn many_rows_of_a_chunk_that_grows_are_sketched_when_somebody_asks() {
    let t = relation(vec![], 1, &Budget::new(usize::MAX));
    let distinct = |attribute: usize| t.snapshot().column(attribute).distinct;
    // Two commits to the same chunk, the second of which completes it; then few rows of another chunk.
    let commits = [0..50_000, 50_000..CHUNK_ROWS as i64, CHUNK_ROWS as i64..70_000];
    for (number, rows) in commits.into_iter().enumerate() {
        insert(&t, pairs(rows.clone())).unwrap();
        assert!(t.has_backlog(), "commit {number}");
        assert!((distinct(0) / rows.end as f64 - 1.0).abs() < 0.1);
    }
    assert!((distinct(1) / 70_000.0 - 1.0).abs() < 0.1);
    t.freeze_rest();
    assert!(!t.has_backlog());
}

#[test]
fn rows_are_read_while_they_are_frozen() {
    let budget = Budget::new(usize::MAX);
    let t = relation(vec![], 1, &budget);
    let chunks = if cfg!(miri) { 2 } else { 8 };
    let rows = (chunks * CHUNK_ROWS) as i64;
    insert(&t, pairs(0..rows)).unwrap();
    let plain = budget.used();
    assert!(t.has_backlog() && t.snapshot().chunks().all(|c| c.read().form(0).0 == "plain"));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| t.freeze_rest());
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while t.has_backlog() {
                    assert!(firsts(&t.snapshot()).into_iter().eq(0..rows));
                }
            });
        }
    });
    assert!(t.snapshot().chunks().all(|c| c.read().form(0).0 == "numbers, 2 bytes"));
    assert!(firsts(&t.snapshot()).into_iter().eq(0..rows));
    // 16 bytes a row before, 4 after.
    assert!(budget.used() < plain / 3);
    drop(t);
    assert_eq!(budget.used(), 0);
}

#[test]
fn distinct_values_are_known_as_soon_as_the_rows_are() {
    let budget = Budget::new(usize::MAX);
    let t = relation(vec![], 1, &budget);
    insert(&t, pairs(0..CHUNK_ROWS as i64)).unwrap();
    let snapshot = t.snapshot();
    let distinct = snapshot.column(1).distinct;
    assert!((distinct / CHUNK_ROWS as f64 - 1.0).abs() < 0.1, "{distinct}");
    let form = |attribute: usize| snapshot.chunk(0).read().form(attribute).0;
    assert_eq!((form(0), form(1)), ("plain", "numbers, 2 bytes"), "the other column waits");
    // Nobody who was told to stop goes on with it.
    let cancel = base::CancelToken::new();
    cancel.cancel();
    let working = base::statement::work_for(&budget, &cancel);
    snapshot.freeze_rest();
    assert!(t.has_backlog());
    drop(working);
    // Whoever drops the table leaves nothing behind that would be frozen.
    t.forget_backlog();
    assert!(!t.has_backlog() && !t.freeze_next());
}

#[test]
fn rows_are_frozen_at_once_where_memory_is_scarce() {
    let bytes = CHUNK_ROWS * 16;
    let budget = Budget::new(8 * bytes);
    let t = relation(vec![], 1, &budget);
    // More than the budget has room for as plain columns.
    for i in 0..16 {
        insert(&t, pairs(i * CHUNK_ROWS as i64..(i + 1) * CHUNK_ROWS as i64)).unwrap();
    }
    let plain = t.snapshot().chunks().filter(|c| c.read().form(0).0 == "plain").count();
    assert!((1..=2).contains(&plain), "{plain} of 16 chunks wait");
    assert_eq!(t.row_count(), 16 * CHUNK_ROWS);
    assert!((t.snapshot().column(0).distinct / t.row_count() as f64 - 1.0).abs() < 0.1);
}
