//! Accumulators of groups without keys take a batch's values of a column at once ([`Fold`](pipeline::ir::Fold)).
//!
//! Values that lie one after the other, none of them NULL, are used where they are; others are copied first, NULLs as a
//! value that changes nothing, so that one plain loop a type is left, compiled for the vectors of the processor. A batch's
//! sum of 64-bit integers is two sums of 32-bit halves, which cannot overflow, and is widened at the end. O(1) a value,
//! about an instruction each.

use std::mem::MaybeUninit;

use base::Result;
use base::prefetch::prefetch_behind;
use base::simd::vectorised;
use pipeline::ir::{FoldKind, Ty};

use crate::join::BATCH;
use types::ops::sum::EXACT_INTEGERS;

use crate::sum::{ExactSum, ExactVariance};
use crate::worker::{Worker, guarded};

/// Adds a column's values at some positions to an accumulator: (worker, accumulator, its `seen` or null, values, NULL flags
/// or null if no value is NULL, positions, their number). Null for positions: the first ones of the column. There are at
/// most [`BATCH`], unless they are counted without a column (null for values). Returns 0, or 1 after it has stored an error.
pub type FoldFn = unsafe extern "C" fn(
    worker: *mut Worker,
    accumulator: *mut u8,
    seen: *mut u8,
    values: *const u8,
    nulls: *const u8,
    positions: *const u32,
    count: u64,
) -> u32;

/// The function for an accumulator of values of a type (any, to count them).
pub fn fold_function(kind: FoldKind, ty: Ty) -> FoldFn {
    match (kind, ty) {
        (FoldKind::Count, _) => count,
        (FoldKind::Sum, Ty::I16) => sum::<i16>,
        (FoldKind::Sum, Ty::I32) => sum::<i32>,
        (FoldKind::Sum, Ty::I64) => sum::<i64>,
        (FoldKind::Sum, Ty::I128) => sum::<i128>,
        (FoldKind::Sum, Ty::F32) => sum::<f32>,
        (FoldKind::Sum, Ty::F64) => sum::<f64>,
        (FoldKind::SumAsDouble, Ty::I16) => sum::<AsDouble<i16>>,
        (FoldKind::SumAsDouble, Ty::I32) => sum::<AsDouble<i32>>,
        (FoldKind::SumAsDouble, Ty::I64) => sum::<AsDouble<i64>>,
        (FoldKind::Variance, Ty::I16) => variance::<i16>,
        (FoldKind::Variance, Ty::I32) => variance::<i32>,
        (FoldKind::Variance, Ty::I64) => variance::<i64>,
        (FoldKind::Variance, Ty::F32) => variance::<f32>,
        (FoldKind::Variance, Ty::F64) => variance::<f64>,
        (FoldKind::Min, Ty::I16) => least::<i16, false>,
        (FoldKind::Min, Ty::I32) => least::<i32, false>,
        (FoldKind::Min, Ty::I64) => least::<i64, false>,
        (FoldKind::Min, Ty::I128) => least::<i128, false>,
        (FoldKind::Min, Ty::F32) => least::<f32, false>,
        (FoldKind::Min, Ty::F64) => least::<f64, false>,
        (FoldKind::Max, Ty::I16) => least::<i16, true>,
        (FoldKind::Max, Ty::I32) => least::<i32, true>,
        (FoldKind::Max, Ty::I64) => least::<i64, true>,
        (FoldKind::Max, Ty::I128) => least::<i128, true>,
        (FoldKind::Max, Ty::F32) => least::<f32, true>,
        (FoldKind::Max, Ty::F64) => least::<f64, true>,
        (FoldKind::Sum | FoldKind::Min | FoldKind::Max, Ty::Bool | Ty::Str | Ty::Interval | Ty::Ptr)
        | (FoldKind::SumAsDouble | FoldKind::Variance, _) => unreachable!("the verifier lets numbers through only"),
    }
}

