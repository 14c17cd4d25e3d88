//! `running_queries()` and `query_history()`: statements that run, and the last ones that have ended.

use std::time::Duration;

use types::{SqlType, Value};

use super::{View, count, ms};
use crate::activity::{Outcome, Phases, Statement, Work};
use crate::environment::Environment;

pub(super) const RUNNING_QUERIES: View = View {
    name: "running_queries",
    columns: &[
        ("query_id", SqlType::BigInt),
        ("session_id", SqlType::BigInt),
        ("own_session", SqlType::Bool),
        ("query", SqlType::Text),
        ("started", SqlType::Timestamp),
        ("state", SqlType::Text),
        ("elapsed_ms", SqlType::Double),
        ("progress", SqlType::Double),
        ("remaining_ms", SqlType::Double),
        ("pipelines_done", SqlType::BigInt),
        ("pipelines", SqlType::BigInt),
        ("morsels", SqlType::BigInt),
        ("rows_read", SqlType::BigInt),
        ("local_bytes", SqlType::BigInt),
        ("remote_bytes", SqlType::BigInt),
        ("rows", SqlType::BigInt),
        ("worker_ms", SqlType::Double),
        ("memory", SqlType::BigInt),
        ("peak_memory", SqlType::BigInt),
    ],
    rows: running,
};

pub(super) const QUERY_HISTORY: View = View {
    name: "query_history",
    columns: &[
        ("query_id", SqlType::BigInt),
        ("session_id", SqlType::BigInt),
        ("own_session", SqlType::Bool),
        ("query", SqlType::Text),
        ("started", SqlType::Timestamp),
        ("state", SqlType::Text),
        ("error", SqlType::Text),
        ("total_ms", SqlType::Double),
        ("planning_ms", SqlType::Double),
        ("compiling_ms", SqlType::Double),
        ("execution_ms", SqlType::Double),
        ("queued_ms", SqlType::Double),
        ("waiting_ms", SqlType::Double),
        ("worker_ms", SqlType::Double),
        ("morsels", SqlType::BigInt),
        ("rows_read", SqlType::BigInt),
        ("local_bytes", SqlType::BigInt),
        ("remote_bytes", SqlType::BigInt),
        ("rows", SqlType::BigInt),
        ("peak_memory", SqlType::BigInt),
    ],
    rows: history,
};

fn running(environment: &Environment) -> Vec<Vec<Value>> {
    let row = |statement: &Statement| {
        let (work, phases) = (statement.work(), statement.phases());
        let (used, peak) = statement.memory();
        let mut row = of_both(environment, statement);
        row.extend([
            Value::str(state(&phases, &work)),
            ms(phases.total),
            Value::Float(work.fraction),
            remaining(&phases, &work).map_or(Value::Null, ms),
            count(work.pipelines_done as u64),
            count(work.pipelines as u64),
            count(work.morsels),
            count(work.rows_read),
            count(work.traffic.local()),
            count(work.traffic.remote()),
            count(statement.rows()),
            ms(work.busy),
            count(used as u64),
            count(peak as u64),
        ]);
        row
    };
    environment.database.0.activity.running().iter().map(|statement| row(statement)).collect()
}

fn history(environment: &Environment) -> Vec<Vec<Value>> {
    let row = |statement: &Statement| {
        let (work, phases) = (statement.work(), statement.phases());
        let outcome = statement.outcome().unwrap_or(Outcome::Finished);
        let error = if let Outcome::Failed(state) = outcome { Value::str(state.0) } else { Value::Null };
        let mut row = of_both(environment, statement);
        row.extend([
            Value::str(outcome.name()),
            error,
            ms(phases.total),
            ms(phases.planning),
            phases.compiling.map_or(Value::Null, ms),
            phases.execution.map_or(Value::Null, ms),
            ms(work.queued),
            ms(work.waiting),
            ms(work.busy),
            count(work.morsels),
            count(work.rows_read),
            count(work.traffic.local()),
            count(work.traffic.remote()),
            count(statement.rows()),
            count(statement.memory().1 as u64),
        ]);
        row
    };
    environment.database.0.activity.ended().iter().map(|statement| row(statement)).collect()
}

/// The columns that both views begin with.
fn of_both(environment: &Environment, statement: &Statement) -> Vec<Value> {
    vec![
        count(statement.number),
        count(statement.session),
        Value::Bool(statement.session == environment.session),
        Value::str(statement.shown_text()),
        Value::Timestamp(statement.started()),
    ]
}

fn state(phases: &Phases, work: &Work) -> &'static str {
    match phases {
        Phases { compiling: None, .. } => "planning",
        Phases { execution: None, .. } => "compiling",
        _ if work.is_queued => "queued",
        _ if work.is_waiting => "waiting",
        _ => "running",
    }
}

/// What is left if it goes on as it has since a worker took it up; none as long as that says nothing.
fn remaining(phases: &Phases, work: &Work) -> Option<Duration> {
    let ran = phases.execution?.saturating_sub(work.queued + work.waiting);
    (work.fraction > 0.0).then(|| ran.mul_f64((1.0 - work.fraction) / work.fraction))
}
