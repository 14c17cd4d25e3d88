//! Elements of lists by their number, where all take as many bytes (decision 40): code reads them where they lie.

use ::types::ops::array::{NULL, VALUE, stride_of};
use ::types::{Physical, Str};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Type, Value, types};
use pipeline::ir::Ty;

use super::Code;
use crate::translate::value::{Val, changing, part_types, store};

/// The layout of elements that code reads.
fn layout(ty: Ty) -> Option<Physical> {
    match ty {
        Ty::I32 => Some(Physical::I32),
        Ty::I64 => Some(Physical::I64),
        Ty::F32 => Some(Physical::F32),
        Ty::F64 => Some(Physical::F64),
        _ => None,
    }
}

impl Code<'_> {
    /// The element of a list that has a number, from 1 on, and whether it is NULL or there is none; none of elements that code
    /// does not read.
    pub(super) fn subscript(&mut self, list: Val, number: Value, ty: Ty) -> Option<Vec<Val>> {
        let physical = layout(ty)?;
        let bytes = stride_of(physical)? as i64;
        let (start, length) = self.payload(list);

        // No more elements than bytes, so that the product does not overflow.
        let place = self.b.ins().iadd_imm_s(number, -1);
        let is_few = self.b.ins().icmp(IntCC::UnsignedLessThan, place, length);
        let at = self.b.ins().imul_imm_s(place, bytes);
        let is_inside = self.b.ins().icmp(IntCC::UnsignedLessThan, at, length);
        let is_there = self.b.ins().band(is_few, is_inside);
        let [there, missing, done] = std::array::from_fn(|_| self.b.create_block());
        let value = self.b.append_block_param(done, part_types(ty)[0]);
        let null = self.b.append_block_param(done, types::I8);
        self.b.ins().brif(is_there, there, &[], missing, &[]);
        self.b.seal_block(there);
        self.b.seal_block(missing);

        self.b.switch_to_block(there);
        let at = self.b.ins().iadd(start, at);
        let (found, is_null) = self.marked(at, physical);
        self.b.ins().jump(done, &[found.into(), is_null.into()]);

        self.b.switch_to_block(missing);
        let nothing = self.nothing(ty);
        let yes = self.b.ins().iconst(types::I8, 1);
        self.b.ins().jump(done, &[nothing.into(), yes.into()]);
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        Some(vec![Val::One(value), Val::One(null)])
    }

    /// The element of a list or the field of a struct that begins at a byte, whether it is NULL, and where the next one begins; none of
    /// elements that code does not read.
    pub(super) fn element_at(&mut self, list: Val, at: Value, ty: Ty) -> Option<Vec<Val>> {
        let physical = layout(ty)?;
        let bytes = stride_of(physical)? as i64;
        let (start, _) = self.payload(list);
        let from = self.b.ins().iadd(start, at);
        let (found, is_null) = self.marked(from, physical);
        let nothing = self.nothing(ty);
        let found = self.b.ins().select(is_null, nothing, found);
        let next = self.b.ins().iadd_imm_s(at, bytes);
        Some(vec![Val::One(found), Val::One(is_null), Val::One(next)])
    }

    /// What stands in the place of NULL.
    fn nothing(&mut self, ty: Ty) -> Value {
        match ty {
            Ty::F32 => self.b.ins().f32const(0.0),
            Ty::F64 => self.b.ins().f64const(0.0),
            _ => self.b.ins().iconst(part_types(ty)[0], 0),
        }
    }

    /// Where the bytes of a list begin, and how many they are.
    fn payload(&mut self, list: Val) -> (Value, Value) {
        let (low, high) = list.two();
        let length = self.b.ins().ireduce(types::I32, low);
        let length = self.b.ins().uextend(types::I64, length);
        // What is inline gets an address.
        let header = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4));
        let header = self.b.ins().stack_addr(types::I64, header, 0);
        store(&mut self.b, list, header, 0);
        let inside = self.b.ins().iadd_imm_s(header, size_of::<u32>() as i64);
        let is_inline = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, Str::INLINE as i64);
        (self.b.ins().select(is_inline, inside, high), length)
    }

    /// The value of the element that lies there, and whether it is NULL.
    fn marked(&mut self, at: Value, physical: Physical) -> (Value, Value) {
        let marker = self.read(types::I8, at, 0);
        let none = self.b.ins().band_imm_u(marker, i64::from(NULL));
        let is_null = self.b.ins().icmp_imm_u(IntCC::NotEqual, none, 0);
        let first = self.b.ins().band_imm_u(marker, i64::from(VALUE) - 1);
        (self.element(at, first, physical), is_null)
    }

    fn read(&mut self, ty: Type, at: Value, offset: i32) -> Value {
        self.b.ins().load(ty, changing(), at, offset)
    }

    /// The value of an element whose first byte, but for what marks it, is given.
    fn element(&mut self, at: Value, first: Value, physical: Physical) -> Value {
        if matches!(physical, Physical::I32 | Physical::F32) {
            let first = self.b.ins().uextend(types::I32, first);
            let first = self.b.ins().ishl_imm_u(first, 28);
            let rest = self.sevens(types::I32, at, 1);
            let bits = self.b.ins().bor(first, rest);
            return match physical {
                Physical::I32 => self.b.ins().bxor_imm_u(bits, 1 << 31),
                _ => self.float(bits, types::F32),
            };
        }
        let second = self.read(types::I8, at, 1);
        let (first, second) = (self.b.ins().uextend(types::I64, first), self.b.ins().uextend(types::I64, second));
        let (first, second) = (self.b.ins().ishl_imm_u(first, 63), self.b.ins().ishl_imm_u(second, 56));
        let rest = self.sevens(types::I64, at, 2);
        let bits = self.b.ins().bor(second, rest);
        let bits = self.b.ins().bor(first, bits);
        if physical == Physical::I64 { self.b.ins().bxor_imm_u(bits, i64::MIN) } else { self.float(bits, types::F64) }
    }

    /// The float whose bits are in the order of the values: negative ones the other way round.
    fn float(&mut self, bits: Value, ty: Type) -> Value {
        let sign = if ty == types::F32 { 1 << 31 } else { i64::MIN };
        let turned = self.b.ins().bxor_imm_u(bits, sign);
        let inverse = self.b.ins().bnot(bits);
        let is_positive = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, bits, 0);
        let bits = self.b.ins().select(is_positive, turned, inverse);
        self.b.ins().bitcast(ty, MemFlagsData::new(), bits)
    }

    /// The bits of four or eight bytes that have seven each, the highest first: halves, quarters and eighths move together.
    fn sevens(&mut self, ty: Type, at: Value, offset: i32) -> Value {
        let bytes = self.read(ty, at, offset);
        let mut bits = self.b.ins().bswap(bytes);
        let steps = [(0x007f_007f_007f_007f, 8, 1), (0x0000_3fff_0000_3fff, 16, 2), (0x0fff_ffff, 32, 4)];
        for (low, distance, by) in steps.into_iter().take(if ty == types::I32 { 2 } else { 3 }) {
            let (low, high) = if ty == types::I32 {
                (low & 0xffff_ffff, (low << distance) & 0xffff_ffff)
            } else {
                (low, low << distance)
            };
            let lower = self.b.ins().band_imm_u(bits, low);
            let higher = self.b.ins().band_imm_u(bits, high);
            let higher = self.b.ins().ushr_imm_u(higher, by);
            bits = self.b.ins().bor(lower, higher);
        }
        bits
    }
}
