//! Stages and their instructions.

mod fold;
mod group;
mod matching;
mod pause;
mod repeated;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use pipeline::ir::{Function, Inst, Pipeline, Program, StateId, Var};
use runtime::abi::{Batch, Kernel, ResultColumn, ResultLocal, RowsLocal, Worker};

use super::code::Code;
use super::stages::Definition;
use super::value::{Val, changing, item, part_types, store};
use super::values::Values;
use fold::Folds;
use pause::Pause;

/// The body of a function.
pub(super) struct Body<'b, 'p> {
    values: Values<'b, 'p>,
    program: &'p Program,
    /// The pipeline, if its operators' times are to be told apart.
    timed: Option<&'p Pipeline>,
    /// How the function stops in the middle of a batch, if it can.
    pause: Option<Pause>,
    /// Where the scratch memory of each stage's generator lies.
    generators: Vec<u32>,
    /// Where positions are gathered.
    folds: Folds<'p>,
    /// Number of the current pair among those that the generator has delivered.
    pair: Option<Value>,
    /// Where the loop goes on if the tuple's life has ended.
    next: Option<Block>,
}

impl<'b, 'p> Body<'b, 'p> {
    pub fn new(values: Values<'b, 'p>, program: &'p Program, timed: Option<&'p Pipeline>) -> Self {
        Self {
            values,
            program,
            timed,
            pause: None,
            generators: Vec::new(),
            folds: Folds::default(),
            pair: None,
            next: None,
        }
    }

