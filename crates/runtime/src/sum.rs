//! What group rows keep for sums of doubles and for variances: exact, so that the order of tuples and the number of workers
//! do not show (decision 12).
//!
//! A sum is a [`Pair`], 16 bytes, and once that does not suffice a [`Long`] in memory that lives as long as the query: its
//! address stands in the pair's high part then, as a NaN, which no pair holds and to which nothing adds up exactly. So
//! generated code need not know: it adds to the pair where that is exact, and calls Rust where not. Zeroed memory is the
//! sum of nothing.

mod lanes;

use base::Result;
use types::ops::sum::{
    EXACT_INTEGERS, LongSum, Pair, terms, two_product, two_square, two_sum, variance, variance_of_integers,
};

use crate::worker::{Worker, guarded};
use lanes::squares_of;
pub use lanes::sum_of;

/// A sum in a group row.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct ExactSum(Pair);

/// A sum that has outgrown its pair: a pair once more, and what has left it.
#[repr(C)]
struct Long {
    pair: Pair,
    rest: LongSum,
}

/// The bits of a quiet NaN, above the 48 of an address.
const MARK: u64 = 0x7ffc << 48;

impl ExactSum {
    /// Adds `x`.
    ///
    /// # Safety
    /// The sum's memory must have been zeroed and only been touched by workers of this query, one at a time.
    #[inline(always)]
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, x: f64) -> Result<()> {
        if self.0.add(x) {
            return Ok(());
        }
        // SAFETY: as the caller promises.
        unsafe { self.add_to_long(worker, x) }
    }

    /// Adds `x` where the pair cannot take it.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[cold]
    unsafe fn add_to_long(&mut self, worker: &mut Worker, x: f64) -> Result<()> {
        // SAFETY: as the caller promises.
        let long = unsafe { self.long(worker)? };
        if !long.pair.add(x) {
            long.rest.add_pair(std::mem::take(&mut long.pair));
            if !long.pair.add(x) {
                long.rest.add(x);
            }
        }
        Ok(())
    }

    /// Adds all these values.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn add_all(&mut self, worker: &mut Worker, values: &[f64]) -> Result<()> {
        let lanes = sum_of(values);
        let parts = lanes.iter().flatten().flat_map(|lane| [lane.high, lane.low]);
        let all = lanes.is_none().then_some(values).into_iter().flatten().copied();
        // SAFETY: as the caller promises.
        parts.chain(all).try_for_each(|x| unsafe { self.add(worker, x) })
    }

    /// Adds another sum.
    ///
    /// # Safety
    /// As for [`add`](Self::add), of both sums.
    pub(crate) unsafe fn merge(&mut self, worker: &mut Worker, other: &Self) -> Result<()> {
        // SAFETY: as the caller promises; two sums never share memory.
        unsafe {
            let pair = match other.outgrown() {
                Some(other) => {
                    self.long(worker)?.rest.merge(&(*other).rest);
                    (*other).pair
                }
                None => other.0,
            };
            self.add(worker, pair.high)?;
            self.add(worker, pair.low)
        }
    }

    /// Where the sum is if it has outgrown its pair.
    fn outgrown(&self) -> Option<*mut Long> {
        let address = self.0.high.to_bits() ^ MARK;
        self.0.high.is_nan().then_some(address as *mut Long)
    }

    /// The sum's other form, made if it does not have it yet.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn long(&mut self, worker: &mut Worker) -> Result<&mut Long> {
        let long = match self.outgrown() {
            Some(long) => long,
            None => {
                let long = worker.keep_zeroed(size_of::<Long>())?.cast::<Long>();
                // SAFETY: fresh memory of that size, aligned to 16.
                unsafe { (*long).pair = self.0 };
                self.0.high = f64::from_bits(MARK | long as u64);
                long
            }
        };
        // SAFETY: zeroed memory of that size and alignment is a `Long`, and lives as long as the query; whoever touches
        // the sum is alone, as the caller promises.
        Ok(unsafe { &mut *long })
    }

    /// The exact value, if it is an integer that doubles have and is easily seen to be.
    fn integer(&self) -> Option<i64> {
        let Pair { high, low } = self.0;
        // A sum that has outgrown its pair is NaN.
        let is_integer = low == 0.0 && high.trunc() == high && high.abs() <= EXACT_INTEGERS as f64;
        is_integer.then_some(high as i64)
    }

    /// The exact value.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn exact(&self) -> LongSum {
        // SAFETY: as the caller promises.
        let (mut sum, pair) = match self.outgrown() {
            // SAFETY: as the caller promises.
            Some(long) => unsafe { ((*long).rest.clone(), (*long).pair) },
            None => (LongSum::default(), self.0),
        };
        sum.add_pair(pair);
        sum
    }

    /// The sum as a double; 22003 if it is too large.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn round(&self) -> Result<f64> {
        // SAFETY: as the caller promises.
        if self.outgrown().is_none() { self.0.round() } else { unsafe { self.exact() }.round() }
    }
}

