//! The elements of lists that a repetition delivers: all of a batch at once, by the numbers of their deliveries.

use types::ops::array::{Raw, decode, gather};
use types::{Physical, Str};

use super::RepeatScratch;
use crate::join::BATCH;

/// The memory of the elements of one list of each tuple of a repetition.
#[repr(C)]
pub struct ElementsScratch {
    /// In: the list of each tuple, as the words of a string, whose payload is alive.
    pub lists: [[u64; 2]; BATCH],
    /// Out: by delivery, the element as a word.
    pub words: [u64; BATCH],
    /// Out: by delivery, 1 if it is NULL or there is none.
    pub nulls: [u8; BATCH],
    /// The kernel's own.
    heads: [u16; BATCH],
}

/// The layouts of elements that are delivered, by the number that code passes.
pub const DELIVERED: [Physical; 4] = [Physical::I32, Physical::I64, Physical::F32, Physical::F64];

/// Finds the elements of `count` deliveries, of the layout of that number.
///
/// # Safety
/// `repeat` must have delivered so many, and `elements` have the lists of its tuples.
pub unsafe extern "C" fn repeat_elements(
    repeat: *const RepeatScratch,
    elements: *mut ElementsScratch,
    count: u64,
    layout: u64,
) {
    // SAFETY: as the caller promises.
    let (repeat, elements) = unsafe { (&*repeat, &mut *elements) };
    let layout = DELIVERED[layout as usize];
    let count = count as usize;
    let mut at = 0;
    while at < count {
        let (tuple, from) = (repeat.tuples[at] as usize, repeat.indexes[at]);
        // A tuple's deliveries follow each other.
        let left = (repeat.times[tuple] as u64).saturating_sub(from).clamp(1, (count - at) as u64) as usize;
        let list = Str::from_words(elements.lists[tuple]);
        let raw = Raw { words: &mut elements.words[at..at + left], heads: &mut elements.heads[at..at + left] };
        // SAFETY: as the caller promises.
        gather(unsafe { list.bytes() }, from as usize, layout, raw);
        at += left;
    }
    let raw = Raw { words: &mut elements.words[..count], heads: &mut elements.heads[..count] };
    decode(layout, raw, &mut elements.nulls[..count]);
}
