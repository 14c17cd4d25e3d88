//! Values and entries that groups collect (`runtime::values`): code writes them where the list has room, and calls Rust for a
//! new chunk and for texts that have to be copied.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Callee, Ty};
use runtime::abi::Values;

use super::Code;
use crate::translate::value::{Val, changing, load, store};

impl Code<'_> {
    /// Adds to what a group collects; false if code does not do that for the callee.
    pub(super) fn collect(&mut self, callee: Callee, args: &[(Val, Ty)]) -> bool {
        let [(at, _), entry @ ..] = args else { return false };
        let words = match callee {
            Callee::CollectInteger | Callee::CollectWords(_) => entry,
            Callee::CollectText(words) => &entry[..usize::from(words)],
            _ => return false,
        };
        let at = at.one();
        // Words are in the order of the numbers.
        let mut words: Vec<Value> =
            words.iter().map(|(word, _)| self.b.ins().bxor_imm_u(word.one(), i64::MIN)).collect();
        let next = load(&mut self.b, changing(), Ty::I64, at, Values::NEXT).one();
        let end = load(&mut self.b, changing(), Ty::I64, at, Values::END).one();
        let mut is_other = self.b.ins().icmp(IntCC::Equal, next, end);
        if let Some((text, Ty::Str)) = entry.last() {
            let (low, high) = text.two();
            let length = self.b.ins().ireduce(types::I32, low);
            let is_long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, ::types::Str::INLINE as i64);
            is_other = self.b.ins().bor(is_other, is_long);
            words.extend([low, high]);
        }
        let (other, room, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(other);
        self.b.ins().brif(is_other, other, &[], room, &[]);
        self.b.seal_block(other);
        self.b.seal_block(room);

        self.b.switch_to_block(other);
        self.call_function(callee, args, &[], None);
        self.b.ins().jump(done, &[]);

        self.b.switch_to_block(room);
        for (number, &word) in words.iter().enumerate() {
            store(&mut self.b, Val::One(word), next, number as u32 * 8);
        }
        let next = self.b.ins().iadd_imm_s(next, words.len() as i64 * 8);
        store(&mut self.b, Val::One(next), at, Values::NEXT);
        self.b.ins().jump(done, &[]);
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        true
    }
}
