//! The function that is made, and what every function has: its parameters, memory, calls, failures and what is read once.
//! Nothing here knows a tuple.

mod arithmetic;
mod calls;
mod collect;
mod compare;
mod failure;
mod float;
mod invariant;
mod subscript;
mod sum;

use base::ids::Id;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Variable};
use pipeline::ir::{ParamId, StateId, Ty};
use runtime::abi::{Kernel, Worker};

use super::value::{Val, item};
pub(super) use arithmetic::wrapping;
use calls::Calls;
pub(super) use compare::{combine_hashes, compare, hash_value};
use failure::Failures;
pub(super) use float::float;
use invariant::Invariants;
pub(super) use sum::Gathered;

/// A function in the making.
pub(super) struct Code<'b> {
    pub b: FunctionBuilder<'b>,
    /// Parameters of the function: worker, and batch or rows.
    pub params: Vec<Value>,
    failures: Failures,
    invariants: Invariants,
    calls: Calls,
    /// Bytes of scratch memory given out so far.
    scratch_bytes: usize,
}

/// A loop over numbers from 0 to a count.
pub(super) struct Loop {
    counter: Variable,
    head: Block,
    pub latch: Block,
    pub exit: Block,
}

impl<'b> Code<'b> {
    /// A function that returns `failure_code` if it fails.
    pub fn new(mut b: FunctionBuilder<'b>, failure_code: i64) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let params = b.block_params(entry).to_vec();
        let start = b.create_block();
        b.ins().jump(start, &[]);
        b.switch_to_block(start);
        b.seal_block(start);
        let calls = Calls::new(&mut b);
        let (failures, invariants) = (Failures::new(failure_code), Invariants::new(entry));
        Self { b, params, failures, invariants, calls, scratch_bytes: 0 }
    }

    /// Ends the function; returns the bytes of scratch memory that it needs.
    pub fn finish(mut self, config: TargetFrontendConfig) -> usize {
        self.emit_failures();
        self.calls.finish(&mut self.b);
        self.b.seal_all_blocks();
        self.b.finalize(config);
        self.scratch_bytes
    }

    pub fn buffer_item(&mut self, buffer: u32, index: Value, ty: Ty) -> Value {
        let scratch = self.scratch();
        let start = self.b.ins().iadd_imm_s(scratch, i64::from(buffer));
        item(&mut self.b, start, index, ty.size())
    }

    /// Gives out scratch memory.
    pub fn reserve(&mut self, bytes: usize) -> u32 {
        let at = self.scratch_bytes;
        self.scratch_bytes += bytes.next_multiple_of(64);
        u32::try_from(at).expect("a body has far fewer than 4 GiB of buffers")
    }

    pub fn worker(&self) -> Value {
        self.params[0]
    }

    pub fn worker_field(&mut self, offset: usize) -> Value {
        self.invariant_pointer(self.worker(), offset)
    }

    pub fn batch_field(&mut self, offset: usize) -> Value {
        self.invariant_pointer(self.params[1], offset)
    }

    pub fn scratch(&mut self) -> Value {
        self.worker_field(std::mem::offset_of!(Worker, scratch))
    }

    /// This worker's part of a state.
    pub fn local(&mut self, state: StateId) -> Value {
        let locals = self.worker_field(std::mem::offset_of!(Worker, locals));
        self.invariant_pointer(locals, state.index() * 8)
    }

    /// The worker's row of a state without keys.
    pub fn local_row(&mut self, state: StateId) -> Value {
        let local = self.local(state);
        self.invariant_pointer(local, std::mem::offset_of!(runtime::abi::GroupLocal, only))
    }

    /// The shared part of a state.
    pub fn shared(&mut self, state: StateId) -> Value {
        let shared = self.worker_field(std::mem::offset_of!(Worker, shared));
        self.invariant_pointer(shared, state.index() * 8)
    }

    /// The scratch memory of a generator.
    pub fn generator_scratch(&mut self, at: u32) -> Value {
        let scratch = self.scratch();
        self.b.ins().iadd_imm_s(scratch, i64::from(at))
    }

    /// A parameter of the statement.
    pub fn param(&mut self, id: ParamId, ty: Ty) -> Val {
        let params = self.worker_field(std::mem::offset_of!(runtime::abi::Worker, params));
        self.invariant_value(ty, params, id.index() * size_of::<runtime::abi::Slot>())
    }

    /// What the batch says of a column.
    pub fn column_ref(&mut self, index: u32, field: usize) -> Value {
        let columns = self.batch_field(std::mem::offset_of!(runtime::abi::Batch, columns));
        let offset = index as usize * size_of::<runtime::abi::ColumnRef>() + field;
        self.invariant_pointer(columns, offset)
    }

    /// The value that lies in variables.
    pub fn value_of(&mut self, variables: &[Variable]) -> Val {
        match *variables {
            [one] => Val::One(self.b.use_var(one)),
            [low, high] => {
                let low = self.b.use_var(low);
                Val::Two(low, self.b.use_var(high))
            }
            _ => unreachable!("values have one or two parts"),
        }
    }

    /// Opens a loop; the caller is in its body then, with the counter's value, and ends it by [`end_loop`](Self::end_loop).
    pub fn begin_loop(&mut self, count: Value) -> (Loop, Value) {
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
    pub fn end_loop(&mut self, l: Loop) {
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

    /// Calls a kernel of (worker, state, hash if given) that returns a row, or null if it fails.
    pub fn state_call(&mut self, kernel: Kernel, state: StateId, hash: Option<Value>) -> Value {
        let id = self.b.ins().iconst(types::I64, i64::from(state.0));
        let args: Vec<_> = [self.worker(), id].into_iter().chain(hash).collect();
        let row = self.kernel_call(kernel, &args).expect("it returns a value");
        let null = self.b.ins().icmp_imm_u(IntCC::Equal, row, 0);
        self.fail_if(null, None);
        row
    }
}
