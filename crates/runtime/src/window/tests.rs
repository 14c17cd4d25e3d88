use base::{Budget, CancelToken, Random};
use functions::aggregate::AGGREGATES;
use functions::{AggregateFunction as A, WindowFunction as F};
use types::{SqlType, Value};

use super::frame::tests::any_frame;
use super::reference::{self, Slow};
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
fn call(random: &mut Random, table: &Table, function: F) -> (Slow, Call) {
    let (slow_frame, frame) = any_frame(random, table);
    let mut argument = random.pick(&TYPES);
    let mut result = SqlType::BigInt;
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
    if matches!(function, F::Lead | F::Lag | F::FirstValue | F::LastValue | F::NthValue) {
        result = argument;
    }
    let Arguments { random, rows, slow, quick } = arguments;
    let filtered = matches!(function, F::Aggregate(_)) && random.one_in(3);
    let filter = filtered.then(|| values(random, SqlType::Bool, rows, 20));
    let (ignore_nulls, order) = (random.one_in(2) && !matches!(function, F::Aggregate(_)), Vec::new());
    let quick = Call {
        function,
        arguments: quick,
        distinct: false,
        filter: filter.as_ref().map(|filter| column(filter, SqlType::Bool)),
        ignore_nulls,
        order: Vec::new(),
        frame,
        range: Some(table.key()),
        result,
        algorithm: random.pick(&ALGORITHMS),
        fanout: random.pick(&[2, 3, 16]),
    };
    let (arguments, frame) = (slow, slow_frame);
    (Slow { function, arguments, argument, distinct: false, filter, ignore_nulls, order, frame, result }, quick)
}

fn evaluate(random: &mut Random, call: Call, positions: Positions) -> Result<Vec<Value>> {
    let (result, rows) = (call.result, positions.rows);
    let evaluation = evaluation(call, positions, &Budget::new(usize::MAX), CancelToken::new())?;
    all(random, &*evaluation, result, rows)
}

/// Compares calls of a function with the reference.
fn check(seed: u64, function: F, turns: usize) {
    let mut random = Random(seed);
    for turn in 0..turns {
        let rows = random.pick(&[0, 1, 2, 10, 50, 90]);
        let key_type = random.pick(&KEY_TYPES);
        let table = Table::random(&mut random, rows, key_type);
        let (slow, quick) = call(&mut random, &table, function);
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
        check(1, function, 200);
    }
}

#[test]
fn values_of_other_rows_are_found() {
    for function in [F::Lead, F::Lag, F::FirstValue, F::LastValue, F::NthValue] {
        check(2, function, 400);
    }
}

#[test]
fn aggregates_of_frames_are_those_of_their_rows() {
    for aggregate in AGGREGATES {
        check(3, F::Aggregate(aggregate.function), 400);
    }
}
