//! Accumulators: what a group row keeps for its aggregates. Aggregates of one argument share them (avg is sum and count).

use base::Result;
use functions::AggregateFunction as F;
use plan::{AggregateCall, Expr, ExprKind};
use types::{Physical, SqlType, Value};

use super::super::expression::{Expressions, Range, check_precision};
use super::super::pipe::{Pipe, Sql};
use super::integers::{SUMS_OF_PAIRS, integer_pair};
use super::shift::shifted;
use crate::ir::{
    Callee, Compare, Conversion, FloatFunction, Inst, Logic, Operation, RowLayout, Site, SiteKind, StateId, Ty, Var,
};

/// What an accumulator keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Number of rows (of argument and filter): I64.
    Count,
    /// Sum: I64 inputs, or others that are known to be small, are added up in I128, which no number of them can overflow; or an interval.
    Sum,
    /// Sum of I128 inputs, {sum: I128, carry: I64}: whether the total fits must not depend on the order.
    WideSum,
    /// Sum of floats, exact: {high: F64, low: F64}.
    FloatSum,
    Min,
    Max,
    And,
    Or,
    /// All bits of integers, by one operation.
    Bits(Logic),
    Any,
    /// {value, key}: the value where the key is least.
    ArgMin,
    /// Where it is greatest.
    ArgMax,
    /// Hashes of distinct values: {Ptr}
    Distinct,
    /// {count: I64, exact sum, exact sum of squares: one of products}
    Variance,
    /// {count: I64, two exact sums, three of products}
    Moments,
    /// Of integers, {y, x, y * y, x * x, x * y, count: I64}: sums in I64 where bounds prove that they fit, or in I128.
    IntegerMoments,
    /// All values: {Ptr, Ptr, Ptr, Ptr}
    Values,
    /// Entries of words, and of a text if the first argument is one: {Ptr, Ptr, Ptr, Ptr}. `flagged`: the first argument says
    /// whether the second is NULL; `backwards`: the greatest text comes first; `most`: more than so many first ones are not needed.
    Entries {
        flagged: bool,
        backwards: bool,
        most: Option<u32>,
    },
}

/// A piece of state in the group row.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    pub(super) kind: Kind,
    /// Of several, a row counts only if none is NULL.
    pub(super) arguments: Vec<Expr>,
    filter: Option<Expr>,
    /// Type of the value kept.
    pub(super) sql_type: SqlType,
    /// Whether a byte says that a value was seen: needed where the value alone does not say it.
    pub(super) tracks_seen: bool,
    pub(super) offset: u32,
    /// Where the key of a value at a key is.
    pub(super) key_offset: u32,
    pub(super) seen: u32,
}

/// 2^48 values of such a magnitude do not overflow 128 bits.
const SMALL: u128 = 1 << 78;

/// Whether an aggregate is made of the sum of its values.
pub(super) fn adds_up(call: &AggregateCall) -> bool {
    matches!(call.function, F::Sum | F::Avg)
}

