//! `pg_class`, `pg_attribute`, `pg_type` and what hangs on them in `pg_catalog`: relations with their columns, types, sequences, and
//! which sequence goes with which column.

use std::sync::Arc;

use catalog::{Domain, Filling, SequenceEntry, TEMPORARY_SCHEMA, TableEntry, UserType};
use types::{SqlType, StructType, Value};

use super::super::memory::bytes_of_columns;
use super::postgres::{DEFAULT_COLLATION, collation_oid};
use super::{
    Column, HEAP, OWNER_OID, PG_CATALOG as SCHEMA, System, SystemTable, TYPES, TableKey, Type, TypeRow, array_name,
    composite_oid, domain_oid, enum_oid, oid, schema_oid, text,
};

/// The number of `pg_class` itself.
const CLASS: i64 = 1259;

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: SCHEMA,
        name: "pg_class",
        columns: &[
            ("oid", SqlType::BigInt),
            ("relname", SqlType::Text),
            ("relnamespace", SqlType::BigInt),
            ("reltype", SqlType::BigInt),
            ("reloftype", SqlType::BigInt),
            ("relowner", SqlType::BigInt),
            ("relam", SqlType::BigInt),
            ("relfilenode", SqlType::BigInt),
            ("reltablespace", SqlType::BigInt),
            ("relpages", SqlType::Integer),
            ("reltuples", SqlType::Real),
            ("relallvisible", SqlType::Integer),
            ("reltoastrelid", SqlType::BigInt),
            ("relhasindex", SqlType::Bool),
            ("relisshared", SqlType::Bool),
            ("relpersistence", SqlType::Text),
            ("relkind", SqlType::Text),
            ("relnatts", SqlType::SmallInt),
            ("relchecks", SqlType::SmallInt),
            ("relhasrules", SqlType::Bool),
            ("relhastriggers", SqlType::Bool),
            ("relhassubclass", SqlType::Bool),
            ("relrowsecurity", SqlType::Bool),
            ("relforcerowsecurity", SqlType::Bool),
            ("relispopulated", SqlType::Bool),
            ("relreplident", SqlType::Text),
            ("relispartition", SqlType::Bool),
            ("relrewrite", SqlType::BigInt),
            ("relacl", SqlType::Array(&SqlType::Text)),
            ("reloptions", SqlType::Array(&SqlType::Text)),
            ("relpartbound", SqlType::Text),
            ("relbytes", SqlType::BigInt),
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
            ("attstattarget", SqlType::Integer),
            ("attlen", SqlType::SmallInt),
            ("attnum", SqlType::SmallInt),
            ("attndims", SqlType::Integer),
            ("atttypmod", SqlType::Integer),
            ("attbyval", SqlType::Bool),
            ("attstorage", SqlType::Text),
            ("attcompression", SqlType::Text),
            ("attnotnull", SqlType::Bool),
            ("atthasdef", SqlType::Bool),
            ("atthasmissing", SqlType::Bool),
            ("attidentity", SqlType::Text),
            ("attgenerated", SqlType::Text),
            ("attisdropped", SqlType::Bool),
            ("attislocal", SqlType::Bool),
            ("attinhcount", SqlType::Integer),
            ("attcollation", SqlType::BigInt),
            ("attacl", SqlType::Array(&SqlType::Text)),
            ("attoptions", SqlType::Array(&SqlType::Text)),
            ("attfdwoptions", SqlType::Array(&SqlType::Text)),
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
            ("typisdefined", SqlType::Bool),
            ("typdelim", SqlType::Text),
            ("typrelid", SqlType::BigInt),
            ("typelem", SqlType::BigInt),
            ("typarray", SqlType::BigInt),
            ("typnotnull", SqlType::Bool),
            ("typbasetype", SqlType::BigInt),
            ("typtypmod", SqlType::Integer),
            ("typndims", SqlType::Integer),
            ("typcollation", SqlType::BigInt),
            ("typdefault", SqlType::Text),
            ("typacl", SqlType::Array(&SqlType::Text)),
        ],
        rows: types,
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_sequence",
        columns: &[
            ("seqrelid", SqlType::BigInt),
            ("seqtypid", SqlType::BigInt),
            ("seqstart", SqlType::BigInt),
            ("seqincrement", SqlType::BigInt),
            ("seqmax", SqlType::BigInt),
            ("seqmin", SqlType::BigInt),
            ("seqcache", SqlType::BigInt),
            ("seqcycle", SqlType::Bool),
        ],
        rows: |system| system.catalog.sequences().map(sequence).collect(),
    },
    SystemTable {
        schema: SCHEMA,
        name: "pg_depend",
        columns: &[
            ("classid", SqlType::BigInt),
            ("objid", SqlType::BigInt),
            ("objsubid", SqlType::Integer),
            ("refclassid", SqlType::BigInt),
            ("refobjid", SqlType::BigInt),
            ("refobjsubid", SqlType::Integer),
            ("deptype", SqlType::Text),
        ],
        rows: owned_sequences,
    },
];

