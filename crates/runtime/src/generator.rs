//! Generators: what makes of a batch of tuples any number of them, a batch at a time.
//!
//! A generator has memory of its own, a `begin` and a `next`. Code fills the memory with what there is to know of each
//! tuple of its batch and begins; each `next` lists at most [`BATCH`] deliveries, each with the tuple that it belongs to.
//! All that is known between two calls of `next` lies in that memory. So code may return there, and another worker may go
//! on. How often that must be possible is counted in steps: a candidate that is looked at, or a delivery.

mod elements;

pub use elements::{DELIVERED, ElementsScratch, repeat_elements};

use crate::join::BATCH;
use crate::limit::LimitLocal;

/// What a `next` returns if the steps are used up: it goes on when it is called again with new ones.
pub const PAUSED: u64 = u64::MAX;

/// Deliveries of a tuple that are listed at once.
const FEW: usize = 16;

/// The memory of a repetition: how often, by tuple, in; tuples, and which delivery of each it is, out.
#[repr(C)]
pub struct RepeatScratch {
    /// In: number of tuples.
    pub count: u64,
    /// In: the limit that the deliveries come to later in the body, null if there is none.
    pub limit: *const LimitLocal,
    /// The kernel's own cursor: the tuple, and how often it was delivered.
    pub cursor: [u64; 2],
    /// In: how often each tuple is delivered; not at all if negative.
    pub times: [i64; BATCH],
    /// Out: which delivery of its tuple each is, from 0.
    pub indexes: [u64; BATCH],
    /// Out: tuples.
    pub tuples: [u32; BATCH],
}

/// Starts a batch.
///
/// # Safety
/// `scratch` must be filled as [`RepeatScratch`] says.
pub unsafe extern "C" fn repeat_begin(scratch: *mut RepeatScratch) {
    // SAFETY: as the caller promises.
    unsafe { (*scratch).cursor = [0; 2] };
}

/// The next deliveries; 0 at the end, or [`PAUSED`]. Takes a step off `*steps` for each.
///
/// # Safety
/// As [`repeat_begin`], after it; `steps` is the calling thread's.
pub unsafe extern "C" fn repeat_next(scratch: *mut RepeatScratch, steps: *mut u64) -> u64 {
    // SAFETY: as the caller promises; the limit lives as long as the query.
    let (scratch, steps) = unsafe { (&mut *scratch, &mut *steps) };
    // SAFETY: the caller has set the limit, which lives as long as the query.
    if unsafe { scratch.limit.as_ref() }.is_some_and(LimitLocal::is_exhausted) {
        return 0;
    }
    let [mut tuple, mut done] = scratch.cursor;
    let mut found = 0;
    while tuple < scratch.count && found < BATCH && *steps > 0 {
        let left = (scratch.times[tuple as usize].max(0) as u64).saturating_sub(done);
        let now = left.min((BATCH - found) as u64).min(*steps);
        let (tuples, indexes) = (&mut scratch.tuples[found..], &mut scratch.indexes[found..]);
        if let (true, Some(tuples), Some(indexes)) =
            (now <= FEW as u64, tuples.first_chunk_mut::<FEW>(), indexes.first_chunk_mut::<FEW>())
        {
            // More than there are, without a loop: the next tuple's come over them.
            *tuples = [tuple as u32; FEW];
            *indexes = std::array::from_fn(|i| done.wrapping_add(i as u64));
        } else {
            tuples[..now as usize].fill(tuple as u32);
            indexes[..now as usize].iter_mut().zip(done..).for_each(|(index, i)| *index = i);
        }
        found += now as usize;
        *steps -= now;
        (tuple, done) = if now == left { (tuple + 1, 0) } else { (tuple, done + now) };
    }
    scratch.cursor = [tuple, done];
    if found == 0 && tuple < scratch.count { PAUSED } else { found as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_repeated_in_order_however_often_it_pauses() {
        let times = [3, 0, -7, 2500, 1, 0];
        let expected: Vec<(u32, u64)> =
            times.iter().enumerate().flat_map(|(t, &n)| (0..n.max(0) as u64).map(move |i| (t as u32, i))).collect();
        for steps in [1, 7, 1000, 1024, 5000] {
            // SAFETY: integers and a pointer, for which zero is a value.
            let mut scratch: Box<RepeatScratch> = unsafe { Box::new_zeroed().assume_init() };
            scratch.count = times.len() as u64;
            scratch.times[..times.len()].copy_from_slice(&times);
            let (mut found, mut left, mut pauses) = (Vec::new(), steps, 0);
            // SAFETY: the memory is filled.
            unsafe { repeat_begin(&mut *scratch) };
            loop {
                // SAFETY: likewise.
                match unsafe { repeat_next(&mut *scratch, &mut left) } {
                    0 => break,
                    PAUSED => {
                        assert_eq!(left, 0);
                        (left, pauses) = (steps, pauses + 1);
                    }
                    n => {
                        let n = n as usize;
                        found.extend(scratch.tuples[..n].iter().copied().zip(scratch.indexes[..n].iter().copied()));
                    }
                }
            }
            assert_eq!(found, expected);
            assert!(pauses >= (expected.len() as u64 - 1) / steps, "{pauses} pauses of {steps}");
        }
    }
}
