//! From the IR to Cranelift's: one function per pipeline, with a loop per stage.
//!
//! The loops nest: stage k+1 runs, for at most 1,024 pairs at once, each time that the generator after stage k delivers
//! pairs, and returns to it for the next ones. So every batch buffer is used up before it is filled again. See
//! [`stages`] for what lies in buffers, and `runtime::abi` for the protocol of probes.

mod accumulator;
mod body;
mod calls;
mod compare;
mod failure;
mod float;
mod group;
mod invariant;
mod matching;
mod parking;
mod pause;
mod scalar;
mod stages;
mod sum;
mod value;

use std::collections::HashMap;

use base::ids::Id;
use cranelift_codegen::ir::{Block, InstBuilder, SigRef, StackSlot, StackSlotData, StackSlotKind, Value};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use pipeline::ir::{Function, Pipeline, Program, StateId, Ty, Var};
use runtime::abi::{BATCH, Worker};

use accumulator::Accumulators;
use failure::Failures;
use invariant::Invariants;
use pause::Pause;
use stages::{Definition, Key, Stages};
use value::{Val, changing, clif_type, constant, item, load};

/// Translates a pipeline into the function that `b` builds: `(worker, batch) -> u32`. Returns the bytes of scratch
/// memory that it needs.
pub(crate) fn pipeline(
    b: FunctionBuilder<'_>,
    config: TargetFrontendConfig,
    program: &Program,
    pipeline: &Pipeline,
) -> usize {
    let stages = Stages::new(&pipeline.body, &pipeline.vars);
    let mut emitter = Emitter::new(b, config, program, &pipeline.vars, stages, 1);
    emitter.timed = Some(pipeline).filter(|_| !program.counters.is_empty());
    emitter.load_accumulators(&pipeline.body);
    emitter.choose_parked();
    emitter.body();
    emitter.finish()
}

/// Translates a function of two rows into the function that `b` builds: `(worker, row, row) -> u32`.
pub(crate) fn function(b: FunctionBuilder<'_>, config: TargetFrontendConfig, program: &Program, function: &Function) {
    let stages = Stages::of_function(&function.body, function.rows, &function.vars);
    let mut emitter = Emitter::new(b, config, program, &function.vars, stages, 2);
    emitter.pair(function);
    emitter.finish();
}

/// The state of a translation.
struct Emitter<'b, 'p> {
    b: FunctionBuilder<'b>,
    config: TargetFrontendConfig,
    program: &'p Program,
    vars: &'p base::IdMap<Var, Ty>,
    plan: Stages<'p>,
    /// The pipeline, if its operators' times are to be told apart.
    timed: Option<&'p Pipeline>,
    failures: Failures,
    invariants: Invariants,
    accumulators: Accumulators,
    /// How the function stops in the middle of a batch, if it can.
    pause: Option<Pause>,
    /// Variables that rest in scratch memory, and where.
    parked: HashMap<Var, u32>,
    /// Parameters of the function: worker, and batch or rows.
    params: Vec<Value>,
    /// Bytes of scratch memory given out so far.
    scratch_bytes: usize,
    /// What is known at this point of the code, by [`Key::index`].
    known: Vec<Option<Val>>,
    /// Keys in the order in which they became known, to be forgotten at the end of a scope.
    log: Vec<usize>,
    /// The stage being translated.
    stage: usize,
    /// Number of the current tuple in the buffers that the previous stage has filled (in the batch: for the first).
    tuple: Option<Value>,
    /// Number of the current pair among those that the generator has delivered.
    pair: Option<Value>,
    /// Where each stage's spilled values lie in the scratch memory, in the order of `Stage::spilled`.
    buffers: Vec<Vec<u32>>,
    /// Where the scratch memory of each stage's generator lies.
    generators: Vec<u32>,
    /// Where the loop goes on if the tuple's life has ended.
    next: Option<Block>,
    /// Memory for arguments and results of calls.
    slot: StackSlot,
    /// Most slots that a call needs.
    slots: u32,
    signatures: HashMap<usize, SigRef>,
}

