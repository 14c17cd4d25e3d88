//! `information_schema` and `pg_catalog`: the catalog as tables, as PostgreSQL and the standard have them.
//!
//! A table is put together when a statement names it, of the definitions that the statement is bound against. Numbers of objects
//! (`oid`) follow from their names, so that they stay as they are while others come and go.

mod classes;
mod constraints;
mod empty;
mod information;
mod inheritance;
mod listed;
mod postgres;
mod registered;
mod routines;
mod triggers;

use std::borrow::Cow;
use std::sync::Arc;

use catalog::{CatalogSnapshot, DEFAULT_SCHEMA, Filling, IndexPart, TableEntry, Unique};
use io::MemorySource;
use types::{Collation, EnumType, SqlType, Value};

pub(crate) use registered::{number_of_type, registered};

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

/// All tables that have rows.
fn system_tables() -> impl Iterator<Item = &'static SystemTable> {
    let of_relations = information::TABLES.iter().chain(postgres::TABLES).chain(classes::TABLES);
    let of_others = routines::TABLES.iter().chain(constraints::TABLES).chain(triggers::TABLES);
    of_relations.chain(of_others).chain(inheritance::TABLES).chain(listed::TABLES)
}

/// The table of that name, if there is one.
pub(crate) fn system_table(
    environment: &Environment,
    catalog: &CatalogSnapshot,
    schema: Option<&str>,
    name: &str,
) -> Option<Arc<MemorySource>> {
    let schema = schema.unwrap_or(PG_CATALOG);
    let Some(table) = system_tables().find(|table| table.schema == schema && table.name == name) else {
        let columns = empty::columns(name).filter(|_| schema == PG_CATALOG)?;
        return Some(small_table(&columns, Vec::new()));
    };
    Some(small_table(table.columns, (table.rows)(&System { environment, catalog })))
}

/// The number of a table, view, sequence or index.
pub(crate) fn number_of(catalog: &CatalogSnapshot, schema: Option<&str>, name: &str) -> Option<i64> {
    if catalog.is_taken(schema, name) {
        return Some(oid("table", catalog.schema_of(schema, name), name));
    }
    if !matches!(schema, None | Some(PG_CATALOG)) {
        return None;
    }
    let own = NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let is_there =
        || system_tables().any(|t| t.schema == PG_CATALOG && t.name == name) || empty::columns(name).is_some();
    own.or_else(|| is_there().then(|| oid("table", PG_CATALOG, name)))
}

