//! The dispatcher: morsels of pipelines to workers (Leis, thesis section 4.4). Knows no SQL.
//!
//! A query arrives as a [`JobSpec`]: [`Stage`]s (pipelines) and the dependencies between them. A stage yields
//! [`TaskSet`]s, first the pipeline's own and then those of its finalisation; a task set is cut into [`Morsel`]s as a
//! [`Cutting`] says.
//! Workers, one for each hardware thread, ask for one morsel at a time:
//!
//! ```text
//! worker ─▶ Dispatcher: which job?   the one that has had the least time for its weight     (policy)
//!        ─▶ Job: which stage?        the first that has morsels, else start the next        (job)
//!        ─▶ TaskSet: which morsel?   the worker's own range, else the nearest one, of about a millisecond  (ranges, size)
//! ```
//!
//! There is no dispatcher thread: this code runs on the worker that asks. A job's state machine (the QEPobject) is
//! passive: the worker that leaves a stage last advances it. The lock-free part is what happens for each morsel;
//! entering and leaving a stage takes the job's own lock.
//!
//! Architecture invariants: nothing here knows what a morsel's numbers mean; no operator is asynchronous; no worker is
//! ever blocked by the dispatcher while any job has a morsel to give.
//!
//! ```
//! use scheduler::{JobOptions, JobSpec, Pipeline, Scheduler, SchedulerOptions, Tasks};
//! use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
//!
//! let scheduler = Scheduler::new(&SchedulerOptions { threads: Some(2), ..Default::default() })?;
//! let sum = Arc::new(AtomicU64::new(0));
//! let mut job = JobSpec::new();
//! let to = sum.clone();
//! job.add(Pipeline::new("sum", move |cut| {
//!     let to = to.clone();
//!     Ok(Tasks::boxed(cut.rows(1_000_000), move |_, morsel| {
//!         to.fetch_add(morsel.rows().sum::<u64>(), Ordering::Relaxed);
//!         Ok(())
//!     }))
//! }), &[]);
//! scheduler.submit(job, JobOptions::default()).wait()?;
//! assert_eq!(sum.load(Ordering::Relaxed), 499_999_500_000);
//! # Ok::<(), base::Error>(())
//! ```

mod calls;
mod counts;
mod cutting;
mod dispatcher;
mod duty;
mod each_worker;
mod event_count;
mod gate;
mod graph;
mod handle;
mod inline;
mod job;
#[cfg(all(test, loom))]
mod loom_model;
#[cfg(test)]
mod model;
mod morsel;
mod observe;
mod options;
mod policy;
mod pool;
mod ranges;
mod seats;
#[cfg(all(test, shuttle))]
mod shuttle_model;
mod size;
mod sync;
mod task;
mod times;
mod topology;
mod worker;

use base::cancel;
pub use cancel::{CancelToken, canceled};
pub use cutting::{Cutting, Division, Glances, MORSEL_ROWS, Offsets, SLICE, STEPS, Slice, Strategy};
pub use duty::{WorkerReport, WorkerState};
pub use each_worker::EachWorker;
pub use handle::{JobHandle, JobProgress, StageReport, Waker};
pub use inline::{Seats, SingleThreaded, exhaust};
pub use morsel::{Claim, Morsel, Progress, WorkerId};
pub use observe::{Observer, Run};
pub use options::{JobOptions, SchedulerOptions};
pub use pool::Scheduler;
pub use ranges::MorselRanges;
pub use size::Wanted;
pub use task::{JobSpec, Pipeline, Stage, TaskSet, Tasks};
pub use times::JobTimes;
pub use topology::{NodeId, Placement, Seat, Topology, available_threads};
