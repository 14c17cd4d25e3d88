//! Which job a free worker serves: the one that will have had the least worker time for its weight when its next morsel is
//! done.
//!
//! Each job has a virtual time: time of workers spent on it, divided by its weight. A worker charges the job
//! the typical duration of its morsels when it claims one, and corrects the charge when the morsel is done. So of two
//! equal jobs each has half of the workers at any time (a morsel in flight counts), and with fewer workers than jobs
//! they take turns. Compare thesis 4.4.1: "threads are distributed equally over all active queries"; weights are the
//! priorities that it leaves open. A job that was idle (new, or waiting for its consumer) is moved up to the present,
//! so that it cannot claim the whole machine to make up for the past.
//!
//! A worker does not leave a job as soon as another's turn comes: it goes on for some milliseconds, for which the other is ahead
//! later, so that dozens of jobs do not take each other's data out of the caches with every morsel (at 64 streams of TPC-H that
//! was a fifth of the throughput). An old job is left at once for a younger one whose turn it is.
//!
//! New jobs overtake: their time counts for a 64th at first, and for twice as much after each 16 ms that workers have spent
//! on them, until it counts in full (Wagner, Kohn and Neumann, *Self-Tuning Query Scheduling for Analytical Workloads*,
//! SIGMOD 2021: stride scheduling with priorities that decay). By the end of its morsel a new one goes before all who have
//! the same time behind them, of whom each would otherwise go before its second. What new jobs have had moves the present,
//! so that however many come one after the other, the turn of old ones comes. Invariant: each job keeps about a 64th of the
//! share that weights alone would give it, whatever comes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The weight of a job that has none set.
pub(crate) const DEFAULT_WEIGHT: u32 = 100;

/// Binary logarithm of how much less a new job's time counts.
const HEAD_START: u32 = 6;
/// After so many nanoseconds a job's time counts twice as much.
const AGE: u64 = 16_000_000;
/// A worker that serves a job goes on with it for so many nanoseconds after another one's turn has come: what is in the caches
/// is used before others' data takes its place. Not if it is old and the other one is younger.
const LEEWAY: u64 = 8_000_000;
/// The age from which a job is old: 48 ms.
const OLD: u32 = 3;
/// Nanoseconds that a worker alone with a job keeps to itself before it notes them.
pub(crate) const NOTED: u64 = 1_000_000;

/// The virtual time of the job that was served last: what "the present" is for a job that joins.
#[derive(Default)]
pub(crate) struct Clock(AtomicU64);

/// What one job has had.
pub(crate) struct Share {
    weight: u64,
    time: AtomicU64,
    /// Nanoseconds that workers have spent on it, which tell its age.
    spent: AtomicU64,
    /// Duration of this job's morsels in nanoseconds: a moving average.
    typical: AtomicU64,
}

/// An open charge: to be settled or refunded. In virtual time.
pub(crate) struct Charge(u64);

impl Share {
    /// Of a job that joins now; one that does not overtake is as old as can be.
    pub(crate) fn new(weight: u32, overtakes: bool, clock: &Clock) -> Self {
        let time = AtomicU64::new(clock.0.load(Relaxed));
        let spent = AtomicU64::new(if overtakes { 0 } else { u64::from(HEAD_START) * AGE });
        Self { weight: u64::from(weight.max(1)), time, spent, typical: AtomicU64::new(100_000) }
    }

    /// The virtual time at which the next morsel will be done, in 64ths of nanoseconds at the default weight.
    pub(crate) fn due(&self) -> u64 {
        self.time.load(Relaxed) + self.scaled(self.typical.load(Relaxed))
    }

    /// Whether a worker that serves this job may go on with it beside another one, whose turn it may be.
    pub(crate) fn may_go_on_beside(&self, other: &Self) -> bool {
        let (due, age) = (self.due(), self.age());
        let is_peer = other.age() >= age || age < OLD;
        other.due() >= due || is_peer && other.due() >= due.saturating_sub(self.scaled(LEEWAY))
    }

    /// How often its time has begun to count twice as much.
    fn age(&self) -> u32 {
        (self.spent.load(Relaxed) / AGE).min(u64::from(HEAD_START)) as u32
    }

