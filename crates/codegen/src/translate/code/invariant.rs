//! What does not change while the function runs is read once, at its start.
//!
//! Cranelift does not move loads out of loops. So loads whose addresses are known at the start are inserted there, in front
//! of the jump to the code proper, when they are first asked for. A batch has up to 1,024 tuples: what few of them need
//! costs little, and what does not fit the registers is spilled, which is as cheap as reading it again.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use pipeline::ir::Ty;

use super::Code;
use crate::translate::value::{Val, constant, part_types};

/// Most values that are read at the start: each of them is alive from there to its last use.
const MOST: usize = 128;

/// Loads at the start, by base, offset and type.
pub(super) struct Invariants {
    /// The entry block: the loads, then a jump.
    entry: Block,
    loads: HashMap<(Value, i32, Type), Value>,
}

impl Invariants {
    pub fn new(entry: Block) -> Self {
        Self { entry, loads: HashMap::new() }
    }
}

impl Code<'_> {
    /// The value of a type at an address, both of which stay the same; `base` is a parameter or an invariant itself.
    fn invariant(&mut self, ty: Type, base: Value, offset: usize) -> Value {
        let offset = i32::try_from(offset).expect("arrays of pointers are small");
        if self.invariants.loads.len() >= MOST && !self.invariants.loads.contains_key(&(base, offset, ty)) {
            return self.b.ins().load(ty, constant(), base, offset);
        }
        *self.invariants.loads.entry((base, offset, ty)).or_insert_with(|| {
            let mut cursor = FuncCursor::new(self.b.func).at_last_inst(self.invariants.entry);
            cursor.ins().load(ty, constant(), base, offset)
        })
    }

    /// The same for pointers.
    pub fn invariant_pointer(&mut self, base: Value, offset: usize) -> Value {
        self.invariant(types::I64, base, offset)
    }

    /// The same for values of the IR.
    pub fn invariant_value(&mut self, ty: Ty, base: Value, offset: usize) -> Val {
        match *part_types(ty) {
            [t] => Val::One(self.invariant(t, base, offset)),
            _ => {
                let low = self.invariant(types::I64, base, offset);
                Val::Two(low, self.invariant(types::I64, base, offset + 8))
            }
        }
    }
}
