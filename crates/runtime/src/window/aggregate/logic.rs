//! `bool_and` and `bool_or`: how many values are true and how many false, so that they can be taken away.

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
