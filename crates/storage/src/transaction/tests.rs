//! Transactions beside a model that copies everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::{Budget, Random, SqlState};
use types::{Chunk, Column, SqlType, Value};

use super::*;
use crate::index::KeyPart;
use crate::relation::Distribution;
use crate::testing::column;
use crate::{Attribute, Comparison, Relation, RowId, ScanOp, ScanPredicate, Schema, Scratch, Snapshot, WINDOW};

const TEXT: usize = 2;

fn relation(key: Vec<usize>, budget: &Budget) -> Arc<Relation> {
    let attribute = |name: &str, sql_type| Attribute::new(name, sql_type, false);
    let attributes =
        vec![attribute("a", SqlType::BigInt), attribute("b", SqlType::Integer), attribute("t", SqlType::Text)];
    Relation::new("t", Schema::new(attributes, key), Distribution::Local, budget).unwrap()
}

fn text(number: i64) -> Value {
    match number % 5 {
        0 => Value::Null,
        1 => Value::str(format!("short{}", number % 100)),
        _ => Value::str(format!("a text that does not lie in its header {number}")),
    }
}

fn row(a: i64, b: i64) -> Vec<Value> {
    vec![Value::Int(a), Value::Int(b), text(a + b)]
}

fn chunk(rows: &[Vec<Value>]) -> Chunk {
    let of = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    let types = [SqlType::BigInt, SqlType::Integer, SqlType::Text];
    Chunk::new(rows.len(), types.iter().enumerate().map(|(at, t)| column(*t, &of(at))).collect())
}

fn insert(transaction: &Transaction, relation: &Arc<Relation>, rows: &[Vec<Value>]) -> Result<usize, base::Error> {
    let append = relation.append(&Budget::new(usize::MAX));
    append.append(0, 0, chunk(rows)).unwrap();
    transaction.insert(&append)
}

fn load(relation: &Arc<Relation>, rows: &[Vec<Value>]) {
    let append = relation.append(&Budget::new(usize::MAX));
    append.append(0, 0, chunk(rows)).unwrap();
    append.commit().unwrap();
}

/// What a scan with these predicates finds.
fn scan(snapshot: &Snapshot, predicates: &[ScanPredicate]) -> BTreeMap<RowId, Vec<Value>> {
    let (mut scratch, mut found) = (Scratch::default(), BTreeMap::new());
    let predicates: Arc<[ScanPredicate]> = predicates.into();
    for chunk in snapshot.chunks().filter(|chunk| chunk.may_match(&predicates)) {
        let reader = chunk.read();
        let Some(applicable) = reader.applicable(&predicates, &mut scratch) else { continue };
        let mut out = [0; WINDOW];
        for from in (0..reader.rows()).step_by(WINDOW) {
            let count = reader.scan(from..reader.rows().min(from + WINDOW), &applicable, &mut scratch, &mut out);
            for &at in &out[..count] {
                let row = from + at as usize;
                found.insert(RowId::new(chunk.number(), row), reader.row(row));
            }
        }
    }
    found
}

fn all(snapshot: &Snapshot) -> BTreeMap<RowId, Vec<Value>> {
    scan(snapshot, &[])
}

fn update(transaction: &Transaction, relation: &Arc<Relation>, ids: &[RowId], b: i64) -> Result<(), base::Error> {
    let columns: [(usize, Column); 2] =
        [(1, column(SqlType::Integer, &[Value::Int(b)])), (TEXT, column(SqlType::Text, &[text(b)]))];
    transaction.update(relation, ids, &columns, &vec![0; ids.len()])
}