/// A sum of products. These have twice the bits of a double, more than a pair adds up for long: so a third double stands
/// before it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct ExactProducts {
    high: f64,
    low: ExactSum,
}

impl ExactProducts {
    /// As [`ExactSum::integer`].
    fn integer(&self) -> Option<i64> {
        let low = self.low.integer().filter(|low| *low == 0);
        low.and_then(|_| ExactSum(Pair { high: self.high, low: 0.0 }).integer())
    }

    /// Adds a product.
    ///
    /// # Safety
    /// As for [`ExactSum::add`].
    #[inline]
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, x: f64, y: f64) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            let Some((product, rest)) = two_product(x, y) else {
                return self.low.long(worker).map(|long| long.rest.add_product(x, y));
            };
            self.add_high(worker, product)?;
            if rest == 0.0 { Ok(()) } else { self.low.add(worker, rest) }
        }
    }

    /// # Safety
    /// As for [`ExactSum::add`]; `x` must be finite and far from overflow.
    #[inline]
    unsafe fn add_high(&mut self, worker: &mut Worker, x: f64) -> Result<()> {
        let (high, lost) = two_sum(self.high, x);
        self.high = high;
        // SAFETY: as the caller promises.
        if lost == 0.0 { Ok(()) } else { unsafe { self.low.add(worker, lost) } }
    }

    /// Adds another sum.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of both.
    pub(crate) unsafe fn merge(&mut self, worker: &mut Worker, other: &Self) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            self.add_high(worker, other.high)?;
            self.low.merge(worker, &other.low)
        }
    }

    /// The exact value.
    ///
    /// # Safety
    /// As for [`ExactSum::add`].
    pub(crate) unsafe fn exact(&self) -> LongSum {
        // SAFETY: as the caller promises.
        let mut sum = unsafe { self.low.exact() };
        sum.add(self.high);
        sum
    }
}

/// What a group row keeps for a variance: number, sum and sum of squares.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExactVariance {
    count: u64,
    sum: ExactSum,
    squares: ExactProducts,
}

impl ExactVariance {
    /// Adds `x`.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of both sums.
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, x: f64) -> Result<()> {
        self.count += 1;
        // SAFETY: as the caller promises.
        unsafe {
            self.sum.add(worker, x)?;
            self.squares.add(worker, x, x)
        }
    }

    /// Adds `x`, or says that something would have to grow for it; nothing has changed then.
    #[inline]
    fn add_here(&mut self, x: f64) -> bool {
        let (mut sum, mut low) = (self.sum.0, self.squares.low.0);
        let Some((square, rest)) = two_square(x) else { return false };
        let (high, lost) = two_sum(self.squares.high, square);
        let fits = sum.add(x) & low.add(lost) & low.add(rest);
        if fits {
            let squares = ExactProducts { high, low: ExactSum(low) };
            *self = Self { count: self.count + 1, sum: ExactSum(sum), squares };
        }
        fits
    }

    /// Adds all these values, of which so many are; the others are 0.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of both sums.
    pub(crate) unsafe fn add_all(&mut self, worker: &mut Worker, values: &[f64], present: usize) -> Result<()> {
        self.count += present as u64;
        // SAFETY: as the caller promises.
        unsafe {
            self.sum.add_all(worker, values)?;
            let Some(lanes) = squares_of(values) else {
                return values.iter().try_for_each(|&x| self.squares.add(worker, x, x));
            };
            for (high, low) in lanes {
                self.squares.add_high(worker, high)?;
                self.squares.low.add(worker, low.high)?;
                self.squares.low.add(worker, low.low)?;
            }
        }
        Ok(())
    }

    /// So many of the values that were added are none, but 0 in their place.
    pub(crate) fn forget(&mut self, count: usize) {
        self.count -= count as u64;
    }

    /// Adds an integer.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of both sums.
    pub(crate) unsafe fn add_integer(&mut self, worker: &mut Worker, x: i128) -> Result<()> {
        if x.unsigned_abs() <= EXACT_INTEGERS {
            // SAFETY: as the caller promises.
            return unsafe { self.add(worker, x as i64 as f64) };
        }
        let parts = terms(x);
        // SAFETY: as the caller promises.
        unsafe {
            if parts[1] == 0.0 {
                return self.add(worker, parts[0]);
            }
            self.count += 1;
            parts.iter().try_for_each(|&part| self.sum.add(worker, part))?;
            self.squares.low.long(worker).map(|long| long.rest.add_square_of_sum(parts))
        }
    }

    /// Adds another one.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of all sums.
    pub(crate) unsafe fn merge(&mut self, worker: &mut Worker, other: &Self) -> Result<()> {
        self.count += other.count;
        // SAFETY: as the caller promises.
        unsafe {
            self.sum.merge(worker, &other.sum)?;
            self.squares.merge(worker, &other.squares)
        }
    }

    /// The variance, 0 of too few values; integers count units of 10^-`scale`. See [`variance`].
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of both sums.
    pub(crate) unsafe fn variance(&self, sample: bool, scale: u8) -> Result<f64> {
        if self.count <= u64::from(sample) {
            return Ok(0.0);
        }
        const MOST: u64 = 1 << 40;
        if let (Some(sum), Some(squares)) = (self.sum.integer(), self.squares.integer())
            && self.count < MOST
        {
            return variance_of_integers(self.count, sum, squares, sample, scale);
        }
        // SAFETY: as the caller promises.
        let (sum, squares) = unsafe { (self.sum.exact(), self.squares.exact()) };
        variance(self.count, &sum, &squares, sample, scale)
    }
}

