//! Values of generated code: how the IR's types lie in Cranelift's registers and in memory.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use pipeline::ir::Ty;

/// A value: one Cranelift value, or two words for strings and intervals.
#[derive(Clone, Copy, Debug)]
pub(super) enum Val {
    One(Value),
    Two(Value, Value),
}

impl Val {
    /// The value of these parts.
    pub fn of_parts(parts: &[Value]) -> Self {
        match *parts {
            [one] => Self::One(one),
            [low, high] => Self::Two(low, high),
            _ => unreachable!("values have one or two parts"),
        }
    }
    /// The only part.
    pub fn one(self) -> Value {
        match self {
            Self::One(v) => v,
            Self::Two(..) => unreachable!("the verifier keeps 16-byte values out of operations on single words"),
        }
    }
    /// Low and high word.
    pub fn two(self) -> (Value, Value) {
        match self {
            Self::Two(low, high) => (low, high),
            Self::One(_) => unreachable!("the verifier keeps single words out of operations on strings"),
        }
    }
    /// All parts.
    pub fn parts(self) -> impl Iterator<Item = Value> {
        let (a, b) = match self {
            Self::One(v) => (v, None),
            Self::Two(a, b) => (a, Some(b)),
        };
        std::iter::once(a).chain(b)
    }
}

/// The Cranelift types of the parts of a value.
pub(super) fn part_types(ty: Ty) -> &'static [Type] {
    match ty {
        Ty::Bool => &[types::I8],
        Ty::I16 => &[types::I16],
        Ty::I32 => &[types::I32],
        Ty::I64 | Ty::Ptr => &[types::I64],
        Ty::I128 => &[types::I128],
        Ty::F32 => &[types::F32],
        Ty::F64 => &[types::F64],
        Ty::Str | Ty::Interval => &[types::I64, types::I64],
    }
}

/// The Cranelift type of a value with one part.
pub(super) fn clif_type(ty: Ty) -> Type {
    part_types(ty)[0]
}

/// Memory that may change while the function runs.
pub(super) fn changing() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Memory that does not change while the function runs, behind a pointer that is valid wherever it is known: loads may
/// be moved, merged and hoisted out of loops.
pub(super) fn constant() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly().with_can_move()
}

/// Memory that does not change while the function runs, but whose address need not be valid everywhere.
pub(super) fn stable() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly()
}

/// Reads a value.
pub(super) fn load(b: &mut FunctionBuilder<'_>, flags: MemFlagsData, ty: Ty, base: Value, offset: u32) -> Val {
    let offset = i32::try_from(offset).expect("rows and buffers are smaller than 2 GiB");
    match *part_types(ty) {
        [t] => Val::One(b.ins().load(t, flags, base, offset)),
        _ => {
            let low = b.ins().load(types::I64, flags, base, offset);
            Val::Two(low, b.ins().load(types::I64, flags, base, offset + 8))
        }
    }
}

/// Writes a value.
pub(super) fn store(b: &mut FunctionBuilder<'_>, value: Val, base: Value, offset: u32) {
    let offset = i32::try_from(offset).expect("rows and buffers are smaller than 2 GiB");
    for (i, part) in value.parts().enumerate() {
        b.ins().store(changing(), part, base, offset + 8 * i as i32);
    }
}

/// The address of item `index` (I64) in an array of items of `size` bytes, a power of two.
pub(super) fn item(b: &mut FunctionBuilder<'_>, array: Value, index: Value, size: u32) -> Value {
    let offset = match size {
        1 => index,
        _ => b.ins().ishl_imm_u(index, i64::from(size.trailing_zeros())),
    };
    b.ins().iadd(array, offset)
}
