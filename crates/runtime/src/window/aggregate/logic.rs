//! `bool_and` and `bool_or`: how many values are true and how many false, so that they can be taken away; `bit_and` and its
//! kin.

use base::Result;

use super::summary::Summary;

/// Whether all values are true, or some.
#[derive(Debug)]
pub(super) struct Logic {
    pub(super) all: bool,
}

impl Summary for Logic {
    type Value = i64;
    type Result = i64;
    /// How many are false, and true.
    type State = [i64; 2];
    const REMOVABLE: bool = true;

    #[inline]
    fn add(&self, state: &mut [i64; 2], value: i64) {
        state[usize::from(value != 0)] += 1;
    }

    #[inline]
    fn remove(&self, state: &mut [i64; 2], value: i64) {
        state[usize::from(value != 0)] -= 1;
    }

    #[inline]
    fn merge(&self, state: &mut [i64; 2], other: &[i64; 2]) {
        state[0] += other[0];
        state[1] += other[1];
    }

    #[inline]
    fn result(&self, &[no, yes]: &[i64; 2]) -> Result<Option<i64>> {
        let holds = if self.all { no == 0 } else { yes > 0 };
        Ok((no + yes > 0).then_some(holds.into()))
    }
}

/// The bits that all values have, or some.
#[derive(Debug)]
pub(super) struct Bits {
    pub(super) both: fn(i64, i64) -> i64,
}

impl Summary for Bits {
    type Value = i64;
    type Result = i64;
    type State = Option<i64>;
    const REMOVABLE: bool = false;

    #[inline]
    fn add(&self, state: &mut Option<i64>, value: i64) {
        *state = Some(state.map_or(value, |old| (self.both)(old, value)));
    }

    fn remove(&self, _: &mut Option<i64>, _: i64) {
        unreachable!("which bits the others have is not known");
    }

    #[inline]
    fn merge(&self, state: &mut Option<i64>, other: &Option<i64>) {
        if let Some(value) = other {
            self.add(state, *value);
        }
    }

    #[inline]
    fn result(&self, state: &Option<i64>) -> Result<Option<i64>> {
        Ok(*state)
    }
}

/// The bits that an odd number of values have.
#[derive(Debug)]
pub(super) struct Xor;

impl Summary for Xor {
    type Value = i64;
    type Result = i64;
    /// The bits, and of how many values they are.
    type State = (i64, i64);
    const REMOVABLE: bool = true;

    #[inline]
    fn add(&self, state: &mut (i64, i64), value: i64) {
        *state = (state.0 ^ value, state.1 + 1);
    }

    #[inline]
    fn remove(&self, state: &mut (i64, i64), value: i64) {
        *state = (state.0 ^ value, state.1 - 1);
    }

    #[inline]
    fn merge(&self, state: &mut (i64, i64), other: &(i64, i64)) {
        *state = (state.0 ^ other.0, state.1 + other.1);
    }

    #[inline]
    fn result(&self, &(bits, values): &(i64, i64)) -> Result<Option<i64>> {
        Ok((values > 0).then_some(bits))
    }
}
