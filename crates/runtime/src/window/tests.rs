use base::{Budget, CancelToken, Random};
use functions::aggregate::AGGREGATES;
use functions::{AggregateFunction as A, WindowFunction as F};
use types::{SqlType, Value};

use super::frame::tests::any_frame;
use super::reference::{self, Slow, SlowKey};
use super::testing::{KEY_TYPES, Table, all, column, values};
use super::*;

const TYPES: [SqlType; 9] = [
    SqlType::SmallInt,
    SqlType::BigInt,
    SqlType::decimal(10, 2),
    SqlType::decimal(30, 2),
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Timestamp,
    SqlType::Interval,
];

const ALGORITHMS: [Option<Algorithm>; 5] = [
    None,
    Some(Algorithm::Naive),
    Some(Algorithm::Cumulative),
    Some(Algorithm::Removable),
    Some(Algorithm::SegmentTree),
];

/// Arguments of a call, by row.
struct Arguments<'a> {
    random: &'a mut Random,
    rows: usize,
    slow: Vec<Vec<Value>>,
    quick: Vec<Operand>,
}

impl Arguments<'_> {
    /// An argument of such values, the same for all rows now and then.
    fn add(&mut self, sql_type: SqlType, values: Vec<Value>) {
        if self.random.one_in(4) && self.rows > 0 {
            self.slow.push(vec![values[0].clone(); self.rows]);
            return self.quick.push(Operand::constant(values[0].clone(), sql_type));
        }
        self.quick.push(column(&values, sql_type));
        self.slow.push(values);
    }

    fn random(&mut self, sql_type: SqlType) {
        let values = values(self.random, sql_type, self.rows, 20);
        self.add(sql_type, values);
    }

    fn integers(&mut self, of: &[i64]) {
        let some = |random: &mut Random| if random.one_in(20) { Value::Null } else { Value::Int(random.pick(of)) };
        let values = (0..self.rows).map(|_| some(self.random)).collect();
        self.add(SqlType::BigInt, values);
    }
}

/// A call of a function, for both.
fn call(random: &mut Random, table: &Table, function: F, own_order: bool) -> (Slow, Call) {
    let (slow_frame, frame) = any_frame(random, table);
    let mut argument = random.pick(&TYPES);
    let mut result = SqlType::BigInt;
    let picks = matches!(function, F::Lead | F::Lag | F::FirstValue | F::LastValue | F::NthValue);
    if let F::Aggregate(aggregate) = function {
        argument = match aggregate {
            A::BoolAnd | A::BoolOr => SqlType::Bool,
            _ => argument,
        };
        while aggregate != A::CountStar && aggregate.resolve(argument).is_none_or(|(taken, _)| taken != argument) {
            argument = random.pick(&TYPES);
        }
        result = aggregate.resolve(argument).map_or(SqlType::BigInt, |(_, result)| result);
    }
    let mut arguments = Arguments { random, rows: table.rows, slow: Vec::new(), quick: Vec::new() };
    match function {
        F::Aggregate(A::CountStar) | F::RowNumber | F::Rank | F::DenseRank => {}
        F::PercentRank | F::CumeDist => result = SqlType::Double,
        F::Ntile => arguments.integers(&[1, 2, 3, 7, 100, i64::MAX]),
        F::PercentileDisc | F::PercentileCont => {
            let fraction = |random: &mut Random| Value::Float(random.pick(&[0.0, 0.1, 0.5, 0.77, 1.0]));
            let fractions = (0..table.rows).map(|_| fraction(arguments.random)).collect();
            arguments.add(SqlType::Double, fractions);
        }
        F::Mode => {}
        F::Lead | F::Lag => {
            arguments.random(argument);
            arguments.integers(&[0, 1, -1, 2, 3, -4, i64::MAX, i64::MIN]);
            if arguments.random.one_in(2) {
                arguments.random(argument);
            }
        }
        F::NthValue => {
            arguments.random(argument);
            arguments.integers(&[1, 2, 3, 9, i64::MAX]);
        }
        _ => arguments.random(argument),
    }
    if picks {
        result = argument;
    }
    let Arguments { random, rows, slow, quick } = arguments;
    let (mut order, mut keys) = (Vec::new(), Vec::new());
    let sets = matches!(function, F::Mode | F::PercentileDisc | F::PercentileCont);
    for _ in 0..if own_order { if sets { 1 } else { 1 + random.below(2) } } else { 0 } {
        let sql_type = match function {
            F::PercentileCont => random.pick(&[SqlType::Double, SqlType::Interval]),
            _ => random.pick(&TYPES),
        };
        let (descending, nulls_first) = (random.one_in(2), random.one_in(2));
        let values = values(random, sql_type, rows, 20);
        keys.push(Key { operand: column(&values, sql_type), descending, nulls_first });
        order.push(SlowKey { values, descending, nulls_first });
        result = if sets { sql_type } else { result };
    }
    let filtered = (sets || matches!(function, F::Aggregate(_))) && random.one_in(3);
    let filter = filtered.then(|| values(random, SqlType::Bool, rows, 20));
    let distinct = matches!(function, F::Aggregate(aggregate) if aggregate != A::CountStar) && random.one_in(3);
    let ignore_nulls = picks && random.one_in(2);
    let quick = Call {
        function,
        arguments: quick,
        distinct,
        filter: filter.as_ref().map(|filter| column(filter, SqlType::Bool)),
        ignore_nulls,
        order: keys,
        frame,
        range: Some(table.key()),
        result,
        algorithm: random.pick(&ALGORITHMS),
        fanout: random.pick(&[2, 3, 16]),
    };
    let (arguments, frame) = (slow, slow_frame);
    (Slow { function, arguments, argument, distinct, filter, ignore_nulls, order, frame, result }, quick)
}

