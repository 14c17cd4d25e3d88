//! Which tuples of a batch have a chain that may hold their words, by whatever vectors the processor has.

use std::sync::OnceLock;

use types::ops::hash::hash_u64;

use super::super::ProbeScratch;
use super::super::layout::{Places, last_begun};
use super::super::tags::{ADDRESS, admits};
use base::prefetch::prefetch;

/// The kernels of an instruction set: each selects the tuples into `chains` and `pending` and returns how many there are.
#[derive(Clone, Copy)]
struct Kernels {
    /// Turns the batch's keys into hashes.
    hash: unsafe fn(&mut [u64]),
    /// Tests tags: (directory, shift).
    hashed: unsafe fn(*const u64, u64, &mut ProbeScratch) -> usize,
    /// Loads slots: (directory, least key, slots of keys).
    array: unsafe fn(*const u64, u64, u64, &mut ProbeScratch) -> usize,
    /// Finds payloads: by the bits of keys.
    payloads: unsafe fn(*const u64, Payloads, &mut ProbeScratch) -> usize,
}

/// As [`Places::Payloads`].
#[derive(Clone, Copy)]
struct Payloads {
    least: u64,
    keys: u64,
    first: u64,
    size: u64,
    is_full: bool,
}

/// Selects the tuples of the batch, at most [`BATCH`](super::BATCH), whose chains may hold their words, which from then on
/// are those of rows.
///
/// # Safety
/// The directory has the slots that `places` says.
pub(super) unsafe fn select(directory: *const u64, places: Places, scratch: &mut ProbeScratch) -> usize {
    let kernels = best();
    let count = scratch.count as usize;
    // SAFETY: the processor has the instructions, and the directory the slots.
    unsafe {
        match places {
            Places::Sorted { rows, .. } => sorted(directory, rows, scratch),
            Places::Array { least, slots } => (kernels.array)(directory, least as u64, slots, scratch),
            Places::Payloads { least, keys, first, size, is_full } => {
                let of = Payloads { least: least as u64, keys, first: first as u64, size: size as u64, is_full };
                (kernels.payloads)(directory, of, scratch)
            }
            Places::Hashed { shift, keys } => {
                if keys {
                    (kernels.hash)(&mut scratch.hashes[..count]);
                }
                for &hash in &scratch.hashes[..count] {
                    prefetch(directory.add((hash >> shift) as usize));
                }
                (kernels.hashed)(directory, shift, scratch)
            }
        }
    }
}

/// What this processor has.
fn best() -> Kernels {
    static BEST: OnceLock<Kernels> = OnceLock::new();
    *BEST.get_or_init(|| all().pop().expect("the portable ones"))
}

/// What this processor can run, the best last.
fn all() -> Vec<Kernels> {
    let portable =
        Kernels { hash: hash_portable, hashed: hashed_portable, array: array_portable, payloads: payloads_portable };
    let mut all = vec![portable];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt") {
            all.push(Kernels { hashed: avx2::hashed, ..all[0] });
        }
        if has!("avx512f") && has!("avx512vl") && has!("avx512dq") {
            let (hash, hashed, array, payloads) = (avx512::hash, avx512::hashed, avx512::array, avx512::payloads);
            all.push(Kernels { hash, hashed, array, payloads });
        }
    }
    all
}

#[inline(always)]
fn hash_portable(words: &mut [u64]) {
    words.iter_mut().for_each(|word| *word = hash_u64(*word));
}

/// # Safety
/// As [`select`].
unsafe fn sorted(directory: *const u64, rows: u64, scratch: &mut ProbeScratch) -> usize {
    let mut selected = 0;
    for tuple in 0..scratch.count as usize {
        // SAFETY: as the caller promises.
        let row = unsafe { last_begun(directory, rows, scratch.hashes[tuple] as i64) };
        scratch.chains[selected] = row;
        scratch.pending[selected] = tuple as u32;
        selected += usize::from(!row.is_null());
    }
    selected
}