    /// The function so far.
    pub fn code(&mut self) -> &mut Code<'b> {
        &mut self.values.code
    }

    /// The function, whose body is complete.
    pub fn into_code(self) -> Code<'b> {
        self.values.code
    }

    /// Translates a part of the code that does not dominate what follows: forgets afterwards what it has computed.
    pub fn scope<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.values.mark();
        let result = f(self);
        self.values.forget(mark);
        result
    }

    /// The whole function of a pipeline.
    pub fn body(&mut self) {
        self.begin_pausing();
        let count = self.code().batch_field(std::mem::offset_of!(Batch, count));
        if self.fold_batch(count) {
            self.plan_folds();
            self.stage_loop(0, count, false, |_| {});
        }
        self.end_function();
    }

    /// The whole function of two rows.
    pub fn pair(&mut self, function: &Function) {
        for (i, row) in function.rows.into_iter().enumerate() {
            let value = Val::One(self.code().params[i + 1]);
            self.values.define(row, value);
        }
        self.block(&function.body);
        let result = match function.result {
            Some(v) => {
                let v = self.values.get(v).one();
                self.code().b.ins().uextend(types::I32, v)
            }
            None => self.code().b.ins().iconst(types::I32, 0),
        };
        self.code().b.ins().return_(&[result]);
    }

    /// The loop of a stage over `count` tuples, and whatever follows from what it hands on. `in_order`: the tuples are
    /// numbers 0 to `count` of the stage before, not those that the generator lists. `prologue` finishes the generator's
    /// work for the tuple.
    pub fn stage_loop(&mut self, stage: usize, count: Value, in_order: bool, prologue: impl FnOnce(&mut Self)) {
        let generator = self.values.plan.stages[stage].generator;
        if generator.is_some() {
            self.values.reserve_buffers(stage);
        }
        let handed_on = generator.map(|generator| {
            let counter = self.code().b.declare_var(types::I64);
            let zero = self.code().b.ins().iconst(types::I64, 0);
            self.code().b.def_var(counter, zero);
            (generator, counter, self.reserve_generator(generator))
        });
        let behind = handed_on.and_then(|_| self.skip_if_resumed());
        let outer = (self.values.stage, self.values.tuple, self.pair, self.next);
        let (l, i) = self.code().begin_loop(count);
        self.values.stage = stage;
        self.next = Some(l.latch);
        self.pair = Some(i);
        self.scope(|e| {
            e.values.tuple = Some(if stage == 0 || in_order { i } else { e.listed_tuple(stage - 1, i) });
            e.now_working_at(e.values.plan.stages[stage].start);
            prologue(e);
            let insts = e.values.plan.stages[stage].insts;
            e.insts(insts, e.values.plan.unfiltered(stage));
            if let Some((generator, counter, scratch)) = handed_on {
                let n = e.code().b.use_var(counter);
                e.values.hand_on(stage, n);
                e.feed(generator, scratch, n);
                let next = e.code().b.ins().iadd_imm_s(n, 1);
                e.code().b.def_var(counter, next);
            }
        });
        self.code().end_loop(l);
        if let Some(behind) = behind {
            self.code().b.ins().jump(behind, &[]);
            self.code().b.switch_to_block(behind);
        }
        if let Some((generator, counter, scratch)) = handed_on {
            let n = self.code().b.use_var(counter);
            self.now_working_at(self.values.plan.stages[stage + 1].start);
            self.drive(stage, generator, scratch, n);
        }
        // The generator that has delivered the tuples goes on, or the source.
        self.now_working_at(self.values.plan.stages[stage].start);
        (self.values.stage, self.values.tuple, self.pair, self.next) = outer;
    }

    /// For EXPLAIN ANALYZE: tells the operator that the instructions from number `at` of the body on work for.
    fn now_working_at(&mut self, at: usize) {
        let Some(pipeline) = self.timed else { return };
        let place = self.code().worker_field(std::mem::offset_of!(Worker, operator));
        let operator =
            self.code().b.ins().iconst(types::I32, i64::from(runtime::query::operator_mark(pipeline.operator_at(at))));
        self.code().b.ins().store(changing(), operator, place, 0);
    }

    /// Ends the tuple's life unless `condition` is true.
    pub fn filter(&mut self, condition: Value) {
        let pass = self.code().b.create_block();
        let next = self.next.expect("filters stand inside of a loop");
        self.code().b.ins().brif(condition, pass, &[], next, &[]);
        self.code().b.switch_to_block(pass);
        self.code().b.seal_block(pass);
    }

    pub fn block(&mut self, insts: &[Inst]) {
        self.insts(insts, 0);
    }

    /// Translates instructions; those of the first ones that concern a whole batch are done.
    fn insts(&mut self, insts: &[Inst], done: usize) {
        for (i, inst) in insts.iter().enumerate() {
            match inst {
                inst if i < done && self.values.plan.is_done_at_once(self.values.stage, inst) => {}
                Inst::Filter(condition) => {
                    let condition = self.values.get(*condition).one();
                    if let Some(place) = self.only_gathers(&insts[i + 1..]) {
                        return self.gather_if(condition, place);
                    }
                    self.filter(condition);
                }
                _ => self.inst(inst),
            }
            if let Inst::Count(_) = inst {
                // Counts stand at the top level of a body, so these are a stage's instructions.
                self.now_working_at(self.values.plan.stages[self.values.stage].start + i + 1);
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match inst {
            Inst::Let { var, op } => {
                if let (_, Definition::Placed) = self.values.plan.definition(*var) {
                    let ty = self.values.ty(*var);
                    let value = self.values.operation(op, ty);
                    self.values.define(*var, value);
                }
            }
            Inst::Call { results, callee, args, position } => {
                let args: Vec<_> = args.iter().map(|&v| (self.values.get(v), self.values.ty(v))).collect();
                let types: Vec<_> = results.iter().map(|&v| self.values.ty(v)).collect();
                let values = self.code().call(*callee, &args, &types, *position);
                for (&v, value) in results.iter().zip(values) {
                    self.values.define(v, value);
                }
            }
            Inst::If { condition, then, otherwise, results } => self.branch(*condition, then, otherwise, results),
            Inst::Loop { times, index, carried, body } => self.repeated(*times, *index, carried, body),
            Inst::Store { base, offset, value } => {
                let value = self.values.get(*value);
                if !self.values.write_accumulator(*base, *offset, value) {
                    let base = self.values.get(*base).one();
                    store(&mut self.code().b, value, base, *offset);
                }
            }
            Inst::AddToSum { base, offset, value } => self.values.add_to_sum(*base, *offset, *value),
            Inst::Fold(fold) => self.gather(fold),
            Inst::Raise { state, message, position } => self.code().raise(*state, message, *position),
            Inst::Group { state, row, known: Some(known), .. } => self.known_group(*state, *row, known, inst),
            Inst::Group { .. } => self.group(inst),
            Inst::AllocRow { state, row, hash } => self.alloc_row(*state, *row, *hash),
            Inst::Output { state, values } => self.output(*state, values),
            Inst::Count(i) => {
                let one = self.code().b.ins().iconst(types::I64, 1);
                self.count(*i, one);
            }
            Inst::Filter(_) => unreachable!("filters stand at the top of a stage"),
            Inst::Match(_) | Inst::Repeat { .. } | Inst::Prefetch { .. } => unreachable!("generators end stages"),
        }
    }

    /// Adds to a counter of EXPLAIN ANALYZE.
    fn count(&mut self, counter: u32, tuples: Value) {
        let counters = self.code().worker_field(std::mem::offset_of!(Worker, counters));
        let n = self.code().b.ins().load(types::I64, changing(), counters, counter as i32 * 8);
        let n = self.code().b.ins().iadd(n, tuples);
        self.code().b.ins().store(changing(), n, counters, counter as i32 * 8);
    }

    fn branch(&mut self, condition: Var, then: &[Inst], otherwise: &[Inst], results: &[(Var, Var, Var)]) {
        let condition = self.values.get(condition).one();
        let (yes, no, done) =
            (self.code().b.create_block(), self.code().b.create_block(), self.code().b.create_block());
        self.code().b.ins().brif(condition, yes, &[], no, &[]);
        let mut outs = Vec::with_capacity(results.len());
        for &(result, ..) in results {
            let parts = part_types(self.values.ty(result));
            outs.push(parts.iter().map(|&t| self.code().b.append_block_param(done, t)).collect::<Vec<_>>());
        }
        for (code, insts, is_then) in [(yes, then, true), (no, otherwise, false)] {
            self.code().b.switch_to_block(code);
            self.code().b.seal_block(code);
            self.scope(|e| {
                e.block(insts);
                let mut args: Vec<BlockArg> = Vec::with_capacity(results.len());
                for &(_, a, b) in results {
                    args.extend(e.values.get(if is_then { a } else { b }).parts().map(BlockArg::from));
                }
                e.code().b.ins().jump(done, &args);
            });
        }
        self.code().b.switch_to_block(done);
        self.code().b.seal_block(done);
        for (&(result, ..), parts) in results.iter().zip(outs) {
            self.values.define(result, Val::of_parts(&parts));
        }
    }

    fn alloc_row(&mut self, state: StateId, row: Var, hash: Option<Var>) {
        let stride =
            self.program.states[state].layout().expect("the verifier has seen that the state has rows").stride();
        let hash = hash.map(|h| self.values.get(h).one());
        let local = self.code().local(state);
        let area = std::mem::offset_of!(RowsLocal, area);
        let (next_at, end_at) = ((area + base::Area::NEXT_OFFSET) as i32, (area + base::Area::END_OFFSET) as i32);
        let start = self.code().b.ins().load(types::I64, changing(), local, next_at);
        let end = self.code().b.ins().load(types::I64, changing(), local, end_at);
        let room = self.code().b.ins().isub(end, start);
        let enough = self.code().b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, room, i64::from(stride));
        let (fast, slow, done) =
            (self.code().b.create_block(), self.code().b.create_block(), self.code().b.create_block());
        let result = self.code().b.append_block_param(done, types::I64);
        self.code().b.set_cold_block(slow);
        self.code().b.ins().brif(enough, fast, &[], slow, &[]);
        self.code().b.switch_to_block(fast);
        let after = self.code().b.ins().iadd_imm_s(start, i64::from(stride));
        self.code().b.ins().store(changing(), after, local, next_at);
        self.code().b.ins().jump(done, &[start.into()]);
        self.code().b.switch_to_block(slow);
        let fresh = self.code().state_call(Kernel::RowsGrow, state, None);
        self.code().b.ins().jump(done, &[fresh.into()]);
        self.code().b.switch_to_block(done);
        if let Some(hash) = hash {
            self.code().b.ins().store(changing(), hash, result, 8);
        }
        self.values.define(row, Val::One(result));
    }

    fn output(&mut self, state: StateId, values: &[(Var, Option<Var>)]) {
        let local = self.code().local(state);
        let count_at = std::mem::offset_of!(ResultLocal, count) as i32;
        let count = self.code().b.ins().load(types::I64, changing(), local, count_at);
        let columns =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(ResultLocal, columns) as i32);
        for (i, &(value, null)) in values.iter().enumerate() {
            // One after the other, so that few are alive at once.
            let (value, ty, null) =
                (self.values.get(value), self.values.ty(value), null.map(|n| self.values.get(n).one()));
            let column = i * size_of::<ResultColumn>();
            let data_at = (column + std::mem::offset_of!(ResultColumn, data)) as i32;
            let nulls_at = (column + std::mem::offset_of!(ResultColumn, nulls)) as i32;
            let data = self.code().b.ins().load(types::I64, changing(), columns, data_at);
            let at = item(&mut self.code().b, data, count, ty.size());
            store(&mut self.code().b, value, at, 0);
            if let Some(flag) = null {
                let nulls = self.code().b.ins().load(types::I64, changing(), columns, nulls_at);
                let at = self.code().b.ins().iadd(nulls, count);
                self.code().b.ins().store(changing(), flag, at, 0);
            }
        }
        let count = self.code().b.ins().iadd_imm_s(count, 1);
        self.code().b.ins().store(changing(), count, local, count_at);
        let capacity =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(ResultLocal, capacity) as i32);
        let full = self.code().b.ins().icmp(IntCC::Equal, count, capacity);
        let (flush, done) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.set_cold_block(flush);
        self.code().b.ins().brif(full, flush, &[], done, &[]);
        self.code().b.switch_to_block(flush);
        let id = self.code().b.ins().iconst(types::I64, i64::from(state.0));
        let worker = self.code().worker();
        let failure = self.code().kernel_call(Kernel::ResultFlush, &[worker, id]).expect("it returns a value");
        self.code().fail_if(failure, None);
        self.code().b.ins().jump(done, &[]);
        self.code().b.switch_to_block(done);
    }
}
