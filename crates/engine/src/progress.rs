//! How far queries are.

/// How far a query is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Between 0 and 1, an estimate that never goes back.
    pub fraction: f64,
    /// Rows of all sources that were read so far.
    pub rows: u64,
}

impl Progress {
    pub(crate) fn of(job: &scheduler::JobHandle) -> Self {
        let progress = job.progress();
        Self { fraction: progress.fraction(), rows: progress.rows }
    }
}
