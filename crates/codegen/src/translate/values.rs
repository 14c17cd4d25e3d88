//! Values at the current tuple: what is known at this point of the code, what is computed, read from a buffer or from memory
//! that stands for it.

mod accumulator;
mod operation;
mod parking;

use std::collections::HashMap;

use ::types::ops::hash::NULL_HASH;
use base::IdMap;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Ty, Var};
use runtime::abi::BATCH;

use super::code::{Code, combine_hashes, hash_value};
use super::stages::{Definition, Key, Stages};
use super::value::{Val, changing, clif_type, constant, item, load, store};
use accumulator::Accumulators;

/// The values of a function.
pub(super) struct Values<'b, 'p> {
    pub code: Code<'b>,
    vars: &'p IdMap<Var, Ty>,
    pub plan: Stages<'p>,
    known: Known,
    accumulators: Accumulators,
    /// Variables that rest in scratch memory, and where.
    parked: HashMap<Var, u32>,
    /// Where each stage's spilled values lie in the scratch memory, in the order of `Stage::spilled`.
    buffers: Vec<Vec<u32>>,
    /// The stage being translated.
    pub stage: usize,
    /// Number of the current tuple in the buffers that the previous stage has filled (in the batch: for the first).
    pub tuple: Option<Value>,
}

/// What is known at this point of the code.
struct Known {
    /// By [`Key::index`].
    values: Vec<Option<Val>>,
    /// Keys in the order in which they became known, to be forgotten at the end of a scope.
    log: Vec<usize>,
}

impl<'b, 'p> Values<'b, 'p> {
    pub fn new(code: Code<'b>, vars: &'p IdMap<Var, Ty>, plan: Stages<'p>) -> Self {
        Self {
            code,
            vars,
            plan,
            known: Known { values: vec![None; vars.len() + 2], log: Vec::new() },
            accumulators: Accumulators::default(),
            parked: HashMap::new(),
            buffers: Vec::new(),
            stage: 0,
            tuple: None,
        }
    }

    /// How much is known.
    pub fn mark(&self) -> usize {
        self.known.log.len()
    }

    /// Forgets what became known since then.
    pub fn forget(&mut self, mark: usize) {
        for key in self.known.log.drain(mark..) {
            self.known.values[key] = None;
        }
    }

    pub fn ty(&self, v: Var) -> Ty {
        self.vars[v]
    }

    /// The value of a variable, computed here if it is not known yet.
    pub fn get(&mut self, v: Var) -> Val {
        self.key(Key::Var(v))
    }

    /// The value of a key, computed or read from a buffer if it is not known yet.
    pub fn key(&mut self, key: Key) -> Val {
        if let Some(value) = self.known.values[key.index()] {
            return value;
        }
        if let Some(value) = self.fetch(key) {
            return value;
        }
        let value = match key {
            Key::Var(v) => {
                let (stage, definition) = self.plan.definition(v);
                match definition {
                    Definition::Lazy(op) if stage == self.stage || self.plan.is_rematerialised(v) => {
                        let ty = self.ty(v);
                        self.operation(op, ty)
                    }
                    _ => self.spilled_item(key),
                }
            }
            _ if self.stage > 0 => self.spilled_item(key),
            Key::Position => self.batch_item(std::mem::offset_of!(runtime::abi::Batch, selection), Ty::I32),
            Key::Row => self.batch_item(std::mem::offset_of!(runtime::abi::Batch, rows), Ty::Ptr),
        };
        self.learn(key, value);
        value
    }

    /// Makes a value known until the scope ends.
    fn learn(&mut self, key: Key, value: Val) {
        debug_assert!(self.known.values[key.index()].is_none());
        self.known.values[key.index()] = Some(value);
        self.known.log.push(key.index());
    }

    /// Defines a variable that is computed here.
    pub fn define(&mut self, v: Var, value: Val) {
        if !self.park(v, value) {
            self.learn(Key::Var(v), value);
        }
    }

    /// The type of a key's value.
    fn key_type(&self, key: Key) -> Ty {
        match key {
            Key::Position => Ty::I32,
            Key::Row => Ty::Ptr,
            Key::Var(v) => self.ty(v),
        }
    }

    fn batch_item(&mut self, field: usize, ty: Ty) -> Val {
        let array = self.code.batch_field(field);
        let tuple = self.tuple.expect("inside of a loop over tuples");
        let at = item(&mut self.code.b, array, tuple, ty.size());
        Val::One(self.code.b.ins().load(clif_type(ty), constant(), at, 0))
    }

    fn spilled_item(&mut self, key: Key) -> Val {
        let previous = self.stage - 1;
        let i = self.plan.stages[previous]
            .spilled
            .iter()
            .position(|&k| k == key)
            .unwrap_or_else(|| panic!("{key:?} is used in stage {} but not handed on to it", self.stage));
        let ty = self.key_type(key);
        let at = self.code.buffer_item(self.buffers[previous][i], self.tuple.expect("inside of a loop"), ty);
        // Buffers change between the loops, so not `readonly`.
        load(&mut self.code.b, changing(), ty, at, 0)
    }

    /// Buffers for what the stage hands on.
    pub fn reserve_buffers(&mut self, stage: usize) {
        let keys = self.plan.stages[stage].spilled.clone();
        let buffers = keys.iter().map(|&k| self.code.reserve(self.key_type(k).size() as usize * BATCH)).collect();
        debug_assert_eq!(self.buffers.len(), stage);
        self.buffers.push(buffers);
    }

    /// Writes the values that later stages need into the stage's buffers, as tuple number `n`.
    pub fn hand_on(&mut self, stage: usize, n: Value) {
        for i in 0..self.plan.stages[stage].spilled.len() {
            let key = self.plan.stages[stage].spilled[i];
            let value = self.key(key);
            let ty = self.key_type(key);
            let at = self.code.buffer_item(self.buffers[stage][i], n, ty);
            store(&mut self.code.b, value, at, 0);
        }
    }

    /// The hash of values in order, bit by bit that of [`types::ops::hash`].
    pub fn hash(&mut self, values: &[(Var, Option<Var>)]) -> Value {
        let mut all = None;
        for &(v, null) in values {
            let ty = self.ty(v);
            let value = self.get(v);
            let mut h = hash_value(&mut self.code, ty, value);
            if let Some(null) = null {
                let null = self.get(null).one();
                let of_null = self.code.b.ins().iconst(types::I64, NULL_HASH as i64);
                h = self.code.b.ins().select(null, of_null, h);
            }
            all = Some(match all {
                None => h,
                Some(first) => combine_hashes(&mut self.code, first, h),
            });
        }
        all.unwrap_or_else(|| self.code.b.ins().iconst(types::I64, 0))
    }
}