/// # Safety
/// As [`select`].
unsafe fn hashed_portable(directory: *const u64, shift: u64, scratch: &mut ProbeScratch) -> usize {
    // SAFETY: as the caller promises.
    unsafe { hashed_from(directory, shift, scratch, 0, 0) }
}

/// # Safety
/// As [`select`].
unsafe fn array_portable(directory: *const u64, least: u64, slots: u64, scratch: &mut ProbeScratch) -> usize {
    // SAFETY: as the caller promises.
    unsafe { array_from(directory, least, slots, scratch, 0, 0) }
}

/// # Safety
/// As [`select`].
unsafe fn payloads_portable(bits: *const u64, of: Payloads, scratch: &mut ProbeScratch) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        match of.is_full {
            true => payloads_from::<true>(bits, of, scratch, 0, 0),
            false => payloads_from::<false>(bits, of, scratch, 0, 0),
        }
    }
}

/// The tag test from tuple `from` on, when `selected` are selected already.
///
/// # Safety
/// As [`select`].
#[inline(always)]
unsafe fn hashed_from(
    directory: *const u64,
    shift: u64,
    scratch: &mut ProbeScratch,
    from: usize,
    selected: usize,
) -> usize {
    let mut selected = selected;
    for tuple in from..scratch.count as usize {
        let hash = scratch.hashes[tuple];
        // SAFETY: the directory has slots for every hash.
        let slot = unsafe { *directory.add((hash >> shift) as usize) };
        scratch.chains[selected] = (slot & ADDRESS) as *mut u8;
        scratch.pending[selected] = tuple as u32;
        selected += usize::from(admits(slot, hash));
    }
    selected
}

/// The slots from tuple `from` on, when `selected` are selected already.
///
/// # Safety
/// As [`select`].
#[inline(always)]
unsafe fn array_from(
    directory: *const u64,
    least: u64,
    slots: u64,
    scratch: &mut ProbeScratch,
    from: usize,
    selected: usize,
) -> usize {
    let mut selected = selected;
    for tuple in from..scratch.count as usize {
        let slot = Places::of_key(scratch.hashes[tuple], least as i64, slots);
        // SAFETY: there are `slots + 1`.
        let row = unsafe { *directory.add(slot) } as *mut u8;
        scratch.chains[selected] = row;
        scratch.pending[selected] = tuple as u32;
        selected += usize::from(!row.is_null());
    }
    selected
}

