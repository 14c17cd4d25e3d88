//! Exact sums of doubles (`types::ops::sum`).
//!
//! In rows of groups, code adds to the pair itself, and calls Rust if that would lose something. The values of a sum
//! without keys are gathered in a buffer instead, which a kernel adds up in lanes: at the end of the batch, and when it
//! is full.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use pipeline::ir::{StateId, Ty};
use runtime::abi::{BATCH, Kernel};

use super::Code;
use crate::translate::value::{Val, store};

/// The values of a sum without keys that are not added yet.
#[derive(Clone, Copy)]
pub struct Gathered {
    /// Where the buffer lies in the scratch memory.
    buffer: u32,
    count: Variable,
}

impl Code<'_> {
    /// An empty buffer.
    pub fn gather(&mut self) -> Gathered {
        let buffer = self.reserve(BATCH * size_of::<f64>());
        let count = self.b.declare_var(types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.def_var(count, zero);
        Gathered { buffer, count }
    }

    /// `types::ops::sum::Pair::add`: high and low part, and not 0 if they would not be exact.
    pub fn add_to_pair(&mut self, high: Value, low: Value, x: Value) -> (Value, Value, Value) {
        let sum = self.b.ins().fadd(high, x);
        let of_x = self.b.ins().fsub(sum, high);
        let of_high = self.b.ins().fsub(sum, of_x);
        let (lost_of_high, lost_of_x) = (self.b.ins().fsub(high, of_high), self.b.ins().fsub(x, of_x));
        let lost = self.b.ins().fadd(lost_of_high, lost_of_x);
        let new_low = self.b.ins().fadd(low, lost);
        let difference = self.b.ins().fsub(new_low, low);
        let a = self.b.ins().fsub(difference, lost);
        let difference = self.b.ins().fsub(new_low, lost);
        let b = self.b.ins().fsub(difference, low);
        let both = self.b.ins().bor(a, b);
        (sum, new_low, self.b.ins().bitcast(types::I64, MemFlagsData::new(), both))
    }

    pub fn add_to_buffer(&mut self, state: StateId, offset: u32, gathered: Gathered, value: Val) {
        let n = self.b.use_var(gathered.count);
        let at = self.buffer_item(gathered.buffer, n, Ty::F64);
        store(&mut self.b, value, at, 0);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.def_var(gathered.count, n);
        let full = self.b.ins().icmp_imm_u(IntCC::Equal, n, BATCH as i64);
        let (flush, done) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(flush);
        self.b.ins().brif(full, flush, &[], done, &[]);
        self.b.switch_to_block(flush);
        self.add_gathered(state, offset, gathered);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Adds what was gathered; the buffer is empty then.
    pub fn add_gathered(&mut self, state: StateId, offset: u32, gathered: Gathered) {
        let row = self.local_row(state);
        let sum = self.b.ins().iadd_imm_s(row, i64::from(offset));
        let zero = self.b.ins().iconst(types::I64, 0);
        let values = self.buffer_item(gathered.buffer, zero, Ty::F64);
        let (worker, n) = (self.worker(), self.b.use_var(gathered.count));
        let failure = self.kernel_call(Kernel::SumAddAll, &[worker, sum, values, n]).expect("it returns a value");
        self.fail_if(failure, None);
        self.b.def_var(gathered.count, zero);
    }
}
