//! How large a morsel is to be: from how long rows take, how long it should run, and how much is left (record 70).

use std::time::Duration;

/// Rows of a unit, of which morsels are made: what generated code takes at once.
const UNIT_ROWS: u64 = 1024;
/// A morsel has at most so many times the usual rows: who has found rows cheap may meet dear ones.
const MOST: u32 = 8;
/// Of what is left, a morsel has at most so small a part of what an equal part for each worker would be: one may be much slower than
/// the others, as something else is busy on its core.
const PART: u64 = 4;
/// A morsel is to take so many sixteenths of a slice: one that takes a whole one would stop just before its end.
const AIM: f64 = 12.0;

/// What a worker wants of its next morsel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Rows that take as long as a morsel should; 0 if nobody knows.
    pub rows: u64,
    /// Fewer rows are not worth a morsel.
    pub least: u64,
    /// Workers that there may be.
    pub workers: u32,
}

impl Wanted {
    /// What is usual.
    pub const USUAL: Self = Self { rows: 0, least: 0, workers: 1 };
}

/// How long a row takes, in nanoseconds; 0 if nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace(f64);

impl Pace {
    /// A run of so many rows has taken so long. The last runs count most.
    pub(crate) fn ran(&mut self, rows: u64, time: Duration) {
        if rows > 0 {
            let now = (time.as_nanos() as f64 / rows as f64).max(f64::MIN_POSITIVE);
            self.0 = if self.is_known() { (self.0 + now) / 2.0 } else { now };
        }
    }

    pub(crate) fn is_known(self) -> bool {
        self.0 > 0.0
    }

    /// As a word that others read.
    pub(crate) fn to_bits(self) -> u64 {
        self.0.to_bits()
    }
    pub(crate) fn of_bits(bits: u64) -> Self {
        Self(f64::from_bits(bits))
    }

    /// What a worker at this pace wants, where a morsel may run for a slice.
    pub(crate) fn wanted(self, slice: Duration, workers: usize) -> Wanted {
        if !self.is_known() || slice.is_zero() {
            return Wanted::USUAL;
        }
        // A cast keeps to the bounds of its type.
        let least = slice.as_nanos() as f64 / 16.0 / self.0;
        Wanted { rows: ((least * AIM) as u64).max(1), least: least as u64, workers: workers as u32 }
    }
}

/// Sizes of a phase's morsels, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Rows of a unit.
    pub(crate) unit: u64,
    /// Units of a usual morsel.
    pub(crate) usual: u32,
    /// Units of the largest.
    pub(crate) most: u32,
}

impl Sizes {
    /// Each has so many rows, and is a unit.
    pub(crate) fn fixed(rows: u64) -> Self {
        Self { unit: rows.max(1), usual: 1, most: 1 }
    }

    /// They have so many rows as a rule.
    pub(crate) fn adapted(rows: u64) -> Self {
        let unit = rows.clamp(1, UNIT_ROWS);
        let usual = u32::try_from(rows.div_ceil(unit)).unwrap_or(u32::MAX).max(1);
        Self { unit, usual, most: usual.saturating_mul(MOST) }
    }

    /// The same with larger units.
    pub(crate) fn coarser(self) -> Self {
        Self { unit: self.unit.saturating_mul(2), usual: self.usual.div_ceil(2), most: self.most.div_ceil(2) }
    }

    /// Whether they are not all the same.
    pub(crate) fn adapt(self) -> bool {
        self.most > 1
    }

    /// Units of a morsel that is cut off a lane with so many left: at most a quarter of an equal part for each worker of
    /// what is left in `all` lanes.
    #[inline]
    pub(crate) fn units(self, left: u32, all: u32, wanted: Wanted) -> u32 {
        if !self.adapt() {
            return 1;
        }
        if wanted.rows == 0 {
            return self.usual.min(left);
        }
        let units = |rows: u64| (rows / self.unit).clamp(1, u64::from(self.most));
        let most = units(wanted.rows);
        // A hint, which may be late.
        let (all, parts) = (u64::from(all.max(left)), PART * u64::from(wanted.workers));
        if wanted.workers < 2 || all >= parts * most {
            return most.min(u64::from(left)) as u32;
        }
        let size = (all / parts).max(units(wanted.least).min(most)).min(u64::from(left)) as u32;
        // What would be left is not worth a morsel.
        if u64::from(left) * 2 < u64::from(size) * 3 { left } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(1);

    #[test]
    fn sizes_follow_durations() {
        let sizes = Sizes::adapted(16_384);
        let units = |nanos: u64| {
            let mut pace = Pace::default();
            pace.ran(1000, Duration::from_nanos(1000 * nanos));
            sizes.units(1 << 20, 1 << 21, pace.wanted(SLICE, 2))
        };
        // Three quarters of a millisecond, between a unit and eight usual morsels.
        assert_eq!([1, 10, 100, 700, 5000].map(units), [128, 73, 7, 1, 1]);
        assert_eq!(sizes.units(1 << 20, 1 << 21, Pace::default().wanted(SLICE, 2)), 16);
        assert_eq!(sizes.units(7, 10, Wanted::USUAL), 7);
    }

    #[test]
    fn the_last_runs_count_most() {
        let mut pace = Pace::default();
        pace.ran(0, SLICE);
        assert!(!pace.is_known());
        pace.ran(100, Duration::from_nanos(800));
        pace.ran(100, Duration::from_nanos(400));
        assert_eq!(pace, Pace(6.0));
        assert_eq!(Pace::of_bits(pace.to_bits()), pace);
        // A clock that stood still.
        let mut quick = Pace::default();
        quick.ran(u64::MAX, Duration::ZERO);
        assert_eq!(quick.wanted(SLICE, 1).rows, u64::MAX);
        assert_eq!(pace.wanted(Duration::ZERO, 2), Wanted::USUAL);
    }

    #[test]
    fn morsels_shrink_with_what_is_left_and_one_worker_does_not_shrink() {
        let sizes = Sizes::adapted(16_384);
        let wanted = |workers| Wanted { rows: 64 << 10, least: 4 << 10, workers };
        let cut = |mut left: u32, lanes: u32, workers| {
            let mut all = Vec::new();
            while left > 0 {
                all.push(sizes.units(left, left * lanes, wanted(workers)));
                left -= all[all.len() - 1];
            }
            all
        };
        assert_eq!(cut(200, 2, 1), [64, 64, 64, 8]);
        assert_eq!(cut(400, 2, 2)[..7], [64, 64, 64, 52, 39, 29, 22]);
        assert_eq!(cut(20, 2, 2), [5, 4, 4, 4, 3]);
        // The last lane of four.
        assert_eq!(cut(64, 1, 4)[..4], [4, 4, 4, 4]);
        assert_eq!(Sizes::fixed(10).units(100, 1, wanted(4)), 1);
    }

    #[test]
    fn units_may_be_small_and_large() {
        assert_eq!(Sizes::adapted(700), Sizes { unit: 700, usual: 1, most: 8 });
        assert_eq!(Sizes::adapted(0).unit, 1);
        assert_eq!(Sizes::adapted(u64::MAX).usual, u32::MAX);
        assert_eq!(Sizes::adapted(16_384).coarser(), Sizes { unit: 2048, usual: 8, most: 64 });
    }
}
