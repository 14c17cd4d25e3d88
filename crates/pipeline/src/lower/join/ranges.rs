//! Joins by comparisons: build rows are ranges of numbers (`low <= p and p <= high`, or one of the two), which a probe finds by
//! where they begin and how far they reach. The conditions are evaluated all the same: what is found are candidates.

use base::Result;
use plan::{Compare, Expr, ExprKind};
use types::SqlType;

use super::super::expression::Expressions;
use super::super::pipe::{Pipe, Sql};
use super::super::{Needed, collect_columns};
use crate::ir::{Arithmetic, Inst, Operation, Ty, Var};

/// Fewer build rows are looked at one by one.
pub(super) const FEW: f64 = 16.0;

/// `build <= probe`, or `probe <= build`.
struct Bound {
    build: Expr,
    probe: Expr,
}

/// The comparisons that rows are found by: one at least.
pub(super) struct Ranges {
    /// A range begins at or before the probe's number.
    lower: Option<Bound>,
    /// It ends at or behind it.
    upper: Option<Bound>,
}

/// A side's numbers, both I64.
pub(super) struct Numbers {
    /// What rows are sorted by, or found by.
    pub word: Var,
    /// Where the range ends, or the number that it has to reach.
    pub until: Option<Var>,
    /// Bool: whether one of them is NULL.
    pub null: Option<Var>,
}

impl Ranges {
    /// The ranges in a condition whose sides have these columns. Expressions that can fail make none: they are evaluated
    /// for pairs only.
    pub(super) fn of(condition: &[Expr], build: &Needed, probe: &Needed, expressions: &Expressions) -> Option<Self> {
        let is_of = |e: &Expr, side: &Needed| {
            let mut columns = Needed::new();
            collect_columns(e, &mut columns);
            !columns.is_empty() && columns.is_subset(side)
        };
        let (mut lower, mut upper): (Vec<Bound>, Vec<Bound>) = (Vec::new(), Vec::new());
        for conjunct in condition {
            let ExprKind::Compare(op, a, b) = &conjunct.kind else { continue };
            // As `less <= more`; where they are not equal, the condition sees to it.
            let (less, more) = match op {
                Compare::Lt | Compare::Le => (a, b),
                Compare::Gt | Compare::Ge => (b, a),
                _ => continue,
            };
            if !comparable(less.sql_type, more.sql_type) || !expressions.is_safe(less) || !expressions.is_safe(more) {
                continue;
            }
            if is_of(less, build) && is_of(more, probe) {
                lower.push(Bound { build: (**less).clone(), probe: (**more).clone() });
            } else if is_of(less, probe) && is_of(more, build) {
                upper.push(Bound { build: (**more).clone(), probe: (**less).clone() });
            }
        }
        // Best, both are of one number: then the ranges that it lies in are found.
        let one = lower
            .iter()
            .enumerate()
            .find_map(|(l, low)| Some((l, upper.iter().position(|high| high.probe.same(&low.probe))?)));
        let (l, u) = one.unwrap_or((0, 0));
        let take = |mut bounds: Vec<Bound>, at: usize| (at < bounds.len()).then(|| bounds.swap_remove(at));
        let ranges = Self { lower: take(lower, l), upper: take(upper, u) };
        (ranges.lower.is_some() || ranges.upper.is_some()).then_some(ranges)
    }

    /// Whether they have both a begin and an end.
    pub(super) fn end(&self) -> bool {
        self.lower.is_some() && self.upper.is_some()
    }

    pub(super) fn of_build(&self, pipe: &mut Pipe, expressions: &mut Expressions) -> Result<Numbers> {
        self.numbers(pipe, expressions, |bound| &bound.build)
    }

    pub(super) fn of_probe(&self, pipe: &mut Pipe, expressions: &mut Expressions) -> Result<Numbers> {
        self.numbers(pipe, expressions, |bound| &bound.probe)
    }

    fn numbers(&self, pipe: &mut Pipe, expressions: &mut Expressions, side: fn(&Bound) -> &Expr) -> Result<Numbers> {
        let mut number = |pipe: &mut Pipe, bound: &Option<Bound>| -> Result<Option<Sql>> {
            let Some(bound) = bound else { return Ok(None) };
            let sql = expressions.scalar(pipe, side(bound))?;
            Ok(Some(Sql { value: pipe.widen(sql.value, Ty::I64), null: sql.null }))
        };
        let (low, high) = (number(pipe, &self.lower)?, number(pipe, &self.upper)?);
        let null = pipe.any_null([low, high].into_iter().flatten().map(|sql| sql.null));
        let (word, until) = match (low, high) {
            (Some(low), high) => (low.value, high.map(|high| high.value)),
            // Mirrored, what ends at or behind a number begins at or before it.
            (None, Some(high)) => (mirrored(pipe, high.value), None),
            (None, None) => unreachable!("there is a comparison"),
        };
        Ok(Numbers { word, until, null })
    }
}

/// The number with the order turned round, without overflow.
fn mirrored(pipe: &mut Pipe, value: Var) -> Var {
    let last = pipe.int(-1, Ty::I64);
    pipe.let_(Ty::I64, Operation::Wrapping(Arithmetic::Sub, last, value))
}

/// Lets only tuples through that have all numbers.
pub(super) fn drop_nulls(pipe: &mut Pipe, numbers: &mut Numbers) {
    if let Some(null) = numbers.null.take() {
        let there = pipe.not(null);
        pipe.push(Inst::Filter(there));
    }
}

/// Whether values of these types compare as the numbers do that they are stored as, of at most 64 bits.
fn comparable(a: SqlType, b: SqlType) -> bool {
    let is_number = |t: SqlType| matches!(t.physical().into(), Ty::I16 | Ty::I32 | Ty::I64);
    let alike =
        a == b || (a.is_integer() && b.is_integer()) || (a.is_decimal() && b.is_decimal() && a.scale() == b.scale());
    is_number(a) && is_number(b) && alike
}
