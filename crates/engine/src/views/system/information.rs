//! `information_schema`.

use catalog::{Filling, Kind, SequenceEntry, TableEntry};
use types::{SqlType, Value};

use super::constraints::Constraint;
use super::{
    Column, DATABASE, INFORMATION_SCHEMA as SCHEMA, OWNER, PG_CATALOG, System, SystemTable, optional, text, yes_or_no,
};

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: SCHEMA,
        name: "schemata",
        columns: &[
            ("catalog_name", SqlType::Text),
            ("schema_name", SqlType::Text),
            ("schema_owner", SqlType::Text),
            ("default_character_set_name", SqlType::Text),
        ],
        rows: schemata,
    },
    SystemTable {
        schema: SCHEMA,
        name: "tables",
        columns: &[
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("table_type", SqlType::Text),
            ("is_insertable_into", SqlType::Text),
            ("is_typed", SqlType::Text),
        ],
        rows: tables,
    },
    SystemTable {
        schema: SCHEMA,
        name: "columns",
        columns: &[
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("column_name", SqlType::Text),
            ("ordinal_position", SqlType::Integer),
            ("column_default", SqlType::Text),
            ("is_nullable", SqlType::Text),
            ("data_type", SqlType::Text),
            ("character_maximum_length", SqlType::Integer),
            ("numeric_precision", SqlType::Integer),
            ("numeric_precision_radix", SqlType::Integer),
            ("numeric_scale", SqlType::Integer),
            ("datetime_precision", SqlType::Integer),
            ("udt_catalog", SqlType::Text),
            ("udt_schema", SqlType::Text),
            ("udt_name", SqlType::Text),
            ("is_identity", SqlType::Text),
            ("is_generated", SqlType::Text),
            ("generation_expression", SqlType::Text),
            ("is_updatable", SqlType::Text),
        ],
        rows: columns,
    },
    SystemTable {
        schema: SCHEMA,
        name: "sequences",
        columns: &[
            ("sequence_catalog", SqlType::Text),
            ("sequence_schema", SqlType::Text),
            ("sequence_name", SqlType::Text),
            ("data_type", SqlType::Text),
            ("start_value", SqlType::Text),
            ("minimum_value", SqlType::Text),
            ("maximum_value", SqlType::Text),
            ("increment", SqlType::Text),
            ("cycle_option", SqlType::Text),
        ],
        rows: sequences,
    },
    SystemTable {
        schema: SCHEMA,
        name: "views",
        columns: &[
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("view_definition", SqlType::Text),
            ("check_option", SqlType::Text),
            ("is_updatable", SqlType::Text),
            ("is_insertable_into", SqlType::Text),
        ],
        rows: views,
    },
    SystemTable {
        schema: SCHEMA,
        name: "table_constraints",
        columns: &[
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("constraint_type", SqlType::Text),
            ("is_deferrable", SqlType::Text),
            ("initially_deferred", SqlType::Text),
            ("enforced", SqlType::Text),
        ],
        rows: table_constraints,
    },
    SystemTable {
        schema: SCHEMA,
        name: "key_column_usage",
        columns: &[
            ("constraint_catalog", SqlType::Text),
            ("constraint_schema", SqlType::Text),
            ("constraint_name", SqlType::Text),
            ("table_catalog", SqlType::Text),
            ("table_schema", SqlType::Text),
            ("table_name", SqlType::Text),
            ("column_name", SqlType::Text),
            ("ordinal_position", SqlType::Integer),
            ("position_in_unique_constraint", SqlType::Integer),
        ],
        rows: key_column_usage,
    },
];

fn schemata(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |schema: &str| vec![text(DATABASE), text(schema), text(OWNER), Value::Null];
    system.schemas().into_iter().map(row).collect()
}

fn tables(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &TableEntry)| {
        let is_table = entry.kind() == Kind::Table;
        let kind = if is_table { "BASE TABLE" } else { "VIEW" };
        vec![text(DATABASE), text(schema), text(name), text(kind), yes_or_no(is_table), yes_or_no(false)]
    };
    system.catalog.entries().map(row).collect()
}

