//! Calls of Rust.

use std::collections::HashMap;

use ::types::ops::date::Field;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, SigRef, Signature, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::FunctionBuilder;
use functions::ScalarFunction;
use pipeline::ir::{Callee, FoldKind, Ty};

use super::Code;
use crate::translate::value::{Val, changing, load, store};
use runtime::abi::{Kernel, Machine};

fn machine_type(machine: Machine) -> Type {
    match machine {
        Machine::I32 => types::I32,
        Machine::I64 => types::I64,
        Machine::F64 => types::F64,
    }
}

/// What calls need.
pub struct Calls {
    /// Memory for arguments and results.
    slot: StackSlot,
    /// Most slots of it that a call needs.
    slots: u32,
    signatures: HashMap<usize, SigRef>,
}

impl Calls {
    pub fn new(b: &mut FunctionBuilder<'_>) -> Self {
        let slot = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 4));
        Self { slot, slots: 0, signatures: HashMap::new() }
    }

    /// Gives the memory its size.
    pub fn finish(&self, b: &mut FunctionBuilder<'_>) {
        b.func.sized_stack_slots[self.slot].size = self.slots * 16;
    }
}

impl Code<'_> {
    fn signature(&mut self, key: usize, params: &[Type], result: Option<Type>) -> SigRef {
        if let Some(&signature) = self.calls.signatures.get(&key) {
            return signature;
        }
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params.extend(params.iter().map(|&t| AbiParam::new(t)));
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        self.calls.signatures.insert(key, signature);
        signature
    }

    /// Calls a kernel.
    pub fn kernel_call(&mut self, kernel: Kernel, args: &[Value]) -> Option<Value> {
        let (params, result) = kernel.signature();
        let params: Vec<Type> = params.iter().copied().map(machine_type).collect();
        let signature = self.signature(kernel as usize, &params, result.map(machine_type));
        // An absolute address, not a symbol: a program then has nothing to link. Machine code is never stored or sent.
        let address = self.b.ins().iconst(types::I64, kernel.address() as i64);
        let call = self.b.ins().call_indirect(signature, address, args);
        self.b.inst_results(call).first().copied()
    }

    /// Calls a [`FoldFn`](runtime::abi::FoldFn) with what follows the worker.
    pub fn fold_call(&mut self, kind: FoldKind, ty: Ty, args: [Value; 6]) {
        let signature = self.signature(usize::MAX - 1, &[types::I64; 7], Some(types::I32));
        let address = self.b.ins().iconst(types::I64, runtime::abi::fold_function(kind, ty) as usize as i64);
        let [accumulator, seen, values, nulls, positions, count] = args;
        let args = [self.worker(), accumulator, seen, values, nulls, positions, count];
        let call = self.b.ins().call_indirect(signature, address, &args);
        let failure = self.b.inst_results(call)[0];
        self.fail_if(failure, None);
    }

    /// The address of an argument slot.
    pub fn argument(&mut self, index: u32) -> Value {
        self.calls.slots = self.calls.slots.max(index + 1);
        self.b.ins().stack_addr(types::I64, self.calls.slot, index as i32 * 16)
    }

    /// What never fails and has a kernel of its own, without a place in memory for its arguments and its result.
    fn direct(&mut self, callee: Callee, args: &[(Val, Ty)]) -> Option<Value> {
        let field = |code: &mut Self, field: Field| code.b.ins().iconst(types::I32, field as i64);
        match (callee, args) {
            (Callee::Scalar(ScalarFunction::LENGTH), [(text, _)]) => {
                let (low, high) = text.two();
                self.kernel_call(Kernel::StrLength, &[low, high])
            }
            (Callee::Scalar(ScalarFunction::OCTET_LENGTH), [(text, _)]) => {
                let (low, _) = text.two();
                let bytes = self.b.ins().ireduce(types::I32, low);
                Some(self.b.ins().uextend(types::I64, bytes))
            }
            (Callee::Scalar(ScalarFunction::PLAIN_INTEGER), [(text, _)]) => {
                let (low, high) = text.two();
                self.kernel_call(Kernel::StrInteger, &[low, high])
            }
            (Callee::ExtractDate(of), [(days, _)]) if callee.never_fails() => {
                let field = field(self, of);
                self.kernel_call(Kernel::DateField, &[field, days.one()])
            }
            (Callee::ExtractTimestamp(of), [(at, _)]) => {
                let field = field(self, of);
                self.kernel_call(Kernel::TimestampField, &[field, at.one()])
            }
            _ => None,
        }
    }

    /// What code does itself, or by a kernel, and its results; none of what is called with places in memory.
    fn by_code(&mut self, callee: Callee, args: &[(Val, Ty)], position: Option<u32>) -> Option<Vec<Val>> {
        match (callee, args) {
            (Callee::Subscript(_, ty), [(list, _), (number, _)]) => self.subscript(*list, number.one(), ty),
            (Callee::Element(_, ty), [(list, _), (at, _)]) => self.element_at(*list, at.one(), ty),
            (Callee::VarianceAdd, [(to, _), (x, _)]) => {
                let args = [self.worker(), to.one(), x.one()];
                let failure = self.kernel_call(Kernel::VarianceAdd, &args).expect("it returns a value");
                self.fail_if(failure, position);
                Some(Vec::new())
            }
            (Callee::ShortText(form), [(number, _)]) => {
                let (to, form) = (self.argument(0), self.b.ins().iconst(types::I32, i64::from(form.number())));
                let found = self.kernel_call(Kernel::ShortText, &[number.one(), form, to]).expect("it returns a value");
                let found = self.b.ins().ireduce(types::I8, found);
                Some(vec![load(&mut self.b, changing(), Ty::Str, to, 0), Val::One(found)])
            }
            (Callee::FirstSeen(state), [(one, _), (other, _)]) => {
                let args = [self.local(state), one.one(), other.one()];
                self.kernel_call(Kernel::FirstSeen, &args).map(|seen| vec![Val::One(seen)])
            }
            (Callee::CollectInteger | Callee::CollectWords(_) | Callee::CollectText(_), _) => {
                self.collect(callee, args).then(Vec::new)
            }
            _ => self.direct(callee, args).map(|value| vec![Val::One(value)]),
        }
    }

    /// Calls a function of the ABI, and leaves if it fails.
    pub fn call(&mut self, callee: Callee, args: &[(Val, Ty)], results: &[Ty], position: Option<u32>) -> Vec<Val> {
        if let Some(found) = self.by_code(callee, args, position) {
            return found;
        }
        self.call_function(callee, args, results, position)
    }

    /// The same, whatever code could do itself.
    pub(super) fn call_function(
        &mut self,
        callee: Callee,
        args: &[(Val, Ty)],
        results: &[Ty],
        position: Option<u32>,
    ) -> Vec<Val> {
        let (function, immediate) = runtime::abi::function(callee);
        for (i, &(value, ty)) in args.iter().enumerate() {
            let at = self.argument(i as u32);
            let value = self.slot_value(value, ty);
            store(&mut self.b, value, at, 0);
        }
        let first = self.argument(0);
        let out = self.argument(args.len() as u32);
        // Results never overlap arguments.
        self.argument((args.len() + results.len().max(1)) as u32 - 1);
        let signature = self.signature(usize::MAX, &[types::I64; 4], Some(types::I32));
        let address = self.b.ins().iconst(types::I64, function as usize as i64);
        let immediate = self.b.ins().iconst(types::I64, immediate as i64);
        let worker = self.worker();
        let call = self.b.ins().call_indirect(signature, address, &[worker, immediate, first, out]);
        let failure = self.b.inst_results(call)[0];
        self.fail_if(failure, position);
        results.iter().enumerate().map(|(i, &ty)| load(&mut self.b, changing(), ty, out, i as u32 * 16)).collect()
    }

    /// Slots hold integers extended to 8 bytes.
    fn slot_value(&mut self, value: Val, ty: Ty) -> Val {
        match ty {
            Ty::Bool => Val::One(self.b.ins().uextend(types::I64, value.one())),
            Ty::I16 | Ty::I32 => Val::One(self.b.ins().sextend(types::I64, value.one())),
            Ty::F32 => {
                let bits = self.b.ins().bitcast(types::I32, cranelift_codegen::ir::MemFlagsData::new(), value.one());
                Val::One(self.b.ins().uextend(types::I64, bits))
            }
            _ => value,
        }
    }
}
