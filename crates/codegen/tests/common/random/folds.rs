//! Groups without keys. Random folds: accumulators of columns, behind filters and in branches.

use base::IdMap;
use pipeline::ir::{
    Arithmetic, Block, Callee, Compare, Fold, FoldColumn, FoldKind, Function, GroupState, Inst, Literal, Logic,
    Operation, RowLayout, StateId, Ty, Var,
};
use types::SqlType;

use super::{Body, accumulate, sql_type};

/// A count and a sum, tuple by tuple.
pub fn one_by_one(b: &mut Body<'_>, body: &mut Block, state: StateId) -> GroupState {
    let mut layout = RowLayout::with_header(8);
    let (count, sum) = (layout.add(Ty::I64), layout.add(Ty::I64));
    let row = b.let_(body, Ty::Ptr, Operation::LocalRow(state));
    b.visible.pop();
    accumulate(b, body, row, count, sum);
    GroupState {
        layout,
        has_keys: false,
        slots: None,
        enough: None,
        equal: None,
        combine: super::combine(&[count, sum]),
    }
}

/// Some folds without keys, and the state that they fill.
pub fn group(b: &mut Body<'_>, body: &mut Block, state: StateId) -> (GroupState, Vec<Fold>) {
    let mut layout = RowLayout::with_header(8);
    let mut folds = Vec::new();
    for _ in 0..1 + b.r.index(6) {
        let fold = fold(b, &mut layout, state);
        folds.push(fold.clone());
        if b.r.chance(70) {
            body.push(Inst::Fold(fold));
            continue;
        }
        let condition = b.of_type(body, Ty::Bool);
        let then = vec![Inst::Fold(fold)];
        body.push(Inst::If { condition, then, otherwise: Vec::new(), results: Vec::new() });
        b.maybe_filter(body);
    }
    let combine = combine(&folds);
    (GroupState { layout, has_keys: false, slots: None, enough: None, equal: None, combine }, folds)
}

fn fold(b: &mut Body<'_>, layout: &mut RowLayout, state: StateId) -> Fold {
    let index = b.r.index(b.columns.len());
    let ty = Ty::from(b.columns[index].physical());
    use FoldKind::{Count, Max, Min, Sum, SumAsDouble, Variance};
    let kinds = [Count, Sum, Min, Max, Variance, SumAsDouble];
    let kind = match ty {
        Ty::I16 | Ty::I32 | Ty::I64 => b.r.pick(&kinds),
        Ty::I128 => b.r.pick(&kinds[..4]),
        _ if ty.is_number() => b.r.pick(&kinds[..5]),
        _ => FoldKind::Count,
    };
    let mut column = Some(FoldColumn { index: index as u32, ty, nullable: b.r.chance(70) });
    let offset = match (kind, ty) {
        (FoldKind::Count, _) => {
            column = column.filter(|_| b.r.chance(60));
            layout.add(Ty::I64)
        }
        (FoldKind::Variance, _) => {
            let at = layout.add(Ty::I64);
            (0..5).for_each(|_| _ = layout.add(Ty::F64));
            at
        }
        (FoldKind::SumAsDouble, _) | (FoldKind::Sum, Ty::F32 | Ty::F64) => {
            let at = layout.add(Ty::F64);
            layout.add(Ty::F64);
            at
        }
        (FoldKind::Sum, _) => {
            let at = layout.add(Ty::I128);
            layout.add(Ty::I64);
            at
        }
        _ => layout.add(ty),
    };
    let asked = match kind {
        FoldKind::Count | FoldKind::Variance => false,
        FoldKind::Sum | FoldKind::SumAsDouble => b.r.chance(50),
        FoldKind::Min | FoldKind::Max => true,
    };
    Fold { kind, state, offset, seen: asked.then(|| layout.add(Ty::Bool)), column, element: None }
}

/// Instructions outside of a body.
#[derive(Default)]
struct Writer {
    vars: IdMap<Var, Ty>,
    block: Block,
}

impl Writer {
    fn let_(&mut self, ty: Ty, op: Operation) -> Var {
        let var = self.vars.push(ty);
        self.block.push(Inst::Let { var, op });
        var
    }
    fn load(&mut self, base: Var, offset: u32, ty: Ty) -> Var {
        self.let_(ty, Operation::Load { base, offset, ty, stable: false })
    }
    fn address(&mut self, base: Var, offset: u32) -> Var {
        self.let_(Ty::Ptr, Operation::FieldAddress(base, offset))
    }
    fn store(&mut self, base: Var, offset: u32, value: Var) {
        self.block.push(Inst::Store { base, offset, value });
    }
}

