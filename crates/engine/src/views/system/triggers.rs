//! Triggers in `pg_catalog` and `information_schema`.

use catalog::{Event, Timing, Trigger};
use types::{SqlType, Value};

use super::{DATABASE, INFORMATION_SCHEMA, PG_CATALOG, System, SystemTable, oid, text};
use crate::definitions::{quoted, trigger_definition};

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_trigger",
        columns: &[
            ("oid", SqlType::BigInt),
            ("tgrelid", SqlType::BigInt),
            ("tgparentid", SqlType::BigInt),
            ("tgname", SqlType::Text),
            ("tgfoid", SqlType::BigInt),
            ("tgtype", SqlType::SmallInt),
            ("tgenabled", SqlType::Text),
            ("tgisinternal", SqlType::Bool),
            ("tgconstrrelid", SqlType::BigInt),
            ("tgconstrindid", SqlType::BigInt),
            ("tgconstraint", SqlType::BigInt),
            ("tgdeferrable", SqlType::Bool),
            ("tginitdeferred", SqlType::Bool),
            ("tgnargs", SqlType::SmallInt),
            ("tgattr", SqlType::Text),
            ("tgargs", SqlType::Text),
            ("tgqual", SqlType::Text),
            ("tgoldtable", SqlType::Text),
            ("tgnewtable", SqlType::Text),
            ("tgdef", SqlType::Text),
        ],
        rows: |system| each(system, |schema, table, trigger| vec![row(schema, table, trigger)]),
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "triggers",
        columns: &[
            ("trigger_catalog", SqlType::Text),
            ("trigger_schema", SqlType::Text),
            ("trigger_name", SqlType::Text),
            ("event_manipulation", SqlType::Text),
            ("event_object_catalog", SqlType::Text),
            ("event_object_schema", SqlType::Text),
            ("event_object_table", SqlType::Text),
            ("action_order", SqlType::Integer),
            ("action_condition", SqlType::Text),
            ("action_statement", SqlType::Text),
            ("action_orientation", SqlType::Text),
            ("action_timing", SqlType::Text),
            ("action_reference_old_table", SqlType::Text),
            ("action_reference_new_table", SqlType::Text),
        ],
        rows: |system| each(system, event_rows),
    },
];

fn each(system: &System<'_>, rows: impl Fn(&str, &str, &Trigger) -> Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let of = |(schema, table, entry): (&str, &str, &catalog::TableEntry)| {
        entry.triggers().iter().flat_map(|trigger| rows(schema, table, trigger)).collect::<Vec<_>>()
    };
    system.catalog.entries().flat_map(of).collect()
}

fn optional(written: Option<&String>) -> Value {
    written.map_or(Value::Null, text)
}

fn row(schema: &str, table: &str, trigger: &Trigger) -> Vec<Value> {
    // Bits as PostgreSQL numbers them.
    let has = |event| trigger.events.contains(&event);
    let bits = [
        (trigger.for_each_row, 1),
        (trigger.timing == Timing::Before, 2),
        (has(Event::Insert), 4),
        (has(Event::Delete), 8),
        (has(Event::Update), 16),
        (has(Event::Truncate), 32),
        (trigger.timing == Timing::InsteadOf, 64),
    ];
    let kind: i64 = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
    let (none, no) = (|| Value::Int(0), || Value::Bool(false));
    vec![
        Value::Int(oid("trigger", schema, &format!("{table}.{}", trigger.name))),
        Value::Int(oid("table", schema, table)),
        none(),
        text(&trigger.name),
        Value::Int(oid("routine", &trigger.function.0, &format!("{}()", trigger.function.1))),
        Value::Int(kind),
        text(if trigger.is_enabled { "O" } else { "D" }),
        no(),
        none(),
        none(),
        none(),
        no(),
        no(),
        Value::Int(trigger.arguments.len() as i64),
        text(trigger.columns.join(" ")),
        text(trigger.arguments.join("\\000")),
        optional(trigger.when.as_ref()),
        optional(trigger.old_table.as_ref()),
        optional(trigger.new_table.as_ref()),
        text(trigger_definition(schema, table, trigger)),
    ]
}

fn event_rows(schema: &str, table: &str, trigger: &Trigger) -> Vec<Vec<Value>> {
    // TRUNCATE is not of the standard.
    let events = trigger.events.iter().filter(|event| **event != Event::Truncate);
    let row = |event: &Event| {
        vec![
            text(DATABASE),
            text(schema),
            text(&trigger.name),
            text(event.name()),
            text(DATABASE),
            text(schema),
            text(table),
            Value::Int(1),
            optional(trigger.when.as_ref()),
            text(format!("EXECUTE FUNCTION {}()", quoted(&trigger.function.1))),
            text(if trigger.for_each_row { "ROW" } else { "STATEMENT" }),
            text(trigger.timing.name()),
            optional(trigger.old_table.as_ref()),
            optional(trigger.new_table.as_ref()),
        ]
    };
    events.map(row).collect()
}