/// Adds `x` to a sum whose pair cannot take it.
///
/// # Safety
/// `worker` must be the calling thread's, `sum` a sum in a row of its query that nobody else touches.
pub unsafe extern "C" fn sum_add(worker: *mut Worker, sum: *mut ExactSum, x: f64) -> u32 {
    // SAFETY: as the caller promises.
    let (worker, sum) = unsafe { (&mut *worker, &mut *sum) };
    // SAFETY: likewise.
    match guarded(|| unsafe { sum.add(worker, x) }) {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

/// Adds `x` to what a variance is made of.
///
/// # Safety
/// As for [`sum_add`].
pub unsafe extern "C" fn variance_add(worker: *mut Worker, to: *mut ExactVariance, x: f64) -> u32 {
    // SAFETY: as the caller promises.
    let (worker, to) = unsafe { (&mut *worker, &mut *to) };
    if to.add_here(x) {
        return 0;
    }
    // SAFETY: likewise.
    match guarded(|| unsafe { to.add(worker, x) }) {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

/// Adds `count` values to a sum.
///
/// # Safety
/// As for [`sum_add`]; there must be so many values.
pub unsafe extern "C" fn sum_add_all(worker: *mut Worker, sum: *mut ExactSum, values: *const f64, count: u64) -> u32 {
    // SAFETY: as the caller promises.
    let (worker, sum, values) =
        unsafe { (&mut *worker, &mut *sum, std::slice::from_raw_parts(values, count as usize)) };
    // SAFETY: likewise.
    match guarded(|| unsafe { sum.add_all(worker, values) }) {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

#[cfg(test)]
mod tests {
    use base::Budget;
    use types::ops::sum::LongSum;

    use super::*;
    use crate::query::QueryContext;
    use crate::testing::program;
    use base::Random;

    fn nothing() -> ExactSum {
        ExactSum(Pair::default())
    }

    #[test]
    fn batches_single_values_and_merged_parts_give_the_same_bits() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let mut random = Random(1);
        for round in 0..200 {
            let spread = [1, 40, 600, 2000][round % 4];
            let values: Vec<f64> = (0..random.below(700))
                .map(|_| f64::from_bits(random.bits() & !(0x7ff << 52) | (24 + random.below(spread)) << 52))
                .collect();
            let mut expected = LongSum::default();
            values.iter().for_each(|&x| expected.add(x));
            let (mut one, mut all, mut other) = (nothing(), nothing(), nothing());
            let half = values.len() / 2;
            // SAFETY: sums of this worker's query.
            unsafe {
                values.iter().for_each(|&x| one.add(&mut worker, x).unwrap());
                all.add_all(&mut worker, &values[..half]).unwrap();
                other.add_all(&mut worker, &values[half..]).unwrap();
                all.merge(&mut worker, &other).unwrap();
                assert_eq!(one.round().map(f64::to_bits), expected.round().map(f64::to_bits));
                assert_eq!(all.round().map(f64::to_bits), expected.round().map(f64::to_bits));
            }
        }
    }

    #[test]
    fn variances_of_parts_are_those_of_all() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        let empty = ExactVariance { count: 0, sum: nothing(), squares: ExactProducts::default() };
        for scale in [1.0, 1e-170, 1e150] {
            let (mut one, mut two, mut all) = (empty, empty, empty);
            // SAFETY: sums of this worker's query.
            unsafe {
                for (i, x) in [1.0, 5.0, 3.0, 7.0, 1e3, 0.1].into_iter().enumerate() {
                    all.add(&mut worker, x * scale).unwrap();
                    if i % 2 == 0 { &mut one } else { &mut two }.add(&mut worker, x * scale).unwrap();
                }
                one.merge(&mut worker, &two).unwrap();
                assert_eq!(one.variance(true, 0), all.variance(true, 0));
                assert_eq!(empty.variance(false, 0), Ok(0.0));
            }
        }
    }

    #[test]
    fn variances_of_integers_know_their_last_digit() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        for base in [0, 1 << 53, i128::from(i64::MIN), 10i128.pow(38) - 9] {
            let mut all = ExactVariance { count: 0, sum: nothing(), squares: ExactProducts::default() };
            // SAFETY: sums of this worker's query.
            unsafe {
                [1, 2, 4, 8].iter().for_each(|&x| all.add_integer(&mut worker, base + x).unwrap());
                assert_eq!(all.variance(false, 0), Ok(115.0 / 16.0));
                assert_eq!(all.variance(true, 1), Ok(115.0 / 12.0 / 100.0));
            }
        }
    }
}