fn columns(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |Column { schema, table, number, field, filling, named, .. }: Column<'_>| {
        let sql_type = field.sql_type;
        let (precision, radix, scale) = match sql_type {
            SqlType::SmallInt => (Some(16), Some(2), Some(0)),
            SqlType::Integer => (Some(32), Some(2), Some(0)),
            SqlType::BigInt => (Some(64), Some(2), Some(0)),
            SqlType::Real => (Some(24), Some(2), None),
            SqlType::Double => (Some(53), Some(2), None),
            SqlType::Decimal { precision, scale } => (Some(precision.into()), Some(10), Some(scale.into())),
            SqlType::Numeric { precision, scale } if precision > 0 => {
                (Some(precision.into()), Some(10), Some(i64::from(scale) & 0x7ff))
            }
            _ => (None, None, None),
        };
        let length = match sql_type {
            SqlType::Varchar(n) | SqlType::Char(n) => Some(i64::from(n)),
            _ => None,
        };
        let of_time = match named.category {
            "D" if sql_type == SqlType::Date => Some(0),
            "D" | "T" => Some(6),
            _ => None,
        };
        let written = filling.and_then(|filling| filling.sql(sql_type));
        let is_identity = matches!(filling, Some(Filling::Identity { .. }));
        let is_generated = filling.is_some_and(Filling::is_generated);
        let (generation, default) = if is_generated { (written, None) } else { (None, written) };
        vec![
            text(DATABASE),
            text(schema),
            text(table),
            text(&field.name),
            Value::Int(number),
            default.map_or(Value::Null, text),
            yes_or_no(field.nullable),
            text(named.full),
            optional(length),
            optional(precision),
            optional(radix),
            optional(scale),
            optional(of_time),
            text(DATABASE),
            text(PG_CATALOG),
            text(&named.name),
            yes_or_no(is_identity),
            text(if is_generated { "ALWAYS" } else { "NEVER" }),
            generation.map_or(Value::Null, text),
            yes_or_no(true),
        ]
    };
    system.columns().into_iter().map(row).collect()
}

/// Those of identity columns are no sequences of the standard.
fn sequences(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &SequenceEntry)| {
        let shape = entry.sequence.shape();
        let number = |value: i64| text(value.to_string());
        vec![
            text(DATABASE),
            text(schema),
            text(name),
            text(shape.sql_type.to_string()),
            number(shape.start),
            number(shape.min),
            number(shape.max),
            number(shape.increment),
            yes_or_no(shape.cycle),
        ]
    };
    let all = system.catalog.sequences();
    all.filter(|(_, _, entry)| !system.catalog.is_of_identity(&entry.sequence)).map(row).collect()
}

fn views(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |(schema, name, entry): (&str, &str, &TableEntry)| match entry {
        TableEntry::Table(_) => None,
        TableEntry::View(view) => {
            let no = || yes_or_no(false);
            Some(vec![text(DATABASE), text(schema), text(name), text(&view.sql), text("NONE"), no(), no()])
        }
    };
    system.catalog.entries().filter_map(row).collect()
}

fn table_constraints(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |constraint: &Constraint<'_>| {
        let kind = match constraint.kind {
            "p" => "PRIMARY KEY",
            "u" => "UNIQUE",
            "f" => "FOREIGN KEY",
            _ => "CHECK",
        };
        vec![
            text(DATABASE),
            text(constraint.schema),
            text(&constraint.name),
            text(DATABASE),
            text(constraint.schema),
            text(constraint.table),
            text(kind),
            yes_or_no(constraint.deferrable.is_some()),
            yes_or_no(constraint.deferrable == Some(true)),
            yes_or_no(true),
        ]
    };
    system.constraints().iter().map(row).collect()
}

fn key_column_usage(system: &System<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for key in system.constraints() {
        for (at, (column, _)) in key.columns.iter().enumerate() {
            let place = Value::Int(at as i64 + 1);
            rows.push(vec![
                text(DATABASE),
                text(key.schema),
                text(&key.name),
                text(DATABASE),
                text(key.schema),
                text(key.table),
                text(column),
                place.clone(),
                if key.kind == "f" { place } else { Value::Null },
            ]);
        }
    }
    rows
}
