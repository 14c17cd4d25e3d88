//! Merging, from the bottom up, in steps: for what only comparisons can order. Each may be long, so it can be stopped behind
//! any of them, and all that it knows then is where it is. Complexity: O(n log n), at most n comparisons a pass.

use std::cmp::Ordering;

/// Runs at least this long are looked at whether they are in order already.
const LONG: usize = 8;

/// How far merging is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    /// The length of sorted runs.
    run: usize,
    /// How many are written of this pass, and the next one of the left one of two runs; the right one's follows.
    written: usize,
    left: usize,
    /// Whether the pass goes back from the scratch memory.
    back: bool,
}

impl Merge {
    pub(super) fn new() -> Self {
        Self { run: 1, written: 0, left: 0, back: false }
    }

    /// Goes on until all is sorted, which is told, or until steps, which `compare` takes off, are used up. The memory is
    /// that of the calls before.
    pub(super) fn go_on<E: Copy>(
        &mut self,
        items: &mut [E],
        scratch: &mut [E],
        steps: &mut u64,
        compare: impl Fn(&E, &E, &mut u64) -> Ordering,
    ) -> bool {
        while self.run < items.len() {
            let (from, to) = if self.back { (&*scratch, &mut *items) } else { (&*items, &mut *scratch) };
            if !self.pass(from, to, steps, &compare) {
                return false;
            }
            *self = Self { run: 2 * self.run, written: 0, left: 0, back: !self.back };
        }
        if self.back {
            items.copy_from_slice(scratch);
            self.back = false;
        }
        true
    }

    /// Merges neighbouring runs; true at the end.
    fn pass<E: Copy>(
        &mut self,
        from: &[E],
        to: &mut [E],
        steps: &mut u64,
        compare: impl Fn(&E, &E, &mut u64) -> Ordering,
    ) -> bool {
        let all = from.len();
        while self.written < all {
            let start = self.written - self.written % (2 * self.run);
            let (middle, end) = (all.min(start + self.run), all.min(start + 2 * self.run));
            if self.written == start {
                if *steps == 0 {
                    return false;
                }
                self.left = start;
                let may_be_sorted = self.run >= LONG && middle < end;
                if may_be_sorted && compare(&from[middle - 1], &from[middle], steps).is_le() {
                    to[start..end].copy_from_slice(&from[start..end]);
                    self.written = end;
                    continue;
                }
            }
            let mut right = middle + self.written - self.left;
            while self.left < middle && right < end {
                // What is begun goes on by one at least.
                if *steps == 0 && self.written > start {
                    return false;
                }
                let next = if compare(&from[right], &from[self.left], steps).is_lt() {
                    right += 1;
                    right - 1
                } else {
                    self.left += 1;
                    self.left - 1
                };
                to[self.written] = from[next];
                self.written += 1;
            }
            // One of the two is at its end.
            let rest = if self.left < middle { self.left..middle } else { right..end };
            to[self.written..end].copy_from_slice(&from[rest]);
            self.written = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn it_sorts_however_often_it_is_stopped() {
        let mut random = Random(5);
        for count in [0usize, 1, 2, 3, 7, 64, 65, 1000] {
            for values in [1, 3, 1 << 40] {
                let mut items: Vec<u64> = (0..count).map(|_| random.below(values)).collect();
                if random.below(3) == 0 {
                    items.sort_unstable();
                }
                let mut expected = items.clone();
                expected.sort_unstable();
                let (mut scratch, mut merge, mut calls) = (items.clone(), Merge::new(), 0);
                let each = 1 + random.below(20);
                let compare = |a: &u64, b: &u64, steps: &mut u64| {
                    *steps = steps.saturating_sub(1);
                    a.cmp(b)
                };
                loop {
                    calls += 1;
                    if merge.go_on(&mut items, &mut scratch, &mut each.clone(), compare) {
                        break;
                    }
                }
                assert_eq!(items, expected);
                let passes = u64::from(count.max(1).next_power_of_two().trailing_zeros());
                assert!(
                    calls <= 1 + (count as u64 * (passes + 1)).div_ceil(each),
                    "{calls} calls of {each} for {count}"
                );
            }
        }
    }
}