/// Some rows of a column.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// None: no row is NULL.
    nulls: Option<*const u8>,
    /// None: the first ones.
    positions: Option<&'a [u32]>,
    count: usize,
}

impl Rows<'_> {
    /// # Safety
    /// As [`FoldFn`] says; what it points to outlives the result.
    unsafe fn new(nulls: *const u8, positions: *const u32, count: u64) -> Self {
        let count = count as usize;
        let positions =
            // SAFETY: as the caller promises.
            (!positions.is_null()).then(|| unsafe { std::slice::from_raw_parts(positions, count) });
        Self { nulls: (!nulls.is_null()).then_some(nulls), positions, count }
    }

    /// How many are not NULL.
    fn present(&self) -> usize {
        let Some(nulls) = self.nulls else { return self.count };
        // SAFETY: the column has a flag for each of the rows.
        let flag = |row: usize| u16::from(unsafe { *nulls.add(row) });
        let missing: u16 = match self.positions {
            None => vectorised(|| (0..self.count).map(flag).sum()),
            Some(positions) => positions.iter().map(|&p| flag(p as usize)).sum(),
        };
        self.count - usize::from(missing)
    }

    /// The values one after the other, NULLs as `neutral`, and how many are not NULL.
    fn values<'v, T: Copy>(&self, data: *const T, neutral: T, buffer: &'v mut Buffer<T>) -> (&'v [T], usize) {
        let present = self.present();
        let nulls = self.nulls.filter(|_| present < self.count);
        // SAFETY: the column has a value and a flag for each of the rows, alive as long as the call that they are for.
        unsafe {
            let value = |row: usize| *data.add(row);
            let checked = |nulls: *const u8, row: usize| if *nulls.add(row) == 0 { value(row) } else { neutral };
            let values = match (self.positions, nulls) {
                (None, None) => std::slice::from_raw_parts(data, self.count),
                (None, Some(nulls)) => vectorised(|| buffer.fill((0..self.count).map(|row| checked(nulls, row)))),
                (Some(positions), None) => buffer.fill(positions.iter().map(|&p| value(p as usize))),
                (Some(positions), Some(nulls)) => buffer.fill(positions.iter().map(|&p| checked(nulls, p as usize))),
            };
            (values, present)
        }
    }
}

/// Room for a batch's values.
struct Buffer<T>([MaybeUninit<T>; BATCH]);

impl<T: Copy> Buffer<T> {
    fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; BATCH])
    }

    #[inline(always)]
    fn fill(&mut self, values: impl ExactSizeIterator<Item = T>) -> &[T] {
        let count = values.len();
        let slots = &mut self.0[..count];
        for (slot, value) in slots.iter_mut().zip(values) {
            slot.write(value);
        }
        // SAFETY: as many were written, as an iterator over a range or slice has as many items as it says.
        unsafe { std::slice::from_raw_parts(slots.as_ptr().cast(), count) }
    }
}

/// Counts.
unsafe extern "C" fn count(
    _worker: *mut Worker,
    accumulator: *mut u8,
    _seen: *mut u8,
    _values: *const u8,
    nulls: *const u8,
    positions: *const u32,
    count: u64,
) -> u32 {
    // SAFETY: as `FoldFn` says.
    unsafe {
        let accumulator = accumulator.cast::<u64>();
        accumulator.write_unaligned(accumulator.read_unaligned() + Rows::new(nulls, positions, count).present() as u64);
    }
    0
}

/// Values between two looks at what to fetch: several lines.
const BLOCK: usize = 64;

/// Goes through values block by block; what comes later is fetched meanwhile.
#[inline(always)]
fn fold_ahead<T, A>(values: &[T], start: A, block: impl Fn(A, &[T]) -> A) -> A {
    values.chunks(BLOCK).fold(start, |sum, values| {
        prefetch_behind(values);
        block(sum, values)
    })
}

