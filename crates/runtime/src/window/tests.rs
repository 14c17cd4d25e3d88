use base::{Budget, CancelToken, Random};
use functions::aggregate::AGGREGATES;
use functions::{AggregateFunction as A, WindowFunction as F};
use plan::{Frame, FrameBound};
use types::{SqlType, Value};

use super::frame::tests::any_frame;
use super::reference::{self, Slow, SlowKey};
use super::testing::{KEY_TYPES, Table, all, bit_set, build, column, some, values};
use super::*;

const TYPES: [SqlType; 11] = [
    SqlType::SmallInt,
    SqlType::BigInt,
    SqlType::decimal(10, 2),
    SqlType::decimal(30, 2),
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Time,
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
        F::StringAgg => {
            result = SqlType::Text;
            arguments.random(SqlType::Text);
            arguments.random(SqlType::Text);
        }
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
        F::Aggregate(aggregate) if aggregate.has_fixed_argument() => {
            arguments.random(argument);
            let fraction = Value::Float(arguments.random.pick(&[0.0, 0.1, 0.5, 0.77, 1.0]));
            arguments.add(SqlType::Double, vec![fraction; table.rows]);
        }
        F::Aggregate(aggregate) => (0..aggregate.definition().arguments).for_each(|_| arguments.random(argument)),
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
    let filtered = (sets || matches!(function, F::Aggregate(_) | F::StringAgg)) && random.one_in(3);
    let filter = filtered.then(|| values(random, SqlType::Bool, rows, 20));
    let has_values = function == F::StringAgg
        || matches!(function, F::Aggregate(aggregate) if aggregate != A::CountStar && !aggregate.collects());
    let distinct = has_values && random.one_in(3);
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
    // What else collects values is of groups alone.
    let of_frames = |a: A| !a.collects() || matches!(a, A::ContinuousAt | A::DiscreteAt);
    for aggregate in AGGREGATES.iter().filter(|aggregate| of_frames(aggregate.function)) {
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

#[test]
fn texts_of_frames_are_those_of_their_rows() {
    check(8, F::StringAgg, false, 1500);
}

#[test]
fn texts_of_long_partitions_are_made_once() {
    let rows = 150_000;
    let arguments = || {
        vec![column(&vec![Value::str("ab"); rows], SqlType::Text), Operand::constant(Value::str(","), SqlType::Text)]
    };
    let call = |end| Call {
        arguments: arguments(),
        order: Vec::new(),
        frame: Frame { end, ..Frame::whole() },
        ..over(F::StringAgg, vec![Value::Int(1); rows], Frame::whole(), SqlType::Text)
    };
    for (end, length) in [(FrameBound::UnboundedFollowing, 3 * rows - 1), (FrameBound::CurrentRow, 3 * 70_001 - 1)] {
        let budget = Budget::new(8 << 20);
        let evaluation = evaluation(call(end), long(rows), &budget, CancelToken::new()).unwrap();
        build(&*evaluation).unwrap();
        for rows in [0..10, 70_000..70_001, 149_000..150_000] {
            let found = some(&*evaluation, SqlType::Text, rows.clone()).unwrap();
            let Value::Str(text) = &found[0] else { panic!("{:?}", found[0]) };
            assert!(rows.start != 70_000 || text.len() == length);
        }
        assert!(budget.used() < 4 << 20, "{}", budget.used());
    }
}

#[test]
fn ranges_of_rows_go_on_with_the_text_of_a_frame_that_grows() {
    let rows = 20_000;
    let call = Call {
        arguments: vec![
            column(&vec![Value::str("ab"); rows], SqlType::Text),
            Operand::constant(Value::str(","), SqlType::Text),
        ],
        order: Vec::new(),
        frame: Frame { end: FrameBound::CurrentRow, ..Frame::whole() },
        ..over(F::StringAgg, vec![Value::Int(1); rows], Frame::whole(), SqlType::Text)
    };
    let budget = Budget::new(usize::MAX);
    let evaluation = evaluation(call, long(rows), &budget, CancelToken::new()).unwrap();
    let before = budget.used();
    for first in (0..rows).step_by(100) {
        let found = some(&*evaluation, SqlType::Text, first..first + 100).unwrap();
        assert!(matches!(&found[99], Value::Str(text) if text.len() == 3 * (first + 100) - 1));
    }
    // Copied for each range, it would be 6 MB.
    assert!(budget.used() - before < 1 << 20, "{}", budget.used() - before);
}

#[test]
fn texts_of_long_partitions_are_those_of_their_rows() {
    let (rows, second) = (150_000, 70_000);
    // Equal texts are next to each other, also where pieces end; some rows have none.
    let text = |row: usize| (!row.is_multiple_of(7) && row % 50_000 > 9_000).then(|| format!("{}", row / 5));
    let values: Vec<Value> = (0..rows).map(|row| text(row).map_or(Value::Null, Value::str)).collect();
    let bits = |is_member: &dyn Fn(usize) -> bool| bit_set(rows, is_member);
    for distinct in [false, true] {
        let call = Call {
            arguments: vec![column(&values, SqlType::Text), Operand::constant(Value::str("; "), SqlType::Text)],
            order: Vec::new(),
            distinct,
            ..over(F::StringAgg, vec![Value::Int(1); rows], Frame::whole(), SqlType::Text)
        };
        let positions = Positions { rows, partitions: bits(&|row| row == 0 || row == second), peers: bits(&|_| true) };
        let evaluation = evaluation(call, positions, &Budget::new(usize::MAX), CancelToken::new()).unwrap();
        build(&*evaluation).unwrap();
        for partition in [0..second, second..rows] {
            let mut texts: Vec<String> = partition.clone().filter_map(text).collect();
            if distinct {
                texts.dedup();
            }
            let found = some(&*evaluation, SqlType::Text, partition.end - 1..partition.end).unwrap();
            assert!(found == [Value::str(texts.join("; "))], "{partition:?}, {distinct}");
        }
    }
}

/// One partition of `rows` rows, with a value for each that all rows are ordered by.
fn long(rows: usize) -> Positions {
    Positions { rows, partitions: bit_set(rows, &|row| row == 0), peers: bit_set(rows, &|_| true) }
}

fn over(function: F, value: Vec<Value>, frame: Frame<Operand>, result: SqlType) -> Call {
    let operand = column(&value, SqlType::BigInt);
    let order = vec![Key { operand: operand.clone(), descending: false, nulls_first: false }];
    let (ordered, filter, range, algorithm) = (!matches!(function, F::Aggregate(_)), None, None, None);
    let arguments = match function {
        F::PercentileDisc => vec![Operand::constant(Value::Float(0.5), SqlType::Double)],
        _ => vec![operand],
    };
    let order = if ordered { order } else { Vec::new() };
    Call {
        function,
        arguments,
        distinct: false,
        filter,
        ignore_nulls: false,
        order,
        frame,
        range,
        result,
        algorithm,
        fanout: 16,
    }
}

#[test]
fn long_partitions_have_the_results_of_formulas() {
    const ROWS: i64 = 150_000;
    let mut random = Random(7);
    let constant = |n: i64| Operand::constant(Value::Int(n), SqlType::BigInt);
    let sliding = Frame {
        start: FrameBound::Preceding(constant(5000)),
        end: FrameBound::Following(constant(3)),
        ..Frame::whole()
    };
    let rising = || (0..ROWS).map(Value::Int).collect::<Vec<_>>();
    // Of each row i the frame holds first..=last.
    let bounds =
        |row: i64, whole: bool| if whole { (0, ROWS - 1) } else { ((row - 5000).max(0), (row + 3).min(ROWS - 1)) };
    for whole in [false, true] {
        let frame = || if whole { Frame::whole() } else { sliding.clone() };
        let mut check = |call: Call, expected: &dyn Fn(i64, i64) -> Value| {
            let found = evaluate(&mut random, call, long(ROWS as usize)).unwrap();
            for (row, found) in found.iter().enumerate() {
                let (first, last) = bounds(row as i64, whole);
                assert_eq!(*found, expected(first, last), "row {row}, whole: {whole}");
            }
        };
        let sum = |first: i64, last: i64| Value::Decimal(((first + last) * (last - first + 1) / 2).into());
        let result = SqlType::decimal(38, 0);
        for algorithm in [None, Some(Algorithm::Removable), Some(Algorithm::SegmentTree)] {
            check(Call { algorithm, ..over(F::Aggregate(A::Sum), rising(), frame(), result) }, &sum);
        }
        check(over(F::Aggregate(A::Max), rising(), frame(), SqlType::BigInt), &|_, last| Value::Int(last));
        check(over(F::PercentileDisc, rising(), frame(), SqlType::BigInt), &|first, last| {
            Value::Int(first + (last - first) / 2)
        });
        // Each value twice, far from each other.
        let twice = (0..ROWS).map(|row| Value::Int(row % (ROWS / 2))).collect::<Vec<_>>();
        let distinct = |first: i64, last: i64| (last - first + 1).min(ROWS / 2);
        let call = || over(F::Aggregate(A::Count), twice.clone(), frame(), SqlType::BigInt);
        check(Call { distinct: true, ..call() }, &|first, last| Value::Int(distinct(first, last)));
        check(
            Call { filter: None, ..over(F::Mode, vec![Value::Int(5); ROWS as usize], frame(), SqlType::BigInt) },
            &|_, _| Value::Int(5),
        );
    }
}

#[test]
fn memory_is_charged_and_cancellation_seen() {
    let rows = 100_000;
    for function in [F::Aggregate(A::Max), F::Mode, F::PercentileDisc] {
        let bound = FrameBound::Preceding(Operand::constant(Value::Int(90_000), SqlType::BigInt));
        let call = || {
            over(function, vec![Value::Int(1); rows], Frame { start: bound.clone(), ..Frame::whole() }, SqlType::BigInt)
        };
        let mut call = call();
        call.frame.end = FrameBound::CurrentRow;
        let error = evaluation(call.clone(), long(rows), &Budget::new(10_000), CancelToken::new()).unwrap_err();
        assert_eq!((error.state(), error.message()), (base::SqlState::OUT_OF_MEMORY, "out of memory in window"));
        let cancel = CancelToken::new();
        let evaluation = evaluation(call, long(rows), &Budget::new(usize::MAX), cancel.clone()).unwrap();
        build(&*evaluation).unwrap();
        cancel.cancel();
        let error = some(&*evaluation, SqlType::BigInt, 0..rows).unwrap_err();
        assert_eq!(error.state(), base::SqlState::QUERY_CANCELED);
    }
}