/// Finds a row by its key, sees that it is as it should be, and deletes it or gives it another `b`; none: it has to be found otherwise.
fn change_found(
    transaction: &Transaction,
    relation: &Arc<Relation>,
    row: &[Value],
    b: Option<i64>,
) -> Option<Result<(), base::Error>> {
    let point = transaction.point(&Arc::downgrade(relation))?;
    let Value::Int(key) = row[0] else { unreachable!("a key") };
    let found = point.find(&[KeyPart::I64(key)], |_| ()).expect("it is there");
    let mut seen = Vec::new();
    found.each_value(point.view(), 0..3, |value| {
        seen.push(value);
        Some(())
    });
    assert_eq!(seen, row);
    assert!(point.find(&[KeyPart::I64(-1)], |_| ()).is_none());
    Some(match b {
        None => point.delete(&found),
        Some(b) => point.update(&found, &[(1, &Value::Int(b)), (TEXT, &text(b))]),
    })
}

fn find(snapshot: &Snapshot, row: &[Value]) -> Option<RowId> {
    let Value::Int(key) = row[0] else { unreachable!("a key") };
    snapshot.find_one(&[KeyPart::I64(key)], &crate::pin(), |_| ()).map(|row| row.id())
}

type State = BTreeMap<RowId, Vec<Value>>;

/// A transaction of the model.
struct Open {
    transaction: Transaction,
    began: usize,
    /// What it saw at its beginning, and sees now.
    state: State,
    changed: Vec<RowId>,
    /// First statements of savepoints, with what was seen then.
    savepoints: Vec<(u32, State, Vec<RowId>)>,
}

impl Open {
    /// Scans and lookups find what the model says.
    fn sees_what_it_should(&self, relation: &Arc<Relation>, committed: &State) {
        self.transaction.next_statement();
        let snapshot = self.transaction.snapshot(relation);
        assert_eq!(all(&snapshot), self.state);
        let predicate = ScanPredicate::new(1, SqlType::Integer, ScanOp::Compare(Comparison::Lt, Value::Int(5)));
        let less = |row: &Vec<Value>| matches!(row[1], Value::Int(b) if b < 5);
        let wanted: State =
            self.state.iter().filter(|(_, row)| less(row)).map(|(id, row)| (*id, row.clone())).collect();
        assert_eq!(scan(&snapshot, std::slice::from_ref(&predicate)), wanted);
        if relation.schema().primary_key().is_empty() {
            return;
        }
        if let Some((id, row)) = self.state.iter().next() {
            let key = Chunk::new(1, vec![column(SqlType::BigInt, &row[..1])]);
            assert_eq!(snapshot.find(key), [Some(*id)]);
            assert_eq!(find(&snapshot, row), Some(*id));
        }
        let gone = committed.keys().find(|id| !self.state.contains_key(id));
        gone.iter().for_each(|id| assert!(find(&snapshot, &committed[id]).is_none_or(|it| it != **id)));
    }
}

