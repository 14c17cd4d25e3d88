//! The state of window functions (thesis 5.3): rows come in, are sorted, and leave with results.
//!
//! 1. Workers materialise rows, as for a sort; the state sorts them by the keys that partition and order, in parallel
//!    whatever the partitions' sizes are (decision 22).
//! 2. *Gather*: what functions read becomes columns in the order of the sort. Where keys change the sort knows.
//! 3. *Build*: trees and the like, in as many phases as a function asks for.
//! 4. *Evaluate*: results become columns, a range of rows at a time, all functions of the range by one worker.
//! 5. Whoever reads a row finds the results in it: they are put there then, when it is in the cache anyway.
//!
//! Each step is morsels. Nothing here knows what a function does: see [`Evaluation`].

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use base::memory::Reservation;
use base::{Area, Budget, Result};
use pipeline::ir::{
    RowLayout, RowSet, SortState, WindowField, WindowOperand, WindowOrder, WindowState, WindowedFunction,
};
use scheduler::{CancelToken, Cutting, Morsel, Offsets, TaskSet, Tasks};
use types::Value;

use super::cells::{Filling, put};
use super::column::{Column, Operand};
use super::{Call, Evaluation, Key, Positions, Settings, evaluation};
use crate::sort::{Begins, Output, Sort};
use crate::source::{Complete, RowSource};
use crate::state::{State, Workers};

#[cfg(test)]
mod tests;

/// Rows of a morsel: whole words of sets of rows.
const MORSEL: usize = 16 << 10;
/// Rows that are fetched together.
const BATCH: usize = 256;
/// Rows of a morsel that a worker does before it looks at the clock.
const STEP: usize = 1024;

/// What functions need of the run.
pub(crate) struct Run<'a> {
    /// The values of parameters.
    pub(crate) params: &'a dyn Fn(pipeline::ir::ParamId) -> Value,
    /// Byte offsets in the SQL text.
    pub(crate) positions: &'a [u32],
    /// How functions are evaluated.
    pub(crate) settings: Settings,
}

/// A window state.
#[derive(Debug)]
pub(crate) struct Windows {
    sort: Arc<Sort>,
    functions: Box<[Function]>,
    settings: Settings,
    budget: Budget,
    cancel: CancelToken,
    progress: Mutex<Progress>,
}

/// A function, its constants known.
#[derive(Debug)]
struct Function {
    ir: WindowedFunction,
    constants: Vec<(pipeline::ir::ParamId, Value)>,
    /// Byte offset in the SQL text.
    position: Option<u32>,
}

#[derive(Debug)]
enum Progress {
    Sorting,
    Gathering(Arc<Gathering>),
    /// The phase is the one that comes next.
    Building(Arc<Evaluating>, usize),
    Evaluating(Arc<Evaluating>),
    Finished(Arc<Finished>),
    /// An error, which ends the query.
    Failed,
}

/// Sorted rows that become columns.
#[derive(Debug)]
struct Gathering {
    rows: Output,
    /// What functions read.
    fields: Vec<(WindowField, Filling)>,
    /// Where leading keys change.
    begins: Begins,
}

/// Functions and their results.
#[derive(Debug)]
struct Evaluating {
    rows: Output,
    calls: Vec<(Box<dyn Evaluation>, Option<u32>)>,
    results: Vec<(WindowField, Filling)>,
    /// What functions read.
    _charged: Vec<Reservation>,
}

/// Rows and the results that go into them.
#[derive(Debug)]
struct Finished {
    rows: Output,
    results: Vec<(WindowField, Column)>,
    /// What texts of results lie in that no row has.
    _texts: Vec<Area>,
    _charged: Vec<Reservation>,
}

/// Pieces of rows, of about a millisecond each.
fn pieces_of(rows: &Output) -> Offsets {
    Offsets::new((0..rows.len()).step_by(MORSEL).map(|at| MORSEL.min(rows.len() - at) as u64))
}