/// Numbers that are summed up.
trait Summed: Copy {
    /// What changes no sum.
    const ZERO: Self;
    /// Adds at most [`BATCH`] values to an accumulator.
    ///
    /// # Safety
    /// The accumulator is one of this worker's, for sums of this type.
    unsafe fn add_all(accumulator: *mut u8, values: &[Self], worker: &mut Worker) -> Result<()>;
}

/// Sums.
unsafe extern "C" fn sum<T: Summed>(
    worker: *mut Worker,
    accumulator: *mut u8,
    seen: *mut u8,
    values: *const u8,
    nulls: *const u8,
    positions: *const u32,
    count: u64,
) -> u32 {
    let mut buffer = Buffer::new();
    // SAFETY: as `FoldFn` says.
    unsafe {
        let worker = &mut *worker;
        let (values, present) = Rows::new(nulls, positions, count).values(values.cast::<T>(), T::ZERO, &mut buffer);
        see(seen, present);
        match guarded(|| T::add_all(accumulator, values, worker)) {
            Ok(()) => 0,
            Err(error) => worker.fail(error),
        }
    }
}

/// Notes that there were values.
///
/// # Safety
/// `seen` must be null or a byte of a row of this worker's.
unsafe fn see(seen: *mut u8, present: usize) {
    if present > 0 && !seen.is_null() {
        // SAFETY: as the caller promises.
        unsafe { seen.write(1) };
    }
}

/// Adds to a sum of 128 bits.
///
/// # Safety
/// The accumulator must be such a sum of this worker's.
unsafe fn add_to_total(accumulator: *mut u8, sum: i128) {
    let accumulator = accumulator.cast::<i128>();
    // SAFETY: as the caller promises.
    unsafe { accumulator.write_unaligned(accumulator.read_unaligned().wrapping_add(sum)) };
}

/// Sums of a batch in a type that it cannot overflow.
macro_rules! summed {
    ($($t:ty as $wide:ty),*) => { $(
        impl Summed for $t {
            const ZERO: Self = 0;
            unsafe fn add_all(accumulator: *mut u8, values: &[Self], _: &mut Worker) -> Result<()> {
                let sum = vectorised(|| {
                    fold_ahead(values, 0, |sum, values| sum + values.iter().map(|&x| <$wide>::from(x)).sum::<$wide>())
                });
                // SAFETY: as the caller promises.
                unsafe { add_to_total(accumulator, sum.into()) };
                Ok(())
            }
        }
    )* };
}
summed!(i16 as i32, i32 as i64);

impl Summed for i64 {
    const ZERO: Self = 0;
    unsafe fn add_all(accumulator: *mut u8, values: &[Self], _: &mut Worker) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { add_to_total(accumulator, vectorised(|| sum_by_halves(values))) };
        Ok(())
    }
}

/// The sum of at most 2^31 integers, as natural numbers: 2^63 is added to each, and taken away at the end.
#[inline(always)]
fn sum_by_halves(values: &[i64]) -> i128 {
    let (low, high) = fold_ahead(values, (0u64, 0u64), |(mut low, mut high), values| {
        for &x in values {
            let natural = x as u64 ^ 1 << 63;
            low += natural & 0xffff_ffff;
            high += natural >> 32;
        }
        (low, high)
    });
    (i128::from(high) << 32) + i128::from(low) - ((values.len() as i128) << 63)
}

impl Summed for i128 {
    const ZERO: Self = 0;
    unsafe fn add_all(accumulator: *mut u8, values: &[Self], _: &mut Worker) -> Result<()> {
        // SAFETY: as the caller promises: the sum, and behind it what was carried out of its 128 bits.
        unsafe {
            let (total, carries) = (accumulator.cast::<i128>(), accumulator.add(16).cast::<i64>());
            let (mut sum, mut carried) = (total.read_unaligned(), carries.read_unaligned());
            for &x in values {
                let (next, overflows) = sum.overflowing_add(x);
                sum = next;
                carried += if overflows { x.signum() as i64 } else { 0 };
            }
            total.write_unaligned(sum);
            carries.write_unaligned(carried);
        }
        Ok(())
    }
}

