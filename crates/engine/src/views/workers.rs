//! `workers()`: what each worker does, and has done.

use std::collections::HashMap;

use scheduler::{WorkerReport, WorkerState};
use types::{SqlType, Value};

use super::{View, count, ms};
use crate::environment::Environment;

pub(super) const WORKERS: View = View {
    name: "workers",
    columns: &[
        ("worker", SqlType::BigInt),
        ("node", SqlType::BigInt),
        ("state", SqlType::Text),
        ("query_id", SqlType::BigInt),
        ("pipeline", SqlType::BigInt),
        ("name", SqlType::Text),
        ("morsels", SqlType::BigInt),
        ("rows", SqlType::BigInt),
        ("busy_ms", SqlType::Double),
        ("idle_ms", SqlType::Double),
    ],
    rows,
};

fn rows(environment: &Environment) -> Vec<Vec<Value>> {
    let shared = &environment.database.0;
    let running = shared.activity.running();
    let queries: HashMap<u64, u64> = running.iter().filter_map(|s| Some((s.job_number()?, s.number))).collect();
    let of = |worker: WorkerReport| {
        let state = match worker.state {
            WorkerState::Running => "running",
            WorkerState::Looking => "looking",
            WorkerState::Parked => "parked",
            WorkerState::Inactive => "inactive",
        };
        let (job, stage) = worker.serves.unzip();
        let query = job.and_then(|job| queries.get(&job));
        vec![
            count(worker.worker as u64),
            count(worker.node.into()),
            Value::str(state),
            query.map_or(Value::Null, |&query| count(query)),
            stage.map_or(Value::Null, |stage| count(stage as u64)),
            worker.stage.map_or(Value::Null, Value::str),
            count(worker.morsels),
            count(worker.rows),
            ms(worker.busy),
            ms(worker.idle),
        ]
    };
    shared.scheduler.workers().into_iter().map(of).collect()
}
