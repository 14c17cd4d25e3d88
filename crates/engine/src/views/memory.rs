//! `memory_usage()`: who has memory, and how much.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::TableEntry;
use storage::{ChunkView, Relation};
use types::{SqlType, Value};

use super::{View, count};
use crate::environment::Environment;

/// What tables charge: their rows here show what they hold instead.
const OF_TABLES: [&str; 2] = ["insert", "primary key"];

pub(super) const MEMORY_USAGE: View = View {
    name: "memory_usage",
    columns: &[
        ("owner", SqlType::Text),
        ("name", SqlType::Text),
        ("part", SqlType::Text),
        ("query_id", SqlType::BigInt),
        ("bytes", SqlType::BigInt),
        ("charged", SqlType::Bool),
    ],
    rows,
};

fn rows(environment: &Environment) -> Vec<Vec<Value>> {
    let mut rows = tables(environment);
    rows.extend(queries(environment));
    rows.extend(database(environment));
    rows.extend(process());
    rows
}

fn row(owner: &str, name: Value, part: &str, query: Option<u64>, bytes: usize, charged: bool) -> Vec<Value> {
    let query = query.map_or(Value::Null, count);
    vec![Value::str(owner), name, Value::str(part), query, count(bytes as u64), Value::Bool(charged)]
}

/// What the columns of a table hold.
pub(super) fn bytes_of_columns(relation: &Arc<Relation>) -> usize {
    let snapshot = relation.snapshot();
    let attributes = snapshot.schema().attributes().len();
    let of_chunk = |chunk: ChunkView<'_>| {
        let reader = chunk.read();
        (0..attributes).map(|attribute| reader.form(attribute).1).sum::<usize>()
    };
    snapshot.chunks().map(of_chunk).sum()
}

/// What each table holds, by the forms of its columns, and for its keys.
fn tables(environment: &Environment) -> Vec<Vec<Value>> {
    let catalog = environment.database.0.catalog.snapshot();
    let mut rows = Vec::new();
    for (schema, name, entry) in catalog.entries() {
        let TableEntry::Table(table) = entry else { continue };
        let snapshot = table.relation.snapshot();
        let mut forms = BTreeMap::<&str, usize>::new();
        for chunk in snapshot.chunks() {
            let reader = chunk.read();
            for attribute in 0..snapshot.schema().attributes().len() {
                let (form, bytes) = reader.form(attribute);
                *forms.entry(form.split(',').next().unwrap_or(form)).or_default() += bytes;
            }
        }
        forms.extend([("keys", table.relation.key_bytes())]);
        let name = Value::str(format!("{schema}.{name}"));
        let held = forms.into_iter().filter(|(_, bytes)| *bytes > 0);
        rows.extend(held.map(|(part, bytes)| row("table", name.clone(), part, None, bytes, true)));
    }
    rows
}

/// What each running statement holds, by its operators.
fn queries(environment: &Environment) -> Vec<Vec<Value>> {
    let running = environment.database.0.activity.running();
    let of = |statement: &crate::activity::Statement| {
        let holders = statement.holders().into_iter();
        holders.map(|(part, bytes)| row("query", Value::Null, part, Some(statement.number), bytes, true)).collect()
    };
    running.iter().flat_map(|statement| -> Vec<Vec<Value>> { of(statement) }).collect()
}

/// What belongs to no table and no statement, and how much of the limit is taken.
fn database(environment: &Environment) -> Vec<Vec<Value>> {
    let shared = &environment.database.0;
    let mut own: BTreeMap<&str, usize> = shared.budget.holders().into_iter().collect();
    for (operator, bytes) in shared.activity.running().iter().flat_map(|statement| statement.holders()) {
        own.entry(operator).and_modify(|all| *all = all.saturating_sub(bytes));
    }
    let own = own.into_iter().filter(|(operator, bytes)| *bytes > 0 && !OF_TABLES.contains(operator));
    let of = |part: &str, bytes, charged| row("database", Value::Null, part, None, bytes, charged);
    let mut rows: Vec<_> = own.map(|(operator, bytes)| of(operator, bytes, true)).collect();
    rows.push(of("machine code", shared.code.size().1, false));
    rows.push(of("kept plans", shared.kept.bytes(), false));
    rows.push(row("limit", Value::Null, "charged", None, shared.budget.used(), true));
    if shared.budget.limit() != usize::MAX {
        rows.push(row("limit", Value::Null, "limit", None, shared.budget.limit(), true));
    }
    rows
}

/// What the process has of the system: for its next owners, and in all, where the system tells.
fn process() -> Vec<Vec<Value>> {
    let free = base::memory::free();
    let of = |part: &str, bytes| row("process", Value::Null, part, None, bytes, false);
    let mut rows = vec![of("recycled areas", free.recycled), of("free extents", free.extents)];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<usize>().ok()
    };
    let all = [("resident", "VmRSS"), ("peak resident", "VmHWM")];
    rows.extend(all.into_iter().filter_map(|(part, name)| Some(of(part, kib(name)? << 10))));
    rows
}
