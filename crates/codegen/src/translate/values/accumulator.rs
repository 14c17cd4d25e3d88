//! Fields of rows without keys stay in registers while a batch runs.
//!
//! An aggregation without keys loads, adds and stores the same few fields for every tuple. If a body does nothing else
//! with its `LocalRow` (nobody gets its address), each field becomes a variable: loaded at the start of the batch, and
//! stored at its end; the values of exact sums are gathered. After an error nobody looks at the row.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cranelift_codegen::ir::{InstBuilder, types};
use cranelift_frontend::Variable;
use pipeline::ir::{Inst, Operation, StateId, Ty, Var};
use runtime::abi::{ExactSum, GroupLocal, Kernel};

use super::Values;
use crate::translate::code::Gathered;
use crate::translate::value::{Val, changing, load, part_types, store};

/// Most fields that become variables: beyond that there are no registers, and each variable is one more thing to know of
/// at each branch.
const MOST: usize = 64;

/// The variables of fields.
#[derive(Default)]
pub(super) struct Accumulators {
    /// Variables that are a `LocalRow`.
    rows: HashMap<Var, StateId>,
    /// By state and offset: type and parts.
    fields: BTreeMap<(StateId, u32), (Ty, Vec<Variable>)>,
    /// Exact sums, likewise.
    sums: BTreeMap<(StateId, u32), Gathered>,
    /// Tuples of the batch that looked for a group.
    lookups: BTreeMap<StateId, Variable>,
}

/// What a body does with rows without keys.
#[derive(Default)]
struct Uses {
    rows: HashMap<Var, StateId>,
    fields: BTreeMap<(StateId, u32), Ty>,
    sums: BTreeSet<(StateId, u32)>,
    /// States with keys.
    groups: BTreeSet<StateId>,
    /// States whose rows are used in another way.
    escaped: HashSet<StateId>,
}

impl Uses {
    fn access(&mut self, base: Var, offset: u32, ty: Ty) {
        let Some(&state) = self.rows.get(&base) else { return };
        let end = offset + ty.size();
        let overlaps = |&(&(s, at), &t): &(&(StateId, u32), &Ty)| {
            s == state && at < end && offset < at + t.size() && (at, t) != (offset, ty)
        };
        if self.fields.iter().any(|field| overlaps(&field)) {
            self.escaped.insert(state);
        }
        self.fields.insert((state, offset), ty);
    }

    pub fn add_to_sum(&mut self, base: Var, offset: u32) {
        let Some(&state) = self.rows.get(&base) else { return };
        self.sums.insert((state, offset));
    }

    /// States that have a field in registers that is part of a sum, too.
    fn mixed(&self) -> Vec<StateId> {
        let part = |&&(state, at): &&(StateId, u32)| {
            self.sums.iter().any(|&(s, sum)| s == state && (sum..sum + size_of::<ExactSum>() as u32).contains(&at))
        };
        self.fields.keys().filter(part).map(|&(state, _)| state).collect()
    }

    fn escape(&mut self, v: Var) {
        if let Some(&state) = self.rows.get(&v) {
            self.escaped.insert(state);
        }
    }

    fn walk(&mut self, insts: &[Inst], ty: &impl Fn(Var) -> Ty) {
        for inst in insts {
            match inst {
                Inst::Let { var, op: Operation::LocalRow(state) } => {
                    self.rows.insert(*var, *state);
                }
                Inst::Let { op: Operation::Load { base, offset, ty, .. }, .. } => self.access(*base, *offset, *ty),
                Inst::Let { op, .. } => op.each_operand(|&v| self.escape(v)),
                Inst::Store { base, offset, value } => {
                    self.access(*base, *offset, ty(*value));
                    self.escape(*value);
                }
                Inst::AddToSum { base, offset, value } => {
                    self.add_to_sum(*base, *offset);
                    self.escape(*value);
                }
                _ => {
                    inst.each_use(|v| self.escape(v));
                    match inst {
                        Inst::If { then, otherwise, .. } => {
                            self.walk(then, ty);
                            self.walk(otherwise, ty);
                        }
                        Inst::Loop { body, .. } => self.walk(body, ty),
                        Inst::Group { state, equal, init, known, .. } => {
                            self.groups.insert(*state);
                            known.iter().for_each(|known| self.walk(&known.keys, ty));
                            self.walk(equal, ty);
                            self.walk(init, ty);
                        }
                        Inst::Match(m) => m.condition.iter().for_each(|c| self.walk(&c.block, ty)),
                        _ => {}
                    }
                }
            }
        }
    }
}

