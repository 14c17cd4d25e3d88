//! `min` and `max`. Of values that are equal and not the same (0 and -0, a month and 30 days) always the same one, so that
//! the algorithm does not show.

use std::cmp::Ordering;
use std::marker::PhantomData;

use base::Result;

use super::summary::Summary;
use crate::window::column::Element;

/// The least value, or the greatest.
#[derive(Debug)]
pub(super) struct Extreme<T> {
    better: Ordering,
    form: PhantomData<T>,
}

impl<T> Extreme<T> {
    pub(super) fn new(greatest: bool) -> Self {
        Self { better: if greatest { Ordering::Greater } else { Ordering::Less }, form: PhantomData }
    }
}

impl<T: Element> Summary for Extreme<T> {
    type Value = T;
    type Result = T;
    type State = Option<T>;
    const REMOVABLE: bool = false;

    #[inline]
    fn add(&self, state: &mut Option<T>, value: T) {
        let replaces = |old: &T| value.order(old).then_with(|| value.tell_apart(old)) == self.better;
        if state.as_ref().is_none_or(replaces) {
            *state = Some(value);
        }
    }

    fn remove(&self, _: &mut Option<T>, _: T) {
        unreachable!("what was second best is not known");
    }

    #[inline]
    fn merge(&self, state: &mut Option<T>, other: &Option<T>) {
        if let Some(value) = other {
            self.add(state, *value);
        }
    }

    #[inline]
    fn result(&self, state: &Option<T>) -> Result<Option<T>> {
        Ok(*state)
    }
}