impl Windows {
    pub(crate) fn new(state: &WindowState, run: &Run<'_>, budget: &Budget, cancel: CancelToken) -> Self {
        let sort = SortState {
            layout: without_results(state),
            keys: state.keys.clone(),
            partition: 0,
            limit: None,
            offset: 0,
        };
        let functions = state.functions.iter().map(|ir| Function::new(ir, run)).collect();
        let progress = Mutex::new(Progress::Sorting);
        let mut begins: Vec<usize> = state.functions.iter().flat_map(|f| [f.partition, f.peers]).collect();
        begins.sort_unstable();
        begins.dedup();
        let sort = Sort::with_begins(&sort, begins, budget);
        Self { sort: Arc::new(sort), functions, settings: run.settings, budget: budget.clone(), cancel, progress }
    }

    /// Room for all that is read of the rows.
    fn gathering(&self, rows: Output, begins: Begins) -> Result<Gathering> {
        let mut fields = Vec::<(WindowField, Filling)>::new();
        for function in &self.functions {
            for field in function.fields() {
                if !fields.iter().any(|(known, _)| known.offset == field.offset) {
                    let filling = Filling::new(field.sql_type, field.null.is_some(), rows.len(), &self.budget)?;
                    fields.push((field, filling));
                }
            }
        }
        Ok(Gathering { rows, fields, begins })
    }

    fn evaluating(&self, gathering: Gathering) -> Result<Evaluating> {
        let Gathering { rows, fields, begins } = gathering;
        let mut charged = Vec::new();
        let mut columns = Vec::new();
        for (field, filling) in fields {
            let (column, reservation) = filling.finish();
            columns.push((field, Arc::new(column)));
            charged.push(reservation);
        }
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for function in &self.functions {
            let positions = Positions {
                rows: rows.len(),
                partitions: begins.of(function.ir.partition),
                peers: begins.of(function.ir.peers),
            };
            let call = function.call(&columns, self.settings);
            let evaluation = evaluation(call, positions, &self.budget, self.cancel.clone());
            calls.push((evaluation.map_err(|e| e.at(function.position))?, function.position));
            let result = function.ir.result;
            results.push((result, Filling::new(result.sql_type, true, rows.len(), &self.budget)?));
        }
        Ok(Evaluating { rows, calls, results, _charged: charged })
    }
}

/// Results are no part of what is sorted: they do not decide ties.
fn without_results(state: &WindowState) -> RowLayout {
    let is_result =
        |offset: u32| state.functions.iter().any(|f| f.result.offset == offset || f.result.null == Some(offset));
    let fields = state.layout.fields.iter().filter(|field| !is_result(field.offset)).cloned().collect();
    RowLayout { fields, size: state.layout.size }
}

impl Function {
    fn new(ir: &WindowedFunction, run: &Run<'_>) -> Self {
        let params = operands(ir).filter_map(|operand| match operand {
            WindowOperand::Param(param, _) => Some((*param, (run.params)(*param))),
            WindowOperand::Field(_) => None,
        });
        let position = ir.position.and_then(|number| run.positions.get(number as usize).copied());
        Self { constants: params.collect(), position, ir: ir.clone() }
    }

    /// The fields that it reads.
    fn fields(&self) -> impl Iterator<Item = WindowField> {
        operands(&self.ir).filter_map(|operand| match operand {
            WindowOperand::Field(field) => Some(*field),
            WindowOperand::Param(..) => None,
        })
    }