impl Summed for f64 {
    const ZERO: Self = 0.0;
    unsafe fn add_all(accumulator: *mut u8, values: &[Self], worker: &mut Worker) -> Result<()> {
        // SAFETY: as the caller promises; rows align doubles.
        unsafe { (*accumulator.cast::<ExactSum>()).add_all(worker, values) }
    }
}

impl Summed for f32 {
    const ZERO: Self = 0.0;
    unsafe fn add_all(accumulator: *mut u8, values: &[Self], worker: &mut Worker) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { add_as_doubles(accumulator, values, f64::from, worker) }
    }
}

/// Integers that are summed up as the doubles nearest to them.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct AsDouble<T>(T);

macro_rules! summed_as_double {
    ($($t:ty),*) => { $(
        impl Summed for AsDouble<$t> {
            const ZERO: Self = Self(0);
            unsafe fn add_all(accumulator: *mut u8, values: &[Self], worker: &mut Worker) -> Result<()> {
                // SAFETY: as the caller promises.
                unsafe { add_as_doubles(accumulator, values, |x| x.0 as f64, worker) }
            }
        }
    )* };
}
summed_as_double!(i16, i32, i64);

/// Adds at most [`BATCH`] values, made doubles.
///
/// # Safety
/// The accumulator must be an exact sum of this worker's.
unsafe fn add_as_doubles<T: Copy>(
    accumulator: *mut u8,
    values: &[T],
    double: impl Fn(T) -> f64,
    worker: &mut Worker,
) -> Result<()> {
    let mut buffer = Buffer::new();
    let doubles = vectorised(|| buffer.fill(values.iter().map(|&x| double(x))));
    // SAFETY: as the caller promises.
    unsafe { f64::add_all(accumulator, doubles, worker) }
}

/// Numbers whose variance is asked for.
trait Deviating: Copy {
    /// What changes no sum.
    const ZERO: Self;
    /// The values as doubles, if these are all of them exactly.
    fn doubles<'v>(values: &'v [Self], buffer: &'v mut Buffer<f64>) -> Option<&'v [f64]>;
    /// As an integer, if it is one.
    fn integer(self) -> i128;
}

/// Variances.
unsafe extern "C" fn variance<T: Deviating>(
    worker: *mut Worker,
    accumulator: *mut u8,
    _seen: *mut u8,
    values: *const u8,
    nulls: *const u8,
    positions: *const u32,
    count: u64,
) -> u32 {
    let (mut buffer, mut doubles) = (Buffer::new(), Buffer::new());
    // SAFETY: as `FoldFn` says.
    unsafe {
        let (worker, accumulator) = (&mut *worker, &mut *accumulator.cast::<ExactVariance>());
        let (values, present) = Rows::new(nulls, positions, count).values(values.cast::<T>(), T::ZERO, &mut buffer);
        let add = || match T::doubles(values, &mut doubles) {
            Some(doubles) => accumulator.add_all(worker, doubles, present),
            None => {
                values.iter().try_for_each(|x| accumulator.add_integer(worker, x.integer()))?;
                accumulator.forget(values.len() - present);
                Ok(())
            }
        };
        match guarded(add) {
            Ok(()) => 0,
            Err(error) => worker.fail(error),
        }
    }
}

impl Deviating for f64 {
    const ZERO: Self = 0.0;
    fn doubles<'v>(values: &'v [Self], _: &'v mut Buffer<f64>) -> Option<&'v [f64]> {
        Some(values)
    }
    fn integer(self) -> i128 {
        unreachable!("a double is one")
    }
}

