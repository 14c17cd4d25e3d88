//! Which job a free worker serves: the one that has had the least worker time for its weight.
//!
//! Each job has a virtual time: nanoseconds of workers spent on it, divided by its weight. A worker charges the job
//! the typical duration of its morsels when it claims one, and corrects the charge when the morsel is done. So of two
//! equal jobs each has half of the workers at any time (a morsel in flight counts), and with fewer workers than jobs
//! they take turns. Compare thesis 4.4.1: "threads are distributed equally over all active queries"; weights are the
//! priorities that it leaves open. A job that was idle (new, or waiting for its consumer) is moved up to the present,
//! so that it cannot claim the whole machine to make up for the past.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The weight of a job that has none set.
pub(crate) const DEFAULT_WEIGHT: u32 = 100;

/// The virtual time of the job that was served last: what "the present" is for a job that joins.
#[derive(Default)]
pub(crate) struct Clock(AtomicU64);

/// What one job has had.
pub(crate) struct Share {
    weight: u64,
    time: AtomicU64,
    /// Duration of this job's morsels in nanoseconds: a moving average.
    typical: AtomicU64,
}

/// An open charge: to be settled or refunded.
pub(crate) struct Charge(u64);

impl Share {
    pub(crate) fn new(weight: u32, clock: &Clock) -> Self {
        let time = AtomicU64::new(clock.0.load(Relaxed));
        Self { weight: u64::from(weight.max(1)), time, typical: AtomicU64::new(100_000) }
    }

    /// The virtual time in nanoseconds at the default weight.
    pub(crate) fn time(&self) -> u64 {
        self.time.load(Relaxed)
    }

    fn scaled(&self, nanos: u64) -> u64 {
        nanos.saturating_mul(u64::from(DEFAULT_WEIGHT)) / self.weight
    }

    /// A worker is about to claim a morsel.
    pub(crate) fn charge(&self, clock: &Clock) -> Charge {
        let nanos = self.typical.load(Relaxed);
        let before = self.time.fetch_add(self.scaled(nanos), Relaxed);
        // Mostly a load: the clock moves only when the job that is furthest behind is served.
        if clock.0.load(Relaxed) < before {
            clock.0.fetch_max(before, Relaxed);
        }
        Charge(nanos)
    }

    /// The morsel took `nanos`.
    pub(crate) fn settle(&self, charge: Charge, nanos: u64) {
        let correction = self.scaled(nanos).wrapping_sub(self.scaled(charge.0));
        self.time.fetch_add(correction, Relaxed);
        // Concurrent updates may be lost: it is an average.
        self.typical.store((self.typical.load(Relaxed) * 3 + nanos) / 4 + 1, Relaxed);
    }

    /// There was no morsel.
    pub(crate) fn refund(&self, charge: Charge) {
        self.time.fetch_sub(self.scaled(charge.0), Relaxed);
    }

    /// The job has work again after it had none.
    pub(crate) fn catch_up(&self, clock: &Clock) {
        self.time.fetch_max(clock.0.load(Relaxed), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `workers` on jobs of `(weight, nanoseconds a morsel)` and returns the time that each job got.
    fn simulate(workers: usize, jobs: &[(u32, u64)], until: u64) -> Vec<u64> {
        let clock = Clock::default();
        let shares: Vec<Share> = jobs.iter().map(|&(weight, _)| Share::new(weight, &clock)).collect();
        let mut served = vec![0; jobs.len()];
        let mut busy: Vec<(u64, Option<(usize, Charge)>)> = (0..workers).map(|_| (0, None)).collect();
        loop {
            let (now, slot) = busy.iter_mut().min_by_key(|(at, _)| *at).expect("at least one worker");
            if *now >= until {
                return served;
            }
            if let Some((job, charge)) = slot.take() {
                shares[job].settle(charge, jobs[job].1);
                served[job] += jobs[job].1;
            }
            let job = (0..jobs.len()).min_by_key(|&j| shares[j].time()).expect("at least one job");
            *slot = Some((job, shares[job].charge(&clock)));
            *now += jobs[job].1;
        }
    }

    #[test]
    fn equal_jobs_get_equal_time_whatever_their_morsels() {
        for workers in [1, 2, 3, 64] {
            let served = simulate(workers, &[(100, 50_000), (100, 1_000_000), (100, 7_000)], 1_000_000_000);
            let total: u64 = served.iter().sum();
            for time in served {
                assert!((time * 3).abs_diff(total) < total / 10, "{workers} workers: {time} of {total}");
            }
        }
    }

    #[test]
    fn time_follows_weight_and_nobody_starves() {
        for workers in [1, 2, 16] {
            let served = simulate(workers, &[(400, 100_000), (100, 100_000)], 1_000_000_000);
            let ratio = served[0] as f64 / served[1] as f64;
            assert!((3.5..4.5).contains(&ratio), "{workers} workers: {ratio}");
        }
    }

    #[test]
    fn an_idle_job_does_not_save_up() {
        let clock = Clock::default();
        let (busy, idle) = (Share::new(100, &clock), Share::new(100, &clock));
        for _ in 0..1000 {
            let charge = busy.charge(&clock);
            busy.settle(charge, 1_000_000);
        }
        idle.catch_up(&clock);
        assert!(busy.time() - idle.time() <= 2_000_000);
        let charge = idle.charge(&clock);
        let during = idle.time();
        idle.refund(charge);
        assert!(idle.time() < during);
    }
}