fn classes(system: &System<'_>) -> Vec<Vec<Value>> {
    let relation = |(schema, name, entry): (&str, &str, &TableEntry)| {
        let columns = entry.fields().len();
        match entry {
            TableEntry::Table(table) => {
                let has_key = !table.relation.schema().primary_key().is_empty() || !table.indexes.is_empty();
                let (tuples, bytes) = (table.relation.row_count() as f64, bytes_of_columns(&table.relation));
                let kinship = system.catalog.kinship(Some(schema), name);
                let is_partitioned = kinship.is_some_and(|kinship| kinship.partitioned.is_some());
                let kind = match (&table.definition, is_partitioned) {
                    (Some(_), _) => "m",
                    (None, true) => "p",
                    (None, false) => "r",
                };
                let has_triggers = !table.triggers.is_empty();
                let has_children = !system.catalog.children(Some(schema), name).is_empty();
                let bound = kinship.and_then(|kinship| kinship.bound.as_ref()).map(ToString::to_string);
                let class = Class::of(kind, columns);
                let class = Class { tuples, has_key, bytes, has_triggers, has_children, bound, ..class };
                class.row(schema, name, table.checks.len())
            }
            TableEntry::View(_) => Class::of("v", columns).row(schema, name, 0),
        }
    };
    let key = |key: TableKey<'_>| {
        let class = Class { method: key.method, ..Class::of("i", key.of_index().count()) };
        class.row(key.schema, &key.name, 0)
    };
    let sequence = |(schema, name, _): (&str, &str, &SequenceEntry)| Class::of("S", 3).row(schema, name, 0);
    let relations = system.catalog.entries().map(relation);
    let sequences = system.catalog.sequences().map(sequence);
    let composites = composites(system).map(|(schema, name, of)| {
        let mut row = Class::of("c", of.fields.len()).row(schema, name, 0);
        (row[0], row[3]) = (Value::Int(composite_oid(schema, name)), Value::Int(domain_oid(schema, name)));
        row
    });
    relations.chain(system.keys().into_iter().map(key)).chain(sequences).chain(composites).collect()
}

/// The composite types.
fn composites<'a>(system: &'a System<'_>) -> impl Iterator<Item = (&'a str, &'a str, &'static StructType)> {
    let is_composite = |domain: &Domain| domain.checks.is_empty() && !domain.not_null;
    system.catalog.domains().filter_map(move |(schema, name, domain)| {
        let of = domain.sql_type.structure().filter(|of| of.is_row && is_composite(domain))?;
        Some((schema, name, of))
    })
}

/// What `pg_class` says of something.
struct Class {
    kind: &'static str,
    columns: usize,
    tuples: f64,
    has_key: bool,
    has_triggers: bool,
    has_children: bool,
    /// Of a partition.
    bound: Option<String>,
    bytes: usize,
    /// The number of the way in which it is made.
    method: i64,
}

impl Class {
    fn of(kind: &'static str, columns: usize) -> Self {
        Self {
            kind,
            columns,
            tuples: 0.0,
            has_key: false,
            has_triggers: false,
            has_children: false,
            bound: None,
            bytes: 0,
            method: if matches!(kind, "r" | "m" | "p") { HEAP } else { 0 },
        }
    }

    fn row(self, schema: &str, name: &str, checks: usize) -> Vec<Value> {
        let (no, none) = (|| Value::Bool(false), || Value::Int(0));
        let Self { kind, columns, tuples, has_key, has_triggers, has_children, bound, bytes, method } = self;
        let own = oid("table", schema, name);
        vec![
            Value::Int(own),
            text(name),
            Value::Int(schema_oid(schema)),
            none(),
            none(),
            Value::Int(OWNER_OID),
            Value::Int(method),
            Value::Int(if kind == "v" { 0 } else { own }),
            none(),
            none(),
            Value::Float(tuples),
            none(),
            none(),
            Value::Bool(has_key),
            no(),
            text(if schema == TEMPORARY_SCHEMA { "t" } else { "p" }),
            text(kind),
            Value::Int(columns as i64),
            Value::Int(checks as i64),
            Value::Bool(kind == "v"),
            Value::Bool(has_triggers),
            Value::Bool(has_children),
            no(),
            no(),
            Value::Bool(true),
            text(if matches!(kind, "r" | "m" | "p") { "d" } else { "n" }),
            Value::Bool(bound.is_some()),
            none(),
            Value::Null,
            Value::Null,
            bound.map_or(Value::Null, text),
            Value::Int(bytes as i64),
        ]
    }
}

