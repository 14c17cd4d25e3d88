//! `pg_catalog`, as far as tools read it.

use std::sync::Arc;

use catalog::{CatalogSnapshot, Commented, Filling, Kind, SequenceEntry, TEMPORARY_SCHEMA, TableEntry, UserType};
use types::{SqlType, Value};

use super::{
    Column, DATABASE, OWNER, PG_CATALOG as SCHEMA, System, SystemTable, TYPES, TableKey, Type, enum_oid, oid,
    schema_oid, text,
};
use crate::PreparedStatement;
use crate::settings::SETTINGS;

/// The number of who owns everything.
const OWNER_OID: i64 = 10;
/// The number of the way in which indexes are made.
const BTREE: i64 = 403;

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: SCHEMA,
        name: "pg_namespace",
        columns: &[
            ("oid", SqlType::BigInt),
            ("nspname", SqlType::Text),
            ("nspowner", SqlType::BigInt),
            ("nspacl", SqlType::Text),
        ],
        rows: |system| {
            let row =
                |schema: &str| vec![Value::Int(schema_oid(schema)), text(schema), Value::Int(OWNER_OID), Value::Null];
            system.schemas().into_iter().map(row).collect()
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_class",
        columns: &[
            ("oid", SqlType::BigInt),
            ("relname", SqlType::Text),
            ("relnamespace", SqlType::BigInt),
            ("reltype", SqlType::BigInt),
            ("relowner", SqlType::BigInt),
            ("relam", SqlType::BigInt),
            ("reltablespace", SqlType::BigInt),
            ("relpages", SqlType::Integer),
            ("reltuples", SqlType::Real),
            ("relhasindex", SqlType::Bool),
            ("relisshared", SqlType::Bool),
            ("relpersistence", SqlType::Text),
            ("relkind", SqlType::Text),
            ("relnatts", SqlType::SmallInt),
            ("relchecks", SqlType::SmallInt),
            ("relhasrules", SqlType::Bool),
            ("relhastriggers", SqlType::Bool),
            ("relrowsecurity", SqlType::Bool),
            ("relforcerowsecurity", SqlType::Bool),
            ("relreplident", SqlType::Text),
            ("relispartition", SqlType::Bool),
            ("reloptions", SqlType::Text),
            ("reloftype", SqlType::BigInt),
            ("reltoastrelid", SqlType::BigInt),
            ("relpartbound", SqlType::Text),
        ],
        rows: classes,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_attribute",
        columns: &[
            ("attrelid", SqlType::BigInt),
            ("attname", SqlType::Text),
            ("atttypid", SqlType::BigInt),
            ("attlen", SqlType::SmallInt),
            ("attnum", SqlType::SmallInt),
            ("atttypmod", SqlType::Integer),
            ("attnotnull", SqlType::Bool),
            ("atthasdef", SqlType::Bool),
            ("attidentity", SqlType::Text),
            ("attgenerated", SqlType::Text),
            ("attisdropped", SqlType::Bool),
            ("attcollation", SqlType::BigInt),
        ],
        rows: attributes,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_type",
        columns: &[
            ("oid", SqlType::BigInt),
            ("typname", SqlType::Text),
            ("typnamespace", SqlType::BigInt),
            ("typowner", SqlType::BigInt),
            ("typlen", SqlType::SmallInt),
            ("typtype", SqlType::Text),
            ("typcategory", SqlType::Text),
            ("typrelid", SqlType::BigInt),
            ("typelem", SqlType::BigInt),
            ("typbasetype", SqlType::BigInt),
            ("typnotnull", SqlType::Bool),
            ("typcollation", SqlType::BigInt),
        ],
        rows: types,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_enum",
        columns: &[
            ("oid", SqlType::BigInt),
            ("enumtypid", SqlType::BigInt),
            ("enumsortorder", SqlType::Real),
            ("enumlabel", SqlType::Text),
        ],
        rows: labels,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_tables",
        columns: &[
            ("schemaname", SqlType::Text),
            ("tablename", SqlType::Text),
            ("tableowner", SqlType::Text),
            ("tablespace", SqlType::Text),
            ("hasindexes", SqlType::Bool),
            ("hasrules", SqlType::Bool),
            ("hastriggers", SqlType::Bool),
            ("rowsecurity", SqlType::Bool),
        ],
        rows: tables,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_views",
        columns: &[
            ("schemaname", SqlType::Text),
            ("viewname", SqlType::Text),
            ("viewowner", SqlType::Text),
            ("definition", SqlType::Text),
        ],
        rows: views,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_indexes",
        columns: &[
            ("schemaname", SqlType::Text),
            ("tablename", SqlType::Text),
            ("indexname", SqlType::Text),
            ("tablespace", SqlType::Text),
            ("indexdef", SqlType::Text),
        ],
        rows: indexes,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_prepared_statements",
        columns: &[
            ("name", SqlType::Text),
            ("statement", SqlType::Text),
            ("prepare_time", SqlType::Timestamptz),
            ("parameter_types", SqlType::Text),
            ("from_sql", SqlType::Bool),
        ],
        rows: prepared_statements,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_database",
        columns: &[
            ("oid", SqlType::BigInt),
            ("datname", SqlType::Text),
            ("datdba", SqlType::BigInt),
            ("encoding", SqlType::Integer),
            ("datcollate", SqlType::Text),
            ("datctype", SqlType::Text),
            ("datistemplate", SqlType::Bool),
            ("datallowconn", SqlType::Bool),
            ("datacl", SqlType::Text),
            ("daticulocale", SqlType::Text),
            ("datlocprovider", SqlType::Text),
        ],
        rows: |_| {
            // Encoding 6 is UTF-8.
            let (no, yes) = (Value::Bool(false), Value::Bool(true));
            let number = Value::Int(oid("database", DATABASE, ""));
            vec![vec![
                number,
                text(DATABASE),
                Value::Int(OWNER_OID),
                Value::Int(6),
                text("C"),
                text("C"),
                no,
                yes,
                Value::Null,
                Value::Null,
                text("c"),
            ]]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_settings",
        columns: &[
            ("name", SqlType::Text),
            ("setting", SqlType::Text),
            ("short_desc", SqlType::Text),
            ("context", SqlType::Text),
            ("boot_val", SqlType::Text),
        ],
        rows: settings,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_am",
        columns: &[("oid", SqlType::BigInt), ("amname", SqlType::Text), ("amtype", SqlType::Text)],
        rows: |_| {
            let row = |number, name, kind| vec![Value::Int(number), text(name), text(kind)];
            vec![row(2, "heap", "t"), row(BTREE, "btree", "i")]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_roles",
        columns: &[("oid", SqlType::BigInt), ("rolname", SqlType::Text), ("rolsuper", SqlType::Bool)],
        rows: |_| vec![vec![Value::Int(OWNER_OID), text(OWNER), Value::Bool(true)]],
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_user",
        columns: &[("usename", SqlType::Text), ("usesysid", SqlType::BigInt), ("usesuper", SqlType::Bool)],
        rows: |_| vec![vec![text(OWNER), Value::Int(OWNER_OID), Value::Bool(true)]],
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_collation",
        columns: &[("oid", SqlType::BigInt), ("collname", SqlType::Text), ("collnamespace", SqlType::BigInt)],
        rows: |_| {
            let row = |number, name| vec![Value::Int(number), text(name), Value::Int(schema_oid(SCHEMA))];
            vec![row(100, "default"), row(950, "C")]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_stat_activity",
        columns: &[
            ("datname", SqlType::Text),
            ("pid", SqlType::BigInt),
            ("usename", SqlType::Text),
            ("application_name", SqlType::Text),
            ("query_start", SqlType::Timestamptz),
            ("state", SqlType::Text),
            ("query", SqlType::Text),
        ],
        rows: |system| {
            let row = |statement: &Arc<crate::activity::Statement>| {
                vec![
                    text(DATABASE),
                    Value::Int(statement.session as i64),
                    text(OWNER),
                    text(""),
                    Value::Timestamp(statement.started),
                    text("active"),
                    text(&statement.text),
                ]
            };
            system.environment.database.0.activity.running().iter().map(row).collect()
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_inherits",
        columns: &[
            ("inhrelid", SqlType::BigInt),
            ("inhparent", SqlType::BigInt),
            ("inhseqno", SqlType::Integer),
            ("inhdetachpending", SqlType::Bool),
        ],
        rows: |_| Vec::new(),
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_trigger",
        columns: &[
            ("oid", SqlType::BigInt),
            ("tgrelid", SqlType::BigInt),
            ("tgname", SqlType::Text),
            ("tgenabled", SqlType::Text),
            ("tgisinternal", SqlType::Bool),
            ("tgparentid", SqlType::BigInt),
        ],
        rows: |_| Vec::new(),
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_description",
        columns: &[
            ("objoid", SqlType::BigInt),
            ("classoid", SqlType::BigInt),
            ("objsubid", SqlType::Integer),
            ("description", SqlType::Text),
        ],
        rows: descriptions,
    },
];

fn classes(system: &System<'_>) -> Vec<Vec<Value>> {
    let relation = |(schema, name, entry): (&str, &str, &TableEntry)| {
        let columns = entry.fields().len();
        match entry {
            TableEntry::Table(table) => {
                let has_key = !table.relation.schema().primary_key().is_empty() || !table.indexes.is_empty();
                let class = Class { tuples: table.relation.row_count() as f64, has_key, ..Class::of("r", columns) };
                class.row(schema, name, table.checks.len())
            }
            TableEntry::View(_) => Class::of("v", columns).row(schema, name, 0),
        }
    };
    let key = |key: TableKey<'_>| Class::of("i", key.columns.len()).row(key.schema, &key.name, 0);
    let sequence = |(schema, name, _): (&str, &str, &SequenceEntry)| Class::of("S", 3).row(schema, name, 0);
    let relations = system.catalog.entries().map(relation);
    let sequences = system.catalog.sequences().map(sequence);
    relations.chain(system.keys().into_iter().map(key)).chain(sequences).collect()
}

/// What `pg_class` says of something.
struct Class {
    kind: &'static str,
    columns: usize,
    tuples: f64,
    has_key: bool,
}

impl Class {
    fn of(kind: &'static str, columns: usize) -> Self {
        Self { kind, columns, tuples: 0.0, has_key: false }
    }

    fn row(self, schema: &str, name: &str, checks: usize) -> Vec<Value> {
        let (no, none) = (|| Value::Bool(false), || Value::Int(0));
        let Self { kind, columns, tuples, has_key } = self;
        let method = match kind {
            "r" => 2,
            "i" => BTREE,
            _ => 0,
        };
        vec![
            Value::Int(oid("table", schema, name)),
            text(name),
            Value::Int(schema_oid(schema)),
            none(),
            Value::Int(OWNER_OID),
            Value::Int(method),
            none(),
            none(),
            Value::Float(tuples),
            Value::Bool(has_key),
            no(),
            text(if schema == TEMPORARY_SCHEMA { "t" } else { "p" }),
            text(kind),
            Value::Int(columns as i64),
            Value::Int(checks as i64),
            Value::Bool(kind == "v"),
            no(),
            no(),
            no(),
            text(if kind == "r" { "d" } else { "n" }),
            no(),
            Value::Null,
            none(),
            none(),
            Value::Null,
        ]
    }
}

fn attributes(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |Column { schema, table, number, field, filling, named }: Column<'_>| {
        vec![
            Value::Int(oid("table", schema, table)),
            text(&field.name),
            Value::Int(named.oid),
            Value::Int(named.length),
            Value::Int(number),
            Value::Int(named.modifier),
            Value::Bool(!field.nullable),
            Value::Bool(filling.is_some_and(|filling| filling.sql(field.sql_type).is_some())),
            text(match filling {
                Some(Filling::Identity { always: true, .. }) => "a",
                Some(Filling::Identity { always: false, .. }) => "d",
                _ => "",
            }),
            text(if filling.is_some_and(Filling::is_generated) { "s" } else { "" }),
            Value::Bool(false),
            Value::Int(if named.category == "S" { 100 } else { 0 }),
        ]
    };
    system.columns().into_iter().map(row).collect()
}

fn types(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |&(_, oid, name, _, length, category): &(&str, i64, &str, &str, i64, &str)| {
        vec![
            Value::Int(oid),
            text(name),
            Value::Int(schema_oid(SCHEMA)),
            Value::Int(OWNER_OID),
            Value::Int(length),
            text("b"),
            text(category),
            Value::Int(0),
            Value::Int(0),
            Value::Int(0),
            Value::Bool(false),
            Value::Int(if category == "S" { 100 } else { 0 }),
        ]
    };
    let own = |(schema, name, of): (&str, &str, &UserType)| {
        vec![
            Value::Int(enum_oid(of.of)),
            text(name),
            Value::Int(schema_oid(schema)),
            Value::Int(OWNER_OID),
            Value::Int(4),
            text("e"),
            text("E"),
            Value::Int(0),
            Value::Int(0),
            Value::Int(0),
            Value::Bool(false),
            Value::Int(0),
        ]
    };
    TYPES.iter().map(row).chain(system.catalog.user_types().map(own)).collect()
}

fn descriptions(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(on, comment): (&Commented, &str)| {
        let (class, object, part) = numbers(system.catalog, on)?;
        Some(vec![Value::Int(object), Value::Int(class), Value::Int(part), text(comment)])
    };
    system.catalog.comments().filter_map(row).collect()
}

/// The numbers of the table of the system that has something, of itself, and of the part that it is.
fn numbers(catalog: &CatalogSnapshot, on: &Commented) -> Option<(i64, i64, i64)> {
    const CLASS: i64 = 1259;
    const NAMESPACE: i64 = 2615;
    const TYPE: i64 = 1247;
    const CONSTRAINT: i64 = 2606;
    const DATABASES: i64 = 1262;
    Some(match on {
        Commented::Database => (DATABASES, oid("database", DATABASE, ""), 0),
        Commented::Schema(name) => (NAMESPACE, schema_oid(name), 0),
        Commented::Table(schema, name)
        | Commented::View(schema, name)
        | Commented::Sequence(schema, name)
        | Commented::Index(schema, name) => (CLASS, oid("table", schema, name), 0),
        Commented::Type(schema, name) => (TYPE, enum_oid(catalog.user_type(Some(schema), name)?.of), 0),
        Commented::Column(schema, table, column) => {
            let fields = catalog.find(Some(schema), table)?.fields();
            let number = fields.iter().position(|field| field.name == *column)?;
            (CLASS, oid("table", schema, table), number as i64 + 1)
        }
        Commented::Constraint(schema, table, name) => {
            (CONSTRAINT, oid(&format!("constraint of {table}"), schema, name), 0)
        }
    })
}

fn labels(system: &System<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (_, _, user_type) in system.catalog.user_types() {
        let number = user_type.of.number().to_string();
        for (at, (code, label)) in user_type.labels.iter().enumerate() {
            let own = oid("label", &number, &code.to_string());
            rows.push(vec![
                Value::Int(own),
                Value::Int(enum_oid(user_type.of)),
                Value::Float(at as f64 + 1.0),
                text(label),
            ]);
        }
    }
    rows
}

fn tables(system: &System<'_>) -> Vec<Vec<Value>> {
    let keys = system.keys();
    let entries = system.catalog.entries().filter(|(_, _, entry)| entry.kind() == Kind::Table);
    let row = |(schema, name, _): (&str, &str, &TableEntry)| {
        let has_key = keys.iter().any(|key| (key.schema, key.table) == (schema, name));
        let no = || Value::Bool(false);
        vec![text(schema), text(name), text(OWNER), Value::Null, Value::Bool(has_key), no(), no(), no()]
    };
    entries.map(row).collect()
}

fn views(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &TableEntry)| match entry {
        TableEntry::Table(_) => None,
        TableEntry::View(view) => Some(vec![text(schema), text(name), text(OWNER), text(&view.sql)]),
    };
    system.catalog.entries().filter_map(row).collect()
}

fn indexes(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |key: TableKey<'_>| vec![text(key.schema), text(key.table), text(key.name), Value::Null, text(key.sql)];
    system.keys().into_iter().map(row).collect()
}

/// Types are a text as PostgreSQL shows their array.
fn prepared_statements(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(name, prepared): (&String, &Arc<PreparedStatement>)| {
        let quoted = |t: &SqlType| match Type::of(*t).full {
            "ARRAY" => t.to_string(),
            name if name.contains(' ') => format!("\"{name}\""),
            name => name.to_owned(),
        };
        let types: Vec<String> = prepared.parameter_types().iter().map(quoted).collect();
        let types = format!("{{{}}}", types.join(","));
        let made = Value::Timestamp(prepared.made);
        vec![text(name), text(&prepared.told), made, text(&types), Value::Bool(true)]
    };
    system.environment.prepared.iter().map(row).collect()
}

fn settings(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |setting: &'static crate::settings::Setting| {
        let value = system.environment.value_of(setting);
        vec![text(setting.name), text(value), text(setting.description), text("user"), text(setting.default)]
    };
    SETTINGS.iter().map(row).collect()
}