/// The accumulators of an aggregate. `nullable`: whether an argument can be NULL; `range`: between what its values are;
/// `grouped`: whether a group has at least one row; `counted`: whether a sum is to know of how many values it is.
pub(super) fn accumulators_of(
    call: &AggregateCall,
    grouped: bool,
    counted: bool,
    nullable: &dyn Fn(&Expr) -> bool,
    range: &dyn Fn(&Expr) -> Option<Range>,
) -> Vec<Accumulator> {
    let mut arguments = call.arguments.clone();
    if call.function.has_fixed_argument() {
        arguments.remove(1);
    }
    let make = |kind, sql_type| Accumulator {
        kind,
        arguments: arguments.clone(),
        filter: call.filter.clone(),
        sql_type,
        tracks_seen: false,
        offset: 0,
        key_offset: 0,
        seen: 0,
    };
    let can_be_null = arguments.iter().any(nullable);
    let count = || {
        let mut count = make(Kind::Count, SqlType::BigInt);
        if !can_be_null {
            count.arguments.clear();
        }
        count
    };
    let argument_type = call.argument_type();
    let sum = || match argument_type {
        SqlType::Real | SqlType::Double => make(Kind::FloatSum, SqlType::Double),
        t if t.as_decimal().is_some() => {
            // What is computed has no array that is added up at once.
            let is_small = |argument: &Expr| {
                let range = range(argument).filter(|_| !matches!(argument.kind, ExprKind::Column(_)));
                range.is_some_and(|range| range.magnitude() <= SMALL)
            };
            let wide = t.physical() == Physical::I128 && !arguments.first().is_some_and(is_small);
            make(if wide { Kind::WideSum } else { Kind::Sum }, SqlType::decimal(38, t.scale()))
        }
        t => make(Kind::Sum, t),
    };
    let seen = |mut a: Accumulator| {
        a.tracks_seen = true;
        a
    };
    match call.function {
        F::CountStar | F::Count | F::RegrCount => vec![count()],
        F::Sum if counted => vec![seen(sum()), count()],
        F::Sum if grouped && !can_be_null && call.filter.is_none() => vec![sum()],
        F::Sum => vec![seen(sum())],
        F::Avg => vec![sum(), count()],
        F::Min => vec![seen(make(Kind::Min, argument_type))],
        F::Max => vec![seen(make(Kind::Max, argument_type))],
        F::BoolAnd => vec![seen(make(Kind::And, SqlType::Bool))],
        F::BoolOr => vec![seen(make(Kind::Or, SqlType::Bool))],
        F::BitAnd => vec![seen(make(Kind::Bits(Logic::And), argument_type))],
        F::BitOr => vec![seen(make(Kind::Bits(Logic::Or), argument_type))],
        F::BitXor => vec![seen(make(Kind::Bits(Logic::Xor), argument_type))],
        F::AnyValue => vec![seen(make(Kind::Any, argument_type))],
        F::ArgMin | F::ArgMax if is_null_of_none(&arguments, nullable) => {
            // The value is the same of whichever row it is: that is what `first` asks of a column without NULL.
            let mut any = seen(make(Kind::Any, argument_type));
            any.arguments.truncate(1);
            vec![any]
        }
        F::ArgMin => vec![seen(make(Kind::ArgMin, argument_type))],
        F::ArgMax => vec![seen(make(Kind::ArgMax, argument_type))],
        F::ApproxCountDistinct => vec![make(Kind::Distinct, SqlType::BigInt)],
        F::StddevSamp | F::StddevPop | F::VarSamp | F::VarPop => vec![make(Kind::Variance, SqlType::Double)],
        F::ContinuousAt | F::DiscreteAt | F::MostFrequent => vec![make(Kind::Values, argument_type)],
        texts if texts.is_of_texts() => {
            let (flagged, backwards) = (false, texts.is_backwards());
            let mut texts = make(Kind::Entries { flagged, backwards, most: most_of(call) }, argument_type);
            drop_zeros(&mut texts.arguments, 1, nullable);
            vec![texts]
        }
        F::WordList | F::FirstOfWordList => {
            let (flagged, backwards) = (!is_zero(&arguments[0], nullable), false);
            let mut list = make(Kind::Entries { flagged, backwards, most: most_of(call) }, argument_type);
            drop_zeros(&mut list.arguments, 2, nullable);
            list.arguments.drain(..usize::from(!flagged));
            vec![list]
        }
        _ => match integer_pair(&arguments, range) {
            Some((pair, sum)) => vec![Accumulator { arguments: pair, ..make(Kind::IntegerMoments, sum) }],
            None => vec![make(Kind::Moments, SqlType::Double)],
        },
    }
}

/// How many entries are needed at most, if that is said.
fn most_of(call: &AggregateCall) -> Option<u32> {
    match call.arguments.get(1)?.kind {
        ExprKind::Const(Value::Int(most)) if call.function.is_of_first() => u32::try_from(most).ok(),
        _ => None,
    }
}

/// Whether a value is asked that says whether something is NULL that never is, of some row.
fn is_null_of_none(arguments: &[Expr], nullable: &dyn Fn(&Expr) -> bool) -> bool {
    let [value, key] = arguments else { return false };
    matches!(&value.kind, ExprKind::IsNull(of) if !nullable(of)) && !nullable(key)
}

/// Drops the numbers behind the first few arguments that are 0 for each row, and so order nothing.
fn drop_zeros(arguments: &mut Vec<Expr>, first: usize, nullable: &dyn Fn(&Expr) -> bool) {
    let mut at = 0;
    arguments.retain(|argument| {
        at += 1;
        at <= first || !is_zero(argument, nullable)
    });
}