fn attributes(system: &System<'_>) -> Vec<Vec<Value>> {
    let of_keys = system.keys().into_iter().flat_map(|key| {
        let table = oid("table", key.schema, &key.name);
        let fields = system.catalog.find(Some(key.schema), key.table).map(TableEntry::fields).unwrap_or_default();
        let typed = |name: &str| fields.iter().find(|field| field.name == name).map_or(SqlType::Text, |f| f.sql_type);
        let columns = key.of_index().enumerate();
        columns.map(|(at, (name, _))| attribute(table, at, name, typed(name), None)).collect::<Vec<_>>()
    });
    let of_composites = composites(system).flat_map(|(schema, name, of)| {
        let domains = system.catalog.domain(Some(schema), name).map(|(_, domain)| domain.fields.clone());
        let domains = domains.unwrap_or_default();
        let domain = move |at: usize| domains.get(at)?.as_ref().map(|(schema, name)| domain_oid(schema, name));
        let fields = of.fields.iter().enumerate();
        fields.map(move |(at, field)| {
            let domain = domain(at).filter(|_| !field.sql_type.is_array());
            attribute(composite_oid(schema, name), at, &field.name, field.sql_type, domain)
        })
    });
    let row = |Column { schema, table, number, field, filling, collation, domain, named }: Column<'_>| {
        let mut dimensions = 0;
        let mut of = field.sql_type;
        while let SqlType::Array(element) = of {
            (of, dimensions) = (*element, dimensions + 1);
        }
        vec![
            Value::Int(oid("table", schema, table)),
            text(&field.name),
            Value::Int(domain.unwrap_or(named.oid)),
            Value::Int(-1),
            Value::Int(named.length),
            Value::Int(number),
            Value::Int(dimensions),
            Value::Int(if domain.is_some() { -1 } else { named.modifier }),
            Value::Bool((1..=8).contains(&named.length)),
            text(if named.length < 0 { "x" } else { "p" }),
            text(""),
            Value::Bool(!field.nullable),
            Value::Bool(filling.is_some_and(|filling| filling.sql(field.sql_type).is_some())),
            Value::Bool(false),
            text(match filling {
                Some(Filling::Identity { always: true, .. }) => "a",
                Some(Filling::Identity { always: false, .. }) => "d",
                _ => "",
            }),
            text(if filling.is_some_and(Filling::is_generated) { "s" } else { "" }),
            Value::Bool(false),
            Value::Bool(true),
            Value::Int(0),
            Value::Int(match collation {
                Some(collation) => collation_oid(collation),
                None if named.category == "S" => DEFAULT_COLLATION,
                None => 0,
            }),
            Value::Null,
            Value::Null,
            Value::Null,
        ]
    };
    system.columns().into_iter().map(row).chain(of_keys).chain(of_composites).collect()
}

/// What `pg_attribute` says of a column of an index or a composite type.
fn attribute(table: i64, at: usize, name: &str, sql_type: SqlType, domain: Option<i64>) -> Vec<Value> {
    let (named, no, none) = (Type::of(sql_type), || Value::Bool(false), || Value::Int(0));
    let (by_value, storage) = ((1..=8).contains(&named.length), if named.length < 0 { "x" } else { "p" });
    let dimensions = std::iter::successors(sql_type.element(), |of| of.element()).count();
    let first = [
        Value::Int(table),
        text(name),
        Value::Int(domain.unwrap_or(named.oid)),
        Value::Int(-1),
        Value::Int(named.length),
        Value::Int(at as i64 + 1),
        Value::Int(dimensions as i64),
        Value::Int(if domain.is_some() { -1 } else { named.modifier }),
        Value::Bool(by_value),
        text(storage),
        text(""),
        no(),
        no(),
        no(),
        text(""),
        text(""),
        no(),
        Value::Bool(true),
        none(),
        Value::Int(if named.category == "S" { DEFAULT_COLLATION } else { 0 }),
    ];
    let rest = [Value::Null, Value::Null, Value::Null];
    first.into_iter().chain(rest).collect()
}

