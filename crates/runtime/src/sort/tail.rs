//! What goes along with the words of an item: the row's address, or nothing where the words hold all of the row.

use std::cmp::Ordering;
use std::fmt::Debug;

use base::memory::{Buffer, Reservation};

use super::coder::Coder;
use super::item::Item;
use super::order::{Field, compare};
use super::output::{Output, Words};
use crate::rows::Segment;
use crate::source::Address;

/// What an item knows of its row besides the words.
pub(super) trait Tail: Copy + Debug + Send + Sync + 'static {
    /// Whether words alone tell rows apart.
    const WORDS_ARE_ALL: bool;
    /// What is kept of sorted items.
    type Place<const W: usize>: Copy + Debug + Send + Sync + 'static;
    /// That of a row.
    fn of(row: *mut u8) -> Self;
    /// The order of two rows by fields that their words don't hold.
    ///
    /// # Safety
    /// The fields must be those of the rows' layout, with all strings alive.
    unsafe fn compare(self, other: Self, fields: &[Field]) -> Ordering;
    /// How many bytes the shorter text of two rows has.
    ///
    /// # Safety
    /// As [`compare`](Self::compare), of a field that is text.
    unsafe fn shorter(self, other: Self, field: &Field) -> usize;
    fn place<const W: usize>(item: &Item<W, Self>) -> Self::Place<W>;
    /// The sorted rows, given what is kept of them, who made their words, and the rows as they came in.
    fn output<const W: usize>(
        places: Buffer<Self::Place<W>>,
        coder: Coder,
        rows: Vec<Segment>,
        charged: Reservation,
    ) -> Output;
}

impl Tail for Address {
    const WORDS_ARE_ALL: bool = false;
    type Place<const W: usize> = Self;

    fn of(row: *mut u8) -> Self {
        Self(row)
    }

    unsafe fn compare(self, other: Self, fields: &[Field]) -> Ordering {
        // SAFETY: as the caller promises.
        unsafe { compare(fields, self.0, other.0) }
    }

    unsafe fn shorter(self, other: Self, field: &Field) -> usize {
        // SAFETY: as the caller promises.
        unsafe { field.length(self.0).min(field.length(other.0)) }
    }

    fn place<const W: usize>(item: &Item<W, Self>) -> Self {
        item.tail
    }

    fn output<const W: usize>(rows: Buffer<Self>, _: Coder, _: Vec<Segment>, charged: Reservation) -> Output {
        Output::of_addresses(rows, charged)
    }
}

/// The words hold the row: nothing else is known of it, and nothing else is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

impl Tail for Nothing {
    const WORDS_ARE_ALL: bool = true;
    type Place<const W: usize> = Item<W, Self>;

    fn of(_: *mut u8) -> Self {
        Self
    }

    unsafe fn compare(self, _: Self, fields: &[Field]) -> Ordering {
        debug_assert!(fields.is_empty(), "words hold all fields");
        Ordering::Equal
    }

    unsafe fn shorter(self, _: Self, _: &Field) -> usize {
        0
    }

    fn place<const W: usize>(item: &Item<W, Self>) -> Item<W, Self> {
        *item
    }

    fn output<const W: usize>(
        items: Buffer<Item<W, Self>>,
        coder: Coder,
        rows: Vec<Segment>,
        charged: Reservation,
    ) -> Output {
        Output::of_words(Restoring { items, coder, _charged: charged }, rows)
    }
}

/// Sorted rows in words.
#[derive(Debug)]
struct Restoring<const W: usize> {
    items: Buffer<Item<W, Nothing>>,
    coder: Coder,
    _charged: Reservation,
}

impl<const W: usize> Words for Restoring<W> {
    unsafe fn restore(&self, at: usize, rows: &[*mut u8]) {
        // SAFETY: as the caller promises; the coder has made the words.
        unsafe { self.coder.restore(&self.items[at..at + rows.len()], rows) };
    }
}

impl<const W: usize, T: Tail> Item<W, T> {
    /// An item without words.
    pub(super) fn new(row: *mut u8) -> Self {
        Self { words: [0; W], tail: T::of(row) }
    }
}