    fn call(&self, columns: &[(WindowField, Arc<Column>)], settings: Settings) -> Call {
        let operand = |operand: &WindowOperand| match operand {
            WindowOperand::Field(field) => {
                let column = columns.iter().find(|(known, _)| known.offset == field.offset);
                Operand::column(column.expect("gathered").1.clone(), field.sql_type)
            }
            WindowOperand::Param(param, sql_type) => {
                let value = self.constants.iter().find(|(known, _)| known == param);
                Operand::constant(value.expect("an operand").1.clone(), *sql_type)
            }
        };
        let key = |key: &WindowOrder| Key {
            operand: operand(&key.operand),
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        let WindowedFunction { function, distinct, ignore_nulls, .. } = self.ir;
        Call {
            function,
            arguments: self.ir.arguments.iter().map(operand).collect(),
            distinct,
            filter: self.ir.filter.as_ref().map(operand),
            ignore_nulls,
            order: self.ir.order.iter().map(key).collect(),
            frame: self.ir.frame.map(operand),
            range: self.ir.range.as_ref().map(key),
            result: self.ir.result.sql_type,
            algorithm: settings.algorithm,
            fanout: settings.fanout,
        }
    }
}

/// All that a function reads.
fn operands(ir: &WindowedFunction) -> impl Iterator<Item = &WindowOperand> {
    let orders = ir.order.iter().chain(&ir.range).map(|key| &key.operand);
    let bounds = [ir.frame.start.offset(), ir.frame.end.offset()].into_iter().flatten();
    ir.arguments.iter().chain(&ir.filter).chain(orders).chain(bounds)
}

impl Gathering {
    fn piece(&self, rows: Range<usize>) {
        let mut reader = self.rows.reader();
        for from in rows.clone().step_by(BATCH) {
            // SAFETY: rows of the state.
            let addresses = unsafe { reader.rows(from..rows.end.min(from + BATCH)) };
            for (field, filling) in &self.fields {
                // SAFETY: rows of the state; pieces do not overlap.
                unsafe { filling.gather(field, from, addresses) };
            }
        }
    }
}

impl Evaluating {
    /// The pieces of a phase of building: which call, and which of its pieces.
    fn pieces(&self, phase: usize) -> Vec<(usize, usize)> {
        let pieces = |(call, of): (usize, usize)| (0..of).map(move |piece| (call, piece));
        let counts = self.calls.iter().enumerate().filter_map(|(at, (call, _))| Some((at, call.pieces(phase)?)));
        counts.flat_map(pieces).collect()
    }

    fn evaluate(&self, rows: Range<usize>) -> Result<()> {
        for ((call, position), (_, result)) in self.calls.iter().zip(&self.results) {
            // SAFETY: pieces do not overlap.
            let out = unsafe { result.out(rows.clone()) };
            call.evaluate(rows.clone(), out).map_err(|e| e.at(*position))?;
        }
        Ok(())
    }

    fn finish(self) -> Finished {
        let (mut results, mut charged) = (Vec::new(), Vec::new());
        for (field, filling) in self.results {
            let (column, reservation) = filling.finish();
            results.push((field, column));
            charged.push(reservation);
        }
        let texts = self.calls.into_iter().flat_map(|(call, _)| call.owned()).collect();
        Finished { rows: self.rows, results, _texts: texts, _charged: charged }
    }
}

impl Complete for Finished {
    unsafe fn complete(&self, at: usize, rows: &[*mut u8]) {
        // SAFETY: as the caller promises.
        unsafe { self.rows.restore(at, rows) };
        for (field, column) in &self.results {
            // SAFETY: as the caller promises.
            unsafe { put(column, field, at, rows) };
        }
    }
}

impl State for Windows {
    fn local(&self, worker: usize) -> *mut u8 {
        self.sort.local(worker)
    }

    fn written(&self, worker: usize) -> u64 {
        self.sort.written(worker)
    }
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) -> Result<()> {
        self.sort.end_morsel(worker, rows, broken)
    }

    fn finalize(
        self: Arc<Self>,
        workers: &dyn Workers,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (next, tasks) = self.step(std::mem::replace(&mut *progress, Progress::Failed), workers, phase, cut)?;
            *progress = next;
            if tasks.is_some() || matches!(*progress, Progress::Finished(_)) {
                return Ok(tasks);
            }
        }
    }

    fn phase(&self) -> &'static str {
        match &*self.progress.lock().unwrap_or_else(PoisonError::into_inner) {
            Progress::Sorting => self.sort.phase(),
            Progress::Gathering(_) => "gather",
            Progress::Building(..) => "build",
            _ => "evaluate",
        }
    }

    fn source(self: Arc<Self>, _: RowSet) -> Option<RowSource> {
        let finished = match &*self.progress.lock().unwrap_or_else(PoisonError::into_inner) {
            Progress::Finished(finished) => finished.clone(),
            _ => return None,
        };
        Some(RowSource::completed(finished.rows.slice(0..finished.rows.len()), self, finished))
    }
}

