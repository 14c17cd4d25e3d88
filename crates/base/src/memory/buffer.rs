//! Arrays of plain values in recycled memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use super::Pages;

/// A fixed number of values, in memory that may have been used before: they are anything until they are written. Clearing
/// fresh memory costs more than most of what is done with such an array.
pub struct Buffer<T> {
    /// None without values.
    pages: Option<Pages>,
    len: usize,
    values: PhantomData<T>,
}

// SAFETY: the values are owned, as those of a `Vec`.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: Copy> Buffer<T> {
    /// So many values, which are anything.
    ///
    /// # Safety
    /// Any bits must be a `T`.
    pub unsafe fn recycled(len: usize) -> Self {
        assert!(align_of::<T>() <= 64);
        let bytes = len.checked_mul(size_of::<T>()).expect("charged before");
        Self { pages: (bytes > 0).then(|| Pages::recycled(bytes).0), len, values: PhantomData }
    }

    /// Some places, to be written by one of several who share the buffer.
    ///
    /// # Safety
    /// Nobody else may write these places meanwhile, nor read them if they are written here.
    #[expect(clippy::mut_from_ref, reason = "whoever calls this is alone there")]
    pub unsafe fn places(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: inside of the buffer; the caller promises that the places are its own.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr().add(range.start), range.len()) }
    }

    fn as_ptr(&self) -> *mut T {
        self.pages.as_ref().map_or(std::ptr::NonNull::dangling().as_ptr(), |pages| pages.as_ptr().cast())
    }
}

impl<T: Copy> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values, which are initialised: any bits are.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

impl<T: Copy> From<&[T]> for Buffer<T> {
    fn from(values: &[T]) -> Self {
        let bytes = size_of_val(values);
        let buffer = Self { pages: (bytes > 0).then(|| Pages::zeroed(bytes)), len: values.len(), values: PhantomData };
        // SAFETY: the memory has room for the values, and is this function's own.
        unsafe { buffer.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        buffer
    }
}

impl<T: fmt::Debug + Copy> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_written() {
        for len in [0, 1, 1000, 1_000_000] {
            let values: Vec<u64> = (0..len).collect();
            let copied = Buffer::from(values.as_slice());
            // SAFETY: any bits are an integer.
            let mut written = unsafe { Buffer::<u64>::recycled(len as usize) };
            written.copy_from_slice(&values);
            assert!(*copied == *values && *written == *values);
        }
    }
}