#[test]
fn snapshots_see_what_a_model_says() {
    let steps = if cfg!(miri) { 100 } else { 800 };
    for seed in 0..6 {
        let budget = Budget::new(usize::MAX);
        let relation = relation(if seed % 2 == 0 { vec![0] } else { vec![] }, &budget);
        let mut random = Random(seed + 1);
        // Chunks that are complete get new bodies on the way.
        let is_large = seed >= 4;
        let steps = if is_large { steps / 6 } else { steps };
        let first: Vec<_> = (0..if is_large { 34_000 } else { 3000 }).map(|a| row(a, a % 7)).collect();
        load(&relation, &first);
        relation.freeze_rest();
        let mut committed: State = all(&relation.snapshot());
        // When rows were changed last, by number of commit.
        let mut changed_at: BTreeMap<RowId, usize> = BTreeMap::new();
        let (mut commits, mut next, mut open): (usize, i64, Vec<Open>) = (1, 100_000, Vec::new());
        for step in 0..steps {
            if open.len() < 4 && random.below(4) == 0 {
                let transaction = Transaction::begin(&relation.clock_of_tests(), false);
                let (state, changed, savepoints) = (committed.clone(), Vec::new(), Vec::new());
                open.push(Open { transaction, began: commits, state, changed, savepoints });
            }
            if open.is_empty() {
                continue;
            }
            let at = random.below(open.len() as u64) as usize;
            let busy: Vec<RowId> =
                open.iter().enumerate().filter(|(i, _)| *i != at).flat_map(|(_, o)| o.changed.clone()).collect();
            let one = &mut open[at];
            one.transaction.next_statement();
            match random.below(12) {
                0 | 1 => {
                    let rows: Vec<_> =
                        (0..1 + random.below(40) as i64).map(|i| row(next + i, (next + i) % 11)).collect();
                    next += rows.len() as i64;
                    insert(&one.transaction, &relation, &rows).unwrap();
                    one.transaction.next_statement();
                    let seen = all(&one.transaction.snapshot(&relation));
                    let new: Vec<_> = seen.iter().filter(|(id, _)| !one.state.contains_key(id)).collect();
                    assert_eq!(new.iter().map(|(_, row)| (*row).clone()).collect::<Vec<_>>(), rows);
                    one.changed.extend(new.iter().map(|(id, _)| **id));
                    one.state = seen;
                }
                what @ 2..=7 => {
                    let ids: Vec<RowId> = one.state.keys().copied().collect();
                    if ids.is_empty() {
                        continue;
                    }
                    let from = random.below(ids.len() as u64) as usize;
                    let every = 1 + random.below(60) as usize;
                    let most = if is_large { 5000 } else { 50 };
                    let some: Vec<RowId> = ids[from..]
                        .iter()
                        .step_by(every)
                        .take(if what % 3 == 0 { 1 } else { 1 + random.below(most) as usize })
                        .copied()
                        .collect();
                    let refused = some
                        .iter()
                        .any(|id| busy.contains(id) || changed_at.get(id).is_some_and(|commit| *commit > one.began));
                    let value = random.below(1000) as i64;
                    let change = |transaction: &Transaction| match what {
                        2 | 3 => transaction.delete(&relation, &some),
                        _ => update(transaction, &relation, &some, value),
                    };
                    let result = match some.as_slice() {
                        [id] if seed % 2 == 0 => {
                            change_found(&one.transaction, &relation, &one.state[id], (what > 3).then_some(value))
                                .unwrap_or_else(|| change(&one.transaction))
                        }
                        _ => change(&one.transaction),
                    };
                    if refused {
                        assert_eq!(result.unwrap_err().state(), SqlState("40001"));
                        drop(open.remove(at));
                        continue;
                    }
                    result.unwrap();
                    for id in &some {
                        match what {
                            2 | 3 => drop(one.state.remove(id)),
                            _ => {
                                let row = one.state.get_mut(id).unwrap();
                                (row[1], row[TEXT]) = (Value::Int(value), text(value));
                            }
                        }
                    }
                    one.changed.extend(some);
                }
                8 => {
                    let state = (one.transaction.statement(), one.state.clone(), one.changed.clone());
                    one.savepoints.push(state);
                }
                9 => {
                    if let Some((first, state, changed)) = one.savepoints.pop() {
                        one.transaction.roll_back_to(first).unwrap();
                        // What it inserted stays its own.
                        (one.state, one.changed) = (state, changed);
                    }
                }
                10 => {
                    let one = open.remove(at);
                    one.transaction.commit().unwrap();
                    commits += 1;
                    for id in one.changed {
                        changed_at.insert(id, commits);
                        match one.state.get(&id) {
                            Some(row) => drop(committed.insert(id, row.clone())),
                            None => drop(committed.remove(&id)),
                        }
                    }
                }
                _ => drop(open.remove(at)),
            }
            if step % 10 == 0 {
                relation.freeze_rest();
            }
            if step % 40 == 0 {
                assert_eq!(all(&relation.snapshot()), committed, "seed {seed}, step {step}");
                open.iter().for_each(|one| one.sees_what_it_should(&relation, &committed));
            }
        }
        open.clear();
        assert_eq!(all(&relation.snapshot()), committed);
        relation.clock_of_tests().collect();
        relation.freeze_rest();
        assert_eq!(all(&relation.snapshot()), committed);
    }
}

