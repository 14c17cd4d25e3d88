//! Bit masks over a batch: 64 rows a word, by whatever vectors the processor has.
//!
//! The kernels are plain loops over 64 rows, inlined into one function per instruction set, where the compiler turns
//! them into vector code; only packing 64 flags into a word and unpacking positions are written by hand.

mod text;

use base::prefetch::{AHEAD, prefetch, prefetch_behind};
use base::simd::Level;
use types::{Physical, Str};

use super::MAX_BATCH;
use super::lane::{Cells, Lane, with_cells};
use super::predicate::{ScanPredicate, Test};
use crate::ColumnRef;

const WORDS: usize = MAX_BATCH / 64;

/// One bit a row of a batch. Bits past the batch are 0.
pub(super) struct Bits([u64; WORDS]);

/// The first `n` bits of a word.
#[inline(always)]
fn low_bits(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

impl Bits {
    /// All of `rows` rows.
    pub(super) fn all(rows: usize) -> Self {
        let mut words = [0; WORDS];
        for (w, word) in words.iter_mut().enumerate().take(rows.div_ceil(64)) {
            *word = low_bits(rows - w * 64);
        }
        Self(words)
    }

    /// The numbers of the rows in the mask, in order. Returns how many.
    pub(super) fn positions(&self, level: Level, rows: usize, out: &mut [u32]) -> usize {
        let words = &self.0[..rows.div_ceil(64)];
        // The vector variants store whole vectors: always within the first 64 * words entries, since the position
        // written to never overtakes the row read.
        let level = if out.len() >= words.len() * 64 { level } else { Level::Baseline };
        match level {
            Level::Baseline => {}
            // SAFETY: the processor has the instructions, and `out` has room for 64 entries a word.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => return unsafe { x86::positions_avx512(words, out.as_mut_ptr()) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => return unsafe { x86::positions_avx2(words, out.as_mut_ptr()) },
        }
        let mut count = 0;
        for (w, &word) in words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                out[count] = (w * 64) as u32 + word.trailing_zeros();
                count += 1;
                word &= word - 1;
            }
        }
        count
    }
}

/// Keeps the rows for which the (dense) predicate holds. Returns how many are left.
///
/// # Safety
/// The column has `begin + rows` rows of the predicate's physical type and is alive; the processor has what `level`
/// says.
pub(super) unsafe fn and(
    level: Level,
    bits: &mut Bits,
    predicate: &ScanPredicate,
    column: ColumnRef,
    begin: usize,
    rows: usize,
) -> usize {
    let words = &mut bits.0[..rows.div_ceil(64)];
    match level {
        // SAFETY: the caller vouches for the column.
        Level::Baseline => unsafe { and_words(words, predicate, column, begin, rows, pack_portable) },
        // SAFETY: as above; the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::and_avx2(words, predicate, column, begin, rows) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::and_avx512(words, predicate, column, begin, rows) },
    }
}

/// 64 flags of 0 or 1, eight at a time: the product moves bit 8i to bit 56 + i.
#[inline(always)]
fn pack_portable(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        word |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (i * 8);
    }
    word
}

/// # Safety
/// As [`and`].
#[inline(always)]
unsafe fn and_words(
    words: &mut [u64],
    predicate: &ScanPredicate,
    column: ColumnRef,
    begin: usize,
    rows: usize,
    pack: impl Fn(&[u8; 64]) -> u64 + Copy,
) -> usize {
    // SAFETY (all blocks here): the caller vouches for `begin + rows` values of the predicate's type.
    match &predicate.test {
        Test::Never => words.fill(0),
        Test::Null(true) if column.nulls.is_null() => words.fill(0),
        Test::Null(is_null) if !column.nulls.is_null() => {
            let want = u8::from(*is_null);
            // SAFETY: as above, for the flags.
            unsafe { each_word(words, column.nulls.add(begin), rows, pack, |&n| (n != 0) as u8 == want) };
        }
        Test::Null(_) => {}
        Test::Range { low, high, negate } => with_cells!(predicate.cells, T => {
            let (low, high) = (T::narrow(*low), T::narrow(*high));
            // SAFETY: as above.
            unsafe {
                let data = column.data.cast::<T>().add(begin);
                if *negate {
                    each_word(words, data, rows, pack, |v: &T| !((v.key() >= low) & (v.key() <= high)));
                } else {
                    each_word(words, data, rows, pack, |v: &T| (v.key() >= low) & (v.key() <= high));
                }
            }
        }, unreachable!("strings have no keys")),
        Test::Few(keys) => with_cells!(predicate.cells, T => {
            let mut constants = [T::narrow(keys[0]); 6];
            for (c, &k) in constants.iter_mut().zip(keys) {
                *c = T::narrow(k);
            }
            let [a, b, c, d, e, f] = constants;
            // SAFETY: as above.
            unsafe {
                let data = column.data.cast::<T>().add(begin);
                if keys.len() <= 2 {
                    each_word(words, data, rows, pack, |v: &T| (v.key() == a) | (v.key() == b));
                } else {
                    each_word(words, data, rows, pack, |v: &T| {
                        let k = v.key();
                        (k == a) | (k == b) | (k == c) | (k == d) | (k == e) | (k == f)
                    });
                }
            }
        }, unreachable!("strings have no keys")),
        // SAFETY: as above.
        Test::Text(test) => unsafe { text::and_words(words, test, column.data.cast::<Str>().add(begin), rows, pack) },
        Test::Bitmap { .. } | Test::Sorted { .. } => unreachable!("not evaluated by masks"),
    }
    if !column.nulls.is_null() && !matches!(predicate.test, Test::Null(_) | Test::Never) {
        // SAFETY: as above, for the flags.
        unsafe { each_word(words, column.nulls.add(begin), rows, pack, |&n| n == 0) };
    }
    words.iter().map(|w| w.count_ones() as usize).sum()
}

