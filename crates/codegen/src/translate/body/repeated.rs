//! Loops within a tuple: the rounds of a lambda.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, types};
use pipeline::ir::{Inst, Var};

use super::Body;
use crate::translate::value::{Val, part_types};

impl Body<'_, '_> {
    /// What is carried is given to the head of the loop, which dominates the rounds and what is behind them.
    pub(super) fn repeated(&mut self, times: Var, index: Var, carried: &[(Var, Var, Var)], body: &[Inst]) {
        let times = self.values.get(times).one();
        let zero = self.code().b.ins().iconst(types::I64, 0);
        let mut first: Vec<BlockArg> = vec![zero.into()];
        for &(_, value, _) in carried {
            first.extend(self.values.get(value).parts().map(BlockArg::from));
        }
        let (head, round, done) =
            (self.code().b.create_block(), self.code().b.create_block(), self.code().b.create_block());
        let number = self.code().b.append_block_param(head, types::I64);
        let mut values = Vec::with_capacity(carried.len());
        for &(value, ..) in carried {
            let parts = part_types(self.values.ty(value));
            values.push(parts.iter().map(|&t| self.code().b.append_block_param(head, t)).collect::<Vec<_>>());
        }
        self.code().b.ins().jump(head, &first);
        self.code().b.switch_to_block(head);
        self.values.define(index, Val::One(number));
        for (&(value, ..), parts) in carried.iter().zip(values) {
            self.values.define(value, Val::of_parts(&parts));
        }
        let more = self.code().b.ins().icmp(IntCC::SignedLessThan, number, times);
        self.code().b.ins().brif(more, round, &[], done, &[]);
        self.code().b.switch_to_block(round);
        self.code().b.seal_block(round);
        self.scope(|e| {
            e.block(body);
            let next = e.code().b.ins().iadd_imm_s(number, 1);
            let mut args: Vec<BlockArg> = vec![next.into()];
            for &(.., value) in carried {
                args.extend(e.values.get(value).parts().map(BlockArg::from));
            }
            e.code().b.ins().jump(head, &args);
        });
        self.code().b.seal_block(head);
        self.code().b.switch_to_block(done);
        self.code().b.seal_block(done);
    }
}
