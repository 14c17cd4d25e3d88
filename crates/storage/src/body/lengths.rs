//! How many characters texts have, for who asks for nothing else of them: where a column knows that all of its texts are
//! ASCII, none is looked at.

use std::ops::Range;

use types::ops::string;
use types::{Physical, Str};

use super::constant::Constant;
use super::frozen::Frozen;
use crate::values::Values;
use crate::{ColumnRef, WINDOW};

/// A window of lengths, and of NULL flags. If only `some` rows are named, as offsets from the first, nothing is said of the others.
/// What is returned is valid until it is asked for other lengths.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    values: Box<[u32]>,
    nulls: Box<[u8]>,
}

impl Lengths {
    /// Of texts that lie in an array: at most a [`WINDOW`].
    pub(crate) fn of_values(&mut self, texts: Values<'_>, some: Option<&[u32]>) -> ColumnRef {
        assert!(texts.physical() == Physical::Str && texts.rows() <= WINDOW);
        self.make_room();
        let (headers, nulls) = (texts.slice::<Str>(0..texts.rows()), texts.nulls(0..texts.rows()));
        each_place(texts.rows(), some, |place| {
            let is_null = nulls.is_some_and(|nulls| nulls[place] != 0);
            // SAFETY: who made the values keeps the payload of those that are not NULL alive.
            self.values[place] = if is_null { 0 } else { unsafe { characters(&headers[place]) } };
        });
        if let Some(nulls) = nulls {
            self.nulls[..nulls.len()].copy_from_slice(nulls);
        }
        self.address(nulls.is_some())
    }

    /// Of a constant: a window of them.
    pub(crate) fn of_constant(&mut self, constant: &Constant) -> ColumnRef {
        self.make_room();
        // SAFETY: the constant has its text; NULL is an empty one.
        self.values.fill(unsafe { characters(&constant.values().get::<Str>(0)) });
        self.nulls.fill(constant.is_null().into());
        self.address(constant.is_null())
    }

    /// Of rows of a frozen column: at most a [`WINDOW`].
    pub(crate) fn of_frozen(&mut self, column: &Frozen, rows: Range<usize>, some: Option<&[u32]>) -> ColumnRef {
        self.make_room();
        column.lengths(rows, some, &mut self.values, &mut self.nulls);
        self.address(column.has_null())
    }

    fn make_room(&mut self) {
        if self.values.is_empty() {
            (self.values, self.nulls) = (vec![0; WINDOW].into(), vec![0; WINDOW].into());
        }
    }

    fn address(&self, has_null: bool) -> ColumnRef {
        let nulls = if has_null { self.nulls.as_ptr() } else { std::ptr::null() };
        ColumnRef { data: self.values.as_ptr().cast(), nulls }
    }
}

/// The number of characters of a text; no text has 4 GiB.
///
/// # Safety
/// The payload must be alive.
pub(super) unsafe fn characters(text: &Str) -> u32 {
    // SAFETY: as the caller promises.
    string::length(unsafe { text.as_str() }) as u32
}

/// Calls `f` with all places of so many, or with some.
pub(super) fn each_place(places: usize, some: Option<&[u32]>, mut f: impl FnMut(usize)) {
    match some {
        None => (0..places).for_each(f),
        Some(some) => some.iter().for_each(|&place| f(place as usize)),
    }
}
