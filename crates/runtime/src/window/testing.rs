//! What the tests of windows need: random rows in the order of a sort, operands of values, and results as values.

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Random, Result};
use types::{Interval, SqlType, Str, Value};

use super::column::{Element, Form, OutValues};
use super::{Column, Evaluation, Key, Operand, Out, PIECE, Positions, Values};
use crate::bits::BitSet;

/// Rows in the order of a sort by partition and one key.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: usize,
    pub(crate) partition: Vec<usize>,
    pub(crate) key: Vec<Value>,
    pub(crate) key_type: SqlType,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

pub(crate) const KEY_TYPES: [SqlType; 9] = [
    SqlType::BigInt,
    SqlType::decimal(10, 2),
    SqlType::decimal(30, 2),
    SqlType::Double,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Time,
    SqlType::Interval,
];

/// A value of a type, often one of a few, sometimes the like of NaN; never NULL.
pub(crate) fn value(random: &mut Random, sql_type: SqlType) -> Value {
    let small = random.below(12) as i64 - 4;
    match sql_type {
        SqlType::Bool => Value::Bool(small > 0),
        SqlType::Date => Value::Date(19_000 + small as i32 * 5),
        SqlType::Time => Value::Time((small + 1000) * 5_000_000),
        SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(1_700_000_000_000_000 + small * 40_000_000_000),
        SqlType::Interval => {
            Value::Interval(Interval { months: small as i32 % 2, days: small as i32 * 10 % 40, micros: small })
        }
        SqlType::Real | SqlType::Double => Value::Float(match random.below(20) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 1e30,
            _ => small as f64 / 4.0,
        }),
        SqlType::Decimal { .. } => Value::Decimal(if random.one_in(8) { 99_999_999 } else { small.into() }),
        SqlType::Text => {
            Value::str(["", "a", "b", "a longer text, one", "a longer text, two"][small.unsigned_abs() as usize % 5])
        }
        SqlType::SmallInt => Value::Int(small),
        SqlType::Integer => Value::Int(if random.one_in(10) { i32::MAX.into() } else { small }),
        _ => Value::Int(if random.one_in(10) { i64::MAX - 3 } else { small }),
    }
}

/// Values of a type, `null` of a hundred NULL.
pub(crate) fn values(random: &mut Random, sql_type: SqlType, rows: usize, null: u64) -> Vec<Value> {
    (0..rows).map(|_| if random.chance(null) { Value::Null } else { value(random, sql_type) }).collect()
}

impl Table {
    pub(crate) fn random(random: &mut Random, rows: usize, key_type: SqlType) -> Self {
        let cuts = random.pick(&[1, 3, 40, 1_000_000]);
        let (descending, nulls_first) = (random.one_in(2), random.one_in(2));
        let mut partition = Vec::with_capacity(rows);
        for row in 0..rows {
            let before = partition.last().copied().unwrap_or(0);
            partition.push(before + usize::from(row > 0 && random.one_in(cuts)));
        }
        let null = random.pick(&[0, 20]);
        let mut table = Self { rows, partition, key: Vec::new(), key_type, descending, nulls_first };
        let mut keyed: Vec<(usize, Value)> =
            table.partition.iter().copied().zip(values(random, key_type, rows, null)).collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1, descending, nulls_first)));
        table.key = keyed.into_iter().map(|(_, key)| key).collect();
        table
    }

    pub(crate) fn begins_partition(&self, row: usize) -> bool {
        row == 0 || self.partition[row] != self.partition[row - 1]
    }

    pub(crate) fn begins_peers(&self, row: usize) -> bool {
        self.begins_partition(row) || self.key[row] != self.key[row - 1]
    }

    pub(crate) fn positions(&self) -> Positions {
        let set = |begins: &dyn Fn(usize) -> bool| bit_set(self.rows, begins);
        let (partitions, peers) = (set(&|row| self.begins_partition(row)), set(&|row| self.begins_peers(row)));
        Positions { rows: self.rows, partitions, peers }
    }

    pub(crate) fn key(&self) -> Key {
        let operand = column(&self.key, self.key_type);
        Key { operand, descending: self.descending, nulls_first: self.nulls_first }
    }

    pub(crate) fn partition_of(&self, row: usize) -> Range<usize> {
        let of = self.partition[row];
        self.partition.partition_point(|&p| p < of)..self.partition.partition_point(|&p| p <= of)
    }
}

/// The order of two keys.
pub(crate) fn order(a: &Value, b: &Value, descending: bool, nulls_first: bool) -> std::cmp::Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) if descending => b.total_cmp(a),
        (false, false) => a.total_cmp(b),
        (a, b) if nulls_first => b.cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

pub(crate) fn bit_set(rows: usize, is_member: &dyn Fn(usize) -> bool) -> Arc<BitSet> {
    let set = BitSet::new(rows, &Budget::new(usize::MAX)).unwrap();
    for first in (0..rows).step_by(PIECE) {
        set.fill(first..rows.min(first + PIECE), is_member);
    }
    set.finish();
    Arc::new(set)
}