impl Values<'_, '_> {
    /// Loads the fields that stay in registers.
    pub fn load_accumulators(&mut self, body: &[Inst]) {
        let mut uses = Uses::default();
        uses.walk(body, &|v| self.vars[v]);
        uses.escaped.extend(uses.mixed());
        for state in std::mem::take(&mut uses.groups) {
            let lookups = self.code.b.declare_var(types::I64);
            let zero = self.code.b.ins().iconst(types::I64, 0);
            self.code.b.def_var(lookups, zero);
            self.accumulators.lookups.insert(state, lookups);
        }
        for (state, offset) in std::mem::take(&mut uses.sums) {
            if !uses.escaped.contains(&state) {
                let gathered = self.code.gather();
                self.accumulators.sums.insert((state, offset), gathered);
            }
        }
        for ((state, offset), ty) in std::mem::take(&mut uses.fields) {
            if uses.escaped.contains(&state) || self.accumulators.fields.len() >= MOST {
                continue;
            }
            let row = self.code.local_row(state);
            let value = load(&mut self.code.b, changing(), ty, row, offset);
            let variables: Vec<_> = part_types(ty).iter().map(|&t| self.code.b.declare_var(t)).collect();
            for (&variable, part) in variables.iter().zip(value.parts()) {
                self.code.b.def_var(variable, part);
            }
            self.accumulators.fields.insert((state, offset), (ty, variables));
        }
        self.accumulators.rows = uses.rows;
    }

    /// Counts a tuple that looks for a group: whether groups repeat themselves tells how to go on.
    pub fn count_lookup(&mut self, state: StateId) {
        if let Some(&lookups) = self.accumulators.lookups.get(&state) {
            let n = self.code.b.use_var(lookups);
            let n = self.code.b.ins().iadd_imm_s(n, 1);
            self.code.b.def_var(lookups, n);
        }
    }

    fn store_lookups(&mut self) {
        let at = std::mem::offset_of!(GroupLocal, tuples) as i32;
        for (state, lookups) in std::mem::take(&mut self.accumulators.lookups) {
            let (local, n) = (self.code.local(state), self.code.b.use_var(lookups));
            let before = self.code.b.ins().load(types::I64, changing(), local, at);
            let sum = self.code.b.ins().iadd(before, n);
            self.code.b.ins().store(changing(), sum, local, at);
        }
    }

    /// Stores the fields that stayed in registers, and adds what was gathered.
    pub fn store_accumulators(&mut self) {
        for ((state, offset), (_, variables)) in std::mem::take(&mut self.accumulators.fields) {
            let row = self.code.local_row(state);
            let value = self.code.value_of(&variables);
            store(&mut self.code.b, value, row, offset);
        }
        for ((state, offset), gathered) in std::mem::take(&mut self.accumulators.sums) {
            self.code.add_gathered(state, offset, gathered);
        }
        self.store_lookups();
    }

    /// The buffer of a sum, if its values are gathered.
    fn gathered(&self, base: Var, offset: u32) -> Option<(StateId, Gathered)> {
        let &state = self.accumulators.rows.get(&base)?;
        self.accumulators.sums.get(&(state, offset)).map(|&gathered| (state, gathered))
    }

    fn variables(&self, base: Var, offset: u32) -> Option<Vec<Variable>> {
        let state = self.accumulators.rows.get(&base)?;
        self.accumulators.fields.get(&(*state, offset)).map(|(_, variables)| variables.clone())
    }

    /// The field's value, if it stays in registers.
    pub fn read_accumulator(&mut self, base: Var, offset: u32) -> Option<Val> {
        let variables = self.variables(base, offset)?;
        Some(self.code.value_of(&variables))
    }

    /// Whether the field stays in registers; if so, it has the value now.
    pub fn write_accumulator(&mut self, base: Var, offset: u32, value: Val) -> bool {
        let Some(variables) = self.variables(base, offset) else { return false };
        for (variable, part) in variables.into_iter().zip(value.parts()) {
            self.code.b.def_var(variable, part);
        }
        true
    }

    pub fn add_to_sum(&mut self, base: Var, offset: u32, value: Var) {
        let value = self.get(value);
        if let Some((state, gathered)) = self.gathered(base, offset) {
            self.code.add_to_buffer(state, offset, gathered, value);
            return;
        }
        let row = self.get(base).one();
        let (high, low) = (
            load(&mut self.code.b, changing(), Ty::F64, row, offset),
            load(&mut self.code.b, changing(), Ty::F64, row, offset + 8),
        );
        let (new_high, new_low, inexact) = self.code.add_to_pair(high.one(), low.one(), value.one());
        let (slow, fast, done) = (self.code.b.create_block(), self.code.b.create_block(), self.code.b.create_block());
        self.code.b.set_cold_block(slow);
        self.code.b.ins().brif(inexact, slow, &[], fast, &[]);
        self.code.b.switch_to_block(fast);
        store(&mut self.code.b, Val::One(new_high), row, offset);
        store(&mut self.code.b, Val::One(new_low), row, offset + 8);
        self.code.b.ins().jump(done, &[]);
        self.code.b.switch_to_block(slow);
        let worker = self.code.worker();
        let sum = self.code.b.ins().iadd_imm_s(row, i64::from(offset));
        let failure = self.code.kernel_call(Kernel::SumAdd, &[worker, sum, value.one()]).expect("it returns a value");
        self.code.fail_if(failure, None);
        self.code.b.ins().jump(done, &[]);
        self.code.b.switch_to_block(done);
    }
}