/// The type that the accumulator is added in.
fn sum_type(fold: &Fold) -> Ty {
    if fold.kind == FoldKind::Count { Ty::I64 } else { Ty::I128 }
}

fn is_float_sum(fold: &Fold) -> bool {
    fold.kind == FoldKind::SumAsDouble || fold.kind == FoldKind::Sum && fold.column.is_some_and(|c| c.ty.is_float())
}

fn combine(folds: &[Fold]) -> Function {
    let mut w = Writer::default();
    let rows = [w.vars.push(Ty::Ptr), w.vars.push(Ty::Ptr)];
    let [into, from] = rows;
    for fold in folds {
        let seen = fold.seen.map(|at| (at, w.load(into, at, Ty::Bool), w.load(from, at, Ty::Bool)));
        match (fold.kind, fold.column, seen) {
            (FoldKind::Min | FoldKind::Max, Some(c), Some((_, own, other))) => {
                let (x, y) = (w.load(into, fold.offset, c.ty), w.load(from, fold.offset, c.ty));
                let (a, z) = if fold.kind == FoldKind::Min { (y, x) } else { (x, y) };
                let before = w.let_(Ty::Bool, Operation::Compare(Compare::Before, a, z));
                let first = w.let_(Ty::Bool, Operation::Not(own));
                let better = w.let_(Ty::Bool, Operation::Logic(Logic::Or, before, first));
                let taken = w.let_(Ty::Bool, Operation::Logic(Logic::And, better, other));
                let value = w.let_(c.ty, Operation::Select(taken, y, x));
                w.store(into, fold.offset, value);
            }
            (FoldKind::Variance, ..) => {
                let args = rows.map(|row| w.address(row, fold.offset)).to_vec();
                w.block.push(Inst::Call { results: vec![], callee: Callee::VarianceMerge, args, position: None });
            }
            _ if is_float_sum(fold) => {
                let args = rows.map(|row| w.address(row, fold.offset)).to_vec();
                w.block.push(Inst::Call { results: vec![], callee: Callee::MergeSums, args, position: None });
            }
            _ => {
                let ty = sum_type(fold);
                let (x, y) = (w.load(into, fold.offset, ty), w.load(from, fold.offset, ty));
                let sum = w.let_(ty, Operation::Wrapping(Arithmetic::Add, x, y));
                w.store(into, fold.offset, sum);
            }
        }
        if let Some((at, own, other)) = seen {
            let any = w.let_(Ty::Bool, Operation::Logic(Logic::Or, own, other));
            w.store(into, at, any);
        }
    }
    Function { rows, body: w.block, result: None, vars: w.vars }
}

/// A body that outputs what the folds have come to.
pub fn read(folds: &[Fold], result: StateId) -> (Block, IdMap<Var, Ty>, Vec<SqlType>) {
    let mut w = Writer::default();
    let row = w.let_(Ty::Ptr, Operation::Row);
    let mut values = Vec::new();
    for fold in folds {
        let value = match (fold.kind, fold.column) {
            (FoldKind::Min | FoldKind::Max, Some(c)) => w.load(row, fold.offset, c.ty),
            (FoldKind::Variance, _) => {
                let at = w.address(row, fold.offset);
                let sample = w.let_(Ty::Bool, Operation::Const(Literal::Bool(true)));
                let scale = w.let_(Ty::I32, Operation::Const(Literal::Int(0, Ty::I32)));
                let variance = w.vars.push(Ty::F64);
                let (callee, args) = (Callee::Variance, vec![at, sample, scale]);
                w.block.push(Inst::Call { results: vec![variance], callee, args, position: None });
                variance
            }
            _ if is_float_sum(fold) => {
                let args = vec![w.address(row, fold.offset)];
                let sum = w.vars.push(Ty::F64);
                let callee = Callee::RoundSum;
                w.block.push(Inst::Call { results: vec![sum], callee, args, position: None });
                sum
            }
            _ => w.load(row, fold.offset, sum_type(fold)),
        };
        values.push((value, None));
        if let Some(at) = fold.seen {
            values.push((w.load(row, at, Ty::Bool), None));
        }
    }
    let types = values.iter().map(|&(v, _)| sql_type(w.vars[v])).collect();
    w.block.push(Inst::Output { state: result, values });
    (w.block, w.vars, types)
}
