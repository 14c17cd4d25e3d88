//! Stopping in the middle of a batch, so that others get their turn beside a match that delivers without end.
//!
//! Between two deliveries of a generator, all that the function knows lies in the scratch memory: the buffers that earlier
//! stages have filled, and the generators' own. So it may return there, after it has written the stage's number to
//! `Worker::resume`. Called again, with an equal batch and the same memory, it leaves out the loops of the stages up to
//! that one and goes on with the next delivery (see `runtime::abi`).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block as Code, InstBuilder, Value, types};
use runtime::abi::{Kernel, PAUSED, Worker};

use super::Body;
use crate::translate::value::changing;

/// What a function returns that has come to its end, and one that has paused.
const ENDED: i64 = 0;
const STOPPED: i64 = 2;

/// The function's end, which takes what it returns.
#[derive(Clone, Copy)]
pub(super) struct Pause(Code);

impl Body<'_, '_> {
    /// Prepares a function that may pause.
    pub fn begin_pausing(&mut self) {
        self.pause = self.values.plan.can_pause().then(|| {
            let exit = self.code().b.create_block();
            self.code().b.append_block_param(exit, types::I32);
            Pause(exit)
        });
    }

    /// Ends the function.
    pub fn end_function(&mut self) {
        let ended = self.code().b.ins().iconst(types::I32, ENDED);
        let result = match self.pause {
            Some(Pause(exit)) => {
                self.code().b.ins().jump(exit, &[ended.into()]);
                self.code().b.switch_to_block(exit);
                self.code().b.block_params(exit)[0]
            }
            None => ended,
        };
        self.add_folds();
        self.values.store_accumulators();
        self.code().b.ins().return_(&[result]);
    }

    /// Leaves out what follows if the batch goes on behind it: the returned block is to be entered there.
    pub fn skip_if_resumed(&mut self) -> Option<Code> {
        self.pause?;
        let (begin, behind) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.set_cold_block(behind);
        let stage = self.resumed_stage();
        self.code().b.ins().brif(stage, behind, &[], begin, &[]);
        self.code().b.switch_to_block(begin);
        Some(behind)
    }

    /// In a block that [`skip_if_resumed`](Self::skip_if_resumed) has returned: goes to `here` if the batch goes on at the
    /// generator of `stage`, else to `further`, behind one of its deliveries, with a count that does not matter.
    pub fn find_resumed(&mut self, stage: usize, here: Code, further: Code) {
        let (found, later) = (self.code().b.create_block(), self.code().b.create_block());
        let resumed = self.resumed_stage();
        let is_here = self.code().b.ins().icmp_imm_u(IntCC::Equal, resumed, stage as i64 + 1);
        self.code().b.ins().brif(is_here, found, &[], later, &[]);
        self.code().b.switch_to_block(later);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        self.code().b.ins().jump(further, &[zero.into()]);
        self.code().b.switch_to_block(found);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        self.set_resumed_stage(zero);
        self.code().b.ins().jump(here, &[]);
    }

    /// The generator of `stage` begins, where it is not gone on with.
    pub fn mark_text(&mut self, stage: usize) {
        let worker = self.code().worker();
        let stage = self.code().b.ins().iconst(types::I64, stage as i64);
        self.code().kernel_call(Kernel::MarkText, &[worker, stage]);
    }

    /// Where the steps lie that generators may go.
    pub fn steps(&mut self) -> Value {
        let worker = self.code().worker();
        self.code().b.ins().iadd_imm_s(worker, std::mem::offset_of!(Worker, steps) as i64)
    }

    /// Stops if that is what the generator of `stage` says.
    pub fn pause_if_told(&mut self, stage: usize, deliveries: Value) {
        let Pause(exit) = self.pause.expect("there is a generator");
        let (stop, on) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.set_cold_block(stop);
        let told = self.code().b.ins().icmp_imm_s(IntCC::Equal, deliveries, PAUSED as i64);
        self.code().b.ins().brif(told, stop, &[], on, &[]);
        self.code().b.switch_to_block(stop);
        let at = self.code().b.ins().iconst(types::I64, stage as i64 + 1);
        self.set_resumed_stage(at);
        let stopped = self.code().b.ins().iconst(types::I32, STOPPED);
        self.code().b.ins().jump(exit, &[stopped.into()]);
        self.code().b.switch_to_block(on);
    }

    fn resumed_stage(&mut self) -> Value {
        let worker = self.code().worker();
        self.code().b.ins().load(types::I64, changing(), worker, std::mem::offset_of!(Worker, resume) as i32)
    }

    fn set_resumed_stage(&mut self, stage: Value) {
        let worker = self.code().worker();
        self.code().b.ins().store(changing(), stage, worker, std::mem::offset_of!(Worker, resume) as i32);
    }
}