/// The payloads from tuple `from` on, when `selected` are selected already.
///
/// # Safety
/// As [`select`].
#[inline(always)]
unsafe fn payloads_from<const FULL: bool>(
    bits: *const u64,
    of: Payloads,
    scratch: &mut ProbeScratch,
    from: usize,
    selected: usize,
) -> usize {
    let mut selected = selected;
    for tuple in from..scratch.count as usize {
        let number = scratch.hashes[tuple].wrapping_sub(of.least);
        // Past the last bit there may be no word.
        let inside = number.min(of.keys - 1);
        // SAFETY: there is a bit for each key.
        let is_there = FULL || unsafe { *bits.add(inside as usize / 64) } >> (inside % 64) & 1 == 1;
        scratch.chains[selected] = (of.first + inside * of.size) as *mut u8;
        scratch.pending[selected] = tuple as u32;
        selected += usize::from(is_there & (inside == number));
    }
    selected
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use std::arch::x86_64::*;

    /// For each set of four lanes of 64 bits, the 32-bit lanes of its members, in order.
    static MEMBERS: [[u32; 8]; 16] = {
        let mut members = [[0; 8]; 16];
        let mut set = 0;
        while set < 16 {
            let (mut lane, mut k) = (0, 0);
            while lane < 4 {
                if set >> lane & 1 == 1 {
                    members[set][k] = 2 * lane;
                    members[set][k + 1] = 2 * lane + 1;
                    k += 2;
                }
                lane += 1;
            }
            set += 1;
        }
        members
    };

    /// The tag test, four tuples at a time.
    ///
    /// # Safety
    /// As [`super::select`], on a processor with AVX2.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn hashed(directory: *const u64, shift: u64, scratch: &mut ProbeScratch) -> usize {
        let count = scratch.count as usize;
        let by = _mm_cvtsi64_si128(shift as i64);
        let (low, one) = (_mm256_set1_epi64x(15), _mm256_set1_epi64x(1 << 48));
        let address = _mm256_set1_epi64x(ADDRESS as i64);
        let mut numbers = _mm256_setr_epi32(0, 0, 1, 0, 2, 0, 3, 0);
        let (mut tuple, mut selected) = (0, 0);
        while tuple + 4 <= count {
            // SAFETY: `tuple + 4 <= count <= BATCH` and `selected <= tuple`, so that whole vectors may be loaded and stored;
            // the directory has slots for every hash; `admitted` has four bits.
            unsafe {
                let hash = _mm256_loadu_si256(scratch.hashes.as_ptr().add(tuple).cast());
                let slot = _mm256_i64gather_epi64::<8>(directory.cast(), _mm256_srl_epi64(hash, by));
                let bit = |h| _mm256_sllv_epi64(one, _mm256_and_si256(h, low));
                let some = _mm256_or_si256(bit(hash), bit(_mm256_srli_epi64::<4>(hash)));
                let more = _mm256_or_si256(bit(_mm256_srli_epi64::<8>(hash)), bit(_mm256_srli_epi64::<12>(hash)));
                let missing = _mm256_andnot_si256(slot, _mm256_or_si256(some, more));
                let none_missing = _mm256_cmpeq_epi64(missing, _mm256_setzero_si256());
                let admitted = _mm256_movemask_pd(_mm256_castsi256_pd(none_missing)) as usize;
                let members = _mm256_loadu_si256(MEMBERS[admitted].as_ptr().cast());
                let chains = _mm256_permutevar8x32_epi32(_mm256_and_si256(slot, address), members);
                _mm256_storeu_si256(scratch.chains.as_mut_ptr().add(selected).cast(), chains);
                let kept = _mm256_permutevar8x32_epi32(numbers, members);
                let even = _mm256_permutevar8x32_epi32(kept, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
                _mm_storeu_si128(scratch.pending.as_mut_ptr().add(selected).cast(), _mm256_castsi256_si128(even));
                selected += admitted.count_ones() as usize;
            }
            numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(4));
            tuple += 4;
        }
        // SAFETY: as the caller promises.
        unsafe { hashed_from(directory, shift, scratch, tuple, selected) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use std::arch::x86_64::*;

    /// # Safety
    /// On a processor with AVX-512 F, VL and DQ.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) unsafe fn hash(words: &mut [u64]) {
        hash_portable(words);
    }

    /// Eight tuples, whose numbers these are, of which those in `chosen` are selected.
    ///
    /// # Safety
    /// `selected + 8 <= BATCH`; on a processor with AVX-512 F and VL.
    #[target_feature(enable = "avx512f,avx512vl")]
    #[inline]
    unsafe fn append(
        scratch: &mut ProbeScratch,
        selected: usize,
        chosen: u8,
        rows: __m512i,
        numbers: __m256i,
    ) -> usize {
        // SAFETY: there is room for whole vectors.
        unsafe {
            let chains = _mm512_maskz_compress_epi64(chosen, rows);
            _mm512_storeu_si512(scratch.chains.as_mut_ptr().add(selected).cast(), chains);
            let kept = _mm256_maskz_compress_epi32(chosen, numbers);
            _mm256_storeu_si256(scratch.pending.as_mut_ptr().add(selected).cast(), kept);
        }
        selected + chosen.count_ones() as usize
    }

    /// The tag test, eight tuples at a time.
    ///
    /// # Safety
    /// As [`super::select`], on a processor with AVX-512 F and VL.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) unsafe fn hashed(directory: *const u64, shift: u64, scratch: &mut ProbeScratch) -> usize {
        let count = scratch.count as usize;
        let by = _mm_cvtsi64_si128(shift as i64);
        let (low, one) = (_mm512_set1_epi64(15), _mm512_set1_epi64(1 << 48));
        let address = _mm512_set1_epi64(ADDRESS as i64);
        let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let (mut tuple, mut selected) = (0, 0);
        while tuple + 8 <= count {
            // SAFETY: `tuple + 8 <= count <= BATCH` and `selected <= tuple`, so that whole vectors may be loaded and
            // stored; the directory has slots for every hash.
            unsafe {
                let hash = _mm512_loadu_si512(scratch.hashes.as_ptr().add(tuple).cast());
                let slot = _mm512_i64gather_epi64::<8>(_mm512_srl_epi64(hash, by), directory.cast());
                let bit = |h| _mm512_sllv_epi64(one, _mm512_and_si512(h, low));
                let some = _mm512_or_si512(bit(hash), bit(_mm512_srli_epi64::<4>(hash)));
                let more = _mm512_or_si512(bit(_mm512_srli_epi64::<8>(hash)), bit(_mm512_srli_epi64::<12>(hash)));
                let missing = _mm512_andnot_si512(slot, _mm512_or_si512(some, more));
                let admitted = _mm512_testn_epi64_mask(missing, missing);
                selected = append(scratch, selected, admitted, _mm512_and_si512(slot, address), numbers);
            }
            numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
            tuple += 8;
        }
        // SAFETY: as the caller promises.
        unsafe { hashed_from(directory, shift, scratch, tuple, selected) }
    }

    /// The slots of an array, eight tuples at a time.
    ///
    /// # Safety
    /// As [`super::select`], on a processor with AVX-512 F and VL.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) unsafe fn array(directory: *const u64, least: u64, slots: u64, scratch: &mut ProbeScratch) -> usize {
        let count = scratch.count as usize;
        let (first, all) = (_mm512_set1_epi64(least as i64), _mm512_set1_epi64(slots as i64));
        let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let (mut tuple, mut selected) = (0, 0);
        while tuple + 8 <= count {
            // SAFETY: as in `hashed`; what is gathered are slots of keys.
            unsafe {
                let key = _mm512_loadu_si512(scratch.hashes.as_ptr().add(tuple).cast());
                let slot = _mm512_sub_epi64(key, first);
                let inside = _mm512_cmplt_epu64_mask(slot, all);
                let row = _mm512_mask_i64gather_epi64::<8>(_mm512_setzero_si512(), inside, slot, directory.cast());
                selected = append(scratch, selected, _mm512_test_epi64_mask(row, row), row, numbers);
            }
            numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
            tuple += 8;
        }
        // SAFETY: as the caller promises.
        unsafe { array_from(directory, least, slots, scratch, tuple, selected) }
    }

    /// Payloads, eight tuples at a time.
    ///
    /// # Safety
    /// As [`super::select`], on a processor with AVX-512 F, VL and DQ.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) unsafe fn payloads(bits: *const u64, of: Payloads, scratch: &mut ProbeScratch) -> usize {
        // SAFETY: as the caller promises.
        unsafe {
            match of.is_full {
                true => payloads_of::<true>(bits, of, scratch),
                false => payloads_of::<false>(bits, of, scratch),
            }
        }
    }

    /// # Safety
    /// As [`payloads`].
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    #[inline]
    unsafe fn payloads_of<const FULL: bool>(bits: *const u64, of: Payloads, scratch: &mut ProbeScratch) -> usize {
        let count = scratch.count as usize;
        let (least, keys) = (_mm512_set1_epi64(of.least as i64), _mm512_set1_epi64(of.keys as i64));
        let (first, size) = (_mm512_set1_epi64(of.first as i64), _mm512_set1_epi64(of.size as i64));
        let (low, one) = (_mm512_set1_epi64(63), _mm512_set1_epi64(1));
        let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let (mut tuple, mut selected) = (0, 0);
        while tuple + 8 <= count {
            // SAFETY: as in `hashed`; what is gathered are words with bits of keys.
            unsafe {
                let key = _mm512_loadu_si512(scratch.hashes.as_ptr().add(tuple).cast());
                let number = _mm512_sub_epi64(key, least);
                let mut chosen = _mm512_cmplt_epu64_mask(number, keys);
                if !FULL {
                    let place = _mm512_srli_epi64::<6>(number);
                    let word = _mm512_mask_i64gather_epi64::<8>(_mm512_setzero_si512(), chosen, place, bits.cast());
                    let bit = _mm512_sllv_epi64(one, _mm512_and_si512(number, low));
                    chosen = _mm512_mask_test_epi64_mask(chosen, word, bit);
                }
                let row = _mm512_add_epi64(first, _mm512_mullo_epi64(number, size));
                selected = append(scratch, selected, chosen, row, numbers);
            }
            numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
            tuple += 8;
        }
        // SAFETY: as the caller promises.
        unsafe { payloads_from::<FULL>(bits, of, scratch, tuple, selected) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tags::tag;
    use super::*;
    use base::Random;

    #[test]
    fn every_instruction_set_selects_the_same() {
        let mut random = Random(3);
        for count in [0, 1, 3, 4, 7, 8, 9, 100, super::super::BATCH] {
            let keys: Vec<u64> = (0..count).map(|_| random.below(40).wrapping_sub(10)).collect();
            let hashes: Vec<u64> = keys.iter().map(|&key| hash_u64(key)).collect();
            let mut hashed = vec![0; 64];
            for &hash in hashes.iter().filter(|_| random.below(3) == 0) {
                hashed[(hash >> 58) as usize] |= tag(hash) | 16;
            }
            let array: Vec<u64> = (0..=20).map(|slot| if slot < 20 { random.below(2) * 16 } else { 0 }).collect();
            let bits = [random.below(1 << 20)];
            let run = |select: &dyn Fn(&mut ProbeScratch) -> usize, words: &[u64]| {
                // SAFETY: integers and pointers, for which zero is a value.
                let mut scratch: Box<ProbeScratch> = unsafe { Box::new_zeroed().assume_init() };
                scratch.count = count as u64;
                scratch.hashes[..count].copy_from_slice(words);
                let n = select(&mut scratch);
                (scratch.pending[..n].to_vec(), scratch.chains[..n].to_vec())
            };
            let outcomes = all().into_iter().map(|k| {
                let mut own = keys.clone();
                // SAFETY: the processor has the instructions; 64 slots for hashes, and 20 and one for keys from -5 on.
                unsafe {
                    (k.hash)(&mut own);
                    let by_hash = run(&|s| (k.hashed)(hashed.as_ptr(), 58, s), &own);
                    let by_slot = run(&|s| (k.array)(array.as_ptr(), -5i64 as u64, 20, s), &keys);
                    let [all, some] = [true, false].map(|is_full| {
                        let of = Payloads { least: -5i64 as u64, keys: 20, first: 1000, size: 12, is_full };
                        run(&|s| (k.payloads)(bits.as_ptr(), of, s), &keys)
                    });
                    (own, by_hash, by_slot, all, some)
                }
            });
            let outcomes: Vec<_> = outcomes.collect();
            assert_eq!(outcomes[0].0, hashes);
            let inside = keys.iter().map(|&key| key.wrapping_add(5)).filter(|&number| number < 20);
            let some = inside.clone().filter(|&number| bits[0] >> number & 1 == 1);
            let at = |number: u64| (1000 + 12 * number) as *mut u8;
            assert!(outcomes[0].3.1.iter().copied().eq(inside.map(at)));
            assert!(outcomes[0].4.1.iter().copied().eq(some.map(at)));
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
        }
    }
}
