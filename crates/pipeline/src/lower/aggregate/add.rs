//! What accumulators do with values, and with other accumulators.

use base::{Result, SqlState};

use super::super::expression::compare_same;
use super::super::pipe::Pipe;
use super::accumulator::{Accumulator, Kind};
use crate::ir::{Arithmetic, Callee, Compare, Inst, Logic, Operation, StateId, Ty, Var};

impl Accumulator {
    /// Adds a value (one that is not NULL) that has the accumulator's layout; see [`store`](Self::store).
    pub(super) fn add(&self, pipe: &mut Pipe, row: Var, value: Var, keep: Option<StateId>) -> Result<()> {
        match self.kind {
            Kind::Count => {
                let (old, one) = (self.load(pipe, row), pipe.int(1, Ty::I64));
                let new = pipe.wrapping(Arithmetic::Add, old, one);
                pipe.store(row, self.offset, new);
            }
            Kind::Sum => {
                let old = self.load(pipe, row);
                let new = match self.ty() {
                    Ty::I128 => {
                        let value = pipe.widen(value, Ty::I128);
                        pipe.wrapping(Arithmetic::Add, old, value)
                    }
                    _ => pipe.call1(Callee::AddInterval, vec![old, value], None),
                };
                pipe.store(row, self.offset, new);
                self.mark_seen(pipe, row);
            }
            Kind::WideSum => {
                let value = pipe.widen(value, Ty::I128);
                self.add_wide(pipe, row, value)?;
                self.mark_seen(pipe, row);
            }
            Kind::FloatSum => {
                pipe.push(Inst::AddToSum { base: row, offset: self.offset, value });
                self.mark_seen(pipe, row);
            }
            Kind::Min | Kind::Max => {
                let seen = self.load_seen(pipe, row);
                let [better] = pipe.if_(
                    seen,
                    |p| {
                        let old = self.load(p, row);
                        let (first, second) = if self.kind == Kind::Min { (value, old) } else { (old, value) };
                        Ok([compare_same(p, Compare::Before, first, second)])
                    },
                    |p| Ok([p.bool(true)]),
                )?;
                pipe.when(better, |p| {
                    self.store(p, row, value, keep);
                    self.mark_seen(p, row);
                    Ok(())
                })?;
            }
            Kind::Any => {
                let seen = self.load_seen(pipe, row);
                let first = pipe.not(seen);
                pipe.when(first, |p| {
                    self.store(p, row, value, keep);
                    self.mark_seen(p, row);
                    Ok(())
                })?;
            }
            Kind::And | Kind::Or => {
                let (seen, old) = (self.load_seen(pipe, row), self.load(pipe, row));
                let logic = if self.kind == Kind::And { Logic::And } else { Logic::Or };
                let both = pipe.let_(Ty::Bool, Operation::Logic(logic, old, value));
                let new = pipe.let_(Ty::Bool, Operation::Select(seen, both, value));
                pipe.store(row, self.offset, new);
                self.mark_seen(pipe, row);
            }
            Kind::Bits(logic) => {
                let (seen, old) = (self.load_seen(pipe, row), self.load(pipe, row));
                let both = pipe.let_(self.ty(), Operation::Logic(logic, old, value));
                let new = pipe.let_(self.ty(), Operation::Select(seen, both, value));
                pipe.store(row, self.offset, new);
                self.mark_seen(pipe, row);
            }
            Kind::Distinct => {
                let hash = pipe.let_(Ty::I64, Operation::Hash(vec![(value, None)]));
                let at = self.address(pipe, row);
                pipe.call(Callee::DistinctAdd, vec![at, hash], None);
            }
            Kind::Variance => {
                let at = self.address(pipe, row);
                let integer = pipe.ty(value) == Ty::I128;
                let add = if integer { Callee::VarianceAddInteger } else { Callee::VarianceAdd };
                pipe.call(add, vec![at, value], None);
            }
            Kind::Values => {
                let at = self.address(pipe, row);
                let float = pipe.ty(value) == Ty::F64;
                let add = if float { Callee::CollectFloat } else { Callee::CollectInteger };
                pipe.call(add, vec![at, value], None);
            }
            Kind::Moments | Kind::IntegerMoments | Kind::ArgMin | Kind::ArgMax | Kind::Entries { .. } => {
                unreachable!("of several arguments")
            }
        }
        Ok(())
    }