/// What `pg_type` says of a type.
struct Known<'a> {
    oid: i64,
    name: &'a str,
    schema: &'a str,
    length: i64,
    kind: &'static str,
    category: &'a str,
    element: i64,
    array: i64,
    /// What has its columns, if it is composite.
    relation: i64,
    /// The type below a domain, and its modifier.
    base: i64,
    modifier: i64,
    not_null: bool,
    default: Option<String>,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Self {
            oid: 0,
            name: "",
            schema: SCHEMA,
            length: -1,
            kind: "b",
            category: "U",
            element: 0,
            array: 0,
            relation: 0,
            base: 0,
            modifier: -1,
            not_null: false,
            default: None,
        }
    }
}

impl Known<'_> {
    fn row(self) -> Vec<Value> {
        let none = || Value::Int(0);
        vec![
            Value::Int(self.oid),
            text(self.name),
            Value::Int(schema_oid(self.schema)),
            Value::Int(OWNER_OID),
            Value::Int(self.length),
            text(self.kind),
            text(self.category),
            Value::Bool(true),
            text(","),
            Value::Int(self.relation),
            Value::Int(self.element),
            Value::Int(self.array),
            Value::Bool(self.not_null),
            Value::Int(self.base),
            Value::Int(self.modifier),
            none(),
            Value::Int(if self.category == "S" { 100 } else { 0 }),
            self.default.map_or(Value::Null, text),
            Value::Null,
        ]
    }
}

fn types(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |&TypeRow { oid, name, length, category, array, .. }: &TypeRow| {
        let own = Known { oid, name, length, category, array, ..Known::default() };
        let all = array_name(name);
        let of_array =
            (array != 0).then_some(Known { oid: array, name: &all, category: "A", element: oid, ..Known::default() });
        [Some(own), of_array].into_iter().flatten().map(Known::row).collect::<Vec<_>>()
    };
    let own = |(schema, name, of): (&str, &str, &UserType)| {
        let oid = enum_oid(of.of);
        Known { oid, name, schema, length: 4, kind: "e", category: "E", ..Known::default() }.row()
    };
    let domain = |(schema, name, of): (&str, &str, &Arc<Domain>)| {
        let (oid, below) = (domain_oid(schema, name), Type::of(of.sql_type));
        let composite = composites(system).any(|(s, n, _)| (s, n) == (schema, name));
        if composite {
            let relation = composite_oid(schema, name);
            return Known { oid, name, schema, kind: "c", category: "C", relation, ..Known::default() }.row();
        }
        let Type { oid: base, length, category, modifier, .. } = below;
        let (not_null, default) = (of.not_null, of.filling.sql(of.sql_type));
        let known = Known {
            oid,
            name,
            schema,
            kind: "d",
            length,
            category,
            base,
            modifier,
            not_null,
            default,
            ..Known::default()
        };
        known.row()
    };
    let domains = system.catalog.domains().map(domain);
    TYPES.iter().flat_map(row).chain(system.catalog.user_types().map(own)).chain(domains).collect()
}

fn sequence((schema, name, entry): (&str, &str, &SequenceEntry)) -> Vec<Value> {
    let shape = entry.sequence.shape();
    vec![
        Value::Int(oid("table", schema, name)),
        Value::Int(Type::of(shape.sql_type).oid),
        Value::Int(shape.start),
        Value::Int(shape.increment),
        Value::Int(shape.max),
        Value::Int(shape.min),
        Value::Int(shape.cache),
        Value::Bool(shape.cycle),
    ]
}

/// Which sequences go with which columns: those of identity columns (`i`), and others (`a`).
fn owned_sequences(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &SequenceEntry)| {
        let owner = entry.owner.as_ref()?;
        let fields = system.catalog.find(Some(&owner.schema), &owner.table)?.fields();
        let number = fields.iter().position(|field| field.name == owner.column)? as i64 + 1;
        let kind = if system.catalog.is_of_identity(&entry.sequence) { "i" } else { "a" };
        Some(vec![
            Value::Int(CLASS),
            Value::Int(oid("table", schema, name)),
            Value::Int(0),
            Value::Int(CLASS),
            Value::Int(oid("table", &owner.schema, &owner.table)),
            Value::Int(number),
            text(kind),
        ])
    };
    system.catalog.sequences().filter_map(row).collect()
}