    fn scaled(&self, nanos: u64) -> u64 {
        nanos.saturating_mul(u64::from(DEFAULT_WEIGHT) << self.age()) / self.weight
    }

    /// A worker is about to claim a morsel. Whoever goes on though it is another's turn does not move the present.
    pub(crate) fn charge(&self, clock: &Clock, is_turn: bool) -> Charge {
        let charge = self.scaled(self.typical.load(Relaxed));
        let before = self.time.fetch_add(charge, Relaxed);
        let present = if self.age() < HEAD_START { before + charge } else { before };
        // Mostly a load: the clock moves only when the job that is furthest behind is served.
        if is_turn && clock.0.load(Relaxed) < present {
            clock.0.fetch_max(present, Relaxed);
        }
        Charge(charge)
    }

    /// The morsel took `nanos`.
    pub(crate) fn settle(&self, charge: Charge, nanos: u64) {
        let correction = self.scaled(nanos).wrapping_sub(charge.0);
        self.time.fetch_add(correction, Relaxed);
        self.grow_older(nanos);
        // Concurrent updates may be lost: it is an average.
        self.typical.store((self.typical.load(Relaxed) * 3 + nanos) / 4 + 1, Relaxed);
    }

    /// There was no morsel.
    pub(crate) fn refund(&self, charge: Charge) {
        self.time.fetch_sub(charge.0, Relaxed);
    }

    /// A worker has spent so many nanoseconds on it.
    pub(crate) fn grow_older(&self, nanos: u64) {
        // Who is old cannot become older: workers of long jobs do not meet here.
        if self.spent.load(Relaxed) < u64::from(HEAD_START) * AGE {
            self.spent.fetch_add(nanos, Relaxed);
        }
    }

