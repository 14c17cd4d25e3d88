//! What an aggregate keeps of a set of rows.

use std::fmt::Debug;

use base::Result;

use crate::window::column::Element;

/// An aggregate: how it keeps what it has seen. The order in which values come does not matter, and nothing fails before
/// the result is asked for.
pub(in crate::window) trait Summary: Debug + Send + Sync + 'static {
    /// The argument's form.
    type Value: Element;
    /// The result's form.
    type Result: Element;
    /// What is kept; by default of no rows.
    type State: Clone + Debug + Default + Send + Sync;

    /// Whether values can be taken away.
    const REMOVABLE: bool;

    /// Adds a value, which is not NULL.
    fn add(&self, state: &mut Self::State, value: Self::Value);

    /// Takes a value away that was added.
    fn remove(&self, state: &mut Self::State, value: Self::Value);

    /// Adds what another one has seen.
    fn merge(&self, state: &mut Self::State, other: &Self::State);

    /// The result for what was seen.
    fn result(&self, state: &Self::State) -> Result<Option<Self::Result>>;

    /// Forgets everything but memory.
    fn clear(state: &mut Self::State) {
        *state = Self::State::default();
    }

    /// Bytes that a state has allocated.
    fn heap(state: &Self::State) -> usize {
        let _ = state;
        0
    }
}
