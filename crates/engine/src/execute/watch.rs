//! Time per operator, for EXPLAIN ANALYZE.
//!
//! The operators of a pipeline are one loop of machine code, in which a clock read per row and operator would cost more
//! than most operators do. So code that counts rows also notes which operator it works for, one store each, and a
//! thread looks at these notes many times a second. The scheduler knows the time of each pipeline; an operator's part of
//! it is its part of the looks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use base::ids::Id;
use base::traffic::{self, Access, Traffic};
use base::{Error, IdMap, Result, SqlState};
use pipeline::ir::PipelineId;
use scheduler::{Claim, Morsel, Progress, StageReport, TaskSet, Wanted, WorkerId};

use super::Query;
use super::phases::Phase;

/// What an operator has done, by EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operator {
    /// Rows that it has produced.
    pub rows: u64,
    /// Time of all workers.
    pub time: Duration,
    /// Bytes near to the workers, and bytes on other nodes.
    pub traffic: (u64, u64),
}

/// Between two looks.
const PERIOD: Duration = Duration::from_micros(50);

/// Tasks that belong to one operator, as far as their code does not say otherwise.
pub(super) struct Watched {
    pub query: Arc<Query>,
    pub pipeline: PipelineId,
    pub operator: u32,
    /// The phase that the tasks are, if they finalise a state.
    pub phase: Option<Arc<Phase>>,
    pub tasks: Box<dyn TaskSet>,
}

impl TaskSet for Watched {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.tasks.claim(worker, wanted)
    }
    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        self.tasks.split(rest)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let worker_number = worker.index();
        self.query.running.get_or(worker_number, AtomicU32::default).store(self.pipeline.0, Ordering::Relaxed);
        self.query.context.set_working_for(worker_number, Some(self.operator));
        let before = traffic::so_far();
        let result = match &self.phase {
            Some(phase) => phase.time(worker, || self.tasks.run(worker, morsel)),
            None => self.tasks.run(worker, morsel),
        };
        self.query.context.set_working_for(worker_number, None);
        self.note_traffic(traffic::so_far().since(before));
        result
    }
    fn total(&self) -> u64 {
        self.tasks.total()
    }
}

impl Watched {
    /// A finalisation is all one operator's. Of a pipeline, the first one reads, the last one writes, and those between them
    /// look at tables, which know how much that is.
    fn note_traffic(&self, traffic: Traffic) {
        if self.phase.is_some() {
            return self.query.note_traffic(self.operator, traffic);
        }
        self.query.note_traffic(self.operator, traffic.only(&[Access::Table, Access::Area]));
        let last = self.query.program.pipelines[self.pipeline].operator;
        self.query.note_traffic(last.unwrap_or(self.operator), traffic.only(&[Access::Written]));
    }
}

/// How often each operator (its counter) was seen at work, by pipeline.
type Looks = IdMap<PipelineId, Vec<u64>>;

/// A thread that watches the workers of a query, as long as this lives.
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Looks>>,
}

impl Watch {
    /// Starts to watch a query that is about to start.
    pub fn begin(query: &Arc<Query>) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(Barrier::new(2));
        let thread = {
            let (query, over, ready) = (query.clone(), over.clone(), ready.clone());
            std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
                ready.wait();
                look(&query, &over)
            })
        };
        // 53000 is PostgreSQL's class for a machine that gives no more.
        let failed = |e| Error::new(SqlState("53000"), format!("could not start a thread: {e}"));
        let thread = Some(thread.map_err(failed)?);
        ready.wait();
        Ok(Self { over, thread })
    }

    /// Ends the thread: it holds on to the query.
    fn stop(&mut self) -> Option<Looks> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }

    /// Ends it, and divides the time that each pipeline took: the time of each operator, by its counter, summed over the
    /// workers. A pipeline that was too short to be seen is all its first operator's.
    pub fn end(mut self, query: &Query, pipelines: &[StageReport]) -> Vec<Duration> {
        let mut times = vec![Duration::ZERO; query.program.counters.len()];
        let Some(looks) = self.stop() else { return times };
        for ((id, seen), report) in looks.iter().zip(pipelines) {
            let all: u64 = seen.iter().sum();
            if all > 0 {
                times.iter_mut().zip(seen).for_each(|(t, &n)| *t += report.busy.mul_f64(n as f64 / all as f64));
            } else if let Some(first) = query.program.pipelines[id].operator_at(0) {
                times[first as usize] += report.busy;
            }
        }
        times
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn look(query: &Query, over: &AtomicBool) -> Looks {
    let operators = query.program.counters.len();
    let mut looks: Looks = query.program.pipelines.iter().map(|_| vec![0; operators]).collect();
    while !over.load(Ordering::Relaxed) {
        for (worker, operator) in query.context.working_for() {
            if let Some(running) = query.running.get(worker) {
                looks[PipelineId(running.load(Ordering::Relaxed))][operator as usize] += 1;
            }
        }
        std::thread::sleep(PERIOD);
    }
    looks
}
