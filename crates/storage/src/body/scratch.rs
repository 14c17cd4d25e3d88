//! A reader's memory for values that do not lie in an array.

use std::ops::Range;
use std::sync::Arc;

use types::{Buffer, Physical, Str};

use super::constant::Constant;
use super::frozen::{Frozen, Scheme};
use super::lengths::Lengths;
use crate::reader::Asked;
use crate::values::Values;
use crate::{ColumnRef, WINDOW};

/// A window of values for each attribute. Cheap while empty; made once, it serves chunk after chunk.
#[derive(Debug, Default)]
pub struct Scratch {
    /// By attribute.
    slots: Vec<Slot>,
    /// Of texts, by attribute.
    lengths: Vec<Lengths>,
    /// Counts the batches: what was decoded for some rows of one serves that one alone.
    batch: u64,
    /// What the last chunk was asked.
    asked: Option<Asked>,
    texts: Texts,
}

/// Texts that do not lie in a column as they are, for as long as this is kept.
#[derive(Debug, Default)]
pub struct Texts {
    /// The last one has room.
    blocks: Vec<Buffer>,
    used: usize,
}

/// Bytes that blocks of texts grow to, unless one window's are more.
const BLOCK: usize = 1 << 20;

impl Texts {
    /// Has texts of at most so many bytes written behind the others: from where `write` is told on, up to where it says.
    pub(super) fn fill(&mut self, room: usize, write: impl FnOnce(&mut *mut u8)) {
        let len = self.blocks.last().map_or(0, Buffer::len);
        if len - self.used < room {
            // What is read beyond a short text is initialised.
            self.blocks.push(Buffer::zeroed(room.max((len * 2).min(BLOCK))));
            self.used = 0;
        }
        let block = self.blocks.last_mut().expect("pushed if there was none").as_mut_ptr();
        // SAFETY: within the block.
        let mut end = unsafe { block.add(self.used) };
        write(&mut end);
        // SAFETY: both are places of the block.
        self.used = unsafe { end.offset_from_unsigned(block) };
    }
}

impl Texts {
    /// A copy of a text.
    fn keep(&mut self, text: &[u8]) -> Str {
        let mut copy = std::ptr::null();
        self.fill(text.len(), |to| {
            copy = to.cast_const();
            // SAFETY: there is room for it.
            unsafe {
                to.copy_from_nonoverlapping(text.as_ptr(), text.len());
                *to = to.add(text.len());
            }
        });
        // SAFETY: just written, and kept as long as the texts.
        Str::new(unsafe { std::slice::from_raw_parts(copy, text.len()) })
    }
}

#[derive(Debug, Default)]
struct Slot {
    holds: Holds,
    values: Option<Buffer>,
    nulls: Box<[u8]>,
}

/// What a slot holds. It is kept, so that it is known by its address.
#[derive(Debug, Default)]
enum Holds {
    #[default]
    Nothing,
    Constant(Arc<Constant>),
    /// Rows of a column, all or those that some batch asked for first.
    Rows(Arc<Frozen>, Range<usize>, Option<u64>),
}

impl Scratch {
    /// A batch begins: the rows that are asked for become fewer from here on, until the next one.
    pub(crate) fn begin_batch(&mut self) {
        self.batch += 1;
    }

    /// Nobody needs the texts any more that were decoded so far.
    pub fn forget_texts(&mut self) {
        let last = self.texts.blocks.pop().filter(|block| block.len() <= BLOCK);
        self.texts = Texts { blocks: last.into_iter().collect(), used: 0 };
        self.slots.iter_mut().for_each(Slot::forget_texts);
    }

    /// The texts that were decoded so far, for whoever needs them for longer.
    pub fn take_texts(&mut self) -> Texts {
        self.slots.iter_mut().for_each(Slot::forget_texts);
        std::mem::take(&mut self.texts)
    }

    pub(crate) fn asked(&mut self) -> &mut Option<Asked> {
        &mut self.asked
    }

    fn slot(&mut self, attribute: usize) -> (&mut Slot, &mut Texts) {
        if self.slots.len() <= attribute {
            self.slots.resize_with(attribute + 1, Slot::default);
        }
        (&mut self.slots[attribute], &mut self.texts)
    }

    /// The lengths of an attribute's texts.
    pub(crate) fn lengths(&mut self, attribute: usize) -> &mut Lengths {
        if self.lengths.len() <= attribute {
            self.lengths.resize_with(attribute + 1, Lengths::default);
        }
        &mut self.lengths[attribute]
    }

