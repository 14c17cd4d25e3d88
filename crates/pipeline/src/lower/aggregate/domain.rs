//! Keys of which bounds prove that they have few values: groups are numbered, and found without a hash.

use super::super::expression::Range;
use super::super::pipe::{Field, Pipe, Sql};
use crate::ir::{Arithmetic, Conversion, Operation, Ty, Var};

/// Numbers of groups, at most, and so many whatever is expected; a worker has an array of them.
const MOST: u64 = 1 << 21;
const FEW: u64 = 1 << 12;
/// Numbers for each group that is expected, at most.
const PER_GROUP: f64 = 8.0;
/// Or tuples for each number, at least, up to so many numbers: how many groups there are of several keys is often not known, and to clear an array
/// that stays in the cache costs nothing beside so many tuples.
const TUPLES: f64 = 64.0;
const CACHED: u64 = 1 << 16;

/// The possible keys.
pub(in crate::lower) struct Domain {
    /// Of each key the least value and how many there may be, NULL as the last one.
    keys: Vec<(i64, u64)>,
    /// Combinations.
    pub slots: u64,
}

impl Domain {
    /// The domain of keys with these bounds, if it is small enough for so many groups, or tuples.
    pub fn of(
        keys: &[Field],
        bounds: impl Iterator<Item = Option<Range>>,
        (groups, tuples): (f64, f64),
    ) -> Option<Self> {
        let few = ((tuples / TUPLES) as u64).clamp(FEW, CACHED);
        let most = ((groups * PER_GROUP) as u64).clamp(few, MOST);
        let (mut slots, mut all) = (1u64, Vec::new());
        for (key, bounds) in keys.iter().zip(bounds) {
            let Range { low, high } = match key.ty {
                Ty::Bool => Range { low: 0, high: 1 },
                Ty::I16 | Ty::I32 | Ty::I64 => bounds?,
                _ => return None,
            };
            let values = high.checked_sub(low)?.checked_add(1 + i128::from(key.null.is_some()))?;
            let values = u64::try_from(values).ok().filter(|&values| values <= most)?;
            all.push((i64::try_from(low).ok()?, values));
            slots = slots.checked_mul(values).filter(|&slots| slots <= most)?;
        }
        (!all.is_empty()).then_some(Self { keys: all, slots })
    }

    /// The number of the group that has these keys.
    pub fn number(&self, pipe: &mut Pipe, keys: &[Field], values: &[Sql]) -> Var {
        let mut number = None;
        for ((key, sql), &(least, count)) in keys.iter().zip(values).zip(&self.keys) {
            let mut own = match key.ty {
                Ty::Bool => pipe.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, sql.value, Ty::I64, None)),
                _ => pipe.widen(sql.value, Ty::I64),
            };
            if least != 0 {
                let least = pipe.int(least.into(), Ty::I64);
                own = pipe.wrapping(Arithmetic::Sub, own, least);
            }
            if let Some(null) = sql.null {
                let last = pipe.int(i128::from(count) - 1, Ty::I64);
                own = pipe.let_(Ty::I64, Operation::Select(null, last, own));
            }
            number = Some(match number {
                None => own,
                Some(number) => {
                    let count = pipe.int(count.into(), Ty::I64);
                    let higher = pipe.wrapping(Arithmetic::Mul, number, count);
                    pipe.wrapping(Arithmetic::Add, higher, own)
                }
            });
        }
        number.expect("a domain has keys")
    }
}
