//! Time per operator, for EXPLAIN ANALYZE.
//!
//! The operators of a pipeline are one loop of machine code, in which a clock read per row and operator would cost more
//! than most operators do. So code that counts rows also notes which operator it works for, one store each, and a
//! thread looks at these notes many times a second: an operator's time is its share of the looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::Result;
use runtime::query::QueryContext;
use scheduler::{Morsel, TaskSet, WorkerId};

use super::Query;

/// Between two looks.
const PERIOD: Duration = Duration::from_micros(50);

/// Tasks that belong to one operator, as far as their code does not say otherwise.
pub(super) struct Watched {
    pub query: Arc<Query>,
    pub operator: u32,
    pub tasks: Box<dyn TaskSet>,
}

impl TaskSet for Watched {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        self.tasks.claim(worker)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        use base::ids::Id;
        self.query.context.set_working_for(worker.index(), Some(self.operator));
        let result = self.tasks.run(worker, morsel);
        self.query.context.set_working_for(worker.index(), None);
        result
    }
    fn total(&self) -> u64 {
        self.tasks.total()
    }
    fn is_ready(&self) -> bool {
        self.tasks.is_ready()
    }
}

/// Runs `work` while another thread watches the query's workers; returns the time of each of `operators` operators,
/// summed over the workers.
pub(super) fn watch<T>(context: &QueryContext, operators: usize, work: impl FnOnce() -> T) -> (T, Vec<Duration>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let begin = Instant::now();
            let (mut seen, mut looks) = (vec![0u32; operators], 0u32);
            while !over.load(Ordering::Relaxed) {
                context.working_for().for_each(|o| seen[o as usize] += 1);
                looks += 1;
                std::thread::sleep(PERIOD);
            }
            let period = begin.elapsed() / looks.max(1);
            seen.into_iter().map(|n| period * n).collect()
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        (result, looks.join().unwrap_or_else(|_| vec![Duration::ZERO; operators]))
    })
}
