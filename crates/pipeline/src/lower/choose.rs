//! Branches of expressions. Where both sides cost little and cannot fail, both are computed and one is taken: a branch that
//! the processor cannot foresee costs more than a dozen instructions. Of a side with one costly part, all but that part is
//! computed, which then has a branch of its own: a CASE with one costly arm is one branch, however many arms it has.

use base::Result;

use super::pipe::Pipe;
use crate::ir::{Arithmetic, Block, Compare, Conversion, FloatFunction, Inst, Literal, Operation, Ty, Var};

/// Most operations of both sides that are computed without a branch.
const MOST: usize = 12;

/// A side of which all may be computed but for the costly part of one branch.
struct Cheap {
    /// Operations.
    cost: usize,
    /// The number of the branch, if there is one, and whether its costly part is what happens if its condition is true.
    branch: Option<(usize, bool)>,
}

impl Pipe {
    /// `if condition { then } else { otherwise }` with values; both closures see the pipe inside of their block.
    pub fn if_<const N: usize>(
        &mut self,
        condition: Var,
        then: impl FnOnce(&mut Self) -> Result<[Var; N]>,
        otherwise: impl FnOnce(&mut Self) -> Result<[Var; N]>,
    ) -> Result<[Var; N]> {
        self.open_block();
        let a = then(self)?;
        let then = self.close_block();
        self.open_block();
        let b = otherwise(self)?;
        let otherwise = self.close_block();
        Ok(self.choose(condition, (then, a), (otherwise, b)))
    }

    /// `if condition { then }` for effects.
    pub fn when(&mut self, condition: Var, then: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.open_block();
        then(self)?;
        let then = self.close_block();
        self.push(Inst::If { condition, then, otherwise: Block::new(), results: Vec::new() });
        Ok(())
    }

    /// The values that one of two blocks computes.
    pub fn choose<const N: usize>(
        &mut self,
        condition: Var,
        (then, a): (Block, [Var; N]),
        (otherwise, b): (Block, [Var; N]),
    ) -> [Var; N] {
        debug_assert!((0..N).all(|i| self.ty(a[i]) == self.ty(b[i])), "both blocks give one type");
        let sides = self.cheap(&then).zip(self.cheap(&otherwise));
        match sides.filter(|(x, y)| x.cost + y.cost <= MOST && (x.branch.is_none() || y.branch.is_none())) {
            Some((x, y)) => {
                let flags: [_; N] = std::array::from_fn(|i| (flag(&then, a[i]), flag(&otherwise, b[i])));
                self.compute(then, x, condition, true);
                self.compute(otherwise, y, condition, false);
                std::array::from_fn(|i| match flags[i] {
                    (Some(true), Some(false)) => condition,
                    (Some(false), Some(true)) => self.not(condition),
                    (Some(x), Some(y)) if x == y => a[i],
                    _ => self.let_(self.ty(a[i]), Operation::Select(condition, a[i], b[i])),
                })
            }
            None => {
                let vars = std::array::from_fn(|i| self.var(self.ty(a[i])));
                let results = (0..N).map(|i| (vars[i], a[i], b[i])).collect();
                self.push(Inst::If { condition, then, otherwise, results });
                vars
            }
        }
    }

    /// Writes a cheap side here; its costly part happens only if `condition` is `wanted`, as before.
    fn compute(&mut self, block: Block, side: Cheap, condition: Var, wanted: bool) {
        for (at, inst) in block.into_iter().enumerate() {
            match (inst, side.branch) {
                (Inst::If { condition: own, then, otherwise, results }, Some((branch, is_then))) if branch == at => {
                    // Where the side is not taken, its branch goes the way of the part that costs little.
                    let guard = if wanted == is_then { condition } else { self.not(condition) };
                    let condition = if is_then { self.and(own, guard) } else { self.or(own, guard) };
                    self.push(Inst::If { condition, then, otherwise, results });
                }
                (inst, _) => self.push(inst),
            }
        }
    }

    /// What a block costs, if that is little.
    fn cheap(&self, block: &Block) -> Option<Cheap> {
        let mut all = Cheap { cost: 0, branch: None };
        for (at, inst) in block.iter().enumerate() {
            match inst {
                Inst::Let { op: Operation::Const(_) | Operation::Param(..), .. } => {}
                Inst::Let { op, .. } if self.is_cheap(op) => all.cost += 1,
                Inst::If { then, otherwise, .. } if all.branch.is_none() => {
                    let (then, otherwise) = (self.cheap(then), self.cheap(otherwise));
                    let light = |side: Option<Cheap>| side.filter(|side| side.branch.is_none()).map(|side| side.cost);
                    let (is_then, cost) = match (light(then), light(otherwise)) {
                        (_, Some(cost)) => (true, cost),
                        (Some(cost), None) => (false, cost),
                        (None, None) => return None,
                    };
                    all.cost += cost + 1;
                    all.branch = Some((at, is_then));
                }
                _ => return None,
            }
        }
        Some(all)
    }

    /// Whether an operation is a few instructions that never fail, and reads nothing that may not be there.
    fn is_cheap(&self, op: &Operation) -> bool {
        match op {
            Operation::Const(_) | Operation::Param(..) | Operation::Column(..) | Operation::ColumnNull(_) => true,
            Operation::Compare(how, x, _) => *how != Compare::Before && !matches!(self.ty(*x), Ty::Str | Ty::Interval),
            Operation::Wrapping(kind, x, _) => *kind != Arithmetic::Mul || self.ty(*x) != Ty::I128,
            Operation::Convert(kind, x, ..) => match kind {
                Conversion::Widen | Conversion::Cut | Conversion::BoolToInt => true,
                Conversion::IntToFloat => self.ty(*x) != Ty::I128,
                _ => false,
            },
            Operation::FloatFunction(function, _) => *function != FloatFunction::Sqrt,
            Operation::Logic(..) | Operation::Not(_) | Operation::Select(..) | Operation::IsNullPtr(_) => true,
            _ => false,
        }
    }
}

/// The constant that a flag is in a block.
fn flag(block: &Block, flag: Var) -> Option<bool> {
    block.iter().find_map(|inst| match inst {
        Inst::Let { var, op: Operation::Const(Literal::Bool(value)) } if *var == flag => Some(*value),
        _ => None,
    })
}
