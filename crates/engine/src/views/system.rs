//! `information_schema` and `pg_catalog`: the catalog as tables, as PostgreSQL and the standard have them.
//!
//! A table is put together when a statement names it, of the definitions that the statement is bound against. Numbers of objects
//! (`oid`) follow from their names, so that they stay as they are while others come and go.

mod constraints;
mod information;
mod postgres;
mod routines;

use std::borrow::Cow;
use std::sync::Arc;

use catalog::{CatalogSnapshot, Filling, TableEntry, Unique};
use io::MemorySource;
use types::{EnumType, SqlType, Value};

use super::{Columns, small_table};
use crate::environment::Environment;

/// The schema of the standard's tables.
const INFORMATION_SCHEMA: &str = "information_schema";
/// The schema of PostgreSQL's tables, which are found without it too.
const PG_CATALOG: &str = "pg_catalog";
/// The name of the database.
const DATABASE: &str = "morseldb";
/// Who owns everything.
const OWNER: &str = "morseldb";
/// The schema of names that have none.
const DEFAULT_SCHEMA: &str = "main";

/// A table of the system.
struct SystemTable {
    schema: &'static str,
    name: &'static str,
    columns: Columns,
    rows: fn(&System<'_>) -> Vec<Vec<Value>>,
}

/// What the tables are made of.
struct System<'a> {
    environment: &'a Environment,
    catalog: &'a CatalogSnapshot,
}

/// The table of that name, if there is one.
pub(crate) fn system_table(
    environment: &Environment,
    catalog: &CatalogSnapshot,
    schema: Option<&str>,
    name: &str,
) -> Option<Arc<MemorySource>> {
    let schema = schema.unwrap_or(PG_CATALOG);
    let mut all = information::TABLES.iter().chain(postgres::TABLES).chain(routines::TABLES).chain(constraints::TABLES);
    let table = all.find(|table| table.schema == schema && table.name == name)?;
    Some(small_table(table.columns, (table.rows)(&System { environment, catalog })))
}

/// The number of a table, view, sequence or index.
pub(crate) fn number_of(catalog: &CatalogSnapshot, schema: Option<&str>, name: &str) -> Option<i64> {
    catalog.is_taken(schema, name).then(|| oid("table", catalog.schema_of(schema, name), name))
}

impl System<'_> {
    /// The names of all schemas, those of the system among them.
    fn schemas(&self) -> Vec<&str> {
        self.catalog.schemas().chain([INFORMATION_SCHEMA, PG_CATALOG]).collect()
    }

    /// The columns of all tables and views.
    fn columns(&self) -> Vec<Column<'_>> {
        let mut all = Vec::new();
        for (schema, table, entry) in self.catalog.entries() {
            for (at, field) in entry.fields().into_iter().enumerate() {
                let filling = match entry {
                    TableEntry::Table(table) => table.fillings.get(at),
                    TableEntry::View(_) => None,
                };
                let named = Type::of(field.sql_type);
                all.push(Column { schema, table, number: at as i64 + 1, field, filling, named });
            }
        }
        all
    }

    /// The keys of all tables: the primary key, then what is unique, then other indexes.
    fn keys(&self) -> Vec<TableKey<'_>> {
        let mut all = Vec::new();
        for (schema, table, entry) in self.catalog.entries() {
            let TableEntry::Table(of) = entry else { continue };
            let attributes = of.relation.schema().attributes();
            let column = |at: usize| (attributes[at].name.clone(), at as i64 + 1);
            let key = of.relation.schema().primary_key();
            let full = format!("{schema}.{table}");
            if !key.is_empty() {
                let columns: Vec<_> = key.iter().map(|&at| column(at)).collect();
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let name = key_name(table);
                let sql = format!("CREATE UNIQUE INDEX {name} ON {full} USING btree ({})", names.join(", "));
                all.push(TableKey { schema, table, name, columns, kind: KeyKind::Primary, sql });
            }
            for index in &of.indexes {
                let definition = index.index.definition();
                let columns = definition.parts.iter().map(|part| column(part.attribute)).collect();
                let kind = match (index.is_constraint, definition.unique) {
                    (true, _) => KeyKind::Constraint,
                    (false, Unique::No) => KeyKind::Index,
                    (false, _) => KeyKind::Unique,
                };
                let sql = crate::definitions::create_index(&full, of, index);
                let sql =
                    sql.trim_end_matches(';').replacen(&format!(" ON {full} "), &format!(" ON {full} USING btree "), 1);
                all.push(TableKey { schema, table, name: index.name().to_owned(), columns, kind, sql });
            }
        }
        all
    }
}

/// A key of a table.
struct TableKey<'a> {
    schema: &'a str,
    table: &'a str,
    name: String,
    /// The names of the columns, and their numbers.
    columns: Vec<(String, i64)>,
    kind: KeyKind,
    /// What makes its index.
    sql: String,
}

/// What a key is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Primary,
    Constraint,
    Unique,
    Index,
}

