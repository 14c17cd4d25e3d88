//! Plain loops compiled for the vectors that the processor has.

use std::sync::OnceLock;

/// Sets of vector instructions, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What every processor of the target has.
    Baseline,
    /// AVX2, with multiplications and additions that are rounded once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL and DQ.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The most that this processor has.
#[inline]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(found)
}

fn found() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") && has!("popcnt") && has!("bmi1") && has!("bmi2") && has!("lzcnt") {
            if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq") {
                return Level::Avx512;
            }
            return Level::Avx2;
        }
    }
    Level::Baseline
}

/// What is to be compiled for several processors. Unlike a closure, which the compiler may leave where it is, all of it is.
pub trait Work {
    /// What comes of it.
    type Output;
    /// Does it; to be marked `inline(always)`. `FUSED`: the processor multiplies and adds with one rounding.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Does work compiled for the widest vectors of this processor.
#[inline]
pub fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn of_avx2<W: Work>(work: W) -> W::Output {
            work.run::<true>()
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")]
        fn of_avx512<W: Work>(work: W) -> W::Output {
            work.run::<true>()
        }
        match level() {
            Level::Baseline => {}
            // SAFETY: the processor has the instructions.
            Level::Avx2 => return unsafe { of_avx2(work) },
            // SAFETY: as above.
            Level::Avx512 => return unsafe { of_avx512(work) },
        }
    }
    work.run::<false>()
}

/// Runs `f` compiled for the widest vectors of this processor: `f` and what it calls must be inlined (`inline(always)`)
/// to profit, and is correct if not.
#[inline]
pub fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    struct Call<F>(F);
    impl<R, F: FnOnce() -> R> Work for Call<F> {
        type Output = R;
        #[inline(always)]
        fn run<const FUSED: bool>(self) -> R {
            self.0()
        }
    }
    widest(Call(f))
}

/// Does work on a single value.
#[inline]
pub fn fused<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "fma")]
        fn of_fma<W: Work>(work: W) -> W::Output {
            work.run::<true>()
        }
        if std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { of_fma(work) };
        }
    }
    work.run::<false>()
}
