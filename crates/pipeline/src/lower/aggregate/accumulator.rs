//! Accumulators: what a group row keeps for its aggregates. Aggregates of one argument share them (avg is sum and count).

use base::Result;
use functions::AggregateFunction as F;
use plan::{AggregateCall, Expr};
use types::SqlType;

use super::super::Lowering;
use super::super::arithmetic::check_precision;
use super::super::compare::compare_same;
use super::super::pipe::{Pipe, Sql};
use crate::ir::{
    Arithmetic, Callee, Compare, Conversion, FloatOp, Logic, Operation, RowLayout, Site, SiteKind, Ty, Var,
};

/// What an accumulator keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Number of rows (of argument and filter): I64.
    Count,
    /// Sum: I64 inputs are added up in I128, which 2^64 of them cannot overflow; F64; or an interval.
    Sum,
    Min,
    Max,
    And,
    Or,
    Any,
    /// {count: I64, mean: F64, m2: F64}
    Welford,
}

/// A piece of state in the group row.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    kind: Kind,
    argument: Option<Expr>,
    filter: Option<Expr>,
    /// Type of the value kept.
    sql_type: SqlType,
    /// Whether a byte says that a value was seen: needed where the value alone does not say it.
    tracks_seen: bool,
    offset: u32,
    seen: u32,
}

/// The accumulators of an aggregate. `nullable`: whether an argument can be NULL; `grouped`: whether a group has at least
/// one row.
pub(super) fn accumulators_of(
    call: &AggregateCall,
    grouped: bool,
    nullable: &dyn Fn(&Expr) -> bool,
) -> Vec<Accumulator> {
    let argument = call.argument.clone();
    let make = |kind, sql_type| Accumulator {
        kind,
        argument: argument.clone(),
        filter: call.filter.clone(),
        sql_type,
        tracks_seen: false,
        offset: 0,
        seen: 0,
    };
    let can_be_null = argument.as_ref().is_some_and(nullable);
    let count = || {
        let mut count = make(Kind::Count, SqlType::BigInt);
        if !can_be_null {
            count.argument = None;
        }
        count
    };
    let argument_type = argument.as_ref().map_or(SqlType::Null, |a| a.sql_type);
    let sum = || {
        let exact = argument_type.as_decimal().is_some();
        make(Kind::Sum, if exact { SqlType::decimal(38, argument_type.scale()) } else { argument_type })
    };
    let seen = |mut a: Accumulator| {
        a.tracks_seen = true;
        a
    };
    match call.function {
        F::CountStar | F::Count => vec![count()],
        F::Sum if grouped && !can_be_null && call.filter.is_none() => vec![sum()],
        F::Sum => vec![seen(sum())],
        // Single precision would lose what comes late.
        F::Avg if argument_type == SqlType::Real => vec![make(Kind::Sum, SqlType::Double), count()],
        F::Avg => vec![sum(), count()],
        F::Min => vec![seen(make(Kind::Min, argument_type))],
        F::Max => vec![seen(make(Kind::Max, argument_type))],
        F::BoolAnd => vec![seen(make(Kind::And, SqlType::Bool))],
        F::BoolOr => vec![seen(make(Kind::Or, SqlType::Bool))],
        F::AnyValue => vec![seen(make(Kind::Any, argument_type))],
        F::StddevSamp | F::StddevPop | F::VarSamp | F::VarPop => vec![make(Kind::Welford, SqlType::Double)],
    }
}

impl Accumulator {
    /// Equal keys can share one accumulator.
    pub(super) fn key(&self) -> String {
        let mut argument = self.argument.clone();
        let mut filter = self.filter.clone();
        argument.iter_mut().chain(&mut filter).for_each(strip_positions);
        format!("{:?} {} {:?} {:?} {}", self.kind, self.sql_type, argument, filter, self.tracks_seen)
    }

    fn ty(&self) -> Ty {
        self.sql_type.physical().into()
    }

    pub(super) fn place(&mut self, layout: &mut RowLayout) {
        self.offset = match self.kind {
            Kind::Welford => {
                let at = layout.add(Ty::I64);
                layout.add(Ty::F64);
                layout.add(Ty::F64);
                at
            }
            _ => layout.add(self.ty()),
        };
        if self.tracks_seen {
            self.seen = layout.add(Ty::Bool);
        }
    }