impl KeyKind {
    /// What a constraint is called; none of a mere index.
    fn constraint(self) -> Option<&'static str> {
        match self {
            Self::Primary => Some("PRIMARY KEY"),
            Self::Constraint => Some("UNIQUE"),
            Self::Unique | Self::Index => None,
        }
    }
}

/// A column of a table or view.
struct Column<'a> {
    schema: &'a str,
    table: &'a str,
    number: i64,
    field: catalog::Field,
    filling: Option<&'a Filling>,
    named: Type,
}

/// What PostgreSQL calls a type.
struct Type {
    oid: i64,
    /// In `pg_type`.
    name: Cow<'static, str>,
    /// In `information_schema`.
    full: &'static str,
    length: i64,
    category: &'static str,
    /// `atttypmod`: -1 if it has none.
    modifier: i64,
}

impl Type {
    fn of(sql_type: SqlType) -> Self {
        let text = sql_type.to_string();
        let base = text.split('(').next().unwrap_or_default();
        let base = match base {
            _ if text.ends_with("[]") => "array",
            "numeric" => "decimal",
            base => base,
        };
        let named = TYPES.iter().find(|(own, ..)| *own == base).unwrap_or(&TYPES[0]);
        let &(_, oid, name, full, length, category) = named;
        let modifier = match sql_type {
            SqlType::Decimal { precision, scale } => (i64::from(precision) << 16 | i64::from(scale)) + HEADER,
            // A scale may be below 0, in 11 bits.
            SqlType::Numeric { precision, scale } if precision > 0 => {
                (i64::from(precision) << 16 | i64::from(scale) & 0x7ff) + HEADER
            }
            SqlType::Varchar(n) | SqlType::Char(n) => i64::from(n) + HEADER,
            _ => -1,
        };
        match sql_type {
            SqlType::Enum(of) => Self {
                oid: enum_oid(of),
                name: Cow::Borrowed(&of.labels().name),
                full: "USER-DEFINED",
                length: 4,
                category: "E",
                modifier,
            },
            _ => Self { oid, name: Cow::Borrowed(name), full, length, category, modifier },
        }
    }
}

/// What PostgreSQL adds to a type's modifier.
const HEADER: i64 = 4;

/// Ours, then the oid, `pg_type`'s name, the standard's name, the length and the category of PostgreSQL's.
const TYPES: &[(&str, i64, &str, &str, i64, &str)] = &[
    ("text", 25, "text", "text", -1, "S"),
    ("boolean", 16, "bool", "boolean", 1, "B"),
    ("smallint", 21, "int2", "smallint", 2, "N"),
    ("integer", 23, "int4", "integer", 4, "N"),
    ("bigint", 20, "int8", "bigint", 8, "N"),
    ("decimal", 1700, "numeric", "numeric", -1, "N"),
    ("real", 700, "float4", "real", 4, "N"),
    ("double", 701, "float8", "double precision", 8, "N"),
    ("varchar", 1043, "varchar", "character varying", -1, "S"),
    ("char", 1042, "bpchar", "character", -1, "S"),
    ("date", 1082, "date", "date", 4, "D"),
    ("time", 1083, "time", "time without time zone", 8, "D"),
    ("timestamp", 1114, "timestamp", "timestamp without time zone", 8, "D"),
    ("timestamptz", 1184, "timestamptz", "timestamp with time zone", 8, "D"),
    ("interval", 1186, "interval", "interval", 16, "T"),
    ("bytea", 17, "bytea", "bytea", -1, "U"),
    ("uuid", 2950, "uuid", "uuid", 16, "U"),
    ("bytea", 17, "bytea", "bytea", -1, "U"),
    ("json", 114, "json", "json", -1, "U"),
    ("jsonb", 3802, "jsonb", "jsonb", -1, "U"),
    ("json", 114, "json", "json", -1, "U"),
    ("jsonb", 3802, "jsonb", "jsonb", -1, "U"),
    ("array", 2277, "anyarray", "ARRAY", -1, "P"),
];

/// The number of an enum: another name does not change it.
fn enum_oid(of: &EnumType) -> i64 {
    oid("type", "", &of.number().to_string())
}

/// The number of a schema.
fn schema_oid(schema: &str) -> i64 {
    match schema {
        PG_CATALOG => 11,
        DEFAULT_SCHEMA => 2200,
        INFORMATION_SCHEMA => 13_000,
        other => oid("schema", other, ""),
    }
}

/// The number of an object, from its names.
fn oid(kind: &str, schema: &str, name: &str) -> i64 {
    const FIRST: u64 = 16_384;
    // FNV-1a: the same in all versions.
    let bytes = [kind, schema, name].into_iter().flat_map(|text| text.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (FIRST + hash % (i32::MAX as u64 - FIRST)) as i64
}

/// The name of a primary key.
fn key_name(table: &str) -> String {
    format!("{table}_pkey")
}

fn text(text: impl AsRef<str>) -> Value {
    Value::str(text.as_ref())
}

fn optional(number: Option<i64>) -> Value {
    number.map_or(Value::Null, Value::Int)
}

fn yes_or_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}
