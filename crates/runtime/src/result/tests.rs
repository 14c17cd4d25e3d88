//! Results: what code writes arrives, complete and in order.

use std::time::Duration;

use base::ids::Id;
use base::{IdMap, SqlState};
use pipeline::ir::{Program, State, StateId};
use types::{Str, Value};

use super::*;
use crate::abi::{Worker, result_flush};
use crate::query::QueryContext;
use crate::testing::program;
use std::sync::Arc;

const RESULT: StateId = StateId(0);

fn program_of(ordered: bool) -> Program {
    Program { ordered, ..program(vec![State::Result(vec![SqlType::BigInt, SqlType::Text])]) }
}

fn context(ordered: bool, budget: Budget) -> Arc<QueryContext> {
    QueryContext::new(&program_of(ordered), budget, |_| None).unwrap()
}

/// Appends a row as generated code does; none: NULL.
fn output(worker: &mut Worker, number: i64, text: Option<&str>) -> base::Result<()> {
    let header = text.map(|t| worker.text(t)).transpose()?.unwrap_or(Str::new(b"left from before"));
    // SAFETY: a result state of two columns, written in bounds.
    unsafe {
        let local = (*worker.locals.add(RESULT.index())).cast::<ResultLocal>();
        if (*local).count == (*local).capacity && result_flush(worker, 0) != 0 {
            return Err(worker.take_error());
        }
        let (at, columns) = ((*local).count as usize, (*local).columns);
        (*columns).data.cast::<i64>().add(at).write(number);
        (*columns).nulls.add(at).write(0);
        (*columns.add(1)).data.cast::<Str>().add(at).write(header);
        (*columns.add(1)).nulls.add(at).write(text.is_none().into());
        (*local).count += 1;
    }
    Ok(())
}

fn text_of(number: i64) -> Option<String> {
    match number % 3 {
        0 => None,
        1 => Some(format!("{number}")),
        _ => Some(format!("row number {number} of the result")),
    }
}

/// Morsels of 3000 rows, each by some worker, in the order said.
fn run(context: &QueryContext, morsels: impl IntoIterator<Item = u64>) {
    for number in morsels {
        let mut worker = context.worker(number as usize % 3);
        let rows = number * 3000..(number + 1) * 3000;
        worker.begin_morsel(rows.clone());
        // Every other morsel has no result.
        for row in rows.filter(|_| number % 2 == 0) {
            output(&mut worker, row as i64, text_of(row as i64).as_deref()).unwrap();
        }
        worker.end_morsel().unwrap();
    }
}

fn collect(context: &QueryContext) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    loop {
        match context.result().next(Duration::from_secs(10)).unwrap() {
            Next::Chunk(chunk) => rows.extend((0..chunk.rows()).map(|row| chunk.row(row))),
            Next::Pending => panic!("nobody produces any more"),
            Next::End => return rows,
        }
    }
}

fn expected(morsels: u64) -> Vec<Vec<Value>> {
    let rows = (0..morsels).step_by(2).flat_map(|m| m * 3000..(m + 1) * 3000);
    rows.map(|row| vec![Value::Int(row as i64), text_of(row as i64).map_or(Value::Null, Value::str)]).collect()
}

#[test]
fn ordered_results_come_in_order_whoever_is_first() {
    let budget = Budget::new(usize::MAX);
    let context = context(true, budget.clone());
    run(&context, [2, 0, 1, 6, 5, 4, 3, 7]);
    context.finalize_inline(RESULT).unwrap();
    assert_eq!(collect(&context), expected(8));
    drop(context);
    assert_eq!(budget.used(), 0);
}

#[test]
fn other_results_come_complete() {
    let context = context(false, Budget::new(usize::MAX));
    run(&context, [2, 0, 1, 6, 5, 4, 3, 7]);
    context.finalize_inline(RESULT).unwrap();
    let mut rows = collect(&context);
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(rows, expected(8));
}