    /// A window of copies of the value, valid until the slot of this attribute is asked for something else.
    pub(crate) fn repeat(&mut self, attribute: usize, constant: &Arc<Constant>) -> ColumnRef {
        let (slot, _) = self.slot(attribute);
        if !matches!(&slot.holds, Holds::Constant(of) if Arc::ptr_eq(of, constant)) {
            slot.room(constant.value().len());
            let values = slot.values.as_mut().expect("there is room").as_mut_ptr();
            let value = constant.value();
            for place in 0..WINDOW {
                // SAFETY: there is room for a window of values.
                unsafe { values.add(place * value.len()).copy_from_nonoverlapping(value.as_ptr(), value.len()) };
            }
            slot.nulls.fill(constant.is_null().into());
            slot.holds = Holds::Constant(constant.clone());
        }
        slot.address(constant.is_null())
    }

    /// The values of rows of a frozen column: of all, or of `some`, counted from the first row, with nothing at the others'
    /// places. Valid until the slot of this attribute is asked for something else.
    pub(crate) fn decode(
        &mut self,
        attribute: usize,
        column: &Arc<Frozen>,
        rows: Range<usize>,
        some: Option<&[u32]>,
    ) -> ColumnRef {
        let batch = self.batch;
        let (slot, texts) = self.slot(attribute);
        let is_there = match &slot.holds {
            Holds::Rows(of, known, all) => {
                Arc::ptr_eq(of, column) && *known == rows && (all.is_none() || some.is_some() && *all == Some(batch))
            }
            _ => false,
        };
        if !is_there {
            assert!(rows.len() <= WINDOW);
            let some = some.filter(|some| some.len() * column.rows_at_once() < rows.len());
            slot.room(column.physical().size());
            let values = slot.values.as_mut().expect("there is room").as_mut_ptr();
            // SAFETY: there is room for a window of values, and more are not asked for.
            unsafe { column.decode(rows.clone(), some, values, &mut slot.nulls, texts) };
            slot.holds = Holds::Rows(column.clone(), rows, some.map(|_| batch));
        }
        slot.address(column.has_null())
    }
}

impl Scratch {
    /// A window of values of `size` bytes that are written one by one, over those that lie at `base` (or all of them, where it
    /// has none). Valid until the slot of this attribute is asked for something else.
    pub(crate) fn overlaid(
        &mut self,
        attribute: usize,
        physical: Physical,
        (base, rows): (ColumnRef, usize),
        write: impl FnOnce(&mut Overlay<'_>),
    ) -> ColumnRef {
        assert!(rows <= WINDOW);
        let (slot, texts) = self.slot(attribute);
        let size = physical.size();
        if slot.values.as_ref().is_none_or(|own| own.as_ptr() != base.data) {
            slot.room(size);
            let values = slot.values.as_mut().expect("there is room").as_mut_ptr();
            // SAFETY: the caller's base has so many rows, and there is room for a window.
            unsafe { values.copy_from_nonoverlapping(base.data, rows * size) };
        }
        slot.holds = Holds::Nothing;
        if slot.nulls.as_ptr() != base.nulls {
            match base.nulls.is_null() {
                true => slot.nulls.fill(0),
                // SAFETY: a flag for each of the base's rows.
                false => slot.nulls[..rows].copy_from_slice(unsafe { std::slice::from_raw_parts(base.nulls, rows) }),
            }
        }
        let values = slot.values.as_mut().expect("there is room").as_mut_ptr();
        let has_null = slot.nulls[..rows].contains(&1);
        let mut overlay = Overlay { physical, values, nulls: &mut slot.nulls[..rows], texts, has_null };
        write(&mut overlay);
        let has_null = overlay.has_null;
        slot.address(has_null)
    }

    /// A window of numbers that count from `first`.
    pub(crate) fn numbered(&mut self, attribute: usize, first: u64) -> ColumnRef {
        let (slot, _) = self.slot(attribute);
        slot.room(size_of::<u64>());
        let values = slot.values.as_mut().expect("there is room").as_mut_ptr().cast::<u64>();
        // SAFETY: there is room for a window of them.
        (0..WINDOW).for_each(|at| unsafe { values.add(at).write(first + at as u64) });
        slot.address(false)
    }
}

/// Values of a window that are written over others.
pub(crate) struct Overlay<'a> {
    physical: Physical,
    values: *mut u8,
    nulls: &'a mut [u8],
    texts: &'a mut Texts,
    /// Whether some value may be NULL.
    has_null: bool,
}

