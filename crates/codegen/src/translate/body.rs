//! Stages and their instructions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block as Code, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use pipeline::ir::{Function, Inst, StateId, Ty, Var};
use runtime::abi::{Batch, Kernel, ResultColumn, ResultLocal, RowsLocal, Worker};

use super::Emitter;
use super::stages::Definition;
use super::value::{Val, changing, clif_type, item, part_types, store};

/// A loop over numbers from 0 to a count.
pub(super) struct Loop {
    counter: Variable,
    head: Code,
    pub latch: Code,
    pub exit: Code,
}

impl Emitter<'_, '_> {
    /// The whole function of a pipeline.
    pub(super) fn body(&mut self) {
        self.begin_pausing();
        let count = self.batch_field(std::mem::offset_of!(Batch, count));
        self.stage_loop(0, count, false, |_| {});
        self.end_function();
    }

    /// The whole function of two rows.
    pub(super) fn pair(&mut self, function: &Function) {
        for (i, row) in function.rows.into_iter().enumerate() {
            let value = Val::One(self.params[i + 1]);
            self.define(row, value);
        }
        self.block(&function.body);
        let result = match function.result {
            Some(v) => {
                let v = self.get(v).one();
                self.b.ins().uextend(types::I32, v)
            }
            None => self.b.ins().iconst(types::I32, 0),
        };
        self.b.ins().return_(&[result]);
    }

