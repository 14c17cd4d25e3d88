//! Aggregates of pairs (covariance, regression), and of all values of a group at once (percentiles, texts, lists).

use base::Result;
use plan::{AggregateCall, Expr};
use types::{SqlType, Value};

use super::super::expression::Expressions;
use super::super::pipe::{Pipe, Sql};
use super::accumulator::{Accumulator, Kind};
use super::integers::SUMS_OF_PAIRS;
use crate::ir::{Arithmetic, Callee, Compare, Conversion, Operation, StateId, Ty, Var};

impl Expressions {
    /// Updates an accumulator for a tuple's pair, unless one of the two is NULL.
    pub(super) fn update_pair(
        &mut self,
        pipe: &mut Pipe,
        state: StateId,
        row: Var,
        accumulator: &Accumulator,
        pair: [&Expr; 2],
    ) -> Result<()> {
        let [y, x] = pair;
        let (y, x) = (self.scalar(pipe, y)?, self.scalar(pipe, x)?);
        let add = |pipe: &mut Pipe| match accumulator.kind {
            Kind::Moments => {
                let at = accumulator.address(pipe, row);
                pipe.call(Callee::MomentsAdd, vec![at, y.value, x.value], None);
                Ok(())
            }
            Kind::IntegerMoments => {
                accumulator.add_integer_pair(pipe, row, [y.value, x.value]);
                Ok(())
            }
            Kind::ArgMin | Kind::ArgMax => accumulator.add_value_at(pipe, row, [y.value, x.value], Some(state)),
            _ => accumulator.add(pipe, row, y.value, None),
        };
        match pipe.any_null([y.null, x.null]) {
            None => add(pipe),
            Some(null) => {
                let there = pipe.not(null);
                pipe.when(there, add)
            }
        }
    }

    /// The value at a fraction, which is computed once a group; `continuous`: between two values if need be.
    pub(super) fn finish_percentile(
        &mut self,
        pipe: &mut Pipe,
        row: Var,
        call: &AggregateCall,
        part: &Accumulator,
        continuous: bool,
    ) -> Result<Sql> {
        let fraction = self.scalar(pipe, &call.arguments[1])?;
        let none = part.has_none(pipe, row);
        let ty = part.ty();
        let callee = match ty {
            _ if continuous => Callee::FloatAround,
            Ty::F32 | Ty::F64 => Callee::FloatAt,
            _ => Callee::IntegerAt,
        };
        let found = self.strict(pipe, &[fraction], |pipe| {
            let at = part.address(pipe, row);
            let value = pipe.call1(callee, vec![at, fraction.value], call.position);
            part.as_collected(pipe, value, call.position)
        })?;
        let null = pipe.any_null([found.null, Some(none)]);
        Ok(Sql { value: found.value, null })
    }

    /// Adds an entry for a tuple, unless one of its arguments is NULL: the words that order it, then what it is of.
    pub(super) fn add_entry(&mut self, pipe: &mut Pipe, row: Var, accumulator: &Accumulator) -> Result<()> {
        let Kind::Entries { flagged, backwards, most } = accumulator.kind else {
            return Err(base::Error::internal("an entry of no list"));
        };
        let of = if flagged { 2 } else { 1 };
        let (of, order) = accumulator.arguments.split_at(of);
        let sqls = order.iter().chain(of).map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        let callee = match of[0].sql_type.physical().into() {
            Ty::Str if most.is_some() => Callee::CollectFirstText { words: sqls.len() as u8 - 1, backwards },
            Ty::Str => Callee::CollectText(sqls.len() as u8 - 1),
            _ if most.is_some() => Callee::CollectFirst(sqls.len() as u8),
            _ => Callee::CollectWords(sqls.len() as u8),
        };
        let add = |pipe: &mut Pipe| {
            let at = accumulator.address(pipe, row);
            let value =
                |sql: &Sql| if pipe.ty(sql.value) == Ty::Str { sql.value } else { pipe.widen(sql.value, Ty::I64) };
            let entry: Vec<Var> = sqls.iter().map(value).collect();
            let most = most.map(|most| pipe.int(most.into(), Ty::I64));
            pipe.call(callee, [at].into_iter().chain(most).chain(entry).collect(), None);
            Ok(())
        };
        match pipe.any_null(sqls.iter().map(|sql| sql.null)) {
            None => add(pipe),
            Some(null) => {
                let there = pipe.not(null);
                pipe.when(there, add)
            }
        }
    }

    /// The texts of a group, one behind the other.
    pub(super) fn finish_texts(
        &mut self,
        pipe: &mut Pipe,
        row: Var,
        call: &AggregateCall,
        part: &Accumulator,
    ) -> Result<Sql> {
        // Nothing separates the first few.
        let nothing = Expr::constant(Value::str(""), SqlType::Text);
        let separator = if call.function.is_of_first() { &nothing } else { &call.arguments[1] };
        let separator = self.scalar(pipe, separator)?;
        let none = part.has_none(pipe, row);
        let words = part.arguments.len() as u8 - 1;
        let callee = Callee::JoinTexts { words, backwards: call.function.is_backwards() };
        let texts = self.strict(pipe, &[separator], |pipe| {
            let at = part.address(pipe, row);
            pipe.call1(callee, vec![at, separator.value], call.position)
        })?;
        let null = pipe.any_null([texts.null, Some(none)]);
        Ok(Sql { value: texts.value, null })
    }