impl Overlay<'_> {
    /// Writes values to places: of each pair, that of a row of `from` to a place. Long texts are copied.
    pub(crate) fn put(&mut self, from: Values<'_>, pairs: impl Iterator<Item = (usize, usize)>) {
        assert!(from.physical() == self.physical);
        match self.physical {
            Physical::Str => self.put_texts(from, pairs),
            physical => match physical.size() {
                1 => self.put_sized::<1>(from, pairs),
                2 => self.put_sized::<2>(from, pairs),
                4 => self.put_sized::<4>(from, pairs),
                8 => self.put_sized::<8>(from, pairs),
                _ => self.put_sized::<16>(from, pairs),
            },
        }
    }

    /// As [`put`](Self::put), of rows that come one after the other, to places that do.
    pub(crate) fn put_run(&mut self, from: Values<'_>, rows: Range<usize>, first: usize) {
        assert!(from.physical() == self.physical && rows.start <= rows.end && rows.end <= from.rows());
        if self.physical == Physical::Str {
            return self.put_texts(from, rows.clone().zip(first..));
        }
        let nulls = &mut self.nulls[first..first + rows.len()];
        match from.nulls(rows.clone()) {
            None => nulls.fill(0),
            Some(flags) => {
                nulls.copy_from_slice(flags);
                self.has_null |= flags.contains(&1);
            }
        }
        let size = self.physical.size();
        // SAFETY: the places are some of the window's, as there are flags for them, and the rows some of those that are there.
        unsafe {
            let data = from.address().data.add(rows.start * size);
            self.values.add(first * size).copy_from_nonoverlapping(data, rows.len() * size);
        }
    }

    fn put_sized<const SIZE: usize>(&mut self, from: Values<'_>, pairs: impl Iterator<Item = (usize, usize)>) {
        assert!(self.physical.size() == SIZE);
        let (data, nulls) = (from.address().data.cast::<[u8; SIZE]>(), from.nulls(0..from.rows()));
        let values = self.values.cast::<[u8; SIZE]>();
        for (row, place) in pairs {
            assert!(row < from.rows());
            let is_null = nulls.map_or(0, |nulls| nulls[row]);
            self.nulls[place] = is_null;
            self.has_null |= is_null != 0;
            // SAFETY: the place is one of the window's, as there is a flag for it, and the row one of those that are there.
            unsafe { values.add(place).write(data.add(row).read()) };
        }
    }

    fn put_texts(&mut self, from: Values<'_>, pairs: impl Iterator<Item = (usize, usize)>) {
        for (row, place) in pairs {
            let (text, is_null) = (from.get::<Str>(row), from.is_null(row));
            self.nulls[place] = is_null.into();
            self.has_null |= is_null;
            // SAFETY: whoever has the values keeps their payload alive.
            let text = if text.is_inline() { text } else { self.texts.keep(unsafe { text.bytes() }) };
            // SAFETY: the place is one of the window's, as there is a flag for it.
            unsafe { self.values.cast::<Str>().add(place).write(text) };
        }
    }
}

impl Slot {
    /// Forgets values whose texts do not lie in their column.
    fn forget_texts(&mut self) {
        if matches!(&self.holds, Holds::Rows(of, ..) if of.scheme() == Scheme::Symbols) {
            self.holds = Holds::Nothing;
        }
    }

    /// Makes room for a window of values of so many bytes.
    fn room(&mut self, size: usize) {
        self.holds = Holds::Nothing;
        if self.values.as_ref().is_none_or(|values| values.capacity() < WINDOW * size) {
            self.values = Some(Buffer::zeroed(WINDOW * size));
        }
        if self.nulls.is_empty() {
            self.nulls = vec![0; WINDOW].into();
        }
    }

    fn address(&self, has_null: bool) -> ColumnRef {
        let data = self.values.as_ref().map_or(std::ptr::null(), Buffer::as_ptr);
        ColumnRef { data, nulls: if has_null { self.nulls.as_ptr() } else { std::ptr::null() } }
    }
}

/// One value that does not lie in an array, and whether it is NULL. Aligned for values of any type.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct Cell {
    pub(super) words: [u64; 2],
    pub(super) null: [u8; 1],
    pub(super) texts: Texts,
}
