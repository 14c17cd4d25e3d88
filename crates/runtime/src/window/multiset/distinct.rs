//! Aggregates of the frame's distinct values: what a summary has seen of each value once. A value enters and leaves as its
//! first row has it, whichever row it came with, so that what is taken away is what was added.

use std::marker::PhantomData;
use std::ops::Range;

use base::Result;

use super::{Content, Contents, Followed};
use crate::window::aggregate::Summary;
use crate::window::column::{Cells, Element};
use crate::window::{Operand, Out};

/// An aggregate of distinct values.
#[derive(Debug)]
pub(in crate::window) struct Distinct<S: Summary> {
    pub(in crate::window) summary: S,
    pub(in crate::window) value: Operand,
}

/// A summary and the values that it sees.
struct Seen<'a, S: Summary> {
    summary: &'a S,
    values: Cells<'a, S::Value>,
}

impl<S: Summary> Contents for Distinct<S> {
    type State = S::State;

    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let Self { summary, value } = &followed.what;
        followed.follow(&Seen { summary, values: value.cells() }, rows, out.form())
    }
}

impl<S: Summary> Content for Seen<'_, S> {
    type Result = S::Result;
    type State = S::State;
    const BYTES: usize = 0;
    const BY_FRAME: bool = true;

    fn empty(&self, _: usize) -> S::State {
        S::State::default()
    }

    #[inline]
    fn change(&self, state: &mut S::State, _: usize, count: u32, entered: bool, row: usize) {
        match (count, entered) {
            (1, true) => self.summary.add(state, self.values.value(row)),
            (0, false) => self.summary.remove(state, self.values.value(row)),
            _ => {}
        }
    }

    fn result(&self, state: &S::State, _: usize, _: impl Fn(usize) -> usize) -> Result<Option<S::Result>> {
        self.summary.result(state)
    }
}

/// How many values there are, of a form.
#[derive(Debug)]
pub(in crate::window) struct Counting<T>(pub(in crate::window) PhantomData<T>);

impl<T: Element> Summary for Counting<T> {
    type Value = T;
    type Result = i64;
    type State = i64;
    const REMOVABLE: bool = true;

    fn add(&self, state: &mut i64, _: T) {
        *state += 1;
    }

    fn remove(&self, state: &mut i64, _: T) {
        *state -= 1;
    }

    fn merge(&self, state: &mut i64, other: &i64) {
        *state += other;
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }
}