impl Deviating for f32 {
    const ZERO: Self = 0.0;
    fn doubles<'v>(values: &'v [Self], buffer: &'v mut Buffer<f64>) -> Option<&'v [f64]> {
        Some(vectorised(|| buffer.fill(values.iter().map(|&x| x.into()))))
    }
    fn integer(self) -> i128 {
        unreachable!("a double has its value")
    }
}

macro_rules! deviating {
    ($($t:ty),*) => { $(
        impl Deviating for $t {
            const ZERO: Self = 0;
            fn doubles<'v>(values: &'v [Self], buffer: &'v mut Buffer<f64>) -> Option<&'v [f64]> {
                let fits = |x: &$t| i64::from(*x).unsigned_abs() <= EXACT_INTEGERS as u64;
                let fit = vectorised(|| values.iter().fold(true, |fit, x| fit & fits(x)));
                fit.then(|| vectorised(|| buffer.fill(values.iter().map(|&x| x as f64))))
            }
            fn integer(self) -> i128 {
                self.into()
            }
        }
    )* };
}
deviating!(i16, i32, i64);

/// Numbers in the order of `Compare::Before`, as integers. All NaNs are one.
trait Ordered: Copy {
    /// The integers.
    type Key: Copy + Ord;
    /// Values that no other comes before, or behind.
    const ENDS: [Self; 2];
    fn key(self) -> Self::Key;
    fn of_key(key: Self::Key) -> Self;
}

macro_rules! ordered_integers {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            type Key = $t;
            const ENDS: [Self; 2] = [<$t>::MIN, <$t>::MAX];
            #[inline(always)]
            fn key(self) -> $t {
                self
            }
            #[inline(always)]
            fn of_key(key: $t) -> $t {
                key
            }
        }
    )* };
}
ordered_integers!(i16, i32, i64, i128);

macro_rules! ordered_floats {
    ($t:ty, $bits:ty, $unsigned:ty) => {
        impl Ordered for $t {
            type Key = $bits;
            const ENDS: [Self; 2] = [<$t>::NEG_INFINITY, <$t>::NAN];
            /// The bits, those of negative numbers turned around.
            #[inline(always)]
            fn key(self) -> $bits {
                let bits = if self.is_nan() { <$t>::NAN.abs().to_bits() } else { self.to_bits() } as $bits;
                bits ^ (((bits >> (<$bits>::BITS - 1)) as $unsigned) >> 1) as $bits
            }
            #[inline(always)]
            fn of_key(key: $bits) -> $t {
                <$t>::from_bits((key ^ (((key >> (<$bits>::BITS - 1)) as $unsigned) >> 1) as $bits) as $unsigned)
            }
        }
    };
}
ordered_floats!(f32, i32, u32);
ordered_floats!(f64, i64, u64);

/// The first value in the order, or the last.
unsafe extern "C" fn least<T: Ordered, const LAST: bool>(
    _worker: *mut Worker,
    accumulator: *mut u8,
    seen: *mut u8,
    values: *const u8,
    nulls: *const u8,
    positions: *const u32,
    count: u64,
) -> u32 {
    let better = |a: T::Key, b: T::Key| if LAST { a.max(b) } else { a.min(b) };
    let neutral = T::ENDS[usize::from(!LAST)];
    let mut buffer = Buffer::new();
    // SAFETY: as `FoldFn` says.
    unsafe {
        let (values, present) = Rows::new(nulls, positions, count).values(values.cast::<T>(), neutral, &mut buffer);
        if present == 0 {
            return 0;
        }
        let accumulator = accumulator.cast::<T>();
        let first = if *seen == 0 { neutral } else { accumulator.read_unaligned() };
        let best = vectorised(|| {
            fold_ahead(values, first.key(), |best, values| values.iter().fold(best, |best, &x| better(best, x.key())))
        });
        accumulator.write_unaligned(T::of_key(best));
        see(seen, present);
    }
    0
}

#[cfg(test)]
mod tests;