fn evaluate(random: &mut Random, call: Call, positions: Positions) -> Result<Vec<Value>> {
    let (result, rows) = (call.result, positions.rows);
    let evaluation = evaluation(call, positions, &Budget::new(usize::MAX), CancelToken::new())?;
    all(random, &*evaluation, result, rows)
}

/// Compares calls of a function with the reference.
fn check(seed: u64, function: F, own_order: bool, turns: usize) {
    let mut random = Random(seed);
    for turn in 0..turns {
        let rows = random.pick(&[0, 1, 2, 10, 50, 90]);
        let key_type = random.pick(&KEY_TYPES);
        let table = Table::random(&mut random, rows, key_type);
        let (slow, quick) = call(&mut random, &table, function, own_order);
        let expected: Result<Vec<Value>> = (0..rows).map(|row| reference::evaluate(&table, &slow, row)).collect();
        let found = evaluate(&mut random, quick.clone(), table.positions());
        let (Ok(expected), Ok(found)) = (&expected, &found) else {
            let states = (expected.map_err(|e| e.state()), found.map_err(|e| e.state()));
            assert_eq!(states.0.is_err(), states.1.is_err(), "turn {turn}: {states:?} {slow:?}");
            continue;
        };
        // Of 0 and -0 either may be the least.
        let exact = !matches!(function, F::Aggregate(A::Min | A::Max));
        for (row, (expected, found)) in expected.iter().zip(found).enumerate() {
            let same = if exact { expected.is_identical(found) } else { expected == found };
            assert!(same, "turn {turn}, row {row}: {expected:?}, found {found:?}\n{quick:?}\n{slow:?}\n{table:?}");
        }
    }
}

#[test]
fn rows_are_numbered() {
    for function in [F::RowNumber, F::Rank, F::DenseRank, F::PercentRank, F::CumeDist, F::Ntile] {
        check(1, function, false, 200);
    }
}

#[test]
fn values_of_other_rows_are_found() {
    for function in [F::Lead, F::Lag, F::FirstValue, F::LastValue, F::NthValue] {
        check(2, function, false, 400);
    }
}

#[test]
fn aggregates_of_frames_are_those_of_their_rows() {
    for aggregate in AGGREGATES {
        check(3, F::Aggregate(aggregate.function), false, 600);
    }
}

#[test]
fn functions_with_an_order_of_their_own_see_frames_in_it() {
    for function in [F::PercentileDisc, F::PercentileCont, F::RowNumber, F::Rank, F::PercentRank, F::CumeDist] {
        check(4, function, true, 300);
    }
    for function in [F::Ntile, F::Lead, F::Lag, F::FirstValue, F::LastValue, F::NthValue] {
        check(5, function, true, 300);
    }
    for function in [F::Mode, F::DenseRank] {
        check(6, function, true, 600);
    }
}