    /// Opens a loop; the caller is in its body then, with the counter's value, and ends it by [`end_loop`](Self::end_loop).
    pub(super) fn begin_loop(&mut self, count: Value) -> (Loop, Value) {
        let counter = self.b.declare_var(types::I64);
        let (head, body) = (self.b.create_block(), self.b.create_block());
        let (latch, exit) = (self.b.create_block(), self.b.create_block());
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.def_var(counter, zero);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let i = self.b.use_var(counter);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, i, count);
        self.b.ins().brif(more, body, &[], exit, &[]);
        self.b.switch_to_block(body);
        self.b.seal_block(body);
        (Loop { counter, head, latch, exit }, i)
    }

    /// Closes a loop; the caller is behind it then.
    pub(super) fn end_loop(&mut self, l: Loop) {
        self.b.ins().jump(l.latch, &[]);
        self.b.switch_to_block(l.latch);
        self.b.seal_block(l.latch);
        let i = self.b.use_var(l.counter);
        let next = self.b.ins().iadd_imm_s(i, 1);
        self.b.def_var(l.counter, next);
        self.b.ins().jump(l.head, &[]);
        self.b.seal_block(l.head);
        self.b.switch_to_block(l.exit);
        self.b.seal_block(l.exit);
    }

    /// The loop of a stage over `count` tuples, and whatever follows from what it hands on. `in_order`: the tuples are
    /// numbers 0 to `count` of the stage before, not those that the generator lists. `prologue` finishes the generator's
    /// work for the tuple.
    pub(super) fn stage_loop(&mut self, stage: usize, count: Value, in_order: bool, prologue: impl FnOnce(&mut Self)) {
        let generator = self.plan.stages[stage].generator;
        if generator.is_some() {
            self.reserve_buffers(stage);
        }
        let handed_on = generator.map(|generator| {
            let counter = self.b.declare_var(types::I64);
            let zero = self.b.ins().iconst(types::I64, 0);
            self.b.def_var(counter, zero);
            (generator, counter, self.reserve_generator(generator))
        });
        let behind = handed_on.and_then(|_| self.skip_if_resumed());
        let outer = (self.stage, self.tuple, self.pair, self.next);
        let (l, i) = self.begin_loop(count);
        self.stage = stage;
        self.next = Some(l.latch);
        self.pair = Some(i);
        self.scope(|e| {
            e.tuple = Some(if stage == 0 || in_order { i } else { e.listed_tuple(stage - 1, i) });
            e.now_working_at(e.plan.stages[stage].start);
            prologue(e);
            let insts = e.plan.stages[stage].insts;
            e.insts(insts);
            if let Some((generator, counter, scratch)) = handed_on {
                let n = e.b.use_var(counter);
                e.hand_on(stage, n);
                e.feed(generator, scratch, n);
                let next = e.b.ins().iadd_imm_s(n, 1);
                e.b.def_var(counter, next);
            }
        });
        self.end_loop(l);
        if let Some(behind) = behind {
            self.b.ins().jump(behind, &[]);
            self.b.switch_to_block(behind);
        }
        if let Some((generator, counter, scratch)) = handed_on {
            let n = self.b.use_var(counter);
            self.now_working_at(self.plan.stages[stage + 1].start);
            self.drive(stage, generator, scratch, n);
        }
        // The generator that has delivered the tuples goes on, or the source.
        self.now_working_at(self.plan.stages[stage].start);
        (self.stage, self.tuple, self.pair, self.next) = outer;
    }

    /// For EXPLAIN ANALYZE: tells the operator that the instructions from number `at` of the body on work for.
    fn now_working_at(&mut self, at: usize) {
        let Some(pipeline) = self.timed else { return };
        let place = self.worker_field(std::mem::offset_of!(Worker, operator));
        let operator =
            self.b.ins().iconst(types::I32, i64::from(runtime::query::operator_mark(pipeline.operator_at(at))));
        self.b.ins().store(changing(), operator, place, 0);
    }

    /// Writes the values that later stages need into the stage's buffers, as tuple number `n`.
    fn hand_on(&mut self, stage: usize, n: Value) {
        for i in 0..self.plan.stages[stage].spilled.len() {
            let key = self.plan.stages[stage].spilled[i];
            let value = self.key(key);
            let ty = self.key_type(key);
            let at = self.buffer_item(self.buffers[stage][i], n, ty);
            store(&mut self.b, value, at, 0);
        }
    }

    /// Ends the tuple's life unless `condition` is true.
    pub(super) fn filter(&mut self, condition: Value) {
        let pass = self.b.create_block();
        let next = self.next.expect("filters stand inside of a loop");
        self.b.ins().brif(condition, pass, &[], next, &[]);
        self.b.switch_to_block(pass);
        self.b.seal_block(pass);
    }

    pub(super) fn block(&mut self, insts: &[Inst]) {
        self.insts(insts);
    }

    fn insts(&mut self, insts: &[Inst]) {
        for (i, inst) in insts.iter().enumerate() {
            self.inst(inst);
            if let Inst::Count(_) = inst {
                // Counts stand at the top level of a body, so these are a stage's instructions.
                self.now_working_at(self.plan.stages[self.stage].start + i + 1);
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match inst {
            Inst::Let { var, op } => {
                if let (_, Definition::Placed) = self.plan.definition(*var) {
                    let ty = self.ty(*var);
                    let value = self.operation(op, ty);
                    self.define(*var, value);
                }
            }
            Inst::Call { results, callee, args, position } => {
                let args: Vec<_> = args.iter().map(|&v| (self.get(v), self.ty(v))).collect();
                let types: Vec<_> = results.iter().map(|&v| self.ty(v)).collect();
                let values = self.call(*callee, &args, &types, *position);
                for (&v, value) in results.iter().zip(values) {
                    self.define(v, value);
                }
            }
            Inst::If { condition, then, otherwise, results } => self.branch(*condition, then, otherwise, results),
            Inst::Store { base, offset, value } => {
                let value = self.get(*value);
                if !self.write_accumulator(*base, *offset, value) {
                    let base = self.get(*base).one();
                    store(&mut self.b, value, base, *offset);
                }
            }
            Inst::AddToSum { base, offset, value } => self.add_to_sum(*base, *offset, *value),
            Inst::Raise { state, message, position } => self.raise(*state, message, *position),
            Inst::Filter(condition) => {
                let condition = self.get(*condition).one();
                self.filter(condition);
            }
            Inst::Group { state, hash, row, equal, is_equal, init } => {
                self.group(*state, *hash, *row, equal, *is_equal, init);
            }
            Inst::AllocRow { state, row, hash } => self.alloc_row(*state, *row, *hash),
            Inst::Output { state, values } => self.output(*state, values),
            Inst::Count(i) => {
                let counters = self.worker_field(std::mem::offset_of!(Worker, counters));
                let n = self.b.ins().load(types::I64, changing(), counters, *i as i32 * 8);
                let n = self.b.ins().iadd_imm_s(n, 1);
                self.b.ins().store(changing(), n, counters, *i as i32 * 8);
            }
            Inst::Match(_) | Inst::Repeat { .. } | Inst::Prefetch { .. } => unreachable!("generators end stages"),
        }
    }

    fn branch(&mut self, condition: Var, then: &[Inst], otherwise: &[Inst], results: &[(Var, Var, Var)]) {
        let condition = self.get(condition).one();
        let (yes, no, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, yes, &[], no, &[]);
        let mut outs = Vec::with_capacity(results.len());
        for &(result, ..) in results {
            let parts = part_types(self.ty(result));
            outs.push(parts.iter().map(|&t| self.b.append_block_param(done, t)).collect::<Vec<_>>());
        }
        for (code, insts, is_then) in [(yes, then, true), (no, otherwise, false)] {
            self.b.switch_to_block(code);
            self.b.seal_block(code);
            self.scope(|e| {
                e.insts(insts);
                let mut args: Vec<BlockArg> = Vec::with_capacity(results.len());
                for &(_, a, b) in results {
                    args.extend(e.get(if is_then { a } else { b }).parts().map(BlockArg::from));
                }
                e.b.ins().jump(done, &args);
            });
        }
        self.b.switch_to_block(done);
        self.b.seal_block(done);
        for (&(result, ..), parts) in results.iter().zip(outs) {
            let value = match *parts.as_slice() {
                [one] => Val::One(one),
                [low, high] => Val::Two(low, high),
                _ => unreachable!("values have one or two parts"),
            };
            self.define(result, value);
        }
    }

    fn alloc_row(&mut self, state: StateId, row: Var, hash: Option<Var>) {
        let stride =
            self.program.states[state].layout().expect("the verifier has seen that the state has rows").stride();
        let hash = hash.map(|h| self.get(h).one());
        let local = self.local(state);
        let area = std::mem::offset_of!(RowsLocal, area);
        let (next_at, end_at) = ((area + base::Area::NEXT_OFFSET) as i32, (area + base::Area::END_OFFSET) as i32);
        let start = self.b.ins().load(types::I64, changing(), local, next_at);
        let end = self.b.ins().load(types::I64, changing(), local, end_at);
        let room = self.b.ins().isub(end, start);
        let enough = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, room, i64::from(stride));
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(done, types::I64);
        self.b.set_cold_block(slow);
        self.b.ins().brif(enough, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        let after = self.b.ins().iadd_imm_s(start, i64::from(stride));
        self.b.ins().store(changing(), after, local, next_at);
        self.b.ins().jump(done, &[start.into()]);
        self.b.switch_to_block(slow);
        let fresh = self.state_call(Kernel::RowsGrow, state, None);
        self.b.ins().jump(done, &[fresh.into()]);
        self.b.switch_to_block(done);
        if let Some(hash) = hash {
            self.b.ins().store(changing(), hash, result, 8);
        }
        self.define(row, Val::One(result));
    }

    /// Calls a kernel of (worker, state, hash if given) that returns a row, or null if it fails.
    pub(super) fn state_call(&mut self, kernel: Kernel, state: StateId, hash: Option<Value>) -> Value {
        let id = self.b.ins().iconst(types::I64, i64::from(state.0));
        let args: Vec<_> = [self.worker(), id].into_iter().chain(hash).collect();
        let row = self.kernel_call(kernel, &args).expect("it returns a value");
        let null = self.b.ins().icmp_imm_u(IntCC::Equal, row, 0);
        self.fail_if(null, None);
        row
    }

    fn output(&mut self, state: StateId, values: &[(Var, Option<Var>)]) {
        let local = self.local(state);
        let count_at = std::mem::offset_of!(ResultLocal, count) as i32;
        let count = self.b.ins().load(types::I64, changing(), local, count_at);
        let columns =
            self.b.ins().load(types::I64, changing(), local, std::mem::offset_of!(ResultLocal, columns) as i32);
        for (i, &(value, null)) in values.iter().enumerate() {
            // One after the other, so that few are alive at once.
            let (value, ty, null) = (self.get(value), self.ty(value), null.map(|n| self.get(n).one()));
            let column = i * size_of::<ResultColumn>();
            let data_at = (column + std::mem::offset_of!(ResultColumn, data)) as i32;
            let nulls_at = (column + std::mem::offset_of!(ResultColumn, nulls)) as i32;
            let data = self.b.ins().load(types::I64, changing(), columns, data_at);
            let at = item(&mut self.b, data, count, ty.size());
            store(&mut self.b, value, at, 0);
            let nulls = self.b.ins().load(types::I64, changing(), columns, nulls_at);
            let at = self.b.ins().iadd(nulls, count);
            let flag = null.unwrap_or_else(|| self.b.ins().iconst(clif_type(Ty::Bool), 0));
            self.b.ins().store(changing(), flag, at, 0);
        }
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(changing(), count, local, count_at);
        let capacity =
            self.b.ins().load(types::I64, changing(), local, std::mem::offset_of!(ResultLocal, capacity) as i32);
        let full = self.b.ins().icmp(IntCC::Equal, count, capacity);
        let (flush, done) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(flush);
        self.b.ins().brif(full, flush, &[], done, &[]);
        self.b.switch_to_block(flush);
        let id = self.b.ins().iconst(types::I64, i64::from(state.0));
        let worker = self.worker();
        let failure = self.kernel_call(Kernel::ResultFlush, &[worker, id]).expect("it returns a value");
        self.fail_if(failure, None);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }
}