impl Windows {
    /// What comes next, and morsels that come before it.
    fn step(
        self: &Arc<Self>,
        progress: Progress,
        workers: &dyn Workers,
        phase: usize,
        cut: &Cutting,
    ) -> Result<(Progress, Option<Box<dyn TaskSet>>)> {
        Ok(match progress {
            Progress::Sorting => match self.sort.clone().finalize(workers, phase, cut)? {
                Some(tasks) => (Progress::Sorting, Some(tasks)),
                None => {
                    let (rows, begins) = self.sort.sorted().expect("sorted");
                    let gathering = Arc::new(self.gathering(rows, begins)?);
                    (Progress::Gathering(gathering.clone()), Self::gather(&gathering, cut))
                }
            },
            Progress::Gathering(gathering) => {
                let gathering = Arc::into_inner(gathering).expect("its morsels have ended");
                (Progress::Building(Arc::new(self.evaluating(gathering)?), 0), None)
            }
            Progress::Building(evaluating, phase) => match build(&evaluating, phase, cut) {
                Some(tasks) => (Progress::Building(evaluating, phase + 1), Some(tasks)),
                None => (Progress::Evaluating(evaluating.clone()), evaluate(&evaluating, cut)),
            },
            Progress::Evaluating(evaluating) => {
                let evaluating = Arc::into_inner(evaluating).expect("its morsels have ended");
                (Progress::Finished(Arc::new(evaluating.finish())), None)
            }
            done @ (Progress::Finished(_) | Progress::Failed) => (done, None),
        })
    }

    fn gather(gathering: &Arc<Gathering>, cut: &Cutting) -> Option<Box<dyn TaskSet>> {
        if gathering.fields.is_empty() {
            return None;
        }
        let (pieces, gathering) = (pieces_of(&gathering.rows), gathering.clone());
        pieced(gathering.rows.len(), cut, &pieces, move |rows| {
            gathering.piece(rows);
            Ok(())
        })
    }
}

fn build(evaluating: &Arc<Evaluating>, phase: usize, cut: &Cutting) -> Option<Box<dyn TaskSet>> {
    let pieces = evaluating.pieces(phase);
    let each = (evaluating.rows.len() / pieces.len().max(1)).max(1) as u64;
    let offsets = Offsets::new(pieces.iter().map(|_| each));
    let evaluating = evaluating.clone();
    (!pieces.is_empty()).then(|| {
        Tasks::boxed(cut.pieces(&offsets), move |_, morsel| {
            let (call, piece) = pieces[offsets.piece(morsel.begin)];
            let (call, position) = &evaluating.calls[call];
            call.build(phase, piece).map_err(|e| e.at(*position))
        })
    })
}

fn evaluate(evaluating: &Arc<Evaluating>, cut: &Cutting) -> Option<Box<dyn TaskSet>> {
    let (pieces, evaluating) = (pieces_of(&evaluating.rows), evaluating.clone());
    pieced(evaluating.rows.len(), cut, &pieces, move |rows| evaluating.evaluate(rows))
}

/// Morsels over ranges of rows, which yield between steps; none if there are no rows. What is cheap is done in two steps, as some
/// functions do more for the first row of a range than for the others.
fn pieced(
    rows: usize,
    cut: &Cutting,
    pieces: &Offsets,
    run: impl Fn(Range<usize>) -> Result<()> + Send + Sync + 'static,
) -> Option<Box<dyn TaskSet>> {
    let (ranges, cut) = (cut.pieces(pieces), cut.clone());
    let go_on = move |_, morsel: Morsel| {
        let slice = cut.begin();
        let (mut at, end, mut step) = (morsel.begin as usize, morsel.end as usize, STEP);
        while at < end {
            let to = end.min(at + step);
            run(at..to)?;
            at = to;
            if at < end && slice.is_over() {
                return Ok(scheduler::Progress::Yielded(Morsel { begin: at as u64, end: morsel.end }));
            }
            if slice.has_room_for((MORSEL / STEP) as u32) {
                step = MORSEL;
            }
        }
        Ok(scheduler::Progress::Done)
    };
    (rows > 0).then(|| Tasks::boxed(ranges, go_on) as _)
}
