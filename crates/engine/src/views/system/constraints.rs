//! Constraints, indexes, defaults and sequences in `pg_catalog` and `information_schema`.

use catalog::{Action, Check, Domain, Filling, SequenceEntry, Table, TableEntry};
use types::ops::array::encode;
use types::{SqlType, Value};

use super::{
    Column, DATABASE, INFORMATION_SCHEMA, KeyKind, OWNER, PG_CATALOG, System, SystemTable, TableKey, domain_oid, oid,
    schema_oid, text,
};
use crate::definitions::references;

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_constraint",
        columns: &[
            ("oid", SqlType::BigInt),
            ("conname", SqlType::Text),
            ("connamespace", SqlType::BigInt),
            ("contype", SqlType::Text),
            ("condeferrable", SqlType::Bool),
            ("condeferred", SqlType::Bool),
            ("convalidated", SqlType::Bool),
            ("conrelid", SqlType::BigInt),
            ("contypid", SqlType::BigInt),
            ("conindid", SqlType::BigInt),
            ("conparentid", SqlType::BigInt),
            ("confrelid", SqlType::BigInt),
            ("confupdtype", SqlType::Text),
            ("confdeltype", SqlType::Text),
            ("confmatchtype", SqlType::Text),
            ("conislocal", SqlType::Bool),
            ("coninhcount", SqlType::Integer),
            ("connoinherit", SqlType::Bool),
            ("conkey", NUMBERS),
            ("confkey", NUMBERS),
            ("conbin", SqlType::Text),
            ("condef", SqlType::Text),
        ],
        rows: |system| {
            let of_tables = system.constraints().iter().map(Constraint::row).collect::<Vec<_>>();
            of_tables.into_iter().chain(of_domains(system)).collect()
        },
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_index",
        columns: &[
            ("indexrelid", SqlType::BigInt),
            ("indrelid", SqlType::BigInt),
            ("indnatts", SqlType::SmallInt),
            ("indnkeyatts", SqlType::SmallInt),
            ("indisunique", SqlType::Bool),
            ("indnullsnotdistinct", SqlType::Bool),
            ("indisprimary", SqlType::Bool),
            ("indisexclusion", SqlType::Bool),
            ("indimmediate", SqlType::Bool),
            ("indisclustered", SqlType::Bool),
            ("indisvalid", SqlType::Bool),
            ("indcheckxmin", SqlType::Bool),
            ("indisready", SqlType::Bool),
            ("indislive", SqlType::Bool),
            ("indisreplident", SqlType::Bool),
            ("indkey", NUMBERS),
            ("indcollation", SqlType::Array(&SqlType::BigInt)),
            ("indclass", SqlType::Array(&SqlType::BigInt)),
            ("indoption", NUMBERS),
            ("indexprs", SqlType::Text),
            ("indpred", SqlType::Text),
            ("indexdef", SqlType::Text),
        ],
        rows: indexes,
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_attrdef",
        columns: &[
            ("oid", SqlType::BigInt),
            ("adrelid", SqlType::BigInt),
            ("adnum", SqlType::SmallInt),
            ("adbin", SqlType::Text),
        ],
        rows: defaults,
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_sequences",
        columns: &[
            ("schemaname", SqlType::Text),
            ("sequencename", SqlType::Text),
            ("sequenceowner", SqlType::Text),
            ("data_type", SqlType::Text),
            ("start_value", SqlType::BigInt),
            ("min_value", SqlType::BigInt),
            ("max_value", SqlType::BigInt),
            ("increment_by", SqlType::BigInt),
            ("cycle", SqlType::Bool),
            ("cache_size", SqlType::BigInt),
        ],
        rows: sequences,
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "referential_constraints",
        columns: &[
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
            ("unique_constraint_catalog", SqlType::Text),
            ("unique_constraint_schema", SqlType::Text),
            ("unique_constraint_name", SqlType::Text),
            ("match_option", SqlType::Text),
            ("update_rule", SqlType::Text),
            ("delete_rule", SqlType::Text),
        ],
        rows: |system| {
            let row = |constraint: &Constraint<'_>| {
                let to = constraint.references.as_ref()?;
                Some(vec![
                    text(DATABASE),
                    text(constraint.schema),
                    text(&constraint.name),
                    text(DATABASE),
                    text(&to.schema),
                    to.key.as_ref().map_or(Value::Null, text),
                    text(if to.is_full { "FULL" } else { "NONE" }),
                    text(to.on_update.name()),
                    text(to.on_delete.name()),
                ])
            };
            system.constraints().iter().filter_map(row).collect()
        },
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "check_constraints",
        columns: &[
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
            ("check_clause", SqlType::Text),
        ],
        rows: |system| {
            let of_checks = |c: &&Constraint<'_>| c.kind == "c";
            let row = |c: &Constraint<'_>| {
                let clause = c.definition.strip_prefix("CHECK ").unwrap_or(&c.definition);
                vec![text(DATABASE), text(c.schema), text(&c.name), text(clause)]
            };
            system.constraints().iter().filter(of_checks).map(row).collect()
        },
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "constraint_column_usage",
        columns: &[
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("column_name", SqlType::Text),
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
        ],
        rows: usage,
    },
];

