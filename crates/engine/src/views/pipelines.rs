//! `running_pipelines()`: what each pipeline of the running queries has taken so far.

use types::{SqlType, Value};

use super::{View, count, ms};
use crate::environment::Environment;

pub(super) const RUNNING_PIPELINES: View = View {
    name: "running_pipelines",
    columns: &[
        ("query_id", SqlType::BigInt),
        ("pipeline", SqlType::BigInt),
        ("name", SqlType::Text),
        ("state", SqlType::Text),
        ("rows", SqlType::BigInt),
        ("total_rows", SqlType::BigInt),
        ("morsels", SqlType::BigInt),
        ("stolen", SqlType::BigInt),
        ("yields", SqlType::BigInt),
        ("remote_rows", SqlType::BigInt),
        ("local_bytes", SqlType::BigInt),
        ("remote_bytes", SqlType::BigInt),
        ("worker_ms", SqlType::Double),
    ],
    rows,
};

fn rows(environment: &Environment) -> Vec<Vec<Value>> {
    let running = environment.database.0.activity.running();
    let of = |query: u64, number: usize, stage: scheduler::StageReport| {
        let state = match (stage.started, stage.finished) {
            (_, true) => "done",
            (true, _) => "running",
            (false, _) => "to come",
        };
        vec![
            count(query),
            count(number as u64),
            Value::str(stage.name),
            Value::str(state),
            count(stage.rows),
            count(stage.total_rows),
            count(stage.morsels),
            count(stage.stolen),
            count(stage.yields),
            count(stage.remote_rows),
            count(stage.traffic.local()),
            count(stage.traffic.remote()),
            ms(stage.busy),
        ]
    };
    let pipelines = running.iter().flat_map(|statement| {
        let stages = statement.pipelines().into_iter().enumerate();
        stages.map(|(number, stage)| of(statement.number, number, stage)).collect::<Vec<_>>()
    });
    pipelines.collect()
}
