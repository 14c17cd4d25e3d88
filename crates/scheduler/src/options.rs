//! How schedulers and jobs are set up.

use std::sync::Arc;
use std::time::Duration;

use base::memory::Spread;
use base::traffic::MemoryPlacement;

use crate::cancel::CancelToken;
use crate::cutting::{Division, MORSEL_ROWS, SLICE, STEPS};
use crate::observe::Observer;
use crate::policy::DEFAULT_WEIGHT;
use crate::topology::{Topology, available_threads};

/// How a scheduler is set up.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Workers at the beginning; none: as many as affinity and cgroups allow.
    pub threads: Option<usize>,
    /// Workers that `set_threads` may ask for at most.
    pub max_threads: usize,
    /// The topology; none: the machine's.
    pub topology: Option<Topology>,
    /// Whether workers may be bound to processors. Even then they are not when this process has but a part of the
    /// machine, or the topology is a description.
    pub pin: bool,
    /// Rows that a morsel should have as long as nobody knows how long they take.
    pub morsel_rows: u64,
    /// Whether sizes follow durations ([`Cutting::adapts`](crate::Cutting)).
    pub adapts: bool,
    /// How long a morsel should run before it yields; tests make it zero.
    pub slice: Duration,
    /// Steps of a long loop between two looks at the clock; tests make them few.
    pub steps: u64,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        let max_threads = available_threads().max(64);
        Self {
            threads: None,
            max_threads,
            topology: None,
            pin: true,
            morsel_rows: MORSEL_ROWS,
            adapts: true,
            slice: SLICE,
            steps: STEPS,
        }
    }
}

/// How a job is run.
#[derive(Clone)]
pub struct JobOptions {
    /// The share of the workers' time that the job gets beside others; 100 is usual.
    pub weight: u32,
    /// Whether it is ahead of older jobs until it has had its first tenth of a second; not for work that can wait.
    pub overtakes: bool,
    /// Workers that the job may have at once; none: all. Obeyed at morsel boundaries.
    pub worker_limit: Option<usize>,
    /// How its phases are divided among workers.
    pub division: Division,
    /// Whether stages that do not depend on each other run side by side (thesis 4.4.2: bushy parallelism), instead of each
    /// only on workers that find nothing left in those before it: for comparisons.
    pub bushy: bool,
    /// Where its memory is taken to lie, for experiments on machines that are described.
    pub placement: MemoryPlacement,
    /// How tables that all workers share are to lie on the nodes of the machine.
    pub spread: Spread,
    /// Stops the job when cancelled.
    pub cancel: CancelToken,
    /// Sees every run of a morsel, and the end.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            weight: DEFAULT_WEIGHT,
            overtakes: true,
            worker_limit: None,
            division: Division::default(),
            bushy: false,
            placement: MemoryPlacement::default(),
            spread: Spread::default(),
            cancel: CancelToken::new(),
            observer: None,
        }
    }
}