#[test]
fn morsels_that_a_limit_left_out_hold_nothing_back() {
    let context = context(true, Budget::new(usize::MAX));
    run(&context, [0, 4]);
    context.finalize_inline(RESULT).unwrap();
    assert_eq!(collect(&context).len(), 6000);
}

#[test]
fn a_slow_consumer_fills_the_queue_and_a_fast_one_empties_it() {
    let context = context(false, Budget::new(usize::MAX));
    let mut morsels = 0;
    while !context.result().is_full() {
        run(&context, [morsels]);
        morsels += 2;
        assert!(morsels < 10_000);
    }
    while let Next::Chunk(_) = context.result().try_next().unwrap() {}
    assert!(!context.result().is_full());
    context.result().close();
    run(&context, [0]);
    assert!(matches!(context.result().try_next().unwrap(), Next::End));
}

#[test]
fn errors_reach_the_consumer() {
    let context = context(false, Budget::new(3 << 20));
    let mut worker = context.worker(0);
    let failed = (0..1_000_000).find_map(|i| output(&mut worker, i, text_of(i).as_deref()).err()).unwrap();
    assert_eq!(failed.state(), SqlState::OUT_OF_MEMORY);
    drop(worker);
    context.result().finish(Err(failed));
    assert!(context.result().next(Duration::from_secs(1)).is_err());
}

#[test]
fn a_result_may_have_no_columns() {
    let program = Program { states: [State::Result(vec![])].into_iter().collect::<IdMap<_, _>>(), ..program_of(false) };
    let context = QueryContext::new(&program, Budget::new(usize::MAX), |_| None).unwrap();
    let mut worker = context.worker(0);
    // SAFETY: a result state.
    unsafe { (*(*worker.locals).cast::<ResultLocal>()).count = 3 };
    worker.end_morsel().unwrap();
    context.finalize_inline(RESULT).unwrap();
    assert!(matches!(context.result().try_next().unwrap(), Next::Chunk(chunk) if chunk.rows() == 3));
}

#[test]
fn long_texts_come_in_pieces_with_room_for_each() {
    const LONG: usize = 1 << 20;
    let fill = |context: &QueryContext| {
        let mut worker = context.worker(0);
        worker.begin_morsel(0..20);
        for row in 0..20 {
            output(&mut worker, row, (row != 7).then(|| "x".repeat(LONG + row as usize)).as_deref())?;
        }
        worker.end_morsel()
    };
    let whole = context(false, Budget::new(usize::MAX));
    fill(&whole).unwrap();
    whole.finalize_inline(RESULT).unwrap();
    let mut rows = Vec::new();
    while let Next::Chunk(chunk) = whole.result().try_next().unwrap() {
        assert!(chunk.bytes() < 5 * LONG);
        rows.extend((0..chunk.rows()).map(|row| chunk.row(row)));
    }
    let expected = |row: i64| (row != 7).then(|| "x".repeat(LONG + row as usize)).map_or(Value::Null, Value::str);
    assert_eq!(rows, (0..20).map(|row| vec![Value::Int(row), expected(row)]).collect::<Vec<_>>());
    // The texts themselves fit, their copies do not.
    let budget = Budget::new(36 << 20);
    let error = fill(&context(false, budget.clone())).unwrap_err();
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert!(budget.peak() <= 36 << 20);
}

#[test]
fn a_queue_is_full_sooner_when_memory_is_scarce() {
    let budget = Budget::new(64 << 20);
    let context = context(false, budget.clone());
    let mut morsels = 0;
    let mut push_until = |bytes: usize| {
        let before = budget.used();
        while budget.used() < before + bytes {
            run(&context, [morsels]);
            morsels += 2;
        }
    };
    push_until(3 << 20);
    assert!(!context.result().is_full());
    let others = budget.reserve(50 << 20, "others").unwrap();
    assert!(context.result().is_full());
    drop(others);
    assert!(!context.result().is_full());
}
