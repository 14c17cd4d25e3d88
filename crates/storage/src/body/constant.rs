//! Constant columns: one value for all rows of a chunk.
//!
//! A predicate on one is evaluated once a chunk, and kernels and generated code, which want arrays, get one window of
//! copies in the reader's scratch memory: made once for all windows and all following chunks that have the same constant.

use std::sync::Arc;

use types::{Buffer, Physical, Str};

use super::Values;
use crate::statistics::{Bounds, ValueRange};
use crate::{ColumnRef, WINDOW};

/// The value of all rows.
#[derive(Debug)]
pub(crate) struct Constant {
    physical: Physical,
    /// The value's bytes; zeros if it is NULL. A long string's header points into `heap`.
    words: [u64; 2],
    is_null: u8,
    heap: Option<Buffer>,
}

impl Constant {
    /// The value that all rows have, bit for bit, if there is one; `bounds` are theirs.
    pub(super) fn of(values: Values<'_>, bounds: &Bounds) -> Option<Self> {
        let (rows, physical) = (values.rows(), values.physical());
        if rows == 0 || bounds.nulls != 0 && bounds.nulls != rows as u64 {
            return None;
        }
        let mut constant = Self { physical, words: [0; 2], is_null: u8::from(bounds.nulls != 0), heap: None };
        if constant.is_null == 1 {
            return Some(constant);
        }
        let may_be_constant = match &bounds.range {
            ValueRange::Keys { min, max } => min == max,
            ValueRange::Text { min, max, .. } => min == max,
            ValueRange::Empty => false,
        };
        if !may_be_constant {
            return None;
        }
        // Equal keys do not mean equal bits (0 and -0), nor equal bounds of long strings equal strings.
        if physical == Physical::Str {
            let headers = values.slice::<Str>(0..rows);
            // SAFETY: whoever made the values keeps their payload alive.
            if !headers.iter().all(|s| unsafe { s.equals(&headers[0]) }) {
                return None;
            }
            // SAFETY: as for the comparison.
            constant.set_text(unsafe { headers[0].bytes() });
            return Some(constant);
        }
        let size = physical.size();
        // SAFETY: `rows` values of `size` bytes each, without padding (`Plain`).
        let bytes = unsafe { std::slice::from_raw_parts(values.address().data, rows * size) };
        // All are like the one before them.
        if bytes[size..] != bytes[..bytes.len() - size] {
            return None;
        }
        // SAFETY: values have at most 16 bytes.
        unsafe { constant.words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size) };
        Some(constant)
    }

    fn set_text(&mut self, bytes: &[u8]) {
        if bytes.len() <= Str::INLINE {
            self.words = Str::new(bytes).words();
            return;
        }
        let mut heap = Buffer::with_capacity(bytes.len());
        heap.extend(bytes);
        self.words = Str::new(heap.as_slice()).words();
        self.heap = Some(heap);
    }

    pub(crate) fn is_null(&self) -> bool {
        self.is_null == 1
    }

    /// The value as a column of one row.
    pub(crate) fn values(&self) -> Values<'_> {
        let nulls = if self.is_null() { &raw const self.is_null } else { std::ptr::null() };
        // SAFETY: one value and one flag, which `self` owns, as it owns the payload.
        unsafe { Values::new(self.physical, ColumnRef { data: self.words.as_ptr().cast(), nulls }, 1) }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap.as_ref().map_or(0, Buffer::capacity)
    }
}

/// A reader's memory for values that do not lie in an array: a window for each attribute. Cheap while empty.
#[derive(Debug, Default)]
pub struct Scratch {
    /// By attribute.
    slots: Vec<Option<Slot>>,
}

#[derive(Debug)]
struct Slot {
    /// Kept, so that its address stays its own.
    of: Arc<Constant>,
    values: Buffer,
    nulls: Box<[u8]>,
}

impl Scratch {
    /// A window of copies of the value, valid until the slot of this attribute is asked for another one.
    pub(crate) fn repeat(&mut self, attribute: usize, constant: &Arc<Constant>) -> ColumnRef {
        if self.slots.len() <= attribute {
            self.slots.resize_with(attribute + 1, || None);
        }
        let slot = &mut self.slots[attribute];
        if slot.as_ref().is_none_or(|slot| !Arc::ptr_eq(&slot.of, constant)) {
            *slot = Some(Slot::new(constant));
        }
        let slot = slot.as_ref().expect("made above");
        let nulls = if constant.is_null() { slot.nulls.as_ptr() } else { std::ptr::null() };
        ColumnRef { data: slot.values.as_ptr(), nulls }
    }
}

impl Slot {
    fn new(constant: &Arc<Constant>) -> Self {
        let size = constant.physical.size();
        let mut values = Buffer::with_capacity(WINDOW * size);
        // SAFETY: the first `size` bytes of the words are the value.
        let value = unsafe { std::slice::from_raw_parts(constant.words.as_ptr().cast::<u8>(), size) };
        (0..WINDOW).for_each(|_| values.extend(value));
        let nulls = if constant.is_null() { vec![1; WINDOW].into() } else { Box::default() };
        Self { of: constant.clone(), values, nulls }
    }
}
