//! Sums and averages of intervals: parts in more bits than they have, so that only the result can be too large.

use base::Result;
use types::Interval;
use types::ops::date;
use types::ops::error::datetime_out_of_range;

use super::summary::Summary;

/// A sum or an average.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) average: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    micros: i128,
    months: i64,
    days: i64,
    count: i64,
}

impl State {
    fn of(value: Interval) -> Self {
        Self { micros: value.micros.into(), months: value.months.into(), days: value.days.into(), count: 1 }
    }

    fn add(&mut self, other: &Self, sign: i64) {
        self.micros += other.micros * i128::from(sign);
        self.months += other.months * sign;
        self.days += other.days * sign;
        self.count += other.count * sign;
    }
}

impl Summary for Sum {
    type Value = Interval;
    type Result = Interval;
    type State = State;
    const REMOVABLE: bool = true;

    fn add(&self, state: &mut State, value: Interval) {
        state.add(&State::of(value), 1);
    }

    fn remove(&self, state: &mut State, value: Interval) {
        state.add(&State::of(value), -1);
    }

    fn merge(&self, state: &mut State, other: &State) {
        state.add(other, 1);
    }

    fn result(&self, state: &State) -> Result<Option<Interval>> {
        if state.count == 0 {
            return Ok(None);
        }
        let parts = (i32::try_from(state.months), i32::try_from(state.days), i64::try_from(state.micros));
        let (Ok(months), Ok(days), Ok(micros)) = parts else { return Err(datetime_out_of_range("interval")) };
        let sum = Interval { months, days, micros };
        let result = if self.average { date::div_interval(sum, state.count as f64)? } else { sum };
        Ok(Some(result))
    }
}
