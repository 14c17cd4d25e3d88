//! Freezing behind commits: workers compress what was appended when no query needs them. Decision 28.

use std::sync::{Arc, Weak};

use base::Result;
use scheduler::{Claim, JobOptions, JobSpec, Morsel, Pipeline, Progress, TaskSet, Wanted, WorkerId};
use storage::Relation;

use crate::database::Shared;

/// Of the usual 100: a query beside it hardly notices.
const WEIGHT: u32 = 1;

/// A morsel is a column of a chunk, or a step of one, and goes on with the next; it ends early if the table is dropped, which it
/// does not keep.
struct Freezing(Weak<Relation>);

impl Drop for Freezing {
    fn drop(&mut self) {
        if let Some(relation) = self.0.upgrade() {
            relation.end_freezing();
        }
    }
}

impl TaskSet for Freezing {
    fn claim(&self, _worker: WorkerId, _wanted: Wanted) -> Claim {
        let Some(relation) = self.0.upgrade() else { return Claim::Done };
        if !relation.has_backlog() {
            relation.end_freezing();
            // Somebody may have left something, and relied on this.
            if !relation.has_backlog() || !relation.begin_freezing() {
                return Claim::Done;
            }
        }
        Claim::Morsel { morsel: Morsel { begin: 0, end: 1 }, node: None, stolen: false }
    }

    fn run(&self, _worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let Some(relation) = self.0.upgrade() else { return Ok(Progress::Done) };
        relation.freeze_next();
        // Others may have found nothing meanwhile, and what was begun here has left something to do.
        Ok(if relation.has_backlog() { Progress::Yielded(morsel) } else { Progress::Done })
    }
}

/// Has what a commit left frozen, some time; by one job a relation.
pub(crate) fn freeze_behind(shared: &Shared, relation: &Arc<Relation>) {
    if !relation.has_backlog() || !relation.begin_freezing() {
        return;
    }
    let relation = Arc::downgrade(relation);
    let mut job = JobSpec::new();
    job.add(Pipeline::new("freeze", move |_| Ok(Box::new(Freezing(relation.clone())))), &[]);
    shared.scheduler.submit(job, JobOptions { weight: WEIGHT, overtakes: false, ..JobOptions::default() });
}