    /// The job has work again after it had none.
    pub(crate) fn catch_up(&self, clock: &Clock) {
        self.time.fetch_max(clock.0.load(Relaxed), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A job of a simulation, all times in nanoseconds.
    #[derive(Clone)]
    struct Simulated {
        weight: u32,
        overtakes: bool,
        arrives: u64,
        morsel: u64,
        work: u64,
    }

    /// What a job has got, and when it had all that it asked for.
    #[derive(Clone, Copy, Default)]
    struct Got {
        served: u64,
        ended: Option<u64>,
        /// How often a worker came to it.
        visits: usize,
    }

    fn endless(weight: u32, morsel: u64) -> Simulated {
        Simulated { weight, overtakes: true, arrives: 0, morsel, work: u64::MAX }
    }

    fn short(arrives: u64, work: u64) -> Simulated {
        Simulated { weight: 100, overtakes: true, arrives, morsel: MS, work }
    }

    /// Simulates `workers` on jobs in the order of their arrival.
    fn simulate(workers: usize, jobs: &[Simulated], until: u64) -> Vec<Got> {
        let clock = Clock::default();
        let mut shares: Vec<Share> = Vec::new();
        let mut got = vec![Got::default(); jobs.len()];
        let mut claimed = vec![0; jobs.len()];
        /// When it is free, what it is at, and whom it has served last.
        type Busy = (u64, Option<(usize, Charge)>, usize);
        let mut busy: Vec<Busy> = (0..workers).map(|_| (0, None, usize::MAX)).collect();
        loop {
            let (now, slot, served) = busy.iter_mut().min_by_key(|(at, ..)| *at).expect("at least one worker");
            if *now >= until {
                return got;
            }
            if let Some((job, charge)) = slot.take() {
                let morsel = jobs[job].morsel;
                shares[job].settle(charge, morsel);
                got[job].served += morsel;
                if got[job].served >= jobs[job].work {
                    got[job].ended.get_or_insert(*now);
                }
            }
            let arrived = jobs.iter().skip(shares.len()).take_while(|job| job.arrives <= *now);
            shares.extend(arrived.map(|job| Share::new(job.weight, job.overtakes, &clock)).collect::<Vec<_>>());
            let is_open = |j: usize| j < shares.len() && claimed[j] < jobs[j].work;
            let first = (0..shares.len()).filter(|&j| is_open(j)).min_by_key(|&j| shares[j].due());
            let goes_on = |first: &usize| is_open(*served) && shares[*served].may_go_on_beside(&shares[*first]);
            match first.map(|first| if goes_on(&first) { *served } else { first }) {
                Some(job) => {
                    got[job].visits += usize::from(*served != job);
                    *served = job;
                    *slot = Some((job, shares[job].charge(&clock, first == Some(job))));
                    claimed[job] += jobs[job].morsel;
                    *now += jobs[job].morsel;
                }
                None => *now += MS / 10,
            }
        }
    }

    #[test]
    fn equal_jobs_get_equal_time_whatever_their_morsels() {
        for workers in [1, 2, 3, 64] {
            let jobs = [50_000, MS, 7_000].map(|morsel| endless(100, morsel));
            let got = simulate(workers, &jobs, 1000 * MS);
            let total: u64 = got.iter().map(|g| g.served).sum();
            for time in got.iter().map(|g| g.served) {
                assert!((time * 3).abs_diff(total) < total / 10, "{workers} workers: {time} of {total}");
            }
        }
    }

    #[test]
    fn time_follows_weight_and_nobody_starves() {
        for workers in [1, 2, 16] {
            let got = simulate(workers, &[endless(400, MS / 10), endless(100, MS / 10)], 20_000 * MS);
            let ratio = got[0].served as f64 / got[1].served as f64;
            assert!((3.5..4.5).contains(&ratio), "{workers} workers: {ratio}");
        }
    }

    #[test]
    fn short_jobs_overtake_long_ones() {
        for (workers, work) in [(1, 10 * MS), (2, 10 * MS), (2, 40 * MS), (8, 40 * MS)] {
            let mut jobs = vec![endless(100, MS); 8];
            jobs.extend((0..20).map(|n| short((1000 + 100 * n) * MS + n * 37_000, work)));
            let got = simulate(workers, &jobs, 4000 * MS);
            // Alone it would take that time, once its morsels are dealt out; a morsel of another may have to end before.
            let alone = (work / MS).div_ceil(workers as u64) * MS;
            for (job, got) in jobs.iter().zip(&got).skip(8) {
                let took = got.ended.expect("a short job ends") - job.arrives;
                assert!(took <= alone * 3 / 2 + 2 * MS, "{workers} workers, {work}: {took} beside {alone}");
            }
        }
    }

    #[test]
    fn long_jobs_keep_a_share_beside_any_number_of_short_ones() {
        for workers in [1, 2, 8] {
            // As much again as the workers can do arrives all the time.
            let mut jobs = vec![endless(100, MS); 4];
            jobs.extend((0..2000).map(|n| short(n * MS, 2 * MS * workers as u64)));
            let got = simulate(workers, &jobs, 2000 * MS);
            // At most this many are there at once.
            let shorts = got.iter().skip(4).filter(|g| g.ended.is_none()).count() as u64;
            let least = workers as u64 * 2000 * MS / (64 * (4 + shorts));
            assert!(got[..4].iter().all(|g| g.served >= least), "{workers} workers: {shorts} at once");
        }
    }

    #[test]
    fn what_can_wait_does_not_overtake() {
        let background = Simulated { overtakes: false, arrives: 500 * MS, ..endless(1, MS) };
        let got = simulate(2, &[endless(100, MS), background], 2500 * MS);
        assert!(got[1].served <= 60 * MS, "{}", got[1].served);
    }

    #[test]
    fn workers_go_on_with_what_they_are_at() {
        let got = simulate(2, &vec![endless(100, MS / 2); 16], 4000 * MS);
        for of in &got {
            assert!(of.served.abs_diff(500 * MS) < 50 * MS, "{}", of.served);
            let each = of.served / of.visits as u64;
            assert!((4 * MS..=20 * MS).contains(&each), "{} visits in {}", of.visits, of.served);
        }
    }

    #[test]
    fn an_idle_job_does_not_save_up() {
        let clock = Clock::default();
        let (busy, idle) = (Share::new(100, true, &clock), Share::new(100, true, &clock));
        for _ in 0..1000 {
            let charge = busy.charge(&clock, true);
            busy.settle(charge, MS);
        }
        idle.catch_up(&clock);
        assert!(busy.due() - idle.due() <= (3 * MS) << HEAD_START);
        let charge = idle.charge(&clock, true);
        let during = idle.due();
        idle.refund(charge);
        assert!(idle.due() < during);
    }
}
