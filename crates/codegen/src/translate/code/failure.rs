//! Failing: cold blocks at the end of the function, shared by all places that fail in the same way.

use std::collections::HashMap;

use base::SqlState;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use runtime::abi::{Kernel, Worker};

use super::Code;
use crate::translate::value::changing;

/// The cold blocks. Each takes the error's position plus one (0: none) as its parameter.
pub(super) struct Failures {
    /// What the function returns then.
    code: i64,
    /// The worker has an error already.
    failed: Option<Block>,
    /// The worker gets this error.
    raised: HashMap<(SqlState, &'static str), Block>,
}

impl Failures {
    pub fn new(code: i64) -> Self {
        Self { code, failed: None, raised: HashMap::new() }
    }
}

impl Code<'_> {
    fn encode(&mut self, position: Option<u32>) -> Value {
        self.b.ins().iconst(types::I64, position.map_or(0, |p| i64::from(p) + 1))
    }

    /// Leaves the function if `failure` is not 0: the callee has stored an error.
    pub fn fail_if(&mut self, failure: Value, position: Option<u32>) {
        let block = match self.failures.failed {
            Some(block) => block,
            None => {
                let block = self.cold_block();
                *self.failures.failed.insert(block)
            }
        };
        self.leave_if(failure, block, position);
    }

    /// Leaves the function with an error if `failure` is not 0.
    pub fn raise_if(&mut self, failure: Value, state: SqlState, message: &'static str, position: Option<u32>) {
        let block = self.raising_block(state, message);
        self.leave_if(failure, block, position);
    }

    /// Leaves the function with an error. What follows in the block is unreachable.
    pub fn raise(&mut self, state: SqlState, message: &'static str, position: Option<u32>) {
        let block = self.raising_block(state, message);
        let position = self.encode(position);
        self.b.ins().jump(block, &[position.into()]);
        let unreachable = self.b.create_block();
        self.b.switch_to_block(unreachable);
    }

    fn leave_if(&mut self, failure: Value, block: Block, position: Option<u32>) {
        let good = self.b.create_block();
        let position = self.encode(position);
        self.b.ins().brif(failure, block, &[position.into()], good, &[]);
        self.b.switch_to_block(good);
        self.b.seal_block(good);
    }

    fn raising_block(&mut self, state: SqlState, message: &'static str) -> Block {
        if let Some(&block) = self.failures.raised.get(&(state, message)) {
            return block;
        }
        let block = self.cold_block();
        self.failures.raised.insert((state, message), block);
        block
    }

    fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.append_block_param(block, types::I64);
        self.b.set_cold_block(block);
        block
    }

    /// Fills the cold blocks.
    pub fn emit_failures(&mut self) {
        let mut raised: Vec<_> = std::mem::take(&mut self.failures.raised).into_iter().collect();
        raised.sort_by_key(|&(_, block)| block);
        for ((state, message), block) in raised {
            self.b.switch_to_block(block);
            let worker = self.worker();
            let state = self.b.ins().iconst(types::I64, state.0.as_ptr() as i64);
            let text = self.b.ins().iconst(types::I64, message.as_ptr() as i64);
            let length = self.b.ins().iconst(types::I64, message.len() as i64);
            self.kernel_call(Kernel::Raise, &[worker, state, text, length]);
            self.leave(block);
        }
        if let Some(block) = self.failures.failed.take() {
            self.b.switch_to_block(block);
            self.leave(block);
        }
    }

    fn leave(&mut self, block: Block) {
        let position = self.b.block_params(block)[0];
        let worker = self.worker();
        self.b.ins().store(changing(), position, worker, std::mem::offset_of!(Worker, error_position) as i32);
        let code = self.b.ins().iconst(types::I32, self.failures.code);
        self.b.ins().return_(&[code]);
    }
}