    fn load(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.offset, self.ty(), false)
    }
    fn load_seen(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.load(row, self.seen, Ty::Bool, false)
    }
    fn mark_seen(&self, pipe: &mut Pipe, row: Var) {
        if self.tracks_seen {
            let yes = pipe.bool(true);
            pipe.store(row, self.seen, yes);
        }
    }

    /// Adds a value (one that is not NULL) that has the accumulator's layout.
    fn add(&self, pipe: &mut Pipe, row: Var, value: Var) -> Result<()> {
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
                        let wide = pipe.ty(value) == Ty::I128;
                        let value = pipe.widen(value, Ty::I128);
                        let op = if wide {
                            Operation::Checked(Arithmetic::Add, old, value, None)
                        } else {
                            Operation::Wrapping(Arithmetic::Add, old, value)
                        };
                        pipe.let_(Ty::I128, op)
                    }
                    Ty::Interval => pipe.call1(Callee::AddInterval, vec![old, value], None),
                    ty => pipe.let_(ty, Operation::Float(FloatOp::Add, old, value)),
                };
                pipe.store(row, self.offset, new);
                self.mark_seen(pipe, row);
            }
            Kind::Min | Kind::Max => {
                let op = if self.kind == Kind::Min { Compare::Lt } else { Compare::Gt };
                let seen = self.load_seen(pipe, row);
                let [better] = pipe.if_(
                    seen,
                    |p| {
                        let old = self.load(p, row);
                        Ok([compare_same(p, op, value, old)])
                    },
                    |p| Ok([p.bool(true)]),
                )?;
                pipe.when(better, |p| {
                    p.store(row, self.offset, value);
                    self.mark_seen(p, row);
                    Ok(())
                })?;
                pipe.keeps_strings |= self.ty() == Ty::Str;
            }
            Kind::Any => {
                let seen = self.load_seen(pipe, row);
                let first = pipe.not(seen);
                pipe.when(first, |p| {
                    p.store(row, self.offset, value);
                    self.mark_seen(p, row);
                    Ok(())
                })?;
                pipe.keeps_strings |= self.ty() == Ty::Str;
            }
            Kind::And | Kind::Or => {
                let (seen, old) = (self.load_seen(pipe, row), self.load(pipe, row));
                let logic = if self.kind == Kind::And { Logic::And } else { Logic::Or };
                let both = pipe.let_(Ty::Bool, Operation::Logic(logic, old, value));
                let new = pipe.let_(Ty::Bool, Operation::Select(seen, both, value));
                pipe.store(row, self.offset, new);
                self.mark_seen(pipe, row);
            }
            Kind::Welford => {
                let at = self.address(pipe, row);
                pipe.call(Callee::WelfordAdd, vec![at, value], None);
            }
        }
        Ok(())
    }

    fn address(&self, pipe: &mut Pipe, row: Var) -> Var {
        pipe.let_(Ty::Ptr, Operation::FieldAddress(row, self.offset))
    }

    /// Adds the second row's accumulator to the first's.
    pub(super) fn combine(&self, pipe: &mut Pipe, into: Var, from: Var) -> Result<()> {
        match self.kind {
            Kind::Welford => {
                let (a, b) = (self.address(pipe, into), self.address(pipe, from));
                pipe.call(Callee::WelfordMerge, vec![a, b], None);
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
                pipe.when(seen, |p| {
                    let value = self.load(p, from);
                    self.add(p, into, value)
                })
            }
            _ => {
                let value = self.load(pipe, from);
                self.add(pipe, into, value)
            }
        }
    }
}

