//! What the tests of several operators need.

use std::sync::Arc;

use base::ids::Id;
use base::{Budget, IdMap};
use pipeline::ir::{Program, RowSet, State, StateId};
use scheduler::{Cutting, WorkerId};

use crate::abi::{RowsLocal, Worker, rows_grow};
use crate::query::{PairFns, QueryContext};

/// A program that consists of states; the last one is taken for the result.
pub(crate) fn program(states: Vec<State>) -> Program {
    let last = states.len().saturating_sub(1);
    Program {
        params: IdMap::new(),
        sites: IdMap::new(),
        result: StateId::from_index(last),
        states: states.into_iter().collect(),
        pipelines: IdMap::new(),
        ordered: false,
        counters: Vec::new(),
        positions: Vec::new(),
    }
}

pub(crate) fn context(states: Vec<State>, pairs: Option<PairFns>) -> Arc<QueryContext> {
    QueryContext::new(&program(states), Budget::new(usize::MAX), |_| pairs.clone()).unwrap()
}

/// All phases of a state's finalisation, with as many threads as workers have come.
pub(crate) fn finalize(context: &Arc<QueryContext>, state: StateId) {
    finalize_as(context, state, &Cutting::new(context.worker_count().max(1)));
}

/// The same, cut as somebody says.
pub(crate) fn finalize_as(context: &Arc<QueryContext>, state: StateId, cut: &Cutting) {
    let workers = context.worker_count().max(1);
    for phase in 0.. {
        let Some(tasks) = context.finalize_phase(state, phase, cut).unwrap() else { break };
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let (tasks, worker) = (&*tasks, WorkerId(worker as u32));
                scope.spawn(move || scheduler::exhaust(tasks, worker).unwrap());
            }
        });
    }
}

/// A new row of a join, sort or rows state, as generated code allocates it.
pub(crate) fn new_row(worker: &mut Worker, state: StateId) -> *mut u8 {
    // SAFETY: the state is of such a kind.
    let row = unsafe {
        let local = &mut *(*worker.locals.add(state.index())).cast::<RowsLocal>();
        let bump = std::ptr::from_mut(&mut local.area).cast::<u8>();
        let next = bump.add(base::Area::NEXT_OFFSET).cast::<*mut u8>();
        let end = *bump.add(base::Area::END_OFFSET).cast::<*mut u8>();
        if (end as usize) - (*next as usize) >= local.stride {
            let row = *next;
            *next = row.add(local.stride);
            // Generated code stores all fields; tests leave out those that are zero.
            row.write_bytes(0, local.stride);
            row
        } else {
            rows_grow(worker, state.index() as u64)
        }
    };
    assert!(!row.is_null(), "{:?}", worker.take_error());
    row
}

/// Writes a field.
pub(crate) fn put<T: Copy>(row: *mut u8, offset: u32, value: T) {
    // SAFETY: tests write fields of their layouts.
    unsafe { row.add(offset as usize).cast::<T>().write_unaligned(value) };
}

/// Reads a field.
pub(crate) fn get<T: Copy>(row: *mut u8, offset: u32) -> T {
    // SAFETY: tests read fields of their layouts.
    unsafe { row.add(offset as usize).cast::<T>().read_unaligned() }
}

/// All rows of a finished state, read in pieces of `morsel` rows and batches of `batch`.
pub(crate) fn all_rows(
    context: &Arc<QueryContext>,
    state: StateId,
    rows: RowSet,
    morsel: u64,
    batch: usize,
) -> Vec<*mut u8> {
    let source = context.rows(state, rows);
    let mut out = vec![std::ptr::null_mut(); batch];
    let mut all = Vec::new();
    for from in (0..source.len()).step_by(morsel as usize) {
        let mut cursor = from;
        loop {
            // As readers do who let others have their turn.
            while !source.prepare(&mut context.worker(0), cursor, 100).unwrap() {}
            let n = source.fill(&mut context.worker(0), &mut cursor, from + morsel, &mut out).unwrap();
            if n == 0 {
                break;
            }
            all.extend_from_slice(&out[..n]);
        }
    }
    all
}