impl<'b, 'p> Emitter<'b, 'p> {
    fn new(
        mut b: FunctionBuilder<'b>,
        config: TargetFrontendConfig,
        program: &'p Program,
        vars: &'p base::IdMap<Var, Ty>,
        plan: Stages<'p>,
        failure_code: i64,
    ) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let params = b.block_params(entry).to_vec();
        let start = b.create_block();
        b.ins().jump(start, &[]);
        b.switch_to_block(start);
        b.seal_block(start);
        let slot = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 4));
        let failures = Failures::new(failure_code);
        let known = vec![None; vars.len() + 2];
        Self {
            b,
            config,
            program,
            vars,
            plan,
            timed: None,
            failures,
            invariants: Invariants::new(entry),
            accumulators: Accumulators::default(),
            pause: None,
            parked: HashMap::new(),
            params,
            scratch_bytes: 0,
            known,
            log: Vec::new(),
            stage: 0,
            tuple: None,
            pair: None,
            generators: Vec::new(),
            buffers: Vec::new(),
            next: None,
            slot,
            slots: 0,
            signatures: HashMap::new(),
        }
    }

    /// Ends the function; returns the bytes of scratch memory that it needs.
    fn finish(mut self) -> usize {
        self.emit_failures();
        self.b.func.sized_stack_slots[self.slot].size = self.slots * 16;
        self.b.seal_all_blocks();
        self.b.finalize(self.config);
        self.scratch_bytes
    }

    fn ty(&self, v: Var) -> Ty {
        self.vars[v]
    }

    /// The value of a variable, computed here if it is not known yet.
    fn get(&mut self, v: Var) -> Val {
        self.key(Key::Var(v))
    }

    /// The value of a key, computed or read from a buffer if it is not known yet.
    fn key(&mut self, key: Key) -> Val {
        if let Some(value) = self.known[key.index()] {
            return value;
        }
        if let Some(value) = self.fetch(key) {
            return value;
        }
        let value = match key {
            Key::Var(v) => {
                let (stage, definition) = self.plan.definition(v);
                match definition {
                    Definition::Lazy(op) if stage == self.stage || self.plan.is_rematerialised(v) => {
                        let ty = self.ty(v);
                        self.operation(op, ty)
                    }
                    _ => self.spilled_item(key),
                }
            }
            _ if self.stage > 0 => self.spilled_item(key),
            Key::Position => self.batch_item(std::mem::offset_of!(runtime::abi::Batch, selection), Ty::I32),
            Key::Row => self.batch_item(std::mem::offset_of!(runtime::abi::Batch, rows), Ty::Ptr),
        };
        self.learn(key, value);
        value
    }

    /// Makes a value known until the scope ends.
    fn learn(&mut self, key: Key, value: Val) {
        debug_assert!(self.known[key.index()].is_none());
        self.known[key.index()] = Some(value);
        self.log.push(key.index());
    }

    /// Defines a variable that is computed here.
    fn define(&mut self, v: Var, value: Val) {
        if !self.park(v, value) {
            self.learn(Key::Var(v), value);
        }
    }

    /// Translates a part of the code that does not dominate what follows: forgets afterwards what it has computed.
    fn scope<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.log.len();
        let result = f(self);
        for key in self.log.drain(mark..) {
            self.known[key] = None;
        }
        result
    }

    /// The type of a key's value.
    fn key_type(&self, key: Key) -> Ty {
        match key {
            Key::Position => Ty::I32,
            Key::Row => Ty::Ptr,
            Key::Var(v) => self.ty(v),
        }
    }

    fn batch_item(&mut self, field: usize, ty: Ty) -> Val {
        let array = self.batch_field(field);
        let tuple = self.tuple.expect("inside of a loop over tuples");
        let at = item(&mut self.b, array, tuple, ty.size());
        Val::One(self.b.ins().load(clif_type(ty), constant(), at, 0))
    }

    fn spilled_item(&mut self, key: Key) -> Val {
        let previous = self.stage - 1;
        let i = self.plan.stages[previous]
            .spilled
            .iter()
            .position(|&k| k == key)
            .unwrap_or_else(|| panic!("{key:?} is used in stage {} but not handed on to it", self.stage));
        let ty = self.key_type(key);
        let at = self.buffer_item(self.buffers[previous][i], self.tuple.expect("inside of a loop"), ty);
        // Buffers change between the loops, so not `readonly`.
        load(&mut self.b, changing(), ty, at, 0)
    }

    fn buffer_item(&mut self, buffer: u32, index: Value, ty: Ty) -> Value {
        let scratch = self.scratch();
        let start = self.b.ins().iadd_imm_s(scratch, i64::from(buffer));
        item(&mut self.b, start, index, ty.size())
    }

    /// Gives out scratch memory.
    fn reserve(&mut self, bytes: usize) -> u32 {
        let at = self.scratch_bytes;
        self.scratch_bytes += bytes.next_multiple_of(64);
        u32::try_from(at).expect("a body has far fewer than 4 GiB of buffers")
    }

    /// Buffers for what the stage hands on.
    fn reserve_buffers(&mut self, stage: usize) {
        let keys = self.plan.stages[stage].spilled.clone();
        let buffers = keys.iter().map(|&k| self.reserve(self.key_type(k).size() as usize * BATCH)).collect();
        debug_assert_eq!(self.buffers.len(), stage);
        self.buffers.push(buffers);
    }

    fn worker(&self) -> Value {
        self.params[0]
    }

    fn worker_field(&mut self, offset: usize) -> Value {
        self.invariant_pointer(self.worker(), offset)
    }

    fn batch_field(&mut self, offset: usize) -> Value {
        self.invariant_pointer(self.params[1], offset)
    }

    fn scratch(&mut self) -> Value {
        self.worker_field(std::mem::offset_of!(Worker, scratch))
    }

    /// This worker's part of a state.
    fn local(&mut self, state: StateId) -> Value {
        let locals = self.worker_field(std::mem::offset_of!(Worker, locals));
        self.invariant_pointer(locals, state.index() * 8)
    }

    /// The worker's row of a state without keys.
    fn local_row(&mut self, state: StateId) -> Value {
        let local = self.local(state);
        self.invariant_pointer(local, std::mem::offset_of!(runtime::abi::GroupLocal, only))
    }

    /// The shared part of a state.
    fn shared(&mut self, state: StateId) -> Value {
        let shared = self.worker_field(std::mem::offset_of!(Worker, shared));
        self.invariant_pointer(shared, state.index() * 8)
    }
}
