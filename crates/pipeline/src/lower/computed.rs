//! What a scan computes for many rows at once, while its pipeline is being lowered. Nothing here knows pipes.

use std::collections::HashMap;

use base::IdMap;

use crate::ir::{Block, Inst, Logic, Operation, Step, Ty, Var, Vectors};

/// Most operations of a source: what is larger is compiled.
const MOST_STEPS: usize = 200;
/// Divisions of integers for one value at most. Code divides by constants with multiplications, and years and months are chains of
/// these: 10M of them take 21 ms in code and 29 for many rows at once.
const MOST_DIVISIONS: usize = 2;

/// How a variable of the body gets its value, if that can be for many rows at once.
#[derive(Clone, Debug)]
enum Definition {
    /// By an operation, where these conditions have these values.
    Operation(Operation, Vec<(Var, bool)>),
    /// As one of two others.
    Choice { condition: Var, then: Var, otherwise: Var },
}

/// What a pipe's source computes, and of what instructions of the body that is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Computed {
    pub vectors: Vectors,
    definitions: HashMap<Var, Definition>,
    /// Values of the source by those of the body.
    values: HashMap<Var, Var>,
    /// How many of the body's instructions have been looked at.
    seen: usize,
    /// Whether one of them lets rows go, or makes several of one.
    pub chosen: bool,
}

impl Computed {
    /// Looks at instructions that were added to the body.
    pub fn look_at(&mut self, body: &Block) {
        for inst in &body[self.seen..] {
            self.chosen |= !matches!(
                inst,
                Inst::Let { .. }
                    | Inst::Call { .. }
                    | Inst::If { .. }
                    | Inst::Loop { .. }
                    | Inst::Fold(_)
                    | Inst::Count(_)
            );
            self.define_one(inst, &[], &mut Vec::new());
        }
        self.seen = body.len();
    }

    /// Makes steps of what the instructions of a block compute, if all of them can become some, and `f` finds what it needs.
    pub fn convert<T>(
        &mut self,
        types: &IdMap<Var, Ty>,
        block: &Block,
        may_fail: bool,
        f: impl FnOnce(&mut Conversion<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut fallible = Vec::new();
        self.define(block, &[], &mut fallible)?;
        let (vectors, values) = (self.vectors.clone(), self.values.clone());
        let mut conversion = Conversion { types, computed: self, reads: false };
        // What nobody reads may fail all the same.
        let all = fallible.into_iter().try_for_each(|var| conversion.value(var).map(drop));
        let result = all.and_then(|()| f(&mut conversion)).filter(|_| conversion.reads);
        let added = &self.vectors.steps[vectors.steps.len()..];
        let divisions = added.iter().filter(|step| matches!(step.op, Operation::Divide(..) | Operation::Remainder(..)));
        let is_allowed = may_fail || added.iter().all(|step| step.op.never_fails());
        if result.is_some() && is_allowed && divisions.count() <= MOST_DIVISIONS {
            return result;
        }
        (self.vectors, self.values) = (vectors, values);
        None
    }

    /// Notes what a block defines, and what of that can fail; none if it does anything else.
    fn define(&mut self, block: &Block, path: &[(Var, bool)], fallible: &mut Vec<Var>) -> Option<()> {
        block.iter().try_for_each(|inst| self.define_one(inst, path, fallible))
    }

    fn define_one(&mut self, inst: &Inst, path: &[(Var, bool)], fallible: &mut Vec<Var>) -> Option<()> {
        match inst {
            Inst::Let { var, op } => {
                if !op.never_fails() {
                    fallible.push(*var);
                }
                self.definitions.insert(*var, Definition::Operation(op.clone(), path.to_vec()));
            }
            Inst::If { condition, then, otherwise, results } => {
                for (block, wanted) in [(then, true), (otherwise, false)] {
                    let path: Vec<_> = path.iter().copied().chain([(*condition, wanted)]).collect();
                    self.define(block, &path, fallible)?;
                }
                for &(result, then, otherwise) in results {
                    let choice = Definition::Choice { condition: *condition, then, otherwise };
                    self.definitions.insert(result, choice);
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// Makes values of the source of values of the body.
pub(super) struct Conversion<'c> {
    pub computed: &'c mut Computed,
    types: &'c IdMap<Var, Ty>,
    /// Whether a column was read.
    reads: bool,
}

impl Conversion<'_> {
    /// The value of the source that a variable of the body is.
    pub fn value(&mut self, var: Var) -> Option<Var> {
        if let Some(&value) = self.computed.values.get(&var) {
            self.reads = true;
            return Some(value);
        }
        let value = match self.computed.definitions.get(&var)?.clone() {
            Definition::Operation(mut op, path) => {
                let mut known = true;
                op.each_operand_mut(|operand| match self.value(*operand) {
                    Some(value) => *operand = value,
                    None => known = false,
                });
                if !known {
                    return None;
                }
                self.reads |= matches!(op, Operation::Column(..) | Operation::ColumnNull(_));
                let only_if = if op.never_fails() { None } else { self.condition(&path)? };
                self.step(op, self.types[var], only_if)?
            }
            Definition::Choice { condition, then, otherwise } => {
                let op = Operation::Select(self.value(condition)?, self.value(then)?, self.value(otherwise)?);
                self.step(op, self.types[var], None)?
            }
        };
        self.computed.values.insert(var, value);
        Some(value)
    }

    /// Where all of this holds, and what the filter says so far; none inside if that is everywhere.
    fn condition(&mut self, path: &[(Var, bool)]) -> Option<Option<Var>> {
        let mut all = self.computed.vectors.filter;
        for &(condition, wanted) in path {
            let condition = self.value(condition)?;
            let holds = if wanted { condition } else { self.step(Operation::Not(condition), Ty::Bool, None)? };
            all = Some(match all {
                Some(all) => self.logic(Logic::And, all, holds)?,
                None => holds,
            });
        }
        Some(all)
    }

    pub fn logic(&mut self, logic: Logic, a: Var, b: Var) -> Option<Var> {
        self.step(Operation::Logic(logic, a, b), Ty::Bool, None)
    }

    /// Adds a step, or finds an equal one.
    fn step(&mut self, op: Operation, ty: Ty, only_if: Option<Var>) -> Option<Var> {
        let Vectors { vars, steps, .. } = &mut self.computed.vectors;
        if let Some(known) = steps.iter().find(|step| step.op == op && step.only_if == only_if) {
            return Some(known.var);
        }
        if steps.len() == MOST_STEPS || !op.is_vectorised(|var| vars[var]) {
            return None;
        }
        let var = vars.push(ty);
        steps.push(Step { var, op, only_if });
        Some(var)
    }
}