fn begin(relation: &Arc<Relation>) -> Transaction {
    Transaction::begin(&relation.clock_of_tests(), true)
}

fn with_b(value: i64) -> [ScanPredicate; 1] {
    [ScanPredicate::new(1, SqlType::Integer, ScanOp::Compare(Comparison::Eq, Value::Int(value)))]
}

fn read(transaction: &Transaction, relation: &Arc<Relation>, predicates: &[ScanPredicate]) -> State {
    transaction.reads().unwrap().note(relation, predicates, [0, 1].into_iter());
    scan(&transaction.snapshot(relation), predicates)
}

#[test]
fn write_skew_and_phantoms_are_refused() {
    let relation = relation(vec![0], &Budget::new(usize::MAX));
    load(&relation, &[row(1, 10), row(2, 20)]);
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    // Each reads what the other changes.
    let (a, b) = (begin(&relation), begin(&relation));
    read(&a, &relation, &with_b(20));
    read(&b, &relation, &with_b(10));
    update(&a, &relation, &ids[..1], 11).unwrap();
    update(&b, &relation, &ids[1..], 21).unwrap();
    a.commit().unwrap();
    assert_eq!(b.commit().unwrap_err().state(), SqlState("40001"));
    // Each finds nothing and inserts what the other has looked for.
    let (a, b) = (begin(&relation), begin(&relation));
    assert!(read(&a, &relation, &with_b(77)).is_empty() && read(&b, &relation, &with_b(78)).is_empty());
    insert(&a, &relation, &[row(3, 78)]).unwrap();
    insert(&b, &relation, &[row(4, 77)]).unwrap();
    b.commit().unwrap();
    assert_eq!(a.commit().unwrap_err().state(), SqlState("40001"));
    // What does not concern each other passes.
    let (a, b) = (begin(&relation), begin(&relation));
    read(&a, &relation, &with_b(1));
    read(&b, &relation, &with_b(2));
    insert(&a, &relation, &[row(5, 78)]).unwrap();
    insert(&b, &relation, &[row(6, 79)]).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!(all(&relation.snapshot()).len(), 5);
}

#[test]
fn a_row_that_its_key_has_found_collides_with_its_own_changes_only() {
    let relation = relation(vec![0], &Budget::new(usize::MAX));
    load(&relation, &[row(1, 10), row(2, 20), row(3, 30)]);
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    static KEYS: AtomicI64 = AtomicI64::new(100);
    // Of what another one does after a row was read: whether it collides.
    let collides = |attributes: &[usize], does: &dyn Fn(&Transaction)| {
        let (reader, writer) = (begin(&relation), begin(&relation));
        reader.reads().unwrap().note_row(&relation, ids[0], &attributes.into());
        insert(&reader, &relation, &[row(KEYS.fetch_add(1, Ordering::Relaxed), 0)]).unwrap();
        does(&writer);
        writer.commit().unwrap();
        reader.commit().is_err_and(|error| error.state() == SqlState("40001"))
    };
    assert!(!collides(&[0, 1], &|other| update(other, &relation, &ids[1..2], 21).unwrap()));
    assert!(!collides(&[0, 1], &|other| assert_eq!(insert(other, &relation, &[row(4, 10)]), Ok(1))));
    assert!(!collides(&[0], &|other| update(other, &relation, &ids[..1], 11).unwrap()));
    assert!(collides(&[0, 1], &|other| update(other, &relation, &ids[..1], 12).unwrap()));
    assert!(!collides(&[0], &|other| other.delete(&relation, &ids[2..]).unwrap()));
    // Whatever was read of it.
    assert!(collides(&[], &|other| other.delete(&relation, &ids[..1]).unwrap()));
}

