//! Rows of one or two integers whose bounds are known: a bit for each that there can be says whether it was seen, which costs
//! a look at a few kilobytes instead of at a table and a row.

use std::sync::atomic::{AtomicU64, Ordering};

use base::Budget;
use base::memory::{Pages, Reservation, Spread};
use pipeline::ir::{NEW, OUTSIDE, SEEN};

/// See the module.
#[derive(Debug)]
pub(super) struct Domain {
    lows: [i64; 2],
    sizes: [u64; 2],
    bits: Pages,
    _memory: Reservation,
}

impl Domain {
    /// Of rows whose columns are mostly within these bounds; none if there are no bounds, or no memory.
    pub fn new(bounds: &[(i64, i64)], budget: &Budget, operator: &'static str) -> Option<Self> {
        let [(first, last), rest @ ..] = bounds else { return None };
        let (low, high) = rest.first().copied().unwrap_or((0, 0));
        let size =
            |low: i64, high: i64| high.checked_sub(low).and_then(|span| u64::try_from(span).ok()?.checked_add(1));
        let sizes = [size(*first, *last)?, size(low, high)?];
        let rows = usize::try_from(sizes[0].checked_mul(sizes[1])?).ok()?;
        let bytes = rows.div_ceil(u64::BITS as usize) * size_of::<u64>();
        let memory = budget.reserve(bytes, operator).ok()?;
        let bits = Pages::shared(bytes, Spread::default());
        Some(Self { lows: [*first, low], sizes, bits, _memory: memory })
    }

    /// Whether the row, of one integer and 0 or of two, is seen for the first time; then it is noted.
    #[inline]
    pub fn first(&self, row: [i64; 2]) -> u64 {
        let at = [0, 1].map(|column| row[column].wrapping_sub(self.lows[column]) as u64);
        if at[0] >= self.sizes[0] || at[1] >= self.sizes[1] {
            return OUTSIDE;
        }
        let number = at[0] * self.sizes[1] + at[1];
        // SAFETY: there is a bit of each number, and nobody has the memory but by atomics.
        let word = unsafe { &*self.bits.as_ptr().cast::<AtomicU64>().add((number / u64::from(u64::BITS)) as usize) };
        let bit = 1 << (number % u64::from(u64::BITS));
        // Most rows were seen before, and to read disturbs nobody.
        if word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return SEEN;
        }
        NEW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_within_its_bounds_is_seen_once() {
        let budget = Budget::new(1 << 20);
        assert!(Domain::new(&[], &budget, "recursion").is_none());
        assert!(Domain::new(&[(0, i64::MAX)], &budget, "recursion").is_none());
        assert!(Domain::new(&[(i64::MIN, i64::MAX)], &budget, "recursion").is_none());
        assert!(Domain::new(&[(0, 1 << 30)], &budget, "recursion").is_none());
        let one = Domain::new(&[(-3, 200)], &budget, "recursion").unwrap();
        for number in [-3, 0, 200, 61, 60] {
            assert_eq!([one.first([number, 0]), one.first([number, 0])], [NEW, SEEN]);
        }
        for number in [-4, 201, i64::MIN, i64::MAX] {
            assert_eq!([one.first([number, 0]), one.first([number, 0])], [OUTSIDE; 2]);
        }
        assert_eq!(one.first([0, 1]), OUTSIDE);
        let two = Domain::new(&[(0, 9), (-9, 0)], &budget, "recursion").unwrap();
        let mut new = 0;
        for row in (0..10).flat_map(|a| (-9..1).map(move |b| [a, b])) {
            new += u64::from(two.first(row) == NEW);
        }
        assert_eq!((new, two.first([9, 0]), two.first([10, 0]), two.first([0, 1])), (100, SEEN, OUTSIDE, OUTSIDE));
        drop((one, two));
        assert_eq!(budget.used(), 0);
    }
}
