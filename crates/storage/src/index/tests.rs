//! Both indexes do the same, and what a map does.

use std::collections::HashMap;

use base::{Budget, Random};
use types::{Chunk, SqlType, Value};

use super::*;
use crate::testing::{column, value};

/// Rows by chunk, as a relation would have them.
struct Table(Vec<ChunkReader>);

impl Rows for Table {
    fn reader(&self, chunk: usize, rows: usize) -> ChunkReader {
        assert!(rows <= self.0[chunk].rows());
        self.0[chunk].clone()
    }
}

const KEY: [usize; 2] = [2, 0];

fn both(budget: &Budget) -> [Box<dyn UniqueIndex>; 2] {
    [Box::new(SlotIndex::new(KEY.to_vec(), budget).unwrap()), Box::new(HashIndex::new(budget).unwrap())]
}

/// Key values without the NULLs, as a map tells them apart.
fn name(row: &[Value]) -> String {
    let float = match &row[0] {
        Value::Float(f) if f.is_nan() => "NaN".into(),
        Value::Float(f) => (f + 0.0).to_string(),
        other => format!("{other:?}"),
    };
    format!("{float} {:?}", row[2])
}

#[test]
fn both_indexes_do_what_a_map_does() {
    let random = &mut Random(5);
    let budget = Budget::new(usize::MAX);
    let (rounds, sizes) = if cfg!(miri) { (2, [1, 3, 8, 20]) } else { (40, [1, 5, 700, 3000]) };
    for round in 0..rounds {
        let types =
            [[SqlType::Double, SqlType::BigInt, SqlType::Text], [SqlType::BigInt, SqlType::Text, SqlType::Interval]];
        let types = types[round % 2];
        let distinct = [10, 300, 1 << 40][round % 3];
        let indexes = both(&budget);
        let (mut table, mut map) = (Table(Vec::new()), HashMap::<String, RowId>::new());
        for number in 0..6 {
            let n = random.pick(&sizes);
            let constant = random.below(3) == 0;
            let columns = types.map(|t| {
                let same = value(random, t, distinct);
                let values: Vec<Value> =
                    (0..n).map(|_| if constant { same.clone() } else { value(random, t, distinct) }).collect();
                column(t, &values)
            });
            table.0.push(ChunkReader::frozen(Chunk::new(n, columns.into())));
            let reader = table.0[number].clone();
            let keys = Keys::new(&reader, &KEY, 0..n);
            let mut expected = None;
            for row in 0..n {
                let (name, id) = (name(&reader.row(row)), RowId::new(number, row));
                match map.get(&name) {
                    Some(&by) => expected = expected.or(Some(Taken { row: id, by, liveness: Liveness::Alive })),
                    None if expected.is_none() => drop(map.insert(name, id)),
                    None => {}
                }
            }
            for index in &indexes {
                index.reserve(n, &table).unwrap();
                let taken = index.insert(&keys, RowId::new(number, 0), &table, &|_| Liveness::Alive).unwrap();
                assert_eq!(taken, expected, "{index:?}");
                if expected.is_some() {
                    index.remove(&keys, RowId::new(number, 0));
                }
            }
            if expected.is_some() {
                map.retain(|_, id| id.chunk() != number);
            }
            let wanted: Vec<_> = (0..n).map(|row| map.get(&name(&reader.row(row))).copied()).collect();
            for index in &indexes {
                let mut found = Vec::new();
                index.find(&keys, &table, &|_| true, &mut found);
                assert_eq!(found, wanted, "{index:?}");
            }
        }
    }
    assert_eq!(budget.used(), 0);
}

