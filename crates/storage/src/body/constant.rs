//! Constant columns: one value for all rows of a chunk.
//!
//! A predicate on one is evaluated once a chunk, and kernels and generated code, which want arrays, get one window of
//! copies in the reader's [`Scratch`](super::Scratch) memory: made once for all windows of the chunk.

use types::{Buffer, Physical, Str};

use super::{Cell, Values};
use crate::ColumnRef;
use crate::statistics::{Bounds, ValueRange};

/// The value of all rows.
#[derive(Debug)]
pub(crate) struct Constant {
    physical: Physical,
    /// The value, zeros if it is NULL. A long string's header points into `heap`.
    value: Cell,
    heap: Option<Buffer>,
}

impl Constant {
    /// NULL.
    pub(super) fn null(physical: Physical) -> Self {
        let mut constant = Self { physical, value: Cell::default(), heap: None };
        constant.value.null = [1];
        constant
    }

    /// The value that all rows have, bit for bit, if there is one; `bounds` are theirs.
    pub(super) fn of(values: Values<'_>, bounds: &Bounds) -> Option<Self> {
        let (rows, physical) = (values.rows(), values.physical());
        // Bounds may have counted NULLs of rows that were given up.
        let is_null = matches!(bounds.range, ValueRange::Empty) && bounds.nulls > 0;
        if rows == 0 || bounds.nulls != 0 && !is_null {
            return None;
        }
        let mut constant = Self { physical, value: Cell::default(), heap: None };
        constant.value.null = [u8::from(is_null)];
        if constant.is_null() {
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
        unsafe { constant.value.words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size) };
        Some(constant)
    }

    fn set_text(&mut self, bytes: &[u8]) {
        if bytes.len() <= Str::INLINE {
            self.value.words = Str::new(bytes).words();
            return;
        }
        let mut heap = Buffer::with_capacity(bytes.len());
        heap.extend(bytes);
        self.value.words = Str::new(heap.as_slice()).words();
        self.heap = Some(heap);
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value.null == [1]
    }

    /// The value as a column of one row.
    pub(crate) fn values(&self) -> Values<'_> {
        let nulls = if self.is_null() { self.value.null.as_ptr() } else { std::ptr::null() };
        // SAFETY: one value and one flag, which `self` owns, as it owns the payload.
        unsafe { Values::new(self.physical, ColumnRef { data: self.value.words.as_ptr().cast(), nulls }, 1) }
    }

    /// The bytes of the value.
    pub(super) fn value(&self) -> &[u8] {
        // SAFETY: the first bytes of the words are the value.
        unsafe { std::slice::from_raw_parts(self.value.words.as_ptr().cast::<u8>(), self.physical.size()) }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap.as_ref().map_or(0, Buffer::capacity)
    }
}