/// A constraint of a table.
pub(super) struct Constraint<'a> {
    pub schema: &'a str,
    pub table: &'a str,
    pub name: String,
    /// `p`, `u`, `c` or `f`.
    pub kind: &'static str,
    /// Its columns, by name and number.
    pub columns: Vec<(String, i64)>,
    definition: String,
    pub deferrable: Option<bool>,
    references: Option<References>,
}

/// What a foreign key references.
struct References {
    schema: String,
    table: String,
    columns: Vec<(String, i64)>,
    /// The name of the key.
    key: Option<String>,
    is_full: bool,
    is_valid: bool,
    on_update: Action,
    on_delete: Action,
}

impl System<'_> {
    /// The constraints of all tables.
    pub(super) fn constraints(&self) -> Vec<Constraint<'_>> {
        let mut all = Vec::new();
        for key in self.keys() {
            let Some(what) = key.kind.constraint() else { continue };
            let kind = if key.kind == KeyKind::Primary { "p" } else { "u" };
            let names: Vec<String> = key.columns.iter().map(|(name, _)| crate::definitions::quoted(name)).collect();
            let TableKey { schema, table, name, columns, deferrable, .. } = key;
            let definition = format!("{what} ({}){}", names.join(", "), crate::definitions::deferrable(deferrable));
            all.push(Constraint { schema, table, name, kind, columns, definition, deferrable, references: None });
        }
        for (schema, table, entry) in self.catalog.entries() {
            let TableEntry::Table(of) = entry else { continue };
            for check in &of.checks {
                let (name, definition) = (check.name.clone(), format!("CHECK ({})", check.sql));
                let (columns, deferrable) = (Vec::new(), None);
                all.push(Constraint {
                    schema,
                    table,
                    name,
                    kind: "c",
                    columns,
                    definition,
                    deferrable,
                    references: None,
                });
            }
            for key in &of.foreign_keys {
                let to = self.catalog.find(Some(&key.references.0), &key.references.1);
                let referred = match to {
                    Some(TableEntry::Table(to)) => named(to, &key.referred),
                    _ => Vec::new(),
                };
                let is_key = |k: &TableKey<'_>| {
                    (k.schema, k.table) == (&key.references.0, &key.references.1) && k.columns == referred
                };
                let unique = self.keys().into_iter().find(is_key).map(|k| k.name);
                let references_to = References {
                    schema: key.references.0.clone(),
                    table: key.references.1.clone(),
                    columns: referred,
                    key: unique,
                    is_full: key.is_full,
                    is_valid: key.is_valid,
                    on_update: key.on_update,
                    on_delete: key.on_delete,
                };
                all.push(Constraint {
                    schema,
                    table,
                    name: key.name.clone(),
                    kind: "f",
                    columns: named(of, &key.columns),
                    definition: references(of, key, self.catalog),
                    deferrable: key.deferrable,
                    references: Some(references_to),
                });
            }
        }
        all
    }
}

fn named(table: &Table, attributes: &[usize]) -> Vec<(String, i64)> {
    let all = table.relation.schema().attributes();
    attributes.iter().map(|&at| (all[at].name.clone(), at as i64 + 1)).collect()
}

/// Numbers of columns, in an array.
const NUMBERS: SqlType = SqlType::Array(&SqlType::SmallInt);

/// The numbers of columns.
fn numbers(columns: &[(String, i64)]) -> Value {
    array(columns.iter().map(|(_, number)| *number), SqlType::SmallInt)
}

pub(super) fn array(values: impl Iterator<Item = i64>, of: SqlType) -> Value {
    let values: Vec<Value> = values.map(Value::Int).collect();
    encode(&values, of).unwrap_or(Value::Null)
}

fn letter(action: Action) -> &'static str {
    match action {
        Action::Refuse => "a",
        Action::Restrict => "r",
        Action::Cascade => "c",
        Action::SetNull => "n",
        Action::SetDefault => "d",
    }
}