/// Whether it is 0 for each row: it would be 1 where a value is NULL that never is.
fn is_zero(expr: &Expr, nullable: &dyn Fn(&Expr) -> bool) -> bool {
    let is_number = |e: &Expr, n: i64| matches!(e.kind, ExprKind::Const(Value::Int(found)) if found == n);
    match &expr.kind {
        ExprKind::Case { branches, otherwise } if is_number(otherwise, 0) => {
            branches.iter().all(|(when, _)| matches!(&when.kind, ExprKind::IsNull(value) if !nullable(value)))
        }
        _ => is_number(expr, 0),
    }
}

impl Accumulator {
    /// Equal keys can share one accumulator.
    pub(super) fn key(&self) -> String {
        let mut arguments = self.arguments.clone();
        let mut filter = self.filter.clone();
        arguments.iter_mut().chain(&mut filter).for_each(strip_positions);
        format!("{:?} {} {:?} {:?} {}", self.kind, self.sql_type, arguments, filter, self.tracks_seen)
    }

    pub(super) fn ty(&self) -> Ty {
        self.sql_type.physical().into()
    }

    pub(super) fn place(&mut self, layout: &mut RowLayout) {
        self.offset = match self.kind {
            Kind::FloatSum => place_sum(layout),
            Kind::WideSum => {
                let at = layout.add(Ty::I128);
                layout.add(Ty::I64);
                at
            }
            Kind::Variance => {
                let at = layout.add(Ty::I64);
                place_sum(layout);
                place_products(layout);
                at
            }
            Kind::Moments => {
                let at = layout.add(Ty::I64);
                (0..2).for_each(|_| _ = place_sum(layout));
                (0..3).for_each(|_| place_products(layout));
                at
            }
            Kind::IntegerMoments => {
                let at = layout.add(self.ty());
                (1..SUMS_OF_PAIRS).for_each(|_| _ = layout.add(self.ty()));
                layout.add(Ty::I64);
                at
            }
            Kind::Values | Kind::Entries { .. } => {
                let at = layout.add(Ty::Ptr);
                (1..4).for_each(|_| _ = layout.add(Ty::Ptr));
                at
            }
            Kind::Distinct => layout.add(Ty::Ptr),
            Kind::ArgMin | Kind::ArgMax => {
                self.key_offset = place_value(layout, self.key_ty());
                place_value(layout, self.ty())
            }
            _ => place_value(layout, self.ty()),
        };
        if self.tracks_seen {
            self.seen = layout.add(Ty::Bool);
        }
    }

    pub(super) fn load(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.offset, self.ty(), false)
    }
    pub(super) fn load_seen(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.seen, Ty::Bool, false)
    }
    pub(super) fn mark_seen(&self, pipe: &mut Pipe, row: Var) {
        if self.tracks_seen {
            let yes = pipe.bool(true);
            pipe.store(row, self.seen, yes);
        }
    }

    /// Stores a value at an offset. Text of tuples is kept by the state, if it is given; that of rows of the same state is
    /// there.
    pub(super) fn store_at(pipe: &mut Pipe, row: Var, offset: u32, value: Var, keep: Option<StateId>) {
        let ty = pipe.ty(value);
        let value = match keep {
            Some(state) if ty == Ty::Str => {
                let old = pipe.load(row, offset, ty, false);
                pipe.call1(Callee::KeepStr(state), vec![old, value], None)
            }
            _ => value,
        };
        pipe.store(row, offset, value);
    }

    /// Stores the value; see [`store_at`](Self::store_at).
    pub(super) fn store(&self, pipe: &mut Pipe, row: Var, value: Var, keep: Option<StateId>) {
        Self::store_at(pipe, row, self.offset, value, keep);
    }
}

/// Places a value, a text with room for what it points to.
fn place_value(layout: &mut RowLayout, ty: Ty) -> u32 {
    if ty == Ty::Str { layout.add_kept() } else { layout.add(ty) }
}

/// Places an exact sum.
fn place_sum(layout: &mut RowLayout) -> u32 {
    let at = layout.add(Ty::F64);
    layout.add(Ty::F64);
    at
}

/// Places an exact sum of products: a double and an exact sum.
fn place_products(layout: &mut RowLayout) {
    layout.add(Ty::F64);
    place_sum(layout);
}

