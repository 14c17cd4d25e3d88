//! Where values lie between the operations: those that are needed for a whole batch each in memory of its own, the others for a block,
//! in memory that is another value's when nobody reads them any more. So the values of a block stay in the first-level cache.

use base::ids::Id;
use pipeline::ir::{Literal, Operation, Ty, Vectors};

use crate::abi::BATCH;

/// Rows between two operations at most, and at least.
const BLOCK: usize = 512;
const LEAST_BLOCK: usize = 64;
/// What the values of a block take at most: two thirds of the smallest first-level caches.
const FITTING: usize = 20 << 10;

/// Where the values of a variable lie.
#[derive(Debug)]
pub(super) struct Place {
    pub offset: usize,
    pub size: usize,
    /// Whether they are needed when all blocks are done, or forgotten behind each.
    pub stays: bool,
    /// The same for all rows.
    pub constant: Option<Constant>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Bytes([u8; 8]),
    Parameter(usize),
}

/// See the module.
pub(super) struct Places {
    /// Of each variable.
    pub values: Vec<Place>,
    /// Rows between two operations.
    pub block: usize,
    /// Of all.
    pub bytes: usize,
}

/// Memory for a block: for how many bytes a row, and for which value if that is a constant.
struct Slot {
    size: usize,
    constant: Option<Constant>,
    is_free: bool,
}

impl Places {
    /// Those of the variables, for blocks of no more rows than that.
    pub fn of(vectors: &Vectors, most: usize) -> Self {
        let outputs = vectors.columns.iter().flat_map(|&(value, null)| [Some(value), null]).chain([vectors.filter]);
        let outputs: Vec<usize> = outputs.flatten().map(Id::index).collect();
        // The last step that reads each.
        let mut last = vec![0; vectors.vars.len()];
        for (number, step) in vectors.steps.iter().enumerate() {
            step.op.each_operand(|operand| last[operand.index()] = number);
            step.only_if.iter().for_each(|flag| last[flag.index()] = number);
        }
        let mut slots: Vec<Slot> = Vec::new();
        let mut slot_of = vec![None; vectors.vars.len()];
        let mut values: Vec<Place> = Vec::with_capacity(vectors.vars.len());
        for (var, ty) in vectors.vars.iter() {
            let stays = outputs.contains(&var.index());
            values.push(Place { offset: 0, size: ty.size() as usize, stays, constant: None });
        }
        for (number, step) in vectors.steps.iter().enumerate() {
            let value = step.var.index();
            let place = &mut values[value];
            place.constant = match &step.op {
                Operation::Const(literal) => Some(Constant::Bytes(bytes_of(literal))),
                Operation::Param(id, _) => Some(Constant::Parameter(id.index())),
                _ => None,
            };
            if !place.stays {
                let (size, constant) = (place.size, place.constant);
                let is_it = |slot: &Slot| {
                    slot.size == size && slot.constant == constant && (constant.is_some() || slot.is_free)
                };
                let at = slots.iter().position(is_it).unwrap_or_else(|| {
                    slots.push(Slot { size, constant, is_free: false });
                    slots.len() - 1
                });
                slots[at].is_free = false;
                slot_of[value] = Some(at);
            }
            // What is read here for the last time is free for the next step: this one may not write over what it reads.
            let mut read = Vec::new();
            step.op.each_operand(|operand| read.push(operand.index()));
            read.extend(step.only_if.map(Id::index));
            for operand in read.into_iter().filter(|operand| last[*operand] == number) {
                slot_of[operand].into_iter().for_each(|at: usize| slots[at].is_free = slots[at].constant.is_none());
            }
        }
        let of_row: usize = slots.iter().map(|slot| slot.size).sum();
        let fitting = most.min(FITTING / of_row.max(1)).max(LEAST_BLOCK);
        let block = (1 << fitting.ilog2()).min(BLOCK);
        let mut bytes = 0;
        let mut take = |rows: usize, size: usize| {
            let offset = bytes;
            bytes += (rows * size).next_multiple_of(64);
            offset
        };
        let offsets: Vec<usize> = slots.iter().map(|slot| take(block, slot.size)).collect();
        for (place, slot) in values.iter_mut().zip(slot_of) {
            place.offset = slot.map_or_else(|| take(BATCH, place.size), |slot| offsets[slot]);
        }
        Self { values, block, bytes }
    }
}

/// The low bytes of a constant.
fn bytes_of(literal: &Literal) -> [u8; 8] {
    match *literal {
        Literal::Bool(value) => u64::from(value).to_le_bytes(),
        Literal::Int(value, _) => (value as i64).to_le_bytes(),
        Literal::Float(value, Ty::F32) => u64::from((value as f32).to_bits()).to_le_bytes(),
        Literal::Float(value, _) => value.to_le_bytes(),
        Literal::EmptyStr | Literal::ZeroInterval | Literal::NullPtr => [0; 8],
    }
}

#[cfg(test)]
mod tests {
    use base::{IdMap, Random};
    use pipeline::ir::{Arithmetic, Step, Var};

    use super::*;

    /// Steps that read what earlier ones have computed, two of which stay.
    fn random_steps(random: &mut Random, count: usize) -> Vectors {
        let mut vars: IdMap<Var, Ty> = IdMap::new();
        let mut steps = Vec::new();
        for number in 0..count {
            let var = vars.push(Ty::I64);
            let mut earlier = || Var::from_index(random.index(number));
            let op = match number % 4 {
                0 => Operation::Const(Literal::Int(number as i128 / 8, Ty::I64)),
                1 => Operation::Column(number as u32, Ty::I64),
                _ => Operation::Wrapping(Arithmetic::Add, earlier(), earlier()),
            };
            steps.push(Step { var, op, only_if: None });
        }
        let columns = vec![(Var::from_index(count - 1), None), (Var::from_index(count / 2), None)];
        Vectors { vars, steps, filter: None, columns }
    }

    #[test]
    fn what_is_read_later_is_not_written_over() {
        let mut random = Random(7);
        for count in [3, 10, 40, 120] {
            let vectors = random_steps(&mut random, count);
            let Places { values, block, bytes } = Places::of(&vectors, BLOCK);
            assert!((LEAST_BLOCK..=BLOCK).contains(&block) && block.is_power_of_two());
            let range = |value: usize| {
                let place = &values[value];
                let rows = if place.stays { BATCH } else { block };
                place.offset..place.offset + rows * place.size
            };
            assert!((0..count).all(|value| range(value).end <= bytes));
            for (number, step) in vectors.steps.iter().enumerate() {
                let written = range(step.var.index());
                let check = |other: usize| {
                    let is_same = values[other].constant.is_some() && values[other].constant == values[number].constant;
                    let is_apart = range(other).end <= written.start || written.end <= range(other).start;
                    assert!(is_apart || is_same || other == number, "{other} and {number} of {count}");
                };
                for later in &vectors.steps[number..] {
                    later.op.each_operand(|operand| {
                        if operand.index() < number {
                            check(operand.index());
                        }
                    });
                }
            }
        }
    }
}
