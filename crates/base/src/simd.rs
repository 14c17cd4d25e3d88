//! Plain loops compiled for the vectors that the processor has.

/// Sets of vector instructions, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What every processor of the target has.
    Baseline,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL and DQ.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The most that this processor has.
#[inline]
pub fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("popcnt") && has!("bmi1") && has!("bmi2") && has!("lzcnt") {
            if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq") {
                return Level::Avx512;
            }
            return Level::Avx2;
        }
    }
    Level::Baseline
}

/// Runs `f` compiled for the widest vectors of this processor: `f` and what it calls must be inlined (`inline(always)`)
/// to profit, and is correct if not.
#[inline]
pub fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        Level::Baseline => f(),
        // SAFETY: the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { with_avx2(f) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { with_avx512(f) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2")]
fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}