#[test]
fn keys_of_unfinished_and_of_dead_rows() {
    let relation = relation(vec![0], &Budget::new(usize::MAX));
    load(&relation, &[row(1, 10), row(2, 20)]);
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    let old = relation.snapshot();
    let a = begin(&relation);
    a.delete(&relation, &ids[..1]).unwrap();
    a.next_statement();
    let b = begin(&relation);
    let error = insert(&b, &relation, &[row(1, 99)]).unwrap_err();
    assert_eq!(error.state(), SqlState("40001"));
    assert!(b.take_blocked().is_some());
    drop(b);
    insert(&a, &relation, &[row(1, 11)]).unwrap();
    assert_eq!(insert(&a, &relation, &[row(2, 11)]).unwrap_err().state(), SqlState::UNIQUE_VIOLATION);
    drop(a);
    let a = begin(&relation);
    a.delete(&relation, &ids[..1]).unwrap();
    a.next_statement();
    insert(&a, &relation, &[row(1, 12)]).unwrap();
    a.commit().unwrap();
    let key = || Chunk::new(1, vec![column(SqlType::BigInt, &[Value::Int(1)])]);
    let new = relation.snapshot();
    assert_eq!(old.find(key()), [Some(ids[0])]);
    assert_eq!(new.row(new.find(key())[0].unwrap())[1], Value::Int(12));
    drop(old);
    relation.clock_of_tests().collect();
    assert_eq!(new.row(new.find(key())[0].unwrap())[1], Value::Int(12));
}

#[test]
fn memory_comes_back_when_nobody_sees_old_versions() {
    let budget = Budget::new(usize::MAX);
    let relation = relation(vec![], &budget);
    load(&relation, &(0..2000).map(|a| row(a, a)).collect::<Vec<_>>());
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    let change = |value: i64| {
        let transaction = Transaction::begin(&relation.clock_of_tests(), false);
        update(&transaction, &relation, &ids[..1000], value).unwrap();
        transaction.commit().unwrap();
    };
    change(1);
    relation.clock_of_tests().collect();
    let flat = budget.used();
    let old = relation.snapshot();
    let before = all(&old);
    (0..300).for_each(change);
    // A version for the old snapshot, a few that wait, and no more.
    assert!(budget.used() < flat * 30, "{} of {flat}", budget.used());
    assert_eq!(all(&old), before);
    drop(old);
    change(1);
    relation.clock_of_tests().collect();
    assert!(budget.used() <= flat + 20_000, "{} of {flat}", budget.used());
}

#[test]
fn commits_are_remembered_for_those_who_ask() {
    let relation = relation(vec![], &Budget::new(usize::MAX));
    load(&relation, &(0..3000).map(|a| row(a, a)).collect::<Vec<_>>());
    let clock = relation.clock_of_tests();
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    let change = |value: i64| {
        let transaction = Transaction::begin(&clock, false);
        update(&transaction, &relation, &ids[..2000], value).unwrap();
        transaction.commit().unwrap();
    };
    let old = relation.snapshot();
    (0..100).for_each(change);
    // Each window is left once.
    assert_eq!(clock.remembered(), (0, 1));
    let serializable = Transaction::begin(&clock, true);
    (0..10).for_each(change);
    assert_eq!(clock.remembered(), (10, 1));
    drop(old);
    drop(serializable);
    change(7);
    clock.collect();
    assert_eq!(clock.remembered(), (0, 0));
    assert!(all(&relation.snapshot()).iter().take(2000).all(|(_, row)| row[1] == Value::Int(7)));
}

