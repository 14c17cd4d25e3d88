//! Group lookups, inline (see `runtime::abi::GroupLocal`).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use pipeline::ir::{Inst, StateId, Var};
use runtime::abi::{GROUP_PROBES, GroupLocal, Kernel};

use super::Emitter;
use super::value::{Val, changing, item};

/// Bits 0 to 48: the address in a tagged pointer.
pub(super) const ADDRESS: i64 = 0xffff_ffff_ffff;

impl Emitter<'_, '_> {
    /// For each of the hash's slots: empty, make a group; other tag or hash or other keys, next slot; else found.
    pub(super) fn group(&mut self, state: StateId, hash: Var, row: Var, equal: &[Inst], is_equal: Var, init: &[Inst]) {
        self.count_lookup(state);
        let hash = self.get(hash).one();
        let local = self.local(state);
        let directory =
            self.b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, directory) as i32);
        let mask = self.b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, mask) as i32);
        let first = self.b.ins().ushr_imm_u(hash, 16);

        let (probe, miss, found) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let (tagged, candidate, keys, next) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        let i = self.b.append_block_param(probe, types::I64);
        let result = self.b.append_block_param(found, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(probe, &[zero.into()]);

        self.b.switch_to_block(probe);
        let slot = self.b.ins().iadd(first, i);
        let slot = self.b.ins().band(slot, mask);
        let at = item(&mut self.b, directory, slot, 8);
        let entry = self.b.ins().load(types::I64, changing(), at, 0);
        self.b.ins().brif(entry, tagged, &[], miss, &[]);

        self.b.switch_to_block(tagged);
        let difference = self.b.ins().bxor(entry, hash);
        let difference = self.b.ins().ushr_imm_u(difference, 48);
        self.b.ins().brif(difference, next, &[], candidate, &[]);

        self.b.switch_to_block(candidate);
        let address = self.b.ins().iconst(types::I64, ADDRESS);
        let group = self.b.ins().band(entry, address);
        let its_hash = self.b.ins().load(types::I64, changing(), group, 0);
        let same = self.b.ins().icmp(IntCC::Equal, its_hash, hash);
        self.b.ins().brif(same, keys, &[], next, &[]);

        self.b.switch_to_block(keys);
        self.scope(|e| {
            e.define(row, Val::One(group));
            e.block(equal);
            let is_equal = e.get(is_equal).one();
            e.b.ins().brif(is_equal, found, &[group.into()], next, &[]);
        });

        self.b.switch_to_block(next);
        let following = self.b.ins().iadd_imm_s(i, 1);
        let more = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, following, GROUP_PROBES as i64);
        self.b.ins().brif(more, probe, &[following.into()], miss, &[]);

        self.b.switch_to_block(miss);
        self.b.set_cold_block(miss);
        let fresh = self.state_call(Kernel::GroupNew, state, Some(hash));
        self.scope(|e| {
            e.define(row, Val::One(fresh));
            e.block(init);
        });
        self.b.ins().jump(found, &[fresh.into()]);

        self.b.switch_to_block(found);
        self.define(row, Val::One(result));
    }
}
