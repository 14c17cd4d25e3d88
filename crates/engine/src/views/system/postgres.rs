//! `pg_catalog`, as far as tools read it.

use std::sync::Arc;

use catalog::{CatalogSnapshot, Commented, Kind, TableEntry};
use functions::scalar::COLLATION_VERSION;
use types::{Collation, SqlType, Value};

use super::{
    BTREE, DATABASE, HASH, HEAP, OWNER, OWNER_OID, PG_CATALOG as SCHEMA, System, SystemTable, TableKey, Type, enum_oid,
    oid, schema_oid, text,
};
use crate::PreparedStatement;
use crate::settings::SETTINGS;

/// Texts in an array.
const TEXTS: SqlType = SqlType::Array(&SqlType::Text);
/// The number of the order of bytes that texts have by themselves.
pub(super) const DEFAULT_COLLATION: i64 = 100;
/// The number of the place in which tables lie.
const DEFAULT_TABLESPACE: i64 = 1663;

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: SCHEMA,
        name: "pg_namespace",
        columns: &[
            ("oid", SqlType::BigInt),
            ("nspname", SqlType::Text),
            ("nspowner", SqlType::BigInt),
            ("nspacl", TEXTS),
        ],
        rows: |system| {
            let row =
                |schema: &str| vec![Value::Int(schema_oid(schema)), text(schema), Value::Int(OWNER_OID), Value::Null];
            system.schemas().into_iter().map(row).collect()
        },
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
            ("datlocprovider", SqlType::Text),
            ("datistemplate", SqlType::Bool),
            ("datallowconn", SqlType::Bool),
            ("datconnlimit", SqlType::Integer),
            ("dattablespace", SqlType::BigInt),
            ("datcollate", SqlType::Text),
            ("datctype", SqlType::Text),
            ("daticulocale", SqlType::Text),
            ("datcollversion", SqlType::Text),
            ("datacl", TEXTS),
        ],
        rows: |_| {
            // Encoding 6 is UTF-8.
            let (no, yes, null) = (Value::Bool(false), Value::Bool(true), || Value::Null);
            let (number, owner) = (Value::Int(oid("database", DATABASE, "")), Value::Int(OWNER_OID));
            let place = Value::Int(DEFAULT_TABLESPACE);
            vec![vec![
                number,
                text(DATABASE),
                owner,
                Value::Int(6),
                text("c"),
                no,
                yes,
                Value::Int(-1),
                place,
                text("C"),
                text("C"),
                null(),
                null(),
                null(),
            ]]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_am",
        columns: &[
            ("oid", SqlType::BigInt),
            ("amname", SqlType::Text),
            ("amhandler", SqlType::BigInt),
            ("amtype", SqlType::Text),
        ],
        rows: |_| {
            let row = |number, name, kind| vec![Value::Int(number), text(name), Value::Int(0), text(kind)];
            vec![row(HEAP, "heap", "t"), row(BTREE, "btree", "i"), row(HASH, "hash", "i")]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_roles",
        columns: &[
            ("rolname", SqlType::Text),
            ("rolsuper", SqlType::Bool),
            ("rolinherit", SqlType::Bool),
            ("rolcreaterole", SqlType::Bool),
            ("rolcreatedb", SqlType::Bool),
            ("rolcanlogin", SqlType::Bool),
            ("rolreplication", SqlType::Bool),
            ("rolconnlimit", SqlType::Integer),
            ("rolpassword", SqlType::Text),
            ("rolvaliduntil", SqlType::Timestamptz),
            ("rolbypassrls", SqlType::Bool),
            ("rolconfig", TEXTS),
            ("oid", SqlType::BigInt),
        ],
        rows: |_| {
            let (yes, null) = (|| Value::Bool(true), || Value::Null);
            vec![vec![
                text(OWNER),
                yes(),
                yes(),
                yes(),
                yes(),
                yes(),
                Value::Bool(false),
                Value::Int(-1),
                null(),
                null(),
                yes(),
                null(),
                Value::Int(OWNER_OID),
            ]]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_collation",
        columns: &[
            ("oid", SqlType::BigInt),
            ("collname", SqlType::Text),
            ("collnamespace", SqlType::BigInt),
            ("collowner", SqlType::BigInt),
            ("collprovider", SqlType::Text),
            ("collisdeterministic", SqlType::Bool),
            ("collencoding", SqlType::Integer),
            ("collcollate", SqlType::Text),
            ("collctype", SqlType::Text),
            ("colliculocale", SqlType::Text),
            ("collversion", SqlType::Text),
        ],
        rows: collations,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_language",
        columns: &[
            ("oid", SqlType::BigInt),
            ("lanname", SqlType::Text),
            ("lanowner", SqlType::BigInt),
            ("lanispl", SqlType::Bool),
            ("lanpltrusted", SqlType::Bool),
            ("lanplcallfoid", SqlType::BigInt),
            ("laninline", SqlType::BigInt),
            ("lanvalidator", SqlType::BigInt),
            ("lanacl", TEXTS),
        ],
        rows: |_| {
            let row = |number, name, is_procedural| {
                let (yes, none) = (Value::Bool(true), || Value::Int(0));
                let first = [Value::Int(number), text(name), Value::Int(OWNER_OID), Value::Bool(is_procedural), yes];
                [&first[..], &[none(), none(), none(), Value::Null]].concat()
            };
            vec![row(14, "sql", false), row(13_500, "plpgsql", true)]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_tablespace",
        columns: &[
            ("oid", SqlType::BigInt),
            ("spcname", SqlType::Text),
            ("spcowner", SqlType::BigInt),
            ("spcacl", TEXTS),
            ("spcoptions", TEXTS),
        ],
        rows: |_| {
            let row =
                |number, name| vec![Value::Int(number), text(name), Value::Int(OWNER_OID), Value::Null, Value::Null];
            vec![row(DEFAULT_TABLESPACE, "pg_default"), row(1664, "pg_global")]
        },
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_extension",
        columns: &[
            ("oid", SqlType::BigInt),
            ("extname", SqlType::Text),
            ("extowner", SqlType::BigInt),
            ("extnamespace", SqlType::BigInt),
            ("extrelocatable", SqlType::Bool),
            ("extversion", SqlType::Text),
            ("extconfig", SqlType::Array(&SqlType::BigInt)),
            ("extcondition", TEXTS),
        ],
        rows: |_| {
            let (number, schema) = (Value::Int(13_501), Value::Int(schema_oid(SCHEMA)));
            let (no, null) = (Value::Bool(false), || Value::Null);
            vec![vec![number, text("plpgsql"), Value::Int(OWNER_OID), schema, no, text("1.0"), null(), null()]]
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
        name: "pg_user",
        columns: &[("usename", SqlType::Text), ("usesysid", SqlType::BigInt), ("usesuper", SqlType::Bool)],
        rows: |_| vec![vec![text(OWNER), Value::Int(OWNER_OID), Value::Bool(true)]],
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
                    Value::Timestamp(statement.started()),
                    text("active"),
                    text(&statement.text),
                ]
            };
            system.environment.database.0.activity.running().iter().map(row).collect()
        },
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

/// The number of a collation.
pub(super) fn collation_oid(collation: &Collation) -> i64 {
    match (&collation.schema, collation.name.as_str()) {
        (None, "default") => DEFAULT_COLLATION,
        (None, "C") => 950,
        (schema, name) => oid("collation", schema.as_deref().unwrap_or(SCHEMA), name),
    }
}

/// Those of bytes, those of languages, those that somebody made.
fn collations(system: &System<'_>) -> Vec<Vec<Value>> {
    let built_in = ["default", "C"].map(Collation::of_bytes).into_iter().chain(Collation::of_languages());
    let made = system.catalog.collations().map(|made| Collation::clone(made));
    let row = |collation: Collation| {
        let provider = match (&collation.locale, collation.name.as_str()) {
            (Some(_), _) => "i",
            (None, "default") => "d",
            (None, _) => "c",
        };
        let own = if provider == "c" { text("C") } else { Value::Null };
        let version = collation.locale.as_ref().map_or(Value::Null, |_| text(COLLATION_VERSION));
        vec![
            Value::Int(collation_oid(&collation)),
            text(&collation.name),
            Value::Int(schema_oid(collation.schema.as_deref().unwrap_or(SCHEMA))),
            Value::Int(OWNER_OID),
            text(provider),
            Value::Bool(collation.is_deterministic),
            Value::Int(-1),
            own.clone(),
            own,
            collation.locale.as_deref().map_or(Value::Null, text),
            version,
        ]
    };
    built_in.chain(made).map(row).collect()
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
