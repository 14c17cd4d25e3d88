//! Aligned byte buffers.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error, realloc};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use base::memory::Extent;

const ALIGNMENT: usize = 64;
/// As the largest value is aligned. Allocators have memory for it at once, and search for more.
const SMALL_ALIGNMENT: usize = 16;
/// Most bytes of a small buffer: a row or a few.
const SMALL: usize = 32;
/// Bytes past the end that may be read (never written), so that kernels can load whole vectors.
const SLACK: usize = 32;

/// What a buffer without capacity points to: many are never written to, and take no memory.
#[repr(align(64))]
struct Nothing(#[expect(dead_code, reason = "read past the end, by whole vectors")] [u8; SLACK]);

static NOTHING: Nothing = Nothing([0; SLACK]);

/// A growable byte buffer, aligned to 64 (one of at most 32 bytes to 16), readable 32 bytes past its capacity.
///
/// The exception is a [`foreign`](Buffer::foreign) buffer, which only ever holds string payload.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    capacity: usize,
    owner: Owner,
}

/// Who has the bytes, and frees them.
#[derive(Debug)]
enum Owner {
    /// The allocator; without capacity, nobody.
    Buffer,
    Extent(#[expect(dead_code, reason = "dropped with the buffer")] Extent),
    Other(#[expect(dead_code, reason = "dropped with the buffer")] Arc<dyn Any + Send + Sync>),
    /// Likewise, and accounts for them.
    Charged(#[expect(dead_code, reason = "dropped with the buffer")] Arc<dyn Any + Send + Sync>),
}

// SAFETY: a buffer owns its memory like a `Vec<u8>`.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// What is smaller is no page's worth of an [`Extent`], and comes from the allocator.
    pub const LASTING: usize = 32 << 10;

    /// An empty buffer that holds `capacity` bytes without growing.
    pub fn with_capacity(capacity: usize) -> Self {
        if capacity == 0 {
            return Self { start: NonNull::from(&NOTHING).cast(), len: 0, capacity: 0, owner: Owner::Buffer };
        }
        let layout = Self::layout(capacity);
        // SAFETY: the layout's size is at least SLACK.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, len: 0, capacity, owner: Owner::Buffer }
    }

    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::with_capacity(0);
        }
        let layout = Self::layout(len);
        // SAFETY: the layout's size is at least SLACK.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, len, capacity: len, owner: Owner::Buffer }
    }

    /// An empty buffer of `capacity` bytes for what stays: no memory beside it is lost, as long as it does not grow.
    pub fn lasting(capacity: usize) -> Self {
        if capacity < Self::LASTING {
            return Self::with_capacity(capacity);
        }
        let extent = Extent::new(capacity + SLACK);
        Self { start: extent.start(), len: 0, capacity, owner: Owner::Extent(extent) }
    }

    /// Bytes that someone else owns (a page of a Parquet file, an Arrow array): payload for the string headers of a
    /// column. Immutable, not aligned, and not readable past its end.
    ///
    /// # Safety
    /// `len` bytes from `start` must be initialised and stay where they are, unchanged, until `owner` is dropped.
    pub unsafe fn foreign(start: NonNull<u8>, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { start, len, capacity: len, owner: Owner::Other(owner) }
    }

    /// As [`foreign`](Self::foreign), where the owner accounts for the bytes as long as it lives: nobody else has to.
    ///
    /// # Safety
    /// As of `foreign`.
    pub unsafe fn foreign_charged(start: NonNull<u8>, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { start, len, capacity: len, owner: Owner::Charged(owner) }
    }

    fn layout(capacity: usize) -> Layout {
        let alignment = if capacity <= SMALL { SMALL_ALIGNMENT } else { ALIGNMENT };
        Layout::from_size_align(capacity + SLACK, alignment).expect("buffer smaller than isize::MAX")
    }

    /// Bytes in use.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether no byte is in use.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Bytes allocated.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
    /// Bytes for which whoever keeps the buffer has to account.
    pub fn own_bytes(&self) -> usize {
        if matches!(self.owner, Owner::Charged(_)) { 0 } else { self.capacity }
    }
    fn is_foreign(&self) -> bool {
        matches!(self.owner, Owner::Other(_) | Owner::Charged(_))
    }
    /// First byte.
    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }
    /// First byte, to be written.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        assert!(!self.is_foreign(), "foreign buffers are immutable");
        self.start.as_ptr()
    }
    /// The bytes in use.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes are initialised.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
    /// The bytes in use, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        assert!(!self.is_foreign(), "foreign buffers are immutable");
        // SAFETY: `len` bytes are initialised, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Makes room for `additional` bytes; the buffer may move.
    #[inline]
    pub fn reserve(&mut self, additional: usize) {
        if self.capacity - self.len < additional {
            self.grow(additional);
        }
    }

    #[cold]
    fn grow(&mut self, additional: usize) {
        self.set_capacity((self.len + additional).max(self.capacity * 2).max(64));
    }

    /// Frees what is not in use if that is more than an eighth; the buffer may move.
    pub fn shrink(&mut self) {
        if self.len < self.capacity - self.capacity / 8 {
            self.set_capacity(self.len);
        }
    }

    fn set_capacity(&mut self, capacity: usize) {
        assert!(!self.is_foreign(), "foreign buffers do not grow");
        let new = Self::layout(capacity);
        let is_allocators = matches!(self.owner, Owner::Buffer);
        if !is_allocators || self.capacity == 0 || capacity == 0 || Self::layout(self.capacity).align() != new.align() {
            let mut moved = Self::with_capacity(capacity);
            // It holds what is in use.
            moved.extend(self.as_slice());
            *self = moved;
            return;
        }
        // SAFETY: allocated with this layout; the new size is not zero.
        let start = unsafe { realloc(self.start.as_ptr(), Self::layout(self.capacity), new.size()) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(new) };
        (self.start, self.capacity) = (start, capacity);
    }

    /// Appends bytes; the buffer may move.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: room was made.
        unsafe { self.start.as_ptr().add(self.len).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    /// Appends a plain value; the buffer may move.
    #[inline]
    pub fn push<T: super::Plain>(&mut self, value: T) {
        self.reserve(size_of::<T>());
        // SAFETY: room was made; plain data may be written unaligned.
        unsafe { self.start.as_ptr().add(self.len).cast::<T>().write_unaligned(value) };
        self.len += size_of::<T>();
    }

    /// Appends `count` plain values, the one for each number from 0 on; the buffer may move.
    #[inline]
    pub fn extend_with<T: super::Plain>(&mut self, count: usize, mut value: impl FnMut(usize) -> T) {
        self.reserve(count.checked_mul(size_of::<T>()).expect("buffer smaller than isize::MAX"));
        // SAFETY: within the room that was made.
        let to = unsafe { self.start.as_ptr().add(self.len).cast::<T>() };
        for number in 0..count {
            // SAFETY: as above; plain data may be written unaligned.
            unsafe { to.add(number).write_unaligned(value(number)) };
        }
        self.len += count * size_of::<T>();
    }

    /// Declares the first `len` bytes in use.
    ///
    /// # Safety
    /// They must be initialised and within the capacity.
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity);
        self.len = len;
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Buffer) && self.capacity > 0 {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) };
        }
    }
}

impl<T: super::Plain> FromIterator<T> for Buffer {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        let iter = iter.into_iter();
        let mut buffer = Self::with_capacity(iter.size_hint().0 * size_of::<T>());
        iter.for_each(|v| buffer.push(v));
        buffer
    }
}
