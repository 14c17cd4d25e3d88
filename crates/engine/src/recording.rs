//! Recordings of queries: real morsels, run once by the single-threaded twin that plays many workers, for replays on machines
//! that are not there (decision 34).
//!
//! What workers have of their own (areas, groups) is there for each that is played, so a recording for 64 workers has the work
//! that 64 workers make for each other. Memory is taken to lie on the first node, so that what is spread over all nodes can be
//! told from what lies on one: of the former a part is remote.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Error, Result, SqlState};
use scheduler::{NodeId, Run};

/// A query that was run once, with all of its morsels.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Names of the pipelines, each with the pipelines that must have ended before it.
    pub pipelines: Vec<(String, Vec<usize>)>,
    /// The runs of morsels, one after the other.
    pub runs: Vec<Run>,
    /// When the execution began, and how long it took: planning and compiling come before.
    pub begin: Instant,
    /// See [`begin`](Self::begin).
    pub time: Duration,
    /// Nodes of the machine that was played.
    pub nodes: usize,
}

/// Stack of the thread that plays the workers: a worker's.
const STACK: usize = 64 << 20;

/// Does `work` on a thread of its own, as a worker of the first node that is so many hops away from each node.
pub(crate) fn as_worker<T: Send>(hops: Box<[u8]>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let work = || {
        base::traffic::sit(0, hops);
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("recording".into()).stack_size(STACK).spawn_scoped(scope, work);
        let failed = |e| {
            Error::new(SqlState::INSUFFICIENT_RESOURCES, format!("the system grants no thread for a recording: {e}"))
        };
        thread.map_err(failed)?.join().unwrap_or_else(|panic| Err(Error::internal(base::panics::message(panic))))
    })
}

/// How far the first node is from each.
pub(crate) fn hops(placement: &Arc<scheduler::Placement>) -> Box<[u8]> {
    placement.topology().hops(NodeId(0))
}
