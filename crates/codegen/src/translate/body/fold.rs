//! Folds: kernels add a batch's values of a column to an accumulator at once.
//!
//! Where every tuple of a batch reaches the instruction, that is done before the loop over the tuples, and if nothing else
//! is left to do, there is no loop. Elsewhere the loop gathers the positions of the tuples that come by, which are added
//! at the end of the batch, and when the room for them is full.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use pipeline::ir::{Fold, FoldColumn, FoldElement, Inst, RepeatedElement, Ty};
use runtime::abi::{BATCH, Batch, ColumnRef, ElementsScratch};

use super::Body;
use crate::translate::stages::{Definition, Key};
use crate::translate::value::{changing, store};

/// Where a body gathers positions.
#[derive(Default)]
pub(super) struct Folds<'p> {
    places: Vec<Place<'p>>,
    /// The number of each place by the fold that stands there first.
    first: HashMap<*const Fold, usize>,
}

/// A place of a body, with the tuples that have come by.
struct Place<'p> {
    folds: Vec<&'p Fold>,
    /// Where their positions lie in the scratch memory, if any fold asks for them.
    buffer: Option<u32>,
    count: Variable,
    /// Whether it stands in the first stage: positions increase, and are no more than a batch has.
    is_first: bool,
}

impl<'p> Body<'_, 'p> {
    /// Does what concerns all tuples of the batch; whether anything is left to be done for each of them.
    pub fn fold_batch(&mut self, count: Value) -> bool {
        let stage = &self.values.plan.stages[0];
        let (insts, has_generator) = (stage.insts, stage.generator.is_some());
        let (whole, rest) = insts.split_at(self.values.plan.unfiltered(0));
        let mut positions = None;
        for (i, inst) in whole.iter().enumerate() {
            match inst {
                Inst::Count(counter) => self.count(*counter, count),
                Inst::Fold(fold) => {
                    self.now_working_at(i + 1);
                    let positions = fold.column.map(|_| {
                        *positions.get_or_insert_with(|| {
                            let selection = self.code().batch_field(std::mem::offset_of!(Batch, selection));
                            self.unless_all(selection, count)
                        })
                    });
                    self.add_fold(fold, positions, count);
                }
                _ => {}
            }
        }
        has_generator || !rest.is_empty() || self.values.plan.asks_for_each(0, whole)
    }

    /// Does what concerns all tuples that a repetition has just delivered; whether anything is left to be done for each.
    pub fn fold_deliveries(&mut self, stage: usize, elements: &[(RepeatedElement, Value)], count: Value) -> bool {
        let insts = self.values.plan.stages[stage].insts;
        let (whole, rest) = insts.split_at(self.values.plan.unfiltered(stage));
        for inst in whole {
            match inst {
                Inst::Count(counter) => self.count(*counter, count),
                Inst::Fold(fold) if fold.column.is_none() => {
                    let of = |element: FoldElement| elements.iter().find(|(known, _)| known.value == element.value);
                    match fold.element.and_then(of) {
                        Some((_, scratch)) => self.add_elements(fold, *scratch, count),
                        None => self.add_fold(fold, None, count),
                    }
                }
                _ => {}
            }
        }
        !rest.is_empty() || self.values.plan.asks_for_each(stage, whole)
    }

    /// Adds so many elements that lie in the memory of a repetition.
    fn add_elements(&mut self, fold: &Fold, scratch: Value, count: Value) {
        let ty = fold.element.map(|element| self.values.ty(element.value));
        // Integers lie there as 64 bits.
        let ty = ty.filter(|ty| ty.is_float()).unwrap_or(Ty::I64);
        let at = |b: &mut FunctionBuilder<'_>, offset: usize| b.ins().iadd_imm_s(scratch, offset as i64);
        let values = at(&mut self.code().b, std::mem::offset_of!(ElementsScratch, words));
        let nulls = at(&mut self.code().b, std::mem::offset_of!(ElementsScratch, nulls));
        let zero = self.code().b.ins().iconst(types::I64, 0);
        let [accumulator, seen] = self.places_of(fold);
        self.code().fold_call(fold.kind, ty, [accumulator, seen, values, nulls, zero, count]);
    }

    /// Null, which stands for the first rows, if increasing positions are those.
    fn unless_all(&mut self, positions: Value, count: Value) -> Value {
        let b = &mut self.code().b;
        let end = b.ins().ishl_imm_u(count, 2);
        let end = b.ins().iadd(positions, end);
        let last = b.ins().uload32(changing(), end, -4);
        let next = b.ins().iadd_imm_s(last, 1);
        let all = b.ins().icmp(IntCC::Equal, next, count);
        let null = b.ins().iconst(types::I64, 0);
        b.ins().select(all, null, positions)
    }

    /// Finds the places at which positions are gathered.
    pub fn plan_folds(&mut self) {
        for stage in 0..self.values.plan.stages.len() {
            let insts = self.values.plan.stages[stage].insts;
            self.plan_block(insts, stage, self.values.plan.unfiltered(stage));
        }
    }

    fn plan_block(&mut self, insts: &'p [Inst], stage: usize, done: usize) {
        let mut here = None;
        for (i, inst) in insts.iter().enumerate() {
            match inst {
                Inst::Filter(_) => here = None,
                Inst::If { then, otherwise, .. } => {
                    self.plan_block(then, stage, 0);
                    self.plan_block(otherwise, stage, 0);
                }
                Inst::Loop { body, .. } => self.plan_block(body, stage, 0),
                Inst::Fold(fold) if i >= done || !self.values.plan.is_done_at_once(stage, inst) => {
                    let at = *here.get_or_insert_with(|| self.new_place(fold, stage == 0));
                    let place = &mut self.folds.places[at];
                    place.folds.push(fold);
                    if fold.column.is_some() && place.buffer.is_none() {
                        place.buffer = Some(self.values.code.reserve(BATCH * size_of::<u32>()));
                    }
                }
                _ => {}
            }
        }
    }

    fn new_place(&mut self, fold: &Fold, is_first: bool) -> usize {
        let count = self.code().b.declare_var(types::I64);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        self.code().b.def_var(count, zero);
        let number = self.folds.places.len();
        self.folds.places.push(Place { folds: Vec::new(), buffer: None, count, is_first });
        self.folds.first.insert(fold, number);
        number
    }

    /// Notes that the current tuple comes by at the place that begins with a fold.
    pub fn gather(&mut self, fold: &Fold) {
        let Some(&number) = self.folds.first.get(&std::ptr::from_ref(fold)) else { return };
        let Place { buffer, count, is_first, .. } = self.folds.places[number];
        let n = self.code().b.use_var(count);
        if let Some(buffer) = buffer {
            let position = self.values.key(Key::Position);
            let at = self.code().buffer_item(buffer, n, Ty::I32);
            store(&mut self.code().b, position, at, 0);
        }
        let n = self.code().b.ins().iadd_imm_s(n, 1);
        self.code().b.def_var(count, n);
        if is_first || buffer.is_none() {
            return;
        }
        let full = self.code().b.ins().icmp_imm_u(IntCC::Equal, n, BATCH as i64);
        let (flush, go_on) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.set_cold_block(flush);
        self.code().b.ins().brif(full, flush, &[], go_on, &[]);
        self.code().b.switch_to_block(flush);
        self.add_gathered(number);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        self.code().b.def_var(count, zero);
        self.code().b.ins().jump(go_on, &[]);
        self.code().b.switch_to_block(go_on);
    }

    /// Whether a filter of the first stage decides about nothing but what is gathered at one place: its number.
    pub fn only_gathers(&self, behind: &[Inst]) -> Option<usize> {
        let plan = &self.values.plan;
        let is_lazy = |inst: &Inst| match inst {
            Inst::Let { var, .. } => !matches!(plan.definition(*var), (_, Definition::Placed)),
            inst => matches!(inst, Inst::Fold(_)),
        };
        let first = behind.iter().find_map(|inst| if let Inst::Fold(fold) = inst { Some(fold) } else { None })?;
        let is_last = self.values.stage == 0 && plan.stages[0].generator.is_none();
        let number = self.folds.first.get(&std::ptr::from_ref(first)).filter(|_| is_last && behind.iter().all(is_lazy));
        number.copied()
    }

    /// Notes the current tuple at a place if the condition is true, without a branch: its position is written over if not.
    pub fn gather_if(&mut self, condition: Value, number: usize) {
        let Place { buffer, count, .. } = self.folds.places[number];
        let n = self.code().b.use_var(count);
        if let Some(buffer) = buffer {
            // There is room, as fewer tuples were noted than have come by.
            let position = self.values.key(Key::Position);
            let at = self.code().buffer_item(buffer, n, Ty::I32);
            store(&mut self.code().b, position, at, 0);
        }
        let one = self.code().b.ins().uextend(types::I64, condition);
        let n = self.code().b.ins().iadd(n, one);
        self.code().b.def_var(count, n);
    }

    /// Adds what is gathered, at the end of the function.
    pub fn add_folds(&mut self) {
        for number in 0..self.folds.places.len() {
            let count = self.folds.places[number].count;
            let n = self.code().b.use_var(count);
            let (some, none) = (self.code().b.create_block(), self.code().b.create_block());
            self.code().b.ins().brif(n, some, &[], none, &[]);
            self.code().b.switch_to_block(some);
            self.add_gathered(number);
            self.code().b.ins().jump(none, &[]);
            self.code().b.switch_to_block(none);
        }
    }

    /// Adds the tuples at a place, at least one.
    fn add_gathered(&mut self, number: usize) {
        let Place { buffer, count, is_first, .. } = self.folds.places[number];
        let n = self.code().b.use_var(count);
        let positions = buffer.map(|buffer| {
            let zero = self.code().b.ins().iconst(types::I64, 0);
            let positions = self.code().buffer_item(buffer, zero, Ty::I32);
            if is_first { self.unless_all(positions, n) } else { positions }
        });
        for i in 0..self.folds.places[number].folds.len() {
            self.add_fold(self.folds.places[number].folds[i], positions, n);
        }
    }

    /// Where a fold's accumulator is, and whether it has seen a value.
    fn places_of(&mut self, fold: &Fold) -> [Value; 2] {
        let row = self.code().local_row(fold.state);
        let accumulator = self.code().b.ins().iadd_imm_s(row, i64::from(fold.offset));
        let seen = match fold.seen {
            Some(at) => self.code().b.ins().iadd_imm_s(row, i64::from(at)),
            None => self.code().b.ins().iconst(types::I64, 0),
        };
        [accumulator, seen]
    }

    /// Adds `count` tuples, those at the positions.
    fn add_fold(&mut self, fold: &Fold, positions: Option<Value>, count: Value) {
        let [accumulator, seen] = self.places_of(fold);
        let zero = self.code().b.ins().iconst(types::I64, 0);
        let Some(FoldColumn { index, ty, nullable }) = fold.column else {
            let args = [accumulator, seen, zero, zero, zero, count];
            return self.code().fold_call(fold.kind, Ty::I64, args);
        };
        let values = self.code().column_ref(index, std::mem::offset_of!(ColumnRef, data));
        let nulls = match nullable {
            true => self.code().column_ref(index, std::mem::offset_of!(ColumnRef, nulls)),
            false => zero,
        };
        let args = [accumulator, seen, values, nulls, positions.unwrap_or(zero), count];
        self.code().fold_call(fold.kind, ty, args);
    }
}
