//! Sums, averages and variances of doubles, exact until the result: a pair as long as that suffices, else a long sum
//! beside it (see [`types::ops::sum`]). What is not finite is counted, so that it can be taken away.

use std::marker::PhantomData;
use std::mem::take;

use base::Result;
use types::ops::number;
use types::ops::sum::{LongSum, Pair, terms, two_square, variance};

use super::summary::Summary;
use crate::window::column::Element;

/// An exact sum that values can be taken away from.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pair: Pair,
    rest: Option<Box<Rest>>,
}

/// What does not fit a pair.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// Whether there is anything; if not, the memory is kept for later.
    used: bool,
    sum: LongSum,
    nans: i64,
    positive: i64,
    negative: i64,
}

impl Total {
    #[inline]
    pub(super) fn add(&mut self, x: f64) {
        if !self.pair.add(x) {
            self.add_to_rest(x, 1);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, x: f64) {
        if !self.pair.add(-x) {
            self.add_to_rest(x, -1);
        }
    }

    /// Adds a product of finite doubles, whatever its size.
    pub(super) fn add_product(&mut self, x: f64, y: f64) {
        self.rest().sum.add_product(x, y);
    }

    fn rest(&mut self) -> &mut Rest {
        let rest = self.rest.get_or_insert_default();
        if !rest.used {
            **rest = Rest { used: true, ..Rest::default() };
        }
        rest
    }

    #[cold]
    fn add_to_rest(&mut self, x: f64, sign: i64) {
        let pair = take(&mut self.pair);
        let rest = self.rest();
        rest.sum.add_pair(pair);
        match x {
            f64::INFINITY => rest.positive += sign,
            f64::NEG_INFINITY => rest.negative += sign,
            _ if x.is_nan() => rest.nans += sign,
            _ if self.pair.add(x * sign as f64) => {}
            _ => self.rest().sum.add(x * sign as f64),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if let Some(other) = other.rest.as_ref().filter(|rest| rest.used) {
            let rest = self.rest();
            rest.sum.merge(&other.sum);
            rest.nans += other.nans;
            rest.positive += other.positive;
            rest.negative += other.negative;
        }
        self.add(other.pair.high);
        self.add(other.pair.low);
    }

    pub(super) fn clear(&mut self) {
        self.pair = Pair::default();
        self.rest.iter_mut().for_each(|rest| rest.used = false);
    }

    /// The exact sum.
    pub(super) fn exact(&self) -> LongSum {
        let mut sum = LongSum::default();
        if let Some(rest) = self.rest.as_ref().filter(|rest| rest.used) {
            sum = rest.sum.clone();
            for (count, x) in
                [(rest.nans, f64::NAN), (rest.positive, f64::INFINITY), (rest.negative, f64::NEG_INFINITY)]
            {
                if count > 0 {
                    sum.add(x);
                }
            }
        }
        sum.add_pair(self.pair);
        sum
    }

    #[inline]
    fn round(&self) -> Result<f64> {
        if self.rest.as_ref().is_none_or(|rest| !rest.used) { self.pair.round() } else { self.exact().round() }
    }

    pub(super) fn heap(&self) -> usize {
        self.rest.as_ref().map_or(0, |_| size_of::<Rest>())
    }
}

/// A sum or an average.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) average: bool,
    /// Whether the result is a `real`.
    pub(super) single: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SumState {
    count: i64,
    total: Total,
}

impl Summary for Sum {
    type Value = f64;
    type Result = f64;
    type State = SumState;
    const REMOVABLE: bool = true;

    #[inline]
    fn add(&self, state: &mut SumState, value: f64) {
        state.count += 1;
        state.total.add(value);
    }

    #[inline]
    fn remove(&self, state: &mut SumState, value: f64) {
        state.count -= 1;
        state.total.remove(value);
    }

    fn merge(&self, state: &mut SumState, other: &SumState) {
        state.count += other.count;
        state.total.merge(&other.total);
    }

    #[inline]
    fn result(&self, state: &SumState) -> Result<Option<f64>> {
        if state.count == 0 {
            return Ok(None);
        }
        let sum = state.total.round()?;
        Ok(Some(match (self.average, self.single) {
            (true, _) => sum / state.count as f64,
            (_, true) => number::float::to_f32(sum)?.into(),
            _ => sum,
        }))
    }

    fn clear(state: &mut SumState) {
        state.count = 0;
        state.total.clear();
    }

    fn heap(state: &SumState) -> usize {
        state.total.heap()
    }
}

/// A variance or a standard deviation.
#[derive(Debug)]
pub(super) struct Variance<V> {
    sample: bool,
    root: bool,
    /// Integers count units of so many digits behind the point.
    scale: u8,
    form: PhantomData<V>,
}

impl<V> Variance<V> {
    pub(super) fn new(sample: bool, root: bool, scale: u8) -> Self {
        Self { sample, root, scale, form: PhantomData }
    }
}

/// A number as the exact sum of three doubles; of integers all three may count.
pub(super) trait Number: Element {
    fn terms(self) -> [f64; 3];
}

impl Number for f64 {
    fn terms(self) -> [f64; 3] {
        [self, 0.0, 0.0]
    }
}
impl Number for i64 {
    fn terms(self) -> [f64; 3] {
        terms(self.into())
    }
}
impl Number for i128 {
    fn terms(self) -> [f64; 3] {
        terms(self)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct VarianceState {
    count: i64,
    sum: Total,
    squares: Total,
}

impl<V: Number> Summary for Variance<V> {
    type Value = V;
    type Result = f64;
    type State = VarianceState;
    const REMOVABLE: bool = true;

    fn add(&self, state: &mut VarianceState, value: V) {
        state.count += 1;
        let terms = value.terms();
        terms.iter().for_each(|&term| state.sum.add(term));
        match two_square(terms[0]) {
            Some((square, rest)) if terms[1] == 0.0 => {
                state.squares.add(square);
                state.squares.add(rest);
            }
            // The sum knows that it is not finite.
            _ if !terms[0].is_finite() => {}
            _ => state.squares.rest().sum.add_square_of_sum(terms),
        }
    }

    fn remove(&self, state: &mut VarianceState, value: V) {
        state.count -= 1;
        let terms = value.terms();
        terms.iter().for_each(|&term| state.sum.remove(term));
        match two_square(terms[0]) {
            Some((square, rest)) if terms[1] == 0.0 => {
                state.squares.remove(square);
                state.squares.remove(rest);
            }
            _ if !terms[0].is_finite() => {}
            _ => state.squares.rest().sum.subtract_square_of_sum(terms),
        }
    }

    fn merge(&self, state: &mut VarianceState, other: &VarianceState) {
        state.count += other.count;
        state.sum.merge(&other.sum);
        state.squares.merge(&other.squares);
    }

    fn result(&self, state: &VarianceState) -> Result<Option<f64>> {
        if state.count <= i64::from(self.sample) {
            return Ok(None);
        }
        let (sum, squares) = (state.sum.exact(), state.squares.exact());
        let variance = variance(state.count as u64, &sum, &squares, self.sample, self.scale)?;
        Ok(Some(if self.root { variance.sqrt() } else { variance }))
    }

    fn clear(state: &mut VarianceState) {
        state.count = 0;
        state.sum.clear();
        state.squares.clear();
    }

    fn heap(state: &VarianceState) -> usize {
        state.sum.heap() + state.squares.heap()
    }
}
