//! Rows in, results out, with several workers.

use std::time::Duration;

use base::Random;
use functions::WindowFunction;
use pipeline::ir::{RowLayout, RowSet, SortField, State, StateId, Ty, WindowField, WindowState, WindowedFunction};
use plan::Frame;
use scheduler::{Cutting, Morsel, Offsets, WorkerId};
use types::SqlType;

use base::ids::Id;

use super::{MORSEL, STEP, pieced};
use crate::testing::{all_rows, context, finalize_as, get, new_row, put};

fn function(function: WindowFunction, partition: usize, peers: usize, layout: &mut RowLayout) -> WindowedFunction {
    let offset = layout.add(Ty::I64);
    let null = Some(layout.add_null_flag(offset));
    WindowedFunction {
        function,
        arguments: Vec::new(),
        distinct: false,
        filter: None,
        ignore_nulls: false,
        order: Vec::new(),
        partition,
        peers,
        frame: Frame::whole(),
        range: None,
        result: WindowField { offset, null, sql_type: SqlType::BigInt },
        position: None,
    }
}

/// Ranks by two keys, the first of which partitions or not.
fn check(rows: usize, a_values: u64, b_values: u64, workers: usize) {
    check_as(rows, a_values, b_values, workers, &Cutting::new(workers));
}

/// The same, cut as somebody says.
fn check_as(rows: usize, a_values: u64, b_values: u64, workers: usize, cut: &Cutting) {
    let state: StateId = StateId::from_index(0);
    let mut layout = RowLayout::with_header(0);
    let (a, b) = (layout.add(Ty::I64), layout.add(Ty::I64));
    let key = |offset| SortField { offset, ty: Ty::I64, null: None, descending: false, nulls_first: false };
    let functions = vec![
        function(WindowFunction::Rank, 1, 2, &mut layout),
        function(WindowFunction::Rank, 0, 2, &mut layout),
        function(WindowFunction::Rank, 0, 1, &mut layout),
    ];
    let results: Vec<u32> = functions.iter().map(|f| f.result.offset).collect();
    let window = WindowState { layout, keys: vec![key(a), key(b)], functions };
    let context = context(vec![State::Window(window)], None);
    let mut random = Random(rows as u64);
    let input: Vec<(i64, i64)> =
        (0..rows).map(|_| (random.below(a_values) as i64, random.below(b_values) as i64)).collect();
    std::thread::scope(|scope| {
        for n in 0..workers {
            let (context, input) = (&context, &input);
            scope.spawn(move || {
                let mut worker = context.worker(n);
                for &(x, y) in input.iter().skip(n).step_by(workers) {
                    let row = new_row(&mut worker, state);
                    put(row, a, x);
                    put(row, b, y);
                }
                worker.end_morsel().unwrap();
            });
        }
    });
    finalize_as(&context, state, cut);
    let found = all_rows(&context, state, RowSet::All, 500, 64);
    let mut sorted = input;
    sorted.sort_unstable();
    assert_eq!(found.len(), rows);
    for (at, row) in found.into_iter().enumerate() {
        let (x, y) = sorted[at];
        assert_eq!((get::<i64>(row, a), get::<i64>(row, b)), (x, y));
        let partition = sorted.partition_point(|&(a, _)| a < x);
        let peers = sorted.partition_point(|&pair| pair < (x, y));
        let expected = [peers - partition, peers, partition];
        let ranks: Vec<i64> = results.iter().map(|&offset| get::<i64>(row, offset) - 1).collect();
        assert_eq!(ranks, expected.map(|rank| rank as i64), "row {at}");
    }
}

#[test]
fn ranks_of_few_and_of_many_rows() {
    for (rows, workers) in [(0, 1), (1, 1), (63, 2), (64, 2), (1000, 3), (20_000, 2), (150_000, 3)] {
        check(rows, 10, 50, workers);
        check(rows, 1, 1, workers);
        check(rows, 1 << 40, 3, workers);
    }
}

#[test]
fn ranks_of_rows_whose_morsels_yield() {
    let cut = Cutting { slice: Duration::ZERO, steps: 7, ..Cutting::new(2) };
    check_as(40_000, 10, 50, 2, &cut);
    check_as(40_000, 1 << 40, 3, 2, &cut);
}

/// How many rows each run of a morsel does, steps of which take so long.
fn runs(length: Duration) -> Vec<usize> {
    let cut = Cutting { slice: Duration::from_millis(20), ..Cutting::new(1) };
    let tasks = pieced(MORSEL, &cut, &Offsets::new([MORSEL as u64]), move |_| {
        std::thread::sleep(length);
        Ok(())
    });
    let (mut left, mut runs) = (Morsel { begin: 0, end: MORSEL as u64 }, Vec::new());
    while !left.is_empty() {
        let progress = tasks.as_ref().expect("there are rows").run(WorkerId(0), left).unwrap();
        let rest = progress.rest().unwrap_or(Morsel { begin: left.end, end: left.end });
        runs.push((rest.begin - left.begin) as usize);
        left = rest;
    }
    runs
}

#[test]
fn what_takes_long_yields_between_steps() {
    assert_eq!(runs(Duration::ZERO), [MORSEL]);
    assert_eq!(runs(Duration::from_millis(25)), [STEP; MORSEL / STEP]);
}