#[test]
fn all_rows_that_are_seen_are_deleted() {
    let relation = relation(vec![0], &Budget::new(usize::MAX));
    load(&relation, &(0..5000).map(|a| row(a, a)).collect::<Vec<_>>());
    let clock = relation.clock_of_tests();
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    let some = Transaction::begin(&clock, false);
    some.delete(&relation, &ids[1000..2100]).unwrap();
    some.commit().unwrap();
    let old = relation.snapshot();
    let transaction = Transaction::begin(&clock, false);
    insert(&transaction, &relation, &[row(9000, 1)]).unwrap();
    transaction.next_statement();
    load(&relation, &[row(9001, 1)]);
    assert_eq!(transaction.delete_all(&relation).unwrap(), 5000 - 1100 + 1);
    transaction.next_statement();
    assert!(all(&transaction.snapshot(&relation)).is_empty());
    transaction.commit().unwrap();
    assert_eq!(all(&old).len(), 5000 - 1100);
    assert_eq!(all(&relation.snapshot()).into_values().collect::<Vec<_>>(), [row(9001, 1)]);
    // Their keys are free.
    drop(old);
    clock.collect();
    load(&relation, &(0..5000).map(|a| row(a, a)).collect::<Vec<_>>());
    assert_eq!(all(&relation.snapshot()).len(), 5001);
}

#[test]
fn a_chunk_without_rows_that_are_alive_gives_its_memory_back() {
    let budget = Budget::new(usize::MAX);
    let relation = relation(vec![0], &budget);
    load(&relation, &(0..40_000).map(|a| row(a, a)).collect::<Vec<_>>());
    relation.freeze_rest();
    let full = relation.bytes();
    let before = relation.snapshot();
    let ids: Vec<RowId> = all(&before).into_keys().collect();
    let transaction = Transaction::begin(&relation.clock_of_tests(), false);
    transaction.delete(&relation, &ids).unwrap();
    transaction.commit().unwrap();
    relation.freeze_rest();
    assert_eq!((all(&before).len(), all(&relation.snapshot()).len()), (40_000, 0));
    drop(before);
    relation.clock_of_tests().collect();
    relation.freeze_rest();
    assert!(relation.bytes() < full / 4, "{} of {full}", relation.bytes());
    load(&relation, &(0..10).map(|a| row(a, a)).collect::<Vec<_>>());
    assert_eq!(all(&relation.snapshot()).len(), 10);
    assert_eq!(relation.snapshot().rows(), 10);
}

#[test]
fn what_has_changed_comes_into_a_new_body() {
    let relation = relation(vec![], &Budget::new(usize::MAX));
    load(&relation, &(0..40_000).map(|a| row(a, a)).collect::<Vec<_>>());
    relation.freeze_rest();
    let ids: Vec<RowId> = all(&relation.snapshot()).into_keys().collect();
    let transaction = Transaction::begin(&relation.clock_of_tests(), false);
    update(&transaction, &relation, &ids[..20_000], 3).unwrap();
    transaction.commit().unwrap();
    let changed = all(&relation.snapshot());
    assert!(relation.snapshot().chunk(0).is_changed());
    let pinned = relation.snapshot();
    let old = pinned.chunk(0).read();
    relation.freeze_rest();
    assert!(!relation.snapshot().chunk(0).is_changed());
    assert_eq!(all(&relation.snapshot()), changed);
    // Who has pinned the chunk before sees it as it was then.
    let transaction = Transaction::begin(&relation.clock_of_tests(), false);
    update(&transaction, &relation, &ids, 4).unwrap();
    transaction.commit().unwrap();
    assert_eq!(old.row(5), changed[&ids[5]]);
    assert_eq!(all(&pinned), changed);
}

#[test]
fn rows_that_are_rolled_back_are_not_sketched() {
    let relation = relation(vec![], &Budget::new(usize::MAX));
    let rows = |from: i64, to: i64| (from..to).map(|a| row(a, a)).collect::<Vec<_>>();
    load(&relation, &rows(0, 10));
    relation.freeze_rest();
    let transaction = Transaction::begin(&relation.clock_of_tests(), false);
    insert(&transaction, &relation, &rows(10, 20_000)).unwrap();
    drop(transaction);
    assert!(!relation.has_backlog());
    // Of one that is committed, all that its statements have placed.
    let transaction = Transaction::begin(&relation.clock_of_tests(), false);
    insert(&transaction, &relation, &rows(10, 20_000)).unwrap();
    insert(&transaction, &relation, &rows(20_000, 30_000)).unwrap();
    transaction.commit().unwrap();
    assert!(relation.has_backlog());
    let distinct = relation.snapshot().column(0).distinct;
    assert!((distinct / 30_000.0 - 1.0).abs() < 0.1, "{distinct}");
}