/// ANDs to each word the outcome of `test` for its 64 rows.
///
/// # Safety
/// `rows` values from `data` on are readable.
#[inline(always)]
unsafe fn each_word<T>(
    words: &mut [u64],
    data: *const T,
    rows: usize,
    pack: impl Fn(&[u8; 64]) -> u64,
    test: impl Fn(&T) -> bool,
) {
    for (w, word) in words.iter_mut().enumerate() {
        let mut flags = [0u8; 64];
        if w * 64 + 64 <= rows {
            // SAFETY: 64 rows from here are within the batch.
            let values = unsafe { &*data.add(w * 64).cast::<[T; 64]>() };
            prefetch_behind(values);
            for (flag, value) in flags.iter_mut().zip(values) {
                *flag = test(value) as u8;
            }
        } else {
            // SAFETY: the rest of the batch.
            let values = unsafe { std::slice::from_raw_parts(data.add(w * 64), rows - w * 64) };
            for (flag, value) in flags.iter_mut().zip(values) {
                *flag = test(value) as u8;
            }
        }
        *word &= pack(&flags);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;

    /// For each byte, the numbers of its set bits.
    static SET_BITS: [u64; 256] = {
        let mut table = [0u64; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut bit, mut k) = (0, 0);
            while bit < 8 {
                if byte >> bit & 1 == 1 {
                    table[byte] |= bit << (8 * k);
                    k += 1;
                }
                bit += 1;
            }
            byte += 1;
        }
        table
    };

    /// # Safety
    /// As [`super::and`], on a processor with these instructions.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
    pub(super) unsafe fn and_avx2(
        words: &mut [u64],
        predicate: &ScanPredicate,
        column: ColumnRef,
        begin: usize,
        rows: usize,
    ) -> usize {
        let pack = |flags: &[u8; 64]| {
            // SAFETY: 64 bytes are readable; a flag of 1 shifts into the sign of its byte.
            unsafe {
                let half = |at: usize| {
                    let bytes = _mm256_loadu_si256(flags.as_ptr().add(at).cast());
                    u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32)
                };
                half(0) | half(32) << 32
            }
        };
        // SAFETY: the caller vouches for the column.
        unsafe { and_words(words, predicate, column, begin, rows, pack) }
    }

    /// # Safety
    /// As [`super::and`], on a processor with these instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,popcnt,bmi1,bmi2,lzcnt")]
    pub(super) unsafe fn and_avx512(
        words: &mut [u64],
        predicate: &ScanPredicate,
        column: ColumnRef,
        begin: usize,
        rows: usize,
    ) -> usize {
        if let Test::Range { low, high, negate } = predicate.test
            && column.nulls.is_null()
            && !matches!(
                predicate.cells,
                Cells::Of(Physical::I16 | Physical::I128 | Physical::F32 | Physical::F64 | Physical::Interval)
            )
        {
            // SAFETY: the caller vouches for the column.
            return unsafe { range_avx512(words, predicate.cells, column.data, begin, rows, (low, high), negate) };
        }
        // SAFETY: 64 bytes are readable.
        let pack = |flags: &[u8; 64]| unsafe {
            _mm512_test_epi8_mask(_mm512_loadu_si512(flags.as_ptr().cast()), _mm512_set1_epi8(1))
        };
        // SAFETY: the caller vouches for the column.
        unsafe { and_words(words, predicate, column, begin, rows, pack) }
    }

    /// A range of integers, or of codes of 1, 2 or 4 bytes: comparisons write mask registers, which need no packing.
    ///
    /// # Safety
    /// As [`super::and`], on a processor with these instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt")]
    unsafe fn range_avx512(
        words: &mut [u64],
        cells: Cells,
        data: *const u8,
        begin: usize,
        rows: usize,
        (low, high): (i128, i128),
        negate: bool,
    ) -> usize {
        assert!(low <= high, "the distance from one to the other is compared with");
        let flip = if negate { u64::MAX } else { 0 };
        let width = with_cells!(cells, T => size_of::<T>(), 16);
        let mut left = 0;
        for (w, word) in words.iter_mut().enumerate() {
            let live = low_bits(rows - w * 64);
            let mut found = 0u64;
            let next = data.wrapping_add((begin + w * 64) * width + AHEAD);
            for line in 0..width {
                prefetch(next.wrapping_add(64 * line));
            }
            // SAFETY: masked loads touch no row past the batch.
            unsafe {
                // Codes: the distance from the lower bound, which wraps for those below it.
                if cells == Cells::Of(Physical::Bool) {
                    let v = _mm512_maskz_loadu_epi8(live, data.cast::<i8>().wrapping_add(begin + w * 64));
                    let (low, span) = (_mm512_set1_epi8(low as i8), _mm512_set1_epi8((high - low) as i8));
                    found = _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, low), span);
                } else if cells == Cells::U16 {
                    let (low, span) = (_mm512_set1_epi16(low as i16), _mm512_set1_epi16((high - low) as i16));
                    let data = data.cast::<i16>().wrapping_add(begin + w * 64);
                    for k in 0..2 {
                        let v = _mm512_maskz_loadu_epi16((live >> (32 * k)) as u32, data.wrapping_add(32 * k));
                        let m = _mm512_cmple_epu16_mask(_mm512_sub_epi16(v, low), span);
                        found |= u64::from(m) << (32 * k);
                    }
                } else if cells == Cells::U32 {
                    let (low, span) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32((high - low) as i32));
                    let data = data.cast::<i32>().wrapping_add(begin + w * 64);
                    for k in 0..4 {
                        let v = _mm512_maskz_loadu_epi32((live >> (16 * k)) as u16, data.wrapping_add(16 * k));
                        let m = _mm512_cmple_epu32_mask(_mm512_sub_epi32(v, low), span);
                        found |= u64::from(m) << (16 * k);
                    }
                } else if cells == Cells::Of(Physical::I32) {
                    let (low, high) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32(high as i32));
                    let data = data.cast::<i32>().add(begin + w * 64);
                    for k in 0..4 {
                        let v = _mm512_maskz_loadu_epi32((live >> (16 * k)) as u16, data.wrapping_add(16 * k));
                        let m = _mm512_mask_cmple_epi32_mask(_mm512_cmpge_epi32_mask(v, low), v, high);
                        found |= u64::from(m) << (16 * k);
                    }
                } else {
                    let (low, high) = (_mm512_set1_epi64(low as i64), _mm512_set1_epi64(high as i64));
                    let data = data.cast::<i64>().add(begin + w * 64);
                    for k in 0..8 {
                        let v = _mm512_maskz_loadu_epi64((live >> (8 * k)) as u8, data.wrapping_add(8 * k));
                        let m = _mm512_mask_cmple_epi64_mask(_mm512_cmpge_epi64_mask(v, low), v, high);
                        found |= u64::from(m) << (8 * k);
                    }
                }
            }
            *word &= found ^ flip;
            left += word.count_ones() as usize;
        }
        left
    }

    /// # Safety
    /// `out` has room for 64 entries a word; the processor has the instructions.
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) unsafe fn positions_avx512(words: &[u64], out: *mut u32) -> usize {
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let mut count = 0;
        for (w, &word) in words.iter().enumerate() {
            if word == 0 {
                continue;
            }
            for k in 0..4 {
                let mask = (word >> (16 * k)) as u16;
                let rows = _mm512_add_epi32(lanes, _mm512_set1_epi32((w * 64 + 16 * k) as i32));
                // SAFETY: at most as many rows were written as lie before this vector, so it ends within its word.
                unsafe { _mm512_storeu_si512(out.add(count).cast(), _mm512_maskz_compress_epi32(mask, rows)) };
                count += mask.count_ones() as usize;
            }
        }
        count
    }

    /// # Safety
    /// `out` has room for 64 entries a word; the processor has the instructions.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) unsafe fn positions_avx2(words: &[u64], out: *mut u32) -> usize {
        let mut count = 0;
        for (w, &word) in words.iter().enumerate() {
            if word == 0 {
                continue;
            }
            for k in 0..8 {
                let byte = (word >> (8 * k)) as u8;
                let set = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(SET_BITS[byte as usize] as i64));
                let rows = _mm256_add_epi32(set, _mm256_set1_epi32((w * 64 + 8 * k) as i32));
                // SAFETY: as for AVX-512.
                unsafe { _mm256_storeu_si256(out.add(count).cast(), rows) };
                count += byte.count_ones() as usize;
            }
        }
        count
    }
}
