//! What decides where words are equal: the fields behind them, which are compared in the rows.

use std::cmp::Ordering;

use pipeline::ir::Ty;

use super::order::Field;
use super::tail::Tail;

/// Bytes of text that are compared in the time of a step.
const STEP_BYTES: usize = 64;

/// The fields that decide, of rows of one layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ties<'a> {
    fields: &'a [Field],
    /// Whether a comparison may take long.
    has_text: bool,
}

impl<'a> Ties<'a> {
    /// # Safety
    /// Only rows of the fields' layout may be compared, with all strings alive.
    pub(super) unsafe fn new(fields: &'a [Field]) -> Self {
        Self { fields, has_text: fields.iter().any(|field| field.ty == Ty::Str) }
    }

    /// The order of two rows. Takes off the steps that it costs: one, and more for long texts.
    pub(super) fn compare<T: Tail>(&self, a: T, b: T, steps: &mut u64) -> Ordering {
        *steps = steps.saturating_sub(1);
        if self.has_text && !T::WORDS_ARE_ALL {
            // SAFETY: as the maker promises.
            let bytes = |field: &Field| unsafe { a.shorter(b, field) };
            let texts = self.fields.iter().filter(|field| field.ty == Ty::Str);
            *steps = steps.saturating_sub((texts.map(bytes).sum::<usize>() / STEP_BYTES) as u64);
        }
        // SAFETY: likewise.
        unsafe { a.compare(b, self.fields) }
    }
}