    /// Adds in 128 bits, and counts what is carried out of them.
    fn add_wide(&self, pipe: &mut Pipe, row: Var, value: Var) -> Result<()> {
        let (old, zero) = (self.load(pipe, row), pipe.int(0, Ty::I128));
        let new = pipe.wrapping(Arithmetic::Add, old, value);
        pipe.store(row, self.offset, new);
        let negative = pipe.compare(Compare::Lt, value, zero);
        let less = pipe.compare(Compare::Lt, new, old);
        let carried = pipe.let_(Ty::Bool, Operation::Logic(Logic::Xor, negative, less));
        pipe.when(carried, |p| {
            let (up, down) = (p.int(1, Ty::I64), p.int(-1, Ty::I64));
            let step = p.let_(Ty::I64, Operation::Select(negative, down, up));
            self.add_carry(p, row, step);
            Ok(())
        })
    }

    fn carry(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.offset + 16, Ty::I64, false)
    }

    fn add_carry(&self, pipe: &mut Pipe, row: Var, step: Var) {
        let carry = self.carry(pipe, row);
        let carry = pipe.wrapping(Arithmetic::Add, carry, step);
        pipe.store(row, self.offset + 16, carry);
    }

    /// The value of a sum of integers or intervals; 22003 if it does not fit.
    pub(super) fn total(&self, pipe: &mut Pipe, row: Var, position: Option<u32>) -> Result<Var> {
        if self.kind == Kind::WideSum {
            let (carry, zero) = (self.carry(pipe, row), pipe.int(0, Ty::I64));
            let too_large = pipe.compare(Compare::Ne, carry, zero);
            let message = "value overflows numeric format";
            pipe.when(too_large, |p| {
                p.push(Inst::Raise { state: SqlState::NUMERIC_OUT_OF_RANGE, message, position });
                Ok(())
            })?;
        }
        Ok(self.load(pipe, row))
    }

    /// Adds the second row's value.
    fn combine_values(&self, pipe: &mut Pipe, into: Var, from: Var) -> Result<()> {
        let value = self.load(pipe, from);
        self.add(pipe, into, value, None)?;
        if self.kind == Kind::WideSum {
            let carry = self.carry(pipe, from);
            self.add_carry(pipe, into, carry);
        }
        Ok(())
    }

    /// Adds the parts of the second sum, unless it has outgrown them.
    fn combine_float_sums(&self, pipe: &mut Pipe, into: Var, from: Var) -> Result<()> {
        let high = pipe.load(from, self.offset, Ty::F64, false);
        // Only NaN is above infinity.
        let infinity = pipe.float(f64::INFINITY, Ty::F64);
        let outgrown = pipe.compare(Compare::Gt, high, infinity);
        pipe.if_(
            outgrown,
            |p| {
                let (a, b) = (self.address(p, into), self.address(p, from));
                p.call(Callee::MergeSums, vec![a, b], None);
                Ok([])
            },
            |p| {
                let low = p.load(from, self.offset + 8, Ty::F64, false);
                for value in [high, low] {
                    p.push(Inst::AddToSum { base: into, offset: self.offset, value });
                }
                Ok([])
            },
        )?;
        if self.tracks_seen {
            let (a, b) = (self.load_seen(pipe, into), self.load_seen(pipe, from));
            let seen = pipe.or(a, b);
            pipe.store(into, self.seen, seen);
        }
        Ok(())
    }

    pub(super) fn address(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.let_(Ty::Ptr, Operation::FieldAddress(row, self.offset))
    }

    /// Adds the second row's accumulator to the first's.
    pub(super) fn combine(&self, pipe: &mut Pipe, into: Var, from: Var) -> Result<()> {
        match self.kind {
            Kind::Variance | Kind::Moments | Kind::Values | Kind::Entries { .. } | Kind::Distinct => {
                let merge = match self.kind {
                    Kind::Variance => Callee::VarianceMerge,
                    Kind::Moments => Callee::MomentsMerge,
                    Kind::Distinct => Callee::DistinctMerge,
                    _ => Callee::CollectMerge,
                };
                let (a, b) = (self.address(pipe, into), self.address(pipe, from));
                pipe.call(merge, vec![a, b], None);
                Ok(())
            }
            Kind::FloatSum => self.combine_float_sums(pipe, into, from),
            Kind::ArgMin | Kind::ArgMax => self.combine_value_at(pipe, into, from),
            Kind::IntegerMoments => {
                self.combine_sums_of_pairs(pipe, into, from);
                Ok(())
            }
            Kind::Count => {
                let (a, b) = (self.load(pipe, into), self.load(pipe, from));
                let sum = pipe.wrapping(Arithmetic::Add, a, b);
                pipe.store(into, self.offset, sum);
                Ok(())
            }
            _ if self.tracks_seen => {
                let seen = self.load_seen(pipe, from);
                pipe.when(seen, |p| self.combine_values(p, into, from))
            }
            _ => self.combine_values(pipe, into, from),
        }
    }
}