#[test]
fn one_key_by_itself_is_found_as_among_others() {
    let random = &mut Random(8);
    let types = [SqlType::BigInt, SqlType::SmallInt, SqlType::Text, SqlType::Integer];
    let values: Vec<(i64, String)> = (0..500).map(|i| (i, "x".repeat(random.index(20)) + &i.to_string())).collect();
    let columns = types.map(|of| {
        let value = |(number, text): &(i64, String)| match of {
            SqlType::Text => Value::str(text.as_str()),
            _ => Value::Int(*number),
        };
        column(of, &values.iter().map(value).collect::<Vec<_>>())
    });
    let chunk = Chunk::new(values.len(), columns.into());
    for reader in [ChunkReader::of(chunk.clone()), ChunkReader::frozen(chunk)] {
        let table = Table(vec![reader]);
        let first = RowId::new(0, 0);
        for attributes in [[2, 0], [1, 3]] {
            let budget = Budget::new(usize::MAX);
            let slots = SlotIndex::new(attributes.to_vec(), &budget).unwrap();
            let indexes: [Box<dyn UniqueIndex>; 2] = [Box::new(slots), Box::new(HashIndex::new(&budget).unwrap())];
            for index in indexes {
                let keys = Keys::new(&table.0[0], &attributes, 0..values.len());
                assert_eq!(index.insert(&keys, first, &table, &|_| Liveness::Alive).unwrap(), None);
                let find = |number: i64, text: &str, sees: &dyn Fn(RowId) -> bool| {
                    let by_text = [KeyPart::Text(text), KeyPart::I64(number)];
                    let by_numbers = [KeyPart::I16(number as i16), KeyPart::I32(number as i32)];
                    let key = OneKey(if attributes[0] == 2 { &by_text } else { &by_numbers });
                    let has_key = |row: RowId| key.is_key_of(table.0[0].body(), &attributes, row.offset());
                    index.find_one(key, &crate::pin(), &mut |row| sees(row) && has_key(row))
                };
                for (row, (number, text)) in values.iter().enumerate() {
                    assert_eq!(find(*number, text, &|_| true), Some(first.plus(row)), "{index:?}");
                    assert_eq!(find(*number, text, &|_| false), None);
                    assert_eq!(find(*number + 1000, text, &|_| true), None);
                }
            }
        }
    }
}

#[test]
fn keys_of_dead_rows_may_be_taken_and_those_of_unfinished_ones_say_so() {
    let values = |v: &[i64]| -> Vec<Value> { v.iter().map(|&v| Value::Int(v)).collect() };
    let rows = |v: &[i64]| {
        let c = column(SqlType::BigInt, &values(v));
        ChunkReader::of(Chunk::new(v.len(), vec![c.clone(), c.clone(), c]))
    };
    for index in both(&Budget::new(usize::MAX)) {
        let table = Table(vec![rows(&[1, 2, 3]), rows(&[3, 4])]);
        let keys = |chunk: usize| Keys::new(&table.0[chunk], &KEY, 0..table.0[chunk].rows());
        let enter =
            |chunk, liveness| index.insert(&keys(chunk), RowId::new(chunk, 0), &table, &move |_| liveness).unwrap();
        assert_eq!(enter(0, Liveness::Alive), None);
        let taken = |liveness| Some(Taken { row: RowId::new(1, 0), by: RowId::new(0, 2), liveness });
        assert_eq!(enter(1, Liveness::Unfinished), taken(Liveness::Unfinished));
        index.remove(&keys(1), RowId::new(1, 0));
        assert_eq!(enter(1, Liveness::Dead), None);
        // Whoever sees the dead row finds it.
        for (chunk, by) in [(1, RowId::new(1, 0)), (0, RowId::new(0, 2))] {
            let mut found = Vec::new();
            let sees = |row: RowId| row.offset() < 2 && row.chunk() == 0 || row.chunk() == chunk;
            index.find(&keys(0), &table, &sees, &mut found);
            assert_eq!(found, [Some(RowId::new(0, 0)), Some(RowId::new(0, 1)), Some(by)]);
        }
    }
}

#[test]
fn marks_of_removed_entries_do_not_pile_up() {
    let budget = Budget::new(usize::MAX);
    let index = SlotIndex::new(vec![0], &budget).unwrap();
    for i in 0..if cfg!(miri) { 100 } else { 2000 } {
        let table = Table(vec![ChunkReader::of(Chunk::new(1, vec![column(SqlType::BigInt, &[Value::Int(i)])]))]);
        let keys = Keys::new(&table.0[0], &[0], 0..1);
        assert_eq!(index.insert(&keys, RowId::new(0, 0), &table, &|_| Liveness::Alive).unwrap(), None);
        index.remove(&keys, RowId::new(0, 0));
    }
    assert!(budget.used() <= 64 * 16 * 8, "{}", budget.used());
}
