//! Views of `pg_catalog` and `information_schema` that list one kind of object each: materialized views, cursors, domains, and
//! what statistics there are of tables.

use catalog::{Domain, TableEntry};
use types::{SqlType, Value};

use super::{DATABASE, INFORMATION_SCHEMA, OWNER, PG_CATALOG, System, SystemTable, Type, number_of, optional, text};

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_matviews",
        columns: &[
            ("schemaname", SqlType::Text),
            ("matviewname", SqlType::Text),
            ("matviewowner", SqlType::Text),
            ("tablespace", SqlType::Text),
            ("hasindexes", SqlType::Bool),
            ("ispopulated", SqlType::Bool),
            ("definition", SqlType::Text),
        ],
        rows: materialized_views,
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_cursors",
        columns: &[
            ("name", SqlType::Text),
            ("statement", SqlType::Text),
            ("is_holdable", SqlType::Bool),
            ("is_binary", SqlType::Bool),
            ("is_scrollable", SqlType::Bool),
            ("creation_time", SqlType::Timestamptz),
        ],
        rows: cursors,
    },
    SystemTable { schema: PG_CATALOG, name: "pg_stat_user_tables", columns: STATISTICS, rows: tables },
    SystemTable { schema: PG_CATALOG, name: "pg_stat_all_tables", columns: STATISTICS, rows: tables },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "domains",
        columns: &[
            ("domain_catalog", SqlType::Text),
            ("domain_schema", SqlType::Text),
            ("domain_name", SqlType::Text),
            ("data_type", SqlType::Text),
            ("character_maximum_length", SqlType::Integer),
            ("domain_default", SqlType::Text),
            ("udt_catalog", SqlType::Text),
            ("udt_schema", SqlType::Text),
            ("udt_name", SqlType::Text),
        ],
        rows: domains,
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "domain_constraints",
        columns: &[
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
            ("domain_catalog", SqlType::Text),
            ("domain_schema", SqlType::Text),
            ("domain_name", SqlType::Text),
            ("is_deferrable", SqlType::Text),
            ("initially_deferred", SqlType::Text),
        ],
        rows: domain_constraints,
    },
];

/// Of PostgreSQL's statistics of tables, what is known: the rows that are there. What nobody counts is NULL.
const STATISTICS: super::Columns = &[
    ("relid", SqlType::BigInt),
    ("schemaname", SqlType::Text),
    ("relname", SqlType::Text),
    ("seq_scan", SqlType::BigInt),
    ("seq_tup_read", SqlType::BigInt),
    ("idx_scan", SqlType::BigInt),
    ("idx_tup_fetch", SqlType::BigInt),
    ("n_tup_ins", SqlType::BigInt),
    ("n_tup_upd", SqlType::BigInt),
    ("n_tup_del", SqlType::BigInt),
    ("n_live_tup", SqlType::BigInt),
    ("n_dead_tup", SqlType::BigInt),
    ("last_vacuum", SqlType::Timestamptz),
    ("last_autovacuum", SqlType::Timestamptz),
    ("last_analyze", SqlType::Timestamptz),
    ("last_autoanalyze", SqlType::Timestamptz),
];

fn materialized_views(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &TableEntry)| {
        let TableEntry::Table(table) = entry else { return None };
        let view = table.definition.as_ref()?;
        let (has_indexes, is_filled) = (Value::Bool(!table.indexes.is_empty()), Value::Bool(true));
        Some(vec![text(schema), text(name), text(OWNER), Value::Null, has_indexes, is_filled, text(&view.sql)])
    };
    system.catalog.entries().filter_map(row).collect()
}

/// What a cursor was declared as is not kept.
fn cursors(system: &System<'_>) -> Vec<Vec<Value>> {
    let block = system.environment.block.as_ref();
    let all = system.environment.cursors.iter().filter(|(_, cursor)| cursor.block.is_none() || cursor.is_of(block));
    all.map(|(name, cursor)| {
        let is = Value::Bool;
        vec![text(name), Value::Null, is(cursor.holds), is(false), is(cursor.scrolls), Value::Null]
    })
    .collect()
}

fn tables(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &TableEntry)| {
        let TableEntry::Table(table) = entry else { return None };
        let number = number_of(system.catalog, Some(schema), name);
        let mut row = vec![optional(number), text(schema), text(name)];
        row.resize(STATISTICS.len(), Value::Null);
        row[10] = Value::Int(table.relation.row_count() as i64);
        row[11] = Value::Int(0);
        Some(row)
    };
    system.catalog.entries().filter_map(row).collect()
}

fn domains(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, domain): (&str, &str, &std::sync::Arc<Domain>)| {
        let of = Type::of(domain.sql_type);
        let length = match domain.sql_type {
            SqlType::Varchar(n) | SqlType::Char(n) => Some(i64::from(n)),
            _ => None,
        };
        let default = domain.filling.sql(domain.sql_type).map_or(Value::Null, text);
        let named = [text(DATABASE), text(schema), text(name), text(of.full), optional(length), default];
        named.into_iter().chain([text(DATABASE), text(PG_CATALOG), text(&of.name)]).collect()
    };
    system.catalog.domains().map(row).collect()
}

fn domain_constraints(system: &System<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (schema, name, domain) in system.catalog.domains() {
        for check in &domain.checks {
            let constraint = [text(DATABASE), text(schema), text(&check.name)];
            let of = [text(DATABASE), text(schema), text(name), text("NO"), text("NO")];
            rows.push(constraint.into_iter().chain(of).collect());
        }
    }
    rows
}
