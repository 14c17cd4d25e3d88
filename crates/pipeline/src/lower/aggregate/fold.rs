//! Accumulators without keys that take a column of the source as it is ([`Fold`]): whole batches at once.

use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::SqlType;

use super::super::expression::Range;
use super::super::pipe::{Pipe, Sql};
use super::accumulator::{Accumulator, Kind};
use crate::ir::{Block, Fold, FoldColumn, FoldKind, StateId, Ty};

impl Accumulator {
    /// The fold that updates the accumulator, if there is one.
    pub(super) fn fold(&self, pipe: &mut Pipe, state: StateId) -> Option<Fold> {
        let (kind, column) = match self.kind {
            // Pairs are counted one by one.
            Kind::Count if self.arguments.len() > 1 => return None,
            Kind::Count => (FoldKind::Count, self.arguments.first().map(|a| plain(pipe, a))),
            Kind::FloatSum if self.converted(pipe).is_some() => (FoldKind::SumAsDouble, Some(self.converted(pipe))),
            Kind::Sum | Kind::WideSum | Kind::FloatSum => (FoldKind::Sum, Some(self.summed(pipe))),
            Kind::Min => (FoldKind::Min, Some(self.compared(pipe))),
            Kind::Max => (FoldKind::Max, Some(self.compared(pipe))),
            Kind::And | Kind::Or | Kind::Bits(_) | Kind::Any => return None,
            Kind::ArgMin | Kind::ArgMax | Kind::Distinct => return None,
            Kind::Variance => (FoldKind::Variance, Some(self.spread_out(pipe))),
            Kind::Moments | Kind::IntegerMoments | Kind::Values => return None,
            Kind::Entries { .. } => return None,
        };
        // An argument that is no column is computed.
        let column = column.map_or(Some(None), |c| c.map(Some))?;
        let seen = self.tracks_seen.then_some(self.seen);
        Some(Fold { kind, state, offset: self.offset, seen, column, element: None })
    }

    /// The fold that updates the accumulator by a value that the source computes, as the instructions of `block` do, if it can.
    pub(super) fn fold_computed(&self, pipe: &mut Pipe, state: StateId, block: &Block, value: Sql) -> Option<Fold> {
        let ty = pipe.ty(value.value);
        let kind = match self.kind {
            Kind::Count => FoldKind::Count,
            Kind::Sum if self.ty() == Ty::I128 && ty.is_integer() && ty != Ty::I128 => FoldKind::Sum,
            Kind::WideSum | Kind::FloatSum => FoldKind::Sum,
            Kind::Min if ty.is_number() => FoldKind::Min,
            Kind::Max if ty.is_number() => FoldKind::Max,
            _ => return None,
        };
        let column = pipe.computed(block, value)?;
        let seen = self.tracks_seen.then_some(self.seen);
        Some(Fold { kind, state, offset: self.offset, seen, column: Some(column), element: None })
    }

    /// The fold that updates the accumulator by an element that comes with each copy of a row, if the value is one.
    pub(super) fn fold_element(&self, pipe: &Pipe, state: StateId, value: Sql) -> Option<Fold> {
        let element = pipe.last_element(value)?;
        let kind = match (self.kind, pipe.ty(element.value)) {
            (Kind::Count, _) => FoldKind::Count,
            (Kind::Sum, Ty::I32 | Ty::I64) if self.ty() == Ty::I128 => FoldKind::Sum,
            (Kind::FloatSum, Ty::F64) => FoldKind::Sum,
            _ => return None,
        };
        let seen = self.tracks_seen.then_some(self.seen);
        Some(Fold { kind, state, offset: self.offset, seen, column: None, element: Some(element) })
    }

    /// The column that is summed up, in any width that the sum takes.
    fn summed(&self, pipe: &mut Pipe) -> Option<FoldColumn> {
        let column = plain(pipe, without_widening(self.arguments.first()?))?;
        let fits = match self.kind {
            Kind::FloatSum => column.ty.is_float(),
            Kind::WideSum => column.ty == Ty::I128,
            _ => self.ty() == Ty::I128 && column.ty.is_integer() && column.ty != Ty::I128,
        };
        fits.then_some(column)
    }

    /// The column of integers that is summed up as doubles.
    fn converted(&self, pipe: &mut Pipe) -> Option<FoldColumn> {
        let argument = self.arguments.first()?;
        let ExprKind::Cast(integer) = &argument.kind else { return None };
        let is_integer = matches!(integer.sql_type, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt);
        if is_integer && argument.sql_type == SqlType::Double { plain(pipe, integer) } else { None }
    }

    /// The column whose variance it is, of doubles or of integers that count units.
    fn spread_out(&self, pipe: &mut Pipe) -> Option<FoldColumn> {
        plain(pipe, self.arguments.first()?).filter(|column| column.ty.is_number() && column.ty != Ty::I128)
    }

    fn compared(&self, pipe: &mut Pipe) -> Option<FoldColumn> {
        plain(pipe, self.arguments.first()?).filter(|c| c.ty.is_number() && c.ty == self.ty())
    }
}

fn plain(pipe: &mut Pipe, expr: &Expr) -> Option<FoldColumn> {
    match &expr.kind {
        ExprKind::Column(column) => pipe.source_column(*column),
        ExprKind::Call(F::LENGTH, args) => match args.as_slice() {
            [Expr { kind: ExprKind::Column(text), .. }] => pipe.length(*text),
            _ => None,
        },
        _ => None,
    }
}

/// What is cast to a type that has all its numbers, at the same scale.
fn without_widening(expr: &Expr) -> &Expr {
    let ExprKind::Cast(inner) = &expr.kind else { return expr };
    let (from, to) = (inner.sql_type, expr.sql_type);
    let ranges = Range::of_type(from).zip(Range::of_type(to));
    let exact = from.as_decimal().is_some() && to.as_decimal().is_some() && from.scale() == to.scale();
    match ranges {
        Some((from, to)) if exact && from.within(to) => without_widening(inner),
        _ => expr,
    }
}
