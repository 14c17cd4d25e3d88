//! Sums and averages of integers and decimals: in 128 bits, and of wide decimals with what is carried out of them, so that
//! only the result can be too large.

use std::marker::PhantomData;

use base::Result;
use types::SqlType;
use types::ops::{decimal, number};

use super::summary::Summary;
use crate::window::column::Element;

/// A sum or an average.
#[derive(Debug)]
pub(super) struct Sum<V, R> {
    /// The scales of argument and result, if it is an average.
    average: Option<(u8, u8)>,
    /// The result's digits, unless no sum can have more.
    digits: Option<u8>,
    forms: PhantomData<(V, R)>,
}

/// An integer's form.
pub(super) trait Integer: Element + Into<i128> {
    /// Whether 2^64 of them can overflow 128 bits.
    const WIDE: bool;
    /// A sum in this form: 22003 if it does not fit.
    fn narrow(sum: i128) -> Result<Self>;
}

impl Integer for i64 {
    const WIDE: bool = false;
    fn narrow(sum: i128) -> Result<Self> {
        number::integer::narrow(sum)
    }
}

impl Integer for i128 {
    const WIDE: bool = true;
    fn narrow(sum: i128) -> Result<Self> {
        Ok(sum)
    }
}

impl<V: Integer, R: Integer> Sum<V, R> {
    pub(super) fn new(average: bool, argument: SqlType, result: SqlType) -> Self {
        let average = average.then_some((argument.scale(), result.scale()));
        let (precision, _) = result.as_decimal().expect("sums of integers and decimals are such");
        // Fewer than 2^63 numbers of 64 bits do not sum up to 10^38, and averages have been looked at.
        let fits = !R::WIDE || (!V::WIDE && precision == 38);
        Self { average, digits: (!fits).then_some(precision), forms: PhantomData }
    }
}

impl<R: Integer> Sum<i64, R> {
    /// The result of values with that sum.
    pub(super) fn of(&self, sum: i128, count: i64) -> Result<Option<R>> {
        self.result(&State { sum, carry: 0, count })
    }
}

/// `carry * 2^128 + sum`, of so many values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    sum: i128,
    carry: i64,
    count: i64,
}

impl State {
    #[inline]
    fn carry(&mut self, overflows: bool, up: bool) {
        if overflows {
            self.carry += if up { 1 } else { -1 };
        }
    }
}

impl<V: Integer, R: Integer> Summary for Sum<V, R> {
    type Value = V;
    type Result = R;
    type State = State;
    const REMOVABLE: bool = true;

    #[inline]
    fn add(&self, state: &mut State, value: V) {
        let value: i128 = value.into();
        let (sum, overflows) = state.sum.overflowing_add(value);
        state.carry(V::WIDE && overflows, value > 0);
        state.sum = sum;
        state.count += 1;
    }

    #[inline]
    fn remove(&self, state: &mut State, value: V) {
        let value: i128 = value.into();
        let (sum, overflows) = state.sum.overflowing_sub(value);
        state.carry(V::WIDE && overflows, value < 0);
        state.sum = sum;
        state.count -= 1;
    }

    #[inline]
    fn merge(&self, state: &mut State, other: &State) {
        let (sum, overflows) = state.sum.overflowing_add(other.sum);
        state.carry(overflows, other.sum > 0);
        state.sum = sum;
        state.carry += other.carry;
        state.count += other.count;
    }

    #[inline]
    fn result(&self, state: &State) -> Result<Option<R>> {
        if state.count == 0 {
            return Ok(None);
        }
        if state.carry != 0 {
            return Err(decimal::overflow());
        }
        let value = match self.average {
            Some((scale, result)) => decimal::avg(state.sum, scale, state.count, result)?,
            None => state.sum,
        };
        if self.digits.is_some_and(|digits| !decimal::fits(value, digits)) {
            return Err(decimal::overflow());
        }
        R::narrow(value).map(Some)
    }
}
