//! The reference interpreter: the IR's meaning in plain Rust, one tuple at a time.
//!
//! It works on the same states as compiled code, through `runtime::abi`, but walks the chains of join tables itself, tests
//! one tuple after the other, and keeps nothing in batches.

mod fold;
mod generator;
mod operation;
mod rows;

use base::ids::Id;
use base::{Error, SqlState};
use pipeline::ir::{Callee, Function, Inst, Known, PipelineId, Program, State, Ty, Var};
use runtime::abi::{Batch, GroupLocal, Slot, Worker};

use operation::extend;
use rows::{read, write};

/// Runs a pipeline's body for every tuple of a batch: 0, 1 if the worker has an error then, or 2 if it has paused.
///
/// # Safety
/// As for compiled code: worker and batch are those of the program's query, laid out as `runtime::abi` says, and the
/// states that the pipeline reads are finished.
pub unsafe fn run_pipeline(program: &Program, id: PipelineId, worker: &mut Worker, batch: &Batch) -> u32 {
    let pipeline = &program.pipelines[id];
    let mut interpreter = Interpreter::new(program, &pipeline.vars, worker, Some(batch));
    interpreter.ends_in = pipeline.operator;
    match interpreter.batch(pipeline, batch.count as usize) {
        Ok(paused) => {
            if paused {
                2
            } else {
                0
            }
        }
        Err(Failed) => 1,
    }
}

/// Computes what a pipeline's source computes for a row of a batch, by the definitions of the operations: whether the row
/// passes, and the columns' values and NULL flags.
///
/// # Safety
/// As for [`run_pipeline`]; of the source's columns, the batch has those that are not computed.
pub unsafe fn compute_row(
    program: &Program,
    id: PipelineId,
    worker: &mut Worker,
    batch: &Batch,
    tuple: usize,
) -> base::Result<(bool, Vec<(Slot, bool)>)> {
    let Some(vectors) = &program.pipelines[id].vectors else { return Ok((true, Vec::new())) };
    let mut interpreter = Interpreter::new(program, &vectors.vars, worker, Some(batch));
    interpreter.tuple = tuple;
    for step in &vectors.steps {
        if step.only_if.is_some_and(|condition| !interpreter.bool(condition)) {
            continue;
        }
        match interpreter.operation(&step.op) {
            Ok(value) => interpreter.set(step.var, value),
            Err(Failed) => return Err(worker.take_error()),
        }
    }
    let passes = vectors.filter.is_none_or(|filter| interpreter.bool(filter));
    let column =
        |&(value, null): &(Var, Option<Var>)| (interpreter.get(value), null.is_some_and(|null| interpreter.bool(null)));
    Ok((passes, vectors.columns.iter().map(column).collect()))
}

/// Runs a function of two rows: its result (0 without one), or 2 if the worker has an error then.
///
/// # Safety
/// Both rows are of the function's state, and the worker is of the program's query.
pub unsafe fn run_pair(program: &Program, function: &Function, worker: &mut Worker, rows: [*mut u8; 2]) -> u32 {
    let mut interpreter = Interpreter::new(program, &function.vars, worker, None);
    for (v, row) in function.rows.into_iter().zip(rows) {
        interpreter.set(v, Slot([row as u64, 0]));
    }
    match interpreter.block(&function.body) {
        Ok(()) => function.result.map_or(0, |v| u32::from(interpreter.bool(v))),
        Err(Failed) => 2,
    }
}

/// The worker has an error.
struct Failed;

type Run<T = ()> = Result<T, Failed>;

struct Interpreter<'a> {
    program: &'a Program,
    vars: &'a base::IdMap<Var, Ty>,
    worker: &'a mut Worker,
    batch: Option<&'a Batch>,
    tuple: usize,
    /// The operator that the pipeline ends in, for EXPLAIN ANALYZE.
    ends_in: Option<u32>,
    /// Integers sign-extended to 128 bits, booleans and floats zero-extended.
    values: Vec<Slot>,
}

impl<'a> Interpreter<'a> {
    fn new(
        program: &'a Program,
        vars: &'a base::IdMap<Var, Ty>,
        worker: &'a mut Worker,
        batch: Option<&'a Batch>,
    ) -> Self {
        Self { program, vars, worker, batch, tuple: 0, ends_in: None, values: vec![Slot::default(); vars.len()] }
    }

    fn get(&self, v: Var) -> Slot {
        self.values[v.index()]
    }
    fn set(&mut self, v: Var, value: Slot) {
        self.values[v.index()] = value;
    }
    fn bool(&self, v: Var) -> bool {
        self.get(v).0[0] != 0
    }
    fn pointer(&self, v: Var) -> *mut u8 {
        self.get(v).0[0] as *mut u8
    }

    fn position(&mut self, position: Option<u32>) -> Failed {
        self.worker.error_position = position.map_or(0, |p| u64::from(p) + 1);
        Failed
    }

    fn raise<T>(&mut self, state: SqlState, message: &'static str, position: Option<u32>) -> Run<T> {
        self.worker.fail(Error::new(state, message));
        Err(self.position(position))
    }

    /// Runs instructions up to a generator, and returns its number; none if the tuple's life ends before.
    fn line(&mut self, insts: &[Inst]) -> Run<Option<usize>> {
        for (i, inst) in insts.iter().enumerate() {
            match inst {
                Inst::Filter(condition) if !self.bool(*condition) => return Ok(None),
                Inst::Filter(_) => {}
                Inst::Count(_) => {
                    self.inst(inst)?;
                    let next = insts[i + 1..].iter().find_map(|i| match i {
                        Inst::Count(i) => Some(*i),
                        _ => None,
                    });
                    self.worker.now_working_for(next.or(self.ends_in));
                }
                Inst::Match(_) | Inst::Repeat { .. } => return Ok(Some(i)),
                _ => self.inst(inst)?,
            }
        }
        Ok(None)
    }