impl Expressions {
    /// Updates an accumulator of a row of the state for the current tuple; `grouped`: the state has keys.
    pub(super) fn update(
        &mut self,
        pipe: &mut Pipe,
        state: StateId,
        row: Var,
        accumulator: &Accumulator,
        grouped: bool,
    ) -> Result<()> {
        let Some(filter) = &accumulator.filter else {
            return self.update_unfiltered(pipe, state, row, accumulator, grouped);
        };
        let condition = self.truth(pipe, filter)?;
        // The argument is evaluated only where the filter admits it: it may fail elsewhere.
        pipe.open_block();
        self.update_unfiltered(pipe, state, row, accumulator, grouped)?;
        let then = pipe.close_block();
        pipe.push(crate::ir::Inst::If { condition, then, otherwise: Vec::new(), results: Vec::new() });
        Ok(())
    }

    fn update_unfiltered(
        &mut self,
        pipe: &mut Pipe,
        state: StateId,
        row: Var,
        accumulator: &Accumulator,
        grouped: bool,
    ) -> Result<()> {
        if !grouped && let Some(fold) = accumulator.fold(pipe, state) {
            pipe.push(Inst::Fold(fold));
            return Ok(());
        }
        let argument = match accumulator.arguments.as_slice() {
            _ if matches!(accumulator.kind, Kind::Entries { .. }) => return self.add_entry(pipe, row, accumulator),
            [] => return accumulator.add(pipe, row, Var(0), None),
            [argument] => argument,
            [y, x, ..] => return self.update_pair(pipe, state, row, accumulator, [y, x]),
        };
        pipe.open_trial();
        let sql = self.taken(pipe, accumulator, argument);
        let block = pipe.close_trial();
        let sql = sql?;
        if !grouped && let Some(fold) = accumulator.fold_computed(pipe, state, &block, sql) {
            pipe.push(Inst::Fold(fold));
            return Ok(());
        }
        pipe.append(block);
        if !grouped && let Some(fold) = accumulator.fold_element(pipe, state, sql) {
            pipe.push(Inst::Fold(fold));
            return Ok(());
        }
        match sql.null {
            None => accumulator.add(pipe, row, sql.value, Some(state)),
            Some(null) => {
                let there = pipe.not(null);
                pipe.when(there, |p| accumulator.add(p, row, sql.value, Some(state)))
            }
        }
    }

    /// The value of an argument, as the accumulator takes it.
    fn taken(&mut self, pipe: &mut Pipe, accumulator: &Accumulator, argument: &Expr) -> Result<Sql> {
        let mut sql = self.scalar(pipe, argument)?;
        let exact = argument.sql_type.as_decimal().is_some();
        if accumulator.kind == Kind::Variance && exact {
            sql.value = pipe.widen(sql.value, Ty::I128);
        } else if accumulator.kind == Kind::Values {
            sql.value = Accumulator::collected(pipe, sql.value);
        } else if matches!(accumulator.kind, Kind::FloatSum | Kind::Variance) {
            sql = self.as_double(pipe, sql, argument)?;
        } else if matches!(accumulator.kind, Kind::Min | Kind::Max | Kind::Any | Kind::Bits(_)) {
            sql = pipe.in_layout(sql, accumulator.sql_type);
        }
        Ok(sql)
    }

    fn as_double(&mut self, pipe: &mut Pipe, sql: Sql, argument: &Expr) -> Result<Sql> {
        if pipe.ty(sql.value) == Ty::F64 {
            return Ok(sql);
        }
        let cast = Expr::new(plan::ExprKind::Cast(Box::new(argument.clone())), SqlType::Double);
        self.scalar(pipe, &cast.at(argument.position))
    }