    /// The list of a group's values.
    pub(super) fn finish_list(&mut self, pipe: &mut Pipe, row: Var, call: &AggregateCall, part: &Accumulator) -> Sql {
        let flagged = matches!(part.kind, Kind::Entries { flagged: true, .. });
        let elements = self.elements(call.sql_type.element().unwrap_or(SqlType::Null));
        let callee = Callee::MakeList { elements, words: part.arguments.len() as u8, flagged };
        let (at, none) = (part.address(pipe, row), part.has_none(pipe, row));
        Sql { value: pipe.call1(callee, vec![at], call.position), null: Some(none) }
    }
}

impl Accumulator {
    /// Whether no value was collected.
    fn has_none(&self, pipe: &mut Pipe, row: Var) -> Var {
        let chunk = pipe.load(row, self.offset, Ty::I64, false);
        let zero = pipe.int(0, Ty::I64);
        pipe.compare(Compare::Eq, chunk, zero)
    }

    /// The value that most rows have.
    pub(super) fn finish_mode(&self, pipe: &mut Pipe, row: Var, call: &AggregateCall) -> Sql {
        let (at, none) = (self.address(pipe, row), self.has_none(pipe, row));
        let callee = if self.ty().is_float() { Callee::MostFrequentFloat } else { Callee::MostFrequentInteger };
        let value = pipe.call1(callee, vec![at], call.position);
        Sql { value: self.as_collected(pipe, value, call.position), null: Some(none) }
    }

    /// A value that was [collected](Self::collected), in its own type.
    fn as_collected(&self, pipe: &mut Pipe, value: Var, position: Option<u32>) -> Var {
        let ty = self.ty();
        match pipe.ty(value) {
            from if from == ty => value,
            Ty::F64 => pipe.let_(ty, Operation::Convert(Conversion::FloatToFloat, value, ty, position)),
            // It came in by widening.
            _ => pipe.let_(ty, Operation::Convert(Conversion::Cut, value, ty, None)),
        }
    }

    /// Adds a pair of integers to the sums.
    fn add_integer_pair(&self, pipe: &mut Pipe, row: Var, pair: [Var; 2]) {
        let [y, x] = pair.map(|value| pipe.widen(value, Ty::I64));
        let [yy, xx, xy] = [(y, y), (x, x), (x, y)].map(|(a, b)| pipe.wrapping(Arithmetic::Mul, a, b));
        let one = pipe.int(1, Ty::I64);
        self.add_to_pairs(pipe, row, [y, x, yy, xx, xy], one);
    }

    /// Adds the sums of the second row to those of the first.
    pub(super) fn combine_sums_of_pairs(&self, pipe: &mut Pipe, into: Var, from: Var) {
        let (sums, count) = self.sums_of_pairs(pipe, from);
        self.add_to_pairs(pipe, into, sums, count);
    }

    fn add_to_pairs(&self, pipe: &mut Pipe, row: Var, more: [Var; SUMS_OF_PAIRS as usize], more_rows: Var) {
        let (sums, count) = self.sums_of_pairs(pipe, row);
        for (i, (sum, more)) in sums.into_iter().zip(more).enumerate() {
            let more = pipe.widen(more, self.ty());
            let sum = pipe.wrapping(Arithmetic::Add, sum, more);
            pipe.store(row, self.offset + i as u32 * self.ty().size(), sum);
        }
        let count = pipe.wrapping(Arithmetic::Add, count, more_rows);
        pipe.store(row, self.offset + SUMS_OF_PAIRS * self.ty().size(), count);
    }

    /// The sums, and how many pairs there are.
    fn sums_of_pairs(&self, pipe: &mut Pipe, row: Var) -> ([Var; SUMS_OF_PAIRS as usize], Var) {
        let (ty, size) = (self.ty(), self.ty().size());
        let sums = std::array::from_fn(|i| pipe.load(row, self.offset + i as u32 * size, ty, false));
        (sums, pipe.load(row, self.offset + SUMS_OF_PAIRS * size, Ty::I64, false))
    }

    /// A value as groups collect it: a double or a 64-bit integer, which hold all that is narrower.
    pub(super) fn collected(pipe: &mut Pipe, value: Var) -> Var {
        match pipe.ty(value) {
            Ty::F64 => value,
            Ty::F32 => pipe.let_(Ty::F64, Operation::Convert(Conversion::FloatToFloat, value, Ty::F64, None)),
            _ => pipe.widen(value, Ty::I64),
        }
    }

    /// A covariance or what a regression gives.
    pub(super) fn finish_regression(&self, pipe: &mut Pipe, row: Var, call: &AggregateCall) -> Sql {
        let results = if self.kind == Kind::IntegerMoments {
            let (sums, count) = self.sums_of_pairs(pipe, row);
            let sums = sums.map(|sum| pipe.widen(sum, Ty::I128));
            let args = [count].into_iter().chain(sums).collect();
            pipe.call(Callee::RegressionOfIntegers(call.function), args, call.position)
        } else {
            let at = self.address(pipe, row);
            pipe.call(Callee::Regression(call.function), vec![at], call.position)
        };
        Sql { value: results[0], null: Some(results[1]) }
    }
}
