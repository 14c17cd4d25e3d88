//! Children and partitions in `pg_catalog`.

use types::{SqlType, Value};

use super::constraints::array;
use super::{PG_CATALOG, System, SystemTable, oid, text};

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_inherits",
        columns: &[
            ("inhrelid", SqlType::BigInt),
            ("inhparent", SqlType::BigInt),
            ("inhseqno", SqlType::Integer),
            ("inhdetachpending", SqlType::Bool),
        ],
        rows: |system| {
            let of = |(schema, name, _): (&str, &str, &catalog::TableEntry)| {
                let parents = system.catalog.kinship(Some(schema), name).map(|kinship| kinship.parents.clone());
                let row = |(at, (parent_schema, parent)): (usize, (String, String))| {
                    vec![
                        Value::Int(oid("table", schema, name)),
                        Value::Int(oid("table", &parent_schema, &parent)),
                        Value::Int(at as i64 + 1),
                        Value::Bool(false),
                    ]
                };
                parents.unwrap_or_default().into_iter().enumerate().map(row).collect::<Vec<_>>()
            };
            system.catalog.entries().flat_map(of).collect()
        },
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_partitioned_table",
        columns: &[
            ("partrelid", SqlType::BigInt),
            ("partstrat", SqlType::Text),
            ("partnatts", SqlType::SmallInt),
            ("partdefid", SqlType::BigInt),
            ("partattrs", SqlType::Array(&SqlType::SmallInt)),
            ("partclass", SqlType::Array(&SqlType::BigInt)),
            ("partcollation", SqlType::Array(&SqlType::BigInt)),
            ("partexprs", SqlType::Text),
            ("partkeydef", SqlType::Text),
        ],
        rows: partitioned,
    },
];

fn partitioned(system: &System<'_>) -> Vec<Vec<Value>> {
    let of = |(schema, name, entry): (&str, &str, &catalog::TableEntry)| {
        let by = system.catalog.kinship(Some(schema), name)?.partitioned.as_ref()?;
        let fields = entry.fields();
        let number = |key: &String| {
            let named = |field: &catalog::Field| format!("\"{}\"", field.name.replace('"', "\"\"")) == *key;
            fields.iter().position(named).map_or(0, |at| at as i64 + 1)
        };
        let is_default = |(schema, name): &(String, String)| {
            let kinship = system.catalog.kinship(Some(schema), name);
            kinship.is_some_and(|kinship| kinship.bound == Some(catalog::Bound::Default))
        };
        let default = system.catalog.children(Some(schema), name).into_iter().find(is_default);
        let none = || array(by.keys.iter().map(|_| 0), SqlType::BigInt);
        Some(vec![
            Value::Int(oid("table", schema, name)),
            text(by.strategy.name()[..1].to_lowercase()),
            Value::Int(by.keys.len() as i64),
            Value::Int(default.map_or(0, |(schema, name)| oid("table", &schema, &name))),
            array(by.keys.iter().map(number), SqlType::SmallInt),
            none(),
            none(),
            Value::Null,
            text(by.shown()),
        ])
    };
    system.catalog.entries().filter_map(of).collect()
}