    /// The aggregate's value from its accumulators, which lack a constant that is added to each value.
    pub(super) fn finish(
        &mut self,
        pipe: &mut Pipe,
        row: Var,
        call: &AggregateCall,
        parts: &[&Accumulator],
        shift: i128,
    ) -> Result<Sql> {
        let position = call.position;
        match call.function {
            F::CountStar | F::Count | F::RegrCount => Ok(Sql { value: parts[0].load(pipe, row), null: None }),
            F::ApproxCountDistinct => {
                let at = parts[0].address(pipe, row);
                Ok(Sql { value: pipe.call1(Callee::DistinctCount, vec![at], position), null: None })
            }
            F::Avg => self.finish_average(pipe, row, call, parts, shift),
            F::StddevSamp | F::StddevPop | F::VarSamp | F::VarPop => Ok(finish_variance(pipe, row, call, parts[0])?),
            F::ContinuousAt => self.finish_percentile(pipe, row, call, parts[0], true),
            F::DiscreteAt => self.finish_percentile(pipe, row, call, parts[0], false),
            F::MostFrequent => Ok(parts[0].finish_mode(pipe, row, call)),
            texts if texts.is_of_texts() => self.finish_texts(pipe, row, call, parts[0]),
            F::WordList | F::FirstOfWordList => Ok(self.finish_list(pipe, row, call, parts[0])),
            _ if matches!(parts[0].kind, Kind::Moments | Kind::IntegerMoments) => {
                Ok(parts[0].finish_regression(pipe, row, call))
            }
            _ => {
                let mut value = match parts[0].kind {
                    Kind::FloatSum => {
                        let at = parts[0].address(pipe, row);
                        pipe.call1(Callee::RoundSum, vec![at], position)
                    }
                    _ => parts[0].total(pipe, row, position)?,
                };
                if shift != 0 {
                    let count = parts[1].load(pipe, row);
                    value = shifted(pipe, value, shift, count);
                }
                let null = parts[0].tracks_seen.then(|| {
                    let seen = parts[0].load_seen(pipe, row);
                    pipe.not(seen)
                });
                if call.function == F::Sum && parts[0].ty() == Ty::I128 {
                    value = check_precision(pipe, value, call.sql_type, position);
                }
                if call.function == F::Sum && call.sql_type == SqlType::Real {
                    let narrow = Operation::Convert(Conversion::FloatToFloat, value, Ty::F32, position);
                    value = pipe.let_(Ty::F32, narrow);
                }
                Ok(Sql { value, null })
            }
        }
    }

    fn finish_average(
        &mut self,
        pipe: &mut Pipe,
        row: Var,
        call: &AggregateCall,
        parts: &[&Accumulator],
        shift: i128,
    ) -> Result<Sql> {
        let (sum, count) = (parts[0], parts[1]);
        let rows = count.load(pipe, row);
        let zero = pipe.int(0, Ty::I64);
        let none = pipe.compare(Compare::Eq, rows, zero);
        if sum.kind == Kind::FloatSum {
            let at = sum.address(pipe, row);
            let value = pipe.call1(Callee::Average, vec![at, rows], call.position);
            return Ok(Sql { value, null: Some(none) });
        }
        let mut value = sum.total(pipe, row, call.position)?;
        if shift != 0 {
            value = shifted(pipe, value, shift, rows);
        }
        let of_any = Sql { value, null: Some(none) };
        match sum.ty() {
            Ty::I128 => {
                let power = i128::from(call.sql_type.scale()) - i128::from(sum.sql_type.scale());
                self.strict(pipe, &[of_any], |p| {
                    let (count, power) = (p.widen(rows, Ty::I128), p.int(power, Ty::I32));
                    let value = p.call1(Callee::DivDecimal, vec![value, count, power], call.position);
                    check_precision(p, value, call.sql_type, call.position)
                })
            }
            _ => {
                let site = Site {
                    kind: SiteKind::Scalar(functions::ScalarFunction::DIVIDE),
                    arguments: vec![SqlType::Interval, SqlType::Double],
                    result: SqlType::Interval,
                };
                let count = pipe.let_(Ty::F64, Operation::Convert(Conversion::IntToFloat, rows, Ty::F64, None));
                self.call_site(pipe, site, &[of_any, Sql { value: count, null: None }], call.position)
            }
        }
    }
}

/// Variance and standard deviation, of a sample or a population.
fn finish_variance(pipe: &mut Pipe, row: Var, call: &AggregateCall, part: &Accumulator) -> Result<Sql> {
    let sample = matches!(call.function, F::VarSamp | F::StddevSamp);
    let count = pipe.load(row, part.offset, Ty::I64, false);
    let least = pipe.int(if sample { 2 } else { 1 }, Ty::I64);
    let null = pipe.compare(Compare::Lt, count, least);
    let scale = call.argument_type().scale();
    let (at, sample, scale) = (part.address(pipe, row), pipe.bool(sample), pipe.int(scale.into(), Ty::I32));
    let mut value = pipe.call1(Callee::Variance, vec![at, sample, scale], call.position);
    if matches!(call.function, F::StddevSamp | F::StddevPop) {
        value = pipe.let_(Ty::F64, Operation::FloatFunction(FloatFunction::Sqrt, value));
    }
    Ok(Sql { value, null: Some(null) })
}

fn strip_positions(expr: &mut Expr) {
    expr.position = None;
    expr.children_mut().for_each(strip_positions);
}