/// A column of values.
pub(crate) fn column(values: &[Value], sql_type: SqlType) -> Operand {
    fn of<T: Element>(values: &[Value], of: impl Fn(&Value) -> T, none: T) -> Values {
        T::wrap(&values.iter().map(|v| if v.is_null() { none } else { of(v) }).collect::<Vec<T>>())
    }
    let integer = |v: &Value| match v {
        Value::Bool(b) => (*b).into(),
        Value::Int(i) | Value::Time(i) | Value::Timestamp(i) => (*i).into(),
        Value::Date(d) => (*d).into(),
        Value::Decimal(d) => *d,
        other => panic!("{other:?}"),
    };
    let forms = match Form::of(sql_type) {
        Form::I64 => of(values, |v| integer(v) as i64, 0),
        Form::I128 => of(values, integer, 0),
        Form::F64 => of(values, |v| if let Value::Float(f) = v { *f } else { panic!("{v:?}") }, 0.0),
        // Tests are short: their texts may live forever.
        Form::Str => of(
            values,
            |v| if let Value::Str(s) = v { Str::new(s.to_string().leak().as_bytes()) } else { panic!("{v:?}") },
            Str::EMPTY,
        ),
        Form::Interval => {
            of(values, |v| if let Value::Interval(i) = v { *i } else { panic!("{v:?}") }, Interval::default())
        }
    };
    let nulls = values
        .iter()
        .any(Value::is_null)
        .then(|| values.iter().map(|v| u8::from(v.is_null())).collect::<Vec<u8>>().as_slice().into());
    Operand::column(Arc::new(Column { values: forms, nulls }), sql_type)
}

/// Builds what there is to build.
pub(crate) fn build(evaluation: &dyn Evaluation) -> Result<()> {
    for phase in 0.. {
        let Some(pieces) = evaluation.pieces(phase) else { break };
        (0..pieces).rev().try_for_each(|piece| evaluation.build(phase, piece))?;
    }
    Ok(())
}

/// The results of some rows.
pub(crate) fn some(evaluation: &dyn Evaluation, sql_type: SqlType, rows: Range<usize>) -> Result<Vec<Value>> {
    let mut nulls = vec![7u8; rows.len()];
    fn of<T: Element>(
        evaluation: &dyn Evaluation,
        rows: Range<usize>,
        nulls: &mut [u8],
        fill: T,
        wrap: impl FnOnce(&mut [T]) -> OutValues<'_>,
        value: impl Fn(T) -> Value,
    ) -> Result<Vec<Value>> {
        let mut results = vec![fill; rows.len()];
        evaluation.evaluate(rows, Out { values: wrap(&mut results), nulls })?;
        let value = |(value_of, null): (T, &u8)| match null {
            0 => value(value_of),
            1 => Value::Null,
            other => panic!("a NULL flag of {other}"),
        };
        Ok(results.into_iter().zip(&*nulls).map(value).collect())
    }
    let integer = |i: i64| match sql_type {
        SqlType::Bool => Value::Bool(i != 0),
        SqlType::Date => Value::Date(i as i32),
        SqlType::Time => Value::Time(i),
        SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(i),
        SqlType::Decimal { .. } => Value::Decimal(i.into()),
        _ => Value::Int(i),
    };
    match Form::of(sql_type) {
        Form::I64 => of(evaluation, rows, &mut nulls, 0, |out| OutValues::I64(out), integer),
        Form::I128 => of(evaluation, rows, &mut nulls, 0, |out| OutValues::I128(out), Value::Decimal),
        Form::F64 => of(evaluation, rows, &mut nulls, 0.0, |out| OutValues::F64(out), Value::Float),
        // SAFETY: the texts of tests' columns live forever, and those of constants as long as the evaluation.
        Form::Str => of(
            evaluation,
            rows,
            &mut nulls,
            Str::EMPTY,
            |out| OutValues::Str(out),
            |s| Value::str(unsafe { s.as_str() }),
        ),
        Form::Interval => {
            of(evaluation, rows, &mut nulls, Interval::default(), |out| OutValues::Interval(out), Value::Interval)
        }
    }
}

/// All results, of ranges cut at random and in any order.
pub(crate) fn all(
    random: &mut Random,
    evaluation: &dyn Evaluation,
    sql_type: SqlType,
    rows: usize,
) -> Result<Vec<Value>> {
    build(evaluation)?;
    let mut cuts = vec![0, rows];
    cuts.extend((0..random.below(4)).map(|_| random.below(rows as u64 + 1) as usize));
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    for cut in cuts.windows(2) {
        pieces.push(cut[0]..cut[1]);
    }
    let mut results = vec![Value::Null; rows];
    let mut first = None;
    for piece in pieces.into_iter().rev() {
        match some(evaluation, sql_type, piece.clone()) {
            Ok(part) => results[piece].clone_from_slice(&part),
            Err(error) => first = Some(error),
        }
    }
    first.map_or(Ok(results), Err)
}