impl Lowering<'_> {
    /// Updates an accumulator for the current tuple.
    pub(super) fn update(&mut self, pipe: &mut Pipe, row: Var, accumulator: &Accumulator) -> Result<()> {
        let mut condition = None;
        if let Some(filter) = &accumulator.filter {
            condition = Some(self.truth(pipe, filter)?);
        }
        // The argument is evaluated only where the filter admits it: it may fail elsewhere.
        let guarded = condition.is_some();
        if guarded {
            pipe.open_block();
        }
        self.update_unfiltered(pipe, row, accumulator)?;
        if let (Some(condition), true) = (condition, guarded) {
            let then = pipe.close_block();
            let otherwise = Vec::new();
            pipe.push(crate::ir::Inst::If { condition, then, otherwise, results: Vec::new() });
        }
        Ok(())
    }

    fn update_unfiltered(&mut self, pipe: &mut Pipe, row: Var, accumulator: &Accumulator) -> Result<()> {
        let Some(argument) = &accumulator.argument else {
            let nothing = Var(0);
            return accumulator.add(pipe, row, nothing);
        };
        let mut sql = self.scalar(pipe, argument)?;
        if accumulator.kind == Kind::Welford || (accumulator.ty() == Ty::F64 && accumulator.kind == Kind::Sum) {
            sql = self.as_double(pipe, sql, argument)?;
        } else if matches!(accumulator.kind, Kind::Min | Kind::Max | Kind::Any) {
            sql = pipe.in_layout(sql, accumulator.sql_type);
        }
        match sql.null {
            None => accumulator.add(pipe, row, sql.value),
            Some(null) => {
                let there = pipe.not(null);
                pipe.when(there, |p| accumulator.add(p, row, sql.value))
            }
        }
    }

    fn as_double(&mut self, pipe: &mut Pipe, sql: Sql, argument: &Expr) -> Result<Sql> {
        if pipe.ty(sql.value) == Ty::F64 {
            return Ok(sql);
        }
        let cast = Expr::new(plan::ExprKind::Cast(Box::new(argument.clone())), SqlType::Double);
        self.scalar(pipe, &cast.at(argument.position))
    }

    /// The aggregate's value from its accumulators.
    pub(super) fn finish(
        &mut self,
        pipe: &mut Pipe,
        row: Var,
        call: &AggregateCall,
        parts: &[&Accumulator],
    ) -> Result<Sql> {
        let position = call.position;
        match call.function {
            F::CountStar | F::Count => Ok(Sql { value: parts[0].load(pipe, row), null: None }),
            F::Avg => self.finish_average(pipe, row, call, parts),
            F::StddevSamp | F::StddevPop | F::VarSamp | F::VarPop => Ok(finish_variance(pipe, row, call, parts[0])?),
            _ => {
                let mut value = parts[0].load(pipe, row);
                let null = parts[0].tracks_seen.then(|| {
                    let seen = parts[0].load_seen(pipe, row);
                    pipe.not(seen)
                });
                if call.function == F::Sum && parts[0].ty() == Ty::I128 {
                    value = check_precision(pipe, value, call.sql_type, position);
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
    ) -> Result<Sql> {
        let (sum, count) = (parts[0], parts[1]);
        let rows = count.load(pipe, row);
        let zero = pipe.int(0, Ty::I64);
        let none = pipe.compare(Compare::Eq, rows, zero);
        let value = sum.load(pipe, row);
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
            Ty::Interval => {
                let site = Site {
                    kind: SiteKind::Scalar(functions::ScalarFunction::DIVIDE),
                    arguments: vec![SqlType::Interval, SqlType::Double],
                    result: SqlType::Interval,
                };
                let count = pipe.let_(Ty::F64, Operation::Convert(Conversion::IntToFloat, rows, Ty::F64, None));
                self.call_site(pipe, site, &[of_any, Sql { value: count, null: None }], call.position)
            }
            ty => {
                let wide = if ty == Ty::F64 {
                    value
                } else {
                    pipe.let_(Ty::F64, Operation::Convert(Conversion::FloatToFloat, value, Ty::F64, None))
                };
                let count = pipe.let_(Ty::F64, Operation::Convert(Conversion::IntToFloat, rows, Ty::F64, None));
                let value = pipe.let_(Ty::F64, Operation::Float(FloatOp::Div, wide, count));
                Ok(Sql { value, null: Some(none) })
            }
        }
    }
}

/// Variance and standard deviation of {count, mean, m2}: m2 / n or m2 / (n - 1).
fn finish_variance(pipe: &mut Pipe, row: Var, call: &AggregateCall, part: &Accumulator) -> Result<Sql> {
    let sample = matches!(call.function, F::VarSamp | F::StddevSamp);
    let count = pipe.load(row, part.offset, Ty::I64, false);
    let m2 = pipe.load(row, part.offset + 16, Ty::F64, false);
    let least = pipe.int(if sample { 2 } else { 1 }, Ty::I64);
    let null = pipe.compare(Compare::Lt, count, least);
    let off = pipe.int(i128::from(sample), Ty::I64);
    let n = pipe.wrapping(Arithmetic::Sub, count, off);
    let n = pipe.let_(Ty::F64, Operation::Convert(Conversion::IntToFloat, n, Ty::F64, None));
    let mut value = pipe.let_(Ty::F64, Operation::Float(FloatOp::Div, m2, n));
    if matches!(call.function, F::StddevSamp | F::StddevPop) {
        value = pipe.let_(Ty::F64, Operation::Sqrt(value));
    }
    Ok(Sql { value, null: Some(null) })
}

fn strip_positions(expr: &mut Expr) {
    expr.position = None;
    expr.children_mut().for_each(strip_positions);
}