impl Constraint<'_> {
    fn row(&self) -> Vec<Value> {
        let Self { schema, table, name, kind, columns, definition, deferrable, references } = self;
        let (to, none) = (references.as_ref(), || Value::Int(0));
        let index = if matches!(*kind, "p" | "u") { oid("table", schema, name) } else { 0 };
        vec![
            Value::Int(oid(&format!("constraint of {table}"), schema, name)),
            text(name),
            Value::Int(schema_oid(schema)),
            text(kind),
            Value::Bool(deferrable.is_some()),
            Value::Bool(*deferrable == Some(true)),
            Value::Bool(to.is_none_or(|to| to.is_valid)),
            Value::Int(oid("table", schema, table)),
            none(),
            Value::Int(index),
            none(),
            to.map_or_else(none, |to| Value::Int(oid("table", &to.schema, &to.table))),
            text(to.map_or(" ", |to| letter(to.on_update))),
            text(to.map_or(" ", |to| letter(to.on_delete))),
            text(to.map_or(" ", |to| if to.is_full { "f" } else { "s" })),
            Value::Bool(true),
            none(),
            Value::Bool(*kind != "c"),
            if *kind == "c" { Value::Null } else { numbers(columns) },
            to.map_or(Value::Null, |to| numbers(&to.columns)),
            definition.strip_prefix("CHECK ").filter(|_| *kind == "c").map_or(Value::Null, text),
            text(definition),
        ]
    }
}

/// The conditions of domains.
fn of_domains(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |schema: &str, name: &str, check: &Check| {
        let definition = format!("CHECK ({})", check.sql);
        let (table, columns) = ("", Vec::new());
        let own = Constraint {
            schema,
            table,
            name: check.name.clone(),
            kind: "c",
            columns,
            definition,
            deferrable: None,
            references: None,
        };
        let mut row = own.row();
        row[0] = Value::Int(oid(&format!("constraint of the domain {name}"), schema, &check.name));
        (row[7], row[8]) = (Value::Int(0), Value::Int(domain_oid(schema, name)));
        row
    };
    let of = |(schema, name, domain): (&str, &str, &std::sync::Arc<Domain>)| {
        domain.checks.iter().map(|check| row(schema, name, check)).collect::<Vec<_>>()
    };
    system.catalog.domains().flat_map(of).collect()
}

fn indexes(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |key: TableKey<'_>| {
        let (count, no) = (Value::Int(key.columns.len() as i64), || Value::Bool(false));
        let all: Vec<(String, i64)> = key.of_index().cloned().collect();
        let yes = || Value::Bool(true);
        let none = |of: SqlType| array(key.columns.iter().map(|_| 0), of);
        let expressions = (!key.expressions.is_empty()).then(|| key.expressions.join(", "));
        let optional = |written: Option<&String>| written.map_or(Value::Null, text);
        vec![
            Value::Int(oid("table", key.schema, &key.name)),
            Value::Int(oid("table", key.schema, key.table)),
            Value::Int(all.len() as i64),
            count,
            Value::Bool(key.kind != KeyKind::Index),
            Value::Bool(key.is_of_nulls),
            Value::Bool(key.kind == KeyKind::Primary),
            no(),
            Value::Bool(key.deferrable.is_none()),
            no(),
            yes(),
            no(),
            yes(),
            yes(),
            no(),
            numbers(&all),
            none(SqlType::BigInt),
            none(SqlType::BigInt),
            array(key.options.iter().copied(), SqlType::SmallInt),
            optional(expressions.as_ref()),
            optional(key.predicate.as_ref()),
            text(key.sql),
        ]
    };
    system.keys().into_iter().map(row).collect()
}

fn defaults(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |Column { schema, table, number, field, filling, .. }: Column<'_>| {
        let written = filling.filter(|f| !matches!(f, Filling::Identity { .. }))?.sql(field.sql_type)?;
        let relation = oid("table", schema, table);
        let own = oid(&format!("default of {table}"), schema, &field.name);
        Some(vec![Value::Int(own), Value::Int(relation), Value::Int(number), text(written)])
    };
    system.columns().into_iter().filter_map(row).collect()
}

fn sequences(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &SequenceEntry)| {
        let shape = entry.sequence.shape();
        vec![
            text(schema),
            text(name),
            text(OWNER),
            text(shape.sql_type.to_string()),
            Value::Int(shape.start),
            Value::Int(shape.min),
            Value::Int(shape.max),
            Value::Int(shape.increment),
            Value::Bool(shape.cycle),
            Value::Int(shape.cache),
        ]
    };
    system.catalog.sequences().map(row).collect()
}

/// Columns that keys are made of, and those that foreign keys reference.
fn usage(system: &System<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for constraint in system.constraints() {
        let (schema, table, columns) = match &constraint.references {
            Some(to) => (to.schema.as_str(), to.table.as_str(), &to.columns),
            None => (constraint.schema, constraint.table, &constraint.columns),
        };
        for (column, _) in columns {
            rows.push(vec![
                text(DATABASE),
                text(schema),
                text(table),
                text(column),
                text(DATABASE),
                text(constraint.schema),
                text(&constraint.name),
            ]);
        }
    }
    rows
}