    /// Runs the instructions of a block.
    fn block(&mut self, insts: &[Inst]) -> Run {
        insts.iter().try_for_each(|inst| self.inst(inst))
    }

    fn inst(&mut self, inst: &Inst) -> Run {
        match inst {
            Inst::Let { var, op } => {
                let value = self.operation(op)?;
                self.set(*var, value);
            }
            Inst::Call { results, callee, args, position } => self.call(results, *callee, args, *position)?,
            Inst::If { condition, then, otherwise, results } => {
                let is_then = self.bool(*condition);
                self.block(if is_then { then } else { otherwise })?;
                for &(result, a, b) in results {
                    let value = self.get(if is_then { a } else { b });
                    self.set(result, value);
                }
            }
            Inst::Loop { times, index, carried, body } => {
                for &(value, first, _) in carried {
                    let first = self.get(first);
                    self.set(value, first);
                }
                for i in 0..(self.get(*times).0[0] as i64).max(0) {
                    self.set(*index, Slot([i as u64, 0]));
                    self.block(body)?;
                    let next: Vec<_> = carried.iter().map(|&(.., next)| self.get(next)).collect();
                    carried.iter().zip(next).for_each(|(&(value, ..), next)| self.set(value, next));
                }
            }
            Inst::Store { base, offset, value } => {
                // SAFETY: the verifier keeps offsets inside of rows; rows are this worker's, or the program's writes to
                // them are markers.
                unsafe { write(self.vars[*value], self.pointer(*base).add(*offset as usize), self.get(*value)) };
            }
            Inst::AddToSum { base, offset, value } => {
                let sum = self.pointer(*base).wrapping_add(*offset as usize).cast();
                // SAFETY: the verifier keeps the sum inside of the row, which is this worker's.
                if unsafe { runtime::abi::sum_add(self.worker, sum, self.float(*value)) } != 0 {
                    return Err(Failed);
                }
            }
            Inst::Fold(fold) => self.fold(fold)?,
            Inst::Raise { state, message, position } => return self.raise(*state, message, *position),
            Inst::Group { state, row, known: Some(Known { place, keys }), .. } => {
                let place = self.get(*place).0[0] as u32 as usize;
                let there = self.known_group(*state, place);
                if there.is_null() {
                    self.block(keys)?;
                    self.group(inst)?;
                    let group = self.pointer(*row);
                    self.know_group(*state, place, group);
                } else {
                    self.set(*row, Slot([there as u64, 0]));
                }
            }
            Inst::Group { .. } => self.group(inst)?,
            Inst::AllocRow { state, row, hash } => {
                let new = self.new_row(*state)?;
                if let Some(hash) = hash {
                    // SAFETY: rows of joins begin with a header of 16 bytes, the hash at 8.
                    unsafe { new.add(8).cast::<u64>().write(self.get(*hash).0[0]) };
                }
                self.set(*row, Slot([new as u64, 0]));
            }
            Inst::Output { state, values } => self.output(*state, values)?,
            Inst::Count(i) => {
                // SAFETY: the program's counters have that many items.
                unsafe { *self.worker.counters.add(*i as usize) += 1 };
            }
            Inst::Prefetch { .. } => {}
            Inst::Filter(_) | Inst::Match(_) | Inst::Repeat { .. } => unreachable!("`line` handles what bends it"),
        }
        Ok(())
    }

    fn group(&mut self, inst: &Inst) -> Run {
        let Inst::Group { state, hash, row, equal, is_equal, init, .. } = inst else { return Ok(()) };
        let hash = self.get(*hash).0[0];
        let found = self.find_group(*state, hash, |this, group| {
            this.set(*row, Slot([group as u64, 0]));
            this.block(equal)?;
            Ok(this.bool(*is_equal))
        })?;
        if let Some(group) = found {
            self.set(*row, Slot([group as u64, 0]));
            return Ok(());
        }
        let group = self.new_group(*state, hash)?;
        self.set(*row, Slot([group as u64, 0]));
        self.block(init)
    }

    fn call(&mut self, results: &[Var], callee: Callee, args: &[Var], position: Option<u32>) -> Run {
        let args: Vec<_> = args.iter().map(|&v| self.get(v)).collect();
        self.call_with(results, callee, &args, position)
    }

    fn call_with(&mut self, results: &[Var], callee: Callee, args: &[Slot], position: Option<u32>) -> Run {
        let mut out = vec![Slot::default(); results.len().max(1)];
        let (function, immediate) = runtime::abi::function(callee);
        // SAFETY: the verifier has seen that arguments and results are as many as the callee has.
        let failed = unsafe { function(self.worker, immediate, args.as_ptr(), out.as_mut_ptr()) };
        if failed != 0 {
            return Err(self.position(position));
        }
        for (&v, value) in results.iter().zip(out) {
            self.set(v, extend(self.vars[v], value));
        }
        Ok(())
    }

    /// The parts of the body below see the state's own kind.
    fn group_local(&mut self, state: pipeline::ir::StateId) -> &mut GroupLocal {
        debug_assert!(matches!(self.program.states[state], State::Group(_)));
        // SAFETY: the worker's part of a group state is a `GroupLocal`, this worker's own.
        unsafe { &mut *(*self.worker.locals.add(state.index())).cast::<GroupLocal>() }
    }

    fn load(&self, ty: Ty, at: *const u8) -> Slot {
        // SAFETY: the verifier keeps offsets inside of rows and columns inside of the source's.
        unsafe { read(ty, at) }
    }
}