/// The numbers of the system's own tables by which others tell what a number in them is of.
const NUMBERS: [(&str, i64); 12] = [
    ("pg_type", 1247),
    ("pg_attribute", 1249),
    ("pg_proc", 1255),
    ("pg_class", 1259),
    ("pg_database", 1262),
    ("pg_attrdef", 2604),
    ("pg_constraint", 2606),
    ("pg_depend", 2608),
    ("pg_description", 2609),
    ("pg_index", 2610),
    ("pg_namespace", 2615),
    ("pg_extension", 3079),
];

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
                let (filling, collation) = match entry {
                    TableEntry::Table(table) => {
                        let column = table.relation.schema().columns().get(at);
                        (table.fillings.get(at), column.and_then(|column| column.collation.as_deref()))
                    }
                    TableEntry::View(_) => (None, None),
                };
                let named = Type::of(field.sql_type);
                let domain = match entry {
                    TableEntry::Table(of) => of.domains.get(at).and_then(Option::as_ref),
                    TableEntry::View(_) => None,
                };
                let domain = domain.filter(|_| !field.sql_type.is_array());
                // Those that every database has are no types of PostgreSQL.
                let domain = domain.filter(|(schema, _)| schema != PG_CATALOG);
                let domain = domain.map(|(schema, name)| domain_oid(schema, name));
                all.push(Column { schema, table, number: at as i64 + 1, field, filling, collation, domain, named });
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
            // What is computed for an index is no column.
            let number = |at: usize| if at < of.fillings.len() { at as i64 + 1 } else { 0 };
            let column = |at: usize| (attributes[at].name.clone(), number(at));
            let key = of.relation.schema().primary_key();
            let full = format!("{schema}.{table}");
            if !key.is_empty() {
                let columns: Vec<_> = key.iter().map(|&at| column(at)).collect();
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let name = key_name(table);
                let sql = format!("CREATE UNIQUE INDEX {name} ON {full} USING btree ({})", names.join(", "));
                let (options, expressions) = (vec![0; key.len()], Vec::new());
                let (kind, is_of_nulls, predicate, deferrable) = (KeyKind::Primary, false, None, None);
                all.push(TableKey {
                    schema,
                    table,
                    name,
                    columns,
                    kind,
                    sql,
                    options,
                    expressions,
                    is_of_nulls,
                    predicate,
                    deferrable,
                    method: BTREE,
                    included: Vec::new(),
                });
            }
            for index in &of.indexes {
                let definition = index.index.definition();
                let columns = definition.parts.iter().map(|part| column(part.attribute)).collect();
                let kind = match (index.is_constraint, definition.unique) {
                    _ if definition.is_primary() => KeyKind::Primary,
                    (true, _) => KeyKind::Constraint,
                    (false, Unique::No) => KeyKind::Index,
                    (false, _) => KeyKind::Unique,
                };
                let sql = crate::definitions::create_index(&full, of, index);
                let (from, to) = (format!(" ON {full} ("), format!(" ON {full} USING btree ("));
                let sql = sql.trim_end_matches(';').replacen(&from, &to, 1);
                let method = if index.index.is_ordered() { BTREE } else { HASH };
                let option = |part: &IndexPart| i64::from(part.descending) + 2 * i64::from(part.nulls_first);
                let options = definition.parts.iter().map(option).collect();
                let text_of = |at: usize| of.computed.get(at.checked_sub(of.fillings.len())?)?.sql.clone();
                let expressions = definition.parts.iter().filter_map(|part| text_of(part.attribute)).collect();
                let is_of_nulls = definition.unique == Unique::Yes && !definition.is_primary();
                let predicate = definition.only.and_then(text_of);
                let deferrable = definition.deferrable.map(|deferrable| deferrable.initially);
                let name = index.name().to_owned();
                all.push(TableKey {
                    schema,
                    table,
                    name,
                    columns,
                    kind,
                    sql,
                    options,
                    expressions,
                    is_of_nulls,
                    predicate,
                    deferrable,
                    method,
                    included: definition.included.iter().map(|at| column(*at)).collect(),
                });
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
    /// If it can be deferred: whether it is from the beginning.
    deferrable: Option<bool>,
    /// What makes its index.
    sql: String,
    /// How each of its columns is ordered: 1 if greater values come first, and 2 if NULL does.
    options: Vec<i64>,
    /// What is computed for it.
    expressions: Vec<String>,
    /// Whether NULL is a value like others for it.
    is_of_nulls: bool,
    /// Which rows it has, if not all.
    predicate: Option<String>,
    /// The number of the way in which its index is made.
    method: i64,
    /// Columns that its index has besides.
    included: Vec<(String, i64)>,
}

impl TableKey<'_> {
    /// The columns of its index.
    fn of_index(&self) -> impl Iterator<Item = &(String, i64)> {
        self.columns.iter().chain(&self.included)
    }
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
    collation: Option<&'a Collation>,
    /// The number of its domain, if it is of one.
    domain: Option<i64>,
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
        if let SqlType::Array(element) = sql_type {
            return Self::array_of(*element);
        }
        let text = sql_type.to_string();
        let base = text.split('(').next().unwrap_or_default();
        let &TypeRow { oid, name, full, length, category, .. } =
            row_of(if base == "numeric" { "decimal" } else { base });
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

    /// An array, of any dimensions; of what has no number there, any.
    fn array_of(mut element: SqlType) -> Self {
        while let SqlType::Array(inner) = element {
            element = *inner;
        }
        let named = Self::of(element);
        let array = TYPES.iter().find(|row| row.oid == named.oid).map_or(0, |row| row.array);
        let (oid, name) = if array == 0 { (2277, "anyarray".to_owned()) } else { (array, array_name(&named.name)) };
        Self { oid, name: Cow::Owned(name), full: "ARRAY", length: -1, category: "A", modifier: named.modifier }
    }
}

