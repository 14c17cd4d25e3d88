//! What a job's stages have taken so far: for progress and reports, readable at any time.

use crate::morsel::Progress;
use crate::observe::Run;
use crate::task::Stage;
use base::ids::Id;
use base::traffic::Traffic;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Shards beyond this cost more to add up than they save.
const MOST_SHARDS: usize = 16;

/// How far a stage has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Nothing = 0,
    Started = 1,
    Done = 2,
}

/// One stage's name and counts.
pub(crate) struct StageCounts {
    pub(crate) name: String,
    pub(crate) estimated_rows: u64,
    total_rows: AtomicU64,
    reached: AtomicU8,
    /// Workers count in lines of their own.
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    morsels: AtomicU64,
    stolen: AtomicU64,
    yields: AtomicU64,
    rows: AtomicU64,
    remote_rows: AtomicU64,
    busy_nanos: AtomicU64,
    traffic: [[AtomicU64; 3]; 4],
}

impl Shard {
    fn count_traffic(&self, traffic: &Traffic) {
        let counted = self.traffic.as_flattened().iter().zip(traffic.0.as_flattened());
        counted.filter(|(_, bytes)| **bytes > 0).for_each(|(sum, bytes)| {
            sum.fetch_add(*bytes, Relaxed);
        });
    }

    fn sum_of_traffic(&self) -> Traffic {
        Traffic(self.traffic.each_ref().map(|kind| kind.each_ref().map(|bytes| bytes.load(Relaxed))))
    }
}

/// The sum of all workers' counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) morsels: u64,
    pub(crate) stolen: u64,
    pub(crate) yields: u64,
    pub(crate) rows: u64,
    pub(crate) remote_rows: u64,
    pub(crate) busy_nanos: u64,
    pub(crate) traffic: Traffic,
}

impl StageCounts {
    pub(crate) fn new(stage: &dyn Stage, workers: usize) -> Self {
        Self {
            name: stage.name().to_owned(),
            estimated_rows: stage.estimated_rows(),
            total_rows: AtomicU64::new(0),
            reached: AtomicU8::new(Reached::Nothing as u8),
            shards: (0..workers.clamp(1, MOST_SHARDS)).map(|_| Shard::default()).collect(),
        }
    }

    /// Counts what a run has done.
    pub(crate) fn count(&self, run: &Run) {
        let shard = &self.shards[run.worker.index() % self.shards.len()];
        let rows = run.rows();
        shard.morsels.fetch_add(u64::from(!run.resumed), Relaxed);
        shard.rows.fetch_add(rows, Relaxed);
        shard.busy_nanos.fetch_add(run.time.as_nanos() as u64, Relaxed);
        if run.stolen && !run.resumed {
            shard.stolen.fetch_add(1, Relaxed);
        }
        if run.remote {
            shard.remote_rows.fetch_add(rows, Relaxed);
        }
        if run.progress.and_then(Progress::rest).is_some() {
            shard.yields.fetch_add(1, Relaxed);
        }
        shard.count_traffic(&run.traffic);
    }

    pub(crate) fn sum(&self) -> Sum {
        self.shards.iter().fold(Sum::default(), |sum, shard| Sum {
            morsels: sum.morsels + shard.morsels.load(Relaxed),
            stolen: sum.stolen + shard.stolen.load(Relaxed),
            yields: sum.yields + shard.yields.load(Relaxed),
            rows: sum.rows + shard.rows.load(Relaxed),
            remote_rows: sum.remote_rows + shard.remote_rows.load(Relaxed),
            busy_nanos: sum.busy_nanos + shard.busy_nanos.load(Relaxed),
            traffic: sum.traffic + shard.sum_of_traffic(),
        })
    }

    pub(crate) fn reach(&self, reached: Reached) {
        self.reached.store(reached as u8, Relaxed);
    }
    pub(crate) fn reached(&self) -> Reached {
        match self.reached.load(Relaxed) {
            0 => Reached::Nothing,
            1 => Reached::Started,
            _ => Reached::Done,
        }
    }

    /// A phase of `rows` rows begins.
    pub(crate) fn expect(&self, rows: u64) {
        self.total_rows.fetch_add(rows, Relaxed);
    }
    pub(crate) fn total_rows(&self) -> u64 {
        self.total_rows.load(Relaxed)
    }
}
