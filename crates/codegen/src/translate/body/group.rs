//! Group lookups, inline (see `runtime::abi::GroupLocal`).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use pipeline::ir::{GroupState, Inst, Known, State, StateId, Var};
use runtime::abi::{GROUP_PROBES, GroupLocal, Kernel};

use super::Body;
use crate::translate::value::{Val, changing, item};

/// Bits 0 to 48: the address in a tagged pointer.
pub(super) const ADDRESS: i64 = 0xffff_ffff_ffff;

impl Body<'_, '_> {
    /// For each of the hash's slots: empty, make a group; other tag or hash or other keys, next slot; else found.
    pub fn group(&mut self, inst: &Inst) {
        let Inst::Group { state, hash, row, equal, is_equal, init, .. } = inst else { return };
        let (state, hash, row, is_equal) = (*state, *hash, *row, *is_equal);
        self.values.count_lookup(state);
        let hash = self.values.get(hash).one();
        if let State::Group(GroupState { slots: Some(_), .. }) = &self.program.states[state] {
            return self.numbered_group(state, hash, row, init);
        }
        let local = self.code().local(state);
        let directory =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, directory) as i32);
        let mask =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, mask) as i32);
        let first = self.code().b.ins().ushr_imm_u(hash, 16);

        let (probe, miss, found) =
            (self.code().b.create_block(), self.code().b.create_block(), self.code().b.create_block());
        let (tagged, candidate, keys, next) = (
            self.code().b.create_block(),
            self.code().b.create_block(),
            self.code().b.create_block(),
            self.code().b.create_block(),
        );
        let i = self.code().b.append_block_param(probe, types::I64);
        let result = self.code().b.append_block_param(found, types::I64);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        self.code().b.ins().jump(probe, &[zero.into()]);

        self.code().b.switch_to_block(probe);
        let slot = self.code().b.ins().iadd(first, i);
        let slot = self.code().b.ins().band(slot, mask);
        let at = item(&mut self.code().b, directory, slot, 8);
        let entry = self.code().b.ins().load(types::I64, changing(), at, 0);
        self.code().b.ins().brif(entry, tagged, &[], miss, &[]);

        self.code().b.switch_to_block(tagged);
        let difference = self.code().b.ins().bxor(entry, hash);
        let difference = self.code().b.ins().ushr_imm_u(difference, 48);
        self.code().b.ins().brif(difference, next, &[], candidate, &[]);

        self.code().b.switch_to_block(candidate);
        let address = self.code().b.ins().iconst(types::I64, ADDRESS);
        let group = self.code().b.ins().band(entry, address);
        let its_hash = self.code().b.ins().load(types::I64, changing(), group, 0);
        let same = self.code().b.ins().icmp(IntCC::Equal, its_hash, hash);
        self.code().b.ins().brif(same, keys, &[], next, &[]);

        self.code().b.switch_to_block(keys);
        self.scope(|e| {
            e.values.define(row, Val::One(group));
            e.block(equal);
            let is_equal = e.values.get(is_equal).one();
            e.code().b.ins().brif(is_equal, found, &[group.into()], next, &[]);
        });

        self.code().b.switch_to_block(next);
        let following = self.code().b.ins().iadd_imm_s(i, 1);
        let more = self.code().b.ins().icmp_imm_u(IntCC::UnsignedLessThan, following, GROUP_PROBES as i64);
        self.code().b.ins().brif(more, probe, &[following.into()], miss, &[]);

        self.code().b.switch_to_block(miss);
        self.new_group(state, hash, row, init, found);
        self.code().b.switch_to_block(found);
        self.values.define(row, Val::One(result));
    }

    /// The group at a place, or, if none is there, that of the keys, which is put there unless there is no such place.
    pub fn known_group(&mut self, state: StateId, row: Var, Known { place, keys }: &Known, inst: &Inst) {
        let place = self.values.get(*place).one();
        let place = self.code().b.ins().uextend(types::I64, place);
        let local = self.code().local(state);
        let rows =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, known) as i32);
        let at = item(&mut self.code().b, rows, place, 8);
        let there = self.code().b.ins().load(types::I64, changing(), at, 0);
        let [miss, found] = std::array::from_fn(|_| self.code().b.create_block());
        let result = self.code().b.append_block_param(found, types::I64);
        self.code().b.ins().brif(there, found, &[there.into()], miss, &[]);

        self.code().b.switch_to_block(miss);
        self.code().b.set_cold_block(miss);
        self.scope(|e| {
            e.block(keys);
            e.group(inst);
            let group = e.values.get(row).one();
            let none = e.code().b.ins().iconst(types::I64, 0);
            let kept = e.code().b.ins().select(place, group, none);
            e.code().b.ins().store(changing(), kept, at, 0);
            e.code().b.ins().jump(found, &[group.into()]);
        });
        self.code().b.switch_to_block(found);
        self.values.define(row, Val::One(result));
    }

    /// The group of a number: that of its slot, if there is one.
    fn numbered_group(&mut self, state: StateId, number: Value, row: Var, init: &[Inst]) {
        let local = self.code().local(state);
        let directory =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, directory) as i32);
        let slots =
            self.code().b.ins().load(types::I64, changing(), local, std::mem::offset_of!(GroupLocal, mask) as i32);
        let [inside, miss, found] = std::array::from_fn(|_| self.code().b.create_block());
        let result = self.code().b.append_block_param(found, types::I64);
        let is_inside = self.code().b.ins().icmp(IntCC::UnsignedLessThan, number, slots);
        self.code().b.ins().brif(is_inside, inside, &[], miss, &[]);

        self.code().b.switch_to_block(inside);
        let at = item(&mut self.code().b, directory, number, 8);
        let group = self.code().b.ins().load(types::I64, changing(), at, 0);
        self.code().b.ins().brif(group, found, &[group.into()], miss, &[]);

        self.code().b.switch_to_block(miss);
        self.new_group(state, number, row, init, found);
        self.code().b.switch_to_block(found);
        self.values.define(row, Val::One(result));
    }

    /// Makes a group in the current block, which is seldom run, and goes on to `found` with it.
    fn new_group(&mut self, state: StateId, hash: Value, row: Var, init: &[Inst], found: Block) {
        let miss = self.code().b.current_block().expect("the caller has switched to it");
        self.code().b.set_cold_block(miss);
        let fresh = self.code().state_call(Kernel::GroupNew, state, Some(hash));
        self.scope(|e| {
            e.values.define(row, Val::One(fresh));
            e.block(init);
        });
        self.code().b.ins().jump(found, &[fresh.into()]);
    }
}
