//! Covariances and regressions over frames. Their two arguments become one operand, a pair of doubles in the form of an
//! `i128`, so that frames, trees and DISTINCT need not know that there are two.

use std::ops::Range;
use std::sync::Arc;

use base::memory::{Buffer, Reservation};
use base::{Budget, Result};
use functions::AggregateFunction;
use functions::aggregate::regression;
use types::SqlType;
use types::ops::sum::{Moments, two_product};

use super::float::Total;
use super::summary::Summary;
use crate::window::column::{Column, Operand, Values};
use crate::window::{Evaluation, OPERATOR, Out};

/// The pairs (y, x) of so many rows, NULL where one of the two is, and what they are charged with.
pub(super) fn zipped(arguments: &[Operand], rows: usize, budget: &Budget) -> Result<(Operand, Reservation)> {
    let (y, x) = (&arguments[0], &arguments[1]);
    let charged = budget.reserve(rows * (size_of::<i128>() + 1), OPERATOR)?;
    let (mut pairs, mut nulls) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (ys, xs) = (y.cells::<f64>(), x.cells::<f64>());
    for row in 0..rows {
        let (y, x) = (ys.get(row), xs.get(row));
        nulls.push(u8::from(y.is_none() || x.is_none()));
        pairs.push(pair(y.unwrap_or_default(), x.unwrap_or_default()));
    }
    let column = Column { values: Values::I128(Buffer::from(&pairs[..])), nulls: Some(Buffer::from(&nulls[..])) };
    Ok((Operand::column(Arc::new(column), SqlType::decimal(38, 0)), charged))
}

/// Equal pairs have equal bits.
fn pair(y: f64, x: f64) -> i128 {
    let bits = |f: f64| u128::from(if f.is_nan() { f64::NAN } else { f + 0.0 }.to_bits());
    (bits(y) << 64 | bits(x)) as i128
}

/// A covariance or what a regression gives.
#[derive(Debug)]
pub(super) struct Regression {
    pub(super) function: AggregateFunction,
}

/// An evaluation of pairs, with what they are charged with.
#[derive(Debug)]
pub(super) struct Charged {
    pub(super) evaluation: Box<dyn Evaluation>,
    pub(super) _charged: Reservation,
}

impl Evaluation for Charged {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.evaluation.pieces(phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.evaluation.build(phase, piece)
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        self.evaluation.evaluate(rows, out)
    }
}

/// Exact sums of pairs that can be taken away.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    count: i64,
    y: Total,
    x: Total,
    yy: Total,
    xx: Total,
    xy: Total,
}

impl State {
    fn totals(&self) -> [&Total; 5] {
        [&self.y, &self.x, &self.yy, &self.xx, &self.xy]
    }

    fn totals_mut(&mut self) -> [&mut Total; 5] {
        [&mut self.y, &mut self.x, &mut self.yy, &mut self.xx, &mut self.xy]
    }

    /// Adds a pair, or takes it away (`sign` is -1).
    fn change(&mut self, pair: i128, sign: f64) {
        let double = |bits: u128| f64::from_bits(bits as u64);
        let (y, x) = (double(pair as u128 >> 64), double(pair as u128));
        self.count += sign as i64;
        for (total, value) in [(&mut self.y, y), (&mut self.x, x)] {
            if sign < 0.0 { total.remove(value) } else { total.add(value) }
        }
        for (total, a, b) in [(&mut self.yy, y, y), (&mut self.xx, x, x), (&mut self.xy, x, y)] {
            match two_product(a, b) {
                Some((product, rest)) => {
                    total.add(sign * product);
                    total.add(sign * rest);
                }
                // The sum knows that it is not finite.
                None if !a.is_finite() || !b.is_finite() => {}
                None => total.add_product(sign * a, b),
            }
        }
    }
}

impl Summary for Regression {
    type Value = i128;
    type Result = f64;
    type State = State;
    const REMOVABLE: bool = true;

    fn add(&self, state: &mut State, pair: i128) {
        state.change(pair, 1.0);
    }

    fn remove(&self, state: &mut State, pair: i128) {
        state.change(pair, -1.0);
    }

    fn merge(&self, state: &mut State, other: &State) {
        state.count += other.count;
        state.totals_mut().into_iter().zip(other.totals()).for_each(|(total, other)| total.merge(other));
    }

    fn result(&self, state: &State) -> Result<Option<f64>> {
        let [y, x, yy, xx, xy] = state.totals().map(Total::exact);
        regression::result(self.function, &Moments { count: state.count as u64, y, x, yy, xx, xy })
    }

    fn clear(state: &mut State) {
        state.count = 0;
        state.totals_mut().into_iter().for_each(Total::clear);
    }

    fn heap(state: &State) -> usize {
        state.totals().into_iter().map(Total::heap).sum()
    }
}