#[test]
fn rows_behind_one_that_memory_was_refused_for_are_seen() {
    for one_by_one in [true, false] {
        let budget = Budget::new(1 << 20);
        let relation = relation(vec![], &budget);
        let append = relation.append(&budget);
        append.append(0, 0, chunk(&(0..64).map(|a| row(a, 5 * a)).collect::<Vec<_>>())).unwrap();
        append.commit().unwrap();
        let transaction = begin(&relation);
        let insert_one = |a: i64| match one_by_one {
            true => transaction.insert_row(&relation, &row(a, 4 * a), &|| Budget::new(usize::MAX)),
            false => insert(&transaction, &relation, &[row(a, 4 * a)]).map(drop),
        };
        let statement = transaction.next_statement();
        // The chunk has to grow for it.
        let rest = budget.reserve((1 << 20) - budget.used(), "test").unwrap();
        assert_eq!(insert_one(64).unwrap_err().state(), SqlState::OUT_OF_MEMORY);
        drop(rest);
        transaction.roll_back_to(statement).unwrap();
        transaction.next_statement();
        insert_one(65).unwrap();
        transaction.next_statement();
        assert_eq!(all(&transaction.snapshot(&relation)).len(), 65);
        transaction.commit().unwrap();
        assert_eq!(all(&relation.snapshot()).values().last(), Some(&row(65, 260)));
    }
}

#[test]
fn rows_that_come_one_by_one_are_known_as_others_are() {
    let rows: Vec<Vec<Value>> = (0..3000).map(|a| row(a * 7919 % 5000, a % 300)).collect();
    let loaded = relation(vec![0], &Budget::new(usize::MAX));
    load(&loaded, &rows);
    let inserted = relation(vec![0], &Budget::new(usize::MAX));
    load(&inserted, &rows[..1]);
    let mut widenings = 0;
    for rows in rows[1..].chunks(100) {
        let transaction = begin(&inserted);
        for row in rows {
            transaction.next_statement();
            transaction.insert_row(&inserted, row, &|| Budget::new(usize::MAX)).unwrap();
        }
        transaction.next_statement();
        // Whoever sees rows finds them within the bounds.
        let snapshot = transaction.snapshot(&inserted);
        let nulls = rows.iter().filter(|row| row[TEXT].is_null()).count() as u64;
        assert!(snapshot.column(TEXT).bounds.nulls >= nulls && snapshot.column(0).distinct > 0.0);
        assert_eq!(
            read(&transaction, &inserted, &with_b(299)).len(),
            all(&snapshot).values().filter(|row| row[1] == Value::Int(299)).count()
        );
        transaction.commit().unwrap();
        widenings = inserted.widenings();
    }
    let (loaded, now) = (loaded.snapshot(), inserted.snapshot());
    for attribute in 0..3 {
        let (one, other) = (loaded.column(attribute), now.column(attribute));
        assert_eq!((one.bounds, one.distinct), (other.bounds, other.distinct), "of attribute {attribute}");
    }
    // A value within the bounds says nothing new.
    let free = (0..5000).find(|free| rows.iter().all(|row| row[0] != Value::Int(*free))).unwrap();
    let new = row(free, 10 - free % 5);
    let transaction = begin(&inserted);
    transaction.insert_row(&inserted, &new, &|| Budget::new(usize::MAX)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(inserted.widenings(), widenings);
    // Its key is taken.
    let transaction = begin(&inserted);
    let error = transaction.insert_row(&inserted, &new, &|| Budget::new(usize::MAX)).unwrap_err();
    assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
}