/// What PostgreSQL adds to a type's modifier.
const HEADER: i64 = 4;
/// The number of who owns everything.
const OWNER_OID: i64 = 10;
/// The numbers of the ways in which tables and indexes are made.
const HEAP: i64 = 2;
const BTREE: i64 = 403;
const HASH: i64 = 405;

/// A type as PostgreSQL has it.
struct TypeRow {
    /// What it is called here.
    own: &'static str,
    oid: i64,
    /// In `pg_type`.
    name: &'static str,
    /// What the standard calls it.
    full: &'static str,
    length: i64,
    category: &'static str,
    /// The number of the type of its arrays.
    array: i64,
}

/// What PostgreSQL calls the arrays of a type.
fn array_name(of: &str) -> String {
    format!("_{of}")
}

fn row_of(own: &str) -> &'static TypeRow {
    TYPES.iter().find(|row| row.own == own).unwrap_or(&TYPES[0])
}

const fn row(
    own: &'static str,
    (oid, array): (i64, i64),
    (name, full): (&'static str, &'static str),
    length: i64,
    category: &'static str,
) -> TypeRow {
    TypeRow { own, oid, name, full, length, category, array }
}

const TYPES: &[TypeRow] = &[
    row("text", (25, 1009), ("text", "text"), -1, "S"),
    row("boolean", (16, 1000), ("bool", "boolean"), 1, "B"),
    row("smallint", (21, 1005), ("int2", "smallint"), 2, "N"),
    row("integer", (23, 1007), ("int4", "integer"), 4, "N"),
    row("bigint", (20, 1016), ("int8", "bigint"), 8, "N"),
    row("decimal", (1700, 1231), ("numeric", "numeric"), -1, "N"),
    row("real", (700, 1021), ("float4", "real"), 4, "N"),
    row("double", (701, 1022), ("float8", "double precision"), 8, "N"),
    row("varchar", (1043, 1015), ("varchar", "character varying"), -1, "S"),
    row("char", (1042, 1014), ("bpchar", "character"), -1, "S"),
    row("date", (1082, 1182), ("date", "date"), 4, "D"),
    row("time", (1083, 1183), ("time", "time without time zone"), 8, "D"),
    row("timetz", (1266, 1270), ("timetz", "time with time zone"), 12, "D"),
    row("timestamp", (1114, 1115), ("timestamp", "timestamp without time zone"), 8, "D"),
    row("timestamptz", (1184, 1185), ("timestamptz", "timestamp with time zone"), 8, "D"),
    row("interval", (1186, 1187), ("interval", "interval"), 16, "T"),
    row("bytea", (17, 1001), ("bytea", "bytea"), -1, "U"),
    row("uuid", (2950, 2951), ("uuid", "uuid"), 16, "U"),
    row("json", (114, 199), ("json", "json"), -1, "U"),
    row("jsonb", (3802, 3807), ("jsonb", "jsonb"), -1, "U"),
    row("int4range", (3904, 3905), ("int4range", "int4range"), -1, "R"),
    row("int8range", (3926, 3927), ("int8range", "int8range"), -1, "R"),
    row("numrange", (3906, 3907), ("numrange", "numrange"), -1, "R"),
    row("tsrange", (3908, 3909), ("tsrange", "tsrange"), -1, "R"),
    row("tstzrange", (3910, 3911), ("tstzrange", "tstzrange"), -1, "R"),
    row("daterange", (3912, 3913), ("daterange", "daterange"), -1, "R"),
    row("array", (2277, 0), ("anyarray", "ARRAY"), -1, "P"),
];

/// The number of an enum: another name does not change it.
fn enum_oid(of: &EnumType) -> i64 {
    oid("type", "", &of.number().to_string())
}

/// The number of a domain or composite type.
fn domain_oid(schema: &str, name: &str) -> i64 {
    oid("type", schema, name)
}

/// The number of a composite type as something that has columns.
fn composite_oid(schema: &str, name: &str) -> i64 {
    oid("composite", schema, name)
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
